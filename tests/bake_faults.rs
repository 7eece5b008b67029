//! Disks that are full and folders without rights: a warning or a clear error, and what is baked is right.
#![cfg(all(feature = "llvm", target_os = "linux"))]

mod common;

use common::bake::{KERNELS, bake, project};
use common::{Folder, Outcome, command, files, finish};
use luisac_artifact::Archive;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs a bake while `mounted` is a file system of its own of so many kibibytes, and then lists it on standard output. Nothing where
/// that is not allowed.
fn on_small_disk(folder: &Folder, mounted: &str, kib: u32, line: &str) -> Option<Outcome> {
    std::fs::create_dir_all(folder.path().join(mounted)).expect("a folder");
    let script = format!(
        "mount -t tmpfs -o size={kib}k tmpfs {mounted} || exit 99\n\
         [ ! -f before ] || cp before {mounted}/out.luisa\n\
         \"$0\" \"$@\"; code=$?\n\
         find {mounted} -type f; cmp -s before {mounted}/out.luisa && echo as before\n\
         exit $code"
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script, env!("CARGO_BIN_EXE_luisac"), "bake"]);
    command.args(["--message-format", "json"]).args(line.split_whitespace());
    command.current_dir(folder.path()).env("LUISAC_CACHE", folder.path().join("cache"));
    if Command::new("unshare").arg("--version").output().is_err() {
        println!("skipped: no `unshare`");
        return None;
    }
    let outcome = finish(&mut command);
    if outcome.code == Some(99) || outcome.stderr.contains("unshare failed") {
        println!("skipped: nothing can be mounted here: {}", outcome.stderr.trim());
        return None;
    }
    Some(outcome)
}

/// What a bake gives where nothing goes wrong.
fn wanted() -> Vec<u8> {
    let folder = project(&KERNELS);
    bake(&folder, "--cache off");
    folder.read("out.luisa")
}

#[test]
fn a_full_disk_under_the_cache_is_a_warning() {
    let folder = project(&KERNELS);
    // Room for some entries, and for a part of the next one.
    let Some(outcome) = on_small_disk(&folder, "cache", 24, "") else { return };
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(
        outcome.stderr.matches("cannot write to the cache").count(),
        1,
        "{}",
        outcome.stderr
    );
    assert!(folder.read("out.luisa") == wanted());
    assert!(!outcome.text().contains(".tmp"), "{}", outcome.text());
}

#[test]
fn a_full_disk_under_the_archive_is_an_error_and_leaves_the_old_one() {
    let folder = project(&KERNELS[..1]);
    bake(&folder, "");
    let old = folder.read("out.luisa");
    folder.write("before", &old);
    for name in KERNELS {
        let file = format!("{name}.json");
        let text = std::fs::read(common::fixture(&file)).expect("it is there");
        folder.write(&format!("k/{file}"), text);
    }
    let text = String::from_utf8(folder.read("luisac.toml")).expect("text");
    folder.write("luisac.toml", text.replace("out.luisa", "out/out.luisa"));
    let kib = old.len().div_ceil(4096) as u32 * 4 + 4;
    let Some(outcome) = on_small_disk(&folder, "out", kib, "") else { return };
    assert_eq!(
        (outcome.code, outcome.codes().contains(&"L1207")),
        (Some(1), true),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("make room"), "{}", outcome.stderr);
    // Nothing half lies about, and the old archive is what it was.
    assert_eq!(outcome.text(), "out/out.luisa\nas before\n");
    // What was compiled was kept.
    assert_eq!(bake(&folder, "").counts()[0], 0);
}

/// Root may write everywhere: for it, somebody else bakes.
fn somebody() -> Option<Command> {
    let owner =
        std::fs::metadata("/proc/self").ok().map(|m| std::os::unix::fs::MetadataExt::uid(&m));
    if owner != Some(0) {
        return Some(command(Path::new(".")));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups", env!("CARGO_BIN_EXE_luisac")]);
    let tried = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", env!("CARGO_BIN_EXE_luisac"), "--version"])
        .output();
    if tried.is_ok_and(|out| out.status.success()) {
        return Some(command);
    }
    println!("skipped: root may write everywhere, and nobody else can run this");
    None
}

#[test]
fn a_cache_without_rights_is_a_warning() {
    let Some(mut command) = somebody() else { return };
    let folder = project(&KERNELS);
    let rights = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    // A cache that holds one kernel, which may be read, and takes no other.
    let one = project(&KERNELS[..1]);
    bake(&one, &format!("--cache {}", folder.path().join("cache").display()));
    let cache = folder.path().join("cache");
    for path in std::iter::once(cache.clone()).chain(folders(&cache)) {
        rights(&path, 0o555);
    }
    rights(folder.path(), 0o777);
    command.args(["bake", "--message-format", "json", "--cache", "cache"]);
    let outcome = finish(command.current_dir(folder.path()));
    for path in std::iter::once(cache.clone()).chain(folders(&cache)) {
        rights(&path, 0o755);
    }
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(
        outcome.stderr.matches("cannot write to the cache").count(),
        1,
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("\"cached\":2,"), "{}", outcome.stderr);
    assert!(folder.read("out.luisa") == wanted());
    // One that may not even be read.
    let entries = files(&cache, ".luisa");
    assert_eq!(entries.len(), 2);
    for entry in &entries {
        rights(entry, 0);
    }
    std::fs::remove_file(folder.path().join("out.luisa")).expect("it is there");
    let Some(mut command) = somebody() else { return };
    command.args(["bake", "--message-format", "json", "--cache", "cache"]);
    let outcome = finish(command.current_dir(folder.path()));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot read the cache"), "{}", outcome.stderr);
    assert!(folder.read("out.luisa") == wanted());
    assert!(Archive::open(folder.path().join("out.luisa")).is_ok());
}

/// All folders under a folder.
fn folders(root: &Path) -> Vec<std::path::PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("it is there").flatten() {
            if entry.path().is_dir() {
                found.push(entry.path());
                pending.push(entry.path());
            }
        }
    }
    found
}

//! The cache of compiled kernels: shared, limited, and never trusted.
#![cfg(feature = "llvm")]

mod common;

use common::bake::{KERNELS, bake, project};
use common::{Folder, command, files, finish, luisac};
use serde_json::Value;
use std::time::{Duration, SystemTime};

fn forget_archive(folder: &Folder) {
    let _ = std::fs::remove_file(folder.path().join("out.luisa"));
}

/// Entries that were cut, changed, emptied or exchanged are misses with a warning, and what is baked is right.
#[test]
fn bad_entries_are_misses_with_a_warning() {
    let folder = project(&KERNELS[..2]);
    bake(&folder, "");
    let wanted = folder.read("out.luisa");
    let entries = files(&folder.path().join("cache"), ".luisa");
    assert_eq!(entries.len(), 4);
    let whole: Vec<Vec<u8>> = entries.iter().map(|e| std::fs::read(e).expect("it")).collect();
    let mut flipped = whole[1].clone();
    flipped[70] ^= 4;
    for (entry, bytes) in entries.iter().zip([&whole[0][..100], &flipped, b"", &whole[0]]) {
        std::fs::write(entry, bytes).expect("it");
    }
    forget_archive(&folder);
    let baked = bake(&folder, "");
    assert_eq!((baked.outcome.code, baked.counts()), (Some(0), [4, 0, 0, 0]));
    let warnings = baked.outcome.codes().iter().filter(|c| **c == "L1253").count();
    assert_eq!(warnings, 4, "{}", baked.outcome.stderr);
    assert_eq!(folder.read("out.luisa"), wanted);
    forget_archive(&folder);
    assert_eq!(bake(&folder, "").counts(), [0, 4, 0, 0]);
}

/// A cache that cannot be written is told once; the bake is right.
#[test]
fn folders_without_rights_are_a_warning() {
    let folder = project(&KERNELS[..2]);
    folder.write("file", "no folder");
    let baked = bake(&folder, "--cache file/cache");
    assert_eq!((baked.outcome.code, baked.counts()), (Some(0), [4, 0, 0, 0]));
    let warnings = baked.outcome.stderr.matches("cannot write to the cache").count();
    assert_eq!(warnings, 1, "{}", baked.outcome.stderr);
    let wanted = folder.read("out.luisa");
    forget_archive(&folder);
    bake(&folder, "");
    assert_eq!(folder.read("out.luisa"), wanted);
}

/// Everything that the code depends on is part of the key.
#[test]
fn other_options_are_other_entries() {
    let folder = project(&KERNELS[..1]);
    bake(&folder, "");
    let options = [
        "opt-level = 1",
        "math = \"precise\"",
        "bounds = \"trap\"",
        "block = [32, 1, 1]",
        "define = { 2 = 3 }",
        "passes = \"@O1-flat-scalar\"",
    ];
    for option in options {
        common::bake::manifest(&folder, &format!("options = {{ {option} }}\n"));
        assert_eq!(bake(&folder, "").counts(), [2, 0, 0, 0], "{option}");
    }
    // The name is one too: kernels without a name are called by their file.
    common::bake::manifest(&folder, "");
    std::fs::rename(folder.path().join("k/saxpy.json"), folder.path().join("k/other.json"))
        .expect("it");
    assert_eq!(bake(&folder, "").counts(), [2, 0, 0, 0]);
}

fn cache(folder: &Folder, line: &str) -> common::Outcome {
    let mut command = command(folder.path());
    command.env("LUISAC_CACHE", folder.path().join("cache"));
    finish(command.arg("cache").args(line.split_whitespace()))
}

#[test]
fn the_cache_can_be_looked_after() {
    let folder = project(&KERNELS);
    bake(&folder, "");
    let stats = |folder: &Folder| -> Value {
        serde_json::from_str(cache(folder, "stats --json").ok().text()).expect("JSON")
    };
    assert_eq!(stats(&folder)["entries"], 8);
    let entries = files(&folder.path().join("cache"), ".luisa");
    // The least recently used ones go first.
    let old = SystemTime::now() - Duration::from_secs(100_000);
    for entry in &entries[..3] {
        let file = std::fs::File::options().append(true).open(entry).expect("it");
        file.set_modified(old).expect("times can be set");
    }
    let size = |paths: &[std::path::PathBuf]| -> u64 {
        paths.iter().map(|p| std::fs::metadata(p).expect("it").len()).sum()
    };
    let limit = size(&entries[3..]);
    cache(&folder, &format!("gc --limit {limit}")).ok();
    assert_eq!(files(&folder.path().join("cache"), ".luisa"), entries[3..]);
    assert_eq!(stats(&folder)["bytes"], limit);
    // One bad entry is found and removed; then all is well.
    std::fs::write(&entries[4], b"garbage").expect("it");
    let found = cache(&folder, "verify --json");
    assert_eq!(found.code, Some(4), "{}", found.stderr);
    let value: Value = serde_json::from_str(found.text()).expect("JSON");
    assert_eq!((&value["good"], value["bad"].as_array().map(Vec::len)), (&4.into(), Some(1)));
    assert_eq!(cache(&folder, "verify").code, Some(0));
    cache(&folder, "gc --limit 0").ok();
    assert_eq!(stats(&folder)["entries"], 0);
    assert_eq!(cache(&folder, "stats --cache s3://bucket").code, Some(2));
}

/// What killed processes left in the cache goes with the next collection, once it is old.
#[test]
fn abandoned_files_are_collected() {
    let folder = project(&KERNELS[..1]);
    bake(&folder, "");
    let fresh = folder.write("cache/1/aa/.x.luisa.1-0.tmp", "half");
    let stale = folder.write("cache/1/aa/.y.luisa.1-0.tmp", "half");
    let file = std::fs::File::options().append(true).open(&stale).expect("it");
    file.set_modified(SystemTime::now() - Duration::from_secs(100_000)).expect("times can be set");
    cache(&folder, "gc").ok();
    assert_eq!((fresh.exists(), stale.exists()), (true, false));
    assert_eq!(files(&folder.path().join("cache"), ".luisa").len(), 2);
}

#[test]
fn remote_stores_need_a_build_that_has_them() {
    let folder = project(&KERNELS[..1]);
    let outcome = luisac(folder.path(), ["bake", "--cache", "nowhere://bucket"]);
    assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1253"]), "{}", outcome.stderr);
}

/// `compile --cache` gives what it gives without, and takes from the cache what is there.
#[test]
fn compile_uses_the_cache_where_it_is_told_to() {
    let folder = project(&KERNELS);
    let compile = |flags: &str| {
        let line = format!("compile k --target ptx:sm_80,ptx:sm_90,cpu:x86-64-v3 {flags}");
        luisac(folder.path(), line.split_whitespace()).ok();
    };
    compile("-o plain/");
    compile("-o first/ --cache cache");
    let entries = files(&folder.path().join("cache"), ".luisa");
    assert_eq!(entries.len(), 12);
    compile("-o second/ --cache cache");
    for other in ["first", "second"] {
        let names: Vec<_> = files(&folder.path().join("plain"), "");
        assert_eq!(names.len(), 24);
        for name in names {
            let name = name.file_name().expect("a name").to_string_lossy().into_owned();
            assert_eq!(
                folder.read(&format!("{other}/{name}")),
                folder.read(&format!("plain/{name}"))
            );
        }
    }
    // A bake finds them there too.
    assert_eq!(bake(&folder, "--cache cache").counts(), [0, 8, 0, 0]);
}

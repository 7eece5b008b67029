//! `luisac bake` as users meet it.
#![cfg(feature = "llvm")]

mod common;

use common::bake::{KERNELS, bake, bake_in, manifest, project};
use common::{Folder, command, finish, luisac};
use luisac_artifact::Archive;
use std::collections::BTreeSet;
use std::path::Path;

fn archive(folder: &Folder, name: &str) -> Archive {
    let archive = Archive::open(folder.path().join(name)).expect("an archive");
    archive.verify().expect("it is whole");
    archive
}

fn labels(archive: &Archive) -> Vec<String> {
    archive.variants().map(|v| v.label()).collect()
}

#[test]
fn what_is_baked_is_not_baked_again() {
    let folder = project(&KERNELS);
    let first = bake(&folder, "");
    assert_eq!((first.outcome.code, first.counts()), (Some(0), [8, 0, 0, 0]));
    let bytes = folder.read("out.luisa");
    assert_eq!(archive(&folder, "out.luisa").variants().len(), 8);
    let again = bake(&folder, "");
    assert_eq!((again.outcome.code, again.counts()), (Some(0), [0, 0, 8, 0]));
    // Without the archive, all comes from the cache; without both, it is compiled; it is the same.
    std::fs::remove_file(folder.path().join("out.luisa")).expect("it is there");
    assert_eq!(bake(&folder, "").counts(), [0, 8, 0, 0]);
    assert_eq!(folder.read("out.luisa"), bytes);
    std::fs::remove_file(folder.path().join("out.luisa")).expect("it is there");
    assert_eq!(bake(&folder, "--cache off").counts(), [8, 0, 0, 0]);
    assert_eq!(folder.read("out.luisa"), bytes);
}

/// An archive holds what `compile` makes, keys included.
#[test]
fn a_bake_makes_what_compile_makes() {
    let folder = project(&KERNELS);
    assert_eq!(bake(&folder, "--cache off").outcome.code, Some(0));
    let line = "compile k --target ptx:sm_80,cpu:x86-64-v3 -o compiled.luisa";
    luisac(folder.path(), line.split_whitespace()).ok();
    assert_eq!(folder.read("out.luisa"), folder.read("compiled.luisa"));
}

#[test]
fn only_what_changed_is_compiled() {
    let folder = project(&KERNELS);
    bake(&folder, "");
    let other = folder.read("k/saxpy.json");
    folder.write("k/saxpy.json", [&other[..], b"\n"].concat());
    assert_eq!(bake(&folder, "").counts(), [2, 0, 6, 0]);
    // Back again, the cache knows it.
    folder.write("k/saxpy.json", other);
    assert_eq!(bake(&folder, "").counts(), [0, 2, 6, 0]);
    std::fs::remove_file(folder.path().join("k/saxpy.json")).expect("it is there");
    assert_eq!(bake(&folder, "").counts(), [0, 0, 6, 0]);
    assert_eq!(archive(&folder, "out.luisa").kernel("saxpy").len(), 0);
}

#[test]
fn check_tells_and_writes_nothing() {
    let folder = project(&KERNELS[..2]);
    let check = || {
        let mut command = command(folder.path());
        finish(command.args(["bake", "--check"]).env("LUISAC_CACHE", folder.path().join("cache")))
    };
    let outcome = check();
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("k/saxpy.json for ptx:sm_80"), "{}", outcome.stderr);
    assert_eq!(folder.names(), ["k", "luisac.toml"]);
    bake(&folder, "");
    assert_eq!(check().code, Some(0));
    manifest(&folder, "options = { opt-level = 3 }");
    assert_eq!(check().code, Some(4));
    manifest(&folder, "");
    // One kernel less: the archive holds too much.
    std::fs::remove_file(folder.path().join("k/saxpy.json")).expect("it is there");
    assert_eq!(check().code, Some(4));
    // A damaged archive is out of date.
    bake(&folder, "");
    let mut bytes = folder.read("out.luisa");
    bytes[100] ^= 1;
    folder.write("out.luisa", bytes);
    assert_eq!(check().code, Some(4));
}

#[test]
fn dry_runs_say_what_would_be_done() {
    let folder = project(&KERNELS[..1]);
    let dry = || bake(&folder, "--dry-run").outcome.ok().text().to_owned();
    assert_eq!(
        dry(),
        "compile: k/saxpy.json for ptx:sm_80\ncompile: k/saxpy.json for cpu:x86-64-v3\n"
    );
    bake(&folder, "--dep-file out.d");
    assert_eq!(folder.read("out.d"), b"out.luisa: luisac.toml k/saxpy.json\n");
    assert_eq!(dry(), "");
    std::fs::remove_file(folder.path().join("out.luisa")).expect("it is there");
    assert!(dry().starts_with("from the cache: k/saxpy.json"), "{}", dry());
}

#[test]
fn manifests_are_judged_with_their_lines() {
    let folder = project(&["saxpy"]);
    let cases = [
        ("[bake]\nkernel = 1\n", "L1250", "luisac.toml:2:1", "unknown field `kernel`"),
        ("[bake\n", "L1250", "luisac.toml:1", ""),
        (
            "[bake]\nkernels = [\"k/*.json\"]\ntargets = [\"ptx\", \"gpu\"]\noutput = \"o\"\n",
            "L0908",
            "luisac.toml:3:19",
            "gpu",
        ),
        (
            "[bake]\nkernels = [\"k/*.json\", \"x/*\"]\ntargets = [\"ptx\"]\noutput = \"o\"\n",
            "L1250",
            "luisac.toml:2:24",
            "matches no file",
        ),
        (
            "[bake]\nkernels = [\"k/[\"]\ntargets = [\"ptx\"]\noutput = \"o\"\n",
            "L1250",
            "luisac.toml:2:12",
            "no pattern",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = [\"ptx\"]\noutput = \"o\"\noptions = { optimise = 3 }\n",
            "L1250",
            "luisac.toml:5:13",
            "unknown field `optimise`",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = [\"ptx\"]\noutput = \"o\"\noptions = { opt-level = 9 }\n",
            "L1250",
            "luisac.toml:5:25",
            "no level 9",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = [\"ptx\", \"ptx\"]\noutput = \"o\"\n",
            "L1250",
            "luisac.toml:3:19",
            "twice",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = []\noutput = \"o\"\n",
            "L1250",
            "luisac.toml:4",
            "target",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = [\"ptx\"]\noutput = \"o\"\n[[permute]]\nkernels = \"x\"\ndefine = { 2 = [1] }\n",
            "L1250",
            "luisac.toml:6:11",
            "no kernel",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = [\"ptx\"]\noutput = \"o\"\n[[permute]]\nkernels = \"k/*\"\ndefine = { 2 = [] }\n",
            "L1250",
            "luisac.toml:7",
            "list of values",
        ),
        (
            "[bake]\nkernels = [\"k\"]\ntargets = [\"ptx\"]\noutput = \"o\"\n[[permute]]\nkernels = \"k/*\"\ndefine = { 2 = [1] }\nexclude = [{ 2 = 5 }]\n",
            "L1250",
            "luisac.toml:8",
            "leave out",
        ),
    ];
    for (text, code, place, words) in cases {
        folder.write("luisac.toml", text);
        let outcome = luisac(folder.path(), ["bake"]);
        assert_ne!(outcome.code, Some(0), "{text}");
        assert_eq!(outcome.codes().first(), Some(&code), "{text}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(place), "{text}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{text}: {}", outcome.stderr);
    }
    let outcome = luisac(folder.path(), ["bake", "k"]);
    assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1251"]));
}

#[test]
fn permutations_are_baked_and_chosen() {
    let folder = project(&["saxpy"]);
    manifest(
        &folder,
        "[[permute]]\nkernels = \"k/saxpy.json\"\ndefine = { 2 = [\"1.0\", 2.5] }\nplain = true\n",
    );
    assert_eq!(bake(&folder, "").outcome.code, Some(0));
    let names: BTreeSet<String> = labels(&archive(&folder, "out.luisa")).into_iter().collect();
    for name in ["saxpy", "saxpy[2=1.0]", "saxpy[2=2.5]"] {
        assert!(names.contains(&format!("{name} for ptx:sm_80")), "{names:?}");
    }
    assert_eq!(names.len(), 6);
}

/// Every combination of a table but those that are left out, by whatever form the values have.
#[test]
fn combinations_can_be_left_out() {
    let folder = project(&["mandelbrot"]);
    manifest(
        &folder,
        "[[permute]]\nkernels = \"k/mandelbrot.json\"\ndefine = { 2 = [\"1.0\", 2.5], 3 = [7, \"8\"] }\nexclude = [{ 2 = 2.5, 3 = 8 }]\n",
    );
    assert_eq!(bake(&folder, "").counts(), [6, 0, 0, 0]);
    let all = labels(&archive(&folder, "out.luisa"));
    let ptx: Vec<&str> =
        all.iter().filter_map(|label| label.strip_suffix(" for ptx:sm_80")).collect();
    assert_eq!(ptx, ["mandelbrot[2=1.0,3=7]", "mandelbrot[2=1.0,3=8]", "mandelbrot[2=2.5,3=7]"]);
}

#[test]
fn a_failure_does_not_stop_the_others() {
    let folder = project(&KERNELS);
    folder.write("k/broken.json", "{\"types\": [], \"functions\": 3}");
    let first = bake(&folder, "");
    assert_eq!((first.outcome.code, first.counts()), (Some(1), [8, 0, 0, 2]));
    assert_eq!(archive(&folder, "out.luisa").variants().len(), 8);
    let again = bake(&folder, "");
    assert_eq!((again.outcome.code, again.counts()), (Some(1), [0, 0, 8, 2]));
    // To people, a line a failure.
    let outcome = luisac(folder.path(), ["bake", "--cache", "off"]);
    let lines: Vec<&str> = outcome.stderr.lines().filter(|l| l.starts_with("failed: ")).collect();
    assert_eq!(lines.len(), 1, "{}", outcome.stderr);
    assert!(lines[0].starts_with("failed: k/broken.json for "), "{}", lines[0]);
    assert!(outcome.stderr.contains("2 failed"), "{}", outcome.stderr);
}

#[test]
fn kernels_of_one_name_are_named_with_their_files() {
    let folder = project(&["saxpy"]);
    folder.write("k/deeper/saxpy.json", [&folder.read("k/saxpy.json")[..], b"\n"].concat());
    let text = String::from_utf8(folder.read("luisac.toml")).expect("text");
    folder.write("luisac.toml", text.replace("k/*.json", "k/**/*.json"));
    let outcome = luisac(folder.path(), ["bake", "--cache", "off"]);
    assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1034"]), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("k/deeper/saxpy.json"), "{}", outcome.stderr);
}

/// The files beside kernels, such as cases and metadata, are no kernels.
#[test]
fn what_a_pattern_finds_must_be_an_input() {
    let folder = project(&["saxpy"]);
    folder.write("k/saxpy.expect.json", "{\"cases\": []}");
    folder.write("k/notes.json", "not JSON at all");
    assert_eq!(bake(&folder, "").counts(), [2, 0, 0, 0]);
}

#[test]
fn several_archives_share_the_work() {
    let folder = project(&KERNELS[..2]);
    folder.write(
        "luisac.toml",
        "[[bake]]\nkernels = [\"k\"]\ntargets = [\"ptx:sm_80\"]\noutput = \"out/a.luisa\"\n\
         [[bake]]\nkernels = [\"k\"]\nexclude = [\"k/block*\"]\ntargets = [\"ptx:sm_80\"]\noutput = \"out/b.luisa\"\noptions = { math = \"precise\" }\n",
    );
    assert_eq!(bake(&folder, "").counts(), [3, 0, 0, 0]);
    assert_eq!(
        labels(&archive(&folder, "out/a.luisa")),
        ["block_sums for ptx:sm_80", "saxpy for ptx:sm_80"]
    );
    assert_eq!(labels(&archive(&folder, "out/b.luisa")), ["saxpy for ptx:sm_80"]);
}

#[test]
fn shards_are_parts_of_the_whole() {
    let folder = project(&KERNELS);
    bake(&folder, "--cache off");
    let mut parts = Vec::new();
    for i in 1..=3 {
        assert_eq!(bake(&folder, &format!("--shard {i}/3 --cache off")).outcome.code, Some(0));
        parts.push(format!("out.{i}-of-3.luisa"));
    }
    let sizes: usize = parts.iter().map(|p| archive(&folder, p).variants().len()).sum();
    assert_eq!(sizes, 8);
    let line = format!("pack -o joined.luisa {}", parts.join(" "));
    luisac(folder.path(), line.split_whitespace()).ok();
    assert_eq!(folder.read("joined.luisa"), folder.read("out.luisa"));
    // A kernel more does not move the others.
    let before = labels(&archive(&folder, &parts[0]));
    folder.write(
        "k/early_return.json",
        std::fs::read(common::fixture("early_return.json")).expect("it"),
    );
    bake(&folder, "--shard 1/3 --cache off");
    let after = labels(&archive(&folder, &parts[0]));
    assert!(before.iter().all(|label| after.contains(label)), "{before:?} {after:?}");
    for wrong in ["0/3", "4/3", "1", "a/b"] {
        assert_eq!(bake(&folder, &format!("--shard {wrong}")).outcome.code, Some(2), "{wrong}");
    }
}

/// The same bytes from every number of threads, in every folder, in every order.
#[test]
fn archives_are_the_same_whoever_makes_them() {
    let runs: usize =
        std::env::var("LUISAC_BAKE_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let (first, second) = (project(&KERNELS), project(&KERNELS));
    bake(&first, "--cache off -j 1");
    let wanted = first.read("out.luisa");
    for run in 0..runs {
        let folder = if run % 2 == 0 { &first } else { &second };
        let _ = std::fs::remove_file(folder.path().join("out.luisa"));
        // The order of the words of a manifest is not that of an archive.
        let mut names: Vec<String> = KERNELS.iter().map(|k| format!("\"k/{k}.json\"")).collect();
        names.rotate_left(run % KERNELS.len());
        let mut targets = ["\"ptx:sm_80\"", "\"cpu:x86-64-v3\""];
        targets.rotate_left(run / 2 % 2);
        let text = format!(
            "[bake]\nkernels = [{}]\ntargets = [{}]\noutput = \"out.luisa\"\n",
            names.join(", "),
            targets.join(", ")
        );
        folder.write("luisac.toml", text);
        let baked = bake(folder, &format!("--cache off -j {}", run % 16 + 1));
        assert_eq!(baked.counts(), [8, 0, 0, 0]);
        assert!(folder.read("out.luisa") == wanted, "run {run} gave other bytes");
    }
}

#[test]
fn targets_may_be_limited() {
    let folder = project(&KERNELS);
    assert_eq!(
        bake(&folder, "--target-jobs cpu=1 --target-jobs ptx=1 -j 4").counts(),
        [8, 0, 0, 0]
    );
    for wrong in ["cpu", "cpu=0", "gpu=1"] {
        assert_eq!(
            bake(&folder, &format!("--target-jobs {wrong}")).outcome.code,
            Some(2),
            "{wrong}"
        );
    }
}

#[test]
fn outputs_that_cannot_be_written_are_told() {
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full");
        return;
    }
    let folder = project(&KERNELS[..1]);
    let text = String::from_utf8(folder.read("luisac.toml")).expect("text");
    for place in ["/dev/full", "luisac.toml/out.luisa"] {
        folder.write("luisac.toml", text.replace("out.luisa", place));
        let outcome = bake(&folder, "").outcome;
        assert_eq!(
            (outcome.code, outcome.codes().contains(&"L1207")),
            (Some(1), true),
            "{}",
            outcome.stderr
        );
    }
    folder.write("luisac.toml", text);
    // What was compiled was not lost.
    assert_eq!(bake(&folder, "").counts(), [0, 2, 0, 0]);
}

/// `--watch` bakes again when a kernel changes, and when one more comes.
#[test]
fn watching_bakes_again() {
    let folder = project(&KERNELS[..1]);
    let mut command = command(folder.path());
    command.args(["bake", "--watch", "--cache", "off"]).stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let until = |what: &dyn Fn(&Archive) -> bool| {
        for _ in 0..600 {
            if Archive::open(folder.path().join("out.luisa")).is_ok_and(|a| what(&a)) {
                return true;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        false
    };
    let first = until(&|a| a.variants().len() == 2);
    folder.write("k/for_steps.json", std::fs::read(common::fixture("for_steps.json")).expect("it"));
    let second = until(&|a| a.variants().len() == 4);
    std::fs::remove_file(folder.path().join("k/saxpy.json")).expect("it is there");
    let third = until(&|a| a.kernel("saxpy").len() == 0);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!((first, second, third), (true, true, true));
}

#[test]
fn other_folders_are_baked_from_anywhere() {
    let folder = project(&KERNELS[..1]);
    let elsewhere = Folder::new();
    let path = folder.path().display().to_string();
    assert_eq!(bake_in(elsewhere.path(), &path).counts(), [2, 0, 0, 0]);
    assert_eq!(archive(&folder, "out.luisa").variants().len(), 2);
    assert_eq!(bake_in(elsewhere.path(), &format!("{path}/luisac.toml")).counts(), [0, 0, 2, 0]);
}

//! Archives as users meet them: `compile -o NAME.luisa`, `inspect` of one and of two.
#![cfg(feature = "llvm")]

mod common;

use common::schema::{misfits, schema};
use common::{Folder, Outcome, fixture, luisac};
use luisac_artifact::{Archive, Metadata};
use serde_json::Value;

/// A folder with some fixtures.
fn with(names: &[&str]) -> Folder {
    let folder = Folder::new();
    for name in names {
        let name = format!("{name}.json");
        folder.write(&name, std::fs::read(fixture(&name)).expect("the fixture"));
    }
    folder
}

fn run(folder: &Folder, line: &str) -> Outcome {
    luisac(folder.path(), line.split_whitespace())
}

fn json(folder: &Folder, line: &str) -> Value {
    let value = serde_json::from_str(run(folder, line).ok().text()).expect("JSON");
    assert_eq!(misfits(&schema("inspect.schema.json"), &value), [""; 0]);
    value
}

/// An archive holds what the loose files hold.
#[test]
fn archives_hold_the_loose_files() {
    let folder = with(&["saxpy", "block_sums"]);
    let flags = "saxpy.json block_sums.json --target ptx:sm_80,ptx:sm_90,cpu:x86-64-v3";
    run(&folder, &format!("compile {flags} -o all.luisa --dep-file all.d")).ok();
    run(&folder, &format!("compile {flags} -o loose/")).ok();
    assert_eq!(folder.read("all.d"), b"all.luisa: saxpy.json block_sums.json\n");
    let archive = Archive::open(folder.path().join("all.luisa")).expect("an archive");
    assert_eq!(archive.variants().len(), 6);
    for variant in archive.variants() {
        let (name, detail) = variant.target().split_once(':').expect("a detail");
        let stem = match name {
            "ptx" => format!("loose/{}.{detail}", variant.kernel()),
            _ => format!("loose/{}", variant.kernel()),
        };
        let ending = if name == "ptx" { "ptx" } else { "o" };
        assert_eq!(variant.code().expect("code"), folder.read(&format!("{stem}.{ending}")));
        let metadata = folder.read(&format!("{stem}.{name}.json"));
        let metadata = Metadata::from_json(&metadata).expect("metadata");
        assert_eq!(variant.metadata().expect("metadata"), metadata);
        assert_ne!(variant.key(), &[0; 32]);
    }
}

#[test]
fn kernels_of_one_name_are_refused() {
    let folder = with(&["saxpy"]);
    folder.write("b/saxpy.json", folder.read("saxpy.json"));
    let outcome = run(&folder, "compile saxpy.json b/saxpy.json --target ptx -o a.luisa");
    assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1034"]));
    assert!(!folder.path().join("a.luisa").exists());
}

#[test]
fn inspect_shows_archives() {
    let folder = with(&["saxpy", "block_sums"]);
    run(&folder, "compile saxpy.json block_sums.json --target ptx:sm_80,cpu:x86-64-v3 -o a.luisa")
        .ok();
    let table = run(&folder, "inspect a.luisa").ok();
    for word in [
        "archive, version 1",
        "2 kernels, 4 variants",
        "saxpy\n",
        "buffer<float>",
        "at 16, 16 bytes",
        "read_write",
        "ptx:sm_80",
        "cpu:x86-64-v3",
        "bytes of shared memory",
        "needs avx",
        "block_sums\n",
    ] {
        assert!(table.text().contains(word), "no {word}: {}", table.text());
    }
    let value = json(&folder, "inspect a.luisa --json");
    assert_eq!((&value["kernels"], &value["variants"][3]["kernel"]), (&2.into(), &"saxpy".into()));
    assert_eq!(value["variants"][3]["metadata"]["arguments"][0]["type"], "buffer<float>");
    let metadata = run(&folder, "compile saxpy.json --target cpu -o out/");
    assert_eq!(metadata.code, Some(0));
    let table = run(&folder, "inspect out/saxpy.o").ok();
    assert!(table.text().contains("at 16, 16 bytes"), "{}", table.text());
}

#[test]
fn inspect_compares_archives() {
    let folder = with(&["saxpy", "block_sums", "mandelbrot"]);
    run(&folder, "compile saxpy.json block_sums.json --target ptx:sm_80 -o a.luisa").ok();
    run(&folder, "compile saxpy.json mandelbrot.json --target ptx:sm_80 --math precise -o b.luisa")
        .ok();
    let value = json(&folder, "inspect a.luisa b.luisa --json");
    assert_eq!(value["only_first"][0]["kernel"], "block_sums");
    assert_eq!(value["only_second"][0]["kernel"], "mandelbrot");
    assert_eq!(value["changed"][0]["kernel"], "saxpy");
    let keys: Vec<&str> = value["changed"][0]["metadata"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(keys, ["math", "options_hash"]);
    let same = run(&folder, "inspect a.luisa a.luisa").ok();
    assert!(same.text().contains("2 the same, 0 changed"), "{}", same.text());
    let none = run(&folder, "inspect a.luisa none.luisa");
    assert_eq!((none.code, none.codes()), (Some(1), vec!["L1030"]));
}

/// A damaged archive is named as such, wherever it is cut; another version by its number.
#[test]
fn damaged_archives_are_refused() {
    let folder = with(&["saxpy"]);
    run(&folder, "compile saxpy.json --target ptx -o a.luisa").ok();
    let bytes = folder.read("a.luisa");
    for cut in [8, 20, 63, 64, bytes.len() / 2, bytes.len() - 1] {
        folder.write("cut.luisa", &bytes[..cut]);
        let outcome = run(&folder, "inspect cut.luisa");
        assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1033"]), "{cut}");
    }
    let mut older = bytes;
    older[8] = 0;
    folder.write("older.luisa", older);
    let outcome = run(&folder, "inspect older.luisa");
    assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1032"]));
    assert!(outcome.stderr.contains("version 0"), "{}", outcome.stderr);
}

/// Registers and spills are what the assembler says; here one that says always the same.
#[cfg(unix)]
#[test]
fn inspect_asks_ptxas_for_registers() {
    use std::os::unix::fs::PermissionsExt;
    let folder = with(&["saxpy"]);
    run(&folder, "compile saxpy.json --target ptx:sm_80,cpu:x86-64-v3 -o a.luisa").ok();
    let script = "#!/bin/sh\ncase \"$*\" in *-arch=sm_80*) ;; *) exit 1;; esac\n\
        echo 'ptxas info : 16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads' >&2\n\
        echo 'ptxas info : Used 24 registers' >&2\n";
    let tool = folder.write("bin/ptxas", script);
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let inspect = |words: &[&str]| {
        let mut command = common::command(folder.path());
        let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
        command.env("PATH", path).env_remove("CUDA_HOME").env_remove("CUDA_PATH");
        common::finish(command.args(words)).ok()
    };
    let table = inspect(&["inspect", "a.luisa"]);
    let line = "24 registers, 16 bytes of stack, spills 8 bytes stored, 4 loaded";
    assert_eq!(table.text().matches(line).count(), 1, "{}", table.text());
    let value: Value =
        serde_json::from_str(inspect(&["inspect", "a.luisa", "--json"]).text()).expect("JSON");
    assert_eq!(misfits(&schema("inspect.schema.json"), &value), [""; 0]);
    assert_eq!(value["variants"][1]["ptxas"]["registers"], 24);
    assert_eq!(value["variants"][0]["ptxas"], Value::Null);
}

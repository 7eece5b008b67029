//! The recorded kernels on this machine's processor: results, and objects that stand alone for other machines.
//!
//! `ONLY=name,name` picks cases.
#![cfg(feature = "llvm")]

mod case;
mod random;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use luisac_targets::{OptLevel, Source};

fn only(name: &str) -> bool {
    std::env::var("ONLY").is_ok_and(|o| !o.split(',').any(|n| n == name))
}

/// Ray tracing, raster stages, some derivatives, native functions: what no target holds.
fn is_beyond_the_core(e: &str) -> bool {
    ["L0900", "L0808", "L0912"].iter().any(|code| e.contains(code))
}

/// Runs every case of a folder and lists what is wrong.
#[track_caller]
fn exam(folder: &str, level: OptLevel, word: &str) {
    let Some(folder) = case::corpus(folder) else { return };
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|e| {
            e.unwrap()
                .file_name()
                .into_string()
                .unwrap()
                .strip_suffix(".expect.json")
                .map(str::to_string)
        })
        .filter(|n| !only(n))
        .collect();
    names.sort();
    let mut wrong = Vec::new();
    for name in &names {
        if std::env::var("TRACE").is_ok() {
            println!("{name}");
        }
        if let Err(e) = case::run(&folder, name, level, word, None)
            && !is_beyond_the_core(&e)
        {
            wrong.push(format!("{name}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), names.len(), wrong.join("\n"));
}

#[test]
fn bugs_o0() {
    exam("bugs", OptLevel::O0, "cpu:native");
}

#[test]
fn bugs_o2() {
    exam("bugs", OptLevel::O2, "cpu:native");
}

#[test]
fn bugs_on_the_least_processor() {
    let word = if cfg!(target_arch = "x86_64") { "cpu:x86-64" } else { "cpu:native" };
    exam("bugs", OptLevel::O2, word);
}

#[test]
fn own_o0() {
    exam("own", OptLevel::O0, "cpu:native");
}

#[test]
fn own_o2() {
    exam("own", OptLevel::O2, "cpu:native");
}

/// Objects with line information load, and give the same; barriers, callables, logs and images among them.
#[test]
fn own_with_lines() {
    let Some(folder) = case::corpus("own") else { return };
    let (file, lines) = ("input.ast".to_string(), vec![(1..2000).collect(); 20]);
    let source = Arc::new(Source { file, lines });
    for name in ["block_reduce", "call_dag", "print_values", "gaussian_blur", "assertions"] {
        for level in [OptLevel::O0, OptLevel::O2] {
            let result = case::run(&folder, name, level, "cpu:native", Some(&source));
            assert_eq!(result, Ok(()), "{name} {level:?}");
        }
    }
}

#[test]
fn own_on_the_least_processor() {
    let word = if cfg!(target_arch = "x86_64") { "cpu:x86-64" } else { "cpu:native" };
    exam("own", OptLevel::O2, word);
}

fn files(folder: &Path, list: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            files(&path, list);
        } else if name.ends_with(".json") && !name.ends_with(".expect.json") {
            list.push(path);
        }
    }
}

/// Every kernel of the corpus either becomes an object without an undefined symbol or is refused for what no target holds.
#[track_caller]
fn compiles(word: &str, level: OptLevel) {
    let mut list = Vec::new();
    for folder in ["own", "luisa", "bugs"] {
        let Some(folder) = case::corpus(folder) else { return };
        files(&folder, &mut list);
    }
    let (mut done, mut refused, mut wrong) = (0, 0, Vec::new());
    for path in &list {
        let Ok(mut module) = case::lower(path) else { continue };
        if only(&path.file_stem().unwrap().to_string_lossy()) || module.kernels().next().is_none() {
            continue;
        }
        match case::compile(&mut module, word, |o| o.opt_level = level) {
            Ok(_) => done += 1,
            Err(e) if is_beyond_the_core(&e) => refused += 1,
            Err(e) => wrong.push(format!("{}: {e}", path.display())),
        }
    }
    println!("{word}: {done} compiled, {refused} refused");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn corpus_for_x86_64_v3() {
    compiles("cpu:x86-64-v3", OptLevel::O2);
}

#[test]
fn corpus_for_x86_64() {
    compiles("cpu:x86-64", OptLevel::O2);
}

#[test]
fn corpus_for_aarch64_apple_darwin() {
    compiles("cpu:aarch64-apple-darwin", OptLevel::O2);
}

#[test]
fn corpus_for_x86_64_pc_windows_msvc() {
    compiles("cpu:x86_64-pc-windows-msvc", OptLevel::O0);
}

//! Metal source, run on the processor: clang compiles it as C++ with our own `metal_stdlib`, and the recorded kernels with exact
//! results must come out right.
//!
//! Needs clang 16 or later, named by `LUISAC_CLANG` or on the path; without it the tests say that they are skipped.

mod clang;
#[path = "../common/mod.rs"]
mod common;
mod job;
mod text;

use clang::Clang;
use common::case::{Case, Wrong};
use common::raw::Refusal;
use common::{Folder, all_right, corpus, files, fixture, in_parallel};

/// Runs a case; whether it ran, since a kernel may use what the target refuses.
fn run(clang: &Clang, case: &Case, level: &str) -> Result<bool, Wrong> {
    let folder = Folder::new();
    let compiled = match case.compile(&folder, "msl", &[level]) {
        Ok(compiled) => compiled,
        Err(Refusal::Unsupported(_)) => return Ok(false),
        Err(Refusal::Wrong(why)) => return Err(why.into()),
    };
    let metal = std::fs::read_to_string(&compiled.code).map_err(|e| e.to_string())?;
    let source = text::as_cpp(&metal, &compiled.metadata.entry)?;
    let program = clang.build(&folder, &source)?;
    let job = job::Job::of(&compiled)?;
    let results = clang::execute(&folder, &program, &job)?;
    case.compare_raw(&compiled, &job.split(&compiled, &results)?)?;
    Ok(true)
}

/// All cases of the corpus and our own, on a level of optimisation.
#[track_caller]
fn exam(level: &str) {
    let Some(clang) = Clang::find() else { return };
    if !common::luisac(Folder::new().path(), ["targets"]).text().contains("msl ") {
        return println!("skipped: this build has no target `msl`");
    }
    let only = std::env::var("LUISAC_CASE").ok();
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases = files(&path, ".expect.json").into_iter().map(|p| Case::read(&p));
        let cases: Vec<Case> = cases
            .filter(|case| !case.is_error() && case.is_plain())
            .filter(|case| only.as_ref().is_none_or(|name| *name == case.name))
            .collect();
        let results = in_parallel(&cases, |case| run(&clang, case, level));
        let ran = results.iter().filter(|r| matches!(r, Ok(true))).count();
        println!("{folder} {level}: {ran} of {} ran", cases.len());
        let wrong = cases.iter().zip(results).filter_map(|(case, result)| {
            result.err().map(|e| format!("{folder}/{} {level}: {e}", case.name))
        });
        all_right(wrong.collect());
        assert!(
            only.is_some() || ran * 10 >= cases.len() * 9,
            "most kernels of {folder} are refused"
        );
    }
}

#[test]
fn unoptimised() {
    exam("-O0");
}

#[test]
fn optimised() {
    exam("-O3");
}

/// Our header gives what Metal's gives: a kernel checks it line by line.
#[test]
fn the_header_is_right() {
    let Some(clang) = Clang::find() else { return };
    let folder = Folder::new();
    let source = text::as_cpp(include_str!("checks.metal"), "checks").expect("a kernel");
    let program = clang.build(&folder, &source).unwrap_or_else(|e| panic!("{e}"));
    let results = clang::execute(&folder, &program, &job::Job::of_checks());
    let results = results.unwrap_or_else(|e| panic!("{e}"));
    let words: Vec<u32> =
        results.chunks(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let (lines, image) = words[4..].split_at(64);
    // Lines count from where the source was written to.
    let wrong = lines.iter().enumerate().find(|(_, line)| **line != 0);
    assert_eq!(wrong, None, "thread and line of `checks.metal`");
    assert!(
        image.iter().enumerate().all(|(i, &x)| f32::from_bits(x) == 2.0 * i as f32),
        "{image:?}"
    );
}

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
use common::Folder;
use common::case::{Case, Wrong};
use common::exam::Ran;
use common::raw::Refusal;

fn run(clang: &Clang, case: &Case, level: &str) -> Result<Ran, Wrong> {
    let folder = Folder::new();
    let compiled = match case.compile(&folder, "msl", &[level]) {
        Ok(compiled) => compiled,
        Err(Refusal::Unsupported(why)) => return Ok(Ran::Not(why)),
        Err(Refusal::Wrong(why)) => return Err(why.into()),
    };
    let metal = std::fs::read_to_string(&compiled.code).map_err(|e| e.to_string())?;
    let source = text::as_cpp(&metal, &compiled.metadata.entry)?;
    let program = clang.build(&folder, &source)?;
    let job = job::Job::of(&compiled)?;
    let results = clang::execute(&folder, &program, &job)?;
    case.compare_raw(&compiled, &job.split(&compiled, &results)?)?;
    Ok(Ran::Yes)
}

/// All cases on a level of optimisation.
#[track_caller]
fn exam(level: &str) {
    let Some(clang) = Clang::find() else { return };
    common::exam::exam(&format!("msl {level}"), |case| run(&clang, case, level));
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

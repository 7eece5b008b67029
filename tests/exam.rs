//! The recorded kernels with exact results, through `luisac run`: what comes out must be what the formula says.

mod common;

use common::case::Case;
use common::{all_right, corpus, files, fixture, in_parallel};

#[track_caller]
fn exam(device: &str, level: &str) {
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases: Vec<Case> = files(&path, ".expect.json").iter().map(|p| Case::read(p)).collect();
        assert!(!cases.is_empty(), "no cases in {}", path.display());
        let results = in_parallel(&cases, |case| case.run(device, level));
        let wrong = cases.iter().zip(results).filter_map(|(case, result)| {
            result.err().map(|e| format!("{folder}/{} on {device} {level}: {e}", case.name))
        });
        all_right(wrong.collect());
    }
}

#[test]
fn interpreted() {
    exam("interp", "-O0");
}

#[test]
fn optimised_and_interpreted() {
    exam("interp", "-O2");
}

#[test]
fn compiled_for_the_processor() {
    exam("cpu", "-O0");
}

#[test]
fn optimised_and_compiled_for_the_processor() {
    exam("cpu", "-O2");
}

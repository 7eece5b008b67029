//! WGSL on a Vulkan device, by way of naga's front end: the recorded kernels with exact results must come out right.
//!
//! Needs a Vulkan device; without one the tests say that they are skipped.

mod common;

use common::case::{Case, Wrong};
use common::{Folder, all_right, corpus, files, fixture, in_parallel, luisac};

/// Cases that cannot come out right, and why.
const EXPECTED: &[(&str, &str)] = &[
    ("call_chain_250", "control flow nests deeper than naga can recurse"),
    ("call_dag_doubling", "inlined it is longer than drivers compile in time"),
    ("big_constant", "a constant of 128 KiB is written out wherever it is indexed"),
];

/// Whether there is a device.
fn has_vulkan() -> bool {
    let outcome = luisac(Folder::new().path(), ["devices", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap_or_default();
    let text = listed["devices"].to_string();
    let found = text.contains("vulkan");
    if !found {
        println!("skipped: no Vulkan device");
    }
    found
}

fn expected(case: &Case) -> bool {
    EXPECTED.iter().any(|(name, _)| *name == case.name)
}

/// Refused by the target for what the language does not have.
fn is_unsupported(wrong: &Wrong) -> bool {
    let text = wrong.to_string();
    ["L0900", "L0901"].iter().any(|code| text.contains(code))
}

#[track_caller]
fn exam(level: &str) {
    if !has_vulkan() {
        return;
    }
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases: Vec<Case> = files(&path, ".expect.json").iter().map(|p| Case::read(p)).collect();
        let cases: Vec<Case> = cases.into_iter().filter(|case| !expected(case)).collect();
        assert!(!cases.is_empty(), "no cases in {}", path.display());
        let results = in_parallel(&cases, |case| case.run("vulkan:wgsl", level));
        let wrong = cases.iter().zip(results).filter_map(|(case, result)| match result {
            Err(e) if !is_unsupported(&e) => Some(format!("{folder}/{} {level}: {e}", case.name)),
            _ => None,
        });
        all_right(wrong.collect());
    }
}

#[test]
fn unoptimised() {
    exam("-O0");
}

#[test]
fn optimised() {
    exam("-O2");
}

//! Every recorded kernel is valid SPIR-V or refused for a reason that the target has.

use std::path::Path;

use luisac_targets::OptLevel;

use crate::support::{Outcome, compile, has_judge, judge, kernels, lower};

/// Version and level by turns, so that each kernel meets two of the pairs and each pair many kernels.
const PAIRS: [(&str, OptLevel); 4] =
    [("1.3", OptLevel::O0), ("1.5", OptLevel::O2), ("1.4", OptLevel::O1), ("1.6", OptLevel::O3)];

/// Words of a refusal that are reasons: what this target does not hold.
const REASONS: [&str; 6] = [
    "does not hold the operation",
    "does not compute with",
    "has no body",
    "ray query",
    "raster_discard",
    "ray_query",
];

fn sweep(folder: &str) {
    if !has_judge() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let files = kernels(&folder);
    if files.is_empty() {
        println!("skipped: there are no kernels in {}", folder.display());
        return;
    }
    let (mut compiled, mut wrong) = (0, Vec::new());
    for (i, path) in files.iter().enumerate() {
        let Some(module) = lower(path) else { continue };
        for (detail, level) in [PAIRS[i % 4], PAIRS[(i + 1) % 4]] {
            for kernel in module.kernels() {
                match compile(&module, kernel, detail, |o| o.opt_level = level) {
                    Outcome::Compiled(artifact) => {
                        compiled += 1;
                        let told = judge(&artifact.code, detail);
                        wrong.extend(told.map(|t| format!("{path:?} {detail} {level:?}: {t}")));
                    }
                    Outcome::Refused(e) if REASONS.iter().any(|r| e.contains(r)) => {}
                    Outcome::Refused(e) => wrong.push(format!("{path:?} {detail} {level:?}: {e}")),
                }
            }
        }
    }
    println!("{compiled} modules are valid");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compiled > 0);
}

#[test]
fn fixtures_are_valid() {
    sweep("fixtures");
}

#[test]
fn kernels_of_our_own_are_valid() {
    sweep("../shared/corpus/own");
}

#[test]
fn kernels_that_found_mistakes_are_valid() {
    sweep("../shared/corpus/bugs");
}

#[test]
fn recorded_kernels_are_valid() {
    sweep("../shared/corpus/luisa");
}

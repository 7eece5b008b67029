//! Every recorded kernel is valid SPIR-V of every version, with line information and without, or refused for a reason that the target has.

use std::path::Path;
use std::sync::Arc;

use luisac_targets::{OptLevel, Source};
use luisac_xir::Module;

use crate::support::{Compiler, Outcome, has_judge, judge, kernels, lower};

/// All versions; the one with another way to add to floats stands for the others with it.
const VERSIONS: [&str; 5] = ["1.3", "1.4", "1.5", "1.6", "1.5+float-atomics"];

/// Levels by turns, so that each kernel meets two of them.
const LEVELS: [OptLevel; 4] = [OptLevel::O0, OptLevel::O2, OptLevel::O1, OptLevel::O3];

/// Words of a refusal that are reasons: what this target does not hold.
const REASONS: [&str; 6] = [
    "does not hold the operation",
    "does not compute with",
    "has no body",
    "ray query",
    "raster_discard",
    "ray_query",
];

/// A text in which each statement has a line of its own.
fn lines(module: &Module) -> Arc<Source> {
    let lines = vec![(1..2000).collect(); module.functions.len()];
    Arc::new(Source { file: "kernel.json".into(), lines })
}

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
        // The second level comes with line information.
        for (level, source) in [(LEVELS[i % 4], None), (LEVELS[(i + 1) % 4], Some(lines(&module)))]
        {
            let mut compiler = Compiler::new(&module, level);
            for (number, detail) in
                (0..module.kernels().count()).flat_map(|n| VERSIONS.map(|v| (n, v)))
            {
                match compiler.emit(number, detail, source.clone()) {
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

//! The recorded kernels with exact results, through `luisac run`: what comes out must be what the formula says.

mod common;

use common::case::Case;
use common::{all_right, corpus, files, fixture, in_parallel, luisac};
use std::path::Path;

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

/// Whether this build and machine have a device; if not, that is said in one line.
fn has(device: &str) -> bool {
    let outcome = luisac(Path::new("."), ["devices", "--json"]).ok();
    let all: serde_json::Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let mut here = all["devices"].as_array().into_iter().flatten();
    let found = here.any(|d| d["name"] == device);
    if !found {
        println!("skipped: {}", all["missing"]);
    }
    found
}

/// What llvmpipe does not do right, and why.
const KNOWN_ON_VULKAN: &[(&str, &str)] = &[
    ("big_constant", "llvmpipe takes minutes to compile a constant of 16,384 numbers"),
    ("clamp_saturate_step", "at -O0, llvmpipe makes -0 of a selection of 0 among constants"),
];

/// On a device of Vulkan's: the recorded result, or a refusal that names what this device lacks, at most so often.
#[track_caller]
fn exam_on_vulkan(device: &str, level: &str, most: usize) {
    if !has(device) {
        return;
    }
    let (mut right, mut refused) = (0, Vec::new());
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases = files(&path, ".expect.json");
        let cases = cases.iter().map(|p| Case::read(p).without_anisotropy());
        let known = |c: &Case| KNOWN_ON_VULKAN.iter().any(|(name, _)| *name == c.name);
        let cases: Vec<Case> = cases.filter(|c| !known(c)).collect();
        assert!(!cases.is_empty(), "no cases in {}", path.display());
        let results = in_parallel(&cases, |case| case.run(device, level));
        // Features, formats and limits of the device; what wgpu cannot hold.
        let limits = ["L1162", "L1163", "L1164", "L1180", "L1181", "L1183"];
        let mut wrong = Vec::new();
        for (case, result) in cases.iter().zip(results) {
            match result.map_err(|e| e.to_string()) {
                Ok(()) => right += 1,
                Err(e) if limits.iter().any(|c| e.contains(c)) => {
                    refused.push(format!("{folder}/{}: {e}", case.name));
                }
                Err(e) => wrong.push(format!("{folder}/{} on {device} {level}: {e}", case.name)),
            }
        }
        all_right(wrong);
    }
    println!("{right} right; refused by this device: {refused:#?}");
    assert!(right > 0 && refused.len() <= most, "{refused:#?}");
}

#[test]
fn on_vulkan() {
    exam_on_vulkan("vulkan", "-O0", 6);
}

#[test]
fn optimised_and_on_vulkan() {
    exam_on_vulkan("vulkan", "-O3", 6);
}

/// With the feature `wgpu`: the same through wgpu, which cannot hold as much.
#[test]
fn optimised_and_through_wgpu() {
    exam_on_vulkan("wgpu", "-O2", usize::MAX);
}

#[test]
fn irreducible_control_flow() {
    let mut devices = vec!["interp"];
    devices.extend(cfg!(feature = "llvm").then_some("cpu"));
    if has("vulkan") {
        devices.push("vulkan");
        devices.extend(cfg!(feature = "naga").then_some("vulkan:wgsl"));
    }
    for device in devices {
        for level in ["-O0", "-O3"] {
            common::exam::irreducible(&format!("{device} {level}"), |case| {
                case.run(device, level).map(|()| common::exam::Ran::Yes)
            });
        }
    }
}

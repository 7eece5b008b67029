//! All recorded kernels: each compiles, or is refused for a reason of the language.

use super::compile;
use luisac_artifact::metadata::MathMode;
use luisac_targets::OptLevel;
use std::path::{Path, PathBuf};

fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                pending.push(path);
            } else if name.ends_with(".json") && !name.ends_with(".expect.json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Operations and types that the languages do not have.
const REASONS: &[&str] = &[
    "`ray_tracing_",
    "`ray_query",
    "`raster_",
    "device_address`",
    "`bindless_buffer_type`",
    "`double`",
    "`float8",
    "`fp4e2m1`",
    "on `ulong`",
    "on `long`",
    "has no body",
    "is_terminated`",
    "_hit`",
    "_ray`",
    "`int4`",
];

#[test]
fn every_recorded_kernel_compiles_or_is_refused_for_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = kernels(&root.join("../fixtures"));
    let shared = root.join("../../shared/corpus");
    for folder in ["own", "luisa"] {
        let more = kernels(&shared.join(folder));
        if more.is_empty() {
            println!("skipped: no corpus folder `{folder}`");
        }
        files.extend(more);
    }
    let mut compiled = 0;
    for path in &files {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let Ok(library) = luisac_ast::read(&bytes) else { continue };
        let Ok(module) = luisac_xir::from_ast::lower(&library, &Default::default()) else {
            continue;
        };
        if module.kernels().next().is_none() {
            continue;
        }
        for target in ["hlsl", "msl"] {
            for level in [OptLevel::O0, OptLevel::O3] {
                match compile(&module, target, level, MathMode::Precise) {
                    Ok(_) => compiled += 1,
                    Err(e) => assert!(
                        REASONS.iter().any(|r| e.contains(r)),
                        "{} {target} {level:?}: {e}",
                        path.display()
                    ),
                }
            }
        }
    }
    assert!(compiled > 200, "{compiled} compiled");
}

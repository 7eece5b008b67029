//! Every recorded kernel through every canned pipeline, verified after each pass.

use luisac_passes::{CANS, Pipeline, RunOptions};
use luisac_xir::{Module, from_ast};
use std::path::{Path, PathBuf};

/// All kernels under a folder, in order; empty if it is absent.
fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "json")
                && !path.to_string_lossy().ends_with(".expect.json")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn lower(path: &Path) -> Option<Module> {
    let bytes = std::fs::read(path).ok()?;
    let library = luisac_ast::json::read(&bytes).ok()?;
    from_ast::lower_all(&library, &from_ast::Options::default()).ok()
}

#[test]
fn canned_pipelines_keep_the_corpus_valid() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus"));
    let files = kernels(corpus);
    if files.is_empty() {
        println!("skipped: no corpus at {}", corpus.display());
        return;
    }
    let (mut count, mut failures) = (0, Vec::new());
    for path in &files {
        let Some(module) = lower(path) else { continue };
        count += 1;
        for (name, _) in CANS.iter().filter(|(name, _)| *name != "ssa") {
            let pipeline = Pipeline::parse(&format!("@{name}")).expect("canned pipelines parse");
            let options = RunOptions { verify_each: true, ..RunOptions::default() };
            match pipeline.run(&mut module.clone(), options) {
                Ok(report) => assert!(report.succeeded()),
                // Ray queries are refused.
                Err(e) if e.0.iter().all(|d| d.code.0 == 808) => {}
                Err(e) => failures.push(format!("{} @{name}: {e}", path.display())),
            }
        }
    }
    println!("{count} kernels");
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures[..failures.len().min(10)].join("\n")
    );
}

//! Every recorded kernel through every canned pipeline, verified after each pass.

#[path = "support/kernels.rs"]
mod recorded;

use luisac_passes::{CANS, Pipeline, RunOptions};
use recorded::{kernels, lower};
use std::path::Path;

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

//! Every recorded kernel through every canned pipeline, verified after each pass; and each pass's word on whether it changed something.

#[path = "support/kernels.rs"]
mod recorded;

use luisac_passes::{CANS, Pipeline, RunOptions, Step, fingerprint};
use luisac_xir::Module;
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

/// Runs a pipeline pass by pass: a counter of changes is not zero exactly where the module changed.
fn counted(module: &mut Module, pipeline: &Pipeline) -> Result<u64, String> {
    let mut changes = 0;
    for step in pipeline.steps.iter().filter(|s| matches!(s, Step::Pass(_))) {
        let single = Pipeline { steps: vec![step.clone()] };
        let before = fingerprint(module);
        let report = match single.run(module, RunOptions::default()) {
            Ok(report) => report,
            // Refused, or not for this form: ray queries.
            Err(_) => return Ok(changes),
        };
        let changed = fingerprint(module) != before;
        if changed != report.changed() {
            return Err(format!("`{single}` says {}, which is not so", report.changed()));
        }
        changes += u64::from(changed);
    }
    Ok(changes)
}

#[test]
fn counters_tell_of_every_change_and_of_no_other() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus"));
    let (mut changes, mut failures) = (0, Vec::new());
    for path in &kernels(corpus) {
        let Some(module) = lower(path) else { continue };
        for name in
            ["O3-flat-scalar", "O3-structured-ssa", "O3-structured", "metal4", "native_spirv"]
        {
            let pipeline = Pipeline::parse(&format!("@{name}")).expect("canned pipelines parse");
            match counted(&mut module.clone(), &pipeline) {
                Ok(more) => changes += more,
                Err(e) => failures.push(format!("{} @{name}: {e}", path.display())),
            }
        }
    }
    println!("{changes} passes changed a kernel");
    let few = &failures[..failures.len().min(10)];
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), few.join("\n"));
}

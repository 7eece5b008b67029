//! Test helpers: text in, text out.

use crate::{Pipeline, RunOptions};
use luisac_xir::{Module, text};

/// Wraps the body of a kernel with arguments `%0: buffer<f32>`, `%1: value u32`, `%2: value bool`, `%3: value f32`.
pub(crate) fn kernel(body: &str) -> String {
    let arguments = "%0: resource buffer<f32>, %1: value u32, %2: value bool, %3: value f32";
    format!("module;\n\nkernel @k block(64, 1, 1) ({arguments}) {{\n{}}}\n", indent(body))
}

/// Labels at the margin, instructions indented by two.
fn indent(body: &str) -> String {
    let mut text = String::new();
    for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if !line.ends_with(':') {
            text.push_str("  ");
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[track_caller]
pub(crate) fn parse(source: &str) -> Module {
    text::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Runs a pipeline on a module; checks that the report tells of every change, and that a second run gives the same.
#[track_caller]
pub(crate) fn transform(pipeline: &str, source: &str) -> (String, crate::Report) {
    let pipeline = Pipeline::parse(pipeline).unwrap_or_else(|e| panic!("{e}"));
    let before = text::print(&parse(source));
    let run = || {
        let mut module = parse(source);
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let report = pipeline.run(&mut module, options).unwrap_or_else(|e| panic!("{e}\n{source}"));
        (text::print(&module), report)
    };
    let (after, report) = run();
    assert_eq!(run().0, after, "the result differs from run to run");
    assert!(report.changed() || before == after, "a change that no counter tells of\n{after}");
    (after, report)
}

/// The kernel body `before` becomes `after`.
#[track_caller]
pub(crate) fn becomes(pipeline: &str, before: &str, after: &str) {
    let (result, _) = transform(pipeline, &kernel(before));
    let expected = text::print(&parse(&kernel(after)));
    assert_eq!(result, expected, "\n--- result\n{result}\n--- expected\n{expected}");
}

/// The kernel body is left as it is.
#[track_caller]
pub(crate) fn stays(pipeline: &str, body: &str) {
    becomes(pipeline, body, body);
}

/// The sum of a counter after a run on a kernel body.
#[track_caller]
pub(crate) fn count(pipeline: &str, pass: &str, counter: &str, body: &str) -> u64 {
    transform(pipeline, &kernel(body)).1.counter(pass, counter)
}

//! The code after every pass of a pipeline, as edits of the code before: what a report shows side by side.
//!
//! Values and blocks are printed under their entity's number, so that what a pass leaves alone stays the same line. Time and memory
//! are linear in the text for each run that changed something; a run that did not costs nothing.

use super::report::Run;
use imara_diff::{Algorithm, Diff, InternedInput};
use luisac_xir::{Module, text};
use serde::{Deserialize, Serialize};

/// The code of a module before a pipeline and after each run of a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Lines before the first pass.
    pub lines: Vec<String>,
    /// Every run of a pass in order; rounds of a group one after the other.
    pub steps: Vec<TraceStep>,
    /// The program that the places in the lines (`!loc FUNCTION:STATEMENT`) refer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<TraceSource>,
    /// What the target made of the code after the last pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emitted: Vec<Emitted>,
}

/// One run of a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceStep {
    pub run: Run,
    /// From the lines before to the lines after, in order.
    pub edits: Vec<Edit>,
}

/// Lines that were replaced: after `keep` lines that stay come `remove` lines that go and `insert` in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub keep: u32,
    pub remove: u32,
    pub insert: Vec<String>,
}

/// A program as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSource {
    pub text: String,
    /// The line, from 1, of each statement by function and statement; 0 where it has none.
    pub lines: Vec<Vec<u32>>,
}

/// What a target wrote for one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emitted {
    /// Kernel and target.
    pub name: String,
    pub text: String,
    /// For each line of the text the line of the source that it comes from; 0 where that is not known.
    pub source_lines: Vec<u32>,
}

/// Records a [`Trace`] while a pipeline runs.
pub struct Recorder {
    trace: Trace,
    last: Vec<String>,
}

impl Recorder {
    /// Begins with a module that no pass has seen.
    pub fn new(module: &Module) -> Recorder {
        let lines = lines_of(module);
        Recorder { trace: Trace { lines: lines.clone(), ..Trace::default() }, last: lines }
    }

    /// Notes what a run left; for [`super::runner::RunOptions::after`].
    pub fn note(&mut self, run: &Run, module: &Module) {
        let edits = if run.changed { self.advance(lines_of(module)) } else { Vec::new() };
        self.trace.steps.push(TraceStep { run: run.clone(), edits });
    }

    fn advance(&mut self, now: Vec<String>) -> Vec<Edit> {
        let edits = edits(&self.last, &now);
        self.last = now;
        edits
    }

    /// What was recorded.
    pub fn finish(self) -> Trace {
        self.trace
    }
}

fn lines_of(module: &Module) -> Vec<String> {
    text::print_by_identity(module).lines().map(str::to_string).collect()
}

/// The edits that make `after` of `before`; few, though not always the fewest.
pub fn edits(before: &[String], after: &[String]) -> Vec<Edit> {
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(before.iter().map(String::as_str));
    input.update_after(after.iter().map(String::as_str));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let mut done = 0;
    let edit = |hunk: imara_diff::Hunk| {
        let keep = hunk.before.start - done;
        done = hunk.before.end;
        let insert = after.get(hunk.after.start as usize..hunk.after.end as usize);
        Edit { keep, remove: hunk.before.len() as u32, insert: insert.unwrap_or_default().to_vec() }
    };
    diff.hunks().map(edit).collect()
}

/// The lines after some edits; nothing if the edits do not fit the lines.
pub fn apply(lines: &[String], edits: &[Edit]) -> Option<Vec<String>> {
    let mut rest = lines;
    let mut result = Vec::with_capacity(lines.len());
    for edit in edits {
        let (kept, tail) = rest.split_at_checked(edit.keep as usize)?;
        result.extend_from_slice(kept);
        result.extend_from_slice(&edit.insert);
        rest = tail.get(edit.remove as usize..)?;
    }
    result.extend_from_slice(rest);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pipeline, RunOptions};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn edits_lead_from_one_text_to_the_other() {
        let texts = ["a b c d e", "a c d e", "x a b y d e z", "", "q", "a b c d e f g"];
        for before in texts.map(words) {
            for after in texts.map(words) {
                let edits = edits(&before, &after);
                assert_eq!(apply(&before, &edits).as_ref(), Some(&after), "{before:?}");
                assert_eq!(edits.is_empty(), before == after);
            }
        }
        let wrong = Edit { keep: 9, ..Edit::default() };
        assert_eq!(apply(&words("a b"), &[wrong]), None);
    }

    #[test]
    fn a_trace_ends_with_the_module_as_the_passes_left_it() {
        let source = "module;\nkernel @k block(32, 1, 1) (%0: resource buffer<u32>) {\nb0:\n\
            %1: u32 = arithmetic binary_add u32 1, u32 2\n\
            %2: u32 = arithmetic binary_add u32 5, u32 2\n\
            resource_write buffer_write %0, %1, %1\nreturn\n}\n";
        let mut module = text::parse(source).expect("a module");
        let mut recorder = Recorder::new(&module);
        let mut note = |run: &Run, module: &Module| recorder.note(run, module);
        let pipeline = Pipeline::parse("fix(const_fold,dce)").expect("a pipeline");
        let options = RunOptions { after: Some(&mut note), ..RunOptions::default() };
        let report = pipeline.run(&mut module, options).expect("it runs");
        let trace = recorder.finish();
        assert!(trace.steps.len() >= 2 && report.changed());
        let mut lines = trace.lines.clone();
        for step in &trace.steps {
            assert_eq!(step.edits.is_empty(), !step.run.changed, "{}", step.run.name);
            lines = apply(&lines, &step.edits).expect("the edits fit");
        }
        assert_eq!(lines, lines_of(&module));
        let json = serde_json::to_string(&trace).expect("json");
        let back: Trace = serde_json::from_str(&json).expect("json");
        // Times may lose their last bit on the way through decimal numbers.
        let edits = |t: &Trace| t.steps.iter().map(|s| s.edits.clone()).collect::<Vec<_>>();
        assert_eq!((&back.lines, edits(&back)), (&trace.lines, edits(&trace)));
    }
}

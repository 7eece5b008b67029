//! What a pipeline did, as data. The JSON form is described by `docs/json/report.schema.json`.

use super::trace::Trace;
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A whole pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The pipeline as text.
    pub pipeline: String,
    pub runs: Vec<Run>,
    /// The code after every run of a pass, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// One pass, or one `fix(...)` group with its rounds summed up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The pass's name; `fix` for a group.
    pub name: String,
    /// How often it ran.
    pub invocations: u64,
    /// Wall time in milliseconds.
    pub elapsed_ms: f64,
    pub changed: bool,
    /// Groups: whether a whole round changed nothing; passes: true.
    pub converged: bool,
    /// Groups: whether the last allowed round still changed something.
    pub iteration_limit_reached: bool,
    /// Groups: whether a round left what an earlier one had left, so that more rounds would go on for ever.
    pub repeats: bool,
    /// Sums over all functions and rounds; counters that are zero are left out.
    pub counters: BTreeMap<String, u64>,
    pub instructions_before: u64,
    pub instructions_after: u64,
    pub blocks_before: u64,
    pub blocks_after: u64,
    /// Bytes that the functions hold, what was removed but not given back included.
    pub memory_before: u64,
    pub memory_after: u64,
    /// The passes of a group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Run>,
}

impl Report {
    /// Whether every group reached its fixed point.
    pub fn succeeded(&self) -> bool {
        self.flat().iter().all(|run| run.converged)
    }

    /// A warning for each group that did not reach its fixed point.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let stuck = self.flat().into_iter().filter(|run| !run.converged);
        stuck
            .map(|run| {
                let rounds = run.invocations;
                let (message, help) = if run.repeats {
                    let message = format!("round {rounds} of `{}` undid what others did", run.name);
                    (message, "leave out one of its passes: they work against each other")
                } else {
                    let message = format!(
                        "`{}` still changed the module in the last of {rounds} rounds",
                        run.name
                    );
                    (message, "raise `max`, or leave it as it is: the module is valid")
                };
                Diagnostic::warning(codes::NOT_CONVERGED, message).with_help(help)
            })
            .collect()
    }

    /// Whether anything changed.
    pub fn changed(&self) -> bool {
        self.runs.iter().any(|run| run.changed)
    }

    /// All runs, groups before their children.
    pub fn flat(&self) -> Vec<&Run> {
        let mut pending: Vec<&Run> = self.runs.iter().rev().collect();
        let mut all = Vec::new();
        while let Some(run) = pending.pop() {
            all.push(run);
            pending.extend(run.children.iter().rev());
        }
        all
    }

    /// The sum of a counter over all runs of passes; 0 if none has it.
    pub fn counter(&self, pass: &str, counter: &str) -> u64 {
        let runs = self.flat().into_iter().filter(|run| run.name == pass);
        runs.filter_map(|run| run.counters.get(counter)).sum()
    }

    /// Total wall time in milliseconds.
    pub fn elapsed_ms(&self) -> f64 {
        self.runs.iter().map(|run| run.elapsed_ms).sum()
    }
}

impl Run {
    /// Adds a later run of the same pass.
    pub(crate) fn merge(&mut self, later: Run) {
        self.invocations += later.invocations;
        self.elapsed_ms += later.elapsed_ms;
        self.changed |= later.changed;
        self.converged &= later.converged;
        self.iteration_limit_reached |= later.iteration_limit_reached;
        self.repeats |= later.repeats;
        for (name, value) in later.counters {
            *self.counters.entry(name).or_default() += value;
        }
        self.instructions_after = later.instructions_after;
        self.blocks_after = later.blocks_after;
        self.memory_after = later.memory_after;
        for (mine, theirs) in self.children.iter_mut().zip(later.children) {
            mine.merge(theirs);
        }
    }
}

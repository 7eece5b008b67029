//! Two reports side by side. The JSON form is described by `docs/json/report-diff.schema.json`.

use super::report::{Report, Run};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A number in the first and in the second report; `None` where the pass did not run.
pub type Both<T> = [Option<T>; 2];

/// What differs between two reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportDiff {
    /// The pipelines as text.
    pub pipelines: [String; 2],
    /// Total wall time in milliseconds.
    pub elapsed_ms: [f64; 2],
    /// Instructions and blocks at the end; `None` for a report without runs.
    pub instructions: Both<u64>,
    pub blocks: Both<u64>,
    /// All runs: those of the first report in order, then those that only the second one has.
    pub runs: Vec<RunDiff>,
}

/// One pass in both reports: the n-th run of it in each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunDiff {
    pub name: String,
    /// From 1.
    pub nth: usize,
    pub elapsed_ms: Both<f64>,
    pub instructions_after: Both<u64>,
    pub blocks_after: Both<u64>,
    /// Counters that differ; 0 stands for one that is left out.
    pub counters: BTreeMap<String, Both<u64>>,
}

impl RunDiff {
    /// Whether anything beside the time differs.
    pub fn differs(&self) -> bool {
        let [a, b] = self.instructions_after;
        let [c, d] = self.blocks_after;
        a != b || c != d || !self.counters.is_empty()
    }
}

impl Report {
    /// What differs between this report and another one.
    pub fn diff(&self, other: &Report) -> ReportDiff {
        let (mine, theirs) = (numbered(self), numbered(other));
        let mut keys: Vec<(&str, usize)> = mine.iter().map(|(key, _)| *key).collect();
        let known: BTreeSet<_> = keys.iter().copied().collect();
        keys.extend(theirs.iter().map(|(key, _)| *key).filter(|key| !known.contains(key)));
        let (mine, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (mine.into_iter().collect(), theirs.into_iter().collect());
        let runs = keys
            .into_iter()
            .map(|key| run(key, [mine.get(&key).copied(), theirs.get(&key).copied()]));
        let both = [self, other];
        ReportDiff {
            pipelines: both.map(|r| r.pipeline.clone()),
            elapsed_ms: both.map(Report::elapsed_ms),
            instructions: both.map(|r| r.runs.last().map(|run| run.instructions_after)),
            blocks: both.map(|r| r.runs.last().map(|run| run.blocks_after)),
            runs: runs.collect(),
        }
    }
}

/// Each run with its name and how often the name came before.
fn numbered(report: &Report) -> Vec<((&str, usize), &Run)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for run in report.flat() {
        let count = counts.entry(&run.name).or_default();
        *count += 1;
        all.push(((run.name.as_str(), *count), run));
    }
    all
}

fn run((name, nth): (&str, usize), runs: [Option<&Run>; 2]) -> RunDiff {
    let names: BTreeSet<&String> = runs.iter().flatten().flat_map(|r| r.counters.keys()).collect();
    let count = |run: Option<&Run>, name: &String| {
        run.map(|run| run.counters.get(name).copied().unwrap_or(0))
    };
    let counters = names.into_iter().map(|name| (name.clone(), runs.map(|run| count(run, name))));
    RunDiff {
        name: name.into(),
        nth,
        elapsed_ms: runs.map(|r| r.map(|r| r.elapsed_ms)),
        instructions_after: runs.map(|r| r.map(|r| r.instructions_after)),
        blocks_after: runs.map(|r| r.map(|r| r.blocks_after)),
        counters: counters.filter(|(_, [a, b])| a != b).collect(),
    }
}

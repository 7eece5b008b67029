//! Makes a failing pair of module and pipeline smaller while it still fails: delta debugging.
//!
//! What is tried, from large to small: passes, functions, branches, instructions, operands, blocks, arguments; again until
//! nothing helps or the budget of tests is spent. Lists are cut in chunks that are halved when nothing in them can go
//! (A. Zeller, R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE 28(2), 2002). A candidate that the
//! verifier refuses is no candidate. Each kind of edit is in `edits.rs`.

mod edits;

use crate::{Pipeline, Step};
use edits::Edit;
use luisac_xir::{Module, verify};

/// A smaller failure.
#[derive(Clone, Debug)]
pub struct Reduction {
    pub module: Module,
    pub pipeline: Pipeline,
    /// How many candidates were tried.
    pub tests: u64,
}

/// Whether a candidate still shows what is looked for.
pub type Interesting<'a> = &'a mut dyn FnMut(&Module, &Pipeline) -> bool;

/// Reduces a module and a pipeline that are interesting, with at most `budget` tests. The result is interesting.
pub fn reduce(
    module: Module,
    pipeline: Pipeline,
    budget: u64,
    interesting: Interesting<'_>,
) -> Reduction {
    let reduction = Reduction { module, pipeline, tests: 0 };
    let mut reducer = Reducer { best: reduction, budget, interesting };
    loop {
        let before = (reducer.size(), reducer.best.pipeline.to_string());
        reducer.pipeline();
        for edit in Edit::ALL {
            reducer.edit(edit);
        }
        if (reducer.size(), reducer.best.pipeline.to_string()) == before || reducer.spent() {
            return reducer.best;
        }
    }
}

struct Reducer<'a> {
    best: Reduction,
    budget: u64,
    interesting: Interesting<'a>,
}

impl Reducer<'_> {
    fn spent(&self) -> bool {
        self.best.tests >= self.budget
    }

    /// Instructions, operands that are not constants, blocks, functions and arguments: all that edits make fewer.
    fn size(&self) -> [usize; 5] {
        edits::size(&self.best.module)
    }

    fn test(&mut self, module: &Module, pipeline: &Pipeline) -> bool {
        self.best.tests += 1;
        (self.interesting)(module, pipeline)
    }

    /// Leaves out steps; groups are also replaced by what is in them.
    fn pipeline(&mut self) {
        let mut chunk = self.best.pipeline.steps.len().max(1);
        while chunk > 0 && !self.spent() {
            let mut at = 0;
            while at < self.best.pipeline.steps.len() && !self.spent() {
                let mut steps = self.best.pipeline.steps.clone();
                let end = steps.len().min(at + chunk);
                steps.drain(at..end);
                if !self.try_steps(steps) {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        let mut at = 0;
        while at < self.best.pipeline.steps.len() && !self.spent() {
            let mut steps = self.best.pipeline.steps.clone();
            let Step::Fix { steps: inner, .. } = steps[at].clone() else {
                at += 1;
                continue;
            };
            steps.splice(at..=at, inner);
            if !self.try_steps(steps) {
                at += 1;
            }
        }
    }

    fn try_steps(&mut self, steps: Vec<Step>) -> bool {
        let pipeline = Pipeline { steps };
        let module = self.best.module.clone();
        let holds = self.test(&module, &pipeline);
        if holds {
            self.best.pipeline = pipeline;
        }
        holds
    }

    /// Applies one kind of edit wherever it helps.
    fn edit(&mut self, edit: Edit) {
        let mut chunk =
            if edit.in_chunks() { edits::sites(&self.best.module, edit).len() } else { 1 };
        while chunk > 0 && !self.spent() {
            let sites = edits::sites(&self.best.module, edit);
            // From the end: later instructions use earlier ones.
            let mut end = sites.len();
            while end > 0 && !self.spent() {
                let start = end.saturating_sub(chunk);
                self.try_edit(edit, &sites[start..end]);
                end = start;
            }
            chunk /= 2;
        }
    }

    fn try_edit(&mut self, edit: Edit, sites: &[edits::Site]) {
        let mut module = self.best.module.clone();
        let changed = edits::apply(&mut module, edit, sites);
        if !changed || edits::size(&module) >= self.size() || verify::verify(&module).is_err() {
            return;
        }
        let pipeline = self.best.pipeline.clone();
        if self.test(&module, &pipeline) {
            self.best.module = module;
        }
    }
}

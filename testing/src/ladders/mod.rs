//! Ladders: kernels of one shape each and of any size, to see how the time of a pass grows.
//!
//! The exponent of a pass on a ladder is the slope of log time over log size. What is linear has an exponent of 1; sorting and
//! larger caches add a little.

mod clock;
mod shapes;

pub use clock::one_thread;
pub use shapes::{LADDERS, Ladder};

use crate::bridge;
use luisac_passes::{Form, Pass, PassCall, Pipeline, RunOptions, Step};
use luisac_xir::Module;
use std::time::Duration;

/// What a module is brought into before the pass that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As an AST is lowered: structured, values that change in variables.
    Lowered,
    /// Flat control flow with phis.
    Ssa,
}

impl Start {
    /// Both.
    pub const ALL: [Start; 2] = [Start::Lowered, Start::Ssa];

    /// For tables.
    pub const fn name(self) -> &'static str {
        match self {
            Start::Lowered => "lowered",
            Start::Ssa => "ssa",
        }
    }

    fn passes(self) -> &'static str {
        match self {
            Start::Lowered => "",
            Start::Ssa => "destructure_cfg,mem2reg",
        }
    }
}

/// The module of a ladder in the form that a pass starts from.
pub fn prepared(ladder: &Ladder, size: usize, start: Start) -> Module {
    let mut module = (ladder.build)(size);
    run(&mut module, Pipeline::parse(start.passes()).expect("the passes exist"));
    module
}

fn run(module: &mut Module, pipeline: Pipeline) -> bool {
    pipeline.run(module, RunOptions::default()).is_ok()
}

/// How much of the processor's time a pass takes on a prepared module: the least of `tries` runs. `None` if the form of the module
/// cannot be brought to what the pass takes, or the pass refuses the module. Run it in [`one_thread`]: what other threads do is not
/// counted.
pub fn time(module: &Module, pass: &'static Pass, tries: usize) -> Option<Duration> {
    let steps = bridge::to(Form::of(module), pass)?;
    let mut before = module.clone();
    if !steps.is_empty() && !run(&mut before, Pipeline { steps }) {
        return None;
    }
    let step = Step::Pass(PassCall { pass, options: Vec::new() });
    time_pipeline(&before, &Pipeline { steps: vec![step] }, tries)
}

/// How much of the processor's time a pipeline takes on copies of a module: the least of `tries` runs. `None` if it refuses the module.
pub fn time_pipeline(module: &Module, pipeline: &Pipeline, tries: usize) -> Option<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..tries.max(1) {
        let mut after = module.clone();
        let begin = clock::processor_time();
        pipeline.run(&mut after, RunOptions::default()).ok()?;
        best = best.min(clock::processor_time() - begin);
    }
    Some(best)
}

/// The slope of log time over log size through the points given, by least squares.
pub fn exponent(points: &[(usize, Duration)]) -> f64 {
    let logs: Vec<(f64, f64)> =
        points.iter().map(|&(n, t)| ((n as f64).ln(), t.as_secs_f64().max(1e-9).ln())).collect();
    let count = logs.len() as f64;
    let (mx, my) = (
        logs.iter().map(|p| p.0).sum::<f64>() / count,
        logs.iter().map(|p| p.1).sum::<f64>() / count,
    );
    let covariance: f64 = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    let variance: f64 = logs.iter().map(|p| (p.0 - mx).powi(2)).sum();
    covariance / variance
}

//! Differential runs: what a kernel does must not depend on the passes that it went through.
//!
//! The interpreter runs the kernel as generated, looking for undefined behaviour. Then, after every single pass, after pairs of
//! passes and after random pipelines, verified after each pass, the kernel must show the same. A pass that leaves the module
//! as it was (by its fingerprint) needs no run.

use crate::bridge;
use crate::case::Case;
use crate::random::Random;
use luisac_passes::judge::{self, NoResult, Observed};
use luisac_passes::registry::PASSES;
use luisac_passes::{CANS, Form, Pass, PassCall, Pipeline, RunOptions, Step, fingerprint};
use luisac_xir::{Module, verify};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is done with each kernel.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Every pass alone.
    pub single: bool,
    /// For so many first passes, which change from kernel to kernel, every second one.
    pub rows: usize,
    /// So many pipelines of several passes with options.
    pub pipelines: usize,
}

impl Amount {
    /// Every pass alone.
    pub const SINGLE: Amount = Amount { single: true, rows: 0, pipelines: 0 };
    /// Every pass alone, one row of the table of pairs, and two pipelines.
    pub const ALL: Amount = Amount { single: true, rows: 1, pipelines: 2 };
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub kernels: u64,
    /// Kernels that take too long to say anything.
    pub too_long: u64,
    /// Pipelines that ran.
    pub pipelines: u64,
    /// Pipelines that changed the kernel, whose result was compared.
    pub compared: u64,
    /// Pipelines that a pass refused.
    pub refused: u64,
    /// Threads that ran to their end, over all runs.
    pub lanes: u64,
    /// Instructions of all threads.
    pub steps: u64,
    /// Kernels that a pass by itself changed, by its name.
    pub changed: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: Counts) {
        self.kernels += other.kernels;
        self.too_long += other.too_long;
        self.pipelines += other.pipelines;
        self.compared += other.compared;
        self.refused += other.refused;
        self.lanes += other.lanes;
        self.steps += other.steps;
        for (pass, count) in other.changed {
            *self.changed.entry(pass).or_default() += count;
        }
    }

    /// Passes that changed no kernel by themselves: what they do was not looked at.
    pub fn idle(&self) -> Vec<&'static str> {
        PASSES.iter().map(Pass::name).filter(|name| !self.changed.contains_key(name)).collect()
    }
}

/// A kernel that a pipeline changes in meaning, or does not survive.
#[derive(Clone, Debug)]
pub struct Mismatch {
    pub seed: u64,
    /// Empty: the generated kernel itself is wrong.
    pub pipeline: String,
    pub what: String,
}

/// What became of a module.
enum Outcome {
    Same,
    Changed(Module),
    Refused,
}

/// Checks one kernel.
///
/// # Errors
/// All mismatches of the kernel.
pub fn check(case: &Case, amount: Amount) -> Result<Counts, Vec<Mismatch>> {
    let mut run = Run { case, expected: None, counts: Counts::default(), wrong: Vec::new() };
    run.counts.kernels = 1;
    match run.start() {
        Ok(()) => {}
        Err(NoResult::TooLong) => {
            run.counts.too_long = 1;
            return Ok(run.counts);
        }
        Err(NoResult::Fault(what)) => {
            let what = format!("the generator is wrong: {what}");
            return Err(vec![Mismatch { seed: case.seed, pipeline: String::new(), what }]);
        }
    }
    let base = run.base();
    if amount.single || amount.rows > 0 {
        run.singles_and_pairs(&base, amount);
    }
    for number in 0..amount.pipelines {
        let mut random = Random::new(case.seed.wrapping_mul(31) + number as u64);
        let steps = random_steps(&mut random, Form::of(&base));
        run.pipeline(&base, steps);
    }
    if run.wrong.is_empty() { Ok(run.counts) } else { Err(run.wrong) }
}

/// Whether a module, after this pipeline, does not show on the arguments of the case what it showed before; and what differs.
/// A panic of a pass is a difference.
///
/// # Errors
/// If the kernel says nothing: the run before does not come to its end, or the pipeline is refused.
pub fn differs(
    case: &Case,
    module: &Module,
    pipeline: &Pipeline,
) -> Result<Option<String>, String> {
    let run = || judge::differs(module, pipeline, &case.args, &case.launch);
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Ok(Some(panic_text(&*panic))))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("a pass panics: {text}")
}

/// The steps of a run after which kernels with wave operations may be made flat: nothing for others.
pub fn keep_waves(module: &Module) -> Vec<Step> {
    let waves = module.functions.values().any(|f| {
        f.blocks()
            .flat_map(|b| f.insts(b))
            .any(|i| matches!(f.op(i), luisac_xir::Op::ThreadGroup(_)))
    });
    let pass = luisac_passes::registry::find("keep_waves_in_loops").filter(|_| waves);
    pass.map(|pass| Step::Pass(PassCall { pass, options: Vec::new() })).into_iter().collect()
}

struct Run<'a> {
    case: &'a Case,
    expected: Option<Observed>,
    counts: Counts,
    wrong: Vec<Mismatch>,
}

impl Run<'_> {
    /// Runs the kernel as it is.
    fn start(&mut self) -> Result<(), NoResult> {
        if let Err(errors) = verify::verify(&self.case.module) {
            return Err(NoResult::Fault(errors[0].to_string()));
        }
        let observed = self.case.run(&self.case.module, true)?;
        self.counts.lanes += self.case.threads();
        self.counts.steps += observed.steps;
        self.expected = Some(observed);
        Ok(())
    }

    /// The module that passes start from.
    fn base(&mut self) -> Module {
        let keep = keep_waves(&self.case.module);
        if keep.is_empty() {
            return self.case.module.clone();
        }
        let after = self.pipeline(&self.case.module, keep);
        after.unwrap_or_else(|| self.case.module.clone())
    }

    fn singles_and_pairs(&mut self, base: &Module, amount: Amount) {
        let form = Form::of(base);
        let start = self.case.seed as usize * amount.rows % PASSES.len();
        for (number, pass) in PASSES.iter().enumerate() {
            let in_row = (number + PASSES.len() - start) % PASSES.len() < amount.rows;
            if !amount.single && !in_row {
                continue;
            }
            let Some(mut steps) = alone(form, pass) else { continue };
            if let Some(Step::Pass(call)) = steps.last_mut()
                && self.case.seed % 2 == 1
            {
                let mut random = Random::new(self.case.seed ^ number as u64);
                call.options = random_options(&mut random, pass);
            }
            let Some(after) = self.pipeline(base, steps.clone()) else { continue };
            *self.counts.changed.entry(pass.name()).or_default() += 1;
            if !in_row {
                continue;
            }
            let form = Form::of(&after);
            for second in PASSES {
                let Some(more) = alone(form, second) else { continue };
                self.continued(&after, &steps, more);
            }
        }
    }

    /// Runs a pipeline; the module if it changed and means the same.
    fn pipeline(&mut self, module: &Module, steps: Vec<Step>) -> Option<Module> {
        self.continued(module, &[], steps)
    }

    /// Runs `steps` on what `before` made of the kernel.
    fn continued(&mut self, module: &Module, before: &[Step], steps: Vec<Step>) -> Option<Module> {
        self.counts.pipelines += 1;
        let outcome = transform(module, steps.clone());
        let after = match outcome {
            Ok(Outcome::Same) => return None,
            Ok(Outcome::Refused) => {
                self.counts.refused += 1;
                return None;
            }
            Ok(Outcome::Changed(after)) => after,
            Err(what) => {
                self.tell(before, steps, what);
                return None;
            }
        };
        self.counts.compared += 1;
        let expected = self.expected.as_ref()?;
        match judge::compare(expected, &after, &self.case.args, &self.case.launch) {
            Ok(steps) => {
                self.counts.lanes += self.case.threads();
                self.counts.steps += steps;
                Some(after)
            }
            Err(what) => {
                self.tell(before, steps, what);
                None
            }
        }
    }

    fn tell(&mut self, before: &[Step], steps: Vec<Step>, what: String) {
        let mut all = keep_waves(&self.case.module);
        all.extend(before.iter().cloned().chain(steps));
        let pipeline = Pipeline { steps: all }.to_string();
        self.wrong.push(Mismatch { seed: self.case.seed, pipeline, what });
    }
}

/// What steps make of a module, verified after each; `None` if they leave it as it is or refuse it.
///
/// # Errors
/// What a pass did wrong, in words; a panic is told so too.
pub fn transformed(module: &Module, steps: Vec<Step>) -> Result<Option<Module>, String> {
    transform(module, steps).map(|outcome| match outcome {
        Outcome::Changed(after) => Some(after),
        Outcome::Same | Outcome::Refused => None,
    })
}

/// Runs steps on a copy of a module.
fn transform(module: &Module, steps: Vec<Step>) -> Result<Outcome, String> {
    let pipeline = Pipeline { steps };
    let mut after = module.clone();
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    let ran = catch_unwind(AssertUnwindSafe(|| pipeline.run(&mut after, options)));
    match ran {
        Err(panic) => Err(panic_text(&*panic)),
        Ok(Err(e)) if e.0.iter().all(|d| d.code == luisac_passes::codes::REFUSED) => {
            Ok(Outcome::Refused)
        }
        Ok(Err(e)) => Err(e.to_string()),
        Ok(Ok(_)) if fingerprint(&after) == fingerprint(module) => Ok(Outcome::Same),
        Ok(Ok(_)) => Ok(Outcome::Changed(after)),
    }
}

/// A pass, with what must come before it; `None` if the two do not go together.
pub fn alone(form: Form, pass: &'static Pass) -> Option<Vec<Step>> {
    let mut steps = bridge::to(form, pass)?;
    steps.push(Step::Pass(PassCall { pass, options: Vec::new() }));
    let pipeline = Pipeline { steps };
    pipeline.check(form).is_ok().then_some(pipeline.steps)
}

/// Up to twelve passes that fit together, with options that keep every bit; or a canned pipeline and some more.
fn random_steps(random: &mut Random, initial: Form) -> Vec<Step> {
    let (mut steps, mut form): (Vec<Step>, Form) = (Vec::new(), initial);
    let mut count = 3 + random.below(10);
    if random.one_in(3) {
        let (can, _) = CANS[random.below(CANS.len())];
        let canned = Pipeline::parse(&format!("@{can}")).expect("canned pipelines parse");
        if let Ok(after) = canned.check(form) {
            (steps, form) = (canned.steps, after);
            count = steps.len() + random.below(4);
        }
    }
    while steps.len() < count {
        let pass = &PASSES[random.below(PASSES.len())];
        let Some(mut more) = bridge::to(form, pass) else { continue };
        more.push(Step::Pass(PassCall { pass, options: random_options(random, pass) }));
        let longer = Pipeline { steps: steps.iter().cloned().chain(more).collect() };
        // What breaks an ordering is left out.
        if let Ok(after) = longer.check(initial) {
            (steps, form) = (longer.steps, after);
        }
    }
    steps
}

fn random_options(random: &mut Random, pass: &Pass) -> Vec<(String, String)> {
    let mut options = Vec::new();
    for option in pass.options {
        let value = match option.kind {
            // The one that may change bits.
            _ if option.name.contains("fast") => continue,
            _ if option.name == "buffer_alignment" => random.pick(&["4", "8", "16"]),
            "true|false" => random.pick(&["true", "false"]),
            "whole number" => random.pick(&["0", "1", "2", "8", "100", "1000"]),
            _ => continue,
        };
        if random.one_in(3) {
            options.push((option.name.into(), value.into()));
        }
    }
    options
}

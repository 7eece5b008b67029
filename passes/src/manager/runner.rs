//! Runs a pipeline over a module.

use super::declaration::{Body, ModuleCx, Proof, Refusal};
use super::fingerprint::fingerprint;
use super::form::Form;
use super::fuel::Fuel;
use super::pipeline::{Measure, PassCall, Pipeline, Step};
use super::report::{Report, Run};
use crate::codes;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_xir::{Function, Module, verify};
use std::time::Instant;

/// Sees the module after each run of a pass, with what the run did.
pub type Observer<'a> = &'a mut dyn FnMut(&Run, &Module);

/// How to run a pipeline.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// Verify the module before the first pass and after every pass, and that a pass which reports no change made none.
    pub verify_each: bool,
    /// Stop transforming after so many changes.
    pub fuel: Option<u64>,
    /// Called after every pass.
    pub after: Option<Observer<'a>>,
}

impl Pipeline {
    /// Checks the forms, then runs all steps. After an error the module is valid, but transformed in part.
    ///
    /// # Errors
    /// `L0805` before anything runs; `L0807` and `L0808` with the pass at fault.
    pub fn run(&self, module: &mut Module, options: RunOptions<'_>) -> Result<Report, Diagnostics> {
        self.check(Form::of(module))?;
        let fuel = options.fuel.map_or_else(Fuel::unlimited, Fuel::limited);
        let mut runner = Runner {
            fuel,
            verify_each: options.verify_each,
            after: options.after,
            size: Size::of(module),
        };
        runner.verify("the input", module)?;
        let runs = runner.steps(&self.steps, module)?;
        Ok(Report { pipeline: self.to_string(), runs, trace: None })
    }
}

#[derive(Clone, Copy)]
struct Size {
    instructions: u64,
    blocks: u64,
    /// Bytes that the functions hold.
    memory: u64,
}

impl Size {
    fn of(module: &Module) -> Size {
        let mut size = Size { instructions: 0, blocks: 0, memory: 0 };
        for function in module.functions.values() {
            size.instructions += function.placed_inst_count() as u64;
            size.blocks += function.placed_block_count() as u64;
            size.memory += function.memory() as u64;
        }
        size
    }
}

/// Restores a function whose transformation cannot be proved right.
fn prove(proof: Proof, before: Function, after: &mut Function) -> Result<(), Refusal> {
    proof(&before, after).map_err(|difference| {
        let function = before.name.clone();
        *after = before;
        let reason = format!("the result cannot be proved right: {difference}");
        Refusal { reason, help: "please report this input".into(), function }
    })
}

struct Runner<'a> {
    fuel: Fuel,
    verify_each: bool,
    after: Option<Observer<'a>>,
    /// Of the module as it is now.
    size: Size,
}

impl Runner<'_> {
    /// Recursion is bounded by the nesting that the grammar allows.
    fn steps(&mut self, steps: &[Step], module: &mut Module) -> Result<Vec<Run>, Diagnostics> {
        let mut runs = Vec::with_capacity(steps.len());
        for step in steps {
            runs.push(match step {
                Step::Pass(call) => self.pass(call, module)?,
                Step::Fix { steps, max, measure } => self.fix(steps, *max, *measure, module)?,
            });
        }
        Ok(runs)
    }

    fn fix(
        &mut self,
        steps: &[Step],
        max: u32,
        measure: Measure,
        module: &mut Module,
    ) -> Result<Run, Diagnostics> {
        let mut group = Run { name: "fix".into(), ..self.start() };
        let mut best = self.size;
        // What rounds left, to find out that they go in a circle.
        let mut seen = vec![fingerprint(module)];
        while !group.converged && !group.repeats && group.invocations < u64::from(max) {
            let runs = self.steps(steps, module)?;
            let changed = runs.iter().any(|run| run.changed);
            group.elapsed_ms += runs.iter().map(|run| run.elapsed_ms).sum::<f64>();
            group.invocations += 1;
            group.changed |= changed;
            group.converged = match measure {
                Measure::Changes => !changed,
                Measure::Instructions => self.size.instructions >= best.instructions,
                Measure::Blocks => self.size.blocks >= best.blocks,
            };
            best = self.size;
            if !group.converged && measure == Measure::Changes {
                let now = fingerprint(module);
                group.repeats = seen.contains(&now);
                seen.push(now);
            }
            if group.children.is_empty() {
                group.children = runs;
            } else {
                for (sum, run) in group.children.iter_mut().zip(runs) {
                    sum.merge(run);
                }
            }
        }
        group.iteration_limit_reached = !group.converged && !group.repeats && max > 0;
        self.finish(&mut group);
        Ok(group)
    }

    fn start(&self) -> Run {
        Run {
            instructions_before: self.size.instructions,
            blocks_before: self.size.blocks,
            memory_before: self.size.memory,
            ..Run::default()
        }
    }

    fn finish(&self, run: &mut Run) {
        run.instructions_after = self.size.instructions;
        run.blocks_after = self.size.blocks;
        run.memory_after = self.size.memory;
    }

    fn pass(&mut self, call: &PassCall, module: &mut Module) -> Result<Run, Diagnostics> {
        let name = call.pass.name();
        let mut run = Run { name: name.into(), invocations: 1, converged: true, ..self.start() };
        let before = if self.verify_each { fingerprint(module) } else { 0 };
        let begin = Instant::now();
        let values = self.invoke(call, module).map_err(|refusal| {
            Diagnostic::error(codes::REFUSED, format!("pass `{name}` refuses: {}", refusal.reason))
                .with_help(refusal.help)
                .in_function(refusal.function)
        })?;
        run.elapsed_ms = begin.elapsed().as_secs_f64() * 1e3;
        for (counter, value) in call.pass.counters.iter().zip(values) {
            if value != 0 {
                run.counters.insert(counter.name.into(), value);
                run.changed |= counter.is_change;
            }
        }
        if run.changed {
            self.size = Size::of(module);
        }
        self.finish(&mut run);
        if let Some(after) = &mut self.after {
            after(&run, module);
        }
        self.verify(&format!("pass `{name}`"), module)?;
        if self.verify_each {
            check_counters(&run, fingerprint(module) != before)?;
        }
        Ok(run)
    }

    fn invoke(&mut self, call: &PassCall, module: &mut Module) -> Result<Vec<u64>, Refusal> {
        match call.pass.body {
            Body::Module(run) => run(&mut ModuleCx { module, fuel: &self.fuel }, &call.options),
            Body::Function(run) => {
                let Module { types, functions } = module;
                let mut functions: Vec<_> =
                    functions.values_mut().filter(|f| f.has_body()).collect();
                let proof = call.pass.declaration.proof.filter(|_| self.verify_each);
                let before: Vec<Function> = proof
                    .map(|_| functions.iter().map(|f| (**f).clone()).collect())
                    .unwrap_or_default();
                let values = run(&mut functions, types, &self.fuel, &call.options)?;
                for (before, after) in before.into_iter().zip(functions) {
                    proof.map_or(Ok(()), |proof| prove(proof, before, after))?;
                }
                Ok(values)
            }
        }
    }

    fn verify(&self, after: &str, module: &Module) -> Result<(), Diagnostics> {
        if !self.verify_each {
            return Ok(());
        }
        // Blocks that nothing leads to may wait for the pass that removes them.
        let options = verify::Options { reachable: false, ..verify::Options::default() };
        verify::verify_with(module, &options).map_err(|errors| {
            let message = format!("the module is not valid after {after}");
            let mut diagnostic = Diagnostic::error(codes::VERIFY_FAILED, message);
            for error in errors.iter().take(10) {
                diagnostic = diagnostic.with_note(error.to_string());
            }
            diagnostic.into()
        })
    }
}

/// Whether the counters of a pass tell of a change exactly where there is one.
fn check_counters(run: &Run, changed: bool) -> Result<(), Diagnostics> {
    let message = match (run.changed, changed) {
        (false, true) => {
            format!("pass `{}` changed the module and no counter tells of it", run.name)
        }
        (true, false) => {
            format!("the counters of pass `{}` tell of a change, and there is none", run.name)
        }
        _ => return Ok(()),
    };
    Err(Diagnostic::error(codes::UNCOUNTED_CHANGE, message).into())
}

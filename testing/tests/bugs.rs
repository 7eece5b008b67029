//! The kernels after bug reports, through every pass alone, pairs of passes and canned pipelines: their exact results stay.
//!
//! The suite takes one row of the table of pairs for each kernel; `PAIRS=all` takes the whole table, `ONLY=NAME` one kernel.

#[path = "../../xir/tests/support/case.rs"]
mod case;

use case::{Case, cases};
use luisac_passes::registry::PASSES;
use luisac_passes::{CANS, Form, Pipeline, Step};
use luisac_testing::diff;
use luisac_xir::interp::{self, Launch};
use luisac_xir::{Module, from_ast};

/// Kernels that take more steps are left out of pairs in the suite.
const MAX_STEPS: u64 = 100_000;

/// What became of a run.
enum Ran {
    Right {
        steps: u64,
    },
    /// The interpreter does not hold the kernel.
    NotHeld,
}

fn run(case: &Case, module: &Module) -> Result<Ran, String> {
    let kernel = module.kernels().next().ok_or("the kernel is gone")?;
    let mut args = case.args(module, kernel);
    let launch = Launch {
        bounds: case.bounds(),
        max_steps: Some(1 << 32),
        races: false,
        ..Launch::new(case.dispatch())
    };
    match interp::run(module, kernel, &mut args, &launch) {
        Err(f) if f.code() == interp::codes::NOT_HELD => Ok(Ran::NotHeld),
        Err(f) => Err(format!("{} {f} at {:?}", f.code(), f.thread)),
        Ok(outcome) => {
            case.check(module, kernel, &args)?;
            Ok(Ran::Right { steps: outcome.steps })
        }
    }
}

/// The module that passes start from: lowered, with waves kept in loops.
fn start(case: &Case) -> Option<Module> {
    let bytes = std::fs::read(&case.kernel).ok()?;
    let library = luisac_ast::json::read(&bytes).ok()?;
    if luisac_ast::check::check(&library).has_errors() {
        return None;
    }
    let module = from_ast::lower(&library, &from_ast::Options::default()).ok()?;
    let keep = diff::keep_waves(&module);
    let kept = diff::transformed(&module, keep).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    Some(kept.unwrap_or(module))
}

/// The kernels that the interpreter holds, each with its module and the steps that it takes.
fn kernels() -> Vec<(Case, Module, u64)> {
    let only = std::env::var("ONLY").ok();
    let wanted = |case: &Case| !case.is_refused() && only.as_ref().is_none_or(|o| *o == case.name);
    let mut kernels = Vec::new();
    for case in cases("bugs").into_iter().filter(wanted) {
        let Some(module) = start(&case) else { continue };
        match run(&case, &module) {
            Ok(Ran::Right { steps }) => kernels.push((case, module, steps)),
            Ok(Ran::NotHeld) => {}
            Err(e) => panic!("{} is wrong before any pass: {e}", case.name),
        }
    }
    if kernels.is_empty() {
        println!("skipped: no corpus folder `bugs`");
    }
    kernels
}

/// Runs steps on the kernel; the module if it changed and is right.
fn step(case: &Case, module: &Module, steps: Vec<Step>) -> Result<Option<Module>, String> {
    let name = Pipeline { steps: steps.clone() };
    let wrong = |e: String| format!("{} `{name}`: {e}", case.name);
    let Some(after) = diff::transformed(module, steps).map_err(wrong)? else { return Ok(None) };
    run(case, &after).map_err(wrong).map(|_| Some(after))
}

#[track_caller]
fn all_right(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_pass_alone_keeps_the_results() {
    let mut wrong = Vec::new();
    for (case, module, _) in kernels() {
        let form = Form::of(&module);
        for pass in PASSES {
            let Some(steps) = diff::alone(form, pass) else { continue };
            wrong.extend(step(&case, &module, steps).err());
        }
    }
    all_right(&wrong);
}

/// `-O0` to `-O3` for every form of target, and the lists of the specification.
#[test]
fn canned_pipelines_keep_the_results() {
    let mut wrong = Vec::new();
    for (case, module, _) in kernels() {
        for (can, _) in CANS {
            let canned = Pipeline::parse(&format!("@{can}")).expect("canned pipelines parse");
            if canned.check(Form::of(&module)).is_ok() {
                wrong.extend(step(&case, &module, canned.steps).err());
            }
        }
    }
    all_right(&wrong);
}

#[test]
fn pairs_of_passes_keep_the_results() {
    let all = std::env::var("PAIRS").is_ok_and(|p| p == "all");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (number, (case, module, steps)) in kernels().into_iter().enumerate() {
        if !all && steps > MAX_STEPS {
            continue;
        }
        let form = Form::of(&module);
        for (row, first) in PASSES.iter().enumerate() {
            if !all && row != number % PASSES.len() {
                continue;
            }
            let Some(steps) = diff::alone(form, first) else { continue };
            let Ok(Some(after)) = step(&case, &module, steps) else { continue };
            let form = Form::of(&after);
            for second in PASSES {
                let Some(steps) = diff::alone(form, second) else { continue };
                count += 1;
                let told =
                    step(&case, &after, steps).map_err(|e| format!("{} then {e}", first.name()));
                wrong.extend(told.err());
            }
        }
    }
    println!("{count} pairs");
    all_right(&wrong);
}

//! Random kernels through passes, back to an AST, to JSON, and lowered again: the results must stay.
//!
//! `SEED=N` takes one kernel, `ROUNDS=N` so many.

use luisac_ast::json::{self, Dialect};
use luisac_passes::{Pipeline, RunOptions};
use luisac_testing::case;
use luisac_xir::{Module, from_ast, text, to_ast};

const PIPELINES: &[&str] = &[
    "dce",
    "early_return_elimination,lower_break_continue,@O2-structured",
    "keep_waves_in_loops,@O2-flat-scalar,restructure_cfg",
    "keep_waves_in_loops,destructure_cfg,simplify_cfg,inline{inline_all=true},sroa,mem2reg,@ssa,simplify_cfg,\
     reg2mem,early_return_elimination,restructure_cfg,mem2reg",
    "keep_waves_in_loops,destructure_cfg,restructure_cfg,early_return_elimination",
];

/// The module after the passes, by way of JSON. `None` if something has no form in an AST, or a pass asks for another form.
fn written_back(module: &Module, pipeline: &str) -> Result<Option<Module>, String> {
    let mut module = module.clone();
    let parsed = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
    match parsed.run(&mut module, RunOptions { verify_each: true, ..RunOptions::default() }) {
        Err(e) if e.0.iter().all(|d| d.code.0 == 805) => return Ok(None),
        other => other.map_err(|e| e.to_string())?,
    };
    let library = match to_ast::raise(&module) {
        Err(e) if e.0.iter().all(|d| d.code.0 == 570) => return Ok(None),
        other => other.map_err(|e| format!("{e}\n{}", text::print(&module)))?,
    };
    let bytes = json::write(&library, Dialect::V1)
        .or_else(|_| json::write(&library, Dialect::D0))
        .map_err(|e| e.to_string())?;
    let library = json::read(&bytes).map_err(|e| e.to_string())?;
    let found = luisac_ast::check::check(&library);
    if found.has_errors() {
        return Err(found.to_string());
    }
    from_ast::lower(&library, &Default::default()).map(Some).map_err(|e| e.to_string())
}

fn check(seed: u64) -> Result<u64, String> {
    let case = case(seed);
    let Ok(expected) = case.run(&case.module, true) else { return Ok(0) };
    let mut ran = 0;
    for pipeline in PIPELINES {
        let back =
            written_back(&case.module, pipeline).map_err(|e| format!("`{pipeline}`: {e}"))?;
        let Some(back) = back else { continue };
        let got = case.run(&back, false).map_err(|_| format!("`{pipeline}`: no result"))?;
        if let Some(difference) = got.difference(&expected) {
            return Err(format!("`{pipeline}`: {difference}"));
        }
        ran += 1;
    }
    Ok(ran)
}

#[test]
fn random_kernels_come_back() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    if let Some(seed) = number("SEED") {
        println!("{}", text::print(&case(seed).module));
        check(seed).unwrap_or_else(|e| panic!("{e}"));
        return;
    }
    let (start, rounds) = (number("START").unwrap_or(0), number("ROUNDS").unwrap_or(80));
    let (mut ran, mut wrong) = (0, Vec::new());
    for seed in start..start + rounds {
        match check(seed) {
            Ok(runs) => ran += runs,
            Err(error) => wrong.push(format!("seed {seed}: {error}")),
        }
    }
    println!("{ran} results of {rounds} kernels are right");
    let few = &wrong[..wrong.len().min(6)];
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), few.join("\n"));
    assert!(ran > 2 * rounds, "most say nothing");
}

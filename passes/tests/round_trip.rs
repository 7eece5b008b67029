//! Kernels through passes, back to an AST, to JSON, and lowered again: the recorded results must come out.
//!
//! `ALL=1` takes every kernel of the corpus with recorded results.

#[path = "../../xir/tests/support/case.rs"]
mod case;

use case::{Case, cases};
use luisac_ast::json::{self, Dialect};
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Launch};
use luisac_xir::{Module, from_ast, to_ast, verify};
use std::path::{Path, PathBuf};

/// As lowered; optimised in structured form; optimised flat with phis, structured again, with and without phis.
const PIPELINES: &[&str] = &[
    "",
    "@O2-structured",
    "keep_waves_in_loops,@O2-flat-scalar,restructure_cfg",
    "keep_waves_in_loops,destructure_cfg,simplify_cfg,inline{inline_all=true},sroa,mem2reg,@ssa,simplify_cfg,restructure_cfg,mem2reg",
];

fn read(bytes: &[u8]) -> Result<Module, String> {
    let library = json::read(bytes).map_err(|e| e.to_string())?;
    let found = luisac_ast::check::check(&library);
    if found.has_errors() {
        return Err(format!("check: {found}"));
    }
    from_ast::lower(&library, &from_ast::Options::default()).map_err(|e| format!("lower: {e}"))
}

/// The module written as JSON and read again.
fn round_trip(module: &Module) -> Result<Module, String> {
    let library = to_ast::raise(module).map_err(|e| format!("raise: {e}"))?;
    // Some builtins and native functions are in the older form only.
    let text = json::write(&library, Dialect::V1)
        .or_else(|_| json::write(&library, Dialect::D0))
        .map_err(|e| format!("write: {e}"))?;
    if let Ok(path) = std::env::var("KEEP") {
        std::fs::write(path, &text).map_err(|e| e.to_string())?;
    }
    read(&text)
}

/// Whether the passes take the module.
fn optimise(module: &mut Module, pipeline: &str) -> Result<bool, String> {
    if pipeline.is_empty() {
        return Ok(true);
    }
    let parsed = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
    match parsed.run(module, RunOptions::default()) {
        Err(e) if e.0.iter().all(|d| d.code.0 == 808) => Ok(false),
        other => other.map(|_| true).map_err(|e| e.to_string()),
    }
}

fn run(case: &Case, pipeline: &str) -> Result<bool, String> {
    let Ok(bytes) = std::fs::read(&case.kernel) else { return Ok(false) };
    let Ok(mut module) = read(&bytes) else { return Ok(false) };
    if !optimise(&mut module, pipeline)? {
        return Ok(false);
    }
    let again = round_trip(&module)?;
    let kernel = again.kernels().next().ok_or("the kernel is gone")?;
    let mut args = case.args(&again, kernel);
    let launch = Launch {
        bounds: case.bounds(),
        max_steps: Some(1 << 32),
        races: false,
        ..Launch::new(case.dispatch())
    };
    match interp::run(&again, kernel, &mut args, &launch) {
        // The interpreter does not hold it.
        Err(f) if f.code().0 == 709 => return Ok(false),
        other => other.map_err(|f| format!("{} {f} at {:?}", f.code(), f.thread))?,
    };
    case.check(&again, kernel, &args)?;
    Ok(true)
}

/// Every `step`-th kernel of a folder.
fn check_folder(folder: &str, step: usize) {
    let step = if std::env::var_os("ALL").is_some() { 1 } else { step };
    let only = std::env::var("ONLY").ok();
    let cases = cases(folder);
    if cases.is_empty() {
        println!("skipped: no corpus folder `{folder}`");
        return;
    }
    let (mut right, mut wrong) = (0, Vec::new());
    for (i, case) in cases.iter().enumerate() {
        let skipped = match &only {
            Some(only) => *only != case.name,
            None => i % step != 0,
        };
        if skipped || case.is_refused() {
            continue;
        }
        for pipeline in PIPELINES {
            match run(case, pipeline) {
                Ok(ran) => right += usize::from(ran),
                Err(error) => wrong.push(format!("{} `{pipeline}`: {error}", case.name)),
            }
        }
    }
    println!("{folder}: {right} runs right");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(right > 0);
}

/// Kernels without recorded results: what comes back passes the checks, lowers and verifies.
#[test]
fn recorded_kernels_come_back_valid() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus/luisa"));
    let step = if std::env::var_os("ALL").is_some() { 1 } else { 12 };
    let (mut valid, mut wrong) = (0, Vec::new());
    // Calls back into the process that recorded it.
    let left_out = |path: &Path| path.ends_with("cpu_callable/sort.json");
    for path in kernels(folder).iter().step_by(step).filter(|p| !left_out(p)) {
        let Ok(module) = std::fs::read(path).map_err(|e| e.to_string()).and_then(|b| read(&b))
        else {
            continue;
        };
        for pipeline in PIPELINES {
            match back(&module, pipeline) {
                Ok(came) => valid += usize::from(came),
                Err(error) => wrong.push(format!("{} `{pipeline}`: {error}", path.display())),
            }
        }
    }
    println!("luisa: {valid} came back");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn back(module: &Module, pipeline: &str) -> Result<bool, String> {
    let mut module = module.clone();
    if !optimise(&mut module, pipeline)? {
        return Ok(false);
    }
    let again = round_trip(&module)?;
    verify::verify(&again).map_err(|e| format!("verify: {}", e[0]))?;
    Ok(true)
}

/// The JSON files under a folder, in order.
fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn kernels_after_bug_reports_come_back() {
    check_folder("bugs", 11);
}

#[test]
fn own_kernels_come_back() {
    check_folder("own", 7);
}

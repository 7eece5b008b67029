//! Every kernel with exact results, transformed and interpreted: what comes out must be the same before and after.

#[path = "../../xir/tests/support/case.rs"]
mod case;

use case::{Case, cases};
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Launch};
use luisac_xir::{FunctionId, Module, from_ast};

/// Pipelines beside the canned ones: each pass where it may stand alone, and odd orders.
const PIPELINES: &[&str] = &[
    "keep_waves_in_loops,@O0-flat-scalar",
    "keep_waves_in_loops,@O1-flat-scalar",
    "keep_waves_in_loops,@O2-flat-scalar",
    "keep_waves_in_loops,@O3-flat-scalar",
    "@O2-structured",
    "keep_waves_in_loops,@O2-flat-scalar{native=sqrt}",
    "inline,sroa,dce",
    "mem2reg,const_fold,phi_cleanup,dce",
    "sroa,mem2reg,scalarizer,const_fold,dce",
    "scalarizer",
    "@basic",
    "keep_waves_in_loops,destructure_cfg,simplify_cfg,inline{inline_all=true},sroa,mem2reg,scalarizer,loop_unroll{max_insts=4000},sccp,simplify_cfg",
    "sroa,@post_inline_cleanup,mem2reg,@post_restructure_cleanup,licm,sccp,dce",
    "keep_waves_in_loops,destructure_cfg,inline{inline_all=true},mem2reg,@ssa,simplify_cfg,fix(if_conversion,simplify_cfg,gvn,sccp,licm,dce)",
    "keep_waves_in_loops,destructure_cfg,scalarizer,lower_math,mem2reg,fix(const_fold,dce,phi_cleanup,simplify_cfg)",
    "keep_waves_in_loops,destructure_cfg,simplify_cfg,inline{inline_all=true},simplify_cfg,dce",
    "keep_waves_in_loops,destructure_cfg,restructure_cfg",
    "keep_waves_in_loops,destructure_cfg,simplify_cfg,inline{inline_all=true},sroa,mem2reg,@ssa,simplify_cfg,restructure_cfg,mem2reg",
    "promote_ref_arg,dead_arg_elim,dead_field_elimination,trace_gep,fuse_consecutive_buffer_reads{buffer_alignment=16},transpose_gep,mem2reg,\
     slp_vectorization,reassociate,cvp,simplify_libcalls,div_rem_pairs,algebraic_simplify,reg2mem,defer_local_aggregate_load,dce",
    "keep_waves_in_loops,destructure_cfg,inline_all,sroa,mem2reg,fix(cvp,reassociate,algebraic_simplify,const_fold,sccp,dce),reg2mem,mem2reg",
    "lower_edge_cases",
    "lower_bounds",
    "inline_all,mem2reg,lower_bounds{mode=trap},lower_edge_cases",
    "keep_waves_in_loops,@O2-flat-scalar,lower_bounds",
    "keep_waves_in_loops,@O2-flat-scalar,lower_edge_cases{short_words=false}",
    "keep_waves_in_loops,destructure_cfg,inline_all,keep_threads_at_barriers,restructure_cfg",
    "keep_waves_in_loops,@O2-flat-scalar,mem2reg,keep_threads_at_barriers,dce,simplify_cfg,restructure_cfg,mem2reg",
];

fn lower(case: &Case) -> Option<(Module, FunctionId)> {
    let bytes = std::fs::read(&case.kernel).ok()?;
    let library = luisac_ast::json::read(&bytes).ok()?;
    if luisac_ast::check::check(&library).has_errors() {
        return None;
    }
    let module = from_ast::lower(&library, &from_ast::Options::default()).ok()?;
    let kernel = module.kernels().next()?;
    Some((module, kernel))
}

fn run(case: &Case, pipeline: &str) -> Result<bool, String> {
    let Some((mut module, _)) = lower(case) else { return Ok(false) };
    let parsed = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    match parsed.run(&mut module, options) {
        Err(e) if e.0.iter().all(|d| d.code.0 == 808) => return Ok(false),
        other => other.map_err(|e| e.to_string())?,
    };
    // Clamped indices are traps there.
    if pipeline.contains("mode=trap") && case.bounds() == interp::Bounds::Clamp {
        return Ok(false);
    }
    let kernel = module.kernels().next().ok_or("the kernel is gone")?;
    let mut args = case.args(&module, kernel);
    let launch = Launch {
        bounds: case.bounds(),
        max_steps: Some(1 << 32),
        races: false,
        ..Launch::new(case.dispatch())
    };
    match interp::run(&module, kernel, &mut args, &launch) {
        // The interpreter does not hold it.
        Err(f) if f.code().0 == 709 => return Ok(false),
        other => other.map_err(|f| format!("{} {f} at {:?}", f.code(), f.thread))?,
    };
    case.check(&module, kernel, &args)?;
    Ok(true)
}

fn check_folder(folder: &str) {
    let cases = cases(folder);
    if cases.is_empty() {
        println!("skipped: no corpus folder `{folder}`");
        return;
    }
    let only = std::env::var("ONLY").ok();
    let (mut right, mut wrong) = (0, Vec::new());
    for case in &cases {
        let skipped = only.as_ref().is_some_and(|o| *o != case.name);
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
}

#[test]
fn kernels_after_bug_reports_keep_their_results() {
    check_folder("bugs");
}

#[test]
fn own_kernels_keep_their_results() {
    check_folder("own");
}

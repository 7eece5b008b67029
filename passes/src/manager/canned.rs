//! The canned pipelines.
//!
//! `@O0-flat-scalar` to `@O3-flat-scalar` bring the lowering of an AST into the form that the LLVM emitter takes
//! ([`Requires::FLAT_SCALAR`]); LLVM's own passes follow there, hence the higher levels stay modest. `@O0-structured` to
//! `@O3-structured` clean up and keep structured control flow. `@O0-structured-ssa` to `@O3-structured-ssa` optimise flat control flow
//! and structure it again, with phis from level 1 on. `@basic`, `@ssa`, `@post_inline_cleanup` and
//! `@post_restructure_cleanup` are the lists of those names in the specification (`passes.md` section 8.2), with folding before
//! the identities too, so that its constants reach them. `@native_spirv`, `@metal4` and `@fallback` are the orders of those
//! back ends (section 8.3).

use super::form::Requires;
use super::pipeline::{Pipeline, unknown};
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;

/// How much to optimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    O0,
    O1,
    O2,
    O3,
}

/// The form that a target asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// Flat control flow with phis, scalar arithmetic, mathematics lowered: LLVM.
    FlatScalar,
    /// Structured control flow in memory form.
    Structured,
    /// Structured control flow with phis, scalar arithmetic, mathematics lowered, no calls: SPIR-V.
    StructuredSsa,
}

impl TargetForm {
    /// What the pipeline must establish.
    pub const fn requires(self) -> Requires {
        match self {
            TargetForm::FlatScalar => Requires::FLAT_SCALAR,
            TargetForm::Structured => Requires::MEMORY,
            TargetForm::StructuredSsa => Requires::STRUCTURED_SCALAR,
        }
    }
}

/// Which canned pipeline, with what options.
#[derive(Clone, Debug)]
pub struct Canned {
    pub level: Level,
    pub form: TargetForm,
    /// Whether `--math fast` holds.
    pub fast_math: bool,
    /// Operations that the target has natively, by name; see the pass `lower_math`.
    pub native: Vec<&'static str>,
}

/// The pipeline that brings a lowered module into the form of a target.
pub fn canned(options: &Canned) -> Result<Pipeline, Diagnostic> {
    let form = match options.form {
        TargetForm::FlatScalar => "flat-scalar",
        TargetForm::Structured => "structured",
        TargetForm::StructuredSsa => "structured-ssa",
    };
    let mut pipeline = Pipeline::parse(&format!("@{:?}-{form}", options.level))?;
    if options.fast_math {
        pipeline.set_option("fast_math", "true");
    }
    if !options.native.is_empty() {
        pipeline.set_option("native", &options.native.join("|"));
    }
    Ok(pipeline)
}

/// What `-O2` and `-O3` have in common for flat targets. Indices that become constant in the first round let the second one
/// split more variables.
macro_rules! flat {
    () => {
        "autodiff,destructure_cfg,inline{inline_all=true},unused_callable_removal,simplify_cfg,sroa,mem2reg,scalarizer,\
         const_fold,simplify_libcalls,algebraic_simplify,phi_cleanup,simplify_cfg,gvn,local_store_forward,\
         local_load_elimination,dead_store_elimination,dce,sroa,mem2reg,scalarizer,const_fold,algebraic_simplify,sccp,cvp,\
         phi_cleanup,simplify_cfg,reassociate,gvn"
    };
}

/// What `-O2` and `-O3` have in common for targets with structured control flow, phis and no calls: as `flat!`, with everything
/// inlined.
macro_rules! flat_without_calls {
    () => {
        "autodiff,destructure_cfg,inline{inline_all=true,single_site_limit=1000000,limit=1000000,caller_limit=1000000,override_noinline=true},unused_callable_removal,simplify_cfg,sroa,mem2reg,scalarizer,\
         const_fold,simplify_libcalls,algebraic_simplify,phi_cleanup,simplify_cfg,gvn,local_store_forward,\
         local_load_elimination,dead_store_elimination,dce,sroa,mem2reg,scalarizer,const_fold,algebraic_simplify,sccp,cvp,\
         phi_cleanup,simplify_cfg,reassociate,gvn"
    };
}

/// What `-O2` and `-O3` begin with for structured targets.
macro_rules! structured {
    () => {
        "autodiff,inline,unused_callable_removal,promote_ref_arg,dead_arg_elim,sroa,local_store_forward,\
         local_load_elimination,const_fold,"
    };
}

/// The text of `@basic`, which others begin with.
macro_rules! basic {
    () => {
        "licm,dce,local_store_forward,local_load_elimination,dce,const_fold,algebraic_simplify,const_fold,dce,promote_ref_arg,\
         sroa,dead_store_elimination,dce"
    };
}

/// The text of `@ssa`.
macro_rules! ssa {
    () => {
        "licm,const_fold,algebraic_simplify,const_fold,sccp,slp_vectorization,gvn,if_conversion,phi_cleanup,dce,\
         local_store_forward,local_load_elimination,dead_store_elimination,dce"
    };
}

/// Name and text of every canned pipeline.
pub static CANS: &[(&str, &str)] = &[
    (
        "O0-flat-scalar",
        "autodiff,destructure_cfg,inline,unused_callable_removal,scalarizer,lower_math",
    ),
    (
        "O1-flat-scalar",
        "autodiff,destructure_cfg,inline{inline_all=true},unused_callable_removal,simplify_cfg,sroa,mem2reg,scalarizer,lower_math,\
         const_fold,phi_cleanup,simplify_cfg,dce",
    ),
    ("O2-flat-scalar", concat!(flat!(), ",dce,lower_math,const_fold,algebraic_simplify,gvn,dce")),
    (
        "O3-flat-scalar",
        concat!(flat!(), ",licm,dce,lower_math,const_fold,algebraic_simplify,gvn,dce"),
    ),
    (
        "O0-structured-ssa",
        "autodiff,destructure_cfg,inline{inline_all=true,single_site_limit=1000000,limit=1000000,caller_limit=1000000,override_noinline=true},unused_callable_removal,scalarizer,lower_math,lower_edge_cases{fast_math=false},restructure_cfg",
    ),
    (
        "O1-structured-ssa",
        "autodiff,destructure_cfg,inline{inline_all=true,single_site_limit=1000000,limit=1000000,caller_limit=1000000,override_noinline=true},unused_callable_removal,simplify_cfg,sroa,mem2reg,scalarizer,lower_math,const_fold,\
         phi_cleanup,simplify_cfg,dce,lower_edge_cases{fast_math=false},restructure_cfg,mem2reg,dce",
    ),
    (
        "O2-structured-ssa",
        concat!(
            flat_without_calls!(),
            ",dce,lower_math,const_fold,algebraic_simplify,gvn,dce,lower_edge_cases{fast_math=false},restructure_cfg,mem2reg,dce"
        ),
    ),
    (
        "O3-structured-ssa",
        concat!(
            flat_without_calls!(),
            ",licm,dce,lower_math,const_fold,algebraic_simplify,gvn,dce,lower_edge_cases{fast_math=false},restructure_cfg,mem2reg,dce"
        ),
    ),
    ("O0-structured", "autodiff,unused_callable_removal"),
    ("O1-structured", "autodiff,unused_callable_removal,sroa,const_fold,dce"),
    (
        "O2-structured",
        concat!(
            structured!(),
            "sroa,local_store_forward,local_load_elimination,dead_store_elimination,const_fold,simplify_libcalls,\
             algebraic_simplify,reassociate,early_cse,dead_store_elimination,dce"
        ),
    ),
    (
        "O3-structured",
        concat!(
            structured!(),
            "defer_local_aggregate_load,sroa,local_store_forward,local_load_elimination,dead_store_elimination,const_fold,\
             simplify_libcalls,algebraic_simplify,reassociate,gvn,licm,dead_store_elimination,dce"
        ),
    ),
    ("basic", basic!()),
    (
        "post_inline_cleanup",
        "slp_vectorization,fuse_consecutive_buffer_reads,dce,local_store_forward,local_load_elimination,dce,const_fold,\
         algebraic_simplify,const_fold,dce,sroa,dead_store_elimination,dce",
    ),
    ("ssa", ssa!()),
    (
        "post_restructure_cleanup",
        "const_fold,algebraic_simplify,dce,early_cse,local_store_forward,local_load_elimination,dead_store_elimination,gvn,\
         dce",
    ),
    (
        "native_spirv",
        "autodiff,keep_waves_in_loops,dce,local_store_forward,local_load_elimination,dce,algebraic_simplify,const_fold,dce,\
         promote_ref_arg,sroa,dce,lower_ray_query_to_loop,destructure_cfg,mem2reg,algebraic_simplify,const_fold,dce,local_store_forward,\
         local_load_elimination,dce,unused_callable_removal,simplify_cfg,reg2mem,restructure_cfg,mem2reg",
    ),
    (
        "metal4",
        concat!(
            "autodiff,keep_waves_in_loops,",
            basic!(),
            ",lower_ray_query_to_loop,destructure_cfg,inline_all,mem2reg,",
            ssa!(),
            ",unused_callable_removal,simplify_cfg"
        ),
    ),
    (
        "fallback",
        "autodiff,keep_waves_in_loops,dce,local_store_forward,local_load_elimination,dce,mem2reg,dce,\
         lower_ray_query_to_pipeline,destructure_cfg,simplify_cfg",
    ),
];

/// The text of a canned pipeline.
pub(super) fn text(name: &str) -> Result<String, Diagnostic> {
    match CANS.iter().find(|(n, _)| *n == name) {
        Some((_, text)) => Ok(text.to_string()),
        None => Err(unknown(
            codes::UNKNOWN_PIPELINE,
            "canned pipeline",
            name,
            CANS.iter().map(|(n, _)| *n),
        )),
    }
}

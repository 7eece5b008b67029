//! Kernels with barriers, for targets where every thread of a block must come to each of them.
//!
//! Elsewhere a thread outside of the dispatch returns first of all. Here it cannot: it goes along from barrier to barrier, as a thread does that
//! returns early (the pass `keep_threads_at_barriers`). This comes last, since lines of the log and failed assertions end threads too.

use std::borrow::Cow;

use luisac_ast::diagnostic::Diagnostics;
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::op::ThreadGroupOp;
use luisac_xir::{Function, FunctionId, FunctionKind, Module, Op, TypeId};

use crate::usage::reachable_callees_first;

/// A kernel whose threads come to its barriers.
pub(crate) struct Held<'a> {
    pub module: Cow<'a, Module>,
    pub kernel: FunctionId,
    /// Whether threads outside of the dispatch must return first of all: there are no barriers to come to.
    pub outside_returns: bool,
}

/// Flat control flow, with what holds barriers inlined.
pub(crate) const FLATTEN: &str = "reg2mem,keep_waves_in_loops,destructure_cfg,\
    inline{inline_all=true,limit=0,single_site_limit=0,override_noinline=true}";

/// Brings threads to barriers, from flat control flow in any form to flat memory form.
pub(crate) const KEEP: &str = "mem2reg,keep_threads_at_barriers";

/// Cleans up behind. Control flow is structured in memory form: with phis, arms of a loop may come to the same barrier in different rounds.
pub(crate) const TIDY: &str = "dce,simplify_cfg";

/// Brings the threads of a kernel to its barriers; from structured control flow in memory form, and back to it.
///
/// # Errors
/// What the passes refuse.
pub(crate) fn hold(module: Cow<'_, Module>, kernel: FunctionId) -> Result<Held<'_>, Diagnostics> {
    if !may_wait(&module, kernel) {
        return Ok(Held { module, kernel, outside_returns: true });
    }
    let mut own = alone(&module, kernel);
    run(FLATTEN, &mut own)?;
    let kernel_of = |module: &Module| module.kernels().next().unwrap_or(kernel);
    if !luisac_passes::holds_up(&own.functions[kernel_of(&own)]) {
        return Ok(Held { module, kernel, outside_returns: true });
    }
    run(KEEP, &mut own)?;
    run(TIDY, &mut own)?;
    run("restructure_cfg,reg2mem,dce", &mut own)?;
    let kernel = kernel_of(&own);
    Ok(Held { module: Cow::Owned(own), kernel, outside_returns: false })
}

/// Runs passes.
pub(crate) fn run(passes: &str, module: &mut Module) -> Result<(), Diagnostics> {
    let passes = Pipeline::parse(passes).map_err(|e| Diagnostics(vec![e]))?;
    passes.run(module, RunOptions::default()).map(|_| ())
}

/// Whether a kernel, or something that it calls, has a barrier where a block has several threads.
pub(crate) fn may_wait(module: &Module, kernel: FunctionId) -> bool {
    let barrier = Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock);
    let waits = |func: &Function| {
        func.blocks().flat_map(|b| func.insts(b)).any(|inst| func.op(inst) == barrier)
    };
    let kind = module.functions[kernel].kind;
    !matches!(kind, FunctionKind::Kernel { block_size: [1, 1, 1] })
        && reachable_callees_first(module, kernel).iter().any(|&id| waits(&module.functions[id]))
}

/// The module with nothing but a kernel and what it calls.
pub(crate) fn alone(module: &Module, kernel: FunctionId) -> Module {
    let needed = reachable_callees_first(module, kernel);
    let copy = |(id, func): (FunctionId, &Function)| match needed.contains(&id) || id == kernel {
        true => func.clone(),
        false => Function::new("", FunctionKind::Callable, TypeId::VOID),
    };
    Module { types: module.types.clone(), functions: module.functions.iter().map(copy).collect() }
}

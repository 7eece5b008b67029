//! Reverse-mode differentiation.
//!
//! What: replaces each `autodiff_scope` by its body, in which `backward` has become code that computes gradients, and the other
//! intrinsics have become loads, stores and additions.
//!
//! 1. [`inline`]: calls inside the scope are replaced by bodies in structured form ([`exits`] gives a callee one exit).
//! 2. [`regions`]: the part of the scope before `backward` as a tree of regions and constructs.
//! 3. [`activity`]: which values and variables carry a derivative: those that depend on a marked one and on which a seed depends.
//! 4. [`sweep`], [`rules`]: the tree is walked backwards; every instruction adds to the adjoints of its operands. Branches branch
//!    again on what they branched on; a loop runs its iterations from the last to the first.
//! 5. [`tape`]: what the walk needs of the forward run is kept in locals, inside loops in arrays with one element an iteration.
//!
//! Notation: the adjoint of a variable is a local of the same type, that of a value a local or, inside one block, a value. A
//! store moves the adjoint of the variable to the value; so adjoints of memory are right also where variables are written again.
//! `reached` flags tell which code after a construct ran where a `break` or `continue` may have passed it by.
//!
//! Why right: it is the chain rule along the path that was taken, last instruction first. Whatever has no rule is refused.
//! Cost: linear in the code of the scope, apart from inlining; memory of the tape is the number of iterations times the values
//! that are needed, for loops with a constant trip count exactly, for others up to `max_trips` iterations (an assertion tells
//! of more). Source: `passes.md` section 7; Griewank and Walther, Evaluating Derivatives, chapters 3 and 6.

mod activity;
mod exits;
mod gradients;
mod inline;
mod matrices;
mod regions;
mod rules;
mod sweep;
mod tape;
mod trips;
mod values;

use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters, options};
use crate::transforms::util;
use luisac_ast::types::TypeTable;
use luisac_xir::op::AutodiffOp;
use luisac_xir::{BlockId, Function, FunctionId, InstId, Module, Op};

counters! {
    /// What `autodiff` did.
    Info {
        change transformed_scope_count "scopes replaced by code that computes gradients";
        change inlined_call_count "calls inside scopes replaced by bodies";
        change removed_instruction_count "differentiation intrinsics replaced";
        note taped_value_count "values kept for the way back";
        note adjoint_count "values and variables with an adjoint";
        note reversed_loop_count "loops run backwards";
    }
}

options! {
    /// Limits of differentiation.
    Options {
        max_trips: u64 = 64, "iterations that are kept of a loop whose trip count is not constant";
        max_tape_bytes: u64 = 1 << 19, "bytes that may be kept for a thread";
        max_instructions: u64 = 1 << 20, "instructions that a function may grow to by inlining";
    }
}

/// The pass.
pub struct Autodiff;

impl ModulePass for Autodiff {
    const DECLARATION: Declaration = Declaration::new(
        "autodiff",
        "replaces autodiff scopes by code that computes gradients",
        "Inlines the calls inside each scope and emits the reverse sweep at `backward`. Branches and loops are allowed; loops \
         without a constant trip count keep up to `max_trips` iterations. Operations without a rule that a gradient depends \
         on are refused, and so are phis inside a scope: adjoints follow the loads and stores of variables.",
    );
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let mut done: Vec<(FunctionId, Function)> = Vec::new();
        let mut types = cx.module.types.clone();
        let ids: Vec<FunctionId> = cx.module.functions.keys().collect();
        for id in ids {
            // No target holds scopes, hence fuel is not asked.
            if !concerns(cx.module, id) {
                continue;
            }
            let mut func = cx.module.functions[id].clone();
            transform(cx.module, &mut func, &mut types, options, &mut info)?;
            done.push((id, func));
        }
        for (id, func) in done {
            cx.module.functions[id] = func;
        }
        cx.module.types = types;
        check_rest(cx.module)?;
        Ok(info)
    }
}

/// Whether the pass has something to do in a function.
fn concerns(module: &Module, id: FunctionId) -> bool {
    let func = &module.functions[id];
    func.blocks().flat_map(|b| func.insts(b)).any(|i| match func.op(i) {
        Op::AutodiffScope | Op::Autodiff(AutodiffOp::Detach) => true,
        Op::Call => inline::needs_inlining(module, func, i),
        _ => false,
    })
}

fn transform(
    module: &Module,
    func: &mut Function,
    types: &mut TypeTable,
    options: &Options,
    info: &mut Info,
) -> Result<(), Refusal> {
    info.inlined_call_count += inline::inline_outside(module, func, options)?;
    while let Some((block, scope)) = find_scope(func) {
        info.inlined_call_count += inline::inline_scope(module, func, scope, options)?;
        differentiate(func, types, block, scope, options, info)?;
    }
    let rest: Vec<InstId> = func
        .blocks()
        .flat_map(|b| func.insts(b))
        .filter(|&i| func.op(i) == Op::Autodiff(AutodiffOp::Detach))
        .collect();
    for inst in rest {
        let value = func.arg(inst, 0);
        util::replace_and_remove(func, inst, value);
        info.removed_instruction_count += 1;
    }
    Ok(())
}

/// The first scope in block order.
fn find_scope(func: &Function) -> Option<(BlockId, InstId)> {
    func.blocks().find_map(|b| {
        let end = func.terminator(b).filter(|&t| func.op(t) == Op::AutodiffScope)?;
        Some((b, end))
    })
}

fn differentiate(
    func: &mut Function,
    types: &mut TypeTable,
    block: BlockId,
    scope: InstId,
    options: &Options,
    info: &mut Info,
) -> Result<(), Refusal> {
    let tree = regions::build(func, scope)?;
    let activity = activity::analyse(func, types, &tree)?;
    let mut sweep = sweep::Sweep::new(func, types, tree, activity, scope, options);
    sweep.run(info)?;
    // The scope's body becomes part of the code around it.
    let entry = func.inst_blocks(scope).first().copied().unwrap_or(block);
    util::branch_instead(func, block, entry);
    let keep = util::named_blocks(func, true);
    util::remove_blocks_but(func, &keep);
    info.transformed_scope_count += 1;
    Ok(())
}

/// No intrinsic may be left in a function that is used.
fn check_rest(module: &Module) -> Result<(), Refusal> {
    let mut called = vec![false; module.functions.len()];
    for func in module.functions.values() {
        for (_, callee) in super::unused_callable_removal::calls(func) {
            if let Some(flag) = called.get_mut(callee.as_u32() as usize) {
                *flag = true;
            }
        }
    }
    for (id, func) in &module.functions {
        let is_used = func.is_kernel() || called.get(id.as_u32() as usize) == Some(&true);
        let left = func.blocks().flat_map(|b| func.insts(b)).find_map(|i| match func.op(i) {
            Op::Autodiff(op) => Some(op),
            _ => None,
        });
        if let (true, Some(op)) = (is_used, left) {
            return Err(refusal(
                func,
                format!("`{}` stands outside of a differentiated scope", op.name()),
                "put it into an autodiff scope, or call its function from one",
            ));
        }
    }
    Ok(())
}

fn refusal(func: &Function, reason: impl Into<String>, help: impl Into<String>) -> Refusal {
    Refusal { reason: reason.into(), help: help.into(), function: func.name.clone() }
}

//! Calls inside scopes, replaced by bodies in structured form.

use super::{Options, exits, refusal};
use crate::manager::declaration::Refusal;
use crate::transforms::inline::Splice;
use luisac_xir::{ArgumentKind, Function, FunctionId, Imm, InstId, Module, Op};
use rustc_hash::FxHashMap;

/// Whether a call must be inlined although it stands outside of a scope: its callee differentiates variables that the caller
/// passes by reference, and two references may name one variable.
pub(super) fn needs_inlining(module: &Module, func: &Function, call: InstId) -> bool {
    let Imm::Callee(callee) = func.inst(call).imm else { return false };
    let callee = &module.functions[callee];
    let references = callee.arguments.iter().filter(|a| a.kind == ArgumentKind::Reference).count();
    references >= 2
        && callee
            .blocks()
            .any(|b| callee.terminator(b).is_some_and(|t| callee.op(t) == Op::AutodiffScope))
}

/// Inlines the calls that [`needs_inlining`] names; gives how many.
pub(super) fn inline_outside(
    module: &Module,
    func: &mut Function,
    options: &Options,
) -> Result<u64, Refusal> {
    let calls: Vec<InstId> = func
        .blocks()
        .flat_map(|b| func.insts(b))
        .filter(|&i| func.op(i) == Op::Call && needs_inlining(module, func, i))
        .collect();
    replace(module, func, calls, options, needs_inlining)
}

/// Inlines all calls of functions with a body inside a scope; gives how many.
pub(super) fn inline_scope(
    module: &Module,
    func: &mut Function,
    scope: InstId,
    options: &Options,
) -> Result<u64, Refusal> {
    let mut calls = Vec::new();
    let mut seen = vec![false; func.block_count()];
    let [entry, merge] = *func.inst_blocks(scope) else { return Ok(0) };
    seen[merge.as_u32() as usize] = true;
    let mut pending = vec![entry];
    while let Some(block) = pending.pop() {
        if std::mem::replace(&mut seen[block.as_u32() as usize], true) {
            continue;
        }
        calls.extend(func.insts(block).filter(|&i| func.op(i) == Op::Call));
        if let Some(end) = func.terminator(block) {
            pending.extend_from_slice(func.inst_blocks(end));
        }
    }
    // The last first, so that each instruction moves once when blocks are split.
    calls.sort_unstable();
    replace(module, func, calls, options, |_, _, _| true)
}

fn replace(
    module: &Module,
    func: &mut Function,
    mut pending: Vec<InstId>,
    options: &Options,
    wants: impl Fn(&Module, &Function, InstId) -> bool,
) -> Result<u64, Refusal> {
    let mut bodies: FxHashMap<FunctionId, Function> = FxHashMap::default();
    let mut size = func.placed_inst_count() as u64;
    let mut count = 0;
    while let Some(call) = pending.pop() {
        let Imm::Callee(id) = func.inst(call).imm else { continue };
        if !module.functions[id].has_body() || !wants(module, func, call) {
            continue;
        }
        let callee = bodies.entry(id).or_insert_with(|| {
            let mut body = module.functions[id].clone();
            exits::make_single_exit(&mut body, &module.types);
            body
        });
        size += callee.placed_inst_count() as u64;
        if size > options.max_instructions {
            return Err(refusal(
                func,
                format!(
                    "the calls of a differentiated scope come to more than {} instructions",
                    options.max_instructions
                ),
                "differentiate a smaller part, or raise `max_instructions` of `autodiff`",
            ));
        }
        let mut splice = Splice::new(func, &module.types, callee);
        splice.run(call, true);
        pending.extend(splice.copied_calls());
        count += 1;
    }
    Ok(count)
}

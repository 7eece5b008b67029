//! Invariants 1 to 7, 16, 17 and 20: what can be said of a function without looking at the meaning of its operands.

use super::{Context, Options};
use crate::op::Space;
use crate::text::words::{block_words, is_bindless};
use crate::{ArgumentKind, FunctionKind, Imm, InstId, Op, ValueDef, ValueId};
use cranelift_entity::{EntityRef, SecondaryMap};
use luisac_ast::types::{Scalar, TypeId};

pub(super) fn check(cx: &mut Context<'_>, options: &Options) {
    check_function(cx);
    check_values(cx);
    let function = cx.function;
    for block in function.blocks() {
        for inst in function.insts(block) {
            check_references(cx, inst);
            check_shape(cx, inst);
            check_result(cx, inst);
        }
    }
    if cx.has_any_of(&[4]) {
        return;
    }
    check_terminators(cx);
    if options.reachable {
        check_reachable(cx);
    }
}

fn check_function(cx: &mut Context<'_>) {
    let function = cx.function;
    match function.kind {
        FunctionKind::Kernel { block_size: [x, y, z] } => {
            let product = u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z));
            if !(1..=1024).contains(&product) || z > 64 {
                cx.function_error(20, format!("the block size {x} x {y} x {z} is not allowed"));
            }
            if function.return_type != TypeId::VOID {
                cx.function_error(20, "a kernel returns nothing");
            }
        }
        FunctionKind::Callable | FunctionKind::External => {
            let ty = function.return_type;
            if ty != TypeId::VOID && !(cx.types.contains(ty) && cx.types.is_data(ty)) {
                cx.function_error(17, "the return type is no data type");
            }
        }
    }
    match (function.kind, function.has_body()) {
        (FunctionKind::External, true) => cx.function_error(20, "an external function has a body"),
        (FunctionKind::External, false) | (_, true) => {}
        (_, false) => cx.function_error(20, "the function has no body"),
    }
    for (i, argument) in function.arguments.iter().enumerate() {
        let (types, ty) = (cx.types, argument.ty);
        let known = types.contains(ty);
        let fits = known
            && match argument.kind {
                ArgumentKind::Value => types.is_data(ty),
                ArgumentKind::Reference if function.is_kernel() => types.is_custom(ty),
                ArgumentKind::Reference => types.is_data(ty) || types.is_custom(ty),
                ArgumentKind::Resource => types.is_resource(ty),
            };
        if !fits {
            let name = if known { types.description(ty) } else { "?".into() };
            cx.function_error(17, format!("argument {i} cannot be of the type `{name}`"));
        }
        let defined = argument.value.index() < function.value_count()
            && function.value_def(argument.value) == ValueDef::Argument(i as u32)
            && function.value_type(argument.value) == ty;
        if !defined {
            cx.function_error(4, format!("the value of argument {i} is not defined by it"));
        }
    }
}

/// Types of constants and undefined values.
fn check_values(cx: &mut Context<'_>) {
    let (function, types) = (cx.function, cx.types);
    for value in (0..function.value_count()).map(ValueId::new) {
        let ty = function.value_type(value);
        if !types.contains(ty) {
            cx.function_error(4, format!("the type of {value} is not of the module"));
            continue;
        }
        match function.value_def(value) {
            ValueDef::Constant(_) => {
                let len = function.constant_bytes(value).map_or(0, |b| b.as_slice().len());
                if !types.is_data(ty) || types.size(ty) != len as u64 {
                    let name = types.description(ty);
                    cx.function_error(17, format!("a constant of `{name}` has {len} bytes"));
                }
            }
            ValueDef::Undefined if !types.is_data(ty) && !types.is_custom(ty) => {
                let name = types.description(ty);
                cx.function_error(17, format!("there is no undefined value of `{name}`"));
            }
            _ => {}
        }
    }
}

fn check_references(cx: &mut Context<'_>, inst: InstId) {
    let function = cx.function;
    for (i, &value) in function.args(inst).iter().enumerate() {
        if value.index() >= function.value_count() {
            cx.inst_error(4, inst, format!("operand {i} is no value of the function"));
            continue;
        }
        let known = match function.value_def(value) {
            ValueDef::Inst(def) => {
                function.result(def) == Some(value) && function.inst_block(def).is_some()
            }
            ValueDef::Argument(index) => {
                function.arguments.get(index as usize).is_some_and(|a| a.value == value)
            }
            _ => true,
        };
        if !known {
            cx.inst_error(4, inst, format!("operand {i} is defined nowhere in the function"));
        }
    }
    for &block in function.inst_blocks(inst) {
        let known = block.index() < function.block_count() && function.is_placed(block);
        if !known {
            cx.inst_error(4, inst, format!("the block {block} is not in the function"));
        } else if Some(block) == function.entry() && function.op(inst) != Op::Phi {
            cx.inst_error(3, inst, "the entry block is named");
        }
    }
    let data = function.inst(inst);
    let result_type = function.result(inst).map(|r| function.value_type(r));
    if result_type.unwrap_or(TypeId::VOID) != data.ty {
        cx.inst_error(4, inst, "the result has not the type of its instruction");
    }
}

/// Number of blocks and kind of immediate data.
fn check_shape(cx: &mut Context<'_>, inst: InstId) {
    let data = cx.function.inst(inst);
    let blocks = cx.function.inst_blocks(inst).len();
    let words = block_words(data.op).len();
    let is_switch = matches!(data.op, Op::Switch | Op::IndexedBranch);
    let fits = match data.op {
        Op::Phi => blocks == cx.function.args(inst).len(),
        _ if is_switch => blocks >= words,
        _ => blocks == words,
    };
    if !fits {
        let what = if data.op == Op::Phi { "values" } else { "blocks needed" };
        cx.inst_error(
            5,
            inst,
            format!("the number of blocks, {blocks}, is not that of the {what}"),
        );
        return;
    }
    let fits = match (&data.imm, data.op) {
        (Imm::Cases(cases), _) => is_switch && cases.len() == blocks - words,
        (imm @ Imm::Callee(_), Op::Call) | (imm @ Imm::Handlers { .. }, Op::RayQueryPipeline) => {
            let known = imm.functions().all(|f| cx.module.functions.is_valid(f));
            if !known {
                cx.inst_error(18, inst, "the callee is not in the module");
            }
            true
        }
        (Imm::Text(_), op) => {
            matches!(op, Op::Print | Op::Assert | Op::Assume | Op::Unreachable)
        }
        (Imm::Access(access), op) => is_bindless(op) || (!access.typed && !access.uniform),
        (Imm::CurveBases(_), Op::ResourceQuery(op)) => op.reads_accel(),
        (Imm::None, op) => !is_switch && !matches!(op, Op::Call | Op::RayQueryPipeline | Op::Print),
        _ => false,
    };
    if !fits {
        cx.inst_error(5, inst, "the immediate data does not fit the operation");
    } else if let Imm::Cases(cases) = &data.imm {
        check_cases(cx, inst, cases);
    }
}

fn check_cases(cx: &mut Context<'_>, inst: InstId, cases: &[u64]) {
    let Some(&selector) = cx.function.args(inst).first() else { return };
    if selector.index() >= cx.function.value_count() {
        return;
    }
    let ty = cx.function.value_type(selector);
    let bits = cx.types.scalar_of(ty).map_or(64, Scalar::bits);
    if let Some(wide) = cases.iter().find(|&&v| bits < 64 && v >> bits != 0) {
        cx.inst_error(16, inst, format!("the case value {wide} does not fit {bits} bits"));
    }
    let mut sorted = cases.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|p| p[0] == p[1]) {
        cx.inst_error(16, inst, format!("there are two cases of the value {}", pair[0]));
    }
}

/// Whether the instruction should have a result; unknown for a call without callee.
pub(super) fn wants_result(cx: &Context<'_>, inst: InstId) -> Option<bool> {
    match (cx.function.op(inst), &cx.function.inst(inst).imm) {
        (Op::Call, Imm::Callee(callee)) => {
            let callee = cx.module.functions.get(*callee)?;
            Some(callee.return_type != TypeId::VOID)
        }
        (Op::Call, _) => None,
        (op, _) => Some(yields_result(op)),
    }
}

/// Whether there is a result, and whether its type may be one.
fn check_result(cx: &mut Context<'_>, inst: InstId) {
    let data = cx.function.inst(inst);
    let Some(wanted) = wants_result(cx, inst) else { return };
    let found = data.ty != TypeId::VOID;
    if wanted != found {
        let what = if wanted { "the operation has a result" } else { "there is no result" };
        cx.inst_error(6, inst, what);
        return;
    }
    if !found {
        return;
    }
    if !cx.types.contains(data.ty) {
        cx.inst_error(4, inst, "the result type is not of the module");
        return;
    }
    let holds = match data.op {
        Op::Alloca(Space::Shared) => cx.types.is_data(data.ty),
        _ => cx.types.is_data(data.ty) || cx.types.is_custom(data.ty),
    };
    if !holds {
        let name = cx.types.description(data.ty);
        cx.inst_error(17, inst, format!("there are no values or variables of `{name}`"));
    }
    if data.op == Op::Alloca(Space::Shared) && !cx.function.is_kernel() {
        cx.inst_error(20, inst, "shared memory belongs to kernels");
    }
}

/// Whether instructions of the operation have a result; calls depend on the callee.
fn yields_result(op: Op) -> bool {
    use crate::op::AutodiffOp;
    match op {
        Op::Phi | Op::Alloca(_) | Op::Load | Op::Gep | Op::Arithmetic(_) | Op::Cast(_) => true,
        Op::Atomic(_) | Op::ResourceQuery(_) | Op::ResourceRead(_) => true,
        Op::RayQueryRead(_) | Op::Clock => true,
        Op::ThreadGroup(op) => op.has_result(),
        Op::Autodiff(op) => matches!(op, AutodiffOp::Gradient | AutodiffOp::Detach),
        _ => false,
    }
}

fn check_terminators(cx: &mut Context<'_>) {
    let function = cx.function;
    for block in function.blocks() {
        let Some(last) = function.last_inst(block) else {
            cx.block_error(1, block, format!("{block} is empty"));
            continue;
        };
        if !function.op(last).is_terminator() {
            cx.block_error(1, block, "the block does not end in a terminator");
        }
        for inst in function.insts(block) {
            if inst != last && function.op(inst).is_terminator() {
                cx.inst_error(1, inst, "a terminator stands before the end of its block");
            }
        }
    }
}

/// Invariant 2, over all blocks that terminators name.
fn check_reachable(cx: &mut Context<'_>) {
    let function = cx.function;
    let Some(entry) = function.entry() else { return };
    let mut reached = SecondaryMap::with_capacity(function.block_count());
    reached[entry] = true;
    let mut stack = vec![entry];
    while let Some(block) = stack.pop() {
        let Some(terminator) = function.terminator(block) else { continue };
        for &target in function.inst_blocks(terminator) {
            if !reached[target] {
                reached[target] = true;
                stack.push(target);
            }
        }
    }
    for block in function.blocks() {
        if !reached[block] {
            cx.block_error(2, block, "nothing leads to the block");
        }
    }
}

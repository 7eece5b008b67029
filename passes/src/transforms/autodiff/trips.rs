//! How often a loop runs, where that is constant.

use luisac_ast::types::TypeTable;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::{ArithmeticOp, Space};
use luisac_xir::{BlockId, Function, InstId, Op, ValueId, eval};

/// Trip counts above this are not computed.
const MAX_TRIPS: u32 = 1 << 16;

/// An upper bound of the number of times that the body of a `loop` starts: exact unless it is left early. The condition must
/// compare a variable with a constant; the variable is set to a constant in the block that ends in the loop, and changed only
/// by one store in the update part, which adds a constant or takes one away. Found by counting.
pub(super) fn constant_trips(
    func: &Function,
    types: &TypeTable,
    dominators: &DominatorTree,
    looped: InstId,
) -> Option<u32> {
    let [prepare, body, update, _] = *func.inst_blocks(looped) else { return None };
    let end = func.terminator(prepare).filter(|&t| func.op(t) == Op::CondBr)?;
    if func.inst_blocks(end).first() != Some(&body) {
        return None;
    }
    let in_prepare = |&i: &InstId| func.inst_block(i) == Some(prepare);
    let condition = func.def_inst(func.arg(end, 0)).filter(in_prepare)?;
    let Op::Arithmetic(compare) = func.op(condition) else { return None };
    let &[left, right] = func.args(condition) else { return None };
    let owner = func.inst_block(looped)?;
    let constant = |value| constant_of(func, dominators, owner, value);
    let (old, limit, swapped) = match (constant(left), constant(right)) {
        (None, Some(limit)) => (left, limit, false),
        (Some(limit), None) => (right, limit, true),
        _ => return None,
    };
    func.def_inst(old).filter(in_prepare)?;
    let variable = loaded(func, old)?;
    let ty = func.value_type(variable);
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar(ty))?;
    let test = eval::binary(compare, scalar, scalar)?;
    let (init, step, negate) = steps(func, &constant, variable, owner, update)?;
    let op = if negate { ArithmeticOp::BinarySub } else { ArithmeticOp::BinaryAdd };
    let add = eval::binary(op, scalar, scalar)?;
    let mut value = init;
    for trips in 0..MAX_TRIPS {
        let holds = if swapped { test(limit, value) } else { test(value, limit) };
        if holds == 0 {
            return Some(trips);
        }
        value = add(value, step);
    }
    None
}

/// The variable that a value was loaded from: a local that is only loaded and stored as a whole.
fn loaded(func: &Function, value: ValueId) -> Option<ValueId> {
    let load = func.def_inst(value).filter(|&i| func.op(i) == Op::Load)?;
    let variable = func.arg(load, 0);
    let alloca = func.def_inst(variable)?;
    let plain = func.op(alloca) == Op::Alloca(Space::Local)
        && func.uses(variable).all(|(user, index)| {
            func.op(user) == Op::Load || (func.op(user) == Op::Store && index == 0)
        });
    plain.then_some(variable)
}

fn stores(func: &Function, variable: ValueId) -> impl Iterator<Item = InstId> + '_ {
    func.uses(variable).map(|(user, _)| user).filter(|&i| func.op(i) == Op::Store)
}

/// The bits of a constant, also of a variable that is written in one block only, which dominates `at`: what it is set to last.
fn constant_of(
    func: &Function,
    dominators: &DominatorTree,
    at: BlockId,
    value: ValueId,
) -> Option<u64> {
    if let Some(bits) = func.constant_bits(value) {
        return Some(bits);
    }
    let variable = loaded(func, value)?;
    let block = func.inst_block(stores(func, variable).next()?)?;
    let alone = stores(func, variable).all(|i| func.inst_block(i) == Some(block));
    if !alone || !dominators.dominates(block, at) {
        return None;
    }
    let load = func.def_inst(value)?;
    let before = (func.inst_block(load) == Some(block)).then_some(load);
    last_store(func, variable, block, before).and_then(|v| func.constant_bits(v))
}

/// What the variable is set to last in a block, or before an instruction of it.
fn last_store(
    func: &Function,
    variable: ValueId,
    block: BlockId,
    before: Option<InstId>,
) -> Option<ValueId> {
    let mut at = match before {
        Some(inst) => func.prev_inst(inst),
        None => func.last_inst(block),
    };
    while let Some(inst) = at {
        if func.op(inst) == Op::Store && func.arg(inst, 0) == variable {
            return Some(func.arg(inst, 1));
        }
        at = func.prev_inst(inst);
    }
    None
}

/// What the variable starts at, what the update part changes it by, and whether that is taken away.
fn steps(
    func: &Function,
    constant: &impl Fn(ValueId) -> Option<u64>,
    variable: ValueId,
    owner: BlockId,
    update: BlockId,
) -> Option<(u64, u64, bool)> {
    let blocks_fit = stores(func, variable)
        .all(|i| func.inst_block(i) == Some(owner) || func.inst_block(i) == Some(update));
    let mut updates = stores(func, variable).filter(|&i| func.inst_block(i) == Some(update));
    let store = updates.next()?;
    if !blocks_fit || updates.next().is_some() {
        return None;
    }
    let init = constant(last_store(func, variable, owner, None)?)?;
    let change = func.def_inst(func.arg(store, 1))?;
    let &[a, b] = func.args(change) else { return None };
    let is_old = |v| {
        loaded(func, v) == Some(variable)
            && func.def_inst(v).is_some_and(|i| func.inst_block(i) == Some(update))
    };
    match func.op(change) {
        Op::Arithmetic(ArithmeticOp::BinaryAdd) if is_old(a) => Some((init, constant(b)?, false)),
        Op::Arithmetic(ArithmeticOp::BinaryAdd) if is_old(b) => Some((init, constant(a)?, false)),
        Op::Arithmetic(ArithmeticOp::BinarySub) if is_old(a) => Some((init, constant(b)?, true)),
        _ => None,
    }
}

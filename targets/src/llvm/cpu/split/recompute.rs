//! Values that are computed anew where they are used, rather than kept across barriers.
//!
//! Addresses always are: a frame holds data only. So is what a few operations make from arguments, constants and registers, such
//! as the thread's id times four.

use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeTable;
use luisac_xir::op::{ArithmeticOp as A, ResourceQueryOp as Q};
use luisac_xir::{BlockId, Function, InstId, Op, ValueDef, ValueId};

use super::Cut;
use super::live::{Walk, use_block};

/// The dearest value that is recomputed, in simple operations.
const MAX_COST: u32 = 10;
const DEAR: u32 = u32::MAX;

/// Moves such values to the blocks that use them.
pub(super) fn recompute(cut: &mut Cut, types: &TypeTable) {
    let mut walk = Walk::new(&cut.func, &cut.starts);
    let func = &mut cut.func;
    let costs = costs(func, &walk, types);
    // Users before what they use: a copy is one more use of its operands.
    let order: Vec<BlockId> = walk.cfg().reverse_post_order().to_vec();
    for &block in order.iter().rev() {
        let insts: Vec<InstId> = func.insts(block).collect();
        for &inst in insts.iter().rev() {
            let Some(value) = func.result(inst) else { continue };
            let moves = match func.op(inst) {
                Op::Gep => true,
                _ => costs[value] <= MAX_COST && !walk.crossings(func, value).is_empty(),
            };
            if moves {
                copy_to_users(func, inst, value, block);
                if !func.has_uses(value) {
                    func.remove_inst(inst);
                }
            }
        }
    }
}

/// What each value costs to compute from nothing but arguments, constants and registers.
fn costs(func: &Function, walk: &Walk, types: &TypeTable) -> SecondaryMap<ValueId, u32> {
    let mut costs: SecondaryMap<ValueId, u32> = SecondaryMap::with_default(DEAR);
    for &block in walk.cfg().reverse_post_order() {
        for inst in func.insts(block) {
            let Some(value) = func.result(inst) else { continue };
            let Some(own) = own_cost(func.op(inst)) else { continue };
            let simple = |ty| types.is_scalar(ty) || types.is_vector(ty);
            if !simple(func.inst(inst).ty) {
                continue;
            }
            let total = func.args(inst).iter().fold(own, |sum, &a| {
                sum.saturating_add(match func.value_def(a) {
                    ValueDef::Inst(_) => costs[a],
                    _ => 0,
                })
            });
            costs[value] = total;
        }
    }
    costs
}

fn own_cost(op: Op) -> Option<u32> {
    Some(match op {
        Op::Arithmetic(A::Extract | A::Aggregate | A::Insert | A::Shuffle) => 0,
        Op::Arithmetic(
            A::UnaryMinus
            | A::UnaryBitNot
            | A::BinaryAdd
            | A::BinarySub
            | A::BinaryMul
            | A::BinaryBitAnd
            | A::BinaryBitOr
            | A::BinaryBitXor
            | A::BinaryShiftLeft
            | A::BinaryShiftRight
            | A::BinaryLess
            | A::BinaryGreater
            | A::BinaryLessEqual
            | A::BinaryGreaterEqual
            | A::BinaryEqual
            | A::BinaryNotEqual
            | A::Select
            | A::Min
            | A::Max
            | A::Abs,
        )
        | Op::Cast(_)
        | Op::ResourceQuery(Q::ByteBufferSize | Q::BufferDeviceAddress) => 1,
        Op::Arithmetic(A::BinaryDiv | A::BinaryMod) | Op::ResourceQuery(Q::BufferSize) => 4,
        _ => return None,
    })
}

/// Gives each other block that uses `value` a copy of the instruction. Its operands are there, since the instruction's block
/// dominates that block.
fn copy_to_users(func: &mut Function, inst: InstId, value: ValueId, home: BlockId) {
    let mut users: Vec<(BlockId, InstId, usize)> = func
        .uses(value)
        .filter_map(|(user, index)| Some((use_block(func, user, index)?, user, index)))
        .filter(|&(block, ..)| block != home)
        .collect();
    users.sort_unstable();
    for group in users.chunk_by(|a, b| a.0 == b.0) {
        let Some(&(block, ..)) = group.first() else { continue };
        let Some(at) = func.first_non_phi(block) else { continue };
        let data = func.inst(inst).clone();
        let args = func.args(inst).to_vec();
        let copy = func.create_inst(data.op, data.ty, &args, &[], data.imm);
        func.set_loc(copy, data.loc);
        func.insert_before(copy, at);
        let Some(result) = func.result(copy) else { continue };
        for &(_, user, index) in group {
            func.set_arg(user, index, result);
        }
    }
}

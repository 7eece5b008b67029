//! What several passes need.

use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeTable;
use luisac_xir::op::{ArithmeticOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp, Space};
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};

/// Whether an instruction indexes into a value by something that is not known to be in range: out of range it is undefined, or
/// ends the thread under `--bounds trap`. It must not run where the kernel did not run it.
pub(crate) fn has_open_index(func: &Function, types: &TypeTable, inst: InstId) -> bool {
    let first = match func.op(inst) {
        Op::Gep | Op::Arithmetic(ArithmeticOp::Extract) => 1,
        Op::Arithmetic(ArithmeticOp::Insert) => 2,
        _ => return false,
    };
    let args = func.args(inst);
    let mut ty = func.value_type(args[0]);
    args.iter().skip(first).any(|&index| {
        let known = func.constant_bits(index).filter(|&i| i < types.member_count(ty).into());
        let part = known.and_then(|i| types.element_type(ty, i as u32));
        ty = part.unwrap_or(ty);
        part.is_none()
    })
}

/// Whether a place is named by an index that is not known to be in range. Linear in the geps that lead to it.
pub(crate) fn has_open_place(func: &Function, types: &TypeTable, mut place: ValueId) -> bool {
    while let Some(gep) = func.def_inst(place).filter(|&i| func.op(i) == Op::Gep) {
        if has_open_index(func, types, gep) {
            return true;
        }
        place = func.arg(gep, 0);
    }
    false
}

/// Whether an instruction ends the thread under `--bounds trap` for some operands. Texels out of range do not.
pub(crate) fn may_trap(func: &Function, types: &TypeTable, inst: InstId) -> bool {
    match func.op(inst) {
        Op::ResourceRead(read) => !matches!(
            read,
            ResourceReadOp::Texture2dRead
                | ResourceReadOp::Texture3dRead
                | ResourceReadOp::Texture2dReadLevel
                | ResourceReadOp::Texture3dReadLevel
        ),
        Op::ResourceWrite(write) => {
            !matches!(write, ResourceWriteOp::Texture2dWrite | ResourceWriteOp::Texture3dWrite)
        }
        // The number of the slot.
        Op::ResourceQuery(query) => ResourceQueryOp::is_bindless(query),
        Op::Atomic(_) => true,
        Op::Load | Op::Store => has_open_place(func, types, func.arg(inst, 0)),
        _ => has_open_index(func, types, inst),
    }
}

/// The blocks that the entry leads to through successors, and also through roles if `roles`.
pub(crate) fn named_blocks(func: &Function, roles: bool) -> SecondaryMap<BlockId, bool> {
    let mut named: SecondaryMap<BlockId, bool> = SecondaryMap::with_capacity(func.block_count());
    let Some(entry) = func.entry() else { return named };
    let mut pending = vec![entry];
    named[entry] = true;
    while let Some(block) = pending.pop() {
        let Some(terminator) = func.terminator(block) else { continue };
        let targets =
            if roles { func.inst_blocks(terminator) } else { func.successors_of(terminator) };
        for &target in targets {
            if !named[target] {
                named[target] = true;
                pending.push(target);
            }
        }
    }
    named
}

/// Removes all blocks that are not in `keep` and their entries in phis. Uses that stay, in blocks that are kept but never
/// run, get an undefined value. Returns how many blocks went.
pub(crate) fn remove_blocks_but(func: &mut Function, keep: &SecondaryMap<BlockId, bool>) -> u64 {
    let gone: Vec<BlockId> = func.blocks().filter(|&b| !keep[b]).collect();
    if gone.is_empty() {
        return 0;
    }
    drop_phi_entries(func, |_, from| !keep[from]);
    for &block in &gone {
        let insts: Vec<InstId> = func.insts(block).collect();
        for inst in insts.into_iter().rev() {
            func.set_args(inst, &[]);
        }
    }
    for &block in &gone {
        let results: Vec<ValueId> = func.insts(block).filter_map(|i| func.result(i)).collect();
        for value in results {
            if func.has_uses(value) {
                let stand_in = undefined_like(func, value);
                func.replace_all_uses(value, stand_in);
            }
        }
        func.remove_block(block);
    }
    gone.len() as u64
}

/// An arbitrary value, or memory for an lvalue, that can stand where `value` stands in code that never runs.
fn undefined_like(func: &mut Function, value: ValueId) -> ValueId {
    let ty = func.value_type(value);
    if !func.is_lvalue(value) {
        return func.undefined(ty);
    }
    let alloca = func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
    if let Some(entry) = func.entry() {
        func.prepend_inst(entry, alloca);
    }
    func.result(alloca).unwrap_or(value)
}

/// Drops the phi entries (block, incoming block) that `gone` names; linear in all phi entries.
pub(crate) fn drop_phi_entries(func: &mut Function, gone: impl Fn(BlockId, BlockId) -> bool) {
    let blocks: Vec<BlockId> = func.blocks().collect();
    for block in blocks {
        let phis: Vec<InstId> = func.phis(block).collect();
        for phi in phis {
            if func.inst_blocks(phi).iter().any(|&from| gone(block, from)) {
                let (mut values, mut from) = (Vec::new(), Vec::new());
                for (&value, &b) in func.args(phi).iter().zip(func.inst_blocks(phi)) {
                    if !gone(block, b) {
                        values.push(value);
                        from.push(b);
                    }
                }
                func.set_args(phi, &values);
                *func.inst_blocks_mut(phi) = from;
            }
        }
    }
}

/// Replaces the terminator of a block by `br target` at the same place of the source.
pub(crate) fn branch_instead(func: &mut Function, block: BlockId, target: BlockId) {
    let loc = func.terminator(block).map(|t| func.inst(t).loc);
    let br = func.replace_with_br(block, target);
    if let Some(loc) = loc {
        func.set_loc(br, loc);
    }
}

/// Removes an instruction, its result replaced by `value`.
pub(crate) fn replace_and_remove(func: &mut Function, inst: InstId, value: ValueId) {
    if let Some(result) = func.result(inst) {
        func.replace_all_uses(result, value);
    }
    func.remove_inst(inst);
}

/// Brings the blocks into the order in which the constructs name them: arms behind their owner, the merge behind the arms.
/// Whether that changed the order.
pub(crate) fn sort_blocks(func: &mut Function) -> bool {
    let Some(entry) = func.entry() else { return false };
    let mut changed = false;
    let mut taken: SecondaryMap<BlockId, bool> = SecondaryMap::with_capacity(func.block_count());
    let mut stack = vec![entry];
    taken[entry] = true;
    let mut last = entry;
    while let Some(block) = stack.pop() {
        if block != last && func.next_block(last) != Some(block) {
            func.move_block_after(block, last);
            changed = true;
        }
        last = block;
        let Some(terminator) = func.terminator(block) else { continue };
        for &named in func.inst_blocks(terminator).iter().rev() {
            if !std::mem::replace(&mut taken[named], true) {
                stack.push(named);
            }
        }
    }
    changed
}

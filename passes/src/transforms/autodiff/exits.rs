//! One exit for a callable, so that its body can stand in the middle of a structured caller.
//!
//! What: the body becomes the default part of a `switch` on a constant, and every `return` becomes a `break` out of it. Inside
//! loops and switches a `return` sets a flag and leaves the nearest one; at its merge the flag decides whether to go on.
//! Cost: linear.

use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, ValueId};

/// A construct that `break` leaves.
#[derive(Clone, Copy)]
struct Breakable {
    merge: BlockId,
    /// The one around it, plus one; 0 for none.
    outer: u32,
}

/// Whether the only `return` ends the chain of blocks that starts at the entry and goes on at merges.
pub(super) fn has_single_exit(func: &Function) -> bool {
    let returns = func
        .blocks()
        .filter(|&b| func.terminator(b).is_some_and(|t| func.op(t) == Op::Return))
        .count();
    let mut next = func.entry();
    let mut steps = func.block_count();
    while let Some(block) = next.filter(|_| steps > 0) {
        steps -= 1;
        let Some(end) = func.terminator(block) else { return false };
        next = match func.op(end) {
            Op::Return => return returns == 1,
            Op::Br => func.inst_blocks(end).first().copied(),
            _ => func.merge_of(end),
        };
    }
    false
}

/// Gives `func` a single `return`.
pub(super) fn make_single_exit(func: &mut Function, types: &TypeTable) {
    if has_single_exit(func) {
        return;
    }
    let Some(entry) = func.entry() else { return };
    let (breakables, nearest) = breakables(func, entry);
    let returns: Vec<(BlockId, InstId)> = func
        .blocks()
        .filter_map(|b| Some((b, func.terminator(b)?)))
        .filter(|&(_, t)| func.op(t) == Op::Return)
        .collect();
    let result = (func.return_type != TypeId::VOID).then(|| entry_alloca(func, func.return_type));
    let body = split_after_allocas(func, entry);
    let exit = func.append_block();
    let mut builder = Builder::at_end(func, types, entry);
    let selector = builder.u32(0);
    let cases = Imm::Cases(Box::default());
    builder.inst(Op::Switch, TypeId::VOID, &[selector], &[body, exit], cases);
    builder.switch_to(exit);
    let value = result.map(|slot| builder.load(slot));
    builder.ret(value);
    let mut flag = None;
    let mut passes_on = vec![false; breakables.len()];
    for (block, inst) in returns {
        let at = nearest[block];
        let value = func.args(inst).first().copied();
        let block = func.inst_block(inst).unwrap_or(block);
        func.remove_inst(inst);
        if let (Some(slot), Some(value)) = (result, value) {
            Builder::at_end(func, types, block).store(slot, value);
        }
        let target = leave_for(at, &breakables, exit);
        if at != 0 {
            let flag = *flag.get_or_insert_with(|| entry_alloca(func, TypeId::BOOL));
            let yes = func.bool_constant(true);
            Builder::at_end(func, types, block).store(flag, yes);
            let mut at = at;
            while at != 0 && !std::mem::replace(&mut passes_on[at as usize - 1], true) {
                at = breakables[at as usize - 1].outer;
            }
        }
        Builder::at_end(func, types, block).inst(
            Op::Break,
            TypeId::VOID,
            &[],
            &[target],
            Imm::None,
        );
    }
    let Some(flag) = flag else { return };
    for (breakable, _) in breakables.iter().zip(&passes_on).filter(|(_, passes)| **passes) {
        pass_on(func, types, breakable, flag, leave_for(breakable.outer, &breakables, exit));
    }
}

fn leave_for(at: u32, breakables: &[Breakable], exit: BlockId) -> BlockId {
    match at {
        0 => exit,
        n => breakables[n as usize - 1].merge,
    }
}

/// At the merge of a construct: leaves the next one too if the function is to return.
fn pass_on(
    func: &mut Function,
    types: &TypeTable,
    breakable: &Breakable,
    flag: ValueId,
    target: BlockId,
) {
    let Some(first) = func.first_inst(breakable.merge) else { return };
    let rest = func.split_block(first);
    let out = func.insert_block_after(breakable.merge);
    let mut builder = Builder::at_end(func, types, breakable.merge);
    let returned = builder.load(flag);
    builder.inst(Op::If, TypeId::VOID, &[returned], &[out, rest, rest], Imm::None);
    builder.switch_to(out);
    builder.inst(Op::Break, TypeId::VOID, &[], &[target], Imm::None);
}

/// All constructs that `break` leaves, and the nearest one around each block, plus one.
fn breakables(func: &Function, entry: BlockId) -> (Vec<Breakable>, SecondaryMap<BlockId, u32>) {
    let mut found = Vec::new();
    let mut nearest: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    let mut seen: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut pending = vec![(entry, 0u32)];
    while let Some((block, around)) = pending.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        nearest[block] = around;
        let Some(end) = func.terminator(block) else { continue };
        let named = func.inst_blocks(end);
        match (func.op(end), func.merge_of(end)) {
            (Op::Break | Op::Continue, _) => {}
            (op, Some(merge)) => {
                let inner = if matches!(op, Op::Loop | Op::SimpleLoop | Op::Switch) {
                    found.push(Breakable { merge, outer: around });
                    found.len() as u32
                } else {
                    around
                };
                // The merge first: parts may name it too, and it lies outside of them.
                let parts = &named[..named.len() - 1];
                pending.extend(parts.iter().map(|&part| (part, inner)));
                pending.push((merge, around));
            }
            _ => pending.extend(named.iter().map(|&target| (target, around))),
        }
    }
    (found, nearest)
}

fn entry_alloca(func: &mut Function, ty: TypeId) -> ValueId {
    let alloca = func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
    if let Some(entry) = func.entry() {
        func.prepend_inst(entry, alloca);
    }
    func.result(alloca).unwrap_or_else(|| func.undefined(ty))
}

/// Splits the entry after its leading allocas; gives the new block.
fn split_after_allocas(func: &mut Function, entry: BlockId) -> BlockId {
    let first = func.insts(entry).find(|&i| !matches!(func.op(i), Op::Alloca(_)));
    match first {
        Some(first) => func.split_block(first),
        None => func.append_block(),
    }
}

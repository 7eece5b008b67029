//! Removes what the lowering made in vain: blocks of statements after a jump, and variables that nothing uses.

use crate::{Function, Op};

/// Removes blocks that neither an edge nor a role leads to from the entry, then allocas without uses. Linear.
pub(super) fn run(function: &mut Function) {
    remove_dead_blocks(function);
    let Some(entry) = function.entry() else { return };
    let allocas: Vec<_> =
        function.insts(entry).take_while(|&i| matches!(function.op(i), Op::Alloca(_))).collect();
    for inst in allocas {
        if function.result(inst).is_some_and(|value| !function.has_uses(value)) {
            function.remove_inst(inst);
        }
    }
}

fn remove_dead_blocks(function: &mut Function) {
    let Some(entry) = function.entry() else { return };
    let mut named = vec![false; function.block_count()];
    let mut pending = vec![entry];
    named[entry.as_u32() as usize] = true;
    while let Some(block) = pending.pop() {
        let Some(terminator) = function.terminator(block) else { continue };
        for &target in function.inst_blocks(terminator) {
            let seen = &mut named[target.as_u32() as usize];
            if !*seen {
                *seen = true;
                pending.push(target);
            }
        }
    }
    let dead: Vec<_> = function.blocks().filter(|b| !named[b.as_u32() as usize]).collect();
    for block in dead {
        function.remove_block(block);
    }
}

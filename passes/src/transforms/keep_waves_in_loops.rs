//! Wave operations on the way out of a loop, kept inside the loop.
//!
//! Problem: in `loop { if c { w = wave(); break; } }` the wave operation acts over the lanes that take this branch in this turn of the
//! loop. As a graph of branches the block is no part of the loop: no path leads from it back to the head. Hardware that brings lanes
//! together again where paths meet, and every compiler behind it, runs such a block once for all lanes that ever left.
//! What: before each `break` and `return` that leaves a loop around wave operations, a branch back that is never taken, since no
//! launch has the kernel id 2^32 - 1; nothing in the program tells. So the block is in the loop, and lanes that leave it in different
//! turns reach it at different times.
//! Why right: the branch is never taken.
//! Cost: linear; one comparison of uniform values on each way out of such a loop.

use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters};
use crate::manager::form::{Data, Requires};
use crate::transforms::unused_callable_removal::calls;
use cranelift_entity::SecondaryMap;
use luisac_xir::op::{ArithmeticOp, SpecialRegister, ThreadGroupOp};
use luisac_xir::{BlockId, Builder, Function, FunctionId, Imm, InstId, Module, Op, TypeId};

counters! {
    /// What `keep_waves_in_loops` did.
    Info {
        change anchored_exit_count "ways out of a loop that got a branch back";
    }
}

/// The pass.
pub struct KeepWavesInLoops;

impl ModulePass for KeepWavesInLoops {
    const DECLARATION: Declaration = Declaration {
        requires: Requires { data: Some(Data::Memory), ..Requires::NONE },
        ..Declaration::new(
            "keep_waves_in_loops",
            "keeps wave operations on the way out of a loop inside the loop",
            "Adds a branch back that is never taken before each `break` and `return` out of a loop around wave operations, so that \
             flat control flow keeps apart the lanes that leave in different turns. For targets whose lanes come together where \
             paths meet; runs before `destructure_cfg`.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let wavy = functions_with_waves(cx.module);
        for id in cx.module.functions.keys().collect::<Vec<_>>() {
            if !wavy[id] {
                continue;
            }
            for exit in exits(&cx.module.functions[id], &wavy) {
                if !cx.fuel() {
                    return Ok(info);
                }
                let Module { types, functions } = &mut *cx.module;
                anchor(&mut functions[id], types, exit);
                info.anchored_exit_count += 1;
            }
        }
        Ok(info)
    }
}

/// A terminator that leaves a loop, and the block that the next turn starts with.
struct Exit {
    terminator: InstId,
    next_turn: BlockId,
}

/// Whether an instruction acts over the lanes of a wave.
fn is_wave(func: &Function, inst: InstId, wavy: &SecondaryMap<FunctionId, bool>) -> bool {
    match func.op(inst) {
        Op::ThreadGroup(op) => {
            !matches!(op, ThreadGroupOp::SynchronizeBlock | ThreadGroupOp::ShaderExecutionReorder)
        }
        Op::Call => matches!(func.inst(inst).imm, Imm::Callee(callee) if wavy[callee]),
        _ => false,
    }
}

/// The functions that hold wave operations, themselves or through what they call.
fn functions_with_waves(module: &Module) -> SecondaryMap<FunctionId, bool> {
    let mut wavy = SecondaryMap::new();
    let mut callers: SecondaryMap<FunctionId, Vec<FunctionId>> = SecondaryMap::new();
    let mut pending = Vec::new();
    for (id, func) in &module.functions {
        for (_, callee) in calls(func) {
            callers[callee].push(id);
        }
        let own = func.blocks().any(|b| func.insts(b).any(|i| is_wave(func, i, &wavy)));
        if own {
            pending.push(id);
        }
    }
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut wavy[id], true) {
            pending.extend(callers[id].iter().copied());
        }
    }
    wavy
}

/// A loop of the function, as the walk meets it.
struct Turn {
    next_turn: BlockId,
    merge: Option<BlockId>,
    parent: Option<usize>,
    /// There is a wave operation inside.
    wavy: bool,
}

/// The ways out of loops around wave operations, in the order of the walk over the structure.
fn exits(func: &Function, wavy: &SecondaryMap<FunctionId, bool>) -> Vec<Exit> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut found: Vec<(Exit, usize)> = Vec::new();
    let mut seen: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut pending: Vec<(BlockId, Option<usize>)> =
        func.entry().map(|b| (b, None)).into_iter().collect();
    while let Some((block, turn)) = pending.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        if func.insts(block).any(|i| is_wave(func, i, wavy)) {
            let mut at = turn;
            while let Some(t) = at.and_then(|t| turns.get_mut(t)) {
                at = if std::mem::replace(&mut t.wavy, true) { None } else { t.parent };
            }
        }
        let Some(terminator) = func.terminator(block) else { continue };
        let blocks = func.inst_blocks(terminator);
        match func.op(terminator) {
            op @ (Op::Loop | Op::SimpleLoop) => {
                let merge = func.merge_of(terminator);
                let next = if op == Op::Loop { blocks.get(2) } else { blocks.first() };
                let Some(&next_turn) = next else { continue };
                pending.extend(merge.map(|m| (m, turn)));
                turns.push(Turn { next_turn, merge, parent: turn, wavy: false });
                let inside = Some(turns.len() - 1);
                let inner = blocks.iter().filter(|&&b| Some(b) != merge);
                pending.extend(inner.map(|&b| (b, inside)));
            }
            op => {
                if let Some((t, data)) = turn.and_then(|t| Some((t, turns.get(t)?))) {
                    let leaves = match op {
                        Op::Return => true,
                        Op::Break => blocks.first().copied() == data.merge,
                        _ => false,
                    };
                    if leaves {
                        found.push((Exit { terminator, next_turn: data.next_turn }, t));
                    }
                }
                if !matches!(op, Op::Break | Op::Continue) {
                    pending.extend(blocks.iter().map(|&b| (b, turn)));
                }
            }
        }
    }
    found.retain(|&(_, t)| turns.get(t).is_some_and(|t| t.wavy));
    found.into_iter().map(|(exit, _)| exit).collect()
}

/// Replaces the exit by `if kernel_id == 2^32 - 1 { continue } else { exit }`.
fn anchor(func: &mut Function, types: &luisac_xir::TypeTable, exit: Exit) {
    let Some(block) = func.inst_block(exit.terminator) else { return };
    let loc = func.inst(exit.terminator).loc;
    let (again, leave) = {
        let leave = func.insert_block_after(block);
        (func.insert_block_after(block), leave)
    };
    let merge = func.insert_block_after(leave);
    func.unlink_inst(exit.terminator);
    func.append_inst(leave, exit.terminator);
    let id = func.special(SpecialRegister::KernelId);
    let never = func.u32_constant(u32::MAX);
    let mut b = Builder::at_end(func, types, block);
    b.loc = loc;
    let back = b.arithmetic(ArithmeticOp::BinaryEqual, &[id, never]);
    b.inst(Op::If, TypeId::VOID, &[back], &[again, leave, merge], Imm::None);
    b.switch_to(again);
    b.inst(Op::Continue, TypeId::VOID, &[], &[exit.next_turn], Imm::None);
    b.switch_to(merge);
    b.inst(Op::Unreachable, TypeId::VOID, &[], &[], Imm::None);
}

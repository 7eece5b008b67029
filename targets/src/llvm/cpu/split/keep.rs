//! What threads keep across barriers.
//!
//! - A local variable that is written before a barrier and used after it lies in the frame altogether.
//! - A large value too: it is stored there when it is made.
//! - A small value is stored to a local copy when it is made and loaded from there in other blocks. Regions fill the copy from
//!   the frame when they start and write it back at their barriers, so that loops inside a region work on registers.

use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

use super::live::{Walk, use_block};
use super::{Cut, FIRST_STATE, Kept, Slot};

/// Largest value that is held in a local copy, in bytes.
const SMALL: u64 = 64;
/// Most pairs of variables and blocks that are looked at; beyond, every variable is kept.
const MAX_WORK: usize = 50_000_000;

/// The frame of a thread.
pub(super) struct Frame {
    pub slots: Vec<Slot>,
    /// Values in local copies.
    pub kept: Vec<Kept>,
    /// For each state, minus the first, the values in local copies that live there.
    pub living: Vec<Vec<usize>>,
    /// What the allocas of both kinds are.
    pub homes: FxHashMap<ValueId, Home>,
}

/// What an alloca of the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The local copy of a value, by index.
    Kept(usize),
    /// A slot, by index.
    Slot(usize),
}

/// Finds what is kept, and changes the function so that nothing else crosses a barrier.
pub(super) fn keep(cut: &mut Cut, types: &TypeTable) -> Frame {
    let mut walk = Walk::new(&cut.func, &cut.starts);
    let mut frame = Frame {
        slots: Vec::new(),
        kept: Vec::new(),
        living: vec![Vec::new(); cut.starts.len()],
        homes: FxHashMap::default(),
    };
    let order: Vec<BlockId> = walk.cfg().reverse_post_order().to_vec();
    let func = &mut cut.func;
    let insts: Vec<InstId> =
        order.iter().flat_map(|&b| func.insts(b).collect::<Vec<_>>()).collect();
    let locals: Vec<ValueId> = insts
        .iter()
        .filter(|&&i| func.op(i) == Op::Alloca(Space::Local))
        .filter_map(|&i| func.result(i))
        .collect();
    let all = locals.len().saturating_mul(order.len()) > MAX_WORK;
    for local in locals {
        if all || variable_crosses(func, &mut walk, local) {
            frame.homes.insert(local, Home::Slot(frame.slots.len()));
            frame.slots.push(Slot { ty: func.value_type(local), zeroed: true });
        }
    }
    for inst in insts {
        let Some(value) = func.result(inst).filter(|&v| !func.is_lvalue(v)) else { continue };
        let live = walk.crossings(func, value);
        if live.is_empty() {
            continue;
        }
        let ty = func.value_type(value);
        let slot = frame.slots.len();
        frame.slots.push(Slot { ty, zeroed: false });
        let local = through_memory(func, inst, value, ty);
        if types.size(ty) <= SMALL {
            frame.homes.insert(local, Home::Kept(frame.kept.len()));
            for state in live {
                frame.living[(state - FIRST_STATE) as usize].push(frame.kept.len());
            }
            frame.kept.push(Kept { local, slot });
        } else {
            frame.homes.insert(local, Home::Slot(slot));
        }
    }
    frame
}

/// Whether what is written to a variable before some barrier may be read after it.
fn variable_crosses(func: &Function, walk: &mut Walk, local: ValueId) -> bool {
    let (mut used, mut written) = (Vec::new(), Vec::new());
    let mut names = vec![local];
    while let Some(name) = names.pop() {
        for (user, index) in func.uses(name) {
            let Some(block) = use_block(func, user, index) else { continue };
            match func.op(user) {
                Op::Gep => names.extend(func.result(user)),
                Op::Load => used.push(block),
                Op::Store => written.push(block),
                _ => {
                    used.push(block);
                    written.push(block);
                }
            }
        }
    }
    if used.is_empty() || written.is_empty() {
        return false;
    }
    let before = walk.reached(func, &written);
    let after = walk.reaching(&used);
    // The entry is no barrier, even where a loop leads back to it.
    before.iter().zip(&after).skip(1).any(|(&b, &a)| b && a)
}

/// Stores a value to a new local when it is made, and loads it in the other blocks that use it.
fn through_memory(func: &mut Function, inst: InstId, value: ValueId, ty: TypeId) -> ValueId {
    let home = func.inst_block(inst);
    let mut users: Vec<(BlockId, InstId, usize)> = func
        .uses(value)
        .filter_map(|(user, index)| Some((use_block(func, user, index)?, user, index)))
        .filter(|&(block, ..)| Some(block) != home)
        .collect();
    users.sort_unstable();
    let variable = func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
    if let Some(first) = func.entry().and_then(|e| func.first_non_phi(e)) {
        func.insert_before(variable, first);
    }
    let Some(local) = func.result(variable) else { return value };
    for group in users.chunk_by(|a, b| a.0 == b.0) {
        let Some(at) = group.first().and_then(|&(block, ..)| func.first_non_phi(block)) else {
            continue;
        };
        let load = func.create_inst(Op::Load, ty, &[local], &[], Imm::None);
        func.insert_before(load, at);
        let Some(loaded) = func.result(load) else { continue };
        for &(_, user, index) in group {
            func.set_arg(user, index, loaded);
        }
    }
    let store = func.create_inst(Op::Store, TypeId::VOID, &[local, value], &[], Imm::None);
    let after_phis = home.filter(|_| func.op(inst) == Op::Phi).and_then(|b| func.first_non_phi(b));
    match after_phis {
        Some(at) => func.insert_before(store, at),
        None => func.insert_after(store, inst),
    }
    local
}

//! Values to local memory: the way back from SSA.
//!
//! What: each phi becomes a local alloca, stored at the end of every predecessor and loaded where the phi stood; each value
//! that is used in another block than its own becomes a local alloca too, stored behind its definition and loaded once at the
//! start of every block that uses it. Geps are made anew in the blocks that use them. With `only_broken` nothing is done but to
//! the values whose definition does not dominate a use; uses in phis and lvalues are left out.
//! Why right: all phis of a block are loaded at its start and their entries are stored before, at the ends of its predecessors,
//! as values that were loaded earlier, so entries that name each other do not mix (a parallel copy). A store on the way to
//! another successor does no harm: the alloca is only read behind an edge that stores it first. An undefined entry stores
//! nothing. A value is stored each time it is computed, so a load, which it dominates, sees the latest, as SSA does.
//! Cost: linear in uses. Source: `passes.md` section 3.1.

use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use crate::manager::form::Requires;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::{DominatorTree, InstOrder};
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, ValueDef, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `reg2mem` did.
    Info {
        change lowered_phi_count "phis turned into local memory";
        change lowered_cross_block_value_count "values that other blocks use turned into local memory";
        change cloned_gep_count "geps made anew in blocks that use them";
    }
}

options! {
    /// What is turned into memory.
    Options {
        only_broken: bool = false, "only values whose definition does not dominate a use";
    }
}

/// The pass.
pub struct Reg2Mem;

impl FunctionPass for Reg2Mem {
    const DECLARATION: Declaration = Declaration {
        establishes: Requires::MEMORY,
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "reg2mem",
            "turns phis and values that cross blocks into local memory",
            "Replaces phis, and values that other blocks use, by local allocas with stores and loads. With `only_broken` it \
             repairs values whose definition does not dominate a use, and leaves the rest, phis too.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        if options.only_broken {
            info.lowered_cross_block_value_count = repair_dominance(cx);
            return Ok(info);
        }
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        for &block in &blocks {
            let phis: Vec<InstId> = cx.func.phis(block).collect();
            for phi in phis {
                if !cx.fuel() {
                    return Ok(info);
                }
                lower_phi(cx.func, cx.types, block, phi);
                info.lowered_phi_count += 1;
            }
        }
        clone_geps(cx, &mut info);
        for inst in crossing(cx.func, cx.types) {
            if !cx.fuel() {
                break;
            }
            info.lowered_cross_block_value_count += 1;
            lower_value(cx.func, cx.types, inst, |func, home, user, _| {
                func.inst_block(user).filter(|&b| b != home)
            });
        }
        Ok(info)
    }
}

/// A local alloca at the start of the function.
fn entry_alloca(func: &mut Function, ty: TypeId, name: Option<&str>) -> Option<ValueId> {
    let alloca = func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
    func.prepend_inst(func.entry()?, alloca);
    let value = func.result(alloca)?;
    if let Some(name) = name {
        func.set_name(value, name);
    }
    Some(value)
}

fn lower_phi(func: &mut Function, types: &TypeTable, block: BlockId, phi: InstId) {
    let Some(result) = func.result(phi) else { return };
    let name = func.name_of(result).map(String::from);
    let ty = func.inst(phi).ty;
    let Some(slot) = entry_alloca(func, ty, name.as_deref()) else { return };
    let entries: Vec<(BlockId, ValueId)> =
        func.inst_blocks(phi).iter().copied().zip(func.args(phi).iter().copied()).collect();
    for (from, value) in entries {
        let Some(end) = func.terminator(from) else { continue };
        if value != result && func.value_def(value) != ValueDef::Undefined {
            Builder::before(func, types, end).store(slot, value);
        }
    }
    // Behind the phis that are left, of which there are none when all are lowered.
    let Some(at) = func.first_non_phi(block) else { return };
    let value = Builder::before(func, types, at).load(slot);
    util::replace_and_remove(func, phi, value);
}

/// The block in which an operand is needed: that of the user, or for a phi the one that brings it.
fn use_block(func: &Function, user: InstId, index: usize) -> Option<BlockId> {
    match func.op(user) {
        Op::Phi => func.inst_blocks(user).get(index).copied(),
        _ => func.inst_block(user),
    }
}

/// The value of an instruction if memory can hold it: data, and no lvalue.
fn carried(func: &Function, types: &TypeTable, inst: InstId) -> Option<ValueId> {
    let fits = types.is_data(func.inst(inst).ty);
    func.result(inst).filter(|&v| fits && !func.is_lvalue(v))
}

/// Instructions with a value that another block uses, in order; allocas and geps left out, and what memory cannot hold.
fn crossing(func: &Function, types: &TypeTable) -> Vec<InstId> {
    let mut found = Vec::new();
    for block in func.blocks() {
        for inst in func.insts(block) {
            let Some(value) = carried(func, types, inst) else { continue };
            let crosses = |(user, _): (InstId, usize)| {
                func.op(user) != Op::Phi && func.inst_block(user) != Some(block)
            };
            if func.uses(value).any(crosses) {
                found.push(inst);
            }
        }
    }
    found
}

/// Puts a value into memory and loads it in the blocks that `at` names for a use; where it names none, the use stays.
fn lower_value(
    func: &mut Function,
    types: &TypeTable,
    inst: InstId,
    at: impl Fn(&Function, BlockId, InstId, usize) -> Option<BlockId>,
) {
    let (Some(value), Some(home)) = (func.result(inst), func.inst_block(inst)) else { return };
    let name = func.name_of(value).map(String::from);
    let users: Vec<(InstId, usize)> = func.uses(value).collect();
    let Some(slot) = entry_alloca(func, func.inst(inst).ty, name.as_deref()) else { return };
    let behind = match func.op(inst) {
        Op::Phi => func.first_non_phi(home),
        _ => func.next_inst(inst),
    };
    if let Some(behind) = behind {
        Builder::before(func, types, behind).store(slot, value);
    }
    let mut loads: FxHashMap<BlockId, ValueId> = FxHashMap::default();
    for (user, index) in users {
        if func.op(user) == Op::Phi {
            continue;
        }
        let Some(block) = at(func, home, user, index) else { continue };
        let load = loads.entry(block).or_insert_with(|| {
            let first = func.first_non_phi(block);
            first.map_or(value, |first| Builder::before(func, types, first).load(slot))
        });
        func.set_arg(user, index, *load);
    }
}

/// Makes geps anew in the blocks that use them, the last ones first, so that those they are made of follow.
fn clone_geps(cx: &mut FunctionCx<'_>, info: &mut Info) {
    let mut geps: Vec<InstId> = Vec::new();
    for block in cx.func.blocks() {
        geps.extend(cx.func.insts(block).filter(|&i| cx.func.op(i) == Op::Gep));
    }
    // A gep may stand in a later block of the order than one that it is made of; each is looked at after its users.
    let order = users_first(cx.func, &geps);
    for gep in order {
        let (Some(value), Some(home)) = (cx.func.result(gep), cx.func.inst_block(gep)) else {
            continue;
        };
        let users: Vec<(InstId, usize)> = cx.func.uses(value).collect();
        let mut copies: FxHashMap<BlockId, ValueId> = FxHashMap::default();
        for (user, index) in users {
            let Some(block) = cx.func.inst_block(user).filter(|&b| b != home) else { continue };
            let copy = match copies.get(&block) {
                Some(&copy) => copy,
                None => {
                    if !cx.fuel() {
                        return;
                    }
                    let copy = clone_gep(cx.func, cx.types, gep, block).unwrap_or(value);
                    info.cloned_gep_count += 1;
                    copies.insert(block, copy);
                    copy
                }
            };
            cx.func.set_arg(user, index, copy);
        }
        // One that nothing used before is not ours to remove.
        if !copies.is_empty() && !cx.func.has_uses(value) {
            cx.func.remove_inst(gep);
        }
    }
}

fn clone_gep(
    func: &mut Function,
    types: &TypeTable,
    gep: InstId,
    block: BlockId,
) -> Option<ValueId> {
    let at = func.first_non_phi(block)?;
    let (ty, args) = (func.inst(gep).ty, func.args(gep).to_vec());
    Some(Builder::before(func, types, at).value(Op::Gep, ty, &args))
}

/// The geps in an order in which each comes after those that are made of it.
fn users_first(func: &Function, geps: &[InstId]) -> Vec<InstId> {
    let base = |gep| func.def_inst(func.arg(gep, 0)).filter(|&b| func.op(b) == Op::Gep && b != gep);
    let mut waiting: FxHashMap<InstId, usize> = FxHashMap::default();
    for &gep in geps {
        *waiting.entry(gep).or_default() += 0;
        if let Some(base) = base(gep) {
            *waiting.entry(base).or_default() += 1;
        }
    }
    let mut order = Vec::with_capacity(geps.len());
    let mut ready: Vec<InstId> = geps.iter().copied().filter(|g| waiting[g] == 0).collect();
    while let Some(gep) = ready.pop() {
        order.push(gep);
        let Some(base) = base(gep) else { continue };
        if let Some(left) = waiting.get_mut(&base) {
            *left -= 1;
            if *left == 0 {
                ready.push(base);
            }
        }
    }
    order
}

/// Puts values into memory whose definition does not dominate a use by an instruction that is no phi; how many. For code that
/// was put together in a way that broke dominance, where every path that needs a value has computed it.
fn repair_dominance(cx: &mut FunctionCx<'_>) -> u64 {
    let cfg = ControlFlowGraph::compute(cx.func);
    let dominators = DominatorTree::compute(cx.func, &cfg);
    let order = InstOrder::compute(cx.func);
    let broken = |func: &Function, value: ValueId, user: InstId, index: usize| {
        let block = use_block(func, user, index).filter(|&b| cfg.is_reachable(b))?;
        let holds = dominators.value_available(func, &order, value, block, Some(user));
        (func.op(user) != Op::Phi && !holds).then_some(block)
    };
    let mut found = Vec::new();
    for &block in cfg.reverse_post_order() {
        for inst in cx.func.insts(block) {
            let Some(value) = carried(cx.func, cx.types, inst) else { continue };
            if cx.func.uses(value).any(|(u, i)| broken(cx.func, value, u, i).is_some()) {
                found.push((inst, value));
            }
        }
    }
    let mut count = 0;
    for (inst, value) in found {
        if !cx.fuel() {
            break;
        }
        count += 1;
        lower_value(cx.func, cx.types, inst, |func, _, user, index| {
            broken(func, value, user, index)
        });
    }
    count
}

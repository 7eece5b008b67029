//! Branches that a loop does not change become a choice between two loops.
//!
//! What: a branch inside an innermost loop on a condition from outside is decided in front of the loop. The loop is copied; it
//! takes the branch as if the condition were true, the copy as if it were false.
//! Why right: all rounds of one run of the loop take the branch the same way. Values that leave the loop become phis where the
//! ways out of both loops meet. Loops with volatile or convergent operations stay: lanes that wait for each other in one loop
//! would be in two.
//! Cost: linear in the copies, which `max_insts` bounds. A loop with more than [`MAX_CONDITIONS`] such conditions stays, so that
//! repeated runs do not multiply it beyond eight copies.

use super::loop_blocks::{Closing, Copies, LoopGraph, SmallLoop, add_phi_entry, phi_entry};
use super::util;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use crate::manager::form::Requires;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, TypeId, ValueDef, ValueId};

counters! {
    /// What `loop_unswitch` did.
    Info {
        change unswitched_loop_count "loops turned into a choice between two";
        note copied_inst_count "instructions copied";
    }
}

options! {
    /// What is small.
    Options {
        max_insts: u64 = 128, "instructions of a loop, at most";
    }
}

/// Conditions that one loop may branch on and not change.
const MAX_CONDITIONS: usize = 3;

/// The pass.
pub struct LoopUnswitch;

impl FunctionPass for LoopUnswitch {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "copies of a loop are no structured constructs",
        ..Declaration::new(
            "loop_unswitch",
            "moves branches that a loop does not change in front of it",
            "An innermost loop with a branch on a condition from outside becomes two loops, one for each way, and the branch \
             chooses between them. In no canned pipeline: it doubles code.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let graph = LoopGraph::of(cx.func);
        let mut info = Info::default();
        for this in graph.small_loops(cx.func) {
            let Some(condition) = condition(cx.func, &this) else { continue };
            let size = this.insts(cx.func).count() as u64;
            if size > options.max_insts || !this.is_rearrangeable(cx.func) {
                continue;
            }
            let Some(closing) = Closing::plan(cx.func, &graph, &this) else { continue };
            if !cx.fuel() {
                break;
            }
            closing.apply(cx.func, &graph, &this);
            info.copied_inst_count += split(cx.func, &this, condition);
            info.unswitched_loop_count += 1;
        }
        Ok(info)
    }
}

/// The first condition from outside that a loop branches on, unless there are too many.
fn condition(func: &Function, this: &SmallLoop) -> Option<ValueId> {
    let mut found: Vec<ValueId> = Vec::new();
    for &block in &this.blocks {
        let Some(branch) = func.terminator(block).filter(|&t| func.op(t) == Op::CondBr) else {
            continue;
        };
        let value = func.arg(branch, 0);
        let is_known = matches!(func.value_def(value), ValueDef::Constant(_));
        let targets = func.successors_of(branch);
        if targets[0] != targets[1]
            && !is_known
            && !this.defines(func, value)
            && !found.contains(&value)
        {
            found.push(value);
        }
    }
    found.first().copied().filter(|_| found.len() <= MAX_CONDITIONS)
}

/// Copies the loop and chooses between it and the copy. Returns how many instructions were copied.
fn split(func: &mut Function, this: &SmallLoop, condition: ValueId) -> u64 {
    let mut copies = Copies::default();
    let count = copies.blocks(func, &this.blocks, this.latch);
    add_exit_entries(func, this, &copies);
    for &block in &this.blocks {
        decide(func, block, condition, true);
        decide(func, copies.block(block), condition, false);
    }
    let targets = [this.header, copies.block(this.header)];
    let loc = func.terminator(this.preheader).map(|t| func.inst(t).loc);
    if let Some(old) = func.terminator(this.preheader) {
        func.remove_inst(old);
    }
    let branch = func.create_inst(Op::CondBr, TypeId::VOID, &[condition], &targets, Imm::None);
    func.set_loc(branch, loc.unwrap_or_default());
    func.append_inst(this.preheader, branch);
    count
}

/// Gives the phis behind the loop entries for the ways out of the copy.
fn add_exit_entries(func: &mut Function, this: &SmallLoop, copies: &Copies) {
    for &block in &this.blocks {
        let mut targets: Vec<BlockId> =
            func.successors(block).iter().copied().filter(|&t| !this.contains(t)).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            let phis: Vec<InstId> = func.phis(target).collect();
            for phi in phis {
                if let Some(value) = phi_entry(func, phi, block) {
                    add_phi_entry(func, phi, copies.block(block), copies.value(value));
                }
            }
        }
    }
}

/// Replaces a branch on the condition by a branch to where the value leads.
fn decide(func: &mut Function, block: BlockId, condition: ValueId, value: bool) {
    let Some(branch) = func.terminator(block).filter(|&t| func.op(t) == Op::CondBr) else { return };
    let &[yes, no] = func.successors_of(branch) else { return };
    if func.arg(branch, 0) != condition || yes == no {
        return;
    }
    let (taken, left) = if value { (yes, no) } else { (no, yes) };
    util::branch_instead(func, block, taken);
    func.remove_phi_predecessor(left, block);
}

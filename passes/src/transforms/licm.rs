//! Hoisting of loop-invariant code.
//!
//! What: moves a pure instruction whose operands are all defined outside a loop to the end of the block that enters the loop,
//! as far out as its operands allow. What is costly moves only if every iteration computes it. Loads, reads of resources and the
//! places that they name move out of an innermost loop that writes nothing there, if its first round is sure to come by them.
//! Why right: pure operations are total here (division by zero is defined), so computing one too early or in vain changes
//! nothing; but for parts of values by an index that may be out of range, which count as reads. A read moves only where it would have happened anyway, since it may be out of bounds, and not past anything
//! volatile, such as a barrier or an assertion that guards it. Wave operations and everything volatile stay. Loops without a
//! single entering block are left alone. The CFG stays as it is, so structured functions keep their roles.
//! Cost: linear times the levels that an instruction moves out, which are bounded.

use super::access::Writes;
use super::loops::Loops;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::TypeTable;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::math::{Function as MathFunction, composite};
use luisac_xir::op::{ArithmeticOp, Scopes};
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};

counters! {
    /// What `licm` did.
    Info {
        change hoisted_count "instructions moved out of loops";
    }
}

/// Levels that one instruction moves out at most.
const MAX_LEVELS: usize = 64;

/// The pass.
pub struct Licm;

impl FunctionPass for Licm {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "licm",
            "moves what a loop does not change out of it",
            "Moves pure instructions with invariant operands in front of the loop. Loads and reads of resources move out of \
             innermost loops whose first round is sure to come by them and that do not write there. Wave operations and volatile \
             instructions stay.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let loops = Loops::compute(cx.func, &cfg, &dominators);
        let mut info = Info::default();
        if loops.loops.is_empty() {
            return Ok(info);
        }
        let surroundings = Surroundings::all(cx.func, &cfg, &loops);
        for &block in cfg.reverse_post_order() {
            if loops.innermost(block).is_none() {
                continue;
            }
            let mut next = cx.func.first_inst(block);
            while let Some(inst) = next {
                next = cx.func.next_inst(inst);
                let target =
                    target(cx.func, cx.types, &loops, &dominators, block, inst).or_else(|| {
                        read_target(cx.func, &loops, &dominators, &surroundings, block, inst)
                    });
                let Some(end) = target.and_then(|t| cx.func.terminator(t)) else { continue };
                if !cx.fuel() {
                    return Ok(info);
                }
                cx.func.unlink_inst(inst);
                cx.func.insert_before(inst, end);
                info.hoisted_count += 1;
            }
        }
        Ok(info)
    }
}

/// What reads in an innermost loop must get past.
struct Surroundings {
    writes: Writes,
    /// Blocks that the loop is left from, and those that lead back.
    ends: Vec<BlockId>,
}

impl Surroundings {
    /// With more ends a loop keeps its reads.
    const MAX_ENDS: usize = 8;

    /// Those of every innermost loop that holds nothing volatile, by number.
    fn all(func: &Function, cfg: &ControlFlowGraph, loops: &Loops) -> Vec<Option<Surroundings>> {
        let blocks = loops.innermost_blocks(cfg);
        let found = blocks.into_iter().enumerate();
        found.map(|(n, blocks)| Self::of(func, loops, n as u32, &blocks)).collect()
    }

    fn of(func: &Function, loops: &Loops, number: u32, blocks: &[BlockId]) -> Option<Surroundings> {
        loops.loops[number as usize].preheader?;
        let mut found = Surroundings { writes: Writes::default(), ends: Vec::new() };
        for &block in blocks {
            for inst in func.insts(block).filter(|&i| !func.op(i).is_terminator()) {
                let effects = func.effects(inst);
                if effects.volatile || effects.convergent {
                    return None;
                }
                found.writes.add(func, inst);
            }
            let back = &loops.loops[number as usize].latches;
            let leaves = func.successors(block).iter().any(|&t| !loops.contains(number, t));
            if leaves || back.contains(&block) {
                found.ends.push(block);
            }
        }
        (!blocks.is_empty() && found.ends.len() <= Self::MAX_ENDS).then_some(found)
    }

    /// Whether an instruction names or reads what the loop does not write.
    fn keeps(&self, func: &Function, inst: InstId) -> bool {
        match func.op(inst) {
            Op::Gep | Op::Arithmetic(_) => true,
            Op::Load => !self.writes.may_write(func, func.arg(inst, 0)),
            Op::ResourceQuery(_) | Op::ResourceRead(_) => {
                !self.writes.may_write_scope(Scopes::GLOBAL)
            }
            _ => false,
        }
    }
}

/// The block that a read of `block` moves to: the one that enters its loop.
fn read_target(
    func: &Function,
    loops: &Loops,
    dominators: &DominatorTree,
    surroundings: &[Option<Surroundings>],
    block: BlockId,
    inst: InstId,
) -> Option<BlockId> {
    let own = loops.innermost(block)?;
    let around = surroundings[own as usize].as_ref()?;
    let is_outside = |&arg: &ValueId| {
        let home = func.def_inst(arg).and_then(|def| func.inst_block(def));
        home.is_none_or(|b| loops.innermost(b) != Some(own))
    };
    let fits = around.keeps(func, inst)
        && func.args(inst).iter().all(is_outside)
        && around.ends.iter().all(|&end| dominators.dominates(block, end));
    if fits { loops.loops[own as usize].preheader } else { None }
}

/// Whether an instruction may be computed at any time, and whether that costs next to nothing.
fn kind(func: &Function, types: &TypeTable, inst: InstId) -> Option<bool> {
    match func.op(inst) {
        Op::Arithmetic(_) if util::has_open_index(func, types, inst) => None,
        Op::Arithmetic(op) => {
            let costly = composite::is_formula(op)
                || MathFunction::of(op).is_some()
                || matches!(
                    op,
                    ArithmeticOp::BinaryDiv | ArithmeticOp::BinaryMod | ArithmeticOp::PowInt
                );
            Some(!costly)
        }
        Op::Cast(_) => Some(true),
        _ => None,
    }
}

/// The block that an instruction of `block` moves to.
fn target(
    func: &Function,
    types: &TypeTable,
    loops: &Loops,
    dominators: &DominatorTree,
    block: BlockId,
    inst: InstId,
) -> Option<BlockId> {
    let cheap = kind(func, types, inst)?;
    let own = loops.innermost(block)?;
    // No loop of this depth or less may be left.
    let mut pinned = 0;
    for &arg in func.args(inst) {
        let Some(def) = func.def_inst(arg) else { continue };
        let home = func.inst_block(def).and_then(|b| loops.innermost(b));
        pinned = pinned.max(loops.common_depth(home, Some(own)));
        if pinned == loops.loops[own as usize].depth {
            return None;
        }
    }
    let mut best = None;
    let mut at = Some(own);
    for _ in 0..MAX_LEVELS {
        let Some(l) = at.map(|l| &loops.loops[l as usize]).filter(|l| l.depth > pinned) else {
            break;
        };
        if !cheap && !l.latches.iter().all(|&latch| dominators.dominates(block, latch)) {
            break;
        }
        best = l.preheader.or(best);
        at = l.parent;
    }
    best
}

//! Hoisting of loop-invariant code.
//!
//! What: moves a pure instruction whose operands are all defined outside a loop to the end of the block that enters the loop,
//! as far out as its operands allow. What is costly moves only if every iteration computes it.
//! Why right: pure operations are total here (division by zero is defined), so computing one too early or in vain changes
//! nothing. Loads, resource reads, wave operations and everything volatile stay. Loops without a single entering block are
//! left alone. The CFG stays as it is, so structured functions keep their roles.
//! Cost: linear times the levels that an instruction moves out, which are bounded.

use super::loops::Loops;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::math::{Function as MathFunction, composite};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Function, InstId, Op};

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
            "Moves pure instructions with invariant operands in front of the loop. Loads, reads of resources, wave operations \
             and volatile instructions stay.",
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
        for &block in cfg.reverse_post_order() {
            if loops.innermost(block).is_none() {
                continue;
            }
            let mut next = cx.func.first_inst(block);
            while let Some(inst) = next {
                next = cx.func.next_inst(inst);
                let target = target(cx.func, &loops, &dominators, block, inst);
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

/// Whether an instruction may be computed at any time, and whether that costs next to nothing.
fn kind(func: &Function, inst: InstId) -> Option<bool> {
    match func.op(inst) {
        Op::Arithmetic(op) => {
            let costly = composite::is_formula(op)
                || MathFunction::by_name(op.name()).is_some()
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
    loops: &Loops,
    dominators: &DominatorTree,
    block: BlockId,
    inst: InstId,
) -> Option<BlockId> {
    let cheap = kind(func, inst)?;
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

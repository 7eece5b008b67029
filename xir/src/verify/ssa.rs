//! Invariants 10 to 12: dominance, phis, use lists.

use super::Context;
use crate::cfg::ControlFlowGraph;
use crate::dominators::{DominatorTree, InstOrder};
use crate::{BlockId, InstId, Op, ValueId};
use cranelift_entity::EntityRef;

pub(super) fn check(cx: &mut Context<'_>) {
    let function = cx.function;
    let cfg = ControlFlowGraph::compute(function);
    let tree = DominatorTree::compute(function, &cfg);
    let order = InstOrder::compute(function);
    for block in function.blocks() {
        let mut phis_may_follow = true;
        for inst in function.insts(block) {
            let is_phi = function.op(inst) == Op::Phi;
            if is_phi && !phis_may_follow {
                cx.inst_error(11, inst, "a phi stands behind another instruction");
            }
            phis_may_follow &= is_phi;
            if !cfg.is_reachable(block) {
                continue;
            }
            if is_phi {
                check_phi(cx, &cfg, inst, block);
            }
            for (i, &value) in function.args(inst).iter().enumerate() {
                let (at, before) = match is_phi {
                    true => (function.inst_blocks(inst)[i], None),
                    false => (block, Some(inst)),
                };
                // An edge that is never taken uses nothing.
                let live = cfg.is_reachable(at);
                if live && !tree.value_available(function, &order, value, at, before) {
                    cx.inst_error(
                        10,
                        inst,
                        format!("operand {i} is not defined on every path here"),
                    );
                }
            }
        }
    }
}

/// One entry for each reachable predecessor; entries of unreachable ones may stay.
fn check_phi(cx: &mut Context<'_>, cfg: &ControlFlowGraph, inst: InstId, block: BlockId) {
    let mut entries = cx.function.inst_blocks(inst).to_vec();
    entries.sort_unstable();
    if entries.windows(2).any(|p| p[0] == p[1]) {
        cx.inst_error(11, inst, "the phi names a predecessor twice");
    }
    let missing = cfg.predecessors(block).iter().any(|p| entries.binary_search(p).is_err());
    if missing {
        cx.inst_error(11, inst, "a predecessor is not named by the phi");
    }
    let alien = entries.iter().any(|&e| !cx.function.successors(e).contains(&block));
    if alien {
        cx.inst_error(11, inst, "the phi names a block that is no predecessor");
    }
}

/// Every entry of a use list is an operand, and there are as many entries as operands.
pub(super) fn check_uses(cx: &mut Context<'_>) {
    let function = cx.function;
    let operands: usize =
        (0..function.inst_count()).map(|i| function.args(InstId::new(i)).len()).sum();
    let mut listed = 0usize;
    for value in (0..function.value_count()).map(ValueId::new) {
        // The bound ends the walk of a list that was bent into a circle.
        for (user, index) in function.uses(value).take(operands + 1) {
            listed += 1;
            if function.args(user).get(index) != Some(&value) {
                cx.function_error(12, format!("a use of {value} is listed that is no operand"));
                return;
            }
            if listed > operands {
                break;
            }
        }
    }
    if listed != operands {
        cx.function_error(12, format!("{operands} operands, but {listed} uses are listed"));
    }
}

//! Branches to selects.
//!
//! What: where a branch has one or two arms that hold nothing but a few cheap pure instructions and meet at once, the arms are
//! computed always and the phis where they meet become selects.
//! Why right: the arms have no effect, and computing them in vain is defined.
//! Cost: linear; where many blocks meet nothing is done, as each phi entry would be searched for.

use super::util;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use crate::manager::form::Requires;
use luisac_ast::types::TypeTable;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::math::{Function as MathFunction, composite};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `if_conversion` did.
    Info {
        change converted_diamond_count "branches turned into selects";
        note hoisted_inst_count "instructions that are computed always now";
        note replaced_phi_count "phi entries turned into selects";
    }
}

options! {
    /// What is cheap.
    Options {
        max_insts: u64 = 4, "instructions in both arms together, at most";
        max_selects: u64 = 4, "phis where the arms meet, at most";
    }
}

/// Blocks that may meet where the arms do.
const MAX_ENTRIES: usize = 32;

/// The pass.
pub struct IfConversion;

impl FunctionPass for IfConversion {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "taking arms away would break the roles of structured constructs",
        ..Declaration::new(
            "if_conversion",
            "turns small branches into selects",
            "Computes small pure arms of a branch always and selects between their results.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let cfg = ControlFlowGraph::compute(cx.func);
        let mut gone: Vec<BlockId> = Vec::new();
        for &block in cfg.reverse_post_order().iter().rev() {
            let Some(shape) = Diamond::find(cx.func, cx.types, &cfg, block, options) else {
                continue;
            };
            if !cx.fuel() {
                break;
            }
            convert(cx, block, &shape, &mut info);
            gone.extend(shape.arms.into_iter().flatten());
        }
        for block in gone {
            cx.func.remove_block(block);
        }
        Ok(info)
    }
}

/// A branch whose arms, true and false, meet at once; an arm that is missing is the edge itself.
struct Diamond {
    arms: [Option<BlockId>; 2],
    merge: BlockId,
}

impl Diamond {
    fn find(
        func: &Function,
        types: &TypeTable,
        cfg: &ControlFlowGraph,
        block: BlockId,
        options: &Options,
    ) -> Option<Diamond> {
        let branch = func.terminator(block).filter(|&t| func.op(t) == Op::CondBr)?;
        let &[yes, no] = func.successors_of(branch) else { return None };
        let through = |arm: BlockId| {
            let end = func.terminator(arm).filter(|&t| func.op(t) == Op::Br)?;
            (cfg.predecessors(arm).len() == 1 && arm != block).then(|| func.successors_of(end)[0])
        };
        let (after_yes, after_no) = (through(yes), through(no));
        let (arms, merge) = match (after_yes, after_no) {
            (Some(a), Some(b)) if a == b => ([Some(yes), Some(no)], a),
            (Some(a), _) if a == no => ([Some(yes), None], no),
            (_, Some(b)) if b == yes => ([None, Some(no)], yes),
            _ => return None,
        };
        let phis = func.phis(merge).count();
        let small = |phi| types.is_scalar_or_vector(func.inst(phi).ty);
        let entries = func.phis(merge).next().map_or(0, |phi| func.args(phi).len());
        let mut budget = options.max_insts as usize;
        let cheap = arms.iter().flatten().all(|&arm| {
            func.insts(arm).all(|inst| {
                if func.op(inst) == Op::Br {
                    return true;
                }
                budget = budget.wrapping_sub(1);
                budget != usize::MAX && is_cheap(func, types, inst)
            })
        });
        let fits = cheap
            && func.phis(merge).all(small)
            && phis <= options.max_selects as usize
            && entries <= MAX_ENTRIES;
        (fits && merge != block && yes != no).then_some(Diamond { arms, merge })
    }
}

fn is_cheap(func: &Function, types: &TypeTable, inst: InstId) -> bool {
    match func.op(inst) {
        // The branch may be what keeps the index in range.
        Op::Arithmetic(_) if util::has_open_index(func, types, inst) => false,
        Op::Arithmetic(op) => {
            !composite::is_formula(op)
                && MathFunction::of(op).is_none()
                && !matches!(
                    op,
                    ArithmeticOp::BinaryDiv
                        | ArithmeticOp::BinaryMod
                        | ArithmeticOp::PowInt
                        | ArithmeticOp::Sqrt
                )
        }
        Op::Cast(_) => true,
        _ => false,
    }
}

fn convert(cx: &mut FunctionCx<'_>, block: BlockId, diamond: &Diamond, info: &mut Info) {
    let Some(branch) = cx.func.terminator(block) else { return };
    let condition = cx.func.arg(branch, 0);
    for &arm in diamond.arms.iter().flatten() {
        let insts: Vec<InstId> = cx.func.insts(arm).filter(|&i| cx.func.op(i) != Op::Br).collect();
        for inst in insts {
            cx.func.unlink_inst(inst);
            cx.func.insert_before(inst, branch);
            info.hoisted_inst_count += 1;
        }
    }
    let [yes, no] = diamond.arms.map(|arm| arm.unwrap_or(block));
    let phis: Vec<InstId> = cx.func.phis(diamond.merge).collect();
    for phi in phis {
        let at = |from| cx.func.inst_blocks(phi).iter().position(|&b| b == from);
        let (Some(i), Some(j)) = (at(yes), at(no)) else { continue };
        let (a, b) = (cx.func.arg(phi, i), cx.func.arg(phi, j));
        let value = if a == b { a } else { select(cx, branch, condition, a, b) };
        cx.func.set_arg(phi, i, value);
        cx.func.inst_blocks_mut(phi)[i] = block;
        cx.func.remove_arg(phi, j);
        cx.func.inst_blocks_mut(phi).remove(j);
        info.replaced_phi_count += 1;
    }
    util::branch_instead(cx.func, block, diamond.merge);
    info.converted_diamond_count += 1;
}

fn select(
    cx: &mut FunctionCx<'_>,
    at: InstId,
    condition: ValueId,
    yes: ValueId,
    no: ValueId,
) -> ValueId {
    let ty = cx.func.value_type(yes);
    let op = Op::Arithmetic(ArithmeticOp::Select);
    Builder::before(cx.func, cx.types, at).value(op, ty, &[no, yes, condition])
}

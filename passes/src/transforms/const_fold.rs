//! Constant folding.
//!
//! What: arithmetic and casts whose operands are all constants become constants; elements taken out of constants and of
//! composites that were just built become those elements.
//! Why right: `xir::eval` computes, the same code that the interpreter runs; every case is defined, divisions by zero
//! included. An index out of range is left alone.
//! Cost: linear; blocks in reverse post-order, so that operands are folded before their users.

use super::elements;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{ArithmeticOp, CastOp};
use luisac_xir::{Function, InstId, Op, ValueDef, ValueId, eval};

counters! {
    /// What `const_fold` did.
    Info {
        change folded_inst_count "instructions folded";
    }
}

/// Composites above this many bytes are not folded: the result would be a large copy.
const MAX_BYTES: u64 = 1024;

/// The pass.
pub struct ConstFold;

impl FunctionPass for ConstFold {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "const_fold",
            "computes what is constant",
            "Folds arithmetic and casts on constants with the interpreter's own functions, bit for bit, and takes elements \
             out of composites that are at hand.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let cfg = ControlFlowGraph::compute(cx.func);
        for &block in cfg.reverse_post_order() {
            let mut next = cx.func.first_inst(block);
            while let Some(inst) = next {
                next = cx.func.next_inst(inst);
                let Some(value) = fold(cx.func, cx.types, inst) else { continue };
                if !cx.fuel() {
                    return Ok(info);
                }
                util::replace_and_remove(cx.func, inst, value);
                info.folded_inst_count += 1;
            }
        }
        Ok(info)
    }
}

/// What an instruction folds to.
pub(crate) fn fold(func: &mut Function, types: &TypeTable, inst: InstId) -> Option<ValueId> {
    match func.op(inst) {
        Op::Arithmetic(op) => {
            let folded = fold_constants(func, types, inst, |types, ty, operands| {
                eval::fold(types, op, ty, operands)
            });
            match op {
                ArithmeticOp::Extract => folded.or_else(|| element(func, types, inst)),
                ArithmeticOp::Select => folded.or_else(|| selected(func, inst)),
                _ => folded,
            }
        }
        Op::Cast(op) => fold_constants(func, types, inst, |types, ty, operands| {
            fold_cast(types, op, ty, operands)
        }),
        _ => None,
    }
}

fn fold_cast(
    types: &TypeTable,
    op: CastOp,
    ty: TypeId,
    operands: &[(TypeId, &[u8])],
) -> Option<Vec<u8>> {
    let &(from, bytes) = operands.first()?;
    eval::fold_cast(types, op, from, ty, bytes)
}

/// The constant that `compute` makes of the operands, if they are constants.
fn fold_constants(
    func: &mut Function,
    types: &TypeTable,
    inst: InstId,
    compute: impl Fn(&TypeTable, TypeId, &[(TypeId, &[u8])]) -> Option<Vec<u8>>,
) -> Option<ValueId> {
    let ty = func.inst(inst).ty;
    let args = func.args(inst);
    let all_constant = args.iter().all(|&a| matches!(func.value_def(a), ValueDef::Constant(_)));
    if !all_constant || types.size(ty) > MAX_BYTES {
        return None;
    }
    // Reading a large table costs its size each time.
    if args.iter().any(|&a| types.size(func.value_type(a)) > MAX_BYTES) {
        return None;
    }
    let operands: Vec<(TypeId, &[u8])> = args
        .iter()
        .map(|&a| Some((func.value_type(a), func.constant_bytes(a)?.as_slice())))
        .collect::<Option<_>>()?;
    let bytes = compute(types, ty, &operands)?;
    Some(func.constant(ty, bytes))
}

/// The element that an `extract` takes out of something at hand, along constant indices in range.
fn element(func: &mut Function, types: &TypeTable, inst: InstId) -> Option<ValueId> {
    let mut part = *func.args(inst).first()?;
    for position in 1..func.args(inst).len() {
        let index = func.arg(inst, position);
        let count = types.member_count(func.value_type(part));
        let index = elements::constant_index(func, index, count)?;
        part = elements::known_element(func, types, part, index)?;
    }
    Some(part)
}

/// The arm that a constant condition of a `select` takes, or the one that both arms are.
fn selected(func: &Function, inst: InstId) -> Option<ValueId> {
    let &[no, yes, condition] = func.args(inst) else { return None };
    if no == yes {
        return Some(no);
    }
    let is_scalar = func.value_type(condition) == TypeId::BOOL;
    let bits = func.constant_bits(condition).filter(|_| is_scalar)?;
    Some(if bits == 0 { no } else { yes })
}

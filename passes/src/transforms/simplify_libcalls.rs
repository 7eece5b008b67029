//! Simpler forms of built-in functions.
//!
//! What: clamp(x, +0, 1) and min(max(x, +0), 1) become saturate(x); abs of an unsigned value and select(c, x, x) become x;
//! rounding a rounded value, saturating a saturated one, and abs of abs become the inner one; pow_int by 0, 1 or 2 becomes 1,
//! x or x * x.
//! Why right: saturate is defined as that clamp, NaN giving the low end in all three; what is rounded is a whole number, and
//! rounds to itself in every way. pow_int squares exactly as written. Nothing is done to lerp or pow, which round elsewhere.
//! Cost: linear. Source: `passes.md` section 3.1; the test `tests/identities.rs` tries all halves.

use super::lanes;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::ArithmeticOp::{self, *};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `simplify_libcalls` did.
    Info {
        change simplified_count "functions replaced";
    }
}

/// The pass.
pub struct SimplifyLibcalls;

impl FunctionPass for SimplifyLibcalls {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "simplify_libcalls",
            "replaces built-in functions by simpler ones",
            "clamp(x, 0, 1) becomes saturate(x), abs of an unsigned value the value, rounding of a rounded value that value, \
             pow_int by a small constant a product. Every bit stays.",
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
                let Op::Arithmetic(op) = cx.func.op(inst) else { continue };
                let Some(change) = simplify(cx.func, cx.types, inst, op) else { continue };
                if !cx.fuel() {
                    return Ok(info);
                }
                apply(cx, inst, change);
                info.simplified_count += 1;
            }
        }
        Ok(info)
    }
}

/// What a function becomes.
enum Change {
    Value(ValueId),
    /// 1 in every component.
    One,
    Op(ArithmeticOp, Vec<ValueId>),
}

fn apply(cx: &mut FunctionCx<'_>, inst: InstId, change: Change) {
    let ty = cx.func.inst(inst).ty;
    let value = match change {
        Change::Value(value) => value,
        Change::One => {
            let bits = float(cx.types, ty).map_or(0, one);
            let lanes = lanes::splat(cx.types, ty, bits);
            let Some(one) = lanes::to_constant(cx.func, cx.types, ty, &lanes) else { return };
            one
        }
        Change::Op(op, args) => {
            Builder::before(cx.func, cx.types, inst).value(Op::Arithmetic(op), ty, &args)
        }
    };
    util::replace_and_remove(cx.func, inst, value);
}

fn simplify(func: &Function, types: &TypeTable, inst: InstId, op: ArithmeticOp) -> Option<Change> {
    let args = func.args(inst);
    let ty = func.inst(inst).ty;
    match (op, args) {
        (Clamp, &[x, low, high]) => saturates(func, types, x, low, high),
        (Min, &[a, b]) => [(a, b), (b, a)].into_iter().find_map(|(inner, high)| {
            let (Max, &[x, y]) = def(func, inner)? else { return None };
            saturates(func, types, x, y, high).or_else(|| saturates(func, types, y, x, high))
        }),
        (Abs, &[x]) => {
            let scalar = types.scalar_of(ty)?;
            let same = scalar.is_int() && !scalar.is_signed();
            (same || matches!(def(func, x), Some((Abs, _)))).then_some(Change::Value(x))
        }
        (Select, &[no, yes, _]) => (no == yes).then_some(Change::Value(no)),
        (Saturate, &[x]) => matches!(def(func, x), Some((Saturate, _))).then_some(Change::Value(x)),
        (Floor | Ceil | Trunc | Round | Rint, &[x]) => {
            let whole = matches!(def(func, x), Some((Floor | Ceil | Trunc | Round | Rint, _)));
            whole.then_some(Change::Value(x))
        }
        (PowInt, &[x, exponent]) => power(func, types, x, exponent),
        _ => None,
    }
}

fn def(func: &Function, value: ValueId) -> Option<(ArithmeticOp, &[ValueId])> {
    let inst = func.def_inst(value)?;
    match func.op(inst) {
        Op::Arithmetic(op) => Some((op, func.args(inst))),
        _ => None,
    }
}

/// The scalar of a float scalar or vector.
fn float(types: &TypeTable, ty: TypeId) -> Option<Scalar> {
    types.scalar_of(ty).filter(|s| s.is_float() && types.is_scalar_or_vector(ty))
}

const fn one(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::F16 => 0x3c00,
        Scalar::F32 => 0x3f80_0000,
        _ => 0x3ff0_0000_0000_0000,
    }
}

fn saturates(
    func: &Function,
    types: &TypeTable,
    x: ValueId,
    low: ValueId,
    high: ValueId,
) -> Option<Change> {
    let ty = func.value_type(x);
    let scalar = float(types, ty)?;
    let is = |v, bits| {
        func.value_type(v) == ty
            && lanes::of_constant(func, types, v) == Some(lanes::splat(types, ty, bits))
    };
    (is(low, 0) && is(high, one(scalar))).then(|| Change::Op(Saturate, vec![x]))
}

fn power(func: &Function, types: &TypeTable, x: ValueId, exponent: ValueId) -> Option<Change> {
    let ty = func.value_type(exponent);
    let lanes = lanes::of_constant(func, types, exponent)?;
    let is = |n| lanes == lanes::splat(types, ty, n);
    if is(0) {
        Some(Change::One)
    } else if is(1) {
        Some(Change::Value(x))
    } else if is(2) {
        Some(Change::Op(BinaryMul, vec![x, x]))
    } else {
        None
    }
}

//! What every operation on values computes: the one place where the rules of the semantics page are code.
//!
//! The interpreter and the constant folder both run these functions, so a folded value equals a computed one bit for bit.
//! A scalar is the low bits of a `u64`, the rest zero ([`Bits`]). A composite value is *flat*: its scalars in the order of
//! its elements, columns and members, padding left out ([`flat`]).
//!
//! * [`unary`], [`binary`], [`ternary`], [`cast`]: functions on scalars, picked by operation and type.
//! * [`Plan`]: an operation on whole values, by component or by formula.
//! * [`fold`], [`fold_cast`]: whole operations on constants in memory layout.

mod bits;
mod cast;
pub mod flat;
mod float;
mod fold;
mod integer;
mod plan;

use crate::op::ArithmeticOp;
use luisac_ast::types::Scalar;

pub use cast::cast;
pub use float::{double_to_half, half_to_double};
pub use fold::{fold, fold_cast};
pub use integer::sign_extend;
pub(crate) use plan::Compute;
pub use plan::{Plan, plan, plan_cast};

/// The bits of a scalar, zero-extended; `bool` is 0 or 1.
pub type Bits = u64;
/// A function of one scalar.
pub type Unary = fn(Bits) -> Bits;
/// A function of two scalars.
pub type Binary = fn(Bits, Bits) -> Bits;
/// A function of three scalars.
pub type Ternary = fn(Bits, Bits, Bits) -> Bits;

/// The function of `op` on one scalar of type `scalar`; `None` if there is none.
pub fn unary(op: ArithmeticOp, scalar: Scalar) -> Option<Unary> {
    match scalar {
        Scalar::Bool => bits::unary_bool(op),
        s if s.is_float() => float::unary(op, s),
        s => integer::unary(op, s),
    }
}

/// The function of `op` on two scalars, the first of type `scalar`, the second of type `second`; `None` if there is none.
pub fn binary(op: ArithmeticOp, scalar: Scalar, second: Scalar) -> Option<Binary> {
    if op == ArithmeticOp::PowInt {
        return float::pow_int(scalar, second);
    }
    match scalar {
        Scalar::Bool => bits::binary_bool(op),
        s if s.is_float() => float::binary(op, s),
        s => integer::binary(op, s),
    }
}

/// The function of `op` on three scalars whose first is of type `scalar`; `None` if there is none.
pub fn ternary(op: ArithmeticOp, scalar: Scalar) -> Option<Ternary> {
    match op {
        ArithmeticOp::Select => Some(bits::select),
        _ if scalar.is_float() => float::ternary(op, scalar),
        _ => integer::ternary(op, scalar),
    }
}

//! Identities of floats that keep every bit, and those that `--math fast` allows.

use super::{Change, Site};
use crate::transforms::lanes;
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp::{self, *};
use luisac_xir::{ValueId, eval};

/// The bits of a number of a type; none if it is not exact.
fn number(scalar: Scalar, value: f64) -> Option<u64> {
    match scalar {
        Scalar::F16 => {
            let bits = eval::double_to_half(value);
            (eval::half_to_double(bits) == value).then_some(bits)
        }
        Scalar::F32 => {
            let single = value as f32;
            (f64::from(single) == value).then_some(single.to_bits().into())
        }
        Scalar::F64 => Some(value.to_bits()),
        _ => None,
    }
}

/// Width of the fraction and largest exponent field of a type.
const fn layout(scalar: Scalar) -> (u32, u64) {
    match scalar {
        Scalar::F16 => (10, 31),
        Scalar::F32 => (23, 255),
        _ => (52, 2047),
    }
}

/// 1 / 2^k as bits for 2^k as bits, where both are normal numbers; the sign is kept.
fn reciprocal_of_power(scalar: Scalar, bits: u64) -> Option<u64> {
    let (fraction, top) = layout(scalar);
    let sign = bits & ((lanes::mask(scalar) >> 1) + 1);
    let magnitude = bits ^ sign;
    let exponent = magnitude >> fraction;
    let is_power = magnitude & ((1 << fraction) - 1) == 0;
    // The biased exponents add up to twice the bias, which is one less than the largest field.
    let inverse = (top - 1).checked_sub(exponent).filter(|&e| e > 0)?;
    (is_power && exponent > 0 && exponent < top).then_some(sign | (inverse << fraction))
}

pub(super) fn binary(
    site: &Site<'_>,
    op: ArithmeticOp,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
) -> Option<Change> {
    let of = |value| number(scalar, value);
    let zero = number(scalar, 0.0);
    let minus_zero = number(scalar, -0.0);
    let (constant, other) = if site.splat(b).is_some() { (b, a) } else { (a, b) };
    Some(match op {
        BinaryMul if site.is(constant, of(1.0)) => Change::Value(other),
        BinaryDiv if site.is(b, of(1.0)) => Change::Value(a),
        // Both are the one rounding of the same number.
        BinaryDiv => {
            let inverse = site.map_lanes(b, |bits| reciprocal_of_power(scalar, bits));
            return match inverse {
                Some(inverse) => Some(Change::WithConstant(BinaryMul, a, inverse)),
                None => fast_division(site, a, b, scalar),
            };
        }
        BinarySub if site.is(b, zero) => Change::Value(a),
        BinaryAdd if site.is(constant, minus_zero) => Change::Value(other),
        BinaryAdd if site.fast && site.is(constant, zero) => Change::Value(other),
        BinarySub if site.fast && site.is(b, minus_zero) => Change::Value(a),
        Pow if site.fast && site.is(a, of(2.0)) => Change::Op(Exp2, vec![b]),
        Pow if site.fast && site.is(a, of(10.0)) => Change::Op(Exp10, vec![b]),
        // An ordered comparison with itself only asks for NaN, and stays.
        BinaryLess | BinaryGreater if a == b => Change::Bool(false),
        Min | Max if a == b => Change::Value(a),
        Copysign if a == b => Change::Value(a),
        Copysign => match site.def(a) {
            Some((UnaryMinus | Abs, args)) => Change::Op(Copysign, vec![args[0], b]),
            Some((Copysign, args)) => Change::Op(Copysign, vec![args[0], b]),
            _ => return None,
        },
        _ => return None,
    })
}

/// Division of singles by a constant whose reciprocal is normal: within 2 ulp.
fn fast_division(site: &Site<'_>, a: ValueId, b: ValueId, scalar: Scalar) -> Option<Change> {
    if !site.fast || scalar != Scalar::F32 {
        return None;
    }
    let inverse = site.map_lanes(b, |bits| {
        let inverse = 1.0 / f32::from_bits(bits as u32);
        inverse.is_normal().then_some(inverse.to_bits().into())
    })?;
    Some(Change::WithConstant(BinaryMul, a, inverse))
}

pub(super) fn ternary(
    site: &Site<'_>,
    op: ArithmeticOp,
    [a, b, c]: [ValueId; 3],
    scalar: Scalar,
) -> Option<Change> {
    let one = number(scalar, 1.0);
    match op {
        // One rounding of the exact sum or product.
        Fma if site.is(a, one) => Some(Change::Op(BinaryAdd, vec![b, c])),
        Fma if site.is(b, one) => Some(Change::Op(BinaryAdd, vec![a, c])),
        Fma if site.is(c, number(scalar, -0.0)) => Some(Change::Op(BinaryMul, vec![a, b])),
        _ => None,
    }
}

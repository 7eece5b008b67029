//! Identities of integers: modulo 2^width, division by zero giving the dividend, remainder by zero giving zero.

use super::{Change, Site};
use crate::transforms::lanes;
use luisac_ast::types::Scalar;
use luisac_xir::ValueId;
use luisac_xir::op::ArithmeticOp::{self, *};

/// The least and the greatest number of a type, as bits.
fn limits(scalar: Scalar) -> (u64, u64) {
    let ones = lanes::mask(scalar);
    match scalar.is_signed() {
        true => ((ones >> 1) + 1, ones >> 1),
        false => (0, ones),
    }
}

pub(super) fn binary(
    site: &Site<'_>,
    op: ArithmeticOp,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
) -> Option<Change> {
    if scalar.bits() < 8 {
        return None;
    }
    if let BinaryShiftLeft | BinaryShiftRight | BinaryRotateLeft | BinaryRotateRight = op {
        return shift(site, op, a, b, scalar);
    }
    with_constant(site, op, a, b, scalar)
        .or_else(|| if a == b { of_equals(op, a) } else { None })
        .or_else(|| of_inner(site, op, a, b))
        .or_else(|| power_of_two(site, op, a, b, scalar))
        .or_else(|| comparison(site, op, a, b, scalar))
}

fn shift(
    site: &Site<'_>,
    op: ArithmeticOp,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
) -> Option<Change> {
    // The amount counts modulo the width, a power of two.
    let width = u64::from(scalar.bits());
    let stays = site.map_lanes(b, |amount| (amount & (width - 1) == 0).then_some(0)).is_some();
    let zero = site.is(a, Some(0));
    let ones = site.is(a, Some(lanes::mask(scalar)));
    let rotates = matches!(op, BinaryRotateLeft | BinaryRotateRight);
    let extends = op == BinaryShiftRight && scalar.is_signed();
    (stays || zero || ones && (rotates || extends)).then_some(Change::Value(a))
}

/// One operand is 0, 1, -1 or the like.
fn with_constant(
    site: &Site<'_>,
    op: ArithmeticOp,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
) -> Option<Change> {
    let (zero, one, ones) = (Some(0), Some(1), Some(lanes::mask(scalar)));
    let (least, greatest) = limits(scalar);
    // The constant, and the other operand, of an operation whose operands may change places.
    let (constant, other) = if site.splat(b).is_some() { (b, a) } else { (a, b) };
    let is = |bits| site.is(constant, bits);
    Some(match op {
        BinaryAdd | BinaryBitOr | BinaryBitXor if is(zero) => Change::Value(other),
        BinaryMul | BinaryBitAnd if is(zero) => Change::Zero,
        BinaryMul if is(one) => Change::Value(other),
        BinaryMul if is(ones) => Change::Op(UnaryMinus, vec![other]),
        BinaryBitAnd if is(ones) => Change::Value(other),
        BinaryBitOr if is(ones) => Change::Value(constant),
        BinaryBitXor if is(ones) => Change::Op(UnaryBitNot, vec![other]),
        Min if is(Some(least)) => Change::Value(constant),
        Min if is(Some(greatest)) => Change::Value(other),
        Max if is(Some(greatest)) => Change::Value(constant),
        Max if is(Some(least)) => Change::Value(other),
        BinarySub if site.is(b, zero) => Change::Value(a),
        BinarySub if site.is(a, zero) => Change::Op(UnaryMinus, vec![b]),
        BinaryDiv | BinaryMod if site.is(a, zero) => Change::Zero,
        BinaryDiv if site.is(b, one) || site.is(b, zero) => Change::Value(a),
        BinaryMod if site.is(b, one) || site.is(b, zero) => Change::Zero,
        // MIN / -1 is MIN, as is -MIN.
        BinaryDiv if scalar.is_signed() && site.is(b, ones) => Change::Op(UnaryMinus, vec![a]),
        BinaryMod if scalar.is_signed() && site.is(b, ones) => Change::Zero,
        _ => return None,
    })
}

/// Both operands are the same value.
fn of_equals(op: ArithmeticOp, a: ValueId) -> Option<Change> {
    Some(match op {
        BinarySub | BinaryBitXor | BinaryMod => Change::Zero,
        BinaryBitAnd | BinaryBitOr | Min | Max => Change::Value(a),
        BinaryEqual | BinaryLessEqual | BinaryGreaterEqual => Change::Bool(true),
        BinaryNotEqual | BinaryLess | BinaryGreater => Change::Bool(false),
        _ => return None,
    })
}

/// One operand is made from the other, or negated.
fn of_inner(site: &Site<'_>, op: ArithmeticOp, a: ValueId, b: ValueId) -> Option<Change> {
    let negated = |v| site.operand_of(UnaryMinus, v);
    match op {
        BinaryAdd => {
            for (x, y) in [(a, b), (b, a)] {
                match (site.operands_of(BinarySub, x), negated(y)) {
                    (Some([p, q]), _) if q == y => return Some(Change::Value(p)),
                    (_, Some(z)) => return Some(Change::Op(BinarySub, vec![x, z])),
                    _ => {}
                }
            }
            None
        }
        BinarySub => match (site.def(a), site.def(b)) {
            (Some((BinaryAdd, &[p, q])), _) if q == b => Some(Change::Value(p)),
            (Some((BinaryAdd, &[p, q])), _) if p == b => Some(Change::Value(q)),
            (Some((BinarySub, &[p, q])), _) if p == b => Some(Change::Op(UnaryMinus, vec![q])),
            (_, Some((BinarySub, &[p, q]))) if p == a => Some(Change::Value(q)),
            (_, Some((UnaryMinus, &[z]))) => Some(Change::Op(BinaryAdd, vec![a, z])),
            _ => None,
        },
        BinaryBitXor => [(a, b), (b, a)].into_iter().find_map(|(x, y)| {
            let [p, q] = site.operands_of(BinaryBitXor, x)?;
            let rest = if p == y { q } else { p };
            (p == y || q == y).then_some(Change::Value(rest))
        }),
        _ => lattice(site, op, a, b),
    }
}

/// `and`, `or`, `min`, `max` with an operand that holds the other one: idempotent and absorbing; also for bools.
pub(super) fn lattice(site: &Site<'_>, op: ArithmeticOp, a: ValueId, b: ValueId) -> Option<Change> {
    let dual = match op {
        BinaryBitAnd => BinaryBitOr,
        BinaryBitOr => BinaryBitAnd,
        Min => Max,
        Max => Min,
        _ => return None,
    };
    [(a, b), (b, a)].into_iter().find_map(|(x, y)| {
        let has = |op| site.operands_of(op, x).is_some_and(|args| args.contains(&y));
        if has(op) {
            Some(Change::Value(x))
        } else if has(dual) {
            Some(Change::Value(y))
        } else {
            None
        }
    })
}

/// Unsigned division and remainder by powers of two.
fn power_of_two(
    site: &Site<'_>,
    op: ArithmeticOp,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
) -> Option<Change> {
    if scalar.is_signed() || !matches!(op, BinaryDiv | BinaryMod) {
        return None;
    }
    let power = |lane: u64| lane.is_power_of_two().then_some(lane);
    match op {
        BinaryDiv => {
            let amounts = site.map_lanes(b, |l| power(l).map(|l| l.trailing_zeros().into()))?;
            Some(Change::WithConstant(BinaryShiftRight, a, amounts))
        }
        _ => {
            let masks = site.map_lanes(b, |l| power(l).map(|l| l - 1))?;
            Some(Change::WithConstant(BinaryBitAnd, a, masks))
        }
    }
}

/// Nothing is below the least number or above the greatest.
fn comparison(
    site: &Site<'_>,
    op: ArithmeticOp,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
) -> Option<Change> {
    let (least, greatest) = limits(scalar);
    let least = |v| site.is(v, Some(least));
    let greatest = |v| site.is(v, Some(greatest));
    match op {
        BinaryLess if least(b) || greatest(a) => Some(Change::Bool(false)),
        BinaryGreater if least(a) || greatest(b) => Some(Change::Bool(false)),
        BinaryLessEqual if least(a) || greatest(b) => Some(Change::Bool(true)),
        BinaryGreaterEqual if least(b) || greatest(a) => Some(Change::Bool(true)),
        _ => None,
    }
}

pub(super) fn ternary(
    site: &Site<'_>,
    op: ArithmeticOp,
    [value, low, high]: [ValueId; 3],
    scalar: Scalar,
) -> Option<Change> {
    if op != Clamp || scalar.bits() < 8 {
        return None;
    }
    let (least, greatest) = limits(scalar);
    // min(max(v, lo), hi)
    if low == high {
        return Some(Change::Value(high));
    }
    match (site.is(low, Some(least)), site.is(high, Some(greatest))) {
        (true, true) => Some(Change::Value(value)),
        (true, false) => Some(Change::Op(Min, vec![value, high])),
        (false, true) => Some(Change::Op(Max, vec![value, low])),
        _ => None,
    }
}

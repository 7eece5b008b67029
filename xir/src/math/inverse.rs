//! asin, acos, atan, atan2.

use super::ops::Ops;
use super::pair::{Pair, fast_two_sum, two_sum};
use super::value::{Bool, Float, Val};

/// The angle of the point (`x`, `y`), both at least 0 and not both 0, the larger one neither tiny nor huge; pi minus
/// that where `left`.
///
/// With `t = y / x`: up to 1/2 the series of atan; up to 2 turned back by pi / 4, `(y - x) / (y + x)`, whose
/// numerator is exact; beyond that by pi / 2, `-x / y`. The quotient is kept as a pair.
#[inline(always)]
fn angle<'o, O: Ops, F: Float>(
    y: Val<'o, O, F>,
    x: Val<'o, O, F>,
    left: Option<Val<'o, O, Bool>>,
) -> Val<'o, O, F> {
    let small = (y + y).lt(x);
    let large = (x + x).lt(y);
    let pick = |if_small: Val<'o, O, F>, if_middle, if_large| {
        small.select(if_small, large.select(if_large, if_middle))
    };
    let pick_constant = |i: usize| {
        let right = pick(x.lit(0.0), x.lit(F::C.quarter_pi[i]), x.lit(F::C.half_pi[i]));
        let mirrored =
            || pick(x.lit(F::C.pi[i]), x.lit(F::C.three_quarter_pi[i]), x.lit(F::C.half_pi[i]));
        left.map_or(right, |left| left.select(mirrored(), right))
    };
    let zero = x.lit(0.0);
    let sum = two_sum(y, x);
    let numerator = pick(y, y - x, -x);
    let numerator = left.map_or(numerator, |left| left.select(-numerator, numerator));
    let divisor = Pair { high: pick(x, sum.high, y), low: pick(zero, sum.low, zero) };
    let t = Pair::exact(numerator).quotient(divisor);
    let z = t.high * t.high;
    let total = fast_two_sum(pick_constant(0), t.high);
    total.high + (total.low + (t.high * z * z.polynomial(F::C.atan) + (t.low + pick_constant(1))))
}

/// The arc tangent, at most 1 ulp off.
#[inline(always)]
pub fn atan<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    // From here on the result rounds to pi / 2.
    let edge = (1_u64 << (F::MANTISSA + 6)) as f64;
    angle(x.abs().at_most(edge), x.lit(1.0), None).flip_sign(x.sign_bit())
}

/// The angle of the point (`x`, `y`) from the x axis in [-pi, pi], at most 1.4 ulp off; signed zeros, infinities and
/// NaN as in C.
#[inline(always)]
pub fn atan2<'o, O: Ops, F: Float>(y: Val<'o, O, F>, x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (a, b) = (y.abs(), x.abs());
    let is_number = a.eq(a) & b.eq(b);
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.infinity());
    // An infinity becomes 1 against 0 or against 1.
    let (a_infinite, b_infinite) = (a.eq(infinity), b.eq(infinity));
    let any_infinite = a_infinite | b_infinite;
    let p = any_infinite.select(a_infinite.select(one, zero), a);
    let q = any_infinite.select(b_infinite.select(one, zero), b);
    // Both by the power of two that takes the larger one to [2, 4), or near it from the subnormals. What the
    // smaller one then loses by underflow is below the rounding of a quotient that underflows as well.
    let larger = p.lt(q).select(q, p);
    let both_zero = larger.eq(zero);
    let least_normal = Val::constant(x.ops(), 1 << F::MANTISSA);
    let normal = larger.lt(least_normal).select(least_normal, larger);
    let exponent = normal.bits() & (F::EXPONENT_MAX << F::MANTISSA);
    let factor = (x.word((2 * F::BIAS + 1) << F::MANTISSA) - exponent).float();
    let (p, q) = (p * factor, both_zero.select(one, q * factor));
    let left = x.sign_bit().is_nonzero();
    is_number.select(angle(p, q, Some(left)), x.nan()).flip_sign(y.sign_bit())
}

/// `asin x` for `|x|` up to 1/2, beside the square of `x`.
#[inline(always)]
fn asin_rest<'o, O: Ops, F: Float>(x: Val<'o, O, F>, z: Val<'o, O, F>) -> Val<'o, O, F> {
    x * z * z.polynomial(F::C.asin)
}

/// The argument at which the series runs: `|x|` up to 1/2, else `sqrt((1 - |x|) / 2)` as a pair, with its square.
#[inline(always)]
fn halved<'o, O: Ops, F: Float>(
    a: Val<'o, O, F>,
    small: Val<'o, O, Bool>,
) -> (Pair<'o, O, F>, Val<'o, O, F>) {
    let z = small.select(a * a, 0.5 * (1.0 - a));
    let root = z.sqrt();
    let head = root.head();
    // root = head + (z - head^2) / (root + head), the product exact.
    let tail = (z - head * head) / (root + head);
    let zero = a.lit(0.0);
    let pair = fast_two_sum(head, tail);
    let at_zero = z.eq(zero);
    let pair = Pair { high: at_zero.select(zero, pair.high), low: at_zero.select(zero, pair.low) };
    (Pair { high: small.select(a, pair.high), low: small.select(zero, pair.low) }, z)
}

/// The arc sine, at most 1 ulp off; NaN beyond 1.
#[inline(always)]
pub fn asin<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let a = x.abs();
    let small = a.le(a.lit(0.5));
    let (s, z) = halved(a, small);
    let rest = asin_rest(s.high, z) + s.low;
    // pi / 2 - 2 asin(sqrt((1 - a) / 2)).
    let turned = fast_two_sum(a.lit(F::C.half_pi[0]), -2.0 * s.high);
    let large = turned.high + (turned.low + (F::C.half_pi[1] - 2.0 * rest));
    small.select(s.high + rest, large).flip_sign(x.sign_bit())
}

/// The arc cosine, at most 1 ulp off; NaN beyond 1.
#[inline(always)]
pub fn acos<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let a = x.abs();
    let small = a.le(a.lit(0.5));
    let (s, z) = halved(a, small);
    let rest = asin_rest(s.high, z) + s.low;
    let negative = x.sign_bit().is_nonzero();
    // Small: pi / 2 -+ asin a. Else 2 asin(sqrt((1 - a) / 2)), or pi less that.
    let times = small.select(a.lit(1.0), a.lit(2.0));
    let times = (small ^ negative).select(-times, times);
    let base = |i: usize| {
        let far = negative.select(a.lit(F::C.pi[i]), a.lit(0.0));
        small.select(a.lit(F::C.half_pi[i]), far)
    };
    let total = fast_two_sum(base(0), times * s.high);
    total.high + (total.low + (base(1) + times * rest))
}

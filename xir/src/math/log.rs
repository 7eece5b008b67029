//! log, log2, log10, asinh, acosh, atanh.
//!
//! `x = 2^k m` with `m` in [sqrt 1/2, sqrt 2), `f = m - 1`, `s = f / (2 + f)`, and
//! `log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2))`, the arrangement of Ng's fdlibm (1993) which keeps the large
//! terms exact; `R` is our own fit of `2 atanh(s) / s - 2`.

use super::ops::Ops;
use super::pair::{Pair, fast_two_sum, two_product, two_sum};
use super::value::{Bool, Float, Val};
use std::f64::consts::FRAC_1_SQRT_2;

/// `k`, as a two's complement word, and `m` with `x = 2^k m`, `m` in [sqrt 1/2, sqrt 2), for positive finite `x`.
#[inline(always)]
pub(super) fn split<'o, O: Ops, F: Float>(
    x: Val<'o, O, F>,
) -> (Val<'o, O, F::Word>, Val<'o, O, F>) {
    let lift = u64::from(F::MANTISSA) + 2;
    let subnormal = x.bits().lt(x.word(1 << F::MANTISSA));
    let normal = subnormal.select(x * (1_u64 << lift) as f64, x).bits();
    let lifted = subnormal.select(x.word(lift), x.word(0));
    let exponent = (normal - F::encode(FRAC_1_SQRT_2)).sar(u64::from(F::MANTISSA));
    let mantissa = (normal - (exponent << u64::from(F::MANTISSA))).float();
    (exponent - lifted, mantissa)
}

/// `f^2 / 2`, `s` and `s (f^2/2 + R)` for `f = m - 1`.
#[inline(always)]
fn series<'o, O: Ops, F: Float>(f: Val<'o, O, F>) -> (Val<'o, O, F>, Val<'o, O, F>, Val<'o, O, F>) {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    (half_square, s, s * (half_square + z * z.polynomial(F::C.log)))
}

/// The logarithm's special cases over `finite`, its value for positive finite `x`.
#[inline(always)]
fn guarded<'o, O: Ops, F: Float>(x: Val<'o, O, F>, finite: Val<'o, O, F>) -> Val<'o, O, F> {
    let zero = x.lit(0.0);
    let infinity = x.infinity();
    let outside = x.eq(zero).select(-infinity, x.lt(zero).select(x.nan(), x));
    (zero.lt(x) & x.lt(infinity)).select(finite, outside)
}

/// The natural logarithm, at most 1 ulp off.
#[inline(always)]
pub fn log<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (k, m) = split(x);
    let k = k.small_to_float();
    let f = m - 1.0;
    let (half_square, _, rest) = series(f);
    guarded(x, k * F::C.ln2[0] - ((half_square - (rest + k * F::C.ln2[1])) - f))
}

/// `log(m) c` as an exact head product and a rest, `c` given as a head and a rest.
#[inline(always)]
fn scaled_log<'o, O: Ops, F: Float>(m: Val<'o, O, F>, c: [f64; 2]) -> Pair<'o, O, F> {
    let f = m - 1.0;
    let (half_square, _, rest) = series(f);
    let head = (f - half_square).head();
    let tail = (f - head) - half_square + rest;
    Pair { high: head * c[0], low: tail * c[0] + (head + tail) * c[1] }
}

/// The base-2 logarithm, at most 1 ulp off; exact for powers of two.
#[inline(always)]
pub fn log2<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (k, m) = split(x);
    let k = k.small_to_float();
    let part = scaled_log(m, F::C.log2_e);
    let sum = fast_two_sum(k, part.high);
    guarded(x, sum.high + (sum.low + part.low))
}

/// The base-10 logarithm, at most 1 ulp off.
#[inline(always)]
pub fn log10<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (k, m) = split(x);
    let k = k.small_to_float();
    let part = scaled_log(m, F::C.log10_e);
    let sum = fast_two_sum(k * F::C.log10_2[0], part.high);
    guarded(x, sum.high + (sum.low + (part.low + k * F::C.log10_2[1])))
}

/// The logarithm of `x`, a pair of at least 1/2, to about a rounding of the result; of `2 x.high` where `far`,
/// where `x.low` must be 0.
#[inline(always)]
fn log_pair<'o, O: Ops, F: Float>(x: Pair<'o, O, F>, far: Val<'o, O, Bool>) -> Val<'o, O, F> {
    let (word, m) = split(x.high);
    let k = word.small_to_float();
    let f = m - 1.0;
    let (half_square, s, rest) = series(f);
    let zero = word.number(0);
    let low = x.low * far.select(zero, zero - word).pow2();
    // low / m, with 1 / m = (1 - s) / (1 + s) to third order, which suffices for a last-place term.
    let correction = low * (1.0 - 2.0 * (s - s * s));
    let k = far.select(k + 1.0, k);
    k * F::C.ln2[0] - ((half_square - (rest + (k * F::C.ln2[1] + correction))) - f)
}

/// True from where 1 does not change a square any more.
#[inline(always)]
fn is_far<'o, O: Ops, F: Float>(a: Val<'o, O, F>) -> Val<'o, O, Bool> {
    a.ge(a.lit((1_u64 << (F::MANTISSA / 2 + 2)) as f64))
}

/// The inverse hyperbolic sine, at most 1 ulp off.
#[inline(always)]
pub fn asinh<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let a = x.abs();
    // log(a + sqrt(a^2 + 1)); far out log(2a).
    let far = is_far(a);
    let near = far.select(a.lit(1.0), a);
    let square = two_product(near, near);
    let above = two_sum(square.high, a.lit(1.0));
    let root = Pair { high: above.high, low: above.low + square.low }.sqrt();
    let sum = fast_two_sum(root.high, near);
    let low = far.select(a.lit(0.0), sum.low + root.low);
    let large = log_pair(Pair { high: far.select(a, sum.high), low }, far);
    let z = a * a;
    let small = a + a * z * z.polynomial(F::C.asinh);
    let result = a.lt(a.lit(0.5)).select(small, a.lt(a.infinity()).select(large, a));
    result.flip_sign(x.sign_bit())
}

/// The inverse hyperbolic cosine, at most 1 ulp off; NaN below 1.
#[inline(always)]
pub fn acosh<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    // With t = x - 1, which is exact where it matters: log(1 + (t + sqrt(2t + t^2))); far out log(2x).
    let far = is_far(x);
    let one = x.lit(1.0);
    let t = far.select(one, x) - one;
    let square = two_product(t, t);
    let sum = two_sum(t + t, square.high);
    let root = Pair { high: sum.high, low: sum.low + square.low }.sqrt();
    let above = fast_two_sum(root.high, t);
    let total = two_sum(one, above.high);
    let low = far.select(x.lit(0.0), total.low + (above.low + root.low));
    let general = log_pair(Pair { high: far.select(x, total.high), low }, far);
    let finite = x.eq(one).select(x.lit(0.0), x.lt(x.infinity()).select(general, x));
    x.lt(one).select(x.nan(), finite)
}

/// The inverse hyperbolic tangent, at most 1 ulp off; infinite at 1, NaN beyond.
#[inline(always)]
pub fn atanh<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    // log1p(2a / (1 - a)) / 2.
    let a = x.abs();
    let below = fast_two_sum(a.lit(1.0), -a);
    let ratio = Pair::exact(a + a).quotient(below);
    let sum = two_sum(a.lit(1.0), ratio.high);
    let never = Val::constant(a.ops(), 0);
    let result = 0.5 * log_pair(Pair { high: sum.high, low: sum.low + ratio.low }, never);
    let one = a.lit(1.0);
    let edge = a.eq(one).select(a.infinity(), a.nan());
    // A square below rounding: the argument itself, which keeps zeros and subnormals out of the quotient.
    let tiny = a.lt(a.lit(1.0 / (1_u64 << (F::MANTISSA / 2 + 2)) as f64));
    tiny.select(a, a.lt(one).select(result, edge)).flip_sign(x.sign_bit())
}

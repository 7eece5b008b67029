//! exp, exp2, exp10, sinh, cosh, tanh.
//!
//! `e^x = 2^n e^r` with `n` the nearest integer to `x / ln 2` and `|r| <= ln 2 / 2` from a two-part constant
//! (Cody and Waite 1980), then a polynomial for `e^r - 1`. Arguments beyond the range are clamped to where the
//! result is already zero or infinite, so that every step stays finite.

use super::ops::Ops;
use super::pair::{Pair, fast_two_sum};
use super::value::{Float, Val};
use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};

/// Base-2 logarithms beyond which a result overflows, or rounds to zero.
pub(super) fn limits<F: Float>() -> (f64, f64) {
    let bias = F::BIAS as f64;
    (-(bias + f64::from(F::MANTISSA) + 2.0), bias + 2.0)
}

/// `x` held between `low` and `high`; NaN stays.
#[inline(always)]
fn clamp<'o, O: Ops, F: Float>(x: Val<'o, O, F>, low: f64, high: f64) -> Val<'o, O, F> {
    x.at_most(high).at_least(low)
}

/// `n` and `e^r - 1` as a sum of two parts, for finite in-range `x`.
#[inline(always)]
fn reduced<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> (Val<'o, O, F::Word>, Pair<'o, O, F>) {
    let (n, word) = (x * LOG2_E).nearest();
    let high = x - n * F::C.ln2[0];
    let low = n * F::C.ln2[1];
    let r = high - low;
    (word, Pair { high, low: r * r * r.polynomial(F::C.exp) - low })
}

/// `e^x`, at most 1 ulp off.
#[inline(always)]
pub fn exp<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (low, high) = limits::<F>();
    let (n, part) = reduced(clamp(x, low * LN_2, high * LN_2));
    (1.0 + part.round()).scale(n)
}

/// `2^x`, at most 1.2 ulp off; exact for integers.
#[inline(always)]
pub fn exp2<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (low, high) = limits::<F>();
    let x = clamp(x, low, high);
    let (n, word) = x.nearest();
    let r = x - n;
    (r * r.polynomial(F::C.exp2) + 1.0).scale(word)
}

/// `10^x`, at most 1.3 ulp off.
#[inline(always)]
pub fn exp10<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (low, high) = limits::<F>();
    let x = clamp(x, low * LOG10_2, high * LOG10_2);
    let (n, word) = (x * LOG2_10).nearest();
    let r = (x - n * F::C.log10_2[0]) - n * F::C.log10_2[1];
    (r * r.polynomial(F::C.exp10) + 1.0).scale(word)
}

/// `n`, and `e^x = 2^n (high + low)`, for `x` of at least 0; `low` beyond the rounding of `high`.
#[inline(always)]
fn exp_pair<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> (Val<'o, O, F::Word>, Pair<'o, O, F>) {
    let (n, part) = reduced(x.at_most(limits::<F>().1 * LN_2 + 1.0));
    let rest = fast_two_sum(part.high, part.low);
    let sum = fast_two_sum(x.lit(1.0), rest.high);
    (n, Pair { high: sum.high, low: sum.low + rest.low })
}

/// `2^-2n / value`, zero once that is far below the rounding of 1.
#[inline(always)]
fn reflected<'o, O: Ops, F: Float>(n: Val<'o, O, F::Word>, value: Val<'o, O, F>) -> Val<'o, O, F> {
    let far = n.number(u64::from(F::MANTISSA)).signed_lt(n);
    let shift = n.number(0) - (n + n);
    far.select(value.lit(0.0), far.select(n.number(0), shift).pow2() / value)
}

/// The hyperbolic sine, at most 1 ulp off.
#[inline(always)]
pub fn sinh<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let a = x.abs();
    let (n, e) = exp_pair(a);
    let large = (e.high + (e.low - reflected(n, e.high))).scale(n - 1);
    let z = a * a;
    let small = a + a * z * z.polynomial(F::C.sinh);
    a.lt(a.lit(1.0)).select(small, large).flip_sign(x.sign_bit())
}

/// The hyperbolic cosine, at most 1 ulp off.
#[inline(always)]
pub fn cosh<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let (n, e) = exp_pair(x.abs());
    (e.high + (e.low + reflected(n, e.high))).scale(n - 1)
}

/// The hyperbolic tangent, at most 1.5 ulp off.
#[inline(always)]
pub fn tanh<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let a = x.abs();
    // From here on tanh rounds to 1; below it, 2^n is an ordinary number.
    let (n, part) = reduced((a + a).at_most(f64::from(F::MANTISSA) + 3.0));
    let large = 1.0 - 2.0 / ((1.0 + part.round()) * n.pow2() + 1.0);
    let z = a * a;
    let small = a + a * z * z.polynomial(F::C.tanh);
    a.lt(a.lit(0.55)).select(small, large).flip_sign(x.sign_bit())
}

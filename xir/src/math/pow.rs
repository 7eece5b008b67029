//! pow with a float exponent, pow with an integer exponent, and the reciprocal square root.

use super::ops::Ops;
use super::pair::{Pair, fast_two_sum};
use super::value::{Bool, Float, U64, Val};

/// `log2 a` as a head and a rest, to about one and a half times the precision, for positive finite `a`.
///
/// With `s = (m - 1) / (m + 1)`: `log2 m = 2 / ln 2 (s + s^3/3 + ...)`, where all but the tail of the series is in
/// pairs.
#[inline(always)]
fn log2_pair<'o, O: Ops, F: Float>(a: Val<'o, O, F>) -> Pair<'o, O, F> {
    let (k, m) = super::log::split(a);
    let k = k.small_to_float();
    let f = m - 1.0;
    let constant = |[high, low]: [f64; 2]| Pair { high: a.lit(high), low: a.lit(low) };
    let s = Pair::exact(f).quotient(fast_two_sum(a.lit(2.0), f)).with_head();
    let z = s.mul_heads(s).with_head();
    let square = z.round();
    let third = constant(F::C.third);
    let sum = Pair { high: third.high, low: third.low + square * square.polynomial(F::C.log_tail) }
        .with_head();
    let cube = s.mul_heads(sum.mul_heads(z).with_head());
    let total = fast_two_sum(s.high, cube.high);
    let atanh = Pair { high: total.high, low: total.low + (s.low + cube.low) }.with_head();
    let scaled = atanh.mul_heads(constant(F::C.two_log2_e));
    let total = fast_two_sum(k, scaled.high);
    Pair { high: total.high, low: total.low + scaled.low }.with_head()
}

/// Whether `a`, at least 0, is an integer, and whether an odd one. Infinity is an even integer.
#[inline(always)]
pub(super) fn integrality<'o, O: Ops, F: Float>(
    a: Val<'o, O, F>,
) -> (Val<'o, O, Bool>, Val<'o, O, Bool>) {
    // From here on all floats are integers; up to twice this the last mantissa bit weighs 1.
    let unit = (1_u64 << F::MANTISSA) as f64;
    let large = a.ge(a.lit(unit));
    let shifted = large.select(a, a + unit);
    let integral = large | (shifted - unit).eq(a);
    let odd = (shifted.bits() & 1).is_nonzero() & a.lt(a.lit(2.0 * unit));
    (integral, integral & odd)
}

/// `x^y` as C's pow, at most 1.3 ulp off; all special cases of C's Annex F.
#[inline(always)]
pub fn pow<'o, O: Ops, F: Float>(x: Val<'o, O, F>, y: Val<'o, O, F>) -> Val<'o, O, F> {
    let (a, b) = (x.abs(), y.abs());
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.infinity());
    // Beyond this any power but that of 1 over- or underflows.
    let huge = (1_u128 << (F::MANTISSA + 40)) as f64;
    let exponent = y.at_most(huge).at_least(-huge);
    let head = exponent.head();
    let log = log2_pair(a);
    let product = Pair { high: head, low: exponent - head }.mul_heads(log);
    let z = fast_two_sum(product.high, product.low);
    let (low, high) = super::exp::limits::<F>();
    let held = z.high.at_most(high).at_least(low);
    let (n, word) = held.nearest();
    let r = (held - n) + held.eq(z.high).select(z.low, zero);
    let general = (1.0 + r * r.polynomial(F::C.exp2)).scale(word);

    let (integral, odd) = integrality(b);
    let base_zero = a.eq(zero);
    let edge = (base_zero ^ y.lt(zero)).select(zero, infinity);
    let magnitude = (base_zero | a.eq(infinity)).select(edge, general);
    let invalid = x.lt(zero) & x.gt(-infinity) & !integral;
    let sign = odd.select(x.sign_bit(), x.word(0));
    let number = invalid.select(x.nan(), magnitude.flip_sign(sign));
    let is_nan = !(x.eq(x) & y.eq(y));
    (x.eq(one) | y.eq(zero)).select(one, is_nan.select(x + y, number))
}

/// `x^n` for the `n` of `bits` bits whose magnitude is `magnitude` and whose sign is `negative`: repeated squaring,
/// lowest bit first, each product rounded; a negative exponent takes the reciprocal at the end.
///
/// Without a loop, so that a constant exponent folds; for one known beforehand [`pow_constant`] emits less.
#[inline(always)]
pub fn pow_int<'o, O: Ops, F: Float>(
    x: Val<'o, O, F>,
    magnitude: Val<'o, O, U64>,
    negative: Val<'o, O, Bool>,
    bits: u32,
) -> Val<'o, O, F> {
    let mut result = x.lit(1.0);
    let mut square = x;
    for bit in 0..bits.min(64) {
        if bit > 0 {
            square = square * square;
        }
        let set = (magnitude & (1 << bit)).is_nonzero();
        result = set.select(result * square, result);
    }
    negative.select(1.0 / result, result)
}

/// As [`pow_int`], the same bits, in a loop that runs once for each bit of `magnitude` up to its highest.
#[inline(always)]
pub fn pow_int_loop<'o, O: Ops, F: Float>(
    x: Val<'o, O, F>,
    magnitude: Val<'o, O, U64>,
    negative: Val<'o, O, Bool>,
) -> Val<'o, O, F> {
    let ops = x.ops();
    let state = [x.lit(1.0).raw(), x.raw(), magnitude.raw()];
    let [result, ..] = ops.loop_while(
        state,
        |ops, [_, _, left]| Val::<O, U64>::new(ops, left).is_nonzero().raw(),
        |ops, [result, square, left]| {
            let (result, square) = (Val::<O, F>::new(ops, result), Val::<O, F>::new(ops, square));
            let left = Val::<O, U64>::new(ops, left);
            let product = result * square;
            let result = (left & 1).is_nonzero().select(product, result);
            [result.raw(), (square * square).raw(), (left >> 1).raw()]
        },
    );
    let result = Val::new(ops, result);
    negative.select(1.0 / result, result)
}

/// As [`pow_int`], the same bits, for an exponent known now: only the products it needs.
#[inline(always)]
pub fn pow_constant<'o, O: Ops, F: Float>(
    x: Val<'o, O, F>,
    magnitude: u64,
    negative: bool,
) -> Val<'o, O, F> {
    let mut result = None;
    let mut square = x;
    for bit in 0..u64::BITS - magnitude.leading_zeros() {
        if bit > 0 {
            square = square * square;
        }
        if magnitude >> bit & 1 == 1 {
            result = Some(result.map_or(square, |result| result * square));
        }
    }
    let result = result.unwrap_or(x.lit(1.0));
    if negative { 1.0 / result } else { result }
}

/// The magnitude and the sign of a two's complement word, as [`pow_int`] takes them.
#[inline(always)]
pub fn magnitude<'o, O: Ops>(n: Val<'o, O, U64>) -> (Val<'o, O, U64>, Val<'o, O, Bool>) {
    let negative = n.signed_lt(n.number(0));
    (negative.select(n.number(0) - n, n), negative)
}

/// `1 / sqrt x`, both operations rounded: at most 1.5 ulp off.
#[inline(always)]
pub fn rsqrt<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    1.0 / x.sqrt()
}

//! Fused multiply-add in software, correctly rounded, for targets whose hardware has none.
//!
//! Source: Boldo, Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"
//! (2008). That of doubles must be emitted without contraction: a target that contracts has its own.

use super::half::{from_single, to_single};
use super::ops::Ops;
use super::pair::{Pair, fast_two_sum, two_sum};
use super::value::{Bool, F32, F64, Float, U32, U64, Val, Word};

/// The sum of an error-free pair rounded to odd: toward zero, then the last bit set if anything was lost. Rounding
/// that again to at least two bits less rounds the exact sum once.
#[inline(always)]
fn round_to_odd<'o, O: Ops, F: Float>(sum: Pair<'o, O, F>) -> Val<'o, O, F> {
    let bits = sum.high.bits();
    let inexact = sum.low.abs().gt(sum.low.lit(0.0));
    let even = (bits & 1).eq(bits.number(0));
    // One step toward the part that was lost: up in magnitude if the signs agree, else down.
    let step = (bits ^ sum.low.bits()).sar(u64::from(F::Word::BITS) - 1) | 1;
    (inexact & even).select(bits + step, bits).float()
}

/// `a * b + c` rounded once, single: the product is exact in double.
#[inline(always)]
pub fn fma_single<'o, O: Ops>(
    a: Val<'o, O, F32>,
    b: Val<'o, O, F32>,
    c: Val<'o, O, F32>,
) -> Val<'o, O, F32> {
    round_to_odd(two_sum(a.widen() * b.widen(), c.widen())).narrow()
}

/// `a * b + c` rounded once, on the bits of halves: the product is exact in single.
#[inline(always)]
pub fn fma_half<'o, O: Ops>(
    a: Val<'o, O, U32>,
    b: Val<'o, O, U32>,
    c: Val<'o, O, U32>,
) -> Val<'o, O, U32> {
    from_single(round_to_odd(two_sum(to_single(a) * to_single(b), to_single(c))))
}

/// `x` as `mantissa 2^exponent` with a mantissa in [1, 2) that has its sign.
#[inline(always)]
fn split<'o, O: Ops>(x: Val<'o, O, F64>) -> (Val<'o, O, F64>, Val<'o, O, U64>) {
    let lift = 54;
    let subnormal = x.abs().lt(x.lit(f64::MIN_POSITIVE));
    let normal = subnormal.select(x * (1_u64 << lift) as f64, x).bits();
    let lifted = subnormal.select(x.word(1023 + lift), x.word(1023));
    let mantissa = ((normal & 0x800f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000).float();
    (mantissa, ((normal >> 52) & 0x7ff) - lifted)
}

/// The product of two mantissas, exactly: heads of 26 bits, rounded so that the tails have no more either.
#[inline(always)]
fn exact_product<'o, O: Ops>(a: Val<'o, O, F64>, b: Val<'o, O, F64>) -> Pair<'o, O, F64> {
    let halves = |x: Val<'o, O, F64>| {
        let head = ((x.bits() + (1 << 26)) & (u64::MAX << 27)).float();
        (head, x - head)
    };
    let ((a_head, a_tail), (b_head, b_tail)) = (halves(a), halves(b));
    let high = a * b;
    let low = ((a_head * b_head - high) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail;
    Pair { high, low }
}

#[inline(always)]
fn signed_clamp<'o, O: Ops>(n: Val<'o, O, U64>, low: i64, high: i64) -> Val<'o, O, U64> {
    let (low, high) = (n.number(low as u64), n.number(high as u64));
    let n = n.signed_lt(low).select(low, n);
    high.signed_lt(n).select(high, n)
}

/// `a * b + c` for finite operands that are not zero.
#[inline(always)]
fn ordinary<'o, O: Ops>(
    a: Val<'o, O, F64>,
    b: Val<'o, O, F64>,
    c: Val<'o, O, F64>,
) -> Val<'o, O, F64> {
    let ((a, a_exponent), (b, b_exponent), (c, c_exponent)) = (split(a), split(b), split(c));
    // All in units of 2^scale, the addend no further away than where it or the product only decides a rounding.
    let reach = 110;
    let product_exponent = a_exponent + b_exponent;
    let distance = c_exponent - product_exponent;
    let held = signed_clamp(distance, -reach, reach);
    let beyond = distance.number(reach as u64).signed_lt(distance);
    let scale = beyond.select(c_exponent - reach as u64, product_exponent);
    let addend = c * held.pow2();
    // The exact sum of three, as a double and a rest of which the last bit is sticky.
    let product = exact_product(a, b);
    let inner = two_sum(addend, product.low);
    let outer = two_sum(product.high, inner.high);
    let rest = round_to_odd(two_sum(outer.low, inner.low));
    let sum = two_sum(outer.high, rest);
    // A subnormal result has its last place at a fixed weight: the power of two with that last place is added
    // before the one rounding, and taken off after.
    let threshold = signed_clamp(scale.number(0) - scale - 1022, -1000, 200).pow2();
    let subnormal = sum.high.abs().le(threshold);
    let sign = sum.high.sign_bit();
    let anchor = subnormal.select(threshold.flip_sign(sign), sum.high.lit(0.0));
    let anchored = fast_two_sum(anchor, sum.high);
    let rounded = (anchored.high + round_to_odd(two_sum(anchored.low, sum.low))) - anchor;
    let signed = rounded.abs().flip_sign(sign);
    let quarter = scale.sar(2);
    let factor = quarter.pow2();
    signed * factor * factor * factor * (scale - quarter - quarter - quarter).pow2()
}

/// `a * b + c` rounded once, double, in all cases.
#[inline(always)]
pub fn fma_double<'o, O: Ops>(
    a: Val<'o, O, F64>,
    b: Val<'o, O, F64>,
    c: Val<'o, O, F64>,
) -> Val<'o, O, F64> {
    let zero = c.lit(0.0);
    let finite = |x: Val<'o, O, F64>| x.abs().lt(x.infinity());
    let factor_zero: Val<'o, O, Bool> = a.eq(zero) | b.eq(zero);
    let factors_finite = finite(a) & finite(b);
    let addend_zero = c.eq(zero);
    let addend_finite = finite(c);
    let product = a * b;
    // A finite product that overflows by itself does not matter beside an infinite addend; one that rounds to zero
    // keeps its sign beside a zero.
    let addend_wins = factors_finite & !addend_finite;
    let product_wins = addend_zero & !factor_zero;
    let plain = product_wins.select(product, addend_wins.select(c, product + c));
    let usual = factors_finite & addend_finite & !(factor_zero | addend_zero);
    usual.select(ordinary(a, b, c), plain)
}

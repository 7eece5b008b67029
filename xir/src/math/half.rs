//! Conversions between half (binary16), as bits in the low half of a `U32`, and single or double, rounding once to
//! nearest even. NaN stays NaN and becomes quiet.

use super::ops::Ops;
use super::value::{F32, F64, Float, U32, Val, Word};

/// Half to single, exact.
#[inline(always)]
pub fn to_single<'o, O: Ops>(half: Val<'o, O, U32>) -> Val<'o, O, F32> {
    let magnitude = (half & 0x7fff) << 13;
    let sign = (half & 0x8000) << 16;
    // A subnormal becomes the mantissa of 2^-14, which is then taken off.
    let least = half.number(0x3880_0000);
    let subnormal = ((magnitude | least).float() - least.float()).bits();
    let normal = magnitude + (112 << 23);
    let special = magnitude + (224 << 23);
    let infinity = half.number(0x7c00 << 13);
    let quiet = infinity.lt(magnitude).select(special | 0x40_0000, special);
    let finite = magnitude.lt(half.number(0x400 << 13)).select(subnormal, normal);
    (magnitude.lt(infinity).select(finite, quiet) | sign).float()
}

/// The bits of the half nearest to `x`, in a word of the size of `x`.
#[inline(always)]
fn nearest<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F::Word> {
    let cut = u64::from(F::MANTISSA) - 10;
    let bits = x.bits();
    let magnitude = bits ^ x.sign_bit();
    let sign = x.sign_bit() >> u64::from(F::Word::BITS - 16);
    // Half to even: just below half a unit, and the rest if the unit is odd.
    let odd = (magnitude >> cut) & 1;
    let rebias = (F::BIAS - 15) << F::MANTISSA;
    let normal = (magnitude + odd + ((1 << (cut - 1)) - 1) - rebias) >> cut;
    // Below 2^-14 the unit is 2^-24: the last place of this number.
    let anchor = 2f64.powi(F::MANTISSA as i32 - 24);
    let subnormal = (x.abs() + anchor).bits() - F::encode(anchor);
    let infinity = bits.number(0x7c00);
    let not_a_number = ((magnitude >> cut) & 0x3ff) | 0x7e00;
    let a = x.abs();
    let finite = a.lt(a.lit(1.0 / 16384.0)).select(subnormal, normal);
    let number = a.ge(a.lit(65520.0)).select(infinity, finite);
    a.eq(a).select(number, not_a_number) | sign
}

/// Single to half.
#[inline(always)]
pub fn from_single<'o, O: Ops>(x: Val<'o, O, F32>) -> Val<'o, O, U32> {
    nearest(x)
}

/// Double to half, rounding once.
#[inline(always)]
pub fn from_double<'o, O: Ops>(x: Val<'o, O, F64>) -> Val<'o, O, U32> {
    nearest(x).truncate()
}

//! The exact remainder of truncated division, C's fmod.
//!
//! Long division of the mantissas in a number system of base 2^21 (single) or 2^50 (double): each digit of the
//! quotient is estimated in the float format, which is off by less than one, and the remainder is exact in words
//! modulo their width. One round for every 21 or 50 binary orders of magnitude between the operands, so mostly one or
//! none, and at most 14 or 42.

use super::ops::Ops;
use super::value::{Float, Val};

/// The biased exponent and the mantissa, with its leading bit, of a magnitude that is finite and not zero; the
/// exponent of subnormals is below 1.
#[inline(always)]
fn split<'o, O: Ops, F: Float>(a: Val<'o, O, F>) -> (Val<'o, O, F::Word>, Val<'o, O, F::Word>) {
    let lift = u64::from(F::MANTISSA) + 2;
    let hidden = 1 << F::MANTISSA;
    let subnormal = a.bits().lt(a.word(hidden));
    let normal = subnormal.select(a * (1_u64 << lift) as f64, a).bits();
    let lifted = subnormal.select(a.word(lift), a.word(0));
    ((normal >> u64::from(F::MANTISSA)) - lifted, (normal & (hidden - 1)) | hidden)
}

/// `x - y trunc(x / y)`, exact, with the sign of `x`; NaN for infinite `x`, zero `y` or NaN.
#[inline(always)]
pub fn fmod<'o, O: Ops, F: Float>(x: Val<'o, O, F>, y: Val<'o, O, F>) -> Val<'o, O, F> {
    let (a, b) = (x.abs(), y.abs());
    let zero = x.lit(0.0);
    let valid = a.lt(x.infinity()) & zero.lt(b);
    let ordinary = valid & b.le(a) & b.lt(x.infinity());
    // Other operands take a detour through 1, so that the loop stays short.
    let one = x.lit(1.0);
    let (a_exponent, a_mantissa) = split(ordinary.select(a, one));
    let (b_exponent, b_mantissa) = split(ordinary.select(b, one));
    let first = a_mantissa.lt(b_mantissa).select(a_mantissa, a_mantissa - b_mantissa);
    let inverse = 1.0 / b_mantissa.signed_to_float();
    let digit = u64::from(F::MANTISSA) - 2;

    let ops = x.ops();
    let word = |raw| Val::<O, F::Word>::new(ops, raw);
    let state = [first.raw(), (a_exponent - b_exponent).raw()];
    let [rest, _] = ops.loop_while(
        state,
        |_, [_, left]| word(left).is_nonzero().raw(),
        |_, [rest, left]| {
            let (rest, left) = (word(rest), word(left));
            let most = left.number(digit);
            let step = left.lt(most).select(left, most);
            let (_, quotient) = (rest.signed_to_float() * step.pow2() * inverse).nearest();
            let rest = (rest << step) - quotient * b_mantissa;
            let negative = rest.signed_lt(rest.number(0));
            let rest = negative.select(rest + b_mantissa, rest);
            [rest.raw(), (left - step).raw()]
        },
    );
    let scale = b_exponent - (F::BIAS + u64::from(F::MANTISSA));
    let result = word(rest).signed_to_float().scale(scale).flip_sign(x.sign_bit());
    let exact = ordinary.select(result, x);
    valid.select(exact, x.nan())
}

//! Rounding to whole numbers, exact for all arguments; NaN and infinities stay, and so do the signs of zeros.
//!
//! Adding and taking away `2^MANTISSA` rounds a smaller magnitude to a whole number, half to even; from that number the other
//! directions follow by one comparison.

use super::ops::Ops;
use super::value::{Float, Val};

/// The nearest whole number to a magnitude, half to even.
#[inline(always)]
fn nearest<'o, O: Ops, F: Float>(magnitude: Val<'o, O, F>) -> Val<'o, O, F> {
    let big = (1_u64 << F::MANTISSA) as f64;
    let rounded = (magnitude + big) - big;
    magnitude.lt(magnitude.lit(big)).select(rounded, magnitude)
}

/// The whole part of a magnitude.
#[inline(always)]
fn whole<'o, O: Ops, F: Float>(magnitude: Val<'o, O, F>) -> Val<'o, O, F> {
    let rounded = nearest(magnitude);
    rounded.gt(magnitude).select(rounded - 1.0, rounded)
}

/// The nearest whole number, half to even.
#[inline(always)]
pub fn rint<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    nearest(x.abs()).flip_sign(x.sign_bit())
}

/// The nearest whole number, half away from zero.
#[inline(always)]
pub fn round<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let magnitude = x.abs();
    let below = whole(magnitude);
    let up = (magnitude - below).ge(x.lit(0.5));
    up.select(below + 1.0, below).flip_sign(x.sign_bit())
}

/// The whole number next to `x` towards zero.
#[inline(always)]
pub fn trunc<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    whole(x.abs()).flip_sign(x.sign_bit())
}

/// The greatest whole number not above `x`.
#[inline(always)]
pub fn floor<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let rounded = rint(x);
    rounded.gt(x).select(rounded - 1.0, rounded)
}

/// The least whole number not below `x`.
#[inline(always)]
pub fn ceil<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    -floor(-x)
}

#[cfg(test)]
mod tests {
    use super::super::Native;
    use super::super::value::{F32, F64};
    use super::*;

    /// Corner cases and a spread of bit patterns.
    fn samples() -> impl Iterator<Item = u32> {
        let corners =
            [0.0f32, 0.3, 0.5, 0.499_999_97, 0.7, 1.5, 2.5, 8_388_607.5, 8_388_608.0, 1e30];
        let corners = corners.into_iter().flat_map(|x| [x.to_bits(), (-x).to_bits()]);
        let spread = (0..100_000u32).map(|i| i.wrapping_mul(42_949_673));
        corners.chain([0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1, 0x8000_0001]).chain(spread)
    }

    macro_rules! check {
        ($($f:ident $reference:ident;)*) => {$(
            for bits in samples() {
                let x = f32::from_bits(bits);
                let got = $f(Val::<_, F32>::new(&Native, bits.into())).raw();
                let got = f32::from_bits(got as u32);
                let wanted = x.$reference();
                assert!(got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan(),
                    "{}({x:?}) is {wanted:?}, got {got:?}", stringify!($f));
                let x = f64::from(x) * 1.25;
                let got = f64::from_bits($f(Val::<_, F64>::new(&Native, x.to_bits())).raw());
                let wanted = x.$reference();
                assert!(got.to_bits() == wanted.to_bits() || got.is_nan() && wanted.is_nan(),
                    "{}({x:?}) is {wanted:?}, got {got:?}", stringify!($f));
            }
        )*};
    }

    #[test]
    fn equals_the_standard_library() {
        check! { rint round_ties_even; round round; trunc trunc; floor floor; ceil ceil; }
    }
}

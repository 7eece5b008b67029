//! The cheaper singles of `--math fast`: shorter polynomials, no compensation.
//!
//! NaN and infinite arguments and results are those of the precise functions; what is relaxed is accuracy,
//! subnormals, signs of zeros, and the range of sin, cos and tan. `docs/math.md` has the measured errors.

use super::coefficients::fast::{ASIN, ATAN, COS, EXP, EXP2, HALF_PI, LOG2, SIN};
use super::exp::limits;
use super::ops::Ops;
use super::value::{Bool, F32, Float, U32, Val};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E, PI, SQRT_2};

type Single<'o, O> = Val<'o, O, F32>;

/// `2^x`: relative error about 2^-22.
#[inline(always)]
pub fn exp2<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (low, high) = limits::<F32>();
    let x = x.at_most(high).at_least(low);
    let (n, word) = x.nearest();
    let r = x - n;
    (r * r.polynomial(EXP2) + 1.0).scale(word)
}

/// `e^x`: relative error about 2^-22.
#[inline(always)]
pub fn exp<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (low, high) = limits::<F32>();
    let x = x.at_most(high * LN_2).at_least(low * LN_2);
    let (n, word) = (x * LOG2_E).nearest();
    let [first, second] = F32::C.ln2;
    let r = (x - n * first) - n * second;
    (r * r.polynomial(EXP) + 1.0).scale(word)
}

/// `scale log2 x`, with subnormals taken for zero: relative error about 2^-21.
#[inline(always)]
fn scaled_log<'o, O: Ops>(x: Single<'o, O>, scale: f64) -> Single<'o, O> {
    let shifted = x.bits() - u64::from((SQRT_2 as f32 / 2.0).to_bits());
    let exponent = shifted.sar(23);
    let f = (x.bits() - (exponent << 23)).float() - 1.0;
    let log = exponent.small_to_float() + f * f.polynomial(LOG2);
    let finite = if scale == 1.0 { log } else { log * scale };
    let (least, infinity) = (x.lit(f64::from(f32::MIN_POSITIVE)), x.infinity());
    let negative = x.lt(x.lit(0.0)).select(x.nan(), -infinity);
    let outside = x.lt(least).select(negative, x);
    (least.le(x) & x.lt(infinity)).select(finite, outside)
}

/// The base-2 logarithm.
#[inline(always)]
pub fn log2<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    scaled_log(x, 1.0)
}

/// The natural logarithm.
#[inline(always)]
pub fn log<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    scaled_log(x, LN_2)
}

/// `x^y` as `2^(y log2 |x|)`: relative error about `(1 + |y log2 x|) 2^-22`. Special cases as in C, subnormal `x`
/// being zero.
#[inline(always)]
pub fn pow<'o, O: Ops>(x: Single<'o, O>, y: Single<'o, O>) -> Single<'o, O> {
    let (zero, one) = (x.lit(0.0), x.lit(1.0));
    let a = x.abs();
    let magnitude = a.eq(one).select(one, exp2(y * log2(a)));
    let (integral, odd) = super::pow::integrality(y.abs());
    let invalid = x.lt(zero) & x.gt(-x.infinity()) & !integral;
    let sign = odd.select(x.sign_bit(), x.word(0));
    let number = invalid.select(x.nan(), magnitude.flip_sign(sign));
    (y.eq(zero) | x.eq(one)).select(one, number)
}

/// The quadrant and the sine and cosine of the rest. For `|x|` up to 2^17; beyond 2^22 the angle counts as zero.
#[inline(always)]
fn sine_cosine<'o, O: Ops>(x: Single<'o, O>) -> (Val<'o, O, U32>, Single<'o, O>, Single<'o, O>) {
    // Zero times infinity is NaN, as it must be.
    let x = x.abs().lt(x.lit(4_194_304.0)).select(x, x * 0.0);
    let (n, quadrant) = (x * FRAC_2_PI).nearest();
    let r = ((x - n * HALF_PI[0]) - n * HALF_PI[1]) - n * HALF_PI[2];
    let z = r * r;
    let sine = r + r * z * z.polynomial(SIN);
    let cosine = (1.0 - 0.5 * z) + z * z * z.polynomial(COS);
    (quadrant, sine, cosine)
}

#[inline(always)]
fn is_odd<O: Ops>(quadrant: Val<'_, O, U32>) -> Val<'_, O, Bool> {
    (quadrant & 1).is_nonzero()
}

/// The sine.
#[inline(always)]
pub fn sin<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (quadrant, sine, cosine) = sine_cosine(x);
    is_odd(quadrant).select(cosine, sine).flip_sign((quadrant & 2) << 30)
}

/// The cosine.
#[inline(always)]
pub fn cos<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (quadrant, sine, cosine) = sine_cosine(x);
    is_odd(quadrant).select(sine, cosine).flip_sign(((quadrant + 1) & 2) << 30)
}

/// The tangent.
#[inline(always)]
pub fn tan<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (quadrant, sine, cosine) = sine_cosine(x);
    let odd = is_odd(quadrant);
    odd.select(-cosine, sine) / odd.select(sine, cosine)
}

/// The hyperbolic tangent: with `t = e^2x - 1`, exact also near zero, `t / (t + 2)`.
#[inline(always)]
pub fn tanh<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let a = (2.0 * x.abs()).at_most(24.0);
    let (n, word) = (a * LOG2_E).nearest();
    let r = a - n * LN_2;
    let power = word.pow2();
    let t = power * (r * r.polynomial(EXP)) + (power - 1.0);
    (t / (t + 2.0)).flip_sign(x.sign_bit())
}

/// `atan t` for `t` from 0 to 1, or pi / 2 less that.
#[inline(always)]
fn angle<'o, O: Ops>(t: Single<'o, O>, steep: Val<'o, O, Bool>) -> Single<'o, O> {
    let z = t * t;
    let low = t + t * z * z.polynomial(ATAN);
    steep.select(FRAC_PI_2 - low, low)
}

/// The arc tangent.
#[inline(always)]
pub fn atan<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let a = x.abs();
    let one = x.lit(1.0);
    let steep = one.lt(a);
    angle(steep.select(one / a, a), steep).flip_sign(x.sign_bit())
}

/// The angle of the point (`x`, `y`) from the x axis.
#[inline(always)]
pub fn atan2<'o, O: Ops>(y: Single<'o, O>, x: Single<'o, O>) -> Single<'o, O> {
    let (a, b) = (y.abs(), x.abs());
    let steep = b.lt(a);
    let quotient = steep.select(b, a) / steep.select(a, b);
    // Equal ones give 1, also infinities, but zeros 0.
    let equal = a.eq(x.lit(0.0)).select(a, x.lit(1.0));
    let first = angle(a.eq(b).select(equal, quotient), steep);
    let turned = x.sign_bit().is_nonzero().select(PI - first, first);
    (a.eq(a) & b.eq(b)).select(turned, x.nan()).flip_sign(y.sign_bit())
}

/// `asin` of the argument halved where it is large, and whether it is not.
#[inline(always)]
fn halved_asin<'o, O: Ops>(a: Single<'o, O>) -> (Single<'o, O>, Val<'o, O, Bool>) {
    let small = a.le(a.lit(0.5));
    let z = small.select(a * a, 0.5 * (1.0 - a));
    let s = small.select(a, z.sqrt());
    (s + s * z * z.polynomial(ASIN), small)
}

/// The arc sine; NaN beyond 1.
#[inline(always)]
pub fn asin<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (part, small) = halved_asin(x.abs());
    small.select(part, FRAC_PI_2 - 2.0 * part).flip_sign(x.sign_bit())
}

/// The arc cosine; NaN beyond 1.
#[inline(always)]
pub fn acos<'o, O: Ops>(x: Single<'o, O>) -> Single<'o, O> {
    let (part, small) = halved_asin(x.abs());
    let signed = part.flip_sign(x.sign_bit());
    let double = 2.0 * part;
    let negative = x.sign_bit().is_nonzero();
    small.select(FRAC_PI_2 - signed, negative.select(PI - double, double))
}

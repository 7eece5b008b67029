//! References that the mathematical functions are measured against.
#![allow(dead_code)]

use luisac_xir::math::Function;

/// The function in double: far more exact than a single needs. By the standard library, but for arguments so small
/// that two terms of the series do, or so large that the result is zero, infinite or none.
pub fn reference(function: Function, a: f64, b: f64) -> f64 {
    let ends = if function.arity() == 1 { at_the_ends(function, a) } else { None };
    if let Some(result) = ends {
        return result;
    }
    match function {
        Function::Sin => a.sin(),
        Function::Cos => a.cos(),
        Function::Tan => a.tan(),
        Function::Asin => a.asin(),
        Function::Acos => a.acos(),
        Function::Atan => a.atan(),
        Function::Atan2 => a.atan2(b),
        Function::Sinh => a.sinh(),
        Function::Cosh => a.cosh(),
        Function::Tanh => a.tanh(),
        Function::Asinh => a.asinh(),
        Function::Acosh => (a - 1.0 + ((a - 1.0) * (a + 1.0)).sqrt()).ln_1p(),
        Function::Atanh => 0.5 * (a.ln_1p() - (-a).ln_1p()),
        Function::Exp => a.exp(),
        Function::Exp2 => a.exp2(),
        Function::Exp10 => 10f64.powf(a),
        Function::Log => a.ln(),
        Function::Log2 => a.log2(),
        Function::Log10 => a.log10(),
        Function::Pow => a.powf(b),
        Function::Rsqrt => 1.0 / a.sqrt(),
    }
}

/// What [`reference`] makes short work of; relative errors below 2^-36.
fn at_the_ends(function: Function, a: f64) -> Option<f64> {
    let exponential = |base: f64| {
        let t = a * base;
        match t {
            90.0.. => Some(f64::INFINITY),
            ..-105.0 => Some(0.0),
            _ if t.abs() < 1.0 / 4096.0 => Some(1.0 + (t + 0.5 * t * t)),
            _ => None,
        }
    };
    let cubic = |third: f64| (a.abs() < 1.0 / 2048.0).then_some(a * (1.0 + a * a * third));
    let square = |half: f64| (a.abs() < 1.0 / 4096.0).then_some(1.0 + half * a * a);
    let inside = |series: Option<f64>| if a.abs() > 1.0 { Some(f64::NAN) } else { series };
    match function {
        Function::Exp => exponential(1.0),
        Function::Exp2 => exponential(std::f64::consts::LN_2),
        Function::Exp10 => exponential(std::f64::consts::LN_10),
        Function::Sin => cubic(-1.0 / 6.0),
        Function::Tan => cubic(1.0 / 3.0),
        Function::Atan => cubic(-1.0 / 3.0),
        Function::Asinh => cubic(-1.0 / 6.0),
        Function::Sinh if a.abs() > 95.0 => Some(a * f64::INFINITY),
        Function::Sinh => cubic(1.0 / 6.0),
        Function::Tanh if a.abs() > 20.0 => Some(1f64.copysign(a)),
        Function::Tanh => cubic(-1.0 / 3.0),
        Function::Asin => inside(cubic(1.0 / 6.0)),
        Function::Atanh => inside(cubic(1.0 / 3.0)),
        Function::Acos => inside(None),
        Function::Cos => square(-0.5),
        Function::Cosh if a.abs() > 95.0 => Some(f64::INFINITY),
        Function::Cosh => square(0.5),
        Function::Acosh if a < 1.0 => Some(f64::NAN),
        _ if a.is_nan() || a < 0.0 => Some(f64::NAN),
        _ => None,
    }
}

/// The distance of a single from the exact value in units of its last place: that of the exact value, at least the
/// smallest subnormal. Infinite where one is NaN and the other is not, or where a zero or an infinity has the wrong
/// sign; an infinity counts as the power of two after the largest number.
pub fn single_error(got: f32, exact: f64) -> f64 {
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_sign_negative() != exact.is_sign_negative()
        && (got == 0.0 || exact == 0.0 || exact.is_infinite())
    {
        return f64::INFINITY;
    }
    // 2^128, and the reciprocal of the unit, which is a power of two.
    let top = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
    let (got, exact) = (f64::from(got).clamp(-top, top), exact.clamp(-top, top));
    let exponent = ((exact.to_bits() >> 52) & 0x7ff).clamp(1023 - 126, 1023 + 127);
    let per_unit = f64::from_bits((2 * 1023 + 23 - exponent) << 52);
    ((got - exact) * per_unit).abs()
}

/// What the error of a fast function is measured in.
pub fn fast_unit(function: Function) -> &'static str {
    match function {
        Function::Sin | Function::Cos => "absolute, |x| <= 2^17",
        Function::Tan => "of the angle, |x| <= 2^17",
        Function::Pow => "relative / (1 + |y log2 x|)",
        _ => "relative",
    }
}

/// The error of a fast single: [`fast_unit`] says in what. NaN and infinities must be right, subnormal arguments and
/// results count as zero, signs of zeros do not count.
pub fn fast_error(function: Function, a: f32, b: f32, got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    let trigonometric = matches!(function, Function::Sin | Function::Cos | Function::Tan);
    if trigonometric && a.abs() > 131_072.0 && a.is_finite() || a.is_subnormal() || b.is_subnormal()
    {
        return 0.0;
    }
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let allowed = 1e-5;
    if got.is_infinite() || rounded.is_infinite() {
        let top = f64::from(f32::MAX) * (1.0 - allowed);
        let near_top = f64::from(got).abs() >= top
            && exact.abs() >= top
            && (f64::from(got) > 0.0) == (exact > 0.0);
        return if near_top || f64::from(got) == exact { 0.0 } else { f64::INFINITY };
    }
    let least = f64::from(f32::MIN_POSITIVE);
    if exact.abs() < least {
        return if f64::from(got).abs() <= least * (1.0 + allowed) { 0.0 } else { f64::INFINITY };
    }
    let difference = (f64::from(got) - exact).abs();
    match function {
        Function::Sin | Function::Cos => difference,
        Function::Tan => difference / (1.0 + exact * exact),
        Function::Pow => difference / exact.abs() / (1.0 + exact.abs().log2().abs()),
        _ => difference / exact.abs(),
    }
}

/// A deterministic stream of arguments (SplitMix64, Steele et al. 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Two singles that suit a function of two arguments: any bits, or related so that the result is ordinary.
    pub fn pair(&mut self, function: Function) -> (f32, f32) {
        let bits = self.bits();
        let (a, b) = (f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
        let choice = self.bits();
        if choice & 3 == 0 {
            return (a, b);
        }
        let spread = ((choice >> 8) % 17) as i32 - 8;
        let unit = |x: f32| 1.0 + (x.to_bits() & 0x7f_ffff) as f32 / 8_388_608.0;
        match function {
            // Quotients from 2^-9 to 2^9, at any magnitude.
            Function::Atan2 => {
                let scale = 2f32.powi(((choice >> 16) % 200) as i32 - 100);
                (unit(a).copysign(a) * scale * 2f32.powi(spread), unit(b).copysign(b) * scale)
            }
            // Results spread over the whole range of exponents: y = e / log2 x.
            _ if choice & 3 == 1 => {
                let target = (choice >> 40) as f64 / (1 << 24) as f64 * 280.0 - 150.0;
                (a.abs(), (target / f64::from(a.abs()).log2()) as f32)
            }
            _ => {
                let near_one = 1.0 + (unit(a) - 1.5) * 2f32.powi(-(((choice >> 16) % 20) as i32));
                let target = (choice >> 40) as f64 / (1 << 24) as f64 * 280.0 - 150.0;
                (near_one, (target / f64::from(near_one).log2()) as f32)
            }
        }
    }
}

/// A double-precision test vector: the exact result is `nearest + rest` units in the last place of `nearest`.
pub struct Vector {
    pub function: Function,
    pub a: f64,
    pub b: f64,
    pub nearest: f64,
    pub rest: f64,
}

impl Vector {
    /// Reads `name a b nearest rest`, the first three numbers as hexadecimal bits.
    pub fn parse(line: &str) -> Option<Vector> {
        let mut words = line.split_whitespace();
        let function = Function::by_name(words.next()?)?;
        let mut bits = || u64::from_str_radix(words.next()?, 16).ok().map(f64::from_bits);
        let (a, b, nearest) = (bits()?, bits()?, bits()?);
        Some(Vector { function, a, b, nearest, rest: words.next()?.parse().ok()? })
    }

    /// The distance of `got` from the exact result in units of its last place.
    pub fn error(&self, got: f64) -> f64 {
        if got.is_nan() || self.nearest.is_nan() {
            return if got.is_nan() && self.nearest.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if self.nearest == 0.0 || self.nearest.is_infinite() {
            return if got.to_bits() == self.nearest.to_bits() { 0.0 } else { f64::INFINITY };
        }
        if got.is_sign_negative() != self.nearest.is_sign_negative() {
            return f64::INFINITY;
        }
        let steps = (got.to_bits() as i64).wrapping_sub(self.nearest.to_bits() as i64);
        let rest = if self.nearest < 0.0 { -self.rest } else { self.rest };
        (steps as f64 - rest).abs()
    }
}

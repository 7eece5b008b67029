//! Halves, singles and doubles. Arithmetic on halves runs in single precision and rounds once, which for `+ - * /` and square
//! root is the same as rounding the exact result.

use super::{Binary, Bits, Ternary, Unary};
use crate::math::value::{F32, F64};
use crate::math::{Native, Val, exp, inverse, log, pow, trig};
use crate::op::ArithmeticOp;
use half::f16;
use luisac_ast::types::Scalar;

fn single(bits: Bits) -> f32 {
    f32::from_bits(bits as u32)
}
fn from_single(x: f32) -> Bits {
    u64::from(x.to_bits())
}
fn double(bits: Bits) -> f64 {
    f64::from_bits(bits)
}
fn from_double(x: f64) -> Bits {
    x.to_bits()
}
/// The value of a half, exact.
fn half(bits: Bits) -> f32 {
    f16::from_bits(bits as u16).to_f32()
}
fn from_half(x: f32) -> Bits {
    double_to_half(f64::from(x))
}

/// The value of the half with these bits, exact.
pub fn half_to_double(bits: Bits) -> f64 {
    f64::from(half(bits))
}

/// The bits of the half nearest to `x`, ties to even, rounded once.
pub fn double_to_half(x: f64) -> Bits {
    let bits = x.to_bits();
    let sign = bits >> 48 & 0x8000;
    let magnitude = bits & !(1 << 63);
    let exponent = (magnitude >> 52) as i32 - 1023;
    if x.is_nan() {
        return sign | 0x7e00 | (magnitude >> 42 & 0x3ff);
    }
    if exponent > 15 {
        return sign | 0x7c00;
    }
    if exponent < -25 {
        return sign;
    }
    let mantissa = magnitude & ((1 << 52) - 1) | 1 << 52;
    // Bits below the last one of a half; more for its subnormals.
    let dropped = 42 + (-14 - exponent).max(0);
    let kept = mantissa >> dropped;
    let rest = mantissa & ((1 << dropped) - 1);
    let tie = 1 << (dropped - 1);
    let rounded = kept + u64::from(rest > tie || rest == tie && kept & 1 == 1);
    // The leading one of a normal number adds 1 to the exponent field; a carry goes on to infinity.
    let field = (exponent + 14).max(0) as u64;
    sign | ((field << 10) + rounded)
}

/// The fused `a * b + c` of halves: the product is exact in double precision, the sum is rounded to odd there, so that
/// rounding it to a half is rounding the exact sum.
fn fma_half(a: Bits, b: Bits, c: Bits) -> Bits {
    let (product, c) = (half_to_double(a) * half_to_double(b), half_to_double(c));
    let sum = product + c;
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let even = sum.to_bits() & 1 == 0;
    if error == 0.0 || !error.is_finite() || !even {
        return double_to_half(sum);
    }
    let away = (error > 0.0) == (sum > 0.0);
    double_to_half(f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 }))
}

/// The lesser operand: a number wins over NaN, -0 over +0.
fn lesser(a: Bits, b: Bits, x: f64, y: f64) -> Bits {
    if x.is_nan() || y < x {
        b
    } else if y.is_nan() || x < y {
        a
    } else {
        a | b
    }
}

/// The greater operand: a number wins over NaN, +0 over -0.
fn greater(a: Bits, b: Bits, x: f64, y: f64) -> Bits {
    if x.is_nan() || y > x {
        b
    } else if y.is_nan() || x > y {
        a
    } else {
        a & b
    }
}

/// One of the mathematical functions on one operand, for a format.
macro_rules! function {
    ($format:ident, $f:path) => {
        function!(@ $format, $f, |a|, a)
    };
    ($format:ident, $f:path, 2) => {
        function!(@ $format, $f, |a, b|, a, b)
    };
    (@ half, $f:path, |$($p:ident),*|, $($a:ident),*) => {
        |$($p),*| from_half(single($f($(Val::<Native, F32>::new(&Native, from_single(half($a)))),*).raw()))
    };
    (@ single, $f:path, |$($p:ident),*|, $($a:ident),*) => {
        |$($p),*| $f($(Val::<Native, F32>::new(&Native, $a)),*).raw()
    };
    (@ double, $f:path, |$($p:ident),*|, $($a:ident),*) => {
        |$($p),*| $f($(Val::<Native, F64>::new(&Native, $a)),*).raw()
    };
}

macro_rules! tables {
    ($($module:ident: $get:ident, $put:ident, $sign:expr, $fma:expr;)*) => {$(
        mod $module {
            use super::*;
            use ArithmeticOp::*;

            const SIGN: Bits = $sign;

            fn min(a: Bits, b: Bits) -> Bits {
                lesser(a, b, $get(a).into(), $get(b).into())
            }
            fn max(a: Bits, b: Bits) -> Bits {
                greater(a, b, $get(a).into(), $get(b).into())
            }
            fn add(a: Bits, b: Bits) -> Bits {
                $put($get(a) + $get(b))
            }
            fn sub(a: Bits, b: Bits) -> Bits {
                $put($get(a) - $get(b))
            }
            fn mul(a: Bits, b: Bits) -> Bits {
                $put($get(a) * $get(b))
            }
            fn div(a: Bits, b: Bits) -> Bits {
                $put($get(a) / $get(b))
            }
            fn number(x: i8) -> Bits {
                $put(x.into())
            }
            fn saturate(a: Bits) -> Bits {
                min(max(a, number(0)), number(1))
            }

            pub fn unary(op: ArithmeticOp) -> Option<Unary> {
                Some(match op {
                    UnaryMinus => |a| a ^ SIGN,
                    Abs => |a| a & !SIGN,
                    Isnan => |a| u64::from($get(a).is_nan()),
                    Isinf => |a| u64::from($get(a).is_infinite()),
                    Saturate => saturate,
                    Sqrt => |a| $put($get(a).sqrt()),
                    Rsqrt => |a| $put(1.0 / $get(a).sqrt()),
                    Ceil => |a| $put($get(a).ceil()),
                    Floor => |a| $put($get(a).floor()),
                    Fract => |a| sub(a, $put($get(a).floor())),
                    Trunc => |a| $put($get(a).trunc()),
                    Round => |a| $put($get(a).round()),
                    Rint => |a| $put($get(a).round_ties_even()),
                    Acos => function!($get, inverse::acos),
                    Acosh => function!($get, log::acosh),
                    Asin => function!($get, inverse::asin),
                    Asinh => function!($get, log::asinh),
                    Atan => function!($get, inverse::atan),
                    Atanh => function!($get, log::atanh),
                    Cos => function!($get, trig::cos),
                    Cosh => function!($get, exp::cosh),
                    Sin => function!($get, trig::sin),
                    Sinh => function!($get, exp::sinh),
                    Tan => function!($get, trig::tan),
                    Tanh => function!($get, exp::tanh),
                    Exp => function!($get, exp::exp),
                    Exp2 => function!($get, exp::exp2),
                    Exp10 => function!($get, exp::exp10),
                    Log => function!($get, log::log),
                    Log2 => function!($get, log::log2),
                    Log10 => function!($get, log::log10),
                    _ => return None,
                })
            }

            pub fn binary(op: ArithmeticOp) -> Option<Binary> {
                Some(match op {
                    BinaryAdd => add,
                    BinarySub => sub,
                    BinaryMul => mul,
                    BinaryDiv => div,
                    BinaryMod => |a, b| $put($get(a) % $get(b)),
                    BinaryLess => |a, b| u64::from($get(a) < $get(b)),
                    BinaryGreater => |a, b| u64::from($get(a) > $get(b)),
                    BinaryLessEqual => |a, b| u64::from($get(a) <= $get(b)),
                    BinaryGreaterEqual => |a, b| u64::from($get(a) >= $get(b)),
                    BinaryEqual => |a, b| u64::from($get(a) == $get(b)),
                    BinaryNotEqual => |a, b| u64::from($get(a) != $get(b)),
                    Min => min,
                    Max => max,
                    Copysign => |a, b| a & !SIGN | b & SIGN,
                    Step => |edge, x| number(if $get(x) < $get(edge) { 0 } else { 1 }),
                    Atan2 => function!($get, inverse::atan2, 2),
                    Pow => function!($get, pow::pow, 2),
                    _ => return None,
                })
            }

            pub fn ternary(op: ArithmeticOp) -> Option<Ternary> {
                Some(match op {
                    Clamp => |v, low, high| min(max(v, low), high),
                    Lerp => |a, b, t| add(a, mul(t, sub(b, a))),
                    Smoothstep => |e0, e1, x| {
                        let t = saturate(div(sub(x, e0), sub(e1, e0)));
                        mul(mul(t, t), sub(number(3), mul(number(2), t)))
                    },
                    Fma => $fma,
                    _ => return None,
                })
            }
        }
    )*};
}

tables! {
    halves: half, from_half, 1 << 15, fma_half;
    singles: single, from_single, 1 << 31, |a, b, c| from_single(single(a).mul_add(single(b), single(c)));
    doubles: double, from_double, 1 << 63, |a, b, c| from_double(double(a).mul_add(double(b), double(c)));
}

macro_rules! by_format {
    ($scalar:expr, $function:ident($op:expr)) => {
        match $scalar {
            Scalar::F16 => halves::$function($op),
            Scalar::F32 => singles::$function($op),
            Scalar::F64 => doubles::$function($op),
            _ => None,
        }
    };
}

/// Operations of one float.
pub(super) fn unary(op: ArithmeticOp, scalar: Scalar) -> Option<Unary> {
    by_format!(scalar, unary(op))
}

/// Operations of two floats.
pub(super) fn binary(op: ArithmeticOp, scalar: Scalar) -> Option<Binary> {
    by_format!(scalar, binary(op))
}

/// Operations of three floats.
pub(super) fn ternary(op: ArithmeticOp, scalar: Scalar) -> Option<Ternary> {
    by_format!(scalar, ternary(op))
}

/// Repeated squaring by the magnitude of the exponent, lowest bit first, each product rounded; then the reciprocal if the
/// exponent is negative.
macro_rules! power {
    ($real:ty, $base:expr, $n:expr) => {{
        let (base, n): ($real, i128) = ($base, $n);
        let (mut result, mut square, mut left): ($real, $real, u64) =
            (1.0, base, n.unsigned_abs() as u64);
        while left != 0 {
            if left & 1 == 1 {
                result *= square;
            }
            square *= square;
            left >>= 1;
        }
        if n < 0 { 1.0 / result } else { result }
    }};
}

macro_rules! powers {
    ($scalar:expr, $t:ty) => {
        match $scalar {
            Scalar::F16 => |a, n| from_half(power!(f32, half(a), i128::from(n as $t))),
            Scalar::F32 => |a, n| from_single(power!(f32, single(a), i128::from(n as $t))),
            Scalar::F64 => |a, n| from_double(power!(f64, double(a), i128::from(n as $t))),
            _ => return None,
        }
    };
}

/// `pow_int` on a base and an exponent of these types.
pub(super) fn pow_int(base: Scalar, exponent: Scalar) -> Option<Binary> {
    Some(match exponent {
        Scalar::I8 => powers!(base, i8),
        Scalar::U8 => powers!(base, u8),
        Scalar::I16 => powers!(base, i16),
        Scalar::U16 => powers!(base, u16),
        Scalar::I32 => powers!(base, i32),
        Scalar::U32 => powers!(base, u32),
        Scalar::I64 => powers!(base, i64),
        Scalar::U64 => powers!(base, u64),
        _ => return None,
    })
}

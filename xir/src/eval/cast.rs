//! Conversions between scalars by value.

use super::{Bits, Unary, double_to_half, half_to_double};
use luisac_ast::types::Scalar;

/// A number on its way from one type to another; each holds every value of its sources exactly.
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

trait Source {
    fn read(bits: Bits) -> Number;
}
trait Target {
    fn write(number: Number) -> Bits;
}

struct Bool;
struct Half;

impl Source for Bool {
    #[inline(always)]
    fn read(bits: Bits) -> Number {
        Number::Unsigned(bits)
    }
}
impl Target for Bool {
    #[inline(always)]
    fn write(number: Number) -> Bits {
        u64::from(match number {
            Number::Signed(x) => x != 0,
            Number::Unsigned(x) => x != 0,
            Number::Float(x) => x != 0.0,
        })
    }
}

impl Source for Half {
    #[inline(always)]
    fn read(bits: Bits) -> Number {
        Number::Float(half_to_double(bits))
    }
}
impl Target for Half {
    // An integer that a double rounds is far beyond the largest half, so this rounds once.
    #[inline(always)]
    fn write(number: Number) -> Bits {
        double_to_half(match number {
            Number::Signed(x) => x as f64,
            Number::Unsigned(x) => x as f64,
            Number::Float(x) => x,
        })
    }
}

macro_rules! integers {
    ($($t:ty, $u:ty, $variant:ident;)*) => {$(
        impl Source for $t {
            #[inline(always)]
            fn read(bits: Bits) -> Number {
                Number::$variant((bits as $t).into())
            }
        }
        impl Target for $t {
            #[inline(always)]
            fn write(number: Number) -> Bits {
                (match number {
                    Number::Signed(x) => x as $t,
                    Number::Unsigned(x) => x as $t,
                    // Truncates, saturates, and gives 0 for NaN.
                    Number::Float(x) => x as $t,
                }) as $u as u64
            }
        }
    )*};
}
integers! {
    i8, u8, Signed; i16, u16, Signed; i32, u32, Signed; i64, u64, Signed;
    u8, u8, Unsigned; u16, u16, Unsigned; u32, u32, Unsigned; u64, u64, Unsigned;
}

macro_rules! floats {
    ($($t:ty, $u:ty;)*) => {$(
        impl Source for $t {
            #[inline(always)]
            fn read(bits: Bits) -> Number {
                Number::Float(<$t>::from_bits(bits as $u).into())
            }
        }
        impl Target for $t {
            #[inline(always)]
            fn write(number: Number) -> Bits {
                (match number {
                    Number::Signed(x) => x as $t,
                    Number::Unsigned(x) => x as $t,
                    Number::Float(x) => x as $t,
                }).to_bits().into()
            }
        }
    )*};
}
floats! { f32, u32; f64, u64; }

fn convert<S: Source, T: Target>(bits: Bits) -> Bits {
    T::write(S::read(bits))
}

fn from<S: Source>(to: Scalar) -> Option<Unary> {
    Some(match to {
        Scalar::Bool => convert::<S, Bool>,
        Scalar::I8 => convert::<S, i8>,
        Scalar::U8 => convert::<S, u8>,
        Scalar::I16 => convert::<S, i16>,
        Scalar::U16 => convert::<S, u16>,
        Scalar::I32 => convert::<S, i32>,
        Scalar::U32 => convert::<S, u32>,
        Scalar::I64 => convert::<S, i64>,
        Scalar::U64 => convert::<S, u64>,
        Scalar::F16 => convert::<S, Half>,
        Scalar::F32 => convert::<S, f32>,
        Scalar::F64 => convert::<S, f64>,
        _ => return None,
    })
}

/// The conversion by value between two scalar types: integers wrap, floats truncate and saturate to integers, everything
/// else rounds to nearest even once. `None` for the small float and 4-bit types.
pub fn cast(source: Scalar, target: Scalar) -> Option<Unary> {
    if source == target {
        return Some(|bits| bits);
    }
    match source {
        Scalar::Bool => from::<Bool>(target),
        Scalar::I8 => from::<i8>(target),
        Scalar::U8 => from::<u8>(target),
        Scalar::I16 => from::<i16>(target),
        Scalar::U16 => from::<u16>(target),
        Scalar::I32 => from::<i32>(target),
        Scalar::U32 => from::<u32>(target),
        Scalar::I64 => from::<i64>(target),
        Scalar::U64 => from::<u64>(target),
        Scalar::F16 => from::<Half>(target),
        Scalar::F32 => from::<f32>(target),
        Scalar::F64 => from::<f64>(target),
        _ => None,
    }
}

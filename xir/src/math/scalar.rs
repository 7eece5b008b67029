//! The other functions on Rust numbers, computed now. Halves are their bits.

use super::native::Native;
use super::value::{Bool, F32, F64, Scalar, U32, U64, Val};
use super::{fma, fmod, half, pow};

type Now<T> = Val<'static, Native, T>;

static NATIVE: Native = Native;

fn value<T: Scalar>(bits: impl Into<u64>) -> Now<T> {
    Val::constant(&NATIVE, bits.into())
}

fn single(x: f32) -> Now<F32> {
    value(x.to_bits())
}

fn double(x: f64) -> Now<F64> {
    value(x.to_bits())
}

fn to_f32(x: Now<F32>) -> f32 {
    f32::from_bits(x.raw() as u32)
}

fn to_f64(x: Now<F64>) -> f64 {
    f64::from_bits(x.raw())
}

/// `a * b + c`, rounded once.
pub fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
    to_f32(fma::fma_single(single(a), single(b), single(c)))
}

/// `a * b + c`, rounded once.
pub fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
    to_f64(fma::fma_double(double(a), double(b), double(c)))
}

/// `a * b + c`, rounded once.
pub fn fma_f16(a: u16, b: u16, c: u16) -> u16 {
    fma::fma_half(value(a), value(b), value(c)).raw() as u16
}

/// Half to single, exact.
pub fn f16_to_f32(x: u16) -> f32 {
    to_f32(half::to_single(value::<U32>(x)))
}

/// Single to half, rounded to nearest even.
pub fn f32_to_f16(x: f32) -> u16 {
    half::from_single(single(x)).raw() as u16
}

/// Double to half, rounded once to nearest even.
pub fn f64_to_f16(x: f64) -> u16 {
    half::from_double(double(x)).raw() as u16
}

/// C's fmod.
pub fn fmod_f32(x: f32, y: f32) -> f32 {
    to_f32(fmod::fmod(single(x), single(y)))
}

/// C's fmod.
pub fn fmod_f64(x: f64, y: f64) -> f64 {
    to_f64(fmod::fmod(double(x), double(y)))
}

/// `x^n`, the exponent as magnitude and sign, by repeated squaring.
pub fn pow_int_f32(x: f32, magnitude: u64, negative: bool) -> f32 {
    to_f32(pow::pow_int_loop(single(x), value::<U64>(magnitude), value::<Bool>(negative)))
}

/// `x^n`, the exponent as magnitude and sign, by repeated squaring.
pub fn pow_int_f64(x: f64, magnitude: u64, negative: bool) -> f64 {
    to_f64(pow::pow_int_loop(double(x), value::<U64>(magnitude), value::<Bool>(negative)))
}

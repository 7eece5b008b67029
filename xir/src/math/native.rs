//! The operations on Rust scalars: what the interpreter and the constant folder run.

use super::ops::{Binary, Compare, Convert, Ops, Type, Unary};

/// Computes at once. A value is its bits in the low bits of a `u64`, the rest zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

#[inline(always)]
fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[inline(always)]
fn from_single(x: f32) -> u64 {
    u64::from(x.to_bits())
}

/// Word arithmetic modulo 2^64; the caller cuts to the width.
#[inline(always)]
fn word(op: Binary, a: u64, b: u64, signed: i64) -> u64 {
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        // Words are never divided: `Binary::Div` is an operation of floats.
        Binary::Div => 0,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a.wrapping_shl(b as u32),
        Binary::Shr => a.wrapping_shr(b as u32),
        Binary::Sar => signed.wrapping_shr(b as u32) as u64,
    }
}

macro_rules! float_binary {
    ($op:expr, $a:expr, $b:expr) => {
        match $op {
            Binary::Add => $a + $b,
            Binary::Sub => $a - $b,
            Binary::Mul => $a * $b,
            // Floats know no other operation.
            _ => $a / $b,
        }
    };
}

macro_rules! compare {
    ($op:expr, $a:expr, $b:expr, $signed:expr) => {
        match $op {
            Compare::Eq => $a == $b,
            Compare::Lt => $a < $b,
            Compare::Le => $a <= $b,
            Compare::SignedLt => $signed,
        }
    };
}

impl Ops for Native {
    type Value = u64;

    #[inline(always)]
    fn constant(&self, ty: Type, bits: u64) -> u64 {
        match ty {
            Type::Bool => bits & 1,
            Type::U32 | Type::F32 => bits & 0xffff_ffff,
            Type::U64 | Type::F64 => bits,
        }
    }

    #[inline(always)]
    fn unary(&self, op: Unary, ty: Type, a: u64) -> u64 {
        let sign = if ty == Type::F32 { 1 << 31 } else { 1 << 63 };
        match op {
            Unary::Neg => a ^ sign,
            Unary::Abs => a & !sign,
            Unary::Sqrt if ty == Type::F32 => from_single(single(a).sqrt()),
            Unary::Sqrt => f64::from_bits(a).sqrt().to_bits(),
        }
    }

    #[inline(always)]
    fn binary(&self, op: Binary, ty: Type, a: u64, b: u64) -> u64 {
        match ty {
            Type::F32 => from_single(float_binary!(op, single(a), single(b))),
            Type::F64 => float_binary!(op, f64::from_bits(a), f64::from_bits(b)).to_bits(),
            Type::U32 => word(op, a, b, i64::from(a as i32)) & 0xffff_ffff,
            Type::U64 | Type::Bool => word(op, a, b, a as i64),
        }
    }

    #[inline(always)]
    fn compare(&self, op: Compare, ty: Type, a: u64, b: u64) -> u64 {
        u64::from(match ty {
            Type::F32 => compare!(op, single(a), single(b), false),
            Type::F64 => compare!(op, f64::from_bits(a), f64::from_bits(b), false),
            Type::U32 => compare!(op, a, b, (a as i32) < b as i32),
            Type::U64 | Type::Bool => compare!(op, a, b, (a as i64) < b as i64),
        })
    }

    #[inline(always)]
    fn select(&self, _: Type, condition: u64, yes: u64, no: u64) -> u64 {
        if condition != 0 { yes } else { no }
    }

    #[inline(always)]
    fn convert(&self, op: Convert, a: u64) -> u64 {
        match op {
            Convert::F32Bits
            | Convert::BitsF32
            | Convert::F64Bits
            | Convert::BitsF64
            | Convert::Extend => a,
            Convert::Truncate => a & 0xffff_ffff,
            Convert::Widen => f64::from(single(a)).to_bits(),
            Convert::Narrow => from_single(f64::from_bits(a) as f32),
            Convert::SignedToF32 => from_single(a as i32 as f32),
            Convert::SignedToF64 => (a as i64 as f64).to_bits(),
        }
    }

    #[inline(always)]
    fn table(&self, _: Type, words: &'static [u64], index: u64) -> u64 {
        words.get(index as usize).copied().unwrap_or_default()
    }

    #[inline(always)]
    fn loop_while<const N: usize>(
        &self,
        mut state: [u64; N],
        condition: impl Fn(&Self, [u64; N]) -> u64,
        body: impl Fn(&Self, [u64; N]) -> [u64; N],
    ) -> [u64; N] {
        while condition(self, state) != 0 {
            state = body(self, state);
        }
        state
    }
}

//! Integers of 8, 16, 32 and 64 bits: everything wraps at the declared width.

use super::{Binary, Bits, Ternary, Unary, bits};
use crate::op::ArithmeticOp;
use luisac_ast::types::Scalar;

/// The integer that these bits of type `scalar` stand for: sign-extended if the type is signed.
pub fn sign_extend(bits: Bits, scalar: Scalar) -> i64 {
    match scalar {
        Scalar::I8 => i64::from(bits as i8),
        Scalar::I16 => i64::from(bits as i16),
        Scalar::I32 => i64::from(bits as i32),
        Scalar::I4 => i64::from(((bits << 4) as i8) >> 4),
        _ => bits as i64,
    }
}

/// Calls a macro with the signed-or-unsigned Rust type and the unsigned one of a scalar.
macro_rules! by_width {
    ($scalar:expr, $table:ident, $op:expr) => {
        match $scalar {
            Scalar::I8 => $table!($op, i8, u8),
            Scalar::U8 => $table!($op, u8, u8),
            Scalar::I16 => $table!($op, i16, u16),
            Scalar::U16 => $table!($op, u16, u16),
            Scalar::I32 => $table!($op, i32, u32),
            Scalar::U32 => $table!($op, u32, u32),
            Scalar::I64 => $table!($op, i64, u64),
            Scalar::U64 => $table!($op, u64, u64),
            _ => return None,
        }
    };
}

/// The magnitude of a signed value at its own width: that of the least value is itself.
trait WrappingAbs {
    fn magnitude(self) -> Self;
}
macro_rules! wrapping_abs {
    ($($signed:ty),*; $($unsigned:ty),*) => {
        $(impl WrappingAbs for $signed { fn magnitude(self) -> Self { self.wrapping_abs() } })*
        $(impl WrappingAbs for $unsigned { fn magnitude(self) -> Self { self } })*
    };
}
wrapping_abs!(i8, i16, i32, i64; u8, u16, u32, u64);

macro_rules! unary_table {
    ($op:expr, $t:ty, $u:ty) => {
        match $op {
            ArithmeticOp::UnaryMinus => |a| (a as $u).wrapping_neg() as u64,
            ArithmeticOp::UnaryBitNot => |a| !(a as $u) as u64,
            ArithmeticOp::Abs => |a| (a as $t).magnitude() as $u as u64,
            ArithmeticOp::Clz => |a| (a as $u).leading_zeros() as u64,
            ArithmeticOp::Ctz => |a| (a as $u).trailing_zeros() as u64,
            ArithmeticOp::Popcount => |a| (a as $u).count_ones() as u64,
            ArithmeticOp::Reverse => |a| (a as $u).reverse_bits() as u64,
            _ => return None,
        }
    };
}

/// Operations of one integer.
pub(super) fn unary(op: ArithmeticOp, scalar: Scalar) -> Option<Unary> {
    Some(by_width!(scalar, unary_table, op))
}

// Shift and rotate amounts may be of any integer type: taken modulo a power of two of at most 64, only low bits count, and
// those of a negative amount are the same in every width.
macro_rules! binary_table {
    ($op:expr, $t:ty, $u:ty) => {
        match $op {
            ArithmeticOp::BinaryAdd => |a, b| (a as $u).wrapping_add(b as $u) as u64,
            ArithmeticOp::BinarySub => |a, b| (a as $u).wrapping_sub(b as $u) as u64,
            ArithmeticOp::BinaryMul => |a, b| (a as $u).wrapping_mul(b as $u) as u64,
            ArithmeticOp::BinaryDiv => |a, b| match b as $t {
                0 => a,
                b => (a as $t).wrapping_div(b) as $u as u64,
            },
            ArithmeticOp::BinaryMod => |a, b| match b as $t {
                0 => 0,
                b => (a as $t).wrapping_rem(b) as $u as u64,
            },
            ArithmeticOp::BinaryShiftLeft => |a, b| (a as $u).wrapping_shl(b as u32) as u64,
            ArithmeticOp::BinaryShiftRight => |a, b| (a as $t).wrapping_shr(b as u32) as $u as u64,
            ArithmeticOp::BinaryRotateLeft => {
                |a, b| (a as $u).rotate_left(b as u32 % <$u>::BITS) as u64
            }
            ArithmeticOp::BinaryRotateRight => {
                |a, b| (a as $u).rotate_right(b as u32 % <$u>::BITS) as u64
            }
            ArithmeticOp::BinaryLess => |a, b| u64::from((a as $t) < b as $t),
            ArithmeticOp::BinaryGreater => |a, b| u64::from(a as $t > b as $t),
            ArithmeticOp::BinaryLessEqual => |a, b| u64::from(a as $t <= b as $t),
            ArithmeticOp::BinaryGreaterEqual => |a, b| u64::from(a as $t >= b as $t),
            ArithmeticOp::BinaryEqual => |a, b| u64::from(a == b),
            ArithmeticOp::BinaryNotEqual => |a, b| u64::from(a != b),
            ArithmeticOp::Min => |a, b| (a as $t).min(b as $t) as $u as u64,
            ArithmeticOp::Max => |a, b| (a as $t).max(b as $t) as $u as u64,
            op => return bits::bitwise(op),
        }
    };
}

/// Operations of two integers.
pub(super) fn binary(op: ArithmeticOp, scalar: Scalar) -> Option<Binary> {
    Some(by_width!(scalar, binary_table, op))
}

macro_rules! ternary_table {
    ($op:expr, $t:ty, $u:ty) => {
        match $op {
            ArithmeticOp::Clamp => {
                |v, low, high| (v as $t).max(low as $t).min(high as $t) as $u as u64
            }
            _ => return None,
        }
    };
}

/// Operations of three integers.
pub(super) fn ternary(op: ArithmeticOp, scalar: Scalar) -> Option<Ternary> {
    Some(by_width!(scalar, ternary_table, op))
}

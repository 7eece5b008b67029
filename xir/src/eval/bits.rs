//! Operations that do not read their operands as numbers.

use super::{Binary, Bits, Unary};
use crate::op::ArithmeticOp;

/// `condition ? on_true : on_false`, in the operand order of the operation.
pub(super) fn select(on_false: Bits, on_true: Bits, condition: Bits) -> Bits {
    if condition != 0 { on_true } else { on_false }
}

/// Operations of one `bool`.
pub(super) fn unary_bool(op: ArithmeticOp) -> Option<Unary> {
    match op {
        ArithmeticOp::UnaryBitNot => Some(|a| a ^ 1),
        _ => None,
    }
}

/// Operations of two `bool`s.
pub(super) fn binary_bool(op: ArithmeticOp) -> Option<Binary> {
    Some(match op {
        ArithmeticOp::BinaryEqual => |a, b| u64::from(a == b),
        ArithmeticOp::BinaryNotEqual => |a, b| u64::from(a != b),
        _ => return bitwise(op),
    })
}

/// And, or, exclusive or of any bits.
pub(super) fn bitwise(op: ArithmeticOp) -> Option<Binary> {
    Some(match op {
        ArithmeticOp::BinaryBitAnd => |a, b| a & b,
        ArithmeticOp::BinaryBitOr => |a, b| a | b,
        ArithmeticOp::BinaryBitXor => |a, b| a ^ b,
        _ => return None,
    })
}

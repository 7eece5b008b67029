//! Constants that make no sense where they stand.

use super::{Linter, codes};
use crate::check;
use crate::model::{BinaryOp, ExprId, ExprKind, ExprList};
use crate::place::Node;
use crate::types::TypeKind;

impl Linter<'_> {
    pub(super) fn check_values(&mut self) {
        for (id, expr) in &self.function.exprs {
            match expr.kind {
                ExprKind::Binary { op: op @ (BinaryOp::Shl | BinaryOp::Shr), rhs, .. } => {
                    self.check_shift(id, op, rhs);
                }
                ExprKind::Binary { op: op @ (BinaryOp::Div | BinaryOp::Mod), rhs, .. } => {
                    self.check_divisor(id, op, rhs);
                }
                ExprKind::Call { op, arguments, .. } if op.is_atomic() => {
                    self.check_chain(arguments);
                }
                _ => {}
            }
        }
    }

    fn check_shift(&mut self, id: ExprId, op: BinaryOp, amount: ExprId) {
        let types = &self.library.types;
        let Some(scalar) = types.scalar_of(self.function.exprs[id].ty) else { return };
        let bits = scalar.bits();
        let Some(by) = self.function.case_value(amount) else { return };
        if !(0..i128::from(bits)).contains(&by) {
            let message = format!("`{}` of {bits} bits by {by}", op.name());
            self.warn(codes::SHIFT_OUT_OF_RANGE, Node::Expr(amount), message);
        }
    }

    fn check_divisor(&mut self, id: ExprId, op: BinaryOp, divisor: ExprId) {
        let is_integer = self.library.types.is_integer(self.function.exprs[id].ty);
        if is_integer && self.function.case_value(divisor) == Some(0) {
            let message = format!("`{}` of an integer by zero", op.name());
            self.warn(codes::DIVISION_BY_ZERO, Node::Expr(divisor), message);
        }
    }

    /// Literal indices of an atomic, behind the element of a buffer.
    fn check_chain(&mut self, arguments: ExprList) {
        let (types, function) = (&self.library.types, self.function);
        let arguments = function.exprs_in(arguments);
        let Some((base, chain)) = arguments.split_first() else { return };
        let mut at = function.exprs[*base].ty;
        for index in chain {
            let value = function.case_value(*index);
            if let TypeKind::Buffer { elem, .. } = types.kind(at) {
                at = *elem;
                continue;
            }
            let count = types.member_count(at);
            // The operands follow where no element is left.
            if count == 0 {
                return;
            }
            if let Some(value) = value.filter(|v| !(0..i128::from(count)).contains(v)) {
                let message = format!("the index is {value}, but there are {count} elements");
                self.warn(check::codes::INDEX_RANGE, Node::Expr(*index), message);
                return;
            }
            let member = value.and_then(|v| u32::try_from(v).ok()).unwrap_or(0);
            match types.element_type(at, member) {
                Some(next) => at = next,
                None => return,
            }
        }
    }
}

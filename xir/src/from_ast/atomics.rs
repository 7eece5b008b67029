//! Atomic operations.

use super::function::{Lowerer, Result};
use super::{MALFORMED, TYPE_MISMATCH};
use crate::op::{ArithmeticOp, AtomicOp, Scopes};
use crate::{Op, ValueId};
use luisac_ast::types::{Scalar, TypeId};

impl Lowerer<'_> {
    /// `base, index*, value(s)`: the chain of indices arrives at the element, whose type the values take.
    pub(super) fn call_atomic(&mut self, op: AtomicOp, args: &[ValueId]) -> Result<ValueId> {
        let base = self.argument(args, 0)?;
        let values = op.value_count();
        let Some(chain_end) = args.len().checked_sub(values).filter(|&end| end >= 1) else {
            return Err(self.error(MALFORMED, "an atomic operation has too few arguments"));
        };
        let mut operands = vec![base];
        let mut ty = self.ty(base);
        for (i, &index) in args[1..chain_end].iter().enumerate() {
            if i == 0 && self.func.is_resource(base) {
                operands.push(self.as_index(index)?);
                ty = self.buffer_element(ty)?;
                continue;
            }
            let (index, element) = self.step(ty, index)?;
            operands.push(index);
            ty = element;
        }
        let scalar =
            self.scalar_shape(ty).filter(|&s| s != Scalar::Bool && self.types.is_scalar(ty));
        if scalar.is_none() || self.func.is_resource(base) && chain_end < 2 {
            let text =
                format!("an atomic operation needs a number in memory, not {}", self.describe(ty));
            return Err(self.error(TYPE_MISMATCH, text));
        }
        let bitwise = matches!(op, AtomicOp::FetchAnd | AtomicOp::FetchOr | AtomicOp::FetchXor);
        if bitwise && !self.types.is_integer(ty) {
            let text =
                format!("`{}` needs an integer in memory, not {}", op.name(), self.describe(ty));
            return Err(self.error(TYPE_MISMATCH, text));
        }
        for &value in &args[chain_end..] {
            operands.push(self.convert(value, ty)?);
        }
        if self.func.scopes_of(base) == Scopes::LOCAL {
            return self.local_atomic(op, &operands, ty);
        }
        Ok(self.value(Op::Atomic(op), ty, &operands))
    }

    /// On memory of one thread nothing can come between reading and writing.
    fn local_atomic(&mut self, op: AtomicOp, operands: &[ValueId], ty: TypeId) -> Result<ValueId> {
        let (chain, values) = operands.split_at(operands.len() - op.value_count());
        let lvalue = match chain {
            [base] => *base,
            _ => self.value(Op::Gep, ty, chain),
        };
        let old = self.load(lvalue);
        let value = self.argument(values, 0)?;
        let arithmetic = match op {
            AtomicOp::Exchange => {
                self.store(lvalue, value);
                return Ok(old);
            }
            AtomicOp::CompareExchange => {
                let desired = self.argument(values, 1)?;
                let (a, b) = (self.bits_of(old)?, self.bits_of(value)?);
                let same = self.arithmetic(ArithmeticOp::BinaryEqual, &[a, b])?;
                let new = self.arithmetic(ArithmeticOp::Select, &[old, desired, same])?;
                self.store(lvalue, new);
                return Ok(old);
            }
            AtomicOp::FetchAdd => ArithmeticOp::BinaryAdd,
            AtomicOp::FetchSub => ArithmeticOp::BinarySub,
            AtomicOp::FetchAnd => ArithmeticOp::BinaryBitAnd,
            AtomicOp::FetchOr => ArithmeticOp::BinaryBitOr,
            AtomicOp::FetchXor => ArithmeticOp::BinaryBitXor,
            AtomicOp::FetchMin => ArithmeticOp::Min,
            AtomicOp::FetchMax => ArithmeticOp::Max,
        };
        let new = self.arithmetic(arithmetic, &[old, value])?;
        self.store(lvalue, new);
        Ok(old)
    }
}

//! Unary and binary operators: promotion of the operands, then one operation.

use super::TYPE_MISMATCH;
use super::function::{Lowerer, Result};
use crate::ValueId;
use crate::op::ArithmeticOp;
use luisac_ast::model::{BinaryOp, UnaryOp};
use luisac_ast::types::{Scalar, TypeId};

/// Scalars from the lowest to the highest rank (`ast.md` section 3.1, 2026).
const RANKS: [Scalar; 16] = [
    Scalar::Bool,
    Scalar::I4,
    Scalar::I8,
    Scalar::U8,
    Scalar::I16,
    Scalar::U16,
    Scalar::I32,
    Scalar::U32,
    Scalar::I64,
    Scalar::U64,
    Scalar::F4E2M1,
    Scalar::F8E4M3,
    Scalar::F8E5M2,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
];

/// The scalar of the higher rank.
pub(super) fn common(a: Scalar, b: Scalar) -> Scalar {
    let rank = |s| RANKS.iter().position(|&r| r == s);
    if rank(a) > rank(b) { a } else { b }
}

/// Arithmetic on `bool` is done on `int`.
fn numeric(scalar: Scalar) -> Scalar {
    if scalar == Scalar::Bool { Scalar::I32 } else { scalar }
}

fn operation(op: BinaryOp) -> ArithmeticOp {
    match op {
        BinaryOp::Add => ArithmeticOp::BinaryAdd,
        BinaryOp::Sub => ArithmeticOp::BinarySub,
        BinaryOp::Mul => ArithmeticOp::BinaryMul,
        BinaryOp::Div => ArithmeticOp::BinaryDiv,
        BinaryOp::Mod => ArithmeticOp::BinaryMod,
        BinaryOp::BitAnd | BinaryOp::And => ArithmeticOp::BinaryBitAnd,
        BinaryOp::BitOr | BinaryOp::Or => ArithmeticOp::BinaryBitOr,
        BinaryOp::BitXor => ArithmeticOp::BinaryBitXor,
        BinaryOp::Shl => ArithmeticOp::BinaryShiftLeft,
        BinaryOp::Shr => ArithmeticOp::BinaryShiftRight,
        BinaryOp::Less => ArithmeticOp::BinaryLess,
        BinaryOp::Greater => ArithmeticOp::BinaryGreater,
        BinaryOp::LessEqual => ArithmeticOp::BinaryLessEqual,
        BinaryOp::GreaterEqual => ArithmeticOp::BinaryGreaterEqual,
        BinaryOp::Equal => ArithmeticOp::BinaryEqual,
        BinaryOp::NotEqual => ArithmeticOp::BinaryNotEqual,
    }
}

impl Lowerer<'_> {
    /// `op operand` of recorded type `ty`.
    pub(super) fn unary(&mut self, op: UnaryOp, operand: ValueId, ty: TypeId) -> Result<ValueId> {
        let from = self.ty(operand);
        if self.types.is_matrix(from) {
            return match op {
                UnaryOp::Plus => Ok(operand),
                UnaryOp::Minus => self.arithmetic(ArithmeticOp::MatrixCompNeg, &[operand]),
                _ => Err(self.no_operator(op.name(), from)),
            };
        }
        let (Some(_), Some(scalar)) = (self.scalar_shape(from), self.scalar_shape(ty)) else {
            return Err(self.no_operator(op.name(), from));
        };
        let result = match op {
            UnaryOp::Plus => operand,
            UnaryOp::Minus => {
                let operand = self.convert_shape(operand, numeric(scalar), ty)?;
                self.arithmetic(ArithmeticOp::UnaryMinus, &[operand])?
            }
            UnaryOp::Not => {
                let operand = self.with_scalar(operand, Scalar::Bool)?;
                self.arithmetic(ArithmeticOp::UnaryBitNot, &[operand])?
            }
            UnaryOp::BitNot if scalar.is_float() => return Err(self.no_operator(op.name(), from)),
            UnaryOp::BitNot => {
                let operand = self.convert(operand, ty)?;
                self.arithmetic(ArithmeticOp::UnaryBitNot, &[operand])?
            }
        };
        self.convert(result, ty)
    }

    /// `lhs op rhs` of recorded type `ty`. Arithmetic is done in the recorded type, which is that of the higher rank unless the
    /// frontend chose another; comparisons are done in the type of the higher rank.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: ValueId,
        rhs: ValueId,
        ty: TypeId,
    ) -> Result<ValueId> {
        let (left, right) = (self.ty(lhs), self.ty(rhs));
        if self.types.is_matrix(left) || self.types.is_matrix(right) {
            let result = self.matrix_binary(op, lhs, rhs)?;
            return self.convert(result, ty);
        }
        let scalars = (self.scalar_shape(left), self.scalar_shape(right), self.scalar_shape(ty));
        let (Some(a), Some(b), Some(recorded)) = scalars else {
            let text = format!(
                "`{}` cannot take {} and {}",
                op.name(),
                self.describe(left),
                self.describe(right)
            );
            return Err(self.error(TYPE_MISMATCH, text));
        };
        let dim = self.types.dim(left).max(self.types.dim(right));
        if op.is_relational() {
            let mut scalar = common(a, b);
            let ordered = !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
            if ordered {
                scalar = numeric(scalar);
            }
            return self.same_type(op, lhs, rhs, TypeId::vector(scalar, dim), ty);
        }
        if op.is_logical() {
            return self.same_type(op, lhs, rhs, TypeId::vector(Scalar::Bool, dim), ty);
        }
        let dim = dim.max(self.types.dim(ty));
        if recorded.is_float() && op.is_bitwise() {
            return Err(self.no_operator(op.name(), ty));
        }
        match op {
            BinaryOp::Shl | BinaryOp::Shr => {
                let lhs = self.convert(lhs, TypeId::vector(numeric(recorded), dim))?;
                if b.is_float() {
                    return Err(self.no_operator(op.name(), right));
                }
                let amount = if b == Scalar::Bool { Scalar::U32 } else { b };
                let rhs = self.convert(rhs, TypeId::vector(amount, dim))?;
                let result = self.arithmetic(operation(op), &[lhs, rhs])?;
                self.convert(result, ty)
            }
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                self.same_type(op, lhs, rhs, TypeId::vector(recorded, dim), ty)
            }
            _ => self.same_type(op, lhs, rhs, TypeId::vector(numeric(recorded), dim), ty),
        }
    }

    /// Both operands as `operand`, the operation, its result as `ty`.
    fn same_type(
        &mut self,
        op: BinaryOp,
        lhs: ValueId,
        rhs: ValueId,
        operand: TypeId,
        ty: TypeId,
    ) -> Result<ValueId> {
        let lhs = self.convert(lhs, operand)?;
        let rhs = self.convert(rhs, operand)?;
        let result = self.arithmetic(operation(op), &[lhs, rhs])?;
        self.convert(result, ty)
    }

    fn matrix_binary(&mut self, op: BinaryOp, lhs: ValueId, rhs: ValueId) -> Result<ValueId> {
        let (left, right) = (self.ty(lhs), self.ty(rhs));
        let lhs = self.as_float(lhs)?;
        let rhs = self.as_float(rhs)?;
        let has_scalar = self.types.is_scalar(left) || self.types.is_scalar(right);
        let has_vector = self.types.is_vector(left) || self.types.is_vector(right);
        let same_dim = self.types.dim(left) == self.types.dim(right);
        let operation = match op {
            BinaryOp::Mul if has_scalar => ArithmeticOp::MatrixCompMul,
            BinaryOp::Mul if same_dim => ArithmeticOp::MatrixLinalgMul,
            BinaryOp::Add if has_scalar || (same_dim && !has_vector) => ArithmeticOp::MatrixCompAdd,
            BinaryOp::Sub if has_scalar || (same_dim && !has_vector) => ArithmeticOp::MatrixCompSub,
            BinaryOp::Div if has_scalar || (same_dim && !has_vector) => ArithmeticOp::MatrixCompDiv,
            _ => {
                let text = format!(
                    "`{}` cannot take {} and {}",
                    op.name(),
                    self.describe(left),
                    self.describe(right)
                );
                return Err(self.error(TYPE_MISMATCH, text));
            }
        };
        self.arithmetic(operation, &[lhs, rhs])
    }

    /// A matrix as it is, a scalar or vector as `float`s.
    fn as_float(&mut self, value: ValueId) -> Result<ValueId> {
        if self.types.is_matrix(self.ty(value)) {
            Ok(value)
        } else {
            self.with_scalar(value, Scalar::F32)
        }
    }

    /// The scalar of a scalar or vector type; `None` for all others.
    pub(super) fn scalar_shape(&self, ty: TypeId) -> Option<Scalar> {
        self.types.scalar_of(ty).filter(|_| self.types.is_scalar_or_vector(ty))
    }

    /// `value` as elements of `scalar` in the shape of `shape`.
    fn convert_shape(&mut self, value: ValueId, scalar: Scalar, shape: TypeId) -> Result<ValueId> {
        self.convert(value, TypeId::vector(scalar, self.types.dim(shape)))
    }

    fn no_operator(&self, name: &str, ty: TypeId) -> luisac_ast::Diagnostics {
        self.error(TYPE_MISMATCH, format!("`{name}` cannot take {}", self.describe(ty)))
    }
}

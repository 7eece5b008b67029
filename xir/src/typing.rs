//! Result types of arithmetic, by the rule of its row.

use crate::op::{ArithmeticOp, Rule};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};

/// The bool type of the shape of a scalar or vector.
pub fn bool_shape(ty: TypeId, types: &TypeTable) -> TypeId {
    with_scalar(ty, Scalar::Bool, types)
}

/// The scalar or vector of the shape of `ty` whose element is `scalar`.
pub fn with_scalar(ty: TypeId, scalar: Scalar, types: &TypeTable) -> TypeId {
    match types.dim(ty) {
        0 | 1 => TypeId::scalar(scalar),
        dim => TypeId::vector(scalar, dim),
    }
}

/// The element type of a vector, the scalar of a matrix, or the scalar itself.
pub fn element(ty: TypeId, types: &TypeTable) -> Option<TypeId> {
    types.scalar_of(ty).map(TypeId::scalar)
}

/// Result type of an operation on operands of these types, if it follows from them and the operand count fits. Only the
/// result is computed; the verifier checks all operands against the rule.
pub fn infer(op: ArithmeticOp, operands: &[TypeId], types: &TypeTable) -> Option<TypeId> {
    let (min, max) = op.arity();
    if operands.len() < min || operands.len() > max {
        return None;
    }
    match op.rule() {
        Rule::Order | Rule::Equality | Rule::FloatTest => Some(bool_shape(operands[0], types)),
        Rule::BoolReduce => Some(TypeId::BOOL),
        Rule::Smoothstep => Some(operands[2]),
        Rule::Step => Some(operands[1]),
        Rule::FloatReduce | Rule::Reduce | Rule::Determinant => element(operands[0], types),
        Rule::OuterProduct => match types.kind(operands[0]) {
            TypeKind::Matrix { .. } => Some(operands[0]),
            TypeKind::Vector { dim, .. } => Some(TypeId::matrix(*dim)),
            _ => None,
        },
        Rule::MatrixComponent => {
            operands.iter().copied().find(|&t| matches!(types.kind(t), TypeKind::Matrix { .. }))
        }
        Rule::MatrixMultiply => {
            let is_vector = |&&t: &&TypeId| types.is_vector(t);
            Some(*operands.iter().find(is_vector).unwrap_or(&operands[0]))
        }
        Rule::Aggregate | Rule::Shuffle | Rule::Extract => None,
        _ => operands.first().copied(),
    }
}

//! The result type of operators (`ast.md`, sections 3 and 3.1). Operands keep their own types; what evaluates the
//! operation converts them.

use crate::model::{BinaryOp, UnaryOp};
use crate::types::{Scalar, TypeId, TypeTable};

/// From the lowest rank to the highest; types without a rank take part in no arithmetic.
const RANKS: [Scalar; 14] = [
    Scalar::Bool,
    Scalar::I8,
    Scalar::U8,
    Scalar::I16,
    Scalar::U16,
    Scalar::I32,
    Scalar::U32,
    Scalar::I64,
    Scalar::U64,
    Scalar::F8E4M3,
    Scalar::F8E5M2,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
];

fn rank(scalar: Scalar) -> Option<usize> {
    RANKS.iter().position(|s| *s == scalar)
}

/// The scalar that operands of both types are converted to.
pub fn common_scalar(a: Scalar, b: Scalar) -> Option<Scalar> {
    Some(if rank(a)? > rank(b)? { a } else { b })
}

/// The type of `op` on a value of type `operand`; `None` if there is no such operation.
pub fn unary(types: &TypeTable, op: UnaryOp, operand: TypeId) -> Option<TypeId> {
    let shaped = types.is_scalar_or_vector(operand);
    match op {
        UnaryOp::Plus | UnaryOp::Minus => {
            (types.is_arithmetic(operand) || types.is_matrix(operand)).then_some(operand)
        }
        UnaryOp::Not => shaped.then(|| TypeId::vector(Scalar::Bool, types.dim(operand))),
        UnaryOp::BitNot => {
            (types.is_integer(operand) || (shaped && types.is_bool(operand))).then_some(operand)
        }
    }
}

/// The type of `op` on values of types `lhs` and `rhs`; `None` if they do not go together.
pub fn binary(types: &TypeTable, op: BinaryOp, lhs: TypeId, rhs: TypeId) -> Option<TypeId> {
    match (types.is_matrix(lhs), types.is_matrix(rhs)) {
        (false, false) => elementwise(types, op, lhs, rhs),
        (matrix, other) => {
            use BinaryOp::{Add, Div, Mul, Sub};
            let defined = matches!(op, Add | Sub | Mul | Div);
            let number = |ty| types.is_scalar(ty) && types.scalar_of(ty).and_then(rank).is_some();
            let (l, r) = (types.dim(lhs), types.dim(rhs));
            match (matrix, other) {
                _ if !defined => None,
                (true, true) => (l == r).then_some(lhs),
                (true, false) if number(rhs) => Some(lhs),
                (false, true) if number(lhs) => Some(rhs),
                (true, false) if types.is_arithmetic(rhs) && l == r && op == Mul => {
                    Some(TypeId::vector(Scalar::F32, l))
                }
                _ => None,
            }
        }
    }
}

fn elementwise(types: &TypeTable, op: BinaryOp, lhs: TypeId, rhs: TypeId) -> Option<TypeId> {
    if !types.is_scalar_or_vector(lhs) || !types.is_scalar_or_vector(rhs) {
        return None;
    }
    let (l, r) = (types.dim(lhs), types.dim(rhs));
    let dim = (l == r || l == 1 || r == 1).then_some(l.max(r))?;
    let scalar = common_scalar(types.scalar_of(lhs)?, types.scalar_of(rhs)?)?;
    let truth = op.is_relational() || op.is_logical();
    let defined = match op {
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => !scalar.is_float(),
        BinaryOp::Shl | BinaryOp::Shr => scalar.is_int(),
        _ => truth || scalar != Scalar::Bool,
    };
    defined.then(|| TypeId::vector(if truth { Scalar::Bool } else { scalar }, dim))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> TypeId {
        TypeTable::new().parse(text).expect("a type")
    }

    #[track_caller]
    fn yields(op: BinaryOp, lhs: &str, rhs: &str, wanted: &str) {
        let types = TypeTable::new();
        let got = binary(&types, op, ty(lhs), ty(rhs)).map(|ty| types.description(ty));
        assert_eq!(got.as_deref().unwrap_or("-"), wanted, "{lhs} {} {rhs}", op.name());
    }

    #[test]
    fn operands_are_promoted() {
        use BinaryOp::*;
        yields(Add, "int", "uint", "uint");
        yields(Add, "bool", "byte", "byte");
        yields(Mul, "ulong", "half", "half");
        yields(Sub, "float", "double", "double");
        yields(Less, "vector<int,3>", "float", "vector<bool,3>");
        yields(Shl, "short", "uint", "uint");
        yields(Shr, "bool", "bool", "-");
        yields(Add, "bool", "bool", "-");
        yields(BitXor, "bool", "bool", "bool");
        yields(BitAnd, "float", "int", "-");
        yields(And, "vector<float,2>", "int", "vector<bool,2>");
        yields(Add, "vector<int,3>", "vector<int,2>", "-");
        yields(Mul, "matrix<3>", "vector<half,3>", "vector<float,3>");
        yields(Mul, "vector<float,3>", "matrix<3>", "-");
        yields(Mul, "matrix<2>", "double", "matrix<2>");
        yields(Div, "int", "matrix<4>", "matrix<4>");
        yields(Mul, "matrix<2>", "matrix<3>", "-");
        yields(Less, "matrix<2>", "matrix<2>", "-");
        yields(Add, "int4", "int", "-");
    }
}

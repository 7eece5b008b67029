//! Types of operations: results inferred and operands checked by the rule of the operation's row.

use crate::op::{ArithmeticOp, CastOp, Rule};
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
/// result is computed; [`check`] checks all operands against the rule.
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
        Rule::MatrixComponent => operands.iter().copied().find(|&t| types.is_matrix(t)),
        Rule::MatrixMultiply => {
            let is_vector = |&&t: &&TypeId| types.is_vector(t);
            Some(*operands.iter().find(is_vector).unwrap_or(&operands[0]))
        }
        Rule::Aggregate | Rule::Shuffle | Rule::Extract => None,
        _ => operands.first().copied(),
    }
}

/// One index of a chain: its type, and its bits if it is a constant.
pub type Index = (TypeId, Option<u64>);

/// The type of the part of `base` that a chain of indices names. A constant index may be out of the range of an array, vector
/// or matrix, just as one that is computed: folding makes the one of the other, and what runs decides by `--bounds`.
///
/// # Errors
/// What is wrong, as a phrase: an index that is no integer, goes into something without parts, or names a member of a structure
/// without being a constant in range.
pub fn walk(
    base: TypeId,
    indices: impl IntoIterator<Item = Index>,
    types: &TypeTable,
) -> Result<TypeId, String> {
    let mut ty = base;
    for (n, (index, constant)) in indices.into_iter().enumerate() {
        let scalar = if types.is_scalar(index) { types.scalar_of(index) } else { None };
        let Some(scalar) = scalar.filter(|s| s.is_int()) else {
            return Err(format!("index {n} is no integer"));
        };
        let count = types.member_count(ty);
        let value = constant.map(|bits| signed_value(bits, scalar));
        let member = match value {
            Some(value) if (0..i128::from(count)).contains(&value) => value as u32,
            Some(_) if !types.is_struct(ty) => 0,
            Some(value) => {
                let what = types.description(ty);
                return Err(format!("index {n}, {value}, is out of the range of `{what}`"));
            }
            None if types.is_struct(ty) => {
                return Err(format!("index {n} into a structure is not constant"));
            }
            None => 0,
        };
        ty = types
            .element_type(ty, member)
            .ok_or_else(|| format!("index {n} goes into `{}`", types.description(ty)))?;
    }
    Ok(ty)
}

fn signed_value(bits: u64, scalar: Scalar) -> i128 {
    let unused = 64 - scalar.bits();
    if scalar.is_signed() {
        i128::from(((bits << unused) as i64) >> unused)
    } else {
        i128::from((bits << unused) >> unused)
    }
}

/// Checks operands and result of an operation against its rule. `constant` gives the bits of operand `i` if that is a constant
/// (needed for indices only).
///
/// # Errors
/// What the rule demands, as a phrase.
pub fn check(
    rule: Rule,
    result: TypeId,
    operands: &[TypeId],
    constant: impl Fn(usize) -> Option<u64>,
    types: &TypeTable,
) -> Result<(), String> {
    let index = |from: usize| (from..operands.len()).map(|i| (operands[i], constant(i)));
    match rule {
        Rule::Extract if operands.len() >= 2 => {
            expect(walk(operands[0], index(1), types)? == result, "the result to be the part named")
        }
        Rule::Insert if operands.len() >= 3 => {
            expect(operands[0] == result, "the aggregate to have the type of the result")?;
            expect(walk(result, index(2), types)? == operands[1], "the value to be the part named")
        }
        Rule::Shuffle => check_shuffle(result, operands, index(1), types),
        Rule::Aggregate => check_aggregate(result, operands, types),
        _ => check_plain(rule, result, operands, types),
    }
}

fn expect(condition: bool, what: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(format!("expected {what}")) }
}

fn check_shuffle(
    result: TypeId,
    operands: &[TypeId],
    indices: impl Iterator<Item = Index>,
    types: &TypeTable,
) -> Result<(), String> {
    let Some(&source) = operands.first().filter(|&&t| types.is_vector(t)) else {
        return Err("expected a vector to shuffle".into());
    };
    for index in indices {
        walk(source, [index], types)?;
        let inside = index.1.is_some_and(|i| i < u64::from(types.dim(source)));
        expect(inside, "constant components in range")?;
    }
    let shape = types.is_vector(result) && usize::from(types.dim(result)) + 1 == operands.len();
    let same = types.scalar_of(source) == types.scalar_of(result);
    expect(shape && same, "a vector of the same scalar with one index for each component")
}

fn check_aggregate(result: TypeId, operands: &[TypeId], types: &TypeTable) -> Result<(), String> {
    let composite = types.is_data(result) && !types.is_scalar(result);
    expect(composite, "a vector, matrix, array or structure as the result")?;
    let count = types.member_count(result) as usize;
    expect(operands.len() == count, "one operand for each element")?;
    for (i, &operand) in operands.iter().enumerate() {
        if types.element_type(result, i as u32) != Some(operand) {
            return Err(format!("operand {i} has not the type of its element"));
        }
    }
    Ok(())
}

/// The rules that look at types only.
fn check_plain(
    rule: Rule,
    result: TypeId,
    operands: &[TypeId],
    types: &TypeTable,
) -> Result<(), String> {
    let t = result;
    let all = |ty: TypeId| operands.iter().all(|&o| o == ty);
    let float = types.is_float(t);
    let elem = element(t, types);
    let t_or_elem = |o: TypeId| o == t || (float && Some(o) == elem);
    let first = operands.first().copied().unwrap_or(TypeId::VOID);
    let equal = all(first);
    let float_vector = |ty| types.is_float(ty) && types.is_vector(ty);
    match rule {
        Rule::Numeric => {
            expect(types.is_arithmetic(t) && all(t), "numeric operands of the result's type")
        }
        Rule::Float => expect(float && all(t), "floating-point operands of the result's type"),
        Rule::Bits => {
            expect(is_bits(t, types) && all(t), "integer or bool operands of the result's type")
        }
        Rule::Shift => {
            let fits = types.is_integer(t) && first == t;
            let amount = operands.get(1).is_some_and(|&a| is_integer_like(a, t, types));
            expect(fits && amount, "an integer of the result's type and an integer of its shape")
        }
        Rule::Order => expect(
            types.is_arithmetic(first) && equal && t == bool_shape(first, types),
            "equal numeric operands and a bool of their shape",
        ),
        Rule::Equality => expect(
            types.is_scalar_or_vector(first) && equal && t == bool_shape(first, types),
            "equal scalars or vectors and a bool of their shape",
        ),
        Rule::BoolReduce => expect(
            types.is_vector(first) && types.is_bool(first) && t == TypeId::BOOL,
            "a bool vector and a bool result",
        ),
        Rule::Select => check_select(t, operands, types),
        Rule::Lerp => {
            let [a, b, s] = operands else { return expect(false, "three operands") };
            expect(
                float && *a == t && *b == t && t_or_elem(*s),
                "two floating-point operands of the result's type and a third of it or its element",
            )
        }
        Rule::Smoothstep => {
            let [a, b, x] = operands else { return expect(false, "three operands") };
            expect(
                float && t_or_elem(*a) && t_or_elem(*b) && *x == t,
                "edges of the result's type or its element and a value of the result's type",
            )
        }
        Rule::Step => {
            let [edge, x] = operands else { return expect(false, "two operands") };
            expect(
                float && t_or_elem(*edge) && *x == t,
                "an edge of the result's type or its element and a value of the result's type",
            )
        }
        Rule::BitCount => {
            let wide = types.scalar_of(t).is_some_and(|s| s.bits() >= 8);
            expect(
                types.is_integer(t) && wide && all(t),
                "an integer of 8 bits or more of the result's type",
            )
        }
        Rule::FloatTest => expect(
            types.is_float(first) && t == bool_shape(first, types),
            "a floating-point operand and a bool of its shape",
        ),
        Rule::PowInt => {
            let exponent = operands.get(1).is_some_and(|&e| {
                types.is_integer(e) && (types.is_scalar(e) || is_integer_like(e, t, types))
            });
            expect(
                float && first == t && exponent,
                "a floating-point operand of the result's type and an integer exponent",
            )
        }
        Rule::Cross => expect(
            float_vector(t) && types.dim(t) == 3 && all(t),
            "floating-point vectors of three",
        ),
        Rule::FloatReduce => expect(
            float_vector(first) && equal && Some(t) == element(first, types),
            "equal floating-point vectors and their element as the result",
        ),
        Rule::FloatVector => {
            expect(float_vector(t) && all(t), "floating-point vectors of the result's type")
        }
        Rule::Reduce => expect(
            types.is_vector(first)
                && types.is_arithmetic(first)
                && Some(t) == element(first, types),
            "a numeric vector and its element as the result",
        ),
        Rule::OuterProduct
        | Rule::Matrix
        | Rule::MatrixComponent
        | Rule::MatrixMultiply
        | Rule::Determinant => check_matrix(rule, t, operands, types),
        _ => check_group(rule, t, operands, types),
    }
}

fn is_bits(ty: TypeId, types: &TypeTable) -> bool {
    types.is_scalar_or_vector(ty) && (types.is_integer(ty) || types.is_bool(ty))
}

/// An integer scalar or vector of the shape of `shape`.
fn is_integer_like(ty: TypeId, shape: TypeId, types: &TypeTable) -> bool {
    types.is_integer(ty)
        && types.is_scalar(ty) == types.is_scalar(shape)
        && types.dim(ty) == types.dim(shape)
}

fn check_select(t: TypeId, operands: &[TypeId], types: &TypeTable) -> Result<(), String> {
    let [a, b, condition] = operands else { return expect(false, "three operands") };
    let condition =
        *condition == TypeId::BOOL || (types.is_vector(t) && *condition == bool_shape(t, types));
    expect(
        types.is_data(t) && *a == t && *b == t && condition,
        "two values of the result's type and a bool, or a bool vector of its shape",
    )
}

fn check_matrix(
    rule: Rule,
    t: TypeId,
    operands: &[TypeId],
    types: &TypeTable,
) -> Result<(), String> {
    let column = |m: TypeId| types.element_type(m, 0);
    let matrix = |ty| types.is_matrix(ty);
    let first = operands.first().copied().unwrap_or(TypeId::VOID);
    let second = operands.get(1).copied().unwrap_or(TypeId::VOID);
    match rule {
        Rule::Matrix => expect(matrix(t) && first == t, "a matrix of the result's type"),
        Rule::Determinant => {
            expect(matrix(first) && t == TypeId::F32, "a matrix and a `f32` result")
        }
        Rule::OuterProduct => {
            let vectors = matrix(t) && column(t) == Some(first);
            expect(
                first == second && matrix(t) && (vectors || first == t),
                "two columns, or two matrices, of the result's type",
            )
        }
        Rule::MatrixComponent => {
            let fits = |o: TypeId| o == t || o == TypeId::F32;
            expect(
                matrix(t) && fits(first) && fits(second) && (first == t || second == t),
                "matrices of the result's type, one of them perhaps its scalar",
            )
        }
        _ => {
            let products = (matrix(first) && first == second && t == first)
                || (matrix(first) && column(first) == Some(second) && t == second)
                || (matrix(second) && column(second) == Some(first) && t == first);
            expect(products, "a product of matrices and vectors of one dimension")
        }
    }
}

/// Rules of thread-group operations.
fn check_group(
    rule: Rule,
    t: TypeId,
    operands: &[TypeId],
    types: &TypeTable,
) -> Result<(), String> {
    let value = |ty| types.is_scalar_or_vector(ty) || types.is_matrix(ty);
    let first = operands.first().copied().unwrap_or(TypeId::VOID);
    match rule {
        Rule::Nothing => expect(t == TypeId::VOID && operands.is_empty(), "no operand"),
        Rule::ReorderHint => expect(
            t == TypeId::VOID && operands.len() != 1 && operands.iter().all(|&o| o == TypeId::U32),
            "no operand or two of `u32`",
        ),
        Rule::FlagQuery => expect(t == TypeId::BOOL, "a `bool` result"),
        Rule::CountQuery => expect(t == TypeId::U32, "a `u32` result"),
        Rule::BoolToCount => {
            expect(first == TypeId::BOOL && t == TypeId::U32, "a `bool` and a `u32` result")
        }
        Rule::BoolToBool => {
            expect(first == TypeId::BOOL && t == TypeId::BOOL, "a `bool` and a `bool` result")
        }
        Rule::BoolToMask => expect(
            first == TypeId::BOOL && t == TypeId::vector(Scalar::U32, 4),
            "a `bool` and a `vector<u32, 4>` result",
        ),
        Rule::ShapeTest => expect(
            types.is_scalar_or_vector(first) && t == bool_shape(first, types),
            "a scalar or vector and a bool of its shape",
        ),
        Rule::AnyValue => {
            expect(value(t) && first == t, "a scalar, vector or matrix of the result's type")
        }
        Rule::LaneRead => expect(
            value(t) && first == t && operands.get(1) == Some(&TypeId::U32),
            "a scalar, vector or matrix of the result's type and a `u32` lane",
        ),
        _ => expect(false, "other operands"),
    }
}

/// Checks a cast from `from` to `to`.
///
/// # Errors
/// What the cast demands, as a phrase.
pub fn check_cast(op: CastOp, from: TypeId, to: TypeId, types: &TypeTable) -> Result<(), String> {
    let shapes = types.is_scalar_or_vector(from) && types.is_scalar_or_vector(to);
    match op {
        CastOp::Static => expect(
            shapes
                && types.is_scalar(from) == types.is_scalar(to)
                && types.dim(from) == types.dim(to),
            "scalars, or vectors of one dimension",
        ),
        CastOp::Bitwise => {
            let width = |ty| types.scalar_of(ty).map(|s| s.bits() * u32::from(types.dim(ty)));
            let bools = types.is_bool(from) || types.is_bool(to);
            expect(
                shapes && !bools && width(from) == width(to),
                "scalars or vectors of as many bits",
            )
        }
    }
}

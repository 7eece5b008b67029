//! The numbers that literals name their types by.

use crate::types::{Scalar, TypeId};

/// Scalars in the order of the format, which is not that of vectors.
const SCALARS: [Scalar; 12] = [
    Scalar::Bool,
    Scalar::F32,
    Scalar::I32,
    Scalar::U32,
    Scalar::I16,
    Scalar::U16,
    Scalar::I64,
    Scalar::U64,
    Scalar::F16,
    Scalar::F64,
    Scalar::I8,
    Scalar::U8,
];

/// Elements of vectors in the order of the format.
const VECTORS: [Scalar; 12] = [
    Scalar::Bool,
    Scalar::F32,
    Scalar::I32,
    Scalar::U32,
    Scalar::I16,
    Scalar::U16,
    Scalar::I8,
    Scalar::U8,
    Scalar::I64,
    Scalar::U64,
    Scalar::F16,
    Scalar::F64,
];

/// All types that a literal can have, by number.
fn types() -> impl Iterator<Item = TypeId> {
    let scalars = SCALARS.into_iter().map(TypeId::scalar);
    let vectors =
        (2..=4).flat_map(|dim| VECTORS.into_iter().map(move |elem| TypeId::vector(elem, dim)));
    scalars.chain(vectors).chain((2..=4).map(TypeId::matrix))
}

/// The type of a number.
pub(super) fn type_of(number: u64) -> Option<TypeId> {
    types().nth(usize::try_from(number).ok().filter(|n| *n < 64)?)
}

/// The number of a type.
pub(super) fn number_of(ty: TypeId) -> Option<u64> {
    types().position(|t| t == ty).map(|i| i as u64)
}

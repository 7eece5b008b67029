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

/// All types that a literal can have, by number: scalars, vectors of 2, of 3, of 4, matrices.
const TYPES: [TypeId; 51] = {
    let mut types = [TypeId::VOID; 51];
    let mut i = 0;
    while i < 12 {
        types[i] = TypeId::scalar(SCALARS[i]);
        let mut dim = 2;
        while dim <= 4 {
            types[12 * (dim as usize - 1) + i] = TypeId::vector(VECTORS[i], dim);
            dim += 1;
        }
        i += 1;
    }
    types[48] = TypeId::matrix(2);
    types[49] = TypeId::matrix(3);
    types[50] = TypeId::matrix(4);
    types
};

/// The type of a number.
pub(super) fn type_of(number: u64) -> Option<TypeId> {
    TYPES.get(usize::try_from(number).ok()?).copied()
}

/// The number of a type.
pub(super) fn number_of(ty: TypeId) -> Option<u64> {
    TYPES.iter().position(|t| *t == ty).map(|i| i as u64)
}

#[cfg(test)]
mod tests {
    use super::{number_of, type_of};
    use crate::types::{Scalar, TypeId};

    #[test]
    fn numbers_are_those_of_the_format() {
        let rows = [
            (0, TypeId::BOOL),
            (9, TypeId::F64),
            (11, TypeId::scalar(Scalar::U8)),
            (12, TypeId::vector(Scalar::Bool, 2)),
            (19, TypeId::vector(Scalar::U8, 2)),
            (22, TypeId::vector(Scalar::F16, 2)),
            (32, TypeId::vector(Scalar::I64, 3)),
            (36, TypeId::vector(Scalar::Bool, 4)),
            (44, TypeId::vector(Scalar::I64, 4)),
            (47, TypeId::vector(Scalar::F64, 4)),
            (48, TypeId::matrix(2)),
            (50, TypeId::matrix(4)),
        ];
        for (number, ty) in rows {
            assert_eq!((type_of(number), number_of(ty)), (Some(ty), Some(number)));
        }
        assert_eq!((type_of(51), type_of(u64::MAX), number_of(TypeId::VOID)), (None, None, None));
    }
}

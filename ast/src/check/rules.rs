//! What fits what: relations between types that several checks use.

use crate::types::{Scalar, TypeId, TypeTable};

/// Whether a value of type `from` may stand where `to` is declared: equal types, or two scalars.
pub(super) fn assignable(types: &TypeTable, to: TypeId, from: TypeId) -> bool {
    to == from || (types.is_scalar(to) && types.is_scalar(from))
}

/// An integer, not a vector.
pub(super) fn is_index(types: &TypeTable, ty: TypeId) -> bool {
    types.is_scalar(ty) && types.is_integer(ty)
}

/// Scalar or vector of `scalar` with as many components as `like`, which is a scalar or vector.
pub(super) fn with_scalar(types: &TypeTable, like: TypeId, scalar: Scalar) -> Option<TypeId> {
    types.is_scalar_or_vector(like).then(|| TypeId::vector(scalar, types.dim(like)))
}

/// Bits of a scalar or vector as it stands in registers: without padding.
pub(super) fn register_bits(types: &TypeTable, ty: TypeId) -> Option<u32> {
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar_or_vector(ty))?;
    Some(8 * scalar.size() * u32::from(types.dim(ty)))
}

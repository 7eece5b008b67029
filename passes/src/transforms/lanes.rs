//! Constants of scalar and vector types as lanes.

use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::{Function, ValueId};

/// The lanes of a scalar or vector; those above its dimension are zero.
pub(crate) type Lanes = [u64; 4];

/// All lanes of a constant scalar or vector.
pub(crate) fn of_constant(func: &Function, types: &TypeTable, value: ValueId) -> Option<Lanes> {
    let ty = func.value_type(value);
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar_or_vector(ty))?;
    let bytes = func.constant_bytes(value)?.as_slice();
    let size = scalar.size() as usize;
    let mut lanes = Lanes::default();
    for (lane, part) in lanes.iter_mut().zip(bytes.chunks(size)).take(types.dim(ty) as usize) {
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(part);
        *lane = u64::from_le_bytes(bits);
    }
    Some(lanes)
}

/// The constant scalar or vector of these lanes.
pub(crate) fn to_constant(
    func: &mut Function,
    types: &TypeTable,
    ty: TypeId,
    lanes: &Lanes,
) -> Option<ValueId> {
    let size = types.scalar_of(ty)?.size() as usize;
    let mut bytes = vec![0; types.size(ty) as usize];
    for (part, lane) in bytes.chunks_mut(size).zip(lanes).take(types.dim(ty) as usize) {
        part.copy_from_slice(&lane.to_le_bytes()[..size]);
    }
    Some(func.constant(ty, bytes))
}

/// The same bits in every lane of a type.
pub(crate) fn splat(types: &TypeTable, ty: TypeId, bits: u64) -> Lanes {
    let mut lanes = Lanes::default();
    lanes[..types.dim(ty) as usize].fill(bits);
    lanes
}

/// All bits of an integer.
pub(crate) fn mask(scalar: Scalar) -> u64 {
    u64::MAX >> (64 - scalar.bits())
}

/// The scalar of an integer scalar or vector of 8 bits or more.
pub(crate) fn integer(types: &TypeTable, ty: TypeId) -> Option<Scalar> {
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar_or_vector(ty))?;
    (scalar.is_int() && scalar.bits() >= 8).then_some(scalar)
}

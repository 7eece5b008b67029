//! Operations on constants in memory layout.

use super::{Bits, flat, flat::Flat, plan};
use crate::math::composite;
use crate::op::{ArithmeticOp, CastOp};
use luisac_ast::types::{TypeId, TypeTable};

/// Values of more scalars are not folded: the result would only be a large copy.
const LIMIT: u64 = 1 << 16;

/// The value of `op` on constants (type, bytes in memory layout) as bytes of type `result`, padding zero. `None` if it is not
/// known: an index out of range, or operands that the operation does not take.
pub fn fold(
    types: &TypeTable,
    op: ArithmeticOp,
    result: TypeId,
    operands: &[(TypeId, &[u8])],
) -> Option<Vec<u8>> {
    let values: Vec<Vec<Bits>> = operands
        .iter()
        .map(|&(ty, bytes)| Some(Flat::of(types, ty, LIMIT)?.read(bytes)))
        .collect::<Option<_>>()?;
    let kinds: Vec<TypeId> = operands.iter().map(|o| o.0).collect();
    let scalars = if composite::is_movement(op) {
        moved(types, op, &kinds, &values)?
    } else {
        let slices: Vec<&[Bits]> = values.iter().map(Vec::as_slice).collect();
        plan(types, op, &kinds)?.apply(&slices)
    };
    to_bytes(types, result, &scalars)
}

/// The constant `bytes` of type `from` cast to type `to`. `None` if there is no such cast.
pub fn fold_cast(
    types: &TypeTable,
    op: CastOp,
    from: TypeId,
    to: TypeId,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let value = Flat::of(types, from, LIMIT)?.read(bytes);
    to_bytes(types, to, &super::plan::plan_cast(types, op, from, to)?.apply(&[&value]))
}

fn to_bytes(types: &TypeTable, ty: TypeId, scalars: &[Bits]) -> Option<Vec<u8>> {
    let flat = Flat::of(types, ty, LIMIT)?;
    (flat.parts.len() == scalars.len()).then(|| flat.write(scalars))
}

fn moved(
    types: &TypeTable,
    op: ArithmeticOp,
    kinds: &[TypeId],
    values: &[Vec<Bits>],
) -> Option<Vec<Bits>> {
    match op {
        ArithmeticOp::Aggregate => Some(values.concat()),
        ArithmeticOp::Shuffle => {
            let index = |v: &Vec<Bits>| values[0].get(usize::try_from(*v.first()?).ok()?).copied();
            values.get(1..)?.iter().map(index).collect()
        }
        ArithmeticOp::Extract => {
            let (at, ty) = path(types, *kinds.first()?, &kinds[1..], &values[1..])?;
            Some(values[0].get(at..at + flat::count(types, ty) as usize)?.to_vec())
        }
        ArithmeticOp::Insert => {
            let (at, ty) = path(types, *kinds.first()?, kinds.get(2..)?, values.get(2..)?)?;
            let mut whole = values[0].clone();
            let part = whole.get_mut(at..at + flat::count(types, ty) as usize)?;
            (part.len() == values[1].len()).then(|| part.copy_from_slice(&values[1]))?;
            Some(whole)
        }
        _ => None,
    }
}

/// Position in scalars and type of what constant indices name; `None` if one is out of range.
fn path(
    types: &TypeTable,
    mut ty: TypeId,
    kinds: &[TypeId],
    indices: &[Vec<Bits>],
) -> Option<(usize, TypeId)> {
    let mut at = 0;
    for (&kind, index) in kinds.iter().zip(indices) {
        let index = super::sign_extend(*index.first()?, types.scalar_of(kind)?);
        let index = u32::try_from(index).ok()?;
        let element = types.element_type(ty, index)?;
        at += flat::offset_of(types, ty, index);
        ty = element;
    }
    Some((usize::try_from(at).ok()?, ty))
}

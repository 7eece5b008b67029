//! Elements of composite values, without making instructions where the element is known.

use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Builder, Function, Op, ValueDef, ValueId};

/// Element `index` of a constant composite.
pub(crate) fn constant_element(
    func: &mut Function,
    types: &TypeTable,
    value: ValueId,
    index: u32,
) -> Option<ValueId> {
    let composite = func.value_type(value);
    let ty = types.element_type(composite, index)?;
    let offset = usize::try_from(types.member_offset(composite, index)).ok()?;
    let size = usize::try_from(types.size(ty)).ok()?;
    let bytes = func.constant_bytes(value)?.as_slice().get(offset..offset.checked_add(size)?)?;
    let bytes = bytes.to_vec();
    Some(func.constant(ty, bytes))
}

/// Element `index` of a composite, if it is at hand: of an `aggregate`, a constant or an undefined value, also below `insert`s
/// of other elements.
pub(crate) fn known_element(
    func: &mut Function,
    types: &TypeTable,
    value: ValueId,
    index: u32,
) -> Option<ValueId> {
    /// Inserts that are looked through, so that a chain of n inserts and n extracts stays linear.
    const MAX_INSERTS: usize = 32;
    let mut value = value;
    for _ in 0..MAX_INSERTS {
        match func.value_def(value) {
            ValueDef::Constant(_) => return constant_element(func, types, value, index),
            ValueDef::Undefined => {
                let ty = types.element_type(func.value_type(value), index)?;
                return Some(func.undefined(ty));
            }
            ValueDef::Inst(inst) => match func.op(inst) {
                Op::Arithmetic(ArithmeticOp::Aggregate) => {
                    return func.args(inst).get(index as usize).copied();
                }
                Op::Arithmetic(ArithmeticOp::Insert) => {
                    let args = func.args(inst);
                    let at = func.constant_bits(args[2])?;
                    match (args.len(), at == u64::from(index)) {
                        (3, true) => return Some(args[1]),
                        (_, true) => return None,
                        (_, false) => value = args[0],
                    }
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    None
}

/// Element `index` of a composite: known, or extracted at the builder's place.
pub(crate) fn element(builder: &mut Builder<'_>, value: ValueId, index: u32) -> ValueId {
    match known_element(builder.func, builder.types, value, index) {
        Some(known) => known,
        None => builder.extract(value, index),
    }
}

/// The constant index that a value is, if it names one of `count` elements.
pub(crate) fn constant_index(func: &Function, value: ValueId, count: u32) -> Option<u32> {
    let bits = func.constant_bits(value)?;
    (bits < u64::from(count)).then_some(bits as u32)
}

/// The number of scalars in a value of type `ty`, at most `limit`.
pub(crate) fn scalar_count(types: &TypeTable, ty: TypeId, limit: u64) -> u64 {
    let mut pending = vec![(ty, 1u64)];
    let mut count = 0u64;
    while let Some((ty, times)) = pending.pop() {
        if count >= limit {
            return limit;
        }
        let members = types.member_count(ty);
        if members == 0 {
            count = count.saturating_add(times);
        } else if types.is_struct(ty) {
            pending.extend((0..members).filter_map(|i| Some((types.element_type(ty, i)?, times))));
        } else if let Some(element) = types.element_type(ty, 0) {
            pending.push((element, times.saturating_mul(u64::from(members))));
        }
    }
    count.min(limit)
}

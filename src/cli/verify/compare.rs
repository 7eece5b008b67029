//! What a run left against what it should have left: scalar by scalar, padding left out.

use super::super::run::argument::{Actual, Formal, texel_scalar};
use super::recorded::{Expected, Want};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use std::fmt;

/// Scalars that a type is taken apart into. Longer ones are compared and made as far as this.
const MOST_LEAVES: usize = 1 << 20;

/// Offset and kind of each scalar of a value.
pub fn leaves(types: &TypeTable, ty: TypeId) -> Vec<(usize, Scalar)> {
    let mut found = Vec::new();
    let mut pending = vec![(0u64, ty)];
    while let Some((offset, ty)) = pending.pop() {
        if found.len() + pending.len() > MOST_LEAVES {
            break;
        }
        if let TypeKind::Scalar(scalar) = types.kind(ty) {
            found.push((offset as usize, *scalar));
            continue;
        }
        let count = types.member_count(ty).min(MOST_LEAVES as u32);
        let parts = (0..count).filter_map(|i| {
            Some((offset + types.member_offset(ty, i), types.element_type(ty, i)?))
        });
        let mut parts: Vec<_> = parts.collect();
        parts.reverse();
        pending.extend(parts);
    }
    found
}

/// How results are compared.
pub struct Rules<'a> {
    pub types: &'a TypeTable,
    pub formals: &'a [Formal],
    /// Relative, of floats; where a recorded case has its own, the larger one counts.
    pub tolerance: f64,
}

/// How a run differs from what it should be.
pub enum Difference {
    /// Numbers of an argument.
    Numbers { argument: usize, differ: usize, count: usize, first: usize, want: u64, got: u64 },
    /// Anything else.
    Text(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Numbers { argument, differ, count, first, want, got } => {
                write!(
                    f,
                    "argument {argument}: {differ} of {count} numbers differ, the first is [{first}]: {got:#x}, expected {want:#x}"
                )
            }
        }
    }
}

/// The first argument that differs, or the lines printed.
pub fn first_difference(
    rules: &Rules,
    expected: &Expected,
    after: &[Actual],
    lines: &[String],
) -> Option<Difference> {
    for (index, (formal, (want, got))) in
        rules.formals.iter().zip(expected.wants.iter().zip(after)).enumerate()
    {
        if let Some(difference) = argument(rules, (index, formal), want, got) {
            return Some(difference);
        }
    }
    let expected_lines = expected.lines.as_ref()?;
    // Threads come in any order.
    let sorted = |lines: &[String]| {
        let mut lines = lines.to_vec();
        lines.sort();
        lines
    };
    let (want, got) = (sorted(expected_lines), sorted(lines));
    if want == got {
        return None;
    }
    let first = want.iter().zip(&got).find(|(w, g)| w != g);
    let shown = first.map(|(w, g)| format!(": {g:?}, expected {w:?}")).unwrap_or_default();
    Some(Difference::Text(format!(
        "{} lines are printed, expected {}{shown}",
        got.len(),
        want.len()
    )))
}

fn argument(
    rules: &Rules,
    (index, formal): (usize, &Formal),
    want: &Want,
    got: &Actual,
) -> Option<Difference> {
    match got {
        // Nobody can change a value.
        Actual::Value(_) => None,
        Actual::Bindless(slots) => {
            let both = want.slots.iter().zip(slots);
            let buffers = both.filter_map(|(want, slot)| want.as_ref().zip(slot.buffer.as_ref()));
            buffers.into_iter().find_map(|(want, buffer)| {
                let each = element(rules.types, buffer.element);
                memory(rules, index, &each, want, &buffer.bytes)
            })
        }
        Actual::Buffer { bytes, .. } | Actual::Indirect(bytes) => {
            let each = match rules.types.kind(formal.ty) {
                TypeKind::Buffer { elem, .. } if *elem != TypeId::VOID => {
                    element(rules.types, *elem)
                }
                _ => element(rules.types, TypeId::scalar(Scalar::U8)),
            };
            memory(rules, index, &each, want, bytes)
        }
        Actual::Image(image) => {
            let scalar = texel_scalar(image.storage).unwrap_or(Scalar::U32);
            memory(rules, index, &element(rules.types, TypeId::scalar(scalar)), want, &image.bytes)
        }
    }
}

/// Compares elements, each of a size and with scalars at offsets.
fn memory(
    rules: &Rules,
    argument: usize,
    (size, leaves): &(usize, Vec<(usize, Scalar)>),
    want: &Want,
    bytes: &[u8],
) -> Option<Difference> {
    if bytes.len() != want.bytes.len() {
        let (got, want) = (bytes.len(), want.bytes.len());
        let text = format!("argument {argument} comes back with {got} bytes, expected {want}");
        return Some(Difference::Text(text));
    }
    let (mut differ, mut count, mut first) = (0, 0, None);
    for start in (0..bytes.len()).step_by((*size).max(1)) {
        for (offset, scalar) in leaves {
            let range = start + offset..start + offset + scalar.size() as usize;
            let (Some(w), Some(g)) = (want.bytes.get(range.clone()), bytes.get(range.clone()))
            else {
                continue;
            };
            let any = want.any.as_ref().and_then(|a| a.get(range));
            if any.is_some_and(|a| a.contains(&true)) {
                count += 1;
                continue;
            }
            let (w, g) = (number(w), number(g));
            if !same(*scalar, w, g, want.tolerance.max(rules.tolerance)) {
                differ += 1;
                first.get_or_insert((count, w, g));
            }
            count += 1;
        }
    }
    let (first, want, got) = first?;
    Some(Difference::Numbers { argument, differ, count, first, want, got })
}

/// Size and scalars of an element.
fn element(types: &TypeTable, ty: TypeId) -> (usize, Vec<(usize, Scalar)>) {
    (types.size(ty) as usize, leaves(types, ty))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn same(scalar: Scalar, want: u64, got: u64, tolerance: f64) -> bool {
    let float = |bits: u64| match scalar {
        Scalar::F16 => Some(half::f16::from_bits(bits as u16).to_f64()),
        Scalar::F32 => Some(f32::from_bits(bits as u32).into()),
        Scalar::F64 => Some(f64::from_bits(bits)),
        _ => None,
    };
    match (float(want), float(got)) {
        _ if want == got => true,
        (Some(w), Some(g)) => {
            (w.is_nan() && g.is_nan())
                || (tolerance > 0.0
                    && (w == g
                        || w.is_finite()
                            && (w - g).abs()
                                <= tolerance * w.abs().max(f64::from(f32::MIN_POSITIVE))))
        }
        _ if scalar == Scalar::Bool => (want != 0) == (got != 0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_compared_by_value_and_tolerance() {
        let bits = |x: f32| u64::from(x.to_bits());
        assert!(same(Scalar::F32, bits(1.0), bits(1.0), 0.0));
        assert!(!same(Scalar::F32, bits(0.0), bits(-0.0), 0.0));
        assert!(same(Scalar::F32, bits(0.0), bits(-0.0), 1e-6));
        assert!(same(Scalar::F32, bits(f32::NAN), bits(-f32::NAN), 0.0));
        assert!(!same(Scalar::F32, bits(f32::NAN), bits(1.0), 1.0));
        assert!(!same(Scalar::F32, bits(1.0), bits(1.01), 1e-3));
        assert!(same(Scalar::F32, bits(1.0), bits(1.0005), 1e-3));
        assert!(same(Scalar::F32, bits(f32::INFINITY), bits(f32::INFINITY), 1e-3));
        assert!(!same(Scalar::F32, bits(f32::INFINITY), bits(f32::MAX), 1e-3));
        assert!(!same(Scalar::I32, 1, 2, 1.0));
        assert!(same(Scalar::Bool, 1, 2, 0.0));
    }

    #[test]
    fn leaves_leave_padding_out() {
        let mut types = TypeTable::new();
        let pair = [TypeId::vector(Scalar::F32, 3), TypeId::BOOL];
        let pair = types.structure(0, pair).expect("a structure");
        let found = leaves(&types, pair);
        let f = Scalar::F32;
        assert_eq!(found, [(0, f), (4, f), (8, f), (16, Scalar::Bool)]);
        assert_eq!(leaves(&types, TypeId::matrix(3)).last(), Some(&(40, f)));
    }
}

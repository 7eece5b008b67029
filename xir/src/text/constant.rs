//! Constants as text, exact: integers in decimal, floats as the shortest decimal that reads back to the same bits, what has no
//! decimal in hexadecimal.

use super::types::{TypeNames, scalar_name};
use crate::ConstBytes;
use half::f16;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Composites of more scalars than this are written as bytes.
const MAX_LISTED: u64 = 16;
/// Constants of more bytes than this, that are not zero, are declared once ahead of the functions.
const MAX_INLINE: usize = 128;

/// Names long constants in the order in which they are first printed.
#[derive(Default)]
pub(super) struct ConstantNames {
    numbers: FxHashMap<(TypeId, ConstBytes), usize>,
    declarations: String,
}

impl ConstantNames {
    /// The declarations of all constants that got a name.
    pub(super) fn declarations(&self) -> &str {
        &self.declarations
    }

    /// Appends a constant operand: its name if it is long, else its text.
    pub(super) fn push(
        &mut self,
        out: &mut String,
        names: &mut TypeNames<'_>,
        types: &TypeTable,
        ty: TypeId,
        bytes: &ConstBytes,
    ) {
        let slice = bytes.as_slice();
        if slice.len() <= MAX_INLINE || slice.iter().all(|&b| b == 0) {
            return push_constant(out, names, types, ty, slice);
        }
        let next = self.numbers.len();
        let number = *self.numbers.entry((ty, bytes.clone())).or_insert(next);
        if number == next {
            let _ = write!(self.declarations, "const C{number} = ");
            push_constant(&mut self.declarations, names, types, ty, slice);
            self.declarations.push_str(";\n");
        }
        let _ = write!(out, "C{number}");
    }
}

/// Appends a constant with its type: `f32 1.5`, `const vector<f32, 2>(1.0, 2.0)`, `const T0 zero`, `const T0 hex 00ff…`.
fn push_constant(
    out: &mut String,
    names: &mut TypeNames<'_>,
    types: &TypeTable,
    ty: TypeId,
    bytes: &[u8],
) {
    let scalar = if types.contains(ty) { types.scalar_of(ty) } else { None };
    if let Some(scalar) = scalar.filter(|s| types.is_scalar(ty) && s.size() as usize == bytes.len())
    {
        let _ = write!(out, "{} ", scalar_name(scalar));
        push_scalar(out, scalar, bytes);
        return;
    }
    out.push_str("const ");
    names.push(out, ty);
    if !types.contains(ty) || types.size(ty) != bytes.len() as u64 {
        push_hex(out, bytes);
    } else if bytes.iter().all(|&b| b == 0) {
        out.push_str(" zero");
    } else if !push_elements(out, types, ty, bytes) {
        push_hex(out, bytes);
    }
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str(" hex \"");
    for &byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)] as char);
        out.push(DIGITS[usize::from(byte & 15)] as char);
    }
    out.push('"');
}

/// Number of scalars in a value, saturating at one more than the limit.
fn is_short(types: &TypeTable, ty: TypeId) -> bool {
    let mut count = 0u64;
    let mut stack = vec![(ty, 1u64)];
    while let Some((ty, times)) = stack.pop() {
        let members = u64::from(types.member_count(ty));
        match types.kind(ty) {
            TypeKind::Scalar(_) => count += times,
            TypeKind::Struct { members, .. } if members.len() as u64 <= MAX_LISTED => {
                stack.extend(members.iter().map(|m| (m.ty, times)));
            }
            _ if (1..=MAX_LISTED).contains(&members) && times <= MAX_LISTED => {
                stack.push((types.element_type(ty, 0).unwrap_or(TypeId::VOID), times * members));
            }
            _ => return false,
        }
        // An empty structure counts too: a list of them is no shorter than one of scalars.
        count += u64::from(types.is_struct(ty));
        if count > MAX_LISTED || stack.len() as u64 > MAX_LISTED {
            return false;
        }
    }
    true
}

enum Piece {
    Value(TypeId, u64),
    Text(&'static str),
}

/// Appends `(element, …)`; false, and nothing is appended, if the value is long or its padding is not zero.
fn push_elements(out: &mut String, types: &TypeTable, ty: TypeId, bytes: &[u8]) -> bool {
    let mut clean = bytes.to_vec();
    if !is_short(types, ty) {
        return false;
    }
    luisac_ast::layout::clear_padding(types, ty, &mut clean);
    if clean != bytes {
        return false;
    }
    let mut stack = vec![Piece::Value(ty, 0)];
    while let Some(piece) = stack.pop() {
        let (ty, at) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Value(ty, at) => (ty, at),
        };
        if let TypeKind::Scalar(scalar) = types.kind(ty) {
            let start = at as usize;
            push_scalar(out, *scalar, &bytes[start..start + scalar.size() as usize]);
            continue;
        }
        out.push('(');
        stack.push(Piece::Text(")"));
        for i in (0..types.member_count(ty)).rev() {
            let element = types.element_type(ty, i).unwrap_or(TypeId::VOID);
            stack.push(Piece::Value(element, at + types.member_offset(ty, i)));
            if i != 0 {
                stack.push(Piece::Text(", "));
            }
        }
    }
    true
}

/// Appends the value of a scalar; `bytes` has its size.
fn push_scalar(out: &mut String, scalar: Scalar, bytes: &[u8]) {
    let mut buffer = [0; 8];
    buffer[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(buffer);
    let digits = bytes.len() * 2;
    // Writing to a string cannot fail.
    let _ = match scalar {
        Scalar::Bool if bits <= 1 => write!(out, "{}", bits == 1),
        Scalar::I8 => write!(out, "{}", bits as i8),
        Scalar::I16 => write!(out, "{}", bits as i16),
        Scalar::I32 => write!(out, "{}", bits as i32),
        Scalar::I64 => write!(out, "{}", bits as i64),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => write!(out, "{bits}"),
        Scalar::F16 if !f16::from_bits(bits as u16).is_nan() => {
            write!(out, "{:?}", f16::from_bits(bits as u16).to_f32())
        }
        Scalar::F32 if !f32::from_bits(bits as u32).is_nan() => {
            write!(out, "{:?}", f32::from_bits(bits as u32))
        }
        Scalar::F64 if !f64::from_bits(bits).is_nan() => write!(out, "{:?}", f64::from_bits(bits)),
        _ => write!(out, "0x{bits:0digits$x}"),
    };
}

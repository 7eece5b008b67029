//! Values in memory layout as text: `1u`, `0.5`, `float3(1.0, 2.0, 3.0)`, `{1, 2}`.

use std::fmt::Write;

use super::types::Types;
use crate::types::{Scalar, TypeId, TypeKind, TypeTable};

/// Scalars of one value that are written; the rest of a long one is counted.
const MAX_SCALARS: usize = 256;

enum Part {
    Value(TypeId, u64),
    Text(&'static str),
}

/// Writes a value of `ty`; bytes that are not there are zero.
pub(super) fn write(types: &Types<'_>, ty: TypeId, bytes: &[u8], out: &mut String) {
    let table = types.table;
    let mut pending = vec![Part::Value(ty, 0)];
    let mut scalars = 0;
    while let Some(part) = pending.pop() {
        let (ty, offset) = match part {
            Part::Text(text) => {
                out.push_str(text);
                continue;
            }
            Part::Value(ty, offset) => (ty, offset),
        };
        if let TypeKind::Scalar(scalar) = table.kind(ty) {
            write_scalar(*scalar, read(bytes, offset, scalar.size()), out);
            scalars += 1;
        } else {
            open(types, ty, out);
            pending.push(Part::Text(close(table, ty)));
            let (count, room) = (table.member_count(ty), MAX_SCALARS.saturating_sub(scalars));
            let shown = count.min(room as u32);
            if shown < count {
                pending.push(Part::Text(if shown > 0 { ", ..." } else { "..." }));
            }
            for i in (0..shown).rev() {
                if let Some(element) = table.element_type(ty, i) {
                    pending.push(Part::Value(element, offset + table.member_offset(ty, i)));
                    pending.push(Part::Text(if i > 0 { ", " } else { "" }));
                }
            }
        }
    }
}

fn open(types: &Types<'_>, ty: TypeId, out: &mut String) {
    if types.table.is_vector(ty) || types.table.is_matrix(ty) {
        types.write(ty, out);
        out.push('(');
    } else {
        out.push('{');
    }
}

fn close(table: &TypeTable, ty: TypeId) -> &'static str {
    if table.is_vector(ty) || table.is_matrix(ty) { ")" } else { "}" }
}

/// An unsigned number of up to 8 bytes.
fn read(bytes: &[u8], offset: u64, size: u32) -> u64 {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let part = bytes.get(start..).unwrap_or_default();
    let part = &part[..part.len().min(size as usize)];
    part.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn write_scalar(scalar: Scalar, bits: u64, out: &mut String) {
    let signed = || {
        let shift = 64 - 8 * scalar.size();
        (bits << shift) as i64 >> shift
    };
    // Writing to memory cannot fail.
    let _ = match scalar {
        Scalar::Bool => write!(out, "{}", bits != 0),
        Scalar::I32 => write!(out, "{}", signed()),
        Scalar::U32 => write!(out, "{bits}u"),
        Scalar::I8 => write!(out, "{}b", signed()),
        Scalar::U8 => write!(out, "{bits}ub"),
        Scalar::I16 => write!(out, "{}s", signed()),
        Scalar::U16 => write!(out, "{bits}us"),
        Scalar::I64 => write!(out, "{}l", signed()),
        Scalar::U64 => write!(out, "{bits}ul"),
        Scalar::F16 => float(out, half(bits as u16), "h", bits, "half"),
        Scalar::F32 => {
            let value = f32::from_bits(bits as u32);
            if value.is_finite() {
                write!(out, "{value:?}")
            } else {
                float(out, f64::from(value), "", bits, "float")
            }
        }
        Scalar::F64 => float(out, f64::from_bits(bits), "d", bits, "double"),
        Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I4 | Scalar::F4E2M1 => {
            write!(out, "{}(0x{bits:02x})", scalar.name())
        }
    };
}

/// A float with its suffix; one that is no number by its bits, which differ from NaN to NaN.
fn float(out: &mut String, value: f64, suffix: &str, bits: u64, name: &str) -> std::fmt::Result {
    if value.is_nan() {
        write!(out, "bitcast<{name}>(0x{bits:x})")
    } else if value.is_infinite() {
        write!(out, "{}inf{suffix}", if value < 0.0 { "-" } else { "" })
    } else {
        write!(out, "{value:?}{suffix}")
    }
}

/// An IEEE half, exactly.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

//! Printed values as text, in LuisaCompute's format.
//!
//! `{}` takes the next value, `{{` and `}}` are braces; a placeholder without a value stays as it is. Vectors read `(1, 2)`,
//! matrices `<(1, 0), (0, 1)>` by column, arrays `[1, 2]`, structures `{1, 2.5}`. Floats have the fewest digits that read back
//! as the same number.

use crate::eval::{Bits, sign_extend};
use crate::{Scalar, TypeId, TypeKind, TypeTable};
use half::f16;
use std::fmt::{LowerExp, Write};

/// The line of a print: its format and its values, flat.
pub(super) fn line(types: &TypeTable, format: &str, values: &[(TypeId, Vec<Bits>)]) -> String {
    let mut values = values.iter();
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            out.push_str(&rest[..1]);
            rest = &rest[2..];
            continue;
        }
        // What stands between the braces chooses a style in other systems; ours has one.
        let end = if rest.starts_with('{') { rest.find('}').map_or(1, |e| e + 1) } else { 1 };
        match if end > 1 { values.next() } else { None } {
            Some((ty, bits)) => write_value(&mut out, types, *ty, &mut bits.iter().copied()),
            None => out.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// What is still to be written of a value.
enum Piece {
    Text(&'static str),
    Value(TypeId),
}

/// Keeps its own stack: types nest deep.
fn write_value(
    out: &mut String,
    types: &TypeTable,
    ty: TypeId,
    bits: &mut impl Iterator<Item = Bits>,
) {
    let mut stack = vec![Piece::Value(ty)];
    while let Some(piece) = stack.pop() {
        let ty = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Value(ty) => ty,
        };
        let (open, close) = match types.kind(ty) {
            TypeKind::Scalar(scalar) => {
                write_scalar(out, *scalar, bits.next().unwrap_or(0));
                continue;
            }
            TypeKind::Vector { .. } => ("(", ")"),
            TypeKind::Matrix { .. } => ("<", ">"),
            TypeKind::Struct { .. } => ("{", "}"),
            _ => ("[", "]"),
        };
        out.push_str(open);
        stack.push(Piece::Text(close));
        for i in (0..types.member_count(ty)).rev() {
            if let Some(element) = types.element_type(ty, i) {
                stack.push(Piece::Value(element));
            }
            if i > 0 {
                stack.push(Piece::Text(", "));
            }
        }
    }
}

fn write_scalar(out: &mut String, scalar: Scalar, bits: Bits) {
    // A `String` takes everything that is written to it.
    let _ = match scalar {
        Scalar::Bool => write!(out, "{}", bits != 0),
        Scalar::F16 => write_half(out, f16::from_bits(bits as u16)),
        Scalar::F32 => {
            let value = f32::from_bits(bits as u32);
            write_float(out, value, f64::from(value))
        }
        Scalar::F64 => write_float(out, f64::from_bits(bits), f64::from_bits(bits)),
        s if s.is_signed() => write!(out, "{}", sign_extend(bits, s)),
        _ => write!(out, "{bits}"),
    };
}

/// A half, whose shortest digits the standard library does not know: at most five are needed.
fn write_half(out: &mut String, value: f16) -> std::fmt::Result {
    let wide = f64::from(value);
    let shortest = (0..5)
        .filter_map(|digits| format!("{wide:.digits$e}").parse::<f64>().ok())
        .find(|&short| f16::from_f64(short) == value);
    write_float(out, shortest.unwrap_or(wide), wide)
}

/// `value` in the fewest digits of its own type: plain from 1e-4 to below 1e16, else with an exponent of a sign and at least
/// two digits.
fn write_float(out: &mut String, value: impl LowerExp, wide: f64) -> std::fmt::Result {
    if !wide.is_finite() {
        let sign = if wide.is_sign_negative() { "-" } else { "" };
        return write!(out, "{sign}{}", if wide.is_nan() { "nan" } else { "inf" });
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        return write!(out, "{mantissa}e{exponent:+03}");
    }
    let (sign, magnitude) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits = magnitude.replace('.', "");
    out.push_str(sign);
    if exponent < 0 {
        return write!(out, "0.{}{digits}", "0".repeat(-exponent as usize - 1));
    }
    let whole = exponent as usize + 1;
    match digits.get(whole..) {
        Some("") => out.write_str(&digits),
        Some(fraction) => write!(out, "{}.{fraction}", &digits[..whole]),
        None => write!(out, "{digits}{}", "0".repeat(whole - digits.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shows(ty: TypeId, bits: &[Bits], text: &str) {
        assert_eq!(line(&TypeTable::new(), "{}", &[(ty, bits.to_vec())]), text);
    }

    #[test]
    fn values() {
        for (value, text) in [
            (0.0f32, "0"),
            (-0.0, "-0"),
            (-2.25, "-2.25"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (123456.7, "123456.7"),
            (1e15, "1000000000000000"),
            (1e16, "1e+16"),
            (f32::NAN, "nan"),
            (f32::NEG_INFINITY, "-inf"),
        ] {
            shows(TypeId::F32, &[value.to_bits().into()], text);
        }
        shows(TypeId::F16, &[f16::from_f32(0.1).to_bits().into()], "0.1");
        shows(TypeId::F16, &[f16::MAX.to_bits().into()], "65500");
        shows(TypeId::I32, &[0xffff_ffff], "-1");
        shows(TypeId::U64, &[u64::MAX], "18446744073709551615");
        shows(TypeId::BOOL, &[1], "true");
        shows(TypeId::vector(Scalar::I16, 3), &[1, 2, 0xffff], "(1, 2, -1)");
        let one = u64::from(1f32.to_bits());
        shows(TypeId::matrix(2), &[one, 0, 0, one], "<(1, 0), (0, 1)>");
    }

    #[test]
    fn formats() {
        let types = TypeTable::new();
        let ints = |n: u64| (1..=n).map(|i| (TypeId::U32, vec![i])).collect::<Vec<_>>();
        assert_eq!(line(&types, "a {} b {} {{x}} {", &ints(2)), "a 1 b 2 {x} {");
        assert_eq!(line(&types, "{} {}", &ints(1)), "1 {}");
        assert_eq!(line(&types, "{:>8} }", &ints(1)), "1 }");
    }
}

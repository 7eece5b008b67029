//! Printed values as text.
//!
//! `{}` takes the next value, `{{` and `}}` are braces; a placeholder without a value stays as it is. Values read
//! `true`, `-3`, `2.5`, `1e+20`, `nan`; vectors `(1, 2, 3)`, matrices `<(1, 0), (0, 1)>` by column, arrays `[1, 2]`,
//! structures `{1, 2.5}`. Floats have the fewest digits that read back as the same number.

use std::fmt::{LowerExp, Write};

use half::f16;
use luisac_artifact::{DataLayout, Scalar, TypeId, TypeKind, metadata::Format};

/// The line of one record, or nothing if the record does not hold its values.
pub(crate) fn line(format: &Format, arguments: &[u8]) -> Option<String> {
    let mut values = format.arguments.iter();
    let mut out = String::new();
    let mut rest = format.text.as_str();
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
        match values.next().filter(|_| end > 1) {
            Some(value) => {
                let layout = DataLayout::parse(&value.ty).ok()?;
                write_value(&mut out, &layout, arguments.get(value.offset as usize..)?)?;
            }
            None => out.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    Some(out)
}

/// What is still to be written.
enum Piece {
    Text(&'static str),
    Value(TypeId, u64),
    /// The elements of an array from an index on: element type, offset, how many.
    Elements(TypeId, u64, u64),
}

/// Writes the value at the start of `bytes`. Keeps its own stack: types nest as deep as they like.
fn write_value(out: &mut String, layout: &DataLayout, bytes: &[u8]) -> Option<()> {
    let mut stack = vec![Piece::Value(layout.root(), 0)];
    while let Some(piece) = stack.pop() {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Elements(element, at, left) => {
                if left > 1 {
                    stack.push(Piece::Elements(element, at + layout.size(element), left - 1));
                    stack.push(Piece::Text(", "));
                }
                stack.push(Piece::Value(element, at));
            }
            Piece::Value(id, at) => match layout.kind(id) {
                TypeKind::Scalar(s) => write_scalar(out, *s, bytes, at)?,
                TypeKind::Vector(s, n) => write_vector(out, *s, *n, bytes, at)?,
                TypeKind::Matrix(n) => {
                    let column = layout.size(id) / u64::from(*n);
                    for c in 0..u64::from(*n) {
                        out.push_str(if c == 0 { "<" } else { ", " });
                        write_vector(out, Scalar::Float, *n, bytes, at + c * column)?;
                    }
                    out.push('>');
                }
                TypeKind::Array(element, n) => {
                    out.push('[');
                    stack.push(Piece::Text("]"));
                    // Elements without bytes could be any number of them.
                    if *n > 0 && layout.size(*element) > 0 {
                        stack.push(Piece::Elements(*element, at, *n));
                    }
                }
                TypeKind::Struct(members) => {
                    out.push('{');
                    stack.push(Piece::Text("}"));
                    for (i, (member, offset)) in members.iter().enumerate().rev() {
                        stack.push(Piece::Value(*member, at + offset));
                        if i > 0 {
                            stack.push(Piece::Text(", "));
                        }
                    }
                }
                _ => return None,
            },
        }
    }
    Some(())
}

fn write_vector(out: &mut String, scalar: Scalar, n: u32, bytes: &[u8], at: u64) -> Option<()> {
    for i in 0..n {
        out.push_str(if i == 0 { "(" } else { ", " });
        write_scalar(out, scalar, bytes, at + u64::from(i * scalar.bytes()))?;
    }
    out.push(')');
    Some(())
}

fn write_scalar(out: &mut String, scalar: Scalar, bytes: &[u8], at: u64) -> Option<()> {
    let bytes = bytes.get(usize::try_from(at).ok()?..)?.get(..scalar.bytes() as usize)?;
    let bits = bytes.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
    // A `String` takes everything that is written to it.
    let _ = match scalar {
        Scalar::Bool => write!(out, "{}", bits != 0),
        Scalar::Byte => write!(out, "{}", bits as i8),
        Scalar::Short => write!(out, "{}", bits as i16),
        Scalar::Int => write!(out, "{}", bits as i32),
        Scalar::Long => write!(out, "{}", bits as i64),
        Scalar::UByte | Scalar::UShort | Scalar::UInt | Scalar::ULong => write!(out, "{bits}"),
        Scalar::Half => write_half(out, f16::from_bits(bits as u16)),
        Scalar::Float => {
            write_float(out, f32::from_bits(bits as u32), f64::from(f32::from_bits(bits as u32)))
        }
        Scalar::Double => write_float(out, f64::from_bits(bits), f64::from_bits(bits)),
        Scalar::Int4 => write!(out, "{}", (bits as i8) << 4 >> 4),
        Scalar::Float8E4M3 => write_small(out, bits, 4, 3, false),
        Scalar::Float8E5M2 => write_small(out, bits, 5, 2, true),
        Scalar::Fp4E2M1 => write_small(out, bits & 0xf, 2, 1, false),
    };
    Some(())
}

/// A half, whose shortest digits the standard library does not know: at most five are needed.
fn write_half(out: &mut String, value: f16) -> std::fmt::Result {
    let wide = f64::from(value);
    let mut shortest = (0..5).map(|digits| format!("{wide:.digits$e}").parse().unwrap_or(wide));
    let shortest = { shortest }.find(|s| f16::from_f64(*s) == value).unwrap_or(wide);
    write_float(out, shortest, wide)
}

/// A float of a sign, `exponent` and `mantissa` bits; only `ieee` ones have infinities.
fn write_small(
    out: &mut String,
    bits: u64,
    exponent: u32,
    mantissa: u32,
    ieee: bool,
) -> std::fmt::Result {
    let (fraction, top) = (bits & ((1 << mantissa) - 1), (1 << exponent) - 1);
    let biased = bits >> mantissa & top;
    let bias = (1 << (exponent - 1)) - 1;
    let value = match (biased, fraction) {
        (b, 0) if b == top && ieee => f64::INFINITY,
        (b, _) if b == top && ieee => f64::NAN,
        (0xf, 7) if exponent == 4 => f64::NAN,
        (0, f) => f as f64 * 2f64.powi(1 - bias - mantissa as i32),
        (b, f) => ((1 << mantissa) + f) as f64 * 2f64.powi(b as i32 - bias - mantissa as i32),
    };
    let value = if bits >> (exponent + mantissa) & 1 == 1 { -value } else { value };
    // Every such value is a short decimal, so the digits of the double are those of the small float.
    write_float(out, value, value)
}

/// `value` in the fewest digits of its own type: plain from 1e-4 to below 1e16, else with an exponent of at least
/// two digits and a sign.
fn write_float(out: &mut String, value: impl LowerExp, wide: f64) -> std::fmt::Result {
    if wide.is_nan() {
        return out.write_str(if wide.is_sign_negative() { "-nan" } else { "nan" });
    }
    if wide.is_infinite() {
        return out.write_str(if wide < 0.0 { "-inf" } else { "inf" });
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(m) => ("-", m.replace('.', "")),
        None => ("", mantissa.replace('.', "")),
    };
    if !(-4..16).contains(&exponent) {
        return write!(out, "{mantissa}e{exponent:+03}");
    }
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
    use luisac_artifact::metadata::{FormatArgument, FormatKind};

    use super::*;

    #[track_caller]
    fn shows(ty: &str, bytes: &[u8], text: &str) {
        prints("{}", &[(ty, 0)], bytes, text);
    }

    #[track_caller]
    fn prints(format: &str, arguments: &[(&str, u32)], bytes: &[u8], text: &str) {
        let arguments = arguments
            .iter()
            .map(|(ty, offset)| FormatArgument { ty: (*ty).into(), offset: *offset })
            .collect();
        let format =
            Format { kind: FormatKind::Print, text: format.into(), arguments, record_size: 0 };
        assert_eq!(line(&format, bytes).as_deref(), Some(text));
    }

    #[test]
    fn floats() {
        for (value, text) in [
            (0.0f32, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.25, "-2.25"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (123456.7, "123456.7"),
            (1e15, "1000000000000000"),
            (1e16, "1e+16"),
            (3.4028235e38, "3.4028235e+38"),
            (f32::NAN, "nan"),
            (f32::NEG_INFINITY, "-inf"),
            (100.0, "100"),
        ] {
            shows("float", &value.to_le_bytes(), text);
        }
        shows("half", &f16::from_f32(0.1).to_le_bytes(), "0.1");
        shows("half", &f16::MAX.to_le_bytes(), "65500");
        shows("half", &f16::from_bits(1).to_le_bytes(), "6e-08");
        shows("half", &f16::NAN.to_le_bytes(), "nan");
        shows("double", &0.1f64.to_le_bytes(), "0.1");
        shows("float8e4m3", &[0x7e], "448");
        shows("float8e4m3", &[0xff], "-nan");
        shows("float8e5m2", &[0x7c], "inf");
        shows("fp4e2m1", &[0xf], "-6");
    }

    #[test]
    fn others() {
        shows("bool", &[2], "true");
        shows("byte", &[0xff], "-1");
        shows("ulong", &[0xff; 8], "18446744073709551615");
        shows("int4", &[0x0f], "-1");
        shows("vector<short,3>", &[1, 0, 2, 0, 0xff, 0xff, 9, 9], "(1, 2, -1)");
        let m: Vec<u8> = [1.0f32, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0, 7.0, 8.0, 9.0, 0.0]
            .iter()
            .flat_map(|f| f.to_le_bytes())
            .collect();
        shows("matrix<3>", &m, "<(1, 2, 3), (4, 5, 6), (7, 8, 9)>");
        shows(
            "struct<4,array<ubyte,3>,int,struct<1>>",
            &[1, 2, 3, 0, 4, 0, 0, 0],
            "{[1, 2, 3], 4, {}}",
        );
        shows("array<struct<1>,4000000000>", &[], "[]");
    }

    #[test]
    fn formats() {
        prints("a {} b {} {{x}} {", &[("ubyte", 0), ("ubyte", 3)], &[1, 0, 0, 4], "a 1 b 4 {x} {");
        prints("{} {}", &[("ubyte", 0)], &[1], "1 {}");
        prints("{:>8} }", &[("ubyte", 0)], &[1], "1 }");
        prints("none", &[], &[], "none");
    }

    #[test]
    fn short_records_are_refused() {
        let format = Format {
            kind: FormatKind::Print,
            text: "{}".into(),
            arguments: vec![FormatArgument { ty: "int".into(), offset: 1 }],
            record_size: 0,
        };
        assert_eq!(line(&format, &[0; 4]), None);
    }
}

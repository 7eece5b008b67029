//! Constants as text that reads back to the same bits.

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};

use super::Language;
use super::expr::{Expr, Prec};

/// A scalar.
pub fn scalar(language: Language, scalar: Scalar, bits: u64) -> Expr {
    let width = scalar.size() * 8;
    let signed = (bits << (64 - width)) as i64 >> (64 - width);
    match scalar {
        Scalar::Bool => Expr::atom(if bits & 0xff != 0 { "true" } else { "false" }),
        Scalar::F16 => half(language, bits as u16),
        Scalar::F32 => single(language, bits as u32),
        Scalar::F64 => double(bits),
        s if s.is_signed() => signed_integer(language, s, signed),
        s => unsigned_integer(language, s, bits),
    }
}

fn negative(text: String) -> Expr {
    let prec = if text.starts_with('-') { Prec::Unary } else { Prec::Atom };
    Expr { prec, ..Expr::atom(text) }
}

fn signed_integer(language: Language, scalar: Scalar, value: i64) -> Expr {
    let name = language.scalar(scalar);
    match (scalar, language) {
        (Scalar::I64, _) if value == i64::MIN => {
            Expr::atom(format!("{name}(0x8000000000000000{})", long_suffix(language, true)))
        }
        (Scalar::I64, _) => negative(format!("{value}{}", long_suffix(language, false))),
        (Scalar::I32, _) | (Scalar::I8, Language::Hlsl) if value == i64::from(i32::MIN) => {
            Expr::atom("int(0x80000000u)")
        }
        (Scalar::I32, _) | (Scalar::I8, Language::Hlsl) => negative(value.to_string()),
        _ => Expr::atom(format!("{name}({value})")),
    }
}

fn unsigned_integer(language: Language, scalar: Scalar, value: u64) -> Expr {
    match (scalar, language) {
        (Scalar::U64, _) => Expr::atom(format!("{value}{}", long_suffix(language, true))),
        (Scalar::U32, _) | (Scalar::U8, Language::Hlsl) => Expr::atom(format!("{value}u")),
        _ => Expr::atom(format!("{}({value})", language.scalar(scalar))),
    }
}

fn long_suffix(language: Language, unsigned: bool) -> &'static str {
    match (language, unsigned) {
        (Language::Hlsl, false) => "ll",
        (Language::Hlsl, true) => "ull",
        (Language::Msl, false) => "l",
        (Language::Msl, true) => "ul",
    }
}

/// The shortest decimals that name this value, with a point or an exponent.
fn decimals(shortest: String) -> String {
    if shortest.contains(['.', 'e']) { shortest } else { format!("{shortest}.0") }
}

fn single(language: Language, bits: u32) -> Expr {
    let value = f32::from_bits(bits);
    if value.is_normal() || bits == 0 {
        return negative(format!("{}f", decimals(format!("{value:?}"))));
    }
    match language {
        Language::Hlsl => Expr::atom(format!("asfloat({bits:#010x}u)")),
        Language::Msl => Expr::atom(format!("as_type<float>({bits:#010x}u)")),
    }
}

/// Every normal half is a normal float, and what the float is rounded to is the half again.
fn half(language: Language, bits: u16) -> Expr {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let name = language.scalar(Scalar::F16);
    if bits == 0 || (1..31).contains(&exponent) {
        let magnitude =
            if bits == 0 { 0.0 } else { (1.0 + mantissa / 1024.0) * f32::powi(2.0, exponent - 15) };
        let sign = if bits >> 15 == 1 { "-" } else { "" };
        return Expr::atom(format!("{name}({sign}{}f)", decimals(format!("{magnitude:?}"))));
    }
    match language {
        Language::Hlsl => Expr::atom(format!("asfloat16(uint16_t({bits:#06x}))")),
        Language::Msl => Expr::atom(format!("as_type<half>(ushort({bits:#06x}))")),
    }
}

fn double(bits: u64) -> Expr {
    let value = f64::from_bits(bits);
    if value.is_normal() || bits == 0 {
        return negative(format!("{}L", decimals(format!("{value:?}"))));
    }
    Expr::atom(format!("asdouble({:#010x}u, {:#010x}u)", bits as u32, bits >> 32))
}

/// The bits of a scalar at an offset of a constant.
pub fn bits_at(bytes: &[u8], offset: usize, size: usize) -> u64 {
    let mut word = [0; 8];
    if let Some(part) = bytes.get(offset..offset + size.min(8)) {
        word[..part.len()].copy_from_slice(part);
    }
    u64::from_le_bytes(word)
}

/// A vector or scalar.
pub fn vector(language: Language, types: &TypeTable, ty: TypeId, bytes: &[u8]) -> Expr {
    let element = types.scalar_of(ty).unwrap_or(Scalar::U32);
    let size = element.size() as usize;
    let lane = |i: usize| scalar(language, element, bits_at(bytes, i * size, size));
    if types.is_scalar(ty) {
        return lane(0);
    }
    let lanes: Vec<Expr> = (0..usize::from(types.dim(ty))).map(lane).collect();
    let name = language.vector(element, types.dim(ty));
    if language == Language::Msl && lanes.iter().all(|l| l.text == lanes[0].text) {
        return Expr::atom(format!("{name}({})", lanes[0].text));
    }
    let lanes: Vec<String> = lanes.into_iter().map(|l| l.text).collect();
    Expr::atom(format!("{name}({})", lanes.join(", ")))
}

/// The columns of a matrix.
pub fn matrix(language: Language, types: &TypeTable, ty: TypeId, bytes: &[u8]) -> Expr {
    let column = types.element_type(ty, 0).unwrap_or(ty);
    let stride = types.stride(column) as usize;
    let columns: Vec<String> = (0..usize::from(types.dim(ty)))
        .map(|i| vector(language, types, column, bytes.get(i * stride..).unwrap_or_default()).text)
        .collect();
    Expr::atom(format!("float{0}x{0}({1})", types.dim(ty), columns.join(", ")))
}

/// Items on one line of a long list.
const ITEMS_A_LINE: usize = 12;

/// The initialiser of any data, braces within braces.
pub fn initialiser(language: Language, types: &TypeTable, ty: TypeId, bytes: &[u8]) -> String {
    enum Step {
        Value(TypeId, usize),
        Text(&'static str),
    }
    let mut out = String::new();
    let mut items = 0;
    let mut steps = vec![Step::Value(ty, 0)];
    while let Some(step) = steps.pop() {
        let (ty, at) = match step {
            Step::Text(text) => {
                out.push_str(text);
                continue;
            }
            Step::Value(ty, at) => (ty, at),
        };
        let rest = bytes.get(at..).unwrap_or_default();
        match types.kind(ty) {
            TypeKind::Matrix { .. } => out.push_str(&matrix(language, types, ty, rest).text),
            TypeKind::Array { .. } | TypeKind::Struct { .. } => {
                let is_array = types.is_array(ty);
                out.push_str(if is_array { "{ { " } else { "{ " });
                steps.push(Step::Text(if is_array { " } }" } else { " }" }));
                for i in (0..types.member_count(ty)).rev() {
                    let member = types.element_type(ty, i).unwrap_or(TypeId::VOID);
                    steps.push(Step::Value(member, at + types.member_offset(ty, i) as usize));
                    if i > 0 {
                        steps.push(Step::Text(", "));
                    }
                }
            }
            _ => {
                items += 1;
                if items % ITEMS_A_LINE == 0 {
                    out.push_str("\n    ");
                }
                out.push_str(&vector(language, types, ty, rest).text);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_their_bits() {
        let hlsl = |s, bits| scalar(Language::Hlsl, s, bits).text;
        let msl = |s, bits| scalar(Language::Msl, s, bits).text;
        assert_eq!(hlsl(Scalar::F32, u64::from(0.1f32.to_bits())), "0.1f");
        assert_eq!(hlsl(Scalar::F32, u64::from(1e30f32.to_bits())), "1e30f");
        assert_eq!(hlsl(Scalar::F32, u64::from((-2.0f32).to_bits())), "-2.0f");
        assert_eq!(hlsl(Scalar::F32, 0x8000_0000), "asfloat(0x80000000u)");
        assert_eq!(hlsl(Scalar::F32, 1), "asfloat(0x00000001u)");
        assert_eq!(msl(Scalar::F32, 0x7fc0_0000), "as_type<float>(0x7fc00000u)");
        assert_eq!(hlsl(Scalar::I32, 0x8000_0000), "int(0x80000000u)");
        assert_eq!(hlsl(Scalar::I32, 0xffff_ffff), "-1");
        assert_eq!(hlsl(Scalar::I8, 0xff), "-1");
        assert_eq!(msl(Scalar::I8, 0xff), "char(-1)");
        assert_eq!(hlsl(Scalar::U64, u64::MAX), "18446744073709551615ull");
        assert_eq!(msl(Scalar::I64, 1 << 63), "long(0x8000000000000000ul)");
        assert_eq!(hlsl(Scalar::F16, 0x2e66), "float16_t(0.099975586f)");
        assert_eq!(msl(Scalar::F16, 0x0001), "as_type<half>(ushort(0x0001))");
        assert_eq!(
            hlsl(Scalar::F64, f64::INFINITY.to_bits()),
            "asdouble(0x00000000u, 0x7ff00000u)"
        );
        assert_eq!(hlsl(Scalar::F64, 0.1f64.to_bits()), "0.1L");
    }

    #[test]
    fn every_normal_half_is_written_as_a_float_that_rounds_back() {
        for bits in 0..=u16::MAX {
            let text = half(Language::Hlsl, bits).text;
            if let Some(inner) = text.strip_prefix("float16_t(").and_then(|t| t.strip_suffix("f)"))
            {
                let value: f32 = inner.parse().expect("a float");
                assert_eq!(::half::f16::from_f32(value).to_bits(), bits, "{text}");
            }
        }
    }
}

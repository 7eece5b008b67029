//! Buffers in HLSL: byte addresses, so that every layout is what the ABI says.
//!
//! Numbers of 16 bits and more, and their vectors, are loaded and stored as they are; a bool or a number of 8 bits lies in a word.
//! HLSL has no store of less than 16 bits, so such a store clears and sets its own bits of the word by two atomic operations: neighbours that
//! other threads store are never lost. Structures and arrays go through functions, one a type, in the order of their members.

use luisac_ast::types::{Scalar, TypeId, TypeKind};
use std::fmt::Write;

use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::FnEmit;
use crate::clike::language::Language;
use crate::clike::module::ModuleEmit;
use crate::clike::resources::Element;

/// What is loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Read,
    Write,
    /// The parameter block.
    Params,
}

impl Source {
    /// Of a buffer.
    pub fn of(writable: bool) -> Source {
        if writable { Source::Write } else { Source::Read }
    }

    fn prefix(self) -> &'static str {
        match self {
            Source::Read | Source::Write => "lc_load",
            Source::Params => "lc_param",
        }
    }

    /// The parameter list of a helper.
    fn parameters(self) -> &'static str {
        match self {
            Source::Read => "ByteAddressBuffer b, uint at",
            Source::Write => "RWByteAddressBuffer b, uint at",
            Source::Params => "uint at",
        }
    }
}

/// A name for a type that an identifier can end in.
fn word(cx: &ModuleEmit<'_>, ty: TypeId) -> String {
    match cx.types.kind(ty) {
        TypeKind::Scalar(s) => s.name().to_string(),
        TypeKind::Vector { elem, dim } => format!("{}{dim}", elem.name()),
        _ => cx.type_name(ty),
    }
}

/// Whether a type is loaded and stored as it is.
fn is_direct(cx: &ModuleEmit<'_>, ty: TypeId) -> bool {
    cx.types.is_scalar_or_vector(ty) && cx.types.scalar_of(ty).is_some_and(|s| s.size() > 1)
}

/// The text that loads a value.
pub fn load_text(
    cx: &mut ModuleEmit<'_>,
    source: Source,
    ty: TypeId,
    handle: &str,
    at: &str,
) -> String {
    if is_direct(cx, ty) && source != Source::Params {
        return format!("{handle}.Load<{}>({at})", cx.type_name(ty));
    }
    let name = format!("{}_{}", source.prefix(), word(cx, ty));
    let key = format!("{name}/{source:?}");
    cx.helper(&key, |cx| load_helper(cx, source, ty, &name));
    match source {
        Source::Params => format!("{name}({at})"),
        _ => format!("{name}({handle}, {at})"),
    }
}

/// The word at an offset.
fn word_at(cx: &mut ModuleEmit<'_>, source: Source, at: &str) -> String {
    if source == Source::Params {
        cx.helper("lc_param", |_| {
            "uint lc_param(uint at) {\n    return params[at >> 4][(at >> 2) & 3u];\n}\n".to_string()
        });
        return format!("lc_param({at})");
    }
    format!("b.Load({at})")
}

fn load_helper(cx: &mut ModuleEmit<'_>, source: Source, ty: TypeId, name: &str) -> String {
    let ty_name = cx.type_name(ty);
    let mut text = format!("{ty_name} {name}({}) {{\n", source.parameters());
    let at = |offset: u64| if offset == 0 { "at".to_string() } else { format!("at + {offset}u") };
    match cx.types.kind(ty).clone() {
        TypeKind::Scalar(s) | TypeKind::Vector { elem: s, .. } => {
            load_lanes(cx, source, s, ty, &mut text);
        }
        TypeKind::Array { elem, len } => {
            let stride = cx.types.stride(elem);
            let load = load_text(cx, source, elem, "b", &format!("at + i * {stride}u"));
            let _ = writeln!(text, "    {ty_name} v;");
            let _ = writeln!(text, "    for (uint i = 0u; i < {len}u; i++) {{");
            let _ = writeln!(text, "        v.at[i] = {load};\n    }}\n    return v;");
        }
        kind => {
            let _ = writeln!(text, "    {ty_name} v;");
            for i in 0..cx.types.member_count(ty) {
                let member = cx.types.element_type(ty, i).unwrap_or(TypeId::VOID);
                let place = at(cx.types.member_offset(ty, i));
                let load = load_text(cx, source, member, "b", &place);
                let part = member_text(&kind, i);
                let _ = writeln!(text, "    v{part} = {load};");
            }
            if cx.types.member_count(ty) == 0 {
                text.push_str("    v.unused = 0u;\n");
            }
            text.push_str("    return v;\n");
        }
    }
    text.push_str("}\n");
    text
}

fn member_text(kind: &TypeKind, index: u32) -> String {
    match kind {
        TypeKind::Struct { .. } => format!(".m{index}"),
        _ => format!("[{index}]"),
    }
}

/// The body of a function that loads a scalar or vector from words.
fn load_lanes(
    cx: &mut ModuleEmit<'_>,
    source: Source,
    scalar: Scalar,
    ty: TypeId,
    text: &mut String,
) {
    let dim = u32::from(if cx.types.is_vector(ty) { cx.types.dim(ty) } else { 1 });
    let size = scalar.size();
    let mut lanes = Vec::new();
    if size < 4 && size * dim <= 4 {
        // All in one word.
        let load = word_at(cx, source, "at & ~3u");
        let _ = writeln!(text, "    uint w = {load} >> ((at & 3u) * 8u);");
        for lane in 0..dim {
            lanes.push(from_word(scalar, &shifted("w", lane * size * 8)));
        }
    } else {
        for lane in 0..dim {
            let offset = lane * size;
            let word = |cx: &mut ModuleEmit<'_>, add: u32| {
                let at = match offset / 4 * 4 + add {
                    0 => "at".to_string(),
                    n => format!("at + {n}u"),
                };
                word_at(cx, source, &at)
            };
            let low = word(cx, 0);
            lanes.push(match size {
                2 => from_word(scalar, &shifted(&low, offset % 4 * 8)),
                4 => from_word(scalar, &low),
                _ => {
                    let high = word(cx, 4);
                    match scalar {
                        Scalar::F64 => format!("asdouble({low}, {high})"),
                        Scalar::I64 => {
                            format!("int64_t((uint64_t({high}) << 32) | uint64_t({low}))")
                        }
                        _ => format!("((uint64_t({high}) << 32) | uint64_t({low}))"),
                    }
                }
            });
        }
    }
    let name = cx.type_name(ty);
    let _ = match lanes.as_slice() {
        [one] => writeln!(text, "    return {one};"),
        all => writeln!(text, "    return {name}({});", all.join(", ")),
    };
}

fn shifted(word: &str, bits: u32) -> String {
    if bits == 0 { word.to_string() } else { format!("({word} >> {bits})") }
}

/// A scalar of at most 32 bits from the low bits of a word.
fn from_word(scalar: Scalar, word: &str) -> String {
    match scalar {
        Scalar::Bool => format!("({word} & 0xffu) != 0u"),
        Scalar::U8 => format!("{word} & 0xffu"),
        Scalar::I8 => format!("int({word} << 24) >> 24"),
        Scalar::U16 => format!("uint16_t({word} & 0xffffu)"),
        Scalar::I16 => format!("int16_t({word} & 0xffffu)"),
        Scalar::F16 => format!("asfloat16(uint16_t({word} & 0xffffu))"),
        Scalar::I32 => format!("int({word})"),
        Scalar::F32 => format!("asfloat({word})"),
        _ => word.to_string(),
    }
}

/// The statement that stores a value.
pub fn store_text(
    cx: &mut ModuleEmit<'_>,
    ty: TypeId,
    handle: &str,
    at: &str,
    value: &str,
) -> String {
    if is_direct(cx, ty) {
        return format!("{handle}.Store<{}>({at}, {value});", cx.type_name(ty));
    }
    let name = format!("lc_store_{}", word(cx, ty));
    cx.helper(&name, |cx| store_helper(cx, ty, &name));
    format!("{name}({handle}, {at}, {value});")
}

fn store_helper(cx: &mut ModuleEmit<'_>, ty: TypeId, name: &str) -> String {
    let ty_name = cx.type_name(ty);
    let mut text = format!("void {name}(RWByteAddressBuffer b, uint at, {ty_name} v) {{\n");
    match cx.types.kind(ty).clone() {
        TypeKind::Scalar(s) | TypeKind::Vector { elem: s, .. } => {
            let dim = if cx.types.is_vector(ty) { cx.types.dim(ty) } else { 1 };
            let _ = writeln!(text, "    {}", store_bytes(cx, s, dim));
        }
        TypeKind::Array { elem, len } => {
            let stride = cx.types.stride(elem);
            let store = store_text(cx, elem, "b", &format!("at + i * {stride}u"), "v.at[i]");
            let _ = writeln!(
                text,
                "    for (uint i = 0u; i < {len}u; i++) {{\n        {store}\n    }}"
            );
        }
        kind => {
            for i in 0..cx.types.member_count(ty) {
                let member = cx.types.element_type(ty, i).unwrap_or(TypeId::VOID);
                let offset = cx.types.member_offset(ty, i);
                let at = if offset == 0 { "at".to_string() } else { format!("at + {offset}u") };
                let value = format!("v{}", member_text(&kind, i));
                let _ = writeln!(text, "    {}", store_text(cx, member, "b", &at, &value));
            }
        }
    }
    text.push_str("}\n");
    text
}

/// The statement that stores lanes of 8 bits. Three and four of them fill a word.
fn store_bytes(cx: &mut ModuleEmit<'_>, scalar: Scalar, dim: u8) -> String {
    let lane = |i: u8| {
        let part = if dim == 1 {
            "v".to_string()
        } else {
            format!("v.{}", ["x", "y", "z", "w"][i as usize & 3])
        };
        let bits = match scalar {
            Scalar::Bool => format!("({part} ? 1u : 0u)"),
            _ => format!("(uint({part}) & 0xffu)"),
        };
        if i == 0 { bits } else { format!("({bits} << {})", u32::from(i) * 8) }
    };
    let packed = (0..dim).map(lane).collect::<Vec<_>>().join(" | ");
    if dim > 2 {
        return format!("b.Store(at, {packed});");
    }
    cx.helper("lc_store_bits", |_| STORE_BITS.to_string());
    let mask = if dim == 1 { "0xffu" } else { "0xffffu" };
    format!("lc_store_bits(b, at, {mask}, {packed});")
}

const STORE_BITS: &str = "\
// Changes some bits of a word, and never what another thread stores beside them.
void lc_store_bits(RWByteAddressBuffer b, uint at, uint mask, uint value) {
    uint shift = (at & 3u) * 8u;
    b.InterlockedAnd(at & ~3u, ~(mask << shift));
    b.InterlockedOr(at & ~3u, value << shift);
}
";

/// A read of a buffer.
pub fn load(f: &mut FnEmit<'_, '_>, element: &Element, ty: TypeId, volatile: bool) -> Emit<Expr> {
    let source = Source::of(element.buffer.writable);
    let is_word = ty == TypeId::U32 || ty == TypeId::I32 || ty == TypeId::F32;
    let at = &element.offset.text;
    let text = if volatile && is_word && source == Source::Write {
        f.cx.helper("lc_load_again", |_| LOAD_AGAIN.to_string());
        let word = format!("lc_load_again({}, {at})", element.buffer.handle);
        match f.cx.types.scalar_of(ty) {
            Some(Scalar::F32) => format!("asfloat({word})"),
            Some(Scalar::I32) => format!("int({word})"),
            _ => word,
        }
    } else {
        load_text(f.cx, source, ty, &element.buffer.handle, at)
    };
    Ok(Expr::made(text, Prec::Atom, [&element.offset]))
}

const LOAD_AGAIN: &str = "\
// A load that is never merged with another one.
uint lc_load_again(RWByteAddressBuffer b, uint at) {
    uint word;
    b.InterlockedOr(at, 0u, word);
    return word;
}
";

/// A write of a buffer.
pub fn store(f: &mut FnEmit<'_, '_>, element: &Element, ty: TypeId, value: Expr) -> Emit<()> {
    let line = store_text(f.cx, ty, &element.buffer.handle, &element.offset.text, &value.text);
    f.lines.push(line);
    Ok(())
}

/// An argument by value, from the parameter block.
pub fn parameter(cx: &mut ModuleEmit<'_>, ty: TypeId, offset: u32) -> String {
    let word = offset / 16;
    let swizzle = match cx.types.size(ty) {
        _ if !cx.types.is_scalar_or_vector(ty) => None,
        _ if cx.types.scalar_of(ty).is_none_or(|s| s.size() != 4) => None,
        _ => [".x", ".xy", ".xyz", ""].get(usize::from(dim(cx, ty)) - 1),
    };
    let Some(swizzle) = swizzle else {
        return load_text(cx, Source::Params, ty, "", &format!("{offset}u"));
    };
    let bits = format!("params[{word}]{swizzle}");
    match cx.types.scalar_of(ty) {
        Some(Scalar::F32) => format!("asfloat({bits})"),
        Some(Scalar::I32) => format!("asint({bits})"),
        _ => bits,
    }
}

fn dim(cx: &ModuleEmit<'_>, ty: TypeId) -> u8 {
    if cx.types.is_vector(ty) { cx.types.dim(ty) } else { 1 }
}

/// The bits of a value as another type of as many bits.
pub fn reinterpret(f: &mut FnEmit<'_, '_>, value: Expr, from: TypeId, to: TypeId) -> Emit<Expr> {
    let scalar = |ty| f.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
    let (a, b) = (scalar(from), scalar(to));
    let name = f.cx.type_name(to);
    if dim(f.cx, from) == dim(f.cx, to) {
        return match (a, b) {
            (Scalar::F32, Scalar::U32) => Ok(Expr::call("asuint", &[value])),
            (Scalar::F32, Scalar::I32) => Ok(Expr::call("asint", &[value])),
            (_, Scalar::F32) => Ok(Expr::call("asfloat", &[value])),
            (Scalar::F16, Scalar::U16) => Ok(Expr::call("asuint16", &[value])),
            (Scalar::F16, Scalar::I16) => Ok(Expr::call("asint16", &[value])),
            (_, Scalar::F16) => Ok(Expr::call("asfloat16", &[value])),
            (Scalar::F64, _) | (_, Scalar::F64) => by_lanes(f, value, from, to),
            _ => {
                let cast = Expr::call(&name, &[value]);
                Ok(f.narrowed(b, to, cast))
            }
        };
    }
    by_lanes(f, value, from, to)
}

/// Lane by lane, by shifts.
fn by_lanes(f: &mut FnEmit<'_, '_>, value: Expr, from: TypeId, to: TypeId) -> Emit<Expr> {
    let scalar = |f: &FnEmit<'_, '_>, ty| f.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
    let (a, b) = (scalar(f, from), scalar(f, to));
    let value = f.named(from, value)?;
    let lanes: Vec<String> = (0..dim(f.cx, from))
        .map(|i| {
            let part = match dim(f.cx, from) {
                1 => value.text.clone(),
                _ => format!("{}.{}", value.at(Prec::Atom), ["x", "y", "z", "w"][i as usize & 3]),
            };
            to_bits(f.cx, a, &part)
        })
        .collect();
    let (wide, narrow) = (a.size() * 8, b.size() * 8);
    let unsigned = Language::Hlsl.scalar(crate::clike::language::unsigned(b));
    let lane = |i: u32| {
        if wide >= narrow {
            let at = i * narrow;
            let bits = shifted(&lanes[(at / wide) as usize], at % wide);
            return if wide == narrow { bits } else { format!("{unsigned}({bits})") };
        }
        let count = narrow / wide;
        let parts = (0..count).map(|k| {
            let bits = format!("{unsigned}({})", lanes[(i * count + k) as usize]);
            if k == 0 { bits } else { format!("({bits} << {})", k * wide) }
        });
        format!("({})", parts.collect::<Vec<_>>().join(" | "))
    };
    let parts: Vec<String> =
        (0..u32::from(dim(f.cx, to))).map(|i| from_bits(b, &lane(i))).collect();
    let name = f.cx.type_name(to);
    let made = match parts.as_slice() {
        [one] => one.clone(),
        all => format!("{name}({})", all.join(", ")),
    };
    Ok(Expr::made(format!("({made})"), Prec::Atom, [&value]))
}

/// The bits of a scalar as an unsigned integer; those of 8 bits without what is extended.
fn to_bits(cx: &mut ModuleEmit<'_>, scalar: Scalar, part: &str) -> String {
    match scalar {
        Scalar::F32 => format!("asuint({part})"),
        Scalar::F16 => format!("asuint16({part})"),
        Scalar::F64 => {
            cx.helper("lc_double_bits", |_| DOUBLE_BITS.to_string());
            format!("lc_double_bits({part})")
        }
        Scalar::I8 => format!("(uint({part}) & 0xffu)"),
        Scalar::I16 => format!("uint16_t({part})"),
        Scalar::I32 => format!("uint({part})"),
        Scalar::I64 => format!("uint64_t({part})"),
        _ => part.to_string(),
    }
}

fn from_bits(scalar: Scalar, bits: &str) -> String {
    match scalar {
        Scalar::F32 => format!("asfloat({bits})"),
        Scalar::F16 => format!("asfloat16({bits})"),
        Scalar::F64 => format!("asdouble(uint({bits}), uint({bits} >> 32))"),
        Scalar::U8 => format!("({bits} & 0xffu)"),
        Scalar::I8 => format!("(int({bits} << 24) >> 24)"),
        Scalar::I16 => format!("int16_t({bits})"),
        Scalar::I32 => format!("int({bits})"),
        Scalar::I64 => format!("int64_t({bits})"),
        _ => bits.to_string(),
    }
}

pub const DOUBLE_BITS: &str = "\
uint64_t lc_double_bits(double v) {
    uint low, high;
    asuint(v, low, high);
    return (uint64_t(high) << 32) | uint64_t(low);
}
";

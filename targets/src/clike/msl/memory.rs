//! Buffers in MSL: pointers to what lies in memory.
//!
//! Scalars, vectors, matrices and structures of Metal lie in memory as the ABI says, with two exceptions: a bool is a byte that may be any
//! number, and vectors of three and four 64-bit integers are aligned to 32 in Metal and to 16 in the ABI. A type that holds one of them has
//! a second structure for memory, `T_memory`, and two functions between the two. Sizes are asserted in the text.

use luisac_ast::types::{Scalar, TypeId, TypeKind};
use rustc_hash::FxHashSet;
use std::fmt::Write;

use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::FnEmit;
use crate::clike::module::ModuleEmit;
use crate::clike::resources::Element;

/// Whether a type lies in memory as it is.
pub fn is_plain(cx: &mut ModuleEmit<'_>, ty: TypeId) -> bool {
    if let Some(&known) = cx.plain.get(&ty) {
        return known;
    }
    let types = cx.types;
    let mut pending = vec![ty];
    let mut seen = FxHashSet::default();
    let mut plain = true;
    while let Some(ty) = pending.pop() {
        match types.kind(ty) {
            TypeKind::Struct { members, .. } => {
                pending.extend(members.iter().map(|m| m.ty).filter(|&t| seen.insert(t)));
            }
            TypeKind::Array { elem, .. } => pending.push(*elem),
            TypeKind::Scalar(s) => plain &= *s != Scalar::Bool,
            TypeKind::Vector { elem, dim } => {
                plain &= *elem != Scalar::Bool && (elem.size() < 8 || *dim < 3);
            }
            _ => {}
        }
    }
    cx.plain.insert(ty, plain);
    plain
}

/// The name of a type in memory.
pub fn memory_type(cx: &mut ModuleEmit<'_>, ty: TypeId) -> String {
    if is_plain(cx, ty) {
        let name = cx.type_name(ty);
        if cx.types.is_aggregate(ty) {
            let size = cx.types.size(ty);
            cx.helper(&format!("size/{name}"), |_| {
                format!("static_assert(sizeof({name}) == {size}, \"the layout of {name}\");\n")
            });
        }
        return name;
    }
    match cx.types.kind(ty).clone() {
        TypeKind::Scalar(_) => "uchar".to_string(),
        TypeKind::Vector { elem: Scalar::Bool, dim } => format!("uchar{dim}"),
        TypeKind::Vector { elem, dim } => {
            let scalar = cx.language.scalar(elem);
            let name = format!("lc_{scalar}{dim}_memory");
            cx.helper(&name, |_| format!("struct alignas(16) {name} {{ {scalar} at[4]; }};\n"));
            name
        }
        kind => {
            let name = format!("{}_memory", cx.type_name(ty));
            cx.helper(&name, |cx| declare(cx, ty, &kind, &name));
            name
        }
    }
}

fn declare(cx: &mut ModuleEmit<'_>, ty: TypeId, kind: &TypeKind, name: &str) -> String {
    let align = cx.types.align(ty);
    let mut text = format!("struct alignas({align}) {name} {{\n");
    if let TypeKind::Array { elem, len } = kind {
        let inner = memory_type(cx, *elem);
        let _ = writeln!(text, "    {inner} at[{len}];");
    } else {
        for i in 0..cx.types.member_count(ty) {
            let member = cx.types.element_type(ty, i).unwrap_or(TypeId::VOID);
            let inner = memory_type(cx, member);
            let _ = writeln!(text, "    {inner} m{i};");
        }
    }
    let size = cx.types.size(ty);
    let _ =
        writeln!(text, "}};\nstatic_assert(sizeof({name}) == {size}, \"the layout of {name}\");");
    text
}

/// A value from what lies in memory.
pub fn from_memory(cx: &mut ModuleEmit<'_>, ty: TypeId, text: Expr) -> Expr {
    if is_plain(cx, ty) {
        return text;
    }
    match *cx.types.kind(ty) {
        TypeKind::Scalar(_) | TypeKind::Vector { elem: Scalar::Bool, .. } => {
            Expr::binary("!=", Prec::Equality, &text, &Expr::atom("0"))
        }
        _ => {
            let name = converter(cx, ty, true);
            Expr::call(&name, &[text])
        }
    }
}

/// What lies in memory for a value.
pub fn to_memory(cx: &mut ModuleEmit<'_>, ty: TypeId, value: Expr) -> Expr {
    if is_plain(cx, ty) {
        return value;
    }
    match *cx.types.kind(ty) {
        TypeKind::Scalar(_) | TypeKind::Vector { elem: Scalar::Bool, .. } => {
            let name = memory_type(cx, ty);
            Expr::call(&name, &[value])
        }
        _ => {
            let name = converter(cx, ty, false);
            Expr::call(&name, &[value])
        }
    }
}

/// The function between a type and its form in memory.
fn converter(cx: &mut ModuleEmit<'_>, ty: TypeId, loads: bool) -> String {
    let value = cx.type_name(ty);
    let memory = memory_type(cx, ty);
    let (name, from, to) = match loads {
        true => (format!("lc_load_{value}"), memory, value),
        false => (format!("lc_store_{value}"), value, memory),
    };
    cx.helper(&name, |cx| {
        let mut text = format!("{to} {name}({from} v) {{\n");
        let convert = |cx: &mut ModuleEmit<'_>, ty, part: String| {
            let part = Expr::atom(part);
            if loads { from_memory(cx, ty, part).text } else { to_memory(cx, ty, part).text }
        };
        match *cx.types.kind(ty) {
            TypeKind::Vector { elem, dim } => {
                let parts = (0..u32::from(dim)).map(|i| match loads {
                    true => format!("v.at[{i}]"),
                    false => format!("v[{i}]"),
                });
                let list = parts.collect::<Vec<_>>().join(", ");
                let _ = elem;
                let _ = match loads {
                    true => writeln!(text, "    return {to}({list});"),
                    false => writeln!(text, "    return {to}{{ {{ {list} }} }};"),
                };
            }
            TypeKind::Array { elem, len } => {
                let part = convert(cx, elem, "v.at[i]".to_string());
                let _ = writeln!(text, "    {to} r;\n    for (uint i = 0u; i < {len}u; i++) {{");
                let _ = writeln!(text, "        r.at[i] = {part};\n    }}\n    return r;");
            }
            _ => {
                let _ = writeln!(text, "    {to} r;");
                for i in 0..cx.types.member_count(ty) {
                    let member = cx.types.element_type(ty, i).unwrap_or(TypeId::VOID);
                    let part = convert(cx, member, format!("v.m{i}"));
                    let _ = writeln!(text, "    r.m{i} = {part};");
                }
                text.push_str("    return r;\n");
            }
        }
        text.push_str("}\n");
        text
    });
    name
}

/// The pointer of a buffer.
pub fn buffer_type(cx: &mut ModuleEmit<'_>, ty: TypeId, writable: bool) -> String {
    let constant = if writable { "" } else { "const " };
    let inner = match *cx.types.kind(ty) {
        TypeKind::Buffer { elem, .. } if elem != TypeId::VOID => memory_type(cx, elem),
        TypeKind::BindlessArray => super::image::slot_type(cx),
        _ => "uchar".to_string(),
    };
    format!("device {constant}{inner}*")
}

/// The place of an element, as something that has an address.
fn at(f: &mut FnEmit<'_, '_>, element: &Element, ty: TypeId, volatile: bool) -> Expr {
    let handle = &element.buffer.handle;
    let index = &element.index;
    if element.of != TypeId::VOID && !volatile {
        return Expr::made(format!("{handle}[{}]", index.text), Prec::Atom, [index]);
    }
    let memory = memory_type(f.cx, ty);
    let constant = if element.buffer.writable { "" } else { "const " };
    let volatile = if volatile { "volatile " } else { "" };
    let sum = Expr::binary("+", Prec::Add, &Expr::atom(handle.clone()), index);
    let text = format!("*reinterpret_cast<{volatile}device {constant}{memory}*>({})", sum.text);
    Expr::made(text, Prec::Unary, [index])
}

/// A read of a buffer.
pub fn load(f: &mut FnEmit<'_, '_>, element: &Element, ty: TypeId, volatile: bool) -> Emit<Expr> {
    let volatile = volatile && f.cx.types.is_scalar(ty);
    let place = at(f, element, ty, volatile);
    Ok(from_memory(f.cx, ty, place))
}

/// A write of a buffer.
pub fn store(
    f: &mut FnEmit<'_, '_>,
    element: &Element,
    ty: TypeId,
    value: Expr,
    volatile: bool,
) -> Emit<()> {
    let volatile = volatile && f.cx.types.is_scalar(ty);
    let place = at(f, element, ty, volatile);
    let value = to_memory(f.cx, ty, value);
    f.lines.push(format!("{} = {};", place.text, value.text));
    Ok(())
}

fn at_address(f: &mut FnEmit<'_, '_>, address: &Expr, ty: TypeId) -> Expr {
    let memory = memory_type(f.cx, ty);
    let text = format!("*reinterpret_cast<device {memory}*>({})", address.text);
    Expr::made(text, Prec::Unary, [address])
}

/// A read from an address.
pub fn address_load(f: &mut FnEmit<'_, '_>, address: &Expr, ty: TypeId) -> Emit<Expr> {
    let place = at_address(f, address, ty);
    Ok(from_memory(f.cx, ty, place))
}

/// A write to an address.
pub fn address_store(f: &mut FnEmit<'_, '_>, address: &Expr, ty: TypeId, value: Expr) -> Emit<()> {
    let place = at_address(f, address, ty);
    let value = to_memory(f.cx, ty, value);
    f.lines.push(format!("{} = {};", place.text, value.text));
    Ok(())
}

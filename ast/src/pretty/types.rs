//! Types: `float3`, `array<uint, 4>`, `S2` for a structure that is declared at the head of the text.

use std::fmt::Write;

use cranelift_entity::EntityRef;

use crate::types::{Attribute, TypeId, TypeKind, TypeTable};

/// A part of a type that is still to be written.
enum Part {
    Type(TypeId),
    Text(String),
}

/// Writes a type. Structures are named by the number of their type.
pub(super) fn write(types: &TypeTable, ty: TypeId, out: &mut String) {
    let mut pending = vec![Part::Type(ty)];
    while let Some(part) = pending.pop() {
        match part {
            Part::Text(text) => out.push_str(&text),
            Part::Type(ty) => write_one(types, ty, out, &mut pending),
        }
    }
}

fn write_one(types: &TypeTable, ty: TypeId, out: &mut String, pending: &mut Vec<Part>) {
    // Writing to memory cannot fail.
    let _ = match types.kind(ty) {
        TypeKind::Vector { elem, dim } => write!(out, "{}{dim}", elem.name()),
        TypeKind::Matrix { dim } => write!(out, "float{dim}x{dim}"),
        TypeKind::Struct { .. } => write!(out, "S{}", ty.index()),
        TypeKind::Array { elem, len } => {
            pending.extend([Part::Text(format!(", {len}>")), Part::Type(*elem)]);
            write!(out, "array<")
        }
        TypeKind::Buffer { elem, attrs } => {
            pending.extend([Part::Text(">".into()), Part::Type(*elem)]);
            write!(out, "{}buffer<", attributes(attrs))
        }
        TypeKind::Texture { dim, elem, attrs } => {
            write!(out, "{}texture{dim}d<{}>", attributes(attrs), elem.name())
        }
        TypeKind::Void
        | TypeKind::Scalar(_)
        | TypeKind::BindlessArray
        | TypeKind::Accel
        | TypeKind::Custom(_)
        | TypeKind::CoopVec { .. }
        | TypeKind::CoopVecRef { .. }
        | TypeKind::CoopMatRef { .. } => write!(out, "{}", types.description(ty)),
    };
}

fn attributes(attributes: &[Attribute]) -> String {
    let one = |a: &Attribute| match &a.value {
        Some(value) => format!("[{}({value})] ", a.key),
        None => format!("[{}] ", a.key),
    };
    attributes.iter().map(one).collect()
}

/// Declarations of all structures, elements first.
pub(super) fn declarations(types: &TypeTable) -> String {
    let mut out = String::new();
    for ty in types.ids() {
        let TypeKind::Struct { members, .. } = types.kind(ty) else { continue };
        if !out.is_empty() {
            out.push('\n');
        }
        let (number, align, size) = (ty.index(), types.align(ty), types.size(ty));
        let _ = writeln!(out, "struct S{number} align({align}) size({size}) {{");
        for (i, member) in members.iter().enumerate() {
            let _ = write!(out, "    {}m{i}: ", attributes(&member.attrs));
            write(types, member.ty, &mut out);
            out.push_str(";\n");
        }
        out.push_str("}\n");
    }
    out
}

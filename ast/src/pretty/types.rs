//! Types: `float3`, `array<uint, 4>`, `S2` for a structure that is declared at the head of the text.

use std::fmt::Write;

use cranelift_entity::SecondaryMap;

use crate::types::{Attribute, TypeId, TypeKind, TypeTable};

/// The types of a library, with the structures numbered in their order.
pub(super) struct Types<'a> {
    pub table: &'a TypeTable,
    numbers: SecondaryMap<TypeId, u32>,
}

/// A part of a type that is still to be written.
enum Part {
    Type(TypeId),
    Text(String),
}

impl<'a> Types<'a> {
    pub fn new(table: &'a TypeTable) -> Self {
        let mut numbers = SecondaryMap::new();
        for (number, ty) in table.ids().filter(|ty| table.is_struct(*ty)).enumerate() {
            numbers[ty] = number as u32;
        }
        Self { table, numbers }
    }

    /// Writes a type; a structure by its number.
    pub fn write(&self, ty: TypeId, out: &mut String) {
        let mut pending = vec![Part::Type(ty)];
        while let Some(part) = pending.pop() {
            match part {
                Part::Text(text) => out.push_str(&text),
                Part::Type(ty) => self.write_one(ty, out, &mut pending),
            }
        }
    }

    fn write_one(&self, ty: TypeId, out: &mut String, pending: &mut Vec<Part>) {
        // Writing to memory cannot fail.
        let _ = match self.table.kind(ty) {
            TypeKind::Vector { elem, dim } => write!(out, "{}{dim}", elem.name()),
            TypeKind::Matrix { dim } => write!(out, "float{dim}x{dim}"),
            TypeKind::Struct { .. } => write!(out, "S{}", self.numbers[ty]),
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
            | TypeKind::CoopMatRef { .. } => write!(out, "{}", self.table.description(ty)),
        };
    }

    /// Declarations of all structures, elements first.
    pub fn declarations(&self) -> String {
        let (table, mut out) = (self.table, String::new());
        for ty in table.ids() {
            let TypeKind::Struct { members, .. } = table.kind(ty) else { continue };
            if !out.is_empty() {
                out.push('\n');
            }
            let (number, align, size) = (self.numbers[ty], table.align(ty), table.size(ty));
            let _ = writeln!(out, "struct S{number} align({align}) size({size}) {{");
            for (i, member) in members.iter().enumerate() {
                let _ = write!(out, "    {}m{i}: ", attributes(&member.attrs));
                self.write(member.ty, &mut out);
                out.push_str(";\n");
            }
            out.push_str("}\n");
        }
        out
    }
}

fn attributes(attributes: &[Attribute]) -> String {
    let one = |a: &Attribute| match &a.value {
        Some(value) => format!("[{}({value})] ", a.key),
        None => format!("[{}] ", a.key),
    };
    attributes.iter().map(one).collect()
}

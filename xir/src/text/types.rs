//! Types as text. Structures and custom types have names, declared ahead; everything else is written out.

use super::names::push_quoted;
use luisac_ast::types::{Attribute, Scalar, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Text names in the order of [`Scalar`].
const SCALARS: [&str; Scalar::ALL.len()] = [
    "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "f8e4m3",
    "f8e5m2", "i4", "f4e2m1",
];

/// The text name of a scalar.
pub(super) fn scalar_name(scalar: Scalar) -> &'static str {
    SCALARS[scalar as usize]
}

/// The scalar of a text name.
pub(super) fn scalar_from_name(name: &str) -> Option<Scalar> {
    SCALARS.iter().position(|&n| n == name).map(|i| Scalar::ALL[i])
}

/// Gives structures and custom types their names in the order in which they are first printed, parts before wholes.
pub(super) struct TypeNames<'a> {
    types: &'a TypeTable,
    numbers: FxHashMap<TypeId, usize>,
    declarations: String,
}

impl<'a> TypeNames<'a> {
    pub(super) fn new(types: &'a TypeTable) -> TypeNames<'a> {
        TypeNames { types, numbers: FxHashMap::default(), declarations: String::new() }
    }

    /// The declarations of all types that were printed.
    pub(super) fn declarations(&self) -> &str {
        &self.declarations
    }

    /// Appends the text of a type. An id that is not of the table prints as a word that does not parse.
    pub(super) fn push(&mut self, out: &mut String, ty: TypeId) {
        if !self.types.contains(ty) {
            out.push_str("type?");
            return;
        }
        self.declare(ty);
        self.push_declared(out, ty);
    }

    fn is_named(&self, ty: TypeId) -> bool {
        matches!(self.types.kind(ty), TypeKind::Struct { .. } | TypeKind::Custom(_))
    }

    /// Declares all named types that the text of `ty` refers to, and theirs before them.
    fn declare(&mut self, ty: TypeId) {
        // Each entry is a type and whether its parts have been pushed already.
        let mut stack = vec![(ty, false)];
        while let Some((ty, parts_done)) = stack.pop() {
            if self.numbers.contains_key(&ty) {
                continue;
            }
            if parts_done {
                if self.is_named(ty) {
                    self.declare_one(ty);
                }
                continue;
            }
            match self.types.kind(ty) {
                TypeKind::Array { elem, .. } | TypeKind::Buffer { elem, .. } => {
                    stack.push((*elem, false));
                }
                TypeKind::Struct { members, .. } => {
                    stack.push((ty, true));
                    stack.extend(members.iter().rev().map(|m| (m.ty, false)));
                }
                TypeKind::Custom(_) => stack.push((ty, true)),
                _ => {}
            }
        }
    }

    fn declare_one(&mut self, ty: TypeId) {
        let number = self.numbers.len();
        let mut text = format!("type T{number} = ");
        match self.types.kind(ty) {
            TypeKind::Custom(name) => {
                text.push_str("opaque ");
                push_quoted(&mut text, name);
            }
            TypeKind::Struct { align, members } => {
                let _ = write!(text, "struct<{align}");
                for member in members {
                    text.push_str(", ");
                    push_attributes(&mut text, &member.attrs);
                    if !member.attrs.is_empty() {
                        text.push(' ');
                    }
                    self.push_declared(&mut text, member.ty);
                }
                text.push('>');
            }
            _ => {}
        }
        text.push_str(";\n");
        self.declarations.push_str(&text);
        self.numbers.insert(ty, number);
    }

    /// Appends a type whose named parts are declared. Arrays and buffers nest in a chain, so a loop is enough.
    fn push_declared(&self, out: &mut String, ty: TypeId) {
        let mut ends = Vec::new();
        let mut ty = ty;
        loop {
            // Writing to a string cannot fail.
            let _ = match self.types.kind(ty) {
                TypeKind::Array { elem, len } => {
                    out.push_str("array<");
                    ends.push(Some(*len));
                    ty = *elem;
                    continue;
                }
                TypeKind::Buffer { elem, attrs } => {
                    out.push_str("buffer");
                    push_attributes(out, attrs);
                    out.push('<');
                    ends.push(None);
                    ty = *elem;
                    continue;
                }
                TypeKind::Void => write!(out, "void"),
                TypeKind::Scalar(s) => write!(out, "{}", scalar_name(*s)),
                TypeKind::Vector { elem, dim } => {
                    write!(out, "vector<{}, {dim}>", scalar_name(*elem))
                }
                TypeKind::Matrix { dim } => write!(out, "matrix<f32, {dim}>"),
                TypeKind::Texture { dim, elem, attrs } => {
                    let _ = write!(out, "texture{dim}d");
                    push_attributes(out, attrs);
                    write!(out, "<{}>", scalar_name(*elem))
                }
                TypeKind::BindlessArray => write!(out, "bindless_array"),
                TypeKind::Accel => write!(out, "accel"),
                TypeKind::CoopVec { elem, len } => {
                    write!(out, "coopvec<{}, {len}>", scalar_name(*elem))
                }
                TypeKind::CoopVecRef { len, interpretation } => {
                    write!(out, "coopvec_ref<{len}, {interpretation}>")
                }
                TypeKind::CoopMatRef { rows, columns, interpretation } => {
                    write!(out, "coopmat_ref<{rows}, {columns}, {interpretation}>")
                }
                TypeKind::Struct { .. } | TypeKind::Custom(_) => match self.numbers.get(&ty) {
                    Some(number) => write!(out, "T{number}"),
                    None => write!(out, "T?"),
                },
            };
            break;
        }
        for end in ends.into_iter().rev() {
            let _ = match end {
                Some(len) => write!(out, ", {len}>"),
                None => write!(out, ">"),
            };
        }
    }
}

fn push_attributes(out: &mut String, attrs: &[Attribute]) {
    for attr in attrs {
        let _ = match &attr.value {
            Some(value) => write!(out, "[{}({value})]", attr.key),
            None => write!(out, "[{}]", attr.key),
        };
    }
}

//! The table of types.

use rustc_hash::FxHashSet;

use super::Writer;
use crate::json::codes;
use crate::model::{ExprKind, Stmt};
use crate::types::{Scalar, TypeId, TypeKind};

impl Writer<'_> {
    /// Writes all types that are listed or used, and notes their positions.
    pub(super) fn type_table(&mut self) {
        let mut order = Vec::new();
        for ty in &self.library.listed_types {
            if self.types[*ty] == u32::MAX {
                self.types[*ty] = order.len() as u32;
            }
            // One that is listed twice keeps both places, so that the others keep theirs.
            order.push(*ty);
        }
        for (ty, used) in self.used_types().into_iter().enumerate() {
            let ty = TypeId::from_u32(ty as u32);
            if used && self.types[ty] == u32::MAX {
                self.types[ty] = order.len() as u32;
                order.push(ty);
            }
        }
        self.list(order, |w, ty| w.type_entry(ty));
    }

    /// Which types are used, by id; elements of used types are used.
    fn used_types(&self) -> Vec<bool> {
        let library = self.library;
        let mut used = vec![false; library.types.len()];
        let mut use_type = |ty: TypeId| used[ty.as_u32() as usize] = true;
        library.constants.values().for_each(|c| use_type(c.ty));
        for external in library.externals.values() {
            external
                .argument_types
                .iter()
                .chain([&external.return_type])
                .for_each(|ty| use_type(*ty));
        }
        for function in library.functions.values() {
            if function.tag != crate::model::FunctionTag::Kernel {
                use_type(function.return_type);
            }
            function.variables.values().for_each(|v| use_type(v.ty));
            // A case's value is written as a number, without its type.
            let cases = function.stmts.values().filter_map(|stmt| match stmt {
                Stmt::SwitchCase { value, .. } => Some(*value),
                _ => None,
            });
            let cases: FxHashSet<_> = cases.collect();
            for (_, expr) in function.exprs.iter().filter(|(id, _)| !cases.contains(id)) {
                use_type(expr.ty);
                if let ExprKind::TypeId(ty) = expr.kind {
                    use_type(ty);
                }
            }
        }
        // Elements have smaller ids.
        for id in (0..used.len()).rev() {
            if used[id] {
                self.elements(TypeId::from_u32(id as u32))
                    .iter()
                    .for_each(|e| used[e.as_u32() as usize] = true);
            }
        }
        used
    }

    fn elements(&self, ty: TypeId) -> Vec<TypeId> {
        match self.library.types.kind(ty) {
            TypeKind::Vector { elem, .. } | TypeKind::Texture { elem, .. } => {
                vec![TypeId::scalar(*elem)]
            }
            TypeKind::Matrix { .. } => vec![TypeId::scalar(Scalar::F32)],
            TypeKind::Array { elem, .. } | TypeKind::Buffer { elem, .. } => vec![*elem],
            TypeKind::Struct { members, .. } => members.iter().map(|m| m.ty).collect(),
            _ => Vec::new(),
        }
    }

    fn type_entry(&mut self, ty: TypeId) {
        let types = &self.library.types;
        match types.kind(ty) {
            TypeKind::Void => self.text("null"),
            TypeKind::Scalar(scalar) => self.plain(scalar.json_name()),
            TypeKind::BindlessArray => self.plain("BINDLESS_ARRAY"),
            TypeKind::Accel => self.plain("ACCEL"),
            TypeKind::Vector { elem, dim } => {
                self.dimensioned("VECTOR", TypeId::scalar(*elem), u32::from(*dim))
            }
            TypeKind::Matrix { dim } => self.dimensioned("MATRIX", TypeId::F32, u32::from(*dim)),
            TypeKind::Array { elem, len } => self.dimensioned("ARRAY", *elem, *len),
            TypeKind::Texture { dim, elem, attrs } if attrs.is_empty() => {
                self.dimensioned("TEXTURE", TypeId::scalar(*elem), u32::from(*dim));
            }
            TypeKind::Buffer { elem, attrs } if attrs.is_empty() => {
                self.text("{\"tag\":\"BUFFER\",\"element\":");
                self.ty(*elem);
                self.text("}");
            }
            TypeKind::Struct { align, members } if members.iter().all(|m| m.attrs.is_empty()) => {
                self.text("{\"tag\":\"STRUCTURE\",\"alignment\":");
                // Version 1 has no alignment that is left to the members, and none of two.
                let align = if self.strict() && *align == 0 { types.align(ty) } else { *align };
                if self.strict() && !matches!(align, 1 | 4 | 8 | 16) {
                    let message = "a versioned document has no structure of this alignment";
                    self.refuse(codes::UNPORTABLE, None, message);
                }
                self.number(align);
                self.text(",\"members\":");
                self.list(members, |w, member| w.ty(member.ty));
                self.text("}");
            }
            TypeKind::Custom(name) => {
                self.text("{\"tag\":\"CUSTOM\",\"id\":");
                self.string(name);
                self.text("}");
            }
            _ => {
                let message =
                    format!("the type `{}` cannot be written as JSON", types.description(ty));
                self.refuse(codes::BAD_TYPE, None, message);
            }
        }
    }

    fn plain(&mut self, tag: &str) {
        self.text("{\"tag\":\"");
        self.text(tag);
        self.text("\"}");
    }

    fn dimensioned(&mut self, tag: &str, elem: TypeId, dimension: u32) {
        self.text("{\"tag\":\"");
        self.text(tag);
        self.text("\",\"element\":");
        self.ty(elem);
        self.text(",\"dimension\":");
        self.number(dimension);
        self.text("}");
    }
}

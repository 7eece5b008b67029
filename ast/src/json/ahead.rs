//! Functions that stand before the tables that they refer to, which is the order of LuisaCompute's writer.
//!
//! Reading them where they stand saves a pass over the text: what refers to a type holds the type's index in the
//! document until the table is known, and literals hold their bytes as they were written. [`Reader::resolve`] then goes over the nodes
//! and puts in the types. Whatever is wrong is only noticed here, not reported: the document is then read
//! again, tables first, which finds every error with its place.

#[cfg(test)]
mod tests;

use cranelift_entity::EntityRef;

use super::reader::Reader;
use crate::layout;
use crate::model::{ExprId, ExprKind, Function, Stmt};
use crate::types::{TypeId, TypeTable};

/// What is not known yet while functions are read ahead of the tables.
#[derive(Default)]
pub(super) struct Ahead {
    /// Whether functions are being read ahead.
    pub on: bool,
    /// One more than the largest index met: of a constant, of an external function.
    pub constants: usize,
    pub externals: usize,
    /// Index of the return type of each function that has one.
    pub return_types: Vec<Option<u32>>,
    /// Something cannot be kept until the tables are known.
    pub failed: bool,
}

impl Ahead {
    /// The stand-in of a type that is not known.
    pub fn type_index(&mut self, index: u32) -> TypeId {
        if index == u32::MAX {
            self.failed = true;
            return TypeId::VOID;
        }
        TypeId::from_u32(index)
    }
}

/// What literals need to know of a type.
#[derive(Clone, Copy)]
struct Known {
    ty: TypeId,
    size: u64,
    data: bool,
    padded: bool,
}

impl Reader<'_> {
    /// Puts types in the place of their indices; false if something is wrong.
    pub fn resolve(&mut self) -> bool {
        let ahead = std::mem::take(&mut self.ahead);
        if ahead.failed
            || ahead.constants > self.library.constants.len()
            || ahead.externals > self.library.externals.len()
        {
            return false;
        }
        let types = &self.library.types;
        let known: Option<Vec<Known>> =
            self.types.iter().map(|ty| Some(Known::of(types, (*ty)?))).collect();
        let Some(known) = known else {
            return false;
        };
        let functions = self.library.functions.values_mut().zip(&ahead.return_types);
        for (function, return_type) in functions {
            if resolve_function(function, *return_type, &known, types).is_none() {
                return false;
            }
        }
        true
    }
}

impl Known {
    fn of(types: &TypeTable, ty: TypeId) -> Self {
        Self { ty, size: types.size(ty), data: types.is_data(ty), padded: types.layout(ty).padded }
    }
}

/// `None` if something is wrong.
fn resolve_function(
    function: &mut Function,
    return_type: Option<u32>,
    known: &[Known],
    types: &TypeTable,
) -> Option<()> {
    if let Some(index) = return_type {
        function.return_type = known.get(index as usize)?.ty;
    }
    for variable in function.variables.values_mut() {
        variable.ty = known.get(variable.ty.index())?.ty;
    }
    // The literals of cases were made with their types. They have ascending ids, as the cases do.
    let cases: Vec<ExprId> = function
        .stmts
        .values()
        .filter_map(|s| if let Stmt::SwitchCase { value, .. } = s { Some(*value) } else { None })
        .collect();
    let mut cases = cases.into_iter().peekable();
    for index in 0..function.exprs.len() {
        let id = ExprId::new(index);
        if cases.next_if_eq(&id).is_some() {
            continue;
        }
        let expr = &mut function.exprs[id];
        let of = known.get(expr.ty.index())?;
        expr.ty = of.ty;
        match &mut expr.kind {
            ExprKind::TypeId(ty) => *ty = known.get(ty.index())?.ty,
            ExprKind::Literal { bytes } => {
                let bytes = *bytes;
                if !of.data || bytes.len() as u64 != of.size {
                    return None;
                }
                if of.padded {
                    layout::clear_padding(types, of.ty, function.bytes_in_mut(bytes));
                }
            }
            _ => {}
        }
    }
    Some(())
}

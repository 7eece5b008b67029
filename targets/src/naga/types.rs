//! Types in registers and variables.
//!
//! Integers of 8 and 16 bits are held as 32-bit ones, sign- or zero-extended. How values lie in buffers is another matter:
//! `words`.

use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use naga::{ArraySize, Handle, ScalarKind, Span, StructMember, TypeInner, VectorSize};
use rustc_hash::FxHashMap;

use super::Emit;
use crate::errors;

/// The scalar that holds a value of this type; none for types that no language here has.
pub fn register(scalar: Scalar) -> Option<naga::Scalar> {
    let (kind, width) = match scalar {
        Scalar::Bool => (ScalarKind::Bool, naga::BOOL_WIDTH),
        Scalar::I8 | Scalar::I16 | Scalar::I32 => (ScalarKind::Sint, 4),
        Scalar::U8 | Scalar::U16 | Scalar::U32 => (ScalarKind::Uint, 4),
        Scalar::I64 => (ScalarKind::Sint, 8),
        Scalar::U64 => (ScalarKind::Uint, 8),
        Scalar::F16 => (ScalarKind::Float, 2),
        Scalar::F32 => (ScalarKind::Float, 4),
        Scalar::F64 => (ScalarKind::Float, 8),
        _ => return None,
    };
    Some(naga::Scalar { kind, width })
}

/// The size of a vector.
pub fn vector_size(dim: u8) -> VectorSize {
    match dim {
        2 => VectorSize::Bi,
        3 => VectorSize::Tri,
        _ => VectorSize::Quad,
    }
}

/// A type with its layout in variables, which nothing outside of the kernel sees.
#[derive(Clone, Copy)]
struct Known {
    handle: Handle<naga::Type>,
    size: u64,
    align: u64,
}

/// The types made so far.
#[derive(Default)]
pub struct Types {
    known: FxHashMap<TypeId, Known>,
}

impl Types {
    /// The type of values of `ty`.
    pub fn of(
        &mut self,
        module: &mut naga::Module,
        types: &TypeTable,
        ty: TypeId,
    ) -> Emit<Handle<naga::Type>> {
        Ok(self.known(module, types, ty)?.handle)
    }

    /// Bytes of a variable of `ty`.
    pub fn size(&mut self, module: &mut naga::Module, types: &TypeTable, ty: TypeId) -> Emit<u64> {
        Ok(self.known(module, types, ty)?.size)
    }

    /// Types nest no deeper than the type table allows.
    fn known(&mut self, module: &mut naga::Module, types: &TypeTable, ty: TypeId) -> Emit<Known> {
        if let Some(&known) = self.known.get(&ty) {
            return Ok(known);
        }
        let made = self.make(module, types, ty)?;
        self.known.insert(ty, made);
        Ok(made)
    }

    fn make(&mut self, module: &mut naga::Module, types: &TypeTable, ty: TypeId) -> Emit<Known> {
        let scalar = |s| register(s).ok_or_else(|| refused(types, ty));
        let (inner, size, align) = match types.kind(ty) {
            TypeKind::Scalar(s) => {
                let s = scalar(*s)?;
                (TypeInner::Scalar(s), u64::from(s.width), u64::from(s.width))
            }
            TypeKind::Vector { elem, dim } => {
                let s = scalar(*elem)?;
                let width = u64::from(s.width);
                let align = width * if *dim == 2 { 2 } else { 4 };
                let inner = TypeInner::Vector { size: vector_size(*dim), scalar: s };
                (inner, width * u64::from(*dim), align)
            }
            TypeKind::Matrix { dim } => {
                let size = vector_size(*dim);
                let inner =
                    TypeInner::Matrix { columns: size, rows: size, scalar: naga::Scalar::F32 };
                let column = if *dim == 2 { 8 } else { 16 };
                (inner, column * u64::from(*dim), column)
            }
            TypeKind::Array { elem, len } => {
                let inner = self.known(module, types, *elem)?;
                let count = std::num::NonZeroU32::new(*len).ok_or_else(|| refused(types, ty))?;
                let stride = inner.size.next_multiple_of(inner.align);
                let size = stride * u64::from(*len);
                let array = TypeInner::Array {
                    base: inner.handle,
                    size: ArraySize::Constant(count),
                    stride: u32::try_from(stride).map_err(|_| refused(types, ty))?,
                };
                (array, size, inner.align)
            }
            TypeKind::Struct { .. } => self.structure(module, types, ty)?,
            _ => return Err(refused(types, ty)),
        };
        if size > naga::valid::MAX_TYPE_SIZE.into() {
            return Err(refused(types, ty));
        }
        let name = types.is_struct(ty).then(|| "Structure".to_string());
        let handle = module.types.insert(naga::Type { name, inner }, Span::UNDEFINED);
        Ok(Known { handle, size, align })
    }

    fn structure(
        &mut self,
        module: &mut naga::Module,
        types: &TypeTable,
        ty: TypeId,
    ) -> Emit<(TypeInner, u64, u64)> {
        let (mut members, mut end, mut align) = (Vec::new(), 0u64, 1u64);
        let count = types.member_count(ty);
        for i in 0..count.max(1) {
            // A structure without members gets one, since there are none without.
            let inner = types.element_type(ty, i).unwrap_or(TypeId::U32);
            let member = self.known(module, types, inner)?;
            let offset = end.next_multiple_of(member.align);
            end = offset + member.size;
            align = align.max(member.align);
            members.push(StructMember {
                name: Some(format!("m{i}")),
                ty: member.handle,
                binding: None,
                offset: u32::try_from(offset).map_err(|_| refused(types, ty))?,
            });
        }
        let size = end.next_multiple_of(align);
        let span = u32::try_from(size).map_err(|_| refused(types, ty))?;
        Ok((TypeInner::Struct { members, span }, size, align))
    }
}

fn refused(types: &TypeTable, ty: TypeId) -> Box<Diagnostic> {
    let text = format!("the target has no form for the type `{}`", types.description(ty));
    Box::new(Diagnostic::error(errors::UNSUPPORTED_TYPE, text).with_help("convert to another type"))
}

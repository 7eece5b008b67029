//! Types of values and of memory.
//!
//! A value is in *register form*: `bool` is a truth value, a matrix is an array of columns, nothing is laid out. Memory has the form that
//! its place asks for ([`Form`]): buffers have explicit offsets and strides, a `bool` of one byte, and integers for floats where a float
//! is changed atomically by compare and exchange.

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use rspirv::spirv::{Capability, Decoration, ExecutionMode, Op};
use rustc_hash::FxHashMap;

use super::module::{Id, Module};
use super::{Emit, type_refused};

/// How a type lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Form {
    /// With explicit layout, as buffers have it; `bool` is a byte.
    pub laid_out: bool,
    /// Floats are integers of their width, for compare and exchange.
    pub floats_as_ints: bool,
    /// Numbers of 8 and 16 bits are 32 wide, for atomics in memory without layout.
    pub widened: bool,
}

impl Form {
    /// Values, and variables of the thread.
    pub const REGISTER: Form = Form { laid_out: false, floats_as_ints: false, widened: false };
    /// Buffers.
    pub const BUFFER: Form = Form { laid_out: true, floats_as_ints: false, widened: false };
}

/// How a scalar lies in memory of a form: its width, and whether it is a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A truth value.
    Bool,
    /// An integer of this width.
    Int(u32),
    /// A float of this width.
    Float(u32),
}

/// The memory form of a scalar.
pub fn leaf(scalar: Scalar, form: Form) -> Leaf {
    let bits = scalar.bits();
    let wide = |bits: u32| if form.widened { bits.max(32) } else { bits };
    match scalar {
        Scalar::Bool if form.laid_out => Leaf::Int(8),
        Scalar::Bool => Leaf::Bool,
        _ if scalar.is_float() && !form.floats_as_ints => Leaf::Float(bits),
        _ => Leaf::Int(wide(bits)),
    }
}

/// Types declared so far.
#[derive(Default)]
pub struct Types {
    known: FxHashMap<(TypeId, Form), Id>,
}

impl Types {
    /// A scalar, in register form; declares what computing with it takes.
    pub fn scalar(&self, m: &mut Module, scalar: Scalar) -> Emit<Id> {
        if !is_held(scalar) {
            return Err(type_refused(scalar.name()));
        }
        Ok(match leaf(scalar, Form::REGISTER) {
            Leaf::Bool => m.bool(),
            Leaf::Int(bits) => {
                let capability = match bits {
                    8 => Some(Capability::Int8),
                    16 => Some(Capability::Int16),
                    64 => Some(Capability::Int64),
                    _ => None,
                };
                capability.into_iter().for_each(|c| m.capability(c));
                m.int(bits)
            }
            Leaf::Float(bits) => {
                let capability = match bits {
                    16 => Some(Capability::Float16),
                    64 => Some(Capability::Float64),
                    _ => None,
                };
                capability.into_iter().for_each(|c| m.capability(c));
                // Infinities, NaN and the sign of zero are never assumed away.
                m.capability(Capability::SignedZeroInfNanPreserve);
                m.mode(ExecutionMode::SignedZeroInfNanPreserve, bits);
                m.float(bits)
            }
        })
    }

    /// A scalar as it lies in memory of a form.
    fn stored(&self, m: &mut Module, scalar: Scalar, form: Form) -> Emit<Id> {
        if !is_held(scalar) {
            return Err(type_refused(scalar.name()));
        }
        let leaf = leaf(scalar, form);
        let bits = match leaf {
            Leaf::Bool => return Ok(m.bool()),
            Leaf::Int(bits) | Leaf::Float(bits) => bits,
        };
        if form.laid_out {
            match bits {
                8 => m.capability(Capability::StorageBuffer8BitAccess),
                16 => m.capability(Capability::StorageBuffer16BitAccess),
                64 if leaf == Leaf::Int(64) => m.capability(Capability::Int64),
                64 => m.capability(Capability::Float64),
                _ => {}
            }
            return Ok(if matches!(leaf, Leaf::Float(_)) { m.float(bits) } else { m.int(bits) });
        }
        match leaf {
            Leaf::Int(32) => Ok(m.int(32)),
            Leaf::Int(64) => {
                m.capability(Capability::Int64);
                Ok(m.int(64))
            }
            _ => self.scalar(m, scalar),
        }
    }

    /// A type in a form. Nesting of types is bounded where they are made, so is the recursion.
    pub fn get(&mut self, m: &mut Module, table: &TypeTable, ty: TypeId, form: Form) -> Emit<Id> {
        if let Some(&id) = self.known.get(&(ty, form)) {
            return Ok(id);
        }
        let id = match table.kind(ty) {
            TypeKind::Void => m.void(),
            TypeKind::Scalar(s) => self.stored(m, *s, form)?,
            TypeKind::Vector { elem, dim } => {
                let element = self.stored(m, *elem, form)?;
                m.vector(element, u32::from(*dim))
            }
            TypeKind::Matrix { dim } => {
                let column = TypeId::vector(Scalar::F32, *dim);
                self.array(m, table, column, u32::from(*dim), form)?
            }
            TypeKind::Array { elem, len } => self.array(m, table, *elem, *len, form)?,
            TypeKind::Struct { members, .. } => {
                let members: Vec<TypeId> = members.iter().map(|member| member.ty).collect();
                self.structure(m, table, ty, &members, form)?
            }
            _ => return Err(type_refused(&table.description(ty))),
        };
        self.known.insert((ty, form), id);
        Ok(id)
    }

    fn array(
        &mut self,
        m: &mut Module,
        table: &TypeTable,
        element: TypeId,
        count: u32,
        form: Form,
    ) -> Emit<Id> {
        let inner = self.get(m, table, element, form)?;
        let length = m.u32(count);
        if !form.laid_out {
            return Ok(m.intern(Op::TypeArray, 0, &[inner, length]));
        }
        let id = m.declare(Op::TypeArray, 0, &[inner, length]);
        m.decorate(id, Decoration::ArrayStride, &[table.stride(element) as u32]);
        Ok(id)
    }

    fn structure(
        &mut self,
        m: &mut Module,
        table: &TypeTable,
        ty: TypeId,
        members: &[TypeId],
        form: Form,
    ) -> Emit<Id> {
        let mut inner = Vec::with_capacity(members.len());
        for &member in members {
            inner.push(self.get(m, table, member, form)?);
        }
        if !form.laid_out {
            return Ok(m.intern(Op::TypeStruct, 0, &inner));
        }
        let id = m.declare(Op::TypeStruct, 0, &inner);
        for i in 0..members.len() as u32 {
            m.decorate_member(id, i, Decoration::Offset, &[table.member_offset(ty, i) as u32]);
        }
        Ok(id)
    }

    /// A block of memory with elements of this type to its end: what a buffer is.
    pub fn block(m: &mut Module, element: Id, stride: u32, read_only: bool) -> Id {
        let array = m.declare(Op::TypeRuntimeArray, 0, &[element]);
        m.decorate(array, Decoration::ArrayStride, &[stride]);
        let id = m.declare(Op::TypeStruct, 0, &[array]);
        m.decorate(id, Decoration::Block, &[]);
        m.decorate_member(id, 0, Decoration::Offset, &[0]);
        if read_only {
            m.decorate_member(id, 0, Decoration::NonWritable, &[]);
        }
        id
    }
}

/// Whether there is arithmetic on it: small floats and integers of four bits are for storage on other targets.
fn is_held(scalar: Scalar) -> bool {
    matches!(
        scalar,
        Scalar::Bool
            | Scalar::I8
            | Scalar::U8
            | Scalar::I16
            | Scalar::U16
            | Scalar::I32
            | Scalar::U32
            | Scalar::I64
            | Scalar::U64
            | Scalar::F16
            | Scalar::F32
            | Scalar::F64
    )
}

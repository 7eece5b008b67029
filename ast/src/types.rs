//! Types: interned, compared by id, with layout.
//!
//! A [`TypeTable`] owns every type of a [`Library`](crate::model::Library). `void`, all scalars, all vectors and all
//! matrices have the same id in every table, so that they can be named without one ([`TypeId::F32`],
//! [`TypeId::vector`]). Everything else is interned on demand: equal types have equal ids within a table.
//!
//! A type can only be built from types that exist, hence there are no cycles. Nesting, size and the length of the
//! description are bounded when a type is interned ([`TypeError`]), hence nothing that walks a type can run away.

mod kind;
mod predicates;
mod scalar;
#[cfg(test)]
mod tests;

use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;

pub use kind::{Attribute, Member, TypeError, TypeKind, is_custom_name};
pub use scalar::Scalar;

use crate::layout::{self, Layout};

/// A type of a [`TypeTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);
entity_impl!(TypeId, "type");

const FIRST_SCALAR: u32 = 1;
const FIRST_VECTOR: u32 = FIRST_SCALAR + Scalar::ALL.len() as u32;
const FIRST_MATRIX: u32 = FIRST_VECTOR + 3 * Scalar::ALL.len() as u32;
const FIRST_FREE: u32 = FIRST_MATRIX + 3;

impl TypeId {
    /// No value.
    pub const VOID: TypeId = TypeId(0);
    /// `bool`
    pub const BOOL: TypeId = TypeId::scalar(Scalar::Bool);
    /// `int`
    pub const I32: TypeId = TypeId::scalar(Scalar::I32);
    /// `uint`
    pub const U32: TypeId = TypeId::scalar(Scalar::U32);
    /// `long`
    pub const I64: TypeId = TypeId::scalar(Scalar::I64);
    /// `ulong`
    pub const U64: TypeId = TypeId::scalar(Scalar::U64);
    /// `half`
    pub const F16: TypeId = TypeId::scalar(Scalar::F16);
    /// `float`
    pub const F32: TypeId = TypeId::scalar(Scalar::F32);
    /// `double`
    pub const F64: TypeId = TypeId::scalar(Scalar::F64);

    /// The id of a scalar type, the same in every table.
    pub const fn scalar(scalar: Scalar) -> TypeId {
        TypeId(FIRST_SCALAR + scalar as u32)
    }

    /// The id of a vector type of `dim` components, the same in every table; a `dim` of 1 is the scalar itself.
    ///
    /// # Panics
    /// If `dim` is not 1, 2, 3 or 4.
    pub const fn vector(elem: Scalar, dim: u8) -> TypeId {
        match dim {
            1 => TypeId::scalar(elem),
            2..=4 => TypeId(FIRST_VECTOR + 3 * elem as u32 + dim as u32 - 2),
            _ => panic!("a vector has 2, 3 or 4 components"),
        }
    }

    /// The id of the square float matrix of `dim` columns, the same in every table.
    ///
    /// # Panics
    /// If `dim` is not 2, 3 or 4.
    pub const fn matrix(dim: u8) -> TypeId {
        assert!(2 <= dim && dim <= 4, "a matrix has 2, 3 or 4 columns");
        TypeId(FIRST_MATRIX + dim as u32 - 2)
    }
}

#[derive(Clone, Debug)]
struct Entry {
    kind: TypeKind,
    layout: Layout,
}

/// All types of a library.
#[derive(Clone, Debug)]
pub struct TypeTable {
    entries: PrimaryMap<TypeId, Entry>,
    ids: FxHashMap<TypeKind, TypeId>,
    /// Members of all structures together.
    parts: usize,
}

/// Members that all structures of a table may have together: a short text can name many.
const MAX_PARTS: usize = 1 << 22;

impl Default for TypeTable {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for TypeTable {
    fn eq(&self, other: &Self) -> bool {
        self.entries.len() == other.entries.len()
            && self.entries.values().zip(other.entries.values()).all(|(a, b)| a.kind == b.kind)
    }
}

impl TypeTable {
    /// A table that holds `void`, the scalars, the vectors and the matrices at their fixed ids.
    pub fn new() -> Self {
        let mut table = Self { entries: PrimaryMap::new(), ids: FxHashMap::default(), parts: 0 };
        table.push(TypeKind::Void, Layout::VOID);
        for scalar in Scalar::ALL {
            table.push(TypeKind::Scalar(scalar), layout::scalar(scalar));
        }
        for elem in Scalar::ALL {
            for dim in 2..=4 {
                table.push(TypeKind::Vector { elem, dim }, layout::vector(elem, dim));
            }
        }
        for dim in 2..=4 {
            table.push(TypeKind::Matrix { dim }, layout::matrix(dim));
        }
        debug_assert_eq!(table.entries.len(), FIRST_FREE as usize);
        table
    }

    fn push(&mut self, kind: TypeKind, layout: Layout) -> TypeId {
        let id = self.entries.push(Entry { kind: kind.clone(), layout });
        self.ids.insert(kind, id);
        id
    }

    /// Number of types, the fixed ones included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: the fixed types are always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Every type, elements before what they are an element of.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..self.entries.len()).map(TypeId::new)
    }

    /// Whether `id` is of this table, as far as a number can tell.
    pub fn contains(&self, id: TypeId) -> bool {
        id.index() < self.entries.len()
    }

    /// What the type is.
    #[inline]
    pub fn kind(&self, id: TypeId) -> &TypeKind {
        &self.entries[id].kind
    }

    pub(crate) fn layout(&self, id: TypeId) -> &Layout {
        &self.entries[id].layout
    }

    /// The id of a type that is in the table already.
    pub fn get(&self, kind: &TypeKind) -> Option<TypeId> {
        self.ids.get(kind).copied()
    }

    /// The id of `kind`, which is added if it is new.
    ///
    /// # Errors
    /// If an element or member is of a kind that cannot be one, a dimension or alignment is not allowed, or the type
    /// exceeds the bounds on size, nesting and description length.
    pub fn intern(&mut self, kind: TypeKind) -> Result<TypeId, TypeError> {
        if let Some(id) = self.get(&kind) {
            return Ok(id);
        }
        kind::check(self, &kind)?;
        let layout = layout::compute(self, &kind)?;
        if let TypeKind::Struct { members, .. } = &kind {
            self.parts += members.len();
            if self.parts > MAX_PARTS {
                return Err(TypeError::Parts(MAX_PARTS));
            }
        }
        Ok(self.push(kind, layout))
    }

    /// `array<elem,len>`. Errors as [`Self::intern`].
    pub fn array(&mut self, elem: TypeId, len: u32) -> Result<TypeId, TypeError> {
        self.intern(TypeKind::Array { elem, len })
    }

    /// A structure without attributes. Errors as [`Self::intern`].
    pub fn structure(
        &mut self,
        align: u32,
        members: impl IntoIterator<Item = TypeId>,
    ) -> Result<TypeId, TypeError> {
        self.intern(TypeKind::Struct {
            align,
            members: members.into_iter().map(Member::plain).collect(),
        })
    }

    /// A buffer without attributes; the element [`TypeId::VOID`] makes a byte buffer. Errors as [`Self::intern`].
    pub fn buffer(&mut self, elem: TypeId) -> Result<TypeId, TypeError> {
        self.intern(TypeKind::Buffer { elem, attrs: Box::default() })
    }

    /// A texture of 2 or 3 dimensions without attributes. Errors as [`Self::intern`].
    pub fn texture(&mut self, dim: u8, elem: Scalar) -> Result<TypeId, TypeError> {
        self.intern(TypeKind::Texture { dim, elem, attrs: Box::default() })
    }

    /// Bytes that a value takes in memory, trailing padding included; 0 for `void`, 8 for a resource (its handle).
    #[inline]
    pub fn size(&self, id: TypeId) -> u64 {
        self.layout(id).size
    }

    /// Alignment in bytes, a power of two.
    pub fn align(&self, id: TypeId) -> u32 {
        self.layout(id).align
    }

    /// Distance in bytes of two neighbours in an array or buffer: the size.
    pub fn stride(&self, id: TypeId) -> u64 {
        self.size(id)
    }

    /// How many levels of elements and members there are below the type; 0 for scalars.
    pub fn depth(&self, id: TypeId) -> u32 {
        self.layout(id).depth
    }

    /// Number of things that [`Self::element_type`] and [`Self::member_offset`] can name: components of a vector,
    /// columns of a matrix, elements of an array, members of a structure, else 0.
    #[inline]
    pub fn member_count(&self, id: TypeId) -> u32 {
        match self.kind(id) {
            TypeKind::Vector { dim, .. } | TypeKind::Matrix { dim } => u32::from(*dim),
            TypeKind::Array { len, .. } | TypeKind::CoopVec { len, .. } => *len,
            TypeKind::Struct { members, .. } => members.len() as u32,
            _ => 0,
        }
    }

    /// The type of component, column, element or member `index`; `None` if there is no such one.
    pub fn element_type(&self, id: TypeId, index: u32) -> Option<TypeId> {
        if index >= self.member_count(id) {
            return None;
        }
        match self.kind(id) {
            TypeKind::Vector { elem, .. } | TypeKind::CoopVec { elem, .. } => {
                Some(TypeId::scalar(*elem))
            }
            TypeKind::Matrix { dim } => Some(TypeId::vector(Scalar::F32, *dim)),
            TypeKind::Array { elem, .. } => Some(*elem),
            TypeKind::Struct { members, .. } => members.get(index as usize).map(|m| m.ty),
            _ => None,
        }
    }

    /// Offset in bytes of component, column, element or member `index` from the start of the value.
    ///
    /// An index past the end gives the offset that one more element would have; a structure's gives its size.
    pub fn member_offset(&self, id: TypeId, index: u32) -> u64 {
        match self.kind(id) {
            TypeKind::Struct { .. } => {
                let layout = self.layout(id);
                layout.offsets.get(index as usize).map_or(layout.size, |&o| u64::from(o))
            }
            _ => self.element_type(id, 0).map_or(0, |elem| self.stride(elem) * u64::from(index)),
        }
    }
}

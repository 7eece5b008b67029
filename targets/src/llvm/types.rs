//! Types: how an XIR type is held in LLVM values and in memory.
//!
//! A value of up to [`MAX_LEAVES`] scalars is a list of its scalars, its *leaves*, in memory order; a larger one lies in memory.
//! Only this module knows how many lanes a leaf carries: a scalar type for one lane, a vector for more.
//! A `bool` is an `i1`, in memory a byte; a half is its sixteen bits as an integer, so that no operation on halves can reach a
//! target that would call a library for it.

use std::rc::Rc;

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ir::{Ir, Ty};

/// Most leaves that a value is held as.
pub const MAX_LEAVES: u64 = 64;

/// Threads that one stream of instructions carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes(pub u32);

/// Leaves that memory holds side by side: a scalar, or the components of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Bytes from the start of the value.
    pub offset: u32,
    /// Type of each leaf.
    pub scalar: Scalar,
    /// Number of leaves, 1 to 4.
    pub count: u32,
    /// Number of scalars that the memory of the chunk has room for: 4 for 3.
    pub room: u32,
}

/// A type as leaves.
#[derive(Debug, Default)]
pub struct Flat {
    /// The chunks, in memory order.
    pub chunks: Vec<Chunk>,
    /// The scalar of each leaf.
    pub leaves: SmallVec<[Scalar; 8]>,
}

/// How types are held; one for each module.
pub struct TypeMap<'t> {
    types: &'t TypeTable,
    lanes: Lanes,
    /// Number of leaves of each type, saturating.
    counts: Vec<u64>,
    flats: FxHashMap<TypeId, Option<Rc<Flat>>>,
}

impl<'t> TypeMap<'t> {
    /// The map for a table; time linear in its size.
    pub fn new(types: &'t TypeTable, lanes: Lanes) -> TypeMap<'t> {
        use cranelift_entity::EntityRef;
        let mut counts: Vec<u64> = Vec::with_capacity(types.len());
        for id in types.ids() {
            let of = |ty: TypeId| counts.get(ty.index()).copied().unwrap_or(0);
            let count = match types.kind(id) {
                TypeKind::Scalar(_) => 1,
                TypeKind::Vector { dim, .. } => u64::from(*dim),
                TypeKind::Matrix { dim } => u64::from(*dim) * u64::from(*dim),
                TypeKind::Array { elem, len } => of(*elem).saturating_mul(u64::from(*len)),
                TypeKind::Struct { members, .. } => {
                    members.iter().fold(0u64, |n, m| n.saturating_add(of(m.ty)))
                }
                _ => 0,
            };
            counts.push(count);
        }
        TypeMap { types, lanes, counts, flats: FxHashMap::default() }
    }

    /// Number of leaves of a type.
    pub fn count(&self, ty: TypeId) -> u64 {
        use cranelift_entity::EntityRef;
        self.counts.get(ty.index()).copied().unwrap_or(0)
    }

    /// The leaves of a type; `None` if there are too many, so that it lies in memory.
    pub fn flat(&mut self, ty: TypeId) -> Option<Rc<Flat>> {
        if let Some(known) = self.flats.get(&ty) {
            return known.clone();
        }
        let flat = self.compute(ty).map(Rc::new);
        self.flats.insert(ty, flat.clone());
        flat
    }

    fn compute(&self, ty: TypeId) -> Option<Flat> {
        // An empty structure nested in a long array has no leaves but many elements: memory form skips them.
        if self.count(ty) > MAX_LEAVES || (self.count(ty) == 0 && self.types.size(ty) > 0) {
            return None;
        }
        let mut flat = Flat::default();
        let mut stack = vec![(ty, 0u64)];
        while let Some((ty, offset)) = stack.pop() {
            match self.types.kind(ty) {
                _ if self.count(ty) == 0 => {}
                TypeKind::Scalar(s) => flat.push(*s, 1, offset),
                TypeKind::Vector { elem, dim } => flat.push(*elem, u32::from(*dim), offset),
                _ => {
                    for i in (0..self.types.member_count(ty)).rev() {
                        if let Some(inner) = self.types.element_type(ty, i) {
                            stack.push((inner, offset + self.types.member_offset(ty, i)));
                        }
                    }
                }
            }
        }
        Some(flat)
    }

    /// The first leaf and the type of element `index` of a type that is held as leaves.
    pub fn leaf_of(&self, ty: TypeId, index: u32) -> Option<(u64, TypeId)> {
        let inner = self.types.element_type(ty, index)?;
        let first = match self.types.kind(ty) {
            TypeKind::Struct { members, .. } => {
                members.iter().take(index as usize).map(|m| self.count(m.ty)).sum()
            }
            _ => self.count(inner) * u64::from(index),
        };
        Some((first, inner))
    }

    /// The LLVM type of a leaf.
    pub fn leaf(&self, ir: &Ir<'_>, scalar: Scalar) -> Ty {
        let one = match scalar {
            Scalar::Bool => ir.int(1),
            Scalar::F32 => ir.f32(),
            Scalar::F64 => ir.f64(),
            _ => ir.int(scalar.size() * 8),
        };
        if self.lanes.0 == 1 { one } else { ir.vector(one, self.lanes.0) }
    }

    /// The LLVM type of a leaf in memory.
    pub fn memory(&self, ir: &Ir<'_>, scalar: Scalar) -> Ty {
        match scalar {
            Scalar::F32 => ir.f32(),
            Scalar::F64 => ir.f64(),
            _ => ir.int(scalar.size() * 8),
        }
    }
}

impl Flat {
    fn push(&mut self, scalar: Scalar, count: u32, offset: u64) {
        let room = if count == 3 { 4 } else { count };
        // The size of a type fits into 32 bits.
        self.chunks.push(Chunk { offset: offset as u32, scalar, count, room });
        self.leaves.extend(std::iter::repeat_n(scalar, count as usize));
    }
}

/// Scalars that can be computed with; the others are storage only.
pub fn is_computable(scalar: Scalar) -> bool {
    !matches!(scalar, Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I4 | Scalar::F4E2M1)
}

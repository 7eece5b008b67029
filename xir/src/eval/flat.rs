//! Flat values: the scalars of a value in order, without padding, and where each lies in memory.

use super::Bits;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};

/// Number of scalars in a value of data type `ty`; 0 for other types. Cost: linear in the members of structures.
pub fn count(types: &TypeTable, ty: TypeId) -> u64 {
    match types.kind(ty) {
        TypeKind::Scalar(_) => 1,
        TypeKind::Vector { dim, .. } => u64::from(*dim),
        TypeKind::Matrix { dim } => u64::from(*dim) * u64::from(*dim),
        TypeKind::CoopVec { len, .. } => u64::from(*len),
        // A type has less than 2^32 bytes, and every scalar has one at least.
        TypeKind::Array { elem, len } => u64::from(*len).saturating_mul(count(types, *elem)),
        TypeKind::Struct { members, .. } => members.iter().map(|m| count(types, m.ty)).sum(),
        _ => 0,
    }
}

/// The position, in scalars, of element, column or member `index` within a value of type `ty`.
pub fn offset_of(types: &TypeTable, ty: TypeId, index: u32) -> u64 {
    match types.kind(ty) {
        TypeKind::Struct { members, .. } => {
            members.iter().take(index as usize).map(|m| count(types, m.ty)).sum()
        }
        _ => types.element_type(ty, 0).map_or(0, |elem| count(types, elem) * u64::from(index)),
    }
}

/// A scalar of a value: its type, and its offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub offset: u64,
    pub scalar: Scalar,
}

/// The scalars of a type in flat order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flat {
    pub parts: Vec<Part>,
    /// Bytes of the value in memory.
    pub size: u64,
}

impl Flat {
    /// The scalars of data type `ty`; `None` if there are more than `limit`.
    pub fn of(types: &TypeTable, ty: TypeId, limit: u64) -> Option<Flat> {
        if count(types, ty) > limit {
            return None;
        }
        let mut flat = Flat { parts: Vec::new(), size: types.size(ty) };
        flat.append(types, ty, 0);
        Some(flat)
    }

    /// Nesting of types is bounded when they are interned.
    fn append(&mut self, types: &TypeTable, ty: TypeId, offset: u64) {
        if let TypeKind::Scalar(scalar) = *types.kind(ty) {
            self.parts.push(Part { offset, scalar });
            return;
        }
        for i in 0..types.member_count(ty) {
            if let Some(elem) = types.element_type(ty, i) {
                self.append(types, elem, offset + types.member_offset(ty, i));
            }
        }
    }

    /// The scalars of a value whose memory is `bytes`; what lies beyond the end is zero.
    pub fn read(&self, bytes: &[u8]) -> Vec<Bits> {
        self.parts.iter().map(|part| part.read(bytes)).collect()
    }

    /// The memory of a value, padding zero.
    pub fn write(&self, scalars: &[Bits]) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        for (part, &bits) in self.parts.iter().zip(scalars) {
            part.write(&mut bytes, bits);
        }
        bytes
    }
}

impl Part {
    fn range(self) -> std::ops::Range<usize> {
        self.offset as usize..self.offset as usize + self.scalar.size() as usize
    }

    /// The scalar in the memory of a value; zero if that ends before.
    pub fn read(self, bytes: &[u8]) -> Bits {
        bytes.get(self.range()).map_or(0, |bytes| read_scalar(bytes, self.scalar))
    }

    /// Writes the scalar into the memory of a value; nothing if that ends before.
    pub fn write(self, bytes: &mut [u8], bits: Bits) {
        if let Some(bytes) = bytes.get_mut(self.range()) {
            write_scalar(bytes, bits);
        }
    }
}

/// The bits of a scalar whose memory is `bytes`; a `bool` is true if its byte is not zero.
pub fn read_scalar(bytes: &[u8], scalar: Scalar) -> Bits {
    let bits = match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    };
    if scalar == Scalar::Bool { u64::from(bits != 0) } else { bits }
}

/// Writes the low bits of a scalar to all of `bytes`, which are eight at most.
pub fn write_scalar(bytes: &mut [u8], bits: Bits) {
    let size = bytes.len().min(8);
    bytes[..size].copy_from_slice(&bits.to_le_bytes()[..size]);
}

//! Constant data: literals, tables, zeros and ones, the numbers of types and texts.

use super::TOO_LARGE;
use super::function::{Lowerer, Result};
use crate::ValueId;
use luisac_ast::layout::clear_padding;
use luisac_ast::model::TextRange;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of the largest constant that is made from nothing but a type.
const MAX_CONSTANT: u64 = 64 << 20;

/// The scalars of a type, in order of their offsets. Memory is bounded by the depth of the type.
pub(super) struct Leaves<'a> {
    types: &'a TypeTable,
    /// Composite types on the way to the present leaf, their offsets, and the part to visit next.
    stack: Vec<(TypeId, u64, u32)>,
    root: Option<TypeId>,
    path: Vec<u32>,
}

/// A scalar inside of a type.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    /// Bytes from the start of the value.
    pub offset: u64,
    pub ty: TypeId,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(types: &'a TypeTable, ty: TypeId) -> Leaves<'a> {
        Leaves { types, stack: Vec::new(), root: Some(ty), path: Vec::new() }
    }

    /// The indices that lead to the leaf that `next` gave last.
    pub(super) fn path(&self) -> &[u32] {
        &self.path
    }
}

impl Iterator for Leaves<'_> {
    type Item = Leaf;

    fn next(&mut self) -> Option<Leaf> {
        if let Some(ty) = self.root.take() {
            if self.types.is_scalar(ty) {
                return Some(Leaf { offset: 0, ty });
            }
            self.stack.push((ty, 0, 0));
        }
        loop {
            let &mut (ty, base, ref mut next) = self.stack.last_mut()?;
            let Some(element) = self.types.element_type(ty, *next) else {
                self.stack.pop();
                continue;
            };
            let offset = base + self.types.member_offset(ty, *next);
            self.path.truncate(self.stack.len() - 1);
            if let Some((_, _, next)) = self.stack.last_mut() {
                self.path.push(*next);
                *next += 1;
            }
            if self.types.is_scalar(element) {
                return Some(Leaf { offset, ty: element });
            }
            self.stack.push((element, offset, 0));
        }
    }
}

impl Lowerer<'_> {
    /// The constant of these bytes: padding cleared, truth values 0 or 1.
    pub(super) fn data_constant(&mut self, ty: TypeId, bytes: &[u8]) -> Result<ValueId> {
        if bytes.len() as u64 != self.types.size(ty) {
            let text = format!("a constant of {} has {} bytes", self.describe(ty), bytes.len());
            return Err(self.error(super::MALFORMED, text));
        }
        let mut bytes = bytes.to_vec();
        clear_padding(self.types, ty, &mut bytes);
        if holds_bool(self.types, ty) {
            for leaf in Leaves::new(self.types, ty).filter(|l| l.ty == TypeId::BOOL) {
                if let Some(byte) = bytes.get_mut(leaf.offset as usize) {
                    *byte = u8::from(*byte != 0);
                }
            }
        }
        Ok(self.func.constant(ty, bytes))
    }

    /// The constant with zero, or one, in every scalar.
    pub(super) fn filled(&mut self, ty: TypeId, one: bool) -> Result<ValueId> {
        let size = self.types.size(ty);
        if size > MAX_CONSTANT || !self.types.is_data(ty) {
            let text = format!("a constant of {} is too large, or no data", self.describe(ty));
            return Err(self.error(TOO_LARGE, text));
        }
        let mut bytes = vec![0; size as usize];
        if one {
            for leaf in Leaves::new(self.types, ty) {
                let Some(scalar) = self.types.scalar_of(leaf.ty) else { continue };
                let at = leaf.offset as usize;
                let len = scalar.size() as usize;
                if let Some(slot) = bytes.get_mut(at..at + len) {
                    slot.copy_from_slice(&one_bits(scalar).to_le_bytes()[..len]);
                }
            }
        }
        Ok(self.func.constant(ty, bytes))
    }

    /// The number that stands for a type: the hash of its description (`ast.md` section 6).
    pub(super) fn type_number(&mut self, ty: TypeId) -> ValueId {
        let seed = hash(b"__hash_type", DEFAULT_SEED);
        let number = hash(self.types.description(ty).as_bytes(), seed);
        self.scalar_constant(TypeId::U64, number)
    }

    /// The number that stands for a text: its hash.
    pub(super) fn text_number(&mut self, text: TextRange) -> ValueId {
        let number = hash(self.ast.text_in(text).as_bytes(), DEFAULT_SEED);
        self.scalar_constant(TypeId::U64, number)
    }
}

const DEFAULT_SEED: u64 = (1 << 61) - 1;

fn hash(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// The bits of 1.
fn one_bits(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::F16 => 0x3c00,
        Scalar::F32 => 0x3f80_0000,
        Scalar::F64 => 0x3ff0_0000_0000_0000,
        Scalar::F8E4M3 => 0x38,
        Scalar::F8E5M2 => 0x3c,
        Scalar::F4E2M1 => 0x2,
        _ => 1,
    }
}

/// Whether some scalar of the type is `bool`. Looks at every part of the type once, at no element twice.
fn holds_bool(types: &TypeTable, ty: TypeId) -> bool {
    let mut pending = vec![ty];
    while let Some(ty) = pending.pop() {
        match types.kind(ty) {
            TypeKind::Array { elem, .. } => pending.push(*elem),
            TypeKind::Struct { members, .. } => pending.extend(members.iter().map(|m| m.ty)),
            _ if types.scalar_of(ty) == Some(Scalar::Bool) => return true,
            _ => {}
        }
    }
    false
}

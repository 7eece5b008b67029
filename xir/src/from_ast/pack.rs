//! `PACK` and `UNPACK`: a value as the words of its memory layout in a buffer of `uint`.

use super::constants::{Leaf, Leaves};
use super::function::{Lowerer, Result};
use super::{TOO_LARGE, TYPE_MISMATCH};
use crate::op::{ArithmeticOp, CastOp, ResourceReadOp, ResourceWriteOp};
use crate::{Op, ValueId};
use luisac_ast::types::{Scalar, TypeId};

/// Words in a buffer: the index of the first, and how far they are apart.
#[derive(Clone, Copy)]
struct Words {
    first: ValueId,
    stride: u64,
}

/// Words of the largest value that is packed word by word.
const MAX_WORDS: u64 = 1 << 14;

impl Lowerer<'_> {
    /// `PACK value, words, offset`: every word is written, padding as zero.
    pub(super) fn pack(&mut self, args: &[ValueId]) -> Result<()> {
        let (value, buffer) = (self.argument(args, 0)?, self.argument(args, 1)?);
        let offset = self.argument(args, 2)?;
        let ty = self.ty(value);
        let count = self.word_count(ty)?;
        let mut words: Vec<Option<ValueId>> = vec![None; count];
        let mut leaves = Leaves::new(self.types, ty);
        while let Some(leaf) = leaves.next() {
            let part = self.extract(value, leaves.path(), leaf.ty);
            self.pack_leaf(leaf, part, &mut words)?;
        }
        let words_of = self.words(buffer, offset)?;
        for (i, word) in words.into_iter().enumerate() {
            let word = word.unwrap_or_else(|| self.func.u32_constant(0));
            let index = self.word_index(words_of, i)?;
            let op = if words_of.stride == 1 {
                ResourceWriteOp::BufferWrite
            } else {
                ResourceWriteOp::ByteBufferWrite
            };
            self.effect(Op::ResourceWrite(op), &[buffer, index, word]);
        }
        Ok(())
    }

    fn pack_leaf(
        &mut self,
        leaf: Leaf,
        part: ValueId,
        words: &mut [Option<ValueId>],
    ) -> Result<()> {
        let at = (leaf.offset / 4) as usize;
        let bits = self.bits_of(part)?;
        let mut put = |slot: usize, word: ValueId| {
            if let Some(slot) = words.get_mut(slot) {
                *slot = Some(word);
            }
        };
        match self.types.size(leaf.ty) {
            8 => {
                let low = self.value(Op::Cast(CastOp::Static), TypeId::U32, &[bits]);
                let shift = self.func.u32_constant(32);
                let high = self.arithmetic(ArithmeticOp::BinaryShiftRight, &[bits, shift])?;
                let high = self.value(Op::Cast(CastOp::Static), TypeId::U32, &[high]);
                put(at, low);
                put(at + 1, high);
            }
            4 => put(at, bits),
            _ => {
                let mut word = self.convert(bits, TypeId::U32)?;
                let shift = leaf.offset % 4 * 8;
                if shift != 0 {
                    let shift = self.func.u32_constant(shift as u32);
                    word = self.arithmetic(ArithmeticOp::BinaryShiftLeft, &[word, shift])?;
                }
                if let Some(Some(other)) = words.get(at) {
                    word = self.arithmetic(ArithmeticOp::BinaryBitOr, &[*other, word])?;
                }
                if let Some(slot) = words.get_mut(at) {
                    *slot = Some(word);
                }
            }
        }
        Ok(())
    }

    /// A scalar as the unsigned integer of its bits.
    pub(super) fn bits_of(&mut self, value: ValueId) -> Result<ValueId> {
        let ty = self.ty(value);
        let to = self.carrier(ty)?;
        if ty == TypeId::BOOL {
            return self.convert(value, to);
        }
        Ok(if ty == to { value } else { self.value(Op::Cast(CastOp::Bitwise), to, &[value]) })
    }

    /// The unsigned integer that carries the bits of a scalar.
    fn carrier(&self, ty: TypeId) -> Result<TypeId> {
        match (self.types.scalar_of(ty), self.types.size(ty)) {
            (Some(Scalar::Bool), _) => Ok(TypeId::scalar(Scalar::U8)),
            (Some(scalar), size) if u64::from(scalar.bits()) == size * 8 => Ok(match size {
                1 => TypeId::scalar(Scalar::U8),
                2 => TypeId::scalar(Scalar::U16),
                4 => TypeId::U32,
                _ => TypeId::U64,
            }),
            _ => Err(self.error(TYPE_MISMATCH, format!("{} cannot be packed", self.describe(ty)))),
        }
    }

    /// `UNPACK words, offset` as `ty`: every word that holds something is read once.
    pub(super) fn unpack(&mut self, args: &[ValueId], ty: TypeId) -> Result<ValueId> {
        let (buffer, offset) = (self.argument(args, 0)?, self.argument(args, 1)?);
        let mut words: Vec<Option<ValueId>> = vec![None; self.word_count(ty)?];
        let words_of = self.words(buffer, offset)?;
        let mut parts = Vec::new();
        for leaf in Leaves::new(self.types, ty) {
            let first = (leaf.offset / 4) as usize;
            let last = ((leaf.offset + self.types.size(leaf.ty) - 1) / 4) as usize;
            for i in first..=last {
                if words.get(i) == Some(&None) {
                    let index = self.word_index(words_of, i)?;
                    let op = if words_of.stride == 1 {
                        ResourceReadOp::BufferRead
                    } else {
                        ResourceReadOp::ByteBufferRead
                    };
                    words[i] =
                        Some(self.value(Op::ResourceRead(op), TypeId::U32, &[buffer, index]));
                }
            }
            parts.push(self.unpack_leaf(leaf, &words)?);
        }
        Ok(self.assemble(ty, parts))
    }

    fn unpack_leaf(&mut self, leaf: Leaf, words: &[Option<ValueId>]) -> Result<ValueId> {
        let at = (leaf.offset / 4) as usize;
        let zero = self.func.u32_constant(0);
        let word = |i: usize| words.get(i).copied().flatten().unwrap_or(zero);
        let carrier = self.carrier(leaf.ty)?;
        let bits = match self.types.size(leaf.ty) {
            8 => {
                let low = self.convert(word(at), TypeId::U64)?;
                let high = self.convert(word(at + 1), TypeId::U64)?;
                let shift = self.func.u32_constant(32);
                let high = self.arithmetic(ArithmeticOp::BinaryShiftLeft, &[high, shift])?;
                self.arithmetic(ArithmeticOp::BinaryBitOr, &[high, low])?
            }
            4 => word(at),
            _ => {
                let mut bits = word(at);
                let shift = leaf.offset % 4 * 8;
                if shift != 0 {
                    let shift = self.func.u32_constant(shift as u32);
                    bits = self.arithmetic(ArithmeticOp::BinaryShiftRight, &[bits, shift])?;
                }
                self.convert(bits, carrier)?
            }
        };
        if leaf.ty == TypeId::BOOL {
            return self.convert(bits, TypeId::BOOL);
        }
        Ok(if leaf.ty == carrier {
            bits
        } else {
            self.value(Op::Cast(CastOp::Bitwise), leaf.ty, &[bits])
        })
    }

    /// A value of `ty` from its scalars in order, composites innermost first.
    fn assemble(&mut self, ty: TypeId, scalars: Vec<ValueId>) -> ValueId {
        if let (true, Some(&scalar)) = (self.types.is_scalar(ty), scalars.first()) {
            return scalar;
        }
        let mut scalars = scalars.into_iter();
        // Composites that are being filled, and their parts so far.
        let mut open = vec![(ty, Vec::new())];
        loop {
            let Some((ty, parts)) = open.last_mut() else { return self.func.undefined(ty) };
            let ty = *ty;
            match self.types.element_type(ty, parts.len() as u32) {
                Some(element) if self.types.is_scalar(element) => {
                    if let Some(scalar) = scalars.next() {
                        parts.push(scalar);
                    } else {
                        return self.func.undefined(ty);
                    }
                }
                Some(element) => open.push((element, Vec::new())),
                None => {
                    let parts = std::mem::take(parts);
                    open.pop();
                    let whole = self.aggregate(ty, &parts);
                    match open.last_mut() {
                        Some((_, parts)) => parts.push(whole),
                        None => return whole,
                    }
                }
            }
        }
    }

    fn word_count(&self, ty: TypeId) -> Result<usize> {
        let words = self.types.size(ty).div_ceil(4);
        if !self.types.is_data(ty) || words > MAX_WORDS {
            let text = format!(
                "{} cannot be packed: it has no words, or more than {MAX_WORDS}",
                self.describe(ty)
            );
            return Err(self.error(TOO_LARGE, text));
        }
        Ok(words as usize)
    }

    /// Where the words start: in 64 bits, so that adding does not wrap; in bytes for a byte buffer.
    fn words(&mut self, buffer: ValueId, offset: ValueId) -> Result<Words> {
        let ty = self.ty(buffer);
        let words = self.is_byte_buffer(ty) || self.buffer_element(ty) == Ok(TypeId::U32);
        if !words || !self.func.is_resource(buffer) {
            let text = format!("{} is no buffer of words", self.describe(ty));
            return Err(self.error(TYPE_MISMATCH, text));
        }
        let offset = self.as_index(offset)?;
        let signed = self.types.scalar_of(self.ty(offset)).is_some_and(Scalar::is_signed);
        let first = self.convert(offset, if signed { TypeId::I64 } else { TypeId::U64 })?;
        if !self.is_byte_buffer(ty) {
            return Ok(Words { first, stride: 1 });
        }
        let four = self.scalar_constant(self.ty(first), 4);
        let first = self.arithmetic(ArithmeticOp::BinaryMul, &[first, four])?;
        Ok(Words { first, stride: 4 })
    }

    fn word_index(&mut self, words: Words, i: usize) -> Result<ValueId> {
        if i == 0 {
            return Ok(words.first);
        }
        let step = self.scalar_constant(self.ty(words.first), words.stride * i as u64);
        self.arithmetic(ArithmeticOp::BinaryAdd, &[words.first, step])
    }
}

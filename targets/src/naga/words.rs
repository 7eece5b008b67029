//! Values as 32-bit words: buffers, parameters and bit casts.
//!
//! Buffers are arrays of words, so that any layout can be read. A scalar of less than a word that is stored where a
//! neighbour may belong to another thread flips its own bits by one atomic `xor`: nobody else changes them.

use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::eval::flat::Flat;
use naga::{
    AtomicFunction, BinaryOperator as B, Expression, Handle, MathFunction, ScalarKind, Statement,
};
use rustc_hash::FxHashMap;

use super::Emit;
use super::body::Val;
use super::function::FnEmit;
use super::types::vector_size;
use crate::errors;

/// Most scalars of a value that is read or written whole.
const MAX_SCALARS: u64 = 4096;

/// Memory that is an array of words.
#[derive(Clone, Copy)]
pub struct Words {
    /// The expression that points to the array.
    pub base: Val,
}

impl FnEmit<'_> {
    // ---- scalars

    /// A scalar out of its words; what stands above a scalar of less than a word does not matter.
    pub fn scalar_from_words(&mut self, scalar: Scalar, words: &[Val]) -> Emit<Val> {
        let b = &mut self.body;
        let low = words[0];
        Ok(match scalar {
            Scalar::Bool => {
                let byte = b.and_const(low, 0xff);
                let zero = b.u32(0);
                b.binary(B::NotEqual, byte, zero)
            }
            Scalar::U8 | Scalar::U16 => b.and_const(low, (1 << scalar.bits()) - 1),
            Scalar::I8 | Scalar::I16 => {
                let signed = b.bitcast(low, ScalarKind::Sint);
                let rest = 32 - scalar.bits();
                let high = b.shift(B::ShiftLeft, signed, rest);
                b.shift(B::ShiftRight, high, rest)
            }
            Scalar::U32 => low,
            Scalar::I32 => b.bitcast(low, ScalarKind::Sint),
            Scalar::F32 => b.bitcast(low, ScalarKind::Float),
            Scalar::F16 => {
                let pair = b.value(math(MathFunction::Unpack2x16float, low));
                let half = b.access_index(pair, 0);
                b.convert(half, ScalarKind::Float, 2)
            }
            Scalar::U64 | Scalar::I64 | Scalar::F64 => {
                let (low, high) = (
                    b.convert(low, ScalarKind::Uint, 8),
                    b.convert(words[words.len() - 1], ScalarKind::Uint, 8),
                );
                let high = b.shift(B::ShiftLeft, high, 32);
                let whole = b.binary(B::InclusiveOr, high, low);
                match scalar {
                    Scalar::U64 => whole,
                    Scalar::I64 => b.bitcast(whole, ScalarKind::Sint),
                    _ => b.bitcast(whole, ScalarKind::Float),
                }
            }
            _ => return Err(self.refused_scalar(scalar)),
        })
    }

    /// The words of a scalar; zero above one of less than a word.
    pub fn scalar_to_words(&mut self, scalar: Scalar, value: Val) -> Emit<Vec<Val>> {
        let b = &mut self.body;
        Ok(match scalar {
            Scalar::Bool => {
                let (one, zero) = (b.u32(1), b.u32(0));
                vec![b.select(value, one, zero)]
            }
            Scalar::U8 | Scalar::U16 | Scalar::U32 => vec![value],
            Scalar::I8 | Scalar::I16 => {
                let bits = b.bitcast(value, ScalarKind::Uint);
                vec![b.and_const(bits, (1 << scalar.bits()) - 1)]
            }
            Scalar::I32 | Scalar::F32 => vec![b.bitcast(value, ScalarKind::Uint)],
            Scalar::F16 => {
                let (wide, zero) = (b.convert(value, ScalarKind::Float, 4), b.f32(0.0));
                let ty = self.vector_type(naga::Scalar::F32, 2);
                let b = &mut self.body;
                let pair = b.compose(ty, vec![wide, zero]);
                vec![b.value(math(MathFunction::Pack2x16float, pair))]
            }
            Scalar::U64 | Scalar::I64 | Scalar::F64 => {
                let bits = match scalar {
                    Scalar::U64 => value,
                    _ => b.bitcast(value, ScalarKind::Uint),
                };
                let low = b.convert(bits, ScalarKind::Uint, 4);
                let high = b.shift(B::ShiftRight, bits, 32);
                vec![low, b.convert(high, ScalarKind::Uint, 4)]
            }
            _ => return Err(self.refused_scalar(scalar)),
        })
    }

    fn refused_scalar(&self, scalar: Scalar) -> Box<Diagnostic> {
        let text = format!("the target has no form for the type `{}`", scalar.name());
        Box::new(
            Diagnostic::error(errors::UNSUPPORTED_TYPE, text).with_help("convert to another type"),
        )
    }

    pub fn vector_type(&mut self, scalar: naga::Scalar, dim: u8) -> Handle<naga::Type> {
        let inner = naga::TypeInner::Vector { size: vector_size(dim), scalar };
        self.module.types.insert(naga::Type { name: None, inner }, naga::Span::UNDEFINED)
    }

    // ---- composites

    fn flat(&self, ty: TypeId) -> Emit<Flat> {
        Flat::of(self.types, ty, MAX_SCALARS).ok_or_else(|| {
            let text = format!(
                "a value of type `{}` is read or written whole",
                self.types.description(ty)
            );
            Box::new(
                Diagnostic::error(errors::TOO_LARGE, text)
                    .with_help("read or write its elements one by one"),
            )
        })
    }

    /// The value of a type from its scalars in order. Types nest no deeper than the type table allows.
    pub fn assemble(&mut self, ty: TypeId, scalars: &mut impl Iterator<Item = Val>) -> Emit<Val> {
        if self.types.is_scalar(ty) {
            return scalars.next().ok_or_else(|| self.internal("a scalar is missing"));
        }
        let count = self.types.member_count(ty);
        let handle = self.type_of(ty)?;
        if count == 0 {
            return Ok(self.body.value(Expression::ZeroValue(handle)));
        }
        let mut parts = Vec::with_capacity(count as usize);
        for i in 0..count {
            let inner = self.types.element_type(ty, i).unwrap_or(TypeId::U32);
            parts.push(self.assemble(inner, scalars)?);
        }
        Ok(self.body.compose(handle, parts))
    }

    /// The scalars of a value in order.
    pub fn scalars(&mut self, ty: TypeId, value: Val) -> Vec<Val> {
        let mut pending = vec![(ty, value)];
        let mut scalars = Vec::new();
        while let Some((ty, value)) = pending.pop() {
            if self.types.is_scalar(ty) {
                scalars.push(value);
                continue;
            }
            for i in (0..self.types.member_count(ty)).rev() {
                let inner = self.types.element_type(ty, i).unwrap_or(TypeId::U32);
                let part = self.body.access_index(value, i);
                pending.push((inner, part));
            }
        }
        // Parts were taken from the last to the first.
        scalars
    }

    // ---- memory

    fn word(&mut self, words: Words, index: Val) -> Val {
        let pointer = self.body.access(words.base, index);
        self.body.load(pointer)
    }

    /// Word number `index` of the parameter block.
    fn param_word(&mut self, base: Val, index: u32) -> Val {
        let row = self.body.access_index(base, index / 4);
        let word = self.body.access_index(row, index % 4);
        self.body.load(word)
    }

    /// A value of the parameter block at a fixed offset.
    pub fn read_param(&mut self, base: Val, offset: u32, ty: TypeId) -> Emit<Val> {
        let flat = self.flat(ty)?;
        let mut words: FxHashMap<u32, Val> = FxHashMap::default();
        let mut scalars = Vec::with_capacity(flat.parts.len());
        for part in &flat.parts {
            let byte = offset + part.offset as u32;
            let mut read = Vec::new();
            for i in 0..part.scalar.size().div_ceil(4) {
                let index = byte / 4 + i;
                let word = match words.get(&index) {
                    Some(&word) => word,
                    None => self.param_word(base, index),
                };
                words.insert(index, word);
                read.push(self.body.shift(B::ShiftRight, word, byte % 4 * 8));
            }
            scalars.push(self.scalar_from_words(part.scalar, &read)?);
        }
        self.assemble(ty, &mut scalars.into_iter())
    }

    /// The value of type `ty` at a byte offset that is a multiple of its alignment.
    pub fn read_words(&mut self, words: Words, byte: Val, ty: TypeId) -> Emit<Val> {
        let flat = self.flat(ty)?;
        let whole = self.types.align(ty) >= 4;
        let first = self.body.word_of(byte);
        let mut known: FxHashMap<u64, Val> = FxHashMap::default();
        let mut scalars = Vec::with_capacity(flat.parts.len());
        for part in &flat.parts {
            let mut read = Vec::new();
            if !whole {
                let at = self.body.add_const(byte, part.offset as u32);
                read.push(self.short_word(words, at));
            } else {
                for i in 0..u64::from(part.scalar.size().div_ceil(4)) {
                    let number = part.offset / 4 + i;
                    let word = match known.get(&number) {
                        Some(&word) => word,
                        None => {
                            let index = self.body.add_const(first, number as u32);
                            self.word(words, index)
                        }
                    };
                    known.insert(number, word);
                    let by = (part.offset % 4 * 8) as u32;
                    read.push(self.body.shift(B::ShiftRight, word, by));
                }
            }
            scalars.push(self.scalar_from_words(part.scalar, &read)?);
        }
        self.assemble(ty, &mut scalars.into_iter())
    }

    /// The word that a byte is in, shifted so that the byte comes first.
    fn short_word(&mut self, words: Words, byte: Val) -> Val {
        let index = self.body.shift(B::ShiftRight, byte, 2);
        let word = self.word(words, index);
        let amount = self.bit_of(byte);
        self.body.binary(B::ShiftRight, word, amount)
    }

    /// The place of a byte in its word, in bits.
    fn bit_of(&mut self, byte: Val) -> Val {
        let place = self.body.and_const(byte, 3);
        self.body.shift(B::ShiftLeft, place, 3)
    }

    /// Stores a value of type `ty` at a byte offset that is a multiple of its alignment. Padding becomes zero.
    pub fn write_words(&mut self, words: Words, byte: Val, ty: TypeId, value: Val) -> Emit<()> {
        let flat = self.flat(ty)?;
        let scalars = self.scalars(ty, value);
        if self.types.align(ty) < 4 {
            for (part, value) in flat.parts.iter().zip(scalars) {
                let bits = self.scalar_to_words(part.scalar, value)?[0];
                let at = self.body.add_const(byte, part.offset as u32);
                self.write_short(words, at, part.scalar.bits(), bits);
            }
            return Ok(());
        }
        let mut made: Vec<Option<Val>> = vec![None; (flat.size as usize).div_ceil(4)];
        for (part, value) in flat.parts.iter().zip(scalars) {
            let by = (part.offset % 4 * 8) as u32;
            for (i, bits) in self.scalar_to_words(part.scalar, value)?.into_iter().enumerate() {
                let bits = self.body.shift(B::ShiftLeft, bits, by);
                let word = &mut made[part.offset as usize / 4 + i];
                *word = Some(match *word {
                    Some(other) => self.body.binary(B::InclusiveOr, other, bits),
                    None => bits,
                });
            }
        }
        let first = self.body.word_of(byte);
        for (i, word) in made.into_iter().enumerate() {
            let Some(word) = word else { continue };
            let index = self.body.add_const(first, i as u32);
            let pointer = self.body.access(words.base, index);
            self.body.store(pointer, word);
        }
        Ok(())
    }

    /// Stores less than a word: what differs is flipped.
    fn write_short(&mut self, words: Words, byte: Val, width: u32, bits: Val) {
        let index = self.body.shift(B::ShiftRight, byte, 2);
        let old = self.word(words, index);
        let amount = self.bit_of(byte);
        let old = self.body.binary(B::ShiftRight, old, amount);
        let change = self.body.binary(B::ExclusiveOr, old, bits);
        let change = self.body.and_const(change, (1 << width) - 1);
        let change = self.body.binary(B::ShiftLeft, change, amount);
        let pointer = self.body.access(words.base, index);
        self.body.statement(Statement::Atomic {
            pointer,
            fun: AtomicFunction::ExclusiveOr,
            value: change,
            result: None,
        });
    }

    // ---- bit casts

    /// The same bits as another type.
    pub fn reinterpret(&mut self, from: TypeId, to: TypeId, value: Val) -> Emit<Val> {
        let scalar = |ty| self.types.scalar_of(ty).unwrap_or(Scalar::U32);
        let (source, target) = (scalar(from), scalar(to));
        let mut packed: Vec<(Val, u32)> = Vec::new();
        for value in self.scalars(from, value) {
            for word in self.scalar_to_words(source, value)? {
                packed.push((word, source.bits().min(32)));
            }
        }
        // Pieces of the width of the target, at most a word.
        let width = target.bits().min(32);
        let mut pieces = Vec::new();
        let (mut sum, mut filled) = (None, 0);
        for (word, bits) in packed {
            if bits >= width {
                for i in 0..bits / width {
                    pieces.push(self.body.shift(B::ShiftRight, word, i * width));
                }
                continue;
            }
            let shifted = self.body.shift(B::ShiftLeft, word, filled);
            let joined = match sum {
                Some(other) => self.body.binary(B::InclusiveOr, other, shifted),
                None => shifted,
            };
            filled += bits;
            sum = Some(joined);
            if filled == width {
                pieces.push(joined);
                (sum, filled) = (None, 0);
            }
        }
        let per = target.bits().div_ceil(32) as usize;
        let mut scalars = Vec::new();
        for words in pieces.chunks(per) {
            scalars.push(self.scalar_from_words(target, words)?);
        }
        self.assemble(to, &mut scalars.into_iter())
    }
}

/// A function of one operand.
pub fn math(fun: MathFunction, arg: Val) -> Expression {
    Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None }
}

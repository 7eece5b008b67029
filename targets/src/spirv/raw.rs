//! Memory as words: the parameter block, byte buffers and the buffers of bindless arrays hold values of any type at any offset.
//!
//! Reads take the words that a value lies in. Stores of less than a word go through a second view of the same buffer, with elements of
//! 8 or 16 bits: reading, changing and writing back a word would lose what a neighbour writes meanwhile.

use luisac_ast::types::{Scalar, TypeId};
use rspirv::spirv::{Decoration, MemoryAccess, Op, StorageClass};

use super::function::FnEmit;
use super::interface::View;
use super::memory::integer_of;
use super::module::Id;
use super::types::{Form, Leaf, leaf};
use super::{Emit, internal};

/// Which memory.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The parameter block.
    Params,
    /// The buffer of an argument.
    Buffer { argument: usize, volatile: bool },
    /// A buffer of a bindless array, by its index in the heap.
    Heap { index: Id, uniform: bool },
}

/// A byte address: a constant, and perhaps what is known at run time only.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Bytes.
    pub constant: u64,
    /// Words, a multiple of four bytes.
    words: Option<Id>,
    /// Bytes of any alignment.
    bytes: Option<Id>,
}

impl Address {
    /// An address known now.
    pub fn constant(constant: u64) -> Address {
        Address { constant, words: None, bytes: None }
    }

    fn plus(self, bytes: u64) -> Address {
        Address { constant: self.constant + bytes, ..self }
    }
}

/// Elements of an array that are read or written one by one.
const UNROLLED: u32 = 32;

impl FnEmit<'_> {
    /// The address of a value of type `ty` at a byte offset that is a multiple of its alignment.
    pub fn address(&mut self, bytes: Id, ty: TypeId) -> Address {
        if self.table().align(ty) >= 4 {
            let word = self.m.int(32);
            let two = self.m.u32(2);
            let words = self.op(Op::ShiftRightLogical, word, &[bytes, two]);
            Address { constant: 0, words: Some(words), bytes: None }
        } else {
            Address { constant: 0, words: None, bytes: Some(bytes) }
        }
    }

    /// The address moved by `index` elements of `stride` bytes.
    fn advance(&mut self, at: Address, index: Id, stride: u64) -> Address {
        let word = self.m.int(32);
        let aligned = stride.is_multiple_of(4) && at.bytes.is_none();
        let step = self.m.u32(if aligned { stride / 4 } else { stride } as u32);
        let moved = self.op(Op::IMul, word, &[index, step]);
        if aligned {
            let words = match at.words {
                Some(words) => self.op(Op::IAdd, word, &[words, moved]),
                None => moved,
            };
            return Address { words: Some(words), ..at };
        }
        let mut bytes = moved;
        if let Some(more) = at.bytes {
            bytes = self.op(Op::IAdd, word, &[bytes, more]);
        }
        if let Some(words) = at.words {
            let two = self.m.u32(2);
            let more = self.op(Op::ShiftLeftLogical, word, &[words, two]);
            bytes = self.op(Op::IAdd, word, &[bytes, more]);
        }
        Address { constant: at.constant, words: None, bytes: Some(bytes) }
    }

    /// The index of the element of `size` bytes at an address.
    fn element_index(&mut self, at: Address, size: u32) -> Id {
        let word = self.m.int(32);
        let constant = self.m.u32((at.constant / u64::from(size)) as u32);
        let mut index = None;
        if let Some(words) = at.words {
            index = Some(match size {
                4 => words,
                _ => {
                    let shift = self.m.u32(2 - size.trailing_zeros());
                    self.op(Op::ShiftLeftLogical, word, &[words, shift])
                }
            });
        }
        if let Some(bytes) = at.bytes {
            // The constant may make up a whole element only together with the rest.
            let rest = self.m.u32((at.constant % u64::from(size)) as u32);
            let bytes = self.op(Op::IAdd, word, &[bytes, rest]);
            let shift = self.m.u32(size.trailing_zeros());
            index = Some(self.op(Op::ShiftRightLogical, word, &[bytes, shift]));
        }
        match index {
            None => constant,
            Some(index) if at.constant < u64::from(size) => index,
            Some(index) => self.op(Op::IAdd, word, &[index, constant]),
        }
    }

    /// A pointer to element `index` of a view.
    pub fn element_pointer(&mut self, source: Source, bits: u32, index: Id) -> Emit<Id> {
        let element = self.m.int(bits);
        let zero = self.m.u32(0);
        match source {
            Source::Params => {
                let variable = self.params()?;
                let pointer = self.m.pointer(StorageClass::Uniform, element);
                let (two, three) = (self.m.u32(2), self.m.u32(3));
                let word = self.m.int(32);
                let (quad, part) = match self.constant_word(index) {
                    Some(n) => (self.m.u32(n / 4), self.m.u32(n % 4)),
                    None => (
                        self.op(Op::ShiftRightLogical, word, &[index, two]),
                        self.op(Op::BitwiseAnd, word, &[index, three]),
                    ),
                };
                Ok(self.op(Op::AccessChain, pointer, &[variable, zero, quad, part]))
            }
            Source::Buffer { argument, .. } => {
                let variable = self.buffer(argument, View::Ints(bits))?;
                let pointer = self.m.pointer(StorageClass::StorageBuffer, element);
                Ok(self.op(Op::AccessChain, pointer, &[variable, zero, index]))
            }
            Source::Heap { index: buffer, uniform } => {
                let variable = self.buffer_heap(View::Ints(bits))?;
                let pointer = self.m.pointer(StorageClass::StorageBuffer, element);
                let id = self.op(Op::AccessChain, pointer, &[variable, buffer, zero, index]);
                if !uniform {
                    self.m.decorate(id, Decoration::NonUniform, &[]);
                }
                Ok(id)
            }
        }
    }

    /// The value of a constant of 32 bits that this module has declared.
    fn constant_word(&self, id: Id) -> Option<u32> {
        self.m.constant_word(id)
    }

    fn access(source: Source) -> Option<u32> {
        match source {
            Source::Buffer { volatile: true, .. } => Some(MemoryAccess::VOLATILE.bits()),
            _ => None,
        }
    }

    fn load_word(&mut self, source: Source, index: Id) -> Emit<Id> {
        let word = self.m.int(32);
        let pointer = self.element_pointer(source, 32, index)?;
        let mut operands = vec![pointer];
        operands.extend(Self::access(source));
        let id = self.op(Op::Load, word, &operands);
        if matches!(source, Source::Heap { uniform: false, .. }) {
            self.m.decorate(id, Decoration::NonUniform, &[]);
        }
        Ok(id)
    }

    /// A value of any type at an address.
    pub fn raw_load(&mut self, source: Source, at: Address, ty: TypeId) -> Emit<Id> {
        let table = self.table();
        let register = self.ty(ty)?;
        if let Some(scalar) = table.scalar_of(ty).filter(|_| table.is_scalar(ty)) {
            return self.raw_load_scalar(source, at, scalar);
        }
        let count = table.member_count(ty);
        let Some(first) = table.element_type(ty, 0) else {
            return Ok(self.m.null(register));
        };
        if table.is_array(ty) && count > UNROLLED {
            let temporary = self.local(register, false);
            let stride = table.stride(first);
            let to = self.thread_place(temporary, ty);
            self.counted(count, |f, index| {
                let from = f.advance(at, index, stride);
                let value = f.raw_load(source, from, first)?;
                let element = f.form_type(first, Form::REGISTER)?;
                let pointer = f.m.pointer(StorageClass::Function, element);
                let pointer = f.op(Op::AccessChain, pointer, &[temporary, index]);
                f.store(f.thread_place(pointer, first), value)
            })?;
            return self.load(to);
        }
        let mut parts = Vec::with_capacity(count as usize);
        for i in 0..count {
            let Some(inner) = table.element_type(ty, i) else { continue };
            let place = at.plus(table.member_offset(ty, i));
            parts.push(self.raw_load(source, place, inner)?);
        }
        Ok(self.op(Op::CompositeConstruct, register, &parts))
    }

    fn raw_load_scalar(&mut self, source: Source, at: Address, scalar: Scalar) -> Emit<Id> {
        let word = self.m.int(32);
        let register = self.types.scalar(&mut self.m, scalar)?;
        let index = self.element_index(at, 4);
        let first = self.load_word(source, index)?;
        match (scalar, scalar.size()) {
            (_, 8) => {
                let one = self.m.u32(1);
                let next = match self.constant_word(index) {
                    Some(n) => self.m.u32(n + 1),
                    None => self.op(Op::IAdd, word, &[index, one]),
                };
                let second = self.load_word(source, next)?;
                let pair = self.m.vector(word, 2);
                let pair = self.op(Op::CompositeConstruct, pair, &[first, second]);
                Ok(self.op(Op::Bitcast, register, &[pair]))
            }
            (_, 4) if scalar.is_float() => Ok(self.op(Op::Bitcast, register, &[first])),
            (_, 4) => Ok(first),
            _ => {
                let low = self.shift_down(first, at);
                self.narrow(low, scalar, register)
            }
        }
    }

    /// A word shifted so that the part at the address comes lowest.
    fn shift_down(&mut self, first: Id, at: Address) -> Id {
        let word = self.m.int(32);
        let within = (at.constant % 4) as u32 * 8;
        let Some(bytes) = at.bytes else {
            let shift = self.m.u32(within);
            return if within == 0 {
                first
            } else {
                self.op(Op::ShiftRightLogical, word, &[first, shift])
            };
        };
        let (three, constant) = (self.m.u32(3), self.m.u32(within));
        let bits = self.op(Op::ShiftLeftLogical, word, &[bytes, three]);
        let bits = self.op(Op::IAdd, word, &[bits, constant]);
        let mask = self.m.u32(31);
        let bits = self.op(Op::BitwiseAnd, word, &[bits, mask]);
        self.op(Op::ShiftRightLogical, word, &[first, bits])
    }

    /// The low bits of a word as a scalar of 8 or 16 bits.
    fn narrow(&mut self, low: Id, scalar: Scalar, register: Id) -> Emit<Id> {
        let word = self.m.int(32);
        Ok(match leaf(scalar, Form::REGISTER) {
            Leaf::Bool => {
                let mask = self.m.u32(0xff);
                let byte = self.op(Op::BitwiseAnd, word, &[low, mask]);
                let (truth, zero) = (self.m.bool(), self.m.u32(0));
                self.op(Op::INotEqual, truth, &[byte, zero])
            }
            Leaf::Float(16) => {
                let pair = self.m.vector(register, 2);
                let pair = self.op(Op::Bitcast, pair, &[low]);
                self.op(Op::CompositeExtract, register, &[pair, 0])
            }
            Leaf::Int(_) => self.op(Op::UConvert, register, &[low]),
            Leaf::Float(_) => return Err(internal("a float of no known width")),
        })
    }

    /// Writes a value of any type at an address.
    pub fn raw_store(&mut self, source: Source, at: Address, ty: TypeId, value: Id) -> Emit<()> {
        let table = self.table();
        if let Some(scalar) = table.scalar_of(ty).filter(|_| table.is_scalar(ty)) {
            return self.raw_store_scalar(source, at, scalar, value);
        }
        let count = table.member_count(ty);
        if table.is_array(ty) && count > UNROLLED {
            let register = self.ty(ty)?;
            let temporary = self.local(register, false);
            self.store(self.thread_place(temporary, ty), value)?;
            let Some(first) = table.element_type(ty, 0) else { return Ok(()) };
            let stride = table.stride(first);
            return self.counted(count, |f, index| {
                let element = f.ty(first)?;
                let pointer = f.m.pointer(StorageClass::Function, element);
                let pointer = f.op(Op::AccessChain, pointer, &[temporary, index]);
                let value = f.load(f.thread_place(pointer, first))?;
                let to = f.advance(at, index, stride);
                f.raw_store(source, to, first, value)
            });
        }
        for i in 0..count {
            let Some(inner) = table.element_type(ty, i) else { continue };
            let register = self.ty(inner)?;
            let part = self.op(Op::CompositeExtract, register, &[value, i]);
            self.raw_store(source, at.plus(table.member_offset(ty, i)), inner, part)?;
        }
        Ok(())
    }

    fn raw_store_scalar(
        &mut self,
        source: Source,
        at: Address,
        scalar: Scalar,
        value: Id,
    ) -> Emit<()> {
        let word = self.m.int(32);
        let size = scalar.size();
        if size == 8 {
            let pair = self.m.vector(word, 2);
            let pair = self.op(Op::Bitcast, pair, &[value]);
            for part in 0..2 {
                let bits = self.op(Op::CompositeExtract, word, &[pair, part]);
                let index = self.element_index(at.plus(4 * u64::from(part)), 4);
                self.store_element(source, 32, index, bits)?;
            }
            return Ok(());
        }
        let bits = match leaf(scalar, Form::REGISTER) {
            Leaf::Bool => self.leaf_from_register(value, scalar, Form::BUFFER, 1)?,
            Leaf::Float(16) => {
                let same = self.types.scalar(&mut self.m, Scalar::U16)?;
                self.op(Op::Bitcast, same, &[value])
            }
            Leaf::Float(bits) => {
                let same = self.types.scalar(&mut self.m, integer_of(bits))?;
                self.op(Op::Bitcast, same, &[value])
            }
            Leaf::Int(_) => value,
        };
        let index = self.element_index(at, size);
        self.store_element(source, size * 8, index, bits)
    }

    fn store_element(&mut self, source: Source, bits: u32, index: Id, value: Id) -> Emit<()> {
        let pointer = self.element_pointer(source, bits, index)?;
        let mut operands = vec![pointer, value];
        operands.extend(Self::access(source));
        self.blocks.push(Op::Store, &operands);
        Ok(())
    }
}

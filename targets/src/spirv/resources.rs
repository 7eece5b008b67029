//! Buffers, byte buffers, and the buffers of bindless arrays.

use luisac_artifact::metadata::BoundsMode;
use luisac_ast::types::{TypeId, TypeKind};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{Imm, InstId, Op as X, ValueId};
use rspirv::spirv::{Capability, Decoration, Op, StorageClass};

use super::function::FnEmit;
use super::interface::View;
use super::memory::Place;
use super::module::Id;
use super::raw::{Address, Source};
use super::{Emit, internal, refused};

/// Words of a record of a bindless array.
const RECORD_WORDS: u32 = 8;

impl FnEmit<'_> {
    /// The place of an element of a typed buffer.
    pub fn buffer_place(&mut self, resource: ValueId, index: ValueId) -> Emit<Place> {
        let argument = self.position(resource)?;
        let ty = self.buffer_element_type(argument)?;
        let form = self.interface.buffer_form(argument);
        let variable = self.buffer(argument, View::Typed)?;
        let index = self.index(index)?;
        let element = self.form_type(ty, form)?;
        let class = StorageClass::StorageBuffer;
        let pointer = self.m.pointer(class, element);
        let zero = self.m.u32(0);
        let pointer = self.op(Op::AccessChain, pointer, &[variable, zero, index]);
        Ok(Place { pointer, class, ty, form, volatile: false })
    }

    /// Bytes of a buffer argument, from its entry in the parameter block; the host binds less than 4 GiB.
    pub fn buffer_bytes(&mut self, argument: usize) -> Emit<Id> {
        let Some(&offset) = self.layout.offsets.get(argument) else {
            return Err(internal("an argument that the parameter block does not have"));
        };
        self.raw_load(Source::Params, Address::constant(u64::from(offset) + 8), TypeId::U32)
    }

    fn is_empty_type(&self, ty: TypeId) -> bool {
        self.table().size(ty) == 0
    }

    /// `resource_read`
    pub fn resource_read(&mut self, inst: InstId, op: R) -> Emit<Id> {
        let func = self.func;
        let ty = func.inst(inst).ty;
        let first = func.arg(inst, 0);
        if self.is_empty_type(ty) {
            let ty = self.ty(ty)?;
            return Ok(self.m.null(ty));
        }
        match op {
            R::BufferRead | R::BufferVolatileRead => {
                let place = self.buffer_place(first, func.arg(inst, 1))?;
                self.load(Place { volatile: op.is_volatile(), ..place })
            }
            R::ByteBufferRead | R::ByteBufferVolatileRead => {
                let argument = self.position(first)?;
                let bytes = self.index(func.arg(inst, 1))?;
                let at = self.address(bytes, ty);
                let source = Source::Buffer { argument, volatile: op.is_volatile() };
                self.raw_load(source, at, ty)
            }
            R::BindlessBufferRead => {
                let (source, at) = self.bindless_element(inst, ty)?;
                self.raw_load(source, at, ty)
            }
            R::BindlessByteBufferRead => {
                let (source, at) = self.bindless_bytes(inst, ty)?;
                self.raw_load(source, at, ty)
            }
            R::Texture2dRead | R::Texture3dRead => self.image_read(inst),
            R::BindlessTexture2dRead | R::BindlessTexture3dRead => self.bindless_fetch(inst, false),
            R::BindlessTexture2dReadLevel | R::BindlessTexture3dReadLevel => {
                self.bindless_fetch(inst, true)
            }
            R::DeviceAddressRead | R::Texture2dReadLevel | R::Texture3dReadLevel => {
                Err(refused(X::ResourceRead(op)))
            }
        }
    }

    /// `resource_write`
    pub fn resource_write(&mut self, inst: InstId, op: W) -> Emit<()> {
        let func = self.func;
        let first = func.arg(inst, 0);
        match op {
            W::BufferWrite | W::BufferVolatileWrite => {
                let value = func.arg(inst, 2);
                if self.is_empty_type(func.value_type(value)) {
                    return Ok(());
                }
                let place = self.buffer_place(first, func.arg(inst, 1))?;
                let value = self.value(value)?;
                self.store(Place { volatile: op.is_volatile(), ..place }, value)
            }
            W::ByteBufferWrite | W::ByteBufferVolatileWrite => {
                let argument = self.position(first)?;
                let (value, ty) = (func.arg(inst, 2), func.value_type(func.arg(inst, 2)));
                let bytes = self.index(func.arg(inst, 1))?;
                let at = self.address(bytes, ty);
                let value = self.value(value)?;
                let source = Source::Buffer { argument, volatile: op.is_volatile() };
                self.raw_store(source, at, ty, value)
            }
            W::BindlessBufferWrite | W::BindlessByteBufferWrite => {
                let (value, ty) = (func.arg(inst, 3), func.value_type(func.arg(inst, 3)));
                let (source, at) = if op == W::BindlessBufferWrite {
                    self.bindless_element(inst, ty)?
                } else {
                    self.bindless_bytes(inst, ty)?
                };
                let value = self.value(value)?;
                self.raw_store(source, at, ty, value)
            }
            W::Texture2dWrite | W::Texture3dWrite => self.image_write(inst),
            _ => Err(refused(X::ResourceWrite(op))),
        }
    }

    /// `resource_query`
    pub fn resource_query(&mut self, inst: InstId, op: Q) -> Emit<Id> {
        let func = self.func;
        let first = func.arg(inst, 0);
        let word = self.m.int(32);
        match op {
            Q::BufferSize => {
                let argument = self.position(first)?;
                let ty = self.buffer_element_type(argument)?;
                let stride = self.table().stride(ty);
                let bytes = self.buffer_bytes(argument)?;
                let count = match u32::try_from(stride) {
                    Ok(0) | Err(_) => self.m.u32(0),
                    Ok(1) => bytes,
                    Ok(stride) => {
                        let stride = self.m.u32(stride);
                        self.op(Op::UDiv, word, &[bytes, stride])
                    }
                };
                self.as_integer(inst, count)
            }
            Q::ByteBufferSize => {
                let argument = self.position(first)?;
                let bytes = self.buffer_bytes(argument)?;
                self.as_integer(inst, bytes)
            }
            Q::BindlessByteBufferSize => {
                let bytes = self.record(inst, 2)?;
                self.as_integer(inst, bytes)
            }
            Q::BindlessBufferSize => {
                let bytes = self.record(inst, 2)?;
                let stride = self.index(func.arg(inst, 2))?;
                let (truth, zero, one) = (self.m.bool(), self.m.u32(0), self.m.u32(1));
                // A stride of zero holds nothing.
                let none = self.op(Op::IEqual, truth, &[stride, zero]);
                let divisor = self.op(Op::Select, word, &[none, one, stride]);
                let count = self.op(Op::UDiv, word, &[bytes, divisor]);
                let count = self.op(Op::Select, word, &[none, zero, count]);
                self.as_integer(inst, count)
            }
            Q::Texture2dSize | Q::Texture3dSize => self.image_size(inst),
            Q::BindlessTexture2dSize | Q::BindlessTexture3dSize => self.bindless_size(inst, false),
            Q::BindlessTexture2dSizeLevel | Q::BindlessTexture3dSizeLevel => {
                self.bindless_size(inst, true)
            }
            q if q.samples() => self.sample(inst, q),
            _ => Err(refused(X::ResourceQuery(op))),
        }
    }

    /// A word as the integer that an instruction yields.
    fn as_integer(&mut self, inst: InstId, word: Id) -> Emit<Id> {
        let ty = self.func.inst(inst).ty;
        match self.table().scalar_of(ty) {
            Some(to) if to.is_int() => self.convert(word, luisac_ast::types::Scalar::U32, to),
            _ => Err(internal("a size that is no integer")),
        }
    }

    // ---- bindless arrays

    /// Whether the slot is the same for all threads of the block.
    pub fn is_uniform(&self, inst: InstId) -> bool {
        let constant = self.func.constant_bits(self.func.arg(inst, 1)).is_some();
        constant || matches!(&self.func.inst(inst).imm, Imm::Access(access) if access.uniform)
    }

    /// A word of the record of the slot that an instruction names.
    pub fn record(&mut self, inst: InstId, part: u32) -> Emit<Id> {
        let func = self.func;
        let argument = self.position(func.arg(inst, 0))?;
        if !matches!(self.table().kind(func.value_type(func.arg(inst, 0))), TypeKind::BindlessArray)
        {
            return Err(internal("an operand that is no bindless array"));
        }
        let word = self.m.int(32);
        let slot = self.slot_index(argument, func.arg(inst, 1))?;
        let (stride, part) = (self.m.u32(RECORD_WORDS), self.m.u32(part));
        let start = self.op(Op::IMul, word, &[slot, stride]);
        let index = self.op(Op::IAdd, word, &[start, part]);
        let variable = self.buffer(argument, View::Ints(32))?;
        let pointer = self.m.pointer(StorageClass::StorageBuffer, word);
        let zero = self.m.u32(0);
        let pointer = self.op(Op::AccessChain, pointer, &[variable, zero, index]);
        Ok(self.op(Op::Load, word, &[pointer]))
    }

    /// The slot that is named; under `--bounds` the nearest one that there is.
    fn slot_index(&mut self, argument: usize, slot: ValueId) -> Emit<Id> {
        let signed = self.scalar_of(slot)?.is_signed();
        let mut index = self.index(slot)?;
        if self.options.bounds == BoundsMode::Off {
            return Ok(index);
        }
        let (word, truth, zero, one) =
            (self.m.int(32), self.m.bool(), self.m.u32(0), self.m.u32(1));
        if signed {
            let negative = self.op(Op::SLessThan, truth, &[index, zero]);
            index = self.op(Op::Select, word, &[negative, zero, index]);
        }
        let count = self.buffer_bytes(argument)?;
        let none = self.op(Op::IEqual, truth, &[count, zero]);
        let last = self.op(Op::ISub, word, &[count, one]);
        let last = self.op(Op::Select, word, &[none, zero, last]);
        let inside = self.op(Op::ULessThan, truth, &[index, last]);
        Ok(self.op(Op::Select, word, &[inside, index, last]))
    }

    /// The buffer of a slot, and where it begins in it.
    fn bindless_buffer(&mut self, inst: InstId) -> Emit<(Source, Id)> {
        let uniform = self.is_uniform(inst);
        let index = self.record(inst, 0)?;
        let start = self.record(inst, 1)?;
        if uniform {
            self.m.capability(Capability::StorageBufferArrayDynamicIndexing);
        } else {
            self.m.capability(Capability::ShaderNonUniform);
            self.m.capability(Capability::StorageBufferArrayNonUniformIndexing);
            self.m.decorate(index, Decoration::NonUniform, &[]);
        }
        Ok((Source::Heap { index, uniform }, start))
    }

    fn bindless_element(&mut self, inst: InstId, ty: TypeId) -> Emit<(Source, Address)> {
        let (source, start) = self.bindless_buffer(inst)?;
        let index = self.index(self.func.arg(inst, 2))?;
        let word = self.m.int(32);
        let stride = self.m.u32(self.table().stride(ty) as u32);
        let offset = self.op(Op::IMul, word, &[index, stride]);
        let bytes = self.op(Op::IAdd, word, &[start, offset]);
        Ok((source, self.address(bytes, ty)))
    }

    fn bindless_bytes(&mut self, inst: InstId, ty: TypeId) -> Emit<(Source, Address)> {
        let (source, start) = self.bindless_buffer(inst)?;
        let offset = self.index(self.func.arg(inst, 2))?;
        let word = self.m.int(32);
        let bytes = self.op(Op::IAdd, word, &[start, offset]);
        Ok((source, self.address(bytes, ty)))
    }
}

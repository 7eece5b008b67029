//! Resources that a kernel names in other ways than by an element of its own: indices behind a test, bytes at constant offsets,
//! images, bindless arrays, device addresses.

use super::{Generator, TABLE};
use luisac_xir::interp::{Address, Arg, Filter, PixelStorage, Sampler, Slot};
use luisac_xir::op::{ArithmeticOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp};
use luisac_xir::{Imm, Op, Scalar, TypeId, ValueId};

/// Texels of the image that is only read, on each axis.
pub(super) const TEXELS: u32 = 4;
/// Rows of the image of which every thread has a column.
pub(super) const ROWS: u32 = 2;
/// The words that every buffer `input` has at least.
pub(super) const LEAST_WORDS: u32 = 8;

/// The arguments that this file is about.
#[derive(Clone, Copy)]
pub(super) struct Resources {
    /// Bytes that only the first thread touches.
    pub table: ValueId,
    /// An image that is only read, and the scalar that reads give.
    pub image: (ValueId, Scalar),
    /// An image of floats with a column for each thread.
    pub columns: ValueId,
    /// A bindless array: slot 0 has the buffer `input` and the image, slot 1 the buffer, slot 2 nothing.
    pub slots: ValueId,
}

/// An image of `TEXELS` squared with these bytes for each texel, and its scalar.
pub(super) fn image(choice: usize) -> (PixelStorage, Scalar) {
    let (name, scalar) = [
        ("float4", Scalar::F32),
        ("half2", Scalar::F32),
        ("byte4", Scalar::F32),
        ("int4", Scalar::I32),
        ("short2", Scalar::U32),
    ][choice % 5];
    (PixelStorage::from_name(name).expect("the storage has this name"), scalar)
}

/// The argument of an image of zeros and these bytes.
pub(super) fn image_argument(storage: PixelStorage, width: u32, height: u32, data: Vec<u8>) -> Arg {
    Arg::Image { storage, width, height, depth: 1, levels: 1, data }
}

/// The slots for a kernel whose argument 0 is the buffer, and whose argument `image` is the image.
pub(super) fn slots(image: u32) -> Arg {
    let buffer = Slot { buffer: Some(0), ..Slot::default() };
    let sampler = Sampler { filter: Filter::Point, address: Address::Repeat };
    let both = Slot { image2d: Some((image, sampler)), ..buffer };
    Arg::Bindless(vec![both, buffer, Slot::default()])
}

impl Generator<'_> {
    /// A statement on one of these resources, or on a part of a variable behind a test.
    pub(super) fn resource_statement(&mut self) {
        let in_kernel = self.kernel.is_some();
        match self.r.below(5) {
            0 | 1 if self.features.guards => self.guarded_part(),
            1 if self.features.guards => self.guarded_read(),
            2 if self.features.bytes && in_kernel => self.constant_offsets(),
            3 if self.features.images && in_kernel => self.texel(),
            4 if self.features.handles && in_kernel => self.through_handle(),
            _ if self.features.guards => self.guarded_read(),
            _ => self.part(),
        }
    }

    /// Runs `inside` where a condition holds.
    fn only_if(&mut self, condition: ValueId, inside: impl FnOnce(&mut Self)) {
        let [yes, no, merge] = [(); 3].map(|()| self.b.func.append_block());
        self.b.inst(Op::If, TypeId::VOID, &[condition], &[yes, no, merge], Imm::None);
        let (pool, places) = (self.pool.len(), self.places.len());
        let outer = std::mem::replace(&mut self.uniform, false);
        self.b.switch_to(yes);
        inside(self);
        self.b.br(merge);
        self.uniform = outer;
        self.pool.truncate(pool);
        self.places.truncate(places);
        self.b.switch_to(no);
        self.b.br(merge);
        self.b.switch_to(merge);
    }

    /// An index that may be too large, and whether it is not.
    fn tested_index(&mut self, count: ValueId) -> (ValueId, ValueId) {
        let mut index = self.value(TypeId::U32, 1);
        if self.r.one_in(2) {
            let mask = self.b.u32(7);
            index = self.b.arithmetic(ArithmeticOp::BinaryBitAnd, &[index, mask]);
        }
        (index, self.b.arithmetic(ArithmeticOp::BinaryLess, &[index, count]))
    }

    /// A part of a variable or of a value, if there is one.
    fn guarded_part(&mut self) {
        let variable = self.r.pick(&self.variables);
        let ty = self.ty(variable);
        let count = self.types().member_count(ty);
        if count == 0 || self.types().is_struct(ty) {
            return self.part();
        }
        let part = self.types().element_type(ty, 0).expect("it has parts of one type");
        let whole = if self.r.one_in(2) { Some(self.value(ty, 1)) } else { None };
        let count = self.b.u32(count);
        let (index, inside) = self.tested_index(count);
        let Some(place) = self.place_of(part) else { return self.part() };
        self.only_if(inside, |g| match whole {
            Some(whole) if g.r.one_in(2) => {
                let op = Op::Arithmetic(ArithmeticOp::Extract);
                let value = g.b.value(op, part, &[whole, index]);
                g.b.store(place, value);
            }
            Some(whole) => {
                let value = g.value(part, 1);
                let op = Op::Arithmetic(ArithmeticOp::Insert);
                let value = g.b.value(op, ty, &[whole, value, index]);
                g.b.store(variable, value);
            }
            None => {
                let element = g.b.gep(variable, &[index], part);
                if g.r.one_in(2) {
                    let value = g.b.load(element);
                    g.b.store(place, value);
                } else {
                    let value = g.value(part, 1);
                    g.b.store(element, value);
                }
            }
        });
    }

    /// An element of the input, if there is one.
    fn guarded_read(&mut self) {
        let Some((input, _)) = self.input else { return self.part() };
        let size =
            self.b.value(Op::ResourceQuery(ResourceQueryOp::BufferSize), TypeId::U32, &[input]);
        let (index, inside) = self.tested_index(size);
        let Some(place) = self.place_of(TypeId::U32) else { return self.part() };
        self.only_if(inside, |g| {
            let read = Op::ResourceRead(ResourceReadOp::BufferRead);
            let value = g.b.value(read, TypeId::U32, &[input, index]);
            g.b.store(place, value);
        });
    }

    /// Scalars side by side at constant offsets, which one thread reads and writes.
    fn constant_offsets(&mut self) {
        let Some(kernel) = self.kernel else { return };
        let zero = self.b.u32(0);
        let first = self.b.arithmetic(ArithmeticOp::BinaryEqual, &[kernel.index, zero]);
        self.only_if(first, |g| {
            let scalar = g.r.pick(g.palette);
            let (ty, size) = (TypeId::scalar(scalar), scalar.size());
            let slots = TABLE / size;
            let start = g.r.below(slots as usize) as u32 & !1;
            let mut values = Vec::new();
            let write = g.r.one_in(2);
            for i in 0..2 + g.r.below(4) as u32 {
                let offset = g.b.u32((start + i) % slots * size);
                if write != g.r.one_in(6) {
                    let value = g.value(ty, 1);
                    let value = g.clean(value);
                    let op = Op::ResourceWrite(ResourceWriteOp::ByteBufferWrite);
                    g.b.effect(op, &[kernel.resources.table, offset, value]);
                } else {
                    let op = Op::ResourceRead(ResourceReadOp::ByteBufferRead);
                    values.push(g.b.value(op, ty, &[kernel.resources.table, offset]));
                }
            }
            for value in values {
                if let Some(place) = g.place_of(ty) {
                    g.b.store(place, value);
                }
            }
        });
    }

    /// A texel: of the image that is only read anywhere, of the thread's column in range and beyond.
    fn texel(&mut self) {
        let Some(kernel) = self.kernel else { return };
        let (image, scalar) = kernel.resources.image;
        let (pair, read) = (TypeId::vector(Scalar::U32, 2), ResourceReadOp::Texture2dRead);
        let [x, y] = [(); 2].map(|()| match self.r.one_in(3) {
            true => self.value(TypeId::U32, 1),
            false => {
                let index = self.index(TEXELS);
                self.b.static_cast(index, TypeId::U32)
            }
        });
        match self.r.below(4) {
            0 => {
                let at = self.b.aggregate(pair, &[x, y]);
                let ty = TypeId::vector(scalar, 4);
                let value = self.b.value(Op::ResourceRead(read), ty, &[image, at]);
                self.pool.push(value);
            }
            1 if scalar == Scalar::F32 => self.sample(image),
            1 => {
                let op = Op::ResourceQuery(ResourceQueryOp::Texture2dSize);
                let size = self.b.value(op, pair, &[image]);
                self.pool.push(size);
            }
            kind => {
                let at = self.b.aggregate(pair, &[kernel.index, y]);
                let (image, ty) = (kernel.resources.columns, TypeId::vector(Scalar::F32, 4));
                if kind == 2 {
                    let value = self.b.value(Op::ResourceRead(read), ty, &[image, at]);
                    self.pool.push(value);
                } else {
                    let parts = [(); 4].map(|()| self.value(TypeId::F32, 1));
                    let value = self.b.aggregate(ty, &parts);
                    let value = self.clean(value);
                    let op = Op::ResourceWrite(ResourceWriteOp::Texture2dWrite);
                    self.b.effect(op, &[image, at, value]);
                }
            }
        }
    }

    /// Samples near and between texels, in and out of the image.
    fn sample(&mut self, image: ValueId) {
        let pair = TypeId::vector(Scalar::F32, 2);
        let parts = [(); 2].map(|()| {
            let n = self.index(8);
            let n = self.b.static_cast(n, TypeId::F32);
            let bits = u64::from(0.171_875_f32.to_bits());
            let step = self.b.func.scalar_constant(TypeId::F32, bits, self.b.types);
            self.b.arithmetic(ArithmeticOp::BinaryMul, &[n, step])
        });
        let at = self.b.aggregate(pair, &parts);
        let [filter, address] = [(); 2].map(|()| {
            let code = self.index(4);
            self.b.static_cast(code, TypeId::U32)
        });
        let op = Op::ResourceQuery(ResourceQueryOp::Texture2dSample);
        let ty = TypeId::vector(Scalar::F32, 4);
        let value = self.b.value(op, ty, &[image, at, filter, address]);
        self.pool.push(value);
    }

    /// The input or the image through a bindless array, or the input through its address.
    fn through_handle(&mut self) {
        use ResourceReadOp::{BindlessBufferRead, BindlessByteBufferRead, BindlessTexture2dRead};
        let Some(kernel) = self.kernel else { return };
        let slots = kernel.resources.slots;
        let slot = self.index(2);
        let slot = self.b.static_cast(slot, TypeId::U32);
        let at = self.index(LEAST_WORDS);
        let at = self.b.static_cast(at, TypeId::U32);
        let four = self.b.u32(4);
        let value = match self.r.below(5) {
            0 => {
                let op = Op::ResourceRead(BindlessBufferRead);
                self.b.value(op, TypeId::U32, &[slots, slot, at])
            }
            1 => {
                let offset = self.b.arithmetic(ArithmeticOp::BinaryMul, &[at, four]);
                let op = Op::ResourceRead(BindlessByteBufferRead);
                self.b.value(op, TypeId::U32, &[slots, slot, offset])
            }
            2 => {
                let (pair, zero) = (TypeId::vector(Scalar::U32, 2), self.b.u32(0));
                let position = self.b.aggregate(pair, &[at, four]);
                let op = Op::ResourceRead(BindlessTexture2dRead);
                self.b.value(op, TypeId::vector(Scalar::F32, 4), &[slots, zero, position])
            }
            3 => {
                let op = Op::ResourceQuery(ResourceQueryOp::BindlessBufferSize);
                self.b.value(op, TypeId::U32, &[slots, slot, four])
            }
            _ => {
                let op = Op::ResourceQuery(ResourceQueryOp::BufferDeviceAddress);
                let start = self.b.value(op, TypeId::U64, &[kernel.input]);
                let offset = self.b.arithmetic(ArithmeticOp::BinaryMul, &[at, four]);
                let offset = self.b.static_cast(offset, TypeId::U64);
                let address = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[start, offset]);
                let op = Op::ResourceRead(ResourceReadOp::DeviceAddressRead);
                self.b.value(op, TypeId::U32, &[address])
            }
        };
        self.pool.push(value);
    }
}

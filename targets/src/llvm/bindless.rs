//! Bindless arrays, and images as they are sampled: number of levels, sizes, texels of levels, samples.

use luisac_artifact::BindlessRecord;
use luisac_artifact::metadata::BoundsMode;
use luisac_ast::types::TypeId;
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R};
use luisac_xir::{InstId, Op, ValueId};

use super::Emit;
use super::bounds::Subject;
use super::function::{FnEmit, refused};
use super::ir::Val;
use super::module::internal;
use super::resources::Access;
use super::value::{Bindless, Buffer, Leaves, Texture, Value};
use crate::errors;

/// Which level a sample reads.
#[derive(Clone, Debug)]
pub enum Detail {
    /// This level, `float`.
    Level(Val),
    /// That of the gradients along x and y.
    Gradients([Leaves; 2]),
}

/// A sample that the device makes.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// Normalised coordinates, one a dimension.
    pub at: Leaves,
    /// The level.
    pub detail: Detail,
}

/// The three families of operations that sample, each with the same eight members in the same order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Argument,
    Slot,
    SlotWithCodes,
}

/// The form of an operation that samples.
#[derive(Clone, Copy)]
struct Form {
    family: Family,
    dim: u32,
    /// Operands between the coordinate and the codes: none, a level, two gradients, two gradients and a level.
    between: usize,
}

impl Form {
    fn of(op: Q) -> Option<Form> {
        let families = [
            (Q::Texture2dSample, Family::Argument),
            (Q::BindlessTexture2dSample, Family::Slot),
            (Q::BindlessTexture2dSampleSampler, Family::SlotWithCodes),
        ];
        families.into_iter().find_map(|(first, family)| {
            let place = (op as usize).checked_sub(first as usize).filter(|&place| place < 8)?;
            Some(Form { family, dim: 2 + place as u32 / 4, between: [0, 1, 2, 3][place % 4] })
        })
    }
}

/// Offsets of the words of a record.
const BUFFER: u64 = std::mem::offset_of!(BindlessRecord, buffer) as u64;
const SIZE: u64 = std::mem::offset_of!(BindlessRecord, buffer_size) as u64;
const IMAGES: [u64; 2] = [
    std::mem::offset_of!(BindlessRecord, image2d) as u64,
    std::mem::offset_of!(BindlessRecord, image3d) as u64,
];

impl FnEmit<'_, '_, '_> {
    fn bindless(&mut self, id: ValueId) -> Emit<Bindless> {
        match self.value(id)? {
            Value::Bindless(b) => Ok(b),
            _ => Err(internal("an operand that is no bindless array")),
        }
    }

    /// Two words of the record of the slot that the first two operands name; zero where the array has no slots.
    fn slot_words(&mut self, inst: InstId, offsets: [u64; 2]) -> Emit<(Bindless, [Val; 2])> {
        let func = self.func;
        let array = self.bindless(func.arg(inst, 0))?;
        let index = func.arg(inst, 1);
        let wide = self.wide_index(index)?;
        let signed = self.is_signed(index);
        let wide =
            self.check_index(wide, signed, array.slots, Subject::Argument(array.position))?;
        let clamps = self.cx.options.bounds == BoundsMode::Clamp;
        let present = clamps.then(|| self.cx.ir.ne(array.slots, self.cx.ir.const_u64(0)));
        let words = self.guarded(present, |f| {
            let ir = &f.cx.ir;
            let stride = ir.const_u64(size_of::<BindlessRecord>() as u64);
            let record = ir.offset(array.ptr, ir.mul(wide, stride));
            let word = |offset: u64| {
                let align = if offset == 0 { 16 } else { 8 };
                let v = ir.load(ir.int(64), ir.offset_const(record, offset), align, false);
                ir.mark_invariant(v);
                v
            };
            Ok(Some(Value::Leaves(offsets.into_iter().map(word).collect())))
        })?;
        match words {
            Some(Value::Leaves(words)) if words.len() == 2 => Ok((array, [words[0], words[1]])),
            _ => Err(internal("a record without words")),
        }
    }

    /// The buffer of the slot that the first two operands name.
    pub fn slot_buffer(&mut self, inst: InstId) -> Emit<Buffer> {
        let (array, [address, size]) = self.slot_words(inst, [BUFFER, SIZE])?;
        let space = self.cx.ir.ptr(self.cx.device.global_space());
        let size = self.cx.device.slot_size(self.cx, size);
        let ptr = self.cx.ir.inttoptr(address, space);
        Ok(Buffer { ptr, size, position: array.position })
    }

    /// The image of the slot that the first two operands name.
    fn slot_texture(&mut self, inst: InstId, dim: u32) -> Emit<Texture> {
        let (_, [size, word]) = self.slot_words(inst, [SIZE, IMAGES[dim as usize - 2]])?;
        let device = self.cx.device;
        Ok(device.slot_texture(self, size, word, dim))
    }

    fn argument_texture(&mut self, inst: InstId) -> Emit<(Texture, u32)> {
        let (image, _, dim) = self.image(self.func.arg(inst, 0))?;
        let device = self.cx.device;
        Ok((device.texture(self, image), dim))
    }

    /// A read of a slot, or of a level of an image argument.
    pub fn bindless_read(&mut self, inst: InstId, op: R) -> Emit<Option<Value>> {
        let func = self.func;
        let ty = func.inst(inst).ty;
        let (texture, dim, at) = match op {
            R::BindlessBufferRead => {
                let buffer = self.slot_buffer(inst)?;
                let access = self.element_place_in(buffer, func.arg(inst, 2), ty)?;
                return self.read_at(access, ty, false);
            }
            R::BindlessByteBufferRead => {
                let access = self.slot_bytes(inst, ty)?;
                return self.read_at(access, ty, false);
            }
            R::BindlessTexture2dRead | R::BindlessTexture2dReadLevel => {
                (self.slot_texture(inst, 2)?, 2, 2)
            }
            R::BindlessTexture3dRead | R::BindlessTexture3dReadLevel => {
                (self.slot_texture(inst, 3)?, 3, 2)
            }
            R::Texture2dReadLevel | R::Texture3dReadLevel => {
                let (texture, dim) = self.argument_texture(inst)?;
                (texture, dim, 1)
            }
            _ => return Err(refused(errors::UNSUPPORTED_OPERATION, Op::ResourceRead(op))),
        };
        let coordinate = self.coordinate(func.arg(inst, at), dim)?;
        let level = match func.args(inst).get(at + 1) {
            Some(&level) => self.level(level)?,
            None => self.cx.ir.const_u32(0),
        };
        let device = self.cx.device;
        let texel = device.texture_fetch(self, texture, &coordinate, level)?;
        Ok(Some(Value::Leaves(texel)))
    }

    /// The place of a value of type `ty` at a byte offset, the third operand, of a slot's buffer.
    pub fn slot_bytes(&mut self, inst: InstId, ty: TypeId) -> Emit<Access> {
        let buffer = self.slot_buffer(inst)?;
        self.byte_place_in(buffer, self.func.arg(inst, 2), ty)
    }

    /// A number of a level as 32 bits; one that does not fit is no level.
    fn level(&mut self, id: ValueId) -> Emit<Val> {
        let wide = self.wide_index(id)?;
        let ir = &self.cx.ir;
        let last = ir.const_u64(u32::MAX.into());
        Ok(ir.trunc(ir.intrinsic("llvm.umin.i64", ir.int(64), &[wide, last]), ir.int(32)))
    }

    /// A question about a slot, or about the levels of an image argument.
    pub fn bindless_query(&mut self, inst: InstId, op: Q) -> Emit<Value> {
        let func = self.func;
        let ty = func.inst(inst).ty;
        match op {
            Q::BindlessBufferSize => {
                let buffer = self.slot_buffer(inst)?;
                let stride = self.wide_index(func.arg(inst, 2))?;
                let ir = &self.cx.ir;
                let one = ir.const_u64(1);
                let stride = ir.intrinsic("llvm.umax.i64", ir.int(64), &[stride, one]);
                self.as_size(ir.udiv(buffer.size, stride), ty)
            }
            Q::BindlessByteBufferSize => {
                let buffer = self.slot_buffer(inst)?;
                self.as_size(buffer.size, ty)
            }
            Q::BindlessBufferDeviceAddress => {
                let buffer = self.slot_buffer(inst)?;
                self.as_size(self.cx.ir.ptrtoint(buffer.ptr, self.cx.ir.int(64)), ty)
            }
            // No target records types.
            Q::BindlessBufferType => {
                self.slot_buffer(inst)?;
                self.as_size(self.cx.ir.const_u64(0), ty)
            }
            Q::BindlessTexture2dSize | Q::BindlessTexture2dSizeLevel => self.slot_extent(inst, 2),
            Q::BindlessTexture3dSize | Q::BindlessTexture3dSizeLevel => self.slot_extent(inst, 3),
            Q::Texture2dLevels | Q::Texture3dLevels => {
                let (texture, _) = self.argument_texture(inst)?;
                let device = self.cx.device;
                Ok(Value::scalar(device.texture_levels(self, texture)))
            }
            Q::BindlessTexture2dLevels | Q::BindlessTexture3dLevels => {
                let dim = if op == Q::BindlessTexture2dLevels { 2 } else { 3 };
                let texture = self.slot_texture(inst, dim)?;
                let device = self.cx.device;
                Ok(Value::scalar(device.texture_levels(self, texture)))
            }
            Q::BindlessTexture2dSampler => Ok(Value::scalar(self.slot_texture(inst, 2)?.sampler)),
            Q::BindlessTexture3dSampler => Ok(Value::scalar(self.slot_texture(inst, 3)?.sampler)),
            _ => self.sample(inst, op),
        }
    }

    /// The size of a level of a slot's image, of the first one if there is no third operand.
    fn slot_extent(&mut self, inst: InstId, dim: u32) -> Emit<Value> {
        let texture = self.slot_texture(inst, dim)?;
        let device = self.cx.device;
        let size = device.texture_size(self, texture, dim);
        let Some(&level) = self.func.args(inst).get(2) else { return Ok(Value::Leaves(size)) };
        let level = self.level(level)?;
        let ir = &self.cx.ir;
        let (zero, word) = (ir.const_u32(0), ir.int(32));
        // Every size has 1 left after so many halvings.
        let amount = ir.intrinsic("llvm.umin.i32", word, &[level, ir.const_u32(31)]);
        let shrink = |texels: Val| {
            let less = ir.lshr(texels, amount);
            let less = ir.intrinsic("llvm.umax.i32", word, &[less, ir.const_u32(1)]);
            ir.select(ir.eq(level, zero), texels, less)
        };
        Ok(Value::Leaves(size.into_iter().map(shrink).collect()))
    }

    /// A sample that the device makes.
    fn sample(&mut self, inst: InstId, op: Q) -> Emit<Value> {
        let refusal = || refused(errors::UNSUPPORTED_OPERATION, Op::ResourceQuery(op));
        let form = Form::of(op).ok_or_else(refusal)?;
        let func = self.func;
        let first = if form.family == Family::Argument { 1 } else { 2 };
        let at = self.leaves(func.arg(inst, first))?;
        let detail = match form.between {
            0 => Detail::Level(self.cx.ir.const_float(self.cx.ir.f32(), 0.0)),
            1 => Detail::Level(self.scalar(func.arg(inst, first + 1))?),
            2 => {
                let x = self.leaves(func.arg(inst, first + 1))?;
                Detail::Gradients([x, self.leaves(func.arg(inst, first + 2))?])
            }
            _ => return Err(refusal()),
        };
        let device = self.cx.device;
        let handle = match form.family {
            Family::Argument => {
                let (image, ..) = self.image(func.arg(inst, 0))?;
                let filter = self.scalar(func.arg(inst, first + 1 + form.between))?;
                let address = self.scalar(func.arg(inst, first + 2 + form.between))?;
                let ir = &self.cx.ir;
                let sampler = ir.add(ir.shl(filter, ir.const_u32(2)), address);
                device.texture_for(self, image, sampler)
            }
            Family::Slot => self.slot_texture(inst, form.dim)?.handle,
            Family::SlotWithCodes => return Err(refusal()),
        };
        let sampling = Sampling { at, detail };
        device.texture_sample(self, handle, &sampling).map(Value::Leaves).ok_or_else(refusal)
    }
}

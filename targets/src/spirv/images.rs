//! Images: texels, sizes and samples, of arguments and of bindless arrays.
//!
//! Texels out of range read zero and are not written, whatever the device would do. A kernel for compute has no neighbours to take
//! gradients from, so a sample without a level takes level 0.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::ResourceQueryOp as Q;
use luisac_xir::{InstId, Op as X, ValueId};
use rspirv::spirv::{Capability, Decoration, GlslStd450Op, ImageOperands, Op, StorageClass};

use super::function::FnEmit;
use super::module::Id;
use super::{Emit, refused};

/// An image that is loaded.
#[derive(Clone, Copy)]
struct Image {
    id: Id,
    ty: Id,
    /// What its texels are.
    scalar: Scalar,
    dim: u32,
    /// Sampled or fetched; else read and written by texel.
    sampled: bool,
    uniform: bool,
}

impl FnEmit<'_> {
    fn argument_image(&mut self, resource: ValueId, sampled: bool) -> Emit<Image> {
        let argument = self.position(resource)?;
        let (scalar, dim) = self.image_shape(argument)?;
        let (id, ty) = self.image(argument, sampled)?;
        Ok(Image { id, ty, scalar, dim, sampled, uniform: true })
    }

    /// An image argument as it is bound for reads.
    fn readable(&mut self, resource: ValueId) -> Emit<Image> {
        let argument = self.position(resource)?;
        let storage = self.is_storage_image(argument);
        if storage {
            self.m.capability(Capability::StorageImageReadWithoutFormat);
        }
        self.argument_image(resource, !storage)
    }

    /// The image of a slot, and the sampler of the slot.
    fn slot_image(&mut self, inst: InstId, dim: u32) -> Emit<(Image, Id)> {
        let word = self.m.int(32);
        let uniform = self.is_uniform(inst);
        let record = self.record(inst, if dim == 3 { 6 } else { 4 })?;
        let (mask, shift) = (self.m.u32(0x0fff_ffff), self.m.u32(28));
        let index = self.op(Op::BitwiseAnd, word, &[record, mask]);
        let sampler = self.op(Op::ShiftRightLogical, word, &[record, shift]);
        let heap = self.image_heap(dim)?;
        let ty = self.image_type(Scalar::F32, dim, true);
        let pointer = self.m.pointer(StorageClass::UniformConstant, ty);
        let pointer = self.op(Op::AccessChain, pointer, &[heap, index]);
        let id = self.op(Op::Load, ty, &[pointer]);
        if uniform {
            self.m.capability(Capability::SampledImageArrayDynamicIndexing);
        } else {
            self.m.capability(Capability::ShaderNonUniform);
            self.m.capability(Capability::SampledImageArrayNonUniformIndexing);
            for id in [index, pointer, id] {
                self.m.decorate(id, Decoration::NonUniform, &[]);
            }
        }
        Ok((Image { id, ty, scalar: Scalar::F32, dim, sampled: true, uniform }, sampler))
    }

    /// A vector of integers as 32 bits each.
    fn coordinate(&mut self, value: ValueId, dim: u32) -> Emit<Id> {
        let (scalar, ty) = (self.scalar_of(value)?, self.func.value_type(value));
        let id = self.value(value)?;
        if scalar.bits() == 32 && u32::from(self.table().dim(ty)) == dim {
            return Ok(id);
        }
        let mut parts = Vec::with_capacity(dim as usize);
        for i in 0..dim {
            let part = self.component(id, ty, i)?;
            parts.push(self.word_of(part, scalar)?);
        }
        let word = self.m.int(32);
        let words = self.m.vector(word, dim);
        Ok(self.op(Op::CompositeConstruct, words, &parts))
    }

    fn size_of(&mut self, image: Image, level: Option<Id>) -> Id {
        self.m.capability(Capability::ImageQuery);
        let word = self.m.int(32);
        let words = self.m.vector(word, image.dim);
        if image.sampled {
            let level = level.unwrap_or_else(|| self.m.u32(0));
            self.op(Op::ImageQuerySizeLod, words, &[image.id, level])
        } else {
            self.op(Op::ImageQuerySize, words, &[image.id])
        }
    }

    /// Whether a texel is there; negative coordinates are large ones.
    fn inside(&mut self, coordinate: Id, size: Id, dim: u32) -> Id {
        let truth = self.m.bool();
        let truths = self.m.vector(truth, dim);
        let below = self.op(Op::ULessThan, truths, &[coordinate, size]);
        self.op(Op::All, truth, &[below])
    }

    /// A texel of an image, zero where there is none, as four of `to`.
    fn texel(&mut self, image: Image, coordinate: Id, level: Option<Id>, to: Scalar) -> Emit<Id> {
        let (word, truth) = (self.m.int(32), self.m.bool());
        let words = self.m.vector(word, image.dim);
        let zero = self.m.u32(0);
        let mut level = level.unwrap_or(zero);
        let mut valid = None;
        if level != zero {
            let levels = self.op(Op::ImageQueryLevels, word, &[image.id]);
            let exists = self.op(Op::ULessThan, truth, &[level, levels]);
            level = self.op(Op::Select, word, &[exists, level, zero]);
            valid = Some(exists);
        }
        let size = self.size_of(image, Some(level));
        let mut inside = self.inside(coordinate, size, image.dim);
        if let Some(valid) = valid {
            inside = self.op(Op::LogicalAnd, truth, &[inside, valid]);
        }
        let origin = self.m.null(words);
        let wide = self.m.vector(truth, image.dim);
        let every = self.op(Op::CompositeConstruct, wide, &vec![inside; image.dim as usize]);
        let place = self.op(Op::Select, words, &[every, coordinate, origin]);
        let channel = if image.scalar.is_float() { self.m.float(32) } else { word };
        let four = self.m.vector(channel, 4);
        let read = if image.sampled {
            let operands = [image.id, place, ImageOperands::LOD.bits(), level];
            self.op(Op::ImageFetch, four, &operands)
        } else {
            self.op(Op::ImageRead, four, &[image.id, place])
        };
        let wide = self.m.vector(truth, 4);
        let every = self.op(Op::CompositeConstruct, wide, &[inside; 4]);
        let nothing = self.m.null(four);
        let read = self.op(Op::Select, four, &[every, read, nothing]);
        let from = if image.scalar.is_float() { Scalar::F32 } else { Scalar::U32 };
        self.convert_four(read, from, to)
    }

    fn convert_four(&mut self, four: Id, from: Scalar, to: Scalar) -> Emit<Id> {
        let (before, after) = (self.vector_type(from, 4)?, self.vector_type(to, 4)?);
        if before == after {
            return Ok(four);
        }
        let mut parts = Vec::with_capacity(4);
        for i in 0..4 {
            let part = self.component(four, TypeId::vector(from, 4), i)?;
            parts.push(self.convert(part, from, to)?);
        }
        Ok(self.op(Op::CompositeConstruct, after, &parts))
    }

    /// `texture2d_read image, coordinate`
    pub fn image_read(&mut self, inst: InstId) -> Emit<Id> {
        let func = self.func;
        let image = self.readable(func.arg(inst, 0))?;
        let coordinate = self.coordinate(func.arg(inst, 1), image.dim)?;
        self.texel(image, coordinate, None, image.scalar)
    }

    /// `texture2d_write image, coordinate, texel`
    pub fn image_write(&mut self, inst: InstId) -> Emit<()> {
        let func = self.func;
        self.m.capability(Capability::StorageImageWriteWithoutFormat);
        let image = self.argument_image(func.arg(inst, 0), false)?;
        let coordinate = self.coordinate(func.arg(inst, 1), image.dim)?;
        let texel = self.value(func.arg(inst, 2))?;
        let to = if image.scalar.is_float() { Scalar::F32 } else { Scalar::U32 };
        let texel = self.convert_four(texel, image.scalar, to)?;
        let size = self.size_of(image, None);
        let inside = self.inside(coordinate, size, image.dim);
        self.when(inside, |f| {
            f.blocks.push(Op::ImageWrite, &[image.id, coordinate, texel]);
            Ok(())
        })
    }

    /// `texture2d_size image`
    pub fn image_size(&mut self, inst: InstId) -> Emit<Id> {
        let image = self.readable(self.func.arg(inst, 0))?;
        let size = self.size_of(image, None);
        self.as_size(inst, size, image.dim)
    }

    /// A size as the vector of integers that an instruction yields.
    fn as_size(&mut self, inst: InstId, size: Id, dim: u32) -> Emit<Id> {
        let ty = self.func.inst(inst).ty;
        let to = self.table().scalar_of(ty).unwrap_or(Scalar::U32);
        if to.bits() == 32 {
            return Ok(size);
        }
        let mut parts = Vec::with_capacity(dim as usize);
        for i in 0..dim {
            let part = self.component(size, TypeId::vector(Scalar::U32, dim as u8), i)?;
            parts.push(self.convert(part, Scalar::U32, to)?);
        }
        self.join(ty, &parts)
    }

    // ---- bindless arrays

    /// Dimensions of the images that an instruction on a bindless array reads.
    fn dimension(&self, inst: InstId) -> u32 {
        let name = self.func.op(inst).sub_name().unwrap_or("");
        if name.contains("texture3d") { 3 } else { 2 }
    }

    /// `bindless_texture2d_read array, slot, coordinate[, level]`
    pub fn bindless_fetch(&mut self, inst: InstId, with_level: bool) -> Emit<Id> {
        let func = self.func;
        let dim = self.dimension(inst);
        let (image, _) = self.slot_image(inst, dim)?;
        let coordinate = self.coordinate(func.arg(inst, 2), dim)?;
        let level = if with_level { Some(self.index(func.arg(inst, 3))?) } else { None };
        let texel = self.texel(image, coordinate, level, Scalar::F32)?;
        Ok(texel)
    }

    /// `bindless_texture2d_size array, slot[, level]`
    pub fn bindless_size(&mut self, inst: InstId, with_level: bool) -> Emit<Id> {
        let dim = self.dimension(inst);
        let (image, _) = self.slot_image(inst, dim)?;
        let mut size = self.size_of(image, None);
        if with_level {
            let level = self.index(self.func.arg(inst, 2))?;
            size = self.level_of_size(size, level, dim);
        }
        self.as_size(inst, size, dim)
    }

    /// The size of a level by the size of the first one: that of a level which the image lacks goes on as if there were more.
    fn level_of_size(&mut self, size: Id, level: Id, dim: u32) -> Id {
        let word = self.m.int(32);
        let words = self.m.vector(word, dim);
        let most = self.m.u32(31);
        let by = self.glsl(GlslStd450Op::UMin, word, &[level, most]);
        let by = self.op(Op::CompositeConstruct, words, &vec![by; dim as usize]);
        let size = self.op(Op::ShiftRightLogical, words, &[size, by]);
        let one = self.m.u32(1);
        let ones = self.op(Op::CompositeConstruct, words, &vec![one; dim as usize]);
        self.glsl(GlslStd450Op::UMax, words, &[size, ones])
    }

    // ---- sampling

    /// A sample: operands are the image or the slot, the coordinate, what the operation's name says, and perhaps filter and address.
    pub fn sample(&mut self, inst: InstId, op: Q) -> Emit<Id> {
        let func = self.func;
        let name = op.name();
        let dim = self.dimension(inst);
        let args = func.args(inst);
        let (image, in_slot, mut rest) = if op.is_bindless() {
            let (image, sampler) = self.slot_image(inst, dim)?;
            (image, Some(sampler), args.get(2..).unwrap_or(&[]))
        } else {
            let Some(&resource) = args.first() else { return Err(refused(X::ResourceQuery(op))) };
            (self.argument_image(resource, true)?, None, args.get(1..).unwrap_or(&[]))
        };
        if !image.scalar.is_float() {
            return Err(refused(X::ResourceQuery(op)));
        }
        let (sampler, constant) = match in_slot {
            Some(sampler) if !name.ends_with("_sampler") => (sampler, false),
            _ => {
                let Some((front, &[filter, address])) = rest
                    .split_at_checked(rest.len().saturating_sub(2))
                    .and_then(|(front, codes)| {
                        <&[ValueId; 2]>::try_from(codes).ok().map(|codes| (front, codes))
                    })
                else {
                    return Err(refused(X::ResourceQuery(op)));
                };
                rest = front;
                self.sampler_code(filter, address)?
            }
        };
        let sampled = self.sampled_image(image, sampler, constant)?;
        let mut operands = vec![sampled];
        let mut values = Vec::with_capacity(rest.len());
        for &value in rest {
            values.push(self.value(value)?);
        }
        let four = self.vector_type(Scalar::F32, 4)?;
        match *values.as_slice() {
            [at] => {
                let zero = self.scalar_constant(Scalar::F32, 0)?;
                operands.extend([at, ImageOperands::LOD.bits(), zero]);
            }
            [at, level] => operands.extend([at, ImageOperands::LOD.bits(), level]),
            [at, dx, dy] => operands.extend([at, ImageOperands::GRAD.bits(), dx, dy]),
            [at, dx, dy, least] => {
                let by_level = [sampled, at, ImageOperands::LOD.bits(), least];
                let by_level = self.op(Op::ImageSampleExplicitLod, four, &by_level);
                let by_slope = [sampled, at, ImageOperands::GRAD.bits(), dx, dy];
                let by_slope = self.op(Op::ImageSampleExplicitLod, four, &by_slope);
                let finer = self.is_finer(image, dx, dy, least)?;
                let truth = self.m.bool();
                let wide = self.m.vector(truth, 4);
                let every = self.op(Op::CompositeConstruct, wide, &[finer; 4]);
                return Ok(self.op(Op::Select, four, &[every, by_level, by_slope]));
            }
            _ => return Err(refused(X::ResourceQuery(op))),
        }
        Ok(self.op(Op::ImageSampleExplicitLod, four, &operands))
    }

    /// Whether the level that gradients ask for is below the least one that is allowed: few devices clamp that themselves.
    fn is_finer(&mut self, image: Image, dx: Id, dy: Id, least: Id) -> Emit<Id> {
        let (truth, float) = (self.m.bool(), self.types.scalar(&mut self.m, Scalar::F32)?);
        let floats = self.m.vector(float, image.dim);
        let size = self.size_of(image, None);
        let size = self.op(Op::ConvertUToF, floats, &[size]);
        let mut squares = [0; 2];
        for (square, slope) in squares.iter_mut().zip([dx, dy]) {
            let texels = self.op(Op::FMul, floats, &[slope, size]);
            *square = self.op(Op::Dot, float, &[texels, texels]);
        }
        let longest = self.glsl(GlslStd450Op::FMax, float, &squares);
        // 2 log2(length) < 2 least
        let level = self.glsl(GlslStd450Op::Log2, float, &[longest]);
        let least = self.op(Op::FAdd, float, &[least, least]);
        Ok(self.op(Op::FOrdLessThan, truth, &[level, least]))
    }

    /// `filter * 4 + address`, and whether it is known now.
    fn sampler_code(&mut self, filter: ValueId, address: ValueId) -> Emit<(Id, bool)> {
        let func = self.func;
        if let (Some(f), Some(a)) = (func.constant_bits(filter), func.constant_bits(address)) {
            return Ok((self.m.u32((f as u32 & 3) * 4 + (a as u32 & 3)), true));
        }
        let (filter, address) = (self.value(filter)?, self.value(address)?);
        let word = self.m.int(32);
        let (two, three) = (self.m.u32(2), self.m.u32(3));
        let filter = self.op(Op::BitwiseAnd, word, &[filter, three]);
        let address = self.op(Op::BitwiseAnd, word, &[address, three]);
        let filter = self.op(Op::ShiftLeftLogical, word, &[filter, two]);
        Ok((self.op(Op::IAdd, word, &[filter, address]), false))
    }

    fn sampled_image(&mut self, image: Image, sampler: Id, constant: bool) -> Emit<Id> {
        let samplers = self.samplers()?;
        let ty = self.m.intern(Op::TypeSampler, 0, &[]);
        let pointer = self.m.pointer(StorageClass::UniformConstant, ty);
        let pointer = self.op(Op::AccessChain, pointer, &[samplers, sampler]);
        let loaded = self.op(Op::Load, ty, &[pointer]);
        let combined = self.m.intern(Op::TypeSampledImage, 0, &[image.ty]);
        let id = self.op(Op::SampledImage, combined, &[image.id, loaded]);
        if !constant {
            // A code that is computed may differ among threads.
            self.m.capability(Capability::ShaderNonUniform);
            self.m.capability(Capability::SampledImageArrayNonUniformIndexing);
            for id in [sampler, pointer, loaded] {
                self.m.decorate(id, Decoration::NonUniform, &[]);
            }
        }
        if !constant || !image.uniform {
            self.m.decorate(id, Decoration::NonUniform, &[]);
        }
        Ok(id)
    }
}

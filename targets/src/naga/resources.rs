//! Buffers, images, samplers.

use luisac_ast::types::{Scalar, TypeId, TypeKind};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{InstId, Op, ValueId};
use naga::{BinaryOperator as B, Expression, ImageQuery, SampleLevel, ScalarKind, Statement};

use super::Emit;
use super::body::Val;
use super::function::FnEmit;
use super::interface::Resource;
use super::words::Words;

impl FnEmit<'_> {
    /// The words of a buffer.
    pub fn buffer(&self, value: ValueId) -> Emit<Words> {
        match self.resource(value)?.0 {
            Resource::Buffer(words) => Ok(words),
            _ => Err(self.internal("a buffer without a place")),
        }
    }

    /// The element type of a buffer.
    pub fn element_of(&self, buffer: ValueId) -> Emit<TypeId> {
        match self.types.kind(self.func.value_type(buffer)) {
            TypeKind::Buffer { elem, .. } => Ok(*elem),
            _ => Err(self.internal("an operand that is no buffer")),
        }
    }

    /// The byte offset of an element.
    pub fn element_offset(&mut self, index: ValueId, element: TypeId) -> Emit<Val> {
        let index = self.index(index)?;
        let stride = self.body.u32(self.types.stride(element) as u32);
        Ok(self.body.binary(B::Multiply, index, stride))
    }

    /// `resource_read`
    pub fn resource_read(&mut self, inst: InstId, op: R) -> Emit<()> {
        let arg = |i| self.func.arg(inst, i);
        let ty = self.func.inst(inst).ty;
        let value = match op {
            R::BufferRead | R::BufferVolatileRead => {
                let words = self.buffer(arg(0))?;
                let byte = self.element_offset(arg(1), ty)?;
                self.read_words(words, byte, ty)?
            }
            R::ByteBufferRead | R::ByteBufferVolatileRead => {
                let words = self.buffer(arg(0))?;
                let byte = self.index(arg(1))?;
                self.read_words(words, byte, ty)?
            }
            R::Texture2dRead | R::Texture3dRead => self.texel(inst)?,
            _ => return Err(self.refused(Op::ResourceRead(op))),
        };
        self.define(inst, value);
        Ok(())
    }

    /// `resource_write`
    pub fn resource_write(&mut self, inst: InstId, op: W) -> Emit<()> {
        let arg = |i| self.func.arg(inst, i);
        match op {
            W::BufferWrite | W::BufferVolatileWrite => {
                let (words, ty) = (self.buffer(arg(0))?, self.func.value_type(arg(2)));
                let byte = self.element_offset(arg(1), ty)?;
                let value = self.value(arg(2))?;
                self.write_words(words, byte, ty, value)
            }
            W::ByteBufferWrite | W::ByteBufferVolatileWrite => {
                let (words, ty) = (self.buffer(arg(0))?, self.func.value_type(arg(2)));
                let byte = self.index(arg(1))?;
                let value = self.value(arg(2))?;
                self.write_words(words, byte, ty, value)
            }
            W::Texture2dWrite | W::Texture3dWrite => {
                let Resource::Image { storage: Some(image), .. } = self.resource(arg(0))?.0 else {
                    return Err(self.internal("an image without a place"));
                };
                let coordinate = self.coordinate(arg(1))?;
                let value = self.value(arg(2))?;
                let array_index = None;
                self.body.statement(Statement::ImageStore {
                    image,
                    coordinate,
                    array_index,
                    value,
                });
                Ok(())
            }
            _ => Err(self.refused(Op::ResourceWrite(op))),
        }
    }

    /// `resource_query`
    pub fn resource_query(&mut self, inst: InstId, op: Q) -> Emit<()> {
        let base = self.func.arg(inst, 0);
        let ty = self.func.inst(inst).ty;
        let value = match op {
            Q::BufferSize | Q::ByteBufferSize => {
                let stride = match op {
                    Q::BufferSize => self.types.stride(self.element_of(base)?),
                    _ => 1,
                };
                self.buffer_size(base, stride, ty)?
            }
            Q::Texture2dSize | Q::Texture3dSize => {
                let image = match self.resource(base)?.0 {
                    Resource::Image { storage, sampled, .. } => storage.or(sampled),
                    _ => None,
                };
                let image = image.ok_or_else(|| self.internal("an image without a place"))?;
                let query = ImageQuery::Size { level: None };
                self.body.value(Expression::ImageQuery { image, query })
            }
            op if op.samples() && !op.is_bindless() => self.sample(inst, op)?,
            _ => return Err(self.refused(Op::ResourceQuery(op))),
        };
        self.define(inst, value);
        Ok(())
    }

    /// The number of elements, from the size in bytes that the parameter block has.
    fn buffer_size(&mut self, base: ValueId, stride: u64, ty: TypeId) -> Emit<Val> {
        let (_, index) = self.resource(base)?;
        let offset = self.interface.offsets[index] + 8;
        // A binding is smaller than 4 GiB.
        let bytes = self.read_param(self.interface.params, offset, TypeId::U32)?;
        let count = match stride {
            0 => self.body.u32(0),
            1 => bytes,
            stride => {
                let stride = self.body.u32(stride as u32);
                self.body.binary(B::Divide, bytes, stride)
            }
        };
        Ok(match self.types.scalar_of(ty) {
            Some(s) if s.bits() == 64 => self.body.convert(count, ScalarKind::Uint, 8),
            _ => count,
        })
    }

    // ---- images

    /// A coordinate as integers of 32 bits.
    fn coordinate(&mut self, value: ValueId) -> Emit<Val> {
        let scalar = self.scalar_type(value);
        let at = self.value(value)?;
        Ok(match scalar {
            Scalar::I64 => self.body.convert(at, ScalarKind::Sint, 4),
            Scalar::U64 => self.body.convert(at, ScalarKind::Uint, 4),
            _ => at,
        })
    }

    fn texel(&mut self, inst: InstId) -> Emit<Val> {
        let (base, at) = (self.func.arg(inst, 0), self.func.arg(inst, 1));
        let Resource::Image { storage, sampled, .. } = self.resource(base)?.0 else {
            return Err(self.internal("an image without a place"));
        };
        let image = storage.or(sampled).ok_or_else(|| self.internal("an image without a place"))?;
        let coordinate = self.coordinate(at)?;
        let level = match storage {
            Some(_) => None,
            None => Some(self.body.u32(0)),
        };
        Ok(self.body.value(Expression::ImageLoad {
            image,
            coordinate,
            array_index: None,
            sample: None,
            level,
        }))
    }

    /// A sample of an image argument, by the sampler that constants name.
    fn sample(&mut self, inst: InstId, op: Q) -> Emit<Val> {
        let args = self.func.args(inst).to_vec();
        let Resource::Image { sampled: Some(image), element, .. } = self.resource(args[0])?.0
        else {
            return Err(self.internal("an image without a place"));
        };
        let codes =
            [args[args.len() - 2], args[args.len() - 1]].map(|c| self.func.constant_bits(c));
        let [Some(filter), Some(address)] = codes else {
            return Err(self.refused(Op::ResourceQuery(op)));
        };
        let number = (filter * 4 + address) as u32;
        let sampler = self.interface.samplers.get(&number).copied();
        let (Some(sampler), true) = (sampler, element.is_float()) else {
            return Err(self.refused(Op::ResourceQuery(op)));
        };
        let coordinate = self.value(args[1])?;
        let level = match op {
            Q::Texture2dSample | Q::Texture3dSample => SampleLevel::Zero,
            Q::Texture2dSampleLevel | Q::Texture3dSampleLevel => {
                SampleLevel::Exact(self.value(args[2])?)
            }
            Q::Texture2dSampleGrad | Q::Texture3dSampleGrad => {
                SampleLevel::Gradient { x: self.value(args[2])?, y: self.value(args[3])? }
            }
            _ => return Err(self.refused(Op::ResourceQuery(op))),
        };
        Ok(self.body.value(Expression::ImageSample {
            image,
            sampler,
            gather: None,
            coordinate,
            array_index: None,
            offset: None,
            level,
            depth_ref: None,
            clamp_to_edge: false,
        }))
    }
}

//! Instructions on buffers and images, and atomics.

use super::Builder;
use super::inst::{Unit, malformed};
use crate::eval;
use crate::interp::code::{
    Asked, Atomic, AtomicTarget, Code, Dispatch, Element, Holds, Lod, Resource, Sample, Src,
    Stride, Texel,
};
use crate::interp::fault::Fault;
use crate::op::{ArithmeticOp, AtomicOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp};
use crate::{InstId, Op, Scalar, TypeId, TypeKind, ValueId};

/// What chooses the level that a sampling operation reads.
#[derive(Clone, Copy)]
enum By {
    First,
    Level,
    Gradients,
    GradientsAndLevel,
}

/// The form of a sampling operation.
#[derive(Clone, Copy)]
struct Sampling {
    bindless: bool,
    dimensions: u32,
    lod: By,
    /// The call gives filter and address.
    codes: bool,
}

/// The form of an operation that samples. The table of operations lists each family in the same order.
fn sampling(op: ResourceQueryOp) -> Option<Sampling> {
    use ResourceQueryOp as Q;
    let families = [
        (Q::Texture2dSample, false, true),
        (Q::BindlessTexture2dSample, true, false),
        (Q::BindlessTexture2dSampleSampler, true, true),
    ];
    families.into_iter().find_map(|(first, bindless, codes)| {
        let place = (op as u32).checked_sub(first as u32).filter(|&place| place < 8)?;
        let lod = [By::First, By::Level, By::Gradients, By::GradientsAndLevel][place as usize % 4];
        Some(Sampling { bindless, dimensions: 2 + place / 4, lod, codes })
    })
}

/// Code that ends the run: the interpreter lacks the operation.
fn not_held(name: &str) -> Code {
    Code::NotHeld(format!("`{name}`").into())
}

impl Builder<'_, '_> {
    /// Compiles an operation on a resource.
    pub(super) fn resource(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        match self.function.op(inst) {
            Op::Atomic(op) => self.atomic(inst, op),
            Op::ResourceQuery(op) => self.query(inst, op),
            Op::ResourceRead(op) => self.read(inst, op),
            Op::ResourceWrite(op) => self.write(inst, op),
            op => Err(malformed(&format!("`{}` is no operation on a resource", op.mnemonic()))),
        }
    }

    fn query(&mut self, inst: InstId, op: ResourceQueryOp) -> Result<(), Box<Fault>> {
        use ResourceQueryOp as Q;
        let code = match op {
            Q::BufferSize | Q::ByteBufferSize => {
                let stride = match self.element_type(self.operand(inst, 0)?) {
                    TypeId::VOID => 1,
                    element => self.types().stride(element),
                };
                let resource = self.direct(inst)?;
                Code::BufferSize {
                    dst: self.result(inst)?.0,
                    resource,
                    stride: Stride::Fixed(stride),
                }
            }
            Q::BindlessBufferSize | Q::BindlessByteBufferSize => {
                let resource = self.slot(inst, Holds::Buffer)?;
                let stride = match op {
                    Q::BindlessBufferSize => Stride::Given(self.arg(inst, 2)?),
                    _ => Stride::Fixed(1),
                };
                Code::BufferSize { dst: self.result(inst)?.0, resource, stride }
            }
            Q::BufferDeviceAddress => {
                let resource = self.direct(inst)?;
                Code::BufferAddress { dst: self.result(inst)?.0, resource }
            }
            Q::BindlessBufferDeviceAddress => {
                let resource = self.slot(inst, Holds::Buffer)?;
                Code::BufferAddress { dst: self.result(inst)?.0, resource }
            }
            Q::Texture2dSize | Q::Texture3dSize => {
                let resource = self.direct(inst)?;
                let dimensions = if op == Q::Texture2dSize { 2 } else { 3 };
                Code::ImageSize { dst: self.result(inst)?.0, resource, level: None, dimensions }
            }
            Q::BindlessTexture2dSize
            | Q::BindlessTexture3dSize
            | Q::BindlessTexture2dSizeLevel
            | Q::BindlessTexture3dSizeLevel => {
                let flat = matches!(op, Q::BindlessTexture2dSize | Q::BindlessTexture2dSizeLevel);
                let resource =
                    self.slot(inst, if flat { Holds::Image2d } else { Holds::Image3d })?;
                let level = self.optional(inst, 2)?;
                let dimensions = if flat { 2 } else { 3 };
                Code::ImageSize { dst: self.result(inst)?.0, resource, level, dimensions }
            }
            Q::Texture2dLevels | Q::Texture3dLevels => {
                let resource = self.direct(inst)?;
                Code::Ask { dst: self.result(inst)?.0, resource, what: Asked::Levels }
            }
            Q::BindlessTexture2dLevels | Q::BindlessTexture2dSampler => {
                let resource = self.slot(inst, Holds::Image2d)?;
                let levels = op == Q::BindlessTexture2dLevels;
                let what = if levels { Asked::Levels } else { Asked::Sampler };
                Code::Ask { dst: self.result(inst)?.0, resource, what }
            }
            Q::BindlessTexture3dLevels | Q::BindlessTexture3dSampler => {
                let resource = self.slot(inst, Holds::Image3d)?;
                let levels = op == Q::BindlessTexture3dLevels;
                let what = if levels { Asked::Levels } else { Asked::Sampler };
                Code::Ask { dst: self.result(inst)?.0, resource, what }
            }
            Q::BindlessBufferType => {
                let resource = self.slot(inst, Holds::Buffer)?;
                Code::Ask { dst: self.result(inst)?.0, resource, what: Asked::Type }
            }
            _ => match sampling(op) {
                Some(sampling) => self.sample(inst, sampling)?,
                None => not_held(op.name()),
            },
        };
        self.emit(code);
        Ok(())
    }

    fn sample(&mut self, inst: InstId, sampling: Sampling) -> Result<Code, Box<Fault>> {
        let (resource, mut next) = if sampling.bindless {
            let holds = if sampling.dimensions == 2 { Holds::Image2d } else { Holds::Image3d };
            (self.slot(inst, holds)?, 2)
        } else {
            (self.direct(inst)?, 1)
        };
        let mut operand = |builder: &mut Self| {
            next += 1;
            builder.arg(inst, next - 1)
        };
        let coordinate = operand(self)?;
        let lod = match sampling.lod {
            By::First => Lod::First,
            By::Level => Lod::Level(operand(self)?),
            By::Gradients => {
                Lod::Gradients { ddx: operand(self)?, ddy: operand(self)?, least: None }
            }
            By::GradientsAndLevel => Lod::Gradients {
                ddx: operand(self)?,
                ddy: operand(self)?,
                least: Some(operand(self)?),
            },
        };
        let sampler = if sampling.codes { Some([operand(self)?, operand(self)?]) } else { None };
        let (dst, _) = self.result(inst)?;
        let dimensions = sampling.dimensions;
        Ok(Code::Sample(Box::new(Sample { resource, dst, coordinate, dimensions, lod, sampler })))
    }

    fn read(&mut self, inst: InstId, op: ResourceReadOp) -> Result<(), Box<Fault>> {
        use ResourceReadOp as R;
        let ty = self.function.inst(inst).ty;
        let volatile = op.is_volatile();
        let element = match op {
            R::BufferRead | R::BufferVolatileRead => {
                let resource = self.direct(inst)?;
                self.element(resource, self.operand(inst, 1)?, ty, (false, volatile))?
            }
            R::ByteBufferRead | R::ByteBufferVolatileRead => {
                let resource = self.direct(inst)?;
                self.element(resource, self.operand(inst, 1)?, ty, (true, volatile))?
            }
            R::BindlessBufferRead | R::BindlessByteBufferRead => {
                let resource = self.slot(inst, Holds::Buffer)?;
                let by_bytes = op == R::BindlessByteBufferRead;
                self.element(resource, self.operand(inst, 2)?, ty, (by_bytes, false))?
            }
            R::DeviceAddressRead => {
                self.element(Resource::Address, self.operand(inst, 0)?, ty, (true, false))?
            }
            R::Texture2dRead | R::Texture3dRead | R::Texture2dReadLevel | R::Texture3dReadLevel => {
                let float = self.texel_is_float(inst)?;
                let resource = self.direct(inst)?;
                let flat = matches!(op, R::Texture2dRead | R::Texture2dReadLevel);
                let mut texel =
                    self.texel(inst, (resource, 1), (if flat { 2 } else { 3 }, float))?;
                texel.level = self.optional(inst, 2)?;
                let (dst, _) = self.result(inst)?;
                self.emit(Code::ImageRead { dst, texel: Box::new(texel) });
                return Ok(());
            }
            R::BindlessTexture2dRead
            | R::BindlessTexture3dRead
            | R::BindlessTexture2dReadLevel
            | R::BindlessTexture3dReadLevel => {
                let flat = matches!(op, R::BindlessTexture2dRead | R::BindlessTexture2dReadLevel);
                let resource =
                    self.slot(inst, if flat { Holds::Image2d } else { Holds::Image3d })?;
                let mut texel =
                    self.texel(inst, (resource, 2), (if flat { 2 } else { 3 }, true))?;
                texel.level = self.optional(inst, 3)?;
                let (dst, _) = self.result(inst)?;
                self.emit(Code::ImageRead { dst, texel: Box::new(texel) });
                return Ok(());
            }
        };
        let (dst, _) = self.result(inst)?;
        self.emit(Code::BufferRead { dst, element: Box::new(element) });
        Ok(())
    }

    fn write(&mut self, inst: InstId, op: ResourceWriteOp) -> Result<(), Box<Fault>> {
        use ResourceWriteOp as W;
        let volatile = matches!(op, W::BufferVolatileWrite | W::ByteBufferVolatileWrite);
        // Where the index is among the operands; the value follows.
        let (resource, at, by_bytes) = match op {
            W::BufferWrite | W::BufferVolatileWrite => (self.direct(inst)?, 1, false),
            W::ByteBufferWrite | W::ByteBufferVolatileWrite => (self.direct(inst)?, 1, true),
            W::BindlessBufferWrite => (self.slot(inst, Holds::Buffer)?, 2, false),
            W::BindlessByteBufferWrite => (self.slot(inst, Holds::Buffer)?, 2, true),
            W::DeviceAddressWrite => (Resource::Address, 0, true),
            W::Texture2dWrite | W::Texture3dWrite => {
                let float = self.texel_is_float(inst)?;
                let resource = self.direct(inst)?;
                let dimensions = if op == W::Texture2dWrite { 2 } else { 3 };
                let texel = self.texel(inst, (resource, 1), (dimensions, float))?;
                let src = self.arg(inst, 2)?;
                self.emit(Code::ImageWrite { src, texel: Box::new(texel) });
                return Ok(());
            }
            W::IndirectDispatchSetKernel => {
                let dispatch = Dispatch {
                    buffer: self.resource_argument(self.operand(inst, 0)?)?,
                    index: self.arg(inst, 1)?,
                    block: self.arg(inst, 2)?,
                    size: self.arg(inst, 3)?,
                    kernel: self.arg(inst, 4)?,
                };
                self.emit(Code::SetDispatch(Box::new(dispatch)));
                return Ok(());
            }
            W::IndirectDispatchSetCount => {
                let buffer = self.resource_argument(self.operand(inst, 0)?)?;
                let count = self.arg(inst, 1)?;
                self.emit(Code::SetDispatchCount { buffer, count });
                return Ok(());
            }
            op => {
                self.emit(not_held(op.name()));
                return Ok(());
            }
        };
        let value = self.operand(inst, at + 1)?;
        let ty = self.function.value_type(value);
        let element = self.element(resource, self.operand(inst, at)?, ty, (by_bytes, volatile))?;
        let src = self.src(value)?;
        self.emit(Code::BufferWrite { src, element: Box::new(element) });
        Ok(())
    }

    /// The resource that is the first operand.
    fn direct(&self, inst: InstId) -> Result<Resource, Box<Fault>> {
        Ok(Resource::Argument(self.resource_argument(self.operand(inst, 0)?)?))
    }

    /// The slot that the first two operands name.
    fn slot(&mut self, inst: InstId, holds: Holds) -> Result<Resource, Box<Fault>> {
        let array = self.resource_argument(self.operand(inst, 0)?)?;
        let index = self.operand(inst, 1)?;
        let scalar = self.scalar_of(index)?;
        Ok(Resource::Slot { array, index: self.src(index)?, scalar, holds })
    }

    /// An operand that some forms of an operation lack, and its type.
    fn optional(
        &mut self,
        inst: InstId,
        index: usize,
    ) -> Result<Option<(Src, Scalar)>, Box<Fault>> {
        let Some(&value) = self.function.args(inst).get(index) else { return Ok(None) };
        Ok(Some((self.src(value)?, self.scalar_of(value)?)))
    }

    /// The element type of a buffer argument; void for a byte buffer.
    fn element_type(&self, resource: crate::ValueId) -> TypeId {
        match *self.types().kind(self.function.value_type(resource)) {
            TypeKind::Buffer { elem, .. } => elem,
            _ => TypeId::VOID,
        }
    }

    /// What an index names in a buffer, as a value of type `ty`.
    fn element(
        &mut self,
        resource: Resource,
        index: ValueId,
        ty: TypeId,
        (by_bytes, volatile): (bool, bool),
    ) -> Result<Element, Box<Fault>> {
        let size = self.types().stride(ty);
        if size == 0 {
            return Err(malformed("a buffer holds no values without a size"));
        }
        Ok(Element {
            resource,
            index: self.src(index)?,
            scalar: self.scalar_of(index)?,
            flat: self.compiler.flat(ty)?,
            stride: if by_bytes { 1 } else { size },
            align: u64::from(self.types().align(ty)),
            volatile,
        })
    }

    /// Whether the texels of an image argument are floats to the kernel.
    fn texel_is_float(&self, inst: InstId) -> Result<bool, Box<Fault>> {
        match *self.types().kind(self.function.value_type(self.operand(inst, 0)?)) {
            TypeKind::Texture { elem, .. } => Ok(elem.is_float()),
            _ => Err(malformed("an image is expected")),
        }
    }

    /// The texel whose coordinate is operand `at`, on the first level.
    fn texel(
        &mut self,
        inst: InstId,
        (resource, at): (Resource, usize),
        (dimensions, float): (u32, bool),
    ) -> Result<Texel, Box<Fault>> {
        let coordinate = self.operand(inst, at)?;
        let (src, scalar) = (self.src(coordinate)?, self.scalar_of(coordinate)?);
        Ok(Texel { resource, coordinate: src, scalar, level: None, dimensions, float })
    }

    fn atomic(&mut self, inst: InstId, op: AtomicOp) -> Result<(), Box<Fault>> {
        let args = self.function.args(inst).to_vec();
        let indices = 1..args.len().saturating_sub(op.value_count());
        let (Some(&base), false) = (args.first(), args.len() < 1 + op.value_count()) else {
            return Err(malformed("an atomic lacks operands"));
        };
        let (target, chain, ty) = if self.function.is_resource(base) {
            let element_type = self.element_type(base);
            if indices.is_empty() || element_type == TypeId::VOID {
                return Err(malformed("an atomic on a buffer names no element"));
            }
            let resource = self.direct(inst)?;
            let index = self.operand(inst, 1)?;
            let element = self.element(resource, index, element_type, (false, false))?;
            let chained = &args[indices.start + 1..indices.end];
            let (chain, ty) = self.chain(element_type, chained, Unit::Bytes, 0)?;
            (AtomicTarget::Buffer(element), chain, ty)
        } else {
            let label = self.label_of(base);
            let ty = self.function.value_type(base);
            let (chain, ty) = self.chain(ty, &args[indices.clone()], Unit::Scalars, label)?;
            (AtomicTarget::Place(self.place(base)), chain, ty)
        };
        let TypeKind::Scalar(scalar) = *self.types().kind(ty) else {
            return Err(malformed("an atomic names no scalar"));
        };
        let values = &args[indices.end.max(1)..];
        let first = self.src(values[0])?;
        let second = self.src(*values.last().unwrap_or(&base))?;
        let dst = match self.function.result(inst) {
            Some(_) => Some(self.result(inst)?.0),
            None => None,
        };
        let function = match combines(op) {
            Some(combine) => {
                let Some(function) = eval::binary(combine, scalar, scalar) else {
                    self.emit(Code::NotHeld(format!("`{}` of this type", op.name()).into()));
                    return Ok(());
                };
                Some(function)
            }
            None => None,
        };
        let values = [first, second];
        let atomic = Atomic { op, scalar, dst, target, chain, values, function };
        self.emit(Code::Atomic(Box::new(atomic)));
        Ok(())
    }
}

/// What makes the new value of the old one and the operand.
fn combines(op: AtomicOp) -> Option<ArithmeticOp> {
    Some(match op {
        AtomicOp::Exchange | AtomicOp::CompareExchange => return None,
        AtomicOp::FetchAdd => ArithmeticOp::BinaryAdd,
        AtomicOp::FetchSub => ArithmeticOp::BinarySub,
        AtomicOp::FetchAnd => ArithmeticOp::BinaryBitAnd,
        AtomicOp::FetchOr => ArithmeticOp::BinaryBitOr,
        AtomicOp::FetchXor => ArithmeticOp::BinaryBitXor,
        AtomicOp::FetchMin => ArithmeticOp::Min,
        AtomicOp::FetchMax => ArithmeticOp::Max,
    })
}

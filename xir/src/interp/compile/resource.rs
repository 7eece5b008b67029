//! Instructions on buffers and images, and atomics.

use super::Builder;
use super::inst::{Unit, malformed};
use crate::eval;
use crate::interp::code::{Atomic, AtomicTarget, Code, Element, Texel};
use crate::interp::fault::Fault;
use crate::op::{ArithmeticOp, AtomicOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp};
use crate::{InstId, Op, TypeId, TypeKind};

impl Builder<'_, '_> {
    /// Compiles an operation on a resource.
    pub(super) fn resource(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let op = self.function.op(inst);
        match op {
            Op::Atomic(op) => return self.atomic(inst, op),
            Op::ResourceQuery(ResourceQueryOp::BufferSize | ResourceQueryOp::ByteBufferSize) => {
                let resource = self.operand(inst, 0)?;
                let buffer = self.resource_argument(resource)?;
                let stride = match self.element_type(resource) {
                    TypeId::VOID => 1,
                    element => self.types().stride(element),
                };
                let (dst, _) = self.result(inst)?;
                self.emit(Code::BufferSize { dst, buffer, stride });
            }
            Op::ResourceQuery(
                query @ (ResourceQueryOp::Texture2dSize | ResourceQueryOp::Texture3dSize),
            ) => {
                let image = self.resource_argument(self.operand(inst, 0)?)?;
                let dimensions = if query == ResourceQueryOp::Texture2dSize { 2 } else { 3 };
                let (dst, _) = self.result(inst)?;
                self.emit(Code::ImageSize { dst, image, dimensions });
            }
            Op::ResourceRead(
                read @ (ResourceReadOp::BufferRead
                | ResourceReadOp::BufferVolatileRead
                | ResourceReadOp::ByteBufferRead
                | ResourceReadOp::ByteBufferVolatileRead),
            ) => {
                let by_bytes = matches!(
                    read,
                    ResourceReadOp::ByteBufferRead | ResourceReadOp::ByteBufferVolatileRead
                );
                let ty = self.function.inst(inst).ty;
                let element = self.element(inst, ty, by_bytes, read.is_volatile())?;
                let (dst, _) = self.result(inst)?;
                self.emit(Code::BufferRead { dst, element: Box::new(element) });
            }
            Op::ResourceWrite(
                write @ (ResourceWriteOp::BufferWrite
                | ResourceWriteOp::BufferVolatileWrite
                | ResourceWriteOp::ByteBufferWrite
                | ResourceWriteOp::ByteBufferVolatileWrite),
            ) => {
                let by_bytes = matches!(
                    write,
                    ResourceWriteOp::ByteBufferWrite | ResourceWriteOp::ByteBufferVolatileWrite
                );
                let value = self.operand(inst, 2)?;
                let ty = self.function.value_type(value);
                let element = self.element(inst, ty, by_bytes, write.is_volatile())?;
                let src = self.src(value)?;
                self.emit(Code::BufferWrite { src, element: Box::new(element) });
            }
            Op::ResourceRead(ResourceReadOp::Texture2dRead | ResourceReadOp::Texture3dRead) => {
                let texel = self.texel(inst)?;
                let (dst, _) = self.result(inst)?;
                self.emit(Code::ImageRead { dst, texel: Box::new(texel) });
            }
            Op::ResourceWrite(
                ResourceWriteOp::Texture2dWrite | ResourceWriteOp::Texture3dWrite,
            ) => {
                let texel = self.texel(inst)?;
                let src = self.arg(inst, 2)?;
                self.emit(Code::ImageWrite { src, texel: Box::new(texel) });
            }
            op => {
                let name = op.sub_name().unwrap_or(op.mnemonic());
                self.emit(Code::NotHeld(format!("`{name}`").into()));
            }
        }
        Ok(())
    }

    /// The element type of a buffer argument; void for a byte buffer.
    fn element_type(&self, resource: crate::ValueId) -> TypeId {
        match *self.types().kind(self.function.value_type(resource)) {
            TypeKind::Buffer { elem, .. } => elem,
            _ => TypeId::VOID,
        }
    }

    /// What `buffer, index` name, as a value of type `ty`.
    fn element(
        &mut self,
        inst: InstId,
        ty: TypeId,
        by_bytes: bool,
        volatile: bool,
    ) -> Result<Element, Box<Fault>> {
        let (resource, index) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        let size = self.types().stride(ty);
        if size == 0 {
            return Err(malformed("a buffer holds no values without a size"));
        }
        Ok(Element {
            buffer: self.resource_argument(resource)?,
            index: self.src(index)?,
            scalar: self.scalar_of(index)?,
            flat: self.compiler.flat(ty)?,
            stride: if by_bytes { 1 } else { size },
            align: u64::from(self.types().align(ty)),
            volatile,
        })
    }

    fn texel(&mut self, inst: InstId) -> Result<Texel, Box<Fault>> {
        let (resource, coordinate) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        let TypeKind::Texture { dim, elem, .. } =
            *self.types().kind(self.function.value_type(resource))
        else {
            return Err(malformed("an image is expected"));
        };
        Ok(Texel {
            image: self.resource_argument(resource)?,
            coordinate: self.src(coordinate)?,
            scalar: self.scalar_of(coordinate)?,
            dimensions: u32::from(dim),
            float: elem.is_float(),
        })
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
            let element = self.element(inst, element_type, false, false)?;
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

//! Buffers, byte buffers, addresses and images.

use luisac_artifact::metadata::BoundsMode;
use luisac_ast::types::{Scalar, TypeId, TypeKind};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{InstId, Op, ValueId};

use super::Emit;
use super::bounds::Subject;
use super::function::{FnEmit, refused};
use super::ir::Val;
use super::module::internal;
use super::value::{Buffer, Image, Leaves, Value};
use crate::errors;

/// An address in a buffer.
pub struct Access {
    /// The address.
    pub ptr: Val,
    /// Whether there is anything to access; `None`: always.
    pub present: Option<Val>,
}

impl FnEmit<'_, '_, '_> {
    /// The buffer that a value is.
    pub fn buffer(&mut self, id: ValueId) -> Emit<Buffer> {
        match self.value(id)? {
            Value::Buffer(b) => Ok(b),
            _ => Err(internal("an operand that is no buffer")),
        }
    }

    /// The image that a value is, what its texels are made of, and its number of dimensions.
    pub fn image(&mut self, id: ValueId) -> Emit<(Image, Scalar, u32)> {
        let ty = self.func.value_type(id);
        let TypeKind::Texture { dim, elem, .. } = self.cx.module.types.kind(ty) else {
            return Err(internal("an operand that is no image"));
        };
        match self.value(id)? {
            Value::Image(i) => Ok((i, *elem, u32::from(*dim))),
            _ => Err(internal("an operand that is no image")),
        }
    }

    /// The element type of a typed buffer.
    pub fn element_of(&self, buffer: ValueId) -> Emit<TypeId> {
        match self.cx.module.types.kind(self.func.value_type(buffer)) {
            TypeKind::Buffer { elem, .. } => Ok(*elem),
            _ => Err(internal("an operand that is no buffer")),
        }
    }

    /// The address of element `index` of a typed buffer.
    pub fn buffer_element(&mut self, id: ValueId, index: ValueId, ty: TypeId) -> Emit<Access> {
        let buffer = self.buffer(id)?;
        self.element_place_in(buffer, index, ty)
    }

    /// The address of element `index` of a buffer of `ty`.
    pub fn element_place_in(&mut self, buffer: Buffer, index: ValueId, ty: TypeId) -> Emit<Access> {
        let stride = self.cx.module.types.stride(ty);
        let wide = self.wide_index(index)?;
        if stride == 0 {
            return Ok(Access { ptr: buffer.ptr, present: None });
        }
        let mut present = None;
        let mut wide = wide;
        if self.cx.options.bounds != BoundsMode::Off {
            let size = self.cx.ir.const_u64(stride);
            let count = self.cx.ir.udiv(buffer.size, size);
            let subject = Subject::Argument(buffer.position);
            wide = self.check_index(wide, self.is_signed(index), count, subject)?;
            if self.cx.options.bounds == BoundsMode::Clamp {
                present = Some(self.cx.ir.ne(count, self.cx.ir.const_u64(0)));
            }
        }
        let offset = self.cx.ir.mul(wide, self.cx.ir.const_u64(stride));
        Ok(Access { ptr: self.cx.ir.offset(buffer.ptr, offset), present })
    }

    /// The address of a value of type `ty` at a byte offset.
    fn byte_place(&mut self, id: ValueId, offset: ValueId, ty: TypeId) -> Emit<Access> {
        let buffer = self.buffer(id)?;
        self.byte_place_in(buffer, offset, ty)
    }

    /// The address of a value of type `ty` at a byte offset of a buffer.
    pub fn byte_place_in(&mut self, buffer: Buffer, offset: ValueId, ty: TypeId) -> Emit<Access> {
        let (size, align) = (self.cx.module.types.size(ty), self.cx.module.types.align(ty));
        let mut wide = self.wide_index(offset)?;
        let mut present = None;
        let bounds = self.cx.options.bounds;
        if bounds != BoundsMode::Off && size > 0 {
            // The valid offsets are 0 to size of buffer minus size of value.
            let ir = &self.cx.ir;
            let size = ir.const_u64(size);
            let fits = ir.uge(buffer.size, size);
            let last = ir.select(fits, ir.sub(buffer.size, size), ir.const_u64(0));
            if bounds == BoundsMode::Clamp {
                present = Some(fits);
                let last = ir.and(last, ir.const_u64(!(u64::from(align) - 1)));
                let count = ir.add(last, ir.const_u64(1));
                wide = self.clamp_to(wide, self.is_signed(offset), count);
            } else {
                let over = ir.ult(last, wide);
                let inside = ir.and(fits, ir.not(over));
                self.trap_unless(inside, wide, Subject::Argument(buffer.position))?;
            }
        }
        Ok(Access { ptr: self.cx.ir.offset(buffer.ptr, wide), present })
    }

    /// Whether buffer reads may be taken as unchanging: the kernel writes nothing global. What the callers of a function write, nobody
    /// knows.
    fn unchanging(&self) -> bool {
        !self.cx.is_export() && !self.cx.facts(self.cx.kernel).writes_global
    }

    /// Reads a value; zero if there is nothing to access.
    pub fn read_at(&mut self, access: Access, ty: TypeId, volatile: bool) -> Emit<Option<Value>> {
        let invariant = !volatile && self.unchanging();
        let Access { ptr, present } = access;
        if self.cx.types.flat(ty).is_some() || present.is_none() {
            return self.guarded(present, |f| Ok(Some(f.load_value(ty, ptr, volatile, invariant))));
        }
        let place = self.temporary(ty);
        let types = &self.cx.module.types;
        let (size, align) = (types.size(ty), types.align(ty));
        self.cx.ir.clear(place, size, align);
        self.guarded(present, |f| {
            f.cx.ir.copy(place, ptr, size, align);
            Ok(None)
        })?;
        Ok(Some(Value::Memory(place)))
    }

    fn write_at(&mut self, access: Access, ty: TypeId, v: ValueId, volatile: bool) -> Emit<()> {
        let v = self.value(v)?;
        let ptr = access.ptr;
        self.guarded(access.present, |f| {
            f.store_value(ty, ptr, &v, volatile)?;
            Ok(None)
        })?;
        Ok(())
    }

    fn raw_address(&mut self, id: ValueId) -> Emit<Access> {
        let address = self.wide_index(id)?;
        let space = self.cx.ir.ptr(self.cx.device.global_space());
        Ok(Access { ptr: self.cx.ir.inttoptr(address, space), present: None })
    }

    /// `resource_read`
    pub fn resource_read(&mut self, inst: InstId, op: R) -> Emit<Option<Value>> {
        let func = self.func;
        let ty = func.inst(inst).ty;
        let first = func.arg(inst, 0);
        match op {
            R::BufferRead | R::BufferVolatileRead => {
                let element = self.element_of(first)?;
                let access = self.buffer_element(first, func.arg(inst, 1), element)?;
                self.read_at(access, element, op.is_volatile())
            }
            R::ByteBufferRead | R::ByteBufferVolatileRead => {
                let access = self.byte_place(first, func.arg(inst, 1), ty)?;
                self.read_at(access, ty, op.is_volatile())
            }
            R::DeviceAddressRead => {
                let access = self.raw_address(first)?;
                self.read_at(access, ty, false)
            }
            R::Texture2dRead | R::Texture3dRead => {
                let (image, element, dim) = self.image(first)?;
                let coordinate = self.coordinate(func.arg(inst, 1), dim)?;
                let device = self.cx.device;
                let texel = device.image_read(self, image, element, &coordinate)?;
                Ok(Some(Value::Leaves(texel)))
            }
            _ => self.bindless_read(inst, op),
        }
    }

    /// `resource_write`
    pub fn resource_write(&mut self, inst: InstId, op: W) -> Emit<()> {
        let func = self.func;
        let first = func.arg(inst, 0);
        match op {
            W::BufferWrite | W::BufferVolatileWrite => {
                let element = self.element_of(first)?;
                let access = self.buffer_element(first, func.arg(inst, 1), element)?;
                self.write_at(access, element, func.arg(inst, 2), op.is_volatile())
            }
            W::ByteBufferWrite | W::ByteBufferVolatileWrite => {
                let v = func.arg(inst, 2);
                let ty = func.value_type(v);
                let access = self.byte_place(first, func.arg(inst, 1), ty)?;
                self.write_at(access, ty, v, op.is_volatile())
            }
            W::DeviceAddressWrite => {
                let v = func.arg(inst, 1);
                let access = self.raw_address(first)?;
                self.write_at(access, func.value_type(v), v, false)
            }
            W::Texture2dWrite | W::Texture3dWrite => {
                let (image, element, dim) = self.image(first)?;
                let coordinate = self.coordinate(func.arg(inst, 1), dim)?;
                let texel = self.leaves(func.arg(inst, 2))?;
                let device = self.cx.device;
                device.image_write(self, image, element, &coordinate, &texel)
            }
            W::BindlessBufferWrite => {
                let v = func.arg(inst, 3);
                let ty = func.value_type(v);
                let buffer = self.slot_buffer(inst)?;
                let access = self.element_place_in(buffer, func.arg(inst, 2), ty)?;
                self.write_at(access, ty, v, false)
            }
            W::BindlessByteBufferWrite => {
                let v = func.arg(inst, 3);
                let ty = func.value_type(v);
                let access = self.slot_bytes(inst, ty)?;
                self.write_at(access, ty, v, false)
            }
            W::IndirectDispatchSetKernel | W::IndirectDispatchSetCount => {
                self.indirect_write(inst, op)
            }
            _ => Err(refused(errors::UNSUPPORTED_OPERATION, Op::ResourceWrite(op))),
        }
    }

    /// `resource_query`
    pub fn resource_query(&mut self, inst: InstId, op: Q) -> Emit<Value> {
        let func = self.func;
        let first = func.arg(inst, 0);
        let ty = func.inst(inst).ty;
        match op {
            Q::BufferSize => {
                let buffer = self.buffer(first)?;
                let element = self.element_of(first)?;
                let ir = &self.cx.ir;
                let count = match self.cx.module.types.stride(element) {
                    0 => ir.const_u64(0),
                    stride => ir.udiv(buffer.size, ir.const_u64(stride)),
                };
                self.as_size(count, ty)
            }
            Q::ByteBufferSize => {
                let buffer = self.buffer(first)?;
                self.as_size(buffer.size, ty)
            }
            Q::BufferDeviceAddress => {
                let buffer = self.buffer(first)?;
                let address = self.cx.ir.ptrtoint(buffer.ptr, self.cx.ir.int(64));
                self.as_size(address, ty)
            }
            Q::Texture2dSize | Q::Texture3dSize => {
                let (image, _, dim) = self.image(first)?;
                let device = self.cx.device;
                device.image_size(self, image, dim).map(Value::Leaves)
            }
            _ => self.bindless_query(inst, op),
        }
    }

    /// A 64-bit size or address as the type of a query.
    pub fn as_size(&self, v: Val, ty: TypeId) -> Emit<Value> {
        match self.cx.module.types.scalar_of(ty) {
            Some(s) if s.is_int() => {
                Ok(Value::scalar(self.cx.ir.zext_or_trunc(v, self.cx.ir.int(s.bits()))))
            }
            _ => Err(internal("a size that is no integer")),
        }
    }

    /// The components of a texel coordinate as 32 bits.
    pub fn coordinate(&mut self, id: ValueId, dim: u32) -> Emit<Leaves> {
        let leaves = self.leaves(id)?;
        let signed = self.is_signed(id);
        let word = self.cx.ir.int(32);
        let ir = &self.cx.ir;
        let narrow = |v| if signed { ir.sext_or_trunc(v, word) } else { ir.zext_or_trunc(v, word) };
        Ok(leaves.into_iter().take(dim as usize).map(narrow).collect())
    }
}

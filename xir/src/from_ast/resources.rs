//! Calls on buffers, images, bindless arrays and acceleration structures.

use super::function::{Lowerer, Result};
use super::{MALFORMED, TYPE_MISMATCH};
use crate::op::{ArithmeticOp, BindlessAccess, ResourceQueryOp, ResourceReadOp, ResourceWriteOp};
use crate::{Imm, Op, ValueId};
use luisac_ast::callops::{CallOp, Out, Param};
use luisac_ast::model::CurveBases;
use luisac_ast::types::{Scalar, TypeId, TypeKind};

fn imm_of(access: BindlessAccess) -> Imm {
    if access == BindlessAccess::default() { Imm::None } else { Imm::Access(access) }
}

/// Whether argument `index` is an index into a buffer, which may be wider than 32 bits.
fn is_buffer_index(op: CallOp, index: usize) -> bool {
    let plain = op.bindless().map_or(op, |(plain, ..)| plain);
    match plain {
        CallOp::BufferRead
        | CallOp::BufferVolatileRead
        | CallOp::BufferWrite
        | CallOp::BufferVolatileWrite
        | CallOp::ByteBufferRead
        | CallOp::ByteBufferVolatileRead
        | CallOp::ByteBufferWrite
        | CallOp::ByteBufferVolatileWrite => index == 1,
        CallOp::BindlessBufferRead
        | CallOp::BindlessBufferWrite
        | CallOp::BindlessByteBufferRead => index == 2,
        _ => false,
    }
}

impl Lowerer<'_> {
    /// The arguments of a resource operation as its signature wants them.
    pub(super) fn resource_arguments(
        &mut self,
        op: CallOp,
        args: Vec<ValueId>,
    ) -> Result<Vec<ValueId>> {
        let Some(&first) = args.first() else { return Ok(args) };
        let resource = self.ty(first);
        let info = op.info();
        let params = info.params.iter().chain(info.optional);
        let mut converted = Vec::with_capacity(args.len());
        for (i, (&arg, param)) in args.iter().zip(params).enumerate() {
            if !self.holds(op, *param, arg) {
                let text = format!("`{op}` cannot take {}", self.describe(self.ty(arg)));
                return Err(self.error(TYPE_MISMATCH, text));
            }
            let to = match param {
                Param::Index if is_buffer_index(op, i) => {
                    converted.push(self.as_index(arg)?);
                    continue;
                }
                Param::Index => TypeId::U32,
                Param::Bool => TypeId::BOOL,
                Param::Float => TypeId::F32,
                Param::Float2 => TypeId::vector(Scalar::F32, 2),
                Param::Float3 => TypeId::vector(Scalar::F32, 3),
                Param::Uint2 => TypeId::vector(Scalar::U32, 2),
                Param::Uint3 => TypeId::vector(Scalar::U32, 3),
                Param::Uint4 => TypeId::vector(Scalar::U32, 4),
                Param::Matrix4 => TypeId::matrix(4),
                Param::BufferElem => self.buffer_element(resource)?,
                Param::Coord => TypeId::vector(Scalar::U32, self.texture(resource)?.0),
                Param::Texel => TypeId::vector(self.texture(resource)?.1, 4),
                _ => self.ty(arg),
            };
            converted.push(self.convert(arg, to)?);
        }
        Ok(converted)
    }

    /// Whether an argument that no conversion makes is what its parameter says.
    fn holds(&self, op: CallOp, param: Param, arg: ValueId) -> bool {
        let (ty, resource) = (self.ty(arg), self.func.is_resource(arg));
        match param {
            Param::Buffer if reads_or_writes_bytes(op) => resource && self.is_byte_buffer(ty),
            Param::Buffer => resource && matches!(self.types.kind(ty), TypeKind::Buffer { .. }),
            Param::TypedBuffer => resource && self.buffer_element(ty).is_ok(),
            Param::Texture => match (self.types.kind(ty), sampled_dimensions(op)) {
                (TypeKind::Texture { dim, .. }, Some(wanted)) => resource && *dim == wanted,
                (TypeKind::Texture { .. }, None) => resource,
                _ => false,
            },
            Param::Bindless => resource && *self.types.kind(ty) == TypeKind::BindlessArray,
            Param::Accel => resource && *self.types.kind(ty) == TypeKind::Accel,
            Param::Dispatch => {
                self.func.is_lvalue(arg)
                    && self.types.is_custom_named(ty, "LC_IndirectDispatchBuffer")
            }
            Param::Query => self.func.is_lvalue(arg) && self.types.is_ray_query(ty),
            Param::Struct | Param::Ray => !self.func.is_lvalue(arg) && self.types.is_struct(ty),
            Param::Data => !self.func.is_lvalue(arg) && !resource && self.types.is_data(ty),
            _ => true,
        }
    }

    /// The result type of a resource operation whose recorded type is `ty`.
    fn resource_result(&self, op: CallOp, first: ValueId, ty: TypeId) -> Result<TypeId> {
        let resource = self.ty(first);
        Ok(match op.info().out {
            Out::BufferElem => self.buffer_element(resource)?,
            Out::Texel => TypeId::vector(self.texture(resource)?.1, 4),
            Out::UintOfDim => TypeId::vector(Scalar::U32, self.texture(resource)?.0),
            Out::Bool => TypeId::BOOL,
            Out::Uint => TypeId::U32,
            Out::Ulong => TypeId::U64,
            Out::Uint2 => TypeId::vector(Scalar::U32, 2),
            Out::Uint3 => TypeId::vector(Scalar::U32, 3),
            Out::Float4 => TypeId::vector(Scalar::F32, 4),
            Out::Matrix4 => TypeId::matrix(4),
            Out::Integer if ty != TypeId::U32 => TypeId::U64,
            _ => ty,
        })
    }

    pub(super) fn buffer_element(&self, ty: TypeId) -> Result<TypeId> {
        match self.types.kind(ty) {
            TypeKind::Buffer { elem, .. } if *elem != TypeId::VOID => Ok(*elem),
            _ => Err(self
                .error(TYPE_MISMATCH, format!("{} is no buffer with elements", self.describe(ty)))),
        }
    }

    pub(super) fn is_byte_buffer(&self, ty: TypeId) -> bool {
        matches!(self.types.kind(ty), TypeKind::Buffer { elem: TypeId::VOID, .. })
    }

    /// Dimensions and element of a texture.
    fn texture(&self, ty: TypeId) -> Result<(u8, Scalar)> {
        match *self.types.kind(ty) {
            TypeKind::Texture { dim, elem, .. } => Ok((dim, elem)),
            _ => Err(self.error(TYPE_MISMATCH, format!("{} is no texture", self.describe(ty)))),
        }
    }

    pub(super) fn call_query(
        &mut self,
        op: CallOp,
        query: ResourceQueryOp,
        access: BindlessAccess,
        args: Vec<ValueId>,
        ty: TypeId,
        bases: CurveBases,
    ) -> Result<ValueId> {
        let args = self.resource_arguments(op, args)?;
        let result = self.resource_result(op, self.argument(&args, 0)?, ty)?;
        let imm = if traces(query) {
            let bases = if bases.is_empty() { self.ast.curve_bases } else { bases };
            if bases.is_empty() { Imm::None } else { Imm::CurveBases(bases.0) }
        } else {
            imm_of(access)
        };
        Ok(self.value_with(Op::ResourceQuery(query), result, &args, imm))
    }

    pub(super) fn call_read(
        &mut self,
        op: CallOp,
        read: ResourceReadOp,
        access: BindlessAccess,
        args: Vec<ValueId>,
        ty: TypeId,
    ) -> Result<ValueId> {
        let args = self.resource_arguments(op, args)?;
        let result = self.resource_result(op, self.argument(&args, 0)?, ty)?;
        if result == TypeId::VOID {
            return Err(self.error(MALFORMED, "a read has no type"));
        }
        Ok(self.value_with(Op::ResourceRead(read), result, &args, imm_of(access)))
    }

    pub(super) fn call_write(
        &mut self,
        op: CallOp,
        write: ResourceWriteOp,
        access: BindlessAccess,
        args: Vec<ValueId>,
    ) -> Result<Option<ValueId>> {
        let args = self.resource_arguments(op, args)?;
        self.inst(Op::ResourceWrite(write), TypeId::VOID, &args, &[], imm_of(access));
        Ok(None)
    }

    pub(super) fn call_texture(&mut self, op: CallOp, args: &[ValueId]) -> Result<Option<ValueId>> {
        let (dim, _) = self.texture(self.ty(self.argument(args, 0)?))?;
        let args = self.resource_arguments(op, args.to_vec())?;
        let result = self.resource_result(op, self.argument(&args, 0)?, TypeId::VOID)?;
        let op = match (op, dim) {
            (CallOp::TextureRead, 2) => Op::ResourceRead(ResourceReadOp::Texture2dRead),
            (CallOp::TextureRead, _) => Op::ResourceRead(ResourceReadOp::Texture3dRead),
            (CallOp::TextureWrite, 2) => Op::ResourceWrite(ResourceWriteOp::Texture2dWrite),
            (CallOp::TextureWrite, _) => Op::ResourceWrite(ResourceWriteOp::Texture3dWrite),
            (_, 2) => Op::ResourceQuery(ResourceQueryOp::Texture2dSize),
            _ => Op::ResourceQuery(ResourceQueryOp::Texture3dSize),
        };
        let inst = self.inst(op, result, &args, &[], Imm::None);
        Ok(self.func.result(inst))
    }

    /// Elements of a buffer, or bytes; a byte buffer has elements of a byte.
    pub(super) fn buffer_size(
        &mut self,
        op: CallOp,
        args: &[ValueId],
        ty: TypeId,
    ) -> Result<ValueId> {
        let buffer = self.argument(args, 0)?;
        let result = if ty == TypeId::U32 { TypeId::U32 } else { TypeId::U64 };
        match self.types.kind(self.ty(buffer)) {
            TypeKind::Buffer { elem: TypeId::VOID, .. } => Ok(self.value(
                Op::ResourceQuery(ResourceQueryOp::ByteBufferSize),
                result,
                &[buffer],
            )),
            &TypeKind::Buffer { elem, .. } => {
                let size =
                    self.value(Op::ResourceQuery(ResourceQueryOp::BufferSize), result, &[buffer]);
                if op == CallOp::BufferSize {
                    return Ok(size);
                }
                let stride = self.scalar_constant(result, self.types.stride(elem));
                self.arithmetic(ArithmeticOp::BinaryMul, &[size, stride])
            }
            _ => Err(self
                .error(TYPE_MISMATCH, format!("{} is no buffer", self.describe(self.ty(buffer))))),
        }
    }
}

/// The dimensions of the texture that an operation samples.
fn sampled_dimensions(op: CallOp) -> Option<u8> {
    match op {
        op if (CallOp::Texture2dSample..=CallOp::Texture2dSampleGradLevel).contains(&op) => Some(2),
        op if (CallOp::Texture3dSample..=CallOp::Texture3dSampleGradLevel).contains(&op) => Some(3),
        _ => None,
    }
}

fn reads_or_writes_bytes(op: CallOp) -> bool {
    matches!(
        op,
        CallOp::ByteBufferRead
            | CallOp::ByteBufferVolatileRead
            | CallOp::ByteBufferWrite
            | CallOp::ByteBufferVolatileWrite
    )
}

/// Whether a query walks through geometry.
fn traces(query: ResourceQueryOp) -> bool {
    matches!(
        query,
        ResourceQueryOp::RayTracingTraceClosest
            | ResourceQueryOp::RayTracingTraceAny
            | ResourceQueryOp::RayTracingQueryAll
            | ResourceQueryOp::RayTracingQueryAny
            | ResourceQueryOp::RayTracingTraceClosestMotionBlur
            | ResourceQueryOp::RayTracingTraceAnyMotionBlur
            | ResourceQueryOp::RayTracingQueryAllMotionBlur
            | ResourceQueryOp::RayTracingQueryAnyMotionBlur
    )
}

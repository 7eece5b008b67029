//! Operands of resource operations, as one table of patterns (operands as in `callops.md`).

use super::Context;
use super::operands::Kind;
use crate::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use crate::{InstId, Op};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};

/// What an operand or a result is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum P {
    /// A buffer with elements; those are T.
    Buffer,
    /// A byte buffer.
    Bytes,
    /// Either.
    AnyBuffer,
    /// A texture; its texels are four of its scalar.
    Texture2,
    Texture3,
    Bindless,
    Accel,
    /// The custom type of indirect dispatch, by reference.
    Indirect,
    /// Any integer scalar.
    Int,
    /// Vectors of integers.
    Int2,
    Int3,
    U32,
    Bool,
    F32,
    F32x2,
    F32x3,
    F32x4,
    Matrix4,
    /// T of the buffer.
    Element,
    /// Four of the scalar of the texture.
    Texel,
    /// Any data.
    Data,
    /// Any structure.
    Record,
    /// A ray-query object.
    Query,
    Void,
}

type Pattern = (&'static [P], P);

fn query(op: Q) -> Pattern {
    use P::*;
    match op {
        Q::BufferSize => (&[Buffer], Int),
        Q::ByteBufferSize => (&[Bytes], Int),
        Q::BufferDeviceAddress => (&[AnyBuffer], Int),
        Q::Texture2dSize => (&[Texture2], Int2),
        Q::Texture3dSize => (&[Texture3], Int3),
        Q::Texture2dLevels => (&[Texture2], U32),
        Q::Texture3dLevels => (&[Texture3], U32),
        Q::BindlessTexture2dLevels
        | Q::BindlessTexture3dLevels
        | Q::BindlessTexture2dSampler
        | Q::BindlessTexture3dSampler => (&[Bindless, Int], U32),
        Q::Texture2dSample => (&[Texture2, F32x2, U32, U32], F32x4),
        Q::Texture2dSampleLevel => (&[Texture2, F32x2, F32, U32, U32], F32x4),
        Q::Texture2dSampleGrad => (&[Texture2, F32x2, F32x2, F32x2, U32, U32], F32x4),
        Q::Texture2dSampleGradLevel => (&[Texture2, F32x2, F32x2, F32x2, F32, U32, U32], F32x4),
        Q::Texture3dSample => (&[Texture3, F32x3, U32, U32], F32x4),
        Q::Texture3dSampleLevel => (&[Texture3, F32x3, F32, U32, U32], F32x4),
        Q::Texture3dSampleGrad => (&[Texture3, F32x3, F32x3, F32x3, U32, U32], F32x4),
        Q::Texture3dSampleGradLevel => (&[Texture3, F32x3, F32x3, F32x3, F32, U32, U32], F32x4),
        Q::BindlessBufferSize => (&[Bindless, Int, Int], Int),
        Q::BindlessByteBufferSize | Q::BindlessBufferType | Q::BindlessBufferDeviceAddress => {
            (&[Bindless, Int], Int)
        }
        Q::BindlessTexture2dSize => (&[Bindless, Int], Int2),
        Q::BindlessTexture3dSize => (&[Bindless, Int], Int3),
        Q::BindlessTexture2dSizeLevel => (&[Bindless, Int, Int], Int2),
        Q::BindlessTexture3dSizeLevel => (&[Bindless, Int, Int], Int3),
        Q::BindlessTexture2dSample => (&[Bindless, Int, F32x2], F32x4),
        Q::BindlessTexture2dSampleLevel => (&[Bindless, Int, F32x2, F32], F32x4),
        Q::BindlessTexture2dSampleGrad => (&[Bindless, Int, F32x2, F32x2, F32x2], F32x4),
        Q::BindlessTexture2dSampleGradLevel => (&[Bindless, Int, F32x2, F32x2, F32x2, F32], F32x4),
        Q::BindlessTexture3dSample => (&[Bindless, Int, F32x3], F32x4),
        Q::BindlessTexture3dSampleLevel => (&[Bindless, Int, F32x3, F32], F32x4),
        Q::BindlessTexture3dSampleGrad => (&[Bindless, Int, F32x3, F32x3, F32x3], F32x4),
        Q::BindlessTexture3dSampleGradLevel => (&[Bindless, Int, F32x3, F32x3, F32x3, F32], F32x4),
        Q::BindlessTexture2dSampleSampler => (&[Bindless, Int, F32x2, U32, U32], F32x4),
        Q::BindlessTexture2dSampleLevelSampler => (&[Bindless, Int, F32x2, F32, U32, U32], F32x4),
        Q::BindlessTexture2dSampleGradSampler => {
            (&[Bindless, Int, F32x2, F32x2, F32x2, U32, U32], F32x4)
        }
        Q::BindlessTexture2dSampleGradLevelSampler => {
            (&[Bindless, Int, F32x2, F32x2, F32x2, F32, U32, U32], F32x4)
        }
        Q::BindlessTexture3dSampleSampler => (&[Bindless, Int, F32x3, U32, U32], F32x4),
        Q::BindlessTexture3dSampleLevelSampler => (&[Bindless, Int, F32x3, F32, U32, U32], F32x4),
        Q::BindlessTexture3dSampleGradSampler => {
            (&[Bindless, Int, F32x3, F32x3, F32x3, U32, U32], F32x4)
        }
        Q::BindlessTexture3dSampleGradLevelSampler => {
            (&[Bindless, Int, F32x3, F32x3, F32x3, F32, U32, U32], F32x4)
        }
        Q::RayTracingInstanceTransform => (&[Accel, Int], Matrix4),
        Q::RayTracingInstanceUserId | Q::RayTracingInstanceVisibilityMask => (&[Accel, Int], U32),
        Q::RayTracingInstanceMotionMatrix => (&[Accel, Int, Int], Matrix4),
        Q::RayTracingInstanceMotionSrt => (&[Accel, Int, Int], Record),
        Q::RayTracingTraceClosest => (&[Accel, Record, U32], Record),
        Q::RayTracingTraceAny => (&[Accel, Record, U32], Bool),
        Q::RayTracingQueryAll | Q::RayTracingQueryAny => (&[Accel, Record, U32], Query),
        Q::RayTracingTraceClosestMotionBlur => (&[Accel, Record, F32, U32], Record),
        Q::RayTracingTraceAnyMotionBlur => (&[Accel, Record, F32, U32], Bool),
        Q::RayTracingQueryAllMotionBlur | Q::RayTracingQueryAnyMotionBlur => {
            (&[Accel, Record, F32, U32], Query)
        }
    }
}

fn read(op: R) -> Pattern {
    use P::*;
    match op {
        R::BufferRead | R::BufferVolatileRead => (&[Buffer, Int], Element),
        R::ByteBufferRead | R::ByteBufferVolatileRead => (&[Bytes, Int], Data),
        R::Texture2dRead => (&[Texture2, Int2], Texel),
        R::Texture3dRead => (&[Texture3, Int3], Texel),
        R::Texture2dReadLevel => (&[Texture2, Int2, Int], Texel),
        R::Texture3dReadLevel => (&[Texture3, Int3, Int], Texel),
        R::BindlessBufferRead | R::BindlessByteBufferRead => (&[Bindless, Int, Int], Data),
        R::BindlessTexture2dRead => (&[Bindless, Int, Int2], F32x4),
        R::BindlessTexture3dRead => (&[Bindless, Int, Int3], F32x4),
        R::BindlessTexture2dReadLevel => (&[Bindless, Int, Int2, Int], F32x4),
        R::BindlessTexture3dReadLevel => (&[Bindless, Int, Int3, Int], F32x4),
        R::DeviceAddressRead => (&[Int], Data),
    }
}

fn write(op: W) -> Pattern {
    use P::*;
    let operands: &[P] = match op {
        W::BufferWrite | W::BufferVolatileWrite => &[Buffer, Int, Element],
        W::ByteBufferWrite | W::ByteBufferVolatileWrite => &[Bytes, Int, Data],
        W::Texture2dWrite => &[Texture2, Int2, Texel],
        W::Texture3dWrite => &[Texture3, Int3, Texel],
        W::BindlessBufferWrite | W::BindlessByteBufferWrite => &[Bindless, Int, Int, Data],
        W::DeviceAddressWrite => &[Int, Data],
        W::RayTracingSetInstanceTransform => &[Accel, Int, Matrix4],
        W::RayTracingSetInstanceVisibilityMask | W::RayTracingSetInstanceUserId => {
            &[Accel, Int, Int]
        }
        W::RayTracingSetInstanceOpacity => &[Accel, Int, Bool],
        W::RayTracingSetInstanceMotionMatrix => &[Accel, Int, Int, Matrix4],
        W::RayTracingSetInstanceMotionSrt => &[Accel, Int, Int, Record],
        W::IndirectDispatchSetKernel => &[Indirect, Int, Int3, Int3, Int],
        W::IndirectDispatchSetCount => &[Indirect, Int],
    };
    (operands, Void)
}

impl P {
    fn kind(self) -> Kind {
        match self {
            P::Buffer
            | P::Bytes
            | P::AnyBuffer
            | P::Texture2
            | P::Texture3
            | P::Bindless
            | P::Accel => Kind::Resource,
            P::Indirect => Kind::Lvalue,
            _ => Kind::Value,
        }
    }

    /// What is expected, in words.
    fn name(self) -> &'static str {
        match self {
            P::Buffer => "a buffer with elements",
            P::Bytes => "a byte buffer",
            P::AnyBuffer => "a buffer",
            P::Texture2 => "a texture of two dimensions",
            P::Texture3 => "a texture of three dimensions",
            P::Bindless => "a bindless array",
            P::Accel => "an acceleration structure",
            P::Indirect => "an indirect dispatch buffer",
            P::Int => "an integer",
            P::Int2 => "a vector of two integers",
            P::Int3 => "a vector of three integers",
            P::U32 => "`u32`",
            P::Bool => "`bool`",
            P::F32 => "`f32`",
            P::F32x2 => "`vector<f32, 2>`",
            P::F32x3 => "`vector<f32, 3>`",
            P::F32x4 => "`vector<f32, 4>`",
            P::Matrix4 => "`matrix<f32, 4>`",
            P::Element => "an element of the buffer",
            P::Texel => "four of the scalar of the texture",
            P::Data => "data",
            P::Record => "a structure",
            P::Query => "a ray query",
            P::Void => "nothing",
        }
    }

    /// Whether a type fits; `resource` is the type of the first operand.
    fn fits(self, ty: TypeId, resource: TypeId, types: &TypeTable) -> bool {
        let ints =
            |dim| types.is_integer(ty) && types.dim(ty) == dim && types.is_scalar(ty) == (dim == 1);
        match self {
            P::Buffer => {
                matches!(types.kind(ty), TypeKind::Buffer { elem, .. } if *elem != TypeId::VOID)
            }
            P::Bytes => {
                matches!(types.kind(ty), TypeKind::Buffer { elem, .. } if *elem == TypeId::VOID)
            }
            P::AnyBuffer => matches!(types.kind(ty), TypeKind::Buffer { .. }),
            P::Texture2 => matches!(types.kind(ty), TypeKind::Texture { dim: 2, .. }),
            P::Texture3 => matches!(types.kind(ty), TypeKind::Texture { dim: 3, .. }),
            P::Bindless => *types.kind(ty) == TypeKind::BindlessArray,
            P::Accel => *types.kind(ty) == TypeKind::Accel,
            P::Indirect => types.is_custom_named(ty, "LC_IndirectDispatchBuffer"),
            P::Int => ints(1),
            P::Int2 => ints(2),
            P::Int3 => ints(3),
            P::U32 => ty == TypeId::U32,
            P::Bool => ty == TypeId::BOOL,
            P::F32 => ty == TypeId::F32,
            P::F32x2 => ty == TypeId::vector(Scalar::F32, 2),
            P::F32x3 => ty == TypeId::vector(Scalar::F32, 3),
            P::F32x4 => ty == TypeId::vector(Scalar::F32, 4),
            P::Matrix4 => ty == TypeId::matrix(4),
            P::Element => {
                matches!(types.kind(resource), TypeKind::Buffer { elem, .. } if *elem == ty)
            }
            P::Texel => {
                matches!(types.kind(resource), TypeKind::Texture { elem, .. } if ty == TypeId::vector(*elem, 4))
            }
            P::Data => types.is_data(ty),
            P::Record => types.is_struct(ty),
            P::Query => types.is_ray_query(ty),
            P::Void => ty == TypeId::VOID,
        }
    }
}

/// Checks operands and result; their number is right already.
pub(super) fn check(cx: &mut Context<'_>, inst: InstId, operands: &[TypeId]) {
    let data = cx.function.inst(inst);
    let (pattern, result) = match data.op {
        Op::ResourceQuery(op) => query(op),
        Op::ResourceRead(op) => read(op),
        Op::ResourceWrite(op) => write(op),
        _ => return,
    };
    let resource = operands.first().copied().unwrap_or(TypeId::VOID);
    for (i, (p, &ty)) in pattern.iter().zip(operands).enumerate() {
        if cx.need(inst, i, p.kind()) && !p.fits(ty, resource, cx.types) {
            cx.rule(inst, Err(format!("operand {i} is not {}", p.name())));
        }
    }
    if !result.fits(data.ty, resource, cx.types) {
        cx.rule(inst, Err(format!("the result is not {}", result.name())));
    }
}

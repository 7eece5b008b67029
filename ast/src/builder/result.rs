//! The result type of an operation, from its signature and its arguments.

use crate::callops::{CallOp, Out, Param};
use crate::description::CUSTOM_TYPES;
use crate::types::{Scalar, TypeId, TypeKind, TypeTable};

/// Structures of ray tracing (`ast.md`, section 1.5).
const RAY: &str = "struct<16,array<float,3>,float,array<float,3>,float>";
const TRIANGLE_HIT: &str = "struct<8,uint,uint,vector<float,2>,float>";
const PROCEDURAL_HIT: &str = "struct<4,uint,uint>";
const COMMITTED_HIT: &str = "struct<8,uint,uint,vector<float,2>,uint,float>";
const MOTION_SRT: &str =
    "struct<16,array<float,3>,array<float,4>,array<float,3>,array<float,3>,array<float,3>>";

/// The type that `op` yields for arguments of these types; `None` where they do not tell.
pub(super) fn result_type(
    types: &mut TypeTable,
    op: CallOp,
    arguments: &[TypeId],
) -> Option<TypeId> {
    let first = arguments.first().copied().unwrap_or(TypeId::VOID);
    let vector = |scalar, dim| Some(TypeId::vector(scalar, dim));
    let elem = types.scalar_of(first);
    match op.info().out {
        Out::Void => Some(TypeId::VOID),
        Out::Any => (op == CallOp::Unreachable).then_some(TypeId::VOID),
        Out::Data | Out::CoopVec => None,
        Out::T => operand_type(types, op, arguments),
        Out::First => (!arguments.is_empty()).then_some(first),
        Out::ElemOfT => elem.map(TypeId::scalar),
        Out::BoolOfT => vector(Scalar::Bool, types.dim(first)),
        Out::MatOfT => {
            (2..=4).contains(&types.dim(first)).then(|| TypeId::matrix(types.dim(first)))
        }
        Out::Bool => Some(TypeId::BOOL),
        Out::Int => Some(TypeId::I32),
        Out::Uint | Out::Integer => Some(TypeId::U32),
        Out::Ulong => Some(TypeId::U64),
        Out::Float => Some(TypeId::F32),
        Out::Uint2 => vector(Scalar::U32, 2),
        Out::Uint3 => vector(Scalar::U32, 3),
        Out::Uint4 => vector(Scalar::U32, 4),
        Out::Float4 => vector(Scalar::F32, 4),
        Out::Matrix2 => Some(TypeId::matrix(2)),
        Out::Matrix3 => Some(TypeId::matrix(3)),
        Out::Matrix4 => Some(TypeId::matrix(4)),
        Out::Vector2 => vector(made_scalar(op)?, 2),
        Out::Vector3 => vector(made_scalar(op)?, 3),
        Out::Vector4 => vector(made_scalar(op)?, 4),
        Out::BufferElem => match types.kind(first) {
            TypeKind::Buffer { elem, .. } => Some(*elem),
            _ => None,
        },
        Out::Texel => match types.kind(first) {
            TypeKind::Texture { elem, .. } => vector(*elem, 4),
            _ => None,
        },
        Out::UintOfDim => match types.kind(first) {
            TypeKind::Texture { dim, .. } => vector(Scalar::U32, *dim),
            _ => None,
        },
        Out::Struct => types.parse(structure(op)?).ok(),
        Out::Query => types.parse(query(op)).ok(),
    }
}

/// `T`: the type of the argument that stands for it; among those that may be scalars, of the longest one.
fn operand_type(types: &TypeTable, op: CallOp, arguments: &[TypeId]) -> Option<TypeId> {
    if let [Param::AtomicBase, ..] = op.info().params {
        // The new value has the type of the number.
        return arguments.last().copied();
    }
    let stands = |param: &Param| matches!(param, Param::T | Param::TOrScalar);
    let candidates = op.info().params.iter().zip(arguments).filter(|(param, _)| stands(param));
    // A power's exponent may be of another type.
    let mut candidates = candidates.map(|(_, ty)| *ty);
    let first = candidates.next()?;
    Some(candidates.fold(first, |t, ty| if types.dim(ty) > types.dim(t) { ty } else { t }))
}

/// The scalar that a maker of vectors makes vectors of: `MAKE_USHORT3`.
fn made_scalar(op: CallOp) -> Option<Scalar> {
    let name = op.name().strip_prefix("MAKE_")?;
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Scalar::ALL.into_iter().find(|s| s.name().eq_ignore_ascii_case(name))
}

/// The maker of a vector or matrix type.
pub(super) fn maker(types: &TypeTable, ty: TypeId) -> Option<CallOp> {
    let dim = types.dim(ty);
    match types.kind(ty) {
        TypeKind::Vector { elem, .. } => {
            CallOp::from_name(&format!("MAKE_{}{dim}", elem.name().to_ascii_uppercase()))
        }
        TypeKind::Matrix { .. } => CallOp::from_name(&format!("MAKE_FLOAT{dim}X{dim}")),
        _ => None,
    }
}

fn query(op: CallOp) -> &'static str {
    let any = matches!(op, CallOp::RayTracingQueryAny | CallOp::RayTracingQueryAnyMotionBlur);
    CUSTOM_TYPES[usize::from(any)]
}

fn structure(op: CallOp) -> Option<&'static str> {
    match op {
        CallOp::RayTracingTraceClosest
        | CallOp::RayTracingTraceClosestMotionBlur
        | CallOp::RayQueryTriangleCandidateHit => Some(TRIANGLE_HIT),
        CallOp::RayQueryProceduralCandidateHit => Some(PROCEDURAL_HIT),
        CallOp::RayQueryCommittedHit => Some(COMMITTED_HIT),
        CallOp::RayQueryWorldSpaceRay | CallOp::RayQueryObjectSpaceRay => Some(RAY),
        CallOp::RayTracingInstanceMotionSrt => Some(MOTION_SRT),
        _ => None,
    }
}

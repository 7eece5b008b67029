//! Which XIR operation a call operation becomes. Both tables name their rows alike, so that the names decide; the few that differ
//! are listed here.

use crate::op::{
    ArithmeticOp, AtomicOp, AutodiffOp, BindlessAccess, RayQueryReadOp, RayQueryWriteOp,
    ResourceQueryOp, ResourceReadOp, ResourceWriteOp, ThreadGroupOp,
};
use luisac_ast::callops::{CallOp, Group};
use std::sync::LazyLock;

/// What a call operation becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Translation {
    Arithmetic(ArithmeticOp),
    ThreadGroup(ThreadGroupOp),
    Atomic(AtomicOp),
    Query(ResourceQueryOp, BindlessAccess),
    Read(ResourceReadOp, BindlessAccess),
    Write(ResourceWriteOp, BindlessAccess),
    RayQueryRead(RayQueryReadOp),
    RayQueryWrite(RayQueryWriteOp),
    Autodiff(AutodiffOp),
    /// A vector or matrix from its parts.
    Make,
    /// Nothing: a hint.
    Ignored,
    /// Something of its own; see `calls.rs`.
    Special,
    /// XIR has no form of it.
    None,
}

/// Call operations whose XIR operation has another name than its own in lower case, without the prefix of its group.
const RENAMED: [(CallOp, &str); 13] = [
    (CallOp::MatrixComponentWiseMultiplication, "matrix_comp_mul"),
    (CallOp::Determinant, "matrix_determinant"),
    (CallOp::Transpose, "matrix_transpose"),
    (CallOp::Inverse, "matrix_inverse"),
    (CallOp::BufferAddress, "buffer_device_address"),
    (CallOp::BindlessBufferAddress, "bindless_buffer_device_address"),
    (CallOp::RayTracingSetInstanceVisibility, "ray_tracing_set_instance_visibility_mask"),
    (CallOp::RayQueryObjectSpaceRay, "candidate_object_space_ray"),
    (CallOp::Ddx, "raster_quad_ddx"),
    (CallOp::Ddy, "raster_quad_ddy"),
    (CallOp::IndirectSetDispatchKernel, "indirect_dispatch_set_kernel"),
    (CallOp::IndirectSetDispatchCount, "indirect_dispatch_set_count"),
    (CallOp::TextureRead, "texture2d_read"),
];

/// What `op` becomes.
pub(crate) fn of(op: CallOp) -> Translation {
    static TABLE: LazyLock<Vec<Translation>> =
        LazyLock::new(|| CallOp::all().map(translate).collect());
    TABLE.get(usize::from(op.number_c())).copied().unwrap_or(Translation::None)
}

fn translate(op: CallOp) -> Translation {
    if op.info().group == Group::Cooperative || op.info().group == Group::Async {
        return Translation::None;
    }
    let (plain, access) = match op.bindless() {
        Some((plain, typed, uniform)) => (plain, BindlessAccess { typed, uniform }),
        None => (op, BindlessAccess::default()),
    };
    let lower = plain.name().to_ascii_lowercase();
    let prefix = match plain.info().group {
        Group::Atomic => "atomic_",
        Group::RayTracing => "ray_query_",
        _ => "",
    };
    let renamed = RENAMED.iter().find(|(from, _)| *from == plain).map(|(_, to)| *to);
    let name = renamed.unwrap_or(lower.strip_prefix(prefix).unwrap_or(&lower));
    by_hand(plain).unwrap_or_else(|| by_name(plain.info().group, name, access))
}

fn by_hand(op: CallOp) -> Option<Translation> {
    Some(match op {
        CallOp::Custom
        | CallOp::External
        | CallOp::AddressOf
        | CallOp::Assert
        | CallOp::Assume
        | CallOp::Unreachable
        | CallOp::RasterDiscard
        | CallOp::Zero
        | CallOp::One
        | CallOp::Undefined
        | CallOp::Pack
        | CallOp::Unpack
        | CallOp::Clock
        | CallOp::Dot
        | CallOp::Pow
        | CallOp::BufferSize
        | CallOp::ByteBufferSize
        | CallOp::TextureRead
        | CallOp::TextureWrite
        | CallOp::TextureSize
        | CallOp::RayQueryProceed => Translation::Special,
        CallOp::Flatten | CallOp::Branch | CallOp::ForceCase => Translation::Ignored,
        op if (CallOp::MakeBool2..=CallOp::MakeFloat4x4).contains(&op) => Translation::Make,
        _ => return None,
    })
}

fn by_name(group: Group, name: &str, access: BindlessAccess) -> Translation {
    let found = match group {
        Group::Core => ArithmeticOp::from_name(name).map(Translation::Arithmetic),
        Group::Atomic => AtomicOp::from_name(name).map(Translation::Atomic),
        Group::AutoDiff => AutodiffOp::from_name(name).map(Translation::Autodiff),
        Group::Sync | Group::Warp | Group::Derivative | Group::Hint => {
            ThreadGroupOp::from_name(name).map(Translation::ThreadGroup)
        }
        _ => None,
    };
    found
        .or_else(|| ThreadGroupOp::from_name(name).map(Translation::ThreadGroup))
        .or_else(|| ResourceQueryOp::from_name(name).map(|op| Translation::Query(op, access)))
        .or_else(|| ResourceReadOp::from_name(name).map(|op| Translation::Read(op, access)))
        .or_else(|| ResourceWriteOp::from_name(name).map(|op| Translation::Write(op, access)))
        .or_else(|| RayQueryReadOp::from_name(name).map(Translation::RayQueryRead))
        .or_else(|| RayQueryWriteOp::from_name(name).map(Translation::RayQueryWrite))
        .unwrap_or(Translation::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything but what `codes.rs` refuses has a translation.
    #[test]
    fn every_operation_is_translated_or_refused_by_name() {
        let refused: Vec<&str> = CallOp::all()
            .filter(|op| of(*op) == Translation::None)
            .filter(|op| !matches!(op.info().group, Group::Cooperative | Group::Async))
            .map(CallOp::name)
            .collect();
        assert_eq!(
            refused,
            [
                "RASTER_SET_Z_DEPTH",
                "RASTER_SET_Z_DEPTH_GREATER_EQUAL",
                "RASTER_SET_Z_DEPTH_LESS_EQUAL",
            ]
        );
    }

    #[test]
    fn families_of_bindless_operations_share_one_operation() {
        let access = BindlessAccess { typed: true, uniform: true };
        assert_eq!(
            of(CallOp::TypedUniformBindlessTexture2dSampleGrad),
            Translation::Query(ResourceQueryOp::BindlessTexture2dSampleGrad, access)
        );
    }
}

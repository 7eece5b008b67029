//! Which operations a target holds.

use luisac_ast::diagnostic::Code;
use luisac_xir::op::{ResourceQueryOp, ResourceReadOp, ResourceWriteOp, ThreadGroupOp};
use luisac_xir::{Op, op::AutodiffOp};

use crate::errors;

/// How a target holds an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// As it is.
    Native,
    /// A pass turns it into others first.
    Lowered,
    /// Not at all; the diagnostic has this code.
    Refused(Code),
}

/// Whether an operation is in the compute core: what every target holds, natively or lowered. Images are read, written and
/// measured, but not sampled; there are no bindless arrays, acceleration structures, gradients, or raster stages.
pub fn compute_core(op: Op) -> Support {
    let refused = Support::Refused(errors::UNSUPPORTED_OPERATION);
    match op {
        Op::ResourceQuery(q) => match q {
            ResourceQueryOp::BufferSize
            | ResourceQueryOp::ByteBufferSize
            | ResourceQueryOp::BufferDeviceAddress
            | ResourceQueryOp::Texture2dSize
            | ResourceQueryOp::Texture3dSize => Support::Native,
            _ => refused,
        },
        Op::ResourceRead(r) => match r {
            ResourceReadOp::BufferRead
            | ResourceReadOp::BufferVolatileRead
            | ResourceReadOp::ByteBufferRead
            | ResourceReadOp::ByteBufferVolatileRead
            | ResourceReadOp::Texture2dRead
            | ResourceReadOp::Texture3dRead
            | ResourceReadOp::DeviceAddressRead => Support::Native,
            _ => refused,
        },
        Op::ResourceWrite(w) => match w {
            ResourceWriteOp::BufferWrite
            | ResourceWriteOp::BufferVolatileWrite
            | ResourceWriteOp::ByteBufferWrite
            | ResourceWriteOp::ByteBufferVolatileWrite
            | ResourceWriteOp::Texture2dWrite
            | ResourceWriteOp::Texture3dWrite
            | ResourceWriteOp::DeviceAddressWrite => Support::Native,
            _ => refused,
        },
        Op::ThreadGroup(ThreadGroupOp::RasterQuadDdx | ThreadGroupOp::RasterQuadDdy) => refused,
        Op::RayQueryRead(_)
        | Op::RayQueryWrite(_)
        | Op::RasterDiscard
        | Op::RayQueryLoop
        | Op::RayQueryDispatch => refused,
        Op::Autodiff(AutodiffOp::Detach) => refused,
        Op::Autodiff(_) | Op::AutodiffScope => refused,
        Op::If | Op::Switch | Op::Loop | Op::SimpleLoop | Op::Break | Op::Continue => {
            Support::Lowered
        }
        _ => Support::Native,
    }
}

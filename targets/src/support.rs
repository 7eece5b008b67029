//! Which operations a target holds.

use luisac_artifact::metadata::BoundsMode;
use luisac_ast::diagnostic::{Code, Diagnostic};
use luisac_xir::from_ast::{ADDRESS_OF, CPU_CUSTOM};
use luisac_xir::op::{
    ArithmeticOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp, ThreadGroupOp,
};
use luisac_xir::{FunctionId, Module, Op};

use crate::usage::reachable_callees_first;
use crate::{Target, errors};

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
/// measured, and sampled by the pass `lower_sampling`; there are no bindless arrays, acceleration structures or raster stages.
pub fn compute_core(op: Op) -> Support {
    let refused = Support::Refused(errors::UNSUPPORTED_OPERATION);
    match op {
        Op::ResourceQuery(q) => match q {
            ResourceQueryOp::BufferSize
            | ResourceQueryOp::ByteBufferSize
            | ResourceQueryOp::BufferDeviceAddress
            | ResourceQueryOp::Texture2dSize
            | ResourceQueryOp::Texture3dSize => Support::Native,
            q if q.samples() && !q.is_bindless() => Support::Lowered,
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
        | Op::RayQueryPipeline
        | Op::RasterDiscard
        | Op::RayQueryLoop
        | Op::RayQueryDispatch => refused,
        Op::Autodiff(_) | Op::AutodiffScope => Support::Lowered,
        Op::If | Op::Switch | Op::Loop | Op::SimpleLoop | Op::Break | Op::Continue => {
            Support::Lowered
        }
        _ => Support::Native,
    }
}

/// Whether a target that reaches resources by their addresses holds an operation: the compute core, and bindless arrays with
/// buffers and images in their slots, sampled by the pass `lower_sampling` where the target does not do it; and writes of indirect
/// dispatch buffers.
pub fn addressed_core(op: Op) -> Support {
    match op {
        Op::ResourceQuery(q) if q.samples() => Support::Lowered,
        Op::ResourceQuery(q) if q.is_bindless() || q.asks_of_levels_or_sampler() => Support::Native,
        Op::ResourceRead(
            ResourceReadOp::BindlessBufferRead
            | ResourceReadOp::BindlessByteBufferRead
            | ResourceReadOp::BindlessTexture2dRead
            | ResourceReadOp::BindlessTexture3dRead
            | ResourceReadOp::BindlessTexture2dReadLevel
            | ResourceReadOp::BindlessTexture3dReadLevel
            | ResourceReadOp::Texture2dReadLevel
            | ResourceReadOp::Texture3dReadLevel,
        )
        | Op::ResourceWrite(
            ResourceWriteOp::BindlessBufferWrite
            | ResourceWriteOp::BindlessByteBufferWrite
            | ResourceWriteOp::IndirectDispatchSetKernel
            | ResourceWriteOp::IndirectDispatchSetCount,
        ) => Support::Native,
        _ => compute_core(op),
    }
}

/// Whether an operation on floats is no more than an operator, a selection or a look at the bits: every language with a text or
/// instructions of its own has these exactly, under every mode.
pub fn plain_float_operation(op: ArithmeticOp) -> bool {
    use ArithmeticOp as A;
    matches!(
        op,
        A::UnaryMinus
            | A::BinaryAdd
            | A::BinarySub
            | A::BinaryMul
            | A::BinaryDiv
            | A::BinaryLess
            | A::BinaryGreater
            | A::BinaryLessEqual
            | A::BinaryGreaterEqual
            | A::BinaryEqual
            | A::BinaryNotEqual
            | A::Select
            | A::Abs
            | A::Isinf
            | A::Isnan
    )
}

/// The detail of a target that has a list of them, the first by default.
///
/// # Errors
/// One that is not in the list, which the message shows.
pub fn listed_detail(target: &dyn Target, detail: Option<&str>) -> Result<String, Diagnostic> {
    let (name, details) = (target.name(), target.details());
    match detail.or(details.first().copied()) {
        Some(detail) if details.contains(&detail) => Ok(detail.to_string()),
        other => {
            let text = format!("`{name}` has no detail `{}`", other.unwrap_or_default());
            Err(Diagnostic::error(errors::UNKNOWN_DETAIL, text)
                .with_help(format!("the details are {}", details.join(", "))))
        }
    }
}

/// The pass that makes indices safe, as a pipeline's text; `more` are further options of it, each after a comma.
pub(crate) fn bounds_pass(bounds: BoundsMode, more: &str) -> String {
    let mode = match bounds {
        BoundsMode::Off => "off",
        BoundsMode::Clamp => "clamp",
        BoundsMode::Trap => "trap",
    };
    format!("lower_bounds{{mode={mode}{more}}}")
}

/// Refuses a kernel that reaches a function without a body: artifacts stand alone. Time linear in the code that it reaches.
///
/// # Errors
/// One diagnostic that names the first such function, and what would work instead.
pub fn check_externals(module: &Module, kernel: FunctionId) -> Result<(), Box<Diagnostic>> {
    let reached = reachable_callees_first(module, kernel);
    let Some(&id) = reached.iter().find(|&&id| !module.functions[id].has_body()) else {
        return Ok(());
    };
    let name = module.functions[id].name.as_str();
    let help = match name {
        CPU_CUSTOM => "print the values, or write them to a buffer, instead of calling back",
        ADDRESS_OF => "pass the variable by reference, or keep it in a buffer and pass its index",
        _ => "write the function as a callable, or name the library that has it with `--lib`",
    };
    let text = format!("the function `{name}` has no body, and nothing can be linked to a kernel");
    let error = Diagnostic::error(errors::EXTERNAL_FUNCTION, text)
        .in_function(module.functions[kernel].name.clone())
        .with_help(help);
    Err(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(callee: &str) -> Option<String> {
        let text = format!(
            "module;\nkernel @k block(32, 1, 1) () {{\nb0:\ncall @c()\nreturn\n}}\n\
             callable @c() {{\nb0:\ncall @x()\nreturn\n}}\n{callee}\nexternal @unused();\n"
        );
        let module = luisac_xir::text::parse(&text).expect("a module");
        let kernel = module.kernels().next().expect("a kernel");
        check_externals(&module, kernel).err().map(|e| {
            assert_eq!(e.code, errors::EXTERNAL_FUNCTION);
            format!("{} ({})", e.message, e.help.unwrap_or_default())
        })
    }

    #[test]
    fn only_functions_without_a_body_that_a_kernel_reaches_are_refused() {
        assert_eq!(refusal("callable @x() {\nb0:\nreturn\n}"), None);
        let found = refusal("external @x();").expect("a refusal");
        assert!(found.contains("`x`") && found.contains("as a callable"), "{found}");
    }
}

//! Whether arguments fit a kernel. All devices share these rules, so a mistake is an error at the line that made it.

use luisac_artifact::metadata::{Argument as Formal, ArgumentKind};

use crate::{
    Argument, Device, Kernel, RuntimeError,
    argument::{Describe, Given},
    kernel::Expected,
    resource::Common,
};

/// Checks the arguments of a dispatch.
///
/// # Errors
/// [`RuntimeError::Dispatch`], which names the first argument that does not fit the metadata.
pub(super) fn arguments(
    device: &Device,
    kernel: &Kernel,
    given: &[Argument],
) -> Result<(), RuntimeError> {
    let inner = &kernel.0;
    if !device.is(&inner.device) {
        return Err(RuntimeError::OtherDevice);
    }
    let formals = &inner.metadata.arguments;
    if formals.len() != given.len() {
        return Err(RuntimeError::ArgumentCount {
            kernel: inner.metadata.kernel.clone(),
            expected: formals.len(),
            got: given.len(),
        });
    }
    for (index, ((formal, expected), given)) in
        formals.iter().zip(&inner.formals).zip(given).enumerate()
    {
        let owned = || common(given).map_or(Ok(()), |common| device.owns(common));
        one(index, formal, expected, given).and_then(|()| owned()).map_err(|error| {
            let (kernel, name) = (inner.metadata.kernel.clone(), formal.name.clone());
            RuntimeError::Dispatch { kernel, name, error: Box::new(error) }
        })?;
    }
    Ok(())
}

fn common(given: &Argument) -> Option<&Common> {
    match &given.0 {
        Given::Value(..) => None,
        Given::Buffer(view, _) => Some(&view.memory.common),
        Given::Image(level) => Some(&level.memory.common),
        Given::Bindless(array) => Some(&array.common),
        Given::Indirect(buffer) => Some(&buffer.view().memory.common),
    }
}

fn one(
    index: usize,
    formal: &Formal,
    expected: &Expected,
    given: &Argument,
) -> Result<(), RuntimeError> {
    let (wanted, ty) = (u64::from(formal.size), || formal.ty.clone());
    match (formal.kind, &given.0) {
        (ArgumentKind::Value, Given::Value(bytes, described)) => {
            if let Expected::Value(text) = expected
                && let Some(got) = other(*described, text)
            {
                return Err(RuntimeError::ArgumentType { index, expected: ty(), got });
            }
            let got = bytes.len() as u64;
            if got != wanted {
                return Err(RuntimeError::ArgumentSize { index, ty: ty(), expected: wanted, got });
            }
        }
        (ArgumentKind::Buffer, Given::Buffer(view, described)) => {
            if let Expected::Buffer(Some(text)) = expected
                && let Some(got) = other(*described, text)
            {
                let got = format!("buffer<{got}>");
                return Err(RuntimeError::ArgumentType { index, expected: ty(), got });
            }
            let align = formal.element_align.max(1);
            if !view.start.is_multiple_of(align) {
                let (start, end, size) =
                    (view.start as usize, view.end() as usize, view.memory.bytes as usize);
                return Err(RuntimeError::View { index, start, end, size, align });
            }
        }
        (ArgumentKind::Image, Given::Image(level)) => {
            let shape = &level.memory.shape;
            let fits = matches!(expected, Expected::Image(dimension, element)
                if *dimension == shape.dimension && shape.storage.holds(element.name()));
            if !fits {
                let (dimension, storage) = (shape.dimension, shape.storage);
                return Err(RuntimeError::ImageMismatch { index, ty: ty(), dimension, storage });
            }
        }
        (ArgumentKind::BindlessArray, Given::Bindless(_))
        | (ArgumentKind::IndirectDispatch, Given::Indirect(_)) => {}
        (ArgumentKind::Accel, _) => {
            let kind = "an acceleration structure";
            return Err(RuntimeError::UnsupportedArgument { index, kind });
        }
        (kind, given) => {
            let expected = format!("{} (`{}`)", crate::host::kind_name(kind), formal.ty);
            return Err(RuntimeError::ArgumentKind { index, expected, got: given.name() });
        }
    }
    Ok(())
}

/// The description of a type that is not `expected`.
fn other(describe: Option<Describe>, expected: &str) -> Option<String> {
    let mut text = String::new();
    describe?(&mut text);
    (text != expected).then_some(text)
}

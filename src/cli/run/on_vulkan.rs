//! The device `vulkan`: SPIR-V or WGSL for the first device that the loader has.

use super::argument::Actual;
use super::image::ImageData;
use super::{Launch, Ran, failed, repeat};
use luisac::driver::compile::TargetChoice;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::types::TypeKind;
use luisac_runtime::RuntimeError;
use luisac_runtime::vulkan::{Arg, Buffer, Device, Image};
use luisac_xir::Module;
use std::time::Instant;

/// An argument on the device.
enum Resource {
    Value(Vec<u8>),
    Buffer(Buffer),
    Image(Image),
}

pub fn run(launch: &Launch, module: Module, actuals: &mut [Actual]) -> Result<Ran, Diagnostics> {
    let mut ran = Ran::default();
    let start = Instant::now();
    let is_3d: Vec<bool> = launch
        .formals
        .iter()
        .map(|f| matches!(module.types.kind(f.ty), TypeKind::Texture { dim: 3, .. }))
        .collect();
    let choice = TargetChoice::parse(launch.target.unwrap_or("spirv"))?;
    let artifact = super::artifact(launch, module, &choice)?;
    let device = Device::open().map_err(failed)?;
    // SAFETY: code and metadata come from the emitter, a moment ago.
    let kernel = unsafe { device.load(&artifact.code, artifact.metadata) }.map_err(failed)?;
    ran.compile = start.elapsed();
    let mut resources = Vec::new();
    for (index, (actual, &is_3d)) in actuals.iter().zip(&is_3d).enumerate() {
        resources.push(upload(&device, index, actual, is_3d).map_err(failed)?);
    }
    let args: Vec<Arg> = resources
        .iter()
        .map(|r| match r {
            Resource::Value(bytes) => Arg::Value(bytes),
            Resource::Buffer(buffer) => Arg::Buffer(buffer),
            Resource::Image(image) => Arg::Image(image),
        })
        .collect();
    let mut bound = kernel.bind(&args).map_err(failed)?;
    let dispatch = launch.dispatch;
    let once = |print: &mut dyn FnMut(&str)| bound.dispatch_logged(dispatch, print);
    repeat(launch, &mut ran, once, || download(&resources, actuals))?;
    Ok(ran)
}

fn refused<T>(index: usize, kind: &'static str) -> Result<T, RuntimeError> {
    Err(RuntimeError::UnsupportedArgument { index, kind })
}

fn upload(
    device: &Device,
    index: usize,
    actual: &Actual,
    is_3d: bool,
) -> Result<Resource, RuntimeError> {
    Ok(match actual {
        Actual::Value(bytes) => Resource::Value(bytes.clone()),
        Actual::Buffer { bytes, .. } => Resource::Buffer(device.buffer_from(bytes)?),
        Actual::Image(data) => {
            let ImageData { storage, size, levels, bytes } = data;
            let image = if is_3d {
                device.image_3d(*storage, *size, *levels)?
            } else {
                device.image_2d(*storage, [size[0], size[1]], *levels)?
            };
            for level in 0..*levels {
                image.upload(level, bytes.get(data.level_bytes(level)).unwrap_or_default())?;
            }
            Resource::Image(image)
        }
        Actual::Bindless(_) => return refused(index, "a bindless array"),
        Actual::Indirect(_) => return refused(index, "an indirect dispatch buffer"),
    })
}

fn download(resources: &[Resource], actuals: &mut [Actual]) -> Result<(), RuntimeError> {
    for (resource, actual) in resources.iter().zip(actuals) {
        match (resource, actual) {
            (Resource::Buffer(buffer), Actual::Buffer { bytes, .. }) => *bytes = buffer.to_vec()?,
            (Resource::Image(image), Actual::Image(data)) => {
                let first = image.to_vec(0)?;
                if let Some(bytes) = data.bytes.get_mut(..first.len()) {
                    bytes.copy_from_slice(&first);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

//! The device `cpu`: compiled for this machine, loaded from memory.

use super::argument::{Actual, ImageData};
use super::{Launch, Ran, failed, repeat};
use luisac::driver::compile::TargetChoice;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::types::TypeKind;
use luisac_runtime::{
    RuntimeError,
    host::{Arg, Buffer, Device, Image, Kernel},
};
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
    let device = Device::cpu();
    let kernel = load(launch, module, &device)?;
    ran.compile = start.elapsed();
    let mut resources = Vec::new();
    for (actual, &is_3d) in actuals.iter().zip(&is_3d) {
        resources.push(upload(&device, actual, is_3d).map_err(failed)?);
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
    repeat(launch, &mut ran, once, || {
        download(&resources, actuals);
        Ok(())
    })?;
    Ok(ran)
}

fn load(launch: &Launch, module: Module, device: &Device) -> Result<Kernel, Diagnostics> {
    let artifact = super::artifact(launch, module, &TargetChoice::parse("cpu:native")?)?;
    // SAFETY: the object and its metadata come from the emitter, a moment ago.
    unsafe { device.load(&artifact.code, artifact.metadata) }.map_err(failed)
}

fn upload(device: &Device, actual: &Actual, is_3d: bool) -> Result<Resource, RuntimeError> {
    Ok(match actual {
        Actual::Value(bytes) => Resource::Value(bytes.clone()),
        Actual::Buffer { bytes, .. } => Resource::Buffer(device.buffer_from(bytes)?),
        Actual::Image(ImageData { storage, size, bytes }) => {
            let image = if is_3d {
                device.image_3d(*storage, *size)?
            } else {
                device.image_2d(*storage, [size[0], size[1]])?
            };
            image.upload_bytes(bytes)?;
            Resource::Image(image)
        }
    })
}

fn download(resources: &[Resource], actuals: &mut [Actual]) {
    for (resource, actual) in resources.iter().zip(actuals) {
        match (resource, actual) {
            (Resource::Buffer(buffer), Actual::Buffer { bytes, .. }) => *bytes = buffer.to_vec(),
            (Resource::Image(image), Actual::Image(data)) => data.bytes = image.to_vec(),
            _ => {}
        }
    }
}

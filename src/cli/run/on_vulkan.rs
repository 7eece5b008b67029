//! The device `vulkan`: SPIR-V or WGSL for the first device that the loader has.

use super::argument::Actual;
use super::bindless::SlotData;
use super::image::ImageData;
use super::{Launch, Ran, failed, repeat};
use luisac::driver::compile::TargetChoice;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::types::TypeKind;
use luisac_runtime::vulkan::{Arg, BindlessArray, Buffer, Device, Image};
use luisac_runtime::{RuntimeError, Sampler};
use luisac_xir::Module;
use std::time::Instant;

/// An argument on the device.
enum Resource {
    Value(Vec<u8>),
    Buffer(Buffer),
    Image(Image),
    Indirect(Buffer),
    /// The buffers of its slots, to be taken back.
    Array(BindlessArray, Vec<Option<Buffer>>),
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
    for (actual, &is_3d) in actuals.iter().zip(&is_3d) {
        resources.push(upload(&device, actual, is_3d).map_err(failed)?);
    }
    let args: Vec<Arg> = resources
        .iter()
        .map(|r| match r {
            Resource::Value(bytes) => Arg::Value(bytes),
            Resource::Buffer(buffer) => Arg::Buffer(buffer),
            Resource::Image(image) => Arg::Image(image),
            // A head of 16 bytes, then 32 a dispatch.
            Resource::Indirect(buffer) => {
                Arg::Indirect(buffer, (buffer.len().saturating_sub(16) / 32) as u32)
            }
            Resource::Array(array, _) => Arg::BindlessArray(array),
        })
        .collect();
    let mut bound = kernel.bind(&args).map_err(failed)?;
    let dispatch = launch.dispatch;
    let once = |print: &mut dyn FnMut(&str)| bound.dispatch_logged(dispatch, print);
    repeat(launch, &mut ran, once, || download(&resources, actuals))?;
    Ok(ran)
}

fn upload(device: &Device, actual: &Actual, is_3d: bool) -> Result<Resource, RuntimeError> {
    Ok(match actual {
        Actual::Value(bytes) => Resource::Value(bytes.clone()),
        Actual::Buffer { bytes, .. } => Resource::Buffer(device.buffer_from(bytes)?),
        Actual::Image(data) => Resource::Image(image(device, data, if is_3d { 3 } else { 2 })?),
        Actual::Bindless(slots) => array(device, slots)?,
        Actual::Indirect(bytes) => Resource::Indirect(device.buffer_from(bytes)?),
    })
}

fn image(device: &Device, data: &ImageData, dimension: u32) -> Result<Image, RuntimeError> {
    let [x, y, _] = data.size;
    let image = match dimension {
        3 => device.image_3d(data.storage, data.size, data.levels)?,
        _ => device.image_2d(data.storage, [x, y], data.levels)?,
    };
    for level in 0..data.levels {
        image.upload(level, data.bytes.get(data.level_bytes(level)).unwrap_or_default())?;
    }
    Ok(image)
}

/// A bindless array with these slots. It keeps its images alive.
fn array(device: &Device, slots: &[SlotData]) -> Result<Resource, RuntimeError> {
    let array = device.bindless_array(slots.len() as u32)?;
    let mut buffers = Vec::new();
    for (number, data) in (0..).zip(slots) {
        let buffer = data.buffer.as_ref().map(|b| device.buffer_from(&b.bytes)).transpose()?;
        if let Some(buffer) = &buffer {
            array.set_buffer(number, Some((buffer, 0)))?;
        }
        buffers.push(buffer);
        for (given, dimension) in [(&data.image2d, 2), (&data.image3d, 3)] {
            if let Some(given) = given {
                let sampler = Sampler::from_code(given.sampler).unwrap_or_default();
                let image = image(device, &given.image, dimension)?;
                array.set_image(number, dimension, Some((&image, sampler)))?;
            }
        }
    }
    Ok(Resource::Array(array, buffers))
}

fn download(resources: &[Resource], actuals: &mut [Actual]) -> Result<(), RuntimeError> {
    for (resource, actual) in resources.iter().zip(actuals) {
        match (resource, actual) {
            (Resource::Buffer(buffer), Actual::Buffer { bytes, .. })
            | (Resource::Indirect(buffer), Actual::Indirect(bytes)) => *bytes = buffer.to_vec()?,
            (Resource::Image(image), Actual::Image(data)) => {
                for level in 0..data.levels {
                    let range = data.level_bytes(level);
                    let texels = image.to_vec(level)?;
                    if let Some(bytes) =
                        data.bytes.get_mut(range).filter(|b| b.len() == texels.len())
                    {
                        bytes.copy_from_slice(&texels);
                    }
                }
            }
            (Resource::Array(_, buffers), Actual::Bindless(slots)) => {
                for (buffer, slot) in buffers.iter().zip(slots) {
                    if let (Some(buffer), Some(data)) = (buffer, &mut slot.buffer) {
                        data.bytes = buffer.to_vec()?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

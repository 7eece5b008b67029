//! Devices through command lists: PTX on `cuda`; SPIR-V, DXIL and MSL on `wgpu`, `dx12` and `metal`.

use super::argument::Actual;
use super::bindless::{SlotData, SlotImage};
use super::image::ImageData;
use super::{Launch, Ran, failed, repeat};
use luisac::driver::compile::TargetChoice;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::types::TypeKind;
use luisac_runtime::{
    Argument, BindlessArray, Buffer, Device, Download, Image, ImageShape, IndirectBuffer,
    RuntimeError, Sampler,
};
use luisac_xir::Module;
use std::time::Instant;

/// An argument on the device.
enum Resource {
    Value(Vec<u8>),
    Buffer(Buffer),
    Image(Image),
    Bindless(BindlessArray, Vec<Option<Buffer>>),
    Indirect(IndirectBuffer),
}

/// Bytes of the count of an indirect dispatch buffer, and of a dispatch.
const DISPATCH_HEADER: usize = 16;
const DISPATCH_RECORD: usize = 32;

pub fn run(
    name: &str,
    launch: &Launch,
    module: Module,
    actuals: &mut [Actual],
) -> Result<Ran, Diagnostics> {
    let mut ran = Ran::default();
    let start = Instant::now();
    let is_3d: Vec<bool> = launch
        .formals
        .iter()
        .map(|f| matches!(module.types.kind(f.ty), TypeKind::Texture { dim: 3, .. }))
        .collect();
    let device = Device::open(name).map_err(failed)?;
    let best = device.profile().takes.first().cloned().unwrap_or_default();
    let choice = TargetChoice::parse(launch.target.unwrap_or(&best))?;
    let artifact = super::artifact(launch, module, &choice)?;
    // SAFETY: code and metadata come from the emitter, a moment ago.
    let kernel = unsafe { device.load(&artifact.code, artifact.metadata) }.map_err(failed)?;
    ran.compile = start.elapsed();
    let mut resources = Vec::new();
    for (actual, &is_3d) in actuals.iter().zip(&is_3d) {
        resources.push(upload(&device, actual, is_3d).map_err(failed)?);
    }
    let arguments: Vec<Argument> = resources.iter().map(argument).collect();
    let mut list = device.list();
    list.dispatch(&kernel, arguments, launch.dispatch).map_err(failed)?;
    let list = list.commit().map_err(failed)?;
    let stream = device.stream();
    let once = |print: &mut dyn FnMut(&str)| {
        let output = stream.submit(&list)?.wait()?;
        output.lines.iter().for_each(|line| print(line));
        Ok(output.lost)
    };
    repeat(launch, &mut ran, once, || download(&device, &resources, actuals))?;
    Ok(ran)
}

fn argument(resource: &Resource) -> Argument {
    match resource {
        Resource::Value(bytes) => Argument::raw(bytes.clone()),
        Resource::Buffer(buffer) => buffer.into(),
        Resource::Image(image) => image.into(),
        Resource::Bindless(array, _) => array.into(),
        Resource::Indirect(buffer) => buffer.into(),
    }
}

fn upload(device: &Device, actual: &Actual, is_3d: bool) -> Result<Resource, RuntimeError> {
    Ok(match actual {
        Actual::Value(bytes) => Resource::Value(bytes.clone()),
        Actual::Buffer { bytes, .. } => Resource::Buffer(device.buffer_from(bytes)?),
        Actual::Image(data) => Resource::Image(image(device, data, if is_3d { 3 } else { 2 })?),
        Actual::Bindless(slots) => bindless(device, slots)?,
        Actual::Indirect(bytes) => {
            let records = bytes.len().saturating_sub(DISPATCH_HEADER) / DISPATCH_RECORD;
            let buffer = device.indirect_buffer(u32::try_from(records).unwrap_or(u32::MAX))?;
            buffer.bytes().write(bytes)?;
            Resource::Indirect(buffer)
        }
    })
}

fn image(device: &Device, data: &ImageData, dimension: u32) -> Result<Image, RuntimeError> {
    let ImageData { storage, size, levels, bytes } = data;
    let shape = ImageShape { storage: *storage, dimension, size: *size, levels: *levels };
    let image = device.image(shape)?;
    let mut list = device.list();
    for level in 0..*levels {
        let texels = bytes.get(data.level_bytes(level)).unwrap_or_default().to_vec();
        list.upload_image(&image.level(level)?, texels)?;
    }
    list.run()?;
    Ok(image)
}

fn bindless(device: &Device, slots: &[SlotData]) -> Result<Resource, RuntimeError> {
    let array = device.bindless_array(u32::try_from(slots.len()).unwrap_or(u32::MAX))?;
    let mut buffers = Vec::new();
    for (number, slot) in (0u32..).zip(slots) {
        buffers.push(match &slot.buffer {
            None => None,
            Some(data) => {
                let buffer = device.buffer_from(&data.bytes)?;
                array.set_buffer(number, &buffer)?;
                Some(buffer)
            }
        });
        for (given, dimension) in [(&slot.image2d, 2), (&slot.image3d, 3)] {
            let Some(SlotImage { image: data, sampler }) = given else { continue };
            let sampler = Sampler::from_code(*sampler).unwrap_or_default();
            array.set_image(number, &image(device, data, dimension)?.base(), sampler)?;
        }
    }
    let mut list = device.list();
    list.update(&array)?;
    list.run()?;
    Ok(Resource::Bindless(array, buffers))
}

fn download(
    device: &Device,
    resources: &[Resource],
    actuals: &mut [Actual],
) -> Result<(), RuntimeError> {
    let mut list = device.list();
    let mut downloads: Vec<Option<Download>> = Vec::new();
    for resource in resources {
        downloads.push(match resource {
            Resource::Value(_) | Resource::Bindless(..) => None,
            Resource::Indirect(buffer) => Some(list.download(buffer.bytes())?),
            Resource::Buffer(buffer) => Some(list.download(buffer)?),
            Resource::Image(image) => Some(list.download_image(&image.base())?),
        });
    }
    list.run()?;
    for (download, actual) in downloads.iter().zip(actuals.iter_mut()) {
        match (download, actual) {
            (Some(d), Actual::Buffer { bytes, .. }) => *bytes = d.take(),
            (Some(d), Actual::Indirect(bytes)) => *bytes = d.take(),
            (Some(d), Actual::Image(data)) => {
                // The first level; kernels write no other.
                let first = d.take();
                if let Some(bytes) = data.bytes.get_mut(..first.len()) {
                    bytes.copy_from_slice(&first);
                }
            }
            _ => {}
        }
    }
    for (resource, actual) in resources.iter().zip(actuals) {
        let (Resource::Bindless(_, buffers), Actual::Bindless(slots)) = (resource, actual) else {
            continue;
        };
        for (buffer, slot) in buffers.iter().zip(slots) {
            if let (Some(buffer), Some(data)) = (buffer, &mut slot.buffer) {
                data.bytes = buffer.read()?;
            }
        }
    }
    Ok(())
}

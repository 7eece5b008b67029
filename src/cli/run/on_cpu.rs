//! The device `cpu`: compiled for this machine, loaded from memory.

use super::argument::Actual;
use super::bindless::{SlotData, SlotImage};
use super::image::ImageData;
use super::{Launch, Ran, failed, repeat};
use luisac::driver::compile::TargetChoice;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::types::TypeKind;
use luisac_runtime::{
    RuntimeError, Sampler,
    host::{Arg, BindlessArray, Buffer, Device, Image, Kernel},
};
use luisac_xir::Module;
use std::time::Instant;

/// An argument on the device.
enum Resource {
    Value(Vec<u8>),
    Buffer(Buffer),
    Image(Image),
    Slots(Vec<Slot>),
    Indirect(Buffer),
}

/// What a slot of a bindless array holds.
#[derive(Default)]
struct Slot {
    buffer: Option<Buffer>,
    images: [Option<(Image, Sampler)>; 2],
}

/// Bytes of the count of an indirect dispatch buffer, and of a dispatch.
const DISPATCH_HEADER: usize = 16;
const DISPATCH_RECORD: usize = 32;

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
    let mut arrays = Vec::new();
    for resource in &resources {
        if let Resource::Slots(slots) = resource {
            arrays.push(fill(&device, slots).map_err(failed)?);
        }
    }
    let mut array = arrays.iter();
    let args: Vec<Arg> = resources.iter().filter_map(|r| argument(r, &mut array)).collect();
    let mut bound = kernel.bind(&args).map_err(failed)?;
    let dispatch = launch.dispatch;
    let once = |print: &mut dyn FnMut(&str)| bound.dispatch_logged(dispatch, print);
    repeat(launch, &mut ran, once, || {
        download(&resources, actuals);
        Ok(())
    })?;
    Ok(ran)
}

/// What a kernel is bound to; the arrays come in the order of the arguments.
fn argument<'a>(
    resource: &'a Resource,
    arrays: &mut impl Iterator<Item = &'a BindlessArray<'a>>,
) -> Option<Arg<'a>> {
    Some(match resource {
        Resource::Value(bytes) => Arg::Value(bytes),
        Resource::Buffer(buffer) => Arg::Buffer(buffer),
        Resource::Image(image) => Arg::Image(image),
        Resource::Slots(_) => Arg::Bindless(arrays.next()?),
        Resource::Indirect(buffer) => {
            let records = buffer.len().saturating_sub(DISPATCH_HEADER) / DISPATCH_RECORD;
            Arg::Indirect(buffer, u32::try_from(records).unwrap_or(u32::MAX))
        }
    })
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
        Actual::Image(data) => Resource::Image(image(device, data, if is_3d { 3 } else { 2 })?),
        Actual::Bindless(slots) => {
            let slots = slots.iter().map(|slot| upload_slot(device, slot));
            Resource::Slots(slots.collect::<Result<_, _>>()?)
        }
        Actual::Indirect(bytes) => Resource::Indirect(device.buffer_from(bytes)?),
    })
}

fn image(device: &Device, data: &ImageData, dimension: u32) -> Result<Image, RuntimeError> {
    let image = device.image_with_levels(data.storage, dimension, data.size, data.levels)?;
    image.upload_bytes(&data.bytes)?;
    Ok(image)
}

fn upload_slot(device: &Device, data: &SlotData) -> Result<Slot, RuntimeError> {
    let mut slot = Slot::default();
    if let Some(buffer) = &data.buffer {
        slot.buffer = Some(device.buffer_from(&buffer.bytes)?);
    }
    for (held, (given, dimension)) in
        slot.images.iter_mut().zip([(&data.image2d, 2), (&data.image3d, 3)])
    {
        if let Some(SlotImage { image: data, sampler }) = given {
            let sampler = Sampler::from_code(*sampler).unwrap_or_default();
            *held = Some((image(device, data, dimension)?, sampler));
        }
    }
    Ok(slot)
}

/// A bindless array with these slots.
fn fill<'a>(device: &Device, slots: &'a [Slot]) -> Result<BindlessArray<'a>, RuntimeError> {
    let array = device.bindless_array(slots.len())?;
    for (number, slot) in slots.iter().enumerate() {
        if let Some(buffer) = &slot.buffer {
            array.set_buffer(number, buffer)?;
        }
        for (image, sampler) in slot.images.iter().flatten() {
            array.set_image(number, image, 0, *sampler)?;
        }
    }
    Ok(array)
}

fn download(resources: &[Resource], actuals: &mut [Actual]) {
    for (resource, actual) in resources.iter().zip(actuals) {
        match (resource, actual) {
            (Resource::Buffer(buffer), Actual::Buffer { bytes, .. })
            | (Resource::Indirect(buffer), Actual::Indirect(bytes)) => *bytes = buffer.to_vec(),
            (Resource::Image(image), Actual::Image(data)) => data.bytes = image.to_vec(),
            (Resource::Slots(slots), Actual::Bindless(data)) => {
                for (slot, data) in slots.iter().zip(data) {
                    if let (Some(buffer), Some(data)) = (&slot.buffer, &mut data.buffer) {
                        data.bytes = buffer.to_vec();
                    }
                }
            }
            _ => {}
        }
    }
}

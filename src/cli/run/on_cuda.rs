//! The device `cuda`: PTX for the first GPU, through command lists.

use super::argument::{Actual, ImageData};
use super::{Launch, Ran, failed, repeat};
use luisac::driver::compile::TargetChoice;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::types::TypeKind;
use luisac_runtime::{Argument, Buffer, Device, Download, Image, RuntimeError};
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
    let device = Device::open("cuda").map_err(failed)?;
    let best = device.profile().takes.first().cloned().unwrap_or_else(|| "ptx".into());
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
    }
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
            let mut list = device.list();
            list.upload_image(&image.base(), bytes.clone())?;
            list.run()?;
            Resource::Image(image)
        }
    })
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
            Resource::Value(_) => None,
            Resource::Buffer(buffer) => Some(list.download(buffer)?),
            Resource::Image(image) => Some(list.download_image(&image.base())?),
        });
    }
    list.run()?;
    for (download, actual) in downloads.iter().zip(actuals) {
        match (download, actual) {
            (Some(d), Actual::Buffer { bytes, .. }) => *bytes = d.take(),
            (Some(d), Actual::Image(data)) => data.bytes = d.take(),
            _ => {}
        }
    }
    Ok(())
}

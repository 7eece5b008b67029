//! The device `cpu`: compiled for this machine, loaded from memory.

use super::argument::{Actual, ImageData};
use super::{Launch, TIMED_RUNS, Times};
use luisac::codes;
use luisac::driver::compile::{self, TargetChoice, Watch};
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics};
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

pub fn run(launch: &Launch, module: Module, actuals: &mut [Actual]) -> Result<Times, Diagnostics> {
    let mut times = Times::default();
    let start = Instant::now();
    let is_3d: Vec<bool> = launch
        .formals
        .iter()
        .map(|f| matches!(module.types.kind(f.ty), TypeKind::Texture { dim: 3, .. }))
        .collect();
    let device = Device::cpu();
    let kernel = load(launch, module, &device)?;
    times.compile = start.elapsed();
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
    let runs = if launch.command.time { TIMED_RUNS } else { 1 };
    for i in 0..runs {
        let start = Instant::now();
        let mut lines = Vec::new();
        let outcome =
            bound.dispatch_logged(launch.command.dispatch, &mut |line| lines.push(line.to_owned()));
        times.runs.push(start.elapsed());
        if i == 0 {
            // Also what was printed before a fault.
            super::show_output(&lines)?;
        }
        let lost = outcome.map_err(failed)?;
        if i == 0 {
            if lost > 0 {
                launch.messages.note(format!("warning: the log had no room for {lost} records"));
            }
            // Further runs start from other contents; what is written back is what the first one left.
            download(&resources, actuals);
        }
    }
    Ok(times)
}

fn load(launch: &Launch, mut module: Module, device: &Device) -> Result<Kernel, Diagnostics> {
    let choice = TargetChoice::parse("cpu:native")?;
    let code = &launch.command.code;
    let pipeline = compile::pipeline_for(launch.options, &choice)?;
    if let Some(path) = &code.repro {
        super::super::repro::write(path, &module, &pipeline, code.fuel)?;
    }
    let mut printer = super::super::watch::printer(code.print_after.as_deref());
    let mut watch = Watch { verify_each: code.verify_each, after: Some(&mut printer) };
    let report = compile::optimise(&mut module, &pipeline, launch.options, &mut watch)?;
    super::super::watch::finish(
        launch.messages,
        &report,
        code.time_passes,
        code.report.as_deref(),
    )?;
    let emit = compile::emit_options(launch.input, launch.options, &choice);
    let artifact = compile::emit(&module, super::kernel_of(launch, &module)?, &choice, &emit)?;
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

fn failed(error: RuntimeError) -> Diagnostics {
    let code = Code::parse(error.code()).unwrap_or(codes::RUN_FAILED);
    Diagnostic::error(code, error.to_string()).with_help(error.help()).into()
}

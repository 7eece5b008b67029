//! The device `vulkan` under command lists: a thread runs each list, one command after the other, in the order they were
//! recorded. Copies go through the host.

use std::sync::{Arc, Mutex, PoisonError};

use luisac_artifact::{DeviceProfile, Metadata};

use super::{Arg, BindlessArray, Buffer, Device, Image, Kernel, Launch};
use crate::{
    Argument, ImageLevel, ImageShape, Output, RuntimeError,
    argument::Given,
    backend::{Backend, Raw, Worker},
    list::{Command, Committed, Sizes},
    resource::{ArrayMemory, BufferView, Change},
    stream::{Run, call_host},
};

/// The best Vulkan device of the machine.
pub(crate) struct Vulkan {
    device: Device,
    worker: Worker,
}

impl Vulkan {
    pub(crate) fn open() -> Result<Self, RuntimeError> {
        let device = Device::open()?;
        let worker = Worker::new("luisac-vulkan", |run| {
            let Some(list) = run.list() else { return Ok(Output::default()) };
            execute(run, &list)
        })?;
        Ok(Self { device, worker })
    }
}

/// A launch for each command that is a dispatch.
struct Prepared(Vec<Option<Mutex<Launch>>>);

/// What this device made. Resources of others were refused when the list was recorded.
fn own<T: 'static>(raw: &Raw) -> Result<&T, RuntimeError> {
    raw.downcast_ref().ok_or(RuntimeError::OtherDevice)
}

impl Backend for Vulkan {
    fn name(&self) -> &'static str {
        "vulkan"
    }

    fn describe(&self) -> String {
        self.device.info().name.clone()
    }

    fn profile(&self) -> DeviceProfile {
        // Every device with Vulkan 1.2, which is the least, takes SPIR-V 1.5.
        let mut takes = vec!["spirv:1.5".to_owned()];
        if cfg!(feature = "wgsl") {
            takes.push("wgsl".into());
        }
        DeviceProfile { takes, features: None }
    }

    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError> {
        Ok(Box::new(self.device.buffer(bytes)?))
    }

    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError> {
        let ImageShape { storage, dimension, size, levels } = *shape;
        let image = match dimension {
            2 => self.device.image_2d(storage, [size[0], size[1]], levels)?,
            _ => self.device.image_3d(storage, size, levels)?,
        };
        Ok(Box::new(image))
    }

    fn bindless_array(&self, slots: u32) -> Result<Raw, RuntimeError> {
        Ok(Box::new(self.device.bindless_array(slots)?))
    }

    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { self.device.load(code, metadata.clone())? }))
    }

    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError> {
        let launch = |command: &Command| match command {
            Command::Dispatch { kernel, arguments, .. } => {
                let kernel: &Kernel = own(&kernel.0.raw)?;
                let arguments = arguments.iter().map(as_arg);
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                Ok(Some(Mutex::new(kernel.bind(&arguments)?)))
            }
            _ => Ok(None),
        };
        let launches = commands.iter().map(launch).collect::<Result<Vec<_>, RuntimeError>>()?;
        Ok(Box::new(Prepared(launches)))
    }

    fn start(&self, run: Arc<Run>, _here: bool) {
        self.worker.start(run);
    }

    fn skip(&self, list: &Committed, from: usize) {
        for command in list.commands.iter().skip(from) {
            if let Command::Update { array, changes } = command {
                // What a slot cannot hold stays out of it; the list has failed anyway.
                let _ = update(array, changes);
            }
        }
    }
}

/// An argument as the plain layer takes it.
fn as_arg(argument: &Argument) -> Result<Arg<'_>, RuntimeError> {
    Ok(match &argument.0 {
        Given::Value(bytes, _) => Arg::Value(bytes),
        Given::Buffer(view, _) => Arg::View(own(&view.memory.raw)?, view.start..view.end()),
        Given::Image(level) => Arg::Level(own(&level.memory.raw)?, level.level),
        Given::Bindless(array) => Arg::BindlessArray(own(&array.raw)?),
        Given::Indirect(buffer) => {
            Arg::Indirect(own(&buffer.view().memory.raw)?, buffer.capacity())
        }
    })
}

fn execute(run: &Run, list: &Committed) -> Result<Output, RuntimeError> {
    let prepared: &Prepared = own(&list.raw)?;
    let mut output = Output::default();
    for (position, command) in list.commands.iter().enumerate() {
        let launch = prepared.0.get(position).and_then(Option::as_ref);
        let one = match (command, launch) {
            (Command::Dispatch { kernel, sizes, .. }, Some(launch)) => {
                let mut launch = launch.lock().unwrap_or_else(PoisonError::into_inner);
                dispatch(&mut launch, kernel.metadata(), sizes, &mut output)
            }
            (Command::Callback(f), _) => {
                let mut f = f.lock().unwrap_or_else(PoisonError::into_inner);
                call_host(&mut *f)
            }
            (Command::Signal(_), _) => {
                run.signal(position);
                Ok(())
            }
            _ => copy(command),
        };
        if let Err(e) = one {
            run.skip(list, position);
            return Err(e);
        }
    }
    Ok(output)
}

fn dispatch(
    launch: &mut Launch,
    metadata: &Metadata,
    sizes: &Sizes,
    output: &mut Output,
) -> Result<(), RuntimeError> {
    let mut one = |size, id| -> Result<(), RuntimeError> {
        let more = launch.kernel_id(id).dispatch(size)?;
        output.lines.extend(more.lines);
        output.lost += more.lost;
        Ok(())
    };
    match sizes {
        Sizes::Direct(sizes) => {
            sizes.iter().enumerate().try_for_each(|(id, size)| one(*size, id as u32))
        }
        Sizes::Indirect(buffer) => {
            let memory: &Buffer = own(&buffer.view().memory.raw)?;
            let all = buffer.dispatches(metadata, |at, bytes| memory.download(at, bytes))?;
            all.into_iter().try_for_each(|d| one(d.size, d.kernel_id))
        }
    }
}

/// Runs a command that moves bytes.
fn copy(command: &Command) -> Result<(), RuntimeError> {
    match command {
        Command::Upload { data, to } => put(to, data),
        Command::Download { from, to } => take(from).map(|bytes| to.set(bytes)),
        Command::Copy { from, to } => put(to, &take(from)?),
        Command::Fill { to, with } if with.is_empty() => put(to, &[]),
        Command::Fill { to, with } => put(to, &with.repeat(to.bytes as usize / with.len())),
        Command::UploadImage { data, to } => put_level(to, data),
        Command::DownloadImage { from, to } => take_level(from).map(|bytes| to.set(bytes)),
        Command::CopyImage { from, to } => put_level(to, &take_level(from)?),
        Command::BufferToImage { from, to } => put_level(to, &take(from)?),
        Command::ImageToBuffer { from, to } => put(to, &take_level(from)?),
        Command::Update { array, changes } => update(array, changes),
        Command::Dispatch { .. } | Command::Callback(_) | Command::Signal(_) => Ok(()),
    }
}

fn put(to: &BufferView, data: &[u8]) -> Result<(), RuntimeError> {
    own::<Buffer>(&to.memory.raw)?.upload(to.start, data)
}

fn take(from: &BufferView) -> Result<Vec<u8>, RuntimeError> {
    let mut bytes = vec![0; from.bytes as usize];
    own::<Buffer>(&from.memory.raw)?.download(from.start, &mut bytes)?;
    Ok(bytes)
}

fn put_level(to: &ImageLevel, data: &[u8]) -> Result<(), RuntimeError> {
    own::<Image>(&to.memory.raw)?.upload(to.level, data)
}

fn take_level(from: &ImageLevel) -> Result<Vec<u8>, RuntimeError> {
    own::<Image>(&from.memory.raw)?.to_vec(from.level)
}

fn update(array: &ArrayMemory, changes: &[(u32, Change)]) -> Result<(), RuntimeError> {
    let slots: &BindlessArray = own(&array.raw)?;
    for (slot, change) in changes {
        match change {
            Change::Buffer(None) => slots.set_buffer(*slot, None)?,
            Change::Buffer(Some(view)) => {
                slots.set_view(*slot, own(&view.memory.raw)?, view.start..view.end())?;
            }
            Change::Image(dimension, None) => slots.set_image(*slot, *dimension, None)?,
            Change::Image(dimension, Some(member)) => {
                let level = member.level.level;
                if level > 0 {
                    let (start, end) = (level.into(), u64::from(level) + 1);
                    let what = "the first level of an image in a slot";
                    return Err(RuntimeError::Range { what, start, end, size: 1 });
                }
                let image: &Image = own(&member.level.memory.raw)?;
                slots.set_image(*slot, *dimension, Some((image, member.sampler)))?;
            }
        }
    }
    Ok(())
}

//! Command lists: a part that the host takes no part in is one submission, in which each level's dispatches are one pass. wgpu puts
//! barriers between dispatches of a pass by what is bound, and between passes.

use std::{
    ops::Range,
    sync::{Arc, PoisonError},
};

use luisac_artifact::{
    Scalar,
    bindings::SlotKind,
    metadata::{Argument as Formal, ArgumentKind},
};

use super::{
    WgpuError,
    device::Shared,
    kernel::{Kernel, texture},
    resources::{Buffer, Image, copies_directly},
};
use crate::{
    Argument, ImageLevel, Output, RuntimeError,
    argument::Given,
    backend::Raw,
    list::{Command, Committed, Sizes},
    log,
    resource::BufferView,
    schedule::parts::{Part, parts},
    stream::{Run, call_host},
};

/// Bytes of a log's data.
const LOG_CAPACITY: u64 = 1 << 20;

/// What this device made. Resources of others were refused when the list was recorded.
pub(super) fn own<T: 'static>(raw: &Raw) -> Result<&T, RuntimeError> {
    raw.downcast_ref().ok_or(RuntimeError::OtherDevice)
}

/// A list made ready.
pub(super) struct Prepared {
    shared: Arc<Shared>,
    /// For each command that is a dispatch.
    dispatches: Vec<Option<Dispatch>>,
}

/// A kernel with its arguments.
struct Dispatch {
    /// The parameter block, but for size and kernel id.
    params: Vec<u8>,
    log: Option<Buffer>,
    /// One for each size that is known.
    launches: Vec<Launch>,
}

/// One size of a dispatch.
struct Launch {
    group: wgpu::BindGroup,
    blocks: [u32; 3],
}

impl Prepared {
    pub fn new(shared: &Arc<Shared>, commands: &[Command]) -> Result<Self, RuntimeError> {
        let one = |command: &Command| match command {
            Command::Dispatch { kernel, arguments, sizes } => {
                let kernel: &Kernel = own(&kernel.0.raw)?;
                let mut dispatch = Dispatch::new(shared, kernel, arguments)?;
                if let Sizes::Direct(sizes) = sizes {
                    let sizes = sizes.iter().enumerate().map(|(id, size)| (*size, id as u32));
                    dispatch.launches = dispatch.launches(shared, kernel, arguments, sizes)?;
                }
                Ok(Some(dispatch))
            }
            _ => Ok(None),
        };
        let dispatches = commands.iter().map(one).collect::<Result<_, RuntimeError>>()?;
        Ok(Self { shared: shared.clone(), dispatches })
    }
}

/// Offsets come from checked metadata; one that still did not fit would be dropped, not written elsewhere.
fn put(block: &mut [u8], offset: u32, bytes: &[u8]) {
    if let Some(target) = block.get_mut(offset as usize..).and_then(|b| b.get_mut(..bytes.len())) {
        target.copy_from_slice(bytes);
    }
}

impl Dispatch {
    fn new(
        shared: &Arc<Shared>,
        kernel: &Kernel,
        arguments: &[Argument],
    ) -> Result<Self, RuntimeError> {
        let mut params = vec![0; kernel.metadata.params.size as usize];
        for (formal, given) in kernel.metadata.arguments.iter().zip(arguments) {
            let second = match &given.0 {
                Given::Value(bytes, _) => {
                    put(&mut params, formal.offset, bytes);
                    continue;
                }
                Given::Buffer(view, _) => view.bytes,
                Given::Image(level) => level.memory.shape.storage.number().into(),
                Given::Indirect(buffer) => u64::from(buffer.capacity()) << 32,
                Given::Bindless(_) => return Err(shared.unsupported("a bindless array")),
            };
            put(&mut params, formal.offset + 8, &second.to_le_bytes());
        }
        let mut log = None;
        if let (Some(offset), Some(_)) = (kernel.metadata.params.log, kernel.bindings.log) {
            put(&mut params, offset, &LOG_CAPACITY.to_le_bytes());
            log = Some(Buffer::new(shared, 8 + LOG_CAPACITY, wgpu::BufferUsages::STORAGE)?);
        }
        Ok(Self { params, log, launches: Vec::new() })
    }

    /// Binds the arguments for sizes with their kernel ids. A size without threads is left out.
    fn launches(
        &self,
        shared: &Arc<Shared>,
        kernel: &Kernel,
        arguments: &[Argument],
        sizes: impl Iterator<Item = ([u32; 3], u32)>,
    ) -> Result<Vec<Launch>, RuntimeError> {
        let sizes: Vec<_> = sizes.filter(|(size, _)| !size.contains(&0)).collect();
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        let align = u64::from(shared.limits.min_uniform_buffer_offset_alignment);
        let stride = (self.params.len() as u64).next_multiple_of(align.max(1));
        let mut bytes = vec![0; stride as usize * sizes.len()];
        for ((size, id), block) in sizes.iter().zip(bytes.chunks_exact_mut(stride as usize)) {
            block[..self.params.len()].copy_from_slice(&self.params);
            for (i, word) in size.iter().chain([id]).enumerate() {
                let at = kernel.metadata.params.dispatch + 4 * i as u32;
                put(block, at, &word.to_le_bytes());
            }
        }
        let uniform = Buffer::new(shared, bytes.len() as u64, wgpu::BufferUsages::UNIFORM)?;
        uniform.write(0, &bytes)?;
        let bound = self.bound(shared, kernel, arguments)?;
        let launch = |(i, (size, _)): (usize, &([u32; 3], u32))| {
            let blocks = blocks(shared, *size, kernel.metadata.block_size)?;
            let params = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &uniform.handle,
                offset: stride * i as u64,
                size: std::num::NonZeroU64::new(self.params.len() as u64),
            });
            let all = [params].into_iter().chain(bound.iter().map(Bound::resource));
            let entries: Vec<_> = (0..)
                .zip(all)
                .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
                .collect();
            let wish = wgpu::BindGroupDescriptor {
                label: None,
                layout: &kernel.layout,
                entries: &entries,
            };
            let group = shared.guarded(0, || shared.device.create_bind_group(&wish))?;
            Ok(Launch { group, blocks })
        };
        sizes.iter().enumerate().map(launch).collect()
    }

    /// What is bound behind the parameter block, in the order of the layout.
    fn bound<'a>(
        &'a self,
        shared: &Shared,
        kernel: &'a Kernel,
        arguments: &'a [Argument],
    ) -> Result<Vec<Bound<'a>>, RuntimeError> {
        let mut all = Vec::new();
        for (index, (formal, given)) in kernel.metadata.arguments.iter().zip(arguments).enumerate()
        {
            for slot in &formal.slots {
                all.push(match (formal.kind, &given.0) {
                    (ArgumentKind::Image, Given::Image(level)) => image(formal, level)?,
                    (_, Given::Buffer(view, _)) => buffer(shared, index, view)?,
                    (_, Given::Indirect(sizes)) => buffer(shared, index, sizes.view())?,
                    _ => return Err(shared.unsupported(format!("{:?}", slot.kind))),
                });
            }
        }
        all.extend(self.log.as_ref().map(|log| Bound::Buffer(&log.handle, 0, log.capacity)));
        Ok(all)
    }
}

/// What is bound at a place.
enum Bound<'a> {
    Buffer(&'a wgpu::Buffer, u64, u64),
    Image(wgpu::TextureView),
}

impl Bound<'_> {
    fn resource(&self) -> wgpu::BindingResource<'_> {
        match self {
            Self::Buffer(buffer, offset, size) => {
                wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer,
                    offset: *offset,
                    size: std::num::NonZeroU64::new(*size),
                })
            }
            Self::Image(view) => wgpu::BindingResource::TextureView(view),
        }
    }
}

fn buffer<'a>(
    shared: &Shared,
    index: usize,
    view: &'a BufferView,
) -> Result<Bound<'a>, RuntimeError> {
    let memory: &Buffer = own(&view.memory.raw)?;
    // A view without bytes may begin behind the buffer; what is bound in its place is never read.
    let start = if view.bytes == 0 { 0 } else { view.start };
    let align = u64::from(shared.limits.min_storage_buffer_offset_alignment);
    if !start.is_multiple_of(align) {
        return Err(WgpuError::ViewAlignment { index, start, align }.into());
    }
    // Whole words, so that the last bytes can be read as a part of one.
    let bytes = view.bytes.max(1).next_multiple_of(16).min(memory.capacity - start);
    let most = shared.limits.max_storage_buffer_binding_size;
    if bytes > most {
        return Err(WgpuError::Limit { what: "a buffer in bytes", asked: bytes, most }.into());
    }
    Ok(Bound::Buffer(&memory.handle, start, bytes))
}

fn image<'a>(formal: &Formal, level: &ImageLevel) -> Result<Bound<'a>, RuntimeError> {
    let memory: &Image = own(&level.memory.raw)?;
    let integer = texture(&formal.ty).is_some_and(|(_, element)| element != Scalar::Float);
    if integer != memory.integer {
        let purpose = if integer { "read as integers" } else { "read as floats" };
        return Err(WgpuError::NoFormat { storage: memory.shape.storage, purpose }.into());
    }
    debug_assert!(formal.slots.iter().all(|s| s.kind == SlotKind::SampledImage));
    Ok(Bound::Image(memory.view(level.level)))
}

/// The number of blocks on each axis.
fn blocks(shared: &Shared, size: [u32; 3], block: [u32; 3]) -> Result<[u32; 3], RuntimeError> {
    let mut blocks = size;
    for (n, b) in blocks.iter_mut().zip(block) {
        *n = n.div_ceil(b.max(1));
    }
    let most = shared.limits.max_compute_workgroups_per_dimension;
    match blocks.iter().find(|n| **n > most) {
        Some(n) => {
            let (what, asked, most) = ("a dispatch in blocks of an axis", (*n).into(), most.into());
            Err(WgpuError::Limit { what, asked, most }.into())
        }
        None => Ok(blocks),
    }
}

/// Runs a list to its end.
pub(super) fn execute(run: &Run) -> Result<Output, RuntimeError> {
    let Some(list) = run.list() else { return Ok(Output::default()) };
    let prepared: &Prepared = own(&list.raw)?;
    let is_host = |c: u32| {
        let command = list.commands.get(c as usize);
        command.is_some_and(|c| {
            c.is_barrier() || matches!(c, Command::Dispatch { sizes: Sizes::Indirect(_), .. })
        })
    };
    let mut session = Session { list: &list, prepared, encoder: None, output: Output::default() };
    let count = list.commands.len();
    let mut start = 0;
    for part in parts(&run.graph(), count as u32, is_host) {
        match part {
            Part::Device(levels) => {
                levels.iter().try_for_each(|level| session.level(level))?;
                session.end()?;
                let end = (start..count).find(|c| is_host(*c as u32)).unwrap_or(count);
                session.read_logs(start..end)?;
            }
            Part::Host(position) => {
                start = position as usize + 1;
                session.host(run, position as usize)?;
            }
        }
    }
    Ok(session.output)
}

/// A list on its way.
struct Session<'a> {
    list: &'a Committed,
    prepared: &'a Prepared,
    /// What is being recorded; everything before it has been submitted.
    encoder: Option<wgpu::CommandEncoder>,
    output: Output,
}

impl<'a> Session<'a> {
    fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        let device = &self.prepared.shared.device;
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()))
    }

    /// Submits what has been recorded.
    fn flush(&mut self) -> Result<(), RuntimeError> {
        let shared = &self.prepared.shared;
        match self.encoder.take() {
            Some(encoder) => shared.guarded(0, || {
                shared.queue.submit([encoder.finish()]);
            }),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), RuntimeError> {
        self.flush()?;
        self.prepared.shared.wait()
    }

    /// Records commands that do not wait for each other.
    fn level(&mut self, commands: &[u32]) -> Result<(), RuntimeError> {
        let list = self.list;
        let mut launches: Vec<(&Kernel, &Launch)> = Vec::new();
        for position in commands {
            match list.commands.get(*position as usize) {
                Some(Command::Dispatch { kernel, .. }) => {
                    let Some(dispatch) = self.dispatch(*position as usize) else { continue };
                    let kernel: &Kernel = own(&kernel.0.raw)?;
                    if let Some(log) = &dispatch.log {
                        self.encoder().clear_buffer(&log.handle, 0, Some(8));
                    }
                    launches.extend(dispatch.launches.iter().map(|launch| (kernel, launch)));
                }
                Some(command) => self.copy(command)?,
                None => {}
            }
        }
        self.pass(&launches);
        Ok(())
    }

    fn dispatch(&self, position: usize) -> Option<&'a Dispatch> {
        self.prepared.dispatches.get(position).and_then(Option::as_ref)
    }

    fn pass(&mut self, launches: &[(&Kernel, &Launch)]) {
        if launches.is_empty() {
            return;
        }
        let shared = self.prepared.shared.clone();
        let mut pass = self.encoder().begin_compute_pass(&Default::default());
        for (kernel, launch) in launches {
            pass.set_pipeline(&kernel.pipeline);
            pass.set_bind_group(0, &launch.group, &[]);
            if !kernel.bindings.samplers.is_empty() {
                pass.set_bind_group(1, &shared.samplers().1, &[]);
            }
            let [x, y, z] = launch.blocks;
            pass.dispatch_workgroups(x, y, z);
        }
    }

    /// Moves bytes: on the device where wgpu has a command for it, else by way of the host.
    fn copy(&mut self, command: &Command) -> Result<(), RuntimeError> {
        match command {
            Command::Copy { from, to } => {
                let (a, b): (&Buffer, &Buffer) = (own(&from.memory.raw)?, own(&to.memory.raw)?);
                if copies_directly((a, from.start), (b, to.start), to.bytes) {
                    let bytes = to.bytes;
                    let encoder = self.encoder();
                    encoder
                        .copy_buffer_to_buffer(&a.handle, from.start, &b.handle, to.start, bytes);
                    return Ok(());
                }
                self.flush()?;
                b.write(to.start, &a.read(from.start, from.bytes)?)
            }
            other => {
                self.flush()?;
                by_host(other)
            }
        }
    }

    /// A command that the host takes part in; everything before it is done.
    fn host(&mut self, run: &Run, position: usize) -> Result<(), RuntimeError> {
        match self.list.commands.get(position) {
            Some(Command::Callback(f)) => {
                let mut f = f.lock().unwrap_or_else(PoisonError::into_inner);
                call_host(&mut *f)
            }
            Some(Command::Signal(_)) => {
                run.signal(position);
                Ok(())
            }
            Some(Command::Dispatch { kernel, arguments, sizes: Sizes::Indirect(sizes) }) => {
                let Some(dispatch) = self.dispatch(position) else { return Ok(()) };
                let memory: &Buffer = own(&sizes.view().memory.raw)?;
                let found = sizes.dispatches(kernel.metadata(), |at, bytes| {
                    bytes.copy_from_slice(&memory.read(at, bytes.len() as u64)?);
                    Ok(())
                })?;
                let kernel: &Kernel = own(&kernel.0.raw)?;
                let sizes = found.into_iter().map(|d| (d.size, d.kernel_id));
                let shared = &self.prepared.shared;
                let launches = dispatch.launches(shared, kernel, arguments, sizes)?;
                if let Some(log) = &dispatch.log {
                    self.encoder().clear_buffer(&log.handle, 0, Some(8));
                }
                self.pass(&launches.iter().map(|launch| (kernel, launch)).collect::<Vec<_>>());
                self.end()?;
                self.read_logs(position..position + 1)
            }
            _ => Ok(()),
        }
    }

    /// Reads what the dispatches of a range logged, in their order.
    fn read_logs(&mut self, positions: Range<usize>) -> Result<(), RuntimeError> {
        for position in positions {
            let (Some(Command::Dispatch { kernel, .. }), Some(dispatch)) =
                (self.list.commands.get(position), self.dispatch(position))
            else {
                continue;
            };
            let Some(log) = &dispatch.log else { continue };
            let header = log.read(0, 8)?;
            let used = header.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
            if used == 0 {
                continue;
            }
            let written = used & !luisac_artifact::abi::LOG_FAULT_LOST;
            let bytes = log.read(0, 8 + written.min(LOG_CAPACITY))?;
            // So that a later dispatch whose last record finds no room does not end with one of these.
            self.encoder().clear_buffer(&log.handle, 0, None);
            self.flush()?;
            let lines = &mut self.output.lines;
            let print = &mut |line: &str| lines.push(line.to_owned());
            self.output.lost += log::decode(kernel.metadata(), &bytes, print)?;
        }
        Ok(())
    }
}

/// Moves bytes by way of the host. All that was recorded before has been submitted.
fn by_host(command: &Command) -> Result<(), RuntimeError> {
    match command {
        Command::Upload { data, to } => put_bytes(to, data),
        Command::Download { from, to } => take_bytes(from).map(|bytes| to.set(bytes)),
        Command::Copy { from, to } => put_bytes(to, &take_bytes(from)?),
        Command::Fill { to, with } if with.is_empty() => put_bytes(to, &[]),
        Command::Fill { to, with } => put_bytes(to, &with.repeat(to.bytes as usize / with.len())),
        Command::UploadImage { data, to } => put_level(to, data),
        Command::DownloadImage { from, to } => take_level(from).map(|bytes| to.set(bytes)),
        Command::CopyImage { from, to } => put_level(to, &take_level(from)?),
        Command::BufferToImage { from, to } => put_level(to, &take_bytes(from)?),
        Command::ImageToBuffer { from, to } => put_bytes(to, &take_level(from)?),
        // There are no arrays.
        Command::Update { .. } => Err(RuntimeError::OtherDevice),
        Command::Dispatch { .. } | Command::Callback(_) | Command::Signal(_) => Ok(()),
    }
}

fn put_bytes(to: &BufferView, data: &[u8]) -> Result<(), RuntimeError> {
    own::<Buffer>(&to.memory.raw)?.write(to.start, data)
}

fn take_bytes(from: &BufferView) -> Result<Vec<u8>, RuntimeError> {
    own::<Buffer>(&from.memory.raw)?.read(from.start, from.bytes)
}

fn put_level(to: &ImageLevel, data: &[u8]) -> Result<(), RuntimeError> {
    own::<Image>(&to.memory.raw)?.write(to.level, data)
}

fn take_level(from: &ImageLevel) -> Result<Vec<u8>, RuntimeError> {
    own::<Image>(&from.memory.raw)?.read(from.level)
}

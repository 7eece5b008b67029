//! What each command does on the device.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use ash::vk;

use crate::{
    Argument, ImageLevel, IndirectBuffer, RuntimeError,
    argument::Given,
    list::{Command, HostBytes, Sizes},
    resource::{ArrayMemory, BufferView, Change, INDIRECT_ENTRY_BYTES, INDIRECT_HEADER_BYTES},
    vulkan::{
        Arg, BindlessArray, Buffer, Image, Kernel,
        arguments::{Held, LOG_CAPACITY, Pool, Written},
        backend::own,
        bindless::{self, RECORD},
        device::Shared,
        dispatch::{Parts, parts},
        kernel,
    },
};

/// Where staged data begins at the least: at a texel of any size.
const ALIGN: u64 = 16;
/// Least bytes of a pattern that fills copy over and over, and the most copies of a fill.
const PATTERN: u64 = 64 << 10;
const MOST_COPIES: u64 = 1 << 10;

/// A buffer that a step uses.
#[derive(Clone, Copy)]
pub(super) enum Memory {
    Own(vk::Buffer),
    /// The list's block of data for the device.
    Upload,
    /// The list's block of data for the host.
    Download,
}

/// One transfer.
pub(super) enum Move {
    Copy {
        from: Memory,
        to: Memory,
        regions: Vec<vk::BufferCopy>,
    },
    Fill {
        to: vk::Buffer,
        offset: u64,
        bytes: u64,
        word: u32,
    },
    IntoImage {
        from: Memory,
        to: vk::Image,
        region: vk::BufferImageCopy,
    },
    FromImage {
        from: vk::Image,
        to: Memory,
        region: vk::BufferImageCopy,
    },
    Images {
        from: vk::Image,
        to: vk::Image,
        region: vk::ImageCopy,
    },
    /// What follows sees what the moves before have written.
    Wait,
}

/// What a command does.
pub(super) enum Step {
    /// A command of the host alone.
    Host,
    Moves {
        moves: Vec<Move>,
        /// What to bring to the host in the end: offset and size in the download block.
        brings: Option<(u64, u64, HostBytes)>,
        #[allow(dead_code, reason = "held only")]
        held: Vec<Buffer>,
    },
    Dispatch(Dispatch),
    Indirect(Indirect),
}

/// A kernel with its arguments.
pub(super) struct Dispatch {
    pub kernel: Kernel,
    pub sets: Vec<vk::DescriptorSet>,
    /// For the sets, until they are made.
    descriptors: Vec<Written>,
    pub launches: Vec<Launch>,
    pub log: Option<Log>,
    #[allow(dead_code, reason = "held only")]
    held: Vec<Held>,
}

/// One size of a dispatch.
pub(super) struct Launch {
    /// Offset of its parameter block.
    pub params: u32,
    /// First block and number of blocks of each part, within what the device takes at once.
    pub parts: Parts,
}

/// Where a dispatch logs.
pub(super) struct Log {
    pub buffer: Buffer,
    /// Where in the download block its first eight bytes go.
    pub header: u64,
}

/// A dispatch whose sizes a buffer has.
pub(super) struct Indirect {
    pub dispatch: Dispatch,
    /// The parameter block, but for size and kernel id.
    pub params: Vec<u8>,
    pub sizes: IndirectBuffer,
    /// Copies the sizes to the download block.
    pub fetch: Move,
    /// Where they are there.
    pub at: u64,
}

impl Indirect {
    /// Bytes of all sizes that the buffer can hold.
    pub fn bytes(&self) -> u64 {
        INDIRECT_HEADER_BYTES + u64::from(self.sizes.capacity()) * INDIRECT_ENTRY_BYTES
    }
}

impl Step {
    pub fn dispatch(&self) -> Option<&Dispatch> {
        match self {
            Self::Dispatch(dispatch) | Self::Indirect(Indirect { dispatch, .. }) => Some(dispatch),
            _ => None,
        }
    }

    pub fn dispatch_mut(&mut self) -> Option<&mut Dispatch> {
        match self {
            Self::Dispatch(dispatch) | Self::Indirect(Indirect { dispatch, .. }) => Some(dispatch),
            _ => None,
        }
    }

    /// Whether the host takes part.
    pub fn is_host(&self) -> bool {
        matches!(self, Self::Host | Self::Indirect(_))
    }
}

impl Dispatch {
    pub fn kernel(&self) -> &kernel::Inner {
        &self.kernel.0
    }

    /// Makes the sets. `params` has the parameter blocks; those of indirect dispatches come with each run.
    pub fn make_sets(
        &mut self,
        pool: &Pool,
        params: Option<vk::Buffer>,
    ) -> Result<(), RuntimeError> {
        let mut descriptors = std::mem::take(&mut self.descriptors);
        if let Some(buffer) = params.filter(|_| !self.launches.is_empty()) {
            descriptors.push(self.kernel.0.params_descriptor(buffer));
        }
        self.sets = self.kernel.0.make_sets(pool, &descriptors)?;
        Ok(())
    }
}

/// Makes the steps of a list.
pub(super) struct Builder<'a> {
    device: &'a Arc<Shared>,
    /// Bytes for the device, and which go where.
    pub upload: u64,
    pub writes: Vec<(u64, Cow<'a, [u8]>)>,
    /// Bytes for the host.
    pub download: u64,
}

impl<'a> Builder<'a> {
    pub fn new(device: &'a Arc<Shared>) -> Self {
        Self { device, upload: 0, writes: Vec::new(), download: 0 }
    }

    /// Room for data of the host's; its offset.
    fn stage(&mut self, bytes: Cow<'a, [u8]>, align: u64) -> u64 {
        let at = self.upload.next_multiple_of(align);
        self.upload = at + bytes.len() as u64;
        self.writes.push((at, bytes));
        at
    }

    /// Room for data that comes to the host; its offset.
    fn reserve(&mut self, bytes: u64) -> u64 {
        let at = self.download.next_multiple_of(ALIGN);
        self.download = at + bytes;
        at
    }

    pub fn step(&mut self, command: &'a Command) -> Result<Step, RuntimeError> {
        let (mut held, mut brings) = (Vec::new(), None);
        let moves = match command {
            Command::Callback(_) | Command::Signal(_) => return Ok(Step::Host),
            Command::Dispatch { kernel, arguments, sizes } => {
                return self.dispatch(own(&kernel.0.raw)?, arguments, sizes);
            }
            Command::Upload { data, to } => {
                let from = (Memory::Upload, self.stage(data.into(), ALIGN));
                copy(from, buffer(to)?, data.len() as u64)
            }
            Command::Download { from, to } => {
                let at = self.reserve(from.bytes);
                brings = Some((at, from.bytes, to.clone()));
                copy(buffer(from)?, (Memory::Download, at), from.bytes)
            }
            Command::Copy { from, to } => copy(buffer(from)?, buffer(to)?, to.bytes),
            Command::Fill { to, with } => self.fill(to, with)?,
            Command::UploadImage { data, to } => {
                let from = (Memory::Upload, self.stage(data.into(), ALIGN));
                self.texels_in(from, to, &mut held)?
            }
            Command::DownloadImage { from, to } => {
                let at = self.reserve(from.bytes());
                brings = Some((at, from.bytes(), to.clone()));
                self.texels_out(from, (Memory::Download, at), &mut held)?
            }
            Command::CopyImage { from, to } => copy_image(from, to)?,
            Command::BufferToImage { from, to } => self.texels_in(buffer(from)?, to, &mut held)?,
            Command::ImageToBuffer { from, to } => self.texels_out(from, buffer(to)?, &mut held)?,
            Command::Update { array, changes } => self.update(array, changes)?,
        };
        Ok(Step::Moves { moves, brings, held })
    }

    fn fill(&mut self, view: &BufferView, with: &'a [u8]) -> Result<Vec<Move>, RuntimeError> {
        if view.bytes == 0 || with.is_empty() {
            return Ok(Vec::new());
        }
        let (to, offset) = buffer(view)?;
        if let (Some(word), Memory::Own(to)) = (one_word(with), to)
            && offset.is_multiple_of(4)
            && view.bytes.is_multiple_of(4)
        {
            return Ok(vec![Move::Fill { to, offset, bytes: view.bytes, word }]);
        }
        let piece = PATTERN.max(view.bytes.div_ceil(MOST_COPIES)).min(view.bytes);
        let piece = piece.next_multiple_of(with.len() as u64).min(view.bytes);
        let pattern = with.repeat((piece / with.len() as u64) as usize);
        let from = self.stage(pattern.into(), ALIGN);
        let region = |start: u64| vk::BufferCopy {
            src_offset: from,
            dst_offset: offset + start,
            size: piece.min(view.bytes - start),
        };
        let regions = (0..view.bytes.div_ceil(piece)).map(|i| region(i * piece)).collect();
        Ok(vec![Move::Copy { from: Memory::Upload, to, regions }])
    }

    /// Texels into a level, by way of memory of their own if they do not begin where texels may.
    fn texels_in(
        &self,
        (from, offset): (Memory, u64),
        to: &ImageLevel,
        held: &mut Vec<Buffer>,
    ) -> Result<Vec<Move>, RuntimeError> {
        let image: &Image = own(&to.memory.raw)?;
        let (mut region, to_image) = (image.0.region(to.level), image.0.handle);
        if offset.is_multiple_of(image.storage().bytes().into()) {
            region.buffer_offset = offset;
            return Ok(vec![Move::IntoImage { from, to: to_image, region }]);
        }
        let (between, temporary) = self.temporary(to.bytes(), held)?;
        let mut moves = copy((from, offset), (between, 0), to.bytes());
        moves.extend([Move::Wait, Move::IntoImage { from: between, to: to_image, region }]);
        held.push(temporary);
        Ok(moves)
    }

    /// Texels out of a level; as [`Self::texels_in`].
    fn texels_out(
        &self,
        from: &ImageLevel,
        (to, offset): (Memory, u64),
        held: &mut Vec<Buffer>,
    ) -> Result<Vec<Move>, RuntimeError> {
        let image: &Image = own(&from.memory.raw)?;
        let (mut region, of_image) = (image.0.region(from.level), image.0.handle);
        if offset.is_multiple_of(image.storage().bytes().into()) {
            region.buffer_offset = offset;
            return Ok(vec![Move::FromImage { from: of_image, to, region }]);
        }
        let (between, temporary) = self.temporary(from.bytes(), held)?;
        let mut moves = vec![Move::FromImage { from: of_image, to: between, region }, Move::Wait];
        moves.extend(copy((between, 0), (to, offset), from.bytes()));
        held.push(temporary);
        Ok(moves)
    }

    /// What an update writes into the array's records. A part of a record that is changed twice gets what comes last.
    fn update(
        &mut self,
        array: &ArrayMemory,
        changes: &[(u32, Change)],
    ) -> Result<Vec<Move>, RuntimeError> {
        let records: &BindlessArray = own(&array.raw)?;
        let mut parts = BTreeMap::new();
        for (slot, change) in changes {
            let (offset, bytes) = record(change)?;
            parts.insert(u64::from(*slot) * RECORD + offset, bytes);
        }
        let mut regions = Vec::new();
        for (to, bytes) in parts {
            let size = bytes.len() as u64;
            let from = self.stage(bytes.into(), ALIGN);
            regions.push(vk::BufferCopy { src_offset: from, dst_offset: to, size });
        }
        let to = Memory::Own(records.records().0.handle);
        Ok(match regions.is_empty() {
            true => Vec::new(),
            false => vec![Move::Copy { from: Memory::Upload, to, regions }],
        })
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        arguments: &[Argument],
        sizes: &Sizes,
    ) -> Result<Step, RuntimeError> {
        let given = arguments.iter().map(as_arg).collect::<Result<Vec<_>, _>>()?;
        let resolved = kernel.0.resolve(&given)?;
        let (mut params, mut descriptors) = (resolved.params, resolved.descriptors);
        let log = match kernel.0.make_log(&mut params, LOG_CAPACITY)? {
            Some((buffer, descriptor)) => {
                descriptors.push(descriptor);
                Some(Log { buffer, header: self.reserve(8) })
            }
            None => None,
        };
        let (kernel, sets, held) = (kernel.clone(), Vec::new(), resolved.held);
        let mut dispatch = Dispatch { kernel, sets, descriptors, launches: Vec::new(), log, held };
        match sizes {
            Sizes::Direct(sizes) => {
                for (id, size) in sizes.iter().enumerate().filter(|(_, s)| !s.contains(&0)) {
                    let parts = dispatch.split(*size)?;
                    dispatch.kernel.0.put_dispatch(&mut params, *size, id as u32);
                    let align = params_align(self.device);
                    let params = self.stage(params.clone().into(), align);
                    let params = u32::try_from(params)
                        .map_err(|_| RuntimeError::OutOfMemory { bytes: params })?;
                    dispatch.launches.push(Launch { params, parts });
                }
                Ok(Step::Dispatch(dispatch))
            }
            Sizes::Indirect(sizes) => {
                let bytes = sizes.view().bytes;
                let at = self.reserve(bytes);
                let mut fetch = copy(buffer(sizes.view())?, (Memory::Download, at), bytes);
                let fetch = fetch.pop().unwrap_or(Move::Wait);
                Ok(Step::Indirect(Indirect { dispatch, params, sizes: sizes.clone(), fetch, at }))
            }
        }
    }

    /// Device memory for one step.
    fn temporary(
        &self,
        bytes: u64,
        held: &mut Vec<Buffer>,
    ) -> Result<(Memory, Buffer), RuntimeError> {
        let temporary = Buffer::zeroed(self.device, bytes)?;
        held.reserve(1);
        Ok((Memory::Own(temporary.0.handle), temporary))
    }
}

impl Dispatch {
    /// Splits a dispatch into parts that the device takes.
    pub fn split(&self, size: [u32; 3]) -> Result<Parts, RuntimeError> {
        let most = self.kernel.0.device.limits.max_compute_work_group_count;
        parts(size, self.kernel.metadata().block_size, most).ok_or(RuntimeError::GridTooLarge(size))
    }
}

/// What offsets of parameter blocks are multiples of.
pub(super) fn params_align(device: &Shared) -> u64 {
    device.limits.min_uniform_buffer_offset_alignment.max(ALIGN)
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

fn buffer(view: &BufferView) -> Result<(Memory, u64), RuntimeError> {
    Ok((Memory::Own(own::<Buffer>(&view.memory.raw)?.0.handle), view.start))
}

fn copy(from: (Memory, u64), to: (Memory, u64), size: u64) -> Vec<Move> {
    if size == 0 {
        return Vec::new();
    }
    let region = vk::BufferCopy { src_offset: from.1, dst_offset: to.1, size };
    vec![Move::Copy { from: from.0, to: to.0, regions: vec![region] }]
}

fn copy_image(from: &ImageLevel, to: &ImageLevel) -> Result<Vec<Move>, RuntimeError> {
    let (a, b): (&Image, &Image) = (own(&from.memory.raw)?, own(&to.memory.raw)?);
    let (first, second) = (a.0.region(from.level), b.0.region(to.level));
    let region = vk::ImageCopy::default()
        .src_subresource(first.image_subresource)
        .dst_subresource(second.image_subresource)
        .extent(first.image_extent);
    Ok(vec![Move::Images { from: a.0.handle, to: b.0.handle, region }])
}

/// The part of a slot's record that a change writes: its offset in the record, and its bytes.
pub(super) fn record(change: &Change) -> Result<(u64, Vec<u8>), RuntimeError> {
    Ok(match change {
        Change::Buffer(None) => (0, vec![0; 16]),
        Change::Buffer(Some(view)) => {
            let range = view.start..view.end();
            (0, bindless::buffer_record(own(&view.memory.raw)?, range)?.to_vec())
        }
        Change::Image(dimension, member) => {
            let bytes = match member {
                Some(member) => {
                    let image: &Image = own(&member.level.memory.raw)?;
                    bindless::image_record(image, member.level.level, member.sampler)?
                }
                None => [0; 8],
            };
            (bindless::image_offset(*dimension), bytes.to_vec())
        }
    })
}

/// The word that a pattern is made of, if it is.
fn one_word(pattern: &[u8]) -> Option<u32> {
    let mut word = [0; 4];
    match pattern.len() {
        1 => word = [pattern[0]; 4],
        2 => word = [pattern[0], pattern[1], pattern[0], pattern[1]],
        n if n.is_multiple_of(4) => {
            word.copy_from_slice(&pattern[..4]);
            if pattern.chunks_exact(4).any(|w| w != word) {
                return None;
            }
        }
        _ => return None,
    }
    Some(u32::from_le_bytes(word))
}

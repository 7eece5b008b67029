//! Commands as what the GPU does: launches, copies, fills. Made once when a list is committed.

use std::{ptr, sync::Arc};

use cudarc::driver::sys::{self, CUfunction, CUmemorytype};
use luisac_artifact::abi::BindlessRecord;

use super::{
    Array, Buffer, CudaKernel,
    driver::{Context, Memory, Pinned, no_copy},
    image::{Image, Side},
    own,
};
use crate::{
    Argument, Kernel, RuntimeError,
    argument::Given,
    host::bind::put,
    list::{Command, HostBytes, Sizes},
    resource::{BufferView, Change, ImageLevel},
};

/// Bytes of the data of a log.
const LOG_CAPACITY: u64 = 1 << 20;
/// Most of a pattern that is repeated in host memory.
const PATTERN_BYTES: usize = 64 << 10;
/// What the hardware takes along x, y, z.
const MOST_BLOCKS: [u64; 3] = [(1 << 31) - 1, 65_535, 65_535];

/// One thing that the GPU does.
pub(super) enum Node {
    Launch(Launch),
    Copy(Box<sys::CUDA_MEMCPY3D>),
    Set(sys::CUDA_MEMSET_NODE_PARAMS),
}

/// A launch of a kernel.
pub(super) struct Launch {
    pub(super) function: CUfunction,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    /// The parameter block.
    pub(super) params: Box<[u64]>,
}

/// What becomes of a command. What the GPU does for it is done in order.
pub(super) enum Step {
    Gpu {
        nodes: Vec<Node>,
        after: After,
    },
    /// The sizes are known only when the dispatch begins.
    Indirect(Box<Indirect>),
    /// A callback or signal.
    Host,
}

/// What the host does once the command has been done.
pub(super) enum After {
    Nothing,
    Download(Pinned, HostBytes),
    Log(Box<Log>),
    /// What is copied must stay.
    Keep {
        _staging: Pinned,
    },
    /// Records of a bindless array, which are filled in before the list begins.
    Records(Pinned, Vec<u32>),
}

/// The log of a dispatch.
pub(super) struct Log {
    pub(super) kernel: Kernel,
    pub(super) memory: Memory,
    /// How much of it was used.
    pub(super) used: Pinned,
}

/// A dispatch whose sizes lie in a buffer.
pub(super) struct Indirect {
    pub(super) kernel: Kernel,
    pub(super) params: Vec<u8>,
    pub(super) sizes: crate::IndirectBuffer,
    pub(super) log: Option<Log>,
}

/// Makes the step of a command.
pub(super) fn step(context: &Arc<Context>, command: &Command) -> Result<Step, RuntimeError> {
    let gpu = |nodes, after| Step::Gpu { nodes, after };
    Ok(match command {
        Command::Dispatch { kernel, arguments, sizes } => {
            return dispatch(context, kernel, arguments, sizes);
        }
        Command::Upload { data, to } => {
            let staging = staged(context, data)?;
            let nodes = flat(Flat::Host(staging.address()), place(to)?, to.bytes);
            gpu(nodes, After::Keep { _staging: staging })
        }
        Command::Download { from, to } => {
            let staging = Pinned::zeroed(context, from.bytes as usize)?;
            let nodes = flat(place(from)?, Flat::Host(staging.address()), from.bytes);
            gpu(nodes, After::Download(staging, to.clone()))
        }
        Command::Copy { from, to } => {
            gpu(flat(place(from)?, place(to)?, from.bytes), After::Nothing)
        }
        Command::Fill { to, with } => fill(context, to, with)?,
        Command::UploadImage { data, to } => {
            let staging = staged(context, data)?;
            let copy = image(to)?.copy(to.level, Side::Host(staging.address()), true)?;
            gpu(vec![Node::Copy(Box::new(copy))], After::Keep { _staging: staging })
        }
        Command::DownloadImage { from, to } => {
            let staging = Pinned::zeroed(context, from.bytes() as usize)?;
            let copy = image(from)?.copy(from.level, Side::Host(staging.address()), false)?;
            gpu(vec![Node::Copy(Box::new(copy))], After::Download(staging, to.clone()))
        }
        Command::CopyImage { from, to } => {
            let source = image(from)?.array(from.level).unwrap_or(ptr::null_mut());
            let copy = image(to)?.copy(to.level, Side::Array(source), true)?;
            gpu(vec![Node::Copy(Box::new(copy))], After::Nothing)
        }
        Command::BufferToImage { from, to } => {
            let copy = image(to)?.copy(to.level, Side::Device(address(from)?), true)?;
            gpu(vec![Node::Copy(Box::new(copy))], After::Nothing)
        }
        Command::ImageToBuffer { from, to } => {
            let copy = image(from)?.copy(from.level, Side::Device(address(to)?), false)?;
            gpu(vec![Node::Copy(Box::new(copy))], After::Nothing)
        }
        Command::Update { array, changes } => update(context, own(&array.raw)?, changes)?,
        Command::Callback(_) | Command::Signal(_) => Step::Host,
    })
}

fn image(level: &ImageLevel) -> Result<&Image, RuntimeError> {
    own(&level.memory.raw)
}

fn address(view: &BufferView) -> Result<u64, RuntimeError> {
    let buffer: &Buffer = own(&view.memory.raw)?;
    Ok(buffer.0.address + view.start)
}

fn staged(context: &Arc<Context>, data: &[u8]) -> Result<Pinned, RuntimeError> {
    let mut staging = Pinned::zeroed(context, data.len())?;
    staging.bytes_mut().copy_from_slice(data);
    Ok(staging)
}

/// An end of a copy of plain bytes.
#[derive(Clone, Copy)]
enum Flat {
    Host(*mut u8),
    Device(u64),
}

fn place(view: &BufferView) -> Result<Flat, RuntimeError> {
    address(view).map(Flat::Device)
}

/// A copy of plain bytes; nothing for none.
fn flat(from: Flat, to: Flat, bytes: u64) -> Vec<Node> {
    if bytes == 0 {
        return Vec::new();
    }
    let mut copy = no_copy();
    (copy.WidthInBytes, copy.Height, copy.Depth) = (bytes as usize, 1, 1);
    (copy.srcPitch, copy.dstPitch) = (bytes as usize, bytes as usize);
    (copy.srcHeight, copy.dstHeight) = (1, 1);
    match from {
        Flat::Host(p) => {
            (copy.srcMemoryType, copy.srcHost) =
                (CUmemorytype::CU_MEMORYTYPE_HOST, p.cast_const().cast());
        }
        Flat::Device(a) => {
            (copy.srcMemoryType, copy.srcDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, a);
        }
    }
    match to {
        Flat::Host(p) => {
            (copy.dstMemoryType, copy.dstHost) = (CUmemorytype::CU_MEMORYTYPE_HOST, p.cast());
        }
        Flat::Device(a) => {
            (copy.dstMemoryType, copy.dstDevice) = (CUmemorytype::CU_MEMORYTYPE_DEVICE, a);
        }
    }
    vec![Node::Copy(Box::new(copy))]
}

/// Fills with a pattern: by the hardware if that is one word, else by a copy that doubles.
fn fill(context: &Arc<Context>, to: &BufferView, with: &[u8]) -> Result<Step, RuntimeError> {
    let start = address(to)?;
    let gpu = |nodes, after| Ok(Step::Gpu { nodes, after });
    let unit = with.len() as u64;
    if to.bytes == 0 || unit == 0 {
        return gpu(Vec::new(), After::Nothing);
    }
    if matches!(unit, 1 | 2 | 4) && start.is_multiple_of(unit) && to.bytes / unit <= 1 << 31 {
        let mut word = [0; 4];
        for (place, byte) in word.iter_mut().zip(with) {
            *place = *byte;
        }
        let set = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: start,
            pitch: 0,
            value: u32::from_le_bytes(word),
            elementSize: unit as u32,
            width: (to.bytes / unit) as usize,
            height: 1,
        };
        return gpu(vec![Node::Set(set)], After::Nothing);
    }
    let repeats = (PATTERN_BYTES / with.len()).max(1);
    let mut pattern = with.repeat(repeats);
    pattern.truncate(to.bytes as usize);
    let staging = staged(context, &pattern)?;
    let mut done = pattern.len() as u64;
    let mut nodes = flat(Flat::Host(staging.address()), Flat::Device(start), done);
    while done < to.bytes {
        let more = done.min(to.bytes - done);
        nodes.extend(flat(Flat::Device(start), Flat::Device(start + done), more));
        done += more;
    }
    gpu(nodes, After::Keep { _staging: staging })
}

/// The copies of the records that change. What the records are is known when the list begins.
fn update(
    context: &Arc<Context>,
    array: &Array,
    changes: &[(u32, Change)],
) -> Result<Step, RuntimeError> {
    let each = size_of::<BindlessRecord>() as u64;
    let mut slots: Vec<u32> = changes.iter().map(|(slot, _)| *slot).collect();
    slots.sort_unstable();
    slots.dedup();
    let staging = Pinned::zeroed(context, slots.len() * each as usize)?;
    let mut nodes = Vec::new();
    let mut at = 0;
    for run in slots.chunk_by(|a, b| a + 1 == *b) {
        let (first, bytes) =
            (u64::from(run.first().copied().unwrap_or(0)), run.len() as u64 * each);
        // The staging memory has a record for every slot, in order.
        let from = Flat::Host(staging.address().wrapping_add(at as usize));
        nodes.extend(flat(from, Flat::Device(array.memory.address + first * each), bytes));
        at += bytes;
    }
    Ok(Step::Gpu { nodes, after: After::Records(staging, slots) })
}

fn dispatch(
    context: &Arc<Context>,
    kernel: &Kernel,
    arguments: &[Argument],
    sizes: &Sizes,
) -> Result<Step, RuntimeError> {
    let metadata = kernel.metadata();
    let mut params = vec![0; metadata.params.size as usize];
    for (formal, given) in metadata.arguments.iter().zip(arguments) {
        bind(&mut params, formal, given)?;
    }
    let log = match metadata.params.log {
        None => None,
        Some(offset) => {
            let memory = Memory::zeroed(context, 8 + LOG_CAPACITY)?;
            put_pair(&mut params, offset, LOG_CAPACITY, memory.address);
            Some(Log { kernel: kernel.clone(), memory, used: Pinned::zeroed(context, 8)? })
        }
    };
    match sizes {
        Sizes::Indirect(buffer) => {
            let sizes = buffer.clone();
            let kernel = kernel.clone();
            Ok(Step::Indirect(Box::new(Indirect { kernel, params, sizes, log })))
        }
        Sizes::Direct(sizes) => {
            let mut nodes = Vec::new();
            for (id, size) in sizes.iter().enumerate() {
                nodes.extend(launch(kernel, &params, *size, id as u32)?);
            }
            let Some(log) = log else { return Ok(Step::Gpu { nodes, after: After::Nothing }) };
            let [clear, fetch] = log_nodes(&log);
            let nodes = clear.into_iter().chain(nodes).chain(fetch).collect();
            Ok(Step::Gpu { nodes, after: After::Log(Box::new(log)) })
        }
    }
}

/// Empties the log before a dispatch, and fetches how much was used after it.
pub(super) fn log_nodes(log: &Log) -> [Vec<Node>; 2] {
    let dst = log.memory.address;
    let set = sys::CUDA_MEMSET_NODE_PARAMS {
        dst,
        pitch: 0,
        value: 0,
        elementSize: 4,
        width: 2,
        height: 1,
    };
    [vec![Node::Set(set)], flat(Flat::Device(dst), Flat::Host(log.used.address()), 8)]
}

/// The launch for a size; none if it has no threads.
pub(super) fn launch(
    kernel: &Kernel,
    params: &[u8],
    size: [u32; 3],
    id: u32,
) -> Result<Option<Node>, RuntimeError> {
    if size.contains(&0) {
        return Ok(None);
    }
    let code: &CudaKernel = own(&kernel.0.raw)?;
    let metadata = kernel.metadata();
    let blocks = kernel.grid(size);
    if blocks.iter().zip(MOST_BLOCKS).any(|(n, most)| *n > most) {
        return Err(RuntimeError::GridTooLarge(size));
    }
    let mut bytes = params.to_vec();
    for (i, word) in size.into_iter().chain([id]).enumerate() {
        put(&mut bytes, metadata.params.dispatch + 4 * i as u32, &word.to_le_bytes());
    }
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(a, b)| *a = *b);
        u64::from_le_bytes(word)
    };
    Ok(Some(Node::Launch(Launch {
        function: code.0.function,
        grid: blocks.map(|n| n as u32),
        block: metadata.block_size,
        params: bytes.chunks(8).map(word).collect(),
    })))
}

fn put_pair(params: &mut [u8], offset: u32, first: u64, second: u64) {
    put(params, offset, &first.to_le_bytes());
    put(params, offset + 8, &second.to_le_bytes());
}

/// Puts an argument where `docs/abi.md` says.
fn bind(
    params: &mut [u8],
    formal: &luisac_artifact::metadata::Argument,
    given: &Argument,
) -> Result<(), RuntimeError> {
    let at = formal.offset;
    match &given.0 {
        Given::Value(bytes, _) => put(params, at, bytes),
        Given::Buffer(view, _) => put_pair(params, at, address(view)?, view.bytes),
        Given::Image(level) => {
            let image = image(level)?;
            let word = match formal.sampled {
                true => image.table(level.level)?.address(),
                false => image.surface(level.level),
            };
            put_pair(params, at, word, image.shape.storage as u64);
        }
        Given::Bindless(array) => {
            let records: &Array = own(&array.raw)?;
            put_pair(params, at, records.memory.address, array.slots.into());
        }
        Given::Indirect(buffer) => {
            let words = u64::from(buffer.capacity()) << 32;
            put_pair(params, at, address(buffer.view())?, words);
        }
    }
    Ok(())
}

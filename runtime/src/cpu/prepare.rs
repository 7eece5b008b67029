//! Lists made ready: parameter blocks, and memory for what kernels log.

use std::sync::{Arc, Mutex, PoisonError};

use luisac_artifact::abi::CpuEntry;

use super::{CpuArray, CpuBuffer, CpuImage, blocks::Blocks, own};
use crate::{
    Argument, IndirectDispatch, Kernel, Output, RuntimeError,
    argument::Given,
    host::{self, Arg, Launch, bind::put, memory::Memory},
    list::{Command, Sizes},
};

/// A dispatch for each command that is one.
pub(super) struct Prepared(pub(super) Vec<Option<Dispatch>>);

impl Prepared {
    pub(super) fn new(commands: &[Command]) -> Result<Self, RuntimeError> {
        let dispatch = |command: &Command| match command {
            Command::Dispatch { kernel, arguments, sizes } => {
                Dispatch::new(kernel, arguments, sizes).map(Some)
            }
            _ => Ok(None),
        };
        commands.iter().map(dispatch).collect::<Result<_, _>>().map(Self)
    }
}

/// A dispatch, ready to run again and again.
pub(super) struct Dispatch {
    /// Points to what the two fields below keep alive, and is dropped before them.
    launch: Mutex<Launch<'static>>,
    pub(super) kernel: Kernel,
    _arguments: Vec<Argument>,
    /// The parameter block and grid of each size, for sizes that are known.
    parts: Arc<Vec<Part>>,
    entry: CpuEntry,
    scratch_bytes: usize,
}

/// The parameter block of one size.
pub(super) struct Part {
    params: Memory,
    grid: [u64; 3],
}

// SAFETY: the memory is only read once the part is made.
unsafe impl Sync for Part {}

// SAFETY: what the fields point to may be used from any thread (`CpuBuffer` and its like say why); the launch is behind a
// mutex, and the parameter blocks are only read.
unsafe impl Sync for Dispatch {}
// SAFETY: as above.
unsafe impl Send for Dispatch {}

impl Dispatch {
    fn new(kernel: &Kernel, given: &[Argument], sizes: &Sizes) -> Result<Self, RuntimeError> {
        let host: &host::Kernel = own(&kernel.0.raw)?;
        let arguments = given.to_vec();
        let bound = arguments.iter().map(as_host).collect::<Result<Vec<_>, _>>()?;
        let mut launch = host.bind(&bound)?;
        let mut parts = Vec::new();
        if let Sizes::Direct(sizes) = sizes {
            for (id, size) in sizes.iter().enumerate() {
                parts.push(Part::new(&mut launch, kernel, *size, id as u32)?);
            }
        }
        // SAFETY: the launch borrows the kernel and the resources, which lie behind references that are counted; the clones
        // in the new fields keep them at their addresses until after the launch is dropped. It borrows no argument itself:
        // values are copied into the parameter block.
        let launch = unsafe { std::mem::transmute::<Launch<'_>, Launch<'static>>(launch) };
        Ok(Self {
            launch: Mutex::new(launch),
            kernel: kernel.clone(),
            parts: Arc::new(parts),
            entry: host.entry(),
            scratch_bytes: kernel.metadata().scratch_bytes as usize,
            _arguments: arguments,
        })
    }

    /// The parts of a run: those that are known, or those that the buffer says.
    pub(super) fn parts(&self, sizes: &Sizes) -> Result<Arc<Vec<Part>>, RuntimeError> {
        let Sizes::Indirect(buffer) = sizes else {
            return Ok(self.parts.clone());
        };
        let memory: &CpuBuffer = own(&buffer.view().memory.raw)?;
        let all = buffer.dispatches(self.kernel.metadata(), |at, bytes| {
            memory.0.download(at as usize, bytes)
        })?;
        let mut launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = all.into_iter().map(|IndirectDispatch { size, kernel_id, .. }| {
            Part::new(&mut launch, &self.kernel, size, kernel_id)
        });
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(parts))
    }

    /// The blocks of a part.
    ///
    /// # Safety
    /// The part and the dispatch must live until the blocks have run.
    pub(super) unsafe fn blocks(&self, part: &Part) -> Blocks {
        // SAFETY: the part's block was made by the launch for this kernel.
        unsafe { Blocks::new(self.entry, part.params.address(), part.grid, self.scratch_bytes) }
    }

    /// Adds what the kernel logged since the last call, also if it ends in a fault.
    pub(super) fn output(&self, into: &mut Output) -> Result<(), RuntimeError> {
        let mut launch = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        launch.take_output(into)
    }
}

impl Part {
    fn new(
        launch: &mut Launch<'_>,
        kernel: &Kernel,
        size: [u32; 3],
        id: u32,
    ) -> Result<Self, RuntimeError> {
        launch.kernel_id(id);
        launch.prepare(size)?;
        let bytes = launch.params.to_vec();
        let mut params = Memory::zeroed(bytes.len())?;
        put(params.bytes_mut(), 0, &bytes);
        let grid = kernel.grid(size);
        if grid.into_iter().try_fold(1u64, u64::checked_mul).is_none_or(|b| b >= 1 << 63) {
            return Err(RuntimeError::GridTooLarge(size));
        }
        Ok(Self { params, grid })
    }
}

/// An argument as the plain layer takes it.
fn as_host(argument: &Argument) -> Result<Arg<'_>, RuntimeError> {
    Ok(match &argument.0 {
        Given::Value(bytes, _) => Arg::Value(bytes),
        Given::Buffer(view, _) => {
            let buffer: &CpuBuffer = own(&view.memory.raw)?;
            Arg::View(&buffer.0, view.start as usize..view.end() as usize)
        }
        Given::Image(level) => {
            let image: &CpuImage = own(&level.memory.raw)?;
            Arg::Level(&image.0, level.level)
        }
        Given::Bindless(array) => {
            let array: &CpuArray = own(&array.raw)?;
            Arg::Bindless(&array.0)
        }
        Given::Indirect(buffer) => {
            let memory: &CpuBuffer = own(&buffer.view().memory.raw)?;
            Arg::Indirect(&memory.0, buffer.capacity())
        }
    })
}

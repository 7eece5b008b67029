//! Running the blocks of a dispatch.
//!
//! The calling thread starts alone and measures. A dispatch that ends within [`ALONE`] has then cost no thread
//! switch; a longer one goes on in parallel, in pieces of about [`PIECE`] that threads take as they get free.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use luisac_artifact::{BlockConfig, abi::CpuEntry};

use super::{Launch, memory::Memory};
use crate::{Output, RuntimeError, log};

/// How long the calling thread works alone: about what waking other threads costs.
pub(crate) const ALONE: Duration = Duration::from_micros(15);
/// How long a thread works between two looks at the shared counter.
pub(crate) const PIECE: Duration = Duration::from_micros(50);

impl Launch<'_> {
    /// Runs the kernel over `size` threads along x, y, z, and returns when it has ended. A zero means no launch.
    ///
    /// # Errors
    /// [`RuntimeError::Assert`] or [`RuntimeError::OutOfBounds`] if a thread stopped; the other threads ran.
    pub fn dispatch(&mut self, size: [u32; 3]) -> Result<Output, RuntimeError> {
        let mut lines = Vec::new();
        let lost = self.dispatch_logged(size, &mut |line| lines.push(line.to_owned()))?;
        Ok(Output { lines, lost })
    }

    /// As [`Self::dispatch`], but gives each printed line to `print`, also those of a dispatch that fails.
    /// Returns the bytes of records that found no room.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub fn dispatch_logged(
        &mut self,
        size: [u32; 3],
        print: &mut dyn FnMut(&str),
    ) -> Result<u64, RuntimeError> {
        if size.contains(&0) {
            return Ok(0);
        }
        self.prepare(size)?;
        let metadata = &self.kernel.metadata;
        let job = Job::new(self, size)?;
        job.run()?;
        match &mut self.log {
            Some(log) => {
                let lost = log::decode(metadata, log.bytes_mut(), print);
                // So that a later dispatch whose last record finds no room does not end with one of these.
                log::clear(log.bytes_mut());
                lost
            }
            None => Ok(0),
        }
    }
}

/// A dispatch, as its threads share it.
struct Job<'a> {
    launch: &'a Launch<'a>,
    entry: CpuEntry,
    params: *const u8,
    /// Blocks along x and y.
    grid: [u64; 2],
    blocks: u64,
    scratch_bytes: usize,
    next: AtomicU64,
}

// SAFETY: the threads share the parameter block, which nobody writes during a dispatch, and what it points to, which
// is the kernel's to keep in order. Of `launch`, they use the kernel alone.
unsafe impl Sync for Job<'_> {}

impl<'a> Job<'a> {
    fn new(launch: &'a Launch<'a>, size: [u32; 3]) -> Result<Self, RuntimeError> {
        let metadata = &launch.kernel.metadata;
        let mut grid = [1u64; 3];
        for axis in 0..3 {
            grid[axis] = u64::from(size[axis].div_ceil(metadata.block_size[axis].max(1)));
        }
        let blocks = grid[0].checked_mul(grid[1]).and_then(|b| b.checked_mul(grid[2]));
        // Half the range is left for counters that run past the end.
        let Some(blocks) = blocks.filter(|b| *b < 1 << 63) else {
            return Err(RuntimeError::GridTooLarge(size));
        };
        Ok(Self {
            launch,
            entry: launch.kernel.entry(),
            params: launch.params.address(),
            grid: [grid[0], grid[1]],
            blocks,
            scratch_bytes: metadata.scratch_bytes as usize,
            next: AtomicU64::new(0),
        })
    }

    fn run(&self) -> Result<(), RuntimeError> {
        let workers = &self.launch.kernel.workers;
        let (alone, elapsed) = with_scratch(self.scratch_bytes, |scratch| {
            let start = Instant::now();
            let mut done = 0;
            loop {
                self.block(done, scratch);
                done += 1;
                let elapsed = start.elapsed();
                if done == self.blocks || (elapsed >= ALONE && workers.threads() > 1) {
                    return (done, elapsed);
                }
            }
        })?;
        if alone == self.blocks {
            return Ok(());
        }
        self.next.store(alone, Ordering::Relaxed);
        let left = self.blocks - alone;
        let threads = (workers.threads() as u64).min(left);
        let nanoseconds = (elapsed.as_nanos() as u64 / alone).max(1);
        let grain = (PIECE.as_nanos() as u64 / nanoseconds).clamp(1, (left / (4 * threads)).max(1));
        let Some(pool) = workers.pool() else {
            return self.work(grain);
        };
        let failed = std::sync::Mutex::new(None);
        pool.scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|_| {
                    if let Err(e) = self.work(grain)
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed = Some(e);
                    }
                });
            }
        });
        // A thread without scratch memory has left its share to the others; only if all failed is work undone.
        match failed.into_inner() {
            Ok(Some(e)) if self.next.load(Ordering::Relaxed) < self.blocks => Err(e),
            _ => Ok(()),
        }
    }

    /// Takes pieces until none is left.
    fn work(&self, grain: u64) -> Result<(), RuntimeError> {
        with_scratch(self.scratch_bytes, |scratch| {
            loop {
                let first = self.next.fetch_add(grain, Ordering::Relaxed);
                if first >= self.blocks {
                    return;
                }
                for index in first..(first + grain).min(self.blocks) {
                    self.block(index, scratch);
                }
            }
        })
    }

    fn block(&self, index: u64, scratch: *mut u8) {
        let [x, y] = self.grid;
        let block_id = [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32];
        let block = BlockConfig { block_id, reserved: 0, scratch };
        // SAFETY: the parameter block follows the kernel's metadata and points to resources that `launch` borrows;
        // the scratch memory is this thread's alone. For the code itself, whoever loaded it has vouched.
        unsafe { (self.entry)(self.params, &block) }
    }
}

thread_local! {
    /// The thread's scratch memory, kept from one dispatch to the next.
    static SCRATCH: Cell<Option<Memory>> = const { Cell::new(None) };
}

/// Calls `f` with scratch memory of at least `bytes`.
pub(crate) fn with_scratch<R>(
    bytes: usize,
    f: impl FnOnce(*mut u8) -> R,
) -> Result<R, RuntimeError> {
    // Taken out, so that a dispatch within a dispatch could not get the same memory.
    let memory = match SCRATCH.take() {
        Some(memory) if memory.len() >= bytes => memory,
        _ => Memory::zeroed(bytes)?,
    };
    let result = f(memory.address());
    SCRATCH.set(Some(memory));
    Ok(result)
}

//! The blocks of one dispatch, shared among threads.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use luisac_artifact::{BlockConfig, abi::CpuEntry};

use crate::{
    RuntimeError,
    host::dispatch::{ALONE, PIECE, with_scratch},
};

/// A dispatch that runs.
pub(super) struct Blocks {
    entry: CpuEntry,
    params: *const u8,
    /// Blocks along x and y.
    grid: [u64; 2],
    blocks: u64,
    scratch_bytes: usize,
    /// How many blocks a thread takes at once.
    grain: AtomicU64,
    next: AtomicU64,
    done: AtomicU64,
}

// SAFETY: the threads share the parameter block, which nobody writes while blocks are left, and what it points to, which
// is the kernel's to keep in order.
unsafe impl Send for Blocks {}
// SAFETY: as above.
unsafe impl Sync for Blocks {}

impl Blocks {
    /// # Safety
    /// `params` must be a parameter block that the code takes, and it and all that it points to must live until the
    /// blocks have run.
    pub(super) unsafe fn new(
        entry: CpuEntry,
        params: *const u8,
        grid: [u64; 3],
        scratch_bytes: usize,
    ) -> Self {
        Self {
            entry,
            params,
            grid: [grid[0], grid[1]],
            // Recording has checked that the product is below 2^63; of indirect sizes, too.
            blocks: grid.into_iter().fold(1, u64::saturating_mul),
            scratch_bytes,
            grain: AtomicU64::new(1),
            next: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.blocks
    }

    fn block(&self, index: u64, scratch: *mut u8) {
        let [x, y] = self.grid;
        let block_id = [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32];
        let block = BlockConfig { block_id, reserved: 0, scratch };
        // SAFETY: what `new` was promised; the scratch memory is this thread's alone. For the code itself, whoever loaded
        // it has vouched.
        unsafe { (self.entry)(self.params, &block) }
    }

    /// Runs blocks on this thread alone: all of them, or for about [`ALONE`] if other threads could help. Says whether that
    /// was all, and the nanoseconds it took for how many blocks.
    pub(super) fn alone(&self, helpers: bool) -> Result<(bool, u64, u64), RuntimeError> {
        if self.blocks == 0 {
            return Ok((true, 0, 0));
        }
        let (ran, nanoseconds) = with_scratch(self.scratch_bytes, |scratch| {
            let start = Instant::now();
            let mut ran = 0;
            loop {
                self.block(ran, scratch);
                ran += 1;
                if ran == self.blocks {
                    return (ran, start.elapsed());
                }
                // A look at the clock costs as much as a small block.
                if ran.is_power_of_two() || ran % 16 == 0 {
                    let elapsed = start.elapsed();
                    if helpers && elapsed >= ALONE {
                        return (ran, elapsed);
                    }
                }
            }
        })?;
        let nanoseconds = nanoseconds.as_nanos() as u64;
        let each = (nanoseconds / ran).max(1);
        self.grain.store((PIECE.as_nanos() as u64 / each).max(1), Ordering::Relaxed);
        self.next.store(ran, Ordering::Relaxed);
        self.done.store(ran, Ordering::Release);
        Ok((ran == self.blocks, ran, nanoseconds))
    }

    /// Takes blocks until none is left to take. Says whether this thread ran the last one of all.
    pub(super) fn share(&self, threads: u64) -> Result<bool, RuntimeError> {
        with_scratch(self.scratch_bytes, |scratch| {
            let left = self.blocks.saturating_sub(self.next.load(Ordering::Relaxed));
            let most = (left / (4 * threads.max(1))).max(1);
            let grain = self.grain.load(Ordering::Relaxed).min(most);
            loop {
                let first = self.next.fetch_add(grain, Ordering::Relaxed);
                if first >= self.blocks {
                    return false;
                }
                let end = (first + grain).min(self.blocks);
                (first..end).for_each(|index| self.block(index, scratch));
                // What the blocks wrote must be seen by whoever sees all of them done.
                if self.done.fetch_add(end - first, Ordering::AcqRel) + end - first == self.blocks {
                    return true;
                }
            }
        })
    }
}

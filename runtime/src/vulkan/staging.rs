//! Memory between host and device, in blocks that lists take and give back.

use std::{
    ptr::NonNull,
    sync::{Arc, Mutex, PoisonError},
};

use ash::vk;

use super::{
    device::Shared,
    memory::{Allocation, Home},
};
use crate::RuntimeError;

/// Bytes of the smallest block.
const LEAST: u64 = 16 << 10;
/// Blocks above this are not kept.
const LARGEST_KEPT: u64 = 32 << 20;
/// Bytes that are kept in all.
const MOST_KEPT: u64 = 128 << 20;

/// Memory that the host sees at an address for as long as it lives.
pub(super) struct Memory {
    pub handle: vk::Buffer,
    allocation: Allocation,
    address: NonNull<u8>,
    bytes: u64,
    home: Home,
}

// SAFETY: the handles may be used from any thread, and the address is only used by who owns the block.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Blocks that nobody uses.
#[derive(Default)]
pub(super) struct Staging(Mutex<Vec<Memory>>);

/// A block in use; it goes back when it is dropped.
pub(super) struct Block {
    device: Arc<Shared>,
    /// Always there until it is dropped.
    memory: Option<Memory>,
}

impl Staging {
    fn find(&self, bytes: u64, home: Home) -> Option<Memory> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |m: &Memory| m.home == home && m.bytes == bytes;
        free.iter().position(fits).map(|at| free.swap_remove(at))
    }

    /// Keeps a block for later, or hands it back to be destroyed.
    fn keep(&self, memory: Memory) -> Option<Memory> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: u64 = free.iter().map(|m| m.bytes).sum();
        if memory.bytes > LARGEST_KEPT || kept + memory.bytes > MOST_KEPT {
            return Some(memory);
        }
        free.push(memory);
        None
    }

    /// Destroys all that are here.
    pub fn destroy(&self, device: &ash::Device) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.drain(..).for_each(|memory| memory.destroy(device));
    }
}

impl Memory {
    fn destroy(self, device: &ash::Device) {
        // SAFETY: nobody uses the block, and what used it has ended.
        unsafe {
            device.destroy_buffer(self.handle, None);
            device.free_memory(self.allocation.handle, None);
        }
    }
}

impl Shared {
    fn make_staging(&self, bytes: u64, home: Home) -> Result<Memory, RuntimeError> {
        use vk::BufferUsageFlags as U;
        let usage = match home {
            Home::Download => U::TRANSFER_DST,
            _ => U::TRANSFER_SRC | U::UNIFORM_BUFFER,
        };
        let (handle, allocation) = self.make_buffer(bytes, usage, home)?;
        match allocation.mapped {
            Some(address) => Ok(Memory { handle, allocation, address, bytes, home }),
            None => {
                // SAFETY: nothing has used the buffer.
                unsafe { self.handle.destroy_buffer(handle, None) };
                self.free(&allocation);
                Err(RuntimeError::OutOfMemory { bytes })
            }
        }
    }
}

impl Block {
    /// A block of at least `bytes`, of any content.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], or what the device says.
    pub fn new(device: &Arc<Shared>, bytes: u64, home: Home) -> Result<Self, RuntimeError> {
        // Few sizes, so that blocks fit others later.
        let size = if bytes > LARGEST_KEPT { bytes } else { bytes.max(LEAST).next_power_of_two() };
        let found = device.staging.find(size, home);
        let memory = found.map_or_else(|| device.make_staging(size, home), Ok)?;
        Ok(Self { device: device.clone(), memory: Some(memory) })
    }

    /// The buffer that covers the block.
    pub fn handle(&self) -> vk::Buffer {
        self.memory.as_ref().map_or(vk::Buffer::null(), |m| m.handle)
    }

    fn range(&self, at: u64, len: usize) -> Option<NonNull<u8>> {
        let memory = self.memory.as_ref()?;
        let end = at.checked_add(len as u64)?;
        // SAFETY: the address has `bytes` bytes, and `at` is not beyond them.
        (end <= memory.bytes).then(|| unsafe { memory.address.add(at as usize) })
    }

    /// Puts bytes at an offset. No submission that uses the block may be pending.
    pub fn write(&self, at: u64, bytes: &[u8]) {
        if let Some(target) = self.range(at, bytes.len()) {
            // SAFETY: the range lies inside the block; its owner calls this while the device does not use it, from one thread.
            unsafe { target.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) }
        }
    }

    /// Bytes from an offset. Submissions that write the block must have been waited for.
    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0u8; len];
        if let Some(source) = self.range(at, len) {
            // SAFETY: as in `write`; the vector is new.
            unsafe { source.copy_to_nonoverlapping(NonNull::from(&mut *bytes).cast(), len) }
        }
        bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let rest = self.memory.take().and_then(|memory| self.device.staging.keep(memory));
        if let Some(memory) = rest {
            memory.destroy(&self.device.handle);
        }
    }
}

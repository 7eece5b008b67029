//! Buffers in device memory.

use std::sync::{Arc, OnceLock};

use ash::vk;

use super::{
    device::Shared,
    error::allocation,
    heap::Heap,
    memory::{Allocation, Home},
};
use crate::RuntimeError;

/// Buffers are larger than asked for up to a multiple of this, so that kernels can read the last bytes as words.
const GRAIN: u64 = 16;
/// Most bytes of a temporary buffer between host and device.
const STAGING: u64 = 32 << 20;

/// Bytes that kernels read and write. A clone is the same buffer.
#[derive(Clone)]
pub struct Buffer(pub(super) Arc<Raw>);

pub(super) struct Raw {
    pub device: Arc<Shared>,
    pub handle: vk::Buffer,
    allocation: Allocation,
    /// As asked for.
    pub len: u64,
    /// As allocated.
    pub capacity: u64,
    /// Its place among the buffers of bindless arrays, from the first time it is in one.
    pub place: OnceLock<u32>,
}

// SAFETY: Vulkan's handles may be used from any thread; every access through the mapped address takes the lock of what is done at
// once, and lists that use the buffer do not run meanwhile: their order is kept above.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Raw {
    /// An unfilled buffer.
    pub fn new(
        device: &Arc<Shared>,
        len: u64,
        usage: vk::BufferUsageFlags,
        home: Home,
    ) -> Result<Self, RuntimeError> {
        let capacity = len.max(1).checked_next_multiple_of(GRAIN);
        let capacity = capacity.ok_or(RuntimeError::OutOfMemory { bytes: len })?;
        let (handle, allocation) = device.make_buffer(capacity, usage, home)?;
        let (device, place) = (device.clone(), OnceLock::new());
        Ok(Self { device, handle, allocation, len, capacity, place })
    }

    /// A temporary buffer for one transfer.
    pub fn staging(device: &Arc<Shared>, len: u64, home: Home) -> Result<Self, RuntimeError> {
        let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        Self::new(device, len, usage, home)
    }

    /// Runs `f` on the bytes, if the host sees them, while nothing that is done at once runs on the device.
    pub fn with_bytes<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let address = self.allocation.mapped?;
        let _alone = self.device.alone();
        // SAFETY: the mapping is `capacity` bytes long; no dispatch that uses them runs and no other thread is here, since all
        // of them hold the lock or are lists, whose order is kept above; `f` cannot keep the slice.
        Some(f(unsafe { std::slice::from_raw_parts_mut(address.as_ptr(), self.capacity as usize) }))
    }

    fn check(&self, offset: u64, len: usize) -> Result<(), RuntimeError> {
        let end = offset.checked_add(len as u64);
        if end.is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        let expected = self.len.saturating_sub(offset);
        Err(RuntimeError::DataSize { expected, got: len as u64, unit: "bytes" })
    }

    pub fn upload(&self, offset: u64, data: &[u8]) -> Result<(), RuntimeError> {
        self.check(offset, data.len())?;
        let at = offset as usize;
        if self.with_bytes(|bytes| bytes[at..at + data.len()].copy_from_slice(data)).is_some() {
            return Ok(());
        }
        let size = STAGING.min(data.len() as u64);
        let staging = Self::staging(&self.device, size, Home::Upload)?;
        for (i, piece) in data.chunks(STAGING as usize).enumerate() {
            staging.with_bytes(|bytes| bytes[..piece.len()].copy_from_slice(piece));
            let dst = offset + i as u64 * STAGING;
            staging.copy_to(self, 0, dst, piece.len() as u64)?;
        }
        Ok(())
    }

    pub fn download(&self, offset: u64, data: &mut [u8]) -> Result<(), RuntimeError> {
        self.check(offset, data.len())?;
        let at = offset as usize;
        if self.with_bytes(|bytes| data.copy_from_slice(&bytes[at..at + data.len()])).is_some() {
            return Ok(());
        }
        let size = STAGING.min(data.len() as u64);
        let staging = Self::staging(&self.device, size, Home::Download)?;
        for (i, piece) in data.chunks_mut(STAGING as usize).enumerate() {
            let src = offset + i as u64 * STAGING;
            self.copy_to(&staging, src, 0, piece.len() as u64)?;
            staging.with_bytes(|bytes| piece.copy_from_slice(&bytes[..piece.len()]));
        }
        Ok(())
    }

    fn copy_to(&self, target: &Self, from: u64, to: u64, size: u64) -> Result<(), RuntimeError> {
        let region = vk::BufferCopy { src_offset: from, dst_offset: to, size };
        self.device.submit(|device, commands| {
            // SAFETY: both ranges were checked, and the buffers live until the submission has ended.
            unsafe { device.cmd_copy_buffer(commands, self.handle, target.handle, &[region]) }
        })
    }

    /// Fills `size` bytes (rounded up to words, or all) from `offset`, a multiple of four, with zeros.
    pub fn clear(&self, offset: u64, size: u64) -> Result<(), RuntimeError> {
        let end = offset.saturating_add(size).next_multiple_of(4).min(self.capacity);
        if offset >= end {
            return Ok(());
        }
        if self.with_bytes(|bytes| bytes[offset as usize..end as usize].fill(0)).is_some() {
            return Ok(());
        }
        let size = end - offset;
        self.device.submit(|device, commands| {
            // SAFETY: the range lies inside the buffer, whose capacity is a multiple of sixteen.
            unsafe { device.cmd_fill_buffer(commands, self.handle, offset, size, 0) }
        })
    }

    /// Its place in the heap of buffers.
    pub fn place(&self) -> Result<u32, RuntimeError> {
        let heap = self.device.heap(Heap::Buffers)?;
        heap.place(&self.place, |handle, index| self.device.describe_buffer(handle, index, self))
    }
}

impl Shared {
    /// A buffer with memory bound to it.
    pub fn make_buffer(
        &self,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        home: Home,
    ) -> Result<(vk::Buffer, Allocation), RuntimeError> {
        let info = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device is alive, the structure complete.
        let handle = unsafe { self.handle.create_buffer(&info, None) };
        let handle = allocation("vkCreateBuffer", bytes, handle)?;
        // SAFETY: the buffer was made a moment ago.
        let needs = unsafe { self.handle.get_buffer_memory_requirements(handle) };
        let bound = self.allocate(needs, home).and_then(|memory| {
            // SAFETY: neither has been bound, and the memory is as large as the buffer needs.
            let bound = unsafe { self.handle.bind_buffer_memory(handle, memory.handle, 0) };
            match allocation("vkBindBufferMemory", bytes, bound) {
                Ok(()) => Ok(memory),
                Err(e) => {
                    self.free(&memory);
                    Err(e)
                }
            }
        });
        match bound {
            Ok(allocation) => Ok((handle, allocation)),
            Err(e) => {
                // SAFETY: nothing has used the buffer.
                unsafe { self.handle.destroy_buffer(handle, None) };
                Err(e)
            }
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(place) = self.place.get() {
            self.device.give_back(Heap::Buffers, *place);
        }
        // SAFETY: what runs keeps its resources alive, so nothing uses the buffer.
        unsafe { self.device.handle.destroy_buffer(self.handle, None) };
        self.device.free(&self.allocation);
    }
}

impl Buffer {
    pub(super) fn zeroed(device: &Arc<Shared>, bytes: u64) -> Result<Self, RuntimeError> {
        let buffer = Self::unfilled(device, bytes)?;
        buffer.0.clear(0, buffer.0.capacity)?;
        Ok(buffer)
    }

    pub(super) fn filled(device: &Arc<Shared>, data: &[u8]) -> Result<Self, RuntimeError> {
        let buffer = Self::unfilled(device, data.len() as u64)?;
        // What lies behind the data is read as part of words, and must not differ from run to run.
        buffer.0.clear(data.len() as u64 & !15, GRAIN)?;
        buffer.0.upload(0, data)?;
        Ok(buffer)
    }

    fn unfilled(device: &Arc<Shared>, bytes: u64) -> Result<Self, RuntimeError> {
        use vk::BufferUsageFlags as U;
        let usage = U::STORAGE_BUFFER | U::TRANSFER_SRC | U::TRANSFER_DST | U::INDIRECT_BUFFER;
        Raw::new(device, bytes, usage, Home::Device).map(|raw| Self(Arc::new(raw)))
    }

    /// Size in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies `data` to byte `offset`.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] if it passes the end; what the device says.
    pub fn upload(&self, offset: u64, data: &[u8]) -> Result<(), RuntimeError> {
        self.0.upload(offset, data)
    }

    /// Fills `data` from byte `offset`.
    ///
    /// # Errors
    /// As [`Self::upload`].
    pub fn download(&self, offset: u64, data: &mut [u8]) -> Result<(), RuntimeError> {
        self.0.download(offset, data)
    }

    /// A copy of all bytes.
    ///
    /// # Errors
    /// What the device says.
    pub fn to_vec(&self) -> Result<Vec<u8>, RuntimeError> {
        let len = usize::try_from(self.len())
            .map_err(|_| RuntimeError::OutOfMemory { bytes: self.len() })?;
        let mut bytes = vec![0; len];
        self.download(0, &mut bytes)?;
        Ok(bytes)
    }
}

//! Buffers of dispatch sizes that kernels write and later dispatches read.
//!
//! | offset | field |
//! |---|---|
//! | 0 | `u32` number of dispatches, then 12 bytes of nothing |
//! | 16 + 32 n | `u32` block size x, y, z of dispatch n, one word of nothing, `u32` size x, y, z, `u32` kernel id |

use super::{Buffer, BufferView};
use crate::{Device, Metadata, RuntimeError};

/// Bytes before the first entry.
pub const INDIRECT_HEADER_BYTES: u64 = 16;
/// Bytes of an entry.
pub const INDIRECT_ENTRY_BYTES: u64 = 32;

/// One dispatch of an [`IndirectBuffer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndirectDispatch {
    /// Must be the kernel's block size.
    pub block_size: [u32; 3],
    /// Threads along x, y, z.
    pub size: [u32; 3],
    /// What the kernel sees as its id.
    pub kernel_id: u32,
}

impl IndirectDispatch {
    /// Reads an entry; missing bytes are zeros.
    pub(crate) fn read(entry: &[u8]) -> Self {
        let word = |i: usize| {
            entry.get(4 * i..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
        };
        Self {
            block_size: [word(0), word(1), word(2)],
            size: [word(4), word(5), word(6)],
            kernel_id: word(7),
        }
    }

    fn bytes(self) -> [u8; INDIRECT_ENTRY_BYTES as usize] {
        let ([bx, by, bz], [x, y, z]) = (self.block_size, self.size);
        let mut bytes = [0; INDIRECT_ENTRY_BYTES as usize];
        for (word, bytes) in
            [bx, by, bz, 0, x, y, z, self.kernel_id].into_iter().zip(bytes.chunks_exact_mut(4))
        {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// Dispatch sizes in a device's memory.
#[derive(Clone, Debug)]
pub struct IndirectBuffer {
    bytes: Buffer<u8>,
    capacity: u32,
}

impl IndirectBuffer {
    pub(crate) fn new(device: &Device, capacity: u32) -> Result<Self, RuntimeError> {
        let bytes = INDIRECT_HEADER_BYTES + u64::from(capacity) * INDIRECT_ENTRY_BYTES;
        Ok(Self { bytes: Buffer::new(device, bytes as usize)?, capacity })
    }

    /// Most dispatches it holds.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The memory, to fill or copy it.
    #[must_use]
    pub fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }

    pub(crate) fn view(&self) -> &BufferView {
        self.bytes.bytes()
    }

    /// What the buffer says, by a function that reads its bytes: dispatches with threads, all of the kernel's block size. A count
    /// beyond the capacity is cut.
    pub(crate) fn dispatches(
        &self,
        kernel: &Metadata,
        read: impl Fn(u64, &mut [u8]) -> Result<(), RuntimeError>,
    ) -> Result<Vec<IndirectDispatch>, RuntimeError> {
        let mut count = [0; 4];
        read(0, &mut count)?;
        let count = u64::from(u32::from_le_bytes(count).min(self.capacity));
        let mut bytes = vec![0; (count * INDIRECT_ENTRY_BYTES) as usize];
        read(INDIRECT_HEADER_BYTES, &mut bytes)?;
        let all = bytes.chunks_exact(INDIRECT_ENTRY_BYTES as usize).map(IndirectDispatch::read);
        let all: Vec<_> = all.filter(|d| !d.size.contains(&0)).collect();
        match all.iter().find(|d| d.block_size != kernel.block_size) {
            None => Ok(all),
            Some(wrong) => Err(RuntimeError::IndirectBlock {
                kernel: kernel.kernel.clone(),
                expected: kernel.block_size,
                got: wrong.block_size,
            }),
        }
    }

    /// Stores dispatches, after all that was submitted before, and waits for it.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there are more than it holds; what the device says.
    pub fn write(&self, dispatches: &[IndirectDispatch]) -> Result<(), RuntimeError> {
        let (end, size) = (dispatches.len() as u64, u64::from(self.capacity));
        if end > size {
            return Err(RuntimeError::Range { what: "dispatches", start: 0, end, size });
        }
        let mut bytes = (end as u32).to_le_bytes().to_vec();
        bytes.resize(INDIRECT_HEADER_BYTES as usize, 0);
        for dispatch in dispatches {
            bytes.extend_from_slice(&dispatch.bytes());
        }
        self.bytes.write(&bytes)
    }
}

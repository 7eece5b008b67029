//! Aligned, zeroed host memory that kernels write through raw addresses.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    marker::PhantomData,
    ptr::NonNull,
};

use crate::RuntimeError;

/// Alignment of resources: a cache line.
pub(crate) const RESOURCE_ALIGN: usize = 64;

/// A block of memory. No reference into it exists but through `&mut self`, and it is not `Sync`: kernels write to it
/// while the one thread that could look waits for them.
pub(crate) struct Memory {
    address: NonNull<u8>,
    layout: Layout,
    not_sync: PhantomData<*mut u8>,
}

// SAFETY: the memory is owned, and nothing about it is bound to a thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Zeroed memory, aligned to [`RESOURCE_ALIGN`]. Untouched pages cost nothing.
    pub(crate) fn zeroed(bytes: usize) -> Result<Self, RuntimeError> {
        let out_of_memory = || RuntimeError::OutOfMemory { bytes: bytes as u64 };
        let layout = Layout::from_size_align(bytes, RESOURCE_ALIGN).map_err(|_| out_of_memory())?;
        let address = if bytes == 0 {
            layout.dangling_ptr()
        } else {
            // SAFETY: the layout's size is not zero.
            NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(out_of_memory)?
        };
        Ok(Self { address, layout, not_sync: PhantomData })
    }

    pub(crate) fn len(&self) -> usize {
        self.layout.size()
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: all bytes are initialised, and `&mut self` excludes every other access.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.len()) }
    }

    /// Copies `data` to `offset`, or says false if it does not fit.
    pub(crate) fn write(&self, offset: usize, data: &[u8]) -> bool {
        let fits = offset.checked_add(data.len()).is_some_and(|end| end <= self.len());
        if fits {
            // SAFETY: the range lies inside the memory; `data` is no part of it, since nobody can hold a reference
            // into it beside `&self`; no kernel runs, since a dispatch blocks this thread, the only one with `&self`.
            unsafe {
                self.address
                    .as_ptr()
                    .add(offset)
                    .copy_from_nonoverlapping(data.as_ptr(), data.len())
            }
        }
        fits
    }

    /// Fills `data` from `offset`, or says false if there is not so much.
    pub(crate) fn read(&self, offset: usize, data: &mut [u8]) -> bool {
        let fits = offset.checked_add(data.len()).is_some_and(|end| end <= self.len());
        if fits {
            // SAFETY: as in `write`.
            unsafe {
                data.as_mut_ptr()
                    .copy_from_nonoverlapping(self.address.as_ptr().add(offset), data.len())
            }
        }
        fits
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.read(0, &mut bytes);
        bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: it came from `alloc_zeroed` with this layout.
            unsafe { dealloc(self.address.as_ptr(), self.layout) }
        }
    }
}

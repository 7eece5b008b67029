//! Bindless arrays: slots that kernels choose by number.

use std::{marker::PhantomData, ops::Range};

use luisac_artifact::{BindlessRecord, abi::SAMPLER_MASK};

use super::{Buffer, Image, memory::Memory};
use crate::{RuntimeError, Sampler};

/// Slots, each with a buffer, a two-dimensional and a three-dimensional image, or some of them. It borrows what its slots hold.
pub struct BindlessArray<'r> {
    records: Memory,
    held: PhantomData<&'r ()>,
}

/// A view must start at a multiple of this, since a kernel may read elements of any type.
const VIEW_ALIGN: usize = 16;

impl<'r> BindlessArray<'r> {
    pub(crate) fn new(slots: usize) -> Result<Self, RuntimeError> {
        let each = size_of::<BindlessRecord>();
        let bytes = slots.checked_mul(each).ok_or(RuntimeError::OutOfMemory { bytes: u64::MAX })?;
        Ok(Self { records: Memory::zeroed(bytes)?, held: PhantomData })
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.records.len() / size_of::<BindlessRecord>()
    }

    /// Puts a buffer into a slot.
    ///
    /// # Errors
    /// [`RuntimeError::Slot`] if there is no such slot.
    pub fn set_buffer(&self, slot: usize, buffer: &'r Buffer) -> Result<(), RuntimeError> {
        self.put_buffer(slot, buffer.0.address() as u64, buffer.len() as u64)
    }

    /// Puts bytes of a buffer into a slot.
    ///
    /// # Errors
    /// [`RuntimeError::Slot`], or [`RuntimeError::SlotView`] unless the bytes lie inside and start at a multiple of 16.
    pub fn set_view(
        &self,
        slot: usize,
        buffer: &'r Buffer,
        range: Range<usize>,
    ) -> Result<(), RuntimeError> {
        let (start, end, size) = (range.start, range.end, buffer.len());
        if start > end || end > size || !start.is_multiple_of(VIEW_ALIGN) {
            return Err(RuntimeError::SlotView { slot, start, end, size });
        }
        self.put_buffer(slot, buffer.0.address() as u64 + start as u64, range.len() as u64)
    }

    /// Puts an image into a slot, from `level` on; beside an image of the other dimension that the slot holds.
    ///
    /// # Errors
    /// [`RuntimeError::Slot`] or [`RuntimeError::ImageLevel`].
    pub fn set_image(
        &self,
        slot: usize,
        image: &'r Image,
        level: u32,
        sampler: Sampler,
    ) -> Result<(), RuntimeError> {
        let word = image.views(level)? & !SAMPLER_MASK | u64::from(sampler.code());
        self.put(slot, image_offset(image.dimension()), &word.to_le_bytes())
    }

    /// Takes the buffer out of a slot.
    ///
    /// # Errors
    /// [`RuntimeError::Slot`].
    pub fn remove_buffer(&self, slot: usize) -> Result<(), RuntimeError> {
        self.put_buffer(slot, 0, 0)
    }

    /// Takes the image of 2 or 3 dimensions out of a slot.
    ///
    /// # Errors
    /// [`RuntimeError::Slot`].
    pub fn remove_image(&self, slot: usize, dimension: u32) -> Result<(), RuntimeError> {
        self.put(slot, image_offset(dimension), &[0; 8])
    }

    pub(crate) fn put_buffer(
        &self,
        slot: usize,
        address: u64,
        bytes: u64,
    ) -> Result<(), RuntimeError> {
        let mut words = [0; 16];
        words[..8].copy_from_slice(&address.to_le_bytes());
        words[8..].copy_from_slice(&bytes.to_le_bytes());
        self.put(slot, std::mem::offset_of!(BindlessRecord, buffer), &words)
    }

    pub(crate) fn put(&self, slot: usize, offset: usize, bytes: &[u8]) -> Result<(), RuntimeError> {
        let slots = self.slots();
        if slot >= slots {
            return Err(RuntimeError::Slot { slot, slots });
        }
        self.records.write(slot * size_of::<BindlessRecord>() + offset, bytes);
        Ok(())
    }

    /// What a kernel gets: the address of the records, and their number.
    pub(crate) fn words(&self) -> (u64, u64) {
        (self.records.address() as u64, self.slots() as u64)
    }
}

pub(crate) fn image_offset(dimension: u32) -> usize {
    match dimension {
        2 => std::mem::offset_of!(BindlessRecord, image2d),
        _ => std::mem::offset_of!(BindlessRecord, image3d),
    }
}

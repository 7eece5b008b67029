//! Bindless arrays: 32 bytes a slot, with the places of its resources in the heaps (`docs/abi.md`).

use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Buffer, Image, VulkanError, device::Shared, heap::Heap};
use crate::{RuntimeError, Sampler};

/// Bytes of a slot's record.
pub(super) const RECORD: u64 = 32;

/// An array of buffers and images that kernels index. A clone is the same array.
#[derive(Clone)]
pub struct BindlessArray(Arc<Inner>);

struct Inner {
    device: Arc<Shared>,
    records: Buffer,
    slots: Mutex<Vec<Slot>>,
}

/// What a slot holds, so that it lives as long as it can be reached.
#[derive(Clone, Default)]
struct Slot {
    buffer: Option<Buffer>,
    image2d: Option<Image>,
    image3d: Option<Image>,
}

impl BindlessArray {
    pub(super) fn new(device: &Arc<Shared>, slots: u32) -> Result<Self, RuntimeError> {
        for heap in [Heap::Buffers, Heap::Images2d, Heap::Images3d] {
            device.heap(heap)?;
        }
        let records = Buffer::zeroed(device, u64::from(slots) * RECORD)?;
        let slots = Mutex::new(vec![Slot::default(); slots as usize]);
        Ok(Self(Arc::new(Inner { device: device.clone(), records, slots })))
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.lock().len() as u32
    }

    /// Whether there are no slots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn records(&self) -> &Buffer {
        &self.0.records
    }

    pub(super) fn device(&self) -> &Arc<Shared> {
        &self.0.device
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a buffer, or what of it begins at `offset` bytes, into a slot; nothing empties the slot's buffer.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] for a slot or an offset that is not there; [`VulkanError::Limit`].
    pub fn set_buffer(
        &self,
        slot: u32,
        buffer: Option<(&Buffer, u64)>,
    ) -> Result<(), RuntimeError> {
        match buffer {
            Some((buffer, offset)) => self.set_view(slot, buffer, offset..buffer.len()),
            None => self.update(slot, 0, &[0; 16], |s| s.buffer = None),
        }
    }

    /// Puts bytes of a buffer into a slot.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] for a slot or a range that is not there; [`VulkanError::Limit`].
    pub fn set_view(
        &self,
        slot: u32,
        buffer: &Buffer,
        range: Range<u64>,
    ) -> Result<(), RuntimeError> {
        self.check_device(&buffer.0.device)?;
        let record = buffer_record(buffer, range)?;
        self.update(slot, 0, &record, |s| s.buffer = Some(buffer.clone()))
    }

    /// Puts an image with a sampler into a slot; nothing empties the slot's image of `dimension`.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] for a slot that is not there or an image of other dimensions; [`VulkanError::Limit`].
    pub fn set_image(
        &self,
        slot: u32,
        dimension: u32,
        image: Option<(&Image, Sampler)>,
    ) -> Result<(), RuntimeError> {
        let mut record = [0; 8];
        if let Some((image, sampler)) = image {
            self.check_device(&image.0.device)?;
            if image.dimension() != dimension {
                let (expected, got) = (dimension.into(), image.dimension().into());
                return Err(RuntimeError::DataSize { expected, got, unit: "dimensions" });
            }
            record = image_record(image, 0, sampler)?;
        }
        self.update(slot, image_offset(dimension), &record, |s| {
            *(if dimension == 3 { &mut s.image3d } else { &mut s.image2d }) =
                image.map(|(i, _)| i.clone());
        })
    }

    /// Stores a part of a slot's record. What it leads to must live as long as it can be reached.
    pub(super) fn store(&self, slot: u32, offset: u64, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.0.records.upload(u64::from(slot) * RECORD + offset, bytes)
    }

    fn check_device(&self, other: &Arc<Shared>) -> Result<(), RuntimeError> {
        if Arc::ptr_eq(other, &self.0.device) {
            return Ok(());
        }
        Err(VulkanError::NoDevice("the resource belongs to another one".into()).into())
    }

    fn update(
        &self,
        slot: u32,
        offset: u64,
        bytes: &[u8],
        keep: impl FnOnce(&mut Slot),
    ) -> Result<(), RuntimeError> {
        let mut slots = self.lock();
        let count = slots.len() as u64;
        let Some(entry) = slots.get_mut(slot as usize) else {
            return Err(RuntimeError::DataSize {
                expected: count,
                got: slot.into(),
                unit: "slots",
            });
        };
        self.store(slot, offset, bytes)?;
        keep(entry);
        Ok(())
    }
}

/// The part of a record that says where a buffer's bytes are.
pub(super) fn buffer_record(buffer: &Buffer, range: Range<u64>) -> Result<[u8; 16], RuntimeError> {
    let size = range.end.checked_sub(range.start).filter(|_| range.end <= buffer.len());
    let Some(size) = size else {
        let (expected, got) = (buffer.len(), range.start.max(range.end));
        return Err(RuntimeError::DataSize { expected, got, unit: "bytes" });
    };
    let Ok(offset) = u32::try_from(range.start) else {
        let most = u32::MAX.into();
        let (what, asked) = ("an offset in bytes", range.start);
        return Err(VulkanError::Limit { what, asked, most }.into());
    };
    let mut record = [0; 16];
    record[0..4].copy_from_slice(&buffer.0.place()?.to_le_bytes());
    record[4..8].copy_from_slice(&offset.to_le_bytes());
    record[8..16].copy_from_slice(&size.to_le_bytes());
    Ok(record)
}

/// The part of a record that says where an image is, from a level on.
pub(super) fn image_record(
    image: &Image,
    level: u32,
    sampler: Sampler,
) -> Result<[u8; 8], RuntimeError> {
    // Places are below 2^16, so that the sampler's bits are free.
    let word = image.0.place(level)? | sampler.code() << 28;
    Ok(u64::from(word).to_le_bytes())
}

/// Where in a record the image of 2 or 3 dimensions is.
pub(super) fn image_offset(dimension: u32) -> u64 {
    if dimension == 3 { 24 } else { 16 }
}

//! Commands that move bytes.
//!
//! All of them go through raw addresses. Ranges were checked when the commands were recorded, and the scheduler keeps
//! every other access to the same bytes away while one of these runs.

use std::sync::Arc;

use luisac_artifact::abi::SAMPLER_MASK;

use super::{CpuArray, CpuBuffer, CpuImage, own};
use crate::{
    ImageLevel, RuntimeError, host,
    list::Command,
    resource::{ArrayMemory, BufferView, Change, ImageMember},
};

/// Bytes of a resource.
struct Place {
    address: *mut u8,
    len: usize,
}

impl Place {
    fn of(view: &BufferView) -> Result<Self, RuntimeError> {
        let buffer: &CpuBuffer = own(&view.memory.raw)?;
        let len = view.bytes as usize;
        // SAFETY: views lie inside their buffers.
        Ok(Self { address: unsafe { buffer.0.0.address().add(view.start as usize) }, len })
    }

    fn level(level: &ImageLevel) -> Result<Self, RuntimeError> {
        let image: &CpuImage = own(&level.memory.raw)?;
        let (address, len) = image.0.level_memory(level.level)?;
        Ok(Self { address, len })
    }

    fn take(&self) -> Result<Vec<u8>, RuntimeError> {
        let mut bytes: Vec<u8> = Vec::new();
        let out_of_memory = |_| RuntimeError::OutOfMemory { bytes: self.len as u64 };
        bytes.try_reserve_exact(self.len).map_err(out_of_memory)?;
        // SAFETY: the module's head says why nobody writes here now; a new vector overlaps nothing, and has the room.
        unsafe {
            bytes.as_mut_ptr().copy_from_nonoverlapping(self.address, self.len);
            bytes.set_len(self.len);
        }
        Ok(bytes)
    }

    fn put(&self, bytes: &[u8]) {
        let len = self.len.min(bytes.len());
        // SAFETY: as in `take`; the bytes are the list's own.
        unsafe { self.address.copy_from_nonoverlapping(bytes.as_ptr(), len) }
    }

    fn copy_to(&self, to: &Self) {
        // SAFETY: as in `take`. Ranges that overlap were refused, but `copy` would bear them.
        unsafe { to.address.copy_from(self.address, self.len.min(to.len)) }
    }

    fn fill(&self, pattern: &[u8]) {
        let unit = pattern.len().min(self.len);
        if unit == 0 {
            return;
        }
        self.put(pattern);
        // What is filled doubles until it is all.
        let mut done = unit;
        while done < self.len {
            let more = done.min(self.len - done);
            // SAFETY: as in `take`; both halves lie inside, one behind the other.
            unsafe { self.address.add(done).copy_from_nonoverlapping(self.address, more) }
            done += more;
        }
    }
}

/// Runs a command that is no dispatch and calls nothing.
pub(super) fn run(command: &Command) -> Result<(), RuntimeError> {
    match command {
        Command::Upload { data, to } => Place::of(to)?.put(data),
        Command::Download { from, to } => to.set(Place::of(from)?.take()?),
        Command::Copy { from, to } => Place::of(from)?.copy_to(&Place::of(to)?),
        Command::Fill { to, with } => Place::of(to)?.fill(with),
        Command::UploadImage { data, to } => Place::level(to)?.put(data),
        Command::DownloadImage { from, to } => to.set(Place::level(from)?.take()?),
        Command::CopyImage { from, to } => Place::level(from)?.copy_to(&Place::level(to)?),
        Command::BufferToImage { from, to } => Place::of(from)?.copy_to(&Place::level(to)?),
        Command::ImageToBuffer { from, to } => Place::level(from)?.copy_to(&Place::of(to)?),
        Command::Update { array, changes } => update(array, changes)?,
        Command::Dispatch { .. } | Command::Callback(_) | Command::Signal(_) => {}
    }
    Ok(())
}

/// Writes the records of slots; `docs/abi.md` says what they hold.
pub(super) fn update(
    array: &Arc<ArrayMemory>,
    changes: &[(u32, Change)],
) -> Result<(), RuntimeError> {
    let records: &CpuArray = own(&array.raw)?;
    for (slot, change) in changes {
        let slot = *slot as usize;
        match change {
            Change::Buffer(None) => records.0.put_buffer(slot, 0, 0)?,
            Change::Buffer(Some(view)) => {
                records.0.put_buffer(slot, Place::of(view)?.address as u64, view.bytes)?;
            }
            Change::Image(dimension, image) => {
                let word = image.as_ref().map_or(Ok(0), image_word)?;
                records.0.put(slot, host::image_offset(*dimension), &word.to_le_bytes())?;
            }
        }
    }
    Ok(())
}

/// What leads to an image from a level on, with its sampler.
fn image_word(member: &ImageMember) -> Result<u64, RuntimeError> {
    let image: &CpuImage = own(&member.level.memory.raw)?;
    Ok(image.0.views(member.level.level)? & !SAMPLER_MASK | u64::from(member.sampler.code()))
}

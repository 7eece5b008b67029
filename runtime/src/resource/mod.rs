//! Resources: what kernels read and write. Handles are cheap to clone; a resource lives until its last handle is gone
//! and the last list that uses it has run.

mod array;
mod buffer;
mod event;
mod image;
mod indirect;

pub use array::BindlessArray;
pub(crate) use array::{ArrayMemory, Change, Contents, ImageMember, Slot};
pub use buffer::Buffer;
pub(crate) use buffer::{BufferMemory, BufferView};
pub use event::Event;
pub(crate) use image::ImageMemory;
pub use image::{Image, ImageLevel};
pub use indirect::{INDIRECT_ENTRY_BYTES, INDIRECT_HEADER_BYTES, IndirectBuffer, IndirectDispatch};

use std::sync::Mutex;

use crate::stream::Uses;

/// What every resource has, whatever it is.
pub(crate) struct Common {
    /// Unique among all resources of the process.
    pub(crate) id: u64,
    /// The device it belongs to.
    pub(crate) device: crate::Device,
    /// Which runs used it last, on whatever stream.
    pub(crate) uses: Mutex<Uses>,
}

impl Common {
    pub(crate) fn new(device: &crate::Device) -> Self {
        Self { id: crate::open::next_id(), device: device.clone(), uses: Mutex::default() }
    }
}

//! Bindless arrays: tables of resources that kernels index.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::{BufferView, Common};
use crate::{Buffer, Device, ImageLevel, RuntimeError, Sampler, Value, backend::Raw};

/// A view in a slot starts at a multiple of this, since a kernel may read elements of any type.
const SLOT_VIEW_ALIGN: u64 = 16;

/// An image from a level on, with the way it is sampled.
#[derive(Clone)]
pub(crate) struct ImageMember {
    pub(crate) level: ImageLevel,
    pub(crate) sampler: Sampler,
}

/// A slot: a buffer, an image of two and one of three dimensions, each with its sampler; any may be absent.
#[derive(Clone, Default)]
pub(crate) struct Slot {
    pub(crate) buffer: Option<BufferView>,
    pub(crate) image_2d: Option<ImageMember>,
    pub(crate) image_3d: Option<ImageMember>,
}

/// What a slot shall hold.
#[derive(Clone)]
pub(crate) enum Change {
    Buffer(Option<BufferView>),
    /// The image of 2 or 3 dimensions.
    Image(u32, Option<ImageMember>),
}

impl From<&Change> for Slot {
    /// A slot that holds nothing else.
    fn from(change: &Change) -> Self {
        let mut slot = Self::default();
        slot.apply(change);
        slot
    }
}

impl Slot {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Buffer(b) => self.buffer = b.clone(),
            Change::Image(2, i) => self.image_2d = i.clone(),
            Change::Image(_, i) => self.image_3d = i.clone(),
        }
    }
}

/// What an array holds at some point.
#[derive(Clone, Default)]
pub(crate) struct Contents {
    /// Slots that were ever given something.
    pub(crate) slots: BTreeMap<u32, Slot>,
}

impl Contents {
    /// Whether the changes would change nothing.
    pub(crate) fn has(&self, changes: &[(u32, Change)]) -> bool {
        let empty = Slot::default();
        changes.iter().all(|(slot, change)| {
            let slot = self.slots.get(slot).unwrap_or(&empty);
            match change {
                Change::Buffer(b) => match (b, &slot.buffer) {
                    (None, None) => true,
                    (Some(a), Some(b)) => a.same(b),
                    _ => false,
                },
                Change::Image(2, i) => same_image(i.as_ref(), slot.image_2d.as_ref()),
                Change::Image(_, i) => same_image(i.as_ref(), slot.image_3d.as_ref()),
            }
        })
    }

    pub(crate) fn apply(&mut self, changes: &[(u32, Change)]) {
        for (slot, change) in changes {
            self.slots.entry(*slot).or_default().apply(change);
        }
    }
}

fn same_image(a: Option<&ImageMember>, b: Option<&ImageMember>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            Arc::ptr_eq(&a.level.memory, &b.level.memory)
                && (a.level.level, a.sampler) == (b.level.level, b.sampler)
        }
        _ => false,
    }
}

/// The table of an array.
pub(crate) struct ArrayMemory {
    pub(crate) common: Common,
    pub(crate) slots: u32,
    pub(crate) raw: Raw,
    /// What it holds once all that was submitted has run. It keeps the members alive.
    pub(crate) contents: Mutex<Arc<Contents>>,
    /// What the handle has been told and no list has been given yet.
    pending: Mutex<Vec<(u32, Change)>>,
}

impl ArrayMemory {
    pub(crate) fn contents(&self) -> Arc<Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_contents(&self, contents: Arc<Contents>) {
        *self.contents.lock().unwrap_or_else(PoisonError::into_inner) = contents;
    }

    pub(crate) fn take_pending(&self) -> Vec<(u32, Change)> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A table of buffers and images that kernels index. What [`Self::set_buffer`] and its like say takes effect where a list
/// has [`CommandList::update`](crate::CommandList::update).
#[derive(Clone)]
pub struct BindlessArray(pub(crate) Arc<ArrayMemory>);

impl fmt::Debug for BindlessArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BindlessArray({}: {} slots)", self.0.common.id, self.0.slots)
    }
}

impl BindlessArray {
    pub(crate) fn new(device: &Device, slots: u32) -> Result<Self, RuntimeError> {
        let raw = device.backend().bindless_array(slots)?;
        Ok(Self(Arc::new(ArrayMemory {
            common: Common::new(device),
            slots,
            raw,
            contents: Mutex::default(),
            pending: Mutex::default(),
        })))
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.0.slots
    }

    fn change(&self, slot: u32, change: Change) -> Result<(), RuntimeError> {
        if slot >= self.0.slots {
            let (start, size) = (slot.into(), self.0.slots.into());
            return Err(RuntimeError::Range { what: "a slot", start, end: start + 1, size });
        }
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner).push((slot, change));
        Ok(())
    }

    /// Puts a buffer into a slot.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there is no such slot, [`RuntimeError::OtherDevice`]; [`RuntimeError::SlotView`] for a view
    /// that does not start at a multiple of 16 bytes.
    pub fn set_buffer<T: Value>(&self, slot: u32, buffer: &Buffer<T>) -> Result<(), RuntimeError> {
        let view = buffer.bytes();
        self.0.common.device.owns(&view.memory.common)?;
        if !view.start.is_multiple_of(SLOT_VIEW_ALIGN) {
            let (start, end, size) =
                (view.start as usize, view.end() as usize, view.memory.bytes as usize);
            return Err(RuntimeError::SlotView { slot: slot as usize, start, end, size });
        }
        self.change(slot, Change::Buffer(Some(view.clone())))
    }

    /// Puts an image into a slot, from a level on; beside an image of the other dimension that the slot holds.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there is no such slot, [`RuntimeError::OtherDevice`].
    pub fn set_image(
        &self,
        slot: u32,
        level: &ImageLevel,
        sampler: Sampler,
    ) -> Result<(), RuntimeError> {
        self.0.common.device.owns(&level.memory.common)?;
        let member = ImageMember { level: level.clone(), sampler };
        self.change(slot, Change::Image(level.memory.shape.dimension, Some(member)))
    }

    /// Empties a slot.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there is no such slot.
    pub fn clear(&self, slot: u32) -> Result<(), RuntimeError> {
        self.change(slot, Change::Buffer(None))?;
        self.change(slot, Change::Image(2, None))?;
        self.change(slot, Change::Image(3, None))
    }
}

//! Buffers and views of them.

use std::{
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
    sync::Arc,
};

use super::Common;
use crate::{Device, RuntimeError, Value, backend::Raw, value};

/// The memory that buffers are views of.
pub(crate) struct BufferMemory {
    pub(crate) common: Common,
    pub(crate) bytes: u64,
    pub(crate) raw: Raw,
}

/// Bytes of a buffer.
#[derive(Clone)]
pub(crate) struct BufferView {
    pub(crate) memory: Arc<BufferMemory>,
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

impl BufferView {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Whether the two are the same bytes.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
            && (self.start, self.bytes) == (other.start, other.bytes)
    }

    /// Whether the two have bytes in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
            && self.start < other.end()
            && other.start < self.end()
    }
}

/// Values in a device's memory, or a view of some of them. A `Buffer<u8>` is plain bytes and fits every buffer argument.
pub struct Buffer<T: Value = u8> {
    view: BufferView,
    element: PhantomData<fn() -> T>,
}

impl<T: Value> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self::of(self.view.clone())
    }
}

impl<T: Value> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ty, view) = (value::description::<T>(), &self.view);
        write!(f, "Buffer<{ty}>({}: {}..{})", view.memory.common.id, view.start, view.end())
    }
}

impl<T: Value> Buffer<T> {
    fn of(view: BufferView) -> Self {
        Self { view, element: PhantomData }
    }

    pub(crate) fn new(device: &Device, len: usize) -> Result<Self, RuntimeError> {
        let bytes = (len as u64).checked_mul(T::SIZE as u64);
        let bytes = bytes.ok_or(RuntimeError::OutOfMemory { bytes: u64::MAX })?;
        let raw = device.backend().buffer(bytes)?;
        let memory = Arc::new(BufferMemory { common: Common::new(device), bytes, raw });
        Ok(Self::of(BufferView { memory, start: 0, bytes }))
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        (self.view.bytes / T::SIZE.max(1) as u64) as usize
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn bytes(&self) -> &BufferView {
        &self.view
    }

    /// Some of the elements. The view shares the memory and keeps it alive.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if the range passes the end.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<Self, RuntimeError> {
        let len = self.len();
        let start = match range.start_bound() {
            Bound::Included(&s) => s,
            Bound::Excluded(&s) => s.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&e) => e.saturating_add(1),
            Bound::Excluded(&e) => e,
            Bound::Unbounded => len,
        };
        if start > end || end > len {
            let (start, end, size) = (start as u64, end as u64, len as u64);
            return Err(RuntimeError::Range { what: "a view", start, end, size });
        }
        let size = T::SIZE as u64;
        Ok(Self::of(BufferView {
            memory: self.view.memory.clone(),
            start: self.view.start + start as u64 * size,
            bytes: (end - start) as u64 * size,
        }))
    }

    /// The same bytes as values of another type.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] unless the bytes are a whole number of such values and start at their alignment.
    pub fn cast<U: Value>(&self) -> Result<Buffer<U>, RuntimeError> {
        let (start, end) = (self.view.start, self.view.end());
        let whole = self.view.bytes.is_multiple_of(U::SIZE.max(1) as u64);
        if !whole || !start.is_multiple_of(U::ALIGN as u64) {
            let size = self.view.memory.bytes;
            return Err(RuntimeError::Range { what: "a view as another type", start, end, size });
        }
        Ok(Buffer::of(self.view.clone()))
    }

    /// Copies `data` to the start of the buffer, after all that was submitted before, and waits for it.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there is more data than room; what the device says.
    pub fn write(&self, data: &[T]) -> Result<(), RuntimeError> {
        let mut list = self.view.memory.common.device.list();
        list.upload(&self.view(..data.len())?, data)?;
        list.run()
    }

    /// All elements, after all that was submitted before.
    ///
    /// # Errors
    /// What the device says.
    pub fn read(&self) -> Result<Vec<T>, RuntimeError> {
        let mut list = self.view.memory.common.device.list();
        let download = list.download(self)?;
        list.run()?;
        Ok(download.take())
    }
}

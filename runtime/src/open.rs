//! Devices.

use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    BindlessArray, Buffer, CommandList, Event, Image, ImageShape, IndirectBuffer, Kernel, Metadata,
    PixelStorage, RuntimeError, Stream, Value, backend::Backend, cpu::Cpu, resource::Common,
};

/// The devices that this build can open, if they are there.
pub(crate) const NAMES: &[&str] = &[
    "cpu",
    #[cfg(feature = "cuda")]
    "cuda",
    #[cfg(feature = "vulkan")]
    "vulkan",
    #[cfg(feature = "wgpu")]
    "wgpu",
    #[cfg(feature = "wgpu")]
    "dx12",
    #[cfg(feature = "wgpu")]
    "metal",
];

/// A number that nothing else in the process has.
pub(crate) fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) struct Inner {
    backend: Box<dyn Backend>,
    /// Held while a list is given its place among all that was submitted.
    pub(crate) order: Mutex<()>,
}

/// Where kernels run, and where resources are made. Cheap to clone.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

impl Device {
    /// Opens a device by its name: `cpu`, `cuda` (feature `cuda`), `vulkan` (feature `vulkan`), or (feature `wgpu`) `wgpu`, `dx12`,
    /// `metal`.
    ///
    /// # Errors
    /// [`RuntimeError::NoDevice`] for names of nothing that is here.
    pub fn open(name: &str) -> Result<Self, RuntimeError> {
        match name {
            "cpu" => Ok(Self::cpu()),
            #[cfg(feature = "cuda")]
            "cuda" => Ok(Self::with_backend(crate::cuda::Cuda::open()?)),
            #[cfg(feature = "vulkan")]
            "vulkan" => Ok(Self::with_backend(crate::vulkan::Vulkan::open()?)),
            #[cfg(feature = "wgpu")]
            "wgpu" | "dx12" | "metal" => {
                Ok(Self::with_backend(crate::wgpu::Wgpu::open(crate::wgpu::Api::named(name))?))
            }
            _ => Err(RuntimeError::NoDevice {
                device: name.into(),
                reason: format!("this program has the devices: {}", NAMES.join(", ")),
            }),
        }
    }

    /// The CPU, with a thread for each processor, or as many as `RAYON_NUM_THREADS` says.
    #[must_use]
    pub fn cpu() -> Self {
        Self::with_backend(Cpu::new(crate::host::Device::cpu()))
    }

    /// The CPU with this many threads, at least one.
    #[must_use]
    pub fn cpu_with_threads(threads: usize) -> Self {
        Self::with_backend(Cpu::new(crate::host::Device::cpu_with_threads(threads)))
    }

    pub(crate) fn with_backend(backend: impl Backend + 'static) -> Self {
        Self(Arc::new(Inner { backend: Box::new(backend), order: Mutex::default() }))
    }

    /// The name it was opened by.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.backend.name()
    }

    /// What it is, in words: the hardware and its driver.
    #[must_use]
    pub fn describe(&self) -> String {
        self.0.backend.describe()
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        self.0.backend.deref()
    }

    pub(crate) fn order(&self) -> &Mutex<()> {
        &self.0.order
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Refuses what belongs to another device.
    pub(crate) fn owns(&self, resource: &Common) -> Result<(), RuntimeError> {
        if self.is(&resource.device) { Ok(()) } else { Err(RuntimeError::OtherDevice) }
    }

    /// A buffer of `len` values, all bytes zero.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], or what the device says.
    pub fn buffer<T: Value>(&self, len: usize) -> Result<Buffer<T>, RuntimeError> {
        Buffer::new(self, len)
    }

    /// A buffer that holds `data`.
    ///
    /// # Errors
    /// As [`Self::buffer`].
    pub fn buffer_from<T: Value>(&self, data: &[T]) -> Result<Buffer<T>, RuntimeError> {
        let buffer = Buffer::new(self, data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// An image of two dimensions and one level, zero at first.
    ///
    /// # Errors
    /// [`RuntimeError::ImageShape`], [`RuntimeError::OutOfMemory`], or what the device says.
    pub fn image_2d(&self, storage: PixelStorage, size: [u32; 2]) -> Result<Image, RuntimeError> {
        let size = [size[0], size[1], 1];
        self.image(ImageShape { storage, dimension: 2, size, levels: 1 })
    }

    /// An image of three dimensions and one level, zero at first.
    ///
    /// # Errors
    /// As [`Self::image_2d`].
    pub fn image_3d(&self, storage: PixelStorage, size: [u32; 3]) -> Result<Image, RuntimeError> {
        self.image(ImageShape { storage, dimension: 3, size, levels: 1 })
    }

    /// An image of any shape, zero at first.
    ///
    /// # Errors
    /// As [`Self::image_2d`].
    pub fn image(&self, shape: ImageShape) -> Result<Image, RuntimeError> {
        Image::new(self, shape)
    }

    /// A bindless array of empty slots.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], or what the device says.
    pub fn bindless_array(&self, slots: u32) -> Result<BindlessArray, RuntimeError> {
        BindlessArray::new(self, slots)
    }

    /// A buffer of dispatch sizes, none at first.
    ///
    /// # Errors
    /// As [`Self::buffer`].
    pub fn indirect_buffer(&self, capacity: u32) -> Result<IndirectBuffer, RuntimeError> {
        IndirectBuffer::new(self, capacity)
    }

    /// An event that nothing has signalled.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::default()
    }

    /// A stream, which runs lists one after the other.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self)
    }

    /// An empty list of commands.
    #[must_use]
    pub fn list(&self) -> CommandList {
        CommandList::new(self)
    }

    /// Loads a kernel: code for this device, with the metadata that was written beside it.
    ///
    /// # Errors
    /// [`crate::LoadError`] for anything that is damaged or foreign.
    ///
    /// # Safety
    /// The code will run. It must be what the compiler wrote for this metadata, and a kernel compiled without bounds checks
    /// must not be dispatched so that it leaves its buffers.
    pub unsafe fn load(&self, code: &[u8], metadata: Metadata) -> Result<Kernel, RuntimeError> {
        // SAFETY: the caller's promise.
        unsafe { Kernel::load(self, code, metadata) }
    }
}

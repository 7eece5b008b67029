//! Storage images in host memory.

use luisac_artifact::{ImageView, PixelStorage};

use super::memory::Memory;
use crate::{RuntimeError, texel};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for u32 {}
}

/// What a texel's channels can be seen as: `f32`, `i32` or `u32`.
pub trait Texel: Copy + Default + sealed::Sealed {
    #[doc(hidden)]
    fn read(storage: PixelStorage, texel: &[u8]) -> [Self; 4];
    #[doc(hidden)]
    fn write(storage: PixelStorage, value: [Self; 4], texel: &mut [u8]);
}

impl Texel for f32 {
    fn read(storage: PixelStorage, texel: &[u8]) -> [Self; 4] {
        texel::to_f32(storage, texel)
    }

    fn write(storage: PixelStorage, value: [Self; 4], texel: &mut [u8]) {
        texel::from_f32(storage, value, texel);
    }
}

impl Texel for u32 {
    fn read(storage: PixelStorage, texel: &[u8]) -> [Self; 4] {
        texel::to_u32(storage, texel)
    }

    fn write(storage: PixelStorage, value: [Self; 4], texel: &mut [u8]) {
        texel::from_u32(storage, value, texel);
    }
}

impl Texel for i32 {
    fn read(storage: PixelStorage, texel: &[u8]) -> [Self; 4] {
        texel::to_u32(storage, texel).map(|v| v as i32)
    }

    fn write(storage: PixelStorage, value: [Self; 4], texel: &mut [u8]) {
        texel::from_u32(storage, value.map(|v| v as u32), texel);
    }
}

/// An image of two or three dimensions with one level, rows and slices without gaps, zero at first.
pub struct Image {
    memory: Memory,
    storage: PixelStorage,
    dimension: u32,
    size: [u32; 3],
}

impl Image {
    pub(crate) fn new(
        storage: PixelStorage,
        dimension: u32,
        size: [u32; 3],
    ) -> Result<Self, RuntimeError> {
        let wrong = |reason| Err(RuntimeError::ImageShape { size, storage, reason });
        if !storage.is_storage() {
            return wrong("kernels cannot access compressed texels");
        }
        if size.contains(&0) {
            return wrong("it has no texels");
        }
        let bytes =
            size.iter().try_fold(u64::from(storage.bytes()), |a, &b| a.checked_mul(b.into()));
        let Some(bytes) = bytes.and_then(|b| usize::try_from(b).ok()) else {
            return wrong("it is too large");
        };
        Ok(Self { memory: Memory::zeroed(bytes)?, storage, dimension, size })
    }

    /// How texels are stored.
    #[must_use]
    pub fn storage(&self) -> PixelStorage {
        self.storage
    }

    /// 2 or 3.
    #[must_use]
    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// Texels along x, y, z; z is 1 for two dimensions.
    #[must_use]
    pub fn size(&self) -> [u32; 3] {
        self.size
    }

    fn texels(&self) -> usize {
        self.memory.len() / self.storage.bytes() as usize
    }

    /// Stores `data`: texels in rows, rows in slices, each texel of `channels` (1 to 4) numbers. Channels beyond
    /// those given are zero, those that the storage lacks are dropped.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the data fills the image.
    pub fn upload<T: Texel>(&mut self, data: &[T], channels: usize) -> Result<(), RuntimeError> {
        let channels = channels.clamp(1, 4);
        let expected = self.texels() * channels;
        if data.len() != expected {
            return Err(RuntimeError::DataSize {
                expected: expected as u64,
                got: data.len() as u64,
                unit: "numbers",
            });
        }
        let (storage, bytes) = (self.storage, self.storage.bytes() as usize);
        for (target, source) in
            self.memory.bytes_mut().chunks_exact_mut(bytes).zip(data.chunks_exact(channels))
        {
            let mut value = [T::default(); 4];
            value[..channels].copy_from_slice(source);
            T::write(storage, value, target);
        }
        Ok(())
    }

    /// All texels, each of `channels` (1 to 4) numbers; channels that are not stored are zero.
    #[must_use]
    pub fn download<T: Texel>(&self, channels: usize) -> Vec<T> {
        let bytes = self.memory.to_vec();
        let mut out = Vec::with_capacity(self.texels() * channels.clamp(1, 4));
        for texel in bytes.chunks_exact(self.storage.bytes() as usize) {
            out.extend_from_slice(&T::read(self.storage, texel)[..channels.clamp(1, 4)]);
        }
        out
    }

    /// Stores texels as they are.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the data fills the image.
    pub fn upload_bytes(&self, data: &[u8]) -> Result<(), RuntimeError> {
        if data.len() != self.memory.len() || !self.memory.write(0, data) {
            return Err(RuntimeError::DataSize {
                expected: self.memory.len() as u64,
                got: data.len() as u64,
                unit: "bytes",
            });
        }
        Ok(())
    }

    /// All texels as they are stored.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.memory.to_vec()
    }

    /// What a kernel gets.
    pub(crate) fn view(&self) -> ImageView {
        let [width, height, depth] = self.size;
        let row_stride = u64::from(width) * u64::from(self.storage.bytes());
        ImageView {
            data: self.memory.address() as u64,
            width,
            height,
            depth,
            storage: self.storage.number(),
            row_stride,
            slice_stride: row_stride * u64::from(height),
        }
    }
}

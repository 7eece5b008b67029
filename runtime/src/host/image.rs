//! Images in host memory.

use std::ops::Range;

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

/// An image of two or three dimensions and one or more levels, zero at first. A level is half as large as the one before on each
/// axis, one texel at least. In memory the levels lie one after the other, rows and slices without gaps.
pub struct Image {
    memory: Memory,
    storage: PixelStorage,
    dimension: u32,
    /// What kernels get, a view a level; a box, so that it stays where it is.
    views: Box<[ImageView]>,
}

/// Texels of a level on each axis.
fn level_size(size: [u32; 3], level: u32) -> [u32; 3] {
    size.map(|n| n.checked_shr(level).unwrap_or(0).max(1))
}

impl Image {
    pub(crate) fn new(
        storage: PixelStorage,
        dimension: u32,
        size: [u32; 3],
        levels: u32,
    ) -> Result<Self, RuntimeError> {
        let wrong = |reason| Err(RuntimeError::ImageShape { size, storage, reason });
        if !storage.is_storage() {
            return wrong("kernels cannot access compressed texels");
        }
        if size.contains(&0) {
            return wrong("it has no texels");
        }
        let longest = size.into_iter().max().unwrap_or(1);
        if levels == 0 || levels > longest.ilog2() + 1 {
            return wrong("the last level there can be has one texel, and there is one at least");
        }
        let Some((bytes, starts)) = place(storage, size, levels) else {
            return wrong("it is too large");
        };
        let memory = Memory::zeroed(bytes)?;
        let first = memory.address() as u64;
        let view = |(level, start): (u32, u64)| {
            let [width, height, depth] = level_size(size, level);
            let row_stride = u64::from(width) * u64::from(storage.bytes());
            ImageView {
                data: first + start,
                width,
                height,
                depth,
                storage: storage.number(),
                row_stride,
                slice_stride: row_stride * u64::from(height),
                levels: levels - level,
                reserved: 0,
            }
        };
        let views = (0..levels).zip(starts).map(view).collect();
        Ok(Self { memory, storage, dimension, views })
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

    /// Number of levels.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.views.len() as u32
    }

    /// Texels of the first level along x, y, z; z is 1 for two dimensions.
    #[must_use]
    pub fn size(&self) -> [u32; 3] {
        self.level_size(0)
    }

    /// Texels of a level along x, y, z.
    #[must_use]
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        let size = self.views.first().map_or([0; 3], |v| [v.width, v.height, v.depth]);
        level_size(size, level)
    }

    /// The bytes of a level within the memory.
    fn level_bytes(&self, level: u32) -> Result<Range<usize>, RuntimeError> {
        let levels = self.levels();
        let missing = RuntimeError::ImageLevel { level, levels };
        let view = self.views.get(level as usize).ok_or(missing)?;
        let start = (view.data - self.memory.address() as u64) as usize;
        Ok(start..start + (view.slice_stride * u64::from(view.depth)) as usize)
    }

    /// Address and bytes of a level.
    pub(crate) fn level_memory(&self, level: u32) -> Result<(*mut u8, usize), RuntimeError> {
        let range = self.level_bytes(level)?;
        // Inside the memory, so the sum is an address in it.
        Ok((self.memory.address().wrapping_add(range.start), range.len()))
    }

    /// Stores `data`, all levels one after the other: texels in rows, rows in slices, each texel of `channels` (1 to 4) numbers.
    /// Channels beyond those given are zero, those that the storage lacks are dropped.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the data fills the image.
    pub fn upload<T: Texel>(&self, data: &[T], channels: usize) -> Result<(), RuntimeError> {
        self.store(0..self.memory.len(), data, channels)
    }

    /// Stores `data` as one level; as [`Image::upload`].
    ///
    /// # Errors
    /// [`RuntimeError::ImageLevel`], or [`RuntimeError::DataSize`] unless the data fills the level.
    pub fn upload_level<T: Texel>(
        &self,
        level: u32,
        data: &[T],
        channels: usize,
    ) -> Result<(), RuntimeError> {
        self.store(self.level_bytes(level)?, data, channels)
    }

    fn store<T: Texel>(
        &self,
        range: Range<usize>,
        data: &[T],
        channels: usize,
    ) -> Result<(), RuntimeError> {
        let channels = channels.clamp(1, 4);
        let bytes = self.storage.bytes() as usize;
        let expected = range.len() / bytes * channels;
        if data.len() != expected {
            return Err(RuntimeError::DataSize {
                expected: expected as u64,
                got: data.len() as u64,
                unit: "numbers",
            });
        }
        let mut texels = vec![0; range.len()];
        for (target, source) in texels.chunks_exact_mut(bytes).zip(data.chunks_exact(channels)) {
            let mut value = [T::default(); 4];
            value[..channels].copy_from_slice(source);
            T::write(self.storage, value, target);
        }
        self.memory.write(range.start, &texels);
        Ok(())
    }

    /// All texels of all levels, each of `channels` (1 to 4) numbers; channels that are not stored are zero.
    #[must_use]
    pub fn download<T: Texel>(&self, channels: usize) -> Vec<T> {
        self.numbers(&self.memory.to_vec(), channels)
    }

    /// The texels of a level; as [`Image::download`].
    ///
    /// # Errors
    /// [`RuntimeError::ImageLevel`].
    pub fn download_level<T: Texel>(
        &self,
        level: u32,
        channels: usize,
    ) -> Result<Vec<T>, RuntimeError> {
        let range = self.level_bytes(level)?;
        let mut bytes = vec![0; range.len()];
        self.memory.read(range.start, &mut bytes);
        Ok(self.numbers(&bytes, channels))
    }

    fn numbers<T: Texel>(&self, bytes: &[u8], channels: usize) -> Vec<T> {
        let (each, channels) = (self.storage.bytes() as usize, channels.clamp(1, 4));
        let mut out = Vec::with_capacity(bytes.len() / each * channels);
        for texel in bytes.chunks_exact(each) {
            out.extend_from_slice(&T::read(self.storage, texel)[..channels]);
        }
        out
    }

    /// Stores the texels of all levels as they are.
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

    /// The texels of all levels as they are stored.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.memory.to_vec()
    }

    /// Address of what a kernel gets: the views of the levels from `level` on.
    pub(crate) fn views(&self, level: u32) -> Result<u64, RuntimeError> {
        let missing = RuntimeError::ImageLevel { level, levels: self.levels() };
        self.views.get(level as usize).map(|v| std::ptr::from_ref(v) as u64).ok_or(missing)
    }
}

/// Bytes of all levels, and where each starts; none if there is no such memory.
fn place(storage: PixelStorage, size: [u32; 3], levels: u32) -> Option<(usize, Vec<u64>)> {
    let (mut end, mut starts) = (0u64, Vec::new());
    for level in 0..levels {
        starts.push(end);
        let bytes = level_size(size, level)
            .iter()
            .try_fold(u64::from(storage.bytes()), |a, &b| a.checked_mul(b.into()))?;
        end = end.checked_add(bytes)?;
    }
    Some((usize::try_from(end).ok()?, starts))
}

//! Images and their levels.

use std::{fmt, sync::Arc};

use super::Common;
use crate::{Device, ImageShape, PixelStorage, RuntimeError, backend::Raw, host::Texel, texel};

/// The memory of an image.
pub(crate) struct ImageMemory {
    pub(crate) common: Common,
    pub(crate) shape: ImageShape,
    pub(crate) raw: Raw,
}

/// An image of two or three dimensions with one or more levels.
#[derive(Clone)]
pub struct Image(pub(crate) Arc<ImageMemory>);

/// One level of an image; as an argument, the level that a kernel reads and writes.
#[derive(Clone)]
pub struct ImageLevel {
    pub(crate) memory: Arc<ImageMemory>,
    pub(crate) level: u32,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}: {:?})", self.0.common.id, self.0.shape)
    }
}

impl Image {
    pub(crate) fn new(device: &Device, shape: ImageShape) -> Result<Self, RuntimeError> {
        let wrong = |reason| {
            Err(RuntimeError::ImageShape { size: shape.size, storage: shape.storage, reason })
        };
        if !shape.storage.is_storage() {
            return wrong("kernels cannot access compressed texels");
        }
        if shape.size.contains(&0) {
            return wrong("it has no texels");
        }
        let longest = shape.size.into_iter().max().unwrap_or(1);
        if shape.levels == 0 || shape.levels > u32::BITS - longest.leading_zeros() {
            return wrong("it has no levels, or levels smaller than a texel");
        }
        let mut bytes = Some(0u64);
        for level in 0..shape.levels {
            bytes = bytes.zip(shape.level_bytes(level)).and_then(|(a, b)| a.checked_add(b));
        }
        if bytes.is_none_or(|b| usize::try_from(b).is_err()) {
            return wrong("it is too large");
        }
        let raw = device.backend().image(&shape)?;
        Ok(Self(Arc::new(ImageMemory { common: Common::new(device), shape, raw })))
    }

    /// How it is made.
    #[must_use]
    pub fn shape(&self) -> &ImageShape {
        &self.0.shape
    }

    /// How texels are stored.
    #[must_use]
    pub fn storage(&self) -> PixelStorage {
        self.0.shape.storage
    }

    /// Texels of level 0 along x, y, z.
    #[must_use]
    pub fn size(&self) -> [u32; 3] {
        self.0.shape.size
    }

    /// A level.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if the image has no such level.
    pub fn level(&self, level: u32) -> Result<ImageLevel, RuntimeError> {
        if level >= self.0.shape.levels {
            let (start, size) = (level.into(), self.0.shape.levels.into());
            return Err(RuntimeError::Range { what: "a level", start, end: start + 1, size });
        }
        Ok(ImageLevel { memory: self.0.clone(), level })
    }

    /// Level 0, which every image has.
    #[must_use]
    pub fn base(&self) -> ImageLevel {
        ImageLevel { memory: self.0.clone(), level: 0 }
    }
}

impl ImageLevel {
    /// Texels along x, y, z.
    #[must_use]
    pub fn size(&self) -> [u32; 3] {
        self.memory.shape.level_size(self.level)
    }

    /// Bytes, rows and slices without gaps.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // The image was made, so the number fits.
        self.memory.shape.level_bytes(self.level).unwrap_or(u64::MAX)
    }

    fn texels(&self) -> usize {
        (self.bytes() / u64::from(self.memory.shape.storage.bytes())) as usize
    }

    /// Stores texels, each of `channels` (1 to 4) numbers, after all that was submitted before, and waits for it.
    /// Channels beyond those given are zero, those that the storage lacks are dropped.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the data fills the level; what the device says.
    pub fn write<T: Texel>(&self, data: &[T], channels: usize) -> Result<(), RuntimeError> {
        let channels = channels.clamp(1, 4);
        let (expected, got) = (self.texels() as u64 * channels as u64, data.len() as u64);
        if expected != got {
            return Err(RuntimeError::DataSize { expected, got, unit: "numbers" });
        }
        let mut list = self.memory.common.device.list();
        list.upload_image(self, texel::pack_all(self.memory.shape.storage, data, channels))?;
        list.run()
    }

    /// All texels, each of `channels` (1 to 4) numbers; channels that are not stored are zero.
    ///
    /// # Errors
    /// What the device says.
    pub fn read<T: Texel>(&self, channels: usize) -> Result<Vec<T>, RuntimeError> {
        let mut list = self.memory.common.device.list();
        let download = list.download_image(self)?;
        list.run()?;
        let bytes: Vec<u8> = download.take();
        Ok(texel::unpack_all(self.memory.shape.storage, &bytes, channels.clamp(1, 4)))
    }
}

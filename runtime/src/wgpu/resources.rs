//! Buffers and images.

use std::sync::Arc;

use luisac_artifact::PixelStorage;

use super::{WgpuError, device::Shared};
use crate::{ImageShape, RuntimeError};

/// Buffers are larger than asked for up to a multiple of this, so that kernels can read the last bytes as words.
const GRAIN: u64 = 16;
/// What copies begin at and are multiples of.
const WORD: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

/// Bytes that kernels read and write.
pub(super) struct Buffer {
    shared: Arc<Shared>,
    pub handle: wgpu::Buffer,
    pub capacity: u64,
}

impl Buffer {
    /// A buffer of zeros.
    pub fn new(
        shared: &Arc<Shared>,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<Self, RuntimeError> {
        let capacity = bytes.max(1).checked_next_multiple_of(GRAIN);
        let capacity = capacity.ok_or(RuntimeError::OutOfMemory { bytes })?;
        if capacity > shared.limits.max_buffer_size {
            return Err(RuntimeError::OutOfMemory { bytes });
        }
        let usage = usage | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let wish = wgpu::BufferDescriptor {
            label: None,
            size: capacity,
            usage,
            mapped_at_creation: false,
        };
        let handle = shared.guarded(bytes, || shared.device.create_buffer(&wish))?;
        Ok(Self { shared: shared.clone(), handle, capacity })
    }

    /// Stores bytes before whatever is submitted next. What was recorded before must have been submitted.
    pub fn write(&self, at: u64, data: &[u8]) -> Result<(), RuntimeError> {
        if data.is_empty() {
            return Ok(());
        }
        let queue = &self.shared.queue;
        let end = at + data.len() as u64;
        if at.is_multiple_of(WORD) && end.is_multiple_of(WORD) {
            return self.shared.guarded(0, || queue.write_buffer(&self.handle, at, data));
        }
        // Whole words: the bytes around it are as they were.
        let start = at / WORD * WORD;
        let mut bytes = self.read(start, end.next_multiple_of(WORD) - start)?;
        bytes[(at - start) as usize..(end - start) as usize].copy_from_slice(data);
        self.shared.guarded(0, || queue.write_buffer(&self.handle, start, &bytes))
    }

    /// Waits for all that was submitted, and reads bytes.
    pub fn read(&self, at: u64, bytes: u64) -> Result<Vec<u8>, RuntimeError> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let start = at / WORD * WORD;
        let size = (at + bytes).next_multiple_of(WORD) - start;
        let all = self.shared.fetch(size, |encoder, staging| {
            encoder.copy_buffer_to_buffer(&self.handle, start, staging, 0, size);
        })?;
        let from = (at - start) as usize;
        Ok(all[from..from + bytes as usize].to_vec())
    }
}

/// Whether a copy of buffers can be left to the device.
pub(super) fn copies_directly(from: (&Buffer, u64), to: (&Buffer, u64), bytes: u64) -> bool {
    let words = [from.1, to.1, bytes].iter().all(|n| n.is_multiple_of(WORD));
    words && from.0.handle != to.0.handle
}

impl Shared {
    /// Waits for all that was submitted, and brings `bytes` to the host that `copy` puts into a buffer.
    fn fetch(
        &self,
        bytes: u64,
        copy: impl FnOnce(&mut wgpu::CommandEncoder, &wgpu::Buffer),
    ) -> Result<Vec<u8>, RuntimeError> {
        let wish = wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        let staging = self.guarded(bytes, || {
            let staging = self.device.create_buffer(&wish);
            let mut encoder = self.device.create_command_encoder(&Default::default());
            copy(&mut encoder, &staging);
            self.queue.submit([encoder.finish()]);
            // What went wrong is seen below: the range cannot be had then.
            staging.map_async(wgpu::MapMode::Read, .., |_| ());
            staging
        })?;
        self.wait()?;
        let view = staging.get_mapped_range(..).map_err(|e| self.gone(e.to_string()))?;
        Ok(view.to_vec())
    }
}

/// An image that kernels read.
pub(super) struct Image {
    shared: Arc<Shared>,
    pub handle: wgpu::Texture,
    pub shape: ImageShape,
    pub integer: bool,
}

/// The format of a storage, and whether it holds integers. wgpu has no swizzles, and channels that are not stored must read as zero;
/// so there are four of them.
fn format(shared: &Shared, storage: PixelStorage) -> Option<(wgpu::TextureFormat, bool)> {
    use wgpu::TextureFormat as T;
    let norm = shared.features.contains(wgpu::Features::TEXTURE_FORMAT_16BIT_NORM);
    Some(match storage {
        PixelStorage::Byte4 => (T::Rgba8Unorm, false),
        PixelStorage::Short4 if norm => (T::Rgba16Unorm, false),
        PixelStorage::Int4 => (T::Rgba32Uint, true),
        PixelStorage::Half4 => (T::Rgba16Float, false),
        PixelStorage::Float4 => (T::Rgba32Float, false),
        _ => return None,
    })
}

impl Image {
    pub fn new(shared: &Arc<Shared>, shape: &ImageShape) -> Result<Self, RuntimeError> {
        let (storage, purpose) = (shape.storage, "sampled");
        let found = format(shared, storage);
        let (format, integer) = found.ok_or(WgpuError::NoFormat { storage, purpose })?;
        let l = &shared.limits;
        let most = if shape.dimension == 3 {
            l.max_texture_dimension_3d
        } else {
            l.max_texture_dimension_2d
        };
        if let Some(side) = shape.size.iter().find(|n| **n > most) {
            let (what, asked, most) = ("an image side in texels", u64::from(*side), most.into());
            return Err(WgpuError::Limit { what, asked, most }.into());
        }
        let wish = wgpu::TextureDescriptor {
            label: None,
            size: extent(shape.size),
            mip_level_count: shape.levels,
            sample_count: 1,
            dimension: match shape.dimension {
                3 => wgpu::TextureDimension::D3,
                _ => wgpu::TextureDimension::D2,
            },
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::COPY_SRC
                | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        };
        let bytes = shape.level_bytes(0).unwrap_or(u64::MAX);
        let handle = shared.guarded(bytes, || shared.device.create_texture(&wish))?;
        Ok(Self { shared: shared.clone(), handle, shape: *shape, integer })
    }

    /// What it has from a level on.
    pub fn view(&self, level: u32) -> wgpu::TextureView {
        self.handle.create_view(&wgpu::TextureViewDescriptor {
            base_mip_level: level,
            ..wgpu::TextureViewDescriptor::default()
        })
    }

    fn place(&self, level: u32) -> wgpu::TexelCopyTextureInfo<'_> {
        wgpu::TexelCopyTextureInfo {
            texture: &self.handle,
            mip_level: level,
            origin: wgpu::Origin3d::ZERO,
            aspect: wgpu::TextureAspect::All,
        }
    }

    /// Stores a level before whatever is submitted next; as [`Buffer::write`].
    pub fn write(&self, level: u32, data: &[u8]) -> Result<(), RuntimeError> {
        let [x, y, z] = self.shape.level_size(level);
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(x * self.shape.storage.bytes()),
            rows_per_image: Some(y),
        };
        let queue = &self.shared.queue;
        self.shared.guarded(0, || {
            queue.write_texture(self.place(level), data, layout, extent([x, y, z]));
        })
    }

    /// Waits for all that was submitted, and reads a level, rows and slices without gaps.
    pub fn read(&self, level: u32) -> Result<Vec<u8>, RuntimeError> {
        let [x, y, z] = self.shape.level_size(level);
        let row = x * self.shape.storage.bytes();
        let pitch = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let bytes = u64::from(pitch) * u64::from(y) * u64::from(z);
        let all = self.shared.fetch(bytes, |encoder, staging| {
            let layout = wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(pitch),
                rows_per_image: Some(y),
            };
            let to = wgpu::TexelCopyBufferInfo { buffer: staging, layout };
            encoder.copy_texture_to_buffer(self.place(level), to, extent([x, y, z]));
        })?;
        Ok(all.chunks_exact(pitch as usize).flat_map(|r| &r[..row as usize]).copied().collect())
    }
}

fn extent([width, height, depth]: [u32; 3]) -> wgpu::Extent3d {
    wgpu::Extent3d { width, height, depth_or_array_layers: depth }
}

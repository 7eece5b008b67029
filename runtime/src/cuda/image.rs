//! Images as mipmapped arrays, with the surface and texture objects through which kernels reach them.

use std::{
    collections::HashMap,
    mem::{offset_of, zeroed},
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::sys::{
    self, CUaddress_mode, CUarray, CUarray_format, CUfilter_mode, CUmemorytype, CUmipmappedArray,
    CUresourceViewFormat, CUresourcetype,
};
use luisac_artifact::{PixelStorage, TexelKind, abi::PtxImage};

use super::driver::{Context, Memory, call, no_copy};
use crate::{ImageShape, RuntimeError, Sampler};

/// Flags of arrays: surfaces can be made of them.
const SURFACE_LDST: u32 = 2;
/// Flags of textures: coordinates from 0 to 1.
const NORMALIZED: u32 = 2;
/// Flags of textures: whole numbers stay what they are. Without it those of 8 and 16 bits count as fractions of their largest.
const AS_INTEGER: u32 = 1;
const ANISOTROPY: u32 = 16;
const SAMPLERS: u32 = 16;

/// An image.
pub(super) struct Image {
    context: Arc<Context>,
    pub(super) shape: ImageShape,
    mipmap: CUmipmappedArray,
    levels: Vec<Level>,
    /// The words that kernels take which sample the image, by the level that they start from.
    tables: Mutex<HashMap<u32, Arc<Table>>>,
}

struct Level {
    array: CUarray,
    surface: u64,
}

/// The words of [`PtxImage`] in the GPU's memory, with the texture objects that they name.
pub(super) struct Table {
    memory: Memory,
    textures: [u64; SAMPLERS as usize],
}

// SAFETY: arrays and objects of the driver may be used from any thread.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

/// Type and number of the channels of an array.
fn format(storage: PixelStorage) -> Option<(CUarray_format, u32)> {
    use CUarray_format as F;
    let channel = match storage.kind() {
        TexelKind::Int { bits: 8 } => F::CU_AD_FORMAT_UNSIGNED_INT8,
        TexelKind::Int { bits: 16 } => F::CU_AD_FORMAT_UNSIGNED_INT16,
        TexelKind::Int { bits: 32 } => F::CU_AD_FORMAT_UNSIGNED_INT32,
        TexelKind::Float { bits: 16 } => F::CU_AD_FORMAT_HALF,
        TexelKind::Float { bits: 32 } => F::CU_AD_FORMAT_FLOAT,
        // Packed texels are words to the array; kernels take them apart.
        _ if storage.bytes() == 4 => return Some((F::CU_AD_FORMAT_UNSIGNED_INT32, 1)),
        _ => return None,
    };
    Some((channel, storage.channels()))
}

impl Image {
    /// A zeroed image.
    pub(super) fn new(context: &Arc<Context>, shape: &ImageShape) -> Result<Self, RuntimeError> {
        context.enter()?;
        let refused =
            |reason| RuntimeError::ImageShape { size: shape.size, storage: shape.storage, reason };
        let (format, channels) =
            format(shape.storage).ok_or_else(|| refused("CUDA has no such array"))?;
        let [width, height, depth] = shape.size.map(|n| n as usize);
        let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: if shape.dimension == 3 { depth } else { 0 },
            Format: format,
            NumChannels: channels,
            Flags: SURFACE_LDST,
        };
        let mut mipmap = ptr::null_mut();
        // SAFETY: the descriptor and the pointer are locals.
        unsafe { call!(cuMipmappedArrayCreate(&mut mipmap, &descriptor, shape.levels)) }.map_err(
            |e| match e {
                RuntimeError::OutOfMemory { .. } => {
                    RuntimeError::OutOfMemory { bytes: shape.level_bytes(0).unwrap_or(u64::MAX) }
                }
                _ => refused("the GPU makes no array of this size"),
            },
        )?;
        let mut image = Self {
            context: context.clone(),
            shape: *shape,
            mipmap,
            levels: Vec::new(),
            tables: Mutex::default(),
        };
        for level in 0..shape.levels {
            let level = image.open_level(level)?;
            image.levels.push(level);
        }
        image.clear()?;
        Ok(image)
    }

    fn open_level(&self, level: u32) -> Result<Level, RuntimeError> {
        let mut array = ptr::null_mut();
        let mut surface = 0;
        // SAFETY: the level exists; the descriptor is one of plain data for which zeros are valid, and names the array.
        unsafe {
            call!(cuMipmappedArrayGetLevel(&mut array, self.mipmap, level))?;
            let mut resource: sys::CUDA_RESOURCE_DESC = zeroed();
            resource.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
            resource.res.array.hArray = array;
            call!(cuSurfObjectCreate(&mut surface, &resource))?;
        }
        Ok(Level { array, surface })
    }

    /// Arrays are not zero when they are made.
    fn clear(&self) -> Result<(), RuntimeError> {
        for level in 0..self.shape.levels {
            let bytes = self.shape.level_bytes(level).unwrap_or(u64::MAX);
            let zeros = Memory::zeroed(&self.context, bytes)?;
            let copy = self.copy(level, Side::Device(zeros.address), true)?;
            // SAFETY: the copy names memory that is there, of the level's size.
            unsafe { call!(cuMemcpy3D_v2(&copy))? };
        }
        Ok(())
    }

    /// The surface object of a level.
    pub(super) fn surface(&self, level: u32) -> u64 {
        self.levels.get(level as usize).map_or(0, |l| l.surface)
    }

    /// The copy of a whole level from (`into` the image) or to memory without gaps.
    pub(super) fn copy(
        &self,
        level: u32,
        side: Side,
        into: bool,
    ) -> Result<sys::CUDA_MEMCPY3D, RuntimeError> {
        let level_data = self
            .levels
            .get(level as usize)
            .ok_or(RuntimeError::ImageLevel { level, levels: self.shape.levels })?;
        let [width, height, depth] = self.shape.level_size(level).map(|n| n as usize);
        let row = width * self.shape.storage.bytes() as usize;
        let mut copy = no_copy();
        (copy.WidthInBytes, copy.Height, copy.Depth) = (row, height, depth);
        let array = CUmemorytype::CU_MEMORYTYPE_ARRAY;
        let (kind, host, device, other) = match side {
            Side::Host(address) => (CUmemorytype::CU_MEMORYTYPE_HOST, address, 0, ptr::null_mut()),
            Side::Device(address) => {
                (CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), address, ptr::null_mut())
            }
            Side::Array(other) => (array, ptr::null_mut(), 0, other),
        };
        if into {
            (copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray) =
                (kind, host.cast_const().cast(), device, other);
            (copy.srcPitch, copy.srcHeight) = (row, height);
            (copy.dstMemoryType, copy.dstArray) = (array, level_data.array);
        } else {
            (copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray) =
                (kind, host.cast(), device, other);
            (copy.dstPitch, copy.dstHeight) = (row, height);
            (copy.srcMemoryType, copy.srcArray) = (array, level_data.array);
        }
        Ok(copy)
    }

    /// The array of a level, to copy from.
    pub(super) fn array(&self, level: u32) -> Option<CUarray> {
        self.levels.get(level as usize).map(|l| l.array)
    }

    /// The words for kernels that sample the image from a level on; made once.
    pub(super) fn table(&self, level: u32) -> Result<Arc<Table>, RuntimeError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.get(&level) {
            return Ok(table.clone());
        }
        self.context.enter()?;
        let mut textures = [0; SAMPLERS as usize];
        for (code, texture) in textures.iter_mut().enumerate() {
            let sampler = Sampler::from_code(code as u32).unwrap_or_default();
            *texture = self.texture(level, sampler)?;
        }
        let mut words = vec![0; size_of::<PtxImage>()];
        let mut put = |offset: usize, word: u64| {
            if let Some(place) = words.get_mut(offset..offset + 8) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        };
        put(offset_of!(PtxImage, surface), self.surface(level));
        put(offset_of!(PtxImage, levels), (self.shape.levels - level).into());
        for (i, texture) in textures.iter().enumerate() {
            put(offset_of!(PtxImage, textures) + 8 * i, *texture);
        }
        let memory = Memory::zeroed(&self.context, words.len() as u64)?;
        memory.write(&words)?;
        let table = Arc::new(Table { memory, textures });
        tables.insert(level, table.clone());
        Ok(table)
    }

    /// A texture object of the levels from one on.
    fn texture(&self, level: u32, sampler: Sampler) -> Result<u64, RuntimeError> {
        let (address, filter, between) = modes(sampler);
        let last = self.shape.levels - 1;
        let mut object = 0;
        // SAFETY: descriptors of plain data for which zeros are valid; they name the image's array.
        unsafe {
            let mut resource: sys::CUDA_RESOURCE_DESC = zeroed();
            resource.resType = CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
            resource.res.mipmap.hMipmappedArray = self.mipmap;
            let mut texture: sys::CUDA_TEXTURE_DESC = zeroed();
            texture.addressMode = [address; 3];
            (texture.filterMode, texture.mipmapFilterMode) = (filter, between);
            texture.flags = NORMALIZED;
            if is_wide_integer(self.shape.storage) {
                texture.flags |= AS_INTEGER;
                texture.filterMode = CUfilter_mode::CU_TR_FILTER_MODE_POINT;
                texture.mipmapFilterMode = CUfilter_mode::CU_TR_FILTER_MODE_POINT;
            }
            texture.maxAnisotropy =
                if sampler.filter == crate::Filter::Anisotropic { ANISOTROPY } else { 1 };
            texture.maxMipmapLevelClamp = (last - level) as f32;
            let view = self.view(level, last);
            let view = view.as_ref().map_or(ptr::null(), ptr::from_ref);
            call!(cuTexObjectCreate(&mut object, &resource, &texture, view))?;
        }
        Ok(object)
    }

    /// The view of the levels from one on; none if it is all of them.
    fn view(&self, level: u32, last: u32) -> Option<sys::CUDA_RESOURCE_VIEW_DESC> {
        if level == 0 {
            return None;
        }
        // SAFETY: plain data, for which zeros are valid.
        let mut view: sys::CUDA_RESOURCE_VIEW_DESC = unsafe { zeroed() };
        let [width, height, depth] = self.shape.level_size(level).map(|n| n as usize);
        view.format = view_format(self.shape.storage);
        (view.width, view.height) = (width, height);
        view.depth = if self.shape.dimension == 3 { depth } else { 0 };
        (view.firstMipmapLevel, view.lastMipmapLevel) = (level, last);
        Some(view)
    }
}

impl Table {
    pub(super) fn address(&self) -> u64 {
        self.memory.address
    }

    pub(super) fn texture(&self, sampler: Sampler) -> u64 {
        self.textures.get(sampler.code() as usize).copied().unwrap_or(0)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            return;
        }
        let tables =
            std::mem::take(&mut *self.tables.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: objects and array are this image's, and whoever used them has ended.
        unsafe {
            for texture in tables.values().flat_map(|t| t.textures) {
                let _ = sys::cuTexObjectDestroy(texture);
            }
            for level in &self.levels {
                let _ = sys::cuSurfObjectDestroy(level.surface);
            }
            let _ = sys::cuMipmappedArrayDestroy(self.mipmap);
        }
    }
}

/// The other side of a copy.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Host(*mut u8),
    Device(u64),
    Array(CUarray),
}

/// Words of 32 bits are no fractions to the hardware.
fn is_wide_integer(storage: PixelStorage) -> bool {
    matches!(storage.kind(), TexelKind::Int { bits: 32 })
        || !matches!(storage.kind(), TexelKind::Int { .. } | TexelKind::Float { .. })
}

fn modes(sampler: Sampler) -> (CUaddress_mode, CUfilter_mode, CUfilter_mode) {
    use crate::{Address, Filter};
    let (point, linear) =
        (CUfilter_mode::CU_TR_FILTER_MODE_POINT, CUfilter_mode::CU_TR_FILTER_MODE_LINEAR);
    let address = match sampler.address {
        Address::Edge => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
        Address::Repeat => CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
        Address::Mirror => CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
        Address::Zero => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
    };
    match sampler.filter {
        Filter::Point => (address, point, point),
        Filter::LinearPoint => (address, linear, point),
        Filter::LinearLinear | Filter::Anisotropic => (address, linear, linear),
    }
}

fn view_format(storage: PixelStorage) -> CUresourceViewFormat {
    use CUresourceViewFormat as V;
    let pick = |formats: [V; 3]| match storage.channels() {
        1 => formats[0],
        2 => formats[1],
        _ => formats[2],
    };
    match storage.kind() {
        TexelKind::Int { bits: 8 } => pick([
            V::CU_RES_VIEW_FORMAT_UINT_1X8,
            V::CU_RES_VIEW_FORMAT_UINT_2X8,
            V::CU_RES_VIEW_FORMAT_UINT_4X8,
        ]),
        TexelKind::Int { bits: 16 } => pick([
            V::CU_RES_VIEW_FORMAT_UINT_1X16,
            V::CU_RES_VIEW_FORMAT_UINT_2X16,
            V::CU_RES_VIEW_FORMAT_UINT_4X16,
        ]),
        TexelKind::Int { .. } => pick([
            V::CU_RES_VIEW_FORMAT_UINT_1X32,
            V::CU_RES_VIEW_FORMAT_UINT_2X32,
            V::CU_RES_VIEW_FORMAT_UINT_4X32,
        ]),
        TexelKind::Float { bits: 16 } => pick([
            V::CU_RES_VIEW_FORMAT_FLOAT_1X16,
            V::CU_RES_VIEW_FORMAT_FLOAT_2X16,
            V::CU_RES_VIEW_FORMAT_FLOAT_4X16,
        ]),
        TexelKind::Float { .. } => pick([
            V::CU_RES_VIEW_FORMAT_FLOAT_1X32,
            V::CU_RES_VIEW_FORMAT_FLOAT_2X32,
            V::CU_RES_VIEW_FORMAT_FLOAT_4X32,
        ]),
        _ => V::CU_RES_VIEW_FORMAT_UINT_1X32,
    }
}

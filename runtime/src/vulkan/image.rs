//! Images with levels, always in the layout `GENERAL`: the same image may be sampled and written in one dispatch.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ash::vk;
use luisac_artifact::{PixelStorage, TexelKind};

use super::{
    VulkanError, buffer,
    device::Shared,
    error::{allocation, call},
    format::{Numbers, format, formats},
    heap::Heap,
    memory::{Allocation, Home},
};
use crate::RuntimeError;

/// An image of two or three dimensions. A clone is the same image.
#[derive(Clone)]
pub struct Image(pub(super) Arc<Raw>);

pub(super) struct Raw {
    pub device: Arc<Shared>,
    pub handle: vk::Image,
    allocation: Allocation,
    pub storage: PixelStorage,
    pub dimension: u32,
    size: [u32; 3],
    pub levels: u32,
    views: Mutex<Vec<(ViewKey, vk::ImageView)>>,
    /// For each level its place among the images of bindless arrays, from the first time the image is in one from there on.
    places: Vec<OnceLock<u32>>,
}

/// Which view of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ViewKey {
    pub numbers: Numbers,
    /// The first level; a sampled view has those behind it too.
    pub level: u32,
    pub sampled: bool,
}

// SAFETY: as of buffers: handles may be used from any thread, and the memory is never mapped here.
unsafe impl Send for Raw {}
// SAFETY: as above; the views are behind a lock.
unsafe impl Sync for Raw {}

/// What an image can be used for on a device.
fn usage(device: &Shared, storage: PixelStorage) -> vk::ImageUsageFlags {
    let mut usage = vk::ImageUsageFlags::empty();
    for format in formats(storage) {
        usage |= view_usage(device, format);
    }
    usage
}

fn view_usage(device: &Shared, format: vk::Format) -> vk::ImageUsageFlags {
    use vk::{FormatFeatureFlags as F, ImageUsageFlags as U};
    // SAFETY: the handle is the instance's.
    let properties = unsafe {
        device.instance.handle.get_physical_device_format_properties(device.physical, format)
    };
    let has = |feature, usage| {
        if properties.optimal_tiling_features.contains(feature) { usage } else { U::empty() }
    };
    has(F::SAMPLED_IMAGE, U::SAMPLED) | has(F::STORAGE_IMAGE, U::STORAGE)
}

impl Image {
    pub(super) fn new(
        device: &Arc<Shared>,
        storage: PixelStorage,
        dimension: u32,
        size: [u32; 3],
        levels: u32,
    ) -> Result<Self, RuntimeError> {
        let wrong = |reason| RuntimeError::ImageShape { size, storage, reason };
        if size.contains(&0) {
            return Err(wrong("it has no texels"));
        }
        let most = u32::BITS - size.into_iter().max().unwrap_or(1).leading_zeros();
        if levels == 0 || levels > most {
            return Err(wrong("it has no level, or more than halving allows"));
        }
        let usage = usage(device, storage);
        let first = formats(storage).last();
        let no_format =
            |purpose| VulkanError::NoFormat { device: device.info.name.clone(), storage, purpose };
        let Some(base) = first.filter(|_| !usage.is_empty()) else {
            return Err(no_format("sampled or written").into());
        };
        let usage = usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        let mut flags = vk::ImageCreateFlags::empty();
        if formats(storage).count() > 1 {
            flags |= vk::ImageCreateFlags::MUTABLE_FORMAT | vk::ImageCreateFlags::EXTENDED_USAGE;
        }
        let ty = if dimension == 3 { vk::ImageType::TYPE_3D } else { vk::ImageType::TYPE_2D };
        check_limits(device, (base, ty, usage, flags), size, no_format("made so"))?;
        let info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(ty)
            .format(base)
            .extent(extent(size))
            .mip_levels(levels)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED);
        let raw = Raw::new(device, &info, (storage, dimension, size, levels))?;
        let image = Self(Arc::new(raw));
        image.0.initialise()?;
        Ok(image)
    }

    /// How texels are stored.
    #[must_use]
    pub fn storage(&self) -> PixelStorage {
        self.0.storage
    }

    /// 2 or 3.
    #[must_use]
    pub fn dimension(&self) -> u32 {
        self.0.dimension
    }

    /// Texels of a level along x, y, z; z is 1 for two dimensions.
    #[must_use]
    pub fn size(&self, level: u32) -> [u32; 3] {
        self.0.size.map(|n| n.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Number of levels.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.0.levels
    }

    /// Bytes of a level: rows and slices without gaps.
    #[must_use]
    pub fn bytes(&self, level: u32) -> u64 {
        self.0.bytes(level)
    }

    /// Stores the texels of a level as they are.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the data fills a level that there is; what the device says.
    pub fn upload(&self, level: u32, data: &[u8]) -> Result<(), RuntimeError> {
        self.0.check(level, data.len())?;
        let staging = buffer::Raw::staging(&self.0.device, data.len() as u64, Home::Upload)?;
        staging.with_bytes(|bytes| bytes[..data.len()].copy_from_slice(data));
        let region = [self.0.region(level)];
        self.0.device.submit(|device, commands| {
            // SAFETY: the staging buffer has the bytes of the level, the image is in this layout, both outlive the submission.
            unsafe {
                device.cmd_copy_buffer_to_image(
                    commands,
                    staging.handle,
                    self.0.handle,
                    vk::ImageLayout::GENERAL,
                    &region,
                )
            }
        })
    }

    /// All texels of a level as they are stored.
    ///
    /// # Errors
    /// As [`Self::upload`].
    pub fn to_vec(&self, level: u32) -> Result<Vec<u8>, RuntimeError> {
        let bytes = self.bytes(level);
        self.0.check(level, bytes as usize)?;
        let staging = buffer::Raw::staging(&self.0.device, bytes, Home::Download)?;
        let region = [self.0.region(level)];
        self.0.device.submit(|device, commands| {
            // SAFETY: as in `upload`.
            unsafe {
                device.cmd_copy_image_to_buffer(
                    commands,
                    self.0.handle,
                    vk::ImageLayout::GENERAL,
                    staging.handle,
                    &region,
                )
            }
        })?;
        Ok(staging.with_bytes(|all| all[..bytes as usize].to_vec()).unwrap_or_default())
    }
}

/// Asks the driver whether it makes such images.
fn check_limits(
    device: &Shared,
    (format, ty, usage, flags): (
        vk::Format,
        vk::ImageType,
        vk::ImageUsageFlags,
        vk::ImageCreateFlags,
    ),
    size: [u32; 3],
    no_format: VulkanError,
) -> Result<(), RuntimeError> {
    // SAFETY: the handle is the instance's.
    let found = unsafe {
        device.instance.handle.get_physical_device_image_format_properties(
            device.physical,
            format,
            ty,
            vk::ImageTiling::OPTIMAL,
            usage,
            flags,
        )
    };
    let properties = match found {
        Err(vk::Result::ERROR_FORMAT_NOT_SUPPORTED) => return Err(no_format.into()),
        found => call("vkGetPhysicalDeviceImageFormatProperties", found)?,
    };
    let most = properties.max_extent;
    for (asked, most) in size.into_iter().zip([most.width, most.height, most.depth]) {
        if asked > most {
            let (asked, most) = (asked.into(), most.into());
            return Err(VulkanError::Limit { what: "an image side in texels", asked, most }.into());
        }
    }
    Ok(())
}

fn extent([width, height, depth]: [u32; 3]) -> vk::Extent3D {
    vk::Extent3D { width, height, depth }
}

impl Raw {
    fn new(
        device: &Arc<Shared>,
        info: &vk::ImageCreateInfo,
        (storage, dimension, size, levels): (PixelStorage, u32, [u32; 3], u32),
    ) -> Result<Self, RuntimeError> {
        // SAFETY: the driver has said that it makes such images.
        let handle =
            allocation("vkCreateImage", 0, unsafe { device.handle.create_image(info, None) })?;
        // SAFETY: the image was made a moment ago.
        let needs = unsafe { device.handle.get_image_memory_requirements(handle) };
        let bound = device.allocate(needs, Home::Device).and_then(|memory| {
            // SAFETY: neither has been bound, and the memory is as large as the image needs.
            let bound = unsafe { device.handle.bind_image_memory(handle, memory.handle, 0) };
            match allocation("vkBindImageMemory", needs.size, bound) {
                Ok(()) => Ok(memory),
                Err(e) => {
                    device.free(&memory);
                    Err(e)
                }
            }
        });
        let allocation = bound.inspect_err(|_| {
            // SAFETY: nothing has used the image.
            unsafe { device.handle.destroy_image(handle, None) }
        })?;
        Ok(Self {
            device: device.clone(),
            handle,
            allocation,
            storage,
            dimension,
            size,
            levels,
            views: Mutex::default(),
            places: (0..levels).map(|_| OnceLock::new()).collect(),
        })
    }

    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.size.map(|n| n.checked_shr(level).unwrap_or(0).max(1))
    }

    fn bytes(&self, level: u32) -> u64 {
        let [x, y, z] = self.level_size(level).map(u64::from);
        let (x, y) = match self.storage.kind() {
            TexelKind::Block { .. } => (x.div_ceil(4), y.div_ceil(4)),
            _ => (x, y),
        };
        // The driver has made the image, so it fits into memory.
        x * y * z * u64::from(self.storage.bytes())
    }

    fn check(&self, level: u32, len: usize) -> Result<(), RuntimeError> {
        let expected = if level < self.levels { self.bytes(level) } else { 0 };
        if expected == len as u64 && level < self.levels {
            return Ok(());
        }
        Err(RuntimeError::DataSize { expected, got: len as u64, unit: "bytes" })
    }

    fn all(&self) -> vk::ImageSubresourceRange {
        vk::ImageSubresourceRange::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .level_count(self.levels)
            .layer_count(1)
    }

    /// All texels of a level, from the start of a buffer.
    pub fn region(&self, level: u32) -> vk::BufferImageCopy {
        let place = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .mip_level(level)
            .layer_count(1);
        vk::BufferImageCopy::default()
            .image_subresource(place)
            .image_extent(extent(self.level_size(level)))
    }

    /// Brings the image into its layout and fills it with zeros.
    fn initialise(&self) -> Result<(), RuntimeError> {
        use vk::{AccessFlags as A, PipelineStageFlags as P};
        let blocks = matches!(self.storage.kind(), TexelKind::Block { .. });
        let zeros = match blocks {
            true => Some(buffer::Raw::staging(&self.device, self.bytes(0), Home::Upload)?),
            false => None,
        };
        if let Some(zeros) = &zeros {
            zeros.with_bytes(|bytes| bytes.fill(0));
        }
        let regions: Vec<_> = (0..self.levels).map(|level| self.region(level)).collect();
        let into_layout = [vk::ImageMemoryBarrier::default()
            .dst_access_mask(A::TRANSFER_WRITE)
            .old_layout(vk::ImageLayout::UNDEFINED)
            .new_layout(vk::ImageLayout::GENERAL)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(self.handle)
            .subresource_range(self.all())];
        self.device.submit(|device, commands| {
            let (from, to, none) = (P::TOP_OF_PIPE, P::TRANSFER, vk::DependencyFlags::empty());
            let layout = vk::ImageLayout::GENERAL;
            // SAFETY: the image is new; the zeros are as many as its largest level has.
            unsafe {
                device.cmd_pipeline_barrier(commands, from, to, none, &[], &[], &into_layout);
                match &zeros {
                    Some(zeros) => device.cmd_copy_buffer_to_image(
                        commands,
                        zeros.handle,
                        self.handle,
                        layout,
                        &regions,
                    ),
                    None => {
                        let zero = vk::ClearColorValue { uint32: [0; 4] };
                        device.cmd_clear_color_image(
                            commands,
                            self.handle,
                            layout,
                            &zero,
                            &[self.all()],
                        )
                    }
                }
            }
        })
    }

    /// A view, made at its first use.
    pub fn view(&self, key: ViewKey) -> Result<vk::ImageView, RuntimeError> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, view)) = views.iter().find(|(k, _)| *k == key) {
            return Ok(*view);
        }
        let wanted =
            if key.sampled { vk::ImageUsageFlags::SAMPLED } else { vk::ImageUsageFlags::STORAGE };
        let found = format(self.storage, key.numbers);
        let Some(format) = found.filter(|f| view_usage(&self.device, *f).contains(wanted)) else {
            let purpose = match (key.numbers, key.sampled) {
                (Numbers::Float, true) => "read as floats",
                (Numbers::Float, false) => "written as floats",
                (Numbers::Integer, true) => "read as integers",
                (Numbers::Integer, false) => "written as integers",
            };
            let (device, storage) = (self.device.info.name.clone(), self.storage);
            return Err(VulkanError::NoFormat { device, storage, purpose }.into());
        };
        let mut usage = vk::ImageViewUsageCreateInfo::default().usage(wanted);
        let levels = if key.sampled { self.levels - key.level } else { 1 };
        let info = vk::ImageViewCreateInfo::default()
            .image(self.handle)
            .view_type(if self.dimension == 3 {
                vk::ImageViewType::TYPE_3D
            } else {
                vk::ImageViewType::TYPE_2D
            })
            .format(format)
            .components(self.components(key.sampled))
            .subresource_range(self.all().base_mip_level(key.level).level_count(levels))
            .push_next(&mut usage);
        // SAFETY: the format is one that the image was made for, the levels are there.
        let view = unsafe { self.device.handle.create_image_view(&info, None) };
        let view = allocation("vkCreateImageView", 0, view)?;
        views.push((key, view));
        Ok(view)
    }

    /// Channels that are not stored read as zero, where Vulkan has 1 for alpha. Storage images allow no such mapping: there the
    /// kernel does it.
    fn components(&self, sampled: bool) -> vk::ComponentMapping {
        let a = match sampled && self.storage.channels() < 4 {
            true => vk::ComponentSwizzle::ZERO,
            false => vk::ComponentSwizzle::IDENTITY,
        };
        vk::ComponentMapping::default().a(a)
    }

    /// The place in the heap of its dimension of what it has from a level on.
    pub fn place(&self, level: u32) -> Result<u32, RuntimeError> {
        let view = self.view(ViewKey { numbers: Numbers::Float, level, sampled: true })?;
        let Some(known) = self.places.get(level as usize) else {
            let (expected, got) = (self.levels.into(), u64::from(level) + 1);
            return Err(RuntimeError::DataSize { expected, got, unit: "levels" });
        };
        self.device.heap(self.heap())?.place(known, |set, place| {
            self.device.describe_image(set, place, view);
            Ok(())
        })
    }

    fn heap(&self) -> Heap {
        if self.dimension == 3 { Heap::Images3d } else { Heap::Images2d }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        for place in self.places.iter().filter_map(OnceLock::get) {
            self.device.give_back(self.heap(), *place);
        }
        let views = self.views.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: what runs keeps its resources alive, so nothing uses the image or its views.
        unsafe {
            for (_, view) in views {
                self.device.handle.destroy_image_view(*view, None);
            }
            self.device.handle.destroy_image(self.handle, None);
        }
        self.device.free(&self.allocation);
    }
}

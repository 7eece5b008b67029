//! The heaps of bindless arrays: one descriptor set a kind for the whole device, in which each resource has a place from the
//! first time it is in an array until it is dropped. Records hold places, so they stay right from dispatch to dispatch.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ash::vk;
use luisac_artifact::bindings::{BUFFER_HEAP_SET, IMAGE2D_HEAP_SET, IMAGE3D_HEAP_SET};

use super::{
    VulkanError, buffer,
    device::Shared,
    error::{allocation, call},
};
use crate::RuntimeError;

/// The kinds of heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heap {
    Buffers = 0,
    Images2d = 1,
    Images3d = 2,
}

impl Heap {
    /// The heap that lies in a descriptor set.
    pub fn of_set(set: u32) -> Option<Self> {
        match set {
            BUFFER_HEAP_SET => Some(Self::Buffers),
            IMAGE2D_HEAP_SET => Some(Self::Images2d),
            IMAGE3D_HEAP_SET => Some(Self::Images3d),
            _ => None,
        }
    }

    fn descriptor(self) -> vk::DescriptorType {
        match self {
            Self::Buffers => vk::DescriptorType::STORAGE_BUFFER,
            _ => vk::DescriptorType::SAMPLED_IMAGE,
        }
    }
}

/// Most places of a heap.
const MOST: u32 = 1 << 16;

/// A heap: its set, and which places are taken. Place 0 is never given, since an empty slot's record is zero.
pub(super) struct Place {
    pub layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    pub set: vk::DescriptorSet,
    places: Mutex<Places>,
}

struct Places {
    next: u32,
    end: u32,
    free: Vec<u32>,
}

impl Place {
    pub fn new(device: &Shared, kind: Heap) -> Result<Self, RuntimeError> {
        if !device.abilities.heaps {
            return Err(VulkanError::MissingFeature {
                kernel: "of bindless arrays".into(),
                feature: "descriptor arrays that can change while they are bound".into(),
                device: device.info.name.clone(),
            }
            .into());
        }
        let count = device.heap_limit(kind).min(MOST);
        let (vk_device, descriptor) = (&device.handle, kind.descriptor());
        let binding = [vk::DescriptorSetLayoutBinding::default()
            .binding(0)
            .descriptor_type(descriptor)
            .descriptor_count(count)
            .stage_flags(vk::ShaderStageFlags::COMPUTE)];
        use vk::DescriptorBindingFlags as B;
        let flags = [B::PARTIALLY_BOUND | B::UPDATE_AFTER_BIND | B::UPDATE_UNUSED_WHILE_PENDING];
        let mut flags =
            vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL)
            .bindings(&binding)
            .push_next(&mut flags);
        let sizes = [vk::DescriptorPoolSize::default().ty(descriptor).descriptor_count(count)];
        let pool = vk::DescriptorPoolCreateInfo::default()
            .flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND)
            .max_sets(1)
            .pool_sizes(&sizes);
        // SAFETY: the device has what the flags ask for; the count is within its limits.
        unsafe {
            let layout = vk_device.create_descriptor_set_layout(&info, None);
            let layout = call("vkCreateDescriptorSetLayout", layout)?;
            let pool = allocation(
                "vkCreateDescriptorPool",
                0,
                vk_device.create_descriptor_pool(&pool, None),
            );
            let pool =
                pool.inspect_err(|_| vk_device.destroy_descriptor_set_layout(layout, None))?;
            let layouts = [layout];
            let sets = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts);
            let mut made = Self {
                layout,
                pool,
                set: vk::DescriptorSet::null(),
                places: Mutex::new(Places { next: 1, end: count, free: Vec::new() }),
            };
            let sets = vk_device.allocate_descriptor_sets(&sets);
            match allocation("vkAllocateDescriptorSets", 0, sets) {
                Ok(sets) => made.set = sets.first().copied().unwrap_or_default(),
                Err(e) => {
                    made.destroy(vk_device);
                    return Err(e);
                }
            }
            Ok(made)
        }
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place that `known` holds, or a new one that `describe` writes.
    pub fn place(
        &self,
        known: &OnceLock<u32>,
        describe: impl FnOnce(vk::DescriptorSet, u32) -> Result<(), RuntimeError>,
    ) -> Result<u32, RuntimeError> {
        // Under the lock, so that one resource gets one place, and the set is written by one thread at a time.
        let mut places = self.lock();
        if let Some(place) = known.get() {
            return Ok(*place);
        }
        let place = match places.free.pop() {
            Some(place) => place,
            None if places.next < places.end => {
                places.next += 1;
                places.next - 1
            }
            None => {
                let (asked, most) = (u64::from(places.end), u64::from(places.end) - 1);
                let what = "a number of resources in bindless arrays";
                return Err(VulkanError::Limit { what, asked, most }.into());
            }
        };
        if let Err(e) = describe(self.set, place) {
            places.free.push(place);
            return Err(e);
        }
        Ok(*known.get_or_init(|| place))
    }

    pub fn give_back(&self, place: u32) {
        self.lock().free.push(place);
    }

    /// Destroys what it holds; nothing may use it any more.
    pub fn destroy(&self, device: &ash::Device) {
        // SAFETY: the caller says that nothing uses them; the set goes with its pool.
        unsafe {
            device.destroy_descriptor_pool(self.pool, None);
            device.destroy_descriptor_set_layout(self.layout, None);
        }
    }
}

impl Shared {
    /// How many resources a heap can hold on this device, beside the others and the arguments.
    fn heap_limit(&self, kind: Heap) -> u32 {
        let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
        let mut chain = vk::PhysicalDeviceProperties2::default().push_next(&mut v12);
        // SAFETY: the handle is the instance's, the structure of Vulkan 1.2.
        unsafe { self.instance.handle.get_physical_device_properties2(self.physical, &mut chain) };
        let all = v12.max_per_stage_update_after_bind_resources / 4;
        let own = match kind {
            Heap::Buffers => {
                v12.max_per_stage_descriptor_update_after_bind_storage_buffers
                    .min(v12.max_descriptor_set_update_after_bind_storage_buffers)
                    / 2
            }
            // Two heaps and the arguments share it.
            _ => {
                v12.max_per_stage_descriptor_update_after_bind_sampled_images
                    .min(v12.max_descriptor_set_update_after_bind_sampled_images)
                    / 3
            }
        };
        own.min(all).max(2)
    }

    /// Writes the descriptor of a whole buffer.
    pub fn describe_buffer(
        &self,
        set: vk::DescriptorSet,
        place: u32,
        buffer: &buffer::Raw,
    ) -> Result<(), RuntimeError> {
        self.check_range(buffer.capacity)?;
        let info = [vk::DescriptorBufferInfo::default()
            .buffer(buffer.handle)
            .offset(0)
            .range(buffer.capacity)];
        self.write_place(
            set,
            place,
            vk::WriteDescriptorSet::default()
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&info),
        );
        Ok(())
    }

    /// Writes the descriptor of an image.
    pub fn describe_image(&self, set: vk::DescriptorSet, place: u32, view: vk::ImageView) {
        let info = [vk::DescriptorImageInfo::default()
            .image_view(view)
            .image_layout(vk::ImageLayout::GENERAL)];
        self.write_place(
            set,
            place,
            vk::WriteDescriptorSet::default()
                .descriptor_type(vk::DescriptorType::SAMPLED_IMAGE)
                .image_info(&info),
        );
    }

    fn write_place(&self, set: vk::DescriptorSet, place: u32, write: vk::WriteDescriptorSet) {
        let write = write.dst_set(set).dst_binding(0).dst_array_element(place);
        // SAFETY: the place lies in the set, no dispatch uses it yet, and the heap's lock is held.
        unsafe { self.handle.update_descriptor_sets(&[write], &[]) }
    }

    /// Whether a descriptor can cover so many bytes.
    pub fn check_range(&self, bytes: u64) -> Result<(), VulkanError> {
        let most = u64::from(self.limits.max_storage_buffer_range);
        if bytes <= most {
            return Ok(());
        }
        Err(VulkanError::Limit { what: "a buffer in bytes", asked: bytes, most })
    }
}

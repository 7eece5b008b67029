//! An open device: its queue, and what all resources share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ash::vk;
use luisac_artifact::PixelStorage;

use super::{
    BindlessArray, Buffer, DeviceInfo, Image, VulkanError,
    error::call,
    features::{Abilities, Features},
    heap::{Heap, Place},
    instance::{Candidate, Instance},
};
use crate::RuntimeError;

/// An open Vulkan device. A clone is the same device. All calls return when their work has ended.
#[derive(Clone)]
pub struct Device(pub(super) Arc<Shared>);

/// What resources and kernels of a device share; the device goes with the last of them.
pub(super) struct Shared {
    pub instance: Arc<Instance>,
    pub physical: vk::PhysicalDevice,
    pub info: DeviceInfo,
    pub handle: ash::Device,
    pub limits: vk::PhysicalDeviceLimits,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    pub abilities: Abilities,
    queue: Mutex<Queue>,
    pub(super) heaps: [OnceLock<Place>; 3],
    pub(super) samplers: OnceLock<[vk::Sampler; 16]>,
}

/// The queue with the means to use it. Its lock is the device's: whoever holds it is alone with the device.
struct Queue {
    handle: vk::Queue,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
}

impl Device {
    /// Opens the best device: discrete before integrated, software last.
    ///
    /// # Errors
    /// [`VulkanError`] that says why there is none.
    pub fn open() -> Result<Self, RuntimeError> {
        Self::open_nth(0)
    }

    /// Opens a device by its position in [`devices`](super::devices).
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_nth(position: usize) -> Result<Self, RuntimeError> {
        let instance = Instance::new()?;
        let mut candidates = instance.candidates()?;
        if position >= candidates.len() {
            let reason = match candidates.len() {
                0 => "no driver here has Vulkan 1.2".to_owned(),
                n => format!("number {position} of {n} was asked for"),
            };
            return Err(VulkanError::NoDevice(reason).into());
        }
        let candidate = candidates.swap_remove(position);
        Ok(Self(Arc::new(Shared::open(instance, candidate)?)))
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Lanes of a wave, unless a kernel's metadata asks for another number.
    #[must_use]
    pub fn wave_lanes(&self) -> u32 {
        self.0.abilities.lanes.usual
    }

    /// A buffer of `bytes` zeros.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], or what the device says.
    pub fn buffer(&self, bytes: u64) -> Result<Buffer, RuntimeError> {
        Buffer::zeroed(&self.0, bytes)
    }

    /// A buffer that holds `data`.
    ///
    /// # Errors
    /// As [`Self::buffer`].
    pub fn buffer_from(&self, data: &[u8]) -> Result<Buffer, RuntimeError> {
        Buffer::filled(&self.0, data)
    }

    /// An image of two dimensions with this many levels, zero at first.
    ///
    /// # Errors
    /// [`RuntimeError::ImageShape`], [`VulkanError::NoFormat`], [`VulkanError::Limit`], [`RuntimeError::OutOfMemory`].
    pub fn image_2d(
        &self,
        storage: PixelStorage,
        size: [u32; 2],
        levels: u32,
    ) -> Result<Image, RuntimeError> {
        Image::new(&self.0, storage, 2, [size[0], size[1], 1], levels)
    }

    /// An image of three dimensions with this many levels, zero at first.
    ///
    /// # Errors
    /// As [`Self::image_2d`].
    pub fn image_3d(
        &self,
        storage: PixelStorage,
        size: [u32; 3],
        levels: u32,
    ) -> Result<Image, RuntimeError> {
        Image::new(&self.0, storage, 3, size, levels)
    }

    /// A bindless array of empty slots.
    ///
    /// # Errors
    /// [`VulkanError::MissingFeature`] on a device without descriptor indexing, or as [`Self::buffer`].
    pub fn bindless_array(&self, slots: u32) -> Result<BindlessArray, RuntimeError> {
        BindlessArray::new(&self.0, slots)
    }
}

impl Shared {
    fn open(instance: Arc<Instance>, candidate: Candidate) -> Result<Self, VulkanError> {
        let mut features = Features::of(&instance, &candidate);
        let abilities = features.abilities(&instance, &candidate);
        let physical = candidate.handle;
        // SAFETY: the handle is the instance's, here and below.
        let families =
            unsafe { instance.handle.get_physical_device_queue_family_properties(physical) };
        let computes =
            |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::COMPUTE);
        let Some(family) = families.iter().position(computes) else {
            return Err(VulkanError::NoDevice(format!(
                "`{}` computes nothing",
                candidate.info.name
            )));
        };
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family as u32)
            .queue_priorities(&[1.0])];
        let extensions = features.extensions();
        let mut chain = features.link();
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut chain);
        // SAFETY: features and extensions are those that the device said it has.
        let handle = unsafe { instance.handle.create_device(physical, &info, None) };
        let handle = call("vkCreateDevice", handle)?;
        let queue = Queue::new(&handle, family as u32).inspect_err(|_| {
            // SAFETY: nothing else of the device exists.
            unsafe { handle.destroy_device(None) }
        })?;
        // SAFETY: the handle is the instance's.
        let (limits, memory) = unsafe {
            (
                instance.handle.get_physical_device_properties(physical).limits,
                instance.handle.get_physical_device_memory_properties(physical),
            )
        };
        Ok(Self {
            instance,
            physical,
            info: candidate.info,
            handle,
            limits,
            memory,
            abilities,
            queue: Mutex::new(queue),
            heaps: Default::default(),
            samplers: OnceLock::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps everyone else from the device, and waits until nothing runs on it.
    pub fn alone(&self) -> impl Drop + '_ {
        self.lock()
    }

    /// Records commands, submits them, and waits until they have ended.
    ///
    /// All that was written before is seen by them, and all they write is seen by what comes after.
    pub fn submit(
        &self,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), RuntimeError> {
        let queue = self.lock();
        let device = &self.handle;
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the lock makes this thread the only one that uses pool, buffer, fence and queue; each submission is waited
        // for, so the buffer is not pending, unless the device was lost, which the first call then says again.
        unsafe {
            let reset = device.reset_command_pool(queue.pool, vk::CommandPoolResetFlags::empty());
            call("vkResetCommandPool", reset)?;
            call("vkBeginCommandBuffer", device.begin_command_buffer(queue.commands, &begin))?;
        }
        barrier(device, queue.commands);
        record(device, queue.commands);
        barrier(device, queue.commands);
        let commands = [queue.commands];
        let submission = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: as above.
        unsafe {
            call("vkEndCommandBuffer", device.end_command_buffer(queue.commands))?;
            call("vkResetFences", device.reset_fences(&[queue.fence]))?;
            call("vkQueueSubmit", device.queue_submit(queue.handle, &submission, queue.fence))?;
            // Without an end: a kernel may run as long as the driver lets it.
            Ok(call("vkWaitForFences", device.wait_for_fences(&[queue.fence], true, u64::MAX))?)
        }
    }

    /// The heap of a kind, made at its first use.
    pub fn heap(&self, kind: Heap) -> Result<&Place, RuntimeError> {
        if let Some(heap) = self.heaps[kind as usize].get() {
            return Ok(heap);
        }
        let made = Place::new(self, kind)?;
        let slot = &self.heaps[kind as usize];
        if let Err(made) = slot.set(made) {
            // Another thread was faster.
            made.destroy(&self.handle);
        }
        slot.get().ok_or_else(|| VulkanError::NoDevice("the heap is gone".into()).into())
    }

    /// Frees a resource's place in a heap.
    pub fn give_back(&self, kind: Heap, place: u32) {
        if let Some(heap) = self.heaps[kind as usize].get() {
            heap.give_back(place);
        }
    }
}

/// Orders everything: what comes behind sees what was written before, on the device and on the host.
fn barrier(device: &ash::Device, commands: vk::CommandBuffer) {
    use vk::{AccessFlags as A, PipelineStageFlags as P};
    let barrier = [vk::MemoryBarrier::default()
        .src_access_mask(A::MEMORY_WRITE | A::HOST_WRITE)
        .dst_access_mask(A::MEMORY_READ | A::MEMORY_WRITE | A::HOST_READ)];
    let stages = P::ALL_COMMANDS | P::HOST;
    let flags = vk::DependencyFlags::empty();
    // SAFETY: the command buffer is being recorded.
    unsafe { device.cmd_pipeline_barrier(commands, stages, stages, flags, &barrier, &[], &[]) }
}

impl Queue {
    fn new(device: &ash::Device, family: u32) -> Result<Self, VulkanError> {
        let pool = vk::CommandPoolCreateInfo::default()
            .queue_family_index(family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the family is the one that the device was made with. What is made before a call fails goes with the device.
        unsafe {
            let pool = call("vkCreateCommandPool", device.create_command_pool(&pool, None))?;
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .level(vk::CommandBufferLevel::PRIMARY)
                .command_buffer_count(1);
            let commands = call("vkAllocateCommandBuffers", device.allocate_command_buffers(&info));
            let fence =
                call("vkCreateFence", device.create_fence(&vk::FenceCreateInfo::default(), None));
            match (commands, fence) {
                (Ok(commands), Ok(fence)) if !commands.is_empty() => {
                    let handle = device.get_device_queue(family, 0);
                    Ok(Self { handle, pool, commands: commands[0], fence })
                }
                (commands, fence) => {
                    if let Ok(fence) = fence {
                        device.destroy_fence(fence, None);
                    }
                    device.destroy_command_pool(pool, None);
                    let result = vk::Result::ERROR_INITIALIZATION_FAILED;
                    Err(commands
                        .err()
                        .unwrap_or(VulkanError::Call { call: "vkCreateFence", result }))
                }
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let queue = self.queue.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: every resource holds a reference to this, so all are gone; submissions are waited for, and a lost device
        // is waited for here.
        unsafe {
            let _ = self.handle.device_wait_idle();
            self.handle.destroy_fence(queue.fence, None);
            self.handle.destroy_command_pool(queue.pool, None);
            for heap in self.heaps.iter().filter_map(OnceLock::get) {
                heap.destroy(&self.handle);
            }
            for sampler in self.samplers.get().into_iter().flatten() {
                self.handle.destroy_sampler(*sampler, None);
            }
            self.handle.destroy_device(None);
        }
    }
}

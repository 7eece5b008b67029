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
    queue::{MOST_QUEUES, Queue},
    recorder::{Commands, Recorders},
    staging::Staging,
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
    pub(super) queues: Vec<Queue>,
    pub(super) recorders: Recorders,
    pub(super) staging: Staging,
    /// What [`Shared::submit`] records into. Who holds the lock is alone with what is done at once, outside of lists.
    direct: Mutex<Option<Commands>>,
    pub(super) heaps: [OnceLock<Place>; 3],
    pub(super) samplers: OnceLock<[vk::Sampler; 16]>,
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
        let count = families[family].queue_count.clamp(1, MOST_QUEUES);
        let priorities = vec![1.0; count as usize];
        let family = family as u32;
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&priorities)];
        let extensions = features.extensions();
        let mut chain = features.link();
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut chain);
        // SAFETY: features and extensions are those that the device said it has.
        let handle = unsafe { instance.handle.create_device(physical, &info, None) };
        let handle = call("vkCreateDevice", handle)?;
        let queues = make_queues(&handle, family, count).inspect_err(|_| {
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
            queues,
            recorders: Recorders::new(family),
            staging: Staging::default(),
            direct: Mutex::default(),
            heaps: Default::default(),
            samplers: OnceLock::new(),
        })
    }

    fn direct(&self) -> MutexGuard<'_, Option<Commands>> {
        self.direct.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps everyone else from doing something at once, and waits until nothing of that kind runs.
    pub fn alone(&self) -> impl Drop + '_ {
        self.direct()
    }

    /// Records commands, submits them, and waits until they have ended.
    ///
    /// All that was written before is seen by them, and all they write is seen by what comes after.
    pub fn submit(
        &self,
        record: impl FnOnce(&ash::Device, vk::CommandBuffer),
    ) -> Result<(), RuntimeError> {
        let mut direct = self.direct();
        let made = match direct.take() {
            Some(made) => made,
            None => self.recorders.take(&self.handle)?,
        };
        // Each submission is waited for, so the buffer is not pending.
        let commands = direct.insert(made);
        commands.reset(&self.handle)?;
        let buffer = commands.record(&self.handle, |buffer| {
            barrier(&self.handle, buffer);
            record(&self.handle, buffer);
            barrier(&self.handle, buffer);
        })?;
        let ticket = self.enqueue(buffer, 0)?;
        Ok(self.wait(ticket)?)
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

fn make_queues(device: &ash::Device, family: u32, count: u32) -> Result<Vec<Queue>, VulkanError> {
    let mut queues = Vec::new();
    for position in 0..count {
        match Queue::new(device, family, position) {
            Ok(queue) => queues.push(queue),
            Err(e) => {
                queues.iter().for_each(|q: &Queue| q.destroy(device));
                return Err(e);
            }
        }
    }
    Ok(queues)
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.settle();
        let direct = self.direct.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        direct.into_iter().for_each(|commands| commands.destroy(&self.handle));
        self.recorders.destroy(&self.handle);
        self.staging.destroy(&self.handle);
        self.queues.iter().for_each(|queue| queue.destroy(&self.handle));
        // SAFETY: every resource holds a reference to this, so all are gone, and nothing runs any more.
        unsafe {
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

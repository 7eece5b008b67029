//! Command pools with their buffers, which lists take and give back.

use std::sync::{Mutex, PoisonError};

use ash::vk;

use super::error::{VulkanError, allocation, call};
use crate::RuntimeError;

/// Most pools that wait to be used again.
const MOST_KEPT: usize = 64;

/// The command buffers of one list, from a pool of their own.
pub(super) struct Commands {
    pool: vk::CommandPool,
    buffers: Vec<vk::CommandBuffer>,
    used: usize,
}

impl Commands {
    /// Makes all buffers free again; none of them may be pending.
    pub fn reset(&mut self, device: &ash::Device) -> Result<(), VulkanError> {
        self.used = 0;
        let flags = vk::CommandPoolResetFlags::empty();
        // SAFETY: the pool is ours alone, and the caller says that no buffer is pending.
        call("vkResetCommandPool", unsafe { device.reset_command_pool(self.pool, flags) })
    }

    /// Records the next buffer, which may then be submitted again and again.
    pub fn record(
        &mut self,
        device: &ash::Device,
        record: impl FnOnce(vk::CommandBuffer),
    ) -> Result<vk::CommandBuffer, RuntimeError> {
        if self.used == self.buffers.len() {
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.pool)
                .level(vk::CommandBufferLevel::PRIMARY)
                .command_buffer_count(1);
            // SAFETY: the pool is ours alone.
            let made = unsafe { device.allocate_command_buffers(&info) };
            self.buffers.extend(allocation("vkAllocateCommandBuffers", 0, made)?);
        }
        let buffer = self.buffers[self.used];
        self.used += 1;
        let begin = vk::CommandBufferBeginInfo::default();
        // SAFETY: the buffer has not been recorded since its pool was reset, and the pool is ours alone.
        unsafe {
            allocation("vkBeginCommandBuffer", 0, device.begin_command_buffer(buffer, &begin))?;
            record(buffer);
            allocation("vkEndCommandBuffer", 0, device.end_command_buffer(buffer))?;
        }
        Ok(buffer)
    }

    /// Destroys pool and buffers, of which none may be pending.
    pub fn destroy(&self, device: &ash::Device) {
        // SAFETY: the caller says that nothing is pending.
        unsafe { device.destroy_command_pool(self.pool, None) }
    }
}

/// The pools of a device that nobody uses.
pub(super) struct Recorders {
    family: u32,
    free: Mutex<Vec<Commands>>,
}

impl Recorders {
    /// Pools for queues of a family.
    pub fn new(family: u32) -> Self {
        Self { family, free: Mutex::default() }
    }

    /// A pool; [`Commands::reset`] comes before its first use.
    pub fn take(&self, device: &ash::Device) -> Result<Commands, RuntimeError> {
        if let Some(free) = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(free);
        }
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        // SAFETY: the family is the one that the device was made with.
        let pool = unsafe { device.create_command_pool(&info, None) };
        let pool = allocation("vkCreateCommandPool", 0, pool)?;
        Ok(Commands { pool, buffers: Vec::new(), used: 0 })
    }

    /// Takes a pool back, of whose buffers none is pending.
    pub fn give_back(&self, device: &ash::Device, commands: Commands) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < MOST_KEPT {
            free.push(commands);
        } else {
            commands.destroy(device);
        }
    }

    /// Destroys all that are here.
    pub fn destroy(&self, device: &ash::Device) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.drain(..).for_each(|commands| commands.destroy(device));
    }
}

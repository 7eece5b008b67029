//! Queues: each with a timeline semaphore that counts what was submitted to it.
//!
//! Work that uses what other work wrote begins only when the host has seen the other's end. What it wrote is then made visible by
//! waiting for the counts that have been reached, which delays nothing.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use ash::vk;

use super::{
    device::Shared,
    error::{VulkanError, call},
};

/// Most queues that are used: lists of different streams go to different ones.
pub(super) const MOST_QUEUES: u32 = 4;

/// A queue of the device.
pub(super) struct Queue {
    /// Its lock is held while something is submitted.
    state: Mutex<State>,
    /// Counts submissions that have ended.
    semaphore: vk::Semaphore,
    /// The highest count that the host has seen.
    seen: AtomicU64,
}

struct State {
    handle: vk::Queue,
    /// The count of the last submission.
    last: u64,
}

/// A submission: the number of its queue, and its count there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    queue: usize,
    count: u64,
}

impl Queue {
    /// The queue of a family at a position.
    pub fn new(device: &ash::Device, family: u32, position: u32) -> Result<Self, VulkanError> {
        let mut timeline =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut timeline);
        // SAFETY: every device of Vulkan 1.2 has timeline semaphores, and the feature is on; the device was made with this queue.
        let (semaphore, handle) = unsafe {
            (device.create_semaphore(&info, None), device.get_device_queue(family, position))
        };
        let semaphore = call("vkCreateSemaphore", semaphore)?;
        Ok(Self {
            state: Mutex::new(State { handle, last: 0 }),
            semaphore,
            seen: AtomicU64::new(0),
        })
    }

    /// Destroys what it holds; nothing may be on the queue any more.
    pub fn destroy(&self, device: &ash::Device) {
        // SAFETY: the caller says that nothing uses it.
        unsafe { device.destroy_semaphore(self.semaphore, None) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Hands recorded commands to a queue. They see what all wrote whose end the host has seen.
    ///
    /// # Errors
    /// What the device says; then nothing was submitted.
    pub fn enqueue(
        &self,
        commands: vk::CommandBuffer,
        queue: usize,
    ) -> Result<Ticket, VulkanError> {
        let number = queue % self.queues.len();
        let seen = |q: &Queue| (q.semaphore, q.seen.load(Ordering::Acquire));
        let reached: Vec<_> =
            self.queues.iter().map(seen).filter(|(_, count)| *count > 0).collect();
        let (semaphores, counts): (Vec<_>, Vec<_>) = reached.into_iter().unzip();
        let stages = vec![vk::PipelineStageFlags::ALL_COMMANDS; semaphores.len()];
        let queue = &self.queues[number];
        let mut state = queue.lock();
        let count = state.last + 1;
        let (signals, values, commands) = ([queue.semaphore], [count], [commands]);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&counts)
            .signal_semaphore_values(&values);
        let submission = [vk::SubmitInfo::default()
            .command_buffers(&commands)
            .wait_semaphores(&semaphores)
            .wait_dst_stage_mask(&stages)
            .signal_semaphores(&signals)
            .push_next(&mut timeline)];
        // SAFETY: the lock makes this thread the only one that uses the queue; the commands are recorded and not pending, and
        // what they use lives until the ticket has been waited for.
        let done =
            unsafe { self.handle.queue_submit(state.handle, &submission, vk::Fence::null()) };
        call("vkQueueSubmit", done)?;
        state.last = count;
        Ok(Ticket { queue: number, count })
    }

    /// Blocks until a submission has ended: without limit, since a kernel may run as long as the driver lets it.
    ///
    /// # Errors
    /// [`VulkanError::Lost`], or what the device says. Nothing runs then any more.
    pub fn wait(&self, ticket: Ticket) -> Result<(), VulkanError> {
        let queue = &self.queues[ticket.queue];
        let (semaphores, values) = ([queue.semaphore], [ticket.count]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore lives as long as the device.
        let done = unsafe { self.handle.wait_semaphores(&info, u64::MAX) };
        if let Err(e) = call("vkWaitSemaphores", done) {
            self.settle();
            return Err(e);
        }
        queue.seen.fetch_max(ticket.count, Ordering::AcqRel);
        Ok(())
    }

    /// Waits until nothing runs on the device; a lost one runs nothing.
    pub fn settle(&self) {
        let _all: Vec<_> = self.queues.iter().map(Queue::lock).collect();
        // SAFETY: all queues are locked.
        let _ = unsafe { self.handle.device_wait_idle() };
    }
}

//! Device memory: one allocation a resource.

use std::ptr::NonNull;

use ash::vk;

use super::{device::Shared, error::allocation};
use crate::RuntimeError;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// What kernels work on.
    Device,
    /// What the host writes and the device reads.
    Upload,
    /// What the device writes and the host reads.
    Download,
}

/// Memory of one resource. Whoever holds it frees it with [`Shared::free`].
pub(super) struct Allocation {
    pub handle: vk::DeviceMemory,
    /// Where the host sees it, if it does.
    pub mapped: Option<NonNull<u8>>,
}

impl Shared {
    /// The type of memory that suits best.
    fn memory_type(&self, allowed: u32, home: Home) -> Option<(u32, vk::MemoryPropertyFlags)> {
        use vk::MemoryPropertyFlags as M;
        let host = M::HOST_VISIBLE | M::HOST_COHERENT;
        let wishes: &[M] = &match home {
            Home::Device => [M::DEVICE_LOCAL, M::empty()],
            Home::Upload => [host, host],
            Home::Download => [M::HOST_CACHED | host, host],
        };
        let types = self.memory.memory_types_as_slice();
        let find = |wish: &M| {
            let fits = |(i, t): &(usize, &vk::MemoryType)| {
                // Memory that only the device's owner or nobody can touch is never meant.
                let odd = M::PROTECTED | M::LAZILY_ALLOCATED;
                allowed >> i & 1 != 0
                    && t.property_flags.contains(*wish)
                    && !t.property_flags.intersects(odd)
            };
            types.iter().enumerate().find(fits).map(|(i, t)| (i as u32, t.property_flags))
        };
        wishes.iter().find_map(find)
    }

    /// Memory that meets `needs`, seen by the host where its type allows that.
    pub fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        home: Home,
    ) -> Result<Allocation, RuntimeError> {
        use vk::MemoryPropertyFlags as M;
        let bytes = needs.size;
        let none = RuntimeError::OutOfMemory { bytes };
        let (index, flags) = self.memory_type(needs.memory_type_bits, home).ok_or(none)?;
        let heap = self.memory.memory_types[index as usize].heap_index as usize;
        // Drivers may promise more than there is, and then fail at the first use.
        if bytes > self.memory.memory_heaps[heap].size {
            return Err(RuntimeError::OutOfMemory { bytes });
        }
        let info =
            vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(index);
        // SAFETY: the device is alive and the type is one of its own.
        let handle = unsafe { self.handle.allocate_memory(&info, None) };
        let handle = allocation("vkAllocateMemory", bytes, handle)?;
        let mut made = Allocation { handle, mapped: None };
        if flags.contains(M::HOST_VISIBLE | M::HOST_COHERENT) {
            // SAFETY: the memory was made a moment ago, is visible to the host, and nobody else has mapped it.
            let mapped = unsafe {
                self.handle.map_memory(handle, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
            };
            match allocation("vkMapMemory", bytes, mapped) {
                Ok(address) => made.mapped = NonNull::new(address.cast()),
                Err(e) => {
                    self.free(&made);
                    return Err(e);
                }
            }
        }
        Ok(made)
    }

    /// Gives memory back; it also ends the mapping.
    pub fn free(&self, allocation: &Allocation) {
        // SAFETY: the resource is gone or going, and what runs keeps its resources alive.
        unsafe { self.handle.free_memory(allocation.handle, None) }
    }
}

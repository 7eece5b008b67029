//! The device `cpu`: the graph of a list as tasks over the threads of [`crate::host`].

mod blocks;
mod copy;
mod execute;
mod prepare;

use std::sync::Arc;

use luisac_artifact::{DeviceProfile, Metadata};

use crate::{
    ImageShape, RuntimeError,
    backend::{Backend, Raw},
    host::{self, device::Workers},
    list::{Command, Committed},
    stream::Run,
};

/// Bytes that copies move and kernels write, in an order that the scheduler keeps.
pub(crate) struct CpuBuffer(host::Buffer);
/// As [`CpuBuffer`].
pub(crate) struct CpuImage(host::Image);
/// The records of a bindless array.
pub(crate) struct CpuArray(host::BindlessArray<'static>);

// SAFETY: no reference into the memory is ever made, only raw copies, and the scheduler lets no write run beside another
// access to the same bytes: within a list by its graph, among lists by the uses of resources.
unsafe impl Sync for CpuBuffer {}
// SAFETY: as above.
unsafe impl Sync for CpuImage {}
// SAFETY: as above.
unsafe impl Sync for CpuArray {}

/// The device.
pub(crate) struct Cpu {
    device: host::Device,
}

impl Cpu {
    pub(crate) fn new(device: host::Device) -> Self {
        Self { device }
    }

    fn workers(&self) -> &Arc<Workers> {
        self.device.workers()
    }
}

/// What the CPU made, in its own form. Resources of other devices were refused when the list was recorded.
fn own<T: 'static>(raw: &Raw) -> Result<&T, RuntimeError> {
    raw.downcast_ref().ok_or(RuntimeError::OtherDevice)
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn profile(&self) -> DeviceProfile {
        DeviceProfile::this_processor()
    }

    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError> {
        let len = usize::try_from(bytes).map_err(|_| RuntimeError::OutOfMemory { bytes })?;
        Ok(Box::new(CpuBuffer(self.device.buffer(len)?)))
    }

    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError> {
        let ImageShape { storage, dimension, size, levels } = *shape;
        let image = self.device.image_with_levels(storage, dimension, size, levels)?;
        Ok(Box::new(CpuImage(image)))
    }

    fn bindless_array(&self, slots: u32) -> Result<Raw, RuntimeError> {
        Ok(Box::new(CpuArray(self.device.bindless_array(slots as usize)?)))
    }

    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { self.device.load(code, metadata.clone())? }))
    }

    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError> {
        Ok(Box::new(prepare::Prepared::new(commands)?))
    }

    fn start(&self, run: Arc<Run>, here: bool) {
        execute::start(self.workers(), run, here);
    }

    fn skip(&self, list: &Committed, from: usize) {
        for command in list.commands.iter().skip(from) {
            if let Command::Update { array, changes } = command {
                // It can only fail for arrays of other devices, which were refused.
                let _ = copy::update(array, changes);
            }
        }
    }
}

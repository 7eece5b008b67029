//! The devices under command lists: a thread runs each list, in the order in which they became ready.

use std::sync::Arc;

use luisac_artifact::{DeviceProfile, Metadata};

use super::{
    Api,
    device::Shared,
    kernel::Kernel,
    lists::{Prepared, execute},
    resources::{Buffer, Image},
};
use crate::{
    ImageShape, RuntimeError,
    backend::{Backend, Raw, Worker},
    list::{Command, Committed},
    stream::Run,
};

/// A device of wgpu's.
pub(crate) struct Wgpu {
    shared: Arc<Shared>,
    worker: Worker,
}

impl Wgpu {
    /// Opens the best device of an interface.
    ///
    /// # Errors
    /// [`RuntimeError::NoDevice`] with the reason.
    pub(crate) fn open(api: Api) -> Result<Self, RuntimeError> {
        Ok(Self { shared: Shared::open(api)?, worker: Worker::new("luisac-wgpu", execute)? })
    }
}

impl Backend for Wgpu {
    fn name(&self) -> &'static str {
        self.shared.api.name()
    }

    fn describe(&self) -> String {
        let info = &self.shared.info;
        let driver = format!("{} {}", info.driver, info.driver_info);
        format!("{}, {}, by {} through wgpu", info.name, driver.trim(), info.backend)
    }

    fn profile(&self) -> DeviceProfile {
        DeviceProfile::new(match self.shared.api {
            Api::Vulkan => "spirv:1.5",
            Api::Dx12 => "dxil:6.6",
            Api::Metal => "msl:3.1",
        })
    }

    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Buffer::new(&self.shared, bytes, wgpu::BufferUsages::STORAGE)?))
    }

    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Image::new(&self.shared, shape)?))
    }

    fn bindless_array(&self, _: u32) -> Result<Raw, RuntimeError> {
        Err(self.shared.unsupported("a bindless array"))
    }

    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { Kernel::load(&self.shared, code, metadata)? }))
    }

    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Prepared::new(&self.shared, commands)?))
    }

    fn start(&self, run: Arc<Run>, _here: bool) {
        self.worker.start(run);
    }

    fn skip(&self, _: &Committed, _: usize) {
        // There are no bindless arrays that would have to know.
    }
}

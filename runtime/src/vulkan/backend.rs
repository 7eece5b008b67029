//! The device `vulkan` under command lists. Submitting a list begins it.

use std::sync::Arc;

use luisac_artifact::{DeviceProfile, Metadata};

use super::{
    Device,
    lists::{self, Prepared, Session},
    threads::Threads,
};
use crate::{
    ImageShape, RuntimeError,
    backend::{Backend, Raw},
    list::{Command, Committed},
    stream::Run,
};

/// The best Vulkan device of the machine.
pub(crate) struct Vulkan {
    device: Device,
    threads: Arc<Threads>,
}

impl Vulkan {
    pub(crate) fn open() -> Result<Self, RuntimeError> {
        Ok(Self { device: Device::open()?, threads: Arc::default() })
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        self.threads.close();
    }
}

/// What this device made. Resources of others were refused when the list was recorded.
pub(super) fn own<T: 'static>(raw: &Raw) -> Result<&T, RuntimeError> {
    raw.downcast_ref().ok_or(RuntimeError::OtherDevice)
}

impl Backend for Vulkan {
    fn name(&self) -> &'static str {
        "vulkan"
    }

    fn describe(&self) -> String {
        self.device.info().name.clone()
    }

    fn profile(&self) -> DeviceProfile {
        // Every device with Vulkan 1.2, which is the least, takes SPIR-V 1.5.
        let mut takes = vec!["spirv:1.5".to_owned()];
        if cfg!(feature = "wgsl") {
            takes.push("wgsl".into());
        }
        DeviceProfile { takes, features: None }
    }

    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError> {
        Ok(Box::new(self.device.buffer(bytes)?))
    }

    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError> {
        let ImageShape { storage, dimension, size, levels } = *shape;
        let image = match dimension {
            2 => self.device.image_2d(storage, [size[0], size[1]], levels)?,
            _ => self.device.image_3d(storage, size, levels)?,
        };
        Ok(Box::new(image))
    }

    fn bindless_array(&self, slots: u32) -> Result<Raw, RuntimeError> {
        Ok(Box::new(self.device.bindless_array(slots)?))
    }

    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { self.device.load(code, metadata.clone())? }))
    }

    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Prepared::new(&self.device.0, commands)?))
    }

    fn start(&self, run: Arc<Run>, _here: bool) {
        let completion = run.completion().clone();
        let session = Session::begin(&self.device.0, run);
        if session.only_waits() {
            self.threads.leave(completion, session);
        } else {
            self.threads.take(session);
        }
    }

    fn skip(&self, list: &Committed, from: usize) {
        // What a slot cannot hold stays out of it, and a lost device is found by later lists; this one has failed anyway.
        let _ = lists::skip(list, from);
    }
}

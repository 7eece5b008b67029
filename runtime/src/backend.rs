//! What a device has to do. Everything else (checks, order, lifetimes, errors that stay) is done once, above it.

use std::{
    any::Any,
    sync::{Arc, mpsc},
};

use luisac_artifact::{DeviceProfile, Metadata, PixelStorage};

use crate::{
    Output, RuntimeError,
    list::{Command, Committed},
    stream::Run,
};

/// A resource, kernel or prepared list in its backend's own form. Backends get back what they made.
pub(crate) type Raw = Box<dyn Any + Send + Sync>;

/// The shape of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageShape {
    /// How texels are stored.
    pub storage: PixelStorage,
    /// 2 or 3.
    pub dimension: u32,
    /// Texels of level 0 along x, y, z; z is 1 for two dimensions.
    pub size: [u32; 3],
    /// Number of levels, each half as large as the one before, but at least 1.
    pub levels: u32,
}

impl ImageShape {
    /// Texels of a level along x, y, z.
    #[must_use]
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.size.map(|n| n.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Bytes of a level, rows and slices without gaps; `None` if 64 bits cannot say it.
    #[must_use]
    pub fn level_bytes(&self, level: u32) -> Option<u64> {
        let size = self.level_size(level);
        size.iter().try_fold(u64::from(self.storage.bytes()), |a, &b| a.checked_mul(b.into()))
    }
}

/// A device.
///
/// Calls come from any thread. Resources are dropped when nothing that has been started needs them any more.
pub(crate) trait Backend: Send + Sync {
    /// The name to open it by.
    fn name(&self) -> &'static str;

    /// What it is, in words.
    fn describe(&self) -> String {
        self.name().into()
    }

    /// The targets whose code it runs.
    fn profile(&self) -> DeviceProfile;

    /// Zeroed memory.
    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError>;

    /// A zeroed image; the shape has texels, and levels no smaller than one texel.
    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError>;

    /// An array of empty slots.
    fn bindless_array(&self, slots: u32) -> Result<Raw, RuntimeError>;

    /// A kernel; the metadata has been checked, but not that it is for this device.
    ///
    /// # Safety
    /// The code is what the compiler wrote for the metadata.
    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError>;

    /// Makes ready a list that may run many times. All commands have been checked against the metadata, ranges lie
    /// inside resources, and everything is of this device.
    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError>;

    /// Begins a list and soon returns; [`Run::finish`] must follow, from whatever thread. All that it has to wait for
    /// is done. The same list never runs twice at once. `here` says that the call
    /// comes from [`Stream::submit`](crate::Stream::submit): what takes less time than to hand it over may run on this thread.
    fn start(&self, run: Arc<Run>, here: bool);

    /// Does what must be done of a list that does not run, or not beyond `from`: bindless arrays are told of their updates, since
    /// what comes later goes by them.
    fn skip(&self, list: &Committed, from: usize);
}

/// A thread for backends that run a list by waiting for it.
pub(crate) struct Worker(mpsc::Sender<Arc<Run>>);

#[allow(dead_code, reason = "only devices that are features need it")]
impl Worker {
    /// Starts the thread, which ends with the worker.
    pub(crate) fn new(
        name: &str,
        execute: impl Fn(&Run) -> Result<Output, RuntimeError> + Send + 'static,
    ) -> Result<Self, RuntimeError> {
        let (sender, receiver) = mpsc::channel::<Arc<Run>>();
        let work = move || {
            for run in receiver {
                let result = execute(&run);
                run.finish(result);
            }
        };
        let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        started
            .map_err(|e| RuntimeError::DeviceLost { device: name.into(), reason: e.to_string() })?;
        Ok(Self(sender))
    }

    /// Hands a run over.
    pub(crate) fn start(&self, run: Arc<Run>) {
        if let Err(mpsc::SendError(run)) = self.0.send(run) {
            let (device, reason) = ("worker".into(), "its thread has ended".into());
            run.finish(Err(RuntimeError::DeviceLost { device, reason }));
        }
    }
}

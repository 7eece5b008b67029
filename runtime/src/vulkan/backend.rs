//! The device `vulkan` under command lists. Submitting a list begins it; threads see lists to their ends.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use luisac_artifact::{DeviceProfile, Metadata};

use super::{
    Device,
    lists::{self, Prepared, Session},
};
use crate::{
    ImageShape, RuntimeError,
    backend::{Backend, Raw},
    list::{Command, Committed},
    stream::Run,
};

/// Most threads that see lists to their ends. What they wait for has been submitted, so more lists than this may run.
const THREADS: usize = 8;

/// The best Vulkan device of the machine.
pub(crate) struct Vulkan {
    device: Device,
    threads: Arc<Threads>,
}

#[derive(Default)]
struct Threads {
    work: Mutex<Work>,
    more: Condvar,
}

#[derive(Default)]
struct Work {
    waiting: VecDeque<Session>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Vulkan {
    pub(crate) fn open() -> Result<Self, RuntimeError> {
        Ok(Self { device: Device::open()?, threads: Arc::default() })
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        self.threads.lock().closed = true;
        self.threads.more.notify_all();
    }
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a list over to a thread.
    fn take(self: &Arc<Self>, session: Session) {
        let mut work = self.lock();
        work.waiting.push_back(session);
        if work.waiting.len() > work.idle && work.threads < THREADS {
            let threads = self.clone();
            let thread = std::thread::Builder::new().name("luisac-vulkan".into());
            if thread.spawn(move || threads.serve()).is_ok() {
                work.threads += 1;
            } else if work.threads == 0 {
                // The system gives no threads: the caller does it.
                let session = work.waiting.pop_back();
                drop(work);
                if let Some(session) = session {
                    session.finish();
                }
                return;
            }
        }
        drop(work);
        self.more.notify_one();
    }

    /// The life of a thread.
    fn serve(&self) {
        let mut work = self.lock();
        loop {
            if let Some(session) = work.waiting.pop_front() {
                drop(work);
                session.finish();
                work = self.lock();
            } else if work.closed {
                return;
            } else {
                work.idle += 1;
                work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
                work.idle -= 1;
            }
        }
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
        self.threads.take(Session::begin(&self.device.0, run));
    }

    fn skip(&self, list: &Committed, from: usize) {
        // What a slot cannot hold stays out of it, and a lost device is found by later lists; this one has failed anyway.
        let _ = lists::skip(list, from);
    }
}

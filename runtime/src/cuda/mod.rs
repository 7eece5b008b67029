//! The device `cuda` (feature `cuda`): PTX through NVIDIA's driver, whose library is looked for at run time.
//!
//! A list becomes CUDA graphs that have the scheduler's own edges, cut where the host takes part: at callbacks, signals and indirect
//! dispatches. Small parts are launched without a graph. [`threads`] says who starts a list and who sees to its end; there is
//! one queue of the GPU for each list on its way.

mod driver;
mod execute;
mod graph;
mod image;
mod module;
mod steps;
mod threads;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use luisac_artifact::{DeviceProfile, Metadata, abi};

use self::{
    driver::{Context, Memory},
    execute::Prepared,
    image::Image,
    module::Module,
    threads::Shared,
};
use crate::{
    ImageShape, LoadError, RuntimeError,
    backend::{Backend, Raw},
    list::{Command, Committed},
    resource::Change,
    stream::Run,
};

/// Memory of a buffer.
struct Buffer(Memory);

/// A kernel's code.
struct CudaKernel(Module);

/// The records of a bindless array, and what they hold once everything that has begun is done.
struct Array {
    memory: Memory,
    records: Mutex<Vec<abi::BindlessRecord>>,
}

/// What this device made, in its own form. Resources of other devices were refused when the list was recorded.
fn own<T: 'static>(raw: &Raw) -> Result<&T, RuntimeError> {
    raw.downcast_ref().ok_or(RuntimeError::OtherDevice)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Array {
    /// Applies changes; the bytes of the records of some slots, in order.
    fn apply(&self, changes: &[(u32, Change)], slots: &[u32]) -> Result<Vec<u8>, RuntimeError> {
        let mut records = lock(&self.records);
        for (slot, change) in changes {
            if let Some(record) = records.get_mut(*slot as usize) {
                change_record(record, change)?;
            }
        }
        let chosen = slots.iter().filter_map(|slot| records.get(*slot as usize));
        Ok(chosen.flat_map(bytes_of).collect())
    }

    fn write_all(&self) -> Result<(), RuntimeError> {
        let bytes: Vec<u8> = lock(&self.records).iter().flat_map(bytes_of).collect();
        self.memory.write(&bytes)
    }
}

fn bytes_of(record: &abi::BindlessRecord) -> Vec<u8> {
    let abi::BindlessRecord { buffer, buffer_size, image2d, image3d } = *record;
    [buffer, buffer_size, image2d, image3d].iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn change_record(record: &mut abi::BindlessRecord, change: &Change) -> Result<(), RuntimeError> {
    match change {
        Change::Buffer(view) => {
            let (address, bytes) = match view {
                Some(view) => {
                    let buffer: &Buffer = own(&view.memory.raw)?;
                    (buffer.0.address + view.start, view.bytes)
                }
                None => (0, 0),
            };
            let mask = (1 << abi::PTX_SIZE_BITS) - 1;
            record.buffer = address;
            record.buffer_size = record.buffer_size & !mask | bytes & mask;
        }
        Change::Image(dimension, member) => {
            let (texture, code) = match member {
                Some(member) => {
                    let image: &Image = own(&member.level.memory.raw)?;
                    let table = image.table(member.level.level)?;
                    let last = image.shape.levels - 1 - member.level.level;
                    let code = member.sampler.code()
                        | last << (abi::PTX_LEVEL_BITS[0] - abi::PTX_SAMPLER_BITS[0]);
                    (table.texture(member.sampler), u64::from(code))
                }
                None => (0, 0),
            };
            let is_2d = *dimension == 2;
            let [bits2, bits3] = abi::PTX_SAMPLER_BITS;
            let bits = if is_2d { bits2 } else { bits3 };
            let word = if is_2d { &mut record.image2d } else { &mut record.image3d };
            *word = texture;
            record.buffer_size = record.buffer_size & !(0xff << bits) | code << bits;
        }
    }
    Ok(())
}

/// The device.
pub(crate) struct Cuda {
    shared: Arc<Shared>,
}

impl Cuda {
    /// Opens the first GPU.
    ///
    /// # Errors
    /// [`RuntimeError::NoDevice`] with the reason.
    pub(crate) fn open() -> Result<Self, RuntimeError> {
        Ok(Self { shared: Arc::new(Shared::new(Context::open()?)) })
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Backend for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn describe(&self) -> String {
        let Context { name, capability, driver, .. } = &*self.shared.context;
        let (major, minor) = (driver / 1000, driver % 1000 / 10);
        format!("{name}, sm_{capability}, driver for CUDA {major}.{minor}")
    }

    fn profile(&self) -> DeviceProfile {
        DeviceProfile::new(format!("ptx:sm_{}", self.shared.context.capability))
    }

    fn buffer(&self, bytes: u64) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Buffer(Memory::zeroed(&self.shared.context, bytes)?)))
    }

    fn image(&self, shape: &ImageShape) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Image::new(&self.shared.context, shape)?))
    }

    fn bindless_array(&self, slots: u32) -> Result<Raw, RuntimeError> {
        let bytes = u64::from(slots) * size_of::<abi::BindlessRecord>() as u64;
        let memory = Memory::zeroed(&self.shared.context, bytes)?;
        let records = vec![abi::BindlessRecord::default(); slots as usize];
        Ok(Box::new(Array { memory, records: Mutex::new(records) }))
    }

    unsafe fn kernel(&self, code: &[u8], metadata: &Metadata) -> Result<Raw, RuntimeError> {
        if !metadata.is_for("ptx") {
            return Err(LoadError::WrongTarget(metadata.target.clone(), "cuda").into());
        }
        let capability = self.shared.context.capability;
        if metadata.ptx.as_ref().is_some_and(|ptx| ptx.sm > capability) {
            let (target, feature) = (metadata.target.clone(), "so high a compute capability");
            return Err(LoadError::MissingFeature { target, feature }.into());
        }
        Ok(Box::new(CudaKernel(Module::load(&self.shared.context, code, metadata)?)))
    }

    fn prepare(&self, commands: &[Command]) -> Result<Raw, RuntimeError> {
        Ok(Box::new(Prepared::new(&self.shared.context, commands)?))
    }

    fn start(&self, run: Arc<Run>, here: bool) {
        if here && !execute::needs_host(&run) {
            self.shared.launch(run);
        } else {
            self.shared.execute(run);
        }
    }

    fn skip(&self, list: &Committed, from: usize) {
        // It can only fail if the device is lost, which later lists will find out.
        let _ = execute::skip(list, from);
    }
}

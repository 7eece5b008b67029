//! Devices, and what they own: buffers, images, kernels.

use std::sync::{Arc, OnceLock};

use luisac_artifact::{Metadata, PixelStorage, abi::CpuEntry};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{BindlessArray, Image, loader::Code, memory::Memory};
use crate::{LoadError, RuntimeError};

/// Stack of a worker thread. Kernels keep their large arrays in scratch memory, but deep ones still need room.
const WORKER_STACK: usize = 16 << 20;

/// Where kernels run. Cheap to clone.
#[derive(Clone)]
pub struct Device {
    workers: Arc<Workers>,
}

/// The threads that run blocks, started at the first dispatch that is worth it.
pub(crate) struct Workers {
    threads: usize,
    pool: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The pool, or nothing if the system gave no threads; the caller then works alone.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        let build = || {
            ThreadPoolBuilder::new().num_threads(self.threads).stack_size(WORKER_STACK).build().ok()
        };
        self.pool.get_or_init(build).as_ref()
    }
}

impl Device {
    /// The CPU, with a thread for each processor, or as many as `RAYON_NUM_THREADS` says.
    #[must_use]
    pub fn cpu() -> Self {
        let asked =
            std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
        let here = || std::thread::available_parallelism().map_or(1, usize::from);
        Self::cpu_with_threads(asked.unwrap_or_else(here))
    }

    /// The CPU with this many threads, at least one.
    #[must_use]
    pub fn cpu_with_threads(threads: usize) -> Self {
        Self { workers: Arc::new(Workers { threads: threads.max(1), pool: OnceLock::new() }) }
    }

    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// A buffer of `bytes` zeros.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`].
    pub fn buffer(&self, bytes: usize) -> Result<Buffer, RuntimeError> {
        Memory::zeroed(bytes).map(Buffer)
    }

    /// A buffer that holds `data`.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`].
    pub fn buffer_from(&self, data: &[u8]) -> Result<Buffer, RuntimeError> {
        let mut buffer = self.buffer(data.len())?;
        buffer.bytes_mut().copy_from_slice(data);
        Ok(buffer)
    }

    /// An image of two dimensions, zero at first.
    ///
    /// # Errors
    /// [`RuntimeError::ImageShape`] or [`RuntimeError::OutOfMemory`].
    pub fn image_2d(&self, storage: PixelStorage, size: [u32; 2]) -> Result<Image, RuntimeError> {
        Image::new(storage, 2, [size[0], size[1], 1], 1)
    }

    /// An image of three dimensions, zero at first.
    ///
    /// # Errors
    /// [`RuntimeError::ImageShape`] or [`RuntimeError::OutOfMemory`].
    pub fn image_3d(&self, storage: PixelStorage, size: [u32; 3]) -> Result<Image, RuntimeError> {
        Image::new(storage, 3, size, 1)
    }

    /// An image of `dimension` 2 (then the depth is 1) or 3 with `levels` levels, zero at first.
    ///
    /// # Errors
    /// [`RuntimeError::ImageShape`] or [`RuntimeError::OutOfMemory`].
    pub fn image_with_levels(
        &self,
        storage: PixelStorage,
        dimension: u32,
        size: [u32; 3],
        levels: u32,
    ) -> Result<Image, RuntimeError> {
        if !(dimension == 3 || dimension == 2 && size[2] == 1) {
            let reason = "it has two dimensions and a depth of 1, or three";
            return Err(RuntimeError::ImageShape { size, storage, reason });
        }
        Image::new(storage, dimension, size, levels)
    }

    /// A bindless array of empty slots.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`].
    pub fn bindless_array<'r>(&self, slots: usize) -> Result<BindlessArray<'r>, RuntimeError> {
        BindlessArray::new(slots)
    }

    /// Loads a kernel: an ELF object for this machine, with the metadata that was written beside it.
    ///
    /// # Errors
    /// [`LoadError`] for anything that is damaged, foreign or does not stand alone.
    ///
    /// # Safety
    /// The object's code will be called. It must be what the compiler wrote for this metadata, and a kernel compiled
    /// without bounds checks must not be dispatched so that it leaves its buffers. (Objects that were damaged so that
    /// they cannot be loaded are found; code cannot be judged.)
    pub unsafe fn load(&self, object: &[u8], metadata: Metadata) -> Result<Kernel, RuntimeError> {
        metadata.check().map_err(|e| LoadError::Damaged(e.to_string()))?;
        if !metadata.is_for("cpu") {
            return Err(LoadError::WrongTarget(metadata.target, "cpu").into());
        }
        check_features(&metadata.target)?;
        let code = Code::load(object, &metadata.entry)?;
        Ok(Kernel { code, metadata, workers: self.workers.clone() })
    }
}

/// Refuses code for a processor that can more than this one.
fn check_features(target: &str) -> Result<(), LoadError> {
    #[cfg(target_arch = "x86_64")]
    {
        // By the levels of the x86-64 psABI; each includes the ones before.
        let level = match target.split_once(":x86-64-v") {
            Some((_, level)) => level.parse().unwrap_or(1),
            None => 1,
        };
        let levels = [
            (2, "SSE4.2", std::is_x86_feature_detected!("sse4.2")),
            (2, "POPCNT", std::is_x86_feature_detected!("popcnt")),
            (3, "AVX2", std::is_x86_feature_detected!("avx2")),
            (3, "FMA", std::is_x86_feature_detected!("fma")),
            (3, "BMI2", std::is_x86_feature_detected!("bmi2")),
            (3, "LZCNT", std::is_x86_feature_detected!("lzcnt")),
            (3, "F16C", std::is_x86_feature_detected!("f16c")),
            (4, "AVX-512F", std::is_x86_feature_detected!("avx512f")),
            (4, "AVX-512BW", std::is_x86_feature_detected!("avx512bw")),
            (4, "AVX-512VL", std::is_x86_feature_detected!("avx512vl")),
            (4, "AVX-512DQ", std::is_x86_feature_detected!("avx512dq")),
            (4, "AVX-512CD", std::is_x86_feature_detected!("avx512cd")),
        ];
        if let Some((_, feature, _)) =
            levels.into_iter().find(|(least, _, here)| *least <= level && !here)
        {
            return Err(LoadError::MissingFeature { target: target.to_owned(), feature });
        }
    }
    let _ = target;
    Ok(())
}

/// Bytes that kernels read and write. Not `Sync`: a dispatch blocks the one thread that can look.
pub struct Buffer(pub(crate) Memory);

impl Buffer {
    /// Size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies `data` to byte `offset`.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] if it passes the end.
    pub fn upload(&self, offset: usize, data: &[u8]) -> Result<(), RuntimeError> {
        self.ranged(self.0.write(offset, data), offset, data.len())
    }

    /// Fills `data` from byte `offset`.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] if it passes the end.
    pub fn download(&self, offset: usize, data: &mut [u8]) -> Result<(), RuntimeError> {
        self.ranged(self.0.read(offset, data), offset, data.len())
    }

    fn ranged(&self, done: bool, offset: usize, len: usize) -> Result<(), RuntimeError> {
        let expected = self.len().saturating_sub(offset) as u64;
        if done {
            Ok(())
        } else {
            Err(RuntimeError::DataSize { expected, got: len as u64, unit: "bytes" })
        }
    }

    /// A copy of all bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// The bytes themselves.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

/// A kernel in memory, ready to be bound and dispatched.
pub struct Kernel {
    pub(crate) code: Code,
    pub(crate) metadata: Metadata,
    pub(crate) workers: Arc<Workers>,
}

impl Kernel {
    /// What the compiler said about it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The code's entry point.
    pub(crate) fn entry(&self) -> CpuEntry {
        // SAFETY: the address is that of the function which the metadata calls the entry; whoever loaded the kernel
        // promised that it is one of this signature.
        unsafe { std::mem::transmute::<*const u8, CpuEntry>(self.code.entry()) }
    }
}

//! NVIDIA's driver, as far as this device needs it: loaded at run time, statuses as errors, objects that free themselves.

use std::{
    ffi::{CStr, c_void},
    ptr,
    sync::Arc,
    time::Duration,
};

use cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult, CUstream};

use crate::RuntimeError;

/// What a status other than success means.
pub(super) fn check(what: &str, status: CUresult) -> Result<(), RuntimeError> {
    if status == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = ptr::null();
    // SAFETY: the driver gives a static string, or leaves the pointer null.
    let text = unsafe {
        let _ = sys::cuGetErrorString(status, &mut text);
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    let reason = format!("{what}: {}", text.unwrap_or_else(|| format!("{status:?}")));
    Err(match status {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => RuntimeError::OutOfMemory { bytes: 0 },
        _ => RuntimeError::DeviceLost { device: "cuda".into(), reason },
    })
}

/// Calls a function of the driver and checks its status.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::cuda::driver::check(
            stringify!($name),
            ::cudarc::driver::sys::$name($($argument),*),
        )
    };
}
pub(super) use call;

/// A copy from nowhere to nowhere, to be filled in. (Zeros are no such copy: they are no kind of memory.)
pub(super) fn no_copy() -> sys::CUDA_MEMCPY3D {
    let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: device,
        srcHost: ptr::null(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: device,
        dstHost: ptr::null_mut(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: 0,
        Height: 0,
        Depth: 0,
    }
}

/// A GPU with its primary context.
pub(super) struct Context {
    pub(super) device: CUdevice,
    context: CUcontext,
    /// Compute capability, 90 for 9.0.
    pub(super) capability: u32,
    /// Version of the driver's interface, 12080 for 12.8.
    pub(super) driver: u32,
    pub(super) name: String,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Opens GPU number 0 of those that are visible.
    pub(super) fn open() -> Result<Arc<Self>, RuntimeError> {
        let none = |reason: &str| {
            Err(RuntimeError::NoDevice { device: "cuda".into(), reason: reason.into() })
        };
        // SAFETY: loading a library by its usual names.
        if !unsafe { sys::is_culib_present() } {
            return none("there is no NVIDIA driver: its library `libcuda` was not found");
        }
        // SAFETY: plain calls of the driver; pointers lead to locals.
        unsafe {
            if let Err(e) = call!(cuInit(0)) {
                return none(&e.to_string());
            }
            let (mut count, mut device, mut driver) = (0, 0, 0);
            call!(cuDeviceGetCount(&mut count))?;
            if count == 0 {
                return none("there is no NVIDIA GPU");
            }
            call!(cuDeviceGet(&mut device, 0))?;
            call!(cuDriverGetVersion(&mut driver))?;
            let attribute = |which| {
                let mut value = 0;
                call!(cuDeviceGetAttribute(&mut value, which, device)).map(|()| value as u32)
            };
            use sys::CUdevice_attribute as A;
            let major = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
            let minor = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
            let mut text = [0; 256];
            call!(cuDeviceGetName(text.as_mut_ptr(), 255, device))?;
            let name = CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
            let mut context = ptr::null_mut();
            call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
            let capability = major * 10 + minor;
            Ok(Arc::new(Self { device, context, capability, driver: driver as u32, name }))
        }
    }

    /// Makes the context that of the calling thread, which every other call needs.
    pub(super) fn enter(&self) -> Result<(), RuntimeError> {
        thread_local! {
            static CURRENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
        }
        let here = self.context as usize;
        if CURRENT.get() != here {
            // SAFETY: the context lives as long as this.
            unsafe { call!(cuCtxSetCurrent(self.context))? };
            CURRENT.set(here);
        }
        Ok(())
    }

    pub(super) fn raw(&self) -> CUcontext {
        self.context
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: everything made in the context holds a reference to this, so it is gone.
        unsafe {
            let _ = sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}

/// Memory of the GPU.
pub(super) struct Memory {
    pub(super) context: Arc<Context>,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

impl Memory {
    /// Zeroed memory; at least a few bytes, so that it has an address.
    pub(super) fn zeroed(context: &Arc<Context>, bytes: u64) -> Result<Self, RuntimeError> {
        context.enter()?;
        let out = || RuntimeError::OutOfMemory { bytes };
        let room = bytes.max(16).checked_next_multiple_of(16).ok_or_else(out)?;
        let room = usize::try_from(room).map_err(|_| out())?;
        let mut address = 0;
        // SAFETY: the memory is written only once it is there, all of it.
        unsafe {
            call!(cuMemAlloc_v2(&mut address, room)).map_err(|e| match e {
                RuntimeError::OutOfMemory { .. } => out(),
                e => e,
            })?;
            let memory = Self { context: context.clone(), address, bytes };
            call!(cuMemsetD8_v2(address, 0, room))?;
            call!(cuStreamSynchronize(ptr::null_mut()))?;
            Ok(memory)
        }
    }

    /// Copies bytes to the start of the memory, and waits for it.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.context.enter()?;
        let len = bytes.len().min(self.bytes as usize);
        // SAFETY: both sides have so many bytes.
        unsafe { call!(cuMemcpyHtoD_v2(self.address, bytes.as_ptr().cast(), len)) }
    }

    /// Copies bytes from an offset on, and waits for it.
    pub(super) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), RuntimeError> {
        self.context.enter()?;
        let room = self.bytes.saturating_sub(offset);
        let len = bytes.len().min(room as usize);
        // SAFETY: both sides have so many bytes.
        unsafe { call!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), self.address + offset, len)) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the memory is this one's, and whoever used it has ended.
            unsafe {
                let _ = sys::cuMemFree_v2(self.address);
            }
        }
    }
}

/// Host memory that the GPU reaches by itself.
pub(super) struct Pinned {
    context: Arc<Context>,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory; `bytes` and `bytes_mut` go by the usual rules of references.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    pub(super) fn zeroed(context: &Arc<Context>, bytes: usize) -> Result<Self, RuntimeError> {
        context.enter()?;
        let mut address: *mut c_void = ptr::null_mut();
        // SAFETY: the driver gives memory of at least one byte, which is zeroed before anybody reads it.
        unsafe {
            call!(cuMemHostAlloc(&mut address, bytes.max(1), 0))?;
            address.cast::<u8>().write_bytes(0, bytes);
        }
        Ok(Self { context: context.clone(), address: address.cast(), bytes })
    }

    pub(super) fn address(&self) -> *mut u8 {
        self.address
    }

    /// The bytes; nothing on the GPU may be writing them.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory is there and was zeroed.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: whoever used the memory has ended.
            unsafe {
                let _ = sys::cuMemFreeHost(self.address.cast());
            }
        }
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_micros(500);

/// A queue of work on the GPU.
pub(super) struct Queue {
    context: Arc<Context>,
    stream: CUstream,
}

// SAFETY: the driver's streams may be used from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, RuntimeError> {
        context.enter()?;
        let mut stream = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the pointer leads to a local.
        unsafe { call!(cuStreamCreate(&mut stream, flags))? };
        Ok(Self { context: context.clone(), stream })
    }

    pub(super) fn raw(&self) -> CUstream {
        self.stream
    }

    /// Waits until everything in it is done.
    pub(super) fn wait(&self) -> Result<(), RuntimeError> {
        self.context.enter()?;
        // SAFETY: the stream lives as long as this.
        unsafe { call!(cuStreamSynchronize(self.stream)) }
    }

    /// As [`Self::wait`], but sleeps between looks, since the driver would keep the processor busy.
    pub(super) fn wait_patiently(&self) -> Result<(), RuntimeError> {
        self.context.enter()?;
        let mut pause = SHORTEST_PAUSE;
        // SAFETY: the stream lives as long as this.
        while unsafe { sys::cuStreamQuery(self.stream) } == CUresult::CUDA_ERROR_NOT_READY {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        // An error is found again here.
        self.wait()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the stream is this one's.
            unsafe {
                let _ = sys::cuStreamDestroy_v2(self.stream);
            }
        }
    }
}

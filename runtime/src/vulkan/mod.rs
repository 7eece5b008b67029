//! The device `vulkan`: hands SPIR-V through to the driver untouched, and WGSL by way of naga, the front end of wgpu (feature `wgsl`).
//!
//! Vulkan is called directly (`ash`) and not through wgpu, which cannot hold what kernels need: it never enables 8-bit storage, 64-bit
//! or float atomics, nor reads of storage images without a format, and it refuses a resource that a dispatch reads at one binding and
//! writes at another, which overlapping views and images that are both sampled and written do.
//!
//! The loader is found at run time: a machine without Vulkan gets [`VulkanError::NoLoader`], never a failure to start.
//!
//! ```no_run
//! use luisac_runtime::{Metadata, vulkan::{Arg, Device}};
//!
//! let device = Device::open()?;
//! let metadata = Metadata::from_json(&std::fs::read("saxpy.spirv.json")?)?;
//! // SAFETY: the two files are what `luisac compile` wrote.
//! let kernel = unsafe { device.load(&std::fs::read("saxpy.spv")?, metadata)? };
//! let (x, y) = (device.buffer_from(&1.0f32.to_le_bytes().repeat(1000))?, device.buffer(4000)?);
//! kernel.bind(&[Arg::Buffer(&x), Arg::Buffer(&y), Arg::Value(&2.0f32.to_le_bytes())])?.dispatch([1000, 1, 1])?;
//! println!("{:?}", y.to_vec()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod backend;
mod bindless;
mod buffer;
mod device;
mod dispatch;
mod error;
mod features;
mod format;
mod heap;
mod image;
mod instance;
mod kernel;
mod lists;
mod memory;
mod queue;
mod recorder;
mod sampler;
mod staging;
mod threads;
#[cfg(feature = "wgsl")]
mod wgsl;

pub use arguments::{Arg, Launch};
pub(crate) use backend::Vulkan;
pub use bindless::BindlessArray;
pub use buffer::Buffer;
pub use device::Device;
pub use error::VulkanError;
pub use image::Image;
pub use instance::{DeviceInfo, devices};
pub use kernel::Kernel;

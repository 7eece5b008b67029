//! Loads kernels that `luisac` compiled, and runs them. Nothing of the compiler is needed for it.
//!
//! ```no_run
//! use luisac_runtime::{Device, Metadata};
//!
//! let device = Device::open("cpu")?;
//! let metadata = Metadata::from_json(&std::fs::read("saxpy.cpu.json")?)?;
//! // SAFETY: the two files are what `luisac compile` wrote.
//! let saxpy = unsafe { device.load(&std::fs::read("saxpy.o")?, metadata)? };
//! let x = device.buffer_from(&[1.0f32; 1000])?;
//! let y = device.buffer::<f32>(1000)?;
//! let mut list = device.list();
//! list.dispatch(&saxpy, (&x, &y, 2.0f32), [1000, 1, 1])?;
//! let result = list.download(&y)?;
//! device.stream().submit(&list.commit()?)?.wait()?;
//! println!("{:?}", result.take());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Work is recorded into a [`CommandList`], which is checked against the kernels' metadata as it is recorded, and submitted to a
//! [`Stream`]. What the commands of a list have to wait for is found out from what they read and write; everything else may
//! run at once. Resources live until their last use is done.
//!
//! - [`host`]: the CPU alone, one kernel at a time, without any of this.
//! - `vulkan` (feature `vulkan`): Vulkan devices, one kernel at a time.

mod archive;
mod argument;
mod backend;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod error;
pub mod host;
mod kernel;
#[doc(hidden)]
pub mod layout;
mod list;
mod log;
mod open;
mod print;
mod resource;
mod sampler;
mod schedule;
#[cfg(any(feature = "vulkan", feature = "wgpu"))]
mod spirv;
mod stream;
mod texel;
mod value;
#[cfg(feature = "vulkan")]
pub mod vulkan;
#[cfg(feature = "wgpu")]
mod wgpu;

#[cfg(feature = "wgpu")]
pub use self::wgpu::WgpuError;
pub use argument::{Argument, Arguments};
pub use backend::ImageShape;
pub use error::{LoadError, RuntimeError};
pub use half::f16;
pub use host::Texel;
pub use kernel::Kernel;
pub use list::{CommandList, CommittedList, Download};
pub use log::Output;
pub use luisac_artifact::{
    Archive, ArchiveError, DeviceProfile, Metadata, PixelStorage, include_archive,
};
pub use luisac_runtime_derive::Value;
pub use open::Device;
pub use resource::{
    BindlessArray, Buffer, Event, INDIRECT_ENTRY_BYTES, INDIRECT_HEADER_BYTES, Image, ImageLevel,
    IndirectBuffer, IndirectDispatch,
};
pub use sampler::{Address, Filter, Sampler};
pub use stream::{Stream, Submission};
pub use value::{
    Float2, Float3, Float4, Int2, Int3, Int4, Matrix, Scalar, UInt2, UInt3, UInt4, Value, Vector,
    description,
};

//! The CPU by itself: resources that are borrowed, dispatches that have ended when they return.
//!
//! This is the plain layer for one kernel at a time, as `luisac run` needs it, and what the device `cpu` is built on.
//! Objects are mapped and relocated here, without a linker, and blocks run in parallel.
//!
//! ```no_run
//! use luisac_runtime::{Metadata, host::{Arg, Device}};
//!
//! let device = Device::cpu();
//! let metadata = Metadata::from_json(&std::fs::read("saxpy.cpu.json")?)?;
//! // SAFETY: the two files are what `luisac compile` wrote.
//! let kernel = unsafe { device.load(&std::fs::read("saxpy.o")?, metadata)? };
//! let x = device.buffer_from(&1.0f32.to_le_bytes().repeat(1000))?;
//! let y = device.buffer(4000)?;
//! kernel.bind(&[Arg::Buffer(&x), Arg::Buffer(&y), Arg::Value(&2.0f32.to_le_bytes())])?.dispatch([1000, 1, 1])?;
//! println!("{:?}", y.to_vec());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod bind;
mod bindless;
pub(crate) mod device;
pub(crate) mod dispatch;
mod image;
mod loader;
pub(crate) mod memory;

pub use crate::log::Output;
pub(crate) use bind::kind_name;
pub use bind::{Arg, Launch};
pub use bindless::BindlessArray;
pub(crate) use bindless::image_offset;
pub use device::{Buffer, Device, Kernel};
pub use image::{Image, Texel};

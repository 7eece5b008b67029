//! Loads kernels that `luisac` compiled, and runs them. Nothing of the compiler is needed for it.
//!
//! ```no_run
//! use luisac_runtime::{Arg, Device, Metadata};
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
//!
//! There is one device so far, the CPU: objects are mapped and relocated here, without a linker, and blocks run in
//! parallel. A dispatch is checked against the kernel's metadata before it starts and has ended when it returns.

mod bind;
mod device;
mod dispatch;
mod error;
mod image;
mod loader;
mod log;
mod memory;
mod print;
mod texel;

pub use bind::{Arg, Launch};
pub use device::{Buffer, Device, Kernel};
pub use dispatch::Output;
pub use error::{LoadError, RuntimeError};
pub use image::{Image, Texel};
pub use luisac_artifact::{Metadata, PixelStorage};

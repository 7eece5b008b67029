//! Loads kernels that `luisac` compiled, and runs them. Nothing of the compiler is needed for it.
//!
//! - [`host`]: the CPU alone, one kernel at a time.

mod error;
pub mod host;
mod log;
mod print;
mod sampler;
mod texel;

pub use error::{LoadError, RuntimeError};
pub use luisac_artifact::{Metadata, PixelStorage};
pub use sampler::{Address, Filter, Sampler};

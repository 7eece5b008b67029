//! [`Build`] of `luisac` without LLVM: the targets `spirv`, `hlsl` and `msl`, and `dxil` as a feature. For `ptx` and `cpu`, depend on `luisac`
//! itself; the face is the same.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), luisac_build::BuildError> {
//!     luisac_build::Build::new().file("kernels/blur.json").target("spirv").archive("kernels.luisa").compile()
//! }
//! ```

pub use luisac::{BoundsMode, Build, BuildError, BuildOptions, LintLevel, MathMode, OptLevel};

//! luisac: an ahead-of-time compiler for LuisaCompute kernels.
//!
//! The command line and build scripts drive the same [`driver`]: inputs are read and checked ([`driver::input`]), lowered to XIR,
//! optimised and emitted ([`driver::compile`]). Build scripts start from [`Build`].

mod build_script;
pub mod codes;
pub mod driver;
pub mod report;

pub use build_script::{
    BoundsMode, Build, BuildError, BuildOptions, LintLevel, MathMode, OptLevel,
};

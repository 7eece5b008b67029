//! LuisaCompute kernels as trees: types, expressions, statements and functions.
//!
//! ```text
//! bytes --read--> Library --check::check, lint::run--> Diagnostics
//!                 Library --json::write, binary::write--> bytes
//!                 Library --pretty::print--> text for people
//! Rust  --builder::Builder--> Library
//! ```
//! A [`Library`] holds interned types, constants and functions; a [`Function`] holds its nodes in flat arrays.

pub mod binary;
pub mod builder;
pub mod callops;
pub mod check;
pub mod description;
pub mod diagnostic;
pub mod hash;
pub mod json;
pub mod layout;
pub mod link;
pub mod lint;
pub mod model;
pub mod place;
pub mod pretty;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod types;
pub mod usage;

pub use callops::CallOp;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use model::{Function, Library};
pub use place::{Place, locate};
pub use types::{Scalar, TypeId, TypeKind, TypeTable};

/// Reads a library from whichever form the bytes have: JSON of either dialect, or a serialized callable library.
///
/// # Errors
/// All that is wrong with the bytes, as [`json::read`] and [`binary::read`] tell it.
pub fn read(bytes: &[u8]) -> Result<Library, Diagnostics> {
    read_with(bytes, &|_| {})
}

/// As [`read`], and tells now and then which offset it has reached: see [`json::read_with`].
///
/// # Errors
/// As [`read`].
pub fn read_with(bytes: &[u8], reached: &dyn Fn(usize)) -> Result<Library, Diagnostics> {
    if json::is_library(bytes) {
        binary::read(bytes).map(|file| file.library)
    } else {
        json::read_with(bytes, reached)
    }
}

/// The diagnostic codes of this crate.
pub fn code_tables() -> Vec<&'static [diagnostic::CodeInfo]> {
    vec![
        json::codes::CODES,
        binary::codes::CODES,
        check::codes::CODES,
        lint::codes::CODES,
        link::codes::CODES,
        builder::CODES,
    ]
}

//! LuisaCompute kernels as trees: types, expressions, statements and functions.
//!
//! ```text
//! bytes --json::read--> Library --check--> Diagnostics
//! ```
//! A [`Library`] holds interned types, constants and functions; a [`Function`] holds its nodes in flat arrays.

pub mod binary;
pub mod callops;
pub mod check;
pub mod description;
pub mod diagnostic;
pub mod json;
pub mod layout;
pub mod model;
pub mod place;
pub mod types;
pub mod usage;

pub use callops::CallOp;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use model::{Function, Library};
pub use place::{Place, locate};
pub use types::{Scalar, TypeId, TypeKind, TypeTable};

/// The diagnostic codes of this crate.
pub fn code_tables() -> Vec<&'static [diagnostic::CodeInfo]> {
    vec![json::codes::CODES, check::codes::CODES]
}

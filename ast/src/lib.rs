//! LuisaCompute kernels as trees: types, expressions, statements and functions.

pub mod callops;
pub mod description;
pub mod diagnostic;
pub mod layout;
pub mod model;
pub mod place;
pub mod types;

pub use callops::CallOp;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use model::{Function, Library};
pub use place::{Place, locate};
pub use types::{Scalar, TypeId, TypeKind, TypeTable};

//! LuisaCompute kernels as trees: types, expressions, statements and functions.

pub mod callops;
pub mod description;
pub mod diagnostic;
pub mod layout;
pub mod types;

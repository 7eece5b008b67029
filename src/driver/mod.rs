//! read -> lower -> optimise -> emit -> store.

pub mod ast;
pub mod bake;
pub mod cache;
pub mod compile;
pub mod input;
pub mod job;
pub mod names;
pub mod options;
pub mod program;
pub mod render;
pub mod sarif;
pub mod value;

//! read -> lower -> optimise -> emit -> store.

pub mod ast;
pub mod bake;
pub mod cache;
pub mod compile;
pub mod input;
pub mod job;
pub mod options;
pub mod program;
pub mod render;
pub mod value;

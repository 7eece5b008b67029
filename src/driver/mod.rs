//! read -> lower -> optimise -> emit -> store.

pub mod ast;
pub mod compile;
pub mod input;
pub mod options;
pub mod program;
pub mod render;

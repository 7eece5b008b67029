//! read -> lower -> optimise -> emit -> store.

pub mod compile;
pub mod input;
pub mod locate;
pub mod options;
pub mod render;

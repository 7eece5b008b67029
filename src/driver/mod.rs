//! read -> lower -> optimise -> emit -> store.

pub mod locate;
pub mod render;

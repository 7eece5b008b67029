//! The commands, a file each.

pub mod diff;
pub mod ladders;

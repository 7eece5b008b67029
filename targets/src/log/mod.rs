//! Prints, asserts and traps as records in the log of a launch (`docs/abi.md`).
//!
//! [`formats`] says what a record holds, for every target. [`lower_log`] writes the records by plain instructions, for targets
//! whose code cannot add to 64-bit counters or stop a thread in the middle of a callable: such a target calls it first thing in
//! `emit`. The kernel of the result has two more arguments, the log and its capacity; their places are
//! those of `Bindings::log` and of the first word at `ParamLayout::log`.

#[cfg_attr(not(feature = "llvm"), allow(dead_code, reason = "whoever lowers the log"))]
pub(crate) mod formats;
#[allow(dead_code, reason = "for targets that bind by number")]
mod lower;
#[cfg(test)]
mod tests;

#[allow(unused_imports, reason = "for targets that bind by number")]
pub(crate) use lower::{Logged, lower_log};

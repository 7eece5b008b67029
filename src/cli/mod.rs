//! The command line.

pub mod options;
mod run;

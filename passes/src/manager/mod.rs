//! Declarations, pipelines, running and reporting; knows no single pass.

pub mod canned;
pub mod declaration;
pub mod describe;
pub mod fingerprint;
pub mod form;
pub mod fuel;
mod grammar;
pub mod ordering;
pub mod pipeline;
pub mod report;
pub mod report_diff;
pub mod runner;
pub mod trace;

#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;

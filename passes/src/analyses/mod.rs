//! Facts about a function or module at one moment; none follows later changes.
//!
//! All are near-linear in the size of what they look at, none recurses on its depth, and unreachable blocks have no facts.
//! Dominators and the control-flow graph are in `luisac_xir`.

pub mod alias;
pub mod alignment;
pub mod call_graph;
pub mod convergence;
pub mod counted;
pub mod field_bits;
pub mod joins;
pub mod loops;
pub mod pointer_usage;
pub mod post_dominators;
pub mod scalar_evolution;
pub mod scc;
pub mod uniformity;

#[cfg(test)]
mod tests;

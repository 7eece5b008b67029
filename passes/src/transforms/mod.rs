//! One file a pass.

pub(crate) mod const_fold;
pub(crate) mod dce;
pub(crate) mod destructure_cfg;
mod elements;
mod emitter;
pub(crate) mod inline;
pub(crate) mod lower_math;
pub(crate) mod mem2reg;
pub(crate) mod phi_cleanup;
pub(crate) mod scalarizer;
pub(crate) mod simplify_cfg;
pub(crate) mod sroa;
pub(crate) mod unused_callable_removal;
mod util;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

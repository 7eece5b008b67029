//! One file a pass.

pub(crate) mod dce;
pub(crate) mod destructure_cfg;
pub(crate) mod inline;
pub(crate) mod lower_math;
pub(crate) mod mem2reg;
pub(crate) mod phi_cleanup;
pub(crate) mod scalarizer;
pub(crate) mod simplify_cfg;
pub(crate) mod sroa;
pub(crate) mod unused_callable_removal;
mod elements;
mod emitter;
mod util;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

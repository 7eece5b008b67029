//! One file a pass.

pub(crate) mod dce;
pub(crate) mod destructure_cfg;
pub(crate) mod simplify_cfg;
mod util;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

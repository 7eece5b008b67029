//! luisac: an ahead-of-time compiler for LuisaCompute kernels.

pub mod driver;

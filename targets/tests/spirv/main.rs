//! SPIR-V: what `spirv-val` says of all kernels that there are, and what stands in the modules of small ones.

mod corpus;
mod flow;
mod layout;
mod support;

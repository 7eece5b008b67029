//! The devices `wgpu` (Vulkan), `dx12` and `metal` (feature `wgpu`): SPIR-V, DXIL and MSL handed through wgpu untouched.
//!
//! wgpu numbers resources by their order in a layout, and so do our bindings (`docs/abi.md`): in Vulkan's set 0 and among Metal's
//! buffers and textures both count alike, and in Direct3D both count registers of a class in space 0. Layouts are made from
//! the metadata, and a kernel whose metadata numbers otherwise is refused, as is what wgpu has no form for: bindless arrays,
//! images that kernels write, samplers in Direct3D, 8-bit storage.

mod backend;
mod device;
mod error;
mod kernel;
mod lists;
mod resources;

pub(crate) use backend::Wgpu;
pub use device::Api;
pub use error::WgpuError;

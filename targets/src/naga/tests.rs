//! The targets `wgsl` and `glsl`.

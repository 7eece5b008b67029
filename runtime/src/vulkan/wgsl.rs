//! WGSL by naga, the front end of wgpu: parsed, validated and written as SPIR-V for the same bindings.

use luisac_artifact::Metadata;
use naga::{
    back::spv,
    front::wgsl,
    proc::BoundsCheckPolicies,
    valid::{Capabilities, ValidationFlags, Validator},
};

use super::VulkanError;
use crate::spirv;

/// Stack of the thread that compiles: naga recurses over what is nested, whose depth its parser bounds.
const STACK: usize = 128 << 20;

/// Compiles `code`, whose entry point the metadata names.
pub(super) fn to_spirv(code: &[u8], metadata: &Metadata) -> Result<spirv::Module, VulkanError> {
    let bad = |reason: String| VulkanError::BadWgsl { kernel: metadata.kernel.clone(), reason };
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().name("wgsl".into()).stack_size(STACK);
        let work =
            work.spawn_scoped(scope, || compile(code, metadata)).map_err(|e| bad(e.to_string()))?;
        work.join().unwrap_or_else(|_| Err(bad("naga failed on it".into())))
    })
}

fn compile(code: &[u8], metadata: &Metadata) -> Result<spirv::Module, VulkanError> {
    let bad = |reason: String| VulkanError::BadWgsl { kernel: metadata.kernel.clone(), reason };
    let source = std::str::from_utf8(code).map_err(|e| bad(e.to_string()))?;
    let parsed = wgsl::parse_str(source).map_err(|e| bad(e.emit_to_string(source)))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(&parsed).map_err(|e| bad(e.emit_to_string(source)))?;
    let options = spv::Options {
        lang_version: (1, 5),
        flags: spv::WriterFlags::empty(),
        // The kernel was compiled with the checks that were asked for.
        bounds_check_policies: BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        // Kernels have no inputs or outputs of 16 bits.
        use_storage_input_output_16: false,
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: metadata.entry.clone(),
    };
    let words = spv::write_vec(&parsed, &info, &options, Some(&pipeline))
        .map_err(|e| bad(e.to_string()))?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    spirv::read(&bytes, &metadata.entry).map_err(bad)
}

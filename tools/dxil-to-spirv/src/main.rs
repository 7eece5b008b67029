//! `dxil-to-spirv IN.dxil OUT.spv`: SPIR-V for Vulkan of a DXIL container that luisac wrote, for tests on machines without Direct3D.
//!
//! Registers become bindings by one rule, which the tests know too: the space is the set; in a set, `b` and `s` registers keep
//! their number, `t n` becomes `1 + 2n` and `u n` becomes `2 + 2n`. An array without end keeps binding 0, since it is alone.

use dxil_spirv::binding::{
    Bindless, CbvVulkanBinding, D3dBinding, ResourceKind, SrvVulkanBinding, UavVulkanBinding,
    VulkanBinding, VulkanDescriptorType,
};
use dxil_spirv::options::ConverterOption;
use dxil_spirv::{Converter, Error, ParsedBlob};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = &arguments[..] else {
        eprintln!("usage: dxil-to-spirv IN.dxil OUT.spv");
        return ExitCode::from(2);
    };
    match convert(input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn convert(input: &str, output: &str) -> Result<(), String> {
    let container = std::fs::read(input).map_err(|e| format!("cannot read `{input}`: {e}"))?;
    let words = spirv(&container).map_err(|e| format!("`{input}` cannot be converted: {e}"))?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(output, bytes).map_err(|e| format!("cannot write `{output}`: {e}"))
}

fn spirv(container: &[u8]) -> Result<Vec<u32>, Error> {
    let parsed = ParsedBlob::parse(container)?;
    let mut converter = Converter::new(&parsed)?;
    for option in options() {
        converter.add_option(&option)?;
    }
    converter.set_srv_remapper(|d3d: &D3dBinding| {
        let buffer_binding = binding(d3d, 1, 2);
        Some(SrvVulkanBinding { buffer_binding, offset_binding: buffer_binding })
    });
    converter.set_uav_remapper(|d3d| {
        let buffer_binding = binding(&d3d.binding, 2, 2);
        Some(UavVulkanBinding {
            buffer_binding,
            counter_binding: buffer_binding,
            offset_binding: buffer_binding,
        })
    });
    converter.set_cbv_remapper(|d3d| Some(CbvVulkanBinding::Uniform(binding(d3d, 0, 1))));
    converter.set_sampler_remapper(|d3d| Some(binding(d3d, 0, 1)));
    converter.run()?;
    Ok(without_subnormal_modes(&converter.compiled_spirv()?))
}

/// The module without its wishes for subnormals, which the software device cannot be told; it keeps them anyway.
fn without_subnormal_modes(words: &[u32]) -> Vec<u32> {
    const CAPABILITY: u32 = 17;
    const EXECUTION_MODE: u32 = 16;
    const CAPABILITIES: [u32; 2] = [4464, 4465];
    const MODES: [u32; 2] = [4459, 4460];
    let (head, mut rest) = words.split_at(words.len().min(5));
    let mut kept = head.to_vec();
    while let Some(&first) = rest.first() {
        let length = ((first >> 16) as usize).clamp(1, rest.len());
        let (instruction, after) = rest.split_at(length);
        let wish = match (first & 0xffff, instruction) {
            (CAPABILITY, [_, capability, ..]) => CAPABILITIES.contains(capability),
            (EXECUTION_MODE, [_, _, mode, ..]) => MODES.contains(mode),
            _ => false,
        };
        if !wish {
            kept.extend(instruction);
        }
        rest = after;
    }
    kept
}

/// What the software device of the tests holds.
fn options() -> [ConverterOption; 4] {
    [
        ConverterOption::SsboAlignment { alignment: 1 },
        ConverterOption::TypedUavReadWithoutFormat { supported: true },
        ConverterOption::DenormPreserveSupport {
            supports_float16_denorm_preserve: true,
            supports_float64_denorm_preserve: true,
        },
        ConverterOption::ScalarBlockLayout {
            supported: true,
            supports_per_component_robustness: false,
        },
    ]
}

/// The place of a register whose class starts at `first` and takes every `step`th binding of its set.
fn binding(d3d: &D3dBinding, first: u32, step: u32) -> VulkanBinding {
    let alone = d3d.register_space != 0;
    let binding = if alone { d3d.register_index } else { first + step * d3d.register_index };
    let is_buffer = matches!(d3d.kind, ResourceKind::RawBuffer | ResourceKind::StructuredBuffer);
    VulkanBinding {
        set: d3d.register_space,
        binding,
        root_constant_index: 0,
        bindless: Bindless { heap_root_offset: 0, use_heap: false },
        descriptor_type: match is_buffer {
            true => VulkanDescriptorType::Ssbo,
            false => VulkanDescriptorType::Identity,
        },
    }
}

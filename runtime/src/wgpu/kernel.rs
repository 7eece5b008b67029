//! Kernels: from code and metadata to a pipeline.

use std::{borrow::Cow, sync::Arc};

use luisac_artifact::{
    DataLayout, Metadata, Scalar, TypeKind,
    bindings::{Bindings, Slot, SlotKind},
};

use super::{
    WgpuError,
    device::{Api, Shared},
};
use crate::{LoadError, RuntimeError, spirv};

/// A kernel on a device.
pub(super) struct Kernel {
    pub metadata: Metadata,
    pub bindings: Bindings,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

/// Capabilities of SPIR-V with their names, and the feature of wgpu that switches each on.
fn capabilities() -> Vec<(u32, &'static str, wgpu::Features)> {
    use wgpu::Features as F;
    let always = F::empty();
    vec![
        (0, "Matrix", always),
        (1, "Shader", always),
        (50, "ImageQuery", always),
        (9, "Float16", F::SHADER_F16),
        (10, "Float64", F::SHADER_F64),
        (11, "Int64", F::SHADER_INT64),
        (12, "Int64Atomics", F::SHADER_INT64_ATOMIC_ALL_OPS),
        (22, "Int16", F::SHADER_I16),
        (61, "GroupNonUniform", F::SUBGROUP),
        (62, "GroupNonUniformVote", F::SUBGROUP),
        (63, "GroupNonUniformArithmetic", F::SUBGROUP),
        (64, "GroupNonUniformBallot", F::SUBGROUP),
        (65, "GroupNonUniformShuffle", F::SUBGROUP),
        (66, "GroupNonUniformShuffleRelative", F::SUBGROUP),
        (68, "GroupNonUniformQuad", F::SUBGROUP),
        (4433, "StorageBuffer16BitAccess", F::SHADER_F16),
        // Of the driver, not of wgpu: drivers that have floats have these for what they compute with.
        (4464, "DenormPreserve", always),
        (4466, "SignedZeroInfNanPreserve", always),
        (4467, "RoundingModeRTE", always),
        (29, "SampledImageArrayDynamicIndexing", F::TEXTURE_BINDING_ARRAY),
        (
            5301,
            "ShaderNonUniform",
            F::SAMPLED_TEXTURE_AND_STORAGE_BUFFER_ARRAY_NON_UNIFORM_INDEXING,
        ),
        (
            5307,
            "SampledImageArrayNonUniformIndexing",
            F::SAMPLED_TEXTURE_AND_STORAGE_BUFFER_ARRAY_NON_UNIFORM_INDEXING,
        ),
        // Those that wgpu switches on for nobody, for their names.
        (39, "Int8", F::all()),
        (4448, "StorageBuffer8BitAccess", F::all()),
        (4449, "UniformAndStorageBuffer8BitAccess", F::all()),
        (55, "StorageImageReadWithoutFormat", F::all()),
        (56, "StorageImageWriteWithoutFormat", F::all()),
        (5302, "RuntimeDescriptorArray", F::all()),
        (6033, "AtomicFloat32AddEXT", F::all()),
    ]
}

impl Kernel {
    /// Loads a kernel.
    ///
    /// # Safety
    /// The code is what the compiler wrote for the metadata.
    pub unsafe fn load(
        shared: &Arc<Shared>,
        code: &[u8],
        metadata: &Metadata,
    ) -> Result<Self, RuntimeError> {
        let target = match shared.api {
            Api::Vulkan => "spirv",
            Api::Dx12 => "dxil",
            Api::Metal => "msl",
        };
        if !metadata.is_for(target) {
            return Err(LoadError::WrongTarget(metadata.target.clone(), shared.api.name()).into());
        }
        let bad = |reason: &str| WgpuError::BadCode {
            kernel: metadata.kernel.clone(),
            reason: reason.into(),
        };
        let found = metadata.bindings.clone();
        let bindings = found.ok_or_else(|| bad("its metadata has no bindings"))?;
        check_limits(shared, metadata)?;
        let entries = entries(shared, metadata, &bindings)?;
        let wish = wgpu::ShaderModuleDescriptorPassthrough {
            label: Some(metadata.kernel.as_str()),
            entry_points: Cow::Owned(vec![wgpu::PassthroughShaderEntryPoint {
                name: metadata.entry.as_str().into(),
                workgroup_size: metadata.block_size.into(),
            }]),
            ..Default::default()
        };
        let wish = match shared.api {
            Api::Vulkan => {
                let module = spirv::read(code, &metadata.entry).map_err(|e| bad(&e))?;
                check_capabilities(shared, metadata, &module.capabilities)?;
                check_nesting(shared, module.nesting)?;
                wgpu::ShaderModuleDescriptorPassthrough { spirv: Some(module.words.into()), ..wish }
            }
            Api::Dx12 => {
                wgpu::ShaderModuleDescriptorPassthrough { dxil: Some(code.into()), ..wish }
            }
            Api::Metal => {
                let text = std::str::from_utf8(code).map_err(|e| bad(&e.to_string()))?;
                wgpu::ShaderModuleDescriptorPassthrough { msl: Some(text.into()), ..wish }
            }
        };
        let device = &shared.device;
        let (pipeline, layout) = shared.guarded(code.len() as u64, || {
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
            let samplers = (!bindings.samplers.is_empty()).then(|| &shared.samplers().0);
            let groups: Vec<_> =
                [Some(&layout), samplers].into_iter().flatten().map(Some).collect();
            let all = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &groups,
                immediate_size: 0,
            });
            // SAFETY: for the code the caller has vouched; the layout has what the metadata lists.
            let module = unsafe { device.create_shader_module_passthrough(wish) };
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&all),
                module: &module,
                entry_point: Some(&metadata.entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            });
            (pipeline, layout)
        })?;
        Ok(Self { metadata: metadata.clone(), bindings, pipeline, layout })
    }
}

fn check_capabilities(
    shared: &Shared,
    metadata: &Metadata,
    used: &[u32],
) -> Result<(), RuntimeError> {
    let known = capabilities();
    for number in used {
        let row = known.iter().find(|(n, ..)| n == number);
        if row.is_some_and(|(.., feature)| shared.features.contains(*feature)) {
            continue;
        }
        let name = row.map_or_else(|| number.to_string(), |(_, name, _)| format!("`{name}`"));
        let kernel = &metadata.kernel;
        return Err(
            shared.unsupported(format!("the SPIR-V capability {name} of the kernel `{kernel}`"))
        );
    }
    Ok(())
}

/// Mesa's llvmpipe keeps masks of 80 constructs of control flow, and crashes beyond.
fn check_nesting(shared: &Shared, nesting: u32) -> Result<(), WgpuError> {
    const LLVMPIPE_NESTING: u32 = 64;
    if shared.info.driver != "llvmpipe" || nesting <= LLVMPIPE_NESTING {
        return Ok(());
    }
    let (asked, most) = (nesting.into(), LLVMPIPE_NESTING.into());
    Err(WgpuError::Limit { what: "nesting of control flow", asked, most })
}

fn check_limits(shared: &Shared, metadata: &Metadata) -> Result<(), RuntimeError> {
    let l = &shared.limits;
    let block = metadata.block_size;
    let threads = block.iter().map(|n| u64::from(*n)).product();
    let rows: [(&'static str, u64, u64); 6] = [
        (
            "a parameter block in bytes",
            metadata.params.size.into(),
            l.max_uniform_buffer_binding_size,
        ),
        ("a block in threads", threads, l.max_compute_invocations_per_workgroup.into()),
        ("a block's x", block[0].into(), l.max_compute_workgroup_size_x.into()),
        ("a block's y", block[1].into(), l.max_compute_workgroup_size_y.into()),
        ("a block's z", block[2].into(), l.max_compute_workgroup_size_z.into()),
        (
            "shared memory in bytes",
            metadata.shared_bytes,
            l.max_compute_workgroup_storage_size.into(),
        ),
    ];
    if let Some((what, asked, most)) = rows.into_iter().find(|(_, asked, most)| asked > most) {
        return Err(WgpuError::Limit { what, asked, most }.into());
    }
    let lanes = (shared.info.subgroup_min_size, shared.info.subgroup_max_size);
    match metadata.wave_lanes {
        Some(n) if lanes != (n, n) => Err(shared.unsupported(format!("waves of just {n} lanes"))),
        _ => Ok(()),
    }
}

/// The layout of group 0: parameter block, resources, log, numbered as wgpu will number them.
fn entries(
    shared: &Shared,
    metadata: &Metadata,
    bindings: &Bindings,
) -> Result<Vec<wgpu::BindGroupLayoutEntry>, RuntimeError> {
    let heaps = [&bindings.buffer_heap, &bindings.image2d_heap, &bindings.image3d_heap];
    let bindless = |a: &luisac_artifact::metadata::Argument| {
        a.kind == luisac_artifact::metadata::ArgumentKind::BindlessArray
    };
    if heaps.into_iter().any(Option::is_some) || metadata.arguments.iter().any(bindless) {
        return Err(shared.unsupported("bindless arrays"));
    }
    if !bindings.samplers.is_empty() {
        check_samplers(shared, &bindings.samplers)?;
    }
    let mut all = vec![(bindings.params, None)];
    for argument in &metadata.arguments {
        all.extend(argument.slots.iter().map(|slot| (*slot, Some(argument.ty.as_str()))));
    }
    all.extend(bindings.log.map(|slot| (slot, None)));
    if !numbered(shared.api, all.iter().map(|(slot, _)| *slot)) {
        let reason = "its metadata numbers resources otherwise than wgpu does".into();
        return Err(WgpuError::BadCode { kernel: metadata.kernel.clone(), reason }.into());
    }
    let mut entries = Vec::new();
    for (number, (slot, ty)) in all.into_iter().enumerate() {
        entries.push(wgpu::BindGroupLayoutEntry {
            binding: number as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: binding_type(shared, slot.kind, ty)?,
            count: None,
        });
    }
    Ok(entries)
}

/// Samplers are one array in Vulkan, constants of the code in Metal; in Direct3D wgpu has a heap of its own, which our code does
/// not index.
fn check_samplers(shared: &Shared, samplers: &[Slot]) -> Result<(), RuntimeError> {
    let array = shared.features.contains(wgpu::Features::TEXTURE_BINDING_ARRAY)
        && shared.limits.max_binding_array_sampler_elements_per_shader_stage
            >= super::device::SAMPLERS;
    let one_array = matches!(samplers, [Slot { set: 1, index: 0, count, .. }]
        if *count == super::device::SAMPLERS);
    match shared.api == Api::Vulkan && array && one_array {
        true => Ok(()),
        false => Err(shared.unsupported("samplers as this target binds them")),
    }
}

/// Whether slots are numbered as wgpu numbers the entries of a layout in this order.
fn numbered(api: Api, slots: impl Iterator<Item = Slot>) -> bool {
    let mut next = [0; 3];
    let mut right = |slot: Slot| {
        let number = &mut next[class(api, slot.kind)];
        *number += 1;
        slot.set == 0 && slot.count == 1 && slot.index == *number - 1
    };
    slots.into_iter().all(&mut right)
}

/// The class in which wgpu counts a binding: all alike in Vulkan; registers `b`, `t`, `u` in Direct3D; buffers and textures in Metal.
fn class(api: Api, kind: SlotKind) -> usize {
    match (api, kind) {
        (Api::Dx12, SlotKind::StorageBuffer | SlotKind::StorageImage) => 1,
        (Api::Dx12, SlotKind::UniformBuffer) => 0,
        (Api::Dx12, _) => 2,
        (Api::Metal, SlotKind::SampledImage | SlotKind::StorageImage) => 1,
        _ => 0,
    }
}

fn binding_type(
    shared: &Shared,
    kind: SlotKind,
    ty: Option<&str>,
) -> Result<wgpu::BindingType, RuntimeError> {
    let buffer = |ty| {
        Ok(wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None })
    };
    match kind {
        SlotKind::UniformBuffer => buffer(wgpu::BufferBindingType::Uniform),
        SlotKind::StorageBuffer => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
        // Only Direct3D tells the two apart. Elsewhere a buffer may be read at one binding and written at another, which wgpu takes
        // if it is said to be written at both.
        SlotKind::ReadOnlyBuffer => {
            buffer(wgpu::BufferBindingType::Storage { read_only: shared.api == Api::Dx12 })
        }
        SlotKind::SampledImage => {
            let (dimension, element) = ty.and_then(texture).unwrap_or((2, Scalar::Float));
            Ok(wgpu::BindingType::Texture {
                // Says nothing of what samplers do with it, which nobody checks in code that is handed through.
                sample_type: match element {
                    Scalar::Float => wgpu::TextureSampleType::Float { filterable: false },
                    _ => wgpu::TextureSampleType::Uint,
                },
                view_dimension: match dimension {
                    3 => wgpu::TextureViewDimension::D3,
                    _ => wgpu::TextureViewDimension::D2,
                },
                multisampled: false,
            })
        }
        SlotKind::StorageImage => Err(shared.unsupported("an image that the kernel writes")),
        SlotKind::AccelerationStructure => Err(shared.unsupported("an acceleration structure")),
        SlotKind::Sampler => Err(shared.unsupported("a sampler among the arguments")),
    }
}

/// Dimension and element of an image's type.
pub(super) fn texture(ty: &str) -> Option<(u32, Scalar)> {
    let layout = DataLayout::parse(ty).ok()?;
    match layout.kind(layout.root()) {
        TypeKind::Texture(dimension, element) => Some((*dimension, *element)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use luisac_artifact::{
        bindings::{self, ArgumentUse, Extras},
        metadata::{ArgumentKind, Usage},
    };

    use super::*;

    /// The bindings of all kernels of up to four arguments are numbered as wgpu numbers them, on each interface.
    #[test]
    fn our_numbers_are_those_of_wgpu() {
        let apis = [
            (bindings::Api::Vulkan, Api::Vulkan),
            (bindings::Api::D3d12, Api::Dx12),
            (bindings::Api::Metal, Api::Metal),
        ];
        let of = |kind, usage, sampled| ArgumentUse { kind, usage, sampled };
        let kinds = [
            of(ArgumentKind::Value, Usage::Read, false),
            of(ArgumentKind::Buffer, Usage::Read, false),
            of(ArgumentKind::Buffer, Usage::ReadWrite, false),
            of(ArgumentKind::Image, Usage::Read, true),
            of(ArgumentKind::Image, Usage::ReadWrite, true),
            of(ArgumentKind::IndirectDispatch, Usage::Write, false),
        ];
        for (ours, api) in apis {
            for number in 0..kinds.len().pow(4) * 2 {
                let (log, mut rest) = (number % 2 == 0, number / 2);
                let mut uses = Vec::new();
                for _ in 0..4 {
                    uses.push(kinds[rest % kinds.len()]);
                    rest /= kinds.len();
                }
                let extras = Extras { log, ..Extras::default() };
                let (places, others) = bindings::assign(ours, &uses, extras);
                let slots = [others.params].into_iter().chain(places.into_iter().flatten());
                let slots: Vec<Slot> = slots.chain(others.log).collect();
                assert!(numbered(api, slots.iter().copied()), "{api:?} {slots:?}");
                let swapped = [slots[0], Slot { index: slots[0].index + 7, ..slots[0] }];
                assert!(!numbered(api, swapped.into_iter()));
            }
        }
    }
}

//! Kernels: from code and metadata to a pipeline.

use std::{collections::BTreeMap, ffi::CString, sync::Arc};

use ash::vk;
use luisac_artifact::{
    Metadata,
    bindings::{Bindings, SAMPLER_SET, Slot, SlotKind},
};

use super::{
    Device, VulkanError,
    device::Shared,
    error::{allocation, call},
    features::capability_name,
    heap::Heap,
};
use crate::{LoadError, RuntimeError, spirv};

/// Sets that a kernel may use: arguments, samplers, three heaps.
const SETS: usize = 5;

/// A kernel on a device, ready to be bound and dispatched. A clone is the same kernel.
#[derive(Clone)]
pub struct Kernel(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub device: Arc<Shared>,
    pub metadata: Metadata,
    pub bindings: Bindings,
    pub pipeline: vk::Pipeline,
    pub layout: vk::PipelineLayout,
    /// Layouts of the sets up to the last one that is used; those of heaps belong to the device.
    pub sets: Vec<vk::DescriptorSetLayout>,
    /// Descriptors of the sets that a launch allocates.
    pub counts: Vec<vk::DescriptorPoolSize>,
    shader: vk::ShaderModule,
}

impl Device {
    /// Loads a kernel: SPIR-V, or WGSL with the feature `wgsl`, with the metadata that was written beside it.
    ///
    /// # Errors
    /// [`VulkanError`] for code that is damaged, for what the device lacks and for limits that the kernel passes.
    ///
    /// # Safety
    /// The code will run. It must be what the compiler wrote for this metadata, and a kernel compiled without bounds checks must
    /// not be dispatched so that it leaves its buffers: drivers trust both.
    pub unsafe fn load(&self, code: &[u8], metadata: Metadata) -> Result<Kernel, RuntimeError> {
        metadata.check().map_err(|e| LoadError::Damaged(e.to_string()))?;
        let bad = |reason: &str| VulkanError::BadModule {
            kernel: metadata.kernel.clone(),
            reason: reason.into(),
        };
        let module = if metadata.is_for("spirv") {
            spirv::read(code, &metadata.entry).map_err(|e| bad(&e))?
        } else if metadata.is_for("wgsl") {
            from_wgsl(code, &metadata)?
        } else {
            return Err(LoadError::WrongTarget(metadata.target, "vulkan").into());
        };
        self.0.check_module(&module, &metadata)?;
        self.0.check_limits(&metadata)?;
        let bindings =
            metadata.bindings.clone().ok_or_else(|| bad("its metadata has no bindings"))?;
        let mut parts = Parts::new(&self.0);
        parts.make(&module.words, &metadata, &bindings)?;
        Ok(Kernel(Arc::new(parts.finish(metadata, bindings))))
    }
}

#[cfg(feature = "wgsl")]
fn from_wgsl(code: &[u8], metadata: &Metadata) -> Result<spirv::Module, VulkanError> {
    super::wgsl::to_spirv(code, metadata)
}

#[cfg(not(feature = "wgsl"))]
fn from_wgsl(_: &[u8], metadata: &Metadata) -> Result<spirv::Module, VulkanError> {
    let reason = "this program was built without the feature `wgsl`".into();
    Err(VulkanError::BadWgsl { kernel: metadata.kernel.clone(), reason })
}

impl Shared {
    fn check_module(&self, module: &spirv::Module, metadata: &Metadata) -> Result<(), VulkanError> {
        let missing = |feature| VulkanError::MissingFeature {
            kernel: metadata.kernel.clone(),
            feature,
            device: self.info.name.clone(),
        };
        if let Some(lacking) = module.capabilities.iter().find(|c| !self.abilities.has(**c)) {
            return Err(missing(capability_name(*lacking)));
        }
        if module.nesting > self.abilities.nesting {
            let (asked, most) = (module.nesting.into(), self.abilities.nesting.into());
            return Err(VulkanError::Limit { what: "nesting of control flow", asked, most });
        }
        let lanes = self.abilities.lanes;
        match metadata.wave_lanes {
            Some(n) if n != lanes.usual && !(lanes.least..=lanes.most).contains(&n) => {
                Err(missing(format!("waves of {n} lanes")))
            }
            _ => Ok(()),
        }
    }

    fn check_limits(&self, metadata: &Metadata) -> Result<(), VulkanError> {
        let l = &self.limits;
        let block = metadata.block_size;
        let threads = block.iter().map(|n| u64::from(*n)).product();
        let rows: [(&'static str, u64, u32); 6] = [
            ("a parameter block in bytes", metadata.params.size.into(), l.max_uniform_buffer_range),
            ("a block in threads", threads, l.max_compute_work_group_invocations),
            ("a block's x", block[0].into(), l.max_compute_work_group_size[0]),
            ("a block's y", block[1].into(), l.max_compute_work_group_size[1]),
            ("a block's z", block[2].into(), l.max_compute_work_group_size[2]),
            ("shared memory in bytes", metadata.shared_bytes, l.max_compute_shared_memory_size),
        ];
        match rows.into_iter().find(|(_, asked, most)| *asked > u64::from(*most)) {
            None => Ok(()),
            Some((what, asked, most)) => Err(VulkanError::Limit { what, asked, most: most.into() }),
        }
    }
}

/// What has been made of a kernel so far; dropping it destroys it.
struct Parts {
    device: Arc<Shared>,
    shader: vk::ShaderModule,
    sets: Vec<vk::DescriptorSetLayout>,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
    counts: BTreeMap<vk::DescriptorType, u32>,
}

impl Parts {
    fn new(device: &Arc<Shared>) -> Self {
        Self {
            device: device.clone(),
            shader: vk::ShaderModule::null(),
            sets: Vec::new(),
            layout: vk::PipelineLayout::null(),
            pipeline: vk::Pipeline::null(),
            counts: BTreeMap::new(),
        }
    }

    fn make(
        &mut self,
        words: &[u32],
        metadata: &Metadata,
        bindings: &Bindings,
    ) -> Result<(), RuntimeError> {
        self.make_sets(metadata, bindings)?;
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&self.sets);
        // SAFETY: the layouts are alive, here and below what was made before.
        self.layout = call("vkCreatePipelineLayout", unsafe {
            self.device.handle.create_pipeline_layout(&info, None)
        })?;
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the module's shape was checked; for its content the caller of `load` has vouched.
        let shader = unsafe { self.device.handle.create_shader_module(&info, None) };
        self.shader = allocation("vkCreateShaderModule", words.len() as u64 * 4, shader)?;
        self.make_pipeline(metadata)
    }

    fn make_sets(&mut self, metadata: &Metadata, bindings: &Bindings) -> Result<(), RuntimeError> {
        let arguments = metadata.arguments.iter().flat_map(|a| &a.slots);
        let others =
            [&bindings.buffer_heap, &bindings.image2d_heap, &bindings.image3d_heap, &bindings.log];
        let all: Vec<&Slot> = arguments
            .chain([&bindings.params])
            .chain(&bindings.samplers)
            .chain(others.into_iter().flatten())
            .collect();
        let last = all.iter().map(|s| s.set as usize).max().unwrap_or(0);
        let bad = |reason: &str| VulkanError::BadModule {
            kernel: metadata.kernel.clone(),
            reason: reason.into(),
        };
        if last >= SETS {
            return Err(bad("its metadata has a descriptor set beyond the fifth").into());
        }
        if all.iter().filter(|s| s.kind == SlotKind::UniformBuffer).count() != 1
            || bindings.params.kind != SlotKind::UniformBuffer
        {
            return Err(bad("its metadata has not one uniform buffer, the parameter block").into());
        }
        for set in 0..=last {
            let slots: Vec<&Slot> = all.iter().filter(|s| s.set as usize == set).copied().collect();
            let layout = match (Heap::of_set(set as u32), slots.is_empty()) {
                (Some(heap), false) => self.device.heap(heap)?.layout,
                _ => self.make_set(&slots, &bad)?,
            };
            self.sets.push(layout);
        }
        Ok(())
    }

    fn make_set(
        &mut self,
        slots: &[&Slot],
        bad: &dyn Fn(&str) -> VulkanError,
    ) -> Result<vk::DescriptorSetLayout, RuntimeError> {
        let mut rows = Vec::new();
        for slot in slots {
            let ty = descriptor_type(slot.kind)
                .ok_or_else(|| bad("it asks for an acceleration structure"))?;
            let most = if slot.set == SAMPLER_SET { 16 } else { 1 };
            if !(1..=most).contains(&slot.count) {
                return Err(
                    bad("its metadata has an array of descriptors where there is none").into()
                );
            }
            *self.counts.entry(ty).or_default() += slot.count;
            rows.push(
                vk::DescriptorSetLayoutBinding::default()
                    .binding(slot.index)
                    .descriptor_type(ty)
                    .descriptor_count(slot.count)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE),
            );
        }
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&rows);
        // SAFETY: the structure is complete; bindings are at different places, as the metadata's check has seen.
        let layout = unsafe { self.device.handle.create_descriptor_set_layout(&info, None) };
        Ok(call("vkCreateDescriptorSetLayout", layout)?)
    }

    fn make_pipeline(&mut self, metadata: &Metadata) -> Result<(), RuntimeError> {
        let bad = |reason: &str| VulkanError::BadModule {
            kernel: metadata.kernel.clone(),
            reason: reason.into(),
        };
        let entry = CString::new(metadata.entry.as_str())
            .map_err(|_| bad("its entry point has no name"))?;
        let mut lanes = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(metadata.wave_lanes.unwrap_or_default());
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(self.shader)
            .name(&entry);
        if metadata.wave_lanes.is_some_and(|n| n != self.device.abilities.lanes.usual) {
            stage = stage.push_next(&mut lanes);
        }
        let info = [vk::ComputePipelineCreateInfo::default()
            // Dispatches beyond the device's count of blocks are split, and each part knows where it begins.
            .flags(vk::PipelineCreateFlags::DISPATCH_BASE)
            .stage(stage)
            .layout(self.layout)];
        // SAFETY: all parts are alive; for the module the caller of `load` has vouched.
        let made = unsafe {
            self.device.handle.create_compute_pipelines(vk::PipelineCache::null(), &info, None)
        };
        let made = made.map_err(|(pipelines, result)| {
            // SAFETY: what was made of it is used by nobody.
            pipelines
                .into_iter()
                .for_each(|p| unsafe { self.device.handle.destroy_pipeline(p, None) });
            result
        });
        let made = allocation("vkCreateComputePipelines", 0, made)?;
        self.pipeline = made.first().copied().unwrap_or_default();
        Ok(())
    }

    fn finish(mut self, metadata: Metadata, bindings: Bindings) -> Inner {
        let counts = std::mem::take(&mut self.counts);
        let size = |(ty, n)| vk::DescriptorPoolSize::default().ty(ty).descriptor_count(n);
        Inner {
            device: self.device.clone(),
            metadata,
            bindings,
            pipeline: std::mem::take(&mut self.pipeline),
            layout: std::mem::take(&mut self.layout),
            sets: std::mem::take(&mut self.sets),
            counts: counts.into_iter().map(size).collect(),
            shader: std::mem::take(&mut self.shader),
        }
    }
}

pub(super) fn descriptor_type(kind: SlotKind) -> Option<vk::DescriptorType> {
    Some(match kind {
        // The parameter block: each dispatch of a list has its own offset.
        SlotKind::UniformBuffer => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
        SlotKind::ReadOnlyBuffer | SlotKind::StorageBuffer => vk::DescriptorType::STORAGE_BUFFER,
        SlotKind::SampledImage => vk::DescriptorType::SAMPLED_IMAGE,
        SlotKind::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
        SlotKind::Sampler => vk::DescriptorType::SAMPLER,
        SlotKind::AccelerationStructure => return None,
    })
}

/// Destroys a kernel's objects; the layouts of heaps are the device's.
fn destroy(
    device: &Shared,
    sets: &[vk::DescriptorSetLayout],
    (pipeline, layout, shader): (vk::Pipeline, vk::PipelineLayout, vk::ShaderModule),
) {
    let is_heap = |l: &vk::DescriptorSetLayout| {
        device.heaps.iter().any(|h| h.get().is_some_and(|h| h.layout == *l))
    };
    // SAFETY: what is pending keeps its kernels alive; null is allowed.
    unsafe {
        device.handle.destroy_pipeline(pipeline, None);
        device.handle.destroy_pipeline_layout(layout, None);
        device.handle.destroy_shader_module(shader, None);
        for set in sets.iter().filter(|l| !is_heap(l)) {
            device.handle.destroy_descriptor_set_layout(*set, None);
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        destroy(&self.device, &self.sets, (self.pipeline, self.layout, self.shader));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        destroy(&self.device, &self.sets, (self.pipeline, self.layout, self.shader));
    }
}

impl Kernel {
    /// What the compiler said about it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }
}

//! What a device can do: asked once; all of it that kernels use is switched on, and a kernel's capabilities are checked against it.

use ash::vk;

use super::instance::{Candidate, Instance};

/// The features of a device, as Vulkan's structures. They hold pointers to each other only while they are linked.
#[derive(Default)]
pub(super) struct Features {
    core: vk::PhysicalDeviceFeatures,
    v11: vk::PhysicalDeviceVulkan11Features<'static>,
    v12: vk::PhysicalDeviceVulkan12Features<'static>,
    v13: vk::PhysicalDeviceVulkan13Features<'static>,
    atomics: vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT<'static>,
    atomics2: vk::PhysicalDeviceShaderAtomicFloat2FeaturesEXT<'static>,
    has: Has,
}

/// Which structures the device knows.
#[derive(Clone, Copy, Default)]
struct Has {
    v13: bool,
    atomics: bool,
    atomics2: bool,
}

/// What kernels can rely on.
#[derive(Default)]
pub(super) struct Abilities {
    /// SPIR-V capabilities, sorted.
    capabilities: Vec<u32>,
    /// Whether the heaps of bindless arrays can be had.
    pub heaps: bool,
    /// Whether samplers can be anisotropic.
    pub anisotropy: bool,
    /// Lanes of a subgroup: as the device likes, and the least and the most that can be asked for.
    pub lanes: Lanes,
    /// How deep control flow may nest. Mesa's llvmpipe keeps masks of 80 constructs, and crashes beyond.
    pub nesting: u32,
}

/// Lanes of a subgroup.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    pub usual: u32,
    pub least: u32,
    pub most: u32,
}

/// Constructs of control flow inside each other that llvmpipe takes for sure.
const LLVMPIPE_NESTING: u32 = 64;

/// Copies the named fields of what the device has, and leaves all others off.
macro_rules! copy {
    ($from:expr, $to:expr; $($field:ident),* $(,)?) => { $($to.$field = $from.$field;)* };
}

impl Features {
    /// Asks the device, and selects what kernels use. Robust buffer access stays off: under `--bounds`, kernels check themselves.
    pub fn of(instance: &Instance, candidate: &Candidate) -> Self {
        // SAFETY: the handle is the instance's.
        let extensions =
            unsafe { instance.handle.enumerate_device_extension_properties(candidate.handle) };
        let extensions = extensions.unwrap_or_default();
        let has = |name| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        let has = Has {
            v13: candidate.has_1_3,
            atomics: has(ash::ext::shader_atomic_float::NAME),
            atomics2: has(ash::ext::shader_atomic_float2::NAME),
        };
        let mut all = Self { has, ..Self::default() };
        let mut chain = all.link();
        // SAFETY: the chain holds structures that the device knows, by version and extensions.
        unsafe { instance.handle.get_physical_device_features2(candidate.handle, &mut chain) };
        all.core = chain.features;
        all.selected()
    }

    fn selected(&self) -> Self {
        let mut on = Self { has: self.has, ..Self::default() };
        copy!(self.core, on.core;
            shader_float64, shader_int64, shader_resource_min_lod, shader_int16, sampler_anisotropy, texture_compression_bc,
            shader_storage_image_extended_formats, shader_storage_image_read_without_format,
            shader_storage_image_write_without_format, shader_uniform_buffer_array_dynamic_indexing,
            shader_sampled_image_array_dynamic_indexing, shader_storage_buffer_array_dynamic_indexing,
            shader_storage_image_array_dynamic_indexing);
        copy!(self.v11, on.v11;
            storage_buffer16_bit_access, uniform_and_storage_buffer16_bit_access,
            variable_pointers, variable_pointers_storage_buffer);
        copy!(self.v12, on.v12;
            storage_buffer8_bit_access, uniform_and_storage_buffer8_bit_access, shader_float16, shader_int8,
            shader_buffer_int64_atomics, shader_shared_int64_atomics, descriptor_indexing,
            shader_uniform_buffer_array_non_uniform_indexing, shader_sampled_image_array_non_uniform_indexing,
            shader_storage_buffer_array_non_uniform_indexing, shader_storage_image_array_non_uniform_indexing,
            descriptor_binding_sampled_image_update_after_bind, descriptor_binding_storage_buffer_update_after_bind,
            descriptor_binding_update_unused_while_pending, descriptor_binding_partially_bound,
            runtime_descriptor_array, scalar_block_layout, uniform_buffer_standard_layout,
            shader_subgroup_extended_types, timeline_semaphore, vulkan_memory_model,
            vulkan_memory_model_device_scope, subgroup_broadcast_dynamic_id);
        copy!(self.v13, on.v13;
            robust_image_access, subgroup_size_control, compute_full_subgroups,
            shader_zero_initialize_workgroup_memory, shader_integer_dot_product, maintenance4);
        copy!(self.atomics, on.atomics;
            shader_buffer_float32_atomics, shader_buffer_float32_atomic_add, shader_buffer_float64_atomics,
            shader_buffer_float64_atomic_add, shader_shared_float32_atomics, shader_shared_float32_atomic_add,
            shader_shared_float64_atomics, shader_shared_float64_atomic_add);
        copy!(self.atomics2, on.atomics2;
            shader_buffer_float16_atomics, shader_buffer_float16_atomic_add, shader_buffer_float16_atomic_min_max,
            shader_buffer_float32_atomic_min_max, shader_buffer_float64_atomic_min_max,
            shader_shared_float16_atomics, shader_shared_float16_atomic_add, shader_shared_float16_atomic_min_max,
            shader_shared_float32_atomic_min_max, shader_shared_float64_atomic_min_max);
        on
    }

    /// The structures as a chain.
    pub fn link(&mut self) -> vk::PhysicalDeviceFeatures2<'_> {
        // Where an earlier chain led may be gone.
        self.v11.p_next = std::ptr::null_mut();
        self.v12.p_next = std::ptr::null_mut();
        self.v13.p_next = std::ptr::null_mut();
        self.atomics.p_next = std::ptr::null_mut();
        self.atomics2.p_next = std::ptr::null_mut();
        let mut chain = vk::PhysicalDeviceFeatures2::default()
            .features(self.core)
            .push_next(&mut self.v11)
            .push_next(&mut self.v12);
        if self.has.v13 {
            chain = chain.push_next(&mut self.v13);
        }
        if self.has.atomics {
            chain = chain.push_next(&mut self.atomics);
        }
        if self.has.atomics2 {
            chain = chain.push_next(&mut self.atomics2);
        }
        chain
    }

    /// The extensions that the structures belong to.
    pub fn extensions(&self) -> Vec<*const std::ffi::c_char> {
        let mut names = Vec::new();
        if self.has.atomics {
            names.push(ash::ext::shader_atomic_float::NAME.as_ptr());
        }
        if self.has.atomics2 {
            names.push(ash::ext::shader_atomic_float2::NAME.as_ptr());
        }
        names
    }

    /// What follows from the features and properties for kernels.
    pub fn abilities(&self, instance: &Instance, candidate: &Candidate) -> Abilities {
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Properties::default();
        let mut v13 = vk::PhysicalDeviceVulkan13Properties::default();
        let mut chain =
            vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup).push_next(&mut v12);
        if self.has.v13 {
            chain = chain.push_next(&mut v13);
        }
        // SAFETY: the chain holds structures that the device knows by its version.
        unsafe { instance.handle.get_physical_device_properties2(candidate.handle, &mut chain) };
        let usual = subgroup.subgroup_size;
        let lanes = if self.v13.subgroup_size_control != 0
            && v13.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE)
        {
            Lanes { usual, least: v13.min_subgroup_size, most: v13.max_subgroup_size }
        } else {
            Lanes { usual, least: usual, most: usual }
        };
        let rows = self.capabilities(&subgroup, &v12);
        let mut capabilities: Vec<u32> =
            rows.into_iter().filter(|(_, on)| *on).map(|(number, _)| number).collect();
        capabilities.sort_unstable();
        let f = &self.v12;
        Abilities {
            capabilities,
            heaps: f.runtime_descriptor_array != 0
                && f.descriptor_binding_partially_bound != 0
                && f.descriptor_binding_sampled_image_update_after_bind != 0
                && f.descriptor_binding_storage_buffer_update_after_bind != 0
                && f.descriptor_binding_update_unused_while_pending != 0,
            anisotropy: self.core.sampler_anisotropy != 0,
            lanes,
            nesting: match v12.driver_id {
                vk::DriverId::MESA_LLVMPIPE => LLVMPIPE_NESTING,
                _ => u32::MAX,
            },
        }
    }

    /// SPIR-V's capabilities, and whether the device has each. Numbers that are not here are not there.
    fn capabilities(
        &self,
        subgroup: &vk::PhysicalDeviceSubgroupProperties,
        floats: &vk::PhysicalDeviceVulkan12Properties,
    ) -> Vec<(u32, bool)> {
        use vk::SubgroupFeatureFlags as S;
        let in_compute = subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
        let lanes = |flag| in_compute && subgroup.supported_operations.contains(flag);
        let any = |fields: &[vk::Bool32]| fields.iter().any(|f| *f != 0);
        let (c, v11, v12, v13, a, b, p) =
            (&self.core, &self.v11, &self.v12, &self.v13, &self.atomics, &self.atomics2, floats);
        let mut rows: Vec<(u32, bool)> = ALWAYS.iter().map(|(number, _)| (*number, true)).collect();
        rows.extend([
            (cap::FLOAT16, any(&[v12.shader_float16])),
            (cap::FLOAT64, any(&[c.shader_float64])),
            (cap::INT64, any(&[c.shader_int64])),
            (cap::INT64_ATOMICS, any(&[v12.shader_buffer_int64_atomics])),
            (cap::INT16, any(&[c.shader_int16])),
            (cap::MIN_LOD, any(&[c.shader_resource_min_lod])),
            (cap::INT8, any(&[v12.shader_int8])),
            (cap::UNIFORM_ARRAY_DYNAMIC, any(&[c.shader_uniform_buffer_array_dynamic_indexing])),
            (cap::SAMPLED_ARRAY_DYNAMIC, any(&[c.shader_sampled_image_array_dynamic_indexing])),
            (cap::STORAGE_ARRAY_DYNAMIC, any(&[c.shader_storage_buffer_array_dynamic_indexing])),
            (cap::IMAGE_ARRAY_DYNAMIC, any(&[c.shader_storage_image_array_dynamic_indexing])),
            (cap::EXTENDED_FORMATS, any(&[c.shader_storage_image_extended_formats])),
            (cap::READ_WITHOUT_FORMAT, any(&[c.shader_storage_image_read_without_format])),
            (cap::WRITE_WITHOUT_FORMAT, any(&[c.shader_storage_image_write_without_format])),
            (cap::GROUP, lanes(S::BASIC)),
            (cap::GROUP_VOTE, lanes(S::VOTE)),
            (cap::GROUP_ARITHMETIC, lanes(S::ARITHMETIC)),
            (cap::GROUP_BALLOT, lanes(S::BALLOT)),
            (cap::GROUP_SHUFFLE, lanes(S::SHUFFLE)),
            (cap::GROUP_SHUFFLE_RELATIVE, lanes(S::SHUFFLE_RELATIVE)),
            (cap::GROUP_CLUSTERED, lanes(S::CLUSTERED)),
            (cap::GROUP_QUAD, lanes(S::QUAD)),
            (cap::STORAGE_16, any(&[v11.storage_buffer16_bit_access])),
            (cap::UNIFORM_16, any(&[v11.uniform_and_storage_buffer16_bit_access])),
            (cap::POINTERS_STORAGE, any(&[v11.variable_pointers_storage_buffer])),
            (cap::POINTERS, any(&[v11.variable_pointers])),
            (cap::STORAGE_8, any(&[v12.storage_buffer8_bit_access])),
            (cap::UNIFORM_8, any(&[v12.uniform_and_storage_buffer8_bit_access])),
            (cap::NON_UNIFORM, any(&[v12.descriptor_indexing])),
            (cap::RUNTIME_ARRAY, any(&[v12.runtime_descriptor_array])),
            (
                cap::UNIFORM_NON_UNIFORM,
                any(&[v12.shader_uniform_buffer_array_non_uniform_indexing]),
            ),
            (cap::SAMPLED_NON_UNIFORM, any(&[v12.shader_sampled_image_array_non_uniform_indexing])),
            (
                cap::STORAGE_NON_UNIFORM,
                any(&[v12.shader_storage_buffer_array_non_uniform_indexing]),
            ),
            (cap::IMAGE_NON_UNIFORM, any(&[v12.shader_storage_image_array_non_uniform_indexing])),
            (cap::MEMORY_MODEL, any(&[v12.vulkan_memory_model])),
            (cap::MEMORY_MODEL_DEVICE, any(&[v12.vulkan_memory_model_device_scope])),
            (cap::DOT, any(&[v13.shader_integer_dot_product])),
            (cap::DOT_ALL, any(&[v13.shader_integer_dot_product])),
            (cap::DOT_BYTES, any(&[v13.shader_integer_dot_product])),
            (cap::DOT_PACKED, any(&[v13.shader_integer_dot_product])),
            (cap::ADD_F32, any(&[a.shader_buffer_float32_atomic_add])),
            (cap::ADD_F64, any(&[a.shader_buffer_float64_atomic_add])),
            (cap::ADD_F16, any(&[b.shader_buffer_float16_atomic_add])),
            (cap::MIN_MAX_F32, any(&[b.shader_buffer_float32_atomic_min_max])),
            (cap::MIN_MAX_F64, any(&[b.shader_buffer_float64_atomic_min_max])),
            (cap::MIN_MAX_F16, any(&[b.shader_buffer_float16_atomic_min_max])),
            // A module names the width it means; drivers that have one of these for floats have it for what they compute with.
            (
                cap::DENORM_PRESERVE,
                any(&[
                    p.shader_denorm_preserve_float16,
                    p.shader_denorm_preserve_float32,
                    p.shader_denorm_preserve_float64,
                ]),
            ),
            (
                cap::DENORM_FLUSH,
                any(&[
                    p.shader_denorm_flush_to_zero_float16,
                    p.shader_denorm_flush_to_zero_float32,
                ]),
            ),
            (
                cap::KEEP_SPECIAL,
                any(&[
                    p.shader_signed_zero_inf_nan_preserve_float16,
                    p.shader_signed_zero_inf_nan_preserve_float32,
                ]),
            ),
            (
                cap::ROUND_TO_EVEN,
                any(&[
                    p.shader_rounding_mode_rte_float16,
                    p.shader_rounding_mode_rte_float32,
                    p.shader_rounding_mode_rte_float64,
                ]),
            ),
            (
                cap::ROUND_TO_ZERO,
                any(&[p.shader_rounding_mode_rtz_float16, p.shader_rounding_mode_rtz_float32]),
            ),
        ]);
        rows
    }
}

impl Abilities {
    /// Whether the device has a capability of SPIR-V.
    pub fn has(&self, capability: u32) -> bool {
        self.capabilities.binary_search(&capability).is_ok()
    }
}

/// What to call a capability in a message.
pub(super) fn capability_name(number: u32) -> String {
    let known = ALWAYS.iter().chain(cap::NAMES).find(|(n, _)| *n == number);
    known.map_or_else(
        || format!("the SPIR-V capability {number}"),
        |(_, name)| format!("the capability `{name}`"),
    )
}

/// Capabilities that every Vulkan device has.
const ALWAYS: &[(u32, &str)] = &[
    (0, "Matrix"),
    (1, "Shader"),
    (43, "Sampled1D"),
    (44, "Image1D"),
    (46, "SampledBuffer"),
    (47, "ImageBuffer"),
    (50, "ImageQuery"),
    (51, "DerivativeControl"),
    (4437, "DeviceGroup"),
];

macro_rules! capabilities {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        mod cap {
            $(pub const $name: u32 = $number;)*
            pub const NAMES: &[(u32, &str)] = &[$(($number, $text)),*];
        }
    };
}

capabilities! {
    FLOAT16 = 9, "Float16";
    FLOAT64 = 10, "Float64";
    INT64 = 11, "Int64";
    INT64_ATOMICS = 12, "Int64Atomics";
    INT16 = 22, "Int16";
    UNIFORM_ARRAY_DYNAMIC = 28, "UniformBufferArrayDynamicIndexing";
    SAMPLED_ARRAY_DYNAMIC = 29, "SampledImageArrayDynamicIndexing";
    STORAGE_ARRAY_DYNAMIC = 30, "StorageBufferArrayDynamicIndexing";
    IMAGE_ARRAY_DYNAMIC = 31, "StorageImageArrayDynamicIndexing";
    MIN_LOD = 42, "MinLod";
    INT8 = 39, "Int8";
    EXTENDED_FORMATS = 49, "StorageImageExtendedFormats";
    READ_WITHOUT_FORMAT = 55, "StorageImageReadWithoutFormat";
    WRITE_WITHOUT_FORMAT = 56, "StorageImageWriteWithoutFormat";
    GROUP = 61, "GroupNonUniform";
    GROUP_VOTE = 62, "GroupNonUniformVote";
    GROUP_ARITHMETIC = 63, "GroupNonUniformArithmetic";
    GROUP_BALLOT = 64, "GroupNonUniformBallot";
    GROUP_SHUFFLE = 65, "GroupNonUniformShuffle";
    GROUP_SHUFFLE_RELATIVE = 66, "GroupNonUniformShuffleRelative";
    GROUP_CLUSTERED = 67, "GroupNonUniformClustered";
    GROUP_QUAD = 68, "GroupNonUniformQuad";
    STORAGE_16 = 4433, "StorageBuffer16BitAccess";
    UNIFORM_16 = 4434, "UniformAndStorageBuffer16BitAccess";
    POINTERS_STORAGE = 4441, "VariablePointersStorageBuffer";
    POINTERS = 4442, "VariablePointers";
    STORAGE_8 = 4448, "StorageBuffer8BitAccess";
    UNIFORM_8 = 4449, "UniformAndStorageBuffer8BitAccess";
    DENORM_PRESERVE = 4464, "DenormPreserve";
    DENORM_FLUSH = 4465, "DenormFlushToZero";
    KEEP_SPECIAL = 4466, "SignedZeroInfNanPreserve";
    ROUND_TO_EVEN = 4467, "RoundingModeRTE";
    ROUND_TO_ZERO = 4468, "RoundingModeRTZ";
    NON_UNIFORM = 5301, "ShaderNonUniform";
    RUNTIME_ARRAY = 5302, "RuntimeDescriptorArray";
    UNIFORM_NON_UNIFORM = 5306, "UniformBufferArrayNonUniformIndexing";
    SAMPLED_NON_UNIFORM = 5307, "SampledImageArrayNonUniformIndexing";
    STORAGE_NON_UNIFORM = 5308, "StorageBufferArrayNonUniformIndexing";
    IMAGE_NON_UNIFORM = 5309, "StorageImageArrayNonUniformIndexing";
    MEMORY_MODEL = 5345, "VulkanMemoryModel";
    MEMORY_MODEL_DEVICE = 5346, "VulkanMemoryModelDeviceScope";
    MIN_MAX_F32 = 5612, "AtomicFloat32MinMaxEXT";
    MIN_MAX_F64 = 5613, "AtomicFloat64MinMaxEXT";
    MIN_MAX_F16 = 5616, "AtomicFloat16MinMaxEXT";
    DOT_ALL = 6016, "DotProductInputAll";
    DOT_BYTES = 6017, "DotProductInput4x8Bit";
    DOT_PACKED = 6018, "DotProductInput4x8BitPacked";
    DOT = 6019, "DotProduct";
    ADD_F32 = 6033, "AtomicFloat32AddEXT";
    ADD_F64 = 6034, "AtomicFloat64AddEXT";
    ADD_F16 = 6095, "AtomicFloat16AddEXT";
}

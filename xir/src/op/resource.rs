//! Rows of the operations on resources, ray queries and adjoints. Operand lists equal those of the call operations in
//! `callops.md`, resource first. No call operation asks for the number of levels, the sampler of a slot (`filter * 4 + address`)
//! or a texel of a level of an image argument: `lower_sampling` makes these.

/// Declares a resource operation enum: variant, text name, least and greatest operand count.
macro_rules! resource_operations {
    ($(#[$meta:meta])* $name:ident { $( $variant:ident $text:literal $min:literal $max:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $( $variant, )* }

        impl $name {
            /// All operations, in table order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            const NAMES: &'static [&'static str] = &[$($text,)*];
            const ARITY: &'static [(usize, usize)] = &[$(($min, $max),)*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str { Self::NAMES[self as usize] }
            /// Least and greatest number of operands.
            pub const fn arity(self) -> (usize, usize) { Self::ARITY[self as usize] }
            /// The operation of that text name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::NAMES.iter().position(|&n| n == name).map(|i| Self::ALL[i])
            }
        }
    };
}

resource_operations! {
    /// Queries and sampling. Sampling is not affected by writes of the same kernel.
    ResourceQueryOp {
        BufferSize "buffer_size" 1 1;
        ByteBufferSize "byte_buffer_size" 1 1;
        BufferDeviceAddress "buffer_device_address" 1 1;
        Texture2dSize "texture2d_size" 1 1;
        Texture3dSize "texture3d_size" 1 1;
        Texture2dLevels "texture2d_levels" 1 1;
        Texture3dLevels "texture3d_levels" 1 1;
        Texture2dSample "texture2d_sample" 4 4;
        Texture2dSampleLevel "texture2d_sample_level" 5 5;
        Texture2dSampleGrad "texture2d_sample_grad" 6 6;
        Texture2dSampleGradLevel "texture2d_sample_grad_level" 7 7;
        Texture3dSample "texture3d_sample" 4 4;
        Texture3dSampleLevel "texture3d_sample_level" 5 5;
        Texture3dSampleGrad "texture3d_sample_grad" 6 6;
        Texture3dSampleGradLevel "texture3d_sample_grad_level" 7 7;
        BindlessBufferSize "bindless_buffer_size" 3 3;
        BindlessByteBufferSize "bindless_byte_buffer_size" 2 2;
        BindlessBufferType "bindless_buffer_type" 2 2;
        BindlessBufferDeviceAddress "bindless_buffer_device_address" 2 2;
        BindlessTexture2dSize "bindless_texture2d_size" 2 2;
        BindlessTexture3dSize "bindless_texture3d_size" 2 2;
        BindlessTexture2dSizeLevel "bindless_texture2d_size_level" 3 3;
        BindlessTexture3dSizeLevel "bindless_texture3d_size_level" 3 3;
        BindlessTexture2dLevels "bindless_texture2d_levels" 2 2;
        BindlessTexture3dLevels "bindless_texture3d_levels" 2 2;
        BindlessTexture2dSampler "bindless_texture2d_sampler" 2 2;
        BindlessTexture3dSampler "bindless_texture3d_sampler" 2 2;
        BindlessTexture2dSample "bindless_texture2d_sample" 3 3;
        BindlessTexture2dSampleLevel "bindless_texture2d_sample_level" 4 4;
        BindlessTexture2dSampleGrad "bindless_texture2d_sample_grad" 5 5;
        BindlessTexture2dSampleGradLevel "bindless_texture2d_sample_grad_level" 6 6;
        BindlessTexture3dSample "bindless_texture3d_sample" 3 3;
        BindlessTexture3dSampleLevel "bindless_texture3d_sample_level" 4 4;
        BindlessTexture3dSampleGrad "bindless_texture3d_sample_grad" 5 5;
        BindlessTexture3dSampleGradLevel "bindless_texture3d_sample_grad_level" 6 6;
        BindlessTexture2dSampleSampler "bindless_texture2d_sample_sampler" 5 5;
        BindlessTexture2dSampleLevelSampler "bindless_texture2d_sample_level_sampler" 6 6;
        BindlessTexture2dSampleGradSampler "bindless_texture2d_sample_grad_sampler" 7 7;
        BindlessTexture2dSampleGradLevelSampler "bindless_texture2d_sample_grad_level_sampler" 8 8;
        BindlessTexture3dSampleSampler "bindless_texture3d_sample_sampler" 5 5;
        BindlessTexture3dSampleLevelSampler "bindless_texture3d_sample_level_sampler" 6 6;
        BindlessTexture3dSampleGradSampler "bindless_texture3d_sample_grad_sampler" 7 7;
        BindlessTexture3dSampleGradLevelSampler "bindless_texture3d_sample_grad_level_sampler" 8 8;
        RayTracingInstanceTransform "ray_tracing_instance_transform" 2 2;
        RayTracingInstanceUserId "ray_tracing_instance_user_id" 2 2;
        RayTracingInstanceVisibilityMask "ray_tracing_instance_visibility_mask" 2 2;
        RayTracingInstanceMotionMatrix "ray_tracing_instance_motion_matrix" 3 3;
        RayTracingInstanceMotionSrt "ray_tracing_instance_motion_srt" 3 3;
        RayTracingTraceClosest "ray_tracing_trace_closest" 3 3;
        RayTracingTraceAny "ray_tracing_trace_any" 3 3;
        RayTracingQueryAll "ray_tracing_query_all" 3 3;
        RayTracingQueryAny "ray_tracing_query_any" 3 3;
        RayTracingTraceClosestMotionBlur "ray_tracing_trace_closest_motion_blur" 4 4;
        RayTracingTraceAnyMotionBlur "ray_tracing_trace_any_motion_blur" 4 4;
        RayTracingQueryAllMotionBlur "ray_tracing_query_all_motion_blur" 4 4;
        RayTracingQueryAnyMotionBlur "ray_tracing_query_any_motion_blur" 4 4;
    }
}

impl ResourceQueryOp {
    /// Whether the answer depends on the content of an acceleration structure.
    pub const fn reads_accel(self) -> bool {
        self as u8 >= ResourceQueryOp::RayTracingInstanceTransform as u8
    }
    /// Whether a slot of a bindless array is asked.
    pub const fn is_bindless(self) -> bool {
        let n = self as u8;
        n >= ResourceQueryOp::BindlessBufferSize as u8
            && n <= ResourceQueryOp::BindlessTexture3dSampleGradLevelSampler as u8
    }
    /// Whether the number of levels of an image, or the sampler of a slot, is asked.
    pub const fn asks_of_levels_or_sampler(self) -> bool {
        matches!(
            self,
            ResourceQueryOp::Texture2dLevels
                | ResourceQueryOp::Texture3dLevels
                | ResourceQueryOp::BindlessTexture2dLevels
                | ResourceQueryOp::BindlessTexture3dLevels
                | ResourceQueryOp::BindlessTexture2dSampler
                | ResourceQueryOp::BindlessTexture3dSampler
        )
    }
    /// Whether the answer depends on the content of an image or bindless slot.
    pub const fn samples(self) -> bool {
        let n = self as u8;
        (n >= ResourceQueryOp::Texture2dSample as u8
            && n <= ResourceQueryOp::Texture3dSampleGradLevel as u8)
            || (n >= ResourceQueryOp::BindlessTexture2dSample as u8
                && n <= ResourceQueryOp::BindlessTexture3dSampleGradLevelSampler as u8)
    }
}

resource_operations! {
    /// Reads of resources.
    ResourceReadOp {
        BufferRead "buffer_read" 2 2;
        BufferVolatileRead "buffer_volatile_read" 2 2;
        ByteBufferRead "byte_buffer_read" 2 2;
        ByteBufferVolatileRead "byte_buffer_volatile_read" 2 2;
        Texture2dRead "texture2d_read" 2 2;
        Texture3dRead "texture3d_read" 2 2;
        Texture2dReadLevel "texture2d_read_level" 3 3;
        Texture3dReadLevel "texture3d_read_level" 3 3;
        BindlessBufferRead "bindless_buffer_read" 3 3;
        BindlessByteBufferRead "bindless_byte_buffer_read" 3 3;
        BindlessTexture2dRead "bindless_texture2d_read" 3 3;
        BindlessTexture3dRead "bindless_texture3d_read" 3 3;
        BindlessTexture2dReadLevel "bindless_texture2d_read_level" 4 4;
        BindlessTexture3dReadLevel "bindless_texture3d_read_level" 4 4;
        DeviceAddressRead "device_address_read" 1 1;
    }
}

impl ResourceReadOp {
    /// Whether the read is never merged, removed or moved.
    pub const fn is_volatile(self) -> bool {
        matches!(self, ResourceReadOp::BufferVolatileRead | ResourceReadOp::ByteBufferVolatileRead)
    }
}

resource_operations! {
    /// Writes of resources; no result.
    ResourceWriteOp {
        BufferWrite "buffer_write" 3 3;
        BufferVolatileWrite "buffer_volatile_write" 3 3;
        ByteBufferWrite "byte_buffer_write" 3 3;
        ByteBufferVolatileWrite "byte_buffer_volatile_write" 3 3;
        Texture2dWrite "texture2d_write" 3 3;
        Texture3dWrite "texture3d_write" 3 3;
        BindlessBufferWrite "bindless_buffer_write" 4 4;
        BindlessByteBufferWrite "bindless_byte_buffer_write" 4 4;
        DeviceAddressWrite "device_address_write" 2 2;
        RayTracingSetInstanceTransform "ray_tracing_set_instance_transform" 3 3;
        RayTracingSetInstanceVisibilityMask "ray_tracing_set_instance_visibility_mask" 3 3;
        RayTracingSetInstanceOpacity "ray_tracing_set_instance_opacity" 3 3;
        RayTracingSetInstanceUserId "ray_tracing_set_instance_user_id" 3 3;
        RayTracingSetInstanceMotionMatrix "ray_tracing_set_instance_motion_matrix" 4 4;
        RayTracingSetInstanceMotionSrt "ray_tracing_set_instance_motion_srt" 4 4;
        IndirectDispatchSetKernel "indirect_dispatch_set_kernel" 5 5;
        IndirectDispatchSetCount "indirect_dispatch_set_count" 2 2;
    }
}

impl ResourceWriteOp {
    /// Whether the write is never merged, removed or moved.
    pub const fn is_volatile(self) -> bool {
        matches!(
            self,
            ResourceWriteOp::BufferVolatileWrite | ResourceWriteOp::ByteBufferVolatileWrite
        )
    }
}

resource_operations! {
    /// Reads of a ray-query object.
    RayQueryReadOp {
        WorldSpaceRay "world_space_ray" 1 1;
        CandidateObjectSpaceRay "candidate_object_space_ray" 1 1;
        ProceduralCandidateHit "procedural_candidate_hit" 1 1;
        TriangleCandidateHit "triangle_candidate_hit" 1 1;
        CommittedHit "committed_hit" 1 1;
        IsTriangleCandidate "is_triangle_candidate" 1 1;
        IsProceduralCandidate "is_procedural_candidate" 1 1;
        IsTerminated "is_terminated" 1 1;
    }
}

resource_operations! {
    /// Writes of a ray-query object; no result.
    RayQueryWriteOp {
        CommitTriangle "commit_triangle" 1 1;
        CommitProcedural "commit_procedural" 2 2;
        Terminate "terminate" 1 1;
        Proceed "proceed" 1 1;
    }
}

resource_operations! {
    /// Differentiation intrinsics.
    AutodiffOp {
        RequiresGradient "requires_gradient" 1 1;
        Gradient "gradient" 1 1;
        GradientMarker "gradient_marker" 2 2;
        AccumulateGradient "accumulate_gradient" 2 2;
        Backward "backward" 0 0;
        Detach "detach" 1 1;
    }
}

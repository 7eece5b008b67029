//! Special registers: values that the launch provides.

use luisac_ast::types::{Scalar, TypeId};

/// A builtin value; one value each per function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum SpecialRegister {
    ThreadId,
    BlockId,
    DispatchId,
    DispatchSize,
    BlockSize,
    WarpLaneId,
    WarpSize,
    KernelId,
    ObjectId,
    Barycentrics,
    FrontFacing,
    BaseInstance,
}

impl SpecialRegister {
    /// All registers, in table order.
    pub const ALL: [SpecialRegister; 12] = [
        SpecialRegister::ThreadId,
        SpecialRegister::BlockId,
        SpecialRegister::DispatchId,
        SpecialRegister::DispatchSize,
        SpecialRegister::BlockSize,
        SpecialRegister::WarpLaneId,
        SpecialRegister::WarpSize,
        SpecialRegister::KernelId,
        SpecialRegister::ObjectId,
        SpecialRegister::Barycentrics,
        SpecialRegister::FrontFacing,
        SpecialRegister::BaseInstance,
    ];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            SpecialRegister::ThreadId => "thread_id",
            SpecialRegister::BlockId => "block_id",
            SpecialRegister::DispatchId => "dispatch_id",
            SpecialRegister::DispatchSize => "dispatch_size",
            SpecialRegister::BlockSize => "block_size",
            SpecialRegister::WarpLaneId => "warp_lane_id",
            SpecialRegister::WarpSize => "warp_size",
            SpecialRegister::KernelId => "kernel_id",
            SpecialRegister::ObjectId => "object_id",
            SpecialRegister::Barycentrics => "barycentrics",
            SpecialRegister::FrontFacing => "front_facing",
            SpecialRegister::BaseInstance => "base_instance",
        }
    }

    /// The register of that text name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.name() == name)
    }

    /// The type of its value.
    pub const fn ty(self) -> TypeId {
        match self {
            SpecialRegister::ThreadId
            | SpecialRegister::BlockId
            | SpecialRegister::DispatchId
            | SpecialRegister::DispatchSize
            | SpecialRegister::BlockSize => TypeId::vector(Scalar::U32, 3),
            SpecialRegister::Barycentrics => TypeId::vector(Scalar::F32, 3),
            SpecialRegister::FrontFacing => TypeId::BOOL,
            SpecialRegister::WarpLaneId
            | SpecialRegister::WarpSize
            | SpecialRegister::KernelId
            | SpecialRegister::ObjectId
            | SpecialRegister::BaseInstance => TypeId::U32,
        }
    }

    /// Whether all lanes of a wave hold the same value.
    pub const fn is_uniform(self) -> bool {
        matches!(
            self,
            SpecialRegister::BlockId
                | SpecialRegister::DispatchSize
                | SpecialRegister::BlockSize
                | SpecialRegister::WarpSize
                | SpecialRegister::KernelId
                | SpecialRegister::BaseInstance
        )
    }
}

//! What can go wrong with Vulkan itself.

use ash::vk;
use luisac_artifact::PixelStorage;
use thiserror::Error;

use crate::RuntimeError;

/// A failure that only the device `vulkan` has.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum VulkanError {
    /// The library that finds drivers is not there.
    #[error("the Vulkan loader cannot be opened: {0}")]
    NoLoader(String),
    /// The loader is there, but no driver that can be used.
    #[error("there is no Vulkan device: {0}")]
    NoDevice(String),
    /// The device lacks what a kernel needs.
    #[error("the kernel `{kernel}` needs {feature}, which the device `{device}` does not have")]
    MissingFeature { kernel: String, feature: String, device: String },
    /// An image whose storage the device has no form for.
    #[error("the device `{device}` has no images stored as `{storage}` that can be {purpose}")]
    NoFormat { device: String, storage: PixelStorage, purpose: &'static str },
    /// More than the device can take.
    #[error("{what} of {asked} passes the limit of the device, {most}")]
    Limit { what: &'static str, asked: u64, most: u64 },
    /// The device stopped answering.
    #[error("the device was lost: its driver reset it, or a kernel ran for too long")]
    Lost,
    /// A call that failed for another reason.
    #[error("`{call}` failed: {result}")]
    Call { call: &'static str, result: vk::Result },
    /// Code that is no SPIR-V module, or not the one that the metadata describes.
    #[error("the SPIR-V of the kernel `{kernel}` cannot be used: {reason}")]
    BadModule { kernel: String, reason: String },
    /// WGSL that naga refuses.
    #[error("the WGSL of the kernel `{kernel}` is refused: {reason}")]
    BadWgsl { kernel: String, reason: String },
    /// A view that does not start where descriptors can.
    #[error(
        "argument {index} is a view from byte {start}, and this device binds views at multiples of {align}"
    )]
    ViewAlignment { index: usize, start: u64, align: u64 },
    /// A kind of argument that is not there yet.
    #[error("argument {index} is {kind}, which the device `vulkan` does not support yet")]
    UnsupportedArgument { index: usize, kind: &'static str },
}

impl VulkanError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoLoader(_) => "L1160",
            Self::NoDevice(_) => "L1161",
            Self::MissingFeature { .. } => "L1162",
            Self::NoFormat { .. } => "L1163",
            Self::Limit { .. } => "L1164",
            Self::Lost => "L1165",
            Self::Call { .. } => "L1166",
            Self::BadModule { .. } => "L1167",
            Self::BadWgsl { .. } => "L1168",
            Self::ViewAlignment { .. } => "L1169",
            Self::UnsupportedArgument { .. } => "L1125",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoLoader(_) => {
                "install the Vulkan loader (Debian: libvulkan1) and a driver (in software: mesa-vulkan-drivers)"
            }
            Self::NoDevice(_) => {
                "install a driver for Vulkan 1.2 or later (in software: mesa-vulkan-drivers)"
            }
            Self::MissingFeature { .. } => {
                "use another device, or compile the kernel without what is missing"
            }
            Self::NoFormat { .. } => "store the image in another way, such as float4 or byte4",
            Self::Limit { .. } => "use less, or another device",
            Self::Lost => "dispatch less at once, and look for loops without an end",
            Self::Call { .. } => "the driver refused; another driver or device may not",
            Self::BadModule { .. } | Self::BadWgsl { .. } => {
                "compile the kernel again; use the metadata that was written with the code"
            }
            Self::ViewAlignment { .. } => {
                "start the view elsewhere, or copy it into a buffer of its own"
            }
            Self::UnsupportedArgument { .. } => {
                "use the device `cpu` or `interp` where it holds what the kernel needs"
            }
        }
    }

    /// Whether it says that this machine has no such device, rather than that something with it failed.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::NoLoader(_) | Self::NoDevice(_))
    }
}

/// Names the call of a result that the driver gave.
pub(super) fn call<T>(call: &'static str, result: Result<T, vk::Result>) -> Result<T, VulkanError> {
    result.map_err(|result| match result {
        vk::Result::ERROR_DEVICE_LOST => VulkanError::Lost,
        result => VulkanError::Call { call, result },
    })
}

/// As [`call`], where memory is asked for: `bytes` that are not there are no failure of the driver.
pub(super) fn allocation<T>(
    name: &'static str,
    bytes: u64,
    result: Result<T, vk::Result>,
) -> Result<T, RuntimeError> {
    use vk::Result as R;
    match result {
        Err(
            R::ERROR_OUT_OF_DEVICE_MEMORY
            | R::ERROR_OUT_OF_HOST_MEMORY
            | R::ERROR_FRAGMENTED_POOL
            | R::ERROR_OUT_OF_POOL_MEMORY
            | R::ERROR_TOO_MANY_OBJECTS,
        ) => Err(RuntimeError::OutOfMemory { bytes }),
        other => Ok(call(name, other)?),
    }
}

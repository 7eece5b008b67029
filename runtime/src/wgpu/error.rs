//! What can go wrong with wgpu itself.

use luisac_artifact::PixelStorage;
use thiserror::Error;

/// A failure that only the devices `wgpu`, `dx12` and `metal` have.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum WgpuError {
    /// Something that wgpu, or the device through it, has no form for.
    #[error("{what} cannot be held by the device `{device}`, which goes through wgpu")]
    Unsupported { device: &'static str, what: String },
    /// More than the device can take.
    #[error("{what} of {asked} passes the limit of the device, {most}")]
    Limit { what: &'static str, asked: u64, most: u64 },
    /// A view that does not start where bindings can.
    #[error(
        "argument {index} is a view from byte {start}, and this device binds views at multiples of {align}"
    )]
    ViewAlignment { index: usize, start: u64, align: u64 },
    /// An image that cannot be had in a form that the kernel reads.
    #[error("wgpu has no images stored as `{storage}` that can be {purpose}")]
    NoFormat { storage: PixelStorage, purpose: &'static str },
    /// Code or metadata that contradict each other.
    #[error("the code of the kernel `{kernel}` cannot be used: {reason}")]
    BadCode { kernel: String, reason: String },
    /// What wgpu refuses.
    #[error("wgpu refuses it: {0}")]
    Refused(String),
}

impl WgpuError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "L1180",
            Self::Limit { .. } => "L1181",
            Self::ViewAlignment { .. } => "L1182",
            Self::NoFormat { .. } => "L1183",
            Self::BadCode { .. } => "L1184",
            Self::Refused(_) => "L1185",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "use the device `vulkan`, `cuda` or `cpu`",
            Self::Limit { .. } => "use less, or another device",
            Self::ViewAlignment { .. } => {
                "start the view elsewhere, or copy it into a buffer of its own"
            }
            Self::NoFormat { .. } => "store the image as float4, half4, byte4 or int4",
            Self::BadCode { .. } => {
                "compile the kernel again; use the metadata that was written with the code"
            }
            Self::Refused(_) => {
                "use the device `vulkan`, `cuda` or `cpu`; wgpu's words say what it misses"
            }
        }
    }
}

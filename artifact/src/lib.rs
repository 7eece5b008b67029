//! What the compiler writes and the runtime reads.
//!
//! This crate stands alone: it knows neither the compiler's trees nor a device.
//!
//! - [`abi`]: the parameter block of a kernel, the CPU entry point, the log buffer, pixel storages.
//! - [`bindings`]: where an API that binds by number finds a kernel's resources.
//! - [`metadata`]: the JSON that lies beside every artifact.
//! - [`archive`]: many kernels for many targets in one file.
//! - [`layout`]: size, alignment and members of a type, read from its description.
//! - [`write_whole`]: files that appear whole or not at all.

pub mod abi;
pub mod archive;
pub mod bindings;
pub mod layout;
pub mod metadata;
mod pixel;
mod write;

pub use abi::{ArgumentShape, BindlessRecord, BlockConfig, ImageView, LogLayout, ParamLayout};
pub use archive::{Archive, ArchiveError, ArchiveWriter, DeviceProfile, PackedArchive, Variant};
pub use bindings::{Bindings, Slot, SlotKind};
pub use layout::{DataLayout, LayoutError, Scalar, TypeId, TypeKind};
pub use metadata::{Metadata, MetadataError};
pub use pixel::{PixelStorage, TexelKind};
pub use write::{WriteError, write_whole};

//! What can be wrong with an archive.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::format::VERSION;
use crate::MetadataError;

/// An archive that cannot be read or made.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The file cannot be opened or read.
    #[error("cannot read the archive `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The bytes do not start as an archive does.
    #[error("this is no archive of luisac")]
    NotAnArchive,
    /// An archive of another version of the format.
    #[error("the archive has version {0} of the format, and this program reads version {VERSION}")]
    Version(u32),
    /// The bytes contradict themselves or their checksums.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// Two entries of one name, permutation and target.
    #[error("two kernels of the archive would be `{0}`")]
    Clash(String),
    /// The index would pass the limit that readers keep.
    #[error("the archive's index would take more than {0} bytes")]
    TooLarge(usize),
    /// A kernel's metadata is not what it should be.
    #[error("the metadata of `{kernel}` in the archive cannot be used: {source}")]
    Metadata {
        /// Kernel and target.
        kernel: String,
        /// What is wrong with it.
        source: MetadataError,
    },
}

impl ArchiveError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "L1030",
            Self::NotAnArchive => "L1031",
            Self::Version(_) => "L1032",
            Self::Damaged(_) => "L1033",
            Self::Clash(_) => "L1034",
            Self::TooLarge(_) => "L1035",
            Self::Metadata { source, .. } => source.code(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path and its rights",
            Self::NotAnArchive => {
                "give a `.luisa` file that `luisac bake` or `luisac compile` wrote"
            }
            Self::Version(found) if *found < VERSION => "bake the kernels again with this version",
            Self::Version(_) => "use the luisac that wrote the archive, or a newer one",
            Self::Damaged(_) => "bake the kernels again; the file was cut or changed",
            Self::Clash(_) => "give the kernels different names, or bake them into two archives",
            Self::TooLarge(_) => "bake the kernels into several archives",
            Self::Metadata { source, .. } => source.help(),
        }
    }
}

pub(super) fn damaged<T>(what: impl Into<String>) -> Result<T, ArchiveError> {
    Err(ArchiveError::Damaged(what.into()))
}

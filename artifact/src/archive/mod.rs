//! Archives, `.luisa`: many kernels for many targets in one file.
//!
//! An archive is opened by mapping it. Its index is read and checked then; code and metadata of a kernel are checked when they are
//! asked for. Nothing in the bytes is trusted: an archive that was cut or changed gives an error.

mod device;
mod error;
mod format;
mod writer;

use std::{fs::File, io, io::Read, ops::Deref, path::Path};

use memmap2::Mmap;

pub use device::DeviceProfile;
pub use error::ArchiveError;
pub use format::VERSION as ARCHIVE_VERSION;
pub use writer::{ArchiveWriter, PackedArchive};

use crate::Metadata;
use error::damaged;
use format::{Blob, Index, Record};

/// Bytes that an archive lies in.
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
    Static(&'static [u8]),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
            Self::Static(bytes) => bytes,
        }
    }
}

/// An archive that can be read.
pub struct Archive {
    bytes: Bytes,
    index: Index,
}

impl Archive {
    /// Whether these bytes start as an archive of any version does.
    #[must_use]
    pub fn detect(bytes: &[u8]) -> bool {
        bytes.starts_with(&format::MAGIC)
    }

    /// Opens a file. The file must not be shortened while it is open; luisac never does, it replaces files.
    ///
    /// # Errors
    /// [`ArchiveError`] for a file that cannot be read, is none, is of another version or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ArchiveError> {
        let path = path.as_ref();
        let bytes =
            map(path).map_err(|source| ArchiveError::Io { path: path.to_owned(), source })?;
        Self::of(bytes)
    }

    /// Reads an archive that is in memory.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ArchiveError> {
        Self::of(Bytes::Owned(bytes))
    }

    /// Reads an archive that is part of the program: see [`include_archive!`](crate::include_archive).
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_static(bytes: &'static [u8]) -> Result<Self, ArchiveError> {
        Self::of(Bytes::Static(bytes))
    }

    fn of(bytes: Bytes) -> Result<Self, ArchiveError> {
        let index = format::open(&bytes)?;
        Ok(Self { bytes, index })
    }

    /// Version of the compiler that made it.
    #[must_use]
    pub fn compiler(&self) -> &str {
        &self.index.compiler
    }

    /// The file's content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of the file.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// All variants of all kernels, by name, permutation and target.
    pub fn variants(&self) -> impl ExactSizeIterator<Item = Variant<'_>> + Clone {
        self.index.records.iter().map(|record| Variant { archive: self, record })
    }

    /// The names of the kernels, sorted.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let mut last = None;
        let names = self.index.records.iter().map(|record| record.kernel.as_str());
        names.filter(move |name| last.replace(*name) != Some(*name))
    }

    /// The variants of a kernel.
    pub fn kernel(&self, name: &str) -> impl ExactSizeIterator<Item = Variant<'_>> + Clone {
        let records = &self.index.records;
        let start = records.partition_point(|r| r.kernel.as_str() < name);
        let end = records.partition_point(|r| r.kernel.as_str() <= name);
        records[start..end].iter().map(|record| Variant { archive: self, record })
    }

    /// The variant of a kernel that suits a device best; nothing if the device can run none. `defines` choose the permutation,
    /// in any order; none choose the kernel as it was recorded.
    #[must_use]
    pub fn best(
        &self,
        kernel: &str,
        defines: &[(&str, &str)],
        device: &DeviceProfile,
    ) -> Option<Variant<'_>> {
        let fits = self.kernel(kernel).filter(|v| v.is_permutation(defines));
        let ranked = fits.filter_map(|v| Some((device.rank(v.target(), v.features())?, v)));
        // Of equal ones the first by name, so that the choice is the same everywhere.
        ranked.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, v)| v)
    }

    /// Reads everything and checks it.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn verify(&self) -> Result<(), ArchiveError> {
        for variant in self.variants() {
            variant.code()?;
            variant.metadata()?;
        }
        Ok(())
    }

    fn blob(&self, record: &Record, blob: Blob, what: &str) -> Result<&[u8], ArchiveError> {
        let range = blob.offset as usize..(blob.offset + blob.len) as usize;
        match self.bytes.get(range) {
            Some(bytes) if format::checksum(bytes) == blob.sum => Ok(bytes),
            _ => damaged(format!("{what} of `{}` does not fit its checksum", label(record))),
        }
    }
}

/// Maps a regular file; reads anything else.
fn map(path: &Path) -> io::Result<Bytes> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if metadata.is_file() && metadata.len() > 0 {
        // SAFETY: the mapping is only read. Who shortens the file meanwhile ends this process by a signal; nothing else can come
        // of it, and what is read is checked.
        return Ok(Bytes::Mapped(unsafe { Mmap::map(&file)? }));
    }
    // A pipe or a device may never end: no more is read than the header says, and nothing after what is no header.
    let mut bytes = Vec::new();
    (&mut file).take(format::HEADER as u64).read_to_end(&mut bytes)?;
    let rest = format::stated_length(&bytes).saturating_sub(bytes.len() as u64);
    file.take(rest).read_to_end(&mut bytes)?;
    Ok(Bytes::Owned(bytes))
}

/// `blur[2=1.0] for ptx:sm_80`.
fn label(record: &Record) -> String {
    format!("{}{} for {}", record.kernel, permutation(&record.defines), record.target)
}

/// `[2=1.0,3=4]`, or nothing.
#[must_use]
pub fn permutation(defines: &[(String, String)]) -> String {
    if defines.is_empty() {
        return String::new();
    }
    let parts: Vec<String> =
        defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("[{}]", parts.join(","))
}

/// One kernel for one target.
#[derive(Clone, Copy)]
pub struct Variant<'a> {
    archive: &'a Archive,
    record: &'a Record,
}

impl<'a> Variant<'a> {
    /// The kernel's name.
    #[must_use]
    pub fn kernel(&self) -> &'a str {
        &self.record.kernel
    }

    /// Target with detail.
    #[must_use]
    pub fn target(&self) -> &'a str {
        &self.record.target
    }

    /// The arguments that were made constant, sorted by name.
    #[must_use]
    pub fn defines(&self) -> &'a [(String, String)] {
        &self.record.defines
    }

    /// Device features it needs.
    #[must_use]
    pub fn features(&self) -> &'a [String] {
        &self.record.features
    }

    /// Bytes of its code.
    #[must_use]
    pub fn code_size(&self) -> u64 {
        self.record.code.len
    }

    /// Checksum of its code: the same for the same code.
    #[must_use]
    pub fn code_sum(&self) -> u64 {
        self.record.code.sum
    }

    /// `blur[2=1.0] for ptx:sm_80`.
    #[must_use]
    pub fn label(&self) -> String {
        label(self.record)
    }

    /// Its code, checked. In a mapped or embedded archive it starts at a multiple of 64.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`].
    pub fn code(&self) -> Result<&'a [u8], ArchiveError> {
        self.archive.blob(self.record, self.record.code, "the code")
    }

    /// A hash of everything that it was made from; zeros if nobody said.
    #[must_use]
    pub fn key(&self) -> &'a [u8; 32] {
        &self.record.key
    }

    /// Whether code and metadata fit their checksums.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.code().is_ok() && self.raw_metadata().is_ok()
    }

    fn raw_metadata(&self) -> Result<&'a [u8], ArchiveError> {
        self.archive.blob(self.record, self.record.metadata, "the metadata")
    }

    /// Its metadata, checked.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`] and [`ArchiveError::Metadata`].
    pub fn metadata(&self) -> Result<Metadata, ArchiveError> {
        let metadata = Metadata::from_json(self.raw_metadata()?)
            .map_err(|source| ArchiveError::Metadata { kernel: self.label(), source })?;
        if metadata.kernel != self.record.kernel || metadata.target != self.record.target {
            return damaged(format!("the metadata of `{}` is another kernel's", self.label()));
        }
        Ok(metadata)
    }

    fn is_permutation(&self, defines: &[(&str, &str)]) -> bool {
        let own = self.defines();
        let has = |(n, v): &(&str, &str)| own.iter().any(|(name, value)| name == n && value == v);
        own.len() == defines.len() && defines.iter().all(has)
    }
}

/// An archive as part of the program: `include_archive!("kernels.luisa")` takes the file of this name that the build script wrote into
/// `OUT_DIR`, `include_archive!(path: "../kernels.luisa")` a file beside the source file. It gives what
/// [`Archive::from_static`] gives.
#[macro_export]
macro_rules! include_archive {
    (path: $path:expr) => {{
        #[repr(C, align(64))]
        struct Aligned<T: ?Sized>(T);
        static BYTES: &Aligned<[u8]> = &Aligned(*include_bytes!($path));
        $crate::Archive::from_static(&BYTES.0)
    }};
    ($name:expr) => {
        $crate::include_archive!(path: concat!(env!("OUT_DIR"), "/", $name))
    };
}

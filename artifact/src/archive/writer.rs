//! Making an archive.

use std::collections::HashMap;

use super::{
    Variant,
    error::ArchiveError,
    format::{self, ALIGN, Blob, HEADER, Index, Key, Record},
};
use crate::Metadata;

/// Collects kernels. The bytes depend on what was added, not on the order.
pub struct ArchiveWriter {
    compiler: String,
    entries: Vec<Entry>,
}

struct Entry {
    record: Record,
    code: Vec<u8>,
    metadata: Vec<u8>,
}

const NOWHERE: Blob = Blob { offset: 0, len: 0, sum: 0 };

impl ArchiveWriter {
    /// An archive that says it comes from this version of the compiler.
    #[must_use]
    pub fn new(compiler: impl Into<String>) -> Self {
        Self { compiler: compiler.into(), entries: Vec::new() }
    }

    /// Adds a kernel. `defines` are the arguments that were made constant, which tell permutations of one kernel apart.
    pub fn add(&mut self, metadata: &Metadata, defines: Vec<(String, String)>, code: Vec<u8>) {
        self.add_made_from(metadata, defines, [0; 32], code);
    }

    /// As [`ArchiveWriter::add`], with a hash of everything that the kernel was made from.
    pub fn add_made_from(
        &mut self,
        metadata: &Metadata,
        mut defines: Vec<(String, String)>,
        key: Key,
        code: Vec<u8>,
    ) {
        defines.sort();
        let record = Record {
            kernel: metadata.kernel.clone(),
            defines,
            target: metadata.target.clone(),
            features: metadata.features.clone(),
            key,
            code: NOWHERE,
            metadata: NOWHERE,
        };
        // Strings and numbers under string keys: nothing that JSON cannot hold.
        let metadata = serde_json::to_vec(metadata).unwrap_or_default();
        self.entries.push(Entry { record, code, metadata });
    }

    /// Takes a kernel over from another archive.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`] if its bytes do not fit their checksums.
    pub fn copy(&mut self, variant: &Variant) -> Result<(), ArchiveError> {
        let (code, metadata) = (variant.code()?.to_vec(), variant.raw_metadata()?.to_vec());
        self.entries.push(Entry { record: variant.record.clone(), code, metadata });
        Ok(())
    }

    /// Number of kernels so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes of the archive. What is the same in several kernels is held once.
    ///
    /// # Errors
    /// [`ArchiveError::Clash`] and [`ArchiveError::TooLarge`].
    pub fn finish(mut self) -> Result<Vec<u8>, ArchiveError> {
        self.entries.sort_by(|a, b| a.record.key().cmp(&b.record.key()));
        for pair in self.entries.windows(2) {
            if pair[0].record.key() == pair[1].record.key() {
                return Err(ArchiveError::Clash(super::label(&pair[0].record)));
            }
        }
        let mut blobs = Blobs { bytes: vec![0; HEADER], known: HashMap::new() };
        let mut records = Vec::with_capacity(self.entries.len());
        for entry in self.entries {
            let (code, metadata) = (blobs.add(&entry.code), blobs.add(&entry.metadata));
            records.push(Record { code, metadata, ..entry.record });
        }
        let index = format::encode(&Index { compiler: self.compiler, records })?;
        let mut bytes = blobs.bytes;
        bytes.extend(&index);
        let header = format::header(bytes.len(), &index);
        bytes[..HEADER].copy_from_slice(&header);
        Ok(bytes)
    }
}

struct Blobs {
    bytes: Vec<u8>,
    /// By checksum; compared before they are shared.
    known: HashMap<u64, Blob>,
}

impl Blobs {
    fn add(&mut self, content: &[u8]) -> Blob {
        let sum = format::checksum(content);
        if let Some(blob) = self.known.get(&sum) {
            let start = blob.offset as usize;
            if self.bytes.get(start..start + blob.len as usize) == Some(content) {
                return *blob;
            }
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
        let blob = Blob { offset: self.bytes.len() as u64, len: content.len() as u64, sum };
        self.bytes.extend(content);
        self.known.insert(sum, blob);
        blob
    }
}

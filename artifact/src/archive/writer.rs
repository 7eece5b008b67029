//! Making an archive.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Write},
    path::Path,
};

use super::{
    Variant,
    error::ArchiveError,
    format::{self, ALIGN, Blob, HEADER, Index, Key, Record},
};
use crate::{
    Metadata,
    write::{WriteError, write_whole_with},
};

/// Collects kernels. The bytes depend on what was added, not on the order. What is taken over from other archives is not copied in
/// memory.
pub struct ArchiveWriter<'a> {
    compiler: String,
    entries: Vec<Entry<'a>>,
}

/// A kernel. The checksums of its record are right, the offsets are not there yet.
struct Entry<'a> {
    record: Record,
    code: Cow<'a, [u8]>,
    metadata: Cow<'a, [u8]>,
}

fn nowhere(content: &[u8]) -> Blob {
    Blob { offset: 0, len: content.len() as u64, sum: format::checksum(content) }
}

impl<'a> ArchiveWriter<'a> {
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
        // Strings and numbers under string keys: nothing that JSON cannot hold.
        let text = serde_json::to_vec(metadata).unwrap_or_default();
        let record = Record {
            kernel: metadata.kernel.clone(),
            defines,
            target: metadata.target.clone(),
            features: metadata.features.clone(),
            key,
            code: nowhere(&code),
            metadata: nowhere(&text),
        };
        self.entries.push(Entry { record, code: code.into(), metadata: text.into() });
    }

    /// Takes a kernel over from another archive.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`] if its bytes do not fit their checksums.
    pub fn copy(&mut self, variant: &Variant<'a>) -> Result<(), ArchiveError> {
        let (code, metadata) = (variant.code()?.into(), variant.raw_metadata()?.into());
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

    /// Puts the archive together. What is the same in several kernels is held once.
    ///
    /// # Errors
    /// [`ArchiveError::Clash`] and [`ArchiveError::TooLarge`].
    pub fn finish(mut self) -> Result<PackedArchive<'a>, ArchiveError> {
        self.entries.sort_by(|a, b| a.record.key().cmp(&b.record.key()));
        for pair in self.entries.windows(2) {
            if pair[0].record.key() == pair[1].record.key() {
                return Err(ArchiveError::Clash(super::label(&pair[0].record)));
            }
        }
        let mut blobs = Blobs { end: HEADER, parts: Vec::new(), known: HashMap::new() };
        let mut records = Vec::with_capacity(self.entries.len());
        for Entry { record, code, metadata } in self.entries {
            let code = blobs.add(code, record.code.sum);
            let metadata = blobs.add(metadata, record.metadata.sum);
            records.push(Record { code, metadata, ..record });
        }
        let index = format::encode(&Index { compiler: self.compiler, records })?;
        let bytes = blobs.end + index.len();
        Ok(PackedArchive {
            header: format::header(bytes, &index),
            parts: blobs.parts,
            index,
            bytes,
        })
    }
}

/// An archive that is not one piece of memory yet.
pub struct PackedArchive<'a> {
    header: [u8; HEADER],
    /// The blobs in their order, each after zeros up to a multiple of [`ALIGN`].
    parts: Vec<Cow<'a, [u8]>>,
    index: Vec<u8>,
    bytes: usize,
}

impl PackedArchive<'_> {
    /// Bytes of the archive.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// The archive in memory.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes);
        // Memory takes what it is given.
        let _ = self.write_to(&mut bytes);
        bytes
    }

    /// Whether the archive would be these bytes. The blobs are not compared: the index, which is, holds their checksums. So the answer
    /// is right of an archive whose blobs were checked.
    #[must_use]
    pub fn is_indexed_as(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.bytes && bytes.starts_with(&self.header) && bytes.ends_with(&self.index)
    }

    /// Writes a file, as [`write_whole`](crate::write_whole) does.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        write_whole_with(path, &|file| {
            // Most blobs are small, and a call of the system for each takes longer than the copy.
            let mut file = io::BufWriter::with_capacity(1 << 20, file);
            self.write_to(&mut file)?;
            file.flush()
        })
    }

    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        const ZEROS: [u8; ALIGN] = [0; ALIGN];
        out.write_all(&self.header)?;
        let mut end = HEADER;
        for part in &self.parts {
            out.write_all(&ZEROS[..end.next_multiple_of(ALIGN) - end])?;
            out.write_all(part)?;
            end = end.next_multiple_of(ALIGN) + part.len();
        }
        out.write_all(&self.index)
    }
}

struct Blobs<'a> {
    /// Bytes up to here.
    end: usize,
    parts: Vec<Cow<'a, [u8]>>,
    /// By checksum, with the position among the parts; contents are compared before they are shared.
    known: HashMap<u64, (Blob, usize)>,
}

impl<'a> Blobs<'a> {
    fn add(&mut self, content: Cow<'a, [u8]>, sum: u64) -> Blob {
        if let Some((blob, part)) = self.known.get(&sum)
            && self.parts[*part] == content
        {
            return *blob;
        }
        let offset = self.end.next_multiple_of(ALIGN);
        let blob = Blob { offset: offset as u64, len: content.len() as u64, sum };
        self.end = offset + content.len();
        self.known.insert(sum, (blob, self.parts.len()));
        self.parts.push(content);
        blob
    }
}

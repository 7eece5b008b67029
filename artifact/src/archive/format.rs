//! The bytes of an archive: header, index, and the one place where bincode is used.
//!
//! ```text
//! 0   magic, 8 bytes
//! 8   u32 version        12  u32 zero
//! 16  u64 bytes of the file
//! 24  u64 offset of the index     32  u64 its bytes     40  u64 its checksum
//! 48  u64 zero
//! 56  u64 checksum of bytes 0 to 56
//! 64  blobs, each at a multiple of 64, zeros between
//! ..  the index, up to the end of the file
//! ```
//!
//! All numbers are little-endian; checksums are XXH3 of 64 bits.

use bincode::{Decode, Encode, config};
use xxhash_rust::xxh3::xxh3_64;

use super::error::{ArchiveError, damaged};

/// The first bytes: not text, and damaged by whoever converts line ends.
pub const MAGIC: [u8; 8] = *b"\x89LUISA\r\n";
/// The version of the format that is read and written.
pub const VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER: usize = 64;
/// Where blobs may start.
pub const ALIGN: usize = 64;
/// Most bytes of an index.
pub const INDEX_LIMIT: usize = 1 << 26;

/// A range of the file, with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Blob {
    pub offset: u64,
    pub len: u64,
    pub sum: u64,
}

/// A hash of everything that a kernel was made from.
pub type Key = [u8; 32];

/// One kernel for one target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Record {
    pub kernel: String,
    /// Arguments that were made constant, sorted by name.
    pub defines: Vec<(String, String)>,
    pub target: String,
    pub features: Vec<String>,
    /// What it was made from; zeros if nobody said.
    pub key: Key,
    pub code: Blob,
    pub metadata: Blob,
}

impl Record {
    /// What records are sorted by; no two are alike.
    pub fn key(&self) -> (&str, &[(String, String)], &str) {
        (&self.kernel, &self.defines, &self.target)
    }
}

/// What is in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Index {
    /// Version of the compiler.
    pub compiler: String,
    /// Sorted by [`Record::key`].
    pub records: Vec<Record>,
}

/// The checksum of the format.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// The header in front of a file of `len` bytes that ends with `index`.
pub fn header(len: usize, index: &[u8]) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let numbers = [len as u64, (len - index.len()) as u64, index.len() as u64, checksum(index)];
    for (i, number) in numbers.into_iter().enumerate() {
        out[16 + 8 * i..24 + 8 * i].copy_from_slice(&number.to_le_bytes());
    }
    let sum = checksum(&out[..56]);
    out[56..].copy_from_slice(&sum.to_le_bytes());
    out
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    field.map_or(0, u64::from_le_bytes)
}

/// Bytes of the file by its header; 0 if that is none.
pub fn stated_length(bytes: &[u8]) -> u64 {
    if bytes.starts_with(&MAGIC) && bytes.len() >= HEADER { number(bytes, 16) } else { 0 }
}

/// Reads and checks header and index.
pub fn open(bytes: &[u8]) -> Result<Index, ArchiveError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(ArchiveError::NotAnArchive);
    }
    if bytes.len() < HEADER {
        return damaged("it ends inside its header");
    }
    // Before the checksum, whose place another version may have moved.
    let version = number(bytes, 8) as u32;
    if version != VERSION {
        return Err(ArchiveError::Version(version));
    }
    if number(bytes, 56) != checksum(&bytes[..56]) {
        return damaged("its header does not fit its checksum");
    }
    if number(bytes, 16) != bytes.len() as u64 {
        let (should, is) = (number(bytes, 16), bytes.len());
        return damaged(format!("it has {is} bytes and should have {should}"));
    }
    let (start, len) = (number(bytes, 24), number(bytes, 32));
    if start < HEADER as u64 || start.checked_add(len) != Some(bytes.len() as u64) {
        return damaged("its index is not at its end");
    }
    let raw = &bytes[start as usize..];
    if checksum(raw) != number(bytes, 40) {
        return damaged("its index does not fit its checksum");
    }
    let index = decode(raw)?;
    check(&index, start)?;
    Ok(index)
}

/// Sorted, and nothing outside the part that blobs may lie in.
fn check(index: &Index, end: u64) -> Result<(), ArchiveError> {
    if !index.records.is_sorted_by(|a, b| a.key() < b.key()) {
        return damaged("its index is not in order");
    }
    for record in &index.records {
        for blob in [record.code, record.metadata] {
            let inside = blob.offset.checked_add(blob.len).is_some_and(|e| e <= end);
            if !inside || blob.offset < HEADER as u64 || blob.offset % ALIGN as u64 != 0 {
                return damaged(format!("a part of `{}` lies outside of it", record.kernel));
            }
        }
    }
    Ok(())
}

/// The index as bytes.
pub fn encode(index: &Index) -> Result<Vec<u8>, ArchiveError> {
    let bytes = bincode::encode_to_vec(index, config::standard())
        .map_err(|e| ArchiveError::Damaged(e.to_string()))?;
    if bytes.len() > INDEX_LIMIT {
        return Err(ArchiveError::TooLarge(INDEX_LIMIT));
    }
    Ok(bytes)
}

/// A record in memory takes at most so many times its bytes in a file, which are 42 at least.
const GROWTH: usize = 32;

/// Reads an index. bincode counts what it allocates against a limit that is part of its type; the smallest one that any honest
/// index of so many bytes needs is taken, so that a length in the file cannot choose an allocation.
fn decode(raw: &[u8]) -> Result<Index, ArchiveError> {
    fn with<const LIMIT: usize>(raw: &[u8]) -> Result<(Index, usize), bincode::error::DecodeError> {
        bincode::decode_from_slice(raw, config::standard().with_limit::<LIMIT>())
    }
    if raw.len() > INDEX_LIMIT {
        return Err(ArchiveError::TooLarge(INDEX_LIMIT));
    }
    let read = match raw.len().saturating_mul(GROWTH) {
        0..0x4000 => with::<0x4000>(raw),
        0x4000..0x4_0000 => with::<0x4_0000>(raw),
        0x4_0000..0x40_0000 => with::<0x40_0000>(raw),
        0x40_0000..0x400_0000 => with::<0x400_0000>(raw),
        0x400_0000..0x4000_0000 => with::<0x4000_0000>(raw),
        _ => with::<{ INDEX_LIMIT * GROWTH }>(raw),
    };
    match read {
        Ok((index, used)) if used == raw.len() => Ok(index),
        Ok(_) => damaged("its index is followed by other bytes"),
        Err(e) => damaged(format!("its index cannot be read: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_choose_no_allocation() {
        // An empty compiler name, then 2^40 records.
        let mut raw = vec![0, 253];
        raw.extend((1u64 << 40).to_le_bytes());
        let error = decode(&raw).unwrap_err();
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }

    #[test]
    fn the_smallest_records_fit_the_limit() {
        let blob = Blob { offset: 0, len: 0, sum: 0 };
        let record = Record {
            kernel: String::new(),
            defines: vec![(String::new(), String::new()); 3],
            target: String::new(),
            features: vec![String::new(); 3],
            key: [0; 32],
            code: blob,
            metadata: blob,
        };
        for count in [1, 10, 100, 10_000] {
            let records = vec![record.clone(); count];
            let index = Index { compiler: String::new(), records };
            assert_eq!(decode(&encode(&index).unwrap()).unwrap(), index);
        }
    }
}

//! Little-endian fields, each checked against what is left.

use super::codes;
use crate::diagnostic::Code;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub code: Code,
    pub offset: usize,
    pub message: String,
}

impl Wrong {
    pub fn new(code: Code, offset: usize, message: impl Into<String>) -> Self {
        Self { code, offset, message: message.into() }
    }
}

pub(super) type Read<T> = Result<T, Wrong>;

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, len: usize) -> Read<&'a [u8]> {
        match self.bytes[self.at..].get(..len) {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => {
                let message = format!("{len} bytes should follow, but there are {}", self.left());
                Err(Wrong::new(codes::TRUNCATED, self.at, message))
            }
        }
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Read<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn bool(&mut self) -> Read<bool> {
        let at = self.at;
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => {
                Err(Wrong::new(codes::VALUE, at, format!("{other} is neither false nor true")))
            }
        }
    }

    /// A number of items, each of which takes at least `size` bytes of what follows.
    pub fn count(&mut self, size: usize) -> Read<usize> {
        let at = self.at;
        let count = self.u64()?;
        match usize::try_from(count).ok().filter(|c| *c <= self.left() / size) {
            Some(count) => Ok(count),
            None => {
                let message = format!(
                    "{count} items should follow, but there are only {} bytes",
                    self.left()
                );
                Err(Wrong::new(codes::LENGTH, at, message))
            }
        }
    }

    /// A text in UTF-8.
    pub fn string(&mut self) -> Read<&'a str> {
        let len = self.count(1)?;
        let at = self.at;
        let bytes = self.take(len)?;
        std::str::from_utf8(bytes)
            .map_err(|e| Wrong::new(codes::VALUE, at + e.valid_up_to(), "the text is not UTF-8"))
    }
}

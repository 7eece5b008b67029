//! Constant data: the bytes of a value in memory layout (`ast.md` section 1), padding zero.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The bytes of a constant. Up to sixteen lie inline; longer ones are shared, so that inlining a function never copies a table.
#[derive(Clone, Debug)]
pub enum ConstBytes {
    Inline { len: u8, data: [u8; 16] },
    Shared(Arc<[u8]>),
}

impl ConstBytes {
    /// The bytes as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            ConstBytes::Inline { len, data } => &data[..*len as usize],
            ConstBytes::Shared(data) => data,
        }
    }

    /// The low `size` (at most 8) bytes of `bits`, little-endian.
    pub fn from_bits(bits: u64, size: usize) -> ConstBytes {
        assert!(size <= 8, "a scalar has at most eight bytes");
        let mut data = [0; 16];
        data[..size].copy_from_slice(&bits.to_le_bytes()[..size]);
        ConstBytes::Inline { len: size as u8, data }
    }
}

impl From<&[u8]> for ConstBytes {
    fn from(bytes: &[u8]) -> ConstBytes {
        if bytes.len() <= 16 {
            let mut data = [0; 16];
            data[..bytes.len()].copy_from_slice(bytes);
            ConstBytes::Inline { len: bytes.len() as u8, data }
        } else {
            ConstBytes::Shared(bytes.into())
        }
    }
}

impl From<Vec<u8>> for ConstBytes {
    fn from(bytes: Vec<u8>) -> ConstBytes {
        if bytes.len() <= 16 { bytes.as_slice().into() } else { ConstBytes::Shared(bytes.into()) }
    }
}

impl PartialEq for ConstBytes {
    fn eq(&self, other: &ConstBytes) -> bool {
        self.as_slice() == other.as_slice()
    }
}
impl Eq for ConstBytes {}
impl Hash for ConstBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

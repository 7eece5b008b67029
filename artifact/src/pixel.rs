//! The storage formats of images: numbers, channels, bytes and how a texel becomes a value.

use std::fmt;

/// How one texel is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexelKind {
    /// Unsigned integers of this many bits a channel. As float: value / (2^bits - 1).
    Int {
        /// Bits of a channel: 8, 16 or 32.
        bits: u32,
    },
    /// Binary floats of this many bits a channel, 16 or 32.
    Float {
        /// Bits of a channel.
        bits: u32,
    },
    /// Four unsigned channels in one `u32`, red lowest: 10, 10, 10 and 2 bits. As float: value / (2^bits - 1).
    Packed1010102,
    /// Three unsigned small floats in one `u32`, red lowest: 11, 11 and 10 bits, 5 bits of them exponent.
    Packed111110,
    /// Compressed blocks of 4 by 4 texels; only sampled, never stored to.
    Block {
        /// Bytes of a block.
        bytes: u32,
    },
}

macro_rules! storages {
    ($($name:ident = $number:literal, $text:literal, $channels:literal, $kind:expr;)*) => {
        /// The storage format of an image. The numbers are LuisaCompute's, and part of the ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        #[allow(missing_docs)]
        pub enum PixelStorage { $($name = $number),* }

        impl PixelStorage {
            /// Every storage, in the order of the numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$name),*];

            /// The name on the command line: `byte4`, `float1`, ..
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Channels that are stored; a read fills the others of four with zero.
            #[must_use]
            pub fn channels(self) -> u32 {
                match self { $(Self::$name => $channels),* }
            }

            /// How a texel is coded.
            #[must_use]
            pub fn kind(self) -> TexelKind {
                match self { $(Self::$name => $kind),* }
            }
        }
    };
}

storages! {
    Byte1 = 0, "byte1", 1, TexelKind::Int { bits: 8 };
    Byte2 = 1, "byte2", 2, TexelKind::Int { bits: 8 };
    Byte4 = 2, "byte4", 4, TexelKind::Int { bits: 8 };
    Short1 = 3, "short1", 1, TexelKind::Int { bits: 16 };
    Short2 = 4, "short2", 2, TexelKind::Int { bits: 16 };
    Short4 = 5, "short4", 4, TexelKind::Int { bits: 16 };
    Int1 = 6, "int1", 1, TexelKind::Int { bits: 32 };
    Int2 = 7, "int2", 2, TexelKind::Int { bits: 32 };
    Int4 = 8, "int4", 4, TexelKind::Int { bits: 32 };
    Half1 = 9, "half1", 1, TexelKind::Float { bits: 16 };
    Half2 = 10, "half2", 2, TexelKind::Float { bits: 16 };
    Half4 = 11, "half4", 4, TexelKind::Float { bits: 16 };
    Float1 = 12, "float1", 1, TexelKind::Float { bits: 32 };
    Float2 = 13, "float2", 2, TexelKind::Float { bits: 32 };
    Float4 = 14, "float4", 4, TexelKind::Float { bits: 32 };
    R10G10B10A2 = 15, "r10g10b10a2", 4, TexelKind::Packed1010102;
    R11G11B10 = 16, "r11g11b10", 3, TexelKind::Packed111110;
    Bc1 = 17, "bc1", 4, TexelKind::Block { bytes: 8 };
    Bc2 = 18, "bc2", 4, TexelKind::Block { bytes: 16 };
    Bc3 = 19, "bc3", 4, TexelKind::Block { bytes: 16 };
    Bc4 = 20, "bc4", 1, TexelKind::Block { bytes: 8 };
    Bc5 = 21, "bc5", 2, TexelKind::Block { bytes: 16 };
    Bc6 = 22, "bc6", 3, TexelKind::Block { bytes: 16 };
    Bc7 = 23, "bc7", 4, TexelKind::Block { bytes: 16 };
}

impl PixelStorage {
    /// The storage with this number.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        usize::try_from(number).ok().and_then(|n| Self::ALL.get(n).copied())
    }

    /// The storage with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The number in the ABI.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Bytes of a texel, or of a block of a compressed storage.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self.kind() {
            TexelKind::Int { bits } | TexelKind::Float { bits } => self.channels() * bits / 8,
            TexelKind::Packed1010102 | TexelKind::Packed111110 => 4,
            TexelKind::Block { bytes } => bytes,
        }
    }

    /// Whether kernels can read and write single texels of it, and not only sample it.
    #[must_use]
    pub fn is_storage(self) -> bool {
        !matches!(self.kind(), TexelKind::Block { .. })
    }

    /// Whether a kernel that sees `element` values (`float`, `int` or `uint`) can be given this storage:
    /// float storages hold floats alone; integer storages hold all three, as floats from 0 to 1.
    #[must_use]
    pub fn holds(self, element: &str) -> bool {
        match self.kind() {
            TexelKind::Int { .. } | TexelKind::Packed1010102 => {
                matches!(element, "float" | "int" | "uint")
            }
            TexelKind::Float { .. } | TexelKind::Packed111110 | TexelKind::Block { .. } => {
                element == "float"
            }
        }
    }
}

impl fmt::Display for PixelStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_bytes_agree() {
        for (i, s) in PixelStorage::ALL.into_iter().enumerate() {
            assert_eq!(s.number() as usize, i);
            assert_eq!(PixelStorage::from_number(i as u64), Some(s));
            assert_eq!(PixelStorage::from_name(s.name()), Some(s));
        }
        assert_eq!(PixelStorage::from_number(24), None);
        let bytes: Vec<_> = PixelStorage::ALL.iter().map(|s| s.bytes()).collect();
        assert_eq!(
            bytes,
            [1, 2, 4, 2, 4, 8, 4, 8, 16, 2, 4, 8, 4, 8, 16, 4, 4, 8, 16, 16, 8, 16, 16, 16]
        );
    }
}

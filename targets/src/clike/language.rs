//! The two languages, and the words in which they differ.

use luisac_ast::types::Scalar;

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Direct3D's, version 2021, as DXC takes it.
    Hlsl,
    /// Metal's.
    Msl,
}

impl Language {
    /// The type of a scalar in registers. HLSL has no integers of 8 bits: they are kept, extended, in 32.
    pub fn scalar(self, scalar: Scalar) -> &'static str {
        let (hlsl, msl) = match scalar {
            Scalar::Bool => ("bool", "bool"),
            Scalar::I8 => ("int", "char"),
            Scalar::U8 => ("uint", "uchar"),
            Scalar::I16 => ("int16_t", "short"),
            Scalar::U16 => ("uint16_t", "ushort"),
            Scalar::I32 => ("int", "int"),
            Scalar::U32 => ("uint", "uint"),
            Scalar::I64 => ("int64_t", "long"),
            Scalar::U64 => ("uint64_t", "ulong"),
            Scalar::F16 => ("float16_t", "half"),
            Scalar::F64 => ("double", "double"),
            _ => ("float", "float"),
        };
        match self {
            Language::Hlsl => hlsl,
            Language::Msl => msl,
        }
    }

    /// The name in messages.
    pub fn title(self) -> &'static str {
        match self {
            Language::Hlsl => "HLSL",
            Language::Msl => "MSL",
        }
    }

    /// The type of sizes in bytes.
    pub fn size_scalar(self) -> Scalar {
        match self {
            Language::Hlsl => Scalar::U32,
            Language::Msl => Scalar::U64,
        }
    }

    /// The type of a vector in registers, or of a scalar if `dim` is 1.
    pub fn vector(self, scalar: Scalar, dim: u8) -> String {
        match dim {
            1 => self.scalar(scalar).to_string(),
            _ => format!("{}{dim}", self.scalar(scalar)),
        }
    }

    /// Whether a scalar is kept in a wider register, and has to be brought back into its range.
    pub fn is_widened(self, scalar: Scalar) -> bool {
        self == Language::Hlsl && matches!(scalar, Scalar::I8 | Scalar::U8)
    }
}

/// The unsigned integer of as many bits.
pub fn unsigned(scalar: Scalar) -> Scalar {
    match scalar.size() {
        1 => Scalar::U8,
        2 => Scalar::U16,
        4 => Scalar::U32,
        _ => Scalar::U64,
    }
}

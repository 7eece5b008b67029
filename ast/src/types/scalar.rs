//! Scalar types: one table of names and sizes.

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Scalar {
    /// Truth value, one byte that is 0 or 1.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE half.
    F16,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// 8-bit float with 4 exponent and 3 mantissa bits.
    F8E4M3,
    /// 8-bit float with 5 exponent and 2 mantissa bits.
    F8E5M2,
    /// Signed, 4 bits, in the low half of a byte.
    I4,
    /// 4-bit float with 2 exponent and 1 mantissa bits, in the low half of a byte.
    F4E2M1,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    Signed,
    Unsigned,
    Float,
}

/// Name in a description, name in JSON, bytes, bits, class.
type Row = (&'static str, &'static str, u8, u8, Class);

/// In the order of [`Scalar`].
const ROWS: [Row; 16] = [
    ("bool", "BOOL", 1, 1, Class::Bool),
    ("byte", "INT8", 1, 8, Class::Signed),
    ("ubyte", "UINT8", 1, 8, Class::Unsigned),
    ("short", "INT16", 2, 16, Class::Signed),
    ("ushort", "UINT16", 2, 16, Class::Unsigned),
    ("int", "INT32", 4, 32, Class::Signed),
    ("uint", "UINT32", 4, 32, Class::Unsigned),
    ("long", "INT64", 8, 64, Class::Signed),
    ("ulong", "UINT64", 8, 64, Class::Unsigned),
    ("half", "FLOAT16", 2, 16, Class::Float),
    ("float", "FLOAT32", 4, 32, Class::Float),
    ("double", "FLOAT64", 8, 64, Class::Float),
    ("float8e4m3", "FLOAT8_E4M3", 1, 8, Class::Float),
    ("float8e5m2", "FLOAT8_E5M2", 1, 8, Class::Float),
    ("int4", "INT4", 1, 4, Class::Signed),
    ("fp4e2m1", "FP4_E2M1", 1, 4, Class::Float),
];

impl Scalar {
    /// Every scalar, in order.
    #[rustfmt::skip]
    pub const ALL: [Scalar; 16] = [
        Scalar::Bool, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32, Scalar::I64,
        Scalar::U64, Scalar::F16, Scalar::F32, Scalar::F64, Scalar::F8E4M3, Scalar::F8E5M2, Scalar::I4, Scalar::F4E2M1,
    ];

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Bytes in memory, which is the alignment too.
    pub const fn size(self) -> u32 {
        self.row().2 as u32
    }

    /// Bits that carry the value: 1 for `bool`, 4 for the 4-bit types.
    pub const fn bits(self) -> u32 {
        self.row().3 as u32
    }

    /// An integer of any width; `bool` is none.
    pub const fn is_int(self) -> bool {
        matches!(self.row().4, Class::Signed | Class::Unsigned)
    }

    /// A signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self.row().4, Class::Signed)
    }

    /// A float of any width.
    pub const fn is_float(self) -> bool {
        matches!(self.row().4, Class::Float)
    }

    /// The name in a type description: `uint`.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The name in JSON: `UINT32`.
    pub const fn json_name(self) -> &'static str {
        self.row().1
    }

    /// The scalar of a description name.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The scalar of a JSON tag.
    pub fn from_json_name(tag: &str) -> Option<Scalar> {
        Self::ALL.into_iter().find(|s| s.json_name() == tag)
    }
}

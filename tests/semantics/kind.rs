//! Scalar types as the tests see them: bits in a word, decoded and encoded here and nowhere else.

use half::f16;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

pub use Kind::*;

/// In the order of the types of a kernel.
pub const ALL: [Kind; 12] = [Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64];
pub const INTEGERS: [Kind; 8] = [I8, U8, I16, U16, I32, U32, I64, U64];
pub const FLOATS: [Kind; 3] = [F16, F32, F64];

impl Kind {
    /// Its position in [`ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name in a recorded case.
    pub fn case_name(self) -> &'static str {
        let names = [
            "bool", "byte", "ubyte", "short", "ushort", "int", "uint", "long", "ulong", "half",
            "float", "double",
        ];
        names[self.index()]
    }

    /// Its tag in the JSON.
    pub fn tag(self) -> &'static str {
        let tags = [
            "BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64",
            "FLOAT16", "FLOAT32", "FLOAT64",
        ];
        tags[self.index()]
    }

    /// Bits; 8 for a bool, which is a byte in memory.
    pub fn width(self) -> u32 {
        [8, 8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64][self.index()]
    }

    pub fn is_float(self) -> bool {
        FLOATS.contains(&self)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// The unsigned integer of the same width.
    pub fn unsigned(self) -> Kind {
        match self.width() {
            8 => U8,
            16 => U16,
            32 => U32,
            _ => U64,
        }
    }

    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// The integer that the bits say.
    pub fn int(self, bits: u64) -> i128 {
        let (bits, sign) = (i128::from(bits), 1 << (self.width() - 1));
        if self.is_signed() && bits & sign != 0 { bits - 2 * sign } else { bits }
    }

    /// The bits of an integer, wrapped.
    pub fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// The least and the greatest integer.
    pub fn range(self) -> (i128, i128) {
        let span = 1i128 << self.width();
        if self.is_signed() { (-span / 2, span / 2 - 1) } else { (0, span - 1) }
    }

    /// The number that the bits say, exactly.
    pub fn float(self, bits: u64) -> f64 {
        match self {
            F16 => f16::from_bits(bits as u16).to_f64(),
            F32 => f32::from_bits(bits as u32).into(),
            _ => f64::from_bits(bits),
        }
    }

    /// The bits of a number, rounded once to nearest even.
    pub fn round(self, x: f64) -> u64 {
        match self {
            F16 => half_of(x).into(),
            F32 => (x as f32).to_bits().into(),
            _ => x.to_bits(),
        }
    }

    /// The sign bit.
    pub fn sign(self) -> u64 {
        1 << (self.width() - 1)
    }

    /// Integers at the edges: around zero and the ends, and amounts of a shift around the width.
    pub fn edges(self) -> Vec<u64> {
        let ((min, max), width) = (self.range(), i128::from(self.width()));
        let all = [min, min + 1, -1, 0, 1, 7, width, width + 1, max];
        let mut bits: Vec<u64> = all.iter().map(|&v| self.wrap(v)).collect();
        bits.sort_unstable();
        bits.dedup();
        bits
    }

    /// Floats at the edges: zeros, least and greatest subnormal and normal, one, near ties, infinities, NaN.
    pub fn float_edges(self) -> Vec<u64> {
        let (mantissa, all) = (self.mantissa_bits(), self.mask() >> 1);
        let infinity = all & !((1 << mantissa) - 1);
        let least_normal = 1 << mantissa;
        let positive = [
            0,
            1,
            least_normal - 1,
            least_normal,
            self.round(0.5),
            self.round(1.0),
            self.round(1.0) + 1,
            self.round(2.5),
            self.round(1023.75),
            infinity - 1,
            infinity,
        ];
        let mut bits = positive.to_vec();
        bits.extend(positive.iter().map(|b| b | self.sign()));
        bits.push(infinity | 1 << (mantissa - 1));
        bits
    }

    pub fn mantissa_bits(self) -> u32 {
        match self {
            F16 => 10,
            F32 => 23,
            _ => 52,
        }
    }
}

/// The half nearest to a number, ties to even.
fn half_of(x: f64) -> u16 {
    if x.is_nan() {
        return 0x7e00;
    }
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let x = x.abs();
    if x >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = if x < 2f64.powi(-14) { -14 } else { exponent_of(x) };
    // Steps of the last place: at most 2048 of them, and then one binade up.
    let steps = (x / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    // The leading one of a normal number adds one to the exponent field.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

/// The exponent of a normal number.
fn exponent_of(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// The half nearest to `value * 2^-48`, ties to even.
pub fn half_of_fixed(value: i128) -> u16 {
    let sign = if value < 0 { 0x8000 } else { 0 };
    let magnitude = value.unsigned_abs();
    let exponent = (127 - magnitude.max(1).leading_zeros() as i32 - 48).max(-14);
    let shift = exponent - 10 + 48;
    let (steps, rest) = (magnitude >> shift, magnitude & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    let steps = steps + u128::from(rest > half || (rest == half && steps & 1 == 1));
    let bits = (((exponent + 14) as u128) << 10) + steps;
    sign | bits.min(0x7c00) as u16
}

//! Floats: minima, rounding, tests by bits, conversions.

use super::Guard;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::ValueId;
use luisac_xir::op::ArithmeticOp::{self, *};

/// A format of floats.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// The signed integer of the same width.
    pub signed: Scalar,
    /// The unsigned integer of the same width.
    pub word: Scalar,
    /// Stored mantissa bits.
    mantissa: u32,
    /// Bias of the exponent.
    bias: i32,
}

impl Format {
    pub(super) fn of(scalar: Scalar) -> Format {
        match scalar {
            Scalar::F16 => {
                Format { signed: Scalar::I16, word: Scalar::U16, mantissa: 10, bias: 15 }
            }
            Scalar::F64 => {
                Format { signed: Scalar::I64, word: Scalar::U64, mantissa: 52, bias: 1023 }
            }
            _ => Format { signed: Scalar::I32, word: Scalar::U32, mantissa: 23, bias: 127 },
        }
    }

    pub(super) fn sign(self) -> u64 {
        1 << (self.word.bits() - 1)
    }

    pub(super) fn infinity(self) -> u64 {
        (2 * self.bias as u64 + 1) << self.mantissa
    }

    /// A quiet NaN.
    pub(super) fn nan(self) -> u64 {
        self.infinity() | 1 << (self.mantissa - 1)
    }

    /// The bits of 2 to the power of `exponent`, or infinity.
    fn power(self, exponent: u32) -> u64 {
        match exponent as i32 {
            e if e > self.bias => self.infinity(),
            e => ((e + self.bias) as u64) << self.mantissa,
        }
    }

    /// The bits of -2 to the power of `exponent`, or minus infinity.
    fn minus_power(self, exponent: u32) -> u64 {
        self.sign() | self.power(exponent)
    }

    /// The bits of 1.
    fn one(self) -> u64 {
        self.power(0)
    }
}

impl Guard<'_> {
    /// The value and others like it in a format whose bits can be reached.
    fn reachable(&mut self, values: &[ValueId]) -> Vec<ValueId> {
        let is_short = self.scalar_of(values[0]) == Scalar::F16 && !self.options.short_words;
        match is_short {
            true => values.iter().map(|&v| self.convert(v, Scalar::F32)).collect(),
            false => values.to_vec(),
        }
    }

    /// The bits without the sign.
    fn magnitude_bits(&mut self, x: ValueId) -> (ValueId, Format) {
        let format = Format::of(self.scalar_of(x));
        let bits = self.reinterpret(x, format.word);
        let mask = self.same(bits, format.sign() - 1);
        (self.raw(BinaryBitAnd, &[bits, mask]), format)
    }

    pub(super) fn is_nan(&mut self, x: ValueId) -> ValueId {
        let x = self.reachable(&[x])[0];
        let (magnitude, format) = self.magnitude_bits(x);
        let infinity = self.same(magnitude, format.infinity());
        self.raw(BinaryGreater, &[magnitude, infinity])
    }

    pub(super) fn is_infinite(&mut self, x: ValueId) -> ValueId {
        let x = self.reachable(&[x])[0];
        let (magnitude, format) = self.magnitude_bits(x);
        let infinity = self.same(magnitude, format.infinity());
        self.raw(BinaryEqual, &[magnitude, infinity])
    }

    pub(super) fn copysign(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let scalar = self.scalar_of(x);
        let values = self.reachable(&[x, y]);
        let (magnitude, format) = self.magnitude_bits(values[0]);
        let bits = self.reinterpret(values[1], format.word);
        let mask = self.same(bits, format.sign());
        let sign = self.raw(BinaryBitAnd, &[bits, mask]);
        let whole = self.raw(BinaryBitOr, &[magnitude, sign]);
        let wide = self.scalar_of(values[0]);
        let whole = self.reinterpret(whole, wide);
        self.convert(whole, scalar)
    }

    /// The lesser or greater; a number wins over NaN. Equal ones differ at most in their sign: or and and of the bits give
    /// -0 and +0.
    pub(super) fn extreme(&mut self, op: ArithmeticOp, a: ValueId, b: ValueId) -> ValueId {
        let scalar = self.scalar_of(a);
        let values = self.reachable(&[a, b]);
        let (a, b) = (values[0], values[1]);
        let (order, join) =
            if op == Min { (BinaryLess, BinaryBitOr) } else { (BinaryGreater, BinaryBitAnd) };
        let before = self.raw(order, &[b, a]);
        let nan = self.is_nan(a);
        let take_b = self.raw(BinaryBitOr, &[before, nan]);
        let mut result = self.choose(take_b, b, a);
        if !self.options.fast_math {
            let wide = self.scalar_of(a);
            let word = Format::of(wide).word;
            let bits = [a, b].map(|v| self.reinterpret(v, word));
            let joined = self.raw(join, &bits);
            let joined = self.reinterpret(joined, wide);
            let equal = self.raw(BinaryEqual, &[a, b]);
            result = self.choose(equal, joined, result);
        }
        self.convert(result, scalar)
    }

    /// `x > 0 ? (x < 1 ? x : 1) : 0`: NaN and -0 give 0.
    pub(super) fn saturate(&mut self, x: ValueId) -> ValueId {
        let format = Format::of(self.scalar_of(x));
        let (zero, one) = (self.same(x, 0), self.same(x, format.one()));
        let below = self.raw(BinaryLess, &[x, one]);
        let low = self.choose(below, x, one);
        let above = self.raw(BinaryGreater, &[x, zero]);
        self.choose(above, low, zero)
    }

    /// Away from zero where the rest, which is exact, is a half or more.
    pub(super) fn round(&mut self, x: ValueId) -> ValueId {
        let format = Format::of(self.scalar_of(x));
        let whole = self.raw(Trunc, &[x]);
        let rest = self.raw(BinarySub, &[x, whole]);
        let size = self.raw(Abs, &[rest]);
        let half = self.same(x, format.one() - (1 << format.mantissa));
        let (one, zero) = (self.same(x, format.one()), self.same(x, 0));
        let (up, down) = (self.raw(BinaryAdd, &[whole, one]), self.raw(BinarySub, &[whole, one]));
        let negative = self.raw(BinaryLess, &[x, zero]);
        let away = self.choose(negative, down, up);
        let is_far = self.raw(BinaryGreaterEqual, &[size, half]);
        self.choose(is_far, away, whole)
    }

    // ---- conversions

    /// Conversions that not all languages define alike.
    pub(super) fn cast(&mut self, x: ValueId, ty: TypeId) -> Option<ValueId> {
        let (from, to) = (self.scalar_of(x), self.b.types.scalar_of(ty)?);
        let known = |s: Scalar| s == Scalar::Bool || s.is_float() || (s.is_int() && s.bits() >= 8);
        if from == to || !known(from) || !known(to) {
            return None;
        }
        match (from, to) {
            (Scalar::Bool, _) => {
                let one = if to.is_float() { Format::of(to).one() } else { 1 };
                let (yes, no) = (self.bits(ty, one), self.bits(ty, 0));
                Some(self.choose(x, yes, no))
            }
            (_, Scalar::Bool) => {
                let zero = self.same(x, 0);
                Some(self.raw(BinaryNotEqual, &[x, zero]))
            }
            _ if from.is_float() && to.is_int() => Some(self.integer_of(x, to)),
            _ => None,
        }
    }

    /// Converts what is in range, 0 in the place of the rest, and puts the ends of the range where it is beyond them.
    fn integer_of(&mut self, x: ValueId, to: Scalar) -> ValueId {
        let format = Format::of(self.scalar_of(x));
        let value_bits = to.bits() - u32::from(to.is_signed());
        let high = self.same(x, format.power(value_bits));
        let below = self.raw(BinaryLess, &[x, high]);
        let above = self.above_low_end(x, to, format);
        let inside = self.raw(BinaryBitAnd, &[below, above]);
        let zero = self.same(x, 0);
        let safe = self.choose(inside, x, zero);
        // Small integers go through 32 bits.
        let wide = match to.bits() {
            8 | 16 => Scalar::I32,
            _ => to,
        };
        let converted = self.convert(safe, wide);
        let converted = self.convert(converted, to);
        let greatest =
            self.same(converted, ((1 << (value_bits - 1)) - 1) | (1 << (value_bits - 1)));
        let over = self.raw(BinaryGreaterEqual, &[x, high]);
        let result = self.choose(over, greatest, converted);
        if !to.is_signed() {
            return result;
        }
        let least = self.same(converted, 1 << value_bits);
        let low = self.same(x, format.minus_power(value_bits));
        let under = self.raw(BinaryLessEqual, &[x, low]);
        self.choose(under, least, result)
    }

    /// Whether the integer part is not below the least integer; at the least integer itself it does not matter.
    fn above_low_end(&mut self, x: ValueId, to: Scalar, format: Format) -> ValueId {
        let low = match to.is_signed() {
            true => format.minus_power(to.bits() - 1),
            false => format.sign() | format.one(),
        };
        let low = self.same(x, low);
        self.raw(BinaryGreater, &[x, low])
    }
}

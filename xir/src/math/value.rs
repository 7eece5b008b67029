//! Typed values over [`Ops`], with Rust's operators, so that the functions read as formulas.

use super::coefficients::Coefficients;
use super::function::Function;
use super::ops::{Binary, Compare, Convert, Ops, Type, Unary};
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

/// A type of value, known at compile time.
pub trait Scalar: Copy + 'static {
    /// The same as data.
    const TYPE: Type;
}

/// A word: 32 or 64 bits without a sign.
pub trait Word: Scalar {
    /// Bits in it.
    const BITS: u32;
    /// The float of the same size.
    type Float: Float<Word = Self>;
    /// Reads the bits as a float.
    const TO_FLOAT: Convert;
    /// Rounds the word, read as two's complement, to the float of its size.
    const SIGNED_TO_FLOAT: Convert;
    /// The high half of the double-width product.
    fn mul_high<'o, O: Ops>(a: Val<'o, O, Self>, b: Val<'o, O, Self>) -> Val<'o, O, Self>;
}

/// A binary floating-point format with the constants of its functions.
pub trait Float: Scalar {
    /// The word of the same size.
    type Word: Word<Float = Self>;
    /// Reads the float as bits.
    const TO_BITS: Convert;
    /// Stored mantissa bits.
    const MANTISSA: u32;
    /// Exponent bias.
    const BIAS: u64;
    /// Largest biased exponent: that of infinity and NaN.
    const EXPONENT_MAX: u64 = 2 * Self::BIAS + 1;
    /// Low mantissa bits that [`Val::head`] clears, so that a product of two heads is exact.
    const TAIL_BITS: u32;
    /// Polynomials and constants.
    const C: &'static Coefficients;
    /// The bits of `x` rounded to this format.
    fn encode(x: f64) -> u64;
    /// The fast form of a function, if this format has one.
    fn fast<'o, O: Ops>(
        function: Function,
        a: Val<'o, O, Self>,
        b: Val<'o, O, Self>,
    ) -> Option<Val<'o, O, Self>>;
}

macro_rules! scalar {
    ($($name:ident $doc:literal),*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Scalar for $name {
            const TYPE: Type = Type::$name;
        }
    )*};
}
scalar!(
    Bool "Marks a truth value.",
    U32 "Marks a 32-bit word.",
    U64 "Marks a 64-bit word.",
    F32 "Marks a single.",
    F64 "Marks a double."
);

impl Word for U32 {
    const BITS: u32 = 32;
    type Float = F32;
    const TO_FLOAT: Convert = Convert::BitsF32;
    const SIGNED_TO_FLOAT: Convert = Convert::SignedToF32;
    #[inline(always)]
    fn mul_high<'o, O: Ops>(a: Val<'o, O, U32>, b: Val<'o, O, U32>) -> Val<'o, O, U32> {
        ((a.extend() * b.extend()) >> 32).truncate()
    }
}

impl Word for U64 {
    const BITS: u32 = 64;
    type Float = F64;
    const TO_FLOAT: Convert = Convert::BitsF64;
    const SIGNED_TO_FLOAT: Convert = Convert::SignedToF64;
    #[inline(always)]
    fn mul_high<'o, O: Ops>(a: Val<'o, O, U64>, b: Val<'o, O, U64>) -> Val<'o, O, U64> {
        let low = 0xffff_ffff;
        let (a_high, a_low) = (a >> 32, a & low);
        let (b_high, b_low) = (b >> 32, b & low);
        let first = a_high * b_low + ((a_low * b_low) >> 32);
        let second = a_low * b_high + (first & low);
        a_high * b_high + (first >> 32) + (second >> 32)
    }
}

impl Float for F32 {
    type Word = U32;
    const TO_BITS: Convert = Convert::F32Bits;
    const MANTISSA: u32 = 23;
    const BIAS: u64 = 127;
    const TAIL_BITS: u32 = 12;
    const C: &'static Coefficients = &super::coefficients::SINGLE;
    #[inline(always)]
    fn encode(x: f64) -> u64 {
        u64::from((x as f32).to_bits())
    }
    #[inline(always)]
    fn fast<'o, O: Ops>(
        function: Function,
        a: Val<'o, O, F32>,
        b: Val<'o, O, F32>,
    ) -> Option<Val<'o, O, F32>> {
        function.fast_single(a, b)
    }
}

impl Float for F64 {
    type Word = U64;
    const TO_BITS: Convert = Convert::F64Bits;
    const MANTISSA: u32 = 52;
    const BIAS: u64 = 1023;
    const TAIL_BITS: u32 = 27;
    const C: &'static Coefficients = &super::coefficients::DOUBLE;
    #[inline(always)]
    fn encode(x: f64) -> u64 {
        x.to_bits()
    }
    #[inline(always)]
    fn fast<'o, O: Ops>(
        _: Function,
        _: Val<'o, O, F64>,
        _: Val<'o, O, F64>,
    ) -> Option<Val<'o, O, F64>> {
        None
    }
}

/// A value of type `T` made by `ops`.
pub struct Val<'o, O: Ops, T> {
    ops: &'o O,
    raw: O::Value,
    marker: PhantomData<T>,
}

impl<O: Ops, T> Clone for Val<'_, O, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops, T> Copy for Val<'_, O, T> {}

impl<'o, O: Ops, T: Scalar> Val<'o, O, T> {
    /// Types a primitive value.
    #[inline(always)]
    pub fn new(ops: &'o O, raw: O::Value) -> Self {
        Val { ops, raw, marker: PhantomData }
    }

    /// The constant with these bits.
    #[inline(always)]
    pub fn constant(ops: &'o O, bits: u64) -> Self {
        Val::new(ops, ops.constant(T::TYPE, bits))
    }

    /// The primitive value.
    #[inline(always)]
    pub fn raw(self) -> O::Value {
        self.raw
    }

    /// The operations it was made by.
    #[inline(always)]
    pub fn ops(self) -> &'o O {
        self.ops
    }

    #[inline(always)]
    fn unary(self, op: Unary) -> Self {
        Val::new(self.ops, self.ops.unary(op, T::TYPE, self.raw))
    }

    #[inline(always)]
    fn binary(self, op: Binary, other: Self) -> Self {
        Val::new(self.ops, self.ops.binary(op, T::TYPE, self.raw, other.raw))
    }

    #[inline(always)]
    fn compare(self, op: Compare, other: Self) -> Val<'o, O, Bool> {
        Val::new(self.ops, self.ops.compare(op, T::TYPE, self.raw, other.raw))
    }

    #[inline(always)]
    fn convert<U: Scalar>(self, op: Convert) -> Val<'o, O, U> {
        Val::new(self.ops, self.ops.convert(op, self.raw))
    }

    /// Ordered equality.
    #[inline(always)]
    pub fn eq(self, other: Self) -> Val<'o, O, Bool> {
        self.compare(Compare::Eq, other)
    }

    /// Ordered or unsigned less.
    #[inline(always)]
    pub fn lt(self, other: Self) -> Val<'o, O, Bool> {
        self.compare(Compare::Lt, other)
    }

    /// Ordered or unsigned less or equal.
    #[inline(always)]
    pub fn le(self, other: Self) -> Val<'o, O, Bool> {
        self.compare(Compare::Le, other)
    }

    /// Ordered or unsigned greater.
    #[inline(always)]
    pub fn gt(self, other: Self) -> Val<'o, O, Bool> {
        other.lt(self)
    }

    /// Ordered or unsigned greater or equal.
    #[inline(always)]
    pub fn ge(self, other: Self) -> Val<'o, O, Bool> {
        other.le(self)
    }
}

impl<'o, O: Ops> Val<'o, O, Bool> {
    /// `self ? yes : no`.
    #[inline(always)]
    pub fn select<T: Scalar>(self, yes: Val<'o, O, T>, no: Val<'o, O, T>) -> Val<'o, O, T> {
        Val::new(self.ops, self.ops.select(T::TYPE, self.raw, yes.raw, no.raw))
    }
}

impl<O: Ops> Not for Val<'_, O, Bool> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self ^ Val::constant(self.ops, 1)
    }
}

impl<'o, O: Ops, W: Word> Val<'o, O, W> {
    /// The word with these bits.
    #[inline(always)]
    pub fn number(self, bits: u64) -> Self {
        Val::constant(self.ops, bits)
    }

    /// Reads the bits as the float of this size.
    #[inline(always)]
    pub fn float(self) -> Val<'o, O, W::Float> {
        self.convert(W::TO_FLOAT)
    }

    /// Rounds the word, read as two's complement, to the float of this size.
    #[inline(always)]
    pub fn signed_to_float(self) -> Val<'o, O, W::Float> {
        self.convert(W::SIGNED_TO_FLOAT)
    }

    /// Shift right filling with the top bit.
    #[inline(always)]
    pub fn sar(self, amount: u64) -> Self {
        self.binary(Binary::Sar, self.number(amount))
    }

    /// Less as two's complement.
    #[inline(always)]
    pub fn signed_lt(self, other: Self) -> Val<'o, O, Bool> {
        self.compare(Compare::SignedLt, other)
    }

    /// True where the word is not zero.
    #[inline(always)]
    pub fn is_nonzero(self) -> Val<'o, O, Bool> {
        self.number(0).lt(self)
    }

    /// As [`Val::signed_to_float`] for words below 2^(MANTISSA - 1) in magnitude, in vectors cheap everywhere.
    #[inline(always)]
    pub fn small_to_float(self) -> Val<'o, O, W::Float> {
        let magic = 1.5 * (1_u64 << W::Float::MANTISSA) as f64;
        (self + W::Float::encode(magic)).float() - magic
    }

    /// The high half of the double-width product.
    #[inline(always)]
    pub fn mul_high(self, other: Self) -> Self {
        W::mul_high(self, other)
    }

    /// `words[self]`.
    #[inline(always)]
    pub fn look_up(self, words: &'static [u64]) -> Self {
        Val::new(self.ops, self.ops.table(W::TYPE, words, self.raw))
    }

    /// The float 2^self, for `self`, read as two's complement, in the range of normal exponents.
    #[inline(always)]
    pub fn pow2(self) -> Val<'o, O, W::Float> {
        ((self + W::Float::BIAS) << u64::from(W::Float::MANTISSA)).float()
    }
}

impl<'o, O: Ops> Val<'o, O, U32> {
    /// To 64 bits, filled with zeros.
    #[inline(always)]
    pub fn extend(self) -> Val<'o, O, U64> {
        self.convert(Convert::Extend)
    }
}

impl<'o, O: Ops> Val<'o, O, U64> {
    /// The low half.
    #[inline(always)]
    pub fn truncate(self) -> Val<'o, O, U32> {
        self.convert(Convert::Truncate)
    }
}

impl<'o, O: Ops> Val<'o, O, F32> {
    /// To double, exact.
    #[inline(always)]
    pub fn widen(self) -> Val<'o, O, F64> {
        self.convert(Convert::Widen)
    }
}

impl<'o, O: Ops> Val<'o, O, F64> {
    /// To single, rounded.
    #[inline(always)]
    pub fn narrow(self) -> Val<'o, O, F32> {
        self.convert(Convert::Narrow)
    }
}

impl<'o, O: Ops, F: Float> Val<'o, O, F> {
    /// The constant nearest to `x`.
    #[inline(always)]
    pub fn lit(self, x: f64) -> Self {
        Val::constant(self.ops, F::encode(x))
    }

    /// `self`, or `limit` where it is greater; NaN stays.
    #[inline(always)]
    pub fn at_most(self, limit: f64) -> Self {
        let limit = self.lit(limit);
        self.gt(limit).select(limit, self)
    }

    /// `self`, or `limit` where it is less; NaN stays.
    #[inline(always)]
    pub fn at_least(self, limit: f64) -> Self {
        let limit = self.lit(limit);
        self.lt(limit).select(limit, self)
    }

    /// A quiet NaN.
    #[inline(always)]
    pub fn nan(self) -> Self {
        Val::constant(self.ops, (2 * F::EXPONENT_MAX + 1) << (F::MANTISSA - 1))
    }

    /// Positive infinity.
    #[inline(always)]
    pub fn infinity(self) -> Self {
        Val::constant(self.ops, F::EXPONENT_MAX << F::MANTISSA)
    }

    /// The word constant with these bits.
    #[inline(always)]
    pub fn word(self, bits: u64) -> Val<'o, O, F::Word> {
        Val::constant(self.ops, bits)
    }

    /// The bits.
    #[inline(always)]
    pub fn bits(self) -> Val<'o, O, F::Word> {
        self.convert(F::TO_BITS)
    }

    /// The magnitude.
    #[inline(always)]
    pub fn abs(self) -> Self {
        self.unary(Unary::Abs)
    }

    /// The square root.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt)
    }

    /// The sign bit alone, in its place.
    #[inline(always)]
    pub fn sign_bit(self) -> Val<'o, O, F::Word> {
        self.bits() & (1 << (F::Word::BITS - 1))
    }

    /// Flips the sign where `sign`, a word from [`Val::sign_bit`], has it set.
    #[inline(always)]
    pub fn flip_sign(self, sign: Val<'o, O, F::Word>) -> Self {
        (self.bits() ^ sign).float()
    }

    /// The leading half of the mantissa: `self.head() * other.head()` is exact, and so is `self - self.head()`.
    #[inline(always)]
    pub fn head(self) -> Self {
        (self.bits() & (u64::MAX << F::TAIL_BITS)).float()
    }

    /// The number with its last mantissa bit cleared: a product no more, so that under `--math fast` no sum that
    /// follows contracts it, where error-free steps rely on its rounding. For products whose rest is computed.
    #[inline(always)]
    pub fn settled(self) -> Self {
        (self.bits() & (u64::MAX << 1)).float()
    }

    /// The nearest integer (half to even) as a float and as a two's complement word; for `|self|` below
    /// 2^(MANTISSA - 1).
    #[inline(always)]
    pub fn nearest(self) -> (Self, Val<'o, O, F::Word>) {
        let magic = 1.5 * (1_u64 << F::MANTISSA) as f64;
        let shifted = self + magic;
        (shifted - magic, shifted.bits() - F::encode(magic))
    }

    /// `self * 2^n`, rounded once if `|self|` is in [1/4, 4] and `|n|` below twice the largest exponent.
    #[inline(always)]
    pub fn scale(self, n: Val<'o, O, F::Word>) -> Self {
        let half = n.sar(1);
        self * half.pow2() * (n - half).pow2()
    }

    /// The polynomial with these coefficients, constant term first, by Horner's rule.
    #[inline(always)]
    pub fn polynomial(self, coefficients: &[f64]) -> Self {
        let (last, rest) = match coefficients.split_last() {
            Some(split) => split,
            None => return self.lit(0.0),
        };
        let mut sum = self.lit(*last);
        for &coefficient in rest.iter().rev() {
            sum = sum * self + coefficient;
        }
        sum
    }
}

impl<O: Ops, F: Float> Neg for Val<'_, O, F> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<O: Ops, T: Scalar> $trait for Val<'_, O, T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.binary(Binary::$op, other)
            }
        }
    )*};
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor, Shl shl Shl, Shr shr Shr);

macro_rules! float_literals {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<O: Ops, F: Float> $trait<f64> for Val<'_, O, F> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                self.binary(Binary::$op, self.lit(other))
            }
        }
        impl<'o, O: Ops, F: Float> $trait<Val<'o, O, F>> for f64 {
            type Output = Val<'o, O, F>;
            #[inline(always)]
            fn $method(self, other: Val<'o, O, F>) -> Val<'o, O, F> {
                other.lit(self).binary(Binary::$op, other)
            }
        }
    )*};
}
float_literals!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

macro_rules! word_literals {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl<O: Ops, W: Word> $trait<u64> for Val<'_, O, W> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: u64) -> Self {
                self.binary(Binary::$op, self.number(other))
            }
        }
    )*};
}
word_literals!(Add add Add, Sub sub Sub, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor, Shl shl Shl, Shr shr Shr);

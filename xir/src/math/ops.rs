//! The primitive operations that every mathematical function is written over.
//!
//! A function of this library is one straight line of these operations, so whoever implements [`Ops`]
//! decides what the line means: [`super::Native`] computes it at once on Rust scalars, an emitter turns
//! it into instructions. As every operation is exactly defined (IEEE 754, round to nearest even, no
//! contraction, no reassociation, subnormals kept), all implementations give the same bits.
//!
//! An emitter must keep these operations strict under precise, and never reassociate under any math mode;
//! under fast it may contract products into sums (`docs/math.md` says what that costs).

/// The type of a primitive value. Words carry no sign; the operation says how it reads them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A truth value.
    Bool,
    /// A 32-bit word.
    U32,
    /// A 64-bit word.
    U64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

/// One operand, result of the same type. Floats only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unary {
    /// Flips the sign bit, also of NaN.
    Neg,
    /// Clears the sign bit, also of NaN.
    Abs,
    /// The correctly rounded square root; NaN below -0.
    Sqrt,
}

/// Two operands of one type, result of that type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    /// Floats: rounded sum. Words: sum modulo 2^width.
    Add,
    /// Floats: rounded difference. Words: difference modulo 2^width.
    Sub,
    /// Floats: rounded product. Words: product modulo 2^width.
    Mul,
    /// Floats only: rounded quotient.
    Div,
    /// Words and truth values.
    And,
    /// Words and truth values.
    Or,
    /// Words and truth values.
    Xor,
    /// Words: shift left; the amount, of the same type, is always below the width.
    Shl,
    /// Words: shift right filling with zeros; amount as for `Shl`.
    Shr,
    /// Words: shift right filling with the top bit; amount as for `Shl`.
    Sar,
}

/// Two operands of one type, result a truth value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// Floats: ordered equality (false for NaN). Words: equal.
    Eq,
    /// Floats: ordered less. Words: unsigned less.
    Lt,
    /// Floats: ordered less or equal. Words: unsigned less or equal.
    Le,
    /// Words only: less as two's complement.
    SignedLt,
}

/// One operand, result of another type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Convert {
    /// The bits of an `F32` as `U32`.
    F32Bits,
    /// The `F32` with the bits of a `U32`.
    BitsF32,
    /// The bits of an `F64` as `U64`.
    F64Bits,
    /// The `F64` with the bits of a `U64`.
    BitsF64,
    /// `U32` to `U64`, filled with zeros.
    Extend,
    /// The low half of a `U64` as `U32`.
    Truncate,
    /// `F32` to `F64`, exact.
    Widen,
    /// `F64` to `F32`, rounded to nearest even, subnormals kept.
    Narrow,
    /// `U32`, read as two's complement, to `F32`, rounded to nearest even.
    SignedToF32,
    /// `U64`, read as two's complement, to `F64`, rounded to nearest even.
    SignedToF64,
}

impl Convert {
    /// The operand's type and the result's type.
    pub const fn types(self) -> (Type, Type) {
        match self {
            Convert::F32Bits => (Type::F32, Type::U32),
            Convert::BitsF32 => (Type::U32, Type::F32),
            Convert::F64Bits => (Type::F64, Type::U64),
            Convert::BitsF64 => (Type::U64, Type::F64),
            Convert::Extend => (Type::U32, Type::U64),
            Convert::Truncate => (Type::U64, Type::U32),
            Convert::Widen => (Type::F32, Type::F64),
            Convert::Narrow => (Type::F64, Type::F32),
            Convert::SignedToF32 => (Type::U32, Type::F32),
            Convert::SignedToF64 => (Type::U64, Type::F64),
        }
    }
}

/// The primitive operations. `Value` is a number for [`super::Native`], a value id for an emitter
/// (which therefore needs interior mutability: all methods take `&self`).
///
/// No operation traps, and none is ever given an operand outside the domain stated at its enum, so an
/// emitter needs no guards. Operands of unchosen `select` arms are computed too.
pub trait Ops {
    /// A value of one of the five [`Type`]s.
    type Value: Copy;

    /// The constant of type `ty` whose bits are the low bits of `bits`; for `Bool`, bit 0.
    fn constant(&self, ty: Type, bits: u64) -> Self::Value;

    /// `op(a)`, on values of type `ty`.
    fn unary(&self, op: Unary, ty: Type, a: Self::Value) -> Self::Value;

    /// `a op b`, on values of type `ty`.
    fn binary(&self, op: Binary, ty: Type, a: Self::Value, b: Self::Value) -> Self::Value;

    /// `a op b`, on values of type `ty`; the result is a `Bool`.
    fn compare(&self, op: Compare, ty: Type, a: Self::Value, b: Self::Value) -> Self::Value;

    /// `condition ? yes : no`, the arms of type `ty`.
    fn select(
        &self,
        ty: Type,
        condition: Self::Value,
        yes: Self::Value,
        no: Self::Value,
    ) -> Self::Value;

    /// `op(a)`; [`Convert::types`] gives the types.
    fn convert(&self, op: Convert, a: Self::Value) -> Self::Value;

    /// `words[index]` as a value of the word type `ty`; `index` is of type `ty` too and always in range.
    /// As provided: a tree of `words.len() - 1` selects, no memory.
    fn table(&self, ty: Type, words: &'static [u64], index: Self::Value) -> Self::Value {
        let mut level: Vec<Self::Value> =
            words.iter().map(|&word| self.constant(ty, word)).collect();
        let mut bit = 1;
        while level.len() > 1 {
            let masked = self.binary(Binary::And, ty, index, self.constant(ty, bit));
            let even = self.compare(Compare::Eq, ty, masked, self.constant(ty, 0));
            level = level
                .chunks(2)
                .map(|pair| match pair {
                    [low, high] => self.select(ty, even, *low, *high),
                    _ => pair[0],
                })
                .collect();
            bit <<= 1;
        }
        level[0]
    }

    /// While `condition(state)` holds, `state = body(state)`; returns the last state. The loop ends for
    /// all inputs. The closures may use values made before the loop.
    fn loop_while<const N: usize>(
        &self,
        state: [Self::Value; N],
        condition: impl Fn(&Self, [Self::Value; N]) -> Self::Value,
        body: impl Fn(&Self, [Self::Value; N]) -> [Self::Value; N],
    ) -> [Self::Value; N];
}

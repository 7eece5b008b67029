//! What an operation takes: values, and numbers of the program that become literals.

use super::recorder::Recorder;
use super::value::Value;
use crate::types::{Scalar, TypeId};

/// The bits of an IEEE half, as a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Half(pub u16);

/// A number of the program that a scalar literal can hold.
pub trait ScalarLiteral: Copy {
    /// Its type.
    const SCALAR: Scalar;

    /// Appends its bytes in memory.
    fn append(self, bytes: &mut Vec<u8>);
}

macro_rules! scalar_literal {
    ($($ty:ty => $scalar:ident, |$value:ident| $bytes:expr;)*) => {
        $(impl ScalarLiteral for $ty {
            const SCALAR: Scalar = Scalar::$scalar;

            fn append(self, bytes: &mut Vec<u8>) {
                let $value = self;
                bytes.extend_from_slice(&$bytes);
            }
        })*
    };
}

scalar_literal! {
    bool => Bool, |v| [u8::from(v)];
    i8 => I8, |v| v.to_le_bytes();
    u8 => U8, |v| v.to_le_bytes();
    i16 => I16, |v| v.to_le_bytes();
    u16 => U16, |v| v.to_le_bytes();
    i32 => I32, |v| v.to_le_bytes();
    u32 => U32, |v| v.to_le_bytes();
    i64 => I64, |v| v.to_le_bytes();
    u64 => U64, |v| v.to_le_bytes();
    Half => F16, |v| v.0.to_le_bytes();
    f32 => F32, |v| v.to_le_bytes();
    f64 => F64, |v| v.to_le_bytes();
}

/// A value, a number, or an array of 2 to 4 numbers, which becomes a vector.
pub trait Operand<'b> {
    /// The value, in the function that is being built.
    fn into_value(self, recorder: Recorder<'b>) -> Value<'b>;
}

impl<'b> Operand<'b> for Value<'b> {
    fn into_value(self, _: Recorder<'b>) -> Value<'b> {
        self
    }
}

impl<'b, T: ScalarLiteral> Operand<'b> for T {
    #[track_caller]
    fn into_value(self, recorder: Recorder<'b>) -> Value<'b> {
        let mut bytes = Vec::new();
        self.append(&mut bytes);
        recorder.value(|s| s.literal(TypeId::scalar(T::SCALAR), bytes))
    }
}

impl<'b, T: ScalarLiteral, const N: usize> Operand<'b> for [T; N] {
    #[track_caller]
    fn into_value(self, recorder: Recorder<'b>) -> Value<'b> {
        let mut bytes = Vec::new();
        self.iter().for_each(|item| item.append(&mut bytes));
        recorder.value(|s| s.vector_literal(T::SCALAR, N, bytes))
    }
}

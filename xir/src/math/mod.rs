//! The mathematical functions, each written once over a handful of exactly defined primitive operations.
//!
//! [`Ops`] is the trait of those operations. [`Native`] computes them on Rust scalars (the interpreter, the constant
//! folder), an emitter turns them into instructions: all give the same bits. Nothing here calls a library function.
//! `docs/math.md` states what each function guarantees.
//!
//! Reading order: [`ops`], [`value`] (typed values with operators), [`pair`] (double-word arithmetic), then any of
//! the functions.

pub mod coefficients;
pub mod composite;
pub mod exp;
pub mod fast;
pub mod fma;
pub mod fmod;
pub mod function;
pub mod half;
pub mod inverse;
pub mod log;
pub mod native;
pub mod ops;
pub mod pair;
pub mod pow;
pub mod rounding;
pub mod scalar;
pub mod trig;
pub mod value;

pub use function::{Accuracy, Function};
pub use native::Native;
pub use ops::{Binary, Compare, Convert, Ops, Type, Unary};
pub use value::Val;

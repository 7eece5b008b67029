//! Tests of the core against naive models, on random inputs.

mod dominators;
mod forms;
mod layout;
mod operands;
mod typing;

use crate::{Function, FunctionKind, TypeId};

/// A small random number generator (xorshift64*); the same numbers on every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }

    /// An element of a slice that is not empty.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

fn callable() -> Function {
    Function::new("f", FunctionKind::Callable, TypeId::VOID)
}

//! Random numbers.

/// A small generator of random numbers (xorshift64*, Vigna 2016); the same numbers for the same seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed, any number.
    pub fn new(seed: u64) -> Random {
        // The state must not be zero, and seeds that follow each other must not give alike numbers.
        let mut random =
            Random((seed ^ 0x6a09_e667_f3bc_c908).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.bits();
        }
        random
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, or 0 where that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() >> 33) as usize % bound.max(1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some items.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of some items, if there is any.
    pub fn pick_any<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| *self.pick(items))
    }
}

//! Maps by the ids of resources.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map by ids, which this process has counted: nobody can choose them so that they collide, and a product spreads them.
pub(crate) type IdMap<V> = HashMap<u64, V, BuildHasherDefault<IdHasher>>;

/// See [`IdMap`].
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, id: u64) {
        // An odd number near 2^64 over the golden ratio; tables take both the lowest and the highest bits.
        let product = (self.0 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_spread() {
        let hash = |id: u64| {
            let mut hasher = IdHasher::default();
            hasher.write_u64(id);
            hasher.finish()
        };
        for step in [1, 2, 16, 1024] {
            let mut low = [0u32; 256];
            let mut high = [0u32; 128];
            for i in 0..4096 {
                low[(hash(i * step) & 255) as usize] += 1;
                high[(hash(i * step) >> 57) as usize] += 1;
            }
            assert!(low.iter().all(|n| *n < 64), "{low:?}");
            assert!(high.iter().all(|n| *n < 128), "{high:?}");
        }
    }
}

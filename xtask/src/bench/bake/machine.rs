//! What the machine itself makes of many threads: work that shares nothing, timed on one and on several of them. Cores that
//! share execution units, clocks that fall under load and neighbours on the same host show here, and nothing of the compiler does.

use std::{
    hint::black_box,
    sync::Barrier,
    time::{Duration, Instant},
};

/// Bytes that each thread walks over: more than the first cache holds, less than the second.
const TABLE: usize = 512 << 10;
/// Steps of a walk; some tenths of a second.
const STEPS: u64 = 60_000_000;

/// The time of one walk on each of `threads` threads that start together, over that of one alone: 1 for a machine whose cores
/// do not disturb each other.
pub fn slowdown(threads: usize) -> f64 {
    let one = together(1);
    together(threads).as_secs_f64() / one.as_secs_f64()
}

/// The time until the last of so many threads is done. The best of three.
fn together(threads: usize) -> Duration {
    let run = || {
        let start = Barrier::new(threads + 1);
        std::thread::scope(|scope| {
            let walks: Vec<_> = (0..threads)
                .map(|seed| {
                    let start = &start;
                    scope.spawn(move || {
                        let table = vec![seed as u64; TABLE / 8];
                        start.wait();
                        walk(&table, seed as u64)
                    })
                })
                .collect();
            start.wait();
            let begin = Instant::now();
            for walk in walks {
                black_box(walk.join().unwrap_or(0));
            }
            begin.elapsed()
        })
    };
    (0..3).map(|_| run()).min().unwrap_or_default()
}

/// Branches, arithmetic and loads that depend on each other in short chains, as those of a compiler do.
fn walk(table: &[u64], seed: u64) -> u64 {
    let mut state = seed | 1;
    let mut sum = 0u64;
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let loaded = table[(state as usize) % table.len()];
        if state & 0x30 == 0 {
            sum = sum.rotate_left(5) ^ loaded;
        } else {
            sum = sum.wrapping_add(loaded ^ state);
        }
    }
    sum
}

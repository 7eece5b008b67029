//! The time of no pass grows faster than the kernel does. `cargo xtask bench ladders` measures larger ones.

use luisac_passes::registry::PASSES;
use luisac_testing::ladders::{self, LADDERS, Start};
use std::time::Duration;

const SMALL: usize = 8_000;
const LARGE: usize = 64_000;
/// Between these sizes caches overflow, which linear passes feel; the square would be an exponent of 2.
const LIMIT: f64 = 1.75;
/// What takes less is not measured well enough.
const LEAST: Duration = Duration::from_micros(500);

/// The exponent of a pass between the two sizes, if it takes long enough to have one.
fn exponent(ladder: &ladders::Ladder, start: Start, pass: usize) -> Option<f64> {
    let time = |size| {
        let module = ladders::prepared(ladder, size, start);
        ladders::time(&module, &PASSES[pass], 3)
    };
    let large = time(LARGE).filter(|&t| t >= LEAST)?;
    Some(ladders::exponent(&[(SMALL, time(SMALL)?), (LARGE, large)]))
}

fn linear(start: Start) {
    ladders::one_thread(|| find_slow(start)).unwrap();
}

fn find_slow(start: Start) {
    let mut slow = Vec::new();
    for ladder in LADDERS {
        let (small, large) =
            (ladders::prepared(ladder, SMALL, start), ladders::prepared(ladder, LARGE, start));
        for (number, pass) in PASSES.iter().enumerate() {
            let Some(most) = ladders::time(&large, pass, 1).filter(|&t| t >= LEAST) else {
                continue;
            };
            let Some(least) = ladders::time(&small, pass, 2) else { continue };
            let first = ladders::exponent(&[(SMALL, least), (LARGE, most)]);
            // Another process may have had the caches: what is slow must be slow again.
            if first > LIMIT
                && let Some(again) = exponent(ladder, start, number)
                && again > LIMIT
            {
                slow.push(format!("{} on {}: {first:.2}, {again:.2}", pass.name(), ladder.name));
            }
        }
    }
    assert!(slow.is_empty(), "not linear on {} kernels:\n{}", start.name(), slow.join("\n"));
}

#[test]
fn passes_are_linear_on_lowered_kernels() {
    linear(Start::Lowered);
}

#[test]
fn passes_are_linear_on_flat_kernels() {
    linear(Start::Ssa);
}

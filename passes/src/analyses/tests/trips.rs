//! Trip counts against counting, for all numbers of eight bits.

use crate::analyses::counted::{Test, constant_trips};
use luisac_xir::Scalar;

/// Counts; none if the counter leaves the range of its type or the loop never ends.
fn count(scalar: Scalar, start: u64, step: u64, test: Test, bound: u64) -> Option<u64> {
    let number = |v: u64| match scalar {
        Scalar::I8 => i32::from(v as i8),
        _ => i32::from(v as u8),
    };
    let (mut at, bound) = (number(start), number(bound));
    let range = if scalar == Scalar::I8 { -128..=127 } else { 0..=255 };
    let mut rounds = 0;
    loop {
        let holds = match test {
            Test::Less => at < bound,
            Test::LessEqual => at <= bound,
            Test::Greater => at > bound,
            Test::GreaterEqual => at >= bound,
            Test::NotEqual => at != bound,
        };
        if !holds {
            return Some(rounds);
        }
        at += i32::from(step as i8);
        if !range.contains(&at) {
            return None;
        }
        rounds += 1;
    }
}

#[test]
fn trips_of_all_small_loops() {
    let tests = [Test::Less, Test::LessEqual, Test::Greater, Test::GreaterEqual, Test::NotEqual];
    for scalar in [Scalar::I8, Scalar::U8] {
        for test in tests {
            for step in [1, 2, 3, 7, 100, 127, 128, 200, 254, 255] {
                for start in (0..256).step_by(5).chain([1, 126, 127, 128, 129, 254]) {
                    for bound in (0..256).step_by(3).chain([1, 127, 128, 254]) {
                        assert_eq!(
                            constant_trips(scalar, start, step, test, bound),
                            count(scalar, start, step, test, bound),
                            "{scalar:?} {start} {step} {test:?} {bound}"
                        );
                    }
                }
            }
        }
    }
}

//! The functions that are exact or rounded once, against the hardware and the standard library, bit for bit.

use half::f16;
use luisac_xir::math::scalar::*;
use luisac_xir::math::value::{Bool, F32, F64, Float, U64};
use luisac_xir::math::{Native, Val, pow};

#[path = "support/reference.rs"]
mod reference;
use reference::Random;

/// Numbers at every edge of single precision.
const SINGLES: &[f32] = &[
    0.0,
    1.0,
    1.5,
    3.0,
    1e-45,
    3e-45,
    1.1754942e-38,
    f32::MIN_POSITIVE,
    2.350989e-38,
    f32::EPSILON,
    0.99999994,
    1.0000001,
    16777215.0,
    16777216.0,
    1.8446743e19,
    1.8446744e19,
    f32::MAX,
    f32::INFINITY,
    f32::NAN,
];

/// Numbers at every edge of double precision.
const DOUBLES: &[f64] = &[
    0.0,
    1.0,
    1.5,
    3.0,
    5e-324,
    1.5e-323,
    2.225073858507201e-308,
    f64::MIN_POSITIVE,
    4.450147717014403e-308,
    f64::EPSILON,
    0.9999999999999999,
    1.0000000000000002,
    9007199254740991.0,
    9007199254740992.0,
    1.3407807929942596e154,
    1.3407807929942597e154,
    1.4916681462400413e-154,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

/// The number of random cases: times `MATH_ROUNDS`, where that is set.
fn rounds(count: u64) -> u64 {
    count * std::env::var("MATH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn both_signs<T: Copy + std::ops::Neg<Output = T>>(list: &[T]) -> Vec<T> {
    list.iter().flat_map(|&x| [x, -x]).collect()
}

#[track_caller]
fn same_single(got: f32, want: f32, what: &dyn std::fmt::Debug) {
    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(same, "{what:?}: {got:e} {:08x}, not {want:e} {:08x}", got.to_bits(), want.to_bits());
}

#[track_caller]
fn same_double(got: f64, want: f64, what: &dyn std::fmt::Debug) {
    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(same, "{what:?}: {got:e} {:016x}, not {want:e} {:016x}", got.to_bits(), want.to_bits());
}

#[test]
fn every_half_widens_exactly_and_comes_back() {
    for bits in 0..=u16::MAX {
        let want = f16::from_bits(bits);
        same_single(f16_to_f32(bits), want.to_f32(), &bits);
        let back = f32_to_f16(want.to_f32());
        assert!(
            back == bits || want.is_nan() && f16::from_bits(back).is_nan(),
            "{bits:04x} became {back:04x}"
        );
        assert_eq!(f64_to_f16(want.to_f64()), back, "{bits:04x} by way of double");
    }
}

#[test]
fn halves_round_to_nearest_even_around_every_half_and_every_midpoint() {
    for bits in 0..0x7c00_u16 {
        let (low, high) = (f16::from_bits(bits).to_f64(), f16::from_bits(bits + 1).to_f64());
        let high = if high.is_infinite() { 65536.0 } else { high };
        let middle = (low + high) / 2.0;
        let to_even = if bits & 1 == 0 { bits } else { bits + 1 };
        for (x, want) in [
            (middle, to_even),
            (f64::from_bits(middle.to_bits() - 1), bits),
            (f64::from_bits(middle.to_bits() + 1), bits + 1),
        ] {
            assert_eq!(f64_to_f16(x), want, "{x:e}");
            assert_eq!(f64_to_f16(-x), want | 0x8000, "-{x:e}");
        }
        let middle = middle as f32;
        for (x, want) in [
            (middle, to_even),
            (f32::from_bits(middle.to_bits() - 1), bits),
            (f32::from_bits(middle.to_bits() + 1), bits + 1),
        ] {
            assert_eq!(f32_to_f16(x), want, "{x:e}");
            assert_eq!(f32_to_f16(-x), want | 0x8000, "-{x:e}");
        }
    }
}

#[test]
fn any_single_or_double_rounds_to_the_half_that_the_half_crate_gives() {
    let mut random = Random::new(1);
    for _ in 0..rounds(300_000) {
        let x = f32::from_bits(random.bits() as u32);
        let (got, want) = (f16::from_bits(f32_to_f16(x)), f16::from_f32(x));
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "{x:e}: {got}, not {want}"
        );
        // Doubles with exponents around those of halves.
        let bits = random.bits();
        let x = f64::from_bits(bits & !(0x7ff << 52) | (990 + bits % 55) << 52);
        assert_eq!(f64_to_f16(x), nearest_half(x), "{x:e}");
    }
    // A double that on the way through single would become a tie.
    assert_eq!(f64_to_f16(35.35937420853169), 0x506b);
}

/// The half nearest to a finite double, found by comparing distances, all of which are exact.
fn nearest_half(x: f64) -> u16 {
    let value = |bits: u16| if bits == 0x7c00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
    let guess = f16::from_f64(x.abs()).to_bits();
    let near = [guess.saturating_sub(1), guess, (guess + 1).min(0x7c00)];
    let nearest = near.into_iter().min_by(|&a, &b| {
        let distance = |bits| (x.abs() - value(bits)).abs();
        distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))
    });
    nearest.unwrap_or(guess) | if x.is_sign_negative() { 0x8000 } else { 0 }
}

#[test]
fn fma_of_singles_is_that_of_the_standard_library() {
    let edges = both_signs(SINGLES);
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                same_single(fma_f32(a, b, c), a.mul_add(b, c), &(a, b, c));
            }
        }
    }
    let mut random = Random::new(2);
    for _ in 0..rounds(300_000) {
        let [a, b] = [0; 2].map(|_| f32::from_bits(random.bits() as u32));
        // Near cancellation, near the rounding, or anything.
        let c = match random.bits() % 3 {
            0 => -(a * b),
            1 => a * b * 2f32.powi((random.bits() % 60) as i32 - 30),
            _ => f32::from_bits(random.bits() as u32),
        };
        same_single(fma_f32(a, b, c), a.mul_add(b, c), &(a, b, c));
    }
}

#[test]
fn fma_of_doubles_is_that_of_the_standard_library() {
    let edges = both_signs(DOUBLES);
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                same_double(fma_f64(a, b, c), a.mul_add(b, c), &(a, b, c));
            }
        }
    }
    let mut random = Random::new(3);
    for _ in 0..rounds(400_000) {
        let a = f64::from_bits(random.bits());
        // Products that are ordinary, subnormal, or anything.
        let b = match random.bits() % 4 {
            0 => f64::from_bits(random.bits()),
            1 => 2f64.powi(-500) * (2f64.powi(-560 + (random.bits() % 100) as i32) / a) * 1.37,
            _ => {
                (1.0 + (random.bits() % 1000) as f64 / 999.0)
                    * 2f64.powi((random.bits() % 200) as i32 - 100)
            }
        };
        let c = match random.bits() % 5 {
            0 => -(a * b),
            1 => a * b * 2f64.powi((random.bits() % 240) as i32 - 120),
            2 => f64::from_bits(random.bits() >> (random.bits() % 64) as u32),
            3 => -(a * b) * (1.0 + f64::EPSILON),
            _ => f64::from_bits(random.bits()),
        };
        same_double(fma_f64(a, b, c), a.mul_add(b, c), &(a, b, c));
    }
}

#[test]
fn fma_of_halves_rounds_the_exact_sum_once() {
    let mut random = Random::new(4);
    let edges: Vec<u16> =
        [0, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7e00]
            .into_iter()
            .flat_map(|bits| [bits, bits | 0x8000])
            .collect();
    let check = |a: u16, b: u16, c: u16| {
        let [x, y, z] = [a, b, c].map(|bits| f16::from_bits(bits).to_f64());
        let want = f16::from_bits(
            if x.is_finite() && y.is_finite() && z.is_finite() && x * y + z != 0.0 {
                // Halves are multiples of 2^-24, so the sum is one of 2^-48; more than 53 bits are cut to odd.
                let unit = 2f64.powi(24);
                let sum = (x * unit) as i128 * (y * unit) as i128 + (z * unit * unit) as i128;
                let cut = (128 - sum.unsigned_abs().leading_zeros()).saturating_sub(53);
                let sticky = i128::from(sum & ((1 << cut) - 1) != 0);
                nearest_half((sum >> cut | sticky) as f64 * 2f64.powi(cut as i32 - 48))
            } else {
                f16::from_f64(x * y + z).to_bits()
            },
        );
        let got = f16::from_bits(fma_f16(a, b, c));
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "{x:e} * {y:e} + {z:e}: {got}, not {want}");
    };
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                check(a, b, c);
            }
        }
    }
    for _ in 0..rounds(300_000) {
        let bits = random.bits();
        check(bits as u16, (bits >> 16) as u16, (bits >> 32) as u16);
    }
}

#[test]
fn fmod_is_that_of_the_standard_library() {
    for &x in &both_signs(SINGLES) {
        for &y in &both_signs(SINGLES) {
            same_single(fmod_f32(x, y), x % y, &(x, y));
        }
    }
    for &x in &both_signs(DOUBLES) {
        for &y in &both_signs(DOUBLES) {
            same_double(fmod_f64(x, y), x % y, &(x, y));
        }
    }
    let mut random = Random::new(5);
    for _ in 0..rounds(100_000) {
        let bits = random.bits();
        let (x, y) = (f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
        same_single(fmod_f32(x, y), x % y, &(x, y));
        let near = y * 2f32.powi((bits % 25) as i32) * 1.0000002;
        same_single(fmod_f32(near, y), near % y, &(near, y));
        let (x, y) = (f64::from_bits(random.bits()), f64::from_bits(random.bits()));
        same_double(fmod_f64(x, y), x % y, &(x, y));
        let near = y * 2f64.powi((bits % 60) as i32) * 1.0000000002;
        same_double(fmod_f64(near, y), near % y, &(near, y));
        let multiple = y * (bits % 1000) as f64;
        same_double(fmod_f64(multiple, y), multiple % y, &(multiple, y));
    }
}

/// The three forms of an integer power on one input.
fn powers<F: Float>(x: u64, magnitude: u64, negative: bool) -> [u64; 3] {
    let x = Val::<_, F>::new(&Native, x);
    let n = Val::<_, U64>::new(&Native, magnitude);
    let sign = Val::<_, Bool>::new(&Native, u64::from(negative));
    [
        pow::pow_int(x, n, sign, 64),
        pow::pow_int_loop(x, n, sign),
        pow::pow_constant(x, magnitude, negative),
    ]
    .map(Val::raw)
}

#[test]
fn integer_powers_are_repeated_squaring_in_all_three_forms() {
    let by_hand = |x: f64, n: u64, negative: bool| {
        let (mut result, mut square) = (1.0, x);
        for bit in 0..64 {
            if n >> bit & 1 == 1 {
                result *= square;
            }
            square *= square;
        }
        if negative { 1.0 / result } else { result }
    };
    let exponents =
        [0, 1, 2, 3, 5, 10, 31, 63, 64, 100, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX];
    for &x in &both_signs(DOUBLES) {
        for n in exponents {
            for negative in [false, true] {
                let want = by_hand(x, n, negative);
                for got in powers::<F64>(x.to_bits(), n, negative) {
                    same_double(f64::from_bits(got), want, &(x, n, negative));
                }
                same_double(pow_int_f64(x, n, negative), want, &(x, n, negative));
            }
        }
    }
    for &x in &both_signs(SINGLES) {
        for n in exponents {
            let [a, b, c] = powers::<F32>(u64::from(x.to_bits()), n, n % 2 == 1)
                .map(|bits| f32::from_bits(bits as u32));
            same_single(a, b, &(x, n));
            same_single(a, c, &(x, n));
            same_single(a, pow_int_f32(x, n, n % 2 == 1), &(x, n));
        }
    }
    same_single(pow_int_f32(-2.0, 3, false), -8.0, &"(-2)^3");
    same_single(pow_int_f32(2.0, 10, true), 1.0 / 1024.0, &"2^-10");
}

#[test]
fn the_magnitude_of_the_least_exponent_is_its_own() {
    for (n, want) in [
        (0_i64, (0, 0)),
        (5, (5, 0)),
        (-5, (5, 1)),
        (i64::MIN, (1 << 63, 1)),
        (i64::MAX, (i64::MAX as u64, 0)),
    ] {
        let (magnitude, negative) = pow::magnitude(Val::<_, U64>::new(&Native, n as u64));
        assert_eq!((magnitude.raw(), negative.raw()), want, "{n}");
    }
}

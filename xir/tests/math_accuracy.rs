//! The functions within the bounds that `docs/math.md` states, and their special cases.

use luisac_xir::math::scalar::{f16_to_f32, f32_to_f16};
use luisac_xir::math::{Accuracy, Function};

#[path = "support/reference.rs"]
mod reference;
use reference::{Random, Vector, fast_error, reference, single_error};

/// The bounds: singles under precise in ulp, doubles under precise in ulp, singles under fast in the unit of
/// `reference::fast_unit`.
const BOUNDS: &[(Function, f64, f64, f64)] = &[
    (Function::Sin, 1.0, 1.0, 2.5e-7),
    (Function::Cos, 1.0, 1.0, 2.5e-7),
    (Function::Tan, 1.2, 1.2, 2.5e-7),
    (Function::Asin, 1.0, 1.0, 5e-7),
    (Function::Acos, 1.0, 1.0, 5e-7),
    (Function::Atan, 1.0, 1.0, 2.5e-7),
    (Function::Atan2, 1.4, 1.0, 2.5e-7),
    (Function::Sinh, 1.0, 1.0, 2e-7),
    (Function::Cosh, 1.0, 1.0, 2e-7),
    (Function::Tanh, 1.5, 1.5, 1e-6),
    (Function::Asinh, 1.0, 1.0, 2e-7),
    (Function::Acosh, 1.0, 1.0, 2e-7),
    (Function::Atanh, 1.0, 1.0, 2e-7),
    (Function::Exp, 1.0, 1.0, 5e-7),
    (Function::Exp2, 1.2, 1.2, 5e-7),
    (Function::Exp10, 1.3, 1.3, 2e-7),
    (Function::Log, 1.0, 1.0, 2.5e-7),
    (Function::Log2, 1.0, 1.0, 2.5e-7),
    (Function::Log10, 1.0, 1.0, 2e-7),
    (Function::Pow, 1.3, 1.3, 2.5e-7),
    (Function::Rsqrt, 1.5, 1.5, 2e-7),
];

/// Every so many singles: a prime, so that all mantissas and exponents come by.
const STRIDE: usize = 40_009;

fn check_single(function: Function, precise: f64, fast: f64, a: f32, b: f32) {
    let exact = reference(function, f64::from(a), f64::from(b));
    let got = function.single(Accuracy::Precise, a, b);
    let error = single_error(got, exact);
    assert!(
        error <= precise,
        "{}({a:e}, {b:e}) = {got:e}, not {exact:e}: {error} ulp",
        function.name()
    );
    let got = function.single(Accuracy::Fast, a, b);
    let error = fast_error(function, a, b, got, exact);
    assert!(
        error <= fast,
        "fast {}({a:e}, {b:e}) = {got:e}, not {exact:e}: {error:e}",
        function.name()
    );
}

#[test]
fn every_function_has_a_bound() {
    assert!(Function::ALL.iter().eq(BOUNDS.iter().map(|(function, ..)| function)));
}

#[test]
fn singles_stay_within_their_bounds() {
    for &(function, precise, _, fast) in BOUNDS {
        let mut random = Random::new(7);
        let edges =
            [0, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000];
        let edges = edges.into_iter().flat_map(|bits| [bits, bits | 1 << 31]);
        for bits in (0..=u32::MAX).step_by(STRIDE).chain(edges) {
            let (a, b) = match function.arity() {
                1 => (f32::from_bits(bits), 0.0),
                _ => random.pair(function),
            };
            check_single(function, precise, fast, a, b);
        }
    }
}

#[test]
fn doubles_stay_within_their_bounds() {
    let mut counts = vec![0; BOUNDS.len()];
    for line in include_str!("data/math_f64.txt").lines() {
        let vector = Vector::parse(line).expect("a test vector");
        let row =
            BOUNDS.iter().position(|(function, ..)| *function == vector.function).expect("a bound");
        let got = vector.function.double(Accuracy::Precise, vector.a, vector.b);
        let error = vector.error(got);
        assert!(error <= BOUNDS[row].2, "{line}: {got:e} {:016x}: {error} ulp", got.to_bits());
        counts[row] += 1;
    }
    assert!(counts.iter().all(|&count| count >= 100), "{counts:?}");
}

#[test]
fn odd_and_even_functions_mirror_bit_for_bit() {
    let odd = ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh"];
    for &function in Function::ALL.iter().filter(|f| f.arity() == 1) {
        let is_odd = odd.contains(&function.name());
        if !is_odd && !["cos", "cosh"].contains(&function.name()) {
            continue;
        }
        for bits in (0..0x7f80_0000).step_by(STRIDE * 16) {
            let x = f32::from_bits(bits);
            let (right, left) = (
                function.single(Accuracy::Precise, x, 0.0),
                function.single(Accuracy::Precise, -x, 0.0),
            );
            let mirrored = if is_odd { -left } else { left };
            let same = right.to_bits() == mirrored.to_bits() || right.is_nan() && left.is_nan();
            assert!(same, "{}({x:e}) = {right:e}, of the negative {left:e}", function.name());
        }
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Special cases of C's Annex F: the function, its arguments, its result.
const SPECIAL: &[(Function, f64, f64, f64)] = &[
    (Function::Sin, INF, 0.0, NAN),
    (Function::Cos, -INF, 0.0, NAN),
    (Function::Tan, INF, 0.0, NAN),
    (Function::Cos, 0.0, 0.0, 1.0),
    (Function::Asin, 1.5, 0.0, NAN),
    (Function::Acos, -1.5, 0.0, NAN),
    (Function::Acos, 1.0, 0.0, 0.0),
    (Function::Atan, INF, 0.0, std::f64::consts::FRAC_PI_2),
    (Function::Atan, -INF, 0.0, -std::f64::consts::FRAC_PI_2),
    (Function::Atan2, 0.0, -0.0, std::f64::consts::PI),
    (Function::Atan2, -0.0, -0.0, -std::f64::consts::PI),
    (Function::Atan2, 0.0, 0.0, 0.0),
    (Function::Atan2, -0.0, 0.0, -0.0),
    (Function::Atan2, 0.0, -1.0, std::f64::consts::PI),
    (Function::Atan2, -0.0, 1.0, -0.0),
    (Function::Atan2, -1.0, 0.0, -std::f64::consts::FRAC_PI_2),
    (Function::Atan2, 1.0, -0.0, std::f64::consts::FRAC_PI_2),
    (Function::Atan2, 1.0, -INF, std::f64::consts::PI),
    (Function::Atan2, -1.0, INF, -0.0),
    (Function::Atan2, INF, 1.0, std::f64::consts::FRAC_PI_2),
    (Function::Atan2, INF, -INF, 3.0 * std::f64::consts::FRAC_PI_4),
    (Function::Atan2, -INF, INF, -std::f64::consts::FRAC_PI_4),
    (Function::Atan2, NAN, INF, NAN),
    (Function::Atan2, INF, NAN, NAN),
    (Function::Sinh, INF, 0.0, INF),
    (Function::Sinh, -INF, 0.0, -INF),
    (Function::Cosh, -INF, 0.0, INF),
    (Function::Tanh, INF, 0.0, 1.0),
    (Function::Tanh, -INF, 0.0, -1.0),
    (Function::Asinh, -INF, 0.0, -INF),
    (Function::Acosh, INF, 0.0, INF),
    (Function::Acosh, 1.0, 0.0, 0.0),
    (Function::Acosh, 0.5, 0.0, NAN),
    (Function::Acosh, -INF, 0.0, NAN),
    (Function::Atanh, 1.0, 0.0, INF),
    (Function::Atanh, -1.0, 0.0, -INF),
    (Function::Atanh, 1.5, 0.0, NAN),
    (Function::Exp, INF, 0.0, INF),
    (Function::Exp, -INF, 0.0, 0.0),
    (Function::Exp, -0.0, 0.0, 1.0),
    (Function::Exp2, INF, 0.0, INF),
    (Function::Exp2, -INF, 0.0, 0.0),
    (Function::Exp2, -3.0, 0.0, 0.125),
    (Function::Exp10, INF, 0.0, INF),
    (Function::Exp10, -INF, 0.0, 0.0),
    (Function::Log, 0.0, 0.0, -INF),
    (Function::Log, -0.0, 0.0, -INF),
    (Function::Log, -1.0, 0.0, NAN),
    (Function::Log, INF, 0.0, INF),
    (Function::Log, -INF, 0.0, NAN),
    (Function::Log, 1.0, 0.0, 0.0),
    (Function::Log2, 0.0, 0.0, -INF),
    (Function::Log2, -1.0, 0.0, NAN),
    (Function::Log2, INF, 0.0, INF),
    (Function::Log2, 8.0, 0.0, 3.0),
    (Function::Log10, 0.0, 0.0, -INF),
    (Function::Log10, -1.0, 0.0, NAN),
    (Function::Log10, INF, 0.0, INF),
    (Function::Rsqrt, 0.0, 0.0, INF),
    (Function::Rsqrt, -0.0, 0.0, -INF),
    (Function::Rsqrt, INF, 0.0, 0.0),
    (Function::Rsqrt, -1.0, 0.0, NAN),
    (Function::Pow, 1.0, NAN, 1.0),
    (Function::Pow, NAN, 0.0, 1.0),
    (Function::Pow, NAN, -0.0, 1.0),
    (Function::Pow, NAN, 1.0, NAN),
    (Function::Pow, 2.0, NAN, NAN),
    (Function::Pow, -1.0, NAN, NAN),
    (Function::Pow, -1.0, INF, 1.0),
    (Function::Pow, -1.0, -INF, 1.0),
    (Function::Pow, 1.0, INF, 1.0),
    (Function::Pow, 0.0, -3.0, INF),
    (Function::Pow, -0.0, -3.0, -INF),
    (Function::Pow, -0.0, -2.0, INF),
    (Function::Pow, -0.0, -2.5, INF),
    (Function::Pow, 0.0, -INF, INF),
    (Function::Pow, -0.0, INF, 0.0),
    (Function::Pow, -0.0, 3.0, -0.0),
    (Function::Pow, -0.0, 2.0, 0.0),
    (Function::Pow, -0.0, 0.5, 0.0),
    (Function::Pow, 0.5, INF, 0.0),
    (Function::Pow, 0.5, -INF, INF),
    (Function::Pow, -2.0, INF, INF),
    (Function::Pow, -2.0, -INF, 0.0),
    (Function::Pow, -INF, 3.0, -INF),
    (Function::Pow, -INF, 2.0, INF),
    (Function::Pow, -INF, 0.5, INF),
    (Function::Pow, -INF, -3.0, -0.0),
    (Function::Pow, -INF, -2.0, 0.0),
    (Function::Pow, -INF, -0.5, 0.0),
    (Function::Pow, INF, -1.0, 0.0),
    (Function::Pow, INF, 0.25, INF),
    (Function::Pow, -2.0, 0.5, NAN),
    (Function::Pow, -2.0, 3.0, -8.0),
    (Function::Pow, -2.0, 4.0, 16.0),
    (Function::Pow, -2.0, -1.0, -0.5),
    (Function::Pow, 4.0, 0.5, 2.0),
    (Function::Pow, 10.0, 2.0, 100.0),
    (Function::Pow, -1.0, 16777215.0, -1.0),
    (Function::Pow, -1.0, 16777216.0, 1.0),
    (Function::Pow, -1.0, 8388609.0, -1.0),
    (Function::Pow, -1.0, 8388609.5, NAN),
];

#[track_caller]
fn same(function: Function, arguments: (f64, f64), got: f64, want: f64, zero_sign: bool) {
    let equal = got == want && (!zero_sign || got.is_sign_negative() == want.is_sign_negative());
    assert!(
        equal || got.is_nan() && want.is_nan(),
        "{}{arguments:?} = {got:?}, not {want:?}",
        function.name()
    );
}

#[test]
fn special_cases_are_those_of_c() {
    for &(function, a, b, want) in SPECIAL {
        // 8388609.5 is no single.
        let (x, y) = (a as f32, b as f32);
        if f64::from(y) == b || b.is_nan() {
            let got = function.single(Accuracy::Precise, x, y);
            same(function, (a, b), f64::from(got), f64::from(want as f32), true);
            let got = function.single(Accuracy::Fast, x, y);
            let near = (f64::from(got) - want).abs() <= 2e-6 * want.abs();
            same(function, (a, b), if near { want } else { f64::from(got) }, want, false);
        }
        same(function, (a, b), function.double(Accuracy::Precise, a, b), want, true);
    }
}

#[test]
fn nan_gives_nan_and_zeros_keep_their_sign() {
    for &function in Function::ALL {
        if function.arity() == 1 {
            assert!(
                function.single(Accuracy::Precise, f32::NAN, 0.0).is_nan(),
                "{}",
                function.name()
            );
            assert!(
                function.single(Accuracy::Fast, f32::NAN, 0.0).is_nan(),
                "fast {}",
                function.name()
            );
            assert!(
                function.double(Accuracy::Precise, f64::NAN, 0.0).is_nan(),
                "{}",
                function.name()
            );
        }
        if ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh"]
            .contains(&function.name())
        {
            for x in [0.0, -0.0, 1e-45, -1e-45, 5e-324, -5e-324] {
                same(function, (x, 0.0), function.double(Accuracy::Precise, x, 0.0), x, true);
                let single = x as f32;
                let got = f64::from(function.single(Accuracy::Precise, single, 0.0));
                same(function, (x, 0.0), got, f64::from(single), true);
            }
        }
    }
}

#[test]
fn every_half_computed_in_single_is_rounded_almost_once() {
    for &function in Function::ALL.iter().filter(|function| function.arity() == 1) {
        for bits in 0..=u16::MAX {
            let x = f16_to_f32(bits);
            let got = f16_to_f32(f32_to_f16(function.single(Accuracy::Precise, x, 0.0)));
            let exact = reference(function, f64::from(x), 0.0);
            // Half a unit, and the error of the single.
            let exponent = exact.abs().max(2f64.powi(-14)).log2().floor();
            let unit = 2f64.powi(exponent as i32 - 10);
            let near = (f64::from(got) - exact).abs() <= 0.501 * unit;
            let beyond = got.is_infinite() && exact.abs() > 65519.9 && (got > 0.0) == (exact > 0.0);
            let same = near || beyond || got.is_nan() && exact.is_nan();
            assert!(same, "{}({x:e}) = {got:e}, not {exact:e}", function.name());
        }
    }
}

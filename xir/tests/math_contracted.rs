//! What `--math fast` allows, contraction, takes no more from any function than `docs/math.md` says.

use luisac_xir::math::scalar::fmod_f32;
use luisac_xir::math::value::{F32, F64, Val};
use luisac_xir::math::{Accuracy, Function, fma, fmod};

#[path = "support/contracted.rs"]
mod contracted;
#[path = "support/reference.rs"]
mod reference;
use contracted::{Contracted, plain};
use reference::{Random, Vector, fast_error, reference};

#[test]
fn contracted_fast_singles_stay_within_a_millionth() {
    for &function in Function::ALL {
        let mut worst = (0.0, 0.0, 0.0);
        let mut random = Random::new(11);
        for bits in (0..=u32::MAX).step_by(40_009) {
            let (a, b) = match function.arity() {
                1 => (f32::from_bits(bits), 0.0),
                _ => random.pair(function),
            };
            let [x, y] = [a, b].map(|x| plain(u64::from(x.to_bits())));
            let got = function.build::<_, F32>(&Contracted, Accuracy::Fast, x, y).bits;
            let exact = reference(function, f64::from(a), f64::from(b));
            let error = fast_error(function, a, b, f32::from_bits(got as u32), exact);
            if error > worst.0 {
                worst = (error, a, b);
            }
        }
        println!("{:6} {:.2e} at {:e} {:e}", function.name(), worst.0, worst.1, worst.2);
        assert!(
            worst.0 <= 1e-6,
            "{}({:e}, {:e}): {:e}",
            function.name(),
            worst.1,
            worst.2,
            worst.0
        );
    }
}

#[test]
fn contracted_doubles_stay_within_four_units() {
    for line in include_str!("data/math_f64.txt").lines() {
        let vector = Vector::parse(line).expect("a test vector");
        let [a, b] = [vector.a, vector.b].map(|x| plain(x.to_bits()));
        let got = vector.function.build::<_, F64>(&Contracted, Accuracy::Fast, a, b).bits;
        let error = vector.error(f64::from_bits(got));
        assert!(error <= 4.0, "{line}: {error} ulp");
    }
}

#[test]
fn contracted_remainders_and_fused_sums_stay_exact() {
    let mut random = Random::new(12);
    for _ in 0..50_000 {
        let [a, b, c] = [0; 3].map(|_| random.bits());
        let [x, y, z] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        let value = |x: f32| Val::<_, F32>::new(&Contracted, plain(u64::from(x.to_bits())));
        let got = f32::from_bits(fmod::fmod(value(x), value(y)).raw().bits as u32);
        let want = fmod_f32(x, y);
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "{x:e} % {y:e}: {got:e}"
        );
        let got = f32::from_bits(fma::fma_single(value(x), value(y), value(z)).raw().bits as u32);
        let want = x.mul_add(y, z);
        assert!(
            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
            "fma {x:e} {y:e} {z:e}: {got:e}"
        );
    }
}

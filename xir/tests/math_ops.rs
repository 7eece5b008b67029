//! Every function is well typed over the primitive operations, and stays within its cost.

use luisac_xir::math::value::{Bool, F32, F64, Float, Scalar, U32, U64, Val};
use luisac_xir::math::{Accuracy, Function, Native, Ops, Type, fma, fmod, half, pow};

#[path = "support/counter.rs"]
mod counter;
use counter::Counter;

fn build<F: Float>(function: Function, accuracy: Accuracy) -> Counter {
    let counter = Counter::default();
    let [a, b] = [0; 2].map(|_| counter.input(F::TYPE));
    let result = function.build::<_, F>(&counter, accuracy, a, b);
    assert_eq!(result.0, F::TYPE, "{}", function.name());
    assert_eq!(counter.loops.get(), 0, "{} is a straight line", function.name());
    counter
}

/// Prints the columns of operations in `docs/math.md`: run with `--nocapture`.
#[test]
fn functions_are_well_typed_and_of_bounded_cost() {
    for &function in Function::ALL {
        let name = function.name();
        let builds = [
            build::<F32>(function, Accuracy::Precise),
            build::<F32>(function, Accuracy::Fast),
            build::<F64>(function, Accuracy::Precise),
        ];
        let [single, fast, double] = builds.each_ref().map(|counter| counter.count.get());
        let [single_div, fast_div, double_div] =
            builds.each_ref().map(|counter| counter.divisions.get());
        println!(
            "{name:6} {single:3} ({single_div}) fast {fast:3} ({fast_div}) double {double:3} ({double_div})"
        );
        assert!(fast <= single, "{name}: {fast} > {single}");
        assert!(single <= 200 && double <= 240, "{name}: {single} {double}");
        // Doubles are slow on GPUs, and 64-bit words are not everywhere.
        let [precise, fast, _] = builds;
        let reduces = matches!(function, Function::Sin | Function::Cos | Function::Tan);
        assert!(!precise.doubles.get() && !fast.doubles.get(), "{name} of singles uses doubles");
        assert!(
            precise.long_words.get() == reduces && !fast.long_words.get(),
            "{name} uses 64-bit words"
        );
    }
}

fn inputs<'o, T: Scalar, const N: usize>(counter: &'o Counter) -> [Val<'o, Counter, T>; N] {
    std::array::from_fn(|_| Val::new(counter, counter.input(T::TYPE)))
}

#[test]
fn the_other_functions_are_well_typed() {
    let c = &Counter::default();
    let [a, b, d] = inputs::<F32, 3>(c);
    let [x, y, z] = inputs::<F64, 3>(c);
    let [h, i, j] = inputs::<U32, 3>(c);
    let [n] = inputs::<U64, 1>(c);
    let [sign] = inputs::<Bool, 1>(c);
    for (got, want) in [
        (fma::fma_single(a, b, d).raw(), Type::F32),
        (fma::fma_double(x, y, z).raw(), Type::F64),
        (fma::fma_half(h, i, j).raw(), Type::U32),
        (half::to_single(h).raw(), Type::F32),
        (half::from_single(a).raw(), Type::U32),
        (half::from_double(x).raw(), Type::U32),
        (fmod::fmod(a, b).raw(), Type::F32),
        (fmod::fmod(x, y).raw(), Type::F64),
        (pow::pow_int(a, n, sign, 32).raw(), Type::F32),
        (pow::pow_int_loop(x, n, sign).raw(), Type::F64),
    ] {
        assert_eq!(got.0, want);
    }
}

/// The operations of `Native`, but tables as the trait provides them.
struct SelectTables;

impl Ops for SelectTables {
    type Value = u64;
    fn constant(&self, ty: Type, bits: u64) -> u64 {
        Native.constant(ty, bits)
    }
    fn unary(&self, op: luisac_xir::math::Unary, ty: Type, a: u64) -> u64 {
        Native.unary(op, ty, a)
    }
    fn binary(&self, op: luisac_xir::math::Binary, ty: Type, a: u64, b: u64) -> u64 {
        Native.binary(op, ty, a, b)
    }
    fn compare(&self, op: luisac_xir::math::Compare, ty: Type, a: u64, b: u64) -> u64 {
        Native.compare(op, ty, a, b)
    }
    fn select(&self, ty: Type, condition: u64, yes: u64, no: u64) -> u64 {
        Native.select(ty, condition, yes, no)
    }
    fn convert(&self, op: luisac_xir::math::Convert, a: u64) -> u64 {
        Native.convert(op, a)
    }
    fn loop_while<const N: usize>(
        &self,
        state: [u64; N],
        condition: impl Fn(&Self, [u64; N]) -> u64,
        body: impl Fn(&Self, [u64; N]) -> [u64; N],
    ) -> [u64; N] {
        Native.loop_while(state, |_, state| condition(self, state), |_, state| body(self, state))
    }
}

#[test]
fn tables_of_selects_give_the_same_bits() {
    for exponent in 0..2047_u64 {
        let x = exponent << 52 | 0x000a_bcde_f123_4567;
        let [with, without] = [
            Function::Sin.build::<_, F64>(&SelectTables, Accuracy::Precise, x, 0),
            Function::Sin.build::<_, F64>(&Native, Accuracy::Precise, x, 0),
        ];
        assert_eq!(with, without, "{x:x}");
        let x = (exponent % 255) << 23 | 0x2b_cdef;
        let [with, without] = [
            Function::Cos.build::<_, F32>(&SelectTables, Accuracy::Precise, x, 0),
            Function::Cos.build::<_, F32>(&Native, Accuracy::Precise, x, 0),
        ];
        assert_eq!(with, without, "{x:x}");
    }
}

#[test]
fn a_small_stack_suffices() {
    let all = || {
        for &function in Function::ALL {
            for accuracy in [Accuracy::Precise, Accuracy::Fast] {
                function.single(accuracy, 0.5, 1.5);
                function.double(accuracy, 0.5, 1.5);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(all).expect("a thread");
    thread.join().expect("no overflow");
}

//! The tables of the semantics page, row by row: folded, interpreted with run-time operands, and with one operand constant;
//! as scalars and as vectors.

use luisac_xir::eval::{self, flat::Flat};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::op::{ArithmeticOp, ArithmeticOp::*, CastOp, ResourceWriteOp};
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionKind, Module, Op, Scalar, Scalar::*, TypeId, typing,
};

/// What is computed from operands.
#[derive(Clone, Copy)]
enum What {
    Arithmetic(ArithmeticOp),
    Cast(Scalar),
}

/// Runs a kernel that computes `what` on operands of these types, those in `constant` as constants, the others as arguments.
fn interpret(what: What, operands: &[(TypeId, Vec<u8>)], constant: &[bool]) -> Vec<u8> {
    let mut module = Module::new();
    let mut f = Function::new("k", FunctionKind::Kernel { block_size: [1, 1, 1] }, TypeId::VOID);
    let result = result_type(&module, what, operands);
    let buffer = module.types.buffer(result).expect("a buffer");
    let out = f.add_argument(ArgumentKind::Resource, buffer, None, false);
    let mut args = vec![Arg::Buffer(vec![0; module.types.size(result) as usize])];
    let mut values = Vec::new();
    for ((ty, bytes), &constant) in operands.iter().zip(constant) {
        values.push(if constant {
            f.constant(*ty, bytes.clone())
        } else {
            args.push(Arg::Value(bytes.clone()));
            f.add_argument(ArgumentKind::Value, *ty, None, false)
        });
    }
    let entry = f.append_block();
    let mut b = Builder::at_end(&mut f, &module.types, entry);
    let value = match what {
        What::Arithmetic(op) => b.value(Op::Arithmetic(op), result, &values),
        What::Cast(_) => b.value(Op::Cast(CastOp::Static), result, &values),
    };
    let zero = b.u32(0);
    b.effect(Op::ResourceWrite(ResourceWriteOp::BufferWrite), &[out, zero, value]);
    b.ret(None);
    let kernel = module.functions.push(f);
    luisac_xir::verify::verify(&module).unwrap_or_else(|e| panic!("{}", e[0]));
    interp::run(&module, kernel, &mut args, &Launch::new([1; 3])).unwrap_or_else(|e| panic!("{e}"));
    match args.swap_remove(0) {
        Arg::Buffer(bytes) => bytes,
        _ => unreachable!("the first argument is a buffer"),
    }
}

fn result_type(module: &Module, what: What, operands: &[(TypeId, Vec<u8>)]) -> TypeId {
    let types: Vec<TypeId> = operands.iter().map(|o| o.0).collect();
    match what {
        What::Arithmetic(op) => {
            typing::infer(op, &types, &module.types).expect("operands that fit")
        }
        What::Cast(to) => typing::with_scalar(types[0], to, &module.types),
    }
}

/// NaNs are one value.
fn is_nan(scalar: Scalar, bits: u64) -> bool {
    match scalar {
        F16 => bits & 0x7fff > 0x7c00,
        F32 => f32::from_bits(bits as u32).is_nan(),
        F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

#[track_caller]
fn check(what: What, operands: &[(Scalar, u64)], want: u64) {
    let module = Module::new();
    for dim in [1, 3] {
        let operands: Vec<(TypeId, Vec<u8>)> = operands
            .iter()
            .map(|&(scalar, bits)| {
                let ty = TypeId::vector(scalar, dim);
                let flat = Flat::of(&module.types, ty, 4).expect("a small type");
                (ty, flat.write(&[bits; 4][..dim as usize]))
            })
            .collect();
        let result = result_type(&module, what, &operands);
        let folded = match what {
            What::Arithmetic(op) => {
                let slices: Vec<(TypeId, &[u8])> =
                    operands.iter().map(|o| (o.0, &o.1[..])).collect();
                eval::fold(&module.types, op, result, &slices)
            }
            What::Cast(_) => eval::fold_cast(
                &module.types,
                CastOp::Static,
                operands[0].0,
                result,
                &operands[0].1,
            ),
        };
        let mut all = vec![folded.expect("a constant")];
        let count = operands.len();
        for constants in 0..1u32 << count {
            let constant: Vec<bool> = (0..count).map(|i| constants >> i & 1 == 1).collect();
            all.push(interpret(what, &operands, &constant));
        }
        let scalar = module.types.scalar_of(result).expect("a scalar");
        let flat = Flat::of(&module.types, result, 4).expect("a small type");
        for bytes in &all {
            for got in flat.read(bytes) {
                let equal = got == want || is_nan(scalar, want) && is_nan(scalar, got);
                assert!(equal, "{got:#x}, wanted {want:#x}");
            }
        }
    }
}

/// An operation on operands of one type; integers may be negative.
#[track_caller]
fn ints(op: ArithmeticOp, scalar: Scalar, operands: &[i128], want: i128) {
    let cut = |x: i128, s: Scalar| (x as u64) & (u64::MAX >> (64 - s.bits()));
    let operands: Vec<(Scalar, u64)> = operands.iter().map(|&x| (scalar, cut(x, scalar))).collect();
    let module = Module::new();
    let types: Vec<TypeId> = operands.iter().map(|o| TypeId::scalar(o.0)).collect();
    let result = typing::infer(op, &types, &module.types).and_then(|t| module.types.scalar_of(t));
    check(What::Arithmetic(op), &operands, cut(want, result.expect("a result")));
}

const SIGNED: [(Scalar, i128); 4] =
    [(I8, -(1 << 7)), (I16, -(1 << 15)), (I32, -(1 << 31)), (I64, -(1 << 63))];
const UNSIGNED: [Scalar; 4] = [U8, U16, U32, U64];

#[test]
fn integers() {
    for (s, min) in SIGNED {
        let max = -(min + 1);
        ints(BinaryAdd, s, &[max, 1], min);
        ints(BinarySub, s, &[min, 1], max);
        ints(BinaryMul, s, &[min, -1], min);
        ints(UnaryMinus, s, &[min], min);
        ints(Abs, s, &[min], min);
        ints(Abs, s, &[-5], 5);
        for x in [7, -7, min, max, 0] {
            ints(BinaryDiv, s, &[x, 0], x);
            ints(BinaryMod, s, &[x, 0], 0);
        }
        ints(BinaryDiv, s, &[min, -1], min);
        ints(BinaryMod, s, &[min, -1], 0);
        ints(BinaryDiv, s, &[-7, 2], -3);
        ints(BinaryMod, s, &[-7, 2], -1);
        ints(BinaryMod, s, &[7, -2], 1);
        let bits = i128::from(s.bits());
        ints(BinaryShiftLeft, s, &[1, bits], 1);
        ints(BinaryShiftLeft, s, &[1, -1], min);
        ints(BinaryShiftRight, s, &[min, -1], -1);
        ints(BinaryShiftRight, s, &[min, bits + 1], min / 2);
        ints(BinaryRotateLeft, s, &[min, 1], 1);
        ints(Clz, s, &[0], bits);
        ints(Ctz, s, &[0], bits);
        ints(Clz, s, &[-1], 0);
        ints(Popcount, s, &[-1], bits);
        ints(Reverse, s, &[1], min);
        ints(Clamp, s, &[5, 10, -10], -10);
        ints(BinaryLess, s, &[min, 0], 1);
        ints(Min, s, &[min, max], min);
        ints(Max, s, &[min, max], max);
        ints(UnaryBitNot, s, &[0], -1);
    }
    for s in UNSIGNED {
        let max = (1i128 << s.bits()) - 1;
        ints(BinaryAdd, s, &[max, 1], 0);
        ints(BinarySub, s, &[0, 1], max);
        ints(UnaryMinus, s, &[1], max);
        ints(Abs, s, &[max], max);
        ints(BinaryDiv, s, &[max, 0], max);
        ints(BinaryMod, s, &[max, 0], 0);
        ints(BinaryShiftRight, s, &[max, i128::from(s.bits()) - 1], 1);
        ints(BinaryLess, s, &[max, 0], 0);
        ints(Max, s, &[max, 0], max);
        ints(Clamp, s, &[5, 10, 3], 3);
    }
    // The amount may be of another type.
    check(What::Arithmetic(BinaryShiftLeft), &[(U64, 1), (I8, 0xff)], 1 << 63);
    check(What::Arithmetic(BinaryShiftRight), &[(U8, 0x80), (I64, u64::MAX)], 1);
}

fn half(x: f64) -> u64 {
    eval::double_to_half(x)
}
fn bits(s: Scalar, x: f64) -> u64 {
    match s {
        F16 => half(x),
        F32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

/// An operation on floats of every format that gives floats.
#[track_caller]
fn floats(op: ArithmeticOp, operands: &[f64], want: f64) {
    for s in [F16, F32, F64] {
        let operands: Vec<(Scalar, u64)> = operands.iter().map(|&x| (s, bits(s, x))).collect();
        check(What::Arithmetic(op), &operands, bits(s, want));
    }
}

/// A comparison or test of floats of every format.
#[track_caller]
fn tests(op: ArithmeticOp, operands: &[f64], want: bool) {
    for s in [F16, F32, F64] {
        let operands: Vec<(Scalar, u64)> = operands.iter().map(|&x| (s, bits(s, x))).collect();
        check(What::Arithmetic(op), &operands, want.into());
    }
}

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn floats_of_every_format() {
    for (a, b, min, max) in [
        (1.0, 2.0, 1.0, 2.0),
        (NAN, 1.0, 1.0, 1.0),
        (1.0, NAN, 1.0, 1.0),
        (-0.0, 0.0, -0.0, 0.0),
        (0.0, -0.0, -0.0, 0.0),
    ] {
        floats(Min, &[a, b], min);
        floats(Max, &[a, b], max);
    }
    floats(Min, &[NAN, NAN], NAN);
    tests(BinaryNotEqual, &[NAN, NAN], true);
    tests(BinaryEqual, &[NAN, NAN], false);
    tests(BinaryGreaterEqual, &[NAN, 1.0], false);
    tests(BinaryLess, &[NAN, 1.0], false);
    tests(BinaryEqual, &[0.0, -0.0], true);
    tests(Isnan, &[NAN], true);
    tests(Isnan, &[INF], false);
    tests(Isinf, &[-INF], true);
    floats(Saturate, &[NAN], 0.0);
    floats(Saturate, &[2.0], 1.0);
    floats(Saturate, &[-0.0], 0.0);
    floats(Clamp, &[NAN, -2.0, 3.0], -2.0);
    floats(Clamp, &[0.0, 5.0, 3.0], 3.0);
    floats(Step, &[1.0, 1.0], 1.0);
    floats(Step, &[1.0, 0.5], 0.0);
    floats(Step, &[1.0, NAN], 1.0);
    floats(Lerp, &[1.0, 3.0, 0.25], 1.5);
    floats(Smoothstep, &[0.0, 2.0, 1.0], 0.5);
    floats(Smoothstep, &[0.0, 0.0, 0.0], 0.0);
    floats(Fract, &[-0.25], 0.75);
    for (x, round, rint) in [
        (0.5, 1.0, 0.0),
        (1.5, 2.0, 2.0),
        (2.5, 3.0, 2.0),
        (-0.5, -1.0, -0.0),
        (-2.5, -3.0, -2.0),
        (-0.25, -0.0, -0.0),
    ] {
        floats(Round, &[x], round);
        floats(Rint, &[x], rint);
    }
    for (x, y, rest) in [
        (5.5, 2.0, 1.5),
        (-5.5, 2.0, -1.5),
        (5.5, -2.0, 1.5),
        (1.0, 0.0, NAN),
        (2.0, INF, 2.0),
        (-4.0, 2.0, -0.0),
    ] {
        floats(BinaryMod, &[x, y], rest);
    }
    floats(BinaryDiv, &[1.0, 0.0], INF);
    floats(BinaryDiv, &[0.0, 0.0], NAN);
    floats(Sqrt, &[-1.0], NAN);
    floats(Rsqrt, &[4.0], 0.5);
    floats(Copysign, &[1.0, -0.0], -1.0);
    floats(Pow, &[-2.0, 3.0], -8.0);
    floats(Pow, &[-2.0, 0.5], NAN);
    floats(Exp2, &[3.0], 8.0);
    floats(UnaryMinus, &[0.0], -0.0);
    floats(Abs, &[-0.0], 0.0);
}

#[test]
fn sign_operations_keep_the_bits_of_nan() {
    for (s, sign) in [(F16, 1u64 << 15), (F32, 1 << 31), (F64, 1 << 63)] {
        let nan = bits(s, NAN) & !sign | 5;
        for (op, operands, want) in [
            (UnaryMinus, vec![(s, nan)], nan | sign),
            (Abs, vec![(s, nan | sign)], nan),
            (Copysign, vec![(s, nan), (s, sign)], nan | sign),
        ] {
            let module = Module::new();
            let values: Vec<Vec<u8>> =
                operands.iter().map(|o| o.1.to_le_bytes()[..s.size() as usize].to_vec()).collect();
            let slices: Vec<(TypeId, &[u8])> =
                values.iter().map(|v| (TypeId::scalar(s), &v[..])).collect();
            let folded =
                eval::fold(&module.types, op, TypeId::scalar(s), &slices).expect("a constant");
            assert_eq!(folded, want.to_le_bytes()[..s.size() as usize], "{}", op.name());
        }
    }
}

#[test]
fn halves_round_each_operation_once() {
    let check_half = |op, operands: &[f64], want: f64| {
        let operands: Vec<(Scalar, u64)> = operands.iter().map(|&x| (F16, half(x))).collect();
        check(What::Arithmetic(op), &operands, half(want));
    };
    check_half(BinaryAdd, &[2048.0, 1.0], 2048.0);
    check_half(BinaryAdd, &[2050.0, 1.0], 2052.0);
    check_half(BinaryMul, &[65504.0, 2.0], INF);
    check_half(BinaryMul, &[f64::from(2f32.powi(-14)), 0.5], f64::from(2f32.powi(-15)));
    // The exact sum lies just above a tie: rounding to single or double first would lose that.
    let (a, b, c) = (1.0 + 2f64.powi(-10), 1.0 + 2f64.powi(-10), 2f64.powi(-24));
    let exact = 1.0 + 2f64.powi(-9) + 2f64.powi(-20) + c;
    check_half(Fma, &[a, b, c], exact);
    check_half(Fma, &[2048.0, 1.0, 1.0 + 2f64.powi(-10)], 2050.0);
    check_half(Fma, &[4096.0, 0.5, -1.0 - 2f64.powi(-10)], 2047.0);
    // From double, rounded once: through single this would be a tie.
    let above_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    check(What::Cast(F16), &[(F64, above_tie.to_bits())], half(1.0) + 1);
    check(What::Cast(F16), &[(F64, (1.0 + 2f64.powi(-11)).to_bits())], half(1.0));
    check(What::Cast(F16), &[(F64, 65519.99f64.to_bits())], 0x7bff);
    check(What::Cast(F16), &[(F64, 65520f64.to_bits())], 0x7c00);
    check(What::Cast(F16), &[(F64, 2f64.powi(-25).to_bits())], 0);
    check(What::Cast(F16), &[(F64, (2f64.powi(-25) * 1.0001).to_bits())], 1);
    check(What::Cast(F16), &[(U64, u64::MAX)], 0x7c00);
}

#[test]
fn every_half_converts_back() {
    for bits in 0..=0xffffu64 {
        let x = eval::half_to_double(bits);
        if x.is_nan() {
            assert!(is_nan(F16, half(x)));
        } else {
            assert_eq!(half(x), bits);
            assert_eq!(half(x), u64::from(half::f16::from_f32(x as f32).to_bits()));
        }
    }
}

#[test]
fn conversions() {
    let cast = |from: Scalar, bits: u64, to: Scalar, want: u64| {
        check(What::Cast(to), &[(from, bits)], want)
    };
    for (x, i8w, u8w, i32w, u32w) in [
        (3.9, 3i8, 3u8, 3i32, 3u32),
        (-3.9, -3, 0, -3, 0),
        (300.0, 127, 255, 300, 300),
        (1e20, 127, 255, i32::MAX, u32::MAX),
        (-1e20, -128, 0, i32::MIN, 0),
        (NAN, 0, 0, 0, 0),
        (INF, 127, 255, i32::MAX, u32::MAX),
    ] {
        for from in [F32, F64] {
            cast(from, bits(from, x), I8, i8w as u8 as u64);
            cast(from, bits(from, x), U8, u8w.into());
            cast(from, bits(from, x), I32, i32w as u32 as u64);
            cast(from, bits(from, x), U32, u32w.into());
        }
    }
    cast(F32, bits(F32, 1e30), I64, i64::MAX as u64);
    cast(F32, bits(F32, 1e30), U64, u64::MAX);
    cast(F64, bits(F64, -1.0), U64, 0);
    cast(U64, u64::MAX, F32, bits(F32, 18446744073709551616.0));
    cast(I64, (1 << 53) + 1, F64, bits(F64, 9007199254740992.0));
    // Rounded once: through double this would be a tie that goes to even.
    cast(U64, (1 << 60) + (1 << 36) + 1, F32, bits(F32, 2f64.powi(60)) + 1);
    cast(I32, 0xffff_ff80, I8, 0x80);
    cast(I8, 0x80, U64, u64::MAX - 0x7f);
    cast(U8, 0x80, I64, 0x80);
    for s in [F16, F32, F64] {
        cast(s, bits(s, NAN), Bool, 1);
        cast(s, bits(s, -0.0), Bool, 0);
        cast(s, bits(s, 0.25), Bool, 1);
        cast(Bool, 1, s, bits(s, 1.0));
    }
    cast(I64, 1 << 40, Bool, 1);
    cast(Bool, 1, I8, 1);
}

#[test]
fn integral_powers() {
    for (x, n, want) in [
        (2.0, 10i64, 1024.0),
        (2.0, -2, 0.25),
        (NAN, 0, 1.0),
        (-2.0, 3, -8.0),
        (1.0, i64::from(i32::MIN), 1.0),
        (2.0, i64::from(i32::MIN), 0.0),
        (-1.0, i64::from(i32::MAX), -1.0),
    ] {
        for s in [F16, F32, F64] {
            check(
                What::Arithmetic(PowInt),
                &[(s, bits(s, x)), (I32, n as u32 as u64)],
                bits(s, want),
            );
        }
    }
    check(What::Arithmetic(PowInt), &[(F64, bits(F64, 1.0)), (I64, 1 << 63)], bits(F64, 1.0));
    check(
        What::Arithmetic(PowInt),
        &[(F32, bits(F32, -1.0)), (U32, u32::MAX.into())],
        bits(F32, -1.0),
    );
}

#[test]
fn bools() {
    for a in [0, 1] {
        check(What::Arithmetic(UnaryBitNot), &[(Bool, a)], 1 - a);
        for b in [0, 1] {
            check(What::Arithmetic(BinaryBitAnd), &[(Bool, a), (Bool, b)], a & b);
            check(What::Arithmetic(BinaryBitOr), &[(Bool, a), (Bool, b)], a | b);
            check(What::Arithmetic(BinaryBitXor), &[(Bool, a), (Bool, b)], a ^ b);
            check(What::Arithmetic(BinaryEqual), &[(Bool, a), (Bool, b)], u64::from(a == b));
        }
        check(What::Arithmetic(Select), &[(F32, 7), (F32, 9), (Bool, a)], 7 + 2 * a);
    }
}

/// The functions of one scalar that stand for a formula give the bits of the formula.
#[test]
fn formulas_agree_with_their_short_forms() {
    use luisac_xir::math::composite::{self, Lane, Operand, Scalars, Shape};
    struct Each;
    impl Scalars for Each {
        type Value = u64;
        fn constant(&mut self, _: Scalar, bits: u64) -> u64 {
            bits
        }
        fn apply(&mut self, op: ArithmeticOp, args: &[Lane<u64>]) -> u64 {
            match *args {
                [a] => eval::unary(op, a.scalar).expect("an operation")(a.value),
                [a, b] => {
                    eval::binary(op, a.scalar, b.scalar).expect("an operation")(a.value, b.value)
                }
                [a, b, c] => {
                    eval::ternary(op, a.scalar).expect("an operation")(a.value, b.value, c.value)
                }
                _ => 0,
            }
        }
        fn cast(&mut self, value: Lane<u64>, to: Scalar) -> u64 {
            eval::cast(value.scalar, to).expect("a conversion")(value.value)
        }
    }
    let samples = [0.0, -0.0, 0.1, -0.7, 1.0, 2.5, -3.25, 1e-5, 60000.0, NAN, INF, -INF];
    for s in [F16, F32, F64] {
        let operand = |x: f64| Operand { scalar: s, shape: Shape::Scalar, lanes: vec![bits(s, x)] };
        let agree = |op: ArithmeticOp, xs: &[f64]| {
            let operands: Vec<Operand<u64>> = xs.iter().map(|&x| operand(x)).collect();
            let by_formula = composite::expand(&mut Each, op, &operands)[0];
            let types: Vec<TypeId> = xs.iter().map(|_| TypeId::scalar(s)).collect();
            let values: Vec<[u64; 1]> = xs.iter().map(|&x| [bits(s, x)]).collect();
            let slices: Vec<&[u64]> = values.iter().map(|v| &v[..]).collect();
            let plan = eval::plan(&Module::new().types, op, &types).expect("a plan");
            let short = plan.apply(&slices)[0];
            assert!(
                by_formula == short || is_nan(s, by_formula) && is_nan(s, short),
                "{} of {xs:?} as {s:?}: {by_formula:#x} and {short:#x}",
                op.name()
            );
        };
        for a in samples {
            for op in [Saturate, Fract, Rsqrt] {
                agree(op, &[a]);
            }
            for b in samples {
                agree(Step, &[a, b]);
                for c in samples {
                    for op in [Clamp, Lerp, Smoothstep] {
                        agree(op, &[a, b, c]);
                    }
                }
            }
        }
    }
}

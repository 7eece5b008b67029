//! `lower_edge_cases` on every operand: all integers of 8 bits, all halves, and the edges of the wider types.
//!
//! Expressions of one operation are transformed. Both forms are computed by the interpreter's own functions on all operands, and
//! every bit must agree, but for which NaN it is. The computation of the transformed one stops at an operand that a language
//! for GPUs leaves open, and at an operation that the pass says is gone.

#[path = "support/sheet.rs"]
mod sheet;

use luisac_xir::math::composite;
use luisac_xir::op::{ArithmeticOp, CastOp, Rule};
use luisac_xir::{Op, Scalar, TypeId, eval};
use sheet::{Evaluation, Sheet, is_nan, prints, show};
use std::rc::Rc;

/// Transforms, computes and compares; how many expressions became something else.
fn compare(sheet: Sheet, options: &str, x: &[u64], y: &[u64]) -> usize {
    let (module, before, after) = sheet.transform(&format!("lower_edge_cases{{{options}}}"));
    let (before, after) = (&before, &after);
    let columns = [x, y].map(|c| Rc::new(c.to_vec()));
    let mut old = Evaluation::new(&module, before, &columns);
    let mut new = Evaluation::new(&module, after, &columns).that_refuses(left_open);
    let (old_prints, new_prints) = (prints(before), prints(after));
    assert_eq!(old_prints.len(), new_prints.len());
    let mut changed = 0;
    for (a, b) in old_prints.into_iter().zip(new_prints) {
        changed += usize::from(a != b);
        let (want, got) = (old.value(a), new.value(b));
        let scalar = module.types.scalar_of(before.value_type(a)).unwrap();
        for (want, got) in want.iter().zip(&got) {
            let same =
                |i: usize| want[i] == got[i] || is_nan(scalar, want[i]) && is_nan(scalar, got[i]);
            if let Some(i) = (0..want.len()).find(|&i| !same(i)) {
                let (x, y, want, got) = (x[i], y[i], want[i], got[i]);
                let what = show(before, a);
                panic!("{what} at x = {x:#x}, y = {y:#x}: {want:#x}, lowered {got:#x}");
            }
        }
    }
    changed
}

/// What a language may leave open about an operation on these operands.
fn left_open(op: Op, kinds: &[Scalar], result: Scalar, bits: &[u64]) -> Option<&'static str> {
    use ArithmeticOp::*;
    let kind = kinds[0];
    let width = u64::from(kind.bits());
    match op {
        Op::Arithmetic(BinaryDiv | BinaryMod) if kind.is_int() => {
            let all = u64::MAX >> (64 - width);
            let overflows = kind.is_signed() && bits[0] == 1 << (width - 1) && bits[1] == all;
            let signed_rest = op == Op::Arithmetic(BinaryMod) && kind.is_signed();
            (bits[1] == 0 || overflows || signed_rest).then_some("division")
        }
        Op::Arithmetic(BinaryShiftLeft | BinaryShiftRight) => {
            (kinds[1] != kind || bits[1] >= width).then_some("amount")
        }
        Op::Arithmetic(Abs) => (kind.is_int() && kind.is_signed()).then_some("magnitude"),
        Op::Arithmetic(Min | Max) => kind.is_float().then_some("extreme"),
        Op::Arithmetic(Clz | Ctz) => (kind != Scalar::U32 || bits[0] == 0).then_some("count"),
        Op::Arithmetic(Popcount | Reverse) => (kind != Scalar::U32).then_some("bits"),
        Op::Arithmetic(BinaryRotateLeft | BinaryRotateRight | Isnan | Isinf | Round | Copysign) => {
            Some("operation")
        }
        Op::Arithmetic(op) => composite::is_formula(op).then_some("formula"),
        Op::Cast(CastOp::Static) if kind != result && [kind, result].contains(&Scalar::Bool) => {
            Some("bool")
        }
        Op::Cast(CastOp::Static) if kind.is_float() && result.is_int() => {
            let x = number(kind, bits[0]).trunc();
            let ends = match result {
                Scalar::I32 => -2_147_483_648.0..2_147_483_648.0,
                Scalar::U32 => 0.0..4_294_967_296.0,
                Scalar::I64 => -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0,
                Scalar::U64 => 0.0..18_446_744_073_709_551_616.0,
                _ => return Some("small integer"),
            };
            (!ends.contains(&x)).then_some("conversion")
        }
        _ => None,
    }
}

fn number(kind: Scalar, bits: u64) -> f64 {
    match kind {
        Scalar::F16 => eval::half_to_double(bits),
        Scalar::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

// ---- operands

/// All pairs of the first and the second.
fn pairs(first: &[u64], second: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let x = first.iter().flat_map(|&a| second.iter().map(move |_| a)).collect();
    let y = first.iter().flat_map(|_| second.iter().copied()).collect();
    (x, y)
}

/// Edges of an integer of more than 8 bits.
fn integer_edges(scalar: Scalar) -> Vec<u64> {
    let mask = u64::MAX >> (64 - scalar.bits());
    let near =
        [0, 1, 2, 4, 7, 8, 15, 16, 31, 32, 62, 63].into_iter().filter(|&i| i < scalar.bits());
    let ends = near.flat_map(|i| [1 << i, (1u64 << i).wrapping_sub(1), !0 << i]);
    let mut edges: Vec<u64> = ends.chain([3, 7, 0x1234_5678_9abc_def0]).map(|b| b & mask).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Floats at the edges of every integer type, of the format, and on both sides of halves.
fn float_edges(scalar: Scalar) -> Vec<u64> {
    let mut numbers: Vec<f64> = vec![0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 1e30, f64::INFINITY];
    numbers.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|e| 2f64.powi(e)));
    numbers.extend([126.5, 127.5, 254.5, 255.5, 32766.5, 32767.5, 65534.5, 65535.5]);
    let encode = |x: f64| match scalar {
        Scalar::F16 => eval::double_to_half(x),
        Scalar::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    };
    let nan = encode(f64::NAN);
    let sign = 1 << (scalar.bits() - 1);
    let mut edges: Vec<u64> = numbers.into_iter().map(encode).collect();
    let near = edges.clone();
    edges.extend(near.iter().flat_map(|b| [b + 1, b.saturating_sub(1)]));
    edges.extend([nan, nan | 1]);
    edges.extend(edges.clone().iter().map(|b| b ^ sign));
    edges.sort_unstable();
    edges.dedup();
    edges
}

// ---- sheets

/// The operations of so many operands of one type, but for mathematical functions and the remainder of floats.
fn operations(scalar: Scalar, arity: usize) -> Vec<ArithmeticOp> {
    let mut all = sheet::operations(scalar, arity);
    all.retain(|&op| !(op == ArithmeticOp::BinaryMod && scalar.is_float()));
    all
}

/// Each operation on scalars, on vectors, and with constants in the place of `y`.
fn operation_sheet(scalar: Scalar, constants: &[u64]) -> Sheet {
    let ty = TypeId::scalar(scalar);
    let vector = TypeId::vector(scalar, 2);
    let mut sheet = Sheet::new([ty, ty]);
    for op in (1..=3).flat_map(|n| operations(scalar, n)) {
        let count = op.arity().0;
        let pick = |x, y| [x, y, x][..count].to_vec();
        sheet.add(|b, x, y| b.arithmetic(op, &pick(x, y)));
        if op.rule() != Rule::BoolReduce {
            sheet.add(|b, x, y| {
                let (v, w) = (b.aggregate(vector, &[x, y]), b.aggregate(vector, &[y, x]));
                b.arithmetic(op, &pick(v, w))
            });
        }
        for &c in constants.iter().filter(|_| count > 1) {
            for swapped in [false, true] {
                sheet.add(|b, x, _| {
                    let c = b.func.scalar_constant(ty, c, b.types);
                    b.arithmetic(op, &if swapped { pick(c, x) } else { pick(x, c) })
                });
            }
        }
    }
    sheet
}

fn all(scalar: Scalar) -> Vec<u64> {
    (0..1 << scalar.bits()).collect()
}

#[test]
fn integers() {
    for scalar in Scalar::ALL.iter().copied().filter(|s| s.is_int() && s.bits() >= 8) {
        let domain = if scalar.bits() == 8 { all(scalar) } else { integer_edges(scalar) };
        let (x, y) = pairs(&domain, &domain);
        let mask = u64::MAX >> (64 - scalar.bits());
        let constants = [0, 1, 2, mask, 1 << (scalar.bits() - 1)];
        let changed = compare(operation_sheet(scalar, &constants), "fast_math=false", &x, &y);
        assert!(changed > 40, "{}: {changed}", scalar.name());
    }
}

/// Amounts of shifts and rotations of other types than the value.
#[test]
fn amounts_of_other_types() {
    use ArithmeticOp::*;
    for value in [Scalar::I8, Scalar::U16, Scalar::I32, Scalar::U64] {
        for amount in [Scalar::I8, Scalar::U8, Scalar::I32, Scalar::U64] {
            let mut sheet = Sheet::new([value, amount].map(TypeId::scalar));
            for op in [BinaryShiftLeft, BinaryShiftRight, BinaryRotateLeft, BinaryRotateRight] {
                sheet.add(|b, x, y| b.arithmetic(op, &[x, y]));
                sheet.add(|b, x, _| {
                    let y = b.func.scalar_constant(TypeId::scalar(amount), 0xfb, b.types);
                    b.arithmetic(op, &[x, y])
                });
            }
            let (x, y) = pairs(&integer_edges(value), &integer_edges(amount));
            assert_eq!(compare(sheet, "fast_math=false", &x, &y), 8);
        }
    }
}

#[test]
fn floats() {
    for scalar in [Scalar::F16, Scalar::F32, Scalar::F64] {
        let edges = float_edges(scalar);
        let (x, y) = pairs(&edges, &edges);
        let one = match scalar {
            Scalar::F16 => 0x3c00,
            Scalar::F32 => 0x3f80_0000,
            _ => 1.0f64.to_bits(),
        };
        for options in ["short_words=true", "short_words=false"] {
            if scalar != Scalar::F16 && options == "short_words=false" {
                continue;
            }
            let changed = compare(operation_sheet(scalar, &[0, one]), options, &x, &y);
            assert!(changed > 40, "{}: {changed}", scalar.name());
        }
    }
}

#[test]
fn all_halves_alone() {
    let mut sheet = Sheet::new([TypeId::F16; 2]);
    for op in operations(Scalar::F16, 1) {
        sheet.add(|b, x, _| b.arithmetic(op, &[x]));
    }
    let halves = all(Scalar::F16);
    assert!(compare(sheet, "fast_math=false", &halves, &halves) >= 5);
}

/// Scalars stand for every component.
#[test]
fn spread_operands() {
    use ArithmeticOp::*;
    let vector = TypeId::vector(Scalar::F16, 3);
    let mut sheet = Sheet::new([TypeId::F16; 2]);
    sheet.add(|b, x, y| {
        let (v, w) = (b.aggregate(vector, &[x, y, x]), b.aggregate(vector, &[y, y, x]));
        b.arithmetic(Lerp, &[v, w, y])
    });
    sheet.add(|b, x, y| {
        let v = b.aggregate(vector, &[x, y, x]);
        b.arithmetic(Step, &[y, v])
    });
    sheet.add(|b, x, y| {
        let v = b.aggregate(vector, &[x, y, x]);
        b.arithmetic(Smoothstep, &[x, y, v])
    });
    let edges = float_edges(Scalar::F16);
    let (x, y) = pairs(&edges, &edges);
    assert_eq!(compare(sheet, "fast_math=false", &x, &y), 3);
}

#[test]
fn conversions() {
    let scalars: Vec<Scalar> = Scalar::ALL
        .iter()
        .copied()
        .filter(|&s| s == Scalar::F32 || eval::cast(s, Scalar::F32).is_some())
        .collect();
    let mut changed = 0;
    for &from in &scalars {
        let domain = match from {
            Scalar::Bool => vec![0, 1],
            Scalar::F16 => all(from),
            _ if from.is_float() => float_edges(from),
            _ => integer_edges(from),
        };
        let mut sheet = Sheet::new([TypeId::scalar(from); 2]);
        for &to in &scalars {
            sheet.add(|b, x, _| b.value(Op::Cast(CastOp::Static), TypeId::scalar(to), &[x]));
            sheet.add(|b, x, y| {
                let pair = b.aggregate(TypeId::vector(from, 2), &[x, y]);
                b.value(Op::Cast(CastOp::Static), TypeId::vector(to, 2), &[pair])
            });
        }
        let reversed: Vec<u64> = domain.iter().rev().copied().collect();
        changed += compare(sheet, "fast_math=false", &domain, &reversed);
    }
    assert!(changed > 80, "{changed}");
}

/// What a target has stays, and nothing else.
#[test]
fn native_operations_stay() {
    let mut sheet = Sheet::new([TypeId::F32; 2]);
    sheet.add(|b, x, y| b.arithmetic(ArithmeticOp::BinaryAdd, &[x, y]));
    assert_eq!(compare(sheet, "fast_math=false", &[0], &[0]), 0);
    let run = |options: &str| {
        let mut sheet = Sheet::new([TypeId::F32; 2]);
        sheet.add(|b, x, _| b.arithmetic(ArithmeticOp::Fract, &[x]));
        let (_, before, after) = sheet.transform(&format!("lower_edge_cases{{{options}}}"));
        prints(&before) != prints(&after)
    };
    assert!(run("native=fract.f16|fract.u32") && !run("native=fract.f32") && !run("native=fract"));
}

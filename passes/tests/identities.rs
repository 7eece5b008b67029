//! Every identity that the passes on arithmetic use, on every operand: all integers of 8 bits, all halves, all truth values.
//!
//! Expressions of all shapes that an identity could look at are transformed; where one becomes something else, both forms are
//! computed by the interpreter's own functions on all operands, and every bit must agree. Two things are not defined: whether
//! arithmetic makes a signalling NaN quiet, and which NaN comes of two.

#[path = "support/sheet.rs"]
mod sheet;

use luisac_xir::op::{ArithmeticOp, CastOp, Rule};
use luisac_xir::{Builder, Function, Op, Scalar, TypeId, ValueId, eval};
use sheet::{Column, Evaluation, Sheet, is_nan, operations, prints, show};
use std::rc::Rc;

/// Operands to try: values of `x` where `y` does not matter, and pairs.
struct Domain {
    alone: Column,
    pairs: [Column; 2],
}

impl Domain {
    /// All of `alone`, and all pairs of `paired`.
    fn new(alone: Vec<u64>, paired: &[u64]) -> Domain {
        let x = paired.iter().flat_map(|&a| paired.iter().map(move |_| a)).collect();
        let y = paired.iter().flat_map(|_| paired.iter().copied()).collect();
        Domain { alone: Rc::new(alone), pairs: [Rc::new(x), Rc::new(y)] }
    }
}

/// Runs the passes and compares what changed on all operands; the number of expressions that changed.
fn compare(sheet: Sheet, pipeline: &str, domain: &Domain) -> usize {
    let second = sheet.arguments[1];
    let (module, before, after) = sheet.transform(pipeline);
    let (before, after) = (&before, &after);
    let (old, new) = (prints(before), prints(after));
    assert_eq!(old.len(), new.len());
    let mut changed = 0;
    for (a, b) in old.into_iter().zip(new) {
        // What became of an operand alone is an expression of its own.
        if a == b {
            continue;
        }
        changed += 1;
        let [x, y] = match mentions(before, a, second) {
            true => domain.pairs.clone(),
            false => [domain.alone.clone(), domain.alone.clone()],
        };
        let columns = [x.clone(), y.clone()];
        let run = |f: &Function, v| Evaluation::new(&module, f, &columns).value(v)[0].clone();
        let (want, got) = (run(before, a), run(after, b));
        let scalar = module.types.scalar_of(before.value_type(a)).unwrap();
        let operand = module.types.scalar_of(before.arguments[0].ty).unwrap();
        let differs = |i: usize| {
            let (a, b) = (want[i], got[i]);
            let two = !Rc::ptr_eq(&x, &y) && [x[i], y[i]].iter().all(|&v| is_nan(operand, v));
            let both = is_nan(scalar, a) && is_nan(scalar, b);
            a != b && !(both && (two || a ^ b == quiet_bit(scalar)))
        };
        if let Some(i) = (0..want.len()).find(|&i| differs(i)) {
            let (from, to) = (show(before, a), show(after, b));
            let (x, y, want, got) = (x[i], y[i], want[i], got[i]);
            panic!("{pipeline}: {from} is not {to} at x = {x:#x}, y = {y:#x}: {want:#x}, {got:#x}");
        }
    }
    changed
}

/// The bit of a NaN that says that it is quiet.
fn quiet_bit(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::F16 => 1 << 9,
        Scalar::F32 => 1 << 22,
        _ => 1 << 51,
    }
}

/// Whether an expression has the value in it.
fn mentions(f: &Function, expression: ValueId, value: ValueId) -> bool {
    let inside = |inst| f.args(inst).iter().any(|&a| mentions(f, a, value));
    expression == value || f.def_inst(expression).is_some_and(inside)
}

// ---- shapes

/// Whether the result has the type of the operands.
fn closed(op: ArithmeticOp) -> bool {
    !matches!(op.rule(), Rule::Order | Rule::Equality | Rule::FloatTest)
}

/// One operation on `x`, `y` and constants.
fn single(sheet: &mut Sheet, scalar: Scalar, constants: &[u64]) {
    let ty = TypeId::scalar(scalar);
    for op in operations(scalar, 1) {
        sheet.add(|b, x, _| b.arithmetic(op, &[x]));
    }
    for op in operations(scalar, 2) {
        sheet.add(|b, x, y| b.arithmetic(op, &[x, y]));
        sheet.add(|b, x, _| b.arithmetic(op, &[x, x]));
        for &c in constants {
            for swapped in [false, true] {
                sheet.add(|b, x, _| {
                    let c = b.func.scalar_constant(ty, c, b.types);
                    b.arithmetic(op, &if swapped { [c, x] } else { [x, c] })
                });
            }
        }
    }
}

/// Operands of an outer operation: the inner result, `x`, `y` or a constant.
#[derive(Clone, Copy)]
enum Leaf {
    Inner,
    X,
    Y,
    Constant(u64),
}

/// An operation on the result of another, with every arrangement of operands.
fn nested(sheet: &mut Sheet, scalar: Scalar, constants: &[u64]) {
    let ty = TypeId::scalar(scalar);
    let few: Vec<Leaf> = [Leaf::X, Leaf::Y]
        .into_iter()
        .chain(constants.iter().map(|&c| Leaf::Constant(c)))
        .collect();
    let pick = |b: &mut Builder<'_>, leaf, inner, x, y| match leaf {
        Leaf::Inner => inner,
        Leaf::X => x,
        Leaf::Y => y,
        Leaf::Constant(c) => b.func.scalar_constant(ty, c, b.types),
    };
    let unary = operations(scalar, 1);
    let binary = operations(scalar, 2);
    let mut inners: Vec<(ArithmeticOp, Vec<Leaf>)> = Vec::new();
    inners.extend(unary.iter().map(|&op| (op, vec![Leaf::X])));
    for &op in &binary {
        inners.push((op, vec![Leaf::X, Leaf::Y]));
        inners.extend(
            few[2..].iter().flat_map(|&c| [(op, vec![Leaf::X, c]), (op, vec![c, Leaf::X])]),
        );
    }
    for (inner, leaves) in inners {
        let outers: Vec<(ArithmeticOp, Vec<Leaf>)> = if closed(inner) {
            // Three different leaves are no identity's business.
            let two = leaves.iter().any(|l| matches!(l, Leaf::Constant(_)));
            let others = few.iter().filter(|l| !(two && matches!(l, Leaf::Y)));
            let others: Vec<Leaf> = others.copied().collect();
            let pairs = |&op| {
                let both = others.iter().flat_map(|&l| [[Leaf::Inner, l], [l, Leaf::Inner]]);
                both.map(move |leaves| (op, leaves.to_vec())).collect::<Vec<_>>()
            };
            let one = unary.iter().map(|&op| (op, vec![Leaf::Inner]));
            one.chain(binary.iter().flat_map(pairs)).collect()
        } else {
            vec![(ArithmeticOp::UnaryBitNot, vec![Leaf::Inner])]
        };
        for (outer, operands) in outers {
            sheet.add(|b, x, y| {
                let args: Vec<ValueId> = leaves.iter().map(|&l| pick(b, l, x, x, y)).collect();
                let inner = b.arithmetic(inner, &args);
                let args: Vec<ValueId> =
                    operands.iter().map(|&l| pick(b, l, inner, x, y)).collect();
                b.arithmetic(outer, &args)
            });
        }
    }
}

/// Random sums and products of `x`, `y` and constants, each tree with operations of its own.
fn trees(sheet: &mut Sheet, ty: TypeId, count: usize) {
    let mut state = 1u64;
    let mut below = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    for _ in 0..count {
        sheet.add(|b, x, y| {
            let mut values: Vec<ValueId> = Vec::new();
            for _ in 0..3 + below(4) {
                let constant = b.func.scalar_constant(ty, below(256), b.types);
                values.push([x, y, constant][below(3) as usize]);
            }
            while values.len() > 1 {
                let (first, second) = (values.remove(0), values.remove(0));
                let op =
                    [ArithmeticOp::BinaryAdd, ArithmeticOp::BinarySub, ArithmeticOp::BinaryMul]
                        [below(3) as usize];
                let mut value = b.arithmetic(op, &[first, second]);
                if below(5) == 0 {
                    value = b.arithmetic(ArithmeticOp::UnaryMinus, &[value]);
                }
                values.push(value);
            }
            values[0]
        });
    }
}

/// Operations of three operands: `x`, `y` and constants in every place.
fn ternary(sheet: &mut Sheet, scalar: Scalar, constants: &[u64]) {
    let ty = TypeId::scalar(scalar);
    for op in operations(scalar, 3) {
        for &c in constants {
            for &d in constants {
                for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0]] {
                    sheet.add(|b, x, _| {
                        let of = |b: &mut Builder<'_>, c| b.func.scalar_constant(ty, c, b.types);
                        let values = [x, of(b, c), of(b, d)];
                        b.arithmetic(op, &order.map(|i: usize| values[i]))
                    });
                    sheet.add(|b, x, y| {
                        let values = [x, y, b.func.scalar_constant(ty, c, b.types)];
                        b.arithmetic(op, &order.map(|i: usize| values[i]))
                    });
                }
            }
        }
    }
}

/// Tries single and nested operations of a type under a pass; how many became something else.
fn prove(pass: &str, scalar: Scalar, singles: &[u64], few: &[u64], domain: &Domain) -> usize {
    let mut sheet = Sheet::new([TypeId::scalar(scalar); 2]);
    single(&mut sheet, scalar, singles);
    nested(&mut sheet, scalar, few);
    ternary(&mut sheet, scalar, few);
    compare(sheet, pass, domain)
}

#[test]
fn integers_of_eight_bits() {
    let all: Vec<u64> = (0..256).collect();
    let domain = Domain::new(all.clone(), &all);
    for scalar in [Scalar::I8, Scalar::U8] {
        let ty = TypeId::scalar(scalar);
        let few = [0, 1, 2, 128, 255];
        let simplified = prove("algebraic_simplify", scalar, &all, &few, &domain);
        let called = prove("simplify_libcalls", scalar, &few, &few, &domain);
        let mut sheet = Sheet::new([ty; 2]);
        trees(&mut sheet, ty, 200);
        let summed = compare(sheet, "reassociate", &domain);
        let mut sheet = Sheet::new([ty; 2]);
        single(&mut sheet, scalar, &all);
        let paired = compare(sheet, "div_rem_pairs", &domain);
        println!("{}: {simplified} {called} {summed} {paired}", scalar.name());
        assert!(simplified > 1000 && called > 0 && summed > 80 && paired > 500);
    }
}

/// Halves at every edge: zeros, subnormals, powers of two, whole numbers and their neighbours, infinities, NaNs.
fn edges() -> Vec<u64> {
    let mut bits: Vec<u64> =
        (0..32).flat_map(|e| [e << 10, e << 10 | 1, e << 10 | 0x3ff]).collect();
    bits.extend([1, 2, 3, 5, 7, 10, 100, 1000, 2047].map(|n| eval::double_to_half(n.into())));
    bits.extend([0.1, 0.3, 0.5, 1.5, 2.5, 0.499_755_86].map(eval::double_to_half));
    bits.extend([0x7e00, 0x7d55, 0x7fff, 0x200, 0x2aa, 0x355]);
    bits.extend(bits.clone().iter().map(|b| b | 0x8000));
    bits.sort_unstable();
    bits.dedup();
    bits
}

#[test]
fn halves() {
    let domain = Domain::new((0..1 << 16).collect(), &edges());
    let few = [0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0x7c00];
    let simplified = prove("algebraic_simplify", Scalar::F16, &edges(), &few, &domain);
    let called = prove("simplify_libcalls", Scalar::F16, &few, &few, &domain);
    println!("{simplified} {called}");
    assert!(simplified > 100 && called > 10);
}

#[test]
fn halves_to_small_whole_powers() {
    let domain = Domain::new((0..1 << 16).collect(), &[0]);
    let mut sheet = Sheet::new([TypeId::scalar(Scalar::F16); 2]);
    for (ty, n) in
        [TypeId::I32, TypeId::U32].into_iter().flat_map(|ty| (0..4).map(move |n| (ty, n)))
    {
        sheet.add(|b, x, _| {
            let n = b.func.scalar_constant(ty, n, b.types);
            b.arithmetic(ArithmeticOp::PowInt, &[x, n])
        });
    }
    assert_eq!(compare(sheet, "simplify_libcalls", &domain), 6);
}

#[test]
fn truth_values() {
    let domain = Domain::new(vec![0, 1], &[0, 1]);
    assert!(prove("algebraic_simplify", Scalar::Bool, &[0, 1], &[0, 1], &domain) > 50);
    let mut sheet = Sheet::new([TypeId::BOOL; 2]);
    for (i, j, k, not) in
        (0..4).flat_map(|i| (0..64).map(move |n| (i, n % 4, n / 4 % 4, n / 16 % 2)))
    {
        sheet.add(|b, x, y| {
            let leaves = [x, y, b.func.bool_constant(false), b.func.bool_constant(true)];
            let mut condition = leaves[k];
            if not == 1 {
                condition = b.arithmetic(ArithmeticOp::UnaryBitNot, &[condition]);
            }
            b.arithmetic(ArithmeticOp::Select, &[leaves[i], leaves[j], condition])
        });
    }
    assert!(compare(sheet, "algebraic_simplify", &domain) > 50);
}

/// Conversions through a second type to a third, of every value of a type of at most sixteen bits.
#[test]
fn conversions() {
    let usual = |s: &Scalar| eval::cast(*s, Scalar::F32).is_some() || *s == Scalar::F32;
    let scalars: Vec<Scalar> = Scalar::ALL[..12].iter().copied().filter(usual).collect();
    let mut changed = 0;
    for &source in scalars.iter().filter(|s| s.size() <= 2) {
        let count = if source == Scalar::Bool { 2 } else { 1 << source.bits() };
        let domain = Domain::new((0..count).collect(), &[0]);
        let mut sheet = Sheet::new([TypeId::scalar(source); 2]);
        for (&through, &to) in scalars.iter().flat_map(|t| scalars.iter().map(move |u| (t, u))) {
            sheet.add(|b, x, _| {
                let (through, to) = (TypeId::scalar(through), TypeId::scalar(to));
                let value = b.value(Op::Cast(CastOp::Static), through, &[x]);
                b.value(Op::Cast(CastOp::Static), to, &[value])
            });
        }
        changed += compare(sheet, "algebraic_simplify", &domain);
    }
    assert!(changed > 200, "{changed}");
}

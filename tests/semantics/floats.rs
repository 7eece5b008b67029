//! The rules of floats. Halves are computed in double and rounded once: exact for `+ - * /` and square roots, since a double has
//! more than twice the digits and two.

use crate::kernel::{Table, all_of, binary, call, cast, unary, vector};
use crate::kind::*;
use serde_json::Value;

type Rule = fn(Kind, f64, f64) -> f64;
type Relation = fn(f64, f64) -> bool;

fn pairs(kind: Kind) -> Table {
    Table::new(&[kind, kind], all_of(&kind.float_edges(), 2))
}

fn singles(kind: Kind) -> Table {
    Table::new(&[kind], all_of(&kind.float_edges(), 1))
}

/// Lists of three operands: few edges, all combinations.
fn triples(kind: Kind) -> Table {
    let few = [0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let few: Vec<u64> = few.iter().map(|&x| kind.round(x)).chain([1]).collect();
    Table::new(&[kind; 3], all_of(&few, 3))
}

/// Rounds after every step, as a sequence of operations does.
fn step(kind: Kind, x: f64) -> f64 {
    kind.float(kind.round(x))
}

fn function(
    table: Table,
    kind: Kind,
    op: &'static str,
    rule: impl Fn(&[f64]) -> f64 + Sync + 'static,
) -> Table {
    let want = move |b: &[u64]| {
        let operands: Vec<f64> = b.iter().map(|&b| kind.float(b)).collect();
        Some(kind.round(rule(&operands)))
    };
    table.row(format!("{kind:?} {op}"), kind, move |x: &[Value]| call(op, kind.index(), x), want)
}

fn operator(table: Table, kind: Kind, op: &'static str, rule: Rule) -> Table {
    let want = move |b: &[u64]| Some(kind.round(rule(kind, kind.float(b[0]), kind.float(b[1]))));
    table.row(format!("{kind:?} {op}"), kind, move |x| binary(op, kind, &x[0], &x[1]), want)
}

/// In single precision the operation itself is single: a double's result rounded again is the same, but needs an argument.
fn exactly(
    kind: Kind,
    a: f64,
    b: f64,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
) -> f64 {
    if kind == F32 { single(a as f32, b as f32).into() } else { double(a, b) }
}

/// `+ - * / %` and the square root, rounded to nearest even, with subnormals.
pub fn arithmetic(kind: Kind) -> Vec<Table> {
    let rules: [(&str, Rule); 5] = [
        ("ADD", |k, a, b| exactly(k, a, b, |a, b| a + b, |a, b| a + b)),
        ("SUB", |k, a, b| exactly(k, a, b, |a, b| a - b, |a, b| a - b)),
        ("MUL", |k, a, b| exactly(k, a, b, |a, b| a * b, |a, b| a * b)),
        ("DIV", |k, a, b| exactly(k, a, b, |a, b| a / b, |a, b| a / b)),
        // Truncated and exact, in any precision.
        ("MOD", |_, a, b| a % b),
    ];
    let two = rules.into_iter().fold(pairs(kind), |t, (op, rule)| operator(t, kind, op, rule));
    let one = function(singles(kind), kind, "SQRT", move |a| {
        if kind == F32 { (a[0] as f32).sqrt().into() } else { a[0].sqrt() }
    });
    vec![two, one]
}

/// One rounding of `a * b + c`; the operands are such that two roundings differ.
pub fn fused(kind: Kind) -> Table {
    let near = kind.round(1.0) + 1;
    let big = kind.round(kind.float((kind.mask() >> 1) - (1 << kind.mantissa_bits())));
    let edges = [
        0,
        kind.sign(),
        1,
        near,
        near | kind.sign(),
        kind.round(0.375),
        big,
        kind.round(f64::INFINITY),
    ];
    let want = move |b: &[u64]| {
        let [a, b, c] = [kind.float(b[0]), kind.float(b[1]), kind.float(b[2])];
        Some(match kind {
            F16 if a.is_finite() && b.is_finite() && c.is_finite() && a * b + c != 0.0 => {
                // Every half is a multiple of 2^-24.
                let fixed = |x: f64| (x * 2f64.powi(24)) as i128;
                half_of_fixed(fixed(a) * fixed(b) + (fixed(c) << 24)).into()
            }
            F32 => (a as f32).mul_add(b as f32, c as f32).to_bits().into(),
            _ => kind.round(a.mul_add(b, c)),
        })
    };
    let build = move |x: &[Value]| call("FMA", kind.index(), x);
    Table::new(&[kind; 3], all_of(&edges, 3)).row(format!("{kind:?} FMA"), kind, build, want)
}

/// The number wins over NaN, and -0 is below +0.
fn least(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

fn greatest(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

fn clamped(x: f64, low: f64, high: f64) -> f64 {
    least(greatest(x, low), high)
}

/// Minimum, maximum and what is made of them.
pub fn extremes(kind: Kind) -> Vec<Table> {
    let two = function(pairs(kind), kind, "MIN", |a| least(a[0], a[1]));
    let two = function(two, kind, "MAX", |a| greatest(a[0], a[1]));
    let two = function(two, kind, "STEP", |a| if a[1] < a[0] { 0.0 } else { 1.0 });
    let one = function(singles(kind), kind, "SATURATE", |a| clamped(a[0], 0.0, 1.0));
    let three = function(triples(kind), kind, "CLAMP", |a| clamped(a[0], a[1], a[2]));
    vec![two, one, three]
}

/// Comparisons are ordered, but for `!=`; a comparison that is turned round by `!` is not another comparison.
pub fn comparisons(kind: Kind) -> Vec<Table> {
    let rules: [(&str, Relation); 6] = [
        ("LESS", |a, b| a < b),
        ("GREATER", |a, b| a > b),
        ("LESS_EQUAL", |a, b| a <= b),
        ("GREATER_EQUAL", |a, b| a >= b),
        ("EQUAL", |a, b| a == b),
        ("NOT_EQUAL", |a, b| a != b),
    ];
    vec![rules.into_iter().fold(pairs(kind), |t, (op, rule)| {
        let truth = move |b: &[u64]| rule(kind.float(b[0]), kind.float(b[1]));
        t.row(
            format!("{kind:?} {op}"),
            Bool,
            move |x| binary(op, Bool, &x[0], &x[1]),
            move |b| Some(truth(b).into()),
        )
        .row(
            format!("{kind:?} not {op}"),
            Bool,
            move |x| unary("NOT", Bool, &binary(op, Bool, &x[0], &x[1])),
            move |b| Some((!truth(b)).into()),
        )
    })]
}

/// Tests and operations on the bits: exact on NaN too, so their results are compared as words.
pub fn bits(kind: Kind) -> Vec<Table> {
    let (word, sign) = (kind.unsigned(), kind.sign());
    let quiet = 1 << (kind.mantissa_bits() - 1);
    let nan = kind.round(f64::INFINITY) | quiet;
    let mut edges = kind.float_edges();
    edges.extend([nan | 5, nan | sign, nan | sign | 3]);
    let name = |op: &str| format!("{kind:?} {op}");
    let as_word = move |x: Value| cast("BITWISE", word, &x);
    let one = Table::new(&[kind], all_of(&edges, 1))
        .row(
            name("ISNAN"),
            Bool,
            |x| call("ISNAN", Bool.index(), x),
            move |b| Some(kind.float(b[0]).is_nan().into()),
        )
        .row(
            name("ISINF"),
            Bool,
            |x| call("ISINF", Bool.index(), x),
            move |b| Some(kind.float(b[0]).is_infinite().into()),
        )
        .row(
            name("MINUS"),
            word,
            move |x| as_word(unary("MINUS", kind, &x[0])),
            move |b| Some(b[0] ^ sign),
        )
        .row(
            name("ABS"),
            word,
            move |x| as_word(call("ABS", kind.index(), x)),
            move |b| Some(b[0] & !sign),
        );
    let few = [0, sign, kind.round(1.5), kind.round(-2.0), nan | 5, nan | sign];
    let two = Table::new(&[kind, kind], all_of(&few, 2)).row(
        name("COPYSIGN"),
        word,
        move |x| as_word(call("COPYSIGN", kind.index(), x)),
        move |b| Some(b[0] & !sign | b[1] & sign),
    );
    vec![one, two]
}

/// To whole numbers.
pub fn rounding(kind: Kind) -> Vec<Table> {
    let mut edges = kind.float_edges();
    // Just below a half, halves, and where every number is whole.
    let whole = 2f64.powi(kind.mantissa_bits() as i32);
    for x in [0.5, 1.5, 2.5, 3.5, whole / 2.0 - 0.5, whole - 1.0, whole, whole + 2.0] {
        for x in [x, -x] {
            let bits = kind.round(x);
            edges.extend([bits - 1, bits]);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let table = Table::new(&[kind], all_of(&edges, 1));
    let table = function(table, kind, "CEIL", |a| a[0].ceil());
    let table = function(table, kind, "FLOOR", |a| a[0].floor());
    let table = function(table, kind, "TRUNC", |a| a[0].trunc());
    let table = function(table, kind, "ROUND", |a| a[0].round());
    // The difference is exact or rounds once: in single precision from the exact difference, which a double holds or is tiny in.
    vec![function(table, kind, "FRACT", move |a| {
        exactly(kind, a[0], a[0].floor(), |a, b| a - b, |a, b| a - b)
    })]
}

/// Functions that are given by a formula, in that form.
pub fn formulas(kind: Kind) -> Vec<Table> {
    let s = move |x| step(kind, x);
    let table = function(triples(kind), kind, "LERP", move |v| {
        let [a, b, t] = [v[0], v[1], v[2]];
        s(a + s(t * s(b - a)))
    });
    vec![function(table, kind, "SMOOTHSTEP", move |v| {
        let [low, high, x] = [v[0], v[1], v[2]];
        let t = clamped(s(s(x - low) / s(high - low)), 0.0, 1.0);
        s(s(t * t) * s(3.0 - s(2.0 * t)))
    })]
}

/// Whole exponents: repeated squaring, lowest bit first. Halves are raised in single precision and rounded once.
pub fn powers(kind: Kind) -> Table {
    let bases = [0.0, -0.0, 1.0, -1.0, 1.25, -3.0, 0.1, f64::INFINITY, f64::NAN];
    let exponents = [0, 1, 2, 3, 5, 17, -1, -2, -7, i32::MAX, i32::MIN];
    let tuples = bases
        .iter()
        .flat_map(|&x| exponents.iter().map(move |&n| vec![kind.round(x), I32.wrap(n.into())]))
        .collect();
    let wide = if kind == F16 { F32 } else { kind };
    let want = move |b: &[u64]| {
        let n = I32.int(b[1]);
        let (mut result, mut square, mut left) = (1.0, kind.float(b[0]), n.unsigned_abs());
        while left != 0 {
            if left & 1 == 1 {
                result = step(wide, result * square);
            }
            square = step(wide, square * square);
            left >>= 1;
        }
        Some(kind.round(if n < 0 { step(wide, 1.0 / result) } else { result }))
    };
    Table::new(&[kind, I32], tuples).row(
        format!("{kind:?} POW"),
        kind,
        move |x| call("POW", kind.index(), x),
        want,
    )
}

/// Reductions of halves work in single precision and round once; those of wider floats go from left to right.
pub fn reductions(kind: Kind) -> Table {
    let edges = [0.1, -0.0, 3.0, 1.0 / 3.0, 60000.0, -60000.0, f64::NAN];
    let tuples = (0..49)
        .map(|i: usize| (0..4).map(|c| kind.round(edges[(i * (c + 1) + i / 7 * c) % 7])).collect())
        .collect();
    // The precision that sums and products are made in.
    let wide = if kind == F16 { F32 } else { kind };
    let s = move |x| step(wide, x);
    let values = move |b: &[u64]| -> Vec<f64> { b.iter().map(|&b| kind.float(b)).collect() };
    let made = move |x: &[Value]| {
        let names = ["HALF", "FLOAT", "DOUBLE"];
        call(&format!("MAKE_{}4", names[kind.index() - F16.index()]), vector(kind, 4), x)
    };
    let dot = move |b: &[u64]| {
        values(b).iter().map(|x| s(x * x)).reduce(|a, b| s(a + b)).unwrap_or_default()
    };
    let name = |op: &str| format!("{kind:?} {op}");
    let reduce = move |op: &'static str| move |x: &[Value]| call(op, kind.index(), &[made(x)]);
    Table::new(&[kind; 4], tuples)
        .row(name("REDUCE_SUM"), kind, reduce("REDUCE_SUM"), move |b| {
            values(b).into_iter().reduce(|a, b| s(a + b)).map(|x| kind.round(x))
        })
        .row(name("REDUCE_PRODUCT"), kind, reduce("REDUCE_PRODUCT"), move |b| {
            values(b).into_iter().reduce(|a, b| s(a * b)).map(|x| kind.round(x))
        })
        .row(name("REDUCE_MIN"), kind, reduce("REDUCE_MIN"), move |b| {
            values(b).into_iter().reduce(least).map(|x| kind.round(x))
        })
        .row(name("REDUCE_MAX"), kind, reduce("REDUCE_MAX"), move |b| {
            values(b).into_iter().reduce(greatest).map(|x| kind.round(x))
        })
        .row(name("LENGTH_SQUARED"), kind, reduce("LENGTH_SQUARED"), move |b| {
            Some(kind.round(dot(b)))
        })
        .row(name("LENGTH"), kind, reduce("LENGTH"), move |b| Some(kind.round(s(dot(b).sqrt()))))
        .row(
            name("DOT"),
            kind,
            move |x| call("DOT", kind.index(), &[made(x), made(x)]),
            move |b| Some(kind.round(dot(b))),
        )
}

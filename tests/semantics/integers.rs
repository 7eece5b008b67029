//! The rules of integers, computed in 128 bits.

use crate::kernel::{Table, all_of, binary, call, unary};
use crate::kind::*;
use serde_json::Value;

type Rule = fn(Kind, i128, i128) -> i128;
type Relation = fn(i128, i128) -> bool;
type Unary = fn(i128) -> i128;

/// A row of a binary operator.
fn operator(table: Table, kind: Kind, op: &'static str, rule: Rule) -> Table {
    let want = move |b: &[u64]| Some(kind.wrap(rule(kind, kind.int(b[0]), kind.int(b[1]))));
    table.row(format!("{kind:?} {op}"), kind, move |x| binary(op, kind, &x[0], &x[1]), want)
}

/// A row of a call on one type.
fn function(
    table: Table,
    kind: Kind,
    op: &'static str,
    rule: impl Fn(&[i128]) -> i128 + Sync + 'static,
) -> Table {
    let want = move |b: &[u64]| {
        let operands: Vec<i128> = b.iter().map(|&b| kind.int(b)).collect();
        Some(kind.wrap(rule(&operands)))
    };
    table.row(format!("{kind:?} {op}"), kind, move |x: &[Value]| call(op, kind.index(), x), want)
}

fn pairs(kind: Kind) -> Table {
    Table::new(&[kind, kind], all_of(&kind.edges(), 2))
}

fn singles(kind: Kind) -> Table {
    Table::new(&[kind], all_of(&kind.edges(), 1))
}

/// `+ - *` wrap; the bitwise ones have no edge but the sign.
pub fn wrapping(kind: Kind) -> Vec<Table> {
    let rules: [(&str, Rule); 6] = [
        ("ADD", |_, a, b| a + b),
        ("SUB", |_, a, b| a - b),
        // 64-bit words: the low half of the product is the same from the words as unsigned numbers, modulo 2^128.
        ("MUL", |_, a, b| a.wrapping_mul(b)),
        ("BIT_AND", |_, a, b| a & b),
        ("BIT_OR", |_, a, b| a | b),
        ("BIT_XOR", |_, a, b| a ^ b),
    ];
    let two = rules.into_iter().fold(pairs(kind), |t, (op, rule)| operator(t, kind, op, rule));
    let rules: [(&str, Unary); 3] = [("MINUS", |a| -a), ("BIT_NOT", |a| !a), ("PLUS", |a| a)];
    let one = rules.into_iter().fold(singles(kind), |t, (op, rule)| {
        let want = move |b: &[u64]| Some(kind.wrap(rule(kind.int(b[0]))));
        t.row(format!("{kind:?} {op}"), kind, move |x| unary(op, kind, &x[0]), want)
    });
    vec![two, function(one, kind, "ABS", |a| a[0].abs())]
}

/// Division truncates; by zero it gives the dividend, and MIN / -1 is MIN.
pub fn dividing(kind: Kind) -> Vec<Table> {
    // In 128 bits MIN / -1 is no edge, and wraps to MIN.
    let rules: [(&str, Rule); 2] = [
        ("DIV", |_, a, b| if b == 0 { a } else { a / b }),
        ("MOD", |_, a, b| if b == 0 { 0 } else { a % b }),
    ];
    vec![rules.into_iter().fold(pairs(kind), |t, (op, rule)| operator(t, kind, op, rule))]
}

/// The amount is taken modulo the width.
pub fn shifting(kind: Kind) -> Vec<Table> {
    let rules: [(&str, Rule); 2] = [
        ("SHL", |k, a, b| a << b.rem_euclid(k.width().into())),
        ("SHR", |k, a, b| a >> b.rem_euclid(k.width().into())),
    ];
    vec![rules.into_iter().fold(pairs(kind), |t, (op, rule)| operator(t, kind, op, rule))]
}

/// A shift whose operands have other types than the result: the left one is converted, and the right one counts modulo the width
/// of the result.
pub fn shifting_converted(left: Kind, right: Kind, result: Kind) -> Table {
    let tuples = left
        .edges()
        .into_iter()
        .flat_map(|a| right.edges().into_iter().map(move |b| vec![a, b]))
        .collect();
    [("SHL", true), ("SHR", false)].into_iter().fold(
        Table::new(&[left, right], tuples),
        |t, (op, is_left)| {
            let want = move |bits: &[u64]| {
                let value = result.int(result.wrap(left.int(bits[0])));
                let amount = right.int(bits[1]).rem_euclid(result.width().into());
                Some(result.wrap(if is_left { value << amount } else { value >> amount }))
            };
            let name = format!("{result:?} {op} of {left:?} by {right:?}");
            t.row(name, result, move |x| binary(op, result, &x[0], &x[1]), want)
        },
    )
}

/// Comparisons and extremes go by signedness.
pub fn ordering(kind: Kind) -> Vec<Table> {
    let rules: [(&str, Relation); 6] = [
        ("LESS", |a, b| a < b),
        ("GREATER", |a, b| a > b),
        ("LESS_EQUAL", |a, b| a <= b),
        ("GREATER_EQUAL", |a, b| a >= b),
        ("EQUAL", |a, b| a == b),
        ("NOT_EQUAL", |a, b| a != b),
    ];
    let two = rules.into_iter().fold(pairs(kind), |t, (op, rule)| {
        let want = move |b: &[u64]| Some(rule(kind.int(b[0]), kind.int(b[1])).into());
        t.row(format!("{kind:?} {op}"), Bool, move |x| binary(op, Bool, &x[0], &x[1]), want)
    });
    let two = function(two, kind, "MIN", |a| a[0].min(a[1]));
    let two = function(two, kind, "MAX", |a| a[0].max(a[1]));
    let (min, max) = kind.range();
    let few: Vec<u64> = [min, -1, 0, 7, max].iter().map(|&v| kind.wrap(v)).collect();
    let three = Table::new(&[kind; 3], all_of(&few, 3));
    // Also where the low end is above the high end.
    vec![two, function(three, kind, "CLAMP", |a| a[0].max(a[1]).min(a[2]))]
}

/// Counts of bits; of zero the whole width.
pub fn counting(kind: Kind) -> Vec<Table> {
    let bits = move |a: &[i128]| kind.wrap(a[0]);
    let width = kind.width();
    let table = singles(kind);
    let table =
        function(table, kind, "CLZ", move |a| (bits(a).leading_zeros() - (64 - width)).into());
    let table = function(table, kind, "CTZ", move |a| bits(a).trailing_zeros().min(width).into());
    let table = function(table, kind, "POPCOUNT", move |a| bits(a).count_ones().into());
    vec![function(table, kind, "REVERSE", move |a| (bits(a).reverse_bits() >> (64 - width)).into())]
}

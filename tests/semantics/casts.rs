//! The rules of conversions.

use crate::kernel::{Table, all_of, cast};
use crate::kind::*;

fn row(table: Table, from: Kind, to: Kind, want: impl Fn(u64) -> u64 + Sync + 'static) -> Table {
    let name = format!("{from:?} to {to:?}");
    table.row(name, to, move |x| cast("STATIC", to, &x[0]), move |b| Some(want(b[0])))
}

/// Between integers: modulo 2^width.
pub fn integers(from: Kind) -> Table {
    INTEGERS.into_iter().fold(Table::new(&[from], all_of(&from.edges(), 1)), |t, to| {
        row(t, from, to, move |b| to.wrap(from.int(b)))
    })
}

/// From integers to floats: one rounding to nearest even, also at ties and beyond the greatest half.
pub fn to_floats(from: Kind) -> Table {
    let (min, max) = from.range();
    let ties =
        [2049, 2051, 65519, 65520, (1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, (1 << 53) + 3]
            .into_iter()
            // Just above a tie of single precision, where rounding to double first would go wrong.
            .chain([(1 << 62) + (1 << 38) + 1, (1 << 63) + (1 << 39) + 1]);
    let mut edges = from.edges();
    edges.extend(ties.filter(|v| (min..=max).contains(v)).map(|v| from.wrap(v)));
    FLOATS.into_iter().fold(Table::new(&[from], all_of(&edges, 1)), |t, to| {
        row(t, from, to, move |b| {
            let v = from.int(b);
            match to {
                F32 => (v as f32).to_bits().into(),
                // Whole numbers that matter to a half are exact in a double.
                _ => to.round(v as f64),
            }
        })
    })
}

/// From floats to integers: truncated, held at the ends, NaN gives zero.
pub fn from_floats(from: Kind) -> Table {
    let mut edges = from.float_edges();
    for to in INTEGERS {
        let (min, max) = to.range();
        for end in [min as f64, max as f64] {
            let bits = from.round(end);
            edges.push(bits);
            // The neighbours of an end, unless it is zero or infinity.
            if end != 0.0 && from.float(bits).is_finite() {
                edges.extend([bits - 1, bits + 1]);
            }
        }
    }
    edges.extend([0.99, -0.99, 1.99, -1.99].map(|x| from.round(x)));
    edges.sort_unstable();
    edges.dedup();
    INTEGERS.into_iter().fold(Table::new(&[from], all_of(&edges, 1)), |t, to| {
        let (min, max) = to.range();
        row(t, from, to, move |b| {
            // A cast of Rust to 128 bits holds at its ends and turns NaN into zero.
            to.wrap((from.float(b) as i128).clamp(min, max))
        })
    })
}

/// Between floats: one rounding to nearest even; what is too large gives infinity.
pub fn floats(from: Kind) -> Table {
    let mut edges = from.float_edges();
    let ties = [
        65519.0,
        65520.0,
        65536.0,
        2049.0,
        2051.0,
        1.0 + 1.0 / 2048.0,
        2f64.powi(-25),
        2f64.powi(-24) * 1.5,
    ];
    let single = [
        f64::from(f32::MAX),
        3.402_823_567_797_336_6e38,
        2f64.powi(-150),
        2f64.powi(-149) * 1.5,
        16_777_217.0,
    ];
    // Just above a tie of half precision by less than single precision holds: rounding twice goes wrong.
    let twice = [1.0 + 2f64.powi(-11) + 2f64.powi(-40), 2f64.powi(-25) * (1.0 + 2f64.powi(-40))];
    for x in ties.into_iter().chain(single).chain(twice) {
        edges.extend([from.round(x), from.round(-x)]);
    }
    edges.sort_unstable();
    edges.dedup();
    FLOATS.into_iter().fold(Table::new(&[from], all_of(&edges, 1)), |t, to| {
        row(t, from, to, move |b| to.round(from.float(b)))
    })
}

/// To truth values: not zero; NaN is not zero.
pub fn to_bool(from: Kind) -> Table {
    let edges = if from.is_float() { from.float_edges() } else { from.edges() };
    row(Table::new(&[from], all_of(&edges, 1)), from, Bool, move |b| {
        let is_zero = if from.is_float() { from.float(b) == 0.0 } else { b == 0 };
        (!is_zero).into()
    })
}

/// From truth values: 0 or 1.
pub fn from_bool() -> Table {
    ALL.into_iter().fold(Table::new(&[Bool], all_of(&[0, 1], 1)), |t, to| {
        row(t, Bool, to, move |b| if to.is_float() { to.round(b as f64) } else { b })
    })
}

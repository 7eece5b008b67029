//! What every operation means at its edges: folded, at run time and half of each; in the interpreter and on the processor,
//! unoptimised and optimised; against rules that are computed here, apart from the compiler.
//!
//! `LUISAC_KEEP=DIR cargo test --test semantics` leaves the kernels with what must come out in DIR, as recorded cases, for
//! `tests/gpu/exam_ptx.py`.

mod casts;
#[path = "../common/mod.rs"]
mod common;
mod floats;
mod integers;
mod kernel;
mod kind;

use common::case::{Case, Wrong};
use common::{Folder, all_right, in_parallel};
use kernel::{Form, Table, Written, write};
use kind::*;

const DEVICES: [(&str, &str); 4] =
    [("interp", "-O0"), ("interp", "-O2"), ("cpu", "-O0"), ("cpu", "-O2")];

/// Computes the tables in every form on every device.
#[track_caller]
fn holds(name: &str, tables: &[Table]) {
    holds_under(name, &["--math", "precise"], tables);
}

#[track_caller]
fn holds_under(name: &str, flags: &[&str], tables: &[Table]) {
    let folder = Folder::new();
    let keep = std::env::var_os("LUISAC_KEEP").map(std::path::PathBuf::from);
    let at = keep.as_deref().unwrap_or(folder.path());
    std::fs::create_dir_all(at).expect("a folder");
    let store = |form: Form| {
        let written = write(tables, form, flags);
        let stem = format!("{name}_{}", form.name());
        std::fs::write(at.join(format!("{stem}.json")), written.kernel.to_string())
            .expect("a file");
        let expect = at.join(format!("{stem}.expect.json"));
        std::fs::write(&expect, written.case.to_string()).expect("a file");
        (Case::read(&expect), written)
    };
    let cases: Vec<(Case, Written)> = Form::ALL.into_iter().map(store).collect();
    let runs: Vec<_> = cases.iter().flat_map(|c| DEVICES.map(|d| (c, d))).collect();
    let results = in_parallel(&runs, |((case, written), (device, level))| {
        let wrong = case.run(device, level).err()?;
        let label = match &wrong {
            Wrong::Numbers { argument, first, .. } => written.label(*argument, *first),
            Wrong::Run(_) => "",
        };
        Some(format!("{} on {device} {level}: {wrong} {label}", case.name))
    });
    all_right(results.into_iter().flatten().collect());
}

fn of_integers(tables: impl Fn(Kind) -> Vec<Table>) -> Vec<Table> {
    INTEGERS.into_iter().flat_map(tables).collect()
}

fn of_floats(tables: impl Fn(Kind) -> Vec<Table>) -> Vec<Table> {
    FLOATS.into_iter().flat_map(tables).collect()
}

#[test]
fn integers_wrap() {
    holds("wrapping", &of_integers(integers::wrapping));
}

#[test]
fn integers_divide() {
    holds("dividing", &of_integers(integers::dividing));
}

#[test]
fn integers_shift() {
    let mut tables = of_integers(integers::shifting);
    let converted = [
        (I8, I32, I32),
        (U8, U32, U32),
        (I16, U16, I64),
        (U64, I8, U16),
        (I32, U32, U32),
        (U32, I64, I32),
    ];
    tables.extend(converted.map(|(l, r, to)| integers::shifting_converted(l, r, to)));
    holds("shifting", &tables);
}

#[test]
fn integers_compare() {
    holds("ordering", &of_integers(integers::ordering));
}

#[test]
fn integers_count_bits() {
    let unsigned = INTEGERS.into_iter().filter(|k| !k.is_signed());
    holds("counting", &unsigned.flat_map(integers::counting).collect::<Vec<_>>());
}

#[test]
fn floats_compute() {
    holds("arithmetic", &of_floats(floats::arithmetic));
}

#[test]
fn floats_fuse() {
    holds("fused", &FLOATS.map(floats::fused));
}

#[test]
fn floats_have_extremes() {
    holds("extremes", &of_floats(floats::extremes));
}

#[test]
fn floats_compare() {
    holds("comparisons", &of_floats(floats::comparisons));
}

#[test]
fn floats_are_bits() {
    holds("bits", &of_floats(floats::bits));
    // Fast mathematics may change arithmetic, but no test and no sign.
    holds_under("bits_fast", &["--math", "fast"], &of_floats(floats::bits));
}

#[test]
fn floats_round_to_whole_numbers() {
    holds("rounding", &of_floats(floats::rounding));
}

#[test]
fn floats_follow_formulas() {
    holds("formulas", &of_floats(floats::formulas));
}

#[test]
fn floats_have_whole_powers() {
    holds("powers", &FLOATS.map(floats::powers));
}

#[test]
fn floats_reduce() {
    holds("reductions", &FLOATS.map(floats::reductions));
}

#[test]
fn integers_convert() {
    let mut tables: Vec<Table> = INTEGERS.into_iter().map(casts::integers).collect();
    tables.extend(INTEGERS.into_iter().map(casts::to_floats));
    holds("casts_of_integers", &tables);
}

#[test]
fn floats_convert() {
    let mut tables: Vec<Table> = FLOATS.into_iter().map(casts::from_floats).collect();
    tables.extend(FLOATS.into_iter().map(casts::floats));
    holds("casts_of_floats", &tables);
}

#[test]
fn truth_converts() {
    let mut tables: Vec<Table> = ALL[1..].iter().map(|&k| casts::to_bool(k)).collect();
    tables.push(casts::from_bool());
    holds("truth", &tables);
}

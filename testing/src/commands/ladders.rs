//! `ladders`: how the time of every pass grows with the size of a kernel of one shape.

use luisac_passes::registry::PASSES;
use luisac_testing::ladders::{self, LADDERS, Ladder, Start};
use std::time::Duration;

/// Sizes start here and grow tenfold.
const SMALLEST: usize = 1000;
/// What takes less is not measured: the clock and the caches would be.
const LEAST: Duration = Duration::from_micros(50);
/// A size that takes more is the last one.
const MOST: Duration = Duration::from_secs(5);
/// Exponents above are told.
const LIMIT: f64 = 1.1;

/// What one pass did on one ladder.
struct Row {
    pass: &'static str,
    ladder: &'static str,
    start: Start,
    exponent: f64,
    /// The largest size, and nanoseconds an instruction there.
    size: usize,
    slope: f64,
}

/// Measures and prints; whether every exponent is within the limit.
///
/// # Errors
/// If the flags are wrong.
pub fn run(mut args: impl Iterator<Item = String>) -> Result<bool, String> {
    let (mut max, mut only_ladder, mut only_pass) = (1_000_000usize, None, None);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--max" => max = value.parse().map_err(|_| "--max needs a number")?,
            "--ladder" => only_ladder = Some(value),
            "--pass" => only_pass = Some(value),
            _ => return Err(format!("there is no flag {flag}")),
        }
    }
    // Passes over many functions must not be spread: the time of one thread is measured.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    for ladder in LADDERS.iter().filter(|l| only_ladder.as_ref().is_none_or(|o| o == l.name)) {
        for start in Start::ALL {
            let wanted = |name: &str| only_pass.as_ref().is_none_or(|o| o == name);
            pool.install(|| measure(ladder, start, max, &wanted, &mut rows));
            eprintln!("{} {} done", ladder.name, start.name());
        }
    }
    print(&rows);
    Ok(rows.iter().all(|row| row.exponent <= LIMIT))
}

fn measure(
    ladder: &Ladder,
    start: Start,
    max: usize,
    wanted: &dyn Fn(&str) -> bool,
    rows: &mut Vec<Row>,
) {
    let mut points: Vec<Vec<(usize, Duration)>> = vec![Vec::new(); PASSES.len()];
    let mut size = SMALLEST;
    while size <= max {
        let module = ladders::prepared(ladder, size, start);
        for (pass, points) in PASSES.iter().zip(&mut points) {
            let slow = points.last().is_some_and(|&(_, t)| t * 10 > MOST);
            let refused = size > SMALLEST && points.is_empty();
            if slow || refused || !wanted(pass.name()) {
                continue;
            }
            let tries = if size > 100_000 { 2 } else { 3 };
            points.extend(ladders::time(&module, pass, tries).map(|t| (size, t)));
        }
        size *= 10;
    }
    for (pass, points) in PASSES.iter().zip(points) {
        let Some(&(size, last)) = points.last() else { continue };
        // Over all sizes that the clock can tell: a kernel that leaves one cache for the next is slower an instruction, once for each cache.
        let counted: Vec<_> = points.into_iter().filter(|&(_, t)| t >= LEAST).collect();
        let exponent = if counted.len() < 2 { 0.0 } else { ladders::exponent(&counted) };
        let slope = last.as_secs_f64() * 1e9 / size as f64;
        let (pass, ladder) = (pass.name(), ladder.name);
        rows.push(Row { pass, ladder, start, exponent, size, slope });
    }
}

/// For each pass the worst exponent and the worst slope, with the ladders; then all above the limit.
fn print(rows: &[Row]) {
    println!("| pass | worst exponent | on | slowest, ns an instruction | on |");
    println!("|---|---|---|---|---|");
    for pass in PASSES {
        let of_pass = || rows.iter().filter(|row| row.pass == pass.name());
        let worst = of_pass().max_by(|a, b| a.exponent.total_cmp(&b.exponent));
        let slowest = of_pass().max_by(|a, b| a.slope.total_cmp(&b.slope));
        if let (Some(worst), Some(slowest)) = (worst, slowest) {
            println!(
                "| `{}` | {:.2} | {} {} | {:.0} | {} {} |",
                pass.name(),
                worst.exponent,
                worst.ladder,
                worst.start.name(),
                slowest.slope,
                slowest.ladder,
                slowest.start.name()
            );
        }
    }
    for row in rows.iter().filter(|row| row.exponent > LIMIT) {
        println!(
            "above {LIMIT}: {} on {} {}: {:.2}, {:.0} ns an instruction at {}",
            row.pass,
            row.ladder,
            row.start.name(),
            row.exponent,
            row.slope,
            row.size
        );
    }
}

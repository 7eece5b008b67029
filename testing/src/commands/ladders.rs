//! `ladders`: how the time of every pass grows with the size of a kernel of one shape.

use luisac_passes::Pipeline;
use luisac_passes::registry::PASSES;
use luisac_testing::ladders::{self, LADDERS, Ladder, Start};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    pass: String,
    ladder: String,
    start: String,
    exponent: f64,
    /// The largest size, and nanoseconds an instruction there.
    size: usize,
    slope: f64,
}

impl Row {
    /// The row as one line for another process.
    fn to_line(&self) -> String {
        let Row { pass, ladder, start, exponent, size, slope } = self;
        format!("{pass}\t{ladder}\t{start}\t{exponent}\t{size}\t{slope}")
    }

    fn of_line(line: &str) -> Option<Row> {
        let mut parts = line.split('\t');
        Some(Row {
            pass: parts.next()?.into(),
            ladder: parts.next()?.into(),
            start: parts.next()?.into(),
            exponent: parts.next()?.parse().ok()?,
            size: parts.next()?.parse().ok()?,
            slope: parts.next()?.parse().ok()?,
        })
    }
}

struct Options {
    max: usize,
    ladder: Option<String>,
    start: Option<String>,
    pass: Option<String>,
    /// Processes side by side, each for one ladder and start.
    jobs: usize,
    /// Print a line a row, not the table.
    rows: bool,
    /// Time this pipeline on the largest size instead of the passes.
    pipeline: Option<String>,
}

impl Options {
    fn of(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let (ladder, start, pass, pipeline) = (None, None, None, None);
        let (max, jobs, rows) = (1_000_000, 0, false);
        let mut options = Options { max, ladder, start, pass, jobs, rows, pipeline };
        while let Some(flag) = args.next() {
            let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--max" => options.max = value.parse().map_err(|_| "--max needs a number")?,
                "--ladder" => options.ladder = Some(value),
                "--start" => options.start = Some(value),
                "--pass" => options.pass = Some(value),
                "--pipeline" => options.pipeline = Some(value),
                "--jobs" => options.jobs = value.parse().map_err(|_| "--jobs needs a number")?,
                "--rows" => {
                    options.rows = value.parse().map_err(|_| "--rows needs true or false")?;
                }
                _ => return Err(format!("there is no flag {flag}")),
            }
        }
        Ok(options)
    }

    /// The ladders and starts that are asked for.
    fn wanted(&self) -> Vec<(&'static Ladder, Start)> {
        let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
        let ladders = LADDERS.iter().filter(|l| is(&self.ladder, l.name));
        let pairs = ladders.flat_map(|l| Start::ALL.map(|s| (l, s)));
        pairs.filter(|(_, s)| is(&self.start, s.name())).collect()
    }
}

/// Measures and prints; whether every exponent is within the limit.
///
/// # Errors
/// If the flags are wrong, or a process cannot be run.
pub fn run(args: impl Iterator<Item = String>) -> Result<bool, String> {
    let options = Options::of(args)?;
    if let Some(text) = &options.pipeline {
        return time_pipeline(text, &options);
    }
    let rows = if options.jobs > 0 { side_by_side(&options)? } else { one_by_one(&options)? };
    if options.rows {
        rows.iter().for_each(|row| println!("{}", row.to_line()));
    } else {
        print(&rows);
    }
    Ok(rows.iter().all(|row| row.exponent <= LIMIT))
}

/// Prints how many instructions a second a pipeline takes on the largest size of each ladder; whether all are a million or more.
fn time_pipeline(text: &str, options: &Options) -> Result<bool, String> {
    let pipeline = Pipeline::parse(text).map_err(|e| e.to_string())?;
    println!("| ladder | instructions | ms | million instructions a second |");
    println!("|---|---|---|---|");
    let mut fast = true;
    for (ladder, _) in options.wanted().into_iter().filter(|(_, s)| *s == Start::Lowered) {
        let module = ladders::prepared(ladder, options.max, Start::Lowered);
        let count: usize = module.functions.values().map(|f| f.placed_inst_count()).sum();
        let time = ladders::one_thread(|| ladders::time_pipeline(&module, &pipeline, 2))?;
        let Some(time) = time else { continue };
        let speed = count as f64 / time.as_secs_f64() / 1e6;
        let ms = time.as_secs_f64() * 1e3;
        println!("| {} | {count} | {ms:.0} | {speed:.2} |", ladder.name);
        fast &= speed >= 1.0 || count < options.max / 2;
    }
    Ok(fast)
}

fn one_by_one(options: &Options) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (ladder, start) in options.wanted() {
        rows.extend(ladders::one_thread(|| measure(ladder, start, options))?);
        eprintln!("{} {} done", ladder.name, start.name());
    }
    Ok(rows)
}

/// Runs this program for each ladder and start, several at once: threads of one process would share what gives them memory.
fn side_by_side(options: &Options) -> Result<Vec<Row>, String> {
    let wanted = options.wanted();
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Result<Vec<Row>, String>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.min(wanted.len()) {
            scope.spawn(|| {
                while let Some(&(ladder, start)) = wanted.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let outcome = in_process(ladder, start, options);
                    outcomes.lock().unwrap_or_else(|e| e.into_inner()).push(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
    let rows = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    // However they came in.
    let key = |r: &Row| (r.ladder.clone(), r.start.clone());
    rows.sort_by_key(key);
    Ok(rows)
}

fn in_process(ladder: &Ladder, start: Start, options: &Options) -> Result<Vec<Row>, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    command.args(["ladders", "--ladder", ladder.name, "--start", start.name(), "--rows", "true"]);
    command.args(["--max", &options.max.to_string()]);
    if let Some(pass) = &options.pass {
        command.args(["--pass", pass]);
    }
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| e.to_string())?;
    // 1 tells that an exponent is above the limit.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("{} {}: {}", ladder.name, start.name(), output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| Row::of_line(line).ok_or(format!("no row: {line}"))).collect()
}

fn measure(ladder: &Ladder, start: Start, options: &Options) -> Vec<Row> {
    let mut points: Vec<Vec<(usize, Duration)>> = vec![Vec::new(); PASSES.len()];
    let mut size = SMALLEST;
    while size <= options.max {
        let module = ladders::prepared(ladder, size, start);
        for (pass, points) in PASSES.iter().zip(&mut points) {
            let slow = points.last().is_some_and(|&(_, t)| t * 10 > MOST);
            let refused = size > SMALLEST && points.is_empty();
            let wanted = options.pass.as_ref().is_none_or(|wanted| wanted == pass.name());
            if slow || refused || !wanted {
                continue;
            }
            let tries = if size > 100_000 { 2 } else { 3 };
            points.extend(ladders::time(&module, pass, tries).map(|t| (size, t)));
        }
        size *= 10;
    }
    let row = |pass: &luisac_passes::Pass, points: Vec<(usize, Duration)>| {
        let &(size, last) = points.last()?;
        // Over all sizes that the clock can tell: a kernel that leaves one cache for the next is slower an instruction, once for each cache.
        let counted: Vec<_> = points.into_iter().filter(|&(_, t)| t >= LEAST).collect();
        let exponent = if counted.len() < 2 { 0.0 } else { ladders::exponent(&counted) };
        let slope = last.as_secs_f64() * 1e9 / size as f64;
        let (pass, ladder, start) = (pass.name().into(), ladder.name.into(), start.name().into());
        Some(Row { pass, ladder, start, exponent, size, slope })
    };
    PASSES.iter().zip(points).filter_map(|(pass, points)| row(pass, points)).collect()
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
                worst.start,
                slowest.slope,
                slowest.ladder,
                slowest.start
            );
        }
    }
    for row in rows.iter().filter(|row| row.exponent > LIMIT) {
        println!(
            "above {LIMIT}: {} on {} {}: {:.2}, {:.0} ns an instruction at {}",
            row.pass, row.ladder, row.start, row.exponent, row.slope, row.size
        );
    }
}

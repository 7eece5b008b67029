//! `diff`: random kernels through passes; mismatches are reduced and written as files that repeat them.

use luisac_passes::{Pipeline, reduce};
use luisac_testing::diff::{self, Amount, Counts, Mismatch};
use luisac_testing::generate;
use luisac_xir::text;
use rayon::prelude::*;
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct Flags {
    kernels: u64,
    seed: u64,
    seconds: u64,
    jobs: usize,
    amount: Amount,
    passes: Option<String>,
    out: PathBuf,
}

impl Flags {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Flags, String> {
        let mut flags = Flags {
            kernels: 1000,
            seed: 0,
            seconds: u64::MAX,
            jobs: 0,
            amount: Amount::ALL,
            passes: None,
            out: "out/diff".into(),
        };
        while let Some(flag) = args.next() {
            if flag == "--single" {
                flags.amount = Amount::SINGLE;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{flag} needs a number"));
            match flag.as_str() {
                "--kernels" => flags.kernels = number()?,
                "--seed" => flags.seed = number()?,
                "--seconds" => flags.seconds = number()?,
                "--jobs" => flags.jobs = number()? as usize,
                "--rows" => {
                    flags.amount = Amount { rows: number()? as usize, ..Amount::SINGLE };
                }
                "--pipelines" => {
                    let pipelines = number()? as usize;
                    flags.amount = Amount { single: false, rows: 0, pipelines };
                }
                "--passes" => flags.passes = Some(value),
                "--out" => flags.out = value.into(),
                _ => return Err(format!("there is no flag {flag}")),
            }
        }
        Ok(flags)
    }
}

/// Mismatches that are reduced, and the tests of each.
const MAX_FILES: usize = 10;
const MAX_TESTS: u64 = 3000;

/// Reduces a mismatch, and writes the kernel with its passes. The arguments are those of the seed.
fn write_reduced(flags: &Flags, mismatch: &Mismatch) -> Result<PathBuf, String> {
    let pipeline = Pipeline::parse(&mismatch.pipeline).map_err(|e| e.to_string())?;
    let case = generate::case(mismatch.seed);
    let begin = Instant::now();
    let mut differs = |module: &luisac_xir::Module, pipeline: &Pipeline| {
        begin.elapsed() < REDUCE && matches!(diff::differs(&case, module, pipeline), Ok(Some(_)))
    };
    if !differs(&case.module, &pipeline) {
        return Err("the mismatch does not come again by itself".into());
    }
    let reduced = reduce::reduce(case.module.clone(), pipeline, MAX_TESTS, &mut differs);
    let what = diff::differs(&case, &reduced.module, &reduced.pipeline)?.unwrap_or_default();
    let repeat = format!("seed {} --passes '{}'", mismatch.seed, reduced.pipeline);
    let head = format!("// {repeat}\n// {}\n", what.replace('\n', "\n// "));
    std::fs::create_dir_all(&flags.out).map_err(|e| e.to_string())?;
    let path = flags.out.join(format!("{}.xir", mismatch.seed));
    std::fs::write(&path, head + &text::print(&reduced.module)).map_err(|e| e.to_string())?;
    Ok(path)
}

/// Kernels of each thread between two looks at the clock.
const CHUNK: u64 = 32;
/// How often the state is told.
const TELL: Duration = Duration::from_secs(30);
/// What reducing one mismatch may take.
const REDUCE: Duration = Duration::from_secs(60);

/// Runs kernels until the number or the time is reached; whether all were right.
///
/// # Errors
/// If the flags are wrong.
pub fn run(args: impl Iterator<Item = String>) -> Result<bool, String> {
    let flags = Flags::parse(args)?;
    if let Some(passes) = &flags.passes {
        return replay(&flags, passes);
    }
    // Panics of passes are told with the kernel.
    std::panic::set_hook(Box::new(|_| {}));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(flags.jobs).build();
    let pool = pool.map_err(|e| e.to_string())?;
    let start = Instant::now();
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    let chunk = CHUNK * pool.current_num_threads() as u64;
    let (mut next, mut told) = (0, start);
    while next < flags.kernels && start.elapsed() < Duration::from_secs(flags.seconds) {
        let end = flags.kernels.min(next + chunk);
        let seeds = flags.seed + next..flags.seed + end;
        let one = |seed| diff::check(&generate::case(seed), flags.amount);
        let results: Vec<_> = pool.install(|| seeds.into_par_iter().map(one).collect());
        for result in results {
            match result {
                Ok(more) => counts.add(more),
                Err(more) => {
                    counts.kernels += 1;
                    wrong.extend(more);
                }
            }
        }
        next = end;
        if told.elapsed() > TELL {
            told = Instant::now();
            let seconds = start.elapsed().as_secs();
            eprintln!(
                "{next} kernels, {} lanes, {} mismatches, {seconds} s",
                counts.lanes,
                wrong.len()
            );
        }
    }
    tell(&flags, &counts, &wrong, start.elapsed());
    for mismatch in wrong.iter().take(MAX_FILES) {
        match write_reduced(&flags, mismatch) {
            Ok(path) => println!("  {}", path.display()),
            Err(e) => println!("  seed {}: {e}", mismatch.seed),
        }
    }
    Ok(wrong.is_empty())
}

fn tell(flags: &Flags, counts: &Counts, wrong: &[Mismatch], elapsed: Duration) {
    let seconds = elapsed.as_secs_f64();
    println!("seeds       {} to {}", flags.seed, flags.seed + counts.kernels);
    println!("kernels     {} ({:.0} a second)", counts.kernels, counts.kernels as f64 / seconds);
    println!("too long    {}", counts.too_long);
    println!("pipelines   {}", counts.pipelines);
    println!("compared    {}", counts.compared);
    println!("refused     {}", counts.refused);
    println!("lanes       {}", counts.lanes);
    println!(
        "steps       {} ({:.1} million a second)",
        counts.steps,
        counts.steps as f64 / seconds / 1e6
    );
    println!("time        {seconds:.1} s");
    println!("idle passes {}", counts.idle().join(" "));
    println!("mismatches  {}", wrong.len());
    for mismatch in wrong.iter().take(50) {
        println!("  seed {} `{}`: {}", mismatch.seed, mismatch.pipeline, mismatch.what);
    }
}

fn replay(flags: &Flags, passes: &str) -> Result<bool, String> {
    let pipeline = Pipeline::parse(passes).map_err(|e| e.to_string())?;
    let case = generate::case(flags.seed);
    println!("{}", text::print(&case.module));
    match diff::differs(&case, &case.module, &pipeline)? {
        None => println!("no difference"),
        Some(what) => {
            println!("{what}");
            return Ok(false);
        }
    }
    Ok(true)
}

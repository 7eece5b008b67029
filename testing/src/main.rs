//! `luisac-testing diff`: differential runs by hand; see `cargo xtask diff`.

use luisac_passes::Pipeline;
use luisac_testing::diff::{self, Amount, Counts, Mismatch};
use luisac_testing::generate;
use luisac_xir::text;
use rayon::prelude::*;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: luisac-testing diff [--kernels N] [--seed S] [--seconds T] [--jobs J] [--single | --rows R | --pipelines P] [--out DIR]
       luisac-testing diff --seed S --passes PIPELINE     one kernel, printed, through one pipeline";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let outcome = match args.next().as_deref() {
        Some("diff") => Flags::parse(args).and_then(run_diff),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

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
            let value = args.next().ok_or_else(|| format!("{flag} needs a value\n{USAGE}"))?;
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
                _ => return Err(format!("there is no flag {flag}\n{USAGE}")),
            }
        }
        Ok(flags)
    }
}

/// Kernels between two looks at the clock.
const CHUNK: u64 = 256;

fn run_diff(flags: Flags) -> Result<bool, String> {
    if let Some(passes) = &flags.passes {
        return replay(&flags, passes);
    }
    // Panics of passes are told with the kernel.
    std::panic::set_hook(Box::new(|_| {}));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(flags.jobs).build();
    let pool = pool.map_err(|e| e.to_string())?;
    let start = Instant::now();
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    let mut next = 0;
    while next < flags.kernels && start.elapsed() < Duration::from_secs(flags.seconds) {
        let end = flags.kernels.min(next + CHUNK);
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
    }
    tell(&flags, &counts, &wrong, start.elapsed());
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

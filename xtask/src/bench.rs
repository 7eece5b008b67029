//! `cargo xtask bench`: whole-process times of the release binary, the median of many runs.

mod bake;
mod ladders;
mod read;
mod shading;
mod unrolled;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    run::{Result, build, root, say},
    setup::{self, For},
};

/// Runs of each command; the first few warm the caches and are not counted.
const RUNS: usize = 31;
const WARM: usize = 3;

pub fn bench(args: &[String]) -> Result<()> {
    match args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("read", rest)) => return read::bench(rest),
        Some(("bake", rest)) => return bake::bench(rest),
        Some(("ladders", rest)) => return ladders::bench(rest),
        Some(("shading", rest)) => return shading::bench(rest),
        _ => {}
    }
    setup::setup(For::Build)?;
    let luisac = build()?;
    let corpus = args.first().map_or_else(|| root().join("../shared/corpus"), Into::into);
    let scratch = std::env::temp_dir().join(format!("luisac-bench-{}", std::process::id()));
    let time = |args: &[&str]| median(&luisac, args);
    println!("{:<44} {:>10}", "whole process", "median");
    let row = |name: &str, t: Duration| println!("{name:<44} {:>7.2} ms", t.as_secs_f64() * 1e3);
    row("luisac --version", time(&["--version"])?);
    let out = scratch.display().to_string();
    let compile =
        |input: &str, target: &str| time(&["compile", input, "--target", target, "-o", &out]);
    for target in ["ptx:sm_90", "cpu:x86-64-v3"] {
        row(&format!("saxpy to {target}"), compile("fixtures/saxpy.json", target)?);
    }
    let Some((largest, bytes)) = largest(&corpus) else {
        say(format_args!("no corpus at {}: its figures are left out", corpus.display()));
        return Ok(());
    };
    let name = Path::new(&largest).file_name().unwrap_or_default().to_string_lossy().into_owned();
    for target in ["ptx:sm_90", "cpu:x86-64-v3"] {
        match compile(&largest, target) {
            Ok(t) => row(&format!("{name} ({bytes} bytes) to {target}"), t),
            Err(e) => say(format_args!("{name} to {target}: {e}")),
        }
    }
    let _ = fs::remove_file(&scratch);
    Ok(())
}

/// The largest JSON kernel of the corpus that stays inside what every target holds: no sampling, tracing, autodiff.
fn largest(corpus: &Path) -> Option<(String, u64)> {
    let mut best = None;
    for folder in ["own", "luisa"].map(|f| corpus.join(f)) {
        let mut folders = vec![folder];
        while let Some(f) = folders.pop() {
            for path in fs::read_dir(f).ok()?.filter_map(|e| Some(e.ok()?.path())) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "json")
                    && !path.to_string_lossy().ends_with(".expect.json")
                {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    let outside = ["ACCEL", "BINDLESS", "AUTO_DIFF", "RAY_", "SAMPLE"]
                        .iter()
                        .any(|w| text.contains(w));
                    let size = text.len() as u64;
                    if !outside && best.as_ref().is_none_or(|(_, s)| size > *s) {
                        best = Some((path.display().to_string(), size));
                    }
                }
            }
        }
    }
    best
}

/// The median time of a command, from its start to its end.
fn median(luisac: &Path, args: &[&str]) -> Result<Duration> {
    let mut times = Vec::with_capacity(RUNS);
    for i in 0..RUNS + WARM {
        let start = Instant::now();
        let out = Command::new(luisac).args(args).current_dir(root()).stdin(Stdio::null()).output();
        let elapsed = start.elapsed();
        match out {
            Ok(out) if out.status.success() => {}
            Ok(out) => {
                return Err(String::from_utf8_lossy(&out.stderr)
                    .lines()
                    .next()
                    .unwrap_or("it failed")
                    .to_owned());
            }
            Err(e) => return Err(format!("cannot start luisac: {e}")),
        }
        if i >= WARM {
            times.push(elapsed);
        }
    }
    times.sort();
    Ok(times[RUNS / 2])
}

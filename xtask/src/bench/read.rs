//! `cargo xtask bench read`: how fast inputs are read and checked, and in how much memory.
//!
//! The inputs are unrolled kernels ([`super::unrolled`]) of 1 MB, 30 MB and 1.8 GB, the last of which is as long as the
//! longest one that LuisaCompute's own examples are known to record. They are written into the build folder, once.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::unrolled;
use crate::run::{self, Result, cargo, output, say, status};

/// Lengths in bytes, and how often each is measured.
const SIZES: [(u64, usize); 3] = [(1_000_000, 15), (30_000_000, 5), (1_800_000_000, 1)];

/// What is measured, and where the inputs lie.
struct Wanted {
    /// Longest input, in bytes.
    limit: u64,
    /// Programs that were built elsewhere, so that nothing is built here: `luisac`, and the example `read` of `luisac-ast`.
    luisac: Option<PathBuf>,
    reader: Option<PathBuf>,
    folder: Option<PathBuf>,
}

impl Wanted {
    fn parse(args: &[String]) -> Result<Wanted> {
        let mut wanted = Wanted { limit: u64::MAX, luisac: None, reader: None, folder: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut path = || args.next().map(PathBuf::from).ok_or(format!("`{arg}` needs a path"));
            match arg.as_str() {
                "--luisac" => wanted.luisac = Some(path()?),
                "--reader" => wanted.reader = Some(path()?),
                "--folder" => wanted.folder = Some(path()?),
                bytes => {
                    let number = bytes.parse();
                    wanted.limit =
                        number.map_err(|_| format!("`{bytes}` is no number of bytes"))?;
                }
            }
        }
        Ok(wanted)
    }
}

/// Measures all sizes, or those up to the number of bytes in `args`. With `--luisac PATH`, `--reader PATH` and `--folder DIR` programs
/// and inputs of elsewhere are taken, and nothing is built.
pub fn bench(args: &[String]) -> Result<()> {
    let Wanted { limit, luisac, reader, folder } = Wanted::parse(args)?;
    let builds = luisac.is_none();
    let luisac = &match luisac {
        Some(path) => path,
        None => {
            // Reading needs no code generator, and builds fast without.
            say("building luisac without LLVM (release)");
            let flags = ["build", "--release", "--no-default-features", "--bin", "luisac"];
            status(&mut cargo(&flags))?;
            run::luisac()?
        }
    };
    let beside = || luisac.parent().and_then(Path::parent).unwrap_or(Path::new(".")).join("bench");
    let folder = folder.unwrap_or_else(beside);
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    println!("{:<34} {:>10} {:>8} {:>12}", "whole process", "median", "MB/s", "peak memory");
    let sizes = SIZES.iter().filter(|(len, _)| *len <= limit);
    for &(len, runs) in sizes.clone() {
        let file = input(&folder, len)?;
        let bytes = file.metadata().map_or(len, |m| m.len());
        let mut measured: Vec<Measured> =
            (0..runs).map(|_| check(luisac, &file)).collect::<Result<_>>()?;
        measured.sort_by_key(|m| m.time);
        let Measured { time, peak } = measured[runs / 2];
        row("luisac check", bytes, time, peak);
    }
    let short = sizes.map(|(len, _)| *len).filter(|len| *len < 1 << 30);
    match (reader, builds) {
        (Some(reader), _) => phases(&folder, short, || Command::new(&reader)),
        (None, true) => {
            say("building the reader's own measurement (release)");
            let example = ["--release", "-p", "luisac-ast", "--example", "read"];
            status(&mut cargo(&[&["build"], &example[..]].concat()))?;
            phases(&folder, short, || cargo(&[&["run", "-q"], &example[..], &["--"]].concat()))
        }
        (None, false) => Ok(()),
    }
}

fn row(name: &str, bytes: u64, time: Duration, peak: u64) {
    println!(
        "{:<34} {:>7.1} ms {:>8.0} {:>9.1} MB",
        format!("{name}, {:.1} MB", bytes as f64 / 1e6),
        time.as_secs_f64() * 1e3,
        bytes as f64 / 1e6 / time.as_secs_f64(),
        peak as f64 / 1e6
    );
}

/// The input of about `len` bytes, written if it is not there.
fn input(folder: &Path, len: u64) -> Result<PathBuf> {
    let path = folder.join(format!("unrolled-{len}.json"));
    if !path.is_file() {
        say(format_args!("writing {}", path.display()));
        let fail = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        let part = path.with_extension("part");
        let file = File::create(&part).map_err(fail)?;
        unrolled::write(BufWriter::with_capacity(1 << 20, file), len).map_err(fail)?;
        fs::rename(&part, &path).map_err(fail)?;
    }
    Ok(path)
}

/// What one run took.
struct Measured {
    time: Duration,
    /// Most memory that was resident at once, in bytes; 0 where the system does not say.
    peak: u64,
}

/// Runs `luisac check` on a file.
fn check(luisac: &Path, file: &Path) -> Result<Measured> {
    let start = Instant::now();
    let mut child = Command::new(luisac)
        .arg("check")
        .arg(file)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start luisac: {e}"))?;
    let mut peak = 0;
    loop {
        peak = peak_memory(child.id()).unwrap_or(peak);
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => {
                return Err(format!("luisac check {} failed: {status}", file.display()));
            }
            Ok(None) => std::thread::sleep(Duration::from_micros(500)),
            Err(e) => return Err(format!("cannot wait for luisac: {e}")),
        }
    }
    Ok(Measured { time: start.elapsed(), peak })
}

/// The largest resident set that a process has had so far, mapped files included (Linux).
fn peak_memory(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}

/// The parts of it, inside one process, for JSON and for the same kernels as callable libraries.
fn phases(
    folder: &Path,
    sizes: impl Iterator<Item = u64>,
    reader: impl Fn() -> Command,
) -> Result<()> {
    for len in sizes {
        let file = input(folder, len)?;
        let lines = output(reader().arg(&file)).ok_or("the reader's own measurement failed")?;
        println!("{lines}");
    }
    Ok(())
}

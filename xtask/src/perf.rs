//! `cargo xtask perf`: the kernels of the performance corpus on the CPU, against the C that an expert wrote.
//!
//! Both run on the same inputs with the same number of threads. The C side is the corpus's own bench program; ours is
//! `luisac run --time`. Results are compared with the C side's, by the tolerance that the problem states.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    run::{Result, build, output, root, status},
    setup::{self, For},
};

/// What one problem is, as `perf/problems.cpp` wrote it.
#[derive(Default)]
struct Problem {
    /// Arguments of `luisac run` for dispatch, buffers and scalars.
    flags: Vec<String>,
    /// Positions of the buffers to compare, and whether they hold floats.
    results: Vec<(String, bool)>,
    tolerance: f64,
    /// Share of the numbers that may differ by more.
    allowed: f64,
}

/// `args`: names of kernels (all without), and flags for `luisac run`, such as `-O3`.
pub fn perf(args: &[String]) -> Result<()> {
    setup::setup(For::Build)?;
    setup::debian(&[
        ("clang-22", "the compiler of the C side"),
        ("libomp-22-dev", "the threads of the C side"),
        ("make", "to build the corpus's bench program"),
    ])?;
    let luisac = build()?;
    let corpus = root().join("../shared/corpus/perf");
    let folder = std::env::temp_dir().join(format!("luisac-perf-{}", std::process::id()));
    fs::create_dir_all(&folder)
        .map_err(|e| format!("cannot make a folder for the problems: {e}"))?;
    let (flags, names): (Vec<_>, Vec<_>) = args.iter().cloned().partition(|a| a.starts_with('-'));
    let names = if names.is_empty() { kernels(&corpus)? } else { names };
    let result = Bench { luisac, corpus, folder: folder.clone(), flags }.run(&names);
    let _ = fs::remove_dir_all(&folder);
    result
}

/// The names of the kernels there are, sorted.
fn kernels(corpus: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(corpus).map_err(|e| format!("cannot read `{}`: {e}", corpus.display()))?;
    let files = entries
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "json"));
    let mut names: Vec<String> =
        files.filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    Ok(names)
}

struct Bench {
    luisac: PathBuf,
    corpus: PathBuf,
    folder: PathBuf,
    flags: Vec<String>,
}

impl Bench {
    fn run(&self, names: &[String]) -> Result<()> {
        let at = |name: &str| self.folder.join(name);
        let harness = self.corpus.join("harness");
        let mut make = Command::new("make");
        make.current_dir(&harness).args(["-s", "cpu", "CC=clang-22", "CXX=clang++-22"]);
        status(make.arg(format!("BUILD={}", at("build").display())))?;
        let mut compile = Command::new("c++");
        compile.args(["-O2", "-std=c++17", "-o"]).arg(at("problems")).arg("-I").arg(&harness);
        status(compile.arg(root().join("xtask/perf/problems.cpp")))?;
        println!("{:<14} {:>10} {:>10} {:>7}  results", "kernel", "C ms", "luisac ms", "ratio");
        let (mut product, mut measured) = (1.0f64, 0);
        for name in names {
            match self.one(name) {
                Ok((c, ours, verdict)) => {
                    println!("{name:<14} {c:>10.3} {ours:>10.3} {:>7.2}  {verdict}", ours / c);
                    product *= ours / c;
                    measured += 1;
                }
                Err(e) => println!("{name:<14} {e}"),
            }
            for file in fs::read_dir(&self.folder)
                .into_iter()
                .flatten()
                .filter_map(|e| Some(e.ok()?.path()))
            {
                if file
                    .file_name()
                    .is_some_and(|f| f.to_string_lossy().starts_with(&format!("{name}.")))
                {
                    let _ = fs::remove_file(file);
                }
            }
        }
        println!(
            "geometric mean of {measured} ratios: {:.2}",
            product.powf(1.0 / f64::from(measured.max(1)))
        );
        Ok(())
    }

    /// Median times of both sides in milliseconds, and what comparing the results said.
    fn one(&self, name: &str) -> Result<(f64, f64, String)> {
        status(Command::new(self.folder.join("problems")).arg(&self.folder).arg(name))?;
        let problem = self.problem(name)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        let mut c = Command::new(self.folder.join("build/cpu_bench"));
        c.env("OMP_NUM_THREADS", &threads).args(["--kernel", name, "--dump"]).arg(&self.folder);
        let text = output(c.arg(self.folder.join("build/libbaseline_precise.so")));
        let c = text.and_then(|t| number_after(&t, "\"median_ms\":")).ok_or("the C side failed")?;
        let input = self.corpus.join(format!("{name}.json"));
        let mut run = Command::new(&self.luisac);
        run.args(["run", "--device", "cpu"]).arg(&input).args(&problem.flags).args(&self.flags);
        let mut timed = Command::new(&self.luisac);
        timed
            .args(run.get_args())
            .arg("--time")
            .env("NO_COLOR", "1")
            .env("RAYON_NUM_THREADS", &threads);
        for (k, _) in &problem.results {
            run.arg("--out")
                .arg(format!("{k}={}", self.folder.join(format!("{name}.{k}.ours.npy")).display()));
        }
        let said = |out: std::process::Output| String::from_utf8_lossy(&out.stderr).into_owned();
        let text = said(timed.output().map_err(|e| format!("cannot start luisac: {e}"))?);
        let ours = text.find("median of").and_then(|at| number_after(&text[at..], "runs"));
        let ours =
            ours.ok_or_else(|| text.lines().next().unwrap_or("luisac said no time").to_owned())?;
        let out = run.output().map_err(|e| format!("cannot start luisac: {e}"))?;
        if !out.status.success() {
            return Err(said(out).lines().next().unwrap_or("luisac failed").to_owned());
        }
        Ok((c, ours, self.compare(name, &problem)?))
    }

    fn problem(&self, name: &str) -> Result<Problem> {
        let read = fs::read_to_string(self.folder.join(format!("{name}.txt")));
        let mut p = Problem::default();
        for line in read.map_err(|e| format!("no problem: {e}"))?.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["dispatch", size] => p.flags.extend(["--dispatch".into(), size.into()]),
                ["tolerance", t, a] => {
                    (p.tolerance, p.allowed) = (t.parse().unwrap_or(0.0), a.parse().unwrap_or(0.0))
                }
                ["scalar", k, value] => p.flags.extend(["--arg".into(), format!("{k}={value}")]),
                [kind, k, ty] => {
                    let file = self.folder.join(format!("{name}.{k}.npy"));
                    p.flags.extend(["--arg".into(), format!("{k}={}", file.display())]);
                    if kind == "result" {
                        p.results.push((k.into(), ty == "f"));
                    }
                }
                _ => return Err(format!("`{line}` is no line of a problem")),
            }
        }
        Ok(p)
    }

    /// Compares our results with the C side's: relative to the number or to a hundredth of the largest.
    fn compare(&self, name: &str, problem: &Problem) -> Result<String> {
        let read =
            |file: String| fs::read(self.folder.join(&file)).map_err(|e| format!("`{file}`: {e}"));
        let (mut beyond, mut all, mut worst) = (0usize, 0usize, 0.0f64);
        for (k, float) in &problem.results {
            let theirs = read(format!("{name}.{k}.out"))?;
            let ours = read(format!("{name}.{k}.ours.npy"))?;
            let ours = ours.get(ours.len().saturating_sub(theirs.len())..).unwrap_or_default();
            let value = |b: &[u8]| {
                let word = b.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
                if *float { f64::from(f32::from_bits(word)) } else { f64::from(word) }
            };
            let largest = theirs
                .chunks_exact(4)
                .map(|b| value(b).abs())
                .filter(|v| v.is_finite())
                .fold(0.0, f64::max);
            for (a, b) in theirs.chunks_exact(4).zip(ours.chunks_exact(4)) {
                let (a, b) = (value(a), value(b));
                let scale =
                    if *float { a.abs().max(largest / 100.0).max(f64::MIN_POSITIVE) } else { 1.0 };
                let error =
                    if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else { (a - b).abs() / scale };
                worst = worst.max(error);
                // A NaN on one side is beyond any tolerance.
                beyond += usize::from(error.is_nan() || error > problem.tolerance);
                all += 1;
            }
            if ours.len() != theirs.len() {
                return Ok("WRONG: not as many numbers".into());
            }
        }
        let share = beyond as f64 / all.max(1) as f64;
        let word = if share <= problem.allowed { "right" } else { "WRONG" };
        Ok(format!("{word}, largest difference {worst:.1e}"))
    }
}

/// The number that follows `key` in a text.
fn number_after(text: &str, key: &str) -> Option<f64> {
    let rest = text[text.find(key)? + key.len()..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".e-+".contains(c)).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

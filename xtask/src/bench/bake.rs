//! `cargo xtask bench bake [LUISAC] [--kernels N]`: a thousand kernels for three targets, baked cold, unchanged, and with one of them touched.
//!
//! Needs nothing but the two binaries and the folder `fixtures`: `CARGO_MANIFEST_DIR=$PWD/xtask ./xtask bench bake ./luisac`.

mod machine;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    run::{Result, build, root, say},
    setup::{self, For},
};

const KERNELS: usize = 1000;
const TARGETS: [&str; 3] = ["ptx:sm_80", "cpu:x86-64-v3", "cpu:aarch64"];
/// Cold bakes with each number of threads; the quickest counts, since a neighbour on the machine only ever takes time.
const COLD: usize = 3;
/// Entries that a cache is filled up to, to see what that does to a look-up.
const ENTRIES: usize = 10_000;

pub fn bench(args: &[String]) -> Result<()> {
    let (mut path, mut kernels) = (None, KERNELS);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--kernels" => {
                let count = words.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                kernels = count.ok_or("--kernels needs a number")?;
            }
            word => path = Some(word),
        }
    }
    let luisac = match path {
        Some(path) => PathBuf::from(path),
        None => {
            setup::setup(For::Build)?;
            build()?
        }
    };
    let folder = std::env::temp_dir().join(format!("luisac-bake-{}", std::process::id()));
    let done = Bench { luisac, folder: folder.clone(), kernels }.all();
    let _ = fs::remove_dir_all(folder);
    done
}

struct Bench {
    luisac: PathBuf,
    folder: PathBuf,
    kernels: usize,
}

/// One bake: how long it took, the most memory it held, and what it said as JSON lines.
struct Baked {
    time: Duration,
    /// Processor time, of users and of the system; zero where nobody tells.
    busy: [Duration; 2],
    peak: u64,
    said: String,
}

impl Baked {
    /// A number of the summary.
    fn number(&self, key: &str) -> f64 {
        let summary = self.said.lines().find(|l| l.contains("\"event\":\"summary\"")).unwrap_or("");
        value(summary, key).unwrap_or(f64::NAN)
    }

    /// Milliseconds of the jobs that were done.
    fn job_ms(&self) -> f64 {
        let done = self.said.lines().filter(|l| l.contains("\"event\":\"done\""));
        done.filter_map(|l| value(l, "ms")).sum()
    }
}

/// The number under a key of a line.
fn value(line: &str, key: &str) -> Option<f64> {
    let rest = line.split_once(&format!("\"{key}\":"))?.1;
    rest.split([',', '}']).next()?.parse().ok()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Bench {
    fn all(&self) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let fixtures = self.fixtures()?;
        self.project(&fixtures)?;
        println!(
            "{} kernels, copies of {} fixtures under names of their own, for {}; {cores} cores",
            self.kernels,
            fixtures.len(),
            TARGETS.join(", ")
        );
        self.cold(cores)?;
        let mut unchanged: Vec<Baked> = (0..11).map(|_| self.bake(&[])).collect::<Result<_>>()?;
        unchanged.sort_by_key(|b| b.time);
        println!(
            "unchanged: median of 11 {:.1} ms, peak {} MiB",
            ms(unchanged[5].time),
            unchanged[5].peak >> 10
        );
        self.touched()?;
        self.lookups()
    }

    /// Cold bakes with more and more threads. Efficiency is the time of one over the time of n and n; beside it stands the same of work
    /// that shares nothing, which is what this machine allows.
    fn cold(&self, cores: usize) -> Result<()> {
        let mut threads: Vec<usize> = [1, 2, 4, 8, 16].into_iter().filter(|n| *n < cores).collect();
        threads.push(cores);
        println!(
            "cold bakes, the quickest of {COLD}\n{:>7} {:>9} {:>11} {:>12} {:>9} {:>9} {:>9} {:>9} {:>7}",
            "threads",
            "wall ms",
            "efficiency",
            "the machine",
            "user ms",
            "sys ms",
            "peak MiB",
            "compiled",
            "failed"
        );
        let mut one = 0.0;
        for n in threads {
            let runs = (0..COLD).map(|_| {
                self.forget(true);
                self.bake(&["-j", &n.to_string()])
            });
            let runs = runs.collect::<Result<Vec<Baked>>>()?;
            let baked = runs.into_iter().min_by_key(|b| b.time).ok_or("nothing was baked")?;
            let time = ms(baked.time);
            if n == 1 {
                one = time;
            }
            println!(
                "{n:>7} {time:>9.0} {:>9.1} % {:>10.1} % {:>9.0} {:>9.0} {:>9} {:>9.0} {:>7.0}",
                one / time / n as f64 * 100.0,
                100.0 / machine::slowdown(n),
                ms(baked.busy[0]),
                ms(baked.busy[1]),
                baked.peak >> 10,
                baked.number("compiled"),
                baked.number("failed"),
            );
        }
        let archive = fs::metadata(self.folder.join("out.luisa")).map_or(0, |m| m.len());
        println!("the archive: {archive} bytes");
        Ok(())
    }

    /// The fixtures that all targets hold.
    fn fixtures(&self) -> Result<Vec<PathBuf>> {
        let mut all: Vec<PathBuf> = fs::read_dir(root().join("fixtures"))
            .map_err(|e| e.to_string())?
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "json"))
            .filter(|p| !p.to_string_lossy().ends_with(".expect.json"))
            .collect();
        all.sort();
        let out = self.folder.join("try/");
        all.retain(|path| {
            let mut command = Command::new(&self.luisac);
            command
                .arg("compile")
                .arg(path)
                .arg("--target")
                .arg(TARGETS.join(","))
                .arg("-o")
                .arg(&out);
            command.output().is_ok_and(|out| out.status.success())
        });
        if all.is_empty() { Err("no fixture compiles".into()) } else { Ok(all) }
    }

    fn project(&self, fixtures: &[PathBuf]) -> Result<()> {
        let kernels = self.folder.join("k");
        fs::create_dir_all(&kernels).map_err(|e| e.to_string())?;
        for i in 0..self.kernels {
            let from = &fixtures[i % fixtures.len()];
            let stem = from.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // An archive tells kernels apart by name: those that have one get another.
            let text = fs::read_to_string(from).map_err(|e| e.to_string())?;
            let text = text.replace(&format!("\"{stem}\""), &format!("\"{stem}_{i}\""));
            fs::write(kernels.join(format!("{stem}_{i}.json")), text).map_err(|e| e.to_string())?;
        }
        let targets: Vec<String> = TARGETS.iter().map(|t| format!("{t:?}")).collect();
        let manifest = format!(
            "[bake]\nkernels = [\"k/*.json\"]\ntargets = [{}]\noutput = \"out.luisa\"\n",
            targets.join(", ")
        );
        fs::write(self.folder.join("luisac.toml"), manifest).map_err(|e| e.to_string())
    }

    /// Removes the archive, and the cache too.
    fn forget(&self, cache: bool) {
        let _ = fs::remove_file(self.folder.join("out.luisa"));
        if cache {
            let _ = fs::remove_dir_all(self.folder.join("cache"));
        }
    }

    fn bake(&self, flags: &[&str]) -> Result<Baked> {
        let said = self.folder.join("said");
        let errors = fs::File::create(&said).map_err(|e| e.to_string())?;
        let before = children();
        let start = Instant::now();
        let mut child = Command::new(&self.luisac)
            .args(["bake", "--message-format", "json", "--cache", "cache"])
            .args(flags)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("cannot start luisac: {e}"))?;
        let peak = watch(&mut child)?;
        let time = start.elapsed();
        let after = children();
        let busy = [0, 1].map(|i| after[i].saturating_sub(before[i]));
        let said = fs::read_to_string(said).map_err(|e| e.to_string())?;
        if !said.contains("\"event\":\"summary\"") {
            return Err(said.lines().last().unwrap_or("it failed").to_owned());
        }
        Ok(Baked { time, busy, peak, said })
    }

    /// Touches the largest kernel, and looks at what that costs over compiling it.
    fn touched(&self) -> Result<()> {
        let kernels = fs::read_dir(self.folder.join("k")).map_err(|e| e.to_string())?;
        let size = |path: &Path| fs::metadata(path).map_or(0, |m| m.len());
        let path =
            kernels.filter_map(|e| Some(e.ok()?.path())).max_by_key(|p| (size(p), p.clone()));
        let path = path.ok_or("there are no kernels")?;
        let mut rows = Vec::new();
        for _ in 0..7 {
            let mut text = fs::read(&path).map_err(|e| e.to_string())?;
            text.push(b'\n');
            fs::write(&path, text).map_err(|e| e.to_string())?;
            let baked = self.bake(&["-j", "1"])?;
            rows.push((ms(baked.time) - baked.job_ms(), baked.job_ms(), baked.number("compiled")));
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (over, own, compiled) = rows[rows.len() / 2];
        println!(
            "one kernel touched: {compiled:.0} jobs compiled in {own:.1} ms; {over:.1} ms more for all the rest (median of 7)"
        );
        Ok(())
    }

    /// Everything from the cache, with as many entries as there are and with many more.
    fn lookups(&self) -> Result<()> {
        let median = |bench: &Self| -> Result<f64> {
            let mut times = Vec::new();
            for _ in 0..5 {
                bench.forget(false);
                times.push(bench.bake(&[])?);
            }
            times.sort_by_key(|b| b.time);
            Ok(ms(times[2].time) / times[2].number("cached"))
        };
        let few = median(self)?;
        let before = count(&self.folder.join("cache"));
        for i in before..ENTRIES.max(before) {
            // As a key would be: the first two digits are the folder.
            let digits = format!(
                "{:064x}",
                (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834)
            );
            let digits: String = digits.chars().rev().collect();
            let folder = self.folder.join("cache/1").join(&digits[..2]);
            fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
            fs::write(folder.join(format!("{digits}.luisa")), b"").map_err(|e| e.to_string())?;
        }
        let many = median(self)?;
        say(format_args!(
            "the cache had {before} entries, then {}",
            count(&self.folder.join("cache"))
        ));
        println!(
            "from the cache: {few:.3} ms a job with {before} entries, {many:.3} ms with {ENTRIES} (medians of 5 whole bakes)"
        );
        Ok(())
    }
}

/// Processor time of the children that ended, of users and of the system. Linux counts it in hundredths of a second.
fn children() -> [Duration; 2] {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may hold anything; what follows its last bracket are numbers.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    [13, 14].map(|i| {
        let ticks = fields.get(i).and_then(|field| field.parse().ok()).unwrap_or(0);
        Duration::from_millis(10 * ticks)
    })
}

/// Files under a folder.
fn count(folder: &Path) -> usize {
    let (mut count, mut pending) = (0, vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { pending.push(path) } else { count += 1 }
        }
    }
    count
}

/// Waits for a process; gives the most kibibytes that it held, where the system tells.
fn watch(child: &mut Child) -> Result<u64> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
        peak = peak.max(kib.unwrap_or(0));
        if child.try_wait().map_err(|e| e.to_string())?.is_some() {
            return Ok(peak);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

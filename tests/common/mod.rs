//! What the command-line tests share: running the binary, folders that vanish, recorded kernels.

// Each test program takes what it needs.
#![allow(dead_code)]

pub mod bake;
pub mod browser;
pub mod case;
pub mod exam;
pub mod graphs;
pub mod npy;
pub mod raw;
pub mod schema;

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// No call of a test may take longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a process ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code; none after a signal or when it did not end in time.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Outcome {
    /// Standard output as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is text")
    }

    /// The process did its work.
    #[track_caller]
    pub fn ok(self) -> Outcome {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// The codes on standard error, in order.
    pub fn codes(&self) -> Vec<&str> {
        let is_code = |w: &&str| {
            w.len() == 5 && w.starts_with('L') && w[1..].bytes().all(|b| b.is_ascii_digit())
        };
        self.stderr.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_code).collect()
    }

    /// What is wrong if this is no refusal of an input: an exit code of 1 and a coded diagnostic.
    pub fn refusal(&self) -> Result<(), String> {
        match (self.code, self.codes().is_empty()) {
            (Some(1), false) if !self.stderr.contains("panicked at") => Ok(()),
            (Some(0), _) => Err("was accepted".into()),
            (code, _) => {
                Err(format!("no coded refusal, exit code {code:?}: {}", head(&self.stderr)))
            }
        }
    }
}

/// The beginning of a long text.
pub fn head(text: &str) -> String {
    text.trim().chars().take(400).collect()
}

/// The binary under test, to be run in `folder`.
pub fn luisac(folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Outcome {
    finish(command(folder).args(args))
}

/// The binary under test without its arguments.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_luisac"));
    command.current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs to the end, or until patience is over.
pub fn finish(command: &mut Command) -> Outcome {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let (mut out, mut err) =
        (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status: Option<ExitStatus> = thread::scope(|scope| {
        scope.spawn(|| out.read_to_end(&mut stdout));
        scope.spawn(|| err.read_to_end(&mut stderr));
        let start = Instant::now();
        loop {
            match child.try_wait().expect("the child can be waited for") {
                Some(status) => return Some(status),
                None if start.elapsed() > PATIENCE => {
                    child.kill().expect("the child can be killed");
                    child.wait().expect("the child can be waited for");
                    return None;
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        }
    });
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Outcome { code: status.and_then(|s| s.code()), stdout, stderr }
}

/// A new empty folder that goes with its owner.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it among the temporary files of the build.
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and gives its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Content of a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name))
            .unwrap_or_else(|e| panic!("{name}: {e}; there are {:?}", self.names()))
    }

    /// The names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// DXC, which makes DXIL, or nothing, said in one line: where `LUISAC_DXC` says, or where `cargo xtask setup` puts it.
pub fn dxc() -> Option<PathBuf> {
    let named = std::env::var_os("LUISAC_DXC").map(PathBuf::from);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(".tools/python/compushady/backends")
        .join(format!("libdxcompiler_{}.so", std::env::consts::ARCH));
    let found = named.or(Some(ours)).filter(|p| p.exists());
    if found.is_none() {
        println!("skipped: no DXC; `cargo xtask setup` installs it");
    }
    found
}

/// A folder of the recorded kernels, or nothing, said in one line, where they are not.
pub fn corpus(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").join(folder);
    if path.is_dir() {
        return path.canonicalize().ok();
    }
    println!("skipped: no {}", path.display());
    None
}

/// A kernel of our own that is always there.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// The files under a folder whose names end so, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Does the work for every item on two threads, and gives the results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else { return done };
            done.push((i, work(item)));
        }
    };
    let mut all = thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mut all = worker();
        all.extend(other.join().expect("the work does not panic"));
        all
    });
    all.sort_by_key(|&(i, _)| i);
    all.into_iter().map(|(_, r)| r).collect()
}

/// No item has anything wrong with it.
#[track_caller]
pub fn all_right(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

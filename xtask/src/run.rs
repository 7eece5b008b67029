//! Paths of the project, and processes.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

pub type Result<T> = std::result::Result<T, String>;

/// The project's root folder.
pub fn root() -> PathBuf {
    // Cargo says it at run time; what was true at build time may belong to another checkout.
    let here =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(here).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Where tools go that only tests need.
pub fn tools() -> PathBuf {
    root().join(".tools")
}

pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
}

/// The release binary: beside the folder of this program, whatever the target folder is.
pub fn luisac() -> Result<PathBuf> {
    let me = env::current_exe().map_err(|e| format!("cannot find the target folder: {e}"))?;
    let target = me.parent().and_then(Path::parent).ok_or("cannot find the target folder")?;
    Ok(target.join("release").join(format!("luisac{}", env::consts::EXE_SUFFIX)))
}

/// Builds the release binary and says where it is.
pub fn build() -> Result<PathBuf> {
    say("building luisac (release)");
    status(&mut cargo(&["build", "--release", "--bin", "luisac"]))?;
    luisac()
}

/// A line about what happens next.
pub fn say(text: impl std::fmt::Display) {
    eprintln!("xtask: {text}");
}

fn shown(command: &Command) -> String {
    let words: Vec<_> = [command.get_program()]
        .into_iter()
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    words.join(" ")
}

/// Runs a command to its end, with its output going where ours goes.
pub fn status(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|e| format!("cannot start `{}`: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(command))) }
}

/// Whether a command ran and succeeded, without a word.
pub fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Standard output of a command that succeeded.
pub fn output(command: &mut Command) -> Option<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// Runs a command, shows its output as it comes, and returns all lines and whether it succeeded.
pub fn watched(command: &mut Command) -> Result<(Vec<String>, bool)> {
    let name = shown(command);
    let fail = |e: std::io::Error| format!("cannot run `{name}`: {e}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(fail)?;
    let lines = Mutex::new(Vec::new());
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>),
        child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>),
    ];
    std::thread::scope(|scope| {
        for stream in streams.into_iter().flatten() {
            scope.spawn(|| show_lines(stream, &lines));
        }
    });
    let status = child.wait().map_err(fail)?;
    Ok((lines.into_inner().unwrap_or_default(), status.success()))
}

fn show_lines(stream: impl Read, lines: &Mutex<Vec<String>>) {
    for line in BufReader::new(stream).split(b'\n').map_while(std::result::Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        let _ = writeln!(std::io::stderr(), "{line}");
        if let Ok(mut lines) = lines.lock() {
            lines.push(line);
        }
    }
}

/// Whether a program of this name is on the path.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|p| p.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
        .find(|p| p.is_file())
}

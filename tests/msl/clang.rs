//! Building and starting programs.

use super::common::{Folder, head};
use super::job::Job;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A clang that understands our header, with the header compiled and the runner built.
pub struct Clang {
    program: PathBuf,
    /// Holds `metal.pch` and `runner.o`.
    built: Folder,
}

/// Half of Metal's floats must round at each operation; nothing is contracted that the source does not contract.
const FLAGS: [&str; 8] = [
    "-std=c++20",
    "-w",
    "-O0",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-omit-frame-pointer",
];

/// No program of a test may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/msl")
}

impl Clang {
    /// The first that works, or nothing, said in one line.
    pub fn find() -> Option<Clang> {
        let named = std::env::var_os("LUISAC_CLANG").map(PathBuf::from);
        let usual = ["clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang"];
        let names = match named {
            Some(path) => vec![path],
            None => usual.map(PathBuf::from).to_vec(),
        };
        let found = names.into_iter().find_map(Clang::prepare);
        if found.is_none() {
            println!(
                "skipped: no clang that compiles C++20 with `_Float16`; LUISAC_CLANG names one"
            );
        }
        found
    }

    fn prepare(program: PathBuf) -> Option<Clang> {
        let works =
            Command::new(&program).arg("--version").output().is_ok_and(|o| o.status.success());
        if !works {
            return None;
        }
        let clang = Clang { program, built: Folder::new() };
        let header = sources().join("metal_stdlib");
        let compiled = clang.clang(&[&"-x", &"c++-header", &header, &"-o", &clang.header()]);
        let runner = sources().join("runner.cpp");
        let built = clang.clang(&[&"-O1", &"-c", &runner, &"-o", &clang.runner()]);
        match compiled.and(built) {
            Ok(()) => Some(clang),
            Err(why) => {
                println!("{} is of no use: {}", clang.program.display(), head(&why));
                None
            }
        }
    }

    fn header(&self) -> PathBuf {
        self.built.path().join("metal.pch")
    }

    fn runner(&self) -> PathBuf {
        self.built.path().join("runner.o")
    }

    fn clang(&self, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(FLAGS).arg("-I").arg(sources());
        for argument in arguments {
            command.arg(argument);
        }
        let done = finish(&mut command)?;
        if done.status.success() { Ok(()) } else { Err(first_errors(&done)) }
    }

    /// Builds a kernel's source into a program.
    pub fn build(&self, folder: &Folder, source: &str) -> Result<PathBuf, String> {
        let file = folder.write("kernel.cpp", source);
        let object = folder.path().join("kernel.o");
        let program = folder.path().join("kernel");
        self.clang(&[&"-include-pch", &self.header(), &"-c", &file, &"-o", &object])?;
        self.clang(&[&object, &self.runner(), &"-o", &program, &"-lm", &"-lstdc++"])?;
        Ok(program)
    }
}

/// The lines of a compiler's output that say what is wrong.
fn first_errors(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("error")).take(3).collect();
    format!("clang: {}", errors.join("; "))
}

/// Runs a job and gives what the runner wrote.
pub fn execute(folder: &Folder, program: &Path, job: &Job) -> Result<Vec<u8>, String> {
    let (input, output) = (folder.write("job", &job.bytes), folder.path().join("result"));
    let done = finish(Command::new(program).arg(input).arg(&output))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("the run ended with {}: {}", done.status, head(&said)));
    }
    std::fs::read(output).map_err(|e| e.to_string())
}

/// Runs to the end, or until patience is over.
fn finish(command: &mut Command) -> Result<Output, String> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child =
        started.map_err(|e| format!("cannot start {:?}: {e}", command.get_program()))?;
    let mut said = child.stderr.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut said, &mut bytes).map(|_| bytes)
    });
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it does not end".into());
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let stderr = reader.join().map_err(|_| "no output")?.map_err(|e| e.to_string())?;
    Ok(Output { status, stdout: Vec::new(), stderr })
}

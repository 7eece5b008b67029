//! The example of a program whose kernels are compiled when it is built: from a clean checkout, again when a kernel changes, and
//! never with wrong arguments.
#![cfg(feature = "llvm")]

mod common;

use common::files;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A copy of the example that finds this checkout, with a target folder that stays from one run of the tests to the next.
struct Example(PathBuf);

impl Example {
    fn new() -> Example {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example");
        for file in files(&root.join("examples/baked"), "") {
            let name = file.strip_prefix(root.join("examples/baked")).expect("it lies in it");
            if name.starts_with("target") {
                continue;
            }
            let mut bytes = std::fs::read(&file).expect("it");
            if name == Path::new("Cargo.toml") {
                let text = String::from_utf8(bytes).expect("text");
                let path = |part: &str| format!("path = \"{}\"", root.join(part).display());
                let text = text.replace("path = \"../../runtime\"", &path("runtime"));
                bytes = text.replace("path = \"../..\"", &path("")).into_bytes();
            }
            let to = folder.join(name);
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            // What is the same keeps its time, so that cargo has nothing to do.
            if std::fs::read(&to).ok().as_deref() != Some(&bytes) {
                std::fs::write(to, bytes).expect("it");
            }
        }
        // The same versions as here, and no network.
        std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("it");
        Example(folder)
    }

    fn cargo(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO"));
        // Nothing of the build of these tests is meant for the example.
        for (name, _) in std::env::vars() {
            if name.starts_with("CARGO_")
                && !["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&name.as_str())
            {
                command.env_remove(name);
            }
        }
        command.args(words).current_dir(&self.0).env("CARGO_TARGET_DIR", self.0.join("target"));
        command.output().expect("cargo runs")
    }

    #[track_caller]
    fn run(&self) -> String {
        let out = self.cargo(&["run", "--offline"]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{said}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// The time at which the archive was written.
    fn archive_time(&self) -> std::time::SystemTime {
        let all = files(&self.0.join("target"), "kernels.luisa");
        let times =
            all.iter().map(|f| std::fs::metadata(f).and_then(|m| m.modified()).expect("it"));
        times.max().expect("the archive is there")
    }

    /// What the compiler says to the program with something replaced.
    fn refused(&self, from: &str, to: &str) -> String {
        let main = self.0.join("src/main.rs");
        let text = std::fs::read_to_string(&main).expect("it");
        assert!(text.contains(from), "{from}");
        std::fs::write(&main, text.replace(from, to)).expect("it");
        let out = self.cargo(&["check", "--offline"]);
        std::fs::write(&main, text).expect("it");
        assert!(!out.status.success(), "`{to}` was compiled");
        String::from_utf8_lossy(&out.stderr).into_owned()
    }
}

#[test]
fn the_example_builds_runs_and_builds_again_when_a_kernel_changes() {
    let example = Example::new();
    assert_eq!(example.run(), "[12.0, 24.0, 36.0, 48.0]\n");
    let first = example.archive_time();
    // Nothing was touched: the build script does not run again.
    assert_eq!(example.run(), "[12.0, 24.0, 36.0, 48.0]\n");
    assert_eq!(example.archive_time(), first);
    // Another kernel under the same name.
    let kernel = example.0.join("kernels/saxpy.json");
    let text = std::fs::read_to_string(&kernel).expect("it");
    std::fs::write(&kernel, format!("{text}\n")).expect("it");
    assert_eq!(example.run(), "[12.0, 24.0, 36.0, 48.0]\n");
    assert!(example.archive_time() > first);
    // A kernel that is wrong is shown as on the command line.
    std::fs::write(&kernel, text.replacen("\"BUFFER\"", "\"BUFER\"", 1)).expect("it");
    let said = String::from_utf8_lossy(&example.cargo(&["build", "--offline"]).stderr).into_owned();
    std::fs::write(&kernel, text).expect("it");
    assert!(said.contains("kernels/saxpy.json:") && said.contains("BUFER"), "{said}");
    // What does not fit the kernel does not compile.
    let call = "&x, &y, 2.0, [4, 1, 1]";
    let said = example.refused(call, "&x, &y, [4, 1, 1]");
    assert!(said.contains("E0061"), "{said}");
    let said = example.refused(call, "&x, 2.0, &y, [4, 1, 1]");
    assert!(said.contains("E0308"), "{said}");
    let said = example.refused("&[10.0f32, 20.0, 30.0, 40.0]", "&[10i32, 20, 30, 40]");
    assert!(said.contains("E0308"), "{said}");
    let said = example.refused("kernels::Saxpy", "kernels::Saxpi");
    assert!(said.contains("E0433") || said.contains("E0425"), "{said}");
}

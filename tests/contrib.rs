//! The scripts of `contrib/`, run as git and a CI service run them.
#![cfg(all(feature = "llvm", unix))]

mod common;

use common::bake::{KERNELS, project};
use common::{Folder, Outcome, files, finish, fixture};
use std::path::{Path, PathBuf};
use std::process::Command;

fn contrib(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib").join(name)
}

/// A command that finds luisac on its path.
fn with_luisac(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let ours = Path::new(env!("CARGO_BIN_EXE_luisac")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", ours.display()))
        .env("NO_COLOR", "1");
    command
}

fn git(folder: &Folder, line: &str) -> Outcome {
    let mut command = with_luisac("git", folder.path());
    for (name, value) in [("NAME", "a"), ("EMAIL", "a@example.org")] {
        command
            .env(format!("GIT_AUTHOR_{name}"), value)
            .env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    finish(command.args(line.split_whitespace()))
}

/// What is committed is checked as it is committed, whatever lies in the folder meanwhile.
#[test]
fn the_hook_refuses_wrong_kernels() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: no git");
        return;
    }
    let folder = Folder::new();
    git(&folder, "init -q .").ok();
    let hook = folder.path().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    std::fs::copy(contrib("pre-commit"), &hook).expect("the hook");
    // No kernel at all.
    folder.write("package.json", "{\"name\": \"x\"}");
    git(&folder, "add .").ok();
    git(&folder, "commit -q -m one").ok();
    // One that is right, in a folder with a space.
    let right = std::fs::read(fixture("saxpy.json")).expect("it");
    folder.write("my kernels/saxpy.json", &right);
    git(&folder, "add .").ok();
    git(&folder, "commit -q -m two").ok();
    // One that is wrong, though the file is right again meanwhile.
    folder.write(
        "my kernels/saxpy.json",
        String::from_utf8_lossy(&right).replacen("\"BUFFER\"", "\"BUFER\"", 1),
    );
    git(&folder, "add .").ok();
    folder.write("my kernels/saxpy.json", &right);
    let refused = git(&folder, "commit -q -m three");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("saxpy.json") && refused.stderr.contains("BUFER"),
        "{}",
        refused.stderr
    );
    git(&folder, "add .").ok();
    git(&folder, "commit -q --allow-empty -m four").ok();
}

/// Runs the step of the action that bakes.
fn action(folder: &Folder, mode: &str, lints: &str) -> Outcome {
    let mut command = with_luisac("sh", folder.path());
    command.arg(contrib("github-action/bake.sh"));
    command.env("MANIFEST", ".").env("MODE", mode).env("LINTS", lints).env("SARIF", "luisac.sarif");
    command.env("GITHUB_OUTPUT", "output").env("GITHUB_STEP_SUMMARY", "summary");
    command.env("LUISAC_CACHE", folder.path().join("cache"));
    let _ = std::fs::remove_file(folder.path().join("output"));
    let _ = std::fs::remove_file(folder.path().join("summary"));
    finish(&mut command)
}

#[test]
fn the_action_bakes_counts_and_tells() {
    let folder = project(&KERNELS);
    let text = |name: &str| String::from_utf8(folder.read(name)).expect("text");
    assert_eq!(action(&folder, "check", "").code, Some(4));
    assert!(text("summary").contains("out of date: k/saxpy.json"), "{}", text("summary"));
    action(&folder, "bake", "").ok();
    assert_eq!(text("output"), "compiled=8\ncached=0\nfailed=0\n");
    assert!(text("summary").contains("8 jobs: 8 compiled"), "{}", text("summary"));
    action(&folder, "check", "").ok();
    folder.write("k/broken.json", "{\n  \"types\": [],\n  \"functions\": 3\n}");
    assert_eq!(action(&folder, "bake", "-D warnings").code, Some(1));
    assert_eq!(text("output"), "compiled=8\ncached=0\nfailed=2\n");
    assert!(text("summary").contains("failed: k/broken.json"), "{}", text("summary"));
    let log: serde_json::Value = serde_json::from_str(&text("luisac.sarif")).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("findings");
    let places = results.iter().map(|r| &r["locations"][0]["physicalLocation"]);
    let places: Vec<_> = places.collect();
    assert!(places.iter().all(|p| p["artifactLocation"]["uri"] == "k/broken.json"), "{log}");
    assert!(places.iter().any(|p| p["region"]["startLine"] == 3), "{log}");
    assert_eq!(action(&folder, "cook", "").code, Some(2));
}

/// The shell and Python find nothing wrong with the other files, which need services to run.
#[test]
fn scripts_and_workflows_can_be_read() {
    for script in ["pre-commit", "github-action/bake.sh", "github-action/install.sh"] {
        let mut command = Command::new("sh");
        finish(command.arg("-n").arg(contrib(script))).ok();
    }
    let mut pages = files(&contrib("."), ".yml");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    pages.extend([root.join(".pre-commit-hooks.yaml"), root.join(".github/workflows/release.yml")]);
    let program = "import sys, yaml\nfor page in sys.argv[1:]: assert yaml.safe_load(open(page))";
    let mut command = Command::new("python3");
    let found = finish(command.args(["-c", program]).args(&pages));
    if found.stderr.contains("No module named") {
        println!("skipped: Python has no module `yaml`");
        return;
    }
    found.ok();
}

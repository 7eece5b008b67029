//! Which crate may use which: the runtime needs nothing of the compiler, the artifact crate nothing of either.

use std::process::Command;

/// The names of a package's normal dependencies, itself included.
fn dependencies(package: &str) -> Vec<String> {
    let out = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "-p",
            package,
            "-e",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.lines().filter_map(|l| l.split(' ').next()).map(str::to_owned).collect()
}

#[track_caller]
fn uses_none_of(package: &str, others: &[&str]) {
    let found: Vec<_> =
        dependencies(package).into_iter().filter(|d| others.contains(&d.as_str())).collect();
    assert!(found.is_empty(), "{package} depends on {found:?}");
}

#[test]
fn the_runtime_needs_no_compiler() {
    uses_none_of(
        "luisac-runtime",
        &[
            "luisac",
            "luisac-ast",
            "luisac-xir",
            "luisac-passes",
            "luisac-targets",
            "inkwell",
            "llvm-sys",
        ],
    );
}

#[test]
fn the_artifact_crate_stands_alone() {
    uses_none_of(
        "luisac-artifact",
        &[
            "luisac",
            "luisac-ast",
            "luisac-xir",
            "luisac-passes",
            "luisac-targets",
            "luisac-runtime",
            "inkwell",
        ],
    );
}

/// Build scripts that need no LLVM do not compile it.
#[test]
fn the_thin_crate_for_build_scripts_has_no_llvm() {
    uses_none_of("luisac-build", &["inkwell", "llvm-sys", "luisac-testing", "opendal"]);
}

#[test]
fn layers_point_downwards() {
    uses_none_of("luisac-ast", &["luisac-xir", "luisac-passes", "luisac-targets", "luisac"]);
    uses_none_of("luisac-xir", &["luisac-passes", "luisac-targets", "luisac"]);
    uses_none_of("luisac-passes", &["luisac-targets", "luisac"]);
    uses_none_of("xtask", &["luisac", "serde", "clap"]);
}

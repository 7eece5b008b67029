//! `cargo xtask test`: every test, and a last line that says how many passed.

use std::process::Command;

use crate::{
    dxil,
    run::{Result, cargo, on_path, say, watched},
    setup::{self, For},
};

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
}

/// Sets up and runs every test; `args` go to the test runner.
pub fn test(args: &[String]) -> Result<()> {
    setup::setup(For::Tests)?;
    let mut count = Count::default();
    let mut broken = Vec::new();
    let nextest = on_path("cargo-nextest").is_some();
    let runs: &[&[&str]] = if nextest {
        &[
            &["nextest", "run", "--workspace", "--no-fail-fast"],
            &["test", "--workspace", "--doc", "--no-fail-fast"],
        ]
    } else {
        &[&["test", "--workspace", "--no-fail-fast"]]
    };
    for run in runs {
        say(format_args!("cargo {}", run.join(" ")));
        let (lines, ok) = watched(with_tools(cargo(run).args(args)))?;
        let before = count.failed;
        // Nextest shows the output of failed tests, with their own summaries in it.
        let summary = if run[0] == "nextest" { "Summary [" } else { "test result:" };
        lines.iter().filter(|l| l.trim().starts_with(summary)).for_each(|l| count.add(l));
        if !ok && count.failed == before {
            // It ended before it could count: something does not build, or a test took the runner with it.
            count.failed += 1;
            broken.push(format!("`cargo {}` did not get through", run.join(" ")));
        }
    }
    broken.iter().for_each(say);
    println!("{} passed, {} failed", count.passed, count.failed);
    if count.failed == 0 { Ok(()) } else { Err("tests failed".into()) }
}

/// Tells tests where the tools are.
fn with_tools(command: &mut Command) -> &mut Command {
    command.env("PYTHONPATH", setup::python_path()).env("CARGO_TERM_COLOR", "never");
    if let Some(ptxas) = setup::ptxas() {
        command.env("LUISAC_PTXAS", ptxas);
    }
    if let Some(dxc) = setup::dxc() {
        command.env("LUISAC_DXC", dxc);
    }
    if let Some(tool) = dxil::to_spirv() {
        command.env("LUISAC_DXIL_TO_SPIRV", tool);
    }
    command
}

impl Count {
    /// Adds what a summary line says, which is `test result: ok. 3 passed; 1 failed; ..` of cargo's own runner, or
    /// `Summary [ 1.2s] 5 tests run: 4 passed (1 slow), 1 failed, 2 timed out, 0 skipped` of nextest.
    fn add(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            let Ok(n) = pair[0].trim_start_matches('(').parse::<usize>() else { continue };
            match pair[1].trim_end_matches([',', ';']) {
                "passed" => self.passed += n,
                "failed" | "timed" => self.failed += n,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[track_caller]
    fn counts(line: &str, passed: usize, failed: usize) {
        let mut count = Count::default();
        count.add(line);
        assert_eq!((count.passed, count.failed), (passed, failed), "{line}");
    }

    #[test]
    fn summaries() {
        counts(
            "test result: ok. 8 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.04s",
            8,
            0,
        );
        counts(
            "     Summary [   0.084s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 2 skipped",
            7,
            2,
        );
        counts("     Summary [   0.084s] 1 test run: 1 passed, 0 skipped", 1, 0);
    }
}

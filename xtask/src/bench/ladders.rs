//! `cargo xtask bench ladders`: how the time of every pass grows with the size of kernels of one shape each.

use crate::run::{Result, cargo, say, status};

/// Builds the tool with optimisation and runs it; `args` are its flags.
pub fn bench(args: &[String]) -> Result<()> {
    say("building the ladders");
    let mut command =
        cargo(&["run", "-q", "--profile", "tools", "-p", "luisac-testing", "--", "ladders"]);
    status(command.args(args))
}

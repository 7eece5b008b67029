//! `cargo xtask diff`: random kernels through single passes, pairs and pipelines, against the interpreter.

use crate::run::{Result, cargo, say, status};

/// Builds the tool with optimisation and runs it; `args` are its flags.
pub fn diff(args: &[String]) -> Result<()> {
    say("building the differential runner");
    let mut command =
        cargo(&["run", "-q", "--profile", "tools", "-p", "luisac-testing", "--", "diff"]);
    status(command.args(args))
}

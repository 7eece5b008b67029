//! `cargo xtask fixtures`: the small kernels of `fixtures/`, made by the builder in `ast/examples/fixtures`.

use crate::run::{Result, cargo, root, status};

/// Writes them into their folder.
pub fn fixtures() -> Result<()> {
    let folder = root().join("fixtures");
    let mut command =
        cargo(&["run", "--quiet", "--package", "luisac-ast", "--example", "fixtures", "--"]);
    status(command.arg(folder))
}

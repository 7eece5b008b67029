//! `cargo xtask docs`: writes the pages that come from the code.

use crate::run::{Result, cargo, say, status};

/// Each page is written by the test that compares it: crate and test.
const PAGES: [(&str, &str, &str); 2] = [
    ("docs/passes.md", "luisac-passes", "the_page_is_up_to_date"),
    ("docs/support.md", "luisac-targets", "the_support_page_is_up_to_date"),
];

/// Writes all of them.
pub fn docs() -> Result<()> {
    for (page, package, test) in PAGES {
        say(format_args!("writing {page}"));
        let mut command = cargo(&["test", "-q", "-p", package, "--lib"]);
        if package == "luisac-targets" {
            command.args(["--features", "llvm,dxil"]);
        }
        status(command.arg(test).env("BLESS", "1"))?;
    }
    Ok(())
}

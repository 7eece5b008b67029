//! `luisac check`.

use super::messages::{Failure, Messages};
use super::options::CheckCommand;
use super::read::read_options;
use luisac::driver::input::{self, Input};
use luisac::driver::program;

/// Reads and validates all inputs; goes on after a failure.
pub fn run(command: &CheckCommand, messages: &Messages) -> Result<(), Failure> {
    let flags = &command.input;
    let options = read_options(&flags.read, &flags.callable, messages)?;
    let files = input::expand(&flags.inputs).map_err(|d| messages.fail(d, None))?;
    let mut failed = false;
    for file in &files {
        let input = match Input::read(file) {
            Ok(input) => input,
            Err(diagnostic) => {
                messages.show(&diagnostic, None);
                failed = true;
                continue;
            }
        };
        let checked = program::module(&input, &options).and_then(|(module, warnings)| {
            // A library of callables is right without a kernel.
            if !flags.entry.is_empty() {
                luisac::driver::compile::choose(&module, &flags.entry)?;
            }
            Ok(warnings)
        });
        match checked {
            Ok(warnings) => messages.show_all(&warnings, Some(&input)),
            Err(diagnostics) => {
                messages.show_all(&diagnostics, Some(&input));
                failed = true;
            }
        }
    }
    if failed { Err(Failure::Input) } else { Ok(()) }
}

//! `luisac check`.

use super::messages::{Failure, Messages};
use super::options::CheckCommand;
use luisac::driver::input::{self, Input};

/// Reads and validates all inputs; goes on after a failure.
pub fn run(command: &CheckCommand, messages: &Messages) -> Result<(), Failure> {
    let files = input::expand(&command.input.inputs).map_err(|d| messages.fail(d, None))?;
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
        let checked = input.module().and_then(|(module, warnings)| {
            super::compile::choose(&module, &command.input.entry)?;
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

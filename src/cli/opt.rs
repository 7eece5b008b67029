//! `luisac opt`: XIR in, XIR or an AST out.

use super::messages::{Failure, Messages};
use super::options::OptCommand;
use super::read::read_options;
use super::watch::Watcher;
use super::{output, repro};
use luisac::driver::ast;
use luisac::driver::compile::{self, Watch};
use luisac::driver::input::{self, Input};
use luisac::driver::options::CodeOptions;
use luisac::driver::program::{self, ReadOptions};
use luisac_ast::diagnostic::Diagnostics;
use luisac_passes::{Pipeline, Run};
use luisac_xir::{Module, text};
use std::path::Path;

/// Runs the passes asked for and prints the module.
pub fn run(command: &OptCommand, messages: &Messages) -> Result<(), Failure> {
    let options = read_options(&command.read, &command.callable, messages)?;
    let input = Input::read(&command.file).map_err(|d| messages.fail(d, None))?;
    optimise(command, messages, &input, &options).map_err(|d| messages.fail(d, Some(&input)))
}

fn optimise(
    command: &OptCommand,
    messages: &Messages,
    input: &Input,
    options: &ReadOptions,
) -> Result<(), Diagnostics> {
    let (mut module, warnings) = program::module(input, options)?;
    messages.show_all(&warnings, Some(input));
    let flags = &command.pipeline;
    if let Some(text) = &flags.passes {
        let pipeline = Pipeline::parse(text)?;
        if let Some(path) = &flags.repro {
            repro::write(path, &module, &pipeline, flags.fuel)?;
        }
        let mut watcher = Watcher::new(flags.watch(), &module)?;
        let mut see = |run: &Run, module: &Module| watcher.see(run, module);
        let mut watch = Watch { verify_each: flags.verify_each, after: Some(&mut see) };
        let options = CodeOptions { fuel: flags.fuel, ..CodeOptions::default() };
        let report = compile::optimise(&mut module, &pipeline, &options, &mut watch)?;
        watcher.finish(messages, &input.stem, report, (None, Vec::new()))?;
        input::verified(&module)?;
    }
    let path = command.output.as_deref().unwrap_or(Path::new("-"));
    let is_json = path.extension().is_some_and(|e| e == "json");
    let bytes = if is_json { ast::json(module)? } else { text::print(&module).into_bytes() };
    output::write(path, &bytes)?;
    Ok(())
}

//! The command line: one file a command.

mod bake;
mod cache;
mod check;
mod code_options;
mod compile;
mod devices;
mod explain;
mod inspect;
mod lists;
mod messages;
mod opt;
pub mod options;
mod output;
mod pack;
mod read;
mod reduce;
mod report;
mod repro;
mod run;
mod verify;
mod watch;

use clap::{CommandFactory, Parser};
use messages::{Failure, Messages};
use options::{Cli, Command};
use std::path::Path;
use std::process::ExitCode;

/// Arguments in, exit code out.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let messages = Messages::new(&cli.global);
    let done = dispatch(&cli.command, &messages);
    let logged = messages.finish();
    // What went wrong before outweighs a log that could not be written.
    match done.and(logged) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.into(),
    }
}

fn dispatch(command: &Command, messages: &Messages) -> Result<(), Failure> {
    match command {
        Command::Compile(command) => compile::run(command, messages),
        Command::Bake(command) => bake::run(command, messages),
        Command::Run(command) => run::run(command, messages),
        Command::Verify(command) => verify::run(command, messages),
        Command::Check(command) => check::run(command, messages),
        Command::Inspect(command) => inspect::run(command, messages),
        Command::Opt(command) => opt::run(command, messages),
        Command::Reduce(command) => reduce::run(command, messages),
        Command::Report(command) => report::run(command, messages),
        Command::Pack(command) => pack::run(command, messages),
        Command::Cache(command) => cache::run(command, messages),
        Command::Explain(command) => explain::run(&command.code, messages),
        Command::Passes(command) => lists::passes(command, messages),
        Command::Targets(command) => lists::targets(command, messages),
        Command::Devices(command) => devices::run(command, messages),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "luisac", &mut script);
            output::write(Path::new("-"), &script).map_err(|d| messages.fail(d, None))
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(|_| Failure::Input)?;
            output::write(Path::new("-"), &page).map_err(|d| messages.fail(d, None))
        }
    }
}

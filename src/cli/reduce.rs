//! `luisac reduce`: makes an input smaller that a pipeline or a command fails on.

use super::messages::{Failure, Messages};
use super::options::ReduceCommand;
use super::read::read_options;
use super::{output, repro};
use luisac::codes;
use luisac::driver::ast;
use luisac::driver::input::Input;
use luisac::driver::program::{self, ReadOptions};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_passes::{Pipeline, judge, reduce};
use luisac_xir::Module;
use luisac_xir::interp::{Bounds, Launch};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Steps of the interpreter for one candidate.
const MAX_STEPS: u64 = 1 << 24;

/// Reduces and writes what is left.
pub fn run(command: &ReduceCommand, messages: &Messages) -> Result<(), Failure> {
    let input = Input::read(&command.input).map_err(|d| messages.fail(d, None))?;
    let read = read_options(&command.read, &[], messages)?;
    shrink(command, messages, &input, &read).map_err(|d| messages.fail(d, Some(&input)))
}

fn shrink(
    command: &ReduceCommand,
    messages: &Messages,
    input: &Input,
    read: &ReadOptions,
) -> Result<(), Diagnostics> {
    let (module, warnings) = program::module(input, read)?;
    messages.show_all(&warnings, Some(input));
    let pipeline = Pipeline::parse(&command.passes)?;
    let mut test = Test::new(command)?;
    if !test.fails(&module, &pipeline)? {
        let what = match &command.keep {
            Some(keep) => format!("`{keep}` does not fail on the input"),
            None => format!("the passes `{pipeline}` do not change what the kernel computes"),
        };
        return Err(Diagnostic::error(codes::NOT_FAILING, what)
            .with_help("give the command with `--keep`, or the passes with `--passes`")
            .into());
    }
    let before = size(&module);
    let mut keep = |module: &Module, pipeline: &Pipeline| test.fails(module, pipeline) == Ok(true);
    let reduction = reduce::reduce(module, pipeline, command.tests, &mut keep);
    let after = size(&reduction.module);
    messages.note(format!(
        "{before} instructions became {after} in {} tests; passes: `{}`",
        reduction.tests, reduction.pipeline
    ));
    let path = command.output.as_deref().unwrap_or(Path::new("-"));
    let bytes = match path.extension().is_some_and(|e| e == "json") {
        true => ast::json(reduction.module)?,
        false => repro::document(&reduction.module, &reduction.pipeline, None).into_bytes(),
    };
    output::write(path, &bytes)?;
    Ok(())
}

fn size(module: &Module) -> usize {
    module.functions.values().map(|f| f.placed_inst_count()).sum()
}

/// How a candidate is tried.
struct Test<'a> {
    command: &'a ReduceCommand,
    /// The file that `--keep` is run on.
    candidate: PathBuf,
}

impl<'a> Test<'a> {
    fn new(command: &'a ReduceCommand) -> Result<Test<'a>, Diagnostic> {
        let name = format!("luisac-reduce-{}.xir", std::process::id());
        Ok(Test { command, candidate: std::env::temp_dir().join(name) })
    }

    /// Whether the candidate still fails.
    ///
    /// # Errors
    /// If nothing can be tried at all.
    fn fails(&mut self, module: &Module, pipeline: &Pipeline) -> Result<bool, Diagnostic> {
        match &self.command.keep {
            Some(keep) => self.command_fails(keep, module, pipeline),
            None => Ok(self.result_differs(module, pipeline)),
        }
    }

    /// Whether the passes change what the interpreter sees, with arguments made from the seed.
    fn result_differs(&self, module: &Module, pipeline: &Pipeline) -> bool {
        let Some(kernel) = module.kernels().next() else { return false };
        let Some(args) = judge::arguments(module, &module.functions[kernel], self.command.seed)
        else {
            return false;
        };
        let launch = Launch {
            bounds: Bounds::Clamp,
            max_steps: Some(MAX_STEPS),
            ..Launch::new(self.command.dispatch)
        };
        matches!(judge::differs(module, pipeline, &args, &launch), Ok(Some(_)))
    }

    fn command_fails(
        &self,
        keep: &str,
        module: &Module,
        pipeline: &Pipeline,
    ) -> Result<bool, Diagnostic> {
        output::write(&self.candidate, repro::document(module, pipeline, None).as_bytes())?;
        let file = self.candidate.display().to_string();
        let line = match keep.contains("{}") {
            true => keep.replace("{}", &file),
            false => format!("{keep} {file}"),
        };
        let mut command = match cfg!(windows) {
            true => Command::new("cmd"),
            false => Command::new("sh"),
        };
        command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(&line);
        command.env("LUISAC_PASSES", pipeline.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status().map_err(|e| {
            Diagnostic::error(codes::CANNOT_START, format!("cannot run `{line}`: {e}"))
        })?;
        Ok(!status.success())
    }
}

impl Drop for Test<'_> {
    fn drop(&mut self) {
        // It is there only if a command was run; a temporary file that stays is no harm.
        let _ = std::fs::remove_file(&self.candidate);
    }
}

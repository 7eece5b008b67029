//! `luisac inspect`: what is in an input, an artifact or an archive (`docs/json/inspect.schema.json`).

mod archive;
mod artifact_table;
mod ast;
mod ptxas;
mod table;
mod xir;

use super::messages::{Failure, Messages, print};
use super::options::InspectCommand;
use super::output::archive_error;
use super::read::read_options;
use luisac::codes;
use luisac::driver::input::Input;
use luisac::driver::program::{self, ReadOptions};
use luisac_artifact::{Archive, Metadata};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::json::InputKind;
use serde_json::{Value, json};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Shows one file.
pub fn run(command: &InspectCommand, messages: &Messages) -> Result<(), Failure> {
    let options = read_options(&command.read, &[], messages)?;
    if let Some(other) = &command.other {
        let value = compare(&command.file, other).map_err(|d| messages.fail(d, None))?;
        return show(&value, command.json, messages);
    }
    if is_archive(&command.file) {
        let value = open(&command.file).and_then(|archive| {
            archive::describe(&command.file.display().to_string(), &archive, command.registers)
        });
        return show(&value.map_err(|d| messages.fail(d, None))?, command.json, messages);
    }
    let input = Input::read(&command.file).map_err(|d| messages.fail(d, None))?;
    let (value, warnings) =
        describe(&input, &command.file, &options).map_err(|d| messages.fail(d, Some(&input)))?;
    messages.show_all(&warnings, Some(&input));
    show(&value, command.json, messages)
}

fn show(value: &Value, as_json: bool, messages: &Messages) -> Result<(), Failure> {
    let text = if as_json { format!("{value:#}\n") } else { table::table(value) };
    print(text.as_bytes()).map_err(|e| {
        messages.fail(
            Diagnostic::error(codes::CANNOT_WRITE, format!("cannot write to standard output: {e}")),
            None,
        )
    })
}

/// Whether a file starts as an archive does; what cannot be read is told later.
fn is_archive(path: &Path) -> bool {
    let mut head = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && Archive::detect(&head)
}

fn open(path: &Path) -> Result<Archive, Diagnostic> {
    Archive::open(path).map_err(|e| archive_error(&e))
}

fn compare(first: &Path, second: &Path) -> Result<Value, Diagnostic> {
    let names = [first, second].map(|path| path.display().to_string());
    let archives = [open(first)?, open(second)?];
    archive::compare([&names[0], &names[1]], [&archives[0], &archives[1]])
}

fn describe(
    input: &Input,
    path: &Path,
    options: &ReadOptions,
) -> Result<(Value, Diagnostics), Diagnostics> {
    if let Ok(metadata) = Metadata::from_json(input.bytes()) {
        return Ok((of_metadata(&input.name, &metadata), Diagnostics::new()));
    }
    let format = match input.kind() {
        InputKind::XirText => {
            let (module, warnings) = program::module(input, options)?;
            return Ok((xir::describe(input, &module), warnings));
        }
        InputKind::JsonD0 => "json",
        InputKind::JsonV1 => "json-v1",
        InputKind::BinaryLibrary => "callable-library",
        InputKind::Unknown => {
            return match metadata_beside(path) {
                Some((name, metadata)) => Ok((of_metadata(&name, &metadata), Diagnostics::new())),
                None => Err(program::module(input, options).err().unwrap_or_default()),
            };
        }
    };
    match program::program(input, options) {
        Ok(program) => Ok((ast::describe(input, format, &program.library), program.warnings)),
        // What looks like a library may be an artifact.
        Err(errors) => match metadata_beside(path).filter(|_| format == "callable-library") {
            Some((name, metadata)) => Ok((of_metadata(&name, &metadata), Diagnostics::new())),
            None => Err(errors),
        },
    }
}

fn of_metadata(name: &str, metadata: &Metadata) -> Value {
    json!({"kind": "metadata", "input": name, "metadata": metadata})
}

/// The metadata that `compile` writes beside an artifact: `K.ptx.json` for `K.ptx`, `K.cpu.json` for `K.o`.
fn metadata_beside(path: &Path) -> Option<(String, Metadata)> {
    let ending = path.extension()?.to_string_lossy().into_owned();
    let endings = [format!("{ending}.json"), "cpu.json".to_owned()];
    endings.iter().find_map(|ending| {
        let beside: PathBuf = path.with_extension(ending);
        let bytes = std::fs::read(&beside).ok()?;
        Some((beside.display().to_string(), Metadata::from_json(&bytes).ok()?))
    })
}

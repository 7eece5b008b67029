//! `luisac pack`: several archives into one.

use super::messages::{Failure, Messages};
use super::options::PackCommand;
use super::output::{self, archive_error};
use luisac::codes;
use luisac::driver::job::VERSION;
use luisac_artifact::{Archive, ArchiveWriter};
use luisac_ast::diagnostic::Diagnostic;
use std::path::PathBuf;

/// Joins the parts.
pub fn run(command: &PackCommand, messages: &Messages) -> Result<(), Failure> {
    join(command).map_err(|d| messages.fail(d, None))
}

fn join(command: &PackCommand) -> Result<(), Diagnostic> {
    let mut writer = ArchiveWriter::new(VERSION);
    for path in parts(&command.parts)? {
        let archive = Archive::open(&path).map_err(|e| archive_error(&e))?;
        for variant in archive.variants() {
            writer.copy(&variant).map_err(|e| archive_error(&e))?;
        }
    }
    let bytes = writer.finish().map_err(|e| archive_error(&e))?;
    output::write(&command.output, &bytes)
}

/// The files named; `@FILE` is a list of them, one a line.
fn parts(words: &[PathBuf]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut all = Vec::new();
    for word in words {
        let text = word.to_string_lossy();
        let Some(list) = text.strip_prefix('@') else {
            all.push(word.clone());
            continue;
        };
        let content = std::fs::read_to_string(list).map_err(|e| {
            Diagnostic::error(codes::UNREADABLE, format!("cannot read `{list}`: {e}"))
        })?;
        all.extend(content.lines().filter(|line| !line.is_empty()).map(PathBuf::from));
    }
    Ok(all)
}

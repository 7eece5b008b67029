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
    let open = |path: &PathBuf| Archive::open(path).map_err(|e| archive_error(&e));
    let archives: Vec<Archive> =
        parts(&command.parts)?.iter().map(open).collect::<Result<_, _>>()?;
    let mut writer = ArchiveWriter::new(VERSION);
    for variant in archives.iter().flat_map(Archive::variants) {
        writer.copy(&variant).map_err(|e| archive_error(&e))?;
    }
    let packed = writer.finish().map_err(|e| archive_error(&e))?;
    output::write_archive(&command.output, &packed)
}

/// A line of a list, which Ninja quotes as for a shell if the path has spaces or the like.
fn unquoted(line: &str) -> String {
    match line.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => inner.replace(r"'\''", "'"),
        None => line.to_owned(),
    }
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
        all.extend(content.lines().filter(|line| !line.is_empty()).map(|l| unquoted(l).into()));
    }
    Ok(all)
}

//! Where outputs go.

use super::messages::print;
use luisac::codes;
pub use luisac::driver::names::file_name;
use luisac_artifact::{ArchiveError, PackedArchive, write_whole};
use luisac_ast::diagnostic::{Code, Diagnostic};
use std::path::{Path, PathBuf};

fn cannot(path: &Path, why: impl std::fmt::Display) -> Diagnostic {
    let message = format!("cannot write `{}`: {why}", path.display());
    Diagnostic::error(codes::CANNOT_WRITE, message)
}

/// Writes a file whole or not at all; `-` is standard output.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    if path == Path::new("-") {
        return print(bytes).map_err(|e| cannot(path, e));
    }
    write_whole(path, bytes).map_err(|e| cannot(path, &e.source).with_help(e.help()))
}

/// As [`write`], an archive.
pub fn write_archive(path: &Path, archive: &PackedArchive) -> Result<(), Diagnostic> {
    if path == Path::new("-") {
        return write(path, &archive.to_bytes());
    }
    archive.write(path).map_err(|e| cannot(path, &e.source).with_help(e.help()))
}

/// A path as make reads it.
pub fn make_escape(path: &Path) -> String {
    path.display().to_string().replace('$', "$$").replace(' ', "\\ ").replace('#', "\\#")
}

/// What is wrong with an archive, as a diagnostic.
pub fn archive_error(error: &ArchiveError) -> Diagnostic {
    let code = Code::parse(error.code()).unwrap_or(codes::CANNOT_WRITE);
    Diagnostic::error(code, error.to_string()).with_help(error.help())
}

/// Whether the path names something that exists and is no regular file: a device, a pipe.
pub fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Turns `-o` into names.
pub enum Destination {
    Stdout,
    /// The one output.
    File(PathBuf),
    Folder(PathBuf),
}

impl Destination {
    /// `single` is whether there is one output.
    pub fn new(output: Option<&Path>, single: bool) -> Result<Destination, Diagnostic> {
        let Some(path) = output else { return Ok(Destination::Folder(PathBuf::new())) };
        if path == Path::new("-") {
            return Ok(Destination::Stdout);
        }
        let text = path.to_string_lossy();
        let is_folder = path.is_dir() || text.ends_with(['/', std::path::MAIN_SEPARATOR]);
        if single && !is_folder {
            return Ok(Destination::File(path.to_owned()));
        }
        std::fs::create_dir_all(path).map_err(|e| {
            Diagnostic::error(
                codes::CANNOT_WRITE,
                format!("cannot make the folder `{}`: {e}", path.display()),
            )
            .with_help("several outputs go into a folder")
        })?;
        Ok(Destination::Folder(path.to_owned()))
    }

    /// The file for an output whose own name is `name`.
    pub fn file(&self, name: &str) -> PathBuf {
        match self {
            Destination::Stdout => PathBuf::from("-"),
            Destination::File(path) => path.clone(),
            Destination::Folder(folder) => folder.join(name),
        }
    }
}

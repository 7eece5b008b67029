//! Where outputs go.

use super::messages::print;
use luisac::codes;
use luisac_artifact::{ArchiveError, write_whole};
use luisac_ast::diagnostic::{Code, Diagnostic};
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all; `-` is standard output.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    let cannot = |e: String, help: Option<&str>| {
        let diagnostic = Diagnostic::error(
            codes::CANNOT_WRITE,
            format!("cannot write `{}`: {e}", path.display()),
        );
        match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    };
    if path == Path::new("-") {
        return print(bytes).map_err(|e| cannot(e.to_string(), None));
    }
    write_whole(path, bytes).map_err(|e| cannot(e.source.to_string(), Some(e.help())))
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

/// A kernel's name as part of a file name: what a file system or shell may trip over becomes `_`; long names are cut.
pub fn file_name(kernel: &str) -> String {
    let clean =
        |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+') { c } else { '_' };
    let name: String = kernel.chars().map(clean).take(100).collect();
    match name.trim_start_matches('.') {
        "" => "kernel".into(),
        trimmed => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_are_safe() {
        assert_eq!(file_name("blur"), "blur");
        assert_eq!(file_name("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(file_name("..."), "kernel");
        assert_eq!(file_name("a b\n\"c\""), "a_b__c_");
        assert_eq!(file_name(&"x".repeat(70000)).len(), 100);
    }
}

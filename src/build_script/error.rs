//! Errors of build scripts, which read as on the command line.

use crate::codes;
use crate::driver::input::Input;
use crate::driver::render::{SourceText, harmless, picture};
use luisac_artifact::ArchiveError;
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics, remedy};
use std::fmt;

/// What went wrong, as text with the lines of the inputs. `main` of a build script may return it: cargo shows it as it is.
pub struct BuildError(String);

impl BuildError {
    pub(super) fn text(text: String) -> BuildError {
        BuildError(text)
    }

    pub(super) fn of(diagnostics: &Diagnostics, input: Option<&Input>) -> BuildError {
        let source = input.map(|i| SourceText { name: &i.name, bytes: i.bytes() });
        let one = |d: &Diagnostic| {
            let mut diagnostic = d.clone();
            if diagnostic.help.is_none() {
                diagnostic.help = remedy(&codes::tables(), d.code);
            }
            format!("{}\n", picture(&diagnostic, source, false).trim_end())
        };
        BuildError(diagnostics.0.iter().map(one).collect())
    }

    pub(super) fn archive(error: ArchiveError) -> BuildError {
        let code = Code::parse(error.code()).unwrap_or(codes::CANNOT_WRITE);
        Diagnostic::error(code, error.to_string()).with_help(error.help()).into()
    }
}

impl From<Diagnostic> for BuildError {
    fn from(diagnostic: Diagnostic) -> BuildError {
        BuildError::of(&diagnostic.into(), None)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same text: this is what `main` shows.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

impl std::error::Error for BuildError {}

/// `[L0300] message`, for cargo's warnings, which have one line.
pub(super) fn one_line(diagnostic: &Diagnostic) -> String {
    harmless(&format!("[{}] {}", diagnostic.code, diagnostic.message)).replace('\n', " ")
}

//! Diagnostics on standard error, and how a command ends.

use super::options::{Color, Global, MessageFormat};
use super::output;
use luisac::codes;
use luisac::driver::input::Input;
use luisac::driver::render::{SourceText, json_line, picture};
use luisac::driver::sarif::Log;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics, remedy};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Why a command did not do its work; the messages are out already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The input is wrong, or something could not be compiled.
    Input,
    /// Wrong use of the command line.
    Usage,
    /// A tool, library or device is missing.
    Missing,
    /// What was compared differs.
    Different,
    /// The user stopped it.
    Stopped,
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> ExitCode {
        ExitCode::from(match failure {
            Failure::Input => 1,
            Failure::Usage => 2,
            Failure::Missing => 3,
            Failure::Different => 4,
            Failure::Stopped => 130,
        })
    }
}

/// Shows diagnostics as the user asked for.
pub struct Messages {
    format: MessageFormat,
    color: bool,
    quiet: bool,
    verbose: bool,
    /// What was told, for the file that it goes to at the end.
    sarif: Option<(PathBuf, Mutex<Log>)>,
}

impl Messages {
    /// By the global flags, the environment and the terminal.
    pub fn new(global: &Global) -> Messages {
        let color = match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                    && std::io::stderr().is_terminal()
            }
        };
        Messages {
            format: global.message_format,
            color,
            quiet: global.quiet,
            verbose: global.verbose > 0,
            sarif: global.sarif.clone().map(|path| (path, Mutex::default())),
        }
    }

    /// Shows one diagnostic; warnings only if the user wants to hear.
    pub fn show(&self, diagnostic: &Diagnostic, input: Option<&Input>) {
        self.record(diagnostic, input);
        if self.quiet && !diagnostic.is_error() {
            return;
        }
        let source = input.map(|i| SourceText { name: &i.name, bytes: i.bytes() });
        let diagnostic = &helpful(diagnostic);
        let text = match self.format {
            MessageFormat::Human => picture(diagnostic, source, self.color),
            MessageFormat::Json => json_line(diagnostic, source),
        };
        // Standard error may be closed; there is nobody left to tell.
        let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
    }

    /// Shows them all.
    pub fn show_all(&self, diagnostics: &Diagnostics, input: Option<&Input>) {
        for diagnostic in &diagnostics.0 {
            self.show(diagnostic, input);
        }
    }

    /// Shows them all, as the reason for a failure. What is wrong with the command line has no place in the input.
    pub fn fail(&self, diagnostics: impl Into<Diagnostics>, input: Option<&Input>) -> Failure {
        let diagnostics = diagnostics.into();
        let is_usage = |d: &Diagnostic| codes::is_usage(d.code);
        for diagnostic in &diagnostics.0 {
            self.show(diagnostic, input.filter(|_| !is_usage(diagnostic)));
        }
        if diagnostics.0.iter().any(is_usage) {
            Failure::Usage
        } else if diagnostics.0.iter().any(|d| codes::is_missing(d.code)) {
            Failure::Missing
        } else {
            Failure::Input
        }
    }

    /// Whether messages are for people.
    pub fn is_human(&self) -> bool {
        self.format == MessageFormat::Human
    }

    /// Whether only errors are wanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether more is wanted.
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// What happens, for programs; not shown to people.
    pub fn event(&self, event: &serde_json::Value) {
        if !self.is_human() && !self.quiet {
            let _ = writeln!(std::io::stderr(), "{event}");
        }
    }

    /// Puts a diagnostic into the log without showing it.
    pub fn record(&self, diagnostic: &Diagnostic, input: Option<&Input>) {
        if let Some((_, log)) = &self.sarif {
            let source = input.map(|i| SourceText { name: &i.name, bytes: i.bytes() });
            log.lock().unwrap_or_else(PoisonError::into_inner).add(&helpful(diagnostic), source);
        }
    }

    /// Writes the log, where one was asked for.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(&self) -> Result<(), Failure> {
        let Some((path, log)) = &self.sarif else { return Ok(()) };
        let document = log.lock().unwrap_or_else(PoisonError::into_inner).document();
        output::write(path, format!("{document:#}\n").as_bytes()).map_err(|d| self.fail(d, None))
    }

    /// An error in one line, for people.
    pub fn line(&self, line: &str) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    /// As [`Messages::fail`], for what is wrong with a file that says how to work: the place is shown whatever it is.
    pub fn fail_in_file(&self, diagnostic: &Diagnostic, file: Option<&Input>) -> Failure {
        self.show(diagnostic, file);
        Failure::Input
    }

    /// A line for people; not shown with `--quiet` or as JSON.
    pub fn note(&self, line: impl AsRef<str>) {
        if !self.quiet && self.format == MessageFormat::Human {
            let _ = writeln!(std::io::stderr(), "{}", line.as_ref());
        }
    }
}

/// The diagnostic with what to do, which is said always.
fn helpful(diagnostic: &Diagnostic) -> Diagnostic {
    let help = diagnostic.help.clone().or_else(|| remedy(&codes::tables(), diagnostic.code));
    Diagnostic { help, ..diagnostic.clone() }
}

/// Writes to standard output. A reader that went away is no error of ours.
pub fn print(bytes: &[u8]) -> Result<(), std::io::Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

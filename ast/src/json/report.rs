//! Collects what is wrong while a document is read.

use crate::diagnostic::{Code, Diagnostic, Diagnostics};

use super::codes;
use super::lexer::{Lexer, Syntax};
use super::pointer;

/// How many diagnostics are of use to a reader.
const LIMIT: usize = 100;

struct Entry {
    code: Code,
    offset: usize,
    message: String,
    help: Option<&'static str>,
    function: Option<u32>,
}

/// The diagnostics of one document.
#[derive(Default)]
pub(super) struct Report {
    entries: Vec<Entry>,
    /// Function that is being read.
    pub function: Option<u32>,
}

impl Report {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Notes an error at a byte offset. Past the limit nothing is noted: the first ones matter.
    pub fn error(&mut self, code: Code, offset: usize, message: impl Into<String>) {
        self.add(code, offset, message.into(), None);
    }

    /// As [`Self::error`], with advice.
    pub fn error_with_help(
        &mut self,
        code: Code,
        offset: usize,
        message: impl Into<String>,
        help: &'static str,
    ) {
        self.add(code, offset, message.into(), Some(help));
    }

    fn add(&mut self, code: Code, offset: usize, message: String, help: Option<&'static str>) {
        if self.entries.len() < LIMIT {
            self.entries.push(Entry { code, offset, message, help, function: self.function });
        }
    }

    /// Notes an error of syntax, after which nothing can be read.
    pub fn syntax(&mut self, lexer: &Lexer<'_>, error: Syntax) {
        let Syntax { offset, expected } = error;
        match lexer.text.get(offset..).and_then(|rest| rest.chars().next()) {
            None => {
                self.error(
                    codes::TRUNCATED,
                    offset,
                    format!("the input ends where {expected} should be"),
                );
            }
            Some(found) => {
                self.error(
                    codes::SYNTAX,
                    offset,
                    format!("{expected} expected, but there is `{}`", found.escape_default()),
                );
            }
        }
    }

    /// The diagnostics in the order of their places, with JSON pointers.
    pub fn finish(mut self, text: &str) -> Diagnostics {
        self.entries.sort_by_key(|e| e.offset);
        let offsets: Vec<usize> = self.entries.iter().map(|e| e.offset).collect();
        let pointers = pointer::at_offsets(text, &offsets);
        let diagnostics =
            self.entries.into_iter().zip(pointers).map(|(entry, pointer)| Diagnostic {
                help: entry.help.map(str::to_owned),
                pointer: Some(pointer),
                offset: Some(entry.offset),
                function: entry.function.map(|f| format!("function {f}")),
                ..Diagnostic::error(entry.code, entry.message)
            });
        Diagnostics(diagnostics.collect())
    }
}

//! Collects what is wrong while a document is read.

use crate::diagnostic::{Code, Diagnostic, Diagnostics};

use super::codes;
use super::lexer::{Fault, Lexer, Syntax};
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
pub(super) struct Report {
    entries: Vec<Entry>,
    limit: usize,
    /// Function that is being read.
    pub function: Option<u32>,
}

impl Report {
    pub fn new() -> Self {
        Self { entries: Vec::new(), limit: LIMIT, function: None }
    }

    /// From now on, one error is enough.
    pub fn stop_at_first(&mut self) {
        self.limit = 1;
    }

    /// Whether more errors are of no use.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

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
        if !self.is_full() {
            self.entries.push(Entry { code, offset, message, help, function: self.function });
        }
    }

    /// Notes an error of syntax, after which nothing can be read.
    pub fn syntax(&mut self, lexer: &Lexer<'_>, error: Syntax) {
        let Syntax { offset, fault } = error;
        if fault == Fault::Enough {
            return;
        }
        let rest = lexer.bytes.get(offset..).unwrap_or_default();
        let rest = &rest[..rest.len().min(8)];
        let head = rest.utf8_chunks().next();
        let found = head.as_ref().and_then(|chunk| chunk.valid().chars().next());
        match (fault, found) {
            (Fault::Expected(expected), None) if rest.is_empty() => {
                let message = format!("the input ends where {expected} should be");
                self.error(codes::TRUNCATED, offset, message);
            }
            (Fault::Expected(expected), Some(found)) => {
                let message =
                    format!("{expected} expected, but there is `{}`", found.escape_default());
                self.error(codes::SYNTAX, offset, message);
            }
            _ => self.error(codes::NOT_UTF8, offset, format!("byte {offset} is not UTF-8")),
        }
    }

    /// The diagnostics in the order of their places, with JSON pointers.
    pub fn finish(mut self, text: &[u8]) -> Diagnostics {
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

//! The JSON forms of an AST: the dump of `to_json`, which has no version, and version 1.
//!
//! The reader goes over the bytes once and builds nodes as it goes; it keeps nothing else: no document tree, no
//! recursion. Memory is that of the library plus one frame for each level of nesting. Members of objects may come in any
//! order. A document with something wrong, or with its tables in an odd place, is read once more, slower: then errors
//! carry a code, a JSON pointer and a byte offset; errors of content are collected, an error of syntax ends the reading.

mod ahead;
mod base64;
mod build;
pub mod codes;
mod document;
mod functions;
mod keys;
mod lexer;
mod names;
mod nodes;
mod pointer;
mod progress;
mod reader;
mod report;
mod spelling;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use pointer::find;
pub use writer::{Dialect, write};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::Library;
use crate::usage;

use lexer::Lexer;
use progress::Progress;
use reader::Reader;

/// Offsets of nodes are kept in 32 bits.
const MAX_LEN: usize = u32::MAX as usize;

/// What the bytes of an input look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// A JSON dump without a version.
    JsonD0,
    /// A JSON document of version 1.
    JsonV1,
    /// A serialized callable library.
    BinaryLibrary,
    /// XIR as text.
    XirText,
    /// None of these.
    Unknown,
}

/// How much of an input is looked at to tell what it is.
const HEAD: usize = 1 << 17;

/// Words that XIR text starts with.
const XIR_WORDS: [&str; 6] = ["module", "type", "const", "kernel", "callable", "external"];

/// Tells inputs apart by content. A guess for a damaged input: its reader says what is wrong. The head of an input is
/// enough, and only that is looked at.
///
/// JSON starts with a bracket; a library starts with a number of 64 bits, the upper half of which is zero; XIR text
/// starts with one of a few words, perhaps after comments.
pub fn detect(bytes: &[u8]) -> InputKind {
    let head = &bytes[..bytes.len().min(HEAD)];
    if is_library(head) {
        return InputKind::BinaryLibrary;
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    // What is not UTF-8 may be a character that was cut; where it is not, the reader complains.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    match text.trim_start().bytes().next() {
        Some(b'{' | b'[') if has_version(text.as_bytes()) => InputKind::JsonV1,
        Some(b'{' | b'[') => InputKind::JsonD0,
        Some(_) if XIR_WORDS.contains(&first_word(text)) => InputKind::XirText,
        _ => InputKind::Unknown,
    }
}

/// Whether bytes start as a callable library does: no text has zeros there.
pub(crate) fn is_library(bytes: &[u8]) -> bool {
    bytes.len() >= 16 && bytes[4..8] == [0; 4]
}

/// The first word behind blanks and comments that run to the end of their line.
fn first_word(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with("//") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

/// Whether the top level has `schema` or `version`, as far as the head of a document shows.
fn has_version(head: &[u8]) -> bool {
    let mut lexer = Lexer::new(head, 0);
    let mut first = true;
    if !lexer.eat(b'{') {
        return false;
    }
    while let Ok(Some(key)) = lexer.key(&mut first) {
        if matches!(lexer.raw(key), b"schema" | b"version") {
            return true;
        }
        if lexer.skip_unchecked().is_err() {
            break;
        }
    }
    false
}

/// Reads a library from either JSON form.
///
/// The library is sound: every index that a node holds exists, bodies are scopes, callees come before callers, literals
/// and constants have the size of their types and zeros for padding. Whether it makes sense as a program is the
/// business of [`check`](crate::check).
///
/// # Errors
/// If the bytes are no JSON, or no AST: all that is wrong, in the order of the input, up to a limit.
pub fn read(bytes: &[u8]) -> Result<Library, Diagnostics> {
    read_with(bytes, &|_| {})
}

/// As [`read`], and tells now and then which offset it has reached. What lies before is not needed any more, unless there
/// is something wrong: the owner of a mapped file may let go of those pages, as long as they can be read again.
///
/// # Errors
/// As [`read`].
pub fn read_with(bytes: &[u8], reached: &dyn Fn(usize)) -> Result<Library, Diagnostics> {
    if bytes.len() > MAX_LEN {
        let message = format!("the input has {} bytes, but may have up to {MAX_LEN}", bytes.len());
        return Err(Diagnostic::error(codes::TOO_LARGE, message).into());
    }
    let progress = Progress::new(reached);
    let mut reader = started(bytes, progress);
    if reader.lexer.peek().is_none() {
        return Err(Diagnostic::error(codes::EMPTY, "the input is empty").at_offset(0).into());
    }
    if matches!(reader.as_written(), Ok(true)) && reader.report.is_empty() {
        return Ok(finished(reader));
    }
    reader = started(bytes, progress);
    if let Err(error) = reader.document() {
        reader.report.syntax(&reader.lexer, error);
    }
    if reader.report.is_empty() { Ok(finished(reader)) } else { Err(reader.report.finish(bytes)) }
}

/// A reader behind the mark that some editors put first.
fn started<'a>(bytes: &'a [u8], progress: Progress<'a>) -> Reader<'a> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    let mut reader = Reader::new(bytes, progress);
    if bytes.starts_with(MARK) {
        reader.lexer.at = MARK.len();
    }
    reader
}

fn finished(reader: Reader<'_>) -> Library {
    let Reader { mut library, versioned, .. } = reader;
    if !versioned {
        usage::mark(&mut library);
    }
    library
}

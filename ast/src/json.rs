//! The JSON forms of an AST: the dump of `to_json`, which has no version, and version 1.
//!
//! The reader goes over the bytes once for an outline and once for the content, builds nodes as it goes, and keeps
//! nothing else: no document tree, no recursion. Memory is that of the library plus one frame for each level of
//! nesting. Members of objects may come in any order. Errors carry a code, a JSON pointer and a byte offset; errors
//! of content are collected, an error of syntax ends the reading.

mod base64;
mod build;
pub mod codes;
mod document;
mod functions;
mod keys;
mod lexer;
mod nodes;
mod pointer;
mod reader;
mod report;
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
const HEAD: usize = 1 << 20;

/// Words that XIR text starts with.
const XIR_WORDS: [&str; 6] = ["module", "type", "const", "kernel", "callable", "external"];

/// Tells inputs apart by content. A guess for a damaged input: its reader says what is wrong. The head of an input is
/// enough, and only that is looked at.
///
/// JSON starts with a bracket; a library starts with a number of 64 bits, the upper half of which is zero; XIR text
/// starts with one of a few words, perhaps after comments.
pub fn detect(bytes: &[u8]) -> InputKind {
    let head = &bytes[..bytes.len().min(HEAD)];
    if head.len() >= 16 && head[4..8] == [0; 4] {
        return InputKind::BinaryLibrary;
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    // What is not UTF-8 may be a character that was cut; where it is not, the reader complains.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    match text.trim_start().bytes().next() {
        Some(b'{' | b'[') if has_version(text) => InputKind::JsonV1,
        Some(b'{' | b'[') => InputKind::JsonD0,
        Some(_) if XIR_WORDS.contains(&first_word(text)) => InputKind::XirText,
        _ => InputKind::Unknown,
    }
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
fn has_version(text: &str) -> bool {
    let mut lexer = Lexer::new(text, 0);
    let mut first = true;
    if !lexer.eat(b'{') {
        return false;
    }
    while let Ok(Some(key)) = lexer.key(&mut first) {
        if matches!(&text[key.range()], "schema" | "version") {
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
    if bytes.len() > MAX_LEN {
        let message = format!("the input has {} bytes, but may have up to {MAX_LEN}", bytes.len());
        return Err(Diagnostic::error(codes::TOO_LARGE, message).into());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Diagnostic::error(codes::NOT_UTF8, format!("byte {at} is not UTF-8")).at_offset(at)
    })?;
    let mut reader = Reader::new(text);
    if text.starts_with('\u{feff}') {
        reader.lexer.at = '\u{feff}'.len_utf8();
    }
    if reader.lexer.peek().is_none() {
        return Err(Diagnostic::error(codes::EMPTY, "the input is empty").at_offset(0).into());
    }
    if let Err(error) = reader.document() {
        reader.report.syntax(&reader.lexer, error);
    }
    if !reader.report.is_empty() {
        return Err(reader.report.finish(text));
    }
    let mut library = reader.library;
    if !reader.versioned {
        usage::mark(&mut library);
    }
    Ok(library)
}

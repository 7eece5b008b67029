//! JSON pointers: which value a byte belongs to, and where the value of a pointer is.

use super::lexer::{Lexed, Lexer, Span};
use crate::place::MAX_POINTER;

enum Open {
    Object { key: Option<Span>, first: bool },
    Array { index: usize, first: bool },
}

/// The JSON pointer of the innermost value that each offset lies in or before; `offsets` must ascend. A text that
/// stops being JSON gives, from there on, the pointer of what was open. A long pointer is cut to that of a value around it.
pub(super) fn at_offsets(text: &[u8], offsets: &[usize]) -> Vec<String> {
    let mut finder =
        Finder { lexer: Lexer::new(text, 0), open: Vec::new(), offsets, found: Vec::new() };
    // A syntax error ends the walk, which is all that matters of it.
    let _ = finder.walk();
    let last = finder.pointer();
    let mut found = finder.found;
    found.resize(offsets.len(), last);
    found
}

struct Finder<'a> {
    lexer: Lexer<'a>,
    open: Vec<Open>,
    offsets: &'a [usize],
    found: Vec<String>,
}

impl Finder<'_> {
    fn walk(&mut self) -> Lexed<()> {
        while self.found.len() < self.offsets.len() {
            // At the start of a value. Below a certain depth the pointer is cut anyway.
            match self.lexer.peek() {
                _ if self.open.len() > MAX_POINTER => {
                    self.lexer.skip_value()?;
                    self.note_up_to(self.lexer.at);
                }
                Some(b'{') => {
                    self.lexer.at += 1;
                    self.note_up_to(self.lexer.at);
                    self.open.push(Open::Object { key: None, first: true });
                }
                Some(b'[') => {
                    self.lexer.at += 1;
                    self.note_up_to(self.lexer.at);
                    self.open.push(Open::Array { index: 0, first: true });
                }
                _ => {
                    self.lexer.skip_value()?;
                    self.note_up_to(self.lexer.at);
                }
            }
            if !self.next_value()? {
                break;
            }
        }
        Ok(())
    }

    /// Goes to the next value, closing what ends before it; false at the end of the text.
    fn next_value(&mut self) -> Lexed<bool> {
        loop {
            match self.open.last_mut() {
                None => return Ok(false),
                Some(Open::Object { key, first }) => {
                    let next = self.lexer.key(first)?;
                    if next.is_some() {
                        *key = next;
                        return Ok(true);
                    }
                    *key = None;
                }
                Some(Open::Array { index, first }) => {
                    let was_first = *first;
                    if self.lexer.item(first)? {
                        *index += usize::from(!was_first);
                        return Ok(true);
                    }
                }
            }
            self.open.pop();
            self.note_up_to(self.lexer.at);
        }
    }

    /// Gives the offsets before `end` the pointer of the current value.
    fn note_up_to(&mut self, end: usize) {
        while self.offsets.get(self.found.len()).is_some_and(|o| *o < end) {
            let pointer = self.pointer();
            self.found.push(pointer);
        }
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for open in &self.open {
            if pointer.len() > MAX_POINTER {
                break;
            }
            match open {
                Open::Object { key: Some(key), .. } => {
                    let name = self.lexer.decode(*key).unwrap_or_default();
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                }
                Open::Object { key: None, .. } | Open::Array { first: true, .. } => {}
                Open::Array { index, .. } => {
                    pointer.push('/');
                    pointer.push_str(&index.to_string());
                }
            }
        }
        pointer
    }
}

/// The bytes of the value that a JSON pointer names, or of the nearest value around it that exists.
///
/// `bytes` should be a JSON text; where it is not, what was found until there is given. Cost: one pass over the text
/// up to the value.
pub fn find(bytes: &[u8], pointer: &str) -> std::ops::Range<usize> {
    let mut lexer = Lexer::new(bytes, 0);
    lexer.peek();
    let mut start = lexer.at;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        match enter(&mut lexer, &part) {
            Ok(true) => start = lexer.at,
            _ => break,
        }
    }
    lexer.at = start;
    let end = match lexer.skip_value() {
        Ok(()) => lexer.at,
        Err(error) => error.offset,
    };
    start..end.max(start)
}

/// Goes from the start of a value to the start of its member or item `part`.
fn enter(lexer: &mut Lexer<'_>, part: &str) -> Lexed<bool> {
    let mut first = true;
    if lexer.eat(b'{') {
        while let Some(key) = lexer.key(&mut first)? {
            if lexer.decode(key)? == part {
                lexer.peek();
                return Ok(true);
            }
            lexer.skip_value()?;
        }
    } else if lexer.eat(b'[') {
        let Ok(wanted) = part.parse::<usize>() else {
            return Ok(false);
        };
        let mut index = 0;
        while lexer.item(&mut first)? {
            if index == wanted {
                lexer.peek();
                return Ok(true);
            }
            lexer.skip_value()?;
            index += 1;
        }
    }
    Ok(false)
}

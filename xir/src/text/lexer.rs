//! Text to tokens. Blanks and `//` comments separate tokens; a token knows whether a line starts before it.

use super::codes;
use luisac_ast::diagnostic::Diagnostic;

/// One error, boxed: results are passed by the million.
pub(super) type Error = Box<Diagnostic>;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// `[A-Za-z_][A-Za-z0-9_.]*`
    Word(&'t str),
    /// Starts with a digit, or with `-` and a digit or letter.
    Number(&'t str),
    /// `%12`
    Value(u32),
    /// `@name`, `@"name"`, `@name#1`: the name as written, without the `@`, and the ordinal.
    Symbol(Quoted<'t>, u32),
    Text(Quoted<'t>),
    /// One of `( ) [ ] < > { } , : ; = !`
    Punct(char),
    /// `->`
    Arrow,
    End,
}

/// A string as written between its quotes, escapes checked but not replaced; or a plain word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Quoted<'t>(&'t str);

impl Quoted<'_> {
    /// The text meant.
    pub(super) fn unescape(self) -> String {
        let mut text = String::with_capacity(self.0.len());
        let mut chars = self.0.chars();
        while let Some(c) = chars.next() {
            if c != '\\' {
                text.push(c);
                continue;
            }
            match chars.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some('u') => {
                    let digits: String = chars.by_ref().take_while(|&c| c != '}').skip(1).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    text.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some(other) => text.push(other),
                None => {}
            }
        }
        text
    }
}

impl<'t> Quoted<'t> {
    /// What stands between the quotes, escapes included.
    pub(super) fn source(self) -> &'t str {
        self.0
    }
}

/// A token, its place and whether it is the first of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned<'t> {
    pub token: Token<'t>,
    pub offset: usize,
    pub starts_line: bool,
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Spanned<'t>, Error> {
        let starts_line = self.skip_blanks() || self.at == 0;
        let offset = self.at;
        let token = self.token()?;
        Ok(Spanned { token, offset, starts_line })
    }

    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.rest().get(ahead).copied().unwrap_or(0)
    }

    /// Skips blanks and comments; true if a line ended.
    fn skip_blanks(&mut self) -> bool {
        let mut new_line = false;
        loop {
            match self.byte(0) {
                b'\n' => new_line = true,
                b' ' | b'\t' | b'\r' => {}
                b'/' if self.byte(1) == b'/' => {
                    let rest = self.rest();
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                    continue;
                }
                _ => return new_line,
            }
            self.at += 1;
        }
    }

    fn take(&mut self, len: usize) -> &'t str {
        let text = &self.text[self.at..self.at + len];
        self.at += len;
        text
    }

    fn word_len(&self) -> usize {
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.';
        self.rest().iter().take_while(|b| is_part(b)).count()
    }

    fn token(&mut self) -> Result<Token<'t>, Error> {
        let first = self.byte(0);
        match first {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => Ok(Token::Word(self.take(self.word_len()))),
            b'0'..=b'9' => Ok(Token::Number(self.take(self.number_len()))),
            b'-' if self.byte(1) == b'>' => {
                self.at += 2;
                Ok(Token::Arrow)
            }
            b'-' if self.byte(1).is_ascii_alphanumeric() => {
                Ok(Token::Number(self.take(self.number_len())))
            }
            b'%' => {
                self.at += 1;
                self.decimal("a value number after `%`").map(Token::Value)
            }
            b'@' => self.symbol(),
            b'"' => self.quoted().map(Token::Text),
            b'(' | b')' | b'[' | b']' | b'<' | b'>' | b'{' | b'}' | b',' | b':' | b';' | b'='
            | b'!' => {
                self.at += 1;
                Ok(Token::Punct(first as char))
            }
            _ if self.at >= self.text.len() => Ok(Token::End),
            _ => {
                let c = self.text[self.at..].chars().next().unwrap_or(' ');
                Err(self.error(
                    self.at,
                    format!("the character `{}` has no meaning here", c.escape_debug()),
                ))
            }
        }
    }

    /// Length of a number: word characters, with a sign at the start and after an exponent's `e`.
    fn number_len(&self) -> usize {
        let rest = self.rest();
        let hex = rest.starts_with(b"0x");
        let mut len = 1;
        while let Some(&b) = rest.get(len) {
            let exponent = !hex && matches!(rest[len - 1], b'e' | b'E');
            let part =
                b.is_ascii_alphanumeric() || b == b'.' || (exponent && (b == b'-' || b == b'+'));
            if !part {
                break;
            }
            len += 1;
        }
        len
    }

    fn decimal(&mut self, expected: &str) -> Result<u32, Error> {
        let start = self.at;
        let len = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
        self.take(len).parse().map_err(|_| self.error(start, format!("expected {expected}")))
    }

    fn symbol(&mut self) -> Result<Token<'t>, Error> {
        self.at += 1;
        let name = match self.byte(0) {
            b'"' => self.quoted()?,
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => Quoted(self.take(self.word_len())),
            _ => return Err(self.error(self.at, "expected a function name after `@`".into())),
        };
        let mut ordinal = 0;
        if self.byte(0) == b'#' {
            self.at += 1;
            ordinal = self.decimal("a number after `#`")?;
        }
        Ok(Token::Symbol(name, ordinal))
    }

    fn quoted(&mut self) -> Result<Quoted<'t>, Error> {
        let open = self.at;
        self.at += 1;
        let start = self.at;
        loop {
            match self.byte(0) {
                b'"' => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(Quoted(text));
                }
                b'\\' => self.escape()?,
                b'\n' | 0 => {
                    return Err(self.error(open, "the string does not end on its line".into()));
                }
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Error> {
        let start = self.at;
        let wrong = |lexer: &Self| lexer.error(start, "an unknown escape in a string".into());
        match self.byte(1) {
            b'n' | b't' | b'r' | b'"' | b'\\' => self.at += 2,
            b'u' if self.byte(2) == b'{' => {
                let digits = &self.rest()[3..];
                let len = digits.iter().take(7).take_while(|b| b.is_ascii_hexdigit()).count();
                let from = self.at + 3;
                let code = u32::from_str_radix(&self.text[from..from + len], 16).ok();
                if digits.get(len) != Some(&b'}') || code.and_then(char::from_u32).is_none() {
                    return Err(wrong(self));
                }
                self.at = from + len + 1;
            }
            _ => return Err(wrong(self)),
        }
        Ok(())
    }

    /// A syntax error at a place.
    pub(super) fn error(&self, offset: usize, message: String) -> Error {
        located(self.text, Diagnostic::error(codes::SYNTAX, message), offset)
    }
}

/// Adds the place to a diagnostic: byte offset, line and column (of characters), both from 1.
pub(super) fn located(text: &str, diagnostic: Diagnostic, offset: usize) -> Error {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    let column = before[start..].chars().count() + 1;
    Box::new(diagnostic.at_offset(offset).with_note(format!("line {line}, column {column}")))
}

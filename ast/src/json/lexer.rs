//! JSON tokens over bytes, without recursion and without copies.
//!
//! Control characters inside strings are let through, because LuisaCompute's writer puts them there; everything else
//! is as RFC 8259 has it. Escapes are looked at when a string is decoded, not when it is skipped. Only strings can hold
//! what is not ASCII, so only they are checked for UTF-8, one by one, as they are met.
//!
//! Blanks and strings are looked through eight bytes at a time in one register (the zero-byte test of Hacker's Delight,
//! section 6-1): most of a dump is indentation, and most strings are shorter than a vector register.

use std::borrow::Cow;

/// Where a text stops being JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    pub offset: usize,
    pub fault: Fault,
}

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something else should stand there.
    Expected(&'static str),
    /// The bytes are no UTF-8.
    NotUtf8,
    /// None: what has been reported is enough, or forbids to go on.
    Enough,
}

pub(super) type Lexed<T> = Result<T, Syntax>;

/// The inside of a string: bytes between the quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A number: exactly, if it is an integer that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Other(f64),
}

pub(super) struct Lexer<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

const LOW: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = LOW << 7;
const SPACES: u64 = LOW * b' ' as u64;
const QUOTES: u64 = LOW * b'"' as u64;
const SLASHES: u64 = LOW * b'\\' as u64;

/// Has the high bit of the first zero byte set, and none below it.
#[inline]
fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Index of the first byte of which the high bit is set.
#[inline]
fn first(word: u64) -> usize {
    word.trailing_zeros() as usize / 8
}

impl<'a> Lexer<'a> {
    /// Starts at byte `at` of a text of less than 4 GiB.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub fn error<T>(&self, expected: &'static str) -> Lexed<T> {
        let offset = self.at.min(self.bytes.len());
        Err(Syntax { offset, fault: Fault::Expected(expected) })
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next eight bytes, the first one lowest.
    #[inline]
    fn word_ahead(&self) -> Option<u64> {
        let chunk = self.bytes.get(self.at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*chunk))
    }

    /// The next byte that is not blank, which is not consumed.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if byte > b' ' {
                return Some(byte);
            }
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                _ => return Some(byte),
            }
            self.skip_spaces();
        }
    }

    /// Skips spaces as long as there are eight bytes to look at; those at the end of a text are left.
    #[inline]
    fn skip_spaces(&mut self) {
        while let Some(word) = self.word_ahead() {
            let other = word ^ SPACES;
            if other != 0 {
                self.at += first(other);
                return;
            }
            self.at += 8;
        }
    }

    /// Consumes `byte` if it is the next one.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[inline]
    pub fn need(&mut self, byte: u8, expected: &'static str) -> Lexed<()> {
        if self.eat(byte) { Ok(()) } else { self.error(expected) }
    }

    /// A string; the next byte must be its opening quote.
    #[inline]
    pub fn string(&mut self) -> Lexed<Span> {
        self.need(b'"', "a string")?;
        let start = self.at;
        let mut plain = true;
        loop {
            if let Some(word) = self.word_ahead() {
                let hit = zero_byte(word ^ QUOTES) | zero_byte(word ^ SLASHES) | (word & HIGH);
                if hit == 0 {
                    self.at += 8;
                    continue;
                }
                self.at += first(hit);
            }
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(byte) => {
                    plain &= byte.is_ascii();
                    self.at += 1;
                }
                None => return self.error("the end of the string"),
            }
        }
        let span = Span { start: start as u32, end: self.at as u32 };
        if !plain {
            self.utf8(span)?;
        }
        self.at += 1;
        Ok(span)
    }

    /// The inside of a string as it stands there, escapes and all.
    #[inline]
    pub fn raw(&self, span: Span) -> &'a [u8] {
        &self.bytes[span.range()]
    }

    fn utf8(&self, span: Span) -> Lexed<&'a str> {
        std::str::from_utf8(self.raw(span)).map_err(|error| Syntax {
            offset: span.start as usize + error.valid_up_to(),
            fault: Fault::NotUtf8,
        })
    }

    /// The characters of a string.
    pub fn decode(&self, span: Span) -> Lexed<Cow<'a, str>> {
        let raw = self.utf8(span)?;
        match memchr::memchr(b'\\', raw.as_bytes()) {
            None => Ok(Cow::Borrowed(raw)),
            Some(_) => unescape(raw, span.start as usize).map(Cow::Owned),
        }
    }

    /// A number; the next byte must be its first.
    pub fn number(&mut self) -> Lexed<Number> {
        self.peek();
        let start = self.at;
        let negative = self.byte() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let mut value = Some(0i64);
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            let digit = i64::from(digit - b'0');
            value = value.and_then(|v| v.checked_mul(10)?.checked_add(digit));
            self.at += 1;
        }
        let digits = self.at - first;
        if digits == 0 || (digits > 1 && self.bytes[first] == b'0') {
            self.at = first;
            return self.error("a number");
        }
        match (value, self.byte()) {
            (Some(value), next) if !matches!(next, Some(b'.' | b'e' | b'E')) => {
                Ok(Number::Int(if negative { -value } else { value }))
            }
            _ => self.float(start).map(Number::Other),
        }
    }

    /// The number that starts at `start`, of which the integer part has been consumed.
    fn float(&mut self, start: usize) -> Lexed<f64> {
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        match std::str::from_utf8(&self.bytes[start..self.at]).map(str::parse) {
            Ok(Ok(value)) => Ok(value),
            _ => self.error("a number"),
        }
    }

    fn digits(&mut self) -> Lexed<()> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.error("a digit") } else { Ok(()) }
    }

    /// `null`, `true` or `false`.
    pub fn word(&mut self, word: &'static str) -> Lexed<()> {
        self.peek();
        if self.bytes[self.at.min(self.bytes.len())..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            self.error("a value")
        }
    }

    /// The next key of the object that the lexer is in, consumed with its colon; `None` at the end of the object.
    #[inline]
    pub fn key(&mut self, first: &mut bool) -> Lexed<Option<Span>> {
        if self.eat(b'}') {
            return Ok(None);
        }
        if !std::mem::take(first) {
            self.need(b',', "`,` or `}`")?;
        }
        let key = self.string()?;
        self.need(b':', "`:`")?;
        Ok(Some(key))
    }

    /// Whether the array that the lexer is in has another item, at which the lexer then stands.
    #[inline]
    pub fn item(&mut self, first: &mut bool) -> Lexed<bool> {
        if self.eat(b']') {
            return Ok(false);
        }
        if !std::mem::take(first) {
            self.need(b',', "`,` or `]`")?;
            if self.peek() == Some(b']') {
                return self.error("a value");
            }
        }
        Ok(true)
    }

    /// Skips one value of any kind, checking that it is one. Its own stack: one bit for each open bracket.
    pub fn skip_value(&mut self) -> Lexed<()> {
        let mut open = Brackets::default();
        loop {
            let mut first = false;
            match self.peek() {
                Some(b'"') => drop(self.string()?),
                Some(b'-' | b'0'..=b'9') => drop(self.number()?),
                Some(b'n') => self.word("null")?,
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    open.push(bracket == b'{');
                    first = true;
                }
                _ => return self.error("a value"),
            }
            loop {
                let more = match open.last() {
                    None => return Ok(()),
                    Some(true) => self.key(&mut first)?.is_some(),
                    Some(false) => self.item(&mut first)?,
                };
                if more {
                    break;
                }
                open.pop();
                first = false;
            }
        }
    }

    /// Skips one value by counting brackets only: for values that are read properly later.
    pub fn skip_unchecked(&mut self) -> Lexed<()> {
        if !matches!(self.peek(), Some(b'{' | b'[')) {
            return self.skip_value();
        }
        let mut depth = 0usize;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(next) = find_structural(rest) else {
                self.at = self.bytes.len();
                return self.error("the end of an array or object");
            };
            self.at += next;
            match rest[next] {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                _ => depth -= 1,
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// Which brackets are open: a bit each, set for an object.
#[derive(Default)]
struct Brackets {
    words: Vec<u64>,
    len: usize,
}

impl Brackets {
    fn push(&mut self, object: bool) {
        let bit = self.len % 64;
        if bit == 0 {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(object) << bit;
        }
        self.len += 1;
    }

    fn last(&self) -> Option<bool> {
        let bit = self.len.checked_sub(1)? % 64;
        self.words.last().map(|word| word >> bit & 1 == 1)
    }

    fn pop(&mut self) {
        let Some(last) = self.len.checked_sub(1) else { return };
        self.len = last;
        if last % 64 == 0 {
            self.words.pop();
        } else if let Some(word) = self.words.last_mut() {
            *word &= (1 << (last % 64)) - 1;
        }
    }
}

/// Position of the first quote or bracket.
fn find_structural(bytes: &[u8]) -> Option<usize> {
    let is = |b: u8| (b == b'"') | (b == b'{') | (b == b'}') | (b == b'[') | (b == b']');
    let mut at = 0;
    for chunk in bytes.chunks_exact(16) {
        // Written so that it becomes vector code.
        if chunk.iter().fold(false, |any, b| any | is(*b)) {
            break;
        }
        at += 16;
    }
    bytes[at..].iter().position(|b| is(*b)).map(|i| at + i)
}

/// Replaces the escapes of the inside of a string that starts at byte `offset` of its text.
fn unescape(raw: &str, offset: usize) -> Lexed<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let here = offset + raw.len() - rest.len();
        let wrong = |expected| Err(Syntax { offset: here, fault: Fault::Expected(expected) });
        let plain = match rest.bytes().next() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let (unit, used) = match unicode(&rest[1..]) {
                    Some(found) => found,
                    None => return wrong("an escape of a character"),
                };
                rest = &rest[1 + used..];
                out.push(unit);
                continue;
            }
            _ => return wrong("an escape that JSON has"),
        };
        out.push(plain);
        rest = &rest[1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The character of the digits after `\u`, and how many bytes it takes; a pair of surrogates is one character.
fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let digits = text.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        u32::from_str_radix(digits, 16).ok()
    };
    let high = unit(text)?;
    if let Some(c) = char::from_u32(high) {
        return Some((c, 4));
    }
    let low = unit(text.get(4..)?.strip_prefix("\\u")?)?;
    let pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    let code = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
    pair.then(|| char::from_u32(code)).flatten().map(|c| (c, 10))
}

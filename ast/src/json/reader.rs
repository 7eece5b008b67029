//! The reader's state, and the small pieces that everything is read with.

use std::borrow::Cow;

use cranelift_entity::EntityRef;

use super::ahead::Ahead;
use super::codes;
use super::lexer::{Fault, Lexed, Lexer, Number, Span, Syntax};
use super::nodes::Nodes;
use super::progress::Progress;
use super::report::Report;
use crate::diagnostic::Code;
use crate::model::{ConstantId, ExternalId, FunctionId, Library};
use crate::types::TypeId;

pub(super) struct Reader<'a> {
    pub lexer: Lexer<'a>,
    pub report: Report,
    /// Whether the document has the envelope of version 1, and the strict rules with it.
    pub versioned: bool,
    pub library: Library,
    /// Type of each index of the document; `None` for one that is wrong, which has been reported.
    pub types: Vec<Option<TypeId>>,
    /// Call of one function by another, and a byte offset where it stands: once for each pair.
    pub calls: Vec<(FunctionId, FunctionId, usize)>,
    pub nodes: Nodes,
    pub ahead: Ahead,
    pub scratch: Vec<u8>,
    pub progress: Progress<'a>,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], progress: Progress<'a>) -> Self {
        Self {
            lexer: Lexer::new(bytes, 0),
            report: Report::new(),
            versioned: false,
            library: Library::new(),
            types: Vec::new(),
            calls: Vec::new(),
            nodes: Nodes::default(),
            ahead: Ahead::default(),
            scratch: Vec::new(),
            progress,
        }
    }

    /// Tells how far the reading is, and ends it when enough is wrong: input that only makes errors has no use, and
    /// could fill the memory.
    #[inline]
    pub fn go_on(&mut self) -> Lexed<()> {
        self.progress.at(self.lexer.at);
        if self.report.is_full() { self.end() } else { Ok(()) }
    }

    /// Ends the reading after an error that has been reported.
    #[cold]
    pub fn end<T>(&self) -> Lexed<T> {
        Err(Syntax { offset: self.lexer.at, fault: Fault::Enough })
    }

    /// Enters an object; false if there is something else, which is reported and skipped.
    pub fn enter_object(&mut self, what: &str) -> Lexed<bool> {
        self.enter(b'{', what, "an object")
    }

    /// Enters an array; false if there is something else, which is reported and skipped.
    pub fn enter_array(&mut self, what: &str) -> Lexed<bool> {
        self.enter(b'[', what, "an array")
    }

    fn enter(&mut self, bracket: u8, what: &str, kind: &str) -> Lexed<bool> {
        let found = self.lexer.eat(bracket);
        if !found {
            self.wrong_type(what, kind)?;
        }
        Ok(found)
    }

    /// Reports that the value at which the lexer stands should be `kind`, and skips it.
    pub fn wrong_type(&mut self, what: &str, kind: &str) -> Lexed<()> {
        self.lexer.peek();
        let at = self.lexer.at;
        self.lexer.skip_value()?;
        self.report.error(codes::WRONG_TYPE, at, format!("{what} must be {kind}"));
        Ok(())
    }

    /// A string, decoded; `None` if there is something else, which is reported and skipped.
    pub fn string(&mut self, what: &str) -> Lexed<Option<Cow<'a, str>>> {
        match self.lexer.peek() {
            Some(b'"') => {
                let span = self.lexer.string()?;
                self.lexer.decode(span).map(Some)
            }
            _ => {
                self.wrong_type(what, "a string")?;
                Ok(None)
            }
        }
    }

    /// An integer from 0 to `max`; `None` if there is something else, which is reported and skipped.
    pub fn integer(&mut self, what: &str, max: u64) -> Lexed<Option<u64>> {
        let value = self.signed_integer(what)?;
        let Some((value, at)) = value else {
            return Ok(None);
        };
        match u64::try_from(value).ok().filter(|v| *v <= max) {
            Some(value) => Ok(Some(value)),
            None => {
                self.report.error(
                    codes::BAD_NUMBER,
                    at,
                    format!("{what} is {value}, but must be from 0 to {max}"),
                );
                Ok(None)
            }
        }
    }

    /// An integer of 64 bits and where it stands; `None` if there is something else, which is reported and skipped.
    pub fn signed_integer(&mut self, what: &str) -> Lexed<Option<(i64, usize)>> {
        if !matches!(self.lexer.peek(), Some(b'-' | b'0'..=b'9')) {
            self.wrong_type(what, "an integer")?;
            return Ok(None);
        }
        let at = self.lexer.at;
        let number = self.lexer.number()?;
        Ok(self.exact(number, at, what).map(|value| (value, at)))
    }

    /// The value of a number that must be an integer. Documents without a version write integers through a double.
    pub fn exact(&mut self, number: Number, at: usize, what: &str) -> Option<i64> {
        const EXACT: f64 = (1u64 << 53) as f64;
        match number {
            Number::Int(value) => Some(value),
            Number::Other(value)
                if !self.versioned && value.fract() == 0.0 && value.abs() <= EXACT =>
            {
                Some(value as i64)
            }
            Number::Other(_) => {
                self.report.error(
                    codes::BAD_NUMBER,
                    at,
                    format!("{what} must be an integer that fits into 64 bits"),
                );
                None
            }
        }
    }

    /// An integer of 64 bits without sign, which is written as a string because a double could not hold it.
    pub fn decimal(&mut self, what: &str) -> Lexed<u64> {
        if self.lexer.peek() != Some(b'"') && !self.versioned {
            return Ok(self.integer(what, i64::MAX as u64)?.unwrap_or(0));
        }
        let at = self.lexer.at;
        let Some(text) = self.string(what)? else {
            return Ok(0);
        };
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        match text.parse() {
            Ok(value) if digits => Ok(value),
            _ => {
                self.report.error(
                    codes::BAD_NUMBER,
                    at,
                    format!(
                        "{what} must be a decimal number from 0 to 2^64 - 1, written as a string"
                    ),
                );
                Ok(0)
            }
        }
    }

    /// A type by index; [`TypeId::VOID`] if that is wrong, which is reported.
    pub fn type_ref(&mut self, what: &str) -> Lexed<TypeId> {
        self.lexer.peek();
        let at = self.lexer.at;
        let index = self.integer(what, u64::from(u32::MAX))?;
        Ok(index.map_or(TypeId::VOID, |index| self.resolve_type(index as u32, at)))
    }

    /// The type of an index that stands at `at`; [`TypeId::VOID`] if that is wrong, which is reported.
    #[inline]
    pub fn resolve_type(&mut self, index: u32, at: usize) -> TypeId {
        if self.ahead.on {
            return self.ahead.type_index(index);
        }
        match self.types.get(index as usize) {
            Some(ty) => ty.unwrap_or(TypeId::VOID),
            None => {
                let count = self.types.len();
                self.report.error(
                    codes::TYPE_INDEX,
                    at,
                    format!("there is no type {index}: the input has {count}"),
                );
                TypeId::VOID
            }
        }
    }

    /// Reads the members of an object whose opening brace has been consumed. `member` gets each known key's position
    /// in `keys` and must consume the value. Unknown members are refused in versioned documents and skipped in others;
    /// a member that stands twice is refused. Gives the set of keys seen, bit i for `keys[i]`.
    pub fn members(
        &mut self,
        keys: &[&str],
        mut member: impl FnMut(&mut Self, usize) -> Lexed<()>,
    ) -> Lexed<u64> {
        let mut first = true;
        let mut seen = 0u64;
        while let Some(span) = self.lexer.key(&mut first)? {
            let name = self.lexer.decode(span)?;
            match keys.iter().position(|k| *k == name) {
                Some(i) if seen >> i & 1 == 0 => {
                    seen |= 1 << i;
                    member(self, i)?;
                }
                known => {
                    self.stray_member(span, &name, known.is_some());
                    self.lexer.skip_value()?;
                }
            }
        }
        Ok(seen)
    }

    /// Reports a member that stands twice or, in versioned documents, is not known.
    pub fn stray_member(&mut self, key: Span, name: &str, known: bool) {
        let at = key.start as usize;
        if known {
            self.report.error(codes::DUPLICATE_MEMBER, at, format!("`{name}` stands twice"));
        } else if self.versioned {
            self.report.error(
                codes::UNKNOWN_MEMBER,
                at,
                format!("`{name}` is not a member of this object"),
            );
        }
    }

    /// Reports each of `keys` that is in `required` but not in `seen`.
    pub fn require(&mut self, keys: &[&str], required: u64, seen: u64, at: usize, what: &str) {
        for (i, key) in keys.iter().enumerate() {
            if (required & !seen) >> i & 1 == 1 {
                self.report.error(codes::MISSING_MEMBER, at, format!("{what} has no `{key}`"));
            }
        }
    }

    /// The item of a fixed set of names; `None` if the name is not among them, which is reported.
    pub fn named<T>(
        &mut self,
        what: &str,
        from_name: impl Fn(&str) -> Option<T>,
    ) -> Lexed<Option<T>> {
        self.lexer.peek();
        let at = self.lexer.at;
        let Some(name) = self.string(what)? else {
            return Ok(None);
        };
        let found = from_name(&name);
        if found.is_none() {
            self.report.error(
                codes::UNKNOWN_NAME,
                at,
                format!("`{}` is no {what}", shorten(&name)),
            );
        }
        Ok(found)
    }

    /// Decodes base64 into `scratch`; false if it is none, which is reported.
    pub fn base64(&mut self, span: Span, what: &str) -> Lexed<bool> {
        self.scratch.clear();
        let text = self.lexer.decode(span)?;
        match super::base64::decode(text.as_bytes(), &mut self.scratch) {
            Ok(()) => Ok(true),
            Err(position) => {
                let at = span.start as usize;
                self.report.error(
                    codes::BASE64,
                    at,
                    format!("{what} is not base64: character {position} is wrong"),
                );
                Ok(false)
            }
        }
    }

    /// A constant by index; `None` if there is no such one, which is reported.
    pub fn constant_index(&mut self, given: i64, at: usize) -> Option<ConstantId> {
        let count = self.library.constants.len();
        let ahead = self.ahead.on.then_some(&mut self.ahead.constants);
        let index = known_index(given, count, ahead);
        if index.is_none() {
            self.no_such(codes::CONSTANT_INDEX, "constant", given, count, at);
        }
        index.map(ConstantId::new)
    }

    /// An external function by index; `None` if there is no such one, which is reported.
    pub fn external_index(&mut self, given: i64, at: usize) -> Option<ExternalId> {
        let count = self.library.externals.len();
        let ahead = self.ahead.on.then_some(&mut self.ahead.externals);
        let index = known_index(given, count, ahead);
        if index.is_none() {
            self.no_such(codes::EXTERNAL_INDEX, "external function", given, count, at);
        }
        index.map(ExternalId::new)
    }

    fn no_such(&mut self, code: Code, what: &str, index: i64, count: usize, at: usize) {
        let message = format!("there is no {what} {index}: the input has {count}");
        self.report.error(code, at, message);
    }
}

/// An index below `count`; while tables are still to come (`ahead`), any index, which is noted there.
fn known_index(index: i64, count: usize, ahead: Option<&mut usize>) -> Option<usize> {
    // Ids have 32 bits, the largest of which stands for none.
    let index = u32::try_from(index).ok().filter(|i| *i != u32::MAX)? as usize;
    match ahead {
        Some(end) => *end = (*end).max(index + 1),
        None if index >= count => return None,
        None => {}
    }
    Some(index)
}

/// A function's id from an index that is checked later.
pub(super) fn function_id(index: u32) -> FunctionId {
    FunctionId::new(index as usize)
}

/// A name for a message, cut if it is long.
pub(super) fn shorten(name: &str) -> String {
    let mut short: String = name.chars().take(40).collect();
    if short.len() < name.len() {
        short.push_str("...");
    }
    short.escape_default().to_string()
}

//! Text to XIR: tokens, types and the items of a module. Functions are in `parse_function.rs`, constants in `parse_constant.rs`.

use super::codes;
use super::lexer::{Error, Lexer, Quoted, Spanned, Token, located};
use super::parse_constant::Budget;
use super::types::scalar_from_name;
use crate::{ConstBytes, FunctionId, InstId, Module};
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics};
use luisac_ast::types::{Attribute, Member, Scalar, TypeError, TypeId, TypeKind};
use rustc_hash::FxHashMap;

/// At most this many errors of one text are told.
pub(super) const MAX_ERRORS: usize = 20;

/// Reads the text of a module. The module is well formed as data; whether it is *valid* is the verifier's question.
///
/// # Errors
/// The first error of syntax, or up to twenty names without a definition; each with byte offset, line and column.
pub fn parse(text: &str) -> Result<Module, Diagnostics> {
    if text.len() > u32::MAX as usize {
        return Err(Diagnostic::error(codes::TOO_LARGE, "the text is longer than 4 GiB").into());
    }
    let read = || -> Result<Parser<'_>, Error> {
        let mut parser = Parser::new(text)?;
        parser.module()?;
        Ok(parser)
    };
    let mut parser = read().map_err(|error| Diagnostics::from(*error))?;
    parser.resolve_calls();
    if parser.errors.is_empty() { Ok(parser.module) } else { Err(parser.errors) }
}

/// Whether bytes look like XIR text rather than another kind of input: whether the first word is one that starts an item.
pub fn looks_like_text(bytes: &[u8]) -> bool {
    // A character that was cut in half at the end does not matter.
    let head = &bytes[..bytes.len().min(1 << 16)];
    let head = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let word = Lexer::new(head).next();
    matches!(
        word.map(|t| t.token),
        Ok(Token::Word("module" | "type" | "const" | "kernel" | "callable" | "external"))
    )
}

/// A call whose callee may be defined further down.
pub(super) struct PendingCall<'t> {
    pub caller: FunctionId,
    pub inst: InstId,
    pub callee: (Quoted<'t>, u32),
    /// Which of the functions that the instruction names.
    pub position: usize,
    pub offset: usize,
}

pub(super) struct Parser<'t> {
    pub text: &'t str,
    lexer: Lexer<'t>,
    pub token: Spanned<'t>,
    pub module: Module,
    types: FxHashMap<&'t str, TypeId>,
    pub constants: FxHashMap<&'t str, (TypeId, ConstBytes)>,
    pub functions: FxHashMap<(Quoted<'t>, u32), FunctionId>,
    pub calls: Vec<PendingCall<'t>>,
    pub errors: Diagnostics,
    pub budget: Budget,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Parser<'t>, Error> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Parser {
            text,
            lexer,
            token,
            module: Module::new(),
            types: FxHashMap::default(),
            constants: FxHashMap::default(),
            functions: FxHashMap::default(),
            calls: Vec::new(),
            errors: Diagnostics::new(),
            budget: Budget::default(),
        })
    }

    // ---- tokens

    /// Moves on; the token left behind.
    pub fn advance(&mut self) -> Result<Spanned<'t>, Error> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// An error at the present token.
    pub fn expected(&self, what: &str) -> Error {
        let found = match self.token.token {
            Token::End => "the end of the text".to_string(),
            _ => {
                let rest = &self.text[self.token.offset..];
                let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
                let short: String = rest[..end].chars().take(24).collect();
                format!("`{short}`")
            }
        };
        self.error(codes::SYNTAX, self.token.offset, format!("expected {what}, found {found}"))
    }

    /// An error at a place.
    pub fn error(&self, code: Code, offset: usize, message: impl Into<String>) -> Error {
        located(self.text, Diagnostic::error(code, message), offset)
    }

    /// Tells an error and goes on, unless there are too many.
    pub fn report(&mut self, code: Code, offset: usize, message: String) {
        if self.errors.0.len() < MAX_ERRORS {
            let error = self.error(code, offset, message);
            self.errors.push(*error);
        }
    }

    pub fn is(&self, c: char) -> bool {
        self.token.token == Token::Punct(c)
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.token.token == Token::Word(word)
    }

    pub fn eat(&mut self, c: char) -> Result<bool, Error> {
        let found = self.is(c);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn eat_word(&mut self, word: &str) -> Result<bool, Error> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn need(&mut self, c: char) -> Result<(), Error> {
        if self.eat(c)? { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    pub fn word(&mut self, what: &str) -> Result<&'t str, Error> {
        let Token::Word(word) = self.token.token else { return Err(self.expected(what)) };
        self.advance()?;
        Ok(word)
    }

    pub fn string(&mut self) -> Result<String, Error> {
        let Token::Text(text) = self.token.token else {
            return Err(self.expected("a string in quotes"));
        };
        self.advance()?;
        Ok(text.unescape())
    }

    /// A decimal or hexadecimal number without sign.
    pub fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, Error> {
        let Token::Number(text) = self.token.token else { return Err(self.expected(what)) };
        let value = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        let value = value.ok().and_then(|v| T::try_from(v).ok());
        let value = value.ok_or_else(|| self.expected(what))?;
        self.advance()?;
        Ok(value)
    }

    // ---- items

    fn module(&mut self) -> Result<(), Error> {
        if self.eat_word("module")? {
            self.need(';')?;
        }
        loop {
            match self.token.token {
                Token::End => return Ok(()),
                Token::Word("type") => self.type_declaration()?,
                Token::Word("const") => self.constant_declaration()?,
                Token::Word("kernel" | "callable" | "external") => self.function()?,
                _ => {
                    return Err(
                        self.expected("`type`, `const`, `kernel`, `callable` or `external`")
                    );
                }
            }
        }
    }

    fn type_declaration(&mut self) -> Result<(), Error> {
        self.advance()?;
        let offset = self.token.offset;
        let name = self.word("a type name")?;
        self.need('=')?;
        let start = self.token.offset;
        let ty = if self.eat_word("opaque")? {
            let custom = self.string()?;
            self.intern(TypeKind::Custom(custom.into()), start)?
        } else if self.eat_word("struct")? {
            self.structure(start)?
        } else {
            self.ty()?
        };
        self.need(';')?;
        if self.types.insert(name, ty).is_some() {
            let message = format!("the type `{name}` is defined twice");
            return Err(self.error(codes::DUPLICATE_NAME, offset, message));
        }
        Ok(())
    }

    fn constant_declaration(&mut self) -> Result<(), Error> {
        self.advance()?;
        let offset = self.token.offset;
        let name = self.word("a name for the constant")?;
        self.need('=')?;
        let constant = self.constant()?;
        self.need(';')?;
        if self.constants.insert(name, constant).is_some() {
            let message = format!("the constant `{name}` is defined twice");
            return Err(self.error(codes::DUPLICATE_NAME, offset, message));
        }
        Ok(())
    }

    /// Fills in the callees, which may be defined below their callers.
    fn resolve_calls(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            if let Some(&callee) = self.functions.get(&call.callee) {
                let function = &mut self.module.functions[call.caller];
                let mut imm = function.inst(call.inst).imm.clone();
                imm.functions_mut().skip(call.position).take(1).for_each(|f| *f = callee);
                function.set_imm(call.inst, imm);
            } else {
                let message = format!("there is no function `@{}`", call.callee.0.source());
                self.report(codes::UNKNOWN_NAME, call.offset, message);
            }
        }
    }

    // ---- types

    fn intern(&mut self, kind: TypeKind, offset: usize) -> Result<TypeId, Error> {
        self.module.types.intern(kind).map_err(|e| self.type_error(&e, offset))
    }

    fn type_error(&self, error: &TypeError, offset: usize) -> Error {
        self.error(codes::BAD_TYPE, offset, error.to_string())
    }

    fn structure(&mut self, start: usize) -> Result<TypeId, Error> {
        self.need('<')?;
        let align = self.number("an alignment")?;
        let mut members = Vec::new();
        while self.eat(',')? {
            let attrs = self.attributes()?;
            members.push(Member { ty: self.ty()?, attrs });
        }
        self.need('>')?;
        self.intern(TypeKind::Struct { align, members: members.into() }, start)
    }

    fn attributes(&mut self) -> Result<Box<[Attribute]>, Error> {
        let mut attrs = Vec::new();
        while self.eat('[')? {
            let key = self.word("an attribute")?.into();
            let mut value = None;
            if self.eat('(')? {
                value = Some(self.word("an attribute value")?.into());
                self.need(')')?;
            }
            self.need(']')?;
            attrs.push(Attribute { key, value });
        }
        Ok(attrs.into())
    }

    fn scalar(&mut self) -> Result<Scalar, Error> {
        let scalar = match self.token.token {
            Token::Word(word) => scalar_from_name(word),
            _ => None,
        };
        let scalar = scalar.ok_or_else(|| self.expected("a scalar type"))?;
        self.advance()?;
        Ok(scalar)
    }

    /// Any type. Arrays and buffers nest in a chain, so the ends wait on a stack of our own.
    pub fn ty(&mut self) -> Result<TypeId, Error> {
        enum Open {
            Array,
            Buffer(Box<[Attribute]>),
        }
        let mut open = Vec::new();
        let start = self.token.offset;
        let mut ty = loop {
            if open.len() > luisac_ast::layout::MAX_DEPTH as usize {
                return Err(
                    self.type_error(&TypeError::Depth(luisac_ast::layout::MAX_DEPTH), start)
                );
            }
            if self.eat_word("array")? {
                open.push(Open::Array);
            } else if self.eat_word("buffer")? {
                let attrs = self.attributes()?;
                open.push(Open::Buffer(attrs));
            } else {
                break self.simple_type()?;
            }
            self.need('<')?;
        };
        while let Some(frame) = open.pop() {
            let kind = match frame {
                Open::Array => {
                    self.need(',')?;
                    TypeKind::Array { elem: ty, len: self.number("an array length below 2^32")? }
                }
                Open::Buffer(attrs) => TypeKind::Buffer { elem: ty, attrs },
            };
            self.need('>')?;
            ty = self.intern(kind, start)?;
        }
        Ok(ty)
    }

    /// A type that is no array and no buffer.
    fn simple_type(&mut self) -> Result<TypeId, Error> {
        let start = self.token.offset;
        let Token::Word(word) = self.token.token else { return Err(self.expected("a type")) };
        if let Some(scalar) = scalar_from_name(word) {
            self.advance()?;
            return Ok(TypeId::scalar(scalar));
        }
        if let Some(&ty) = self.types.get(word) {
            self.advance()?;
            return Ok(ty);
        }
        let kind = match word {
            "void" => TypeKind::Void,
            "bindless_array" => TypeKind::BindlessArray,
            "accel" => TypeKind::Accel,
            "vector" | "matrix" | "coopvec" | "coopvec_ref" | "coopmat_ref" | "texture2d"
            | "texture3d" => {
                self.advance()?;
                return self.parameterised(word, start);
            }
            _ => {
                let message = format!("there is no type `{word}`");
                return Err(self.error(codes::UNKNOWN_NAME, start, message));
            }
        };
        self.advance()?;
        self.intern(kind, start)
    }

    fn parameterised(&mut self, word: &str, start: usize) -> Result<TypeId, Error> {
        let attrs = if word.starts_with("texture") { self.attributes()? } else { Box::default() };
        self.need('<')?;
        let kind = match word {
            "coopvec_ref" | "coopmat_ref" => {
                let rows = self.number("a number")?;
                self.need(',')?;
                let second = self.number("a number")?;
                if word == "coopvec_ref" {
                    TypeKind::CoopVecRef { len: rows, interpretation: second }
                } else {
                    self.need(',')?;
                    let interpretation = self.number("a number")?;
                    TypeKind::CoopMatRef { rows, columns: second, interpretation }
                }
            }
            "texture2d" => TypeKind::Texture { dim: 2, elem: self.scalar()?, attrs },
            "texture3d" => TypeKind::Texture { dim: 3, elem: self.scalar()?, attrs },
            _ => {
                let elem = self.scalar()?;
                self.need(',')?;
                match word {
                    "coopvec" => TypeKind::CoopVec { elem, len: self.number("a length")? },
                    "vector" => TypeKind::Vector { elem, dim: self.number("2, 3 or 4")? },
                    _ if elem == Scalar::F32 => TypeKind::Matrix { dim: self.number("2, 3 or 4")? },
                    _ => {
                        let message = "a matrix is made of `f32`";
                        return Err(self.error(codes::BAD_TYPE, start, message));
                    }
                }
            }
        };
        self.need('>')?;
        self.intern(kind, start)
    }
}

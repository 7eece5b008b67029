//! Types as text: `array<struct<16,int,vector<float,3>>,10>`.
//!
//! Grammar (no blanks anywhere):
//! ```text
//! type     := "void" | scalar | "vector<" scalar "," uint ">" | "matrix<" uint ">" | "array<" type "," uint ">"
//!           | "struct<" uint ( "," attr* type )* ">" | resource | coop | custom
//! attr     := "[" ident [ "(" ident ")" ] "]"
//! resource := "buffer" attr* "<" type ">" | "texture" attr* "<" uint "," scalar ">" | "bindless_array" | "accel"
//! coop     := "coopvec<" scalar "," uint ">" | "coopvec_ref<" uint "," uint ">" | "coopmat_ref<" uint "," uint "," uint ">"
//! custom   := ident
//! ```
//! Printing and parsing keep their own stacks.

use std::fmt::Write;

use crate::types::{Attribute, Member, Scalar, TypeError, TypeId, TypeKind, TypeTable};

/// Custom types that every reader knows.
pub const CUSTOM_TYPES: [&str; 3] =
    ["LC_RayQueryAll", "LC_RayQueryAny", "LC_IndirectDispatchBuffer"];

enum Piece<'a> {
    Type(TypeId),
    Attrs(&'a [Attribute]),
    Text(&'static str),
    Number(u32),
}

impl TypeTable {
    /// The type as text. Its length is bounded by [`MAX_DESCRIPTION`](crate::layout::MAX_DESCRIPTION).
    pub fn description(&self, id: TypeId) -> String {
        let mut text = String::with_capacity(self.layout(id).description as usize);
        let mut stack = vec![Piece::Type(id)];
        while let Some(piece) = stack.pop() {
            match piece {
                Piece::Text(s) => text.push_str(s),
                Piece::Number(n) => drop(write!(text, "{n}")),
                Piece::Attrs(attrs) => push_attributes(&mut text, attrs),
                Piece::Type(id) => self.describe(id, &mut text, &mut stack),
            }
        }
        text
    }

    /// Appends the head of the description of `id` and stacks the rest.
    fn describe<'a>(&'a self, id: TypeId, text: &mut String, stack: &mut Vec<Piece<'a>>) {
        // Writing to a string cannot fail.
        let _ = match self.kind(id) {
            TypeKind::Void => write!(text, "void"),
            TypeKind::Scalar(s) => write!(text, "{}", s.name()),
            TypeKind::Vector { elem, dim } => write!(text, "vector<{},{dim}>", elem.name()),
            TypeKind::Matrix { dim } => write!(text, "matrix<{dim}>"),
            TypeKind::BindlessArray => write!(text, "bindless_array"),
            TypeKind::Accel => write!(text, "accel"),
            TypeKind::Custom(name) => write!(text, "{name}"),
            TypeKind::CoopVec { elem, len } => write!(text, "coopvec<{},{len}>", elem.name()),
            TypeKind::CoopVecRef { len, interpretation } => {
                write!(text, "coopvec_ref<{len},{interpretation}>")
            }
            TypeKind::CoopMatRef { rows, columns, interpretation } => {
                write!(text, "coopmat_ref<{rows},{columns},{interpretation}>")
            }
            TypeKind::Texture { dim, elem, attrs } => {
                text.push_str("texture");
                push_attributes(text, attrs);
                write!(text, "<{dim},{}>", elem.name())
            }
            TypeKind::Buffer { elem, attrs } => {
                text.push_str("buffer");
                push_attributes(text, attrs);
                stack.extend([Piece::Text(">"), Piece::Type(*elem)]);
                write!(text, "<")
            }
            TypeKind::Array { elem, len } => {
                stack.extend([
                    Piece::Text(">"),
                    Piece::Number(*len),
                    Piece::Text(","),
                    Piece::Type(*elem),
                ]);
                write!(text, "array<")
            }
            TypeKind::Struct { align, members } => {
                stack.push(Piece::Text(">"));
                for member in members.iter().rev() {
                    stack.extend([
                        Piece::Type(member.ty),
                        Piece::Attrs(&member.attrs),
                        Piece::Text(","),
                    ]);
                }
                write!(text, "struct<{align}")
            }
        };
    }

    /// The type of a description. Types that it needs are added to the table.
    ///
    /// # Errors
    /// If the text does not follow the grammar, names an unknown type or a type that cannot be, or has something
    /// after its end. A name that is no keyword must be one of [`CUSTOM_TYPES`] or be in the table already.
    pub fn parse(&mut self, text: &str) -> Result<TypeId, TypeError> {
        let mut parser = Parser { text, at: 0 };
        let mut open = Vec::new();
        loop {
            let Some(mut ty) = parser.start(self, &mut open)? else {
                continue;
            };
            loop {
                match open.pop() {
                    None if parser.at == text.len() => return Ok(ty),
                    None => return Err(parser.expected("the end")),
                    Some(frame) => match parser.resume(self, frame, ty)? {
                        Next::Done(outer) => ty = outer,
                        Next::More(frame) => {
                            open.push(frame);
                            break;
                        }
                    },
                }
            }
        }
    }
}

fn push_attributes(text: &mut String, attrs: &[Attribute]) {
    for attr in attrs {
        let _ = match &attr.value {
            Some(value) => write!(text, "[{}({value})]", attr.key),
            None => write!(text, "[{}]", attr.key),
        };
    }
}

/// A type whose end has not been seen.
enum Frame {
    Array,
    Buffer(Box<[Attribute]>),
    Struct { align: u32, members: Vec<Member>, attrs: Box<[Attribute]> },
}

enum Next {
    Done(TypeId),
    More(Frame),
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn expected(&self, expected: &'static str) -> TypeError {
        TypeError::Syntax { offset: self.at, expected }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, byte: u8, expected: &'static str) -> Result<(), TypeError> {
        if self.eat(byte) { Ok(()) } else { Err(self.expected(expected)) }
    }

    fn word(&mut self) -> Result<&str, TypeError> {
        let rest = &self.text.as_bytes()[self.at..];
        let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if len == 0 || rest[0].is_ascii_digit() {
            return Err(self.expected("a name"));
        }
        let start = self.at;
        self.at += len;
        Ok(&self.text[start..self.at])
    }

    fn number(&mut self) -> Result<u32, TypeError> {
        let rest = &self.text[self.at..];
        let len = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..len].parse().map_err(|_| self.expected("a number below 2^32"))?;
        self.at += len;
        Ok(number)
    }

    /// A number that is a dimension, checked by the table later.
    fn dimension(&mut self) -> Result<u8, TypeError> {
        let start = self.at;
        let number = self.number()?;
        u8::try_from(number)
            .map_err(|_| TypeError::Syntax { offset: start, expected: "a number from 2 to 4" })
    }

    fn scalar(&mut self) -> Result<Scalar, TypeError> {
        let start = self.at;
        let word = self.word()?;
        Scalar::from_name(word)
            .ok_or(TypeError::Syntax { offset: start, expected: "a scalar type" })
    }

    fn attributes(&mut self) -> Result<Box<[Attribute]>, TypeError> {
        let mut attrs = Vec::new();
        while self.eat(b'[') {
            let key = self.word()?.into();
            let value = if self.eat(b'(') {
                let value = self.word()?.into();
                self.need(b')', "`)`")?;
                Some(value)
            } else {
                None
            };
            self.need(b']', "`]`")?;
            attrs.push(Attribute { key, value });
        }
        Ok(attrs.into())
    }

    /// Reads up to the first inner type, or a whole type that has none.
    fn start(
        &mut self,
        types: &mut TypeTable,
        open: &mut Vec<Frame>,
    ) -> Result<Option<TypeId>, TypeError> {
        if open.len() > crate::layout::MAX_DEPTH as usize {
            return Err(TypeError::Depth(crate::layout::MAX_DEPTH));
        }
        let word = self.word()?.to_owned();
        let kind = match word.as_str() {
            "void" => TypeKind::Void,
            "bindless_array" => TypeKind::BindlessArray,
            "accel" => TypeKind::Accel,
            "vector" | "coopvec" => {
                self.need(b'<', "`<`")?;
                let elem = self.scalar()?;
                self.need(b',', "`,`")?;
                let kind = match word.as_str() {
                    "vector" => TypeKind::Vector { elem, dim: self.dimension()? },
                    _ => TypeKind::CoopVec { elem, len: self.number()? },
                };
                self.need(b'>', "`>`")?;
                kind
            }
            "matrix" => {
                self.need(b'<', "`<`")?;
                let dim = self.dimension()?;
                self.need(b'>', "`>`")?;
                TypeKind::Matrix { dim }
            }
            "coopvec_ref" | "coopmat_ref" => self.cooperative_ref(word == "coopmat_ref")?,
            "texture" => {
                let attrs = self.attributes()?;
                self.need(b'<', "`<`")?;
                let dim = self.dimension()?;
                self.need(b',', "`,`")?;
                let elem = self.scalar()?;
                self.need(b'>', "`>`")?;
                TypeKind::Texture { dim, elem, attrs }
            }
            "array" | "buffer" => {
                let frame =
                    if word == "array" { Frame::Array } else { Frame::Buffer(self.attributes()?) };
                self.need(b'<', "`<`")?;
                open.push(frame);
                return Ok(None);
            }
            "struct" => {
                self.need(b'<', "`<`")?;
                let align = self.number()?;
                if self.eat(b'>') {
                    TypeKind::Struct { align, members: Box::default() }
                } else {
                    self.need(b',', "`,` or `>`")?;
                    let attrs = self.attributes()?;
                    open.push(Frame::Struct { align, members: Vec::new(), attrs });
                    return Ok(None);
                }
            }
            name => match Scalar::from_name(name) {
                Some(scalar) => TypeKind::Scalar(scalar),
                None => custom(types, name)?,
            },
        };
        types.intern(kind).map(Some)
    }

    fn cooperative_ref(&mut self, matrix: bool) -> Result<TypeKind, TypeError> {
        self.need(b'<', "`<`")?;
        let rows = self.number()?;
        self.need(b',', "`,`")?;
        let second = self.number()?;
        let kind = if matrix {
            self.need(b',', "`,`")?;
            TypeKind::CoopMatRef { rows, columns: second, interpretation: self.number()? }
        } else {
            TypeKind::CoopVecRef { len: rows, interpretation: second }
        };
        self.need(b'>', "`>`")?;
        Ok(kind)
    }

    /// Goes on with a type after its inner type `ty`.
    fn resume(
        &mut self,
        types: &mut TypeTable,
        frame: Frame,
        ty: TypeId,
    ) -> Result<Next, TypeError> {
        let kind = match frame {
            Frame::Array => {
                self.need(b',', "`,`")?;
                let len = self.number()?;
                self.need(b'>', "`>`")?;
                TypeKind::Array { elem: ty, len }
            }
            Frame::Buffer(attrs) => {
                self.need(b'>', "`>`")?;
                TypeKind::Buffer { elem: ty, attrs }
            }
            Frame::Struct { align, mut members, attrs } => {
                members.push(Member { ty, attrs });
                if self.eat(b',') {
                    let attrs = self.attributes()?;
                    return Ok(Next::More(Frame::Struct { align, members, attrs }));
                }
                self.need(b'>', "`,` or `>`")?;
                TypeKind::Struct { align, members: members.into() }
            }
        };
        types.intern(kind).map(Next::Done)
    }
}

fn custom(types: &TypeTable, name: &str) -> Result<TypeKind, TypeError> {
    let kind = TypeKind::Custom(name.into());
    if CUSTOM_TYPES.contains(&name) || types.get(&kind).is_some() {
        Ok(kind)
    } else {
        Err(TypeError::UnknownName(name.to_owned()))
    }
}

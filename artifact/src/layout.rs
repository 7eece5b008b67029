//! Size, alignment and members of a type, read from its description: `array<struct<16,int,float>,10>`.
//!
//! The rules are those of the compiler's types: a 3-vector is as large as a 4-vector, vectors align to at most
//! 16, a structure has the alignment it states and each member lies at its own. Descriptions come from files, so
//! the parser keeps its own stack and computes sizes with checks.

use thiserror::Error;

macro_rules! scalars {
    ($($name:ident = $text:literal, $bytes:literal;)*) => {
        /// A scalar type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Scalar { $($name),* }

        impl Scalar {
            /// The scalar with this name in descriptions.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$name),)* _ => None }
            }

            /// The name in descriptions.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Bytes in memory, and alignment.
            #[must_use]
            pub fn bytes(self) -> u32 {
                match self { $(Self::$name => $bytes),* }
            }
        }
    };
}

scalars! {
    Bool = "bool", 1;
    Byte = "byte", 1;
    UByte = "ubyte", 1;
    Short = "short", 2;
    UShort = "ushort", 2;
    Int = "int", 4;
    UInt = "uint", 4;
    Long = "long", 8;
    ULong = "ulong", 8;
    Half = "half", 2;
    Float = "float", 4;
    Double = "double", 8;
    Float8E4M3 = "float8e4m3", 1;
    Float8E5M2 = "float8e5m2", 1;
    Int4 = "int4", 1;
    Fp4E2M1 = "fp4e2m1", 1;
}

/// An index into a [`DataLayout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

/// What a type is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// One scalar.
    Scalar(Scalar),
    /// Two to four scalars; components follow each other without gaps.
    Vector(Scalar, u32),
    /// Columns of floats, as many rows as columns; a column is laid out as a vector.
    Matrix(u32),
    /// Elements one after the other.
    Array(TypeId, u64),
    /// Members, each with its offset in bytes.
    Struct(Vec<(TypeId, u64)>),
    /// A buffer of elements, or of bytes.
    Buffer(Option<TypeId>),
    /// An image of 2 or 3 dimensions; `float`, `int` or `uint` is what a kernel sees.
    Texture(u32, Scalar),
    /// A bindless array.
    BindlessArray,
    /// An acceleration structure.
    Accel,
    /// A type known by name only.
    Custom(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Type {
    kind: TypeKind,
    size: u64,
    align: u64,
}

/// A type and all it is made of, with sizes and offsets in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLayout {
    types: Vec<Type>,
}

/// A description that is no type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message} at byte {at} of the type description")]
pub struct LayoutError {
    /// Offset into the description.
    pub at: usize,
    /// What is wrong.
    pub message: &'static str,
}

impl DataLayout {
    /// Reads a description.
    ///
    /// # Errors
    /// [`LayoutError`] for anything that does not follow the grammar, or is larger than 64 bits can say.
    pub fn parse(description: &str) -> Result<Self, LayoutError> {
        let mut p =
            Parser { text: description.as_bytes(), at: 0, types: Vec::new(), stack: Vec::new() };
        p.run()?;
        Ok(Self { types: p.types })
    }

    /// The type that was described.
    #[must_use]
    pub fn root(&self) -> TypeId {
        TypeId((self.types.len() - 1) as u32)
    }

    /// What a type is made of. The id must come from this layout.
    #[must_use]
    pub fn kind(&self, id: TypeId) -> &TypeKind {
        &self.types[id.0 as usize].kind
    }

    /// Size in bytes; zero for resources and custom types.
    #[must_use]
    pub fn size(&self, id: TypeId) -> u64 {
        self.types[id.0 as usize].size
    }

    /// Alignment in bytes, at least 1.
    #[must_use]
    pub fn align(&self, id: TypeId) -> u64 {
        self.types[id.0 as usize].align
    }

    /// Whether values of it lie in memory: no resource and no custom type (which no data type can contain).
    #[must_use]
    pub fn is_data(&self, id: TypeId) -> bool {
        use TypeKind::{Array, Matrix, Scalar, Struct, Vector};
        matches!(self.kind(id), Scalar(_) | Vector(..) | Matrix(_) | Array(..) | Struct(_))
    }
}

/// Size and alignment of a vector.
fn vector(element: Scalar, n: u32) -> (u64, u64) {
    let lanes = if n == 3 { 4 } else { n };
    let size = u64::from(element.bytes() * lanes);
    (size, size.min(16))
}

/// A type that waits for its parts.
enum Open {
    Array,
    Buffer,
    Struct { align: u64, members: Vec<(TypeId, u64)>, end: u64, widest: u64 },
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    types: Vec<Type>,
    stack: Vec<Open>,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), LayoutError> {
        let mut done = self.start()?;
        loop {
            match (done, self.stack.pop()) {
                (false, None) => return self.fail("a type is missing"),
                (false, Some(open)) => {
                    self.stack.push(open);
                    done = self.start()?;
                }
                (true, None) if self.at == self.text.len() => return Ok(()),
                (true, None) => return self.fail("unexpected text after the type"),
                (true, Some(open)) => done = self.resume(open)?,
            }
        }
    }

    /// Reads the head of a type. True if the type is complete (and last in `types`), false if a part comes next.
    fn start(&mut self) -> Result<bool, LayoutError> {
        let start = self.at;
        let name = self.ident();
        match name {
            "vector" => {
                self.expect(b'<')?;
                let element = self.scalar()?;
                self.expect(b',')?;
                let n = self.small()?;
                self.expect(b'>')?;
                let (size, align) = vector(element, n);
                self.add(TypeKind::Vector(element, n), size, align)
            }
            "matrix" => {
                self.expect(b'<')?;
                let n = self.small()?;
                self.expect(b'>')?;
                let (column, align) = vector(Scalar::Float, n);
                self.add(TypeKind::Matrix(n), column * u64::from(n), align)
            }
            "array" => self.expect(b'<').map(|()| self.stack.push(Open::Array)).map(|()| false),
            "struct" => {
                self.expect(b'<')?;
                let align = self.number()?;
                if !matches!(align, 0 | 1 | 2 | 4 | 8 | 16) {
                    return self.fail("a structure's alignment must be 1, 2, 4, 8 or 16");
                }
                self.continue_struct(Open::Struct { align, members: Vec::new(), end: 0, widest: 1 })
            }
            "buffer" => {
                self.attributes()?;
                self.expect(b'<')?;
                if self.text[self.at..].starts_with(b"void>") {
                    self.at += 5;
                    return self.add(TypeKind::Buffer(None), 0, 1);
                }
                self.stack.push(Open::Buffer);
                Ok(false)
            }
            "texture" => {
                self.attributes()?;
                self.expect(b'<')?;
                let dimension = self.small()?;
                self.expect(b',')?;
                let element = self.scalar()?;
                self.expect(b'>')?;
                if dimension > 3 || !matches!(element, Scalar::Float | Scalar::Int | Scalar::UInt) {
                    return self.fail("an image has 2 or 3 dimensions of float, int or uint");
                }
                self.add(TypeKind::Texture(dimension, element), 0, 1)
            }
            "bindless_array" => self.add(TypeKind::BindlessArray, 0, 1),
            "accel" => self.add(TypeKind::Accel, 0, 1),
            "" => self.fail("a type is missing"),
            other => match Scalar::from_name(other) {
                Some(s) => self.add(TypeKind::Scalar(s), s.bytes().into(), s.bytes().into()),
                None if start == 0 && self.at == self.text.len() && other != "void" => {
                    let name = other.to_owned();
                    self.add(TypeKind::Custom(name), 0, 1)
                }
                None => {
                    self.at = start;
                    self.fail("unknown type")
                }
            },
        }
    }

    /// Takes the type that was completed last as a part of `open`, and answers as [`Self::start`] does.
    fn resume(&mut self, open: Open) -> Result<bool, LayoutError> {
        let part = TypeId((self.types.len() - 1) as u32);
        let Type { kind, size, align } = &self.types[part.0 as usize];
        let (size, align) = (*size, *align);
        if matches!(
            kind,
            TypeKind::Buffer(_)
                | TypeKind::Texture(..)
                | TypeKind::BindlessArray
                | TypeKind::Accel
                | TypeKind::Custom(_)
        ) {
            return self.fail("a resource cannot be part of another type");
        }
        match open {
            Open::Array => {
                self.expect(b',')?;
                let n = self.number()?;
                self.expect(b'>')?;
                match size.checked_mul(n) {
                    Some(bytes) => self.add(TypeKind::Array(part, n), bytes, align),
                    None => self.fail("the array is too large"),
                }
            }
            Open::Buffer => {
                self.expect(b'>')?;
                self.add(TypeKind::Buffer(Some(part)), 0, 1)
            }
            Open::Struct { align: stated, mut members, end, widest } => {
                let offset = end.checked_next_multiple_of(align);
                let Some((offset, end)) = offset.and_then(|o| Some((o, o.checked_add(size)?)))
                else {
                    return self.fail("the structure is too large");
                };
                members.push((part, offset));
                self.continue_struct(Open::Struct {
                    align: stated,
                    members,
                    end,
                    widest: widest.max(align),
                })
            }
        }
    }

    /// After the alignment or a member of a structure: another member or the end.
    fn continue_struct(&mut self, open: Open) -> Result<bool, LayoutError> {
        if self.text.get(self.at) == Some(&b',') {
            self.at += 1;
            self.attributes()?;
            self.stack.push(open);
            return Ok(false);
        }
        self.expect(b'>')?;
        let Open::Struct { align, members, end, widest } = open else {
            return self.fail("not a structure");
        };
        // Alignment 0 is the old format's way to say "that of the members".
        let align = if align == 0 { widest } else { align };
        if align < widest {
            return self.fail("a structure's alignment is less than a member's");
        }
        match end.checked_next_multiple_of(align) {
            Some(size) => self.add(TypeKind::Struct(members), size, align),
            None => self.fail("the structure is too large"),
        }
    }

    fn add(&mut self, kind: TypeKind, size: u64, align: u64) -> Result<bool, LayoutError> {
        self.types.push(Type { kind, size, align });
        Ok(true)
    }

    /// Skips `[key]` and `[key(value)]`, which say nothing about the layout.
    fn attributes(&mut self) -> Result<(), LayoutError> {
        while self.text.get(self.at) == Some(&b'[') {
            self.at += 1;
            if self.ident().is_empty() {
                return self.fail("an attribute's name is missing");
            }
            if self.text.get(self.at) == Some(&b'(') {
                self.at += 1;
                self.ident();
                self.expect(b')')?;
            }
            self.expect(b']')?;
        }
        Ok(())
    }

    fn ident(&mut self) -> &'a str {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == b'_') {
            self.at += 1;
        }
        // The range holds ASCII only.
        std::str::from_utf8(&self.text[start..self.at]).unwrap_or("")
    }

    fn scalar(&mut self) -> Result<Scalar, LayoutError> {
        match Scalar::from_name(self.ident()) {
            Some(s) => Ok(s),
            None => self.fail("a scalar type is missing"),
        }
    }

    fn number(&mut self) -> Result<u64, LayoutError> {
        match self.ident().parse() {
            Ok(n) => Ok(n),
            Err(_) => self.fail("a number is missing"),
        }
    }

    /// A number from 2 to 4.
    fn small(&mut self) -> Result<u32, LayoutError> {
        match self.number()? {
            n @ 2..=4 => Ok(n as u32),
            _ => self.fail("the number must be 2, 3 or 4"),
        }
    }

    fn expect(&mut self, c: u8) -> Result<(), LayoutError> {
        if self.text.get(self.at) != Some(&c) {
            return self.fail("wrong punctuation");
        }
        self.at += 1;
        Ok(())
    }

    fn fail<T>(&self, message: &'static str) -> Result<T, LayoutError> {
        Err(LayoutError { at: self.at, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn size(description: &str, size: u64, align: u64) {
        let l = DataLayout::parse(description).unwrap();
        assert_eq!((l.size(l.root()), l.align(l.root())), (size, align), "{description}");
    }

    #[test]
    fn sizes() {
        size("bool", 1, 1);
        size("vector<float,3>", 16, 16);
        size("vector<bool,2>", 2, 2);
        size("vector<half,3>", 8, 8);
        size("vector<double,3>", 32, 16);
        size("matrix<2>", 16, 8);
        size("matrix<3>", 48, 16);
        size("array<struct<16,int,float>,10>", 160, 16);
        size("struct<8,uint,uint,vector<float,2>,float>", 24, 8);
        size("struct<4,[a(b)]int,[c]bool>", 8, 4);
        size("struct<1>", 0, 1);
        size("array<float,4294967295>", 17_179_869_180, 4);
        size("buffer<void>", 0, 1);
        size("buffer[cache(coherent)]<vector<float,4>>", 0, 1);
        size("texture<2,float>", 0, 1);
        size("LC_RayQueryAny", 0, 1);
    }

    #[test]
    fn member_offsets() {
        let l = DataLayout::parse("struct<16,bool,vector<float,3>,int>").unwrap();
        let TypeKind::Struct(members) = l.kind(l.root()) else { panic!() };
        assert_eq!(members.iter().map(|m| m.1).collect::<Vec<_>>(), [0, 16, 32]);
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let n = 100_000;
        let deep = "array<".repeat(n) + "float" + &",1>".repeat(n);
        size(&deep, 4, 4);
    }

    #[test]
    fn refusals() {
        for bad in [
            "",
            "void",
            "foo<1>",
            "vector<float,5>",
            "vector<float,3",
            "vector<float,3>x",
            "array<float>",
            "array<,3>",
            "struct<3,int>",
            "struct<4,double>",
            "struct<",
            "struct<4,",
            "array<buffer<int>,2>",
            "array<LC_X,2>",
            "buffer<>",
            "texture<4,float>",
            "texture<2,bool>",
            "array<array<array<float,4294967295>,4294967295>,4294967295>",
            "array<float,99999999999999999999>",
            "float ",
            "ä",
        ] {
            assert!(DataLayout::parse(bad).is_err(), "{bad}");
        }
    }
}

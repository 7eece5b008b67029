//! The parts of a document before its functions: types, constants, external functions.

use super::codes;
use super::lexer::Lexed;
use super::reader::{Reader, shorten};
use crate::description::CUSTOM_TYPES;
use crate::layout;
use crate::model::{Constant, External, Usage};
use crate::types::{Member, Scalar, TypeError, TypeId, TypeKind};

/// A type entry as it is written: members come in any order, so the type is made at the end.
#[derive(Default)]
struct RawType<'a> {
    tag: Option<std::borrow::Cow<'a, str>>,
    element: Option<TypeId>,
    dimension: Option<u64>,
    alignment: Option<u64>,
    members: Vec<Option<TypeId>>,
    id: Option<std::borrow::Cow<'a, str>>,
}

const TYPE_KEYS: [&str; 6] = ["tag", "element", "dimension", "alignment", "members", "id"];
const TAG: u64 = 1;
const ELEMENT: u64 = 2;
const DIMENSION: u64 = 4;
const ALIGNMENT: u64 = 8;
const MEMBERS: u64 = 16;
const ID: u64 = 32;

impl<'a> Reader<'a> {
    /// Reads the array of types.
    pub fn type_table(&mut self) -> Lexed<()> {
        if !self.enter_array("`types`")? {
            return Ok(());
        }
        let mut first = true;
        while self.lexer.item(&mut first)? {
            let ty = self.type_entry()?;
            self.types.push(ty);
            self.library.listed_types.extend(ty);
            self.go_on()?;
        }
        Ok(())
    }

    fn type_entry(&mut self) -> Lexed<Option<TypeId>> {
        if self.lexer.peek() == Some(b'n') {
            self.lexer.word("null")?;
            return Ok(Some(TypeId::VOID));
        }
        let at = self.lexer.at;
        if !self.enter_object("a type")? {
            return Ok(None);
        }
        let before = self.report.len();
        let mut raw = RawType::default();
        let seen = self.members(&TYPE_KEYS, |reader, key| {
            match 1 << key {
                TAG => raw.tag = reader.string("a type's `tag`")?,
                ELEMENT => raw.element = reader.earlier_type()?,
                DIMENSION => raw.dimension = reader.integer("`dimension`", u64::from(u32::MAX))?,
                ALIGNMENT => raw.alignment = reader.integer("`alignment`", u64::from(u32::MAX))?,
                MEMBERS => raw.members = reader.member_types()?,
                _ => raw.id = reader.string("`id`")?,
            }
            Ok(())
        })?;
        self.require(&TYPE_KEYS, TAG, seen, at, "the type");
        let Some(tag) = raw.tag.clone() else {
            return Ok(None);
        };
        let Some(needed) = members_of(&tag) else {
            self.report.error(
                codes::UNKNOWN_NAME,
                at,
                format!("`{}` is no tag of a type", shorten(&tag)),
            );
            return Ok(None);
        };
        self.require(&TYPE_KEYS, needed, seen, at, &format!("the type `{tag}`"));
        if self.versioned {
            for (i, key) in TYPE_KEYS.iter().enumerate() {
                if (seen & !needed & !TAG) >> i & 1 == 1 {
                    self.report.error(
                        codes::UNKNOWN_MEMBER,
                        at,
                        format!("the type `{tag}` has no member `{key}`"),
                    );
                }
            }
        }
        let built = raw.members.iter().all(Option::is_some)
            && (raw.element.is_some() || seen & ELEMENT == 0);
        if self.report.len() > before || !built {
            return Ok(None);
        }
        let ty = self.make_type(&tag, raw);
        Ok(ty.map_err(|error| self.report.error(codes::BAD_TYPE, at, error.to_string())).ok())
    }

    fn make_type(&mut self, tag: &str, raw: RawType<'_>) -> Result<TypeId, TypeError> {
        if let Some(scalar) = Scalar::from_json_name(tag) {
            return Ok(TypeId::scalar(scalar));
        }
        let types = &mut self.library.types;
        // All members that the tag needs are there.
        let elem = raw.element.unwrap_or(TypeId::VOID);
        let dimension = raw.dimension.unwrap_or(0);
        let small = |what| {
            u8::try_from(dimension).map_err(|_| TypeError::Dimension { what, dim: dimension })
        };
        let scalar = |role| match types.kind(elem) {
            TypeKind::Scalar(scalar) => Ok(*scalar),
            _ => Err(TypeError::Element { element: types.description(elem), role }),
        };
        let kind = match tag {
            "VECTOR" => {
                TypeKind::Vector { elem: scalar("a vector's component")?, dim: small("a vector")? }
            }
            "MATRIX" if elem == TypeId::F32 => TypeKind::Matrix { dim: small("a matrix")? },
            "MATRIX" => {
                return Err(TypeError::Element {
                    element: types.description(elem),
                    role: "a matrix element",
                });
            }
            "ARRAY" => TypeKind::Array { elem, len: dimension as u32 },
            "TEXTURE" => TypeKind::Texture {
                elem: scalar("a texture element")?,
                dim: small("a texture")?,
                attrs: Box::default(),
            },
            "STRUCTURE" => {
                let align = raw.alignment.unwrap_or(0);
                if align > 16 || (self.versioned && !matches!(align, 1 | 4 | 8 | 16)) {
                    let members =
                        raw.members.iter().flatten().map(|m| types.align(*m)).max().unwrap_or(1);
                    return Err(TypeError::Alignment { align, members });
                }
                TypeKind::Struct {
                    align: align as u32,
                    members: raw.members.into_iter().flatten().map(Member::plain).collect(),
                }
            }
            "BUFFER" => TypeKind::Buffer { elem, attrs: Box::default() },
            "BINDLESS_ARRAY" => TypeKind::BindlessArray,
            "ACCEL" => TypeKind::Accel,
            _ => {
                let name = raw.id.unwrap_or_default();
                if self.versioned && !CUSTOM_TYPES.contains(&&*name) {
                    return Err(TypeError::UnknownName(shorten(&name)));
                }
                TypeKind::Custom(name.into())
            }
        };
        types.intern(kind)
    }

    /// The index of a type before the one that is being read.
    fn earlier_type(&mut self) -> Lexed<Option<TypeId>> {
        self.lexer.peek();
        let at = self.lexer.at;
        let Some(index) = self.integer("a type index", u64::from(u32::MAX))? else {
            return Ok(None);
        };
        let here = self.types.len();
        match self.types.get(index as usize) {
            // One that is wrong has been reported; what is built from it is not.
            Some(ty) => return Ok(*ty),
            None if index as usize == here => {
                self.report.error(codes::TYPE_CYCLE, at, format!("type {here} contains itself"));
            }
            None => self.report.error_with_help(
                codes::TYPE_INDEX,
                at,
                format!("type {here} is built from type {index}, which does not come before it"),
                "a type can only be built from types with smaller indices",
            ),
        }
        Ok(None)
    }

    fn member_types(&mut self) -> Lexed<Vec<Option<TypeId>>> {
        let mut members = Vec::new();
        if self.enter_array("`members`")? {
            let mut first = true;
            while self.lexer.item(&mut first)? {
                members.push(self.earlier_type()?);
                // More than that is refused anyway: each takes a byte of the description.
                if members.len() as u64 > layout::MAX_DESCRIPTION {
                    let message = "a structure has too many members";
                    self.report.error(codes::BAD_TYPE, self.lexer.at, message);
                    return self.end();
                }
            }
        }
        Ok(members)
    }

    /// Reads the array of constants; types are known by then.
    pub fn constant_table(&mut self) -> Lexed<()> {
        if !self.enter_array("`constants`")? {
            return Ok(());
        }
        let mut first = true;
        while self.lexer.item(&mut first)? {
            let constant = self.constant()?;
            self.library.constants.push(constant);
            self.go_on()?;
        }
        Ok(())
    }

    fn constant(&mut self) -> Lexed<Constant> {
        const KEYS: [&str; 2] = ["type", "raw"];
        let mut constant = Constant { ty: TypeId::VOID, bytes: Vec::new() };
        let mut decoded = None;
        self.lexer.peek();
        let at = self.lexer.at;
        if !self.enter_object("a constant")? {
            return Ok(constant);
        }
        let seen = self.members(&KEYS, |reader, key| {
            if key == 0 {
                constant.ty = reader.type_ref("a constant's `type`")?;
            } else if reader.lexer.peek() == Some(b'"') {
                let span = reader.lexer.string()?;
                if reader.base64(span, "the constant")? {
                    decoded = Some((std::mem::take(&mut reader.scratch), span.start as usize));
                }
            } else {
                reader.wrong_type("a constant's `raw`", "a string")?;
            }
            Ok(())
        })?;
        self.require(&KEYS, 3, seen, at, "the constant");
        let index = self.library.constants.len();
        if let Some((mut bytes, at)) = decoded
            && constant.ty != TypeId::VOID
        {
            self.check_value("constant", index, constant.ty, bytes.len(), at);
            layout::clear_padding(&self.library.types, constant.ty, &mut bytes);
            constant.bytes = bytes;
        } else if self.report.is_empty() {
            self.report.error(
                codes::BAD_TYPE,
                at,
                format!("constant {index} has no value: its type is `void`"),
            );
        }
        Ok(constant)
    }

    fn check_value(&mut self, what: &str, index: usize, ty: TypeId, len: usize, at: usize) {
        let types = &self.library.types;
        let size = types.size(ty);
        if !types.is_data(ty) {
            let message = format!(
                "{what} {index} is of type `{}`, which has no values",
                types.description(ty)
            );
            self.report.error(codes::BAD_TYPE, at, message);
        } else if len as u64 != size {
            let name = types.description(ty);
            let message = format!("{what} {index} has {len} bytes, but a `{name}` has {size}");
            self.report.error(codes::CONSTANT_SIZE, at, message);
        }
    }

    /// Reads the array of external functions; types are known by then.
    pub fn external_table(&mut self) -> Lexed<()> {
        self.lexer.peek();
        let at = self.lexer.at;
        if !self.enter_array("`external_functions`")? {
            return Ok(());
        }
        let mut first = true;
        while self.lexer.item(&mut first)? {
            let external = self.external()?;
            self.library.externals.push(external);
            self.go_on()?;
        }
        if self.versioned && !self.library.externals.is_empty() {
            let message = "external functions are not allowed in a versioned document";
            self.report.error(codes::UNPORTABLE, at, message);
        }
        Ok(())
    }

    fn external(&mut self) -> Lexed<External> {
        const KEYS: [&str; 4] = ["name", "return_type", "argument_types", "argument_usages"];
        let mut external = External {
            name: String::new(),
            return_type: TypeId::VOID,
            argument_types: Vec::new(),
            argument_usages: Vec::new(),
        };
        self.lexer.peek();
        let at = self.lexer.at;
        if !self.enter_object("an external function")? {
            return Ok(external);
        }
        let seen = self.members(&KEYS, |reader, key| {
            let mut first = true;
            match key {
                0 => external.name = reader.string("`name`")?.unwrap_or_default().into_owned(),
                1 => external.return_type = reader.type_ref("`return_type`")?,
                2 if reader.enter_array("`argument_types`")? => {
                    while reader.lexer.item(&mut first)? {
                        external.argument_types.push(reader.type_ref("an argument type")?);
                    }
                }
                3 if reader.enter_array("`argument_usages`")? => {
                    while reader.lexer.item(&mut first)? {
                        let usage = reader.named("usage", Usage::from_name)?;
                        external.argument_usages.push(usage.unwrap_or_default());
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        self.require(&KEYS, 0b1111, seen, at, "the external function");
        let (types, usages) = (external.argument_types.len(), external.argument_usages.len());
        if types != usages {
            let message =
                format!("the external function has {types} argument types, but {usages} usages");
            self.report.error(codes::ARGUMENTS, at, message);
        }
        Ok(external)
    }
}

/// The members that a type of a tag must have; `None` for a tag that does not exist.
fn members_of(tag: &str) -> Option<u64> {
    Some(match tag {
        "VECTOR" | "MATRIX" | "ARRAY" | "TEXTURE" => ELEMENT | DIMENSION,
        "STRUCTURE" => ALIGNMENT | MEMBERS,
        "BUFFER" => ELEMENT,
        "CUSTOM" => ID,
        "BINDLESS_ARRAY" | "ACCEL" => 0,
        _ => Scalar::from_json_name(tag).map(|_| 0)?,
    })
}

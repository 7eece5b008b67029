//! Text to constants.

use super::codes;
use super::lexer::{Error, Token};
use super::parser::Parser;
use super::types::scalar_from_name;
use crate::ConstBytes;
use half::f16;
use luisac_ast::types::{Scalar, TypeId, TypeKind};

/// Bytes that constants may take which the text does not spell out.
const MAX_SHORT_BYTES: u64 = 64 << 20;

/// What is left of the memory that short forms may ask for.
pub(super) struct Budget(u64);

impl Default for Budget {
    fn default() -> Budget {
        Budget(MAX_SHORT_BYTES)
    }
}

/// A composite whose closing parenthesis has not been seen.
struct Open {
    ty: TypeId,
    at: u64,
    next: u32,
}

impl<'t> Parser<'t> {
    /// `f32 1.5`, `const TYPE zero`, `const TYPE hex "…"`, `const TYPE (…)`, or, in a declaration, the same without `const`.
    pub fn constant(&mut self) -> Result<(TypeId, ConstBytes), Error> {
        let explicit = self.eat_word("const")?;
        if let (false, Token::Word(word)) = (explicit, self.token.token)
            && let Some(scalar) = scalar_from_name(word)
        {
            self.advance()?;
            let bits = self.scalar_value(scalar)?;
            let bytes = ConstBytes::from_bits(bits, scalar.size() as usize);
            return Ok((TypeId::scalar(scalar), bytes));
        }
        let start = self.token.offset;
        let ty = self.ty()?;
        Ok((ty, self.constant_of(ty, start)?))
    }

    /// What follows the type in a constant that starts at `start`.
    pub fn constant_of(&mut self, ty: TypeId, start: usize) -> Result<ConstBytes, Error> {
        if !self.module.types.is_data(ty) {
            return Err(self.error(codes::BAD_CONSTANT, start, "this type has no constants"));
        }
        self.composite(ty)
    }

    fn composite(&mut self, ty: TypeId) -> Result<ConstBytes, Error> {
        if self.eat_word("hex")? {
            return self.hex(ty);
        }
        let size = self.module.types.size(ty);
        let offset = self.token.offset;
        if self.is_word("zero") || self.is('(') {
            self.budget.0 = self.budget.0.checked_sub(size).ok_or_else(|| {
                self.error(
                    codes::TOO_LARGE,
                    offset,
                    "the constants of the text take more than 64 MiB",
                )
            })?;
        }
        let mut bytes = vec![0; size as usize];
        if self.eat_word("zero")? {
            return Ok(bytes.into());
        }
        if !self.is('(') {
            return Err(self.expected("`zero`, `hex` or `(`"));
        }
        self.elements(ty, &mut bytes)?;
        Ok(bytes.into())
    }

    fn hex(&mut self, ty: TypeId) -> Result<ConstBytes, Error> {
        let offset = self.token.offset;
        let Token::Text(text) = self.token.token else {
            return Err(self.expected("bytes in quotes"));
        };
        let digits = text.source().as_bytes();
        let size = self.module.types.size(ty);
        if digits.len() as u64 != 2 * size {
            let message = format!("the type has {size} bytes, the constant {}", digits.len() / 2);
            return Err(self.error(codes::BAD_CONSTANT, offset, message));
        }
        let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
        let bytes: Option<Vec<u8>> =
            digits.chunks_exact(2).map(|p| Some(digit(p[0])? << 4 | digit(p[1])?)).collect();
        let bytes = bytes.ok_or_else(|| {
            self.error(codes::BAD_CONSTANT, offset, "expected hexadecimal digits")
        })?;
        self.advance()?;
        Ok(bytes.into())
    }

    /// `(element, …)` of a composite, each element a scalar value or again a list.
    fn elements(&mut self, ty: TypeId, bytes: &mut [u8]) -> Result<(), Error> {
        self.need('(')?;
        let mut stack = vec![Open { ty, at: 0, next: 0 }];
        while let Some(open) = stack.last_mut() {
            let count = self.module.types.member_count(open.ty);
            if open.next == count {
                if !self.eat(')')? {
                    let message = format!("expected `)` after {count} elements");
                    return Err(self.error(codes::BAD_CONSTANT, self.token.offset, message));
                }
                stack.pop();
                continue;
            }
            if open.next != 0 && !self.eat(',')? {
                let message = format!("expected {count} elements, found {}", open.next);
                return Err(self.error(codes::BAD_CONSTANT, self.token.offset, message));
            }
            let types = &self.module.types;
            let element = types.element_type(open.ty, open.next).unwrap_or(TypeId::VOID);
            let at = open.at + types.member_offset(open.ty, open.next);
            open.next += 1;
            if let TypeKind::Scalar(scalar) = *types.kind(element) {
                let (start, size) = (at as usize, scalar.size() as usize);
                let bits = self.scalar_value(scalar)?;
                bytes[start..start + size].copy_from_slice(&bits.to_le_bytes()[..size]);
            } else {
                self.need('(')?;
                stack.push(Open { ty: element, at, next: 0 });
            }
        }
        Ok(())
    }

    /// The bits of a scalar: a number, `true`, `false`, `inf`, or `0x` and the bits themselves.
    fn scalar_value(&mut self, scalar: Scalar) -> Result<u64, Error> {
        let offset = self.token.offset;
        let (Token::Number(text) | Token::Word(text)) = self.token.token else {
            return Err(self.expected("a value"));
        };
        let bits = match text.strip_prefix("0x") {
            Some(digits) => hex_bits(digits, scalar),
            None => decimal_bits(text, scalar),
        };
        let bits = bits.ok_or_else(|| {
            let name = super::types::scalar_name(scalar);
            self.error(codes::BAD_CONSTANT, offset, format!("`{text}` is not a value of `{name}`"))
        })?;
        self.advance()?;
        Ok(bits)
    }
}

fn hex_bits(digits: &str, scalar: Scalar) -> Option<u64> {
    let bits = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    let width = scalar.size() * 8;
    (width == 64 || bits >> width == 0).then_some(bits)
}

fn decimal_bits(text: &str, scalar: Scalar) -> Option<u64> {
    let starts_well = |c: char| c.is_ascii_digit() || c == '-';
    let float = || -> Option<&str> {
        let infinite = matches!(text, "inf" | "-inf");
        let finite = text.starts_with(starts_well) && text.ends_with(|c: char| c.is_ascii_digit());
        (infinite || finite).then_some(text)
    };
    Some(match scalar {
        Scalar::Bool => match text {
            "true" => 1,
            "false" => 0,
            _ => return None,
        },
        Scalar::I8 => text.parse::<i8>().ok()? as u8 as u64,
        Scalar::I16 => text.parse::<i16>().ok()? as u16 as u64,
        Scalar::I32 => text.parse::<i32>().ok()? as u32 as u64,
        Scalar::I64 => text.parse::<i64>().ok()? as u64,
        Scalar::U8 => text.parse::<u8>().ok()?.into(),
        Scalar::U16 => text.parse::<u16>().ok()?.into(),
        Scalar::U32 => text.parse::<u32>().ok()?.into(),
        Scalar::U64 => text.parse().ok()?,
        Scalar::F16 => f16::from_f64(float()?.parse().ok()?).to_bits().into(),
        Scalar::F32 => float()?.parse::<f32>().ok()?.to_bits().into(),
        Scalar::F64 => float()?.parse::<f64>().ok()?.to_bits(),
        Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I4 | Scalar::F4E2M1 => return None,
    })
}

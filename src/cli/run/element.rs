//! How the scalars of a value lie in memory.

use super::npy::Element;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::math::scalar;

/// The scalars of a type without structures: one scalar type, and the byte offset of each in order (columns first, padding left
/// out). `None` for structures, whose elements travel as raw bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalars {
    pub scalar: Scalar,
    pub offsets: Vec<usize>,
}

impl Scalars {
    /// The scalars of a type; `None` if it holds a structure or more than a million of them.
    pub fn of(types: &TypeTable, ty: TypeId) -> Option<Scalars> {
        let scalar = leaf(types, ty)?;
        let mut offsets = vec![0usize];
        let mut ty = ty;
        // From the outermost composite inwards: each offset so far becomes one for every element.
        loop {
            let (count, stride) = match types.kind(ty) {
                TypeKind::Scalar(_) => break,
                TypeKind::Array { len, .. } => (*len, types.stride(types.element_type(ty, 0)?)),
                TypeKind::Vector { dim, elem } => (u32::from(*dim), elem.size() as u64),
                TypeKind::Matrix { dim } => {
                    (u32::from(*dim), types.size(types.element_type(ty, 0)?))
                }
                _ => return None,
            };
            if offsets.len() as u64 * u64::from(count) > 1 << 20 {
                return None;
            }
            let base = std::mem::take(&mut offsets);
            for start in base {
                offsets.extend((0..count as usize).map(|i| start + i * stride as usize));
            }
            if count == 0 {
                break;
            }
            ty = types.element_type(ty, 0)?;
        }
        Some(Scalars { scalar, offsets })
    }

    /// The array element type that holds the scalar, and whether raw `uint8` is taken as well.
    pub fn element(&self) -> Option<Element> {
        element_of(self.scalar)
    }
}

fn leaf(types: &TypeTable, mut ty: TypeId) -> Option<Scalar> {
    loop {
        match types.kind(ty) {
            TypeKind::Scalar(scalar) => return Some(*scalar),
            TypeKind::Vector { elem, .. } => return Some(*elem),
            TypeKind::Matrix { .. } => return Some(Scalar::F32),
            TypeKind::Array { elem, .. } => ty = *elem,
            _ => return None,
        }
    }
}

/// The array element type of a scalar.
pub fn element_of(scalar: Scalar) -> Option<Element> {
    Some(match scalar {
        Scalar::Bool => Element::Bool,
        Scalar::I8 => Element::I8,
        Scalar::U8 => Element::U8,
        Scalar::I16 => Element::I16,
        Scalar::U16 => Element::U16,
        Scalar::I32 => Element::I32,
        Scalar::U32 => Element::U32,
        Scalar::I64 => Element::I64,
        Scalar::U64 => Element::U64,
        Scalar::F16 => Element::F16,
        Scalar::F32 => Element::F32,
        Scalar::F64 => Element::F64,
        Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I4 | Scalar::F4E2M1 => return None,
    })
}

/// The little-endian bytes of the scalar that `text` writes: decimal or `0x` integers (a negative one wraps to an unsigned type
/// only if it is in range of the signed type of that width), floats, `true` and `false`.
pub fn parse_scalar(scalar: Scalar, text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if scalar == Scalar::Bool {
        return match text {
            "true" | "True" | "1" => Some(vec![1]),
            "false" | "False" | "0" => Some(vec![0]),
            _ => None,
        };
    }
    match scalar {
        Scalar::F32 => return text.parse::<f32>().ok().map(|v| v.to_le_bytes().to_vec()),
        Scalar::F64 => return text.parse::<f64>().ok().map(|v| v.to_le_bytes().to_vec()),
        Scalar::F16 => {
            let value = text.parse::<f64>().ok()?;
            return Some(scalar::f64_to_f16(value).to_le_bytes().to_vec());
        }
        _ => {}
    }
    let value = parse_integer(text)?;
    let bits = scalar.size() * 8;
    let (low, high) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
    let high = if scalar.is_signed() && !text.contains('x') { high >> 1 } else { high };
    (low..=high).contains(&value).then(|| value.to_le_bytes()[..scalar.size() as usize].to_vec())
}

fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// The scalar as text that [`parse_scalar`] reads back.
pub fn format_scalar(element: Element, bytes: &[u8]) -> String {
    macro_rules! number {
        ($ty:ty) => {
            <$ty>::from_le_bytes(bytes.try_into().unwrap_or_default()).to_string()
        };
    }
    match element {
        Element::Bool => (bytes.first() != Some(&0)).to_string(),
        Element::I8 => number!(i8),
        Element::U8 => number!(u8),
        Element::I16 => number!(i16),
        Element::U16 => number!(u16),
        Element::I32 => number!(i32),
        Element::U32 => number!(u32),
        Element::I64 => number!(i64),
        Element::U64 => number!(u64),
        Element::F16 => number!(half::f16),
        Element::F32 => number!(f32),
        Element::F64 => number!(f64),
    }
}

#[cfg(test)]
mod tests {
    use super::{Scalars, parse_scalar};
    use luisac_ast::types::{Scalar, TypeId, TypeTable};

    #[test]
    fn offsets_leave_padding_out() {
        let mut types = TypeTable::new();
        let float3 = TypeId::vector(Scalar::F32, 3);
        let pair = types.array(float3, 2).expect("a small array");
        let scalars = Scalars::of(&types, pair).expect("no structure inside");
        assert_eq!(scalars.offsets, [0, 4, 8, 16, 20, 24]);
        let matrix = Scalars::of(&types, TypeId::matrix(3)).expect("a matrix");
        assert_eq!(matrix.offsets, [0, 4, 8, 16, 20, 24, 32, 36, 40]);
        let flag = types.structure(4, [TypeId::BOOL]).expect("a structure");
        assert_eq!(Scalars::of(&types, flag), None);
    }

    #[test]
    fn scalars_keep_their_range() {
        assert_eq!(parse_scalar(Scalar::U8, "255"), Some(vec![255]));
        assert_eq!(parse_scalar(Scalar::U8, "256"), None);
        assert_eq!(parse_scalar(Scalar::I8, "128"), None);
        assert_eq!(parse_scalar(Scalar::I8, "-128"), Some(vec![128]));
        assert_eq!(parse_scalar(Scalar::U64, "0xffffffffffffffff"), Some(vec![255; 8]));
        assert_eq!(
            parse_scalar(Scalar::F32, "-inf"),
            Some(f32::NEG_INFINITY.to_le_bytes().to_vec())
        );
        assert_eq!(parse_scalar(Scalar::Bool, "2"), None);
    }
}

//! Scalars as elements of arrays.

use super::npy::Element;
use luisac_ast::types::Scalar;

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

/// The scalar as text that `parse_scalar` reads back.
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

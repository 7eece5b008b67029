//! Values of uniform arguments as text, and how their scalars lie in memory.

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::math::scalar;
use luisac_xir::{FunctionId, Module};

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

/// The memory form of a value: its scalars in order, separated by commas; the bytes of a structure.
///
/// # Errors
/// What is wrong with the text.
pub fn parse(types: &TypeTable, ty: TypeId, text: &str) -> Result<Vec<u8>, String> {
    let size = types.size(ty) as usize;
    let parts: Vec<&str> = text.split(',').collect();
    let bad = |part: &str, what: &str| format!("`{part}` is no {what}");
    let Some(scalars) = Scalars::of(types, ty) else {
        // A structure: its bytes.
        let bytes: Option<Vec<u8>> =
            parts.iter().map(|p| parse_scalar(Scalar::U8, p).map(|b| b[0])).collect();
        return bytes.filter(|b| b.len() == size).ok_or_else(|| {
            format!("a value of type `{}` is given as its {size} bytes", types.description(ty))
        });
    };
    if parts.len() != scalars.offsets.len() {
        return Err(format!(
            "{} number{} given, but `{}` takes {}",
            parts.len(),
            if parts.len() == 1 { " is" } else { "s are" },
            types.description(ty),
            scalars.offsets.len()
        ));
    }
    let mut memory = vec![0; size];
    for (part, &offset) in parts.iter().zip(&scalars.offsets) {
        let name = types.description(TypeId::scalar(scalars.scalar));
        let bytes = parse_scalar(scalars.scalar, part).ok_or_else(|| bad(part, &name))?;
        memory[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(memory)
}

/// The memory form of the value that an argument is to be made constant with.
///
/// # Errors
/// What is wrong with the text; an argument that is a resource.
pub fn parse_define(
    module: &Module,
    kernel: FunctionId,
    index: usize,
    text: &str,
) -> Result<Vec<u8>, String> {
    let ty = module.functions[kernel].arguments[index].ty;
    if module.types.is_resource(ty) {
        return Err("only uniform arguments can be made constant".into());
    }
    parse(&module.types, ty, text)
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

//! Arrays in NumPy's `.npy` form, held as little-endian bytes.

use half::f16;
use luisac_ast::types::Scalar;
use npyz::{DType, NpyFile, Order, TypeChar, WriterBuilder};
use std::io;

/// Element type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Element {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Element::Bool | Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// The scalar type.
    pub fn scalar(self) -> Scalar {
        match self {
            Element::Bool => Scalar::Bool,
            Element::I8 => Scalar::I8,
            Element::U8 => Scalar::U8,
            Element::I16 => Scalar::I16,
            Element::U16 => Scalar::U16,
            Element::I32 => Scalar::I32,
            Element::U32 => Scalar::U32,
            Element::I64 => Scalar::I64,
            Element::U64 => Scalar::U64,
            Element::F16 => Scalar::F16,
            Element::F32 => Scalar::F32,
            Element::F64 => Scalar::F64,
        }
    }

    /// NumPy's name.
    pub fn name(self) -> &'static str {
        match self {
            Element::Bool => "bool",
            Element::I8 => "int8",
            Element::U8 => "uint8",
            Element::I16 => "int16",
            Element::U16 => "uint16",
            Element::I32 => "int32",
            Element::U32 => "uint32",
            Element::I64 => "int64",
            Element::U64 => "uint64",
            Element::F16 => "float16",
            Element::F32 => "float32",
            Element::F64 => "float64",
        }
    }
}

/// An array in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<u64>,
    pub element: Element,
    /// The elements, little-endian.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element.size()
    }

    /// Reads a whole file. Fails on other element types, Fortran order of two axes or more, and files that are cut short.
    pub fn read(file: &[u8]) -> io::Result<Array> {
        let npy = NpyFile::new(file)?;
        let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let shape = npy.shape().to_vec();
        if npy.order() == Order::Fortran && shape.iter().filter(|&&n| n > 1).count() > 1 {
            return Err(bad("the array is in Fortran order; save it in C order".into()));
        }
        let DType::Plain(kind) = npy.dtype() else {
            return Err(bad("structured arrays are not read".into()));
        };
        let element = match (kind.type_char(), kind.size_field()) {
            (TypeChar::Bool, 1) => Element::Bool,
            (TypeChar::Int, 1) => Element::I8,
            (TypeChar::Uint, 1) => Element::U8,
            (TypeChar::Int, 2) => Element::I16,
            (TypeChar::Uint, 2) => Element::U16,
            (TypeChar::Int, 4) => Element::I32,
            (TypeChar::Uint, 4) => Element::U32,
            (TypeChar::Int, 8) => Element::I64,
            (TypeChar::Uint, 8) => Element::U64,
            (TypeChar::Float, 2) => Element::F16,
            (TypeChar::Float, 4) => Element::F32,
            (TypeChar::Float, 8) => Element::F64,
            _ => return Err(bad(format!("arrays of `{kind}` are not read"))),
        };
        let count = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        let needed = count.and_then(|n| n.checked_mul(element.size() as u64));
        if needed.is_none_or(|n| n > file.len() as u64) {
            return Err(bad("the file is shorter than its shape says".into()));
        }
        Ok(Array { bytes: read_elements(npy, element)?, shape, element })
    }

    /// The whole file.
    pub fn write(&self) -> io::Result<Vec<u8>> {
        macro_rules! write {
            ($($element:ident $ty:ty;)*) => {
                match self.element {
                    Element::Bool => write_elements(&self.shape, self.bytes.iter().map(|&b| b != 0)),
                    $(Element::$element => write_elements(&self.shape, self.bytes
                        .chunks_exact(size_of::<$ty>())
                        .map(|c| <$ty>::from_le_bytes(c.try_into().unwrap_or_default()))),)*
                }
            };
        }
        write! { I8 i8; U8 u8; I16 i16; U16 u16; I32 i32; U32 u32; I64 i64; U64 u64; F16 f16; F32 f32; F64 f64; }
    }
}

fn read_elements(npy: NpyFile<&[u8]>, element: Element) -> io::Result<Vec<u8>> {
    macro_rules! read {
        ($($element:ident $ty:ty;)*) => {
            match element {
                Element::Bool => npy.data::<bool>().map_err(io::Error::other)?.map(|v| v.map(u8::from)).collect(),
                $(Element::$element => {
                    let mut bytes = Vec::new();
                    for value in npy.data::<$ty>().map_err(io::Error::other)? {
                        bytes.extend_from_slice(&value?.to_le_bytes());
                    }
                    Ok(bytes)
                })*
            }
        };
    }
    read! { I8 i8; U8 u8; I16 i16; U16 u16; I32 i32; U32 u32; I64 i64; U64 u64; F16 f16; F32 f32; F64 f64; }
}

fn write_elements<T: npyz::AutoSerialize>(
    shape: &[u64],
    elements: impl Iterator<Item = T>,
) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut writer =
        npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut file).begin_nd()?;
    writer.extend(elements)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{Array, Element};

    #[test]
    fn round_trips_every_element_type() {
        use Element::*;
        for element in [Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, F32, F64] {
            let bytes: Vec<u8> = (0..6 * element.size()).map(|i| (i % 2) as u8).collect();
            let array = Array { shape: vec![2, 3], element, bytes };
            let file = array.write().expect("writes to memory");
            assert_eq!(Array::read(&file).expect("reads what it wrote"), array);
        }
    }

    #[test]
    fn refuses_a_shape_beyond_the_file() {
        let array = Array { shape: vec![4], element: Element::F32, bytes: vec![0; 16] };
        let file = array.write().expect("writes to memory");
        assert!(Array::read(&file[..file.len() - 1]).is_err());
        let text = String::from_utf8_lossy(&file).replace("(4,)", "(9999999999999,)");
        assert!(Array::read(text.as_bytes()).is_err());
    }
}

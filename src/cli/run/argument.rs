//! `--arg` and `--out`: what the user writes becomes bytes for a kernel, and back.

use super::bindless::{self, SlotData};
use super::element::{element_of, format_scalar};
use super::image::{image_from_array, image_to_array, parse_image};
use super::npy::{Array, Element};
use super::picture;
use luisac::driver::value::{self, Scalars};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::math::scalar;
use std::path::Path;

pub use super::image::{ImageData, texel_scalar};

/// What a kernel takes at one position.
#[derive(Clone, Debug, PartialEq)]
pub struct Formal {
    pub name: Option<String>,
    pub ty: TypeId,
}

/// What it is given. Both devices take it so and give it back changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Actual {
    /// Memory form of a value.
    Value(Vec<u8>),
    /// Memory of a buffer, and the shape of the array that it came from.
    Buffer {
        bytes: Vec<u8>,
        shape: Option<Vec<u64>>,
    },
    Image(ImageData),
    Bindless(Vec<SlotData>),
    /// Memory of an indirect dispatch buffer: a count in the first 16 bytes, then 32 bytes a dispatch.
    Indirect(Vec<u8>),
}

/// Memory that one argument may take: a limit on generated ones, so that a slip of the hand is an error and no swap storm.
pub(super) const MAX_BYTES: u64 = 1 << 36;

/// Reads an actual argument from the text after `ARG=`.
pub fn parse(types: &TypeTable, formal: &Formal, text: &str) -> Result<Actual, String> {
    match types.kind(formal.ty) {
        TypeKind::Buffer { elem, .. } => parse_buffer(types, *elem, text),
        TypeKind::Texture { dim, elem, .. } => parse_image(*dim, *elem, text).map(Actual::Image),
        TypeKind::BindlessArray => bindless::parse(types, text).map(Actual::Bindless),
        TypeKind::Custom(name) if &**name == "LC_IndirectDispatchBuffer" => {
            parse_indirect(text).map(Actual::Indirect)
        }
        TypeKind::Accel | TypeKind::Custom(_) => Err(format!(
            "an argument of type `{}` cannot be given on the command line",
            types.description(formal.ty)
        )),
        _ => parse_value(types, formal.ty, text).map(Actual::Value),
    }
}

fn read_file(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("cannot read `{path}`: {e}"))
}

pub(super) fn read_npy(path: &str) -> Result<Array, String> {
    Array::read(&read_file(path)?).map_err(|e| format!("`{path}`: {e}"))
}

pub(super) fn extension(text: &str) -> Option<String> {
    Some(Path::new(text).extension()?.to_str()?.to_ascii_lowercase())
}

/// The argument that an array holds: elements of a buffer, texels of an image, or one value.
pub fn from_array(types: &TypeTable, formal: &Formal, array: Array) -> Result<Actual, String> {
    match types.kind(formal.ty) {
        TypeKind::Buffer { elem, .. } => {
            let elem = if *elem == TypeId::VOID { TypeId::scalar(Scalar::U8) } else { *elem };
            let bytes = elements_to_memory(types, elem, &array, None)?;
            Ok(Actual::Buffer { bytes, shape: Some(array.shape) })
        }
        TypeKind::Texture { dim, elem, .. } => {
            image_from_array(*dim, *elem, &array, None).map(Actual::Image)
        }
        _ => elements_to_memory(types, formal.ty, &array, Some(1)).map(Actual::Value),
    }
}

// ---- values

fn parse_value(types: &TypeTable, ty: TypeId, text: &str) -> Result<Vec<u8>, String> {
    if extension(text).as_deref() == Some("npy") {
        return elements_to_memory(types, ty, &read_npy(text)?, Some(1))
            .map_err(|e| format!("`{text}`: {e}"));
    }
    value::parse(types, ty, text)
}

// ---- buffers

pub(super) fn parse_buffer(types: &TypeTable, elem: TypeId, text: &str) -> Result<Actual, String> {
    let (elem, size) = if elem == TypeId::VOID {
        (TypeId::scalar(Scalar::U8), 1)
    } else {
        (elem, types.size(elem))
    };
    if let Some((kind, count, seed)) = parse_generated(text)? {
        let count: u64 =
            count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
        let total = count.checked_mul(size).filter(|&n| n <= MAX_BYTES);
        let total = total.ok_or_else(|| format!("`{text}` asks for too much memory"))? as usize;
        let bytes = generate(types, elem, kind, total, seed)?;
        return Ok(Actual::Buffer { bytes, shape: None });
    }
    match extension(text).as_deref() {
        Some("npy") => {
            let array = read_npy(text)?;
            let bytes = elements_to_memory(types, elem, &array, None)
                .map_err(|e| format!("`{text}`: {e}"))?;
            Ok(Actual::Buffer { bytes, shape: Some(array.shape) })
        }
        Some("png" | "exr") => {
            let array = read_picture(text)?;
            let bytes = elements_to_memory(types, elem, &array, None)
                .map_err(|e| format!("`{text}`: {e}"))?;
            Ok(Actual::Buffer { bytes, shape: Some(array.shape) })
        }
        _ => Err(format!(
            "`{text}` is no buffer: give a `.npy`, `.png` or `.exr` file, `zeros:N`, `iota:N` or `random:N:SEED`"
        )),
    }
}

pub(super) fn read_picture(path: &str) -> Result<Array, String> {
    let file = read_file(path)?;
    let array = if extension(path).as_deref() == Some("png") {
        picture::read_png(&file)
    } else {
        picture::read_exr(&file)
    };
    array.map_err(|e| format!("`{path}`: {e}"))
}

/// Spreads the scalars of an array over elements in memory. `count` is the number of elements there must be.
fn elements_to_memory(
    types: &TypeTable,
    elem: TypeId,
    array: &Array,
    count: Option<usize>,
) -> Result<Vec<u8>, String> {
    let size = types.size(elem) as usize;
    let check = |n: usize| match count {
        Some(c) if c != n => Err(format!("holds {n} elements, but {c} are needed")),
        _ => Ok(()),
    };
    let scalars = Scalars::of(types, elem).filter(|s| element_of(s.scalar).is_some());
    let description = types.description(elem);
    let Some(scalars) = scalars else {
        if array.element != Element::U8 || size == 0 || !array.bytes.len().is_multiple_of(size) {
            return Err(format!(
                "elements of type `{description}` come as raw bytes: uint8, a multiple of {size}"
            ));
        }
        check(array.bytes.len() / size)?;
        return Ok(array.bytes.clone());
    };
    let wanted = element_of(scalars.scalar).unwrap_or(Element::U8);
    let is_bool = wanted == Element::Bool && array.element == Element::U8;
    if array.element != wanted && !is_bool {
        return Err(format!(
            "holds {}, but `{description}` takes {}",
            array.element.name(),
            wanted.name()
        ));
    }
    let each = scalars.offsets.len();
    if each == 0 || !array.len().is_multiple_of(each) {
        return Err(format!(
            "holds {} numbers, not a multiple of {each} as `{description}` needs",
            array.len()
        ));
    }
    check(array.len() / each)?;
    let width = wanted.size();
    let mut memory = vec![0; array.len() / each * size];
    for (element, source) in
        memory.chunks_exact_mut(size).zip(array.bytes.chunks_exact(each * width))
    {
        for (scalar, &offset) in source.chunks_exact(width).zip(&scalars.offsets) {
            element[offset..offset + width].copy_from_slice(scalar);
        }
    }
    Ok(memory)
}

/// The reverse of [`elements_to_memory`]. The shape is the input's where that still fits.
pub(super) fn memory_to_elements(
    types: &TypeTable,
    elem: TypeId,
    memory: &[u8],
    shape: Option<&[u64]>,
) -> Array {
    let size = (types.size(elem) as usize).max(1);
    let scalars = Scalars::of(types, elem).and_then(|s| Some((element_of(s.scalar)?, s.offsets)));
    let (element, bytes, each) = match scalars {
        None => (Element::U8, memory.to_vec(), size),
        Some((element, offsets)) => {
            let width = element.size();
            let mut bytes = Vec::with_capacity(memory.len());
            for chunk in memory.chunks_exact(size) {
                for &offset in &offsets {
                    bytes.extend_from_slice(&chunk[offset..offset + width]);
                }
            }
            if element == Element::Bool {
                bytes.iter_mut().for_each(|b| *b = u8::from(*b != 0));
            }
            (element, bytes, offsets.len())
        }
    };
    let total = (bytes.len() / element.size()) as u64;
    let fits = shape.filter(|s| s.iter().product::<u64>() == total);
    let shape = match fits {
        Some(shape) => shape.to_vec(),
        None if each == 1 => vec![total],
        None => vec![total / each.max(1) as u64, each as u64],
    };
    Array { shape, element, bytes }
}

// ---- indirect dispatch buffers

/// Bytes of the count, and of a dispatch.
const DISPATCH_HEADER: u64 = 16;
const DISPATCH_RECORD: u64 = 32;

/// `zeros:N`: room for N dispatches; or the words of a `.npy` file.
fn parse_indirect(text: &str) -> Result<Vec<u8>, String> {
    let bad =
        || format!("`{text}` is no indirect dispatch buffer: `zeros:N` or a `.npy` file of uint32");
    if extension(text).as_deref() == Some("npy") {
        let array = read_npy(text)?;
        let bytes = array.bytes.len() as u64;
        let whole = bytes.checked_sub(DISPATCH_HEADER).is_some_and(|n| n % DISPATCH_RECORD == 0);
        return if whole && array.element == Element::U32 { Ok(array.bytes) } else { Err(bad()) };
    }
    let Some((Generated::Zeros, count, _)) = parse_generated(text)? else { return Err(bad()) };
    let count: u64 = count.parse().map_err(|_| bad())?;
    let bytes = count.checked_mul(DISPATCH_RECORD).map(|n| n + DISPATCH_HEADER);
    let bytes = bytes.filter(|&n| n <= MAX_BYTES);
    Ok(vec![0; bytes.ok_or_else(|| format!("`{text}` asks for too much memory"))? as usize])
}

// ---- generated data

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Generated {
    Zeros,
    Iota,
    Random,
}

/// Splits `zeros:SIZE`, `iota:SIZE` and `random:SIZE:SEED`; the seed is 0 if it is left out.
pub(super) fn parse_generated(text: &str) -> Result<Option<(Generated, &str, u64)>, String> {
    let mut parts = text.split(':');
    let kind = match parts.next() {
        Some("zeros") => Generated::Zeros,
        Some("iota") => Generated::Iota,
        Some("random") => Generated::Random,
        _ => return Ok(None),
    };
    let size = parts.next().ok_or_else(|| format!("`{text}` lacks a size: `zeros:N`"))?;
    let seed = match parts.next() {
        Some(seed) => seed.parse().map_err(|_| format!("`{seed}` is no seed"))?,
        None => 0,
    };
    if parts.next().is_some() {
        return Err(format!("`{text}` has too many parts"));
    }
    Ok(Some((kind, size, seed)))
}

/// Fills `total` bytes of elements: zeros, the position of each scalar, or random scalars (floats from 0 to 1, bools, all integers).
pub(super) fn generate(
    types: &TypeTable,
    elem: TypeId,
    kind: Generated,
    total: usize,
    seed: u64,
) -> Result<Vec<u8>, String> {
    let mut memory = vec![0u8; total];
    if kind == Generated::Zeros {
        return Ok(memory);
    }
    let scalars = Scalars::of(types, elem).unwrap_or(Scalars {
        scalar: Scalar::U8,
        offsets: (0..types.size(elem) as usize).collect(),
    });
    let mut random = SplitMix(seed);
    let width = scalars.scalar.size() as usize;
    let mut position = 0u64;
    let size = types.size(elem) as usize;
    for element in memory.chunks_exact_mut(size.max(1)) {
        for &offset in &scalars.offsets {
            let bits = match kind {
                Generated::Iota => iota(scalars.scalar, position),
                _ => random_scalar(scalars.scalar, random.next()),
            };
            element[offset..offset + width].copy_from_slice(&bits.to_le_bytes()[..width]);
            position += 1;
        }
    }
    Ok(memory)
}

fn iota(scalar: Scalar, position: u64) -> u64 {
    match scalar {
        Scalar::Bool => position & 1,
        Scalar::F16 => scalar::f64_to_f16(position as f64).into(),
        Scalar::F32 => (position as f32).to_bits().into(),
        Scalar::F64 => (position as f64).to_bits(),
        _ => position,
    }
}

fn random_scalar(scalar: Scalar, bits: u64) -> u64 {
    let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
    match scalar {
        Scalar::Bool => bits & 1,
        Scalar::F16 => scalar::f64_to_f16(unit).into(),
        Scalar::F32 => (((bits >> 40) as f32) / (1u32 << 24) as f32).to_bits().into(),
        Scalar::F64 => unit.to_bits(),
        _ => bits,
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same on every machine.
pub struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

// ---- out

/// The array that an argument holds after the run.
pub fn to_array(types: &TypeTable, formal: &Formal, actual: &Actual) -> Array {
    match (actual, types.kind(formal.ty)) {
        (Actual::Image(image), TypeKind::Texture { dim, elem, .. }) => {
            image_to_array(*dim, *elem, image, 0)
        }
        (Actual::Buffer { bytes, shape }, TypeKind::Buffer { elem, .. }) => {
            let elem = if *elem == TypeId::VOID { TypeId::scalar(Scalar::U8) } else { *elem };
            memory_to_elements(types, elem, bytes, shape.as_deref())
        }
        (Actual::Value(bytes), _) => memory_to_elements(types, formal.ty, bytes, None),
        (Actual::Buffer { bytes, .. }, _) => {
            memory_to_elements(types, TypeId::scalar(Scalar::U8), bytes, None)
        }
        (Actual::Image(image), _) => image_to_array(2, Scalar::F32, image, 0),
        (Actual::Indirect(bytes), _) => {
            memory_to_elements(types, TypeId::scalar(Scalar::U32), bytes, None)
        }
        // Its slots are asked for one by one.
        (Actual::Bindless(slots), _) => {
            let count = (slots.len() as u64).to_le_bytes();
            memory_to_elements(types, TypeId::scalar(Scalar::U64), &count, None)
        }
    }
}

/// The file that `path` asks for by its ending, or text for `-`. A buffer becomes a picture if it holds one element a thread of
/// the dispatch.
pub fn encode(array: Array, path: &str, dispatch: [u32; 3]) -> Result<Vec<u8>, String> {
    match extension(path).as_deref() {
        _ if path == "-" => Ok(as_text(&array).into_bytes()),
        Some("npy") => array.write().map_err(|e| e.to_string()),
        Some("png") => picture::write_png(&as_picture(array, dispatch)),
        Some("exr") => picture::write_exr(&as_picture(array, dispatch)),
        _ => Err(format!("`{path}` does not end in .npy, .png or .exr, and is not `-`")),
    }
}

fn as_picture(mut array: Array, [x, y, _]: [u32; 3]) -> Array {
    let pixels = u64::from(x) * u64::from(y);
    let total = array.len() as u64;
    let is_picture = array.shape.len() == 3 || (array.shape.len() == 2 && array.shape[1] > 4);
    if !is_picture && pixels != 0 && total.is_multiple_of(pixels) && total / pixels <= 4 {
        array.shape = vec![y.into(), x.into(), total / pixels];
    }
    array
}

/// One line a row of the last axis.
fn as_text(array: &Array) -> String {
    let row = match array.shape.as_slice() {
        [] | [_] => 1,
        [.., last] => (*last as usize).max(1),
    };
    let size = array.element.size();
    let mut text = String::new();
    for line in array.bytes.chunks(row * size) {
        let numbers: Vec<String> =
            line.chunks_exact(size).map(|c| format_scalar(array.element, c)).collect();
        text.push_str(&numbers.join(" "));
        text.push('\n');
    }
    text
}

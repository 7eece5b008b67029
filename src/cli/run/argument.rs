//! `--arg` and `--out`: what the user writes becomes bytes for a kernel, and back.

use super::element::{element_of, format_scalar};
use super::npy::{Array, Element};
use super::picture;
use luisac::driver::value::{self, Scalars};
use luisac_artifact::{PixelStorage, TexelKind};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::math::scalar;
use std::path::Path;

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
}

/// Texels without padding, x fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageData {
    pub storage: PixelStorage,
    /// Width, height, depth (1 for a 2-D image).
    pub size: [u32; 3],
    pub bytes: Vec<u8>,
}

/// Memory that one argument may take: a limit on generated ones, so that a slip of the hand is an error and no swap storm.
const MAX_BYTES: u64 = 1 << 36;

/// Reads an actual argument from the text after `ARG=`.
pub fn parse(types: &TypeTable, formal: &Formal, text: &str) -> Result<Actual, String> {
    match types.kind(formal.ty) {
        TypeKind::Buffer { elem, .. } => parse_buffer(types, *elem, text),
        TypeKind::Texture { dim, elem, .. } => parse_image(*dim, *elem, text).map(Actual::Image),
        TypeKind::BindlessArray | TypeKind::Accel | TypeKind::Custom(_) => Err(format!(
            "an argument of type `{}` cannot be given on the command line",
            types.description(formal.ty)
        )),
        _ => parse_value(types, formal.ty, text).map(Actual::Value),
    }
}

fn read_file(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("cannot read `{path}`: {e}"))
}

fn read_npy(path: &str) -> Result<Array, String> {
    Array::read(&read_file(path)?).map_err(|e| format!("`{path}`: {e}"))
}

fn extension(text: &str) -> Option<String> {
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

fn parse_buffer(types: &TypeTable, elem: TypeId, text: &str) -> Result<Actual, String> {
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

fn read_picture(path: &str) -> Result<Array, String> {
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
fn memory_to_elements(
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

// ---- generated data

#[derive(Clone, Copy, PartialEq)]
enum Generated {
    Zeros,
    Iota,
    Random,
}

/// Splits `zeros:SIZE`, `iota:SIZE` and `random:SIZE:SEED`; the seed is 0 if it is left out.
fn parse_generated(text: &str) -> Result<Option<(Generated, &str, u64)>, String> {
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
fn generate(
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

// ---- images

fn parse_image(dim: u8, elem: Scalar, text: &str) -> Result<ImageData, String> {
    let (text, storage) = split_storage(text);
    if let Some((kind, size, seed)) = parse_generated(text)? {
        return generate_image(dim, elem, (kind, size, seed), storage, text);
    }
    let array = match extension(text).as_deref() {
        Some("npy") => read_npy(text)?,
        Some("png" | "exr") => read_picture(text)?,
        _ => {
            return Err(format!(
                "`{text}` is no image: give a `.npy`, `.png` or `.exr` file, `zeros:WxH[xD]`, `iota:…` or `random:…`"
            ));
        }
    };
    image_from_array(dim, elem, &array, storage).map_err(|e| format!("`{text}`: {e}"))
}

/// Takes a storage name off the end: `zeros:64x64:half4`.
fn split_storage(text: &str) -> (&str, Option<PixelStorage>) {
    if let Some((head, tail)) = text.rsplit_once(':')
        && let Some(storage) = PixelStorage::from_name(tail)
    {
        return (head, Some(storage));
    }
    (text, None)
}

fn parse_image_size(dim: u8, size: &str) -> Result<[u32; 3], String> {
    let bad = || {
        format!(
            "`{size}` is no size of a {dim}-D image: `{}`",
            if dim == 2 { "WxH" } else { "WxHxD" }
        )
    };
    let numbers: Option<Vec<u32>> = size.split('x').map(|n| n.parse().ok()).collect();
    match numbers.ok_or_else(bad)?.as_slice() {
        [w, h] if dim == 2 => Ok([*w, *h, 1]),
        [w, h, d] if dim == 3 => Ok([*w, *h, *d]),
        _ => Err(bad()),
    }
}

pub fn texel_scalar(storage: PixelStorage) -> Option<Scalar> {
    match storage.kind() {
        TexelKind::Int { bits: 8 } => Some(Scalar::U8),
        TexelKind::Int { bits: 16 } => Some(Scalar::U16),
        TexelKind::Int { .. } => Some(Scalar::U32),
        TexelKind::Float { bits: 16 } => Some(Scalar::F16),
        TexelKind::Float { .. } => Some(Scalar::F32),
        _ => None,
    }
}

fn generate_image(
    dim: u8,
    elem: Scalar,
    (kind, size, seed): (Generated, &str, u64),
    storage: Option<PixelStorage>,
    text: &str,
) -> Result<ImageData, String> {
    let size = parse_image_size(dim, size)?;
    let default = if elem == Scalar::F32 { PixelStorage::Float4 } else { PixelStorage::Int4 };
    let storage = check_storage(storage.unwrap_or(default), elem)?;
    let texels = size.iter().try_fold(1u64, |n, &s| n.checked_mul(s.into()));
    let total =
        texels.and_then(|n| n.checked_mul(storage.bytes().into())).filter(|&n| n <= MAX_BYTES);
    let total = total.ok_or_else(|| format!("`{text}` asks for too much memory"))? as usize;
    let scalar = texel_scalar(storage).unwrap_or(Scalar::U32);
    let bytes = generate(&TypeTable::new(), TypeId::scalar(scalar), kind, total, seed)?;
    Ok(ImageData { storage, size, bytes })
}

fn check_storage(storage: PixelStorage, elem: Scalar) -> Result<PixelStorage, String> {
    let name = if elem == Scalar::F32 { "float" } else { "int" };
    if storage.is_storage() && storage.holds(name) {
        return Ok(storage);
    }
    Err(format!("storage `{}` does not fit an image of `{name}`", storage.name()))
}

fn image_from_array(
    dim: u8,
    elem: Scalar,
    array: &Array,
    storage: Option<PixelStorage>,
) -> Result<ImageData, String> {
    let shape = &array.shape;
    let (size, channels) = match (dim, shape.as_slice()) {
        (2, &[h, w]) => ([w, h, 1], 1),
        (2, &[h, w, c]) => ([w, h, 1], c),
        (3, &[d, h, w]) => ([w, h, d], 1),
        (3, &[d, h, w, c]) => ([w, h, d], c),
        _ => {
            return Err(format!(
                "an array of shape {shape:?} is no {dim}-D image: (H, W, C) or (D, H, W, C)"
            ));
        }
    };
    let size = size.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let natural = natural_storage(array.element, channels).ok_or_else(|| {
        format!("{channels} channels of {} are no pixel storage", array.element.name())
    })?;
    let storage = check_storage(storage.unwrap_or(natural), elem)?;
    if storage != natural && storage.bytes() != natural.bytes() {
        return Err(format!(
            "{channels} channels of {} are not `{}`",
            array.element.name(),
            storage.name()
        ));
    }
    Ok(ImageData { storage, size, bytes: array.bytes.clone() })
}

fn natural_storage(element: Element, channels: u64) -> Option<PixelStorage> {
    let kind = match element {
        Element::Bool | Element::U8 | Element::I8 => "byte",
        Element::U16 | Element::I16 => "short",
        Element::U32 | Element::I32 => "int",
        Element::F16 => "half",
        Element::F32 => "float",
        _ => return None,
    };
    PixelStorage::from_name(&format!("{kind}{channels}"))
}

fn image_to_array(dim: u8, elem: Scalar, image: &ImageData) -> Array {
    let element = match (texel_scalar(image.storage), elem) {
        (Some(Scalar::U8), Scalar::I32) => Element::I8,
        (Some(Scalar::U16), Scalar::I32) => Element::I16,
        (Some(Scalar::U32) | None, Scalar::I32) => Element::I32,
        (Some(Scalar::U8), _) => Element::U8,
        (Some(Scalar::U16), _) => Element::U16,
        (Some(Scalar::F16), _) => Element::F16,
        (Some(Scalar::F32), _) => Element::F32,
        _ => Element::U32,
    };
    let channels = u64::from(image.storage.bytes()) / element.size() as u64;
    let [w, h, d] = image.size.map(u64::from);
    let shape = if dim == 2 { vec![h, w, channels] } else { vec![d, h, w, channels] };
    Array { shape, element, bytes: image.bytes.clone() }
}

// ---- out

/// The array that an argument holds after the run.
pub fn to_array(types: &TypeTable, formal: &Formal, actual: &Actual) -> Array {
    match (actual, types.kind(formal.ty)) {
        (Actual::Image(image), TypeKind::Texture { dim, elem, .. }) => {
            image_to_array(*dim, *elem, image)
        }
        (Actual::Buffer { bytes, shape }, TypeKind::Buffer { elem, .. }) => {
            let elem = if *elem == TypeId::VOID { TypeId::scalar(Scalar::U8) } else { *elem };
            memory_to_elements(types, elem, bytes, shape.as_deref())
        }
        (Actual::Value(bytes), _) => memory_to_elements(types, formal.ty, bytes, None),
        (Actual::Buffer { bytes, .. }, _) => {
            memory_to_elements(types, TypeId::scalar(Scalar::U8), bytes, None)
        }
        (Actual::Image(image), _) => image_to_array(2, Scalar::F32, image),
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

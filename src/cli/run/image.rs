//! Images on the command line: from files and generated ones to texels, and back.

use super::argument::{
    Generated, MAX_BYTES, extension, generate, parse_generated, read_npy, read_picture,
};
use super::npy::{Array, Element};
use luisac_artifact::{PixelStorage, TexelKind};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use std::ops::Range;

/// Texels without padding, x fastest; all levels one after the other, each half as large as the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageData {
    pub storage: PixelStorage,
    /// Width, height, depth (1 for a 2-D image) of the first level.
    pub size: [u32; 3],
    pub levels: u32,
    pub bytes: Vec<u8>,
}

fn level_size(size: [u32; 3], level: u32) -> [u32; 3] {
    size.map(|n| n.checked_shr(level).unwrap_or(0).max(u32::from(n > 0)))
}

impl ImageData {
    /// Texels of a level.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        level_size(self.size, level)
    }

    /// Where the texels of a level are.
    pub fn level_bytes(&self, level: u32) -> Range<usize> {
        let bytes = |level| {
            let texels: usize = self.level_size(level).iter().map(|&n| n as usize).product();
            texels * self.storage.bytes() as usize
        };
        let start = (0..level).map(bytes).sum();
        start..start + bytes(level)
    }
}

/// Reads an image from a text: `FILE[:STORAGE]`, several files joined by `+` for its levels, or
/// `zeros:SIZE[:levels=N][:STORAGE]` and the like.
pub(super) fn parse_image(dim: u8, elem: Scalar, text: &str) -> Result<ImageData, String> {
    let (text, storage) = split_storage(text);
    let (rest, levels) = split_levels(text)?;
    if let Some((kind, size, seed)) = parse_generated(rest)? {
        return generate_image(dim, elem, (kind, size, seed), (storage, levels.unwrap_or(1)), text);
    }
    if levels.is_some() {
        return Err(format!(
            "`{text}`: the levels of an image from files are files too: `A.npy+B.npy`"
        ));
    }
    let mut files = text.split('+');
    let mut image = file_image(dim, elem, files.next().unwrap_or(text), storage)?;
    for file in files {
        let level = file_image(dim, elem, file, Some(image.storage))?;
        let wanted = image.level_size(image.levels);
        if level.size != wanted {
            let [w, h, d] = wanted;
            return Err(format!("`{file}`: level {} has {w}x{h}x{d} texels", image.levels));
        }
        image.bytes.extend(level.bytes);
        image.levels += 1;
    }
    Ok(image)
}

fn file_image(
    dim: u8,
    elem: Scalar,
    text: &str,
    storage: Option<PixelStorage>,
) -> Result<ImageData, String> {
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

/// Takes a number of levels off the end: `zeros:64x64:levels=7`.
fn split_levels(text: &str) -> Result<(&str, Option<u32>), String> {
    match text.rsplit_once(":levels=") {
        None => Ok((text, None)),
        Some((head, number)) => match number.parse() {
            Ok(levels @ 1..=32) => Ok((head, Some(levels))),
            _ => Err(format!("`{number}` is no number of levels")),
        },
    }
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

/// The scalar that a channel is stored as, where channels are not packed.
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
    (storage, levels): (Option<PixelStorage>, u32),
    text: &str,
) -> Result<ImageData, String> {
    let size = parse_image_size(dim, size)?;
    let default = if elem == Scalar::F32 { PixelStorage::Float4 } else { PixelStorage::Int4 };
    let storage = check_storage(storage.unwrap_or(default), elem)?;
    let texels = |level: u32| {
        let size = level_size(size, level);
        size.iter().try_fold(1u64, |n, &s| n.checked_mul(s.into()))
    };
    let texels = (0..levels).try_fold(0u64, |sum, level| sum.checked_add(texels(level)?));
    let total =
        texels.and_then(|n| n.checked_mul(storage.bytes().into())).filter(|&n| n <= MAX_BYTES);
    let total = total.ok_or_else(|| format!("`{text}` asks for too much memory"))? as usize;
    let scalar = texel_scalar(storage).unwrap_or(Scalar::U32);
    let bytes = generate(&TypeTable::new(), TypeId::scalar(scalar), kind, total, seed)?;
    Ok(ImageData { storage, size, levels, bytes })
}

fn check_storage(storage: PixelStorage, elem: Scalar) -> Result<PixelStorage, String> {
    let name = if elem == Scalar::F32 { "float" } else { "int" };
    if storage.is_storage() && storage.holds(name) {
        return Ok(storage);
    }
    Err(format!("storage `{}` does not fit an image of `{name}`", storage.name()))
}

/// The image of one level that an array holds.
pub fn image_from_array(
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
    Ok(ImageData { storage, size, levels: 1, bytes: array.bytes.clone() })
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

/// A level of an image as an array.
pub(super) fn image_to_array(dim: u8, elem: Scalar, image: &ImageData, level: u32) -> Array {
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
    let [w, h, d] = image.level_size(level).map(u64::from);
    let shape = if dim == 2 { vec![h, w, channels] } else { vec![d, h, w, channels] };
    let bytes = image.bytes.get(image.level_bytes(level)).unwrap_or_default().to_vec();
    Array { shape, element, bytes }
}

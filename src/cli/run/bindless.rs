//! Bindless arrays on the command line: `bindless:SLOT=buffer:FILE.npy,SLOT=image2d:linear_linear.repeat:FILE.png,..`.

use super::argument::{Actual, extension, memory_to_elements, parse_buffer, read_npy};
use super::image::{ImageData, image_to_array, parse_image};
use super::npy::Array;
use luisac_ast::types::{Scalar, TypeId, TypeTable};

/// Most slots: a slip of the hand is an error and no swap storm.
const MAX_SLOTS: usize = 1 << 20;

/// What a slot holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlotData {
    pub buffer: Option<BufferData>,
    pub image2d: Option<SlotImage>,
    pub image3d: Option<SlotImage>,
}

/// The buffer of a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferData {
    pub bytes: Vec<u8>,
    /// What the elements are, and the shape of the array that they came from.
    pub element: TypeId,
    shape: Option<Vec<u64>>,
}

impl BufferData {
    /// The buffer that an array holds, number by number.
    pub fn of_array(array: Array) -> Self {
        let element = TypeId::scalar(array.element.scalar());
        Self { bytes: array.bytes, element, shape: Some(array.shape) }
    }
}

/// An image of a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotImage {
    pub image: ImageData,
    /// `filter * 4 + address`.
    pub sampler: u32,
}

/// Reads a bindless array from the text after `ARG=`.
pub(super) fn parse(types: &TypeTable, text: &str) -> Result<Vec<SlotData>, String> {
    let Some(parts) = text.strip_prefix("bindless:") else {
        return Err(format!(
            "`{text}` is no bindless array: `bindless:SLOT=buffer:FILE.npy,SLOT=image2d:FILTER.ADDRESS:FILE.npy,..`"
        ));
    };
    let mut slots = Vec::new();
    for part in parts.split(',').filter(|part| !part.is_empty()) {
        let bad = || {
            format!(
                "`{part}` is not of the form `SLOT=buffer:..`, `SLOT=image2d:..` or `SLOT=image3d:..`"
            )
        };
        let (slot, content) = part.split_once('=').ok_or_else(bad)?;
        if slot == "slots" {
            let count = number_of_slots(content)?;
            grow(&mut slots, count);
            continue;
        }
        let number = number_of_slots(slot)?;
        if number == MAX_SLOTS {
            return Err(format!("slot {number} is too far"));
        }
        let (kind, data) = content.split_once(':').ok_or_else(bad)?;
        grow(&mut slots, number + 1);
        let slot: &mut SlotData = &mut slots[number];
        let within = |e: String| format!("slot {number}: {e}");
        match kind {
            "buffer" => slot.buffer = Some(buffer(types, data).map_err(within)?),
            "image2d" => slot.image2d = Some(image(2, data).map_err(within)?),
            "image3d" => slot.image3d = Some(image(3, data).map_err(within)?),
            _ => return Err(bad()),
        }
    }
    Ok(slots)
}

fn grow(slots: &mut Vec<SlotData>, count: usize) {
    if slots.len() < count {
        slots.resize(count, SlotData::default());
    }
}

fn number_of_slots(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&n| n <= MAX_SLOTS);
    number.ok_or_else(|| format!("`{text}` is no number of a slot"))
}

/// `[TYPE:]DATA`: elements of a scalar or vector type; without one the numbers of a `.npy` file as they are, or bytes.
fn buffer(types: &TypeTable, text: &str) -> Result<BufferData, String> {
    let (element, data) = match text.split_once(':') {
        Some((name, data)) if element_type(name).is_some() => (element_type(name), data),
        _ => (None, text),
    };
    let element = match element {
        Some(element) => element,
        None if extension(data).as_deref() == Some("npy") => {
            TypeId::scalar(read_npy(data)?.element.scalar())
        }
        None => TypeId::scalar(Scalar::U8),
    };
    match parse_buffer(types, element, data)? {
        Actual::Buffer { bytes, shape } => Ok(BufferData { bytes, element, shape }),
        _ => Err(format!("`{data}` is no buffer")),
    }
}

/// The type of a name such as `uint` or `float4`.
fn element_type(name: &str) -> Option<TypeId> {
    let (scalar, count) = match name.as_bytes().last()? {
        digit @ b'2'..=b'4' => (&name[..name.len() - 1], digit - b'0'),
        _ => (name, 1),
    };
    let scalar = Scalar::from_name(scalar)?;
    Some(if count == 1 { TypeId::scalar(scalar) } else { TypeId::vector(scalar, count) })
}

/// `[FILTER.ADDRESS:]DATA`; point and edge if nothing is said.
fn image(dim: u8, text: &str) -> Result<SlotImage, String> {
    let named = text.split_once(':').and_then(|(name, data)| Some((sampler(name)?, data)));
    let (sampler, data) = named.unwrap_or((0, text));
    Ok(SlotImage { image: parse_image(dim, Scalar::F32, data)?, sampler })
}

/// The number of a sampler's name.
fn sampler(name: &str) -> Option<u32> {
    const FILTERS: [&str; 4] = ["point", "linear_point", "linear_linear", "anisotropic"];
    const ADDRESSES: [&str; 4] = ["edge", "repeat", "mirror", "zero"];
    let (filter, address) = name.split_once('.')?;
    let place = |names: [&str; 4], name: &str| names.iter().position(|&n| n == name);
    Some((place(FILTERS, filter)? * 4 + place(ADDRESSES, address)?) as u32)
}

/// The slot and what is in it of the text behind `ARG.` in `--out ARG.SLOT[.image2d]=..`.
pub(super) fn parse_place(text: &str) -> Result<Place, String> {
    let (slot, kind) = text.split_once('.').unwrap_or((text, "buffer"));
    let slot = number_of_slots(slot)?;
    match kind {
        "buffer" => Ok(Place { slot, image: None }),
        "image2d" => Ok(Place { slot, image: Some(2) }),
        "image3d" => Ok(Place { slot, image: Some(3) }),
        _ => Err(format!("`{kind}` is not `buffer`, `image2d` or `image3d`")),
    }
}

/// A resource in a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    slot: usize,
    /// Dimensions of an image; a buffer if there is none.
    image: Option<u8>,
}

/// The array that a resource in a slot holds after the run.
pub(super) fn to_array(
    types: &TypeTable,
    slots: &[SlotData],
    place: Place,
) -> Result<Array, String> {
    let empty = || format!("slot {} holds no such resource", place.slot);
    let slot = slots.get(place.slot).ok_or_else(empty)?;
    let image = match place.image {
        None => {
            let BufferData { bytes, element, shape } = slot.buffer.as_ref().ok_or_else(empty)?;
            return Ok(memory_to_elements(types, *element, bytes, shape.as_deref()));
        }
        Some(2) => &slot.image2d,
        Some(_) => &slot.image3d,
    };
    let image = image.as_ref().ok_or_else(empty)?;
    Ok(image_to_array(place.image.unwrap_or(2), Scalar::F32, &image.image, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_read() {
        let types = TypeTable::new();
        let text = "bindless:slots=5,1=buffer:float2:iota:3,1=image2d:anisotropic.zero:zeros:4x4:levels=3:half1,\
                    3=image3d:zeros:2x2x2";
        let slots = parse(&types, text).expect("slots");
        assert_eq!(slots.len(), 5);
        assert_eq!(slots[0], SlotData::default());
        let buffer = slots[1].buffer.as_ref().expect("a buffer");
        assert_eq!(buffer.bytes.len(), 24);
        let image = slots[1].image2d.as_ref().expect("an image");
        assert_eq!((image.sampler, image.image.levels, image.image.bytes.len()), (15, 3, 42));
        assert_eq!(slots[3].image3d.as_ref().expect("an image").sampler, 0);
        let place = parse_place("1").expect("a place");
        let array = to_array(&types, &slots, place).expect("an array");
        assert_eq!(array.shape, [3, 2]);
        assert!(to_array(&types, &slots, parse_place("0").expect("a place")).is_err());
        assert!(to_array(&types, &slots, parse_place("1.image3d").expect("a place")).is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let types = TypeTable::new();
        for (text, said) in [
            ("zeros:4", "no bindless array"),
            ("bindless:0", "not of the form"),
            ("bindless:x=buffer:zeros:4", "no number of a slot"),
            ("bindless:99999999=buffer:zeros:4", "no number of a slot"),
            ("bindless:0=texture:zeros:4", "not of the form"),
            ("bindless:0=buffer:zeros", "slot 0: `zeros` lacks a size"),
            ("bindless:0=image2d:zeros:4", "slot 0: `4` is no size"),
            ("bindless:0=image2d:zeros:4x4:levels=0", "no number of levels"),
        ] {
            let error = parse(&types, text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

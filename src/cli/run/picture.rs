//! Pictures in and out: PNG with 8 or 16 bits a channel, OpenEXR with floats.

use super::npy::{Array, Element};
use exr::prelude::{ReadChannels, ReadLayers, WritableImage};
use std::io::Cursor;

/// Reads a PNG as (height, width, channels) of uint8 or uint16; palettes are expanded, three channels become four.
pub fn read_png(file: &[u8]) -> Result<Array, String> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(|e| e.to_string())?;
    let size = reader.output_buffer_size().ok_or("the picture is too large")?;
    let mut data = vec![0; size];
    let frame = reader.next_frame(&mut data).map_err(|e| e.to_string())?;
    data.truncate(frame.buffer_size());
    let channels = frame.color_type.samples() as u64;
    let element = match frame.bit_depth {
        png::BitDepth::Sixteen => Element::U16,
        _ => Element::U8,
    };
    if element == Element::U16 {
        data.chunks_exact_mut(2).for_each(|c| c.swap(0, 1));
    }
    let shape = vec![frame.height.into(), frame.width.into(), channels];
    Ok(with_alpha(Array { shape, element, bytes: data }))
}

/// Three channels become four, the fourth full.
fn with_alpha(array: Array) -> Array {
    if array.shape[2] != 3 {
        return array;
    }
    let size = array.element.size();
    let full = vec![0xff; size];
    let bytes = array.bytes.chunks_exact(3 * size).flat_map(|c| c.iter().chain(&full)).copied();
    Array { shape: vec![array.shape[0], array.shape[1], 4], bytes: bytes.collect(), ..array }
}

/// Writes (height, width, 1, 2, 3 or 4 channels) as a PNG. uint8 and uint16 go as they are, floats from 0 to 1 become 8 bits, other
/// integers are scaled so that the largest becomes white.
pub fn write_png(array: &Array) -> Result<Vec<u8>, String> {
    let (height, width, channels) = plane(array)?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    let data = match array.element {
        Element::U8 => array.bytes.clone(),
        Element::U16 => {
            encoder.set_depth(png::BitDepth::Sixteen);
            array.bytes.chunks_exact(2).flat_map(|c| [c[1], c[0]]).collect()
        }
        _ => to_bytes(array),
    };
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(&data).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(file)
}

fn to_bytes(array: &Array) -> Vec<u8> {
    let values = to_f64(array);
    let is_float = matches!(array.element, Element::F16 | Element::F32 | Element::F64);
    let scale = if is_float { 1.0 } else { values.iter().fold(1.0, |a: f64, &b| a.max(b)) };
    // `as` saturates and turns NaN into 0.
    values.iter().map(|v| (v / scale * 255.0).round() as u8).collect()
}

fn to_f64(array: &Array) -> Vec<f64> {
    macro_rules! convert {
        ($ty:ty, $convert:expr) => {
            array
                .bytes
                .chunks_exact(size_of::<$ty>())
                .map(|c| $convert(<$ty>::from_le_bytes(c.try_into().unwrap_or_default())))
                .collect()
        };
    }
    match array.element {
        Element::Bool | Element::U8 => array.bytes.iter().map(|&b| b.into()).collect(),
        Element::I8 => convert!(i8, f64::from),
        Element::I16 => convert!(i16, f64::from),
        Element::U16 => convert!(u16, f64::from),
        Element::I32 => convert!(i32, f64::from),
        Element::U32 => convert!(u32, f64::from),
        Element::I64 => convert!(i64, |v| v as f64),
        Element::U64 => convert!(u64, |v| v as f64),
        Element::F16 => convert!(half::f16, f64::from),
        Element::F32 => convert!(f32, f64::from),
        Element::F64 => convert!(f64, |v| v),
    }
}

fn plane(array: &Array) -> Result<(u32, u32, usize), String> {
    let too_large = || "the picture is too large".to_owned();
    let (height, width, channels) = match array.shape[..] {
        [h, w] => (h, w, 1),
        [h, w, c @ 1..=4] => (h, w, c),
        _ => return Err(format!("an array of shape {:?} is no picture", array.shape)),
    };
    if height == 0 || width == 0 {
        return Err("an empty array is no picture".into());
    }
    let height = u32::try_from(height).map_err(|_| too_large())?;
    let width = u32::try_from(width).map_err(|_| too_large())?;
    Ok((height, width, channels as usize))
}

/// Reads an OpenEXR file as (height, width, 4) of float32.
pub fn read_exr(file: &[u8]) -> Result<Array, String> {
    let image = exr::prelude::read()
        .no_deep_data()
        .largest_resolution_level()
        .rgba_channels(
            |size, _| (size.width(), vec![[0f32; 4]; size.width() * size.height()]),
            |(width, pixels), at, (r, g, b, a): (f32, f32, f32, f32)| {
                pixels[at.y() * *width + at.x()] = [r, g, b, a];
            },
        )
        .first_valid_layer()
        .all_attributes()
        .from_buffered(Cursor::new(file))
        .map_err(|e| e.to_string())?;
    let size = image.layer_data.size;
    let pixels = &image.layer_data.channel_data.pixels.1;
    let bytes = pixels.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
    Ok(Array {
        shape: vec![size.height() as u64, size.width() as u64, 4],
        element: Element::F32,
        bytes,
    })
}

/// Writes (height, width, 1 to 4 channels) as an OpenEXR file of float32; missing colours are zero, a missing alpha one.
pub fn write_exr(array: &Array) -> Result<Vec<u8>, String> {
    let (height, width, channels) = plane(array)?;
    let values = to_f64(array);
    let pixel = |at: exr::prelude::Vec2<usize>| {
        let base = (at.y() * width as usize + at.x()) * channels;
        let get = |i: usize, missing: f32| {
            if i < channels { values[base + i] as f32 } else { missing }
        };
        (get(0, 0.0), get(1, 0.0), get(2, 0.0), get(3, 1.0))
    };
    let image = exr::prelude::Image::from_channels(
        (width as usize, height as usize),
        exr::prelude::SpecificChannels::rgba(pixel),
    );
    let mut file = Cursor::new(Vec::new());
    image.write().to_buffered(&mut file).map_err(|e| e.to_string())?;
    Ok(file.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(shape: &[u64], values: &[f32]) -> Array {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Array { shape: shape.to_vec(), element: Element::F32, bytes }
    }

    #[test]
    fn png_clamps_floats_to_bytes() {
        let file = write_png(&floats(&[1, 4], &[0.0, 0.5, 7.0, f32::NAN])).expect("a picture");
        let back = read_png(&file).expect("the picture");
        assert_eq!((back.element, back.bytes), (Element::U8, vec![0, 128, 255, 0]));
    }

    #[test]
    fn exr_keeps_floats() {
        let array = floats(&[1, 2, 4], &[0.0, -1.5, 1e30, 1.0, 2.0, 3.0, 4.0, 0.25]);
        let back = read_exr(&write_exr(&array).expect("a picture")).expect("the picture");
        assert_eq!(back, array);
    }

    #[test]
    fn hostile_pictures_are_errors() {
        for cut in [0, 1, 8, 20, 33] {
            let file = write_png(&floats(&[2, 2], &[0.0; 4])).expect("a picture");
            assert!(read_png(&file[..cut.min(file.len())]).is_err());
        }
        assert!(write_png(&floats(&[0, 2], &[])).is_err());
    }
}

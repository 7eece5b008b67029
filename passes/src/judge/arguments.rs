//! Arguments for any kernel that the interpreter holds.

use luisac_xir::interp::{Arg, PixelStorage};
use luisac_xir::{ArgumentKind, Function, Module, TypeId, TypeKind};

/// Elements of a buffer, and texels on each axis of an image.
const ELEMENTS: u64 = 256;
const TEXELS: u32 = 8;
/// Buffers are not larger, even of large elements.
const MAX_BYTES: u64 = 1 << 22;

/// Arguments for a kernel: small numbers that depend on `seed`. `None` if it takes something that the interpreter has not.
pub fn arguments(module: &Module, kernel: &Function, seed: u64) -> Option<Vec<Arg>> {
    let mut state = seed | 1;
    kernel
        .arguments
        .iter()
        .map(|formal| argument(module, formal.kind, formal.ty, &mut state))
        .collect()
}

fn argument(module: &Module, kind: ArgumentKind, ty: TypeId, state: &mut u64) -> Option<Arg> {
    let types = &module.types;
    match (kind, types.kind(ty)) {
        (ArgumentKind::Value, _) => Some(Arg::Value(bytes(types.size(ty), state))),
        (ArgumentKind::Resource, TypeKind::Buffer { elem, .. }) => {
            let stride = match *elem {
                TypeId::VOID => 4,
                elem => types.size(elem).next_multiple_of(types.align(elem).into()),
            };
            let count = ELEMENTS.min(MAX_BYTES / stride.max(1)).max(1);
            Some(Arg::Buffer(bytes(stride * count, state)))
        }
        (ArgumentKind::Resource, &TypeKind::Texture { dim, elem, .. }) => {
            let storage = PixelStorage::from_name(if elem.is_float() { "float4" } else { "int4" })?;
            let depth = if dim == 2 { 1 } else { TEXELS };
            let texels = u64::from(TEXELS * TEXELS * depth);
            let data = bytes(texels * u64::from(storage.bytes()), state);
            Some(Arg::Image { storage, width: TEXELS, height: TEXELS, depth, levels: 1, data })
        }
        _ => None,
    }
}

/// Words below 16, for the most part: good as numbers, as indices, and as bits of small floats now and then.
fn bytes(count: u64, state: &mut u64) -> Vec<u8> {
    let mut all = Vec::with_capacity(count as usize + 8);
    while (all.len() as u64) < count {
        // xorshift64* (S. Vigna, 2016).
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        let number = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        let word = match number % 8 {
            0 => number as u32,
            1 => (((number >> 3) % 64) as f32 * 0.25).to_bits(),
            _ => (number >> 3) as u32 % 16,
        };
        all.extend_from_slice(&word.to_le_bytes());
    }
    all.truncate(count as usize);
    all
}

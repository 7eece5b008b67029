//! Storages of images as formats.

use ash::vk;
use luisac_artifact::PixelStorage;

/// What a kernel sees texels as. `int` is seen as unsigned numbers too: channels are zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    Float,
    Integer,
}

/// The format in which texels of this storage are seen so; none for 32-bit integers as floats from 0 to 1, floats as integers, and
/// compressed blocks as integers.
pub(super) fn format(storage: PixelStorage, numbers: Numbers) -> Option<vk::Format> {
    use PixelStorage as P;
    use vk::Format as F;
    let (float, integer) = match storage {
        P::Byte1 => (Some(F::R8_UNORM), Some(F::R8_UINT)),
        P::Byte2 => (Some(F::R8G8_UNORM), Some(F::R8G8_UINT)),
        P::Byte4 => (Some(F::R8G8B8A8_UNORM), Some(F::R8G8B8A8_UINT)),
        P::Short1 => (Some(F::R16_UNORM), Some(F::R16_UINT)),
        P::Short2 => (Some(F::R16G16_UNORM), Some(F::R16G16_UINT)),
        P::Short4 => (Some(F::R16G16B16A16_UNORM), Some(F::R16G16B16A16_UINT)),
        P::Int1 => (None, Some(F::R32_UINT)),
        P::Int2 => (None, Some(F::R32G32_UINT)),
        P::Int4 => (None, Some(F::R32G32B32A32_UINT)),
        P::Half1 => (Some(F::R16_SFLOAT), None),
        P::Half2 => (Some(F::R16G16_SFLOAT), None),
        P::Half4 => (Some(F::R16G16B16A16_SFLOAT), None),
        P::Float1 => (Some(F::R32_SFLOAT), None),
        P::Float2 => (Some(F::R32G32_SFLOAT), None),
        P::Float4 => (Some(F::R32G32B32A32_SFLOAT), None),
        P::R10G10B10A2 => (Some(F::A2B10G10R10_UNORM_PACK32), Some(F::A2B10G10R10_UINT_PACK32)),
        P::R11G11B10 => (Some(F::B10G11R11_UFLOAT_PACK32), None),
        P::Bc1 => (Some(F::BC1_RGBA_UNORM_BLOCK), None),
        P::Bc2 => (Some(F::BC2_UNORM_BLOCK), None),
        P::Bc3 => (Some(F::BC3_UNORM_BLOCK), None),
        P::Bc4 => (Some(F::BC4_UNORM_BLOCK), None),
        P::Bc5 => (Some(F::BC5_UNORM_BLOCK), None),
        P::Bc6 => (Some(F::BC6H_UFLOAT_BLOCK), None),
        P::Bc7 => (Some(F::BC7_UNORM_BLOCK), None),
    };
    match numbers {
        Numbers::Float => float,
        Numbers::Integer => integer,
    }
}

/// The formats of a storage: the one that its image is made with, and the other view of it.
pub(super) fn formats(storage: PixelStorage) -> impl Iterator<Item = vk::Format> {
    [Numbers::Float, Numbers::Integer].into_iter().filter_map(move |n| format(storage, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_storage_has_a_format_that_holds_what_it_holds() {
        for storage in PixelStorage::ALL {
            assert!(formats(storage).next().is_some(), "{storage}");
            let integers = format(storage, Numbers::Integer).is_some();
            assert_eq!(integers, storage.holds("uint"), "{storage}");
        }
    }
}

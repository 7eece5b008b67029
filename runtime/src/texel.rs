//! How texels become values and back. `docs/abi.md` and `luisac_artifact::PixelStorage` say the rules.

use half::f16;
use luisac_artifact::{PixelStorage, TexelKind};

use crate::host::Texel;

/// Texels of a storage from `channels` numbers each; channels beyond those given are zero.
pub(crate) fn pack_all<T: Texel>(storage: PixelStorage, data: &[T], channels: usize) -> Vec<u8> {
    let size = storage.bytes() as usize;
    let mut bytes = vec![0; data.len() / channels * size];
    for (target, source) in bytes.chunks_exact_mut(size).zip(data.chunks_exact(channels)) {
        let mut value = [T::default(); 4];
        value[..channels].copy_from_slice(source);
        T::write(storage, value, target);
    }
    bytes
}

/// The first `channels` numbers of each texel.
pub(crate) fn unpack_all<T: Texel>(storage: PixelStorage, bytes: &[u8], channels: usize) -> Vec<T> {
    let texels = bytes.chunks_exact(storage.bytes() as usize);
    texels.flat_map(|t| T::read(storage, t).into_iter().take(channels)).collect()
}

/// A texel as the numbers of its channels, before a view as float or integer.
type Raw = [u32; 4];

/// Reads the bits of each channel, zero for those that are not stored. `texel` has the storage's bytes.
fn unpack(storage: PixelStorage, texel: &[u8]) -> Raw {
    let mut raw = [0; 4];
    let word = || u32::from_le_bytes(texel.first_chunk().copied().unwrap_or_default());
    match storage.kind() {
        TexelKind::Int { bits } | TexelKind::Float { bits } => {
            for (value, bytes) in raw.iter_mut().zip(texel.chunks_exact(bits as usize / 8)) {
                *value = bytes.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b));
            }
        }
        TexelKind::Packed1010102 => {
            raw = [word() & 0x3ff, word() >> 10 & 0x3ff, word() >> 20 & 0x3ff, word() >> 30]
        }
        TexelKind::Packed111110 => raw = [word() & 0x7ff, word() >> 11 & 0x7ff, word() >> 22, 0],
        TexelKind::Block { .. } => {}
    }
    raw
}

/// Writes the low bits of each stored channel.
fn pack(storage: PixelStorage, raw: Raw, texel: &mut [u8]) {
    match storage.kind() {
        TexelKind::Int { bits } | TexelKind::Float { bits } => {
            let bytes = bits as usize / 8;
            for (value, target) in raw.iter().zip(texel.chunks_exact_mut(bytes)) {
                target.copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        TexelKind::Packed1010102 => {
            let word =
                raw[0] & 0x3ff | (raw[1] & 0x3ff) << 10 | (raw[2] & 0x3ff) << 20 | raw[3] << 30;
            texel.copy_from_slice(&word.to_le_bytes());
        }
        TexelKind::Packed111110 => {
            let word = raw[0] & 0x7ff | (raw[1] & 0x7ff) << 11 | raw[2] << 22;
            texel.copy_from_slice(&word.to_le_bytes());
        }
        TexelKind::Block { .. } => {}
    }
}

/// The largest value of channel `c` of an integer storage.
fn maximum(kind: TexelKind, c: usize) -> u32 {
    match kind {
        TexelKind::Int { bits } => u32::MAX >> (32 - bits),
        TexelKind::Packed1010102 if c == 3 => 3,
        _ => 0x3ff,
    }
}

/// An unsigned small float of 5 exponent bits and `mantissa` bits: a half without sign and low bits.
fn small_to_f32(bits: u32, mantissa: u32) -> f32 {
    f16::from_bits((bits << (10 - mantissa)) as u16).to_f32()
}

/// Rounds to nearest even; what is negative becomes zero, too large infinity, NaN stays NaN.
fn f32_to_small(value: f32, mantissa: u32) -> u32 {
    if value.is_nan() {
        return (0x1f << mantissa) | (1 << (mantissa - 1));
    }
    if value <= 0.0 {
        return 0;
    }
    // As a count of the smallest step of its binade; subnormals share the step of the lowest one.
    let exponent = (((value.to_bits() >> 23) as i32) - 127).max(-14);
    if exponent > 15 {
        return 0x1f << mantissa;
    }
    let steps = (f64::from(value) * 2f64.powi(mantissa as i32 - exponent)).round_ties_even() as u32;
    // A carry out of the mantissa moves into the exponent by itself, up to infinity.
    let biased = (exponent + 14) as u32;
    (biased << mantissa) + steps
}

/// The four channels as floats.
pub(crate) fn to_f32(storage: PixelStorage, texel: &[u8]) -> [f32; 4] {
    let raw = unpack(storage, texel);
    let kind = storage.kind();
    let mut out = [0.0; 4];
    for c in 0..storage.channels() as usize {
        out[c] = match kind {
            TexelKind::Int { bits: 32 } => (f64::from(raw[c]) / f64::from(u32::MAX)) as f32,
            TexelKind::Int { .. } | TexelKind::Packed1010102 => {
                raw[c] as f32 / maximum(kind, c) as f32
            }
            TexelKind::Float { bits: 16 } => f16::from_bits(raw[c] as u16).to_f32(),
            TexelKind::Float { .. } => f32::from_bits(raw[c]),
            TexelKind::Packed111110 => small_to_f32(raw[c], if c == 2 { 5 } else { 6 }),
            TexelKind::Block { .. } => 0.0,
        };
    }
    out
}

/// Stores four channels of floats.
pub(crate) fn from_f32(storage: PixelStorage, value: [f32; 4], texel: &mut [u8]) {
    let kind = storage.kind();
    let mut raw = [0; 4];
    for c in 0..4 {
        // A NaN is not greater than zero.
        let unit = if value[c] > 0.0 { value[c].min(1.0) } else { 0.0 };
        raw[c] = match kind {
            TexelKind::Int { bits: 32 } => {
                (f64::from(unit) * f64::from(u32::MAX)).round_ties_even() as u32
            }
            TexelKind::Int { .. } | TexelKind::Packed1010102 => {
                (unit * maximum(kind, c) as f32).round_ties_even() as u32
            }
            TexelKind::Float { bits: 16 } => u32::from(f16::from_f32(value[c]).to_bits()),
            TexelKind::Float { .. } => value[c].to_bits(),
            TexelKind::Packed111110 => f32_to_small(value[c], if c == 2 { 5 } else { 6 }),
            TexelKind::Block { .. } => 0,
        };
    }
    pack(storage, raw, texel);
}

/// The four channels of an integer storage, zero-extended. Float storages give their bits.
pub(crate) fn to_u32(storage: PixelStorage, texel: &[u8]) -> [u32; 4] {
    unpack(storage, texel)
}

/// Stores four channels of integers, truncated to the storage's bits.
pub(crate) fn from_u32(storage: PixelStorage, value: [u32; 4], texel: &mut [u8]) {
    pack(storage, value, texel);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn written(storage: PixelStorage, value: [f32; 4], bytes: &[u8]) {
        let mut texel = vec![0; storage.bytes() as usize];
        from_f32(storage, value, &mut texel);
        assert_eq!(texel, bytes, "{storage}");
    }

    #[test]
    fn floats_are_clamped_scaled_and_rounded_half_to_even() {
        written(PixelStorage::Byte4, [-1.0, 0.5, 2.0, f32::NAN], &[0, 128, 255, 0]);
        written(PixelStorage::Byte2, [0.1, 1.0, 9.0, 9.0], &[26, 255]);
        written(PixelStorage::Short1, [1.0; 4], &[255, 255]);
        written(PixelStorage::Int1, [1.0; 4], &[255; 4]);
        written(PixelStorage::R10G10B10A2, [1.0, 0.0, 1.0, 1.0], &0xfff0_03ffu32.to_le_bytes());
        written(PixelStorage::Half1, [65520.0; 4], &[0, 0x7c]);
        written(PixelStorage::Float2, [1.5, -0.0, 0.0, 0.0], &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80]);
    }

    #[test]
    fn integers_are_truncated_and_zero_extended() {
        let mut texel = [0; 4];
        from_u32(PixelStorage::Byte4, [0x1ff, 2, 3, u32::MAX], &mut texel);
        assert_eq!(to_u32(PixelStorage::Byte4, &texel), [255, 2, 3, 255]);
        from_u32(PixelStorage::R10G10B10A2, [1025, 2, 3, 7], &mut texel);
        assert_eq!(to_u32(PixelStorage::R10G10B10A2, &texel), [1, 2, 3, 3]);
        assert_eq!(to_f32(PixelStorage::Byte2, &[255, 51]), [1.0, 0.2, 0.0, 0.0]);
    }

    #[test]
    fn small_floats_go_round() {
        for mantissa in [5, 6] {
            // Every finite value and infinity; behind it are the NaNs.
            for bits in 0..=0x1f << mantissa {
                assert_eq!(f32_to_small(small_to_f32(bits, mantissa), mantissa), bits);
            }
            assert_eq!(f32_to_small(-1.0, mantissa), 0);
            assert_eq!(f32_to_small(1e30, mantissa), 0x1f << mantissa);
            assert!(small_to_f32(f32_to_small(f32::NAN, mantissa), mantissa).is_nan());
        }
        // Half way between 1 and the next value goes to the even one.
        assert_eq!(f32_to_small(1.0 + 1.0 / 128.0, 6), f32_to_small(1.0, 6));
    }

    #[test]
    fn every_storage_gives_back_what_it_holds() {
        for s in PixelStorage::ALL.into_iter().filter(|s| s.is_storage()) {
            let texel: Vec<u8> = (0..s.bytes() as u8).map(|i| i.wrapping_mul(17) ^ 3).collect();
            let mut back = vec![0; texel.len()];
            from_u32(s, to_u32(s, &texel), &mut back);
            assert_eq!(back, texel, "{s}");
            if s.number() < 6 || s.number() > 8 {
                from_f32(s, to_f32(s, &texel), &mut back);
                assert_eq!(back, texel, "{s}");
            }
        }
    }
}

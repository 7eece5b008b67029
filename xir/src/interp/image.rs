//! Images: storage formats, and how a texel becomes a value and back.

use crate::eval::{Bits, double_to_half, half_to_double};

/// How one texel is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    /// Unsigned channels of this many bits; as float: value / maximum.
    Int(u32),
    /// Floats of this many bits.
    Float(u32),
    /// Three channels of 10 bits and one of 2, red lowest.
    Packed1010102,
    /// Unsigned floats of 11, 11 and 10 bits, 5 of them exponent, red lowest.
    Packed111110,
}

/// Name, channels and coding by number.
const ROWS: [(&str, u32, Coding); 17] = [
    ("byte1", 1, Coding::Int(8)),
    ("byte2", 2, Coding::Int(8)),
    ("byte4", 4, Coding::Int(8)),
    ("short1", 1, Coding::Int(16)),
    ("short2", 2, Coding::Int(16)),
    ("short4", 4, Coding::Int(16)),
    ("int1", 1, Coding::Int(32)),
    ("int2", 2, Coding::Int(32)),
    ("int4", 4, Coding::Int(32)),
    ("half1", 1, Coding::Float(16)),
    ("half2", 2, Coding::Float(16)),
    ("half4", 4, Coding::Float(16)),
    ("float1", 1, Coding::Float(32)),
    ("float2", 2, Coding::Float(32)),
    ("float4", 4, Coding::Float(32)),
    ("r10g10b10a2", 4, Coding::Packed1010102),
    ("r11g11b10", 3, Coding::Packed111110),
];

/// A storage format whose texels a kernel can read and write; the numbers are LuisaCompute's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PixelStorage(u8);

impl PixelStorage {
    /// The format of this number; none for compressed ones.
    pub fn from_number(number: u64) -> Option<PixelStorage> {
        (number < ROWS.len() as u64).then_some(PixelStorage(number as u8))
    }

    /// The format of this name: `byte4`, `float1`, ...
    pub fn from_name(name: &str) -> Option<PixelStorage> {
        ROWS.iter().position(|row| row.0 == name).map(|i| PixelStorage(i as u8))
    }

    /// The number of the format.
    pub fn number(self) -> u32 {
        self.0.into()
    }

    /// The name of the format.
    pub fn name(self) -> &'static str {
        ROWS[self.0 as usize].0
    }

    /// Channels that are stored.
    pub fn channels(self) -> u32 {
        ROWS[self.0 as usize].1
    }

    fn coding(self) -> Coding {
        ROWS[self.0 as usize].2
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        match self.coding() {
            Coding::Int(bits) | Coding::Float(bits) => self.channels() * bits / 8,
            Coding::Packed1010102 | Coding::Packed111110 => 4,
        }
    }

    /// Whether a kernel that sees floats, or integers, can be given this format.
    pub fn holds(self, float: bool) -> bool {
        float || matches!(self.coding(), Coding::Int(_) | Coding::Packed1010102)
    }

    /// Bits of channel `c`, and where they start in a packed word.
    fn packed(self, c: usize) -> Option<(u32, u32)> {
        match self.coding() {
            Coding::Packed1010102 => Some([(10, 0), (10, 10), (10, 20), (2, 30)][c]),
            Coding::Packed111110 => Some([(11, 0), (11, 11), (10, 22), (0, 0)][c]),
            _ => None,
        }
    }

    /// The stored bits of each channel.
    fn unpack(self, texel: &[u8]) -> [u32; 4] {
        let word =
            |bytes: &[u8]| bytes.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b)) as u32;
        let size = (self.bytes() / self.channels()) as usize;
        let mut raw = [0; 4];
        for (c, channel) in raw.iter_mut().enumerate().take(self.channels() as usize) {
            *channel = match self.packed(c) {
                Some((bits, start)) => word(texel) >> start & (u32::MAX >> (32 - bits)),
                None => texel.get(c * size..(c + 1) * size).map_or(0, word),
            };
        }
        raw
    }

    fn pack(self, raw: [u32; 4], texel: &mut [u8]) {
        let size = (self.bytes() / self.channels()) as usize;
        let mut word = 0;
        for (c, &channel) in raw.iter().enumerate().take(self.channels() as usize) {
            match self.packed(c) {
                Some((bits, start)) => word |= (channel & (u32::MAX >> (32 - bits))) << start,
                None => {
                    if let Some(bytes) = texel.get_mut(c * size..(c + 1) * size) {
                        bytes.copy_from_slice(&channel.to_le_bytes()[..size]);
                    }
                }
            }
        }
        if self.packed(0).is_some() {
            texel.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The largest value of an integer channel.
    fn maximum(self, c: usize) -> u32 {
        match (self.coding(), self.packed(c)) {
            (Coding::Int(bits), _) | (_, Some((bits, _))) => u32::MAX >> (32 - bits),
            _ => 1,
        }
    }

    /// The four channels that a kernel reads; zero for those that are not stored.
    pub(super) fn read(self, texel: &[u8], float: bool) -> [Bits; 4] {
        let raw = self.unpack(texel);
        if !float {
            return raw.map(Bits::from);
        }
        let mut value = [0; 4];
        for c in 0..self.channels() as usize {
            let wide = match self.coding() {
                Coding::Float(32) => {
                    value[c] = raw[c].into();
                    continue;
                }
                Coding::Float(_) => half_to_double(raw[c].into()) as f32,
                Coding::Packed111110 => small_to_float(raw[c], if c == 2 { 5 } else { 6 }),
                // A double divides 32-bit integers without rounding twice where a float would.
                _ => (f64::from(raw[c]) / f64::from(self.maximum(c))) as f32,
            };
            value[c] = wide.to_bits().into();
        }
        value
    }

    /// Stores the four channels that a kernel writes.
    pub(super) fn write(self, texel: &mut [u8], value: [Bits; 4], float: bool) {
        let mut raw = value.map(|bits| bits as u32);
        if float {
            for (c, channel) in raw.iter_mut().enumerate() {
                let x = f32::from_bits(*channel);
                let unit = if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) };
                *channel = match self.coding() {
                    Coding::Float(32) => *channel,
                    Coding::Float(_) => double_to_half(x.into()) as u32,
                    Coding::Packed111110 => float_to_small(x, if c == 2 { 5 } else { 6 }),
                    Coding::Int(32) => {
                        (f64::from(unit) * f64::from(u32::MAX)).round_ties_even() as u32
                    }
                    _ => (unit * self.maximum(c) as f32).round_ties_even() as u32,
                };
            }
        }
        self.pack(raw, texel);
    }
}

/// An unsigned float of 5 exponent bits and `mantissa` bits: a half without sign and low bits.
fn small_to_float(bits: u32, mantissa: u32) -> f32 {
    half_to_double((bits << (10 - mantissa)).into()) as f32
}

/// Rounds to nearest even; what is negative becomes zero, too large infinity, NaN stays NaN.
fn float_to_small(x: f32, mantissa: u32) -> u32 {
    let infinity = 0x1f << mantissa;
    if x.is_nan() {
        return infinity | 1 << (mantissa - 1);
    }
    if x <= 0.0 {
        return 0;
    }
    // In steps of the binade of `x`; those of subnormals are the steps of the lowest binade.
    let exponent = ((x.to_bits() >> 23) as i32 - 127).max(-14);
    if exponent > 15 {
        return infinity;
    }
    let steps = (f64::from(x) * 2f64.powi(mantissa as i32 - exponent)).round_ties_even() as u32;
    // The leading one of a normal number adds 1 to the exponent; a carry moves on by itself, up to infinity.
    (((exponent + 14) as u32) << mantissa) + steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn written(name: &str, value: [f32; 4], bytes: &[u8]) {
        let storage = PixelStorage::from_name(name).expect("a storage");
        let mut texel = vec![0; storage.bytes() as usize];
        storage.write(&mut texel, value.map(|x| x.to_bits().into()), true);
        assert_eq!(texel, bytes, "{name}");
    }

    #[test]
    fn floats_are_clamped_scaled_and_rounded_half_to_even() {
        written("byte4", [-1.0, 0.5, 2.0, f32::NAN], &[0, 128, 255, 0]);
        written("byte2", [0.1, 1.0, 9.0, 9.0], &[26, 255]);
        written("short1", [1.0; 4], &[255, 255]);
        written("int1", [1.0; 4], &[255; 4]);
        written("r10g10b10a2", [1.0, 0.0, 1.0, 1.0], &0xfff0_03ffu32.to_le_bytes());
        written("half1", [65520.0; 4], &[0, 0x7c]);
        written("float2", [1.5, -0.0, 0.0, 0.0], &[0, 0, 0xc0, 0x3f, 0, 0, 0, 0x80]);
    }

    #[test]
    fn every_storage_gives_back_what_it_holds() {
        for number in 0..ROWS.len() as u64 {
            let storage = PixelStorage::from_number(number).expect("a storage");
            let texel: Vec<u8> =
                (0..storage.bytes() as u8).map(|i| i.wrapping_mul(17) ^ 3).collect();
            let mut back = vec![0; texel.len()];
            if storage.holds(false) {
                storage.write(&mut back, storage.read(&texel, false), false);
                assert_eq!(back, texel, "{}", storage.name());
            }
            // A float does not hold all integers of 32 bits.
            if storage.coding() != Coding::Int(32) {
                storage.write(&mut back, storage.read(&texel, true), true);
                assert_eq!(back, texel, "{}", storage.name());
            }
        }
    }

    #[test]
    fn small_floats_go_round() {
        for mantissa in [5, 6] {
            for bits in 0..=0x1f << mantissa {
                assert_eq!(float_to_small(small_to_float(bits, mantissa), mantissa), bits);
            }
            assert!(small_to_float(float_to_small(f32::NAN, mantissa), mantissa).is_nan());
            assert_eq!(float_to_small(1e30, mantissa), 0x1f << mantissa);
        }
    }
}

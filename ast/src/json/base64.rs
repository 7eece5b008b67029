//! Base64 with the standard alphabet and `=` padding, strict.

const BAD: u8 = 0xff;

const VALUES: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [BAD; 256];
    let mut i = 0;
    while i < 64 {
        values[alphabet[i] as usize] = i as u8;
        i += 1;
    }
    values
};

/// Appends the bytes that `text` stands for to `out`.
///
/// # Errors
/// The position in `text` of what is wrong: a character that is not of the alphabet, padding in the wrong place, or the
/// end of a text whose length is no multiple of 4. Bits that padding leaves over may be anything.
pub(super) fn decode(text: &[u8], out: &mut Vec<u8>) -> Result<(), usize> {
    if !text.len().is_multiple_of(4) {
        let bad = text.iter().position(|b| VALUES[*b as usize] == BAD && *b != b'=');
        return Err(bad.unwrap_or(text.len()));
    }
    let padding = text.iter().rev().take(2).take_while(|b| **b == b'=').count();
    let groups = text.len() / 4;
    for (g, group) in text.chunks_exact(4).enumerate() {
        let padding = if g + 1 == groups { padding } else { 0 };
        let mut bits = 0u32;
        for (i, byte) in group.iter().enumerate() {
            let value = if i >= 4 - padding { 0 } else { VALUES[*byte as usize] };
            if value == BAD {
                return Err(4 * g + i);
            }
            bits = bits << 6 | u32::from(value);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Ok(())
}

/// Appends the text that stands for `bytes` to `out`.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = alphabet[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= group.len() { digit } else { b'=' });
        }
    }
}

//! What `ptxas` reads otherwise than PTX says, rewritten in the finished text.
//!
//! - `ptxas` takes the result of an integer `abs` as never negative, while the least integer is its own magnitude. LLVM turns every
//!   spelling of a magnitude into `abs`, so only the text is safe from it: a negation and a select are put there.
//! - `ptxas` (12.9, seen on `sm_90`) widens `neg.s16` followed by a conversion to 32 bits without wrapping at 16 bits. A negation of
//!   32 bits and a truncation are put there.

/// Rewrites PTX; time linear in its length.
pub fn rewrite(code: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&code) else { return code };
    if !text.contains("neg.s16") && !text.contains("abs.s") {
        return code;
    }
    let mut result = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        match replacement(line) {
            Some(new) => result.push_str(&new),
            None => result.push_str(line),
        }
    }
    result.into_bytes()
}

/// What stands for a line, if it is one of those instructions: in a scope of its own, since it needs registers.
fn replacement(line: &str) -> Option<String> {
    let words = line.trim().strip_suffix(';')?;
    let (opcode, operands) = words.split_once(char::is_whitespace)?;
    let (to, from) = operands.split_once(',')?;
    let (to, from) = (to.trim(), from.trim());
    Some(match opcode {
        "neg.s16" => format!(
            "\t{{ .reg .b32 %wide; cvt.s32.s16 %wide, {from}; neg.s32 %wide, %wide; cvt.u16.u32 {to}, %wide; }}\n"
        ),
        "abs.s16" => format!(
            "\t{{ .reg .b32 %wide, %minus; .reg .pred %less; cvt.s32.s16 %wide, {from}; neg.s32 %minus, %wide; \
             setp.lt.s32 %less, %wide, 0; selp.b32 %wide, %minus, %wide, %less; cvt.u16.u32 {to}, %wide; }}\n"
        ),
        "abs.s32" | "abs.s64" => {
            let bits = &opcode[5..];
            format!(
                "\t{{ .reg .b{bits} %minus; .reg .pred %less; neg.s{bits} %minus, {from}; setp.lt.s{bits} %less, {from}, 0; \
                 selp.b{bits} {to}, %minus, {from}, %less; }}\n"
            )
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    #[track_caller]
    fn becomes(before: &str, after: &str) {
        assert_eq!(String::from_utf8_lossy(&rewrite(before.into())), after);
    }

    #[test]
    fn other_lines_stay() {
        for line in ["", "\tneg.s32 \t%r1, %r2;\n", "\tabs.f32 \t%r1, %r2;\n", "abs.s", "neg.s16 x"]
        {
            becomes(line, line);
        }
    }

    #[test]
    fn negations_of_16_bits_are_widened() {
        becomes(
            "a\n\tneg.s16 \t%rs2, %rs1;\nb",
            "a\n\t{ .reg .b32 %wide; cvt.s32.s16 %wide, %rs1; neg.s32 %wide, %wide; cvt.u16.u32 %rs2, %wide; }\nb",
        );
    }

    #[test]
    fn magnitudes_become_selects() {
        becomes(
            "\tabs.s64 \t%rd2, %rd1;\n",
            "\t{ .reg .b64 %minus; .reg .pred %less; neg.s64 %minus, %rd1; setp.lt.s64 %less, %rd1, 0; \
             selp.b64 %rd2, %minus, %rd1, %less; }\n",
        );
    }
}

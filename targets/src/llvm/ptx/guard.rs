//! What `ptxas` reads otherwise than PTX says, rewritten in the finished text.
//!
//! - `ptxas` takes the result of an integer `abs` as never negative, while the least integer is its own magnitude. LLVM turns every
//!   spelling of a magnitude into `abs`, so only the text is safe from it: a negation and a select are put there.
//! - `ptxas` (12.9, seen on `sm_90`) widens `neg.s16` followed by a conversion to 32 bits without wrapping at 16 bits. A negation of
//!   32 bits and a truncation are put there.
//! - The hardware gives one NaN for all from `neg`, `abs` and `copysign` on floats, where the language has bit operations. They are
//!   written as such, unless all that reads the result is arithmetic, which loses the bits of a NaN anyway.
//! - `ptxas` (12.9 and the driver's own, seen on `sm_90`) takes a maximum with -0 and a minimum with 1, on doubles and before a
//!   conversion to half, as saturation, which gives +0. A comparison and a select stand for the maximum.

use rustc_hash::{FxHashMap, FxHashSet};

/// -0 as a float and as a double.
const MINUS_ZERO: [&str; 2] = ["0f80000000", "0d8000000000000000"];

/// Rewrites PTX; time linear in its length.
pub fn rewrite(code: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&code) else { return code };
    let words = ["neg.s16", "abs.s", "neg.f", "neg.ftz.f", "abs.f", "abs.ftz.f", "copysign.f"];
    if !words.iter().chain(&MINUS_ZERO).any(|w| text.contains(w)) {
        return code;
    }
    let observed = observed(text);
    let mut result = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let new = replacement(line)
            .or_else(|| bit_operation(line, &observed))
            .or_else(|| maximum_with_minus_zero(line));
        match new {
            Some(new) => result.push_str(&new),
            None => result.push_str(line),
        }
    }
    result.into_bytes()
}

/// The opcode of an instruction and its operands, the result first.
fn parts(line: &str) -> Option<(&str, Vec<&str>)> {
    let words = line.trim().strip_suffix(';')?;
    // A predicate may come before the opcode.
    let words = match words.strip_prefix('@') {
        Some(rest) => rest.split_once(char::is_whitespace)?.1.trim_start(),
        None => words,
    };
    let (opcode, operands) = words.split_once(char::is_whitespace)?;
    Some((opcode, operands.split(',').map(str::trim).collect()))
}

/// Whether an instruction is float arithmetic whose result does not depend on the bits of a NaN.
fn is_arithmetic(opcode: &str) -> bool {
    let (name, rest) = opcode.split_once('.').unwrap_or((opcode, ""));
    let is_float = rest.ends_with("f32") || rest.ends_with("f64");
    let words = ["add", "sub", "mul", "fma", "div", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "setp"];
    is_float && words.contains(&name)
}

/// The registers that something else than float arithmetic reads, negations and magnitudes of observed ones included.
fn observed(text: &str) -> FxHashSet<&str> {
    let mut found = FxHashSet::default();
    let mut signs: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for line in text.lines() {
        // Lines of several instructions come from inline assembly; all that they name is seen.
        let single = parts(line).filter(|_| line.matches(';').count() == 1);
        match single {
            Some((opcode, operands)) if sign_operation(opcode).is_some() => {
                signs.entry(operands[0]).or_default().extend(&operands[1..]);
            }
            Some((opcode, _)) if is_arithmetic(opcode) => {}
            _ => {
                let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "%_$".contains(c)));
                found.extend(words.filter(|w| w.starts_with('%')));
            }
        }
    }
    let mut pending: Vec<&str> = found.iter().copied().collect();
    while let Some(register) = pending.pop() {
        for &from in signs.get(register).into_iter().flatten() {
            if found.insert(from) {
                pending.push(from);
            }
        }
    }
    found
}

/// Name and width of an operation on the sign of a float.
fn sign_operation(opcode: &str) -> Option<(&str, u32)> {
    let (name, rest) = opcode.split_once('.')?;
    let width = match rest.strip_prefix("ftz.").unwrap_or(rest) {
        "f32" => 32,
        "f64" => 64,
        _ => return None,
    };
    matches!(name, "neg" | "abs" | "copysign").then_some((name, width))
}

/// What stands for a maximum with -0: an operand that is zero of either sign or greater, else -0.
fn maximum_with_minus_zero(line: &str) -> Option<String> {
    let (opcode, operands) = parts(line)?;
    let &[to, from, limit] = operands.as_slice() else { return None };
    let width = match opcode {
        "max.f32" | "max.ftz.f32" => 32,
        "max.f64" => 64,
        _ => return None,
    };
    if !MINUS_ZERO.contains(&limit) || line.trim_start().starts_with('@') {
        return None;
    }
    Some(format!(
        "\t{{ .reg .pred %above; setp.ge.f{width} %above, {from}, {limit}; selp.f{width} {to}, {from}, {limit}, %above; }}\n"
    ))
}

/// What stands for an operation on the sign of a float whose bits are seen.
fn bit_operation(line: &str, observed: &FxHashSet<&str>) -> Option<String> {
    let (opcode, operands) = parts(line)?;
    let (name, width) = sign_operation(opcode)?;
    let &[to, from, ref more @ ..] = operands.as_slice() else { return None };
    if !observed.contains(to) || line.trim_start().starts_with('@') || !from.starts_with('%') {
        return None;
    }
    let sign = 1u64 << (width - 1);
    let magnitude = sign - 1;
    Some(match (name, more) {
        ("neg", []) => format!("\txor.b{width} \t{to}, {from}, {sign:#x};\n"),
        ("abs", []) => format!("\tand.b{width} \t{to}, {from}, {magnitude:#x};\n"),
        // The sign comes from the first operand.
        ("copysign", &[value]) => format!(
            "\t{{ .reg .b{width} %sign, %size; and.b{width} %sign, {from}, {sign:#x}; and.b{width} %size, {value}, \
             {magnitude:#x}; or.b{width} {to}, %sign, %size; }}\n"
        ),
        _ => return None,
    })
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
    fn signs_of_floats_are_bits_where_bits_are_seen() {
        becomes(
            "\tneg.f32 \t%r2, %r1;\n\tst.global.b32 \t[%rd1+4], %r2;\n",
            "\txor.b32 \t%r2, %r1, 0x80000000;\n\tst.global.b32 \t[%rd1+4], %r2;\n",
        );
        becomes(
            "\tabs.ftz.f32 \t%r2, %r1;\n\tneg.f32 \t%r3, %r2;\n\tmov.b32 \t%r4, %r3;\n",
            "\tand.b32 \t%r2, %r1, 0x7fffffff;\n\txor.b32 \t%r3, %r2, 0x80000000;\n\tmov.b32 \t%r4, %r3;\n",
        );
        becomes(
            "\tcopysign.f64 \t%rd3, %rd1, %rd2;\n\tmov.b64 \t%rd4, %rd3;\n",
            "\t{ .reg .b64 %sign, %size; and.b64 %sign, %rd1, 0x8000000000000000; and.b64 %size, %rd2, \
             0x7fffffffffffffff; or.b64 %rd3, %sign, %size; }\n\tmov.b64 \t%rd4, %rd3;\n",
        );
    }

    #[test]
    fn a_maximum_with_minus_zero_is_no_saturation() {
        becomes(
            "\tmax.f32 \t%r2, %r1, 0f80000000;\n\tmin.f32 \t%r3, %r2, 0f3F800000;\n",
            "\t{ .reg .pred %above; setp.ge.f32 %above, %r1, 0f80000000; selp.f32 %r2, %r1, 0f80000000, %above; }\n\
             \tmin.f32 \t%r3, %r2, 0f3F800000;\n",
        );
        becomes(
            "\tmax.f64 \t%rd2, %rd1, 0d8000000000000000;\n",
            "\t{ .reg .pred %above; setp.ge.f64 %above, %rd1, 0d8000000000000000; \
             selp.f64 %rd2, %rd1, 0d8000000000000000, %above; }\n",
        );
        let plain = "\tmax.f32 \t%r2, %r1, 0f00000000;\n\tadd.f32 \t%r3, %r2, 0f80000000;\n";
        becomes(plain, plain);
    }

    #[test]
    fn inline_assembly_sees_all_that_it_names() {
        becomes(
            "\tneg.f32 \t%r2, %r1;\n\t{ .reg .pred p; shfl.sync.idx.b32 %r3|p, %r2, 0, 31, -1; }\n",
            "\txor.b32 \t%r2, %r1, 0x80000000;\n\t{ .reg .pred p; shfl.sync.idx.b32 %r3|p, %r2, 0, 31, -1; }\n",
        );
    }

    #[test]
    fn signs_that_only_arithmetic_reads_stay() {
        let text = "\tneg.f32 \t%r2, %r1;\n\tfma.rn.f32 \t%r3, %r2, %r4, %r5;\n\tst.global.b32 \t[%rd1], %r3;\n";
        becomes(text, text);
        let compared = "\tabs.f32 \t%r2, %r1;\n\tsetp.lt.f32 \t%p1, %r2, 0f3F800000;\n";
        becomes(compared, compared);
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

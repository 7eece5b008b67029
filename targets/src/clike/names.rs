//! Identifiers: from whatever the input calls things to words that the language can hold.

use rustc_hash::{FxHashMap, FxHashSet};

/// Longest identifier that is made of a name of the input.
const LONGEST: usize = 48;

/// The identifiers of a scope that are taken.
#[derive(Clone, Default)]
pub struct Namer {
    taken: FxHashSet<String>,
    /// The number that the next repetition of a word tries.
    next: FxHashMap<String, u32>,
}

impl Namer {
    /// A scope in which `words` may not be defined.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Namer {
        Namer { taken: words.into_iter().map(str::to_string).collect(), next: FxHashMap::default() }
    }

    /// A new identifier like `wish`, or like `fallback` where nothing of the wish can stay.
    pub fn fresh(&mut self, wish: &str, fallback: &str) -> String {
        let clean = clean(wish);
        let base = if clean.is_empty() { fallback.to_string() } else { clean };
        if self.taken.insert(base.clone()) {
            return base;
        }
        let next = self.next.entry(base.clone()).or_insert(2);
        // A word that ends in a digit keeps its number apart.
        let gap = if base.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
        loop {
            let candidate = format!("{base}{gap}{next}");
            *next += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }

    /// Takes an identifier as it is.
    pub fn reserve(&mut self, word: &str) {
        self.taken.insert(word.to_string());
    }
}

/// What of a name an identifier can hold: letters, digits and single underscores, a letter first. Names of our own begin with `lc_`, so
/// that a name of the input never does.
fn clean(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if out.len() >= LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    let kept = out.trim_end_matches('_').len();
    out.truncate(kept);
    if out.starts_with(|c: char| c.is_ascii_digit()) || out.starts_with("lc_") {
        out.insert_str(0, "x_");
    }
    out
}

/// Words that C-like languages reserve, whatever the dialect.
pub const COMMON_WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "final",
    "float",
    "for",
    "friend",
    "goto",
    "half",
    "if",
    "inline",
    "int",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "override",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    // Functions that the text calls, and parameters that it passes.
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "cross",
    "determinant",
    "distance",
    "dot",
    "exp",
    "exp10",
    "exp2",
    "floor",
    "fma",
    "fract",
    "isinf",
    "isnan",
    "length",
    "log",
    "log10",
    "log2",
    "max",
    "min",
    "mix",
    "normalize",
    "pow",
    "precise",
    "reflect",
    "rint",
    "round",
    "rsqrt",
    "saturate",
    "select",
    "sign",
    "sin",
    "sinh",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "transpose",
    "trunc",
    "uint",
    "uchar",
    "ushort",
    "ulong",
    "dispatch_id",
    "thread_id",
    "block_id",
    "dispatch_size",
    "kernel_id",
    "params",
    "at",
    "sampler",
    "texture",
    "buffer",
    "constant",
    "device",
    "kernel",
    "fragment",
    "vertex",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_that_are_new() {
        let mut names = Namer::new(COMMON_WORDS.iter().copied());
        let mut made = |wish: &str| names.fresh(wish, "v");
        assert_eq!(made("sum"), "sum");
        assert_eq!(made("sum"), "sum2");
        assert_eq!(made("x1"), "x1");
        assert_eq!(made("x1"), "x1_2");
        assert_eq!(made("while"), "while2");
        assert_eq!(made("a */ b\n\"c\""), "a_b_c");
        assert_eq!(made("__gl_x__y_"), "gl_x_y");
        assert_eq!(made("9lives"), "x_9lives");
        assert_eq!(made("lc_load"), "x_lc_load");
        assert_eq!(made("\u{e4}\u{f6}"), "v");
        assert_eq!(made(&"n".repeat(65536)).len(), LONGEST);
        assert_eq!(made(&"n".repeat(65536)).len(), LONGEST + 1);
    }
}

//! `--repro FILE`: the module in front of the passes, as XIR text that says how to run them again.

use super::output;
use luisac_ast::diagnostic::Diagnostic;
use luisac_passes::Pipeline;
use luisac_xir::{Module, text};
use std::path::Path;

/// Writes the file, before the passes run: it is there also if one of them does not come back.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    path: &Path,
    module: &Module,
    pipeline: &Pipeline,
    fuel: Option<u64>,
) -> Result<(), Diagnostic> {
    output::write(path, document(module, pipeline, fuel).as_bytes())
}

/// The text of a file that repeats a pipeline on a module. The lines in front are comments of XIR.
pub fn document(module: &Module, pipeline: &Pipeline, fuel: Option<u64>) -> String {
    let called: Vec<String> = std::env::args().map(|word| quoted(&word)).collect();
    let fuel = fuel.map(|n| format!(" --fuel {n}")).unwrap_or_default();
    let mut head = String::new();
    let mut line = |text: String| {
        // A line break in an argument must not end the comment.
        head.push_str(&format!("// {}\n", text.replace(['\n', '\r'], " ")));
    };
    line(format!("luisac {}", env!("CARGO_PKG_VERSION")));
    line(format!("made by: {}", called.join(" ")));
    line(format!(
        "repeat: luisac opt THIS_FILE --verify-each{fuel} --passes {}",
        quoted(&pipeline.to_string())
    ));
    head + &text::print(module)
}

/// A word as a POSIX shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("a/b.json"), "a/b.json");
        assert_eq!(quoted("fix(dce;max=2)"), "'fix(dce;max=2)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}

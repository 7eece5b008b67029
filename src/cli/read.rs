//! From flags to how inputs are read: libraries, levels of warnings.

use super::messages::{Failure, Messages};
use super::options;
use luisac::codes;
use luisac::driver::input::Input;
use luisac::driver::program::ReadOptions;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::lint::Levels;

/// The driver's options of these flags; the libraries are opened.
///
/// # Errors
/// A word that names no lint, a library that cannot be read. It has been told already.
pub fn read_options(
    flags: &options::ReadOptions,
    callables: &[String],
    messages: &Messages,
) -> Result<ReadOptions, Failure> {
    let levels = levels(&flags.lints).map_err(|d| messages.fail(d, None))?;
    let libraries: Result<Vec<Input>, Diagnostic> =
        flags.lib.iter().map(|path| Input::read(path)).collect();
    let libraries = libraries.map_err(|d| messages.fail(d, None))?;
    Ok(ReadOptions { levels, libraries, callables: callables.to_vec() })
}

/// The levels that these flags give.
///
/// # Errors
/// A word that names no lint.
pub fn levels(flags: &options::LintFlags) -> Result<Levels, Diagnostic> {
    let mut levels = Levels::default();
    for (level, word) in &flags.0 {
        levels.set(word, *level).map_err(|unknown| {
            let near = nearest(word, Levels::words());
            let help = near.map_or_else(
                || "`luisac explain lints` lists them".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("`{} {word}`: {unknown}", level.flag());
            Diagnostic::error(codes::UNKNOWN_LINT, message).with_help(help)
        })?;
    }
    Ok(levels)
}

/// The word that is most like another one, if any is much like it.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |other: &str| strsim::jaro_winkler(word, other);
    let rated = words.into_iter().map(|other| (likeness(other), other));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then_some(best.1)
}

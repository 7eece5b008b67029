//! The parts of a manifest that say how kernels are compiled: `options`, for all or for some, and `lints`.

use super::super::super::compile::check_block;
use super::super::super::options::CodeOptions;
use super::wrong;
use crate::codes;
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::lint::{LINTS, Level, Levels};
use luisac_targets::OptLevel;
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, de};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// As on the command line; what is not said stays as it is.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RawOptions {
    opt_level: Option<Spanned<u8>>,
    passes: Option<String>,
    math: Option<MathMode>,
    bounds: Option<BoundsMode>,
    debug: Option<bool>,
    block: Option<Spanned<[u32; 3]>>,
    #[serde(default)]
    define: BTreeMap<String, Plain>,
    fuel: Option<u64>,
    verify_each: Option<bool>,
    dxc: Option<PathBuf>,
}

/// A value as the command line takes it: text, a number, a truth value.
pub struct Plain(pub String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Plain;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a text, a number or a truth value")
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Plain, E> {
                Ok(Plain(v.to_owned()))
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Plain, E> {
                Ok(Plain(v.to_string()))
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Plain, E> {
                Ok(Plain(v.to_string()))
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Plain, E> {
                Ok(Plain(format!("{v:?}")))
            }
            fn visit_bool<E: de::Error>(self, v: bool) -> Result<Plain, E> {
                Ok(Plain(v.to_string()))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// What a table of options changes. Paths are the manifest's.
#[derive(Clone, Default)]
pub struct Changes {
    opt_level: Option<OptLevel>,
    passes: Option<String>,
    math: Option<MathMode>,
    bounds: Option<BoundsMode>,
    debug_info: Option<bool>,
    block: Option<[u32; 3]>,
    defines: Vec<(String, String)>,
    fuel: Option<u64>,
    verify_each: Option<bool>,
    dxc: Option<PathBuf>,
}

impl Changes {
    /// Reads a table.
    ///
    /// # Errors
    /// A level or a block that there cannot be.
    pub fn read(raw: RawOptions, folder: &Path) -> Result<Changes, Diagnostic> {
        let opt_level = raw.opt_level.map(|word| opt_level(&word)).transpose()?;
        if let Some(block) = &raw.block {
            let at = block.span().start;
            check_block(*block.as_ref()).map_err(|d| Diagnostic { offset: Some(at), ..d })?;
        }
        Ok(Changes {
            opt_level,
            passes: raw.passes,
            math: raw.math,
            bounds: raw.bounds,
            debug_info: raw.debug,
            block: raw.block.map(Spanned::into_inner),
            defines: raw.define.into_iter().map(|(name, value)| (name, value.0)).collect(),
            fuel: raw.fuel,
            verify_each: raw.verify_each,
            dxc: raw.dxc.map(|path| folder.join(path)),
        })
    }

    /// The options with what is changed.
    pub fn apply(&self, options: &CodeOptions) -> CodeOptions {
        let before = options.with_defines(&self.defines);
        CodeOptions {
            opt_level: self.opt_level.unwrap_or(before.opt_level),
            passes: self.passes.clone().or(before.passes),
            math: self.math.unwrap_or(before.math),
            bounds: self.bounds.unwrap_or(before.bounds),
            debug_info: self.debug_info.unwrap_or(before.debug_info),
            block: self.block.or(before.block),
            defines: before.defines,
            fuel: self.fuel.or(before.fuel),
            verify_each: self.verify_each.unwrap_or(before.verify_each),
            dxc: self.dxc.clone().or(before.dxc),
        }
    }
}

fn opt_level(word: &Spanned<u8>) -> Result<OptLevel, Diagnostic> {
    Ok(match word.as_ref() {
        0 => OptLevel::O0,
        1 => OptLevel::O1,
        2 => OptLevel::O2,
        3 => OptLevel::O3,
        other => {
            let message = format!("there is no level {other}; there are 0 to 3");
            return Err(wrong(message, word.span().start));
        }
    })
}

/// What becomes of a warning.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LintLevel {
    Allow,
    Warn,
    Deny,
}

/// `lints = { warnings = "deny", unused = "allow" }`.
pub type RawLints = BTreeMap<Spanned<String>, LintLevel>;

/// The levels of a table. The order of its words does not matter: a lint outweighs a group, and a group outweighs `all` and `warnings`.
///
/// # Errors
/// `L1250` for a word that names nothing.
pub fn levels(raw: RawLints) -> Result<Levels, Diagnostic> {
    let rank = |word: &str| match word {
        "all" | "warnings" => 0,
        word if LINTS.iter().all(|lint| lint.name != word) => 1,
        _ => 2,
    };
    let mut words: Vec<(Spanned<String>, LintLevel)> = raw.into_iter().collect();
    words.sort_by_key(|(word, _)| rank(word.as_ref()));
    let mut levels = Levels::default();
    for (word, level) in words {
        let level = match level {
            LintLevel::Allow => Level::Allow,
            LintLevel::Warn => Level::Warn,
            LintLevel::Deny => Level::Deny,
        };
        levels.set(word.as_ref(), level).map_err(|unknown| {
            Diagnostic::error(codes::MANIFEST, unknown.to_string())
                .with_help("`luisac explain lints` lists them")
                .at_offset(word.span().start)
        })?;
    }
    Ok(levels)
}

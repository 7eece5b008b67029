//! `luisac.toml`: which kernels are baked, for which targets, into which archives.

use super::super::compile::{TargetChoice, check_block, pipeline_for};
use super::super::input::Input;
use super::super::options::CodeOptions;
use crate::codes;
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::Diagnostic;
use luisac_targets::OptLevel;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, de};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The file's name in a folder.
pub const NAME: &str = "luisac.toml";

/// A manifest that was read and checked.
pub struct Manifest {
    /// The file, for messages with its lines.
    pub file: Input,
    pub path: PathBuf,
    /// What relative paths start from.
    pub folder: PathBuf,
    pub archives: Vec<ArchiveSpec>,
    pub permutes: Vec<Permute>,
}

/// One archive.
pub struct ArchiveSpec {
    pub kernels: Vec<Placed>,
    /// Globs of what is left out.
    pub exclude: Vec<Placed>,
    pub targets: Vec<TargetChoice>,
    pub output: PathBuf,
    pub options: CodeOptions,
    pub libraries: Vec<PathBuf>,
}

/// A word of the manifest and the byte at which it stands.
#[derive(Clone, Debug)]
pub struct Placed {
    pub text: String,
    pub at: usize,
}

/// Kernels that are baked once for every combination of values.
pub struct Permute {
    /// A glob.
    pub kernels: Placed,
    /// Values of each argument.
    pub define: BTreeMap<String, Vec<String>>,
    /// Combinations that are left out: those that agree with all of a row.
    pub exclude: Vec<BTreeMap<String, String>>,
    /// Whether the kernel is baked as it was recorded too.
    pub plain: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    bake: OneOrMany<Bake>,
    #[serde(default)]
    permute: Vec<RawPermute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bake {
    kernels: Vec<Spanned<String>>,
    #[serde(default)]
    exclude: Vec<Spanned<String>>,
    targets: Vec<Spanned<String>>,
    output: Spanned<String>,
    #[serde(default)]
    options: Option<Spanned<Options>>,
    #[serde(default)]
    lib: Vec<String>,
}

/// As on the command line.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Options {
    opt_level: Option<Spanned<u8>>,
    passes: Option<String>,
    math: Option<MathMode>,
    bounds: Option<BoundsMode>,
    block: Option<[u32; 3]>,
    #[serde(default)]
    define: BTreeMap<String, Plain>,
    fuel: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPermute {
    kernels: Spanned<String>,
    define: Spanned<BTreeMap<String, Vec<Plain>>>,
    #[serde(default)]
    exclude: Vec<Spanned<BTreeMap<String, Plain>>>,
    #[serde(default)]
    plain: bool,
}

/// A value as the command line takes it: text, a number, a truth value.
struct Plain(String);

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

/// `[bake]` once, or `[[bake]]` for each archive.
struct OneOrMany<T>(Vec<T>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: DeserializeOwned> Visitor<'de> for Either<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("`[bake]` or `[[bake]]`")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Ok(OneOrMany(vec![T::deserialize(value::MapAccessDeserializer::new(map))?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = seq.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMany(all))
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// The manifest that a path means: the file itself, or the one in a folder.
pub fn locate(path: &Path) -> PathBuf {
    let path = if path.is_dir() { path.join(NAME) } else { path.to_owned() };
    // What is found under `.` is named without it.
    path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)
}

/// Reads a manifest.
///
/// # Errors
/// `L1250` with the place of what is wrong; `L1251` if there is none. The input is the manifest, if it could be read.
pub fn read(path: &Path) -> Result<Manifest, (Diagnostic, Option<Input>)> {
    let path = locate(path);
    let file = Input::read(&path).map_err(|d| {
        let help = "a manifest is a file `luisac.toml` with `[bake]`, `kernels = [\"kernels/**/*.json\"]`, \
                    `targets = [\"ptx:sm_80\"]` and `output = \"kernels.luisa\"`";
        (Diagnostic::error(codes::NO_MANIFEST, d.message).with_help(help), None)
    })?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    match parse(file.bytes(), &folder) {
        Ok((archives, permutes)) => Ok(Manifest { file, path, folder, archives, permutes }),
        Err(diagnostic) => Err((diagnostic, Some(file))),
    }
}

fn wrong(message: impl Into<String>, at: usize) -> Diagnostic {
    Diagnostic::error(codes::MANIFEST, message).at_offset(at)
}

fn parse(bytes: &[u8], folder: &Path) -> Result<(Vec<ArchiveSpec>, Vec<Permute>), Diagnostic> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| wrong("the manifest is no UTF-8 text", e.valid_up_to()))?;
    let file: File = toml::from_str(text).map_err(|e| {
        let message = e.message().replace(['\n', '\r'], " ");
        let error = Diagnostic::error(codes::MANIFEST, message);
        match e.span() {
            Some(span) => error.at_offset(span.start),
            None => error,
        }
    })?;
    if file.bake.0.is_empty() {
        return Err(wrong("there is nothing to bake", 0));
    }
    let mut archives: Vec<ArchiveSpec> = Vec::new();
    for bake in file.bake.0 {
        let at = bake.output.span().start;
        let spec = archive(bake, folder)?;
        if archives.iter().any(|other| other.output == spec.output) {
            let message = format!("two archives would be `{}`", spec.output.display());
            return Err(wrong(message, at));
        }
        archives.push(spec);
    }
    let permutes: Result<Vec<Permute>, Diagnostic> =
        file.permute.into_iter().map(permute).collect();
    Ok((archives, permutes?))
}

fn placed(words: Vec<Spanned<String>>) -> Vec<Placed> {
    let one = |w: Spanned<String>| Placed { at: w.span().start, text: w.into_inner() };
    words.into_iter().map(one).collect()
}

fn archive(bake: Bake, folder: &Path) -> Result<ArchiveSpec, Diagnostic> {
    let output = placed(vec![bake.output]).remove(0);
    if output.text.is_empty() {
        return Err(wrong("`output` is empty", output.at));
    }
    let options = options(bake.options)?;
    let mut targets: Vec<TargetChoice> = Vec::new();
    for word in placed(bake.targets) {
        let choice = TargetChoice::parse(&word.text)
            .map_err(|d| Diagnostic { offset: Some(word.at), ..d })?;
        if targets.iter().any(|other| other.label() == choice.label()) {
            let message = format!("the target `{}` stands here twice", choice.label());
            return Err(wrong(message, word.at));
        }
        pipeline_for(&options, &choice).map_err(|d| Diagnostic { offset: Some(word.at), ..d })?;
        targets.push(choice);
    }
    if targets.is_empty() {
        return Err(wrong("an archive needs at least one target", output.at));
    }
    Ok(ArchiveSpec {
        kernels: placed(bake.kernels),
        exclude: placed(bake.exclude),
        targets,
        output: folder.join(output.text),
        options,
        libraries: bake.lib.iter().map(|lib| folder.join(lib)).collect(),
    })
}

fn options(raw: Option<Spanned<Options>>) -> Result<CodeOptions, Diagnostic> {
    let at = raw.as_ref().map_or(0, |o| o.span().start);
    let raw = raw.map(Spanned::into_inner).unwrap_or_default();
    let default = CodeOptions::default();
    let opt_level = match raw.opt_level {
        None => default.opt_level,
        Some(level) => match level.as_ref() {
            0 => OptLevel::O0,
            1 => OptLevel::O1,
            2 => OptLevel::O2,
            3 => OptLevel::O3,
            other => {
                return Err(wrong(
                    format!("there is no level {other}; there are 0 to 3"),
                    level.span().start,
                ));
            }
        },
    };
    if let Some(block) = raw.block {
        check_block(block).map_err(|d| Diagnostic { offset: Some(at), ..d })?;
    }
    Ok(CodeOptions {
        opt_level,
        passes: raw.passes,
        math: raw.math.unwrap_or(default.math),
        bounds: raw.bounds.unwrap_or(default.bounds),
        block: raw.block,
        defines: raw.define.into_iter().map(|(name, value)| (name, value.0)).collect(),
        fuel: raw.fuel,
        ..default
    })
}

fn permute(raw: RawPermute) -> Result<Permute, Diagnostic> {
    let at = raw.define.span().start;
    let kernels = placed(vec![raw.kernels]).remove(0);
    let values = |all: Vec<Plain>| all.into_iter().map(|v| v.0).collect::<Vec<String>>();
    let define: BTreeMap<String, Vec<String>> =
        raw.define.into_inner().into_iter().map(|(name, all)| (name, values(all))).collect();
    if define.is_empty() || define.values().any(Vec::is_empty) {
        return Err(wrong("every argument of `define` needs a list of values", at));
    }
    let mut exclude = Vec::new();
    for row in raw.exclude {
        let at = row.span().start;
        let row: BTreeMap<String, String> =
            row.into_inner().into_iter().map(|(name, value)| (name, value.0)).collect();
        for (name, value) in &row {
            if !define.get(name).is_some_and(|all| all.contains(value)) {
                return Err(wrong(
                    format!("`define` has no `{name} = {value:?}` to leave out"),
                    at,
                ));
            }
        }
        exclude.push(row);
    }
    Ok(Permute { kernels, define, exclude, plain: raw.plain })
}

impl Manifest {
    /// The folders in which new files could match: the part of each word before its first pattern.
    pub fn watched_folders(&self) -> Vec<PathBuf> {
        let words = self.archives.iter().flat_map(|archive| &archive.kernels);
        let fixed = |word: &Placed| {
            let parts = Path::new(&word.text).components();
            let plain =
                parts.take_while(|p| !p.as_os_str().to_string_lossy().contains(['*', '?', '[']));
            self.folder.join(plain.collect::<PathBuf>())
        };
        let mut folders: Vec<PathBuf> = words.map(fixed).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

/// Combinations of a kernel at most.
pub const MAX_PERMUTATIONS: usize = 1 << 16;

impl Permute {
    /// All combinations that are not left out, in the order of the names and lists; nothing if there are too many.
    pub fn combinations(&self) -> Option<Vec<Vec<(String, String)>>> {
        let count = self.define.values().try_fold(1usize, |n, all| n.checked_mul(all.len()));
        if count.is_none_or(|n| n > MAX_PERMUTATIONS) {
            return None;
        }
        let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for (name, values) in &self.define {
            let longer = |row: &Vec<(String, String)>, value: &String| {
                let mut row = row.clone();
                row.push((name.clone(), value.clone()));
                row
            };
            all = all.iter().flat_map(|row| values.iter().map(move |v| longer(row, v))).collect();
        }
        let is_excluded = |row: &Vec<(String, String)>| {
            let agrees = |excluded: &BTreeMap<String, String>| {
                row.iter().all(|(name, value)| excluded.get(name).is_none_or(|v| v == value))
            };
            self.exclude.iter().any(agrees)
        };
        all.retain(|row| !is_excluded(row));
        Some(all)
    }
}

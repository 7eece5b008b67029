//! `luisac.toml`: which kernels are baked, for which targets, into which archives.

mod options;

use super::super::compile::{TargetChoice, pipeline_for};
use super::super::input::Input;
use super::super::options::CodeOptions;
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::lint::Levels;
use options::{Changes, Plain, RawLints, RawOptions};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor, value};
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
    /// Later ones win.
    pub overrides: Vec<Override>,
}

/// One archive.
pub struct ArchiveSpec {
    pub kernels: Vec<Placed>,
    /// Globs of what is left out.
    pub exclude: Vec<Placed>,
    pub targets: Vec<TargetChoice>,
    pub output: PathBuf,
    pub options: CodeOptions,
    /// What becomes of warnings.
    pub levels: Levels,
    pub libraries: Vec<PathBuf>,
}

/// Kernels that are compiled in another way than the rest.
pub struct Override {
    /// A glob.
    pub kernels: Placed,
    pub options: Changes,
    /// Instead of those of the archive.
    pub targets: Option<Vec<TargetChoice>>,
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
    #[serde(default, rename = "override")]
    overrides: Vec<RawOverride>,
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
    options: RawOptions,
    #[serde(default)]
    lints: RawLints,
    #[serde(default)]
    lib: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOverride {
    kernels: Spanned<String>,
    #[serde(default)]
    options: RawOptions,
    targets: Option<Vec<Spanned<String>>>,
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
        Ok(Parsed { archives, permutes, overrides }) => {
            Ok(Manifest { file, path, folder, archives, permutes, overrides })
        }
        Err(diagnostic) => Err((diagnostic, Some(file))),
    }
}

fn wrong(message: impl Into<String>, at: usize) -> Diagnostic {
    Diagnostic::error(codes::MANIFEST, message).at_offset(at)
}

/// The content of a manifest.
struct Parsed {
    archives: Vec<ArchiveSpec>,
    permutes: Vec<Permute>,
    overrides: Vec<Override>,
}

fn parse(bytes: &[u8], folder: &Path) -> Result<Parsed, Diagnostic> {
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
    let permutes: Result<_, Diagnostic> = file.permute.into_iter().map(permute).collect();
    let overrides: Result<_, Diagnostic> =
        file.overrides.into_iter().map(|raw| different(raw, folder, &archives)).collect();
    Ok(Parsed { permutes: permutes?, overrides: overrides?, archives })
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
    let options = Changes::read(bake.options, folder)?.apply(&CodeOptions::default());
    let targets = targets(bake.targets, &[&options])?;
    if targets.is_empty() {
        return Err(wrong("an archive needs at least one target", output.at));
    }
    Ok(ArchiveSpec {
        kernels: placed(bake.kernels),
        exclude: placed(bake.exclude),
        targets,
        output: folder.join(output.text),
        options,
        levels: options::levels(bake.lints)?,
        libraries: bake.lib.iter().map(|lib| folder.join(lib)).collect(),
    })
}

/// Reads targets, each of which must fit all these options.
fn targets(
    words: Vec<Spanned<String>>,
    options: &[&CodeOptions],
) -> Result<Vec<TargetChoice>, Diagnostic> {
    let mut targets: Vec<TargetChoice> = Vec::new();
    for word in placed(words) {
        let choice = TargetChoice::parse(&word.text)
            .map_err(|d| Diagnostic { offset: Some(word.at), ..d })?;
        if targets.iter().any(|other| other.label() == choice.label()) {
            let message = format!("the target `{}` stands here twice", choice.label());
            return Err(wrong(message, word.at));
        }
        for options in options {
            pipeline_for(options, &choice)
                .map_err(|d| Diagnostic { offset: Some(word.at), ..d })?;
        }
        targets.push(choice);
    }
    Ok(targets)
}

/// An override, tried on every archive that it could be about.
fn different(
    raw: RawOverride,
    folder: &Path,
    archives: &[ArchiveSpec],
) -> Result<Override, Diagnostic> {
    let kernels = placed(vec![raw.kernels]).remove(0);
    let changes = Changes::read(raw.options, folder)?;
    let changed: Vec<CodeOptions> =
        archives.iter().map(|archive| changes.apply(&archive.options)).collect();
    let own = raw.targets.map(|words| targets(words, &changed.iter().collect::<Vec<_>>()));
    let own = own.transpose()?;
    if own.as_ref().is_some_and(Vec::is_empty) {
        return Err(wrong("kernels need at least one target", kernels.at));
    }
    for (archive, options) in archives.iter().zip(&changed) {
        for target in own.as_ref().unwrap_or(&archive.targets) {
            pipeline_for(options, target)
                .map_err(|d| Diagnostic { offset: Some(kernels.at), ..d })?;
        }
    }
    Ok(Override { kernels, options: changes, targets: own })
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

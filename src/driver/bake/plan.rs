//! From a manifest to jobs: which files there are, which combinations, for which targets, and the key of each.

use super::super::compile::TargetChoice;
use super::super::input::{self, Input, starts_like_input};
use super::super::job::{self, Key};
use super::super::options::CodeOptions;
use super::super::program::ReadOptions;
use super::manifest::{ArchiveSpec, MAX_PERMUTATIONS, Manifest, Permute, Placed};
use super::source::Source;
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything that is to be done.
#[derive(Default)]
pub struct Plan {
    pub archives: Vec<ArchivePlan>,
    /// Files that the plan was made from beside the inputs: manifest and libraries.
    pub others: Vec<PathBuf>,
}

/// What goes into one archive.
pub struct ArchivePlan {
    pub output: PathBuf,
    pub sources: Vec<Source>,
    pub read: ReadOptions,
    /// In the order of the sources, their combinations, and the targets.
    pub jobs: Vec<Job>,
}

/// One input, with its constants, for one target.
pub struct Job {
    /// Position among the sources of the archive.
    pub source: usize,
    pub options: Arc<CodeOptions>,
    pub target: TargetChoice,
    pub key: Key,
}

/// A stable part of the jobs: number and count, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub index: u32,
    pub count: u32,
}

impl Shard {
    /// Whether a job belongs to this part. It depends on the job alone, so that other kernels may come and go.
    fn holds(self, label: &str, options: &CodeOptions, target: &str) -> bool {
        let name = format!("{label}\0{:?}\0{target}", options.defines);
        let hash = blake3::hash(name.as_bytes());
        let number = hash.as_bytes().iter().take(8).fold(0u64, |n, &b| n << 8 | u64::from(b));
        number % u64::from(self.count) == u64::from(self.index - 1)
    }

    /// `kernels.luisa` becomes `kernels.1-of-4.luisa`.
    fn name(self, output: &Path) -> PathBuf {
        let stem = output.file_stem().unwrap_or_default().to_string_lossy();
        let ending =
            output.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
        output.with_file_name(format!("{stem}.{}-of-{}{ending}", self.index, self.count))
    }
}

/// What is wrong, and whether the place that it has is one of the manifest.
pub struct PlanError {
    pub diagnostic: Diagnostic,
    pub in_manifest: bool,
}

impl From<Diagnostic> for PlanError {
    fn from(diagnostic: Diagnostic) -> PlanError {
        PlanError { in_manifest: diagnostic.offset.is_some(), diagnostic }
    }
}

/// Makes the plan of a manifest; of a part of it, if there is a shard.
///
/// # Errors
/// Globs that match nothing, files that cannot be read.
pub fn plan(manifest: &Manifest, shard: Option<Shard>) -> Result<Plan, PlanError> {
    let mut archives = Vec::new();
    let mut others = vec![manifest.path.clone()];
    let mut permuted = vec![false; manifest.permutes.len()];
    for spec in &manifest.archives {
        let files = files(spec, &manifest.folder)?;
        let combinations = Combinations::new(&manifest.permutes, &manifest.folder)?;
        let of_file = |file: &Path| combinations.of(file, &spec.options);
        for (file, _) in &files {
            for (i, used) in permuted.iter_mut().enumerate() {
                *used |= combinations.matches(i, file);
            }
        }
        others.extend(spec.libraries.iter().cloned());
        let recipe = Recipe {
            files,
            folder: &manifest.folder,
            targets: &spec.targets,
            libraries: &spec.libraries,
            output: &spec.output,
        };
        archives.push(recipe.plan(&of_file, shard)?);
    }
    if let Some(i) = permuted.iter().position(|used| !used) {
        let place = &manifest.permutes[i].kernels;
        let message = format!("`{}` is no kernel that is baked", place.text);
        return Err(Diagnostic::error(codes::MANIFEST, message).at_offset(place.at).into());
    }
    Ok(Plan { archives, others })
}

/// What a plan of one archive is made from, whoever asks.
pub struct Recipe<'a> {
    /// The inputs, and whether each was named rather than found: what was found and is no input is left out.
    pub files: Vec<(PathBuf, bool)>,
    /// What the names in messages start from.
    pub folder: &'a Path,
    pub targets: &'a [TargetChoice],
    pub libraries: &'a [PathBuf],
    pub output: &'a Path,
}

impl Recipe<'_> {
    /// The jobs, with `options_of` for the combinations of each file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn plan(
        &self,
        options_of: &(dyn Fn(&Path) -> Vec<Arc<CodeOptions>> + Sync),
        shard: Option<Shard>,
    ) -> Result<ArchivePlan, Diagnostic> {
        let libraries: Result<Vec<Input>, Diagnostic> =
            self.libraries.iter().map(|path| Input::read(path)).collect();
        let read = ReadOptions { libraries: libraries?, ..ReadOptions::default() };
        let hashes: Vec<blake3::Hash> =
            read.libraries.iter().map(|library| blake3::hash(library.bytes())).collect();
        type Found = Option<(Source, Vec<(Arc<CodeOptions>, TargetChoice, Key)>)>;
        let found: Result<Vec<Found>, Diagnostic> = self
            .files
            .par_iter()
            .map(|(path, named)| self.source(path, *named, &hashes, &options_of(path), shard))
            .collect();
        let (mut sources, mut jobs) = (Vec::new(), Vec::new());
        for (source, of_source) in found?.into_iter().flatten() {
            let number = sources.len();
            jobs.extend(of_source.into_iter().map(|(options, target, key)| Job {
                source: number,
                options,
                target,
                key,
            }));
            sources.push(source);
        }
        let output = shard.map_or_else(|| self.output.to_owned(), |s| s.name(self.output));
        Ok(ArchivePlan { output, sources, read, jobs })
    }

    #[allow(clippy::type_complexity)]
    fn source(
        &self,
        path: &Path,
        named: bool,
        libraries: &[blake3::Hash],
        options: &[Arc<CodeOptions>],
        shard: Option<Shard>,
    ) -> Result<Option<(Source, Vec<(Arc<CodeOptions>, TargetChoice, Key)>)>, Diagnostic> {
        let input = Input::read(path)?;
        if !named && !starts_like_input(input.bytes()) {
            return Ok(None);
        }
        let label = shown(path, self.folder);
        let hash = blake3::hash(input.bytes());
        let from = job::Sources { stem: &input.stem, input: hash, libraries, entries: &[] };
        let mut jobs = Vec::new();
        for options in options {
            for target in self.targets {
                let is_ours = shard.is_none_or(|s| s.holds(&label, options, &target.label()));
                if is_ours {
                    let key = job::key(&from, options, target);
                    jobs.push((options.clone(), target.clone(), key));
                }
            }
        }
        let source = Source::new(path.to_owned(), label, hash, input.bytes().len(), jobs.len());
        Ok(Some((source, jobs)))
    }
}

/// A path as messages show it, and as shards tell it: from the folder on, with `/`.
fn shown(path: &Path, folder: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// The files that an archive is made of, sorted, each once.
fn files(spec: &ArchiveSpec, folder: &Path) -> Result<Vec<(PathBuf, bool)>, PlanError> {
    let mut found = BTreeSet::new();
    for word in &spec.kernels {
        let matched = expand(word, folder)?;
        if matched.is_empty() {
            let message = format!("`{}` matches no file", word.text);
            return Err(Diagnostic::error(codes::MANIFEST, message).at_offset(word.at).into());
        }
        found.extend(matched);
    }
    let excluded: Result<Vec<glob::Pattern>, PlanError> =
        spec.exclude.iter().map(pattern).collect();
    let excluded = excluded?;
    // A name outweighs a pattern: where a file is both, it was meant.
    let mut files: Vec<(PathBuf, bool)> = Vec::new();
    for (path, named) in found {
        if excluded.iter().any(|p| matches(p, &path, folder)) {
            continue;
        }
        match files.last_mut().filter(|(last, _)| *last == path) {
            Some(last) => last.1 |= named,
            None => files.push((path, named)),
        }
    }
    Ok(files)
}

const MATCHING: glob::MatchOptions = glob::MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The whole pattern of a word: the folder taken literally, then the word.
fn whole(word: &Placed, folder: &Path) -> String {
    if folder.as_os_str().is_empty() || Path::new(&word.text).is_absolute() {
        return word.text.clone();
    }
    format!("{}/{}", glob::Pattern::escape(&folder.to_string_lossy()), word.text)
}

/// A word as a pattern for names that start from the folder.
fn pattern(word: &Placed) -> Result<glob::Pattern, PlanError> {
    let text = word.text.strip_prefix("./").unwrap_or(&word.text);
    glob::Pattern::new(text).map_err(|e| {
        let message = format!("`{}` is no pattern: {}", word.text, e.msg);
        Diagnostic::error(codes::MANIFEST, message).at_offset(word.at).into()
    })
}

fn matches(pattern: &glob::Pattern, path: &Path, folder: &Path) -> bool {
    pattern.matches_with(&shown(path, folder), MATCHING)
        || pattern.matches_path_with(path, MATCHING)
}

/// What a word means: one file, all inputs of a folder, or what a pattern matches.
fn expand(word: &Placed, folder: &Path) -> Result<Vec<(PathBuf, bool)>, PlanError> {
    let path = folder.join(&word.text);
    if path.is_dir() {
        return Ok(input::expand(&[path])?.into_iter().map(|file| (file, false)).collect());
    }
    if path.exists() {
        return Ok(vec![(path, true)]);
    }
    pattern(word)?;
    let matched = glob::glob_with(&whole(word, folder), MATCHING).map_err(|e| {
        let message = format!("`{}` is no pattern: {}", word.text, e.msg);
        Diagnostic::error(codes::MANIFEST, message).at_offset(word.at)
    })?;
    let mut files = Vec::new();
    for entry in matched {
        let path = entry.map_err(|e| {
            let message = format!("cannot read `{}`: {}", e.path().display(), e.error());
            PlanError::from(Diagnostic::error(codes::UNREADABLE, message))
        })?;
        if !path.is_dir() {
            files.push((path, false));
        }
    }
    Ok(files)
}

/// Arguments with their values.
type Row = Vec<(String, String)>;

/// The combinations of the manifest, ready to be asked for a file.
struct Combinations<'a> {
    folder: &'a Path,
    all: Vec<(glob::Pattern, Vec<Row>, &'a Permute)>,
}

impl<'a> Combinations<'a> {
    fn new(permutes: &'a [Permute], folder: &'a Path) -> Result<Self, PlanError> {
        let mut all = Vec::new();
        for permute in permutes {
            let combinations = permute.combinations().ok_or_else(|| {
                let message = format!("there are more than {MAX_PERMUTATIONS} combinations");
                Diagnostic::error(codes::MANIFEST, message).at_offset(permute.kernels.at)
            })?;
            all.push((pattern(&permute.kernels)?, combinations, permute));
        }
        Ok(Combinations { folder, all })
    }

    fn matches(&self, i: usize, file: &Path) -> bool {
        self.all.get(i).is_some_and(|(pattern, ..)| matches(pattern, file, self.folder))
    }

    /// The options of each combination of a file; what was recorded alone, if there are none.
    fn of(&self, file: &Path, base: &CodeOptions) -> Vec<Arc<CodeOptions>> {
        let mut rows: BTreeSet<Row> = BTreeSet::new();
        let matching: Vec<_> =
            self.all.iter().filter(|(p, ..)| matches(p, file, self.folder)).collect();
        if matching.is_empty() || matching.iter().any(|(_, _, permute)| permute.plain) {
            rows.insert(Vec::new());
        }
        rows.extend(matching.into_iter().flat_map(|(_, combinations, _)| combinations.clone()));
        rows.iter().map(|row| Arc::new(base.with_defines(row))).collect()
    }
}

//! From a manifest to jobs: which files there are, which combinations, for which targets, and the key of each.

use super::super::compile::TargetChoice;
use super::super::input::{self, Input, starts_like_input};
use super::super::job::{self, Key};
use super::super::names;
use super::super::options::CodeOptions;
use super::super::program::ReadOptions;
use super::manifest::{ArchiveSpec, MAX_PERMUTATIONS, Manifest, Override, Permute, Placed};
use super::source::Source;
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::json::InputKind;
use luisac_ast::lint::Levels;
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
    let special = Special::new(manifest)?;
    let mut used = vec![false; special.patterns().count()];
    for spec in &manifest.archives {
        let files = files(spec, &manifest.folder)?;
        for (used, (pattern, _)) in used.iter_mut().zip(special.patterns()) {
            *used |= files.iter().any(|(file, _)| matches(pattern, file, &manifest.folder));
        }
        others.extend(spec.libraries.iter().cloned());
        let recipe = Recipe {
            files,
            folder: &manifest.folder,
            libraries: &spec.libraries,
            levels: spec.levels.clone(),
            output: &spec.output,
        };
        let usual = Forms::new(&[Arc::new(spec.options.clone())], &spec.targets);
        let forms = |file: &Path| special.forms(file, spec).unwrap_or_else(|| usual.clone());
        archives.push(recipe.plan(&forms, shard)?);
    }
    if let Some((_, (_, place))) = used.iter().zip(special.patterns()).find(|(used, _)| !**used) {
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
    pub libraries: &'a [PathBuf],
    pub levels: Levels,
    pub output: &'a Path,
}

/// One of the forms that an input is compiled to.
struct Form {
    options: Arc<CodeOptions>,
    target: TargetChoice,
    /// The part of the key that does not depend on the input.
    way: Key,
}

/// What an input is compiled to: in each combination of options for each target. Most inputs of an archive share one.
#[derive(Clone)]
pub struct Forms(Arc<[Form]>);

impl Forms {
    pub fn new(options: &[Arc<CodeOptions>], targets: &[TargetChoice]) -> Forms {
        let form = |options: &Arc<CodeOptions>, target: &TargetChoice| Form {
            way: job::way(options, target),
            options: options.clone(),
            target: target.clone(),
        };
        Forms(options.iter().flat_map(|o| targets.iter().map(move |t| form(o, t))).collect())
    }
}

impl Recipe<'_> {
    /// The jobs, with `forms_of` for what each file is compiled to.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn plan(
        self,
        forms_of: &(dyn Fn(&Path) -> Forms + Sync),
        shard: Option<Shard>,
    ) -> Result<ArchivePlan, Diagnostic> {
        let libraries: Result<Vec<Input>, Diagnostic> =
            self.libraries.iter().map(|path| Input::read(path)).collect();
        let read =
            ReadOptions { libraries: libraries?, levels: self.levels, callables: Vec::new() };
        let hashes: Vec<blake3::Hash> =
            read.libraries.iter().map(|library| blake3::hash(library.bytes())).collect();
        let reader =
            Reader { folder: self.folder, libraries: &hashes, levels: &read.levels, shard };
        let found: Result<Vec<Found>, Diagnostic> = self
            .files
            .par_iter()
            .map(|(path, named)| reader.source(path, *named, &forms_of(path)))
            .collect();
        let (mut sources, mut jobs) = (Vec::new(), Vec::new());
        for (source, of_source) in found?.into_iter().flatten() {
            let number = sources.len();
            jobs.extend(of_source.into_iter().map(|job| Job { source: number, ..job }));
            sources.push(source);
        }
        let output = shard.map_or_else(|| self.output.to_owned(), |s| s.name(self.output));
        Ok(ArchivePlan { output, sources, read, jobs })
    }
}

/// An input with its jobs, whose numbers of the source are not there yet; nothing for a file that is no input.
type Found = Option<(Source, Vec<Job>)>;

/// What the inputs of an archive have in common.
struct Reader<'a> {
    folder: &'a Path,
    libraries: &'a [blake3::Hash],
    levels: &'a Levels,
    shard: Option<Shard>,
}

impl Reader<'_> {
    fn source(&self, path: &Path, named: bool, forms: &Forms) -> Result<Found, Diagnostic> {
        let input = Input::read(path)?;
        if !named && !starts_like_input(input.bytes()) {
            return Ok(None);
        }
        let label = shown(path, self.folder);
        let hash = blake3::hash(input.bytes());
        let from = job::Sources {
            stem: &input.stem,
            input: hash,
            libraries: self.libraries,
            entries: &[],
            levels: self.levels,
        };
        let mut jobs = Vec::new();
        for Form { options, target, way } in forms.0.iter() {
            let is_ours = |s: Shard| s.holds(&label, options, &target.label());
            if self.shard.is_none_or(is_ours) {
                let key = job::key(&from, way);
                let (options, target) = (options.clone(), target.clone());
                jobs.push(Job { source: 0, options, target, key });
            }
        }
        let source = Source::new(path.to_owned(), label, hash, input.bytes().len())
            .with_text(pseudo_code_of(&input, &jobs))
            .with_jobs(jobs.len());
        Ok(Some((source, jobs)))
    }
}

/// The name of the pseudo-code that line information of these jobs refers to. XIR text has none.
fn pseudo_code_of(input: &Input, jobs: &[Job]) -> Option<String> {
    let is_wanted = jobs.iter().any(|job| job.options.debug_info);
    (is_wanted && input.kind() != InputKind::XirText).then(|| names::pseudo_code(&input.stem))
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

/// What the manifest says of some kernels only, ready to be asked for a file.
struct Special<'a> {
    folder: &'a Path,
    permutes: Vec<(glob::Pattern, Vec<Row>, &'a Permute)>,
    overrides: Vec<(glob::Pattern, &'a Override)>,
}

impl<'a> Special<'a> {
    fn new(manifest: &'a Manifest) -> Result<Self, PlanError> {
        let mut permutes = Vec::new();
        for permute in &manifest.permutes {
            let combinations = permute.combinations().ok_or_else(|| {
                let message = format!("there are more than {MAX_PERMUTATIONS} combinations");
                Diagnostic::error(codes::MANIFEST, message).at_offset(permute.kernels.at)
            })?;
            permutes.push((pattern(&permute.kernels)?, combinations, permute));
        }
        let overrides = manifest.overrides.iter().map(|o| Ok((pattern(&o.kernels)?, o)));
        let overrides = overrides.collect::<Result<_, PlanError>>()?;
        Ok(Special { folder: &manifest.folder, permutes, overrides })
    }

    /// All patterns, with the words that they were.
    fn patterns(&self) -> impl Iterator<Item = (&glob::Pattern, &Placed)> {
        let permutes =
            self.permutes.iter().map(|(pattern, _, permute)| (pattern, &permute.kernels));
        permutes.chain(self.overrides.iter().map(|(pattern, over)| (pattern, &over.kernels)))
    }

    /// What a file of an archive is compiled to, if anything is said of it.
    fn forms(&self, file: &Path, spec: &ArchiveSpec) -> Option<Forms> {
        let is_about = |pattern: &glob::Pattern| matches(pattern, file, self.folder);
        if !self.patterns().any(|(pattern, _)| is_about(pattern)) {
            return None;
        }
        let (mut base, mut targets) = (spec.options.clone(), &spec.targets);
        for (_, over) in self.overrides.iter().filter(|(pattern, _)| is_about(pattern)) {
            base = over.options.apply(&base);
            targets = over.targets.as_ref().unwrap_or(targets);
        }
        let matching: Vec<_> = self.permutes.iter().filter(|(p, ..)| is_about(p)).collect();
        let mut rows: BTreeSet<&[(String, String)]> = BTreeSet::new();
        // What was recorded alone, if there are no combinations.
        if matching.is_empty() || matching.iter().any(|(_, _, permute)| permute.plain) {
            rows.insert(&[]);
        }
        rows.extend(matching.iter().flat_map(|(_, rows, _)| rows.iter().map(Vec::as_slice)));
        let options: Vec<_> = rows.iter().map(|row| Arc::new(base.with_defines(row))).collect();
        Some(Forms::new(&options, targets))
    }
}

//! What an archive holds already, and putting it together anew.

use super::super::job::{self, Key};
use super::plan::{ArchivePlan, Job};
use crate::codes;
use luisac_artifact::{Archive, ArchiveError, ArchiveWriter, Variant};
use luisac_ast::diagnostic::{Code, Diagnostic};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What is wrong with an archive, as a diagnostic.
pub fn archive_error(error: &ArchiveError) -> Diagnostic {
    let code = Code::parse(error.code()).unwrap_or(codes::CANNOT_WRITE);
    Diagnostic::error(code, error.to_string()).with_help(error.help())
}

/// The archive that was there before. One that cannot be read holds nothing.
pub struct Old {
    archive: Option<Archive>,
    /// Positions of the whole variants under each key.
    by_key: HashMap<Key, Vec<usize>>,
    /// All that it holds fits its checksums.
    is_whole: bool,
}

impl Old {
    pub fn open(path: &Path) -> Old {
        let archive = Archive::open(path).ok().filter(|a| a.compiler() == job::VERSION);
        let variants: Vec<Variant> = archive.iter().flat_map(Archive::variants).collect();
        let whole: Vec<bool> = variants.par_iter().map(Variant::is_whole).collect();
        let mut by_key: HashMap<Key, Vec<usize>> = HashMap::new();
        let mut broken = HashSet::new();
        for (i, (variant, is_whole)) in variants.iter().zip(&whole).enumerate() {
            if variant.key() == &Key::default() {
                continue;
            }
            if *is_whole {
                by_key.entry(*variant.key()).or_default().push(i);
            } else {
                broken.insert(*variant.key());
            }
        }
        by_key.retain(|key, _| !broken.contains(key));
        let is_whole = whole.iter().all(|whole| *whole);
        drop(variants);
        Old { archive, by_key, is_whole }
    }

    /// Whether all kernels of a job are there.
    pub fn holds(&self, key: &Key) -> bool {
        self.by_key.contains_key(key)
    }

    /// Whether the archive is just what these jobs make, all of which it holds.
    pub fn is_made_of(&self, jobs: &[Job]) -> bool {
        let keys: HashSet<&Key> = jobs.iter().map(|job| &job.key).collect();
        let count: usize = keys.iter().filter_map(|key| self.by_key.get(*key)).map(Vec::len).sum();
        self.archive.as_ref().is_some_and(|archive| archive.variants().len() == count)
            && jobs.iter().all(|job| self.holds(&job.key))
    }

    fn variants<'a>(&'a self, key: &Key) -> impl Iterator<Item = Variant<'a>> {
        let places = self.by_key.get(key).into_iter().flatten();
        places.filter_map(|&i| self.archive.as_ref()?.variants().nth(i))
    }

    fn size(&self) -> u64 {
        self.archive.as_ref().map_or(0, |a| a.size() as u64)
    }
}

/// Writes the archive of these parts and of what the old one holds, unless that would be the old one. Gives its bytes, and whether
/// it was written.
pub fn write(
    plan: &ArchivePlan,
    old: &Old,
    made: &HashMap<usize, &Archive>,
) -> Result<(u64, bool), Diagnostic> {
    if made.is_empty() && old.is_made_of(&plan.jobs) {
        return Ok((old.size(), false));
    }
    let mut writer = ArchiveWriter::new(job::VERSION);
    let mut owners: HashMap<String, usize> = HashMap::new();
    for (i, job) in plan.jobs.iter().enumerate() {
        let variants: Vec<Variant> = match made.get(&i) {
            Some(parts) => parts.variants().collect(),
            None => old.variants(&job.key).collect(),
        };
        for variant in variants {
            let other = owners.insert(variant.label(), job.source);
            if let Some(other) = other.filter(|other| *other != job.source) {
                return Err(clash(plan, &variant, [other, job.source]));
            }
            writer.copy(&variant).map_err(|e| archive_error(&e))?;
        }
    }
    if writer.is_empty() {
        // Everything failed: what there was before is better than nothing.
        return Ok((old.size(), false));
    }
    let packed = writer.finish().map_err(|e| archive_error(&e))?;
    if old.archive.as_ref().is_some_and(|a| old.is_whole && packed.is_indexed_as(a.bytes())) {
        return Ok((old.size(), false));
    }
    sweep(&plan.output);
    if let Some(folder) = plan.output.parent().filter(|f| !f.as_os_str().is_empty()) {
        // If it cannot be made, writing says so.
        let _ = std::fs::create_dir_all(folder);
    }
    packed.write(&plan.output).map_err(|e| {
        Diagnostic::error(codes::CANNOT_WRITE, e.to_string())
            .with_help(e.help().replace(", with `-o`", "").replace(" with `-o`", ""))
    })?;
    Ok((packed.size() as u64, true))
}

fn clash(plan: &ArchivePlan, variant: &Variant, sources: [usize; 2]) -> Diagnostic {
    let [first, second] = sources.map(|i| &plan.sources[i].label);
    let message = format!("both `{first}` and `{second}` hold a kernel `{}`", variant.kernel());
    let code = Code::parse("L1034").unwrap_or(codes::OUTPUT_CLASH);
    Diagnostic::error(code, message).with_help(
        "give the kernels different names, or bake them into two archives with `[[bake]]`",
    )
}

/// Removes what processes that were killed left beside an output, once it is old enough to belong to none that runs.
fn sweep(output: &Path) {
    let (Some(folder), Some(name)) = (output.parent(), output.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!(".{}.", name.to_string_lossy());
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_old = || is_older(&entry, Duration::from_secs(600));
        if name.starts_with(&prefix) && name.ends_with(".tmp") && is_old() {
            // Another process may have been quicker.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn is_older(entry: &std::fs::DirEntry, than: Duration) -> bool {
    let age = |time: SystemTime| SystemTime::now().duration_since(time).ok();
    let modified = entry.metadata().and_then(|m| m.modified());
    modified.ok().and_then(age).is_some_and(|age| age > than)
}

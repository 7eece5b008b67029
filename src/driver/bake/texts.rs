//! The pseudo-code that line information refers to: a file for each input, beside the archive.

use super::pack::Old;
use super::plan::{ArchivePlan, Plan};
use super::source::Source;
use crate::codes;
use luisac_artifact::write_whole;
use luisac_ast::diagnostic::Diagnostic;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

fn path(archive: &ArchivePlan, source: &Source) -> Option<PathBuf> {
    source.text.as_ref().map(|name| archive.output.with_file_name(name))
}

/// Refuses a plan by which the texts of two inputs would be one file.
///
/// # Errors
/// `L1211` with both inputs.
pub fn refuse_clashes(plan: &Plan) -> Result<(), Diagnostic> {
    let mut owners: HashMap<PathBuf, &Path> = HashMap::new();
    for archive in &plan.archives {
        for source in &archive.sources {
            let Some(path) = path(archive, source) else { continue };
            let message = format!("the pseudo-code of both `{}` and", source.label);
            match owners.insert(path.clone(), &source.path) {
                Some(other) if other != source.path => {
                    let (other, path) = (other.display(), path.display());
                    let message = format!("{message} `{other}` would be `{path}`");
                    return Err(Diagnostic::error(codes::OUTPUT_CLASH, message).with_help(
                        "rename one of the inputs, or bake them into archives in different folders",
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The texts of an archive that are not there.
pub fn missing(archive: &ArchivePlan) -> Vec<PathBuf> {
    let paths = archive.sources.iter().filter_map(|source| path(archive, source));
    paths.filter(|path| !path.exists()).collect()
}

/// Writes the texts of an archive: those that are not there, and those of inputs that the old archive does not know.
///
/// # Errors
/// A file that cannot be written. Inputs that cannot be read were told with their jobs.
pub fn write(archive: &ArchivePlan, old: &Old) -> Result<(), Diagnostic> {
    let new = archive.jobs.iter().filter(|job| !old.holds(&job.key));
    let changed: BTreeSet<usize> = new.map(|job| job.source).collect();
    let write_one = |(i, source): (usize, &Source)| {
        let Some(path) = path(archive, source) else { return Ok(()) };
        if !changed.contains(&i) && path.exists() {
            return Ok(());
        }
        let Ok(text) = source.pseudo_code(&archive.read) else { return Ok(()) };
        if std::fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            // If it cannot be made, writing says so.
            let _ = std::fs::create_dir_all(folder);
        }
        write_whole(&path, text.as_bytes())
            .map_err(|e| Diagnostic::error(codes::CANNOT_WRITE, e.to_string()))
    };
    archive.sources.par_iter().enumerate().try_for_each(write_one)
}

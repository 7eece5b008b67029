//! The recorded kernels that tests read, where they are at hand.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// The folder of recorded kernels; `None`, with a printed line, where it is absent.
pub fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    // A checkout beside the main one is one level deeper.
    let folder = if folder.is_dir() {
        folder
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus")
    };
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no corpus at {}", folder.display());
    None
}

/// Kernels longer than this are left out of slow tests in builds that are not optimised.
const LONG: u64 = 300_000;

/// As [`kernels`], without the longest in builds that are not optimised.
pub fn short_kernels(folders: &[&str]) -> Vec<PathBuf> {
    let mut found = kernels(folders);
    found.retain(|p| !cfg!(debug_assertions) || std::fs::metadata(p).is_ok_and(|m| m.len() < LONG));
    found
}

/// Every kernel below some folders of the corpus, in order of their names.
pub fn kernels(folders: &[&str]) -> Vec<PathBuf> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let mut pending: Vec<PathBuf> = folders.iter().map(|f| corpus.join(f)).collect();
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                pending.push(path);
            } else if name.ends_with(".json")
                && !name.ends_with(".expect.json")
                && name != "sizes.json"
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

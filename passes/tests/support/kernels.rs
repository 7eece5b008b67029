//! The recorded kernels below a folder.

use luisac_xir::{Module, from_ast};
use std::path::{Path, PathBuf};

/// All kernels under a folder, in order; empty if it is absent.
pub fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "json")
                && !path.to_string_lossy().ends_with(".expect.json")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The module of a kernel with all its functions; none if it cannot be read or lowered.
pub fn lower(path: &Path) -> Option<Module> {
    let bytes = std::fs::read(path).ok()?;
    let library = luisac_ast::json::read(&bytes).ok()?;
    from_ast::lower_all(&library, &from_ast::Options::default()).ok()
}

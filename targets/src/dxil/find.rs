//! Where DXC's library is looked for.
//!
//! It is code that runs in this process, so it is only taken from places that whoever installed the program or set the
//! environment controls, never from the current folder.

use std::path::{Path, PathBuf};

/// The variable that names the library.
pub const VARIABLE: &str = "LUISAC_DXC";

/// How the library's file is called on this system.
pub fn file_name() -> &'static str {
    if cfg!(windows) {
        "dxcompiler.dll"
    } else if cfg!(target_os = "macos") {
        "libdxcompiler.dylib"
    } else {
        "libdxcompiler.so"
    }
}

/// What may be loaded, in the order in which it is tried.
#[derive(Debug, PartialEq, Eq)]
pub enum Candidates {
    /// The user named it: nothing else will do.
    Named {
        /// The file, or the folder that holds it.
        path: PathBuf,
        /// By what: `--dxc` or the variable.
        by: &'static str,
    },
    /// Files that are there, then what the system's loader finds by name.
    Usual(Vec<PathBuf>),
}

/// What may be loaded here.
pub fn candidates(option: Option<&Path>) -> Candidates {
    if let Some(path) = option {
        return Candidates::Named { path: inside(path), by: "--dxc" };
    }
    let variable = std::env::var_os(VARIABLE).filter(|v| !v.is_empty());
    if let Some(path) = variable {
        return Candidates::Named { path: inside(Path::new(&path)), by: VARIABLE };
    }
    let mut found = Vec::new();
    for folder in folders() {
        found.extend(libraries(&folder));
    }
    found.push(PathBuf::from(file_name()));
    Candidates::Usual(found)
}

/// The library of a folder, or the path itself.
fn inside(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    libraries(path).into_iter().next().unwrap_or_else(|| path.join(file_name()))
}

/// The files of a folder that are DXC's library: some packages add the machine to the name, as in `libdxcompiler_x86_64.so`.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let (stem, extension) = file_name().rsplit_once('.').unwrap_or((file_name(), ""));
    let plain = folder.join(file_name());
    let machine = folder.join(format!("{stem}_{}.{extension}", std::env::consts::ARCH));
    [plain, machine].into_iter().filter(|p| p.is_file()).collect()
}

/// The folders of a Python package that carries the library.
const PACKAGE: &str = "compushady/backends";

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let executable = std::env::current_exe().and_then(|p| p.canonicalize()).ok();
    if let Some(beside) = executable.as_deref().and_then(Path::parent) {
        folders.push(beside.to_owned());
        folders.push(beside.join("../lib"));
        // The project's own tools, where the program was built inside the project.
        folders.extend(beside.ancestors().map(|a| a.join(".tools/python").join(PACKAGE)));
    }
    if let Some(sdk) = std::env::var_os("VULKAN_SDK") {
        folders.extend(["lib", "bin"].map(|f| Path::new(&sdk).join(f)));
    }
    folders.extend(python_folders().into_iter().map(|f| f.join(PACKAGE)));
    folders
}

/// Folders in which Python packages lie.
fn python_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PYTHONPATH").unwrap_or_default();
    // An empty entry would be the current folder, and so would a relative one be inside it.
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|p| p.is_absolute()).collect();
    let home = std::env::home_dir().map(|h| h.join(".local"));
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let prefixes = [environment, home, Some("/usr/local".into()), Some("/usr".into())];
    for lib in prefixes.into_iter().flatten().map(|p| p.join("lib")) {
        let Ok(entries) = std::fs::read_dir(&lib) else { continue };
        let mut versions: Vec<PathBuf> = entries
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with("python3"))
            .map(|e| e.path())
            .collect();
        versions.sort();
        for version in versions {
            folders.extend(["site-packages", "dist-packages"].map(|f| version.join(f)));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_names_is_taken_alone() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let named = |path: &Path| candidates(Some(path));
        let file = here.join("Cargo.toml");
        assert_eq!(named(&file), Candidates::Named { path: file.clone(), by: "--dxc" });
        let folder = Candidates::Named { path: here.join(file_name()), by: "--dxc" };
        assert_eq!(named(here), folder);
    }

    #[test]
    fn no_usual_place_is_relative_but_the_bare_name() {
        let Candidates::Usual(found) = candidates(None) else { return };
        let (last, files) = found.split_last().expect("the name itself");
        assert_eq!(last, Path::new(file_name()));
        assert!(files.iter().all(|p| p.is_absolute()), "{files:?}");
    }
}

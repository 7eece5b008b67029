//! Names the sources that the compiler is built from, so that a cache tells two builds of one version apart.

use std::path::{Path, PathBuf};

/// What decides about the code that comes out. A package from a registry has its own sources only; its version says the rest.
const PARTS: [&str; 7] =
    ["src", "ast/src", "xir/src", "passes/src", "targets/src", "artifact/src", "Cargo.lock"];

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for part in PARTS {
        let path = root.join(part);
        if path.exists() {
            println!("cargo::rerun-if-changed={part}");
            add(&mut hash, &path, Path::new(part));
        }
    }
    println!("cargo::rustc-env=LUISAC_SOURCES={:016x}", hash.0);
}

/// Adds the files under a path by name and content.
fn add(hash: &mut Fnv, path: &Path, name: &Path) {
    let mut pending = vec![(path.to_owned(), name.to_owned())];
    let mut files = Vec::new();
    while let Some((path, name)) = pending.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => {
                pending.extend(entries.flatten().map(|e| (e.path(), name.join(e.file_name()))))
            }
            Err(_) => files.push((name, path)),
        }
    }
    files.sort();
    for (name, path) in files {
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&std::fs::read(path).unwrap_or_default());
    }
}

/// FNV-1a of 64 bits. A build script with dependencies would be built before everything else.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

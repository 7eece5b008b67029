//! What DXIL needs: DXC, and the tool with which tests run it.

use std::path::PathBuf;

use crate::run::{Result, cargo, on_path, root, say, status, tools};
use crate::setup::debian;

/// Debian packages that `tools/dxil-to-spirv` is built with, and why.
const PACKAGES: [(&str, &str); 3] = [
    ("cmake", "it builds the library that reads DXIL"),
    ("g++", "the C++ compiler for it"),
    ("libclang-dev", "it reads the library's header"),
];

/// Builds the tool that lets tests run DXIL on Vulkan devices. It takes minutes, so nothing else asks for it.
pub fn setup() -> Result<()> {
    if on_path("dpkg-query").is_some() {
        debian(&PACKAGES)?;
    }
    say("building tools/dxil-to-spirv; this takes some minutes");
    let manifest = root().join("tools/dxil-to-spirv/Cargo.toml");
    let mut build = cargo(&["build", "--release", "--manifest-path"]);
    status(build.arg(manifest).arg("--target-dir").arg(folder()))?;
    say("tests that run DXIL will run now");
    Ok(())
}

fn folder() -> PathBuf {
    tools().join("dxil-to-spirv")
}

/// The tool, if it has been built.
pub fn to_spirv() -> Option<PathBuf> {
    let name = format!("dxil-to-spirv{}", std::env::consts::EXE_SUFFIX);
    Some(folder().join("release").join(name)).filter(|p| p.is_file())
}

//! What a build script sees: outputs, what cargo is told, errors.

use luisac_build::{Build, OptLevel};
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// A new empty folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it is there");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn archives_and_bindings_go_to_the_folder_and_nowhere_else() {
    let out = Folder::new("build-out");
    let build = || Build::new().file(fixture("saxpy.json")).target("spirv").out_dir(&out.0);
    build().compile().unwrap();
    assert_eq!(out.names(), ["kernels.luisa", "kernels.luisa.rs"]);
    let bindings = out.text("kernels.luisa.rs");
    for line in [
        "pub struct Saxpy(pub ::luisac_runtime::Kernel);",
        "pub unsafe fn load(device: &::luisac_runtime::Device)",
        "argument_0: &::luisac_runtime::Buffer<f32>,",
        "argument_1: &::luisac_runtime::Buffer<f32>,",
        "argument_2: f32,",
        "include_archive!(path: \"kernels.luisa\")",
    ] {
        assert!(bindings.contains(line), "no `{line}` in\n{bindings}");
    }
    // What is up to date is not written again.
    let time = |name: &str| std::fs::metadata(out.0.join(name)).and_then(|m| m.modified()).unwrap();
    let before = (time("kernels.luisa"), time("kernels.luisa.rs"));
    build().compile().unwrap();
    assert_eq!((time("kernels.luisa"), time("kernels.luisa.rs")), before);
    build().opt_level(OptLevel::O1).compile().unwrap();
    assert_ne!(time("kernels.luisa"), before.0);
}

/// Kernels that test their indices are loaded without `unsafe`; permutations and structures have their forms.
#[test]
fn bindings_say_what_a_kernel_takes() {
    let out = Folder::new("build-bindings");
    Build::new()
        .file(fixture("saxpy.json"))
        .permutation(fixture("saxpy.json"), [("2", "1.0")])
        .permutation(fixture("saxpy.json"), [("2", "2.0")])
        .file(fixture("structures.json"))
        .file(fixture("image_mirror.json"))
        .target("spirv")
        .bounds(luisac_build::BoundsMode::Clamp)
        .archive("all.luisa")
        .out_dir(&out.0)
        .compile()
        .unwrap();
    let bindings = out.text("all.luisa.rs");
    for line in [
        "pub fn load(device: &::luisac_runtime::Device)",
        "pub struct Structure0 {",
        "impl ::luisac_runtime::Value for Structure0 {",
        "&::luisac_runtime::Buffer<Structure0>,",
        "pub m2: ::luisac_runtime::f16,",
        "&::luisac_runtime::Image",
    ] {
        assert!(bindings.contains(line), "no `{line}` in\n{bindings}");
    }
    assert_eq!(bindings.matches("pub struct Saxpy").count(), 1);
}

#[test]
fn errors_read_as_on_the_command_line() {
    let out = Folder::new("build-errors");
    let wrong = out.0.join("wrong.json");
    std::fs::write(&wrong, "{\n  \"types\": [],\n  \"functions\": 3\n}").unwrap();
    let build = |b: Build| b.out_dir(&out.0).compile().unwrap_err().to_string();
    let said = build(Build::new().file(&wrong).target("spirv"));
    assert!(said.contains("wrong.json:3") && said.contains("\"functions\": 3"), "{said}");
    let said = build(Build::new().file(&wrong).target("gpu"));
    assert!(said.contains("L0908"), "{said}");
    let said = build(Build::new().file(out.0.join("none.json")).target("spirv"));
    assert!(said.contains("L1200") && said.contains("none.json"), "{said}");
    let said = build(Build::new().file(&wrong).target("spirv").archive("../out.luisa"));
    assert!(said.contains("OUT_DIR"), "{said}");
    let said = build(Build::new().target("spirv"));
    assert!(said.contains("nothing is to be compiled"), "{said}");
    assert_eq!(out.names(), ["wrong.json"]);
}

#[test]
fn manifests_bake_into_the_folder() {
    let (out, package) = (Folder::new("build-manifest"), Folder::new("build-package"));
    std::fs::create_dir(package.0.join("k")).unwrap();
    std::fs::copy(fixture("saxpy.json"), package.0.join("k/saxpy.json")).unwrap();
    let manifest = package.0.join("luisac.toml");
    std::fs::write(
        &manifest,
        "[bake]\nkernels = [\"k/*\"]\ntargets = [\"spirv\"]\noutput = \"deep/own.luisa\"\n",
    )
    .unwrap();
    Build::new().manifest(&manifest).out_dir(&out.0).compile().unwrap();
    assert_eq!(out.names(), ["own.luisa", "own.luisa.rs"]);
    assert_eq!(package.names(), ["k", "luisac.toml"]);
    std::fs::write(&manifest, "[bake]\nkernel = 1\n").unwrap();
    let said = Build::new().manifest(&manifest).out_dir(&out.0).compile().unwrap_err().to_string();
    assert!(said.contains("luisac.toml:2:1"), "{said}");
}

//! The face for build scripts: kernels become an archive in `OUT_DIR`, with Rust bindings beside it.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), luisac::BuildError> {
//!     luisac::Build::new().file("kernels/blur.json").target("ptx:sm_80").archive("kernels.luisa").compile()
//! }
//! ```
//!
//! The program then takes the archive with `luisac_runtime::include_archive!("kernels.luisa")`, or a structure for each kernel with
//! `luisac_runtime::include_kernels!("kernels.luisa")`.

mod bindings;
mod error;

use crate::codes;
use crate::driver::bake::manifest::{self, Manifest};
use crate::driver::bake::plan::{Forms, Plan, Recipe, plan};
use crate::driver::bake::{Event, How, bake};
use crate::driver::cache::Cache;
use crate::driver::compile::{TargetChoice, pipeline_for};
use crate::driver::options::CodeOptions;
use luisac_artifact::{Archive, write_whole};
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::lint::Levels;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use crate::driver::options::CodeOptions as BuildOptions;
pub use error::BuildError;
pub use luisac_artifact::metadata::{BoundsMode, MathMode};
pub use luisac_ast::lint::Level as LintLevel;
pub use luisac_targets::OptLevel;

/// What a build script wants compiled.
#[derive(Clone, Debug, Default)]
pub struct Build {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
    targets: Vec<String>,
    archive: Option<PathBuf>,
    manifest: Option<PathBuf>,
    options: CodeOptions,
    permutations: Vec<(PathBuf, Vec<(String, String)>)>,
    lints: Vec<(String, LintLevel)>,
    out: Option<PathBuf>,
}

impl Build {
    /// Nothing so far, with the options that the command line has by default.
    #[must_use]
    pub fn new() -> Build {
        Build::default()
    }

    /// A kernel's file. Paths are relative to the package.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Build {
        self.files.push(path.into());
        self
    }

    /// All inputs under a folder, those that come later too.
    #[must_use]
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Build {
        self.folders.push(path.into());
        self
    }

    /// A library whose callables the kernels may call.
    #[must_use]
    pub fn library(mut self, path: impl Into<PathBuf>) -> Build {
        self.libraries.push(path.into());
        self
    }

    /// A target as on the command line: `ptx:sm_90`, `cpu:x86-64-v3`; at least one.
    #[must_use]
    pub fn target(mut self, target: impl Into<String>) -> Build {
        self.targets.push(target.into());
        self
    }

    /// The archive's name in `OUT_DIR`; `kernels.luisa` if nothing is said.
    #[must_use]
    pub fn archive(mut self, name: impl Into<PathBuf>) -> Build {
        self.archive = Some(name.into());
        self
    }

    /// Bakes what a manifest says instead; its archives go to `OUT_DIR` by their names.
    #[must_use]
    pub fn manifest(mut self, path: impl Into<PathBuf>) -> Build {
        self.manifest = Some(path.into());
        self
    }

    /// The level of optimisation.
    #[must_use]
    pub fn opt_level(mut self, level: OptLevel) -> Build {
        self.options.opt_level = level;
        self
    }

    /// The rules of floating point.
    #[must_use]
    pub fn math(mut self, math: MathMode) -> Build {
        self.options.math = math;
        self
    }

    /// What an index out of range does. Kernels that test their indices can be loaded without `unsafe`.
    #[must_use]
    pub fn bounds(mut self, bounds: BoundsMode) -> Build {
        self.options.bounds = bounds;
        self
    }

    /// Line information, in terms of pseudo-code that is written beside the archive.
    #[must_use]
    pub fn debug_info(mut self, wanted: bool) -> Build {
        self.options.debug_info = wanted;
        self
    }

    /// What becomes of a warning: of a lint by name, a group, `warnings` or `all`. Later calls win.
    #[must_use]
    pub fn lint(mut self, name: impl Into<String>, level: LintLevel) -> Build {
        self.lints.push((name.into(), level));
        self
    }

    /// All options at once.
    #[must_use]
    pub fn options(mut self, options: BuildOptions) -> Build {
        self.options = options;
        self
    }

    /// A uniform argument of every kernel made constant, by position or name.
    #[must_use]
    pub fn define(mut self, argument: impl Into<String>, value: impl Into<String>) -> Build {
        self.options.defines.push((argument.into(), value.into()));
        self
    }

    /// One permutation of a file's kernels: these arguments made constant. A file with permutations is compiled in these only.
    #[must_use]
    pub fn permutation<N: Into<String>, V: Into<String>>(
        mut self,
        file: impl Into<PathBuf>,
        defines: impl IntoIterator<Item = (N, V)>,
    ) -> Build {
        let mut defines: Vec<_> = defines.into_iter().map(|(n, v)| (n.into(), v.into())).collect();
        defines.sort();
        self.permutations.push((file.into(), defines));
        self
    }

    /// Another folder than `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Build {
        self.out = Some(folder.into());
        self
    }

    /// Compiles what is not compiled yet, and writes the archive and its bindings. Says on standard output what the build depends on, as
    /// cargo wants it.
    ///
    /// # Errors
    /// All that is wrong with kernels and options, as the command line shows it.
    pub fn compile(self) -> Result<(), BuildError> {
        let out = self.out.clone().or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from));
        let out = out.ok_or_else(|| {
            let message = "there is no OUT_DIR: this is no build script of cargo";
            error(codes::CANNOT_WRITE, message, "give a folder with `out_dir`")
        })?;
        println!("cargo::rerun-if-env-changed=LUISAC_CACHE");
        let plan = match &self.manifest {
            Some(path) => plan_of_manifest(path, &out)?,
            None => self.plan(&out)?,
        };
        for path in plan
            .others
            .iter()
            .chain(plan.archives.iter().flat_map(|a| a.sources.iter().map(|s| &s.path)))
        {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        make(&plan)
    }

    fn plan(&self, out: &Path) -> Result<Plan, BuildError> {
        for path in self.files.iter().chain(&self.folders).chain(&self.libraries) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        let output =
            out.join(own_name(self.archive.as_deref().unwrap_or(Path::new("kernels.luisa")))?);
        let mut targets = Vec::new();
        for word in &self.targets {
            let choice = TargetChoice::parse(word)?;
            pipeline_for(&self.options, &choice)?;
            targets.push(choice);
        }
        if targets.is_empty() || (self.files.is_empty() && self.folders.is_empty()) {
            let message = "nothing is to be compiled";
            return Err(error(
                codes::NO_INPUT,
                message,
                "name files with `file` or `folder`, and a `target`",
            ));
        }
        let mut files: Vec<(PathBuf, bool)> =
            self.files.iter().map(|f| (f.clone(), true)).collect();
        if !self.folders.is_empty() {
            let found = crate::driver::input::expand(&self.folders)?;
            files.extend(found.into_iter().map(|file| (file, false)));
        }
        files.sort();
        files.dedup_by(|a, b| a.0 == b.0);
        for (file, _) in &self.permutations {
            if !files.iter().any(|(other, _)| other == file) {
                let message = format!(
                    "there are permutations of `{}`, which is not compiled",
                    file.display()
                );
                return Err(error(codes::NO_INPUT, &message, "name it with `file` too"));
            }
        }
        let recipe = Recipe {
            files,
            folder: Path::new(""),
            libraries: &self.libraries,
            levels: self.levels()?,
            output: &output,
        };
        let forms = |file: &Path| Forms::new(&self.options_of(file), &targets);
        let archive = recipe.plan(&forms, None)?;
        Ok(Plan { archives: vec![archive], others: self.libraries.clone() })
    }

    fn levels(&self) -> Result<Levels, BuildError> {
        let mut levels = Levels::default();
        for (word, level) in &self.lints {
            levels.set(word, *level).map_err(|unknown| {
                let help = "`luisac explain lints` lists them";
                error(codes::UNKNOWN_LINT, &unknown.to_string(), help)
            })?;
        }
        Ok(levels)
    }

    fn options_of(&self, file: &Path) -> Vec<Arc<CodeOptions>> {
        let mine = self.permutations.iter().filter(|(other, _)| other == file);
        let mut rows: Vec<_> = mine.map(|(_, row)| row.clone()).collect();
        if rows.is_empty() {
            rows.push(Vec::new());
        }
        rows.into_iter().map(|row| Arc::new(self.options.with_defines(&row))).collect()
    }
}

fn error(code: luisac_ast::diagnostic::Code, message: &str, help: &str) -> BuildError {
    Diagnostic::error(code, message).with_help(help).into()
}

/// A name inside a folder: nothing that leads out of it.
fn own_name(path: &Path) -> Result<&Path, BuildError> {
    let inside = path.components().all(|c| matches!(c, Component::Normal(_)));
    if inside && path.file_name().is_some() {
        return Ok(path);
    }
    let message = format!("the archive `{}` would not lie in OUT_DIR", path.display());
    Err(error(codes::CANNOT_WRITE, &message, "give a name such as `kernels.luisa`"))
}

/// The plan of a manifest, whose archives go to `out`.
fn plan_of_manifest(path: &Path, out: &Path) -> Result<Plan, BuildError> {
    println!("cargo::rerun-if-changed={}", manifest::locate(path).display());
    let mut manifest: Manifest =
        manifest::read(path).map_err(|(d, file)| BuildError::of(&d.into(), file.as_ref()))?;
    for archive in &mut manifest.archives {
        let name = archive.output.file_name().map(PathBuf::from).unwrap_or_default();
        archive.output = out.join(own_name(&name)?);
    }
    // A file that comes or goes is a change of its folder.
    for folder in manifest.watched_folders() {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    plan(&manifest, None).map_err(|e| {
        BuildError::of(&e.diagnostic.into(), Some(&manifest.file).filter(|_| e.in_manifest))
    })
}

/// Bakes, and writes the bindings of each archive.
fn make(plan: &Plan) -> Result<(), BuildError> {
    // Nothing is written outside of OUT_DIR unless the user has said where.
    let cache = match std::env::var_os("LUISAC_CACHE").filter(|v| !v.is_empty()) {
        Some(folder) => Cache::folder(folder),
        None => Cache::off(),
    };
    let wrong = Mutex::new(String::new());
    let tell = |event: Event| match event {
        Event::Failed { job, diagnostics, input, first: true } => {
            if let Ok(mut wrong) = wrong.lock() {
                wrong.push_str(&format!("{} for {}:\n", job.label(), job.job.target.label()));
                wrong.push_str(&BuildError::of(diagnostics, input).to_string());
            }
        }
        Event::Warnings { input, diagnostics } => {
            for diagnostic in &diagnostics.0 {
                println!("cargo::warning={}: {}", input.name, error::one_line(diagnostic));
            }
        }
        Event::Trouble(diagnostic) => println!("cargo::warning={}", error::one_line(diagnostic)),
        _ => {}
    };
    let threads = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let how = How { cache: &cache, threads, limits: HashMap::new(), stop: &|| false, tell: &tell };
    let summary = bake(plan, &how).map_err(|d| BuildError::of(&d, None))?;
    let wrong = wrong.into_inner().unwrap_or_default();
    if summary.failed > 0 {
        return Err(BuildError::text(wrong));
    }
    for archive in &plan.archives {
        write_bindings(&archive.output)?;
    }
    Ok(())
}

/// Writes `NAME.rs` beside an archive, unless it is there already: what is not written has not changed.
fn write_bindings(path: &Path) -> Result<(), BuildError> {
    let archive = Archive::open(path).map_err(BuildError::archive)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = bindings::rust(&archive, &name).map_err(BuildError::archive)?;
    let file = path.with_file_name(format!("{name}.rs"));
    if std::fs::read(&file).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    write_whole(&file, text.as_bytes())
        .map_err(|e| error(codes::CANNOT_WRITE, &e.to_string(), "check OUT_DIR"))
}

//! Compiling, and asking `spirv-val`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use luisac_passes::RunOptions;
use luisac_targets::{Artifact, EmitOptions, OptLevel, Source, Target, find_target, pipeline};
use luisac_xir::{FunctionId, Module, from_ast};

/// What became of a kernel.
pub enum Outcome {
    Compiled(Box<Artifact>),
    /// Refused with this message, which has a code.
    Refused(String),
}

/// Compiles a kernel after the target's own passes.
pub fn compile(
    module: &Module,
    kernel: FunctionId,
    detail: &str,
    change: impl FnOnce(&mut EmitOptions),
) -> Outcome {
    let mut options = EmitOptions { spirv_asm: true, ..EmitOptions::new(detail) };
    change(&mut options);
    let number = module.kernels().position(|k| k == kernel).expect("a kernel");
    Compiler::with(module, options).emit_as(number)
}

/// A module after the target's own passes, to be emitted for several versions.
pub struct Compiler {
    target: &'static dyn Target,
    options: EmitOptions,
    /// What the passes made of it, or why they refused it.
    module: Result<Module, String>,
}

impl Compiler {
    pub fn new(module: &Module, opt_level: OptLevel) -> Compiler {
        Compiler::with(module, EmitOptions { opt_level, ..EmitOptions::new("1.5") })
    }

    fn with(module: &Module, mut options: EmitOptions) -> Compiler {
        let (target, detail) = find_target(&format!("spirv:{}", options.detail)).expect("a target");
        options.detail = detail;
        let passes = pipeline(target, &options).expect("a pipeline");
        let mut module = module.clone();
        let run = passes.run(&mut module, RunOptions::default());
        let module = run.map(|_| module).map_err(|e| format!("{e:?}"));
        Compiler { target, options, module }
    }

    /// The kernel of this number for a version.
    pub fn emit(&mut self, number: usize, detail: &str, source: Option<Arc<Source>>) -> Outcome {
        self.options.detail = detail.to_string();
        self.options.source = source;
        self.emit_as(number)
    }

    fn emit_as(&self, number: usize) -> Outcome {
        let module = match &self.module {
            Ok(module) => module,
            Err(e) => return Outcome::Refused(e.clone()),
        };
        let kernel = module.kernels().nth(number).expect("the kernel");
        match self.target.emit(module, kernel, &self.options) {
            Ok(artifact) => {
                artifact.metadata.check().expect("metadata that holds together");
                Outcome::Compiled(Box::new(artifact))
            }
            Err(e) => Outcome::Refused(format!("{e:?}")),
        }
    }
}

/// What `spirv-val` finds wrong with a module of a version; none if there is no `spirv-val`.
pub fn judge(code: &[u8], detail: &str) -> Option<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let version = detail.split('+').next().unwrap_or(detail);
    let environment = match version {
        "1.3" => "vulkan1.1",
        "1.4" => "vulkan1.1spv1.4",
        "1.5" => "vulkan1.2",
        _ => "vulkan1.3",
    };
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("luisac-{}-{number}.spv", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, code).expect("a temporary file can be written");
    let output = Command::new("spirv-val").arg("--target-env").arg(environment).arg(&file).output();
    let _ = std::fs::remove_file(&file);
    let output = output.ok()?;
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Whether there is a `spirv-val`; says so if there is none.
pub fn has_judge() -> bool {
    let there = Command::new("spirv-val").arg("--version").output().is_ok();
    if !there {
        println!("skipped: there is no `spirv-val` (`cargo xtask setup --tests` installs it)");
    }
    there
}

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

/// The module of a kernel; none if it cannot be read or lowered.
pub fn lower(path: &Path) -> Option<Module> {
    let bytes = std::fs::read(path).ok()?;
    let library = luisac_ast::json::read(&bytes).ok()?;
    from_ast::lower(&library, &from_ast::Options::default()).ok()
}

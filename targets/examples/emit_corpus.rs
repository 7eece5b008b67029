//! Compiles every kernel under some folders for one target, writes the artifacts into a folder, and counts.
//!
//! `emit_corpus TARGET OUT [--precise] [--clamp|--trap] [-O0..-O3] [--ir] PATH...`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_passes::RunOptions;
use luisac_targets::{EmitOptions, OptLevel, Target, find_target};
use luisac_xir::Module;
use luisac_xir::from_ast;

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(target), Some(out)) = (words.next(), words.next()) else {
        eprintln!("emit_corpus TARGET OUT [options] PATH...");
        std::process::exit(2);
    };
    let (target, detail) = find_target(&target).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(2);
    });
    let mut options = EmitOptions::new(detail);
    let mut paths = Vec::new();
    for word in words {
        match word.as_str() {
            "--precise" => options.math = MathMode::Precise,
            "--clamp" => options.bounds = BoundsMode::Clamp,
            "--trap" => options.bounds = BoundsMode::Trap,
            "-O0" => options.opt_level = OptLevel::O0,
            "-O1" => options.opt_level = OptLevel::O1,
            "-O2" => options.opt_level = OptLevel::O2,
            "-O3" => options.opt_level = OptLevel::O3,
            "--ir" => options.llvm_ir = true,
            path => collect(Path::new(path), &mut paths),
        }
    }
    paths.sort();
    let out = PathBuf::from(out);
    std::fs::create_dir_all(&out).expect("the output folder can be made");
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut compiled, mut total) = (0, Duration::ZERO);
    for path in &paths {
        let start = Instant::now();
        match compile(path, target, &options, &out) {
            Ok(n) => compiled += n,
            Err((reason, n)) => {
                compiled += n;
                refused.entry(reason).or_default().push(path.display().to_string());
            }
        }
        let time = start.elapsed();
        if time > Duration::from_millis(500) {
            println!("slow: {} {time:?}", path.display());
        }
        total += time;
    }
    println!("{compiled} kernels of {} files compiled in {total:?}", paths.len());
    for (reason, files) in refused {
        println!("{:4}  {reason}  (first: {})", files.len(), files.first().map_or("", |f| f));
    }
}

fn collect(path: &Path, paths: &mut Vec<PathBuf>) {
    if path.is_file() {
        paths.push(path.to_path_buf());
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.to_string_lossy().to_string();
        if path.is_dir() {
            collect(&path, paths);
        } else if name.ends_with(".json")
            && !name.ends_with(".expect.json")
            && !name.contains("callable-libraries")
        {
            paths.push(path);
        }
    }
}

/// Compiles the kernels of a file; their number, or the reason why not all compiled.
fn compile(
    path: &Path,
    target: &dyn Target,
    options: &EmitOptions,
    out: &Path,
) -> Result<usize, (String, usize)> {
    let bytes = std::fs::read(path).map_err(|e| (e.to_string(), 0))?;
    let library =
        luisac_ast::json::read(&bytes).map_err(|e| (format!("read: {}", first_line(&e)), 0))?;
    let mut module = from_ast::lower(&library, &from_ast::Options::default())
        .map_err(|e| (format!("lower: {}", first_line(&e)), 0))?;
    prepare(&mut module, target, options).map_err(|e| (format!("passes: {e}"), 0))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let kernels: Vec<_> = module.kernels().collect();
    let mut done = 0;
    for kernel in kernels {
        if module.functions[kernel].name.is_empty() {
            module.functions[kernel].name = stem.clone();
        }
        let artifact = target
            .emit(&module, kernel, options)
            .map_err(|e| (format!("emit: {}", first_line(&e)), done))?;
        artifact.metadata.check().map_err(|e| (format!("metadata: {e}"), done))?;
        let name = out.join(format!("{folder}__{stem}.{}", artifact.extension));
        std::fs::write(&name, &artifact.code).map_err(|e| (e.to_string(), done))?;
        for text in &artifact.texts {
            let _ = std::fs::write(name.with_extension(text.extension), &text.text);
        }
        let _ = std::fs::write(name.with_extension("meta.json"), artifact.metadata.to_json());
        done += 1;
    }
    Ok(done)
}

/// Brings a module into the form of the target.
fn prepare(module: &mut Module, target: &dyn Target, options: &EmitOptions) -> Result<(), String> {
    let pipeline = luisac_targets::pipeline(target, options).map_err(|e| e.to_string())?;
    pipeline.run(module, RunOptions::default()).map(|_| ()).map_err(|e| first_line(&e))
}

fn first_line(e: &luisac_ast::Diagnostics) -> String {
    e.0.first().map_or_else(String::new, |d| format!("[{}] {}", d.code, d.message))
}

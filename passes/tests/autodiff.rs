//! Gradients: exact expectations of the corpus, and central differences.

#[path = "../../xir/tests/support/case.rs"]
mod case;
#[path = "support/gradients.rs"]
mod gradients;

use gradients::compare;
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Launch};
use luisac_xir::{Function, Module, Op, from_ast};
use std::path::Path;

const PIPELINES: &[&str] =
    &["autodiff", "@O0-flat-scalar", "@O1-flat-scalar", "@O2-flat-scalar", "@O2-structured"];

fn lower(path: &Path) -> Option<Module> {
    let library = luisac_ast::json::read(&std::fs::read(path).ok()?).ok()?;
    from_ast::lower(&library, &from_ast::Options::default()).ok()
}

#[test]
fn own_kernels_give_exact_gradients() {
    let mut count = 0;
    for case in case::cases("own") {
        if !["accumulate_gradient", "autodiff_branch", "autodiff_unrolled_loop"]
            .contains(&case.name.as_str())
        {
            continue;
        }
        for pipeline in PIPELINES {
            let mut module = lower(&case.kernel).expect("the kernel can be lowered");
            let options = RunOptions { verify_each: true, ..RunOptions::default() };
            let parsed = Pipeline::parse(pipeline).expect("the pipeline parses");
            parsed.run(&mut module, options).unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let kernel = module.kernels().next().expect("the kernel stays");
            let mut args = case.args(&module, kernel);
            interp::run(&module, kernel, &mut args, &Launch::new(case.dispatch()))
                .unwrap_or_else(|f| panic!("{} `{pipeline}`: {f}", case.name));
            case.check(&module, kernel, &args)
                .unwrap_or_else(|e| panic!("{} `{pipeline}`: {e}", case.name));
            count += 1;
        }
    }
    println!("{count} runs right");
}

/// The recorded kernels of a program that hold a scope.
fn recorded(program: &str) -> Vec<(String, Module)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus/luisa"));
    let Ok(entries) = std::fs::read_dir(folder.join(program)) else {
        println!("skipped: no corpus folder `{program}`");
        return Vec::new();
    };
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.sort();
    let holds_scope = |m: &Module| {
        let ends = |f: &Function| {
            let end = |b| f.terminator(b).is_some_and(|t| f.op(t) == Op::AutodiffScope);
            f.blocks().any(end)
        };
        m.functions.values().any(ends)
    };
    files
        .into_iter()
        .map(|path| {
            let module = lower(&path).unwrap_or_else(|| panic!("{} is refused", path.display()));
            (path.display().to_string(), module)
        })
        .filter(|(_, module)| holds_scope(module))
        .collect()
}

/// Compares on two ranges, one for functions that are defined below one, one for those above.
fn check(name: &str, module: &Module, pipeline: &str, wrong: &mut Vec<String>) {
    let results = [(0.2, 0.9), (1.2, 2.0)].map(|(a, b)| compare(module, pipeline, a, b));
    let compared = results.iter().flatten().sum::<usize>();
    for error in results.iter().filter_map(|r| r.as_ref().err()) {
        wrong.push(format!("{name} `{pipeline}`: {error}"));
    }
    if compared == 0 {
        wrong.push(format!("{name} `{pipeline}`: nothing compared"));
    }
}

#[test]
fn recorded_kernels_agree_with_differences() {
    let kernels = recorded("autodiff_full");
    let mut wrong = Vec::new();
    for (name, module) in &kernels {
        PIPELINES.iter().for_each(|pipeline| check(name, module, pipeline, &mut wrong));
    }
    println!("{} kernels", kernels.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// One reads shared memory that nothing has written, one has its scope in a callable.
#[test]
fn other_recorded_kernels_stay_valid() {
    for (name, module) in recorded("autodiff") {
        for pipeline in PIPELINES {
            let options = RunOptions { verify_each: true, ..RunOptions::default() };
            let parsed = Pipeline::parse(pipeline).expect("the pipeline parses");
            parsed.run(&mut module.clone(), options).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

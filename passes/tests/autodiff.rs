//! Gradients: exact expectations of the corpus, and central differences.

#[path = "../../xir/tests/support/case.rs"]
mod case;
#[path = "support/gradients.rs"]
mod gradients;
#[path = "support/programs.rs"]
mod programs;

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

/// Types and operations; operands as [`programs::scope`] names them.
const OPERATIONS: &[(&str, &[&str])] = &[
    (
        "f32",
        &[
            "unary_minus %41",
            "binary_add %41, %42",
            "binary_sub %41, %42",
            "binary_mul %41, %42",
            "binary_div %41, %42",
            "binary_mod %41, %42",
            "fma %41, %42, %41",
            "abs %41",
            "min %41, %42",
            "max %41, %42",
            "clamp %41, %42, f32 0.8",
            "clamp %41, f32 0.4, %42",
            "clamp f32 0.5, %41, %42",
            "saturate %41",
            "lerp %41, %42, %41",
            "smoothstep %41, f32 3.0, %42",
            "smoothstep f32 0.0, %41, %42",
            "acos %41",
            "acosh %41",
            "asin %41",
            "asinh %41",
            "atan %41",
            "atanh %41",
            "atan2 %41, %42",
            "cos %41",
            "cosh %41",
            "sin %41",
            "sinh %41",
            "tan %41",
            "tanh %41",
            "exp %41",
            "exp2 %41",
            "exp10 %41",
            "log %41",
            "log2 %41",
            "log10 %41",
            "pow %41, %42",
            "pow_int %41, i32 3",
            "pow_int %41, i32 -2",
            "pow_int %41, u32 0",
            "sqrt %41",
            "rsqrt %41",
            "fract %41",
            "floor %41",
            "ceil %41",
            "trunc %41",
            "round %41",
            "rint %41",
            "step %42, %41",
            "copysign %41, f32 -1.0",
            "dot %43, %44",
            "length %43",
            "length_squared %43",
            "reduce_sum %43",
            "reduce_product %43",
            "reduce_min %43",
            "reduce_max %43",
            "matrix_determinant %45",
            "extract %43, u32 1",
            "extract %45, u32 1, u32 0",
        ],
    ),
    (
        "vector<f32, 3>",
        &[
            "unary_minus %43",
            "binary_mul %43, %44",
            "binary_div %43, %44",
            "lerp %43, %44, %41",
            "lerp %43, %44, %43",
            "smoothstep %41, f32 3.0, %43",
            "smoothstep %43, %44, %43",
            "min %43, %44",
            "clamp %43, %44, %44",
            "sin %43",
            "pow %43, %44",
            "pow_int %43, i32 3",
            "cross %43, %44",
            "normalize %43",
            "reflect %43, %44",
            "faceforward %43, %44, %44",
            "select %43, %44, bool true",
            "aggregate %41, %42, %41",
            "insert %43, %41, u32 2",
            "insert %43, %41, %10",
        ],
    ),
    ("vector<f32, 2>", &["shuffle %43, u32 2, u32 2", "matrix_linalg_mul %45, %47"]),
    (
        "matrix<f32, 2>",
        &[
            "matrix_comp_neg %45",
            "matrix_comp_add %45, %46",
            "matrix_comp_add %45, %41",
            "matrix_comp_sub %41, %45",
            "matrix_comp_mul %45, %46",
            "matrix_comp_mul %41, %45",
            "matrix_comp_div %45, %46",
            "matrix_comp_div %45, %41",
            "matrix_comp_div %41, %45",
            "matrix_linalg_mul %45, %46",
            "outer_product %45, %46",
            "outer_product %47, %48",
            "matrix_transpose %45",
            "matrix_inverse %45",
        ],
    ),
];

#[test]
fn operations_agree_with_differences() {
    let mut wrong = Vec::new();
    let columns = "%47: vector<f32, 2> = arithmetic extract %46, u32 1\n\
                   %48: vector<f32, 2> = arithmetic extract %45, u32 0\n";
    for (ty, operations) in OPERATIONS {
        for op in *operations {
            let body = format!("{columns}{}", programs::operation(ty, op));
            let module = programs::module("", &body);
            check(op, &module, "autodiff", &mut wrong);
            check(op, &module, "@O2-flat-scalar", &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

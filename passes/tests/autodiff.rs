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
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Bodies of control flow and memory, with the callables that they need.
const PROGRAMS: &[(&str, &str, &str)] = &[
    (
        "a variable that is written again",
        "",
        "%50: f32 = arithmetic sin %41
         store %1, %50
         %51: f32 = load %1
         %52: f32 = arithmetic binary_mul %51, %51
         store %1, %52
         %53: f32 = load %1
         %54: f32 = arithmetic binary_mul %53, %42
         store %7, %54",
    ),
    (
        "branches that write",
        "",
        "%50: bool = arithmetic binary_less %41, f32 0.6
         store %7, %42
         if %50, then b2, else b3, merge b4
         b2:
         %51: f32 = arithmetic exp %41
         store %7, %51
         br b4
         b3:
         %52: f32 = load %7
         %53: f32 = arithmetic binary_mul %52, %41
         store %7, %53
         store %1, f32 2.0
         br b4
         b4:
         %54: f32 = load %7
         %55: f32 = load %1
         %56: f32 = arithmetic binary_mul %54, %55
         %57: f32 = arithmetic binary_mul %54, %56
         store %7, %57",
    ),
    (
        "a switch",
        "",
        "%50: f32 = arithmetic binary_mul %41, f32 4.0
         %51: i32 = cast static_cast %50
         switch %51, default b2, case 1 b3, case 2 b4, case 3 b5, merge b6
         b2:
         store %7, %42
         br b6
         b3:
         %52: f32 = arithmetic sin %50
         store %7, %52
         br b6
         b4:
         %53: f32 = arithmetic binary_mul %50, %42
         store %7, %53
         %54: bool = arithmetic binary_less %42, f32 0.5
         if %54, then b7, else b8, merge b8
         b7:
         break b6
         b8:
         %55: f32 = load %7
         %56: f32 = arithmetic binary_mul %55, %55
         store %7, %56
         br b6
         b5:
         break b6
         b6:
         %57: f32 = load %7
         %58: f32 = arithmetic binary_mul %57, %41
         store %7, %58",
    ),
    (
        "a counted loop with nonlinear steps",
        "",
        "store %7, %41
         store %8, i32 0
         loop prepare b2, body b3, update b4, merge b5
         b2:
         %50: i32 = load %8
         %51: bool = arithmetic binary_less %50, i32 5
         cond_br %51, b3, b5
         b3:
         %52: f32 = load %7
         %53: f32 = arithmetic sin %52
         %54: f32 = arithmetic binary_mul %53, %42
         %55: f32 = arithmetic binary_add %54, %52
         store %7, %55
         br b4
         b4:
         %56: i32 = load %8
         %57: i32 = arithmetic binary_add %56, i32 1
         store %8, %57
         br b2
         b5:",
    ),
    (
        "a loop with break and continue, and a condition that depends on the values",
        "",
        "store %7, %41
         store %8, i32 0
         loop prepare b2, body b3, update b4, merge b5
         b2:
         %50: f32 = load %7
         %51: bool = arithmetic binary_less %50, f32 40.0
         cond_br %51, b3, b5
         b3:
         %52: i32 = load %8
         %53: i32 = arithmetic binary_mod %52, i32 3
         %54: bool = arithmetic binary_equal %53, i32 1
         if %54, then b6, else b7, merge b7
         b6:
         %55: f32 = load %7
         %56: f32 = arithmetic binary_add %55, %42
         store %7, %56
         continue b4
         b7:
         %57: f32 = load %7
         %58: f32 = arithmetic fma %57, %57, %41
         %59: f32 = arithmetic sqrt %58
         %60: f32 = arithmetic binary_mul %59, f32 1.25
         store %7, %60
         %61: bool = arithmetic binary_equal %52, i32 8
         if %61, then b8, else b9, merge b9
         b8:
         %62: f32 = load %7
         %63: f32 = arithmetic binary_mul %62, %42
         store %7, %63
         break b5
         b9:
         %64: f32 = load %7
         %65: f32 = arithmetic cos %64
         %66: f32 = arithmetic binary_add %65, %64
         store %7, %66
         br b4
         b4:
         %67: i32 = load %8
         %68: i32 = arithmetic binary_add %67, i32 1
         store %8, %68
         %69: f32 = load %7
         %70: f32 = arithmetic fma %69, f32 0.01, %69
         store %7, %70
         br b2
         b5:
         %71: f32 = load %7
         %72: f32 = arithmetic log %71
         store %7, %72",
    ),
    (
        "nested loops whose inner one has a length of its own, and a do-while",
        "",
        "store %7, %41
         store %8, i32 0
         simple_loop body b2, merge b3
         b2:
         store %9, i32 0
         loop prepare b4, body b5, update b6, merge b7
         b4:
         %50: i32 = load %9
         %51: i32 = load %8
         %52: bool = arithmetic binary_less_equal %50, %51
         cond_br %52, b5, b7
         b5:
         %53: f32 = load %7
         %54: f32 = arithmetic sin %53
         %55: f32 = arithmetic fma %54, %42, %41
         store %7, %55
         br b6
         b6:
         %56: i32 = load %9
         %57: i32 = arithmetic binary_add %56, i32 1
         store %9, %57
         br b4
         b7:
         %58: f32 = load %7
         %59: f32 = arithmetic binary_mul %58, %58
         %60: f32 = arithmetic binary_add %59, %42
         store %7, %60
         %61: i32 = load %8
         %62: i32 = arithmetic binary_add %61, i32 1
         store %8, %62
         %63: bool = arithmetic binary_equal %62, i32 4
         if %63, then b8, else b9, merge b9
         b8:
         break b3
         b9:
         br b2
         b3:",
    ),
    (
        "an array by a dynamic index",
        "",
        "%50: array<f32, 12> = alloca local
         %51: array<f32, 12> = alloca local
         %52: u32 = arithmetic binary_add %10, u32 2
         %53: f32 = gep %50, %52
         store %53, %41
         %54: f32 = gep %50, u32 3
         store %54, %42
         %55: f32 = load %53
         %56: f32 = arithmetic binary_mul %55, %42
         store %53, %56
         %57: array<f32, 12> = load %50
         store %51, %57
         %58: f32 = gep %51, %52
         %59: f32 = load %58
         %60: f32 = gep %51, u32 3
         %61: f32 = load %60
         %62: f32 = arithmetic binary_mul %59, %61
         %63: f32 = arithmetic extract %57, %52
         %64: f32 = arithmetic binary_add %62, %63
         store %7, %64",
    ),
    (
        "a callable that returns from inside of loops and switches",
        "callable @f(%0: value f32, %1: reference f32) -> f32 {
         b0:
         %2: i32 = alloca local
         %3: f32 = alloca local
         store %3, %0
         simple_loop body b1, merge b2
         b1:
         %4: i32 = load %2
         switch %4, default b3, case 4 b4, merge b5
         b3:
         br b5
         b4:
         %5: f32 = load %3
         %6: f32 = arithmetic binary_mul %5, %0
         return %6
         b5:
         %7: f32 = load %3
         %8: bool = arithmetic binary_less f32 1.8, %7
         if %8, then b6, else b7, merge b7
         b6:
         store %1, %7
         %9: f32 = arithmetic sin %7
         return %9
         b7:
         %10: f32 = arithmetic fma %7, %0, %7
         store %3, %10
         %11: i32 = arithmetic binary_add %4, i32 1
         store %2, %11
         br b1
         b2:
         unreachable
         }",
        "%50: f32 = call @f(%41, %2)
         %51: f32 = call @f(%50, %2)
         %52: f32 = load %2
         %53: f32 = arithmetic fma %50, %52, %51
         store %7, %53",
    ),
    (
        "doubles, and two seeds",
        "",
        "%50: f64 = cast static_cast %41
         %51: f64 = arithmetic exp %50
         %52: f64 = arithmetic binary_mul %51, %50
         %53: f32 = cast static_cast %52
         store %7, %53
         autodiff accumulate_gradient %7, f32 0.25
         %54: vector<f32, 3> = arithmetic aggregate f32 0.5, f32 0.25, f32 2.0
         autodiff gradient_marker %3, %54",
    ),
];

#[test]
fn programs_agree_with_differences() {
    let mut wrong = Vec::new();
    for (name, callables, body) in PROGRAMS {
        let module = programs::module(callables, body);
        PIPELINES.iter().for_each(|pipeline| check(name, &module, pipeline, &mut wrong));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

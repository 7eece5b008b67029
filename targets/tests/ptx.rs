//! PTX of small kernels: the instructions that a rule of the semantics page asks for, and `ptxas` over recorded kernels.
#![cfg(feature = "llvm")]

use std::path::{Path, PathBuf};
use std::process::Command;

use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_passes::RunOptions;
use luisac_targets::{Artifact, EmitOptions, OptLevel, find_target, pipeline};
use luisac_xir::{Module, from_ast, text};

/// Compiles the first kernel of a module after the target's own passes.
fn compile(
    word: &str,
    mut module: Module,
    change: impl FnOnce(&mut EmitOptions),
) -> Result<Artifact, String> {
    let (target, detail) = find_target(word).map_err(|e| e.to_string())?;
    let mut options = EmitOptions::new(detail);
    change(&mut options);
    let passes = pipeline(target, &options).map_err(|e| e.to_string())?;
    passes.run(&mut module, RunOptions::default()).map_err(|e| format!("{e:?}"))?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let artifact = target.emit(&module, kernel, &options).map_err(|e| format!("{e:?}"))?;
    artifact.metadata.check().map_err(|e| e.to_string())?;
    Ok(artifact)
}

/// A kernel whose body sees `%0: buffer<f32>`, `%1: buffer<u32>`, `%2: f32`, `%3: u32`, `%4: i32`, `%5: u16`, and stores value `%9`.
fn kernel(body: &str, ty: &str) -> Module {
    let arguments = "%0: resource buffer<f32>, %1: resource buffer<u32>, %2: value f32, %3: value u32, %4: value i32, %5: value u16";
    let store = match ty {
        "f32" => "  resource_write buffer_write %0, u32 0, %9\n",
        "u32" => "  resource_write buffer_write %1, u32 0, %9\n",
        _ => "",
    };
    let source = format!(
        "module;\n\nkernel @k block(64, 1, 1) ({arguments}) {{\nb0:\n{body}{store}  return\n}}\n"
    );
    text::parse(&source).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

#[track_caller]
fn has(word: &str, math: MathMode, module: Module, wanted: &[&str], unwanted: &[&str]) {
    let artifact = compile(word, module, |o| o.math = math).unwrap_or_else(|e| panic!("{e}"));
    let code = String::from_utf8_lossy(&artifact.code).into_owned();
    for part in wanted {
        assert!(code.contains(part), "`{part}` is missing in\n{code}");
    }
    for part in unwanted {
        assert!(!code.contains(part), "`{part}` is there in\n{code}");
    }
    accepted(&code, &artifact.metadata.target);
}

/// `ptxas` takes the text without a warning, where there is a `ptxas`.
#[track_caller]
fn accepted(code: &str, target: &str) {
    let Some(ptxas) = ptxas() else { return };
    let arch = target.split(':').next_back().unwrap_or("sm_75");
    let file = std::env::temp_dir().join(format!(
        "luisac-{}-{:?}.ptx",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&file, code).expect("a temporary file can be written");
    let output = Command::new(ptxas)
        .args([&format!("-arch={arch}"), "-o", "/dev/null"])
        .arg(&file)
        .output()
        .expect("ptxas runs");
    let _ = std::fs::remove_file(&file);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}\n{code}");
}

/// The assembler that `PTXAS` names, or the one on the path.
fn ptxas() -> Option<PathBuf> {
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let found = named.or_else(|| {
        std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|p| p.join("ptxas"))
            .find(|p| p.is_file())
    });
    if found.is_none() {
        println!("no ptxas: set PTXAS to check the PTX with it");
    }
    found
}

#[test]
fn contraction_is_for_fast_math_only() {
    let fused =
        "  %7: f32 = arithmetic binary_mul %2, %2\n  %9: f32 = arithmetic binary_add %7, %2\n";
    has(
        "ptx:sm_75",
        MathMode::Precise,
        kernel(fused, "f32"),
        &["mul.rn.f32", "add.rn.f32"],
        &["fma", "ftz"],
    );
    has("ptx:sm_75", MathMode::Fast, kernel(fused, "f32"), &["fma.rn.f32"], &[]);
}

#[test]
fn division_and_roots_are_exact_under_precise() {
    let quotient = "  %7: f32 = arithmetic sqrt %2\n  %9: f32 = arithmetic binary_div %2, %7\n";
    has(
        "ptx:sm_90",
        MathMode::Precise,
        kernel(quotient, "f32"),
        &["sqrt.rn.f32", "div.rn.f32"],
        &["approx"],
    );
    has(
        "ptx:sm_90",
        MathMode::Fast,
        kernel(quotient, "f32"),
        &["div.full.ftz.f32", "sqrt.approx.ftz.f32"],
        &["div.rn"],
    );
}

/// A kernel that sums as many elements as `%3` says; `inside` is done in each round.
fn summing(inside: &str) -> Module {
    let body = [
        "  %6: u32 = alloca local",
        "  %7: f32 = alloca local",
        "  br b1",
        "\nb1:",
        "  %8: u32 = load %6",
        "  %10: bool = arithmetic binary_less %8, %3",
        "  cond_br %10, b2, b3",
        "\nb2:",
        inside,
        "  %11: f32 = resource_read buffer_read %0, %8",
        "  %12: f32 = load %7",
        "  %13: f32 = arithmetic binary_add %12, %11",
        "  store %7, %13",
        "  %14: u32 = arithmetic binary_add %8, u32 1",
        "  store %6, %14",
        "  br b1",
        "\nb3:",
        "  %15: f32 = load %7",
        "  %9: f32 = arithmetic binary_add %15, f32 1.0\n",
    ];
    kernel(&body.join("\n"), "f32")
}

#[test]
fn small_loops_are_unrolled_but_not_around_other_threads() {
    let additions = |inside: &str, level: OptLevel| {
        let artifact = compile("ptx:sm_75", summing(inside), |o| {
            o.opt_level = level;
            o.math = MathMode::Precise;
        });
        let code = artifact.unwrap_or_else(|e| panic!("{e}")).code;
        let code = String::from_utf8_lossy(&code).into_owned();
        accepted(&code, "ptx:sm_75");
        code.matches("add.rn.f32").count()
    };
    assert!(additions("", OptLevel::O2) > 8);
    assert_eq!(additions("", OptLevel::O0), 2);
    assert_eq!(additions("  thread_group synchronize_block", OptLevel::O2), 2);
}

#[test]
fn numbers_win_in_minimum_and_maximum() {
    let least =
        "  %8: f32 = resource_read buffer_read %0, u32 1\n  %9: f32 = arithmetic min %2, %8\n";
    has("ptx:sm_50", MathMode::Precise, kernel(least, "f32"), &["min.f32"], &["NaN"]);
}

#[test]
fn shift_amounts_are_masked_and_divisors_guarded() {
    let shift = "  %9: u32 = arithmetic binary_shift_left %3, %3\n";
    has("ptx:sm_75", MathMode::Fast, kernel(shift, "u32"), &[], &["call"]);
    let quotient = "  %9: u32 = arithmetic binary_div %3, %3\n";
    has("ptx:sm_75", MathMode::Fast, kernel(quotient, "u32"), &[], &["trap", "call"]);
}

#[test]
fn what_ptxas_reads_otherwise_is_not_written() {
    let magnitude = "  %7: i32 = arithmetic abs %4\n  %8: bool = arithmetic binary_less %7, i32 0\n  %9: u32 = cast static_cast %8\n";
    has("ptx:sm_90", MathMode::Fast, kernel(magnitude, "u32"), &["neg.s32"], &["abs.s32"]);
    let negation = "  %6: u16 = arithmetic unary_minus %5\n  %7: i16 = cast static_cast %6\n  %8: i32 = cast static_cast %7\n  \
                    %9: u32 = cast static_cast %8\n";
    has("ptx:sm_90", MathMode::Fast, kernel(negation, "u32"), &[], &["neg.s16"]);
}

#[test]
fn wave_operations_read_the_mask_where_they_stand() {
    let sum = "  %9: u32 = thread_group warp_active_sum %3\n";
    has(
        "ptx:sm_75",
        MathMode::Fast,
        kernel(sum, "u32"),
        &["activemask.b32", "shfl.sync.idx.b32"],
        &[],
    );
}

#[test]
fn unknown_details_list_what_there_is() {
    let Err(e) = find_target("ptx:sm_20") else { panic!("sm_20 is taken") };
    assert_eq!(e.code, luisac_targets::errors::UNKNOWN_DETAIL);
    assert!(e.help.is_some_and(|h| h.contains("sm_50") && h.contains("sm_120")));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let body = "  %8: f32 = arithmetic sin %2\n  %9: f32 = arithmetic exp %8\n";
    let code =
        || compile("ptx:sm_80", kernel(body, "f32"), |_| {}).unwrap_or_else(|e| panic!("{e}")).code;
    assert_eq!(code(), code());
}

/// A kernel of a bindless array `%0`, an image `%1`, a slot `%3`, coordinates `%4` and `%6` and a level `%5`, that stores `%9`.
fn sampling(made_by: &str) -> Module {
    let source = format!(
        "module;\n\nkernel @k block(64, 1, 1) (%0: resource bindless_array, %1: resource texture2d<f32>, \
         %2: resource buffer<vector<f32, 4>>, %3: value u32, %4: value vector<f32, 2>, %5: value f32, \
         %6: value vector<f32, 2>) {{\nb0:\n  %9: vector<f32, 4> = resource_query {made_by}\n  \
         resource_write buffer_write %2, u32 0, %9\n  return\n}}\n"
    );
    text::parse(&source).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

#[test]
fn samples_are_left_to_texture_objects() {
    let hardware = |made_by: &str, wanted: &[&str]| {
        let fetches = ["txq", ".f32.s32"];
        has("ptx:sm_80", MathMode::Precise, sampling(made_by), wanted, &fetches);
    };
    let level = "tex.level.2d.v4.f32.f32";
    hardware("bindless_texture2d_sample %0, %3, %4", &[level]);
    hardware("bindless_texture2d_sample_level %0, %3, %4, %5", &[level]);
    hardware("bindless_texture2d_sample_grad %0, %3, %4, %4, %6", &["tex.grad.2d.v4.f32.f32"]);
    // The object of sampler 9 lies 16 + 8 * 9 bytes behind the start.
    hardware("texture2d_sample %1, %4, u32 2, u32 1", &[level, "+88]"]);
    hardware("texture2d_sample_grad %1, %4, %4, %6, u32 0, u32 0", &["tex.grad.2d", "+16]"]);
}

#[test]
fn what_texture_objects_cannot_do_is_done_on_texels() {
    for made_by in [
        "bindless_texture2d_sample_grad_level %0, %3, %4, %4, %6, %5",
        "bindless_texture2d_sample_sampler %0, %3, %4, u32 2, u32 1",
        "bindless_texture2d_sample_level_sampler %0, %3, %4, %5, u32 2, %3",
        "texture2d_sample_grad_level %1, %4, %4, %6, %5, u32 3, u32 3",
    ] {
        let wanted = ["tex.level.2d.v4.f32.s32", "txq.width.b32"];
        has("ptx:sm_80", MathMode::Precise, sampling(made_by), &wanted, &[".v4.f32.f32"]);
    }
}

#[test]
fn the_metadata_tells_which_images_are_sampled() {
    let sampled = |made_by: &str| {
        let artifact =
            compile("ptx:sm_80", sampling(made_by), |_| ()).unwrap_or_else(|e| panic!("{e}"));
        artifact.metadata.arguments.iter().map(|a| a.sampled).collect::<Vec<_>>()
    };
    let [none, image] = [0, 1].map(|n| (0..7).map(|i| n == 1 && i == 1).collect::<Vec<bool>>());
    assert_eq!(sampled("bindless_texture2d_sample %0, %3, %4"), none);
    assert_eq!(sampled("texture2d_sample %1, %4, u32 2, u32 1"), image);
    assert_eq!(sampled("texture2d_sample_grad_level %1, %4, %4, %6, %5, u32 0, u32 0"), image);
}

/// Every recorded kernel that compiles goes through `ptxas`; none may fail inside the emitter.
#[test]
fn recorded_kernels_assemble() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    let Ok(entries) = std::fs::read_dir(corpus.join("own")) else {
        println!("no corpus: skipped");
        return;
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|p| {
        p.to_string_lossy().ends_with(".json") && !p.to_string_lossy().ends_with(".expect.json")
    });
    files.sort();
    let mut compiled = 0;
    for path in &files {
        let bytes = std::fs::read(path).expect("a kernel can be read");
        let Ok(library) = luisac_ast::json::read(&bytes) else { continue };
        let Ok(module) = from_ast::lower(&library, &from_ast::Options::default()) else { continue };
        for (word, bounds, level) in [
            ("ptx:sm_75", BoundsMode::Off, OptLevel::O2),
            ("ptx:sm_90", BoundsMode::Trap, OptLevel::O1),
            ("ptx:sm_50", BoundsMode::Clamp, OptLevel::O0),
        ] {
            let change = |o: &mut EmitOptions| {
                o.bounds = bounds;
                o.opt_level = level;
            };
            match compile(word, module.clone(), change) {
                Ok(artifact) => {
                    compiled += 1;
                    accepted(&String::from_utf8_lossy(&artifact.code), word);
                }
                Err(e) => {
                    assert!(!e.contains("L0909") && !e.contains("L0903"), "{}: {e}", path.display())
                }
            }
        }
    }
    assert!(compiled >= 100, "only {compiled} compiled");
}

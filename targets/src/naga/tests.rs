//! The targets `wgsl` and `glsl`: small kernels as text, and what is refused.

use luisac_passes::RunOptions;
use luisac_xir::text;

use luisac_artifact::metadata::{BoundsMode, MathMode};

use crate::{EmitOptions, OptLevel, Target};

/// The text of the first kernel of `source`, and the features that its metadata names.
fn compile(
    target: &dyn Target,
    source: &str,
    options: &EmitOptions,
) -> Result<(String, Vec<String>), String> {
    let mut module = text::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let pipeline = crate::pipeline(target, options).unwrap_or_else(|e| panic!("{e}"));
    let run = RunOptions { verify_each: true, ..RunOptions::default() };
    pipeline.run(&mut module, run).map_err(|e| e.to_string())?;
    let kernel = module.kernels().next().expect("a kernel");
    let made = target.emit(&module, kernel, options).map_err(|e| e.to_string())?;
    Ok((String::from_utf8(made.code).expect("text"), made.metadata.features))
}

fn options(target: &dyn Target) -> EmitOptions {
    EmitOptions::new(target.canonical_detail(None).expect("a detail"))
}

fn kernel(body: &str) -> String {
    format!(
        "module;\nkernel @k block(64, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u8>, %2: value f32) {{\nb0:\n\
         %3: u32 = arithmetic extract dispatch_id, u32 0\n{body}\nreturn\n}}\n"
    )
}

#[track_caller]
fn wgsl(body: &str) -> String {
    compile(&super::Wgsl, &kernel(body), &options(&super::Wgsl)).unwrap_or_else(|e| panic!("{e}")).0
}

/// naga reads back what it wrote.
#[track_caller]
fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn a_kernel_is_one_entry_point() {
    let text = wgsl("resource_write buffer_write %0, %3, u32 7");
    holds(
        &text,
        &[
            "@workgroup_size(64, 1, 1)",
            "fn kernel_k(",
            "var<uniform> params",
            "@group(0) @binding(1)",
        ],
    );
    let glsl = compile(
        &super::Glsl,
        &kernel("resource_write buffer_write %0, %3, u32 7"),
        &options(&super::Glsl),
    );
    let glsl = glsl.unwrap_or_else(|e| panic!("{e}")).0;
    holds(&glsl, &["#version 450 core", "layout(local_size_x = 64", "void main()", "binding = 1"]);
}

/// A byte is stored by flipping what differs, since its neighbours are other threads'.
#[test]
fn bytes_are_stored_atomically() {
    let text = wgsl("%4: u8 = cast static_cast %3\nresource_write buffer_write %1, %3, %4");
    holds(&text, &["array<atomic<u32>>", "atomicXor("]);
}

/// No literal is an infinity or NaN, and no shift is as long as the value.
#[test]
fn what_wgsl_has_no_literal_for() {
    let text = wgsl(
        "%4: f32 = arithmetic binary_add %2, f32 inf\n%5: u32 = cast bitwise_cast %4\n\
         %6: u32 = arithmetic binary_shift_left %5, %3\nresource_write buffer_write %0, %3, %6",
    );
    holds(&text, &["var bits: u32 = 2139095040u", "& 31u"]);
}

/// Drivers make zero of `x - x`, but infinity minus infinity is NaN.
#[test]
fn equal_values_do_not_cancel() {
    let difference = "%4: f32 = arithmetic binary_sub %2, %2\n%5: u32 = cast bitwise_cast %4\nresource_write buffer_write %0, %3, %5";
    holds(&wgsl(difference), &["^ zero)"]);
    let half = "%4: f16 = cast static_cast %2\n%5: f16 = arithmetic binary_sub %4, %4\n%6: f32 = cast static_cast %5\n\
                %7: u32 = cast bitwise_cast %6\nresource_write buffer_write %0, %3, %7";
    holds(&wgsl(half), &["^ zero)", "f16("]);
    let other = "%4: f32 = arithmetic binary_sub %2, f32 3.0\n%5: u32 = cast bitwise_cast %4\nresource_write buffer_write %0, %3, %5";
    assert!(!wgsl(other).contains("zero"), "{}", wgsl(other));
    let precise = EmitOptions { math: MathMode::Precise, ..options(&super::Wgsl) };
    let text = compile(&super::Wgsl, &kernel(other), &precise).unwrap_or_else(|e| panic!("{e}")).0;
    assert_eq!(text.matches("^ zero)").count(), 2, "{text}");
}

#[test]
fn features_are_named() {
    let features = |body: &str| {
        let made = compile(&super::Wgsl, &kernel(body), &options(&super::Wgsl));
        made.unwrap_or_else(|e| panic!("{e}")).1
    };
    let long = "%4: u64 = cast static_cast %3\n%5: u64 = arithmetic binary_mul %4, %4\n\
                %6: u32 = cast static_cast %5\nresource_write buffer_write %0, %3, %6";
    assert_eq!(features(long), ["shader-int64"]);
    let half = "%4: f16 = cast static_cast %2\n%5: f16 = arithmetic binary_mul %4, %4\n\
                %6: f32 = cast static_cast %5\n%7: u32 = cast bitwise_cast %6\n\
                resource_write buffer_write %0, %3, %7";
    assert_eq!(features(half), ["shader-f16"]);
    let wave = "%4: u32 = thread_group warp_active_sum %3\nresource_write buffer_write %0, %3, %4";
    assert_eq!(features(wave), ["subgroups"]);
    assert!(features("resource_write buffer_write %0, %3, %3").is_empty());
}

#[test]
fn prints_and_traps_go_to_the_log() {
    let trap = EmitOptions { bounds: BoundsMode::Trap, ..options(&super::Wgsl) };
    let source = kernel("print \"{}\", %3\nresource_write buffer_write %0, %3, u32 7");
    let text = compile(&super::Wgsl, &source, &trap).unwrap_or_else(|e| panic!("{e}")).0;
    holds(&text, &["var<storage, read_write> log_: array<atomic<u32>>", "atomicAdd(", "atomicOr("]);
}

#[test]
fn what_is_refused_has_a_code() {
    let refused = |body: &str| compile(&super::Wgsl, &kernel(body), &options(&super::Wgsl)).err();
    assert!(
        refused(
            "%4: u64 = clock\n%5: u32 = cast static_cast %4\nresource_write buffer_write %0, %3, %5"
        )
        .is_some_and(|e| e.contains("clock"))
    );
    let deep = |depth: usize| {
        let mut body = String::new();
        for i in 0..depth {
            let (then, merge) = (2 * i + 1, 2 * i + 2);
            body.push_str(&format!(
                "%{}: u32 = resource_read buffer_volatile_read %0, u32 {i}\n%{}: bool = arithmetic binary_equal %{}, u32 1\n\
                 if %{}, then b{then}, else b{merge}, merge b{merge}\nb{then}:\n",
                4 + 2 * i, 5 + 2 * i, 4 + 2 * i, 5 + 2 * i
            ));
        }
        body.push_str("resource_write buffer_volatile_write %0, u32 0, u32 2\n");
        for i in (0..depth).rev() {
            body.push_str(&format!("br b{}\nb{}:\n", 2 * i + 2, 2 * i + 2));
        }
        body
    };
    assert!(refused(&deep(100)).is_none());
    assert!(refused(&deep(300)).is_some_and(|e| e.contains("nests deeper")));
}

/// Both math modes where the language has them, all levels: naga validates what comes out.
#[test]
fn every_mode_compiles() {
    let body = "%4: f32 = arithmetic sin %2\n%5: f32 = arithmetic pow %4, %2\n%6: f32 = arithmetic round %5\n\
                %7: i32 = cast static_cast %6\n%8: i32 = arithmetic binary_mod %7, i32 7\n\
                %9: u32 = cast static_cast %8\nresource_write buffer_write %0, %3, %9";
    for target in [&super::Wgsl as &dyn Target, &super::Glsl] {
        for math in [MathMode::Fast, MathMode::Precise] {
            for opt_level in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
                // Exact functions take integers of 64 bits.
                if target.name() == "glsl" && math == MathMode::Precise {
                    continue;
                }
                let options = EmitOptions { math, opt_level, ..options(target) };
                if let Err(e) = compile(target, &kernel(body), &options) {
                    panic!("{} {math:?} {opt_level:?}: {e}", target.name());
                }
            }
        }
    }
}

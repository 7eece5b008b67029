//! What differentiation refuses, exact gradients at its edges, and that it takes deep and long code.

#[path = "support/programs.rs"]
mod programs;

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::{Module, text};
use std::fmt::Write;

fn transform(module: &mut Module, pipeline: &str) -> Result<(), String> {
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    let pipeline = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
    pipeline.run(module, options).map(|_| ()).map_err(|e| e.to_string())
}

#[track_caller]
fn refuses(callables: &str, body: &str, reason: &str) {
    refuses_with("autodiff", callables, body, reason);
}

#[track_caller]
fn refuses_with(pipeline: &str, callables: &str, body: &str, reason: &str) {
    let mut module = programs::module(callables, body);
    let before = text::print(&module);
    let error = transform(&mut module, pipeline).expect_err("it is refused");
    assert!(error.contains("L0808") && error.contains(reason), "{error}");
    assert_eq!(text::print(&module), before, "a refused module is unchanged");
}

const LOOP: &str = "store %7, %41
     store %8, i32 0
     loop prepare b2, body b3, update b4, merge b5
     b2:
     %50: i32 = load %8
     %51: bool = arithmetic binary_less %50, LIMIT
     cond_br %51, b3, b5
     b3:
     %52: f32 = load %7
     %53: f32 = arithmetic sin %52
     store %7, %53
     br b4
     b4:
     %56: i32 = load %8
     %57: i32 = arithmetic binary_add %56, i32 1
     store %8, %57
     br b2
     b5:";

#[test]
fn what_has_no_rule_is_refused() {
    refuses("", "%50: f32 = thread_group warp_active_sum %41\nstore %7, %50", "`warp_active_sum`");
    refuses("", "%50: u32 = cast bitwise_cast %41\n%51: f32 = cast static_cast %50", "the bits");
    refuses(
        "external @f(%0: value f32) -> f32;",
        "%50: f32 = call @f(%41)\nstore %7, %50",
        "`call`",
    );
    refuses("", "autodiff backward", "more than once");
    refuses(
        "",
        "simple_loop body b2, merge b3\nb2:\nautodiff backward\nbreak b3\nb3:",
        "more than once",
    );
    refuses("", "autodiff_scope entry b2, merge b3\nb2:\nbr b3\nb3:", "inside another");
    let long = LOOP.replace("LIMIT", "i32 1000");
    refuses_with("autodiff{max_tape_bytes=1000}", "", &long, "bytes");
    let nested = "callable @g(%0: value f32) -> f32 {
        b0:
        autodiff_scope entry b1, merge b2
        b1:
        br b2
        b2:
        return %0
        }";
    refuses(nested, "%50: f32 = call @g(%41)\nstore %7, %50", "inside another");
}

#[test]
fn what_no_seed_depends_on_is_not_refused() {
    for body in [
        "%50: f32 = thread_group warp_active_sum %41\nstore %7, %41",
        "%50: f32 = autodiff detach %41\n%51: u32 = cast bitwise_cast %50\nstore %7, %41",
        "%50: f32 = arithmetic floor %41\n%51: f32 = thread_group warp_active_sum %50\nstore %7, %51",
    ] {
        transform(&mut programs::module("", body), "autodiff").unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Runs a kernel on a buffer of eight floats with one thread.
#[track_caller]
fn results(source: &str, input: f32) -> Vec<f32> {
    let mut last: Option<Vec<f32>> = None;
    for pipeline in ["autodiff", "@O0-flat-scalar", "@O2-flat-scalar", "@O2-structured"] {
        let mut module = text::parse(source).unwrap_or_else(|e| panic!("{e}"));
        transform(&mut module, pipeline).unwrap_or_else(|e| panic!("{e}"));
        let kernel = module.kernels().next().expect("a kernel");
        let mut args = vec![Arg::Buffer([input; 8].iter().flat_map(|x| x.to_le_bytes()).collect())];
        interp::run(&module, kernel, &mut args, &Launch::new([1, 1, 1]))
            .unwrap_or_else(|f| panic!("{pipeline}: {f}"));
        let Arg::Buffer(bytes) = &args[0] else { unreachable!("it stays a buffer") };
        let floats: Vec<f32> =
            bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert!(last.is_none_or(|l| l == floats), "{pipeline} differs: {floats:?}");
        last = Some(floats);
    }
    last.unwrap_or_default()
}

#[test]
fn every_run_of_a_scope_starts_at_zero() {
    let source = "module;
kernel @k block(1, 1, 1) (%0: resource buffer<f32>) {
b0:
  %1: f32 = alloca local
  %2: f32 = alloca local
  %3: u32 = alloca local
  simple_loop body b1, merge b2
b1:
  %4: f32 = resource_read buffer_read %0, u32 0
  store %1, %4
  autodiff_scope entry b3, merge b4
b3:
  autodiff requires_gradient %1
  %5: f32 = load %1
  %6: f32 = arithmetic binary_mul %5, %5
  store %2, %6
  autodiff gradient_marker %2, f32 1.0
  autodiff backward
  %7: f32 = autodiff gradient %1
  %8: f32 = autodiff gradient %2
  %9: u32 = load %3
  resource_write buffer_write %0, %9, %7
  resource_write buffer_write %0, u32 7, %8
  br b4
b4:
  %10: u32 = load %3
  %11: u32 = arithmetic binary_add %10, u32 1
  store %3, %11
  %12: bool = arithmetic binary_equal %11, u32 3
  if %12, then b5, else b6, merge b6
b5:
  break b2
b6:
  br b1
b2:
  return
}
";
    // Place 0 is written by the first run and read by the others. The last is the seed of the result itself.
    let found = results(source, 3.0);
    assert_eq!([found[0], found[1], found[2], found[7]], [6.0, 12.0, 12.0, 1.0]);
}

#[test]
fn deep_and_long_scopes_are_taken() {
    let nested = |depth: usize| {
        let mut body = String::from("store %7, %41\n%50: bool = arithmetic binary_less %41, %42\n");
        for n in 0..depth {
            let (then, merge) = (1000 + 2 * n, 1001 + 2 * n);
            let _ = write!(body, "if %50, then b{then}, else b{merge}, merge b{merge}\nb{then}:\n");
        }
        body += "%51: f32 = load %7\n%52: f32 = arithmetic sin %51\nstore %7, %52\n";
        for n in (0..depth).rev() {
            let merge = 1001 + 2 * n;
            let _ = write!(body, "br b{merge}\nb{merge}:\n");
        }
        body
    };
    let long = |count: usize| {
        let mut body = String::from("store %7, %41\n");
        for n in 0..count {
            let (a, b) = (1000 + 2 * n, 1001 + 2 * n);
            let _ = write!(
                body,
                "%{a}: f32 = load %7\n%{b}: f32 = arithmetic binary_mul %{a}, %42\nstore %7, %{b}\n"
            );
        }
        body
    };
    let bodies = [nested(20_000), long(30_000)];
    let run = move || {
        for body in bodies {
            let mut module = programs::module("", &body);
            transform(&mut module, "autodiff").unwrap_or_else(|e| panic!("{e}"));
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("a thread");
    thread.join().expect("no overflow");
}

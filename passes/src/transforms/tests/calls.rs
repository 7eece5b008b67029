use crate::transforms::testing::transform;
use luisac_xir::text;

#[track_caller]
fn module_becomes(pipeline: &str, before: &str, after: &str) {
    let (result, _) = transform(pipeline, before);
    let expected = text::print(&crate::transforms::testing::parse(after));
    assert_eq!(result, expected, "\n--- result\n{result}\n--- expected\n{expected}");
}

const ABS: &str = "callable @abs(%0: value i32) -> i32 {
b0:
  %1: i32 = alloca local
  %2: bool = arithmetic binary_less %0, i32 0
  cond_br %2, b1, b2
b1:
  %3: i32 = arithmetic unary_minus %0
  store %1, %3
  return %3
b2:
  %4: i32 = load %1
  %5: i32 = arithmetic binary_add %4, %0
  return %5
}
";

#[test]
fn inlines_blocks_and_clears_locals_in_loops() {
    let before = format!(
        "module;\n{ABS}
kernel @k block(1, 1, 1) (%0: resource buffer<i32>, %1: value i32) {{
b0:
  br b1
b1:
  %2: i32 = phi (%1, b0), (%3, b1)
  %3: i32 = call @abs(%2)
  %4: bool = arithmetic binary_less %3, i32 9
  cond_br %4, b1, b2
b2:
  resource_write buffer_write %0, u32 0, %3
  return
}}
"
    );
    module_becomes(
        "inline,unused_callable_removal",
        &before,
        "module;
kernel @k block(1, 1, 1) (%0: resource buffer<i32>, %1: value i32) {
b0:
  %2: i32 = alloca local
  %3: i32 = alloca local
  br b1
b1:
  %4: i32 = phi (%1, b0), (%9, b5)
  store %2, i32 0
  br b2
b2:
  %5: bool = arithmetic binary_less %4, i32 0
  cond_br %5, b3, b4
b3:
  %6: i32 = arithmetic unary_minus %4
  store %2, %6
  store %3, %6
  br b5
b4:
  %7: i32 = load %2
  %8: i32 = arithmetic binary_add %7, %4
  store %3, %8
  br b5
b5:
  %9: i32 = load %3
  %10: bool = arithmetic binary_less %9, i32 9
  cond_br %10, b1, b6
b6:
  resource_write buffer_write %0, u32 0, %9
  return
}
",
    );
}

#[test]
fn keeps_calls_of_several_blocks_in_structured_callers() {
    let source = format!(
        "module;\n{ABS}
kernel @k block(1, 1, 1) (%0: resource buffer<i32>, %1: value i32) {{
b0:
  simple_loop body b1, merge b2
b1:
  %2: i32 = call @abs(%1)
  break b2
b2:
  return
}}
"
    );
    let (_, report) = transform("inline", &source);
    assert_eq!(report.counter("inline", "inlined_call_count"), 0);
    assert_eq!(report.counter("inline", "skipped_structured_call_count"), 1);
}

#[test]
fn a_doubling_call_graph_stays_small() {
    let mut source = String::from(
        "module;\ncallable @f0(%0: value u32) -> u32 {\nb0:\n  %1: u32 = arithmetic binary_add %0, u32 1\n  return %1\n}\n",
    );
    for i in 1..40 {
        let below = i - 1;
        source.push_str(&format!(
            "callable @f{i}(%0: value u32) -> u32 {{\nb0:\n  %1: u32 = call @f{below}(%0)\n  %2: u32 = call @f{below}(%1)\n  return %2\n}}\n"
        ));
    }
    source.push_str(
        "kernel @k block(1, 1, 1) (%0: value u32) {\nb0:\n  %1: u32 = call @f39(%0)\n  return\n}\n",
    );
    let (_, report) = transform("inline{inline_all=true},unused_callable_removal", &source);
    let after = report.runs.last().unwrap().instructions_after;
    assert!(after < 40 * 1200, "{after} instructions");
    assert!(report.counter("inline", "inlined_call_count") > 10);
}

#[test]
fn removes_callables_that_no_kernel_reaches() {
    module_becomes(
        "unused_callable_removal",
        "module;
callable @a(%0: value u32) {
b0:
  call @b(%0)
  return
}
callable @b(%0: value u32) {
b0:
  return
}
callable @c(%0: value u32) {
b0:
  return
}
kernel @k block(1, 1, 1) (%0: value u32) {
b0:
  call @c(%0)
  return
}
",
        "module;
callable @c(%0: value u32) {
b0:
  return
}
kernel @k block(1, 1, 1) (%0: value u32) {
b0:
  call @c(%0)
  return
}
",
    );
}

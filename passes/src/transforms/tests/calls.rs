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

const READER: &str =
    "callable @read(%0: reference array<f32, 4>, %1: value u32, %2: reference f32) -> f32 {
b0:
  %3: f32 = gep %0, %1
  %4: f32 = load %3
  store %2, %4
  ret
}
";

/// A module whose kernel calls `@read` with what `body` sets up as `%2` and `%3`.
fn reader(callable: &str, body: &str) -> String {
    let callable = callable.replace("  ret\n", "  return %4\n");
    format!(
        "module;\n{callable}kernel @k block(1, 1, 1) (%0: resource buffer<f32>, %1: value u32) {{\nb0:\n{body}
  %9: f32 = call @read(%2, %1, %3)
  resource_write buffer_write %0, u32 0, %9
  return
}}
"
    )
}

#[test]
fn references_that_are_only_read_become_values() {
    let set_up = "  %2: array<f32, 4> = alloca local\n  %3: f32 = alloca local";
    module_becomes(
        "promote_ref_arg",
        &reader(READER, set_up).replace("%9", "%4"),
        "module;
callable @read(%0: value array<f32, 4>, %1: value u32, %2: reference f32) -> f32 {
b0:
  %3: array<f32, 4> = alloca local
  store %3, %0
  %4: f32 = gep %3, %1
  %5: f32 = load %4
  store %2, %5
  return %5
}
kernel @k block(1, 1, 1) (%0: resource buffer<f32>, %1: value u32) {
b0:
  %2: array<f32, 4> = alloca local
  %3: f32 = alloca local
  %4: array<f32, 4> = load %2
  %5: f32 = call @read(%4, %1, %3)
  resource_write buffer_write %0, u32 0, %5
  return
}
",
    );
}

#[test]
fn references_that_are_passed_on_become_values_all_the_way() {
    let source = "module;
callable @inner(%0: reference f32) -> f32 {
b0:
  %1: f32 = load %0
  return %1
}
callable @outer(%0: reference f32) -> f32 {
b0:
  %1: f32 = call @inner(%0)
  return %1
}
kernel @k block(1, 1, 1) (%0: resource buffer<f32>) {
b0:
  %1: f32 = alloca local
  %2: f32 = call @outer(%1)
  resource_write buffer_write %0, u32 0, %2
  return
}
";
    let (_, report) = transform("promote_ref_arg", source);
    assert_eq!(report.counter("promote_ref_arg", "promoted_ref_arg_count"), 2);
}

#[test]
fn references_that_something_may_write_stay() {
    // The other reference names a part of it; the memory is shared; the part may not be there.
    let part = "  %2: array<array<f32, 4>, 2> = alloca local\n  %3: array<f32, 4> = gep %2, %1\n  %4: f32 = alloca local";
    for (set_up, arguments, result) in [
        ("  %2: array<f32, 4> = alloca local\n  %3: f32 = gep %2, u32 0", "%2, %1, %3", "%4"),
        ("  %2: array<f32, 4> = alloca shared\n  %3: f32 = alloca local", "%2, %1, %3", "%4"),
        (part, "%3, %1, %4", "%5"),
    ] {
        let source = reader(READER, set_up).replace("%2, %1, %3", arguments).replace("%9", result);
        let (_, report) = transform("promote_ref_arg", &source);
        assert_eq!(report.counter("promote_ref_arg", "promoted_ref_arg_count"), 0);
    }
}

#[test]
fn arguments_that_are_only_passed_on_go_and_those_of_kernels_stay() {
    module_becomes(
        "dead_arg_elim",
        "module;
callable @inner(%0: value f32, %1: value u32) -> f32 {
b0:
  return %0
}
callable @outer(%0: value u32, %1: reference f32, %2: value f32) -> f32 {
b0:
  %3: f32 = call @inner(%2, %0)
  return %3
}
kernel @k block(1, 1, 1) (%0: value u32, %1: resource buffer<f32>) {
b0:
  %2: f32 = alloca local
  %3: f32 = call @outer(u32 1, %2, f32 2.0)
  print \"{}\", %3
  return
}
",
        "module;
callable @inner(%0: value f32) -> f32 {
b0:
  return %0
}
callable @outer(%0: value f32) -> f32 {
b0:
  %1: f32 = call @inner(%0)
  return %1
}
kernel @k block(1, 1, 1) (%0: value u32, %1: resource buffer<f32>) {
b0:
  %2: f32 = alloca local
  %3: f32 = call @outer(f32 2.0)
  print \"{}\", %3
  return
}
",
    );
}

#[test]
fn libraries_keep_their_signatures() {
    let source = "module;
callable @f(%0: reference f32, %1: value u32) -> f32 {
b0:
  %2: f32 = load %0
  return %2
}
";
    let (_, report) = transform("promote_ref_arg,dead_arg_elim", source);
    assert!(!report.changed());
}

#[test]
fn members_that_are_only_written_go() {
    module_becomes(
        "dead_field_elimination",
        "module;
type T0 = struct<4, u32, f32, u32>;
kernel @k block(1, 1, 1) (%0: value u32) {
b0:
  %1: array<T0, 4> = alloca local
  %2: u32 = gep %1, %0, u32 0
  store %2, u32 1
  %3: T0 = gep %1, %0
  %4: u32 = gep %3, u32 2
  store %4, u32 5
  %5: u32 = load %4
  print \"{}\", %5
  return
}
",
        "module;
type T0 = struct<4, u32>;
kernel @k block(1, 1, 1) (%0: value u32) {
b0:
  %1: array<T0, 4> = alloca local
  %2: T0 = gep %1, %0
  %3: u32 = gep %2, u32 0
  store %3, u32 5
  %4: u32 = load %3
  print \"{}\", %4
  return
}
",
    );
}

const REGION: &str = "module;
kernel @k block(1, 1, 1) (%0: resource buffer<u32>, %1: value u32) {
b0:
  %2: u32 = alloca local
  br b1
b1:
  %3: u32 = load %2
  %4: bool = arithmetic binary_less %3, %1
  cond_br %4, b2, b3
b2:
  %5: u32 = arithmetic binary_add %3, u32 1
  store %2, %5
  br b1
b3:
  %6: u32 = load %2
  resource_write buffer_write %0, u32 0, %6
  return
}
";

#[test]
fn regions_become_callables() {
    module_becomes(
        "outline{entry=1,exit=3,name=loop}",
        REGION,
        "module;
kernel @k block(1, 1, 1) (%0: resource buffer<u32>, %1: value u32) {
b0:
  %2: u32 = alloca local
  br b2
b1:
  %3: u32 = load %2
  resource_write buffer_write %0, u32 0, %3
  return
b2:
  call @loop(%2, %1)
  br b1
}
callable @loop(%0: reference u32, %1: value u32) no_inline {
b0:
  br b1
b1:
  %2: u32 = load %0
  %3: bool = arithmetic binary_less %2, %1
  cond_br %3, b2, b3
b2:
  %4: u32 = arithmetic binary_add %2, u32 1
  store %0, %4
  br b1
b3:
  return
}
",
    );
}

#[track_caller]
fn refuses(pipeline: &str, source: &str, part: &str) {
    let mut module = crate::transforms::testing::parse(source);
    let before = text::print(&module);
    let parsed = crate::Pipeline::parse(pipeline).unwrap();
    let errors = parsed.run(&mut module, crate::RunOptions::default()).expect_err("refused");
    assert!(errors.to_string().contains(part), "{errors}");
    assert_eq!(text::print(&module), before);
}

#[test]
fn regions_with_other_ways_in_or_out_are_refused() {
    refuses("outline{entry=2,exit=3}", REGION, "entered by another block");
    refuses("outline{entry=1,exit=2}", REGION, "used outside");
    refuses("outline{entry=3,exit=1}", REGION, "ends the function");
    refuses("outline{entry=1,exit=9}", REGION, "no block of that number");
    refuses("outline{function=x,entry=1,exit=3}", REGION, "no such function");
}

#[test]
fn call_sites_are_replaced_together_or_not_at_all() {
    let structured = format!(
        "module;\n{ABS}
callable @twice(%0: value i32) -> i32 {{
b0:
  %1: i32 = arithmetic binary_add %0, %0
  return %1
}}
kernel @k block(1, 1, 1) (%0: resource buffer<f32>, %1: value i32) {{
b0:
  simple_loop body b1, merge b2
b1:
  %2: i32 = call @twice(%1)
  %3: i32 = call @abs(%2)
  break b2
b2:
  return
}}
"
    );
    refuses("inline_call_sites{callees=twice|abs}", &structured, "structured control flow");
    refuses("inline_call_sites{callees=trice}", &structured, "no callable of this name");
    let (_, report) = transform("inline_call_sites{callees=twice}", &structured);
    assert_eq!(report.counter("inline_call_sites", "inlined_call_count"), 1);
    let (_, report) = transform("destructure_cfg,inline_all", &structured);
    assert_eq!(report.counter("inline_all", "inlined_call_count"), 2);
}

const COMMENTED: &str = "module;
callable @f(%0: value u32) -> u32 {
b0:
  %1: u32 = arithmetic clz %0
  return %1
}
kernel @k block(1, 1, 1) (%0: resource buffer<u32>, %1: value u32) {
b0:
  %2: u32 = call @f(%1) !comment \"why\"
  resource_write buffer_write %0, u32 0, %2
  return
}
";

#[test]
fn comments_on_calls_move_unless_they_are_consumed() {
    let (kept, report) = transform("inline{remove_callables=true}", COMMENTED);
    assert!(kept.contains("why") && !kept.contains("callable"), "{kept}");
    assert_eq!(report.counter("inline", "removed_callable_count"), 1);
    let (dropped, report) =
        transform("inline{consume_call_site_diagnostic_metadata=true}", COMMENTED);
    assert!(!dropped.contains("why"), "{dropped}");
    assert_eq!(report.counter("inline", "consumed_call_site_diagnostic_metadata_count"), 1);
}

#[test]
fn callers_that_differentiate_keep_their_calls() {
    let source = "module;
callable @f(%0: value f32) -> f32 {
b0:
  %1: f32 = arithmetic binary_mul %0, %0
  return %1
}
kernel @k block(1, 1, 1) (%0: resource buffer<f32>, %1: value f32) {
b0:
  autodiff_scope entry b1, merge b2
b1:
  %2: f32 = call @f(%1)
  resource_write buffer_write %0, u32 0, %2
  br b2
b2:
  return
}
";
    let (_, report) = transform("inline", source);
    assert_eq!(report.counter("inline", "skipped_constrained_call_count"), 1);
    let (_, report) = transform("inline{allow_autodiff_scope_in_caller=true}", source);
    assert_eq!(report.counter("inline", "inlined_call_count"), 1);
}

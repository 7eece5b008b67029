use crate::transforms::testing::{parse, transform};
use crate::{Pipeline, RunOptions};
use luisac_xir::text;

/// A kernel with a query `%10`.
pub(super) fn query(body: &str) -> String {
    let lines: String = body
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .map(|l| if l.ends_with(':') { format!("{l}\n") } else { format!("  {l}\n") })
        .collect();
    format!(
        "module;

type T0 = opaque \"LC_RayQueryAll\";

kernel @k block(64, 1, 1) (%0: resource buffer<f32>, %1: value u32, %2: value bool, %3: value f32) {{
b0:
  %10: T0 = alloca local
{lines}}}
"
    )
}

#[track_caller]
fn becomes(pipeline: &str, before: &str, after: &str) {
    let (result, _) = transform(pipeline, &query(before));
    let expected = text::print(&parse(&query(after)));
    assert_eq!(result, expected, "\n--- result\n{result}\n--- expected\n{expected}");
}

#[track_caller]
pub(super) fn is_refused(pass: &str, body: &str, reason: &str) {
    let mut module = parse(&query(body));
    let before = text::print(&module);
    let result = Pipeline::parse(pass).unwrap().run(&mut module, RunOptions::default());
    let error = result.expect_err("the pass refuses").to_string();
    assert!(error.contains("L0808") && error.contains(reason), "{error}");
    assert_eq!(text::print(&module), before, "a refused function has changed");
}

const CALLBACKS: &str = "ray_query_loop dispatch b1, merge b2
    b1:
    ray_query_dispatch %10, exit b2, surface b3, procedural b4
    b3:
    if %2, then b5, else b6, merge b6
    b5:
    ray_query_object_write commit_triangle %10
    br b6
    b6:
    br b1
    b4:
    ray_query_object_write commit_procedural %10, %3
    br b1
    b2:
    return";

const ASKING: &str = "loop prepare b1, body b2, update b9, merge b10
    b1:
    ray_query_object_write proceed %10
    %11: bool = ray_query_object_read is_terminated %10
    %12: bool = arithmetic unary_bit_not %11
    cond_br %12, b2, b10
    b2:
    %13: bool = ray_query_object_read is_triangle_candidate %10
    if %13, then b3, else b6, merge b8
    b3:
    if %2, then b4, else b5, merge b5
    b4:
    ray_query_object_write commit_triangle %10
    br b5
    b5:
    br b8
    b6:
    %14: bool = ray_query_object_read is_procedural_candidate %10
    if %14, then b11, else b7, merge b7
    b11:
    ray_query_object_write commit_procedural %10, %3
    br b7
    b7:
    br b8
    b8:
    br b9
    b9:
    br b1
    b10:
    return";

#[test]
fn callbacks_become_questions() {
    becomes("lower_ray_query_to_loop", CALLBACKS, ASKING);
}

#[test]
fn questions_become_callbacks_again() {
    becomes("reconstruct_ray_query_loop", ASKING, CALLBACKS);
    becomes("lower_ray_query_to_loop,reconstruct_ray_query_loop", CALLBACKS, CALLBACKS);
}

#[test]
fn handlers_may_be_empty() {
    let empty = "ray_query_loop dispatch b1, merge b2
        b1:
        ray_query_dispatch %10, exit b2, surface b3, procedural b4
        b3:
        br b1
        b4:
        ray_query_object_write terminate %10
        br b1
        b2:
        return";
    becomes("lower_ray_query_to_loop,reconstruct_ray_query_loop", empty, empty);
}

/// `while (query.proceed())` as it is lowered: answers pass through variables, tests stand in a row.
const WHILE: &str = "%4: bool = alloca local
    %5: bool = alloca local
    %6: bool = alloca local
    simple_loop body b1, merge b11
    b1:
    store %4, bool false
    ray_query_object_write proceed %10
    %20: bool = ray_query_object_read is_terminated %10
    %21: bool = arithmetic unary_bit_not %20
    store %4, %21
    %22: bool = load %4
    %23: bool = arithmetic unary_bit_not %22
    if %23, then b2, else b3, merge b4
    b2:
    break b11
    b3:
    br b4
    b4:
    store %5, bool false
    %24: bool = ray_query_object_read is_triangle_candidate %10
    store %5, %24
    %25: bool = load %5
    if %25, then b5, else b6, merge b7
    b5:
    ray_query_object_write commit_triangle %10
    br b7
    b6:
    br b7
    b7:
    %26: bool = ray_query_object_read is_procedural_candidate %10
    if %26, then b8, else b9, merge b10
    b8:
    ray_query_object_write terminate %10
    br b10
    b9:
    br b10
    b10:
    br b1
    b11:
    return";

#[test]
fn the_loop_of_the_language_becomes_callbacks() {
    becomes(
        "reconstruct_ray_query_loop",
        WHILE,
        "%4: bool = alloca local
        %5: bool = alloca local
        %6: bool = alloca local
        ray_query_loop dispatch b1, merge b4
        b1:
        ray_query_dispatch %10, exit b4, surface b2, procedural b3
        b2:
        ray_query_object_write commit_triangle %10
        br b1
        b3:
        ray_query_object_write terminate %10
        br b1
        b4:
        return",
    );
}

#[test]
fn loops_that_are_almost_queries_are_refused() {
    let refused = |body: &str, reason: &str| is_refused("reconstruct_ray_query_loop", body, reason);
    let with = |old: &str, new: &str| WHILE.replacen(old, new, 1);
    refused(
        &with("b4:\n", "b4:\n resource_write buffer_write %0, %1, %3\n"),
        "outside the handlers",
    );
    refused(&with("b7:\n", "b7:\n thread_group synchronize_block\n"), "outside the handlers");
    refused(&with("b5:\n", "b5:\n store %6, %25\n"), "uses an answer");
    refused(&with("b11:\n", "b11:\n %30: bool = load %4\n"), "uses an answer");
    refused(&with("br b7\n    b6", "break b11\n    b6"), "leaves the loop");
    refused(&with("b5:\n", "b5:\n ray_query_object_write proceed %10\n"), "goes on by itself");
    refused(&with("b2:\n", "b2:\n ray_query_object_write terminate %10\n"), "has ended");
    refused(&with("if %23,", "if %2,"), "something else");
    refused(&with("is_procedural_candidate", "is_triangle_candidate"), "not those of a query");
    // Never left when the query has ended.
    let endless = with("is_terminated", "is_procedural_candidate");
    refused(&endless, "not those of a query");
}

#[test]
fn loops_without_a_query_are_ignored() {
    let body = "loop prepare b1, body b2, update b3, merge b4
        b1:
        cond_br %2, b2, b4
        b2:
        br b3
        b3:
        br b1
        b4:
        return";
    let (_, report) = transform("reconstruct_ray_query_loop", &query(body));
    assert_eq!(report.counter("reconstruct_ray_query_loop", "ignored_loop_count"), 1);
    assert!(!report.changed());
}

#[test]
fn handlers_that_cannot_be_told_apart_are_refused() {
    let refused = |body: &str, reason: &str| is_refused("lower_ray_query_to_loop", body, reason);
    let with = |old: &str, new: &str| CALLBACKS.replacen(old, new, 1);
    let other = format!("%11: T0 = alloca local\n{}", with("terminate", "terminate"));
    let other = other.replace("commit_triangle %10", "commit_triangle %11");
    refused(&other, "another query object");
    refused(&with("commit_triangle", "proceed"), "goes on by itself");
    // One handler leads into the other.
    let shared = with("b6:\n    br b1", "b6:\n    br b4");
    refused(&shared, "entered from outside");
}

#[test]
fn lowered_queries_can_be_flattened() {
    let (text, _) = transform(
        "lower_ray_query_to_loop,destructure_cfg,simplify_cfg,mem2reg,gvn,dce",
        &query(CALLBACKS),
    );
    assert_eq!(text.matches("cond_br").count(), 4);
    assert!(text.contains("is_procedural_candidate") && !text.contains("dispatch "));
}

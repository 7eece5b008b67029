//! `early_return_elimination` and `lower_break_continue`.

use crate::transforms::testing::{becomes, count, stays, transform};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::text;

const RETURNS: &str = "early_return_elimination";

#[test]
fn a_return_in_an_arm_skips_the_rest() {
    becomes(
        RETURNS,
        "b0:
        if %2, then b1, else b2, merge b3
        b1:
        return
        b2:
        br b3
        b3:
        resource_write buffer_write %0, u32 0, %3
        return",
        "b0:
        %4: bool = alloca local
        if %2, then b1, else b2, merge b3
        b1:
        store %4, bool true
        br b3
        b2:
        br b3
        b3:
        %5: bool = load %4
        if %5, then b5, else b4, merge b5
        b4:
        resource_write buffer_write %0, u32 0, %3
        br b5
        b5:
        br b6
        b6:
        return",
    );
}

#[test]
fn a_return_in_a_loop_breaks_out_of_it() {
    let nested = "b0:
        simple_loop body b1, merge b5
        b1:
        simple_loop body b2, merge b6
        b2:
        if %2, then b3, else b4, merge b4
        b3:
        return
        b4:
        break b6
        b6:
        resource_write buffer_write %0, u32 0, %3
        continue b1
        b5:
        unreachable";
    // One return only: it is the last one already.
    stays(RETURNS, nested);
    let two = nested.replace("unreachable", "return").replace("continue b1", "break b5");
    becomes(
        RETURNS,
        &two,
        "b0:
        %4: bool = alloca local
        simple_loop body b1, merge b8
        b1:
        simple_loop body b2, merge b5
        b2:
        if %2, then b3, else b4, merge b4
        b3:
        store %4, bool true
        break b5
        b4:
        break b5
        b5:
        %5: bool = load %4
        if %5, then b6, else b7, merge b7
        b6:
        break b8
        b7:
        resource_write buffer_write %0, u32 0, %3
        break b8
        b8:
        br b9
        b9:
        return",
    );
}

#[test]
fn flat_functions_get_one_last_block() {
    becomes(
        RETURNS,
        "b0:
        cond_br %2, b1, b2
        b1:
        resource_write buffer_write %0, u32 0, %3
        return
        b2:
        return",
        "b0:
        cond_br %2, b1, b2
        b1:
        resource_write buffer_write %0, u32 0, %3
        br b3
        b2:
        br b3
        b3:
        return",
    );
}

#[test]
fn shared_blocks_of_a_scope_are_left_alone() {
    let body = "b0:
        if %2, then b1, else b2, merge b3
        b1:
        br b4
        b2:
        br b4
        b4:
        return
        b3:
        return";
    stays(RETURNS, body);
    assert_eq!(count(RETURNS, RETURNS, "unsupported_count", body), 1);
}

/// A callable with returns in all kinds of places, and a kernel that calls it with each thread.
const PLACES: &str = "module;

callable @f (%0: value u32) -> u32 {
b0:
  %1: u32 = alloca local
  store %1, %0
  %2: bool = arithmetic binary_less %0, u32 2
  if %2, then b1, else b2, merge b3
b1:
  return u32 100
b2:
  %3: u32 = arithmetic binary_mul %0, u32 3
  br b3
b3:
  switch %0, default b4, case 3 b5, case 4 b6, merge b7
b4:
  br b7
b5:
  return %3
b6:
  simple_loop body b8, merge b9
b8:
  return u32 4
b9:
  unreachable
b7:
  loop prepare b10, body b11, update b12, merge b13
b10:
  %4: u32 = load %1
  %5: bool = arithmetic binary_less %4, u32 20
  cond_br %5, b11, b13
b11:
  %6: u32 = arithmetic binary_bit_and %4, u32 7
  switch %6, default b14, case 5 b15, case 6 b16, merge b17
b14:
  br b17
b15:
  return %4
b16:
  continue b12
b17:
  %7: bool = arithmetic binary_equal %4, u32 11
  if %7, then b18, else b19, merge b19
b18:
  break b13
b19:
  br b12
b12:
  %8: u32 = load %1
  %9: u32 = arithmetic binary_add %8, u32 3
  store %1, %9
  br b10
b13:
  %10: u32 = load %1
  %11: u32 = arithmetic binary_add %10, %3
  return %11
}

kernel @k block(32, 1, 1) (%0: resource buffer<u32>) {
b0:
  %1: u32 = arithmetic extract dispatch_id, u32 0
  %2: u32 = call @f(%1)
  resource_write buffer_write %0, %1, %2
  return
}
";

fn results(source: &str) -> Vec<u8> {
    let module = text::parse(source).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernels().next().unwrap();
    let mut args = [Arg::Buffer(vec![0; 4 * 32])];
    interp::run(&module, kernel, &mut args, &Launch::new([32, 1, 1])).unwrap();
    match args {
        [Arg::Buffer(bytes)] => bytes,
        _ => Vec::new(),
    }
}

#[test]
fn returns_from_everywhere_keep_their_values() {
    let expected = results(PLACES);
    for pipeline in [
        "early_return_elimination",
        "lower_break_continue,early_return_elimination",
        "early_return_elimination,lower_break_continue,mem2reg",
        "destructure_cfg,early_return_elimination,restructure_cfg",
        "early_return_elimination,destructure_cfg,simplify_cfg,mem2reg,restructure_cfg,early_return_elimination",
    ] {
        let (after, _) = transform(pipeline, PLACES);
        assert_eq!(after.matches("return").count(), 2, "{pipeline}\n{after}");
        assert!(results(&after) == expected, "{pipeline}\n{after}");
    }
}

#[test]
fn break_and_continue_become_branches() {
    const PASS: &str = "lower_break_continue";
    let body = "b0:
        loop prepare b1, body b2, update b3, merge b4
        b1:
        cond_br %2, b2, b4
        b2:
        simple_loop body b5, merge b6
        b5:
        if %2, then b7, else b8, merge b8
        b7:
        continue b5
        b8:
        break b6
        b6:
        if %2, then b9, else b10, merge b10
        b9:
        break b4
        b10:
        continue b3
        b3:
        br b1
        b4:
        return";
    let (text, report) = transform(PASS, &crate::transforms::testing::kernel(body));
    assert!(!text.contains("break") && !text.contains("continue"), "{text}");
    assert_eq!(report.counter(PASS, "lowered_break_count"), 2);
    assert_eq!(report.counter(PASS, "lowered_continue_count"), 2);
    // The same edges: as branches they are the same function.
    let flat = |pipeline: &str| transform(pipeline, &crate::transforms::testing::kernel(body)).0;
    assert_eq!(flat("lower_break_continue,destructure_cfg"), flat("destructure_cfg"));
}

/// A thread that has returned holds nobody up at a barrier; one that skips the rest would.
#[test]
fn returns_in_front_of_barriers_stay() {
    crate::transforms::testing::stays(
        RETURNS,
        "b0:
        if %2, then b1, else b2, merge b3
        b1:
        return
        b2:
        br b3
        b3:
        thread_group synchronize_block
        resource_write buffer_write %0, %1, %3
        return",
    );
}

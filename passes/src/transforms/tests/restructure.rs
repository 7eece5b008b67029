//! `restructure_cfg` and `lower_irreducible_cfg` on small graphs.

use crate::transforms::testing::{becomes, count, stays, transform};

const PASS: &str = "restructure_cfg";

#[test]
fn a_test_in_the_header_makes_a_loop_with_update() {
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        cond_br %2, b4, b2
        b2:
        cond_br %2, b3, b5
        b3:
        br b1
        b5:
        thread_group synchronize_block
        br b3
        b4:
        return",
        "b0:
        br b1
        b1:
        loop prepare b2, body b3, update b6, merge b7
        b2:
        %4: bool = arithmetic unary_bit_not %2
        cond_br %4, b3, b7
        b3:
        if %2, then b4, else b5, merge b5
        b4:
        continue b6
        b5:
        thread_group synchronize_block
        continue b6
        b6:
        br b2
        b7:
        return",
    );
}

#[test]
fn a_join_that_some_paths_pass_by_stands_behind_a_test() {
    becomes(
        PASS,
        "b0:
        cond_br %2, b1, b3
        b1:
        %4: bool = arithmetic binary_less %1, u32 5
        cond_br %4, b2, b3
        b2:
        resource_write buffer_write %0, u32 0, %3
        br b4
        b3:
        resource_write buffer_write %0, u32 1, %3
        br b4
        b4:
        return",
        "b0:
        %4: u32 = alloca local
        if %2, then b1, else b5, merge b6
        b1:
        %5: bool = arithmetic binary_less %1, u32 5
        if %5, then b2, else b3, merge b4
        b2:
        resource_write buffer_write %0, u32 0, %3
        store %4, u32 4
        br b4
        b3:
        store %4, u32 3
        br b4
        b4:
        br b6
        b5:
        store %4, u32 3
        br b6
        b6:
        %6: u32 = load %4
        %7: bool = arithmetic binary_equal %6, u32 3
        if %7, then b7, else b8, merge b8
        b7:
        resource_write buffer_write %0, u32 1, %3
        br b8
        b8:
        return",
    );
}

#[test]
fn an_early_return_stays_in_its_loop() {
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        cond_br %2, b2, b5
        b2:
        cond_br %2, b3, b4
        b3:
        return
        b4:
        br b1
        b5:
        resource_write buffer_write %0, u32 1, %3
        return",
        "b0:
        br b1
        b1:
        loop prepare b2, body b3, update b6, merge b7
        b2:
        cond_br %2, b3, b7
        b3:
        if %2, then b4, else b5, merge b5
        b4:
        return
        b5:
        continue b6
        b6:
        br b2
        b7:
        resource_write buffer_write %0, u32 1, %3
        return",
    );
}

#[test]
fn two_exits_are_told_apart_behind_the_loop() {
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        cond_br %2, b2, b4
        b2:
        %4: f32 = resource_read buffer_read %0, u32 0
        %5: bool = arithmetic binary_less %4, %3
        cond_br %5, b3, b1
        b3:
        resource_write buffer_write %0, u32 1, %4
        br b5
        b4:
        thread_group synchronize_block
        br b5
        b5:
        return",
        "b0:
        %4: f32 = alloca local
        %5: u32 = alloca local
        br b1
        b1:
        loop prepare b2, body b3, update b6, merge b7
        b2:
        store %5, u32 4
        cond_br %2, b3, b7
        b3:
        %6: f32 = resource_read buffer_read %0, u32 0
        store %4, %6
        %7: bool = arithmetic binary_less %6, %3
        if %7, then b4, else b5, merge b5
        b4:
        store %5, u32 3
        break b7
        b5:
        continue b6
        b6:
        br b2
        b7:
        %8: u32 = load %5
        %9: bool = arithmetic binary_equal %8, u32 3
        if %9, then b8, else b9, merge b10
        b8:
        %10: f32 = load %4
        resource_write buffer_write %0, u32 1, %10
        br b10
        b9:
        thread_group synchronize_block
        br b10
        b10:
        return",
    );
}

#[test]
fn a_break_out_of_a_case_is_taken_behind_the_switch() {
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        indexed_branch %1, default b2, case 1 b3, case 2 b4, case 3 b2
        b2:
        br b5
        b3:
        br b6
        b4:
        br b1
        b5:
        thread_group synchronize_block
        br b1
        b6:
        return",
        "b0:
        br b1
        b1:
        simple_loop body b2, merge b7
        b2:
        switch %1, default b3, case 1 b6, case 2 b5, merge b6
        b3:
        br b4
        b4:
        thread_group synchronize_block
        continue b2
        b5:
        continue b2
        b6:
        break b7
        b7:
        br b8
        b8:
        return",
    );
}

#[test]
fn a_continue_of_the_outer_loop_passes_by_the_inner_merge() {
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        thread_group synchronize_block
        br b2
        b2:
        cond_br %2, b3, b4
        b3:
        %4: bool = arithmetic binary_less %1, u32 5
        cond_br %4, b1, b2
        b4:
        thread_group synchronize_block
        cond_br %2, b1, b5
        b5:
        return",
        "b0:
        %4: u32 = alloca local
        br b1
        b1:
        simple_loop body b2, merge b14
        b2:
        thread_group synchronize_block
        br b3
        b3:
        loop prepare b4, body b5, update b8, merge b9
        b4:
        store %4, u32 4
        cond_br %2, b5, b9
        b5:
        %5: bool = arithmetic binary_less %1, u32 5
        if %5, then b6, else b7, merge b7
        b6:
        store %4, u32 1
        break b9
        b7:
        continue b8
        b8:
        br b4
        b9:
        %6: u32 = load %4
        %7: bool = arithmetic binary_equal %6, u32 1
        if %7, then b10, else b11, merge b11
        b10:
        continue b2
        b11:
        thread_group synchronize_block
        if %2, then b12, else b13, merge b13
        b12:
        continue b2
        b13:
        break b14
        b14:
        return",
    );
}

#[test]
fn an_endless_loop_stays_one() {
    becomes(
        PASS,
        "b0:
        cond_br %2, b1, b2
        b1:
        br b1
        b2:
        return",
        "b0:
        if %2, then b1, else b4, merge b4
        b1:
        simple_loop body b2, merge b3
        b2:
        continue b2
        b3:
        unreachable
        b4:
        return",
    );
}

#[test]
fn a_small_irreducible_region_is_split() {
    becomes(
        PASS,
        "b0:
        cond_br %2, b1, b2
        b1:
        cond_br %2, b2, b3
        b2:
        br b1
        b3:
        return",
        "b0:
        if %2, then b2, else b1, merge b2
        b1:
        br b2
        b2:
        loop prepare b3, body b4, update b5, merge b6
        b3:
        cond_br %2, b4, b6
        b4:
        continue b5
        b5:
        br b3
        b6:
        return",
    );
}

#[test]
fn a_barrier_in_an_irreducible_region_is_not_copied() {
    becomes(
        PASS,
        "b0:
        cond_br %2, b1, b2
        b1:
        %4: u32 = arithmetic binary_add %1, u32 1
        thread_group synchronize_block
        %5: bool = arithmetic binary_less %4, u32 5
        cond_br %5, b2, b3
        b2:
        thread_group synchronize_block
        br b1
        b3:
        %6: f32 = cast static_cast %4
        resource_write buffer_write %0, u32 1, %6
        return",
        "b0:
        %4: u32 = alloca local
        if %2, then b1, else b2, merge b3
        b1:
        store %4, u32 0
        br b3
        b2:
        store %4, u32 1
        br b3
        b3:
        simple_loop body b4, merge b9
        b4:
        %5: u32 = load %4
        %6: bool = arithmetic binary_equal %5, u32 0
        if %6, then b5, else b8, merge b8
        b5:
        %7: u32 = arithmetic binary_add %1, u32 1
        thread_group synchronize_block
        %8: bool = arithmetic binary_less %7, u32 5
        if %8, then b6, else b7, merge b7
        b6:
        store %4, u32 1
        continue b4
        b7:
        break b9
        b8:
        thread_group synchronize_block
        store %4, u32 0
        continue b4
        b9:
        %9: f32 = cast static_cast %7
        resource_write buffer_write %0, u32 1, %9
        return",
    );
}

#[test]
fn straight_code_is_left_alone() {
    stays(PASS, "b0:\nreturn");
    stays("lower_irreducible_cfg", "b0:\ncond_br %2, b1, b2\nb1:\nbr b2\nb2:\nreturn");
}

#[test]
fn phis_go_to_memory_at_once() {
    // The values of the two phis change places: each store takes the value that was there before.
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%5, b1)
        %5: f32 = phi (f32 1.0, b0), (%4, b1)
        resource_write buffer_write %0, u32 0, %4
        %6: bool = arithmetic binary_less %4, %5
        cond_br %6, b1, b2
        b2:
        return",
        "b0:
        %4: f32 = alloca local
        %5: f32 = alloca local
        store %5, %3
        store %4, f32 1.0
        br b1
        b1:
        loop prepare b2, body b3, update b4, merge b5
        b2:
        %6: f32 = load %4
        %7: f32 = load %5
        resource_write buffer_write %0, u32 0, %7
        %8: bool = arithmetic binary_less %7, %6
        store %5, %6
        store %4, %7
        cond_br %8, b3, b5
        b3:
        continue b4
        b4:
        br b2
        b5:
        return",
    );
}

/// A ladder of `n` diamonds whose second arm also leads past the join.
fn ladder(n: usize) -> String {
    let mut body = String::new();
    for i in 0..n {
        let (a, b, c) = (3 * i, 3 * i + 1, 3 * i + 2);
        body += &format!("b{a}:\ncond_br %2, b{b}, b{c}\nb{b}:\ncond_br %2, b{c}, b{}\n", a + 3);
        body += &format!("b{c}:\nthread_group synchronize_block\nbr b{}\n", a + 3);
    }
    body + &format!("b{}:\nreturn\n", 3 * n)
}

#[test]
fn code_grows_by_a_bound_for_each_edge_and_join() {
    let (text, report) = transform(PASS, &crate::transforms::testing::kernel(&ladder(1000)));
    assert_eq!(report.counter(PASS, "guard_count"), 1000);
    assert_eq!(text.matches("synchronize_block").count(), 1000, "a barrier was copied");
    assert!(text.lines().count() < 23 * 1000, "{}", text.lines().count());
}

#[test]
fn deep_nests_need_no_deep_stack() {
    let n = 20_000;
    let mut body = String::new();
    for i in 0..n {
        body += &format!("b{}:\ncond_br %2, b{}, b{}\n", 2 * i, 2 * i + 1, 2 * i + 2);
        body += &format!("b{}:\nthread_group synchronize_block\nbr b{}\n", 2 * i + 1, 2 * n);
    }
    body += &format!("b{}:\nreturn\n", 2 * n);
    assert_eq!(count(PASS, PASS, "restructured_if_count", &body), n as u64);
    assert_eq!(count(PASS, PASS, "guard_count", &body), 0);
}

#[test]
fn wide_switches_with_shared_cases_keep_their_default() {
    becomes(
        PASS,
        "b0:
        indexed_branch %1, default b1, case 1 b1, case 2 b2, case 7 b1
        b1:
        br b3
        b2:
        thread_group synchronize_block
        br b3
        b3:
        return",
        "b0:
        switch %1, default b1, case 2 b2, merge b3
        b1:
        br b3
        b2:
        thread_group synchronize_block
        br b3
        b3:
        return",
    );
}

#[test]
fn branches_with_one_target_are_no_constructs() {
    becomes(
        PASS,
        "b0:
        cond_br %2, b1, b1
        b1:
        indexed_branch %1, default b2, case 3 b2
        b2:
        indexed_branch %1, default b3
        b3:
        return",
        "b0:
        br b1
        b1:
        br b2
        b2:
        br b3
        b3:
        return",
    );
}

#[test]
fn blocks_that_nothing_reaches_are_dropped() {
    becomes(
        PASS,
        "b0:
        cond_br %2, b1, b3
        b1:
        br b3
        b2:
        br b3
        b3:
        return",
        "b0:
        if %2, then b1, else b2, merge b2
        b1:
        br b2
        b2:
        return",
    );
}

#[test]
fn a_loop_whose_rounds_all_leave_is_none() {
    // No way leads back: `while (true) { ...; break; }` without its loop.
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        thread_group synchronize_block
        cond_br %2, b2, b3
        b2:
        return
        b3:
        unreachable",
        "b0:
        br b1
        b1:
        thread_group synchronize_block
        if %2, then b2, else b3, merge b3
        b2:
        return
        b3:
        unreachable",
    );
}

#[test]
fn a_loop_of_one_block_keeps_its_test() {
    becomes(
        PASS,
        "b0:
        br b1
        b1:
        thread_group synchronize_block
        cond_br %2, b2, b1
        b2:
        return",
        "b0:
        br b1
        b1:
        loop prepare b2, body b3, update b4, merge b5
        b2:
        thread_group synchronize_block
        %4: bool = arithmetic unary_bit_not %2
        cond_br %4, b3, b5
        b3:
        continue b4
        b4:
        br b2
        b5:
        return",
    );
}

#[test]
fn structured_functions_are_refused() {
    let pipeline = crate::Pipeline::parse(PASS).unwrap();
    let mut module = crate::transforms::testing::parse(&crate::transforms::testing::kernel(
        "b0:\nif %2, then b1, else b2, merge b2\nb1:\nbr b2\nb2:\nreturn",
    ));
    let errors = pipeline.run(&mut module, Default::default()).unwrap_err();
    assert_eq!(errors.0[0].code.0, 805);
}

#[test]
fn an_order_of_blocks_that_changes_is_told() {
    // `becomes` checks that the report tells of every change.
    becomes(
        PASS,
        "b0:
        br b2
        b1:
        return
        b2:
        thread_group synchronize_block
        br b1",
        "b0:
        br b1
        b1:
        thread_group synchronize_block
        br b2
        b2:
        return",
    );
}

#[test]
fn without_fuel_the_form_is_kept_as_promised() {
    let body = "b0:
        cond_br %2, b1, b2
        b1:
        br b2
        b2:
        %4: f32 = phi (%3, b0), (f32 1.0, b1)
        resource_write buffer_write %0, u32 0, %4
        return";
    let mut module = crate::transforms::testing::parse(&crate::transforms::testing::kernel(body));
    let pipeline = crate::Pipeline::parse("restructure_cfg,keep_waves_in_loops").unwrap();
    let options = crate::RunOptions { verify_each: true, fuel: Some(0), after: None };
    pipeline.run(&mut module, options).unwrap();
    let requires = crate::Requires::MEMORY;
    assert_eq!(crate::Form::of(&module).missing(&requires), None);
}

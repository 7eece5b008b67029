use crate::transforms::testing::{becomes, count, stays};

/// Counts from 0 to `%1`, writes in each round, and writes the counter behind.
const UP: &str = "b0:
    br b1
    b1:
    %4: u32 = phi (u32 0, b0), (%7, b2)
    %5: bool = arithmetic binary_less %4, %1
    %6: f32 = cast static_cast %4
    cond_br %5, b2, b3
    b2:
    resource_write buffer_write %0, %4, %6
    %7: u32 = arithmetic binary_add %4, u32 1
    br b1
    b3:
    resource_write buffer_write %0, u32 9, %6
    return";

#[test]
fn rotation_guards_the_first_round() {
    becomes(
        "loop_rotation,simplify_cfg",
        UP,
        "b0:
        %4: bool = arithmetic binary_less u32 0, %1
        %5: f32 = cast static_cast u32 0
        cond_br %4, b1, b2
        b1:
        %6: f32 = phi (%5, b0), (%10, b1)
        %7: u32 = phi (u32 0, b0), (%8, b1)
        resource_write buffer_write %0, %7, %6
        %8: u32 = arithmetic binary_add %7, u32 1
        %9: bool = arithmetic binary_less %8, %1
        %10: f32 = cast static_cast %8
        cond_br %9, b1, b2
        b2:
        %11: f32 = phi (%5, b0), (%10, b1)
        resource_write buffer_write %0, u32 9, %11
        return",
    );
}

#[test]
fn rotation_follows_phis_that_swap() {
    becomes(
        "loop_rotation",
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%5, b2)
        %5: f32 = phi (f32 1.0, b0), (%4, b2)
        cond_br %2, b2, b3
        b2:
        br b1
        b3:
        %6: f32 = phi (%4, b1)
        resource_write buffer_write %0, u32 0, %6
        return",
        "b0:
        cond_br %2, b1, b4
        b1:
        br b2
        b2:
        %4: f32 = phi (%3, b1), (%5, b3)
        %5: f32 = phi (f32 1.0, b1), (%4, b3)
        br b3
        b3:
        cond_br %2, b2, b4
        b4:
        %6: f32 = phi (%3, b0), (%5, b3)
        br b5
        b5:
        %7: f32 = phi (%6, b4)
        resource_write buffer_write %0, u32 0, %7
        return",
    );
}

/// Loops that passes which arrange rounds anew must leave.
fn with_inside(inst: &str) -> String {
    UP.replace("resource_write buffer_write %0, %4, %6", inst)
        .replace("%7", "%17")
        .replace("b2:\n", "b2:\n    %14: u32 = arithmetic binary_mul %4, %4\n")
}

#[test]
fn waves_barriers_and_volatile_accesses_stay_in_their_rounds() {
    for inst in [
        "thread_group synchronize_block",
        "%15: u32 = thread_group warp_active_sum %4",
        "%15: f32 = resource_read buffer_volatile_read %0, %4",
        "resource_write buffer_volatile_write %0, %4, %6",
        "print \"{}\" %4",
        "assert %5",
    ] {
        for pass in ["loop_rotation", "loop_vectorization", "loop_unswitch", "loop_fusion"] {
            stays(pass, &with_inside(inst).replace("print \"{}\" %4", "print \"{}\", %4"));
        }
    }
}

#[test]
fn rotation_leaves_loops_that_test_at_the_bottom() {
    stays(
        "loop_rotation",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%5, b1)
        %5: u32 = arithmetic binary_add %4, u32 1
        %6: bool = arithmetic binary_less %5, %1
        cond_br %6, b1, b2
        b2:
        return",
    );
}

#[test]
fn rotation_leaves_values_that_two_ways_out_lead_to() {
    // `%4` is used where the ways from the header and from the body have met.
    let body = "b0:
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%7, b3)
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b4
        b2:
        cond_br %2, b3, b5
        b3:
        %7: u32 = arithmetic binary_add %4, u32 1
        br b1
        b4:
        br b6
        b5:
        br b6
        b6:
        %8: f32 = cast static_cast %4
        resource_write buffer_write %0, u32 0, %8
        return";
    stays("loop_rotation", body);
    // Used behind one way only, it is known which test is meant.
    let one = body.replace("b5:\n", "b5:\n        resource_write buffer_write %0, %4, f32 1.0\n");
    let one = one.replace("static_cast %4", "static_cast %1");
    assert_eq!(count("loop_rotation", "loop_rotation", "rotated_loop_count", &one), 1);
}

#[test]
fn values_behind_counted_loops_are_computed_before() {
    becomes(
        "indvar_simplify",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 250, b0), (%8, b2)
        %5: u32 = phi (u32 3, b0), (%9, b2)
        %6: bool = arithmetic binary_less_equal %4, u32 253
        cond_br %6, b2, b3
        b2:
        resource_write buffer_write %0, %5, %3
        %8: u32 = arithmetic binary_add %4, u32 2
        %9: u32 = arithmetic binary_sub %5, u32 2
        br b1
        b3:
        resource_write buffer_write %0, %5, %3
        resource_write buffer_write %0, %4, %3
        return",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 250, b0), (%7, b2)
        %5: u32 = phi (u32 3, b0), (%8, b2)
        %6: bool = arithmetic binary_less_equal %4, u32 253
        cond_br %6, b2, b3
        b2:
        resource_write buffer_write %0, %5, %3
        %7: u32 = arithmetic binary_add %4, u32 2
        %8: u32 = arithmetic binary_sub %5, u32 2
        br b1
        b3:
        resource_write buffer_write %0, u32 4294967295, %3
        resource_write buffer_write %0, u32 254, %3
        return",
    );
}

#[test]
fn a_counter_that_may_wrap_around_keeps_its_value() {
    let source = |test: &str, step: &str| {
        format!(
            "b0:
            br b1
            b1:
            %4: u32 = phi (u32 5, b0), (%6, b2)
            %5: bool = arithmetic {test}
            cond_br %5, b2, b3
            b2:
            %6: u32 = arithmetic binary_add %4, u32 {step}
            br b1
            b3:
            resource_write buffer_write %0, %4, %3
            return"
        )
    };
    // Never below zero; over the end in steps of four; never false at the greatest bound.
    stays("indvar_simplify", &source("binary_greater_equal %4, u32 0", "4294967295"));
    stays("indvar_simplify", &source("binary_less %4, u32 4294967295", "4"));
    stays("indvar_simplify", &source("binary_less_equal %4, %1", "1"));
    stays("indvar_simplify", &source("binary_less %4, %1", "2"));
    // By one to a bound: the bound, or the start if that is past it.
    let up = source("binary_less %4, %1", "1");
    let wanted = up
        .replace("b0:\n", "b0:\n            %7: u32 = arithmetic max u32 5, %1\n")
        .replace("buffer_write %0, %4", "buffer_write %0, %7");
    becomes("indvar_simplify", &up, &wanted);
}

#[test]
fn recurrences_in_step_become_one_and_dead_ones_go() {
    becomes(
        "indvar_simplify",
        "b0:
        br b1
        b1:
        %4: u32 = phi (%1, b0), (%10, b2)
        %5: u32 = phi (u32 1, b0), (%11, b2)
        %6: u32 = phi (u32 0, b0), (%12, b2)
        %7: u32 = phi (%1, b0), (%13, b2)
        %8: u32 = phi (%1, b0), (%14, b2)
        cond_br %2, b2, b3
        b2:
        resource_write buffer_write %0, %5, %3
        resource_write buffer_write %0, %6, %3
        resource_write buffer_write %0, %7, %3
        %10: u32 = arithmetic binary_add %4, u32 3
        %11: u32 = arithmetic binary_add %5, u32 3
        %12: u32 = arithmetic binary_add %6, u32 3
        %13: u32 = arithmetic binary_add %7, u32 3
        %14: u32 = arithmetic binary_mul %8, u32 3
        br b1
        b3:
        return",
        "b0:
        br b1
        b1:
        %4: u32 = phi (%1, b0), (%7, b2)
        %5: u32 = phi (u32 1, b0), (%8, b2)
        %6: u32 = arithmetic binary_add %5, u32 4294967295
        cond_br %2, b2, b3
        b2:
        resource_write buffer_write %0, %5, %3
        resource_write buffer_write %0, %6, %3
        resource_write buffer_write %0, %4, %3
        %7: u32 = arithmetic binary_add %4, u32 3
        %8: u32 = arithmetic binary_add %5, u32 3
        %9: u32 = arithmetic binary_add %6, u32 3
        %10: u32 = arithmetic binary_add %4, u32 3
        br b1
        b3:
        return",
    );
}

#[test]
fn unswitching_chooses_between_two_loops() {
    becomes(
        "loop_unswitch,simplify_cfg,phi_cleanup",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%7, b4)
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b5
        b2:
        cond_br %2, b3, b4
        b3:
        resource_write buffer_write %0, %4, %3
        br b4
        b4:
        %6: u32 = phi (u32 1, b2), (u32 2, b3)
        %7: u32 = arithmetic binary_add %4, %6
        br b1
        b5:
        resource_write buffer_write %0, %4, f32 1.0
        return",
        "b0:
        cond_br %2, b1, b4
        b1:
        %4: u32 = phi (u32 0, b0), (%7, b2)
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b3
        b2:
        resource_write buffer_write %0, %4, %3
        %7: u32 = arithmetic binary_add %4, u32 2
        br b1
        b4:
        %8: u32 = phi (u32 0, b0), (%10, b5)
        %9: bool = arithmetic binary_less %8, %1
        cond_br %9, b5, b3
        b5:
        %10: u32 = arithmetic binary_add %8, u32 1
        br b4
        b3:
        %11: u32 = phi (%4, b1), (%8, b4)
        resource_write buffer_write %0, %11, f32 1.0
        return",
    );
}

#[test]
fn unswitching_leaves_conditions_that_change_or_are_many() {
    stays("loop_unswitch", UP);
    let conditions: String = (0..4)
        .map(|i| format!("%{}: bool = arithmetic binary_less %1, u32 {i}\n", 20 + i))
        .collect();
    let branches: String = (0..4)
        .map(|i| {
            format!(
                "cond_br %{}, b{}, b{}\nb{}:\nbr b{}\nb{}:\n",
                20 + i,
                10 + 2 * i,
                11 + 2 * i,
                10 + 2 * i,
                11 + 2 * i,
                11 + 2 * i
            )
        })
        .collect();
    stays(
        "loop_unswitch",
        &format!(
            "b0:
            {conditions}
            br b1
            b1:
            %4: bool = thread_group warp_is_first_active_lane
            cond_br %4, b2, b3
            b2:
            {branches}
            br b1
            b3:
            return"
        )
        .replace("thread_group warp_is_first_active_lane", "arithmetic binary_less %3, f32 1.0"),
    );
}

/// Two loops from 0 to `%1`; `BETWEEN`, `FIRST` and `SECOND` are instructions.
fn two_loops(between: &str, first: &str, second: &str, bound: &str) -> String {
    format!(
        "b0:
        %30: array<f32, 4> = alloca local
        %31: f32 = gep %30, u32 0
        %32: f32 = gep %30, u32 1
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%6, b2)
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b3
        b2:
        {first}
        %6: u32 = arithmetic binary_add %4, u32 1
        br b1
        b3:
        {between}
        br b4
        b4:
        %7: u32 = phi (u32 0, b3), (%9, b5)
        %8: bool = arithmetic binary_less %7, {bound}
        cond_br %8, b5, b6
        b5:
        {second}
        %9: u32 = arithmetic binary_add %7, u32 1
        br b4
        b6:
        %10: u32 = phi (%7, b4)
        %11: f32 = cast static_cast %10
        resource_write buffer_write %0, %4, %11
        return"
    )
}

#[test]
fn fusion_joins_loops_whose_accesses_do_not_meet() {
    becomes(
        "loop_fusion",
        &two_loops(
            "%20: f32 = arithmetic binary_add %3, f32 1.0",
            "store %31, %3",
            "resource_write buffer_write %0, %7, %20",
            "%1",
        ),
        "b0:
        %4: array<f32, 4> = alloca local
        %5: f32 = gep %4, u32 0
        %6: f32 = gep %4, u32 1
        %20: f32 = arithmetic binary_add %3, f32 1.0
        br b1
        b1:
        %7: u32 = phi (u32 0, b0), (%12, b4)
        %8: u32 = phi (u32 0, b0), (%11, b4)
        %9: bool = arithmetic binary_less %8, %1
        %10: bool = arithmetic binary_less %7, %1
        cond_br %9, b2, b3
        b2:
        store %5, %3
        %11: u32 = arithmetic binary_add %8, u32 1
        br b4
        b3:
        br b5
        b4:
        resource_write buffer_write %0, %7, %20
        %12: u32 = arithmetic binary_add %7, u32 1
        br b1
        b5:
        %13: u32 = phi (%7, b3)
        %14: f32 = cast static_cast %13
        resource_write buffer_write %0, %8, %14
        return",
    );
    let fused = |first: &str, second: &str| {
        count("loop_fusion", "loop_fusion", "fused_loop_count", &two_loops("", first, second, "%1"))
    };
    assert_eq!(fused("store %31, %3", "store %32, %3"), 1);
    assert_eq!(fused("%20: f32 = load %31", "%21: f32 = load %31"), 1);
}

#[test]
fn fusion_leaves_loops_that_depend_on_each_other() {
    let write = "resource_write buffer_write %0, %7, %3";
    // Other numbers of rounds, perhaps.
    stays("loop_fusion", &two_loops("", "", "", "u32 8"));
    // Accesses that meet: the same buffer, the same part of memory, a place that may be any.
    stays("loop_fusion", &two_loops("", &write.replace("%7", "%4"), write, "%1"));
    stays("loop_fusion", &two_loops("", "store %31, %3", "%20: f32 = load %31", "%1"));
    stays(
        "loop_fusion",
        &two_loops("", "store %31, %3", "%20: f32 = gep %30, %7\nstore %20, %3", "%1"),
    );
    // A value of the first, and an effect in between.
    let last = "%20: f32 = cast static_cast %4\nresource_write buffer_write %0, %7, %20";
    stays("loop_fusion", &two_loops("", "", last, "%1"));
    stays("loop_fusion", &two_loops(&write.replace("%7", "u32 0"), "", "", "%1"));
}

#[test]
fn vectorization_does_four_rounds_at_a_time() {
    becomes(
        "loop_vectorization",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 1, b0), (%9, b2)
        %5: u32 = phi (%1, b0), (%8, b2)
        %6: bool = arithmetic binary_less %4, u32 12
        cond_br %6, b2, b3
        b2:
        %7: u32 = arithmetic binary_mul %4, %1
        %8: u32 = arithmetic binary_add %5, %7
        %9: u32 = arithmetic binary_add %4, u32 1
        br b1
        b3:
        %10: f32 = cast static_cast %5
        resource_write buffer_write %0, u32 0, %10
        return",
        "b0:
        %4: vector<u32, 4> = arithmetic aggregate %1, %1, %1, %1
        br b1
        b1:
        %5: u32 = phi (u32 0, b0), (%16, b2)
        %6: u32 = phi (u32 1, b0), (%15, b2)
        %7: vector<u32, 4> = phi (const vector<u32, 4> zero, b0), (%14, b2)
        %8: bool = arithmetic binary_less %5, u32 2
        cond_br %8, b2, b3
        b2:
        %9: u32 = arithmetic binary_add %6, u32 1
        %10: u32 = arithmetic binary_add %6, u32 2
        %11: u32 = arithmetic binary_add %6, u32 3
        %12: vector<u32, 4> = arithmetic aggregate %6, %9, %10, %11
        %13: vector<u32, 4> = arithmetic binary_mul %12, %4
        %14: vector<u32, 4> = arithmetic binary_add %7, %13
        %15: u32 = arithmetic binary_add %6, u32 4
        %16: u32 = arithmetic binary_add %5, u32 1
        br b1
        b3:
        %17: u32 = arithmetic extract %7, u32 0
        %18: u32 = arithmetic binary_add %1, %17
        %19: u32 = arithmetic extract %7, u32 1
        %20: u32 = arithmetic binary_add %18, %19
        %21: u32 = arithmetic extract %7, u32 2
        %22: u32 = arithmetic binary_add %20, %21
        %23: u32 = arithmetic extract %7, u32 3
        %24: u32 = arithmetic binary_add %22, %23
        br b4
        b4:
        %25: u32 = phi (%6, b3), (%30, b5)
        %26: u32 = phi (%24, b3), (%29, b5)
        %27: bool = arithmetic binary_less %25, u32 12
        cond_br %27, b5, b6
        b5:
        %28: u32 = arithmetic binary_mul %25, %1
        %29: u32 = arithmetic binary_add %26, %28
        %30: u32 = arithmetic binary_add %25, u32 1
        br b4
        b6:
        %31: f32 = cast static_cast %26
        resource_write buffer_write %0, u32 0, %31
        return",
    );
}

/// A loop over `%4` and a phi `%5` of some type.
fn folding(ty: &str, start: &str, next: &str, bound: &str) -> String {
    format!(
        "b0:
        %30: f32 = alloca local
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%9, b2)
        %5: {ty} = phi ({start}, b0), (%8, b2)
        %6: bool = arithmetic binary_less %4, {bound}
        cond_br %6, b2, b3
        b2:
        {next}
        %9: u32 = arithmetic binary_add %4, u32 1
        br b1
        b3:
        %10: f32 = cast static_cast %5
        resource_write buffer_write %0, u32 0, %10
        return"
    )
}

#[test]
fn vectorization_leaves_what_it_would_reorder() {
    let stays = |source: &str| stays("loop_vectorization", source);
    // Sums of floating-point numbers, and differences.
    stays(&folding("f32", "%3", "%8: f32 = arithmetic binary_add %5, %3", "u32 16"));
    stays(&folding("u32", "%1", "%8: u32 = arithmetic binary_sub %4, %5", "u32 16"));
    // A sum that a round sees, and one of itself.
    let seen = "%7: u32 = arithmetic binary_mul %5, u32 3
        %11: f32 = cast static_cast %7
        resource_write buffer_write %0, u32 3, %11
        %8: u32 = arithmetic binary_add %5, %4";
    stays(&folding("u32", "%1", seen, "u32 16"));
    stays(&folding("u32", "%1", "%8: u32 = arithmetic binary_add %5, %5", "u32 16"));
    // A read of what a round before may have written, and stores.
    let read = "%7: f32 = resource_read buffer_read %0, %4
        resource_write buffer_write %0, u32 3, %7
        %8: u32 = arithmetic binary_add %5, %4";
    stays(&folding("u32", "%1", read, "u32 16"));
    let store = "store %30, %3\n%8: u32 = arithmetic binary_add %5, %4";
    stays(&folding("u32", "%1", store, "u32 16"));
    // Too few rounds, and what an earlier run has left.
    let sum = folding("u32", "%1", "%8: u32 = arithmetic binary_add %5, %4", "u32 7");
    stays(&sum);
    let twice = "loop_vectorization,loop_vectorization";
    let open = sum.replace("u32 7", "%1");
    assert_eq!(count(twice, "loop_vectorization", "vectorized_loop_count", &open), 1);
}

/// A loop that runs its body once at least; `INSIDE` stands where every round comes by.
fn reading(inside: &str) -> String {
    format!(
        "b0:
        %30: array<f32, 4> = alloca local
        %31: f32 = gep %30, u32 0
        %32: f32 = gep %30, u32 1
        store %31, %3
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%6, b1)
        {inside}
        %6: u32 = arithmetic binary_add %4, u32 1
        %5: bool = arithmetic binary_less %6, %1
        cond_br %5, b1, b2
        b2:
        return"
    )
}

#[test]
fn licm_moves_reads_that_nothing_writes() {
    let moved = |inside: &str| count("licm", "licm", "hoisted_count", &reading(inside));
    assert_eq!(moved("%20: f32 = load %31\nstore %32, %20"), 1);
    assert_eq!(moved("%20: f32 = gep %30, %1\n%21: f32 = load %20"), 2);
    // What may be written, directly or by a dynamic index.
    assert_eq!(moved("%20: f32 = load %31\nstore %31, %3"), 0);
    assert_eq!(moved("%20: f32 = load %31\n%21: f32 = gep %30, %4\nstore %21, %3"), 0);
    assert_eq!(moved("%20: f32 = resource_read buffer_read %0, %1"), 1);
    let both =
        "%20: f32 = resource_read buffer_read %0, %1\nresource_write buffer_write %0, %4, %20";
    assert_eq!(moved(both), 0);
    // Not past what is volatile: a barrier lets other threads write, an assertion may guard the index.
    assert_eq!(moved("%20: f32 = resource_read buffer_volatile_read %0, %1"), 0);
    assert_eq!(moved("assert %2\n%20: f32 = resource_read buffer_read %0, %1"), 0);
    assert_eq!(moved("thread_group synchronize_block\n%20: f32 = load %31"), 0);
}

#[test]
fn licm_moves_no_read_that_may_not_happen() {
    let body = UP.replace(
        "resource_write buffer_write %0, %4, %6",
        "%8: f32 = resource_read buffer_read %0, %1",
    );
    let body = body.replace("%7", "%17").replace("resource_write buffer_write %0, u32 9, %6", "");
    stays("licm", &body);
    // Behind the guard of a rotated loop it is sure to.
    let twice = "loop_rotation,licm";
    assert_eq!(count(twice, "licm", "hoisted_count", &body), 1);
}

/// A part of a vector, taken where a branch in the loop says so, or in every round.
fn parts(guard: &str, index: &str) -> String {
    format!(
        "b0:
        %4: vector<f32, 2> = arithmetic aggregate %3, f32 1.0
        br b1
        b1:
        %5: u32 = phi (u32 0, b0), (%9, b3)
        {guard}
        b2:
        %8: f32 = arithmetic extract %4, {index}
        resource_write buffer_write %0, %5, %8
        br b3
        b3:
        %9: u32 = arithmetic binary_add %5, u32 1
        %10: bool = arithmetic binary_less %9, u32 4
        cond_br %10, b1, b4
        b4:
        return"
    )
}

/// The branch may be what keeps the index in range.
#[test]
fn licm_moves_no_part_that_may_not_exist() {
    let moved = |guard, index| count("licm", "licm", "hoisted_count", &parts(guard, index));
    let (sometimes, always) = ("cond_br %2, b2, b3", "br b2");
    assert_eq!(moved(sometimes, "%1"), 0);
    assert_eq!(moved(sometimes, "u32 7"), 0);
    assert_eq!(moved(sometimes, "u32 1"), 1);
    assert_eq!(moved(always, "%1"), 1);
}

/// `n` loops, one behind the other, each with a branch on a condition from outside and a value that is used at the end.
fn chain(n: usize) -> String {
    let mut body = String::from("b0:\nbr b1\n");
    for i in 0..n {
        let (b, v) = (5 * i + 1, 10 * i + 10);
        body.push_str(&format!(
            "b{b}:
            %{v}: u32 = phi (u32 0, b{before}), (%{next}, b{latch})
            %{t}: bool = arithmetic binary_less %{v}, u32 9
            cond_br %{t}, b{inside}, b{exit}
            b{inside}:
            cond_br %2, b{arm}, b{latch}
            b{arm}:
            resource_write buffer_write %0, %{v}, %3
            br b{latch}
            b{latch}:
            %{next}: u32 = arithmetic binary_add %{v}, u32 1
            br b{b}
            b{exit}:
            resource_write buffer_write %0, %{v}, %3
            br b{after}
            ",
            before = 5 * i,
            next = v + 1,
            t = v + 2,
            inside = b + 1,
            arm = b + 2,
            latch = b + 3,
            exit = b + 4,
            after = b + 5,
        ));
    }
    body.push_str(&format!("b{}:\nreturn\n", 5 * n + 1));
    body
}

#[test]
fn many_loops_take_time_in_proportion() {
    let source = crate::transforms::testing::kernel(&chain(16_000));
    for (pass, changes) in [
        ("loop_rotation", true),
        ("indvar_simplify", true),
        ("loop_unswitch", true),
        ("loop_fusion", false),
        ("loop_vectorization", false),
        ("licm", false),
    ] {
        let mut module = crate::transforms::testing::parse(&source);
        let pipeline = crate::Pipeline::parse(pass).unwrap();
        let start = std::time::Instant::now();
        let report = pipeline.run(&mut module, Default::default()).unwrap();
        assert_eq!(report.changed(), changes, "{pass}");
        assert!(start.elapsed().as_secs() < 10, "{pass}: {:?}", start.elapsed());
    }
}

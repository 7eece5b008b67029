use crate::transforms::testing::{becomes, count, stays};

#[test]
fn reassociate_joins_constants_and_equal_terms() {
    becomes(
        "reassociate",
        "b0:
        %4: u32 = arithmetic binary_add %1, u32 7
        %5: u32 = arithmetic binary_sub %4, u32 3
        %6: u32 = arithmetic binary_mul %1, u32 4
        %7: u32 = arithmetic binary_add %5, %6
        resource_write buffer_write %0, %7, %3
        return",
        "b0:
        %4: u32 = arithmetic binary_mul %1, u32 5
        %5: u32 = arithmetic binary_add %4, u32 4
        resource_write buffer_write %0, %5, %3
        return",
    );
}

#[test]
fn reassociate_groups_what_a_loop_does_not_change() {
    becomes(
        "reassociate",
        "b0:
        %4: u32 = arithmetic clz %1
        br b1
        b1:
        %5: u32 = phi (u32 0, b0), (%8, b1)
        %6: u32 = arithmetic binary_add %5, %1
        %7: u32 = arithmetic binary_add %6, %4
        resource_write buffer_write %0, %7, %3
        %8: u32 = arithmetic binary_add %5, u32 1
        cond_br %2, b1, b2
        b2:
        return",
        "b0:
        %4: u32 = arithmetic clz %1
        br b1
        b1:
        %5: u32 = phi (u32 0, b0), (%8, b1)
        %6: u32 = arithmetic binary_add %1, %4
        %7: u32 = arithmetic binary_add %6, %5
        resource_write buffer_write %0, %7, %3
        %8: u32 = arithmetic binary_add %5, u32 1
        cond_br %2, b1, b2
        b2:
        return",
    );
}

#[test]
fn reassociate_leaves_floats_and_what_others_use() {
    stays(
        "reassociate",
        "b0:
        %4: f32 = arithmetic binary_add %3, f32 1.0
        %5: f32 = arithmetic binary_add %4, f32 2.0
        %6: u32 = arithmetic binary_add %1, u32 1
        %7: u32 = arithmetic binary_add %6, u32 2
        resource_write buffer_write %0, %6, %5
        resource_write buffer_write %0, %7, %5
        return",
    );
}

#[test]
fn reassociate_reaches_a_fixed_point() {
    let body = "b0:
        %4: i32 = cast static_cast %1
        %5: i32 = arithmetic unary_minus %4
        %6: i32 = arithmetic binary_sub %5, %4
        %7: i32 = arithmetic binary_mul %6, i32 -3
        %8: i32 = arithmetic binary_sub i32 5, %7
        print \"{}\", %8
        return";
    assert_eq!(count("fix(reassociate)", "reassociate", "reassociated_inst_count", body), 1);
}

#[test]
fn cvp_uses_equalities_where_only_one_edge_leads() {
    becomes(
        "cvp",
        "b0:
        %4: bool = arithmetic binary_equal %1, u32 5
        cond_br %4, b1, b2
        b1:
        resource_write buffer_write %0, %1, %3
        br b3
        b2:
        %5: u32 = arithmetic select u32 1, u32 2, %4
        br b3
        b3:
        %6: u32 = phi (%1, b1), (%5, b2)
        resource_write buffer_write %0, %6, %3
        resource_write buffer_write %0, %1, %3
        return",
        "b0:
        %4: bool = arithmetic binary_equal %1, u32 5
        cond_br %4, b1, b2
        b1:
        resource_write buffer_write %0, u32 5, %3
        br b3
        b2:
        %5: u32 = arithmetic select u32 1, u32 2, bool false
        br b3
        b3:
        %6: u32 = phi (u32 5, b1), (%5, b2)
        resource_write buffer_write %0, %6, %3
        resource_write buffer_write %0, %1, %3
        return",
    );
}

#[test]
fn cvp_follows_ands_edges_and_cases() {
    becomes(
        "cvp",
        "b0:
        %4: bool = arithmetic binary_not_equal %1, u32 7
        %5: bool = arithmetic unary_bit_not %4
        %6: bool = arithmetic binary_bit_and %5, %2
        cond_br %6, b2, b1
        b1:
        indexed_branch %1, default b4, case 1 b3, case 2 b3, case 9 b5
        b2:
        %7: u32 = phi (%1, b0)
        br b3
        b3:
        %8: u32 = phi (%1, b1), (%7, b2)
        br b4
        b4:
        return
        b5:
        resource_write buffer_write %0, %1, %3
        return",
        "b0:
        %4: bool = arithmetic binary_not_equal %1, u32 7
        %5: bool = arithmetic unary_bit_not %4
        %6: bool = arithmetic binary_bit_and %5, %2
        cond_br %6, b2, b1
        b1:
        indexed_branch %1, default b4, case 1 b3, case 2 b3, case 9 b5
        b2:
        %7: u32 = phi (u32 7, b0)
        br b3
        b3:
        %8: u32 = phi (%1, b1), (%7, b2)
        br b4
        b4:
        return
        b5:
        resource_write buffer_write %0, u32 9, %3
        return",
    );
}

#[test]
fn cvp_leaves_floats_and_edges_that_are_both() {
    stays(
        "cvp",
        "b0:
        %4: bool = arithmetic binary_equal %3, f32 0.0
        cond_br %4, b1, b2
        b1:
        resource_write buffer_write %0, u32 0, %3
        br b2
        b2:
        %5: bool = arithmetic binary_equal %1, u32 1
        cond_br %5, b3, b3
        b3:
        resource_write buffer_write %0, %1, %3
        return",
    );
}

/// Nothing can be learnt of a constant: not in the case that it takes, and not in one that it never takes.
#[test]
fn cvp_learns_nothing_of_constants() {
    stays(
        "cvp",
        "b0:
        indexed_branch u32 1, default b3, case 1 b1, case 2 b2
        b1:
        resource_write buffer_write %0, u32 1, %3
        br b3
        b2:
        resource_write buffer_write %0, u32 1, %3
        br b3
        b3:
        return",
    );
}

#[test]
fn div_rem_pairs_share_the_quotient() {
    becomes(
        "div_rem_pairs",
        "b0:
        %4: u32 = arithmetic binary_mod %1, u32 10
        %5: u32 = arithmetic binary_div %1, u32 10
        %6: u32 = arithmetic binary_div %5, %1
        %7: u32 = arithmetic binary_mod %5, %1
        %8: f32 = arithmetic binary_div %3, f32 3.0
        %9: f32 = arithmetic binary_mod %3, f32 3.0
        print \"{} {} {} {} {} {}\", %4, %5, %6, %7, %8, %9
        return",
        "b0:
        %4: u32 = arithmetic binary_div %1, u32 10
        %5: u32 = arithmetic binary_mul %4, u32 10
        %6: u32 = arithmetic binary_sub %1, %5
        %7: u32 = arithmetic binary_div %4, %1
        %8: u32 = arithmetic binary_mul %7, %1
        %9: u32 = arithmetic binary_sub %4, %8
        %10: bool = arithmetic binary_equal %1, u32 0
        %11: u32 = arithmetic select %9, u32 0, %10
        %12: f32 = arithmetic binary_div %3, f32 3.0
        %13: f32 = arithmetic binary_mod %3, f32 3.0
        print \"{} {} {} {} {} {}\", %6, %4, %7, %11, %12, %13
        return",
    );
}

#[test]
fn libcalls_keep_the_sign_of_a_low_end_of_minus_zero() {
    becomes(
        "simplify_libcalls",
        "b0:
        %4: f32 = arithmetic clamp %3, f32 0.0, f32 1.0
        %5: f32 = arithmetic clamp %3, f32 -0.0, f32 1.0
        %6: f32 = arithmetic max f32 0.0, %3
        %7: f32 = arithmetic min f32 1.0, %6
        %8: u32 = arithmetic abs %1
        %9: f32 = arithmetic pow_int %3, i32 2
        %10: f32 = arithmetic pow %3, f32 2.0
        print \"{} {} {} {} {} {}\", %4, %5, %7, %8, %9, %10
        return",
        "b0:
        %4: f32 = arithmetic saturate %3
        %5: f32 = arithmetic clamp %3, f32 -0.0, f32 1.0
        %6: f32 = arithmetic max f32 0.0, %3
        %7: f32 = arithmetic saturate %3
        %8: f32 = arithmetic binary_mul %3, %3
        %9: f32 = arithmetic pow %3, f32 2.0
        print \"{} {} {} {} {} {}\", %4, %5, %7, %1, %8, %9
        return",
    );
}

#[test]
fn identities_hold_in_every_lane_or_not_at_all() {
    becomes(
        "algebraic_simplify",
        "b0:
        %4: vector<u32, 2> = arithmetic aggregate %1, %1
        %5: vector<u32, 2> = arithmetic binary_div %4, const vector<u32, 2>(4, 8)
        %6: vector<u32, 2> = arithmetic binary_div %4, const vector<u32, 2>(4, 6)
        %7: u32 = arithmetic extract %5, u32 0
        %8: u32 = arithmetic extract %5, u32 1
        %9: vector<u32, 2> = arithmetic aggregate %7, %8
        %10: vector<u32, 2> = arithmetic aggregate %8, %7
        print \"{} {} {}\", %6, %9, %10
        return",
        "b0:
        %4: vector<u32, 2> = arithmetic aggregate %1, %1
        %5: vector<u32, 2> = arithmetic binary_shift_right %4, const vector<u32, 2>(2, 3)
        %6: vector<u32, 2> = arithmetic binary_div %4, const vector<u32, 2>(4, 6)
        %7: u32 = arithmetic extract %5, u32 0
        %8: u32 = arithmetic extract %5, u32 1
        %9: vector<u32, 2> = arithmetic aggregate %8, %7
        print \"{} {} {}\", %6, %5, %9
        return",
    );
}

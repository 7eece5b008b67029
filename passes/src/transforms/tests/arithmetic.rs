use crate::transforms::testing::{becomes, kernel, stays, transform};

/// `lines` define `%4` ...; the last value is written. It becomes `value`.
#[track_caller]
fn simplifies(pipeline: &str, ty: &str, lines: &[&str], value: &str) {
    let mut body = String::from("b0:\n");
    for (i, line) in lines.iter().enumerate() {
        body.push_str(&format!("%{}: {ty} = arithmetic {line}\n", 4 + i));
    }
    let last = 3 + lines.len();
    body.push_str(&format!("print \"{{}}\", %{last}\nreturn"));
    let (text, _) = transform(&format!("{pipeline},dce"), &kernel(&body));
    assert!(text.contains(&format!("print \"{{}}\", {value}\n")), "{lines:?}: {text}");
}

#[test]
fn integer_identities() {
    for (line, value) in [
        ("binary_add %1, u32 0", "%1"),
        ("binary_mul %1, u32 0", "u32 0"),
        ("binary_mul u32 1, %1", "%1"),
        ("binary_sub %1, %1", "u32 0"),
        ("binary_bit_xor %1, %1", "u32 0"),
        ("binary_bit_or %1, %1", "%1"),
        ("binary_div u32 0, %1", "u32 0"),
        ("binary_mod %1, %1", "u32 0"),
        ("binary_shift_left %1, i32 0", "%1"),
        ("max %1, %1", "%1"),
        ("abs %1", "%1"),
    ] {
        simplifies("algebraic_simplify", "u32", &[line], value);
    }
}

#[test]
fn float_identities_keep_every_bit() {
    for (line, value) in [
        ("binary_mul %3, f32 1.0", "%3"),
        ("binary_div %3, f32 1.0", "%3"),
        ("binary_sub %3, f32 0.0", "%3"),
        ("select %3, %3, %2", "%3"),
        // These would change a zero's sign, NaN or infinity.
        ("binary_add %3, f32 0.0", "%4"),
        ("binary_sub %3, f32 -0.0", "%4"),
        ("binary_sub %3, %3", "%4"),
        ("binary_mul %3, f32 0.0", "%4"),
        ("binary_div %3, %3", "%4"),
        ("pow f32 2.0, %3", "%4"),
    ] {
        simplifies("algebraic_simplify", "f32", &[line], value);
    }
    simplifies("algebraic_simplify", "f32", &["unary_minus %3", "unary_minus %4"], "%3");
}

#[test]
fn fast_math_allows_more_but_keeps_nan() {
    let fast = "algebraic_simplify{fast_math=true}";
    simplifies(fast, "f32", &["binary_add f32 0.0, %3"], "%3");
    simplifies(fast, "f32", &["binary_sub %3, %3"], "%4");
    becomes(
        "const_fold,algebraic_simplify{fast_math=true}",
        "b0:
        %4: f32 = arithmetic binary_add f32 1.0, f32 1.0
        %5: f32 = arithmetic pow %4, %3
        resource_write buffer_write %0, u32 0, %5
        return",
        "b0:
        %4: f32 = arithmetic exp2 %3
        resource_write buffer_write %0, u32 0, %4
        return",
    );
}

#[test]
fn truth_values() {
    for (line, value) in [
        ("binary_bit_and %2, bool true", "%2"),
        ("binary_bit_and bool false, %2", "bool false"),
        ("binary_bit_or %2, bool true", "bool true"),
        ("binary_equal %2, bool true", "%2"),
        ("select bool false, bool true, %2", "%2"),
        ("binary_less %1, %1", "bool false"),
        ("binary_equal %1, %1", "bool true"),
        ("binary_equal %3, %3", "%4"),
    ] {
        simplifies("algebraic_simplify", "bool", &[line], value);
    }
}

#[test]
fn sccp_sees_through_loops_and_dead_arms() {
    becomes(
        "sccp",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 1, b0), (%6, b4)
        %5: bool = arithmetic binary_equal %4, u32 1
        cond_br %5, b2, b3
        b2:
        br b4
        b3:
        br b4
        b4:
        %6: u32 = phi (%4, b2), (u32 2, b3)
        cond_br %2, b1, b5
        b5:
        resource_write buffer_write %0, %6, %3
        return",
        "b0:
        br b1
        b1:
        br b2
        b2:
        br b3
        b3:
        cond_br %2, b1, b4
        b4:
        resource_write buffer_write %0, u32 1, %3
        return",
    );
}

#[test]
fn licm_moves_cheap_code_and_what_always_runs() {
    becomes(
        "licm",
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%8, b3)
        %5: f32 = arithmetic sin %3
        cond_br %2, b2, b3
        b2:
        %6: f32 = arithmetic cos %3
        %7: f32 = arithmetic binary_mul %3, %3
        resource_write buffer_write %0, u32 0, %6
        resource_write buffer_write %0, u32 1, %7
        br b3
        b3:
        %8: f32 = arithmetic binary_add %4, %5
        cond_br %2, b1, b4
        b4:
        return",
        "b0:
        %4: f32 = arithmetic sin %3
        %5: f32 = arithmetic binary_mul %3, %3
        br b1
        b1:
        %6: f32 = phi (%3, b0), (%8, b3)
        cond_br %2, b2, b3
        b2:
        %7: f32 = arithmetic cos %3
        resource_write buffer_write %0, u32 0, %7
        resource_write buffer_write %0, u32 1, %5
        br b3
        b3:
        %8: f32 = arithmetic binary_add %6, %4
        cond_br %2, b1, b4
        b4:
        return",
    );
}

#[test]
fn licm_moves_out_of_structured_loops() {
    becomes(
        "licm",
        "b0:
        simple_loop body b1, merge b2
        b1:
        simple_loop body b3, merge b4
        b3:
        %4: f32 = arithmetic binary_mul %3, %3
        resource_write buffer_write %0, %1, %4
        if %2, then b5, else b6, merge b7
        b5:
        break b4
        b6:
        br b7
        b7:
        br b3
        b4:
        br b1
        b2:
        return",
        "b0:
        %4: f32 = arithmetic binary_mul %3, %3
        simple_loop body b1, merge b2
        b1:
        simple_loop body b3, merge b4
        b3:
        resource_write buffer_write %0, %1, %4
        if %2, then b5, else b6, merge b7
        b5:
        break b4
        b6:
        br b7
        b7:
        br b3
        b4:
        br b1
        b2:
        return",
    );
}

#[test]
fn converts_diamonds_and_triangles() {
    becomes(
        "if_conversion,simplify_cfg",
        "b0:
        cond_br %2, b1, b2
        b1:
        %4: f32 = arithmetic binary_add %3, f32 1.0
        br b3
        b2:
        br b3
        b3:
        %5: f32 = phi (%4, b1), (%3, b2)
        resource_write buffer_write %0, u32 0, %5
        return",
        "b0:
        %4: f32 = arithmetic binary_add %3, f32 1.0
        %5: f32 = arithmetic select %3, %4, %2
        resource_write buffer_write %0, u32 0, %5
        return",
    );
}

#[test]
fn keeps_arms_with_effects() {
    stays(
        "if_conversion",
        "b0:
        cond_br %2, b1, b2
        b1:
        %4: u32 = thread_group warp_active_sum %1
        br b2
        b2:
        %5: u32 = phi (%1, b0), (%4, b1)
        resource_write buffer_write %0, %5, %3
        return",
    );
}

/// An index that is out of range where the branch goes the other way.
#[test]
fn keeps_arms_whose_index_the_branch_may_guard() {
    let arm = |inst: &str| {
        format!(
            "b0:
            %4: vector<f32, 2> = arithmetic aggregate %3, f32 1.0
            %5: bool = arithmetic binary_less %1, u32 2
            cond_br %5, b1, b2
            b1:
            {inst}
            br b2
            b2:
            %8: f32 = phi (%3, b0), (%7, b1)
            resource_write buffer_write %0, u32 0, %8
            return"
        )
    };
    for guarded in [
        "%7: f32 = arithmetic extract %4, %1",
        "%7: f32 = arithmetic extract %4, u32 7",
        "%6: vector<f32, 2> = arithmetic insert %4, %3, %1
        %7: f32 = arithmetic extract %6, u32 0",
    ] {
        stays("if_conversion", &arm(guarded));
    }
    let free = arm("%7: f32 = arithmetic extract %4, u32 1");
    let converted = crate::transforms::testing::count(
        "if_conversion",
        "if_conversion",
        "converted_diamond_count",
        &free,
    );
    assert_eq!(converted, 1);
}

#[test]
fn unrolls_short_loops_away() {
    becomes(
        "loop_unroll,sccp,simplify_cfg",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%7, b2)
        %5: f32 = phi (%3, b0), (%8, b2)
        %6: bool = arithmetic binary_less %4, u32 2
        cond_br %6, b2, b3
        b2:
        resource_write buffer_write %0, %4, %5
        %7: u32 = arithmetic binary_add %4, u32 1
        %8: f32 = arithmetic binary_mul %5, %3
        br b1
        b3:
        resource_write buffer_write %0, u32 9, %5
        return",
        "b0:
        resource_write buffer_write %0, u32 0, %3
        %4: f32 = arithmetic binary_mul %3, %3
        resource_write buffer_write %0, u32 1, %4
        %5: f32 = arithmetic binary_mul %4, %3
        resource_write buffer_write %0, u32 9, %5
        return",
    );
}

#[test]
fn keeps_loops_of_unknown_length() {
    stays(
        "loop_unroll",
        "b0:
        br b1
        b1:
        %4: u32 = phi (u32 0, b0), (%6, b2)
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b3
        b2:
        %6: u32 = arithmetic binary_add %4, u32 1
        br b1
        b3:
        return",
    );
}

/// Columns that stay whole are not taken apart for nothing: the second run finds nothing to do.
#[test]
fn a_matrix_of_loaded_columns_stays() {
    stays(
        "scalarizer",
        "b0:
        %10: vector<f32, 2> = alloca local
        %11: matrix<f32, 2> = alloca local
        %12: vector<f32, 2> = load %10
        %13: matrix<f32, 2> = arithmetic aggregate %12, %12
        store %11, %13
        return",
    );
}

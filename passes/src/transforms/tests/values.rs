use crate::transforms::testing::{becomes, count, stays};

#[test]
fn removes_phis_that_join_nothing() {
    becomes(
        "phi_cleanup",
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%5, b1)
        %5: f32 = phi (%3, b0), (%4, b1)
        %6: f32 = phi (%3, b0), (%6, b1)
        resource_write buffer_write %0, u32 0, %6
        cond_br %2, b1, b2
        b2:
        return",
        "b0:
        br b1
        b1:
        resource_write buffer_write %0, u32 0, %3
        cond_br %2, b1, b2
        b2:
        return",
    );
}

#[test]
fn folds_like_the_interpreter() {
    becomes(
        "const_fold",
        "b0:
        %4: i32 = arithmetic binary_div i32 7, i32 0
        %5: i32 = arithmetic binary_shift_left %4, i32 -1
        %6: u32 = cast bitwise_cast %5
        %7: f32 = arithmetic min f32 -0.0, f32 0.0
        %8: vector<f32, 2> = arithmetic aggregate %7, %3
        %9: f32 = arithmetic extract %8, u32 1
        %10: f32 = arithmetic extract %8, u32 0
        resource_write buffer_write %0, %6, %9
        resource_write buffer_write %0, %6, %10
        return",
        "b0:
        %4: vector<f32, 2> = arithmetic aggregate f32 -0.0, %3
        resource_write buffer_write %0, u32 0x80000000, %3
        resource_write buffer_write %0, u32 0x80000000, f32 -0.0
        return",
    );
}

#[test]
fn leaves_indices_out_of_range() {
    stays(
        "const_fold",
        "b0:
        %4: f32 = arithmetic extract const array<f32, 2>(1.0, 2.0), u32 2
        resource_write buffer_write %0, u32 0, %4
        return",
    );
}

#[test]
fn scalarizes_arithmetic_phis_and_dots() {
    becomes(
        "scalarizer",
        "b0:
        %4: vector<f32, 2> = arithmetic aggregate %3, f32 2.0
        br b1
        b1:
        %5: vector<f32, 2> = phi (%4, b0), (%6, b1)
        %6: vector<f32, 2> = arithmetic binary_add %5, %4
        cond_br %2, b1, b2
        b2:
        %7: f32 = arithmetic dot %6, %6
        resource_write buffer_write %0, u32 0, %7
        return",
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%6, b1)
        %5: f32 = phi (f32 2.0, b0), (%7, b1)
        %6: f32 = arithmetic binary_add %4, %3
        %7: f32 = arithmetic binary_add %5, f32 2.0
        cond_br %2, b1, b2
        b2:
        %8: f32 = arithmetic binary_mul %6, %6
        %9: f32 = arithmetic binary_mul %7, %7
        %10: f32 = arithmetic binary_add %8, %9
        resource_write buffer_write %0, u32 0, %10
        return",
    );
}

#[test]
fn scalarizing_twice_changes_nothing_more() {
    let body = "b0:
        %4: u32 = arithmetic extract dispatch_id, u32 0
        %5: vector<f32, 4> = alloca local
        %6: vector<f32, 4> = load %5
        %7: vector<f32, 4> = arithmetic sin %6
        store %5, %7
        %8: f32 = gep %5, %1
        %9: f32 = load %8
        resource_write buffer_write %0, %4, %9
        return";
    assert_eq!(count("scalarizer", "scalarizer", "scalarized_inst_count", body), 1);
    assert_eq!(count("scalarizer,fix(scalarizer;max=2)", "fix", "", body), 0);
    let once = count("scalarizer,scalarizer", "scalarizer", "scalarized_inst_count", body);
    assert_eq!(once, 1);
}

#[test]
fn lowers_formulas_and_halves() {
    becomes(
        "lower_math",
        "b0:
        %4: f32 = arithmetic lerp %3, f32 2.0, f32 0.5
        %5: f16 = cast static_cast %4
        %6: f16 = arithmetic rsqrt %5
        %7: f32 = cast static_cast %6
        resource_write buffer_write %0, u32 0, %7
        return",
        "b0:
        %4: f32 = arithmetic binary_sub f32 2.0, %3
        %5: f32 = arithmetic binary_mul f32 0.5, %4
        %6: f32 = arithmetic binary_add %3, %5
        %7: f16 = cast static_cast %6
        %8: f32 = cast static_cast %7
        %9: f32 = arithmetic sqrt %8
        %10: f32 = arithmetic binary_div f32 1.0, %9
        %11: f16 = cast static_cast %10
        %12: f32 = cast static_cast %11
        resource_write buffer_write %0, u32 0, %12
        return",
    );
}

#[test]
fn lowers_in_loops_and_keeps_natives() {
    let body = "b0:
        %4: f32 = arithmetic binary_mod %3, f32 0.3
        %5: f32 = arithmetic pow_int %4, %1
        %6: f32 = arithmetic floor %5
        %7: f32 = arithmetic sin %6
        resource_write buffer_write %0, u32 0, %7
        return";
    assert_eq!(count("lower_math", "lower_math", "lowered_function_count", body), 3);
    let native = "lower_math{native=binary_mod|sin.f32|pow_int}";
    assert_eq!(count(native, "lower_math", "lowered_function_count", body), 1);
    stays(native.replace("pow_int", "pow_int|floor").as_str(), body);
}

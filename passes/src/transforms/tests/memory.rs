use crate::transforms::testing::{becomes, count, stays};

#[test]
fn promotes_a_loop_variable() {
    becomes(
        "mem2reg",
        "b0:
        %4: u32 = alloca local !name \"i\"
        store %4, %1
        br b1
        b1:
        %5: u32 = load %4
        %6: bool = arithmetic binary_less %5, u32 10
        cond_br %6, b2, b3
        b2:
        %7: u32 = load %4
        %8: u32 = arithmetic binary_add %7, u32 1
        store %4, %8
        br b1
        b3:
        %9: u32 = load %4
        resource_write buffer_write %0, %9, %3
        return",
        "b0:
        br b1
        b1:
        %4: u32 = phi (%1, b0), (%6, b2) !name \"i\"
        %5: bool = arithmetic binary_less %4, u32 10
        cond_br %5, b2, b3
        b2:
        %6: u32 = arithmetic binary_add %4, u32 1
        br b1
        b3:
        resource_write buffer_write %0, %4, %3
        return",
    );
}

#[test]
fn reads_before_writes_are_zero() {
    becomes(
        "mem2reg",
        "b0:
        %4: f32 = alloca local
        cond_br %2, b1, b2
        b1:
        store %4, %3
        br b2
        b2:
        %5: f32 = load %4
        resource_write buffer_write %0, u32 0, %5
        return",
        "b0:
        cond_br %2, b1, b2
        b1:
        br b2
        b2:
        %4: f32 = phi (f32 0.0, b0), (%3, b1)
        resource_write buffer_write %0, u32 0, %4
        return",
    );
}

#[test]
fn swaps_keep_both_values() {
    becomes(
        "mem2reg",
        "b0:
        %4: f32 = alloca local
        %5: f32 = alloca local
        store %4, %3
        br b1
        b1:
        %6: f32 = load %4
        %7: f32 = load %5
        store %4, %7
        store %5, %6
        cond_br %2, b1, b2
        b2:
        %8: f32 = load %4
        resource_write buffer_write %0, u32 0, %8
        return",
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%5, b1)
        %5: f32 = phi (f32 0.0, b0), (%4, b1)
        cond_br %2, b1, b2
        b2:
        resource_write buffer_write %0, u32 0, %5
        return",
    );
}

#[test]
fn places_no_phi_where_nothing_reads() {
    let body = "b0:
        %4: f32 = alloca local
        store %4, f32 1.0
        cond_br %2, b1, b2
        b1:
        store %4, %3
        br b2
        b2:
        store %4, f32 2.0
        %5: f32 = load %4
        resource_write buffer_write %0, u32 0, %5
        return";
    assert_eq!(count("mem2reg", "mem2reg", "inserted_phi_count", body), 0);
    assert_eq!(count("mem2reg", "mem2reg", "promoted_alloca_count", body), 1);
}

#[test]
fn keeps_what_is_indexed_or_shared() {
    stays(
        "mem2reg",
        "b0:
        %4: vector<f32, 4> = alloca local
        %5: f32 = alloca shared
        %6: f32 = gep %4, %1
        %7: f32 = load %6
        store %5, %7
        %8: f32 = load %5
        resource_write buffer_write %0, u32 0, %8
        return",
    );
}

#[test]
fn splits_vectors_and_keeps_wholes_together() {
    becomes(
        "sroa",
        "b0:
        %4: vector<f32, 2> = alloca local !name \"v\"
        %5: f32 = gep %4, u32 1
        store %5, %3
        %6: vector<f32, 2> = load %4
        %7: f32 = arithmetic reduce_sum %6
        resource_write buffer_write %0, u32 0, %7
        return",
        "b0:
        %4: f32 = alloca local !name \"v.0\"
        %5: f32 = alloca local !name \"v.1\"
        store %5, %3
        %6: f32 = load %4
        %7: f32 = load %5
        %8: vector<f32, 2> = arithmetic aggregate %6, %7
        %9: f32 = arithmetic reduce_sum %8
        resource_write buffer_write %0, u32 0, %9
        return",
    );
}

#[test]
fn splits_nested_composites_up_to_the_indexed_part() {
    becomes(
        "sroa",
        "b0:
        %4: array<array<f32, 4>, 2> = alloca local
        %5: f32 = gep %4, u32 1, %1
        store %5, %3
        %6: f32 = gep %4, u32 0, u32 2
        store %6, %3
        return",
        "b0:
        %4: f32 = alloca local
        %5: f32 = alloca local
        %6: f32 = alloca local
        %7: f32 = alloca local
        %8: array<f32, 4> = alloca local
        %9: f32 = gep %8, %1
        store %9, %3
        store %6, %3
        return",
    );
}

#[test]
fn keeps_composites_indexed_at_run_time_or_out_of_range() {
    stays(
        "sroa",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: f32 = gep %4, %1
        store %5, %3
        %6: array<f32, 4> = alloca local
        %7: f32 = gep %6, u32 4
        store %7, %3
        return",
    );
}

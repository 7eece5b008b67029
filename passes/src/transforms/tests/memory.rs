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

#[test]
fn reg2mem_keeps_the_values_of_a_swap() {
    becomes(
        "reg2mem",
        "b0:
        br b1
        b1:
        %4: f32 = phi (%3, b0), (%5, b1) !name \"a\"
        %5: f32 = phi (f32 0.0, b0), (%4, b1)
        cond_br %2, b1, b2
        b2:
        resource_write buffer_write %0, u32 0, %5
        return",
        "b0:
        %4: f32 = alloca local
        %5: f32 = alloca local
        %6: f32 = alloca local !name \"a\"
        store %6, %3
        store %5, f32 0.0
        br b1
        b1:
        %7: f32 = load %5
        store %4, %7
        %8: f32 = load %6
        store %6, %7
        store %5, %8
        cond_br %2, b1, b2
        b2:
        %9: f32 = load %4
        resource_write buffer_write %0, u32 0, %9
        return",
    );
}

#[test]
fn reg2mem_makes_geps_anew_and_leaves_undefined_entries() {
    becomes(
        "reg2mem",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: u32 = arithmetic binary_bit_and %1, u32 3
        %6: f32 = gep %4, %5
        cond_br %2, b1, b2
        b1:
        store %6, %3
        br b2
        b2:
        %7: f32 = phi (undef f32, b0), (%3, b1)
        resource_write buffer_write %0, u32 0, %7
        return",
        "b0:
        %4: u32 = alloca local
        %5: f32 = alloca local
        %6: array<f32, 4> = alloca local
        %7: u32 = arithmetic binary_bit_and %1, u32 3
        store %4, %7
        cond_br %2, b1, b2
        b1:
        %8: u32 = load %4
        %9: f32 = gep %6, %8
        store %9, %3
        store %5, %3
        br b2
        b2:
        %10: f32 = load %5
        resource_write buffer_write %0, u32 0, %10
        return",
    );
}

#[test]
fn reg2mem_repairs_what_does_not_dominate() {
    let source = crate::transforms::testing::kernel(
        "b0:
        cond_br %2, b1, b2
        b1:
        %4: f32 = arithmetic binary_add %3, f32 1.0
        br b2
        b2:
        cond_br %2, b3, b4
        b3:
        resource_write buffer_write %0, u32 0, %4
        br b4
        b4:
        return",
    );
    let mut module = crate::transforms::testing::parse(&source);
    let pipeline = crate::Pipeline::parse("reg2mem{only_broken=true}").unwrap();
    let report = pipeline.run(&mut module, crate::RunOptions::default()).unwrap();
    assert_eq!(report.counter("reg2mem", "lowered_cross_block_value_count"), 1);
    luisac_xir::verify::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    stays(
        "reg2mem{only_broken=true}",
        "b0:
        cond_br %2, b1, b2
        b1:
        br b2
        b2:
        %4: f32 = phi (%3, b1), (f32 1.0, b0)
        br b3
        b3:
        resource_write buffer_write %0, u32 0, %4
        return",
    );
}

#[test]
fn trace_gep_joins_chains_and_keeps_shared_inner_ones() {
    becomes(
        "trace_gep",
        "b0:
        %4: array<array<f32, 4>, 2> = alloca local
        %5: array<f32, 4> = gep %4, %1
        %6: f32 = gep %5, u32 2
        store %6, %3
        %7: array<f32, 4> = gep %4, u32 1
        %8: array<f32, 4> = load %7
        %9: f32 = gep %7, %1
        store %9, %3
        print \"{}\", %8
        return",
        "b0:
        %4: array<array<f32, 4>, 2> = alloca local
        %5: f32 = gep %4, %1, u32 2
        store %5, %3
        %6: array<f32, 4> = gep %4, u32 1
        %7: array<f32, 4> = load %6
        %8: f32 = gep %4, u32 1, %1
        store %8, %3
        print \"{}\", %7
        return",
    );
}

#[test]
fn transpose_gep_makes_allocas_promotable() {
    becomes(
        "transpose_gep",
        "b0:
        %4: array<array<f32, 2>, 2> = alloca local
        %5: array<f32, 2> = gep %4, u32 1
        %6: f32 = gep %5, u32 0
        store %6, %3
        %7: f32 = load %6
        resource_write buffer_write %0, u32 0, %7
        return",
        "b0:
        %4: array<array<f32, 2>, 2> = alloca local
        %5: array<array<f32, 2>, 2> = load %4
        %6: array<array<f32, 2>, 2> = arithmetic insert %5, %3, u32 1, u32 0
        store %4, %6
        %7: array<array<f32, 2>, 2> = load %4
        %8: f32 = arithmetic extract %7, u32 1, u32 0
        resource_write buffer_write %0, u32 0, %8
        return",
    );
}

#[test]
fn transpose_gep_leaves_shared_memory_and_computed_indices() {
    stays(
        "transpose_gep",
        "b0:
        %4: array<f32, 4> = alloca shared
        %5: f32 = gep %4, u32 0
        store %5, %3
        %6: array<f32, 4> = alloca local
        %7: f32 = gep %6, u32 0
        store %7, %3
        %8: f32 = gep %6, %1
        store %8, %3
        %9: array<f32, 4> = alloca local
        %10: f32 = gep %9, u32 4
        store %10, %3
        return",
    );
}

const DEFERRED: &str = "b0:
    %4: array<f32, 4> = alloca local
    %5: f32 = gep %4, u32 1
    %6: array<f32, 4> = load %4
    store %5, %3
    %7: f32 = arithmetic extract %6, u32 1
    resource_write buffer_write %0, u32 0, %7
    return";

#[test]
fn deferred_loads_read_what_the_whole_would_have() {
    becomes(
        "defer_local_aggregate_load",
        DEFERRED,
        "b0:
        %4: array<f32, 4> = alloca local
        %5: f32 = gep %4, u32 1
        %6: f32 = gep %4, u32 1
        %7: f32 = load %6
        store %5, %3
        resource_write buffer_write %0, u32 0, %7
        return",
    );
    becomes(
        "defer_local_aggregate_load",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: array<f32, 4> = load %4
        %6: u32 = arithmetic clz %1
        %7: f32 = arithmetic extract %5, %6
        resource_write buffer_write %0, u32 0, %7
        return",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: u32 = arithmetic clz %1
        %6: f32 = gep %4, %5
        %7: f32 = load %6
        resource_write buffer_write %0, u32 0, %7
        return",
    );
    // A constant place out of range that may not be reached.
    stays(
        "defer_local_aggregate_load",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: array<f32, 4> = load %4
        cond_br %2, b1, b2
        b1:
        %6: f32 = arithmetic extract %5, u32 4
        resource_write buffer_write %0, u32 0, %6
        br b2
        b2:
        return",
    );
    // A computed place behind a write.
    stays("defer_local_aggregate_load", &DEFERRED.replace("%6, u32 1", "%6, %1"));
}

/// Runs on a module that does not verify before.
fn repair(body: &str) -> (luisac_xir::Module, crate::Report) {
    let mut module = crate::transforms::testing::parse(&crate::transforms::testing::kernel(body));
    let pipeline = crate::Pipeline::parse("fix_self_referential").unwrap();
    let report = pipeline.run(&mut module, crate::RunOptions::default()).unwrap();
    (module, report)
}

#[test]
fn circles_of_inserts_are_repaired_together_or_not_at_all() {
    let good = "%4: vector<f32, 2> = alloca local
        %5: vector<f32, 2> = arithmetic insert %6, %3, u32 0
        %6: vector<f32, 2> = arithmetic insert %5, %3, u32 1
        store %4, %6";
    let (module, report) = repair(&format!("b0:\n{good}\nreturn"));
    assert_eq!(report.counter("fix_self_referential", "fixed_count"), 1);
    luisac_xir::verify::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
    let alone = "%7: vector<f32, 2> = arithmetic insert %7, %3, u32 0\nprint \"{}\", %7";
    let (module, report) = repair(&format!("b0:\n{good}\n{alone}\nreturn"));
    assert_eq!(report.counter("fix_self_referential", "unresolved_count"), 1);
    assert!(!report.changed());
    assert!(luisac_xir::verify::verify(&module).is_err());
}

/// Removing what nothing uses is another pass's work, and would be a change that no counter tells of.
#[test]
fn reg2mem_leaves_an_unused_gep() {
    stays(
        "reg2mem",
        "b0:
        %10: vector<f32, 2> = alloca local
        %11: f32 = gep %10, u32 0
        return",
    );
}

use crate::transforms::testing::{becomes, stays};

#[test]
fn forwards_stores_to_loads_of_the_same_part() {
    becomes(
        "local_store_forward",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: f32 = gep %4, u32 1
        %6: f32 = gep %4, u32 2
        %7: f32 = gep %4, %1
        store %5, %3
        store %6, f32 2.0
        %8: f32 = load %5
        resource_write buffer_write %0, u32 0, %8
        store %7, f32 3.0
        %9: f32 = load %5
        resource_write buffer_write %0, u32 1, %9
        return",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: f32 = gep %4, u32 1
        %6: f32 = gep %4, u32 2
        %7: f32 = gep %4, %1
        store %5, %3
        store %6, f32 2.0
        resource_write buffer_write %0, u32 0, %3
        store %7, f32 3.0
        %8: f32 = load %5
        resource_write buffer_write %0, u32 1, %8
        return",
    );
}

#[test]
fn leaves_shared_memory_and_other_blocks() {
    stays(
        "local_store_forward,local_load_elimination,dead_store_elimination",
        "b0:
        %4: f32 = alloca shared
        store %4, %3
        thread_group synchronize_block
        %5: f32 = load %4
        %6: f32 = load %4
        resource_write buffer_write %0, u32 0, %5
        resource_write buffer_write %0, u32 1, %6
        store %4, %3
        return",
    );
}

#[test]
fn loads_once_between_writes() {
    becomes(
        "local_load_elimination",
        "b0:
        %4: f32 = alloca local
        br b1
        b1:
        %5: f32 = load %4
        %6: f32 = load %4
        store %4, %3
        %7: f32 = load %4
        resource_write buffer_write %0, u32 0, %5
        resource_write buffer_write %0, u32 1, %6
        resource_write buffer_write %0, u32 2, %7
        return",
        "b0:
        %4: f32 = alloca local
        br b1
        b1:
        %5: f32 = load %4
        store %4, %3
        %6: f32 = load %4
        resource_write buffer_write %0, u32 0, %5
        resource_write buffer_write %0, u32 1, %5
        resource_write buffer_write %0, u32 2, %6
        return",
    );
}

#[test]
fn removes_stores_that_are_overwritten_or_never_read() {
    becomes(
        "dead_store_elimination",
        "b0:
        %4: vector<f32, 2> = alloca local
        %5: f32 = gep %4, u32 0
        store %5, %3
        store %4, const vector<f32, 2> zero
        %6: f32 = load %5
        resource_write buffer_write %0, u32 0, %6
        store %5, %3
        return",
        "b0:
        %4: vector<f32, 2> = alloca local
        %5: f32 = gep %4, u32 0
        store %4, const vector<f32, 2> zero
        %6: f32 = load %5
        resource_write buffer_write %0, u32 0, %6
        return",
    );
}

const EQUALS: &str = "b0:
    %4: f32 = arithmetic binary_mul %3, f32 2.0
    cond_br %2, b1, b2
    b1:
    %5: f32 = arithmetic binary_mul f32 2.0, %3
    %6: f32 = arithmetic binary_sub %5, %3
    %7: f32 = arithmetic binary_sub %3, %5
    %8: f32 = arithmetic binary_sub %5, %3
    resource_write buffer_write %0, u32 0, %6
    resource_write buffer_write %0, u32 1, %7
    resource_write buffer_write %0, u32 2, %8
    br b2
    b2:
    %9: f32 = arithmetic binary_sub %4, %3
    resource_write buffer_write %0, u32 3, %9
    return";

#[test]
fn early_cse_stays_in_the_block() {
    becomes(
        "early_cse",
        EQUALS,
        "b0:
        %4: f32 = arithmetic binary_mul %3, f32 2.0
        cond_br %2, b1, b2
        b1:
        %5: f32 = arithmetic binary_mul f32 2.0, %3
        %6: f32 = arithmetic binary_sub %5, %3
        %7: f32 = arithmetic binary_sub %3, %5
        resource_write buffer_write %0, u32 0, %6
        resource_write buffer_write %0, u32 1, %7
        resource_write buffer_write %0, u32 2, %6
        br b2
        b2:
        %8: f32 = arithmetic binary_sub %4, %3
        resource_write buffer_write %0, u32 3, %8
        return",
    );
}

#[test]
fn gvn_uses_what_dominates() {
    becomes(
        "gvn",
        EQUALS,
        "b0:
        %4: f32 = arithmetic binary_mul %3, f32 2.0
        cond_br %2, b1, b2
        b1:
        %5: f32 = arithmetic binary_sub %4, %3
        %6: f32 = arithmetic binary_sub %3, %4
        resource_write buffer_write %0, u32 0, %5
        resource_write buffer_write %0, u32 1, %6
        resource_write buffer_write %0, u32 2, %5
        br b2
        b2:
        %7: f32 = arithmetic binary_sub %4, %3
        resource_write buffer_write %0, u32 3, %7
        return",
    );
}

#[test]
fn gvn_keeps_wave_operations_and_reads() {
    stays(
        "gvn",
        "b0:
        %4: u32 = thread_group warp_active_sum %1
        %5: u32 = thread_group warp_active_sum %1
        %6: f32 = resource_read buffer_read %0, %4
        %7: f32 = resource_read buffer_read %0, %4
        %8: f32 = arithmetic binary_add %6, %7
        resource_write buffer_write %0, %5, %8
        return",
    );
}

#[test]
fn an_index_out_of_range_may_be_taken_for_another() {
    stays(
        "local_store_forward,dead_store_elimination",
        "b0:
        %4: array<f32, 4> = alloca local
        %5: f32 = gep %4, u32 3
        %6: f32 = gep %4, u32 7
        store %5, %3
        store %6, f32 2.0
        %7: f32 = load %5
        store %5, f32 3.0
        %8: f32 = load %6
        print \"{} {}\", %7, %8
        return",
    );
}

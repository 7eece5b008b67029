use crate::transforms::testing::{becomes, stays};

#[test]
fn removes_unused_values_and_phi_rings() {
    becomes(
        "dce",
        "b0:
        %4: f32 = arithmetic binary_add %3, %3
        %5: f32 = arithmetic binary_mul %4, %3
        br b1
        b1:
        %6: f32 = phi (%3, b0), (%6, b1)
        cond_br %2, b1, b2
        b2:
        return",
        "b0:
        br b1
        b1:
        cond_br %2, b1, b2
        b2:
        return",
    );
}

#[test]
fn removes_allocas_that_are_only_written() {
    becomes(
        "dce",
        "b0:
        %4: vector<f32, 4> = alloca local
        %5: f32 = gep %4, %1
        store %5, %3
        return",
        "b0:
        return",
    );
}

#[test]
fn keeps_what_has_an_effect() {
    stays(
        "dce",
        "b0:
        %4: f32 = alloca local
        store %4, %3
        %5: f32 = load %4
        %6: f32 = resource_read buffer_volatile_read %0, u32 0
        resource_write buffer_write %0, u32 1, %5
        %7: u32 = thread_group warp_active_sum %1
        thread_group synchronize_block
        assert %2
        return",
    );
}

#[test]
fn keeps_endless_loops_and_role_blocks() {
    stays(
        "dce",
        "b0:
        simple_loop body b1, merge b2
        b1:
        br b1
        b2:
        return",
    );
}

#[test]
fn removes_blocks_that_nothing_leads_to() {
    becomes(
        "dce",
        "b0:
        br b2
        b1:
        br b2
        b2:
        return",
        "b0:
        br b1
        b1:
        return",
    );
}

use crate::transforms::testing::{becomes, count, stays};

#[test]
fn anchors_a_return_on_the_way_out_of_a_loop() {
    becomes(
        "keep_waves_in_loops",
        "b0:
        simple_loop body b1, merge b5
        b1:
        if %2, then b2, else b3, merge b4
        b2:
        %4: u32 = thread_group warp_active_sum %1
        return
        b3:
        br b4
        b4:
        br b1
        b5:
        return",
        "b0:
        simple_loop body b1, merge b8
        b1:
        if %2, then b2, else b6, merge b7
        b2:
        %4: u32 = thread_group warp_active_sum %1
        %5: bool = arithmetic binary_equal kernel_id, u32 4294967295
        if %5, then b3, else b4, merge b5
        b3:
        continue b1
        b4:
        return
        b5:
        unreachable
        b6:
        br b7
        b7:
        br b1
        b8:
        return",
    );
}

#[test]
fn leaves_loops_without_waves_alone() {
    stays(
        "keep_waves_in_loops",
        "b0:
        %4: u32 = thread_group warp_active_sum %1
        simple_loop body b1, merge b4
        b1:
        if %2, then b2, else b3, merge b3
        b2:
        break b4
        b3:
        br b1
        b4:
        return",
    );
}

#[test]
fn anchors_breaks_of_the_loop_and_not_of_a_switch() {
    let body = "b0:
        simple_loop body b1, merge b8
        b1:
        switch %1, default b2, case 3 b3, merge b4
        b2:
        break b4
        b3:
        %4: bool = thread_group warp_active_any %2
        break b4
        b4:
        if %2, then b5, else b6, merge b7
        b5:
        break b8
        b6:
        br b7
        b7:
        br b1
        b8:
        return";
    assert_eq!(count("keep_waves_in_loops", "keep_waves_in_loops", "anchored_exit_count", body), 1);
}

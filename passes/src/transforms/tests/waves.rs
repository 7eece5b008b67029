//! Which threads are together in the arms that leave a loop.

use crate::transforms::testing::{parse, stays};
use crate::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Arg, Launch};

/// What the kernel writes for 16 threads in waves of 8, after a pipeline; `%1` is the dispatch id.
fn results(pipeline: &str, body: &str, callables: &str) -> Vec<u32> {
    let mut module = parse(&format!(
        "module;\n{callables}\nkernel @k block(16, 1, 1) (%0: resource buffer<u32>) {{\nb0:\n\
         %1: u32 = arithmetic extract dispatch_id, u32 0\n{body}\n}}\n"
    ));
    if !pipeline.is_empty() {
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let pipeline = Pipeline::parse(pipeline).expect("a pipeline");
        pipeline.run(&mut module, options).unwrap_or_else(|e| panic!("{e}"));
    }
    let kernel = module.kernels().next().expect("a kernel");
    let mut args = [Arg::Buffer(vec![0; 64])];
    interp::run(&module, kernel, &mut args, &Launch::new([16, 1, 1])).expect("a run");
    let Arg::Buffer(bytes) = &args[0] else { panic!("a buffer") };
    bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
}

const FLAT: &[&str] = &[
    "keep_waves_in_loops,destructure_cfg,simplify_cfg",
    "keep_waves_in_loops,@O0-flat-scalar",
    "keep_waves_in_loops,@O1-flat-scalar",
    "keep_waves_in_loops,@O2-flat-scalar",
    "keep_waves_in_loops,@O3-flat-scalar",
];

/// The flat forms give what the structured form gives; without the pass they do not, if `needed`.
#[track_caller]
fn keeps(body: &str, callables: &str, needed: bool) {
    let want = results("", body, callables);
    for pipeline in FLAT {
        assert_eq!(results(pipeline, body, callables), want, "{pipeline}");
    }
    assert_eq!(results("destructure_cfg", body, callables) != want, needed, "{want:?}");
}

/// Threads with one key leave together.
const WATERFALL: &str = "%2: u32 = arithmetic binary_mod %1, u32 3
    simple_loop body b1, merge b2
    b1:
    %3: u32 = thread_group warp_read_first_active_lane %2
    %4: bool = arithmetic binary_equal %3, %2
    if %4, then b3, else b4, merge b5
    b3:
    %5: u32 = thread_group warp_active_sum %1
    resource_write buffer_write %0, %1, %5
    break b2
    b4:
    br b5
    b5:
    continue b1
    b2:
    return";

#[test]
fn arms_that_break() {
    keeps(WATERFALL, "", true);
}

#[test]
fn arms_that_return() {
    keeps(
        &WATERFALL.replace("break b2", "return").replace("b2:\n    return", "b2:\n    unreachable"),
        "",
        true,
    );
    let callable = "callable @w(%0: value u32) -> u32 {
        b0:
        simple_loop body b1, merge b2
        b1:
        %3: u32 = thread_group warp_read_first_active_lane %0
        %4: bool = arithmetic binary_equal %3, %0
        if %4, then b3, else b4, merge b5
        b3:
        %5: u32 = thread_group warp_active_count_bits bool true
        return %5
        b4:
        br b5
        b5:
        continue b1
        b2:
        unreachable
        }";
    let call = "%2: u32 = arithmetic binary_mod %1, u32 3
        %3: u32 = call @w(%2)
        %4: u32 = thread_group warp_active_sum %3
        resource_write buffer_write %0, %1, %4
        return";
    keeps(call, callable, true);
}

#[test]
fn counted_loops() {
    // Thread i leaves in round i mod 5, after which no update runs for it.
    let body = "%2: u32 = alloca local
        %3: u32 = arithmetic binary_mod %1, u32 5
        loop prepare b1, body b2, update b3, merge b4
        b1:
        %4: u32 = load %2
        %5: bool = arithmetic binary_less %4, u32 4
        cond_br %5, b2, b4
        b2:
        %6: u32 = load %2
        %7: bool = arithmetic binary_equal %6, %3
        if %7, then b5, else b6, merge b7
        b5:
        %8: u32 = thread_group warp_active_sum %1
        %9: u32 = arithmetic binary_mul %6, u32 1000
        %10: u32 = arithmetic binary_add %8, %9
        resource_write buffer_write %0, %1, %10
        break b4
        b6:
        br b7
        b7:
        br b3
        b3:
        %11: u32 = load %2
        %12: u32 = arithmetic binary_add %11, u32 1
        store %2, %12
        br b1
        b4:
        %13: u32 = load %2
        %14: bool = arithmetic binary_equal %13, u32 4
        if %14, then b8, else b9, merge b10
        b8:
        %15: u32 = thread_group warp_active_sum %1
        resource_write buffer_write %0, %1, %15
        br b10
        b9:
        br b10
        b10:
        return";
    keeps(body, "", true);
}

#[test]
fn loops_inside_leaving_arms() {
    // The inner loop belongs to a round of the outer one, and is left by return only.
    let body = "%2: u32 = arithmetic binary_mod %1, u32 3
        %3: u32 = alloca local
        simple_loop body b1, merge b2
        b1:
        %4: u32 = thread_group warp_read_first_active_lane %2
        %5: bool = arithmetic binary_equal %4, %2
        if %5, then b3, else b4, merge b5
        b3:
        simple_loop body b6, merge b7
        b6:
        %6: u32 = thread_group warp_active_count_bits bool true
        %7: u32 = load %3
        %8: u32 = arithmetic binary_add %7, %6
        store %3, %8
        %9: bool = arithmetic binary_greater %8, %1
        if %9, then b8, else b9, merge b10
        b8:
        resource_write buffer_write %0, %1, %8
        return
        b9:
        br b10
        b10:
        continue b6
        b7:
        unreachable
        b4:
        br b5
        b5:
        continue b1
        b2:
        unreachable";
    keeps(body, "", true);
}

#[test]
fn loops_without_wave_operations_in_leaving_arms_stay() {
    stays(
        "keep_waves_in_loops",
        "b0:
        simple_loop body b1, merge b2
        b1:
        %4: u32 = thread_group warp_active_count_bits bool true
        %5: bool = arithmetic binary_less %4, %1
        if %5, then b3, else b4, merge b5
        b3:
        break b2
        b4:
        br b5
        b5:
        continue b1
        b2:
        %6: u32 = thread_group warp_active_count_bits bool true
        return",
    );
}

//! Kernels in text form: scheduling, memory, faults.

use super::*;
use crate::text;

fn parse(body: &str) -> Module {
    let module = text::parse(body).unwrap_or_else(|e| panic!("{e}"));
    if let Err(errors) = crate::verify::verify(&module) {
        panic!("{}\n{body}", errors[0]);
    }
    module
}

fn launch(module: &Module, args: &mut [Arg], launch: &Launch) -> Result<Outcome, Box<Fault>> {
    run(module, module.kernels().next().expect("a kernel"), args, launch)
}

fn words(values: &[u32]) -> Arg {
    Arg::Buffer(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

fn read(arg: &Arg) -> Vec<u32> {
    match arg {
        Arg::Buffer(bytes) => bytes
            .chunks(4)
            .map(|b| u32::from_le_bytes(b.try_into().expect("whole words")))
            .collect(),
        _ => Vec::new(),
    }
}

/// A kernel with a block of `block` threads and one buffer `%0`; `%1` is the dispatch id.
fn kernel(block: u32, body: &str) -> String {
    format!(
        "module;\nkernel @k block({block}, 1, 1) (%0: resource buffer<u32>) {{\nb0:\n\
         %1: u32 = arithmetic extract dispatch_id, u32 0\n{body}\n}}\n"
    )
}

/// Runs `body` over `threads` threads in blocks of 8 and waves of 4; the buffer starts as zeros.
#[track_caller]
fn gives(threads: u32, body: &str, want: &[u32]) {
    let module = parse(&kernel(8, body));
    let mut args = [words(&vec![0; want.len()])];
    let options = Launch { wave_width: 4, ..Launch::new([threads, 1, 1]) };
    launch(&module, &mut args, &options).unwrap_or_else(|f| panic!("{} {f}", f.code()));
    assert_eq!(read(&args[0]), want);
}

/// The fault of `body` over 8 threads in one block, with four words in the buffer.
#[track_caller]
fn fault(body: &str, bounds: Bounds) -> (Fault, Vec<u32>) {
    let module = parse(&kernel(8, body));
    let mut args = [words(&[10, 11, 12, 13])];
    let options =
        Launch { wave_width: 4, bounds, max_steps: Some(10_000), ..Launch::new([8, 1, 1]) };
    let fault = launch(&module, &mut args, &options).expect_err("a fault");
    (*fault, read(&args[0]))
}

#[track_caller]
fn faults(body: &str, code: &str) -> Fault {
    let (fault, _) = fault(body, Bounds::Off);
    assert_eq!(fault.code().to_string(), code, "{fault}");
    fault
}

const COUNT: &str = "%9: u32 = thread_group warp_active_count_bits bool true";

#[test]
fn threads_come_together_at_a_merge() {
    let body = format!(
        "%2: u32 = arithmetic binary_bit_and %1, u32 1
        %3: bool = arithmetic binary_equal %2, u32 0
        if %3, then b1, else b2, merge b3
        b1:
        {COUNT}
        br b3
        b2:
        br b3
        b3:
        %4: u32 = phi (%9, b1), (u32 0, b2)
        %5: u32 = thread_group warp_active_count_bits bool true
        %6: u32 = arithmetic binary_mul %5, u32 10
        %7: u32 = arithmetic binary_add %6, %4
        resource_write buffer_write %0, %1, %7
        return"
    );
    gives(6, &body, &[42, 40, 42, 40, 21, 20]);
    // The same graph in flat form.
    gives(
        6,
        &body.replace("if %3, then b1, else b2, merge b3", "cond_br %3, b1, b2"),
        &[42, 40, 42, 40, 21, 20],
    );
}

/// Each thread runs as many rounds as its index; sums the threads active in each round, then those after the loop.
const THINNING: &str = "simple_loop body b1, merge b2
    b1:
    %2: u32 = phi (u32 0, b0), (%4, b4)
    %3: u32 = phi (u32 0, b0), (%6, b4)
    %5: u32 = thread_group warp_active_count_bits bool true
    %6: u32 = arithmetic binary_add %3, %5
    %7: bool = arithmetic binary_greater_equal %2, %1
    if %7, then b3, else b4, merge b5
    b3:
    break b2
    b4:
    %4: u32 = arithmetic binary_add %2, u32 1
    continue b1
    b5:
    unreachable
    b2:
    %8: u32 = thread_group warp_active_count_bits bool true
    %10: u32 = arithmetic binary_mul %8, u32 100
    %11: u32 = arithmetic binary_add %10, %6
    resource_write buffer_write %0, %1, %11
    return";

#[test]
fn threads_come_together_behind_a_loop() {
    let want = [404, 407, 409, 410];
    gives(4, THINNING, &want);
    let flat = THINNING
        .replace("simple_loop body b1, merge b2", "br b1")
        .replace("if %7, then b3, else b4, merge b5", "cond_br %7, b3, b4")
        .replace("break b2", "br b2")
        .replace("continue b1", "br b1")
        .replace("b5:\n    unreachable\n", "");
    gives(4, &flat, &want);
}

#[test]
fn the_arm_that_leaves_a_loop_belongs_to_its_round() {
    // Thread i leaves in round i, alone: a count taken in the arm is 1.
    let body = THINNING
        .replace("b3:\n", "b3:\n %12: u32 = thread_group warp_active_count_bits bool true\n resource_write buffer_write %0, %1, %12\n")
        .replace("resource_write buffer_write %0, %1, %11\n", "");
    gives(4, &body, &[1, 1, 1, 1]);
}

#[test]
fn phis_take_their_values_at_once() {
    let body = "loop prepare b1, body b2, update b3, merge b4
        b1:
        %2: u32 = phi (u32 1, b0), (%3, b3)
        %3: u32 = phi (u32 2, b0), (%2, b3)
        %4: u32 = phi (u32 0, b0), (%5, b3)
        %6: bool = arithmetic binary_less %4, %1
        cond_br %6, b2, b4
        b2:
        br b3
        b3:
        %5: u32 = arithmetic binary_add %4, u32 1
        br b1
        b4:
        %7: u32 = arithmetic binary_mul %2, u32 10
        %8: u32 = arithmetic binary_add %7, %3
        resource_write buffer_write %0, %1, %8
        return";
    gives(3, body, &[12, 21, 12]);
}

#[test]
fn switches_find_their_cases() {
    let body = "switch %1, default b3, case 1 b1, case 2 b2, merge b4
        b1:
        break b4
        b2:
        break b4
        b3:
        br b4
        b4:
        %2: u32 = phi (u32 100, b1), (u32 200, b2), (u32 7, b3)
        resource_write buffer_write %0, %1, %2
        return";
    gives(4, body, &[7, 100, 200, 7]);
}

#[test]
fn calls_have_their_own_variables_and_share_references() {
    let module = parse(
        "module;
        callable @bump(%0: reference u32, %1: reference u32, %2: value u32) -> u32 {
        b0:
          %3: u32 = alloca local
          %4: u32 = load %3
          store %3, u32 5
          %5: u32 = load %0
          %6: u32 = arithmetic binary_add %5, %2
          store %0, %6
          %7: u32 = load %1
          %8: bool = arithmetic binary_greater %2, u32 1
          if %8, then b1, else b2, merge b3
        b1:
          return %7
        b2:
          br b3
        b3:
          %9: u32 = arithmetic binary_add %4, u32 1000
          return %9
        }
        kernel @k block(4, 1, 1) (%0: resource buffer<u32>) {
        b0:
          %1: u32 = arithmetic extract dispatch_id, u32 0
          %2: array<u32, 4> = alloca local
          %3: u32 = gep %2, %1
          %4: u32 = call @bump(%3, %3, %1)
          %5: u32 = call @bump(%3, %3, %1)
          %6: u32 = arithmetic binary_add %4, %5
          resource_write buffer_write %0, %1, %6
          return
        }",
    );
    let mut args = [words(&[0; 4])];
    launch(&module, &mut args, &Launch::new([4, 1, 1])).expect("a run");
    assert_eq!(read(&args[0]), [2000, 2000, 6, 9]);
}

#[test]
fn barriers_order_shared_memory() {
    let exchange = "%2: array<u32, 8> = alloca shared
        %3: u32 = arithmetic extract thread_id, u32 0
        %4: u32 = gep %2, %3
        store %4, %1
        thread_group synchronize_block
        %5: u32 = arithmetic binary_bit_xor %3, u32 1
        %6: u32 = gep %2, %5
        %7: u32 = load %6
        resource_write buffer_write %0, %1, %7
        return";
    gives(8, exchange, &[1, 0, 3, 2, 5, 4, 7, 6]);
    gives(12, exchange, &[1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]);
    let without = exchange.replace("thread_group synchronize_block\n", "");
    let race = faults(&without, "L0703");
    assert!(
        matches!(race.kind, FaultKind::Race { access: "a read", other: Some([1, 0, 0]), .. }),
        "{race}"
    );
    let unwritten = exchange.replace("store %4, %1\n", "");
    faults(&unwritten, "L0702");
}

const HALF_RETURN: &str = "%2: bool = arithmetic binary_less %1, u32 4
    if %2, then b1, else b2, merge b3
    b1:
    return
    b2:
    br b3
    b3:
    thread_group synchronize_block
    resource_write buffer_write %0, %1, u32 1
    return";

#[test]
fn ended_threads_hold_nobody_up() {
    let module = parse(&kernel(8, HALF_RETURN));
    let mut args = [words(&[0; 8])];
    let outcome = launch(&module, &mut args, &Launch::new([8, 1, 1])).expect("a run");
    assert_eq!(read(&args[0]), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(outcome.warnings.len(), 1);
    let flat = HALF_RETURN.replace("if %2, then b1, else b2, merge b3", "cond_br %2, b1, b2");
    gives(8, &flat, &[0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn a_barrier_in_divergent_flow_is_reported() {
    let body = "%2: bool = arithmetic binary_less %1, u32 4
        if %2, then b1, else b2, merge b3
        b1:
        thread_group synchronize_block
        br b3
        b2:
        br b3
        b3:
        return";
    let fault = faults(body, "L0706");
    assert_eq!(fault.kind, FaultKind::DivergentBarrier { arrived: 4, live: 8 });
}

#[test]
fn races_on_buffers_are_reported() {
    faults("resource_write buffer_write %0, u32 0, %1\nreturn", "L0703");
    faults(
        "%2: u32 = resource_read buffer_read %0, u32 0
        %3: bool = arithmetic binary_equal %1, u32 5
        if %3, then b1, else b2, merge b3
        b1:
        resource_write buffer_write %0, u32 0, %2
        br b3
        b2:
        br b3
        b3:
        return",
        "L0703",
    );
    gives(8, "%2: u32 = atomic fetch_add %0, u32 0, u32 1\nreturn", &[8]);
    // Blocks are never ordered.
    let module = parse(&kernel(
        8,
        "thread_group synchronize_block\n%2: u32 = arithmetic binary_div %1, u32 8\n%3: bool = arithmetic binary_equal %2, u32 0\n%4: u32 = resource_read buffer_read %0, u32 0\nthread_group synchronize_block\n%5: u32 = arithmetic binary_mod %1, u32 8\n%6: bool = arithmetic binary_equal %5, u32 0\nif %6, then b1, else b2, merge b3\nb1:\nresource_write buffer_write %0, u32 0, %4\nbr b3\nb2:\nbr b3\nb3:\nreturn",
    ));
    launch(&module, &mut [words(&[0])], &Launch::new([8, 1, 1])).expect("one block is ordered");
    let two =
        launch(&module, &mut [words(&[0])], &Launch::new([16, 1, 1])).expect_err("two are not");
    assert_eq!(two.code(), codes::RACE);
    let unchecked = Launch { races: false, ..Launch::new([16, 1, 1]) };
    launch(&module, &mut [words(&[0])], &unchecked).expect("not looked for");
}

#[test]
fn indices_out_of_range() {
    let read = "%2: u32 = resource_read buffer_read %0, %1\nreturn";
    let found = faults(read, "L0701");
    assert_eq!(found.to_string(), "index 4 is out of range for argument 0, which has 4 elements");
    assert_eq!(found.thread.map(|t| t.dispatch_id), Some([4, 0, 0]));
    let write = "%2: i32 = cast static_cast %1
        %3: i32 = arithmetic binary_sub %2, i32 2
        %4: u32 = resource_read buffer_volatile_read %0, %3
        %5: u32 = atomic fetch_add %0, %3, u32 100
        return";
    let (fault, after) = fault(write, Bounds::Trap);
    assert_eq!(fault.code(), codes::OUT_OF_RANGE);
    assert!(matches!(fault.kind, FaultKind::OutOfRange { index: -2, .. }), "{fault}");
    assert_eq!(after, [110, 111, 112, 113], "the other threads went on");
    let module = parse(&kernel(8, write));
    let mut args = [words(&[0; 4])];
    let clamp = Launch { bounds: Bounds::Clamp, ..Launch::new([8, 1, 1]) };
    launch(&module, &mut args, &clamp).expect("a run");
    assert_eq!(super::tests::read(&args[0]), [300, 100, 100, 300]);
    let mut empty = [words(&[])];
    launch(&module, &mut empty, &clamp).expect("an empty buffer drops writes");
}

#[test]
fn an_address_out_of_range_counts_when_it_is_used() {
    let body = "%2: array<u32, 4> = alloca local
        %3: u32 = gep %2, %1
        %4: bool = arithmetic binary_less %1, u32 4
        if %4, then b1, else b2, merge b3
        b1:
        store %3, %1
        br b3
        b2:
        br b3
        b3:
        return";
    gives(8, body, &[]);
    let used = body.replace("b2:\n", "b2:\n store %3, u32 0\n");
    let found = faults(&used, "L0701");
    assert!(matches!(found.kind, FaultKind::OutOfRange { index: 4, length: 4, .. }), "{found}");
    let named = used.replace("alloca local", "alloca local !name \"table\"");
    assert!(faults(&named, "L0701").to_string().contains("the variable `table`"));
}

#[test]
fn kernels_stop_themselves() {
    let (failed, after) = fault(
        "%2: bool = arithmetic binary_not_equal %1, u32 2
        assert %2, \"not two\"
        %3: u32 = atomic fetch_add %0, u32 0, u32 1
        thread_group synchronize_block
        return",
        Bounds::Off,
    );
    assert_eq!(failed.to_string(), "assertion failed: not two");
    assert_eq!(failed.thread.map(|t| t.dispatch_id), Some([2, 0, 0]));
    assert_eq!(after[0], 17, "the other seven threads went on");
    faults("%2: bool = arithmetic binary_less %1, u32 7\nassume %2\nreturn", "L0705");
    faults("unreachable \"no\"", "L0704");
    faults("simple_loop body b1, merge b2\nb1:\ncontinue b1\nb2:\nunreachable", "L0708");
    faults("%2: f32 = autodiff detach f32 1.0\nreturn", "L0709");
}

#[test]
fn an_assertion_in_a_callable_ends_the_thread() {
    let module = parse(
        "module;
        callable @check(%0: value u32) {
        b0:
          %1: bool = arithmetic binary_less %0, u32 2
          assert %1, \"small\"
          return
        }
        kernel @k block(4, 1, 1) (%0: resource buffer<u32>) {
        b0:
          %1: u32 = arithmetic extract dispatch_id, u32 0
          call @check(%1)
          thread_group synchronize_block
          resource_write buffer_write %0, %1, u32 1
          return
        }",
    );
    let mut args = [words(&[0; 4])];
    let fault =
        launch(&module, &mut args, &Launch::new([4, 1, 1])).expect_err("a failed assertion");
    assert_eq!((fault.code(), fault.function.as_str()), (codes::ASSERTION_FAILED, "check"));
    assert_eq!(read(&args[0]), [1, 1, 0, 0]);
}

#[test]
fn waves() {
    for (op, ty, want) in [
        ("warp_active_sum %1", "u32", [1, 1, 5, 5, 4]),
        ("warp_active_max %1", "u32", [1, 1, 3, 3, 4]),
        ("warp_prefix_sum %1", "u32", [0, 0, 0, 2, 0]),
        ("warp_prefix_product %1", "u32", [1, 0, 1, 2, 1]),
        ("warp_read_first_active_lane %1", "u32", [0, 0, 2, 2, 4]),
        ("warp_read_lane %1, u32 1", "u32", [1, 1, 3, 3, 0]),
        ("warp_read_lane %1, u32 2", "u32", [0, 0, 0, 0, 0]),
        ("warp_first_active_lane", "u32", [0, 0, 0, 0, 0]),
        ("warp_active_bit_xor %1", "u32", [1, 1, 1, 1, 4]),
        ("warp_prefix_count_bits bool true", "u32", [0, 1, 0, 1, 0]),
    ] {
        let module = parse(&kernel(
            8,
            &format!(
                "%2: {ty} = thread_group {op}\nresource_write buffer_write %0, %1, %2\nreturn"
            ),
        ));
        let mut args = [words(&[0; 5])];
        let options = Launch { wave_width: 2, ..Launch::new([5, 1, 1]) };
        launch(&module, &mut args, &options).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(read(&args[0]), want, "{op}");
    }
}

#[test]
fn prints_and_images() {
    let module = parse(
        "module;
        kernel @k block(4, 1, 1) (%0: resource texture2d<f32>, %1: value f32) {
        b0:
          %2: vector<u32, 2> = arithmetic shuffle dispatch_id, u32 0, u32 1
          %3: vector<f32, 4> = resource_read texture2d_read %0, %2
          %4: vector<f32, 4> = arithmetic aggregate %1, %1, %1, %1
          %5: vector<f32, 4> = arithmetic binary_add %3, %4
          resource_write texture2d_write %0, %2, %5
          %6: vector<u32, 2> = resource_query texture2d_size %0
          print \"{} of {{{}}}\", %3, %6
          return
        }",
    );
    let storage = PixelStorage::from_name("byte4").expect("a storage");
    let data = vec![0, 51, 255, 0, 102, 0, 0, 0];
    let mut args = [
        Arg::Image { storage, width: 2, height: 1, depth: 1, levels: 1, data },
        Arg::Value(0.2f32.to_le_bytes().to_vec()),
    ];
    // The third thread is outside of the image: it reads zeros and writes nothing.
    let outcome = launch(&module, &mut args, &Launch::new([3, 1, 1])).expect("a run");
    assert_eq!(
        outcome.lines,
        ["(0, 0.2, 1, 0) of {(2, 1)}", "(0.4, 0, 0, 0) of {(2, 1)}", "(0, 0, 0, 0) of {(2, 1)}"]
    );
    let Arg::Image { data, .. } = &args[0] else { panic!("an image") };
    assert_eq!(data, &[51, 102, 255, 51, 153, 51, 51, 51]);
}

#[test]
fn wrong_launches_are_refused() {
    let module = parse(&kernel(8, "return"));
    let code = |args: &mut [Arg], options: &Launch| {
        launch(&module, args, options).expect_err("a fault").code().to_string()
    };
    let options = Launch::new([8, 1, 1]);
    assert_eq!(code(&mut [], &options), "L0711");
    assert_eq!(code(&mut [Arg::Value(vec![0; 4])], &options), "L0710");
    assert_eq!(code(&mut [words(&[])], &Launch { wave_width: 3, ..options }), "L0712");
    let nothing = Launch::new([8, 0, 1]);
    assert_eq!(launch(&module, &mut [words(&[])], &nothing).expect("no launch").steps, 0);
}

#[test]
fn deep_control_flow_needs_no_deep_stack() {
    let depth = 20_000;
    let mut body = String::new();
    for i in 0..depth {
        let (then, merge) = (i * 2 + 1, i * 2 + 2);
        body += &format!("if bool true, then b{then}, else b{merge}, merge b{merge}\nb{then}:\n");
    }
    body += "br b40000\n";
    for i in (0..depth).rev() {
        let end = if i == 0 { "return".into() } else { format!("br b{}", i * 2) };
        body += &format!("b{}:\n{end}\n", i * 2 + 2);
    }
    let module = parse(&kernel(8, &body));
    let run = move || launch(&module, &mut [words(&[])], &Launch::new([8, 1, 1])).map(|o| o.steps);
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run);
    assert!(thread.expect("a thread").join().expect("no overflow").is_ok());
}

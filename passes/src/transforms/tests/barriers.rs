//! Threads that have ended come to barriers: as many threads are at each as the block has, and what is computed stays.

use crate::transforms::testing::{parse, stays};
use crate::{Pipeline, Report, RunOptions};
use luisac_xir::interp::{self, Arg, Launch};

/// Threads of a block, of which there are two.
const BLOCK: u32 = 8;

/// What the kernel writes and what the interpreter warns of, after a pipeline; `%1` is the dispatch id, `%2` the thread id, `%3` a word
/// of shared memory for each thread, which holds the dispatch id.
fn results(pipeline: &str, body: &str) -> (Vec<u32>, Vec<String>, Report) {
    let mut module = parse(&format!(
        "module;\n\nkernel @k block({BLOCK}, 1, 1) (%0: resource buffer<u32>) {{\nb0:\n\
         %1: u32 = arithmetic extract dispatch_id, u32 0\n%2: u32 = arithmetic extract thread_id, u32 0\n\
         %3: array<u32, {BLOCK}> = alloca shared\n%4: u32 = gep %3, %2\nstore %4, %1\n{body}\n}}\n"
    ));
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    let pipeline = Pipeline::parse(pipeline).expect("a pipeline");
    let report = pipeline.run(&mut module, options).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernels().next().expect("a kernel");
    let mut args = [Arg::Buffer(vec![0; 8 * BLOCK as usize])];
    // Pipelines that end structured have a barrier that is divergent found out.
    let launch = Launch { max_steps: Some(1 << 20), ..Launch::new([2 * BLOCK, 1, 1]) };
    let outcome = interp::run(&module, kernel, &mut args, &launch)
        .unwrap_or_else(|e| panic!("{e}\n{}", luisac_xir::text::print(&module)));
    let Arg::Buffer(bytes) = &args[0] else { panic!("a buffer") };
    let words = bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")));
    (words.collect(), outcome.warnings, report)
}

/// The pass keeps the results, and no thread has ended where a barrier is. How many branches are decided by each thread, by votes,
/// and how many barriers ask whether anyone is left, from values.
#[track_caller]
fn keeps(body: &str) -> [u64; 3] {
    let (want, warnings, _) = results("dce", body);
    assert!(!warnings.is_empty(), "nothing to be kept");
    let mut counts = [0; 3];
    for before in ["", "destructure_cfg,mem2reg,simplify_cfg,"] {
        for behind in ["", ",restructure_cfg", ",dce,simplify_cfg,restructure_cfg,mem2reg,dce"] {
            let flat = if before.is_empty() { "destructure_cfg," } else { before };
            let text = format!("{flat}keep_threads_at_barriers{behind}");
            let (found, warnings, report) = results(&text, body);
            assert_eq!(found, want, "{text}");
            assert!(warnings.is_empty(), "{text}: {warnings:?}");
            let count = |name| report.counter("keep_threads_at_barriers", name);
            counts = ["shared_decision_count", "vote_count", "check_count"].map(count);
        }
    }
    counts
}

/// Threads from four on end; `rest` comes behind.
fn half_returns(rest: &str) -> String {
    format!(
        "%5: bool = arithmetic binary_less %2, u32 4\nif %5, then b1, else b2, merge b3\nb1:\nbr b3\nb2:\n\
         resource_write buffer_write %0, %1, u32 99\nreturn\nb3:\n{rest}"
    )
}

/// The next of the first four threads' words, behind a barrier.
const EXCHANGE: &str = "thread_group synchronize_block
    %10: u32 = arithmetic binary_add %2, u32 1
    %11: u32 = arithmetic binary_bit_and %10, u32 3
    %12: u32 = gep %3, %11
    %13: u32 = load %12
    resource_write buffer_write %0, %1, %13";

#[test]
fn a_return_in_one_branch() {
    assert_eq!(keeps(&half_returns(&format!("{EXCHANGE}\nreturn"))), [0, 0, 0]);
}

#[test]
fn a_counted_loop_is_followed_without_votes() {
    let body = "%20: u32 = alloca local
        br b10
        b10:
        loop prepare b11, body b12, update b13, merge b14
        b11:
        %21: u32 = load %20
        %22: bool = arithmetic binary_less %21, u32 5
        cond_br %22, b12, b14
        b12:
        EXCHANGE
        thread_group synchronize_block
        %23: u32 = load %4
        %24: u32 = arithmetic binary_add %23, %13
        store %4, %24
        br b13
        b13:
        %25: u32 = load %20
        %26: u32 = arithmetic binary_add %25, u32 1
        store %20, %26
        br b11
        b14:
        return";
    let body = half_returns(&body.replace("EXCHANGE", EXCHANGE));
    assert_eq!(keeps(&body), [1, 0, 1]);
}

#[test]
fn a_loop_that_only_returns_leave() {
    let body = "%20: u32 = alloca local
        br b10
        b10:
        simple_loop body b11, merge b14
        b11:
        EXCHANGE
        thread_group synchronize_block
        %21: u32 = load %20
        %23: u32 = load %4
        %24: u32 = arithmetic binary_add %23, %21
        store %4, %24
        %26: u32 = arithmetic binary_add %21, u32 1
        store %20, %26
        %22: bool = arithmetic binary_equal %21, %2
        if %22, then b12, else b13, merge b15
        b12:
        resource_write buffer_write %0, %1, %24
        return
        b13:
        br b15
        b15:
        continue b11
        b14:
        unreachable";
    assert_eq!(keeps(&half_returns(&body.replace("EXCHANGE", EXCHANGE))), [0, 0, 1]);
}

#[test]
fn a_choice_by_shared_memory_is_voted_on() {
    let body = "thread_group synchronize_block
        %20: u32 = gep %3, u32 0
        %21: u32 = load %20
        %22: u32 = arithmetic binary_bit_and %21, u32 8
        switch %22, default b10, case 0 b11, case 8 b12, merge b13
        b10:
        br b13
        b11:
        thread_group synchronize_block
        resource_write buffer_write %0, %1, u32 5
        br b13
        b12:
        EXCHANGE
        br b13
        b13:
        thread_group synchronize_block
        return";
    assert_eq!(keeps(&half_returns(&body.replace("EXCHANGE", EXCHANGE))), [0, 1, 0]);
}

#[test]
fn kernels_without_barriers_or_with_one_thread_in_a_block_stay() {
    stays("keep_threads_at_barriers", "b0:\ncond_br %2, b1, b2\nb1:\nreturn\nb2:\nreturn");
    // A barrier that nothing reaches.
    stays("keep_threads_at_barriers", "b0:\nreturn\nb1:\nthread_group synchronize_block\nreturn");
}

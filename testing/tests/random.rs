//! Random kernels keep their results through passes. `cargo xtask diff` runs more of them.

use luisac_passes::{Pipeline, RunOptions};
use luisac_testing::diff::{self, Amount, Counts};
use luisac_testing::{Features, case, case_with};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Op, text};

#[test]
fn random_kernels_keep_their_results() {
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for seed in 0..100 {
        match diff::check(&case(seed), Amount { single: true, rows: 1, pipelines: 3 }) {
            Ok(more) => counts.add(more),
            Err(more) => wrong.extend(more),
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} are wrong, such as {:?}", wrong.len(), wrong[0]);
    assert!(counts.too_long < counts.kernels / 20, "many kernels say nothing");
}

#[test]
fn the_same_seed_gives_the_same_kernel() {
    let print = |seed| text::print(&case(seed).module);
    for seed in 0..20 {
        assert_eq!(print(seed), print(seed));
        assert_ne!(print(seed), print(seed + 1));
    }
}

/// With everything allowed, kernels hold every operation that they may hold.
#[test]
fn kernels_cover_the_language() {
    let mut seen: Vec<String> = Vec::new();
    for seed in 0..400 {
        for function in case_with(seed, Features::ALL).module.functions.values() {
            for inst in function.blocks().flat_map(|b| function.insts(b)) {
                let op = function.op(inst);
                let name = format!("{} {}", op.mnemonic(), op.sub_name().unwrap_or_default());
                if !seen.contains(&name) {
                    seen.push(name);
                }
            }
        }
    }
    let arithmetic = ArithmeticOp::ALL.iter().map(|op| format!("arithmetic {}", op.name()));
    let others = [
        "alloca shared",
        "atomic compare_exchange",
        "atomic fetch_max",
        "thread_group synchronize_block",
        "thread_group warp_active_sum",
        "thread_group warp_read_lane",
        "cast bitwise_cast",
        "gep ",
        "resource_read byte_buffer_read",
        "resource_write buffer_volatile_write",
        "call ",
        "print ",
        "assert ",
        "assume ",
        "if ",
        "switch ",
        "loop ",
        "simple_loop ",
        "break ",
        "continue ",
        "return ",
        "unreachable ",
    ];
    let missing: Vec<String> =
        arithmetic.chain(others.map(String::from)).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "no kernel has {missing:?}");
}

/// The judge must see a wrong result: every kernel in which an addition becomes a subtraction that matters.
#[test]
fn a_wrong_kernel_is_noticed() {
    let mut noticed = 0;
    for seed in 0..40 {
        let case = case(seed);
        let Ok(before) = case.run(&case.module, false) else { continue };
        let mut after = case.module.clone();
        let kernel = after.kernels().next().unwrap();
        let function = &mut after.functions[kernel];
        let insts: Vec<_> = function.blocks().flat_map(|b| function.insts(b)).collect();
        let xor = Op::Arithmetic(ArithmeticOp::BinaryBitXor);
        let Some(&inst) = insts.iter().rev().find(|&&i| function.op(i) == xor) else { continue };
        function.set_op(inst, Op::Arithmetic(ArithmeticOp::BinaryBitOr));
        noticed +=
            u32::from(case.run(&after, false).is_ok_and(|o| o.difference(&before).is_some()));
    }
    assert!(noticed > 4, "{noticed}");
}

#[test]
fn any_amount_of_fuel_gives_a_right_module() {
    let pipelines = [
        "@O3-flat-scalar",
        "@O3-structured",
        "destructure_cfg,mem2reg,@ssa,simplify_cfg,loop_unroll",
    ];
    for seed in 0..12 {
        let case = case(seed);
        let Ok(expected) = case.run(&case.module, false) else { continue };
        for (pipeline, fuel) in
            pipelines.iter().flat_map(|p| [0, 3, 17, 60, 150, 400].map(|f| (p, f)))
        {
            let mut after = case.module.clone();
            let mut steps = diff::keep_waves(&after);
            steps.extend(Pipeline::parse(pipeline).unwrap().steps);
            let options =
                RunOptions { verify_each: true, fuel: Some(fuel), ..RunOptions::default() };
            let result = Pipeline { steps }.run(&mut after, options);
            assert!(result.is_ok(), "seed {seed}, `{pipeline}`, fuel {fuel}: {result:?}");
            let observed = case.run(&after, false).unwrap();
            let difference = expected.difference(&observed);
            assert_eq!(difference, None, "seed {seed}, `{pipeline}`, fuel {fuel}");
        }
    }
}

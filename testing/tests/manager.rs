//! What the pass manager promises, on random kernels: the number of threads does not matter, and a failure can be reduced.

use luisac_passes::{Pipeline, Report, RunOptions, reduce};
use luisac_testing::{case, library};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Module, Op, text, verify};

/// The text of the module after a pipeline on so many threads, and the report without times.
fn on_threads(module: &Module, pipeline: &Pipeline, threads: usize) -> (String, Report) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut after = module.clone();
    let mut report = pool.install(|| pipeline.run(&mut after, RunOptions::default())).unwrap();
    let mut pending: Vec<_> = report.runs.iter_mut().collect();
    while let Some(run) = pending.pop() {
        run.elapsed_ms = 0.0;
        pending.extend(&mut run.children);
    }
    (text::print(&after), report)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let module = library(7, 40);
    verify::verify(&module).unwrap();
    for text in ["keep_waves_in_loops,@O3-flat-scalar", "fix(@O3-structured)"] {
        let pipeline = Pipeline::parse(text).unwrap();
        let expected = on_threads(&module, &pipeline, 1);
        for threads in [2, 3, 4, 7, 8, 16] {
            assert!(on_threads(&module, &pipeline, threads) == expected, "{threads} threads");
        }
    }
}

/// As a wrong pass would: `^` becomes `|`.
fn broken(module: &Module) -> Module {
    let mut module = module.clone();
    for function in module.functions.values_mut() {
        let insts: Vec<_> = function.blocks().flat_map(|b| function.insts(b)).collect();
        for inst in insts {
            if function.op(inst) == Op::Arithmetic(ArithmeticOp::BinaryBitXor) {
                function.set_op(inst, Op::Arithmetic(ArithmeticOp::BinaryBitOr));
            }
        }
    }
    module
}

#[test]
fn failures_are_reduced_to_what_matters() {
    let mut reduced = 0;
    for seed in 0..12 {
        let case = case(seed);
        let mut differs = |module: &Module, _: &Pipeline| {
            let Ok(before) = case.run(module, true) else { return false };
            case.run(&broken(module), false).is_ok_and(|after| after.difference(&before).is_some())
        };
        let pipeline = Pipeline::parse("dce,fix(dce,gvn),licm").unwrap();
        if !differs(&case.module, &pipeline) {
            continue;
        }
        let result = reduce::reduce(case.module.clone(), pipeline, 2000, &mut differs);
        reduced += 1;
        assert!(differs(&result.module, &result.pipeline), "seed {seed}");
        assert!(result.pipeline.steps.is_empty(), "seed {seed}: {}", result.pipeline);
        let size: usize = result.module.functions.values().map(|f| f.placed_inst_count()).sum();
        assert!(size < 20, "seed {seed}: {size} instructions\n{}", text::print(&result.module));
        verify::verify(&result.module).unwrap();
    }
    assert!(reduced > 2, "{reduced}");
}

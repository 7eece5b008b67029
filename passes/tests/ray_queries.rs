//! Recorded kernels with ray queries, through the lowerings and back.

use luisac_passes::{Pipeline, Report, RunOptions};
use luisac_xir::{Module, Op, from_ast};
use std::path::{Path, PathBuf};

/// The recorded kernels that hold ray queries.
fn kernels() -> Vec<(PathBuf, Module)> {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus"));
    let names = [
        "luisa/procedural/kernel.json",
        "luisa/procedural_callable/kernel.json",
        "luisa/path_tracing_cutout/raytracing.json",
        "own/ray_query_any_shadow.json",
        "own/ray_query_cutout.json",
        "own/ray_query_loop.json",
        "own/motion_tracing.json",
    ];
    let lower = |path: PathBuf| {
        let library = luisac_ast::json::read(&std::fs::read(&path).ok()?).ok()?;
        let module = from_ast::lower(&library, &from_ast::Options::default());
        Some((path.clone(), module.unwrap_or_else(|e| panic!("{}: {e}", path.display()))))
    };
    let found: Vec<_> = names.iter().filter_map(|name| lower(corpus.join(name))).collect();
    if found.is_empty() {
        println!("skipped: no corpus at {}", corpus.display());
    }
    found
}

#[track_caller]
fn run(name: &Path, module: &mut Module, pipeline: &str) -> Report {
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    let parsed = Pipeline::parse(pipeline).unwrap_or_else(|e| panic!("{e}"));
    parsed.run(module, options).unwrap_or_else(|e| panic!("{} `{pipeline}`: {e}", name.display()))
}

fn count(module: &Module, op: Op) -> u64 {
    let functions = module.functions.values();
    let insts = functions.flat_map(|f| f.blocks().flat_map(|b| f.insts(b)).map(|i| f.op(i)));
    insts.filter(|&o| o == op).count() as u64
}

#[test]
fn recorded_queries_become_loops_and_come_back() {
    let counter = "reconstructed_ray_query_loop_count";
    let mut all = 0;
    for (name, mut module) in kernels() {
        // Some are recorded as loops, some as callbacks.
        let pass = "reconstruct_ray_query_loop";
        let found = run(&name, &mut module, pass).counter(pass, counter);
        let queries = count(&module, Op::RayQueryLoop);
        assert!(found <= queries && queries > 0, "{}: {found} of {queries}", name.display());
        all += queries;
        let before_lowering = module.clone();
        let report = run(&name, &mut module, "lower_ray_query_to_loop");
        let lowered = report.counter("lower_ray_query_to_loop", "lowered_ray_query_loop_count");
        assert_eq!((lowered, count(&module, Op::RayQueryLoop)), (queries, 0));
        let mut traversals = before_lowering;
        let report = run(&name, &mut traversals, "lower_ray_query_to_pipeline,dce");
        let lowered = report.counter("lower_ray_query_to_pipeline", "lowered_loop_count");
        assert_eq!((lowered, count(&traversals, Op::RayQueryPipeline)), (queries, queries));
        run(&name, &mut traversals, "@O2-structured");
        run(&name, &mut traversals, "@O2-flat-scalar");
        let mut flat = module.clone();
        run(&name, &mut flat, "keep_waves_in_loops,@O2-flat-scalar,loop_rotation,dce");
        let back = run(&name, &mut module, pass).counter(pass, counter);
        assert_eq!(back, queries, "{}", name.display());
    }
    println!("{all} queries");
}

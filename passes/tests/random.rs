//! Random kernels, transformed and interpreted: the results must be the same before and after.
//!
//! `SEED=N` runs one kernel and prints it; `ROUNDS=N` runs so many.

#[path = "support/generate.rs"]
mod generate;

use generate::{Random, THREADS, WORDS, module};
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::{Module, text, verify};

const PIPELINES: &[&str] = &[
    "@O0-flat-scalar",
    "@O1-flat-scalar",
    "@O2-flat-scalar",
    "@O3-flat-scalar{native=sqrt}",
    "@O2-structured",
    "@O3-structured",
    "@basic",
    "destructure_cfg,simplify_cfg,inline{inline_all=true},sroa,mem2reg,loop_unroll{max_insts=2000},sccp,simplify_cfg,dce",
    "inline,sroa,mem2reg,scalarizer,const_fold,gvn,dce",
    "mem2reg,@post_restructure_cleanup,licm,sccp,phi_cleanup,dce",
    "destructure_cfg,inline{inline_all=true},sroa,mem2reg,@ssa,simplify_cfg,fix(if_conversion,simplify_cfg,gvn,sccp,licm,dce)",
    "destructure_cfg,simplify_cfg,inline{inline_all=true},mem2reg,sroa,dead_store_elimination,local_store_forward,mem2reg,dce",
    "promote_ref_arg,dead_arg_elim,dead_field_elimination,reassociate,cvp,div_rem_pairs,simplify_libcalls,algebraic_simplify,dce",
    "trace_gep,transpose_gep,mem2reg,slp_vectorization,reassociate,cvp,algebraic_simplify,simplify_libcalls,div_rem_pairs,dce",
    "mem2reg,cvp,reg2mem,defer_local_aggregate_load,sroa,mem2reg,algebraic_simplify,dce",
    "destructure_cfg,mem2reg,reg2mem,inline_all,mem2reg,fix(cvp,reassociate,algebraic_simplify,sccp,gvn,licm,dce)",
];

fn run(module: &Module) -> Result<Vec<u8>, String> {
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let mut random = Random(99);
    let input: Vec<u8> = (0..3 * THREADS)
        .flat_map(|i| {
            match random.below(3) {
                0 => i,
                1 => random.below(8) as u32,
                _ => random.below(usize::MAX) as u32,
            }
            .to_le_bytes()
        })
        .collect();
    let mut args = [Arg::Buffer(input), Arg::Buffer(vec![0; (4 * THREADS * WORDS) as usize])];
    let launch = Launch { max_steps: Some(1 << 26), races: false, ..Launch::new([THREADS, 1, 1]) };
    interp::run(module, kernel, &mut args, &launch).map_err(|f| f.to_string())?;
    match args {
        [_, Arg::Buffer(bytes)] => Ok(bytes),
        _ => Err("the output is gone".into()),
    }
}

/// Whether the kernel ran and kept its results; false for one that does too much to say anything.
fn check(seed: u64, print: bool) -> Result<bool, String> {
    let module = module(seed);
    if print {
        println!("{}", text::print(&module));
    }
    if let Err(errors) = verify::verify(&module) {
        return Err(format!("the generator is wrong: {}", errors[0]));
    }
    let Ok(expected) = run(&module) else { return Ok(false) };
    for pipeline in PIPELINES {
        let mut after = module.clone();
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let parsed = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
        parsed.run(&mut after, options).map_err(|e| format!("`{pipeline}`: {e}"))?;
        let got = run(&after).map_err(|e| format!("`{pipeline}`: {e}"))?;
        if let Some(i) = (0..got.len() / 4).find(|i| got[4 * i..][..4] != expected[4 * i..][..4]) {
            let (thread, word) = (i as u32 / WORDS, i as u32 % WORDS);
            return Err(format!("`{pipeline}`: word {word} of thread {thread} differs"));
        }
    }
    Ok(true)
}

#[test]
fn random_kernels_keep_their_results() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    if let Some(seed) = number("SEED") {
        check(seed, true).unwrap_or_else(|e| panic!("{e}"));
        return;
    }
    let start = number("START").unwrap_or(0);
    let rounds = number("ROUNDS").unwrap_or(60);
    let (mut ran, mut wrong) = (0, Vec::new());
    for seed in start..start + rounds {
        match check(seed, false) {
            Ok(held) => ran += u64::from(held),
            Err(error) => wrong.push(format!("seed {seed}: {error}")),
        }
    }
    println!("{ran} of {rounds} kernels ran");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran * 2 > rounds, "most kernels say nothing");
}

#[test]
fn any_amount_of_fuel_gives_a_right_module() {
    let pipelines = [
        "@O3-flat-scalar",
        "@O3-structured",
        "destructure_cfg,mem2reg,@ssa,simplify_cfg,loop_unroll",
    ];
    for seed in 0..6 {
        let module = module(seed);
        let Ok(expected) = run(&module) else { continue };
        for (pipeline, fuel) in
            pipelines.iter().flat_map(|p| [0, 3, 17, 60, 150, 400].map(|f| (p, f)))
        {
            let mut after = module.clone();
            let options = RunOptions { verify_each: true, fuel: Some(fuel), after: None };
            let result = Pipeline::parse(pipeline).unwrap().run(&mut after, options);
            assert!(result.is_ok(), "seed {seed}, `{pipeline}`, fuel {fuel}: {result:?}");
            assert!(
                run(&after).as_ref() == Ok(&expected),
                "seed {seed}, `{pipeline}`, fuel {fuel}"
            );
        }
    }
}

//! Random loops, transformed and interpreted: the results must be the same before and after.
//!
//! `SEED=N` runs one kernel and prints it; `ROUNDS=N` runs so many from `START` on.

#[path = "support/loop_shapes.rs"]
mod loop_shapes;

use loop_shapes::{Random, THREADS, WORDS, module};
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::{Module, text, verify};
use std::collections::BTreeMap;

const PIPELINES: &[&str] = &[
    "loop_rotation",
    "indvar_simplify",
    "loop_unswitch",
    "loop_fusion",
    "loop_vectorization",
    "licm",
    "simplify_cfg,loop_rotation,simplify_cfg,licm,gvn,dce",
    "simplify_cfg,fix(loop_unswitch,sccp,simplify_cfg;max=4),phi_cleanup,indvar_simplify,dce",
    "mem2reg,indvar_simplify,loop_vectorization{min_trips=4},indvar_simplify,loop_fusion,simplify_cfg,dce",
    "mem2reg,gvn,loop_fusion,loop_fusion,loop_unroll,sccp,simplify_cfg,indvar_simplify,loop_rotation,dce",
    "fix(loop_vectorization,loop_rotation,indvar_simplify,licm;max=3),simplify_cfg,dce",
];

/// The counters that must move somewhere.
const COUNTERS: &[(&str, &str)] = &[
    ("loop_rotation", "rotated_loop_count"),
    ("indvar_simplify", "simplified_iv_count"),
    ("indvar_simplify", "removed_dead_iv_count"),
    ("loop_unswitch", "unswitched_loop_count"),
    ("loop_fusion", "fused_loop_count"),
    ("loop_vectorization", "vectorized_loop_count"),
    ("loop_vectorization", "vectorized_inst_count"),
];

fn run(module: &Module) -> Result<Vec<u8>, String> {
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let mut random = Random::new(7);
    let word = |random: &mut Random, i: u32| match i % 3 {
        0 => i,
        1 => random.below(20) as u32,
        _ => random.below(usize::MAX) as u32,
    };
    let input: Vec<u8> = (0..THREADS).flat_map(|i| word(&mut random, i).to_le_bytes()).collect();
    let mut args = [Arg::Buffer(input), Arg::Buffer(vec![0; (4 * THREADS * WORDS) as usize])];
    let launch = Launch { max_steps: Some(1 << 19), races: false, ..Launch::new([THREADS, 1, 1]) };
    interp::run(module, kernel, &mut args, &launch).map_err(|f| f.to_string())?;
    match args {
        [_, Arg::Buffer(bytes)] => Ok(bytes),
        _ => Err("the output is gone".into()),
    }
}

type Counts = BTreeMap<(&'static str, &'static str), u64>;

/// Whether the kernel ran and kept its results; false for one that does too much to say anything.
fn check(seed: u64, print: bool, counts: &mut Counts) -> Result<bool, String> {
    let module = module(seed);
    if print {
        println!("{}", text::print(&module));
    }
    if let Err(errors) = verify::verify(&module) {
        return Err(format!("the generator is wrong: {}", errors[0]));
    }
    let expected = run(&module);
    for pipeline in PIPELINES {
        let mut after = module.clone();
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let parsed = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
        let report = parsed.run(&mut after, options).map_err(|e| format!("`{pipeline}`: {e}"))?;
        for &(pass, counter) in COUNTERS {
            *counts.entry((pass, counter)).or_default() += report.counter(pass, counter);
        }
        // Endless loops must stay so, and take too many steps before and after.
        let Ok(expected) = &expected else { continue };
        let got = run(&after).map_err(|e| format!("`{pipeline}`: {e}"))?;
        if let Some(i) = (0..got.len() / 4).find(|i| got[4 * i..][..4] != expected[4 * i..][..4]) {
            let (thread, word) = (i as u32 / WORDS, i as u32 % WORDS);
            if print {
                println!("{}", text::print(&after));
            }
            return Err(format!("`{pipeline}`: word {word} of thread {thread} differs"));
        }
    }
    Ok(expected.is_ok())
}

#[test]
fn random_loops_keep_their_results() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let mut counts = Counts::new();
    if let Some(seed) = number("SEED") {
        check(seed, true, &mut counts).unwrap_or_else(|e| panic!("{e}"));
        return;
    }
    let (start, rounds) = (number("START").unwrap_or(0), number("ROUNDS").unwrap_or(150));
    let (mut ran, mut wrong) = (0, Vec::new());
    for seed in start..start + rounds {
        match check(seed, false, &mut counts) {
            Ok(held) => ran += u64::from(held),
            Err(error) => wrong.push(format!("seed {seed}: {error}")),
        }
    }
    println!("{ran} of {rounds} kernels ran; {counts:?}");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran * 2 > rounds, "most kernels say nothing");
    for counter in COUNTERS {
        assert!(counts[counter] > 0, "no loop moves {counter:?}");
    }
}

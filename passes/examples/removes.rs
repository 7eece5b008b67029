//! What pipelines leave of a folder of kernels: `removes FOLDER [PIPELINE...]`.
//!
//! Prints, summed over all kernels that every pipeline takes, the instructions, loads, stores, branches, calls and blocks that
//! are left, and the time that the passes took. Without pipelines those of `-O0` to `-O3` are compared.

#[path = "../tests/support/kernels.rs"]
mod recorded;

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::{Module, Op};
use recorded::{kernels, lower};
use std::path::Path;
use std::time::Instant;

const DEFAULT: [&str; 4] =
    ["@O0-flat-scalar", "@O1-flat-scalar", "@O2-flat-scalar", "@O3-flat-scalar"];

#[derive(Clone, Copy, Default)]
struct Left {
    counts: [u64; 6],
    milliseconds: f64,
}

impl Left {
    fn of(module: &Module) -> Left {
        let mut left = Left::default();
        for f in module.functions.values() {
            for block in f.blocks() {
                left.counts[5] += 1;
                for inst in f.insts(block) {
                    left.counts[0] += 1;
                    match f.op(inst) {
                        Op::Load => left.counts[1] += 1,
                        Op::Store => left.counts[2] += 1,
                        Op::CondBr | Op::If | Op::Switch | Op::IndexedBranch => {
                            left.counts[3] += 1;
                        }
                        Op::Call => left.counts[4] += 1,
                        _ => {}
                    }
                }
            }
        }
        left
    }

    fn add(&mut self, other: Left) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts) {
            *sum += count;
        }
        self.milliseconds += other.milliseconds;
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let Some(folder) = words.next() else {
        eprintln!("removes FOLDER [PIPELINE...]");
        std::process::exit(2);
    };
    let mut pipelines: Vec<String> = words.collect();
    if pipelines.is_empty() {
        pipelines = DEFAULT.map(String::from).to_vec();
    }
    let parsed: Vec<Pipeline> = pipelines
        .iter()
        .map(|text| {
            Pipeline::parse(text).unwrap_or_else(|e| {
                eprintln!("{e}");
                std::process::exit(2);
            })
        })
        .collect();
    let mut sums = vec![Left::default(); parsed.len() + 1];
    let mut count = 0;
    for path in kernels(Path::new(&folder)) {
        let Some(module) = lower(&path) else { continue };
        let after: Option<Vec<Left>> = parsed
            .iter()
            .map(|pipeline| {
                let mut module = module.clone();
                let begin = Instant::now();
                pipeline.run(&mut module, RunOptions::default()).ok()?;
                let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
                Some(Left { milliseconds, ..Left::of(&module) })
            })
            .collect();
        let Some(after) = after else { continue };
        count += 1;
        for (sum, left) in sums.iter_mut().zip([Left::of(&module)].into_iter().chain(after)) {
            sum.add(left);
        }
    }
    println!("{count} kernels\n");
    println!("| pipeline | instructions | loads | stores | branches | calls | blocks | ms |");
    println!("|---|---|---|---|---|---|---|---|");
    let names = ["lowered"].into_iter().chain(pipelines.iter().map(String::as_str));
    for (name, left) in names.zip(&sums) {
        let counts: Vec<String> = left.counts.iter().map(u64::to_string).collect();
        println!("| `{name}` | {} | {:.0} |", counts.join(" | "), left.milliseconds);
    }
}

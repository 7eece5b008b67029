//! What pipelines leave of a folder of kernels: `removes FOLDER [PIPELINE...]`.
//!
//! Prints, summed over all kernels that every pipeline takes, the instructions, loads, stores, branches, calls and blocks that
//! are left, and the time that the passes took. Without pipelines those of `-O0` to `-O3` are compared.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::{Module, Op, from_ast};
use std::path::{Path, PathBuf};
use std::time::Instant;

const DEFAULT: [&str; 4] =
    ["@O0-flat-scalar", "@O1-flat-scalar", "@O2-flat-scalar", "@O3-flat-scalar"];

fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "json")
                && !path.to_string_lossy().ends_with(".expect.json")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn lower(path: &Path) -> Option<Module> {
    let bytes = std::fs::read(path).ok()?;
    let library = luisac_ast::json::read(&bytes).ok()?;
    from_ast::lower_all(&library, &from_ast::Options::default()).ok()
}

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

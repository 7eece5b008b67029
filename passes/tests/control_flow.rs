//! Random control-flow graphs, restructured and interpreted: the results must be the same before and after.
//!
//! `SEED=N` runs one graph and prints it; `ROUNDS=N` runs so many.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::forms::control_flow_of;
use luisac_xir::{Function, Module, text};

#[path = "support/graphs.rs"]
mod graphs;

use graphs::{Random, graph, kernel, run};

const PIPELINES: &[&str] = &[
    "restructure_cfg",
    "lower_irreducible_cfg",
    "mem2reg,restructure_cfg,mem2reg",
    "simplify_cfg,mem2reg,simplify_cfg,gvn,restructure_cfg,destructure_cfg,simplify_cfg,mem2reg,restructure_cfg",
];

/// What the graph asked of the passes.
#[derive(Default)]
struct Seen {
    ran: u64,
    irreducible: u64,
    split: u64,
    guards: u64,
    carried: u64,
    /// Instructions that `restructure_cfg` adds for each edge, at most.
    growth: usize,
}

fn size(module: &Module) -> usize {
    module.functions.values().map(Function::placed_inst_count).sum()
}

fn check(seed: u64, print: bool, seen: &mut Seen) -> Result<(), String> {
    let mut r = Random::new(seed);
    let edges = graph(&mut r);
    let mut module = kernel(&edges, &mut r);
    let clean = Pipeline::parse("simplify_cfg").map_err(|e| e.to_string())?;
    if r.one_in(2) {
        clean.run(&mut module, RunOptions::default()).map_err(|e| e.to_string())?;
    }
    if print {
        println!("{}", text::print(&module));
    }
    // A thread may walk for too long before it ends.
    let Ok(expected) = run(&module) else { return Ok(()) };
    seen.ran += 1;
    for pipeline in PIPELINES {
        let mut after = module.clone();
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let parsed = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
        let report = parsed.run(&mut after, options).map_err(|e| format!("`{pipeline}`: {e}"))?;
        if print {
            println!("`{pipeline}`\n{}", text::print(&after));
        }
        let form = control_flow_of(after.functions.values().next().ok_or("no function")?);
        if pipeline.contains("restructure") && !form.fits_structured() {
            return Err(format!("`{pipeline}`: {form:?}"));
        }
        if run(&after).map_err(|e| format!("`{pipeline}`: {e}"))? != expected {
            return Err(format!("`{pipeline}`: the results differ"));
        }
        if *pipeline == "restructure_cfg" {
            let edges: usize = edges.iter().map(Vec::len).sum();
            let added = size(&after).saturating_sub(size(&module));
            seen.growth = seen.growth.max(added.div_ceil(edges));
        }
        seen.irreducible += report.counter("restructure_cfg", "lowered_region_count");
        seen.guards += report.counter("restructure_cfg", "guard_count");
        seen.carried += report.counter("restructure_cfg", "carried_value_count");
        seen.split += report.counter("lower_irreducible_cfg", "split_block_count");
    }
    Ok(())
}

#[test]
fn random_graphs_keep_their_paths() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let mut seen = Seen::default();
    if let Some(seed) = number("SEED") {
        check(seed, true, &mut seen).unwrap_or_else(|e| panic!("{e}"));
        return;
    }
    let start = number("START").unwrap_or(0);
    let rounds = number("ROUNDS").unwrap_or(300);
    let wrong: Vec<String> = (start..start + rounds)
        .filter_map(|seed| Some(format!("seed {seed}: {}", check(seed, false, &mut seen).err()?)))
        .collect();
    let Seen { ran, irreducible, split, guards, carried, growth } = seen;
    println!(
        "{ran} graphs, {irreducible} irreducible regions, {split} blocks split, {guards} guards, {carried} values carried, {growth} instructions more an edge at most"
    );
    let few = &wrong[..wrong.len().min(10)];
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), few.join("\n"));
    assert!(growth <= 30, "{growth} instructions for an edge");
    assert!(
        2 * ran > rounds && irreducible > 0 && split > 0 && guards > 0 && carried > 0,
        "the graphs ask too little"
    );
}

/// Fourteen irreducible regions: what one of them has decided must not multiply what the checker walks through in the others.
#[test]
fn many_irreducible_regions_are_proved_one_by_one() {
    let mut seen = Seen::default();
    check(6831, false, &mut seen).unwrap_or_else(|e| panic!("{e}"));
    assert!(seen.irreducible > 10);
}

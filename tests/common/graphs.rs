//! Random control flow as XIR text, with what it computes worked out here: most of the graphs have cycles with several entries, which no
//! statements of a shader language have.

use super::Folder;
use super::case::Case;
use serde_json::json;
use std::fmt::Write;

/// Threads of a kernel, in one block.
const THREADS: u32 = 8;
/// Blocks that a thread walks through before it ends.
const STEPS: u32 = 40;
/// The generator of the walk's random bits, in the kernel as here.
const FACTOR: u32 = 1_664_525;
const TERM: u32 = 1_013_904_223;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

/// The two successors of each block; a walk begins in one of the first two.
type Graph = Vec<[usize; 2]>;

fn graph(seed: u64) -> Graph {
    // Two blocks that lead to each other, each with an entry of its own.
    if seed == 0 {
        return vec![[1, 1], [0, 0]];
    }
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = 3 + random.below(9);
    let all: Graph = (0..count).map(|_| [random.below(count), random.below(count)]).collect();
    reachable(&all)
}

/// The blocks that a walk can come to, the two first ones at their places.
fn reachable(all: &Graph) -> Graph {
    let mut order = vec![0, 1];
    let mut next = 0;
    while let Some(&block) = order.get(next) {
        for successor in all[block] {
            if !order.contains(&successor) {
                order.push(successor);
            }
        }
        next += 1;
    }
    let place = |block| order.iter().position(|&b| b == block).expect("it was reached");
    order.iter().map(|&block| all[block].map(place)).collect()
}

/// What a thread's walk leaves.
fn walk(graph: &Graph, thread: u32) -> u32 {
    let (mut state, mut hash, mut at) = (thread, 0u32, (thread & 1) as usize);
    for _ in 0..STEPS {
        hash = hash.wrapping_mul(31).wrapping_add(at as u32 + 1);
        state = state.wrapping_mul(FACTOR).wrapping_add(TERM);
        at = graph[at][(state >> 13 & 1) as usize];
    }
    hash
}

/// The kernel: blocks 1 to n are those of the graph, the n after them choose a successor, the last one writes the result.
fn kernel(graph: &Graph) -> String {
    let (n, mut next) = (graph.len(), 6);
    let mut fresh = || {
        next += 1;
        next - 1
    };
    let mut text = format!(
        "module;\nkernel @walk block({THREADS}, 1, 1) (%0: resource buffer<u32> \"out\") {{\nb0:\n  \
         %1: u32 = arithmetic extract dispatch_id, u32 0\n  \
         %2: u32 = alloca local !name \"state\"\n  %3: u32 = alloca local !name \"hash\"\n  \
         %4: u32 = alloca local !name \"steps\"\n  store %2, %1\n  \
         %5: u32 = arithmetic binary_bit_and %1, u32 1\n"
    );
    let first = fresh();
    let _ = writeln!(
        text,
        "  %{first}: bool = arithmetic binary_equal %5, u32 0\n  cond_br %{first}, b1, b2"
    );
    let mut choices = String::new();
    for (i, [even, odd]) in graph.iter().enumerate() {
        let _ = writeln!(text, "b{}:", i + 1);
        let mut changed = |variable: u32, factor: u32, term: u32| {
            let [old, scaled, new] = [fresh(), fresh(), fresh()];
            let _ = writeln!(
                text,
                "  %{old}: u32 = load %{variable}\n  %{scaled}: u32 = arithmetic binary_mul %{old}, u32 {factor}\n  \
                 %{new}: u32 = arithmetic binary_add %{scaled}, u32 {term}\n  store %{variable}, %{new}"
            );
            new
        };
        changed(3, 31, i as u32 + 1);
        let state = changed(2, FACTOR, TERM);
        let steps = changed(4, 1, 1);
        let [high, bit, is_even, goes_on] = [fresh(), fresh(), fresh(), fresh()];
        let _ = writeln!(
            text,
            "  %{high}: u32 = arithmetic binary_shift_right %{state}, u32 13\n  \
             %{bit}: u32 = arithmetic binary_bit_and %{high}, u32 1\n  \
             %{is_even}: bool = arithmetic binary_equal %{bit}, u32 0\n  \
             %{goes_on}: bool = arithmetic binary_less %{steps}, u32 {STEPS}\n  \
             cond_br %{goes_on}, b{}, b{}",
            n + 1 + i,
            2 * n + 1
        );
        let _ =
            writeln!(choices, "b{}:\n  cond_br %{is_even}, b{}, b{}", n + 1 + i, even + 1, odd + 1);
    }
    let hash = fresh();
    let _ = writeln!(
        text,
        "{choices}b{}:\n  %{hash}: u32 = load %3\n  resource_write buffer_write %0, %1, %{hash}\n  return\n}}",
        2 * n + 1
    );
    text
}

/// As many kernels, in a folder.
pub fn cases(folder: &Folder, count: u64) -> Vec<Case> {
    let one = |seed| {
        let graph = graph(seed);
        let path = folder.write(&format!("graph{seed}.xir"), kernel(&graph));
        let results: Vec<u32> = (0..THREADS).map(|thread| walk(&graph, thread)).collect();
        let recorded = json!({
            "dispatch": [THREADS],
            "args": [{ "kind": "buffer", "type": "uint", "data": vec![0; THREADS as usize] }],
            "expect": { "0": { "data": results } },
        });
        Case::new(path, format!("graph{seed}"), recorded)
    };
    (0..count).map(one).collect()
}

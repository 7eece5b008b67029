//! Post-dominators, loops and convergence regions by brute force.

use super::{Random, random_graph, reach};
use crate::analyses::convergence::ConvergenceRegions;
use crate::analyses::joins::{Joins, Touches};
use crate::analyses::loops::Loops;
use crate::analyses::post_dominators::PostDominatorTree;
use crate::analyses::scc::Components;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function};

struct Graph {
    f: Function,
    cfg: ControlFlowGraph,
    live: Vec<BlockId>,
    /// Blocks that lead to the virtual exit.
    exits: Vec<BlockId>,
}

impl Graph {
    fn random(seed: u64) -> Graph {
        let mut random = Random::new(seed);
        let count = 1 + random.below(12);
        let f = random_graph(&mut random, count, seed.is_multiple_of(2));
        let cfg = ControlFlowGraph::compute(&f);
        let live = cfg.reverse_post_order().to_vec();
        let successors = |b: BlockId| f.successors(b).to_vec();
        let mut exits: Vec<BlockId> =
            live.iter().copied().filter(|&b| f.successors(b).is_empty()).collect();
        for &block in &live {
            // All that it leads to leads back, and it is the last of them.
            let to = reach(block, None, successors);
            let stays = to.iter().all(|&t| reach(t, None, successors).contains(&block));
            let is_last = to.iter().all(|&t| cfg.number(t) <= cfg.number(block));
            if stays && is_last && !f.successors(block).is_empty() {
                exits.push(block);
            }
        }
        Graph { f, cfg, live, exits }
    }

    fn successors(&self, block: BlockId) -> Vec<BlockId> {
        self.f.successors(block).to_vec()
    }

    /// Whether every way from `b` to an exit comes by `a`.
    fn post_dominates(&self, a: BlockId, b: BlockId) -> bool {
        let past = reach(b, Some(a), |x| self.successors(x));
        !past.iter().any(|x| self.exits.contains(x))
    }

    fn immediate_post_dominator(&self, b: BlockId) -> Option<BlockId> {
        let strict: Vec<BlockId> =
            self.live.iter().copied().filter(|&a| a != b && self.post_dominates(a, b)).collect();
        strict.iter().copied().find(|&a| strict.iter().all(|&o| self.post_dominates(o, a)))
    }
}

#[test]
fn post_dominators_agree_with_the_definition() {
    let mut endless = 0;
    for seed in 0..400 {
        let g = Graph::random(seed);
        let tree = PostDominatorTree::compute(&g.f, &g.cfg);
        endless += tree.endless_ends().len();
        for &b in &g.live {
            let wanted = g.immediate_post_dominator(b);
            assert_eq!(tree.immediate_post_dominator(b), wanted, "seed {seed}, {b}");
            for &a in &g.live {
                assert_eq!(tree.post_dominates(a, b), g.post_dominates(a, b), "seed {seed}");
                let common = g
                    .live
                    .iter()
                    .copied()
                    .filter(|&c| g.post_dominates(c, a) && g.post_dominates(c, b));
                let common: Vec<BlockId> = common.collect();
                let nearest = common
                    .iter()
                    .copied()
                    .find(|&c| common.iter().all(|&o| g.post_dominates(o, c)));
                assert_eq!(tree.nearest_common(a, b), nearest, "seed {seed}, {a} {b}");
            }
        }
    }
    assert!(endless > 50, "few endless graphs: {endless}");
}

#[test]
fn loops_agree_with_the_definition() {
    let (mut count, mut nested) = (0, 0);
    for seed in 0..600 {
        let g = Graph::random(seed);
        let dominators = DominatorTree::compute(&g.f, &g.cfg);
        let loops = Loops::compute(&g.f, &g.cfg, &dominators);
        let mut headers = Vec::new();
        for (number, l) in loops.loops.iter().enumerate() {
            let number = number as u32;
            headers.push(l.header);
            // What the header dominates and leads back to it without coming by it.
            let is_inside = |b: BlockId| {
                b == l.header
                    || reach(b, Some(l.header), |x| g.successors(x))
                        .iter()
                        .any(|&x| l.latches.contains(&x) && dominators.dominates(l.header, b))
            };
            let mut members: Vec<BlockId> = Vec::new();
            for &b in &g.live {
                assert_eq!(loops.contains(number, b), is_inside(b), "seed {seed}, {b}");
                members.extend(is_inside(b).then_some(b));
            }
            assert_eq!(loops.blocks(&g.cfg, number), members);
            let outer = loops.loops.iter().filter(|o| {
                o.header != l.header && loops.contains(index(&loops, o.header), l.header)
            });
            assert_eq!(l.depth as usize, 1 + outer.count(), "seed {seed}");
            nested += usize::from(l.parent.is_some());
            let inner = loops.loops.iter().any(|o| o.parent == Some(number));
            assert_eq!(loops.is_innermost(number), !inner);
            if let Some(preheader) = l.preheader {
                assert_eq!(g.f.successors(preheader), [l.header]);
            }
        }
        let is_header =
            |h: BlockId| g.cfg.predecessors(h).iter().any(|&p| dominators.dominates(h, p));
        assert!(g.live.iter().all(|b| is_header(*b) == headers.contains(b)));
        count += loops.loops.len();
    }
    assert!(count > 300 && nested > 30, "few loops: {count}, {nested} nested");
}

fn index(loops: &Loops, header: BlockId) -> u32 {
    loops.loops.iter().position(|l| l.header == header).unwrap() as u32
}

#[test]
fn regions_agree_with_the_definition() {
    let mut nested = 0;
    for seed in 0..600 {
        let g = Graph::random(seed);
        let dominators = DominatorTree::compute(&g.f, &g.cfg);
        let found = ConvergenceRegions::of(&g.f);
        let mut members: Vec<Vec<BlockId>> = Vec::new();
        for (number, region) in found.regions.iter().enumerate() {
            assert_eq!(region.merge, g.immediate_post_dominator(region.entry));
            let mut inside: Vec<BlockId> = reach(region.entry, region.merge, |b| g.successors(b));
            let mut listed = found.members(&g.f, number as u32);
            inside.sort_unstable();
            listed.sort_unstable();
            assert_eq!(listed, inside, "seed {seed}");
            members.push(inside);
        }
        for &b in &g.live {
            // The nearest dominator whose region holds the block.
            let around = found
                .regions
                .iter()
                .zip(&members)
                .enumerate()
                .filter(|(_, (r, m))| m.contains(&b) && dominators.dominates(r.entry, b));
            let nearest = around.max_by_key(|(_, (r, _))| {
                g.live.iter().filter(|&&d| dominators.dominates(d, r.entry)).count()
            });
            assert_eq!(found.innermost(b), nearest.map(|(n, _)| n as u32), "seed {seed}, {b}");
        }
        for (number, region) in found.regions.iter().enumerate() {
            if let Some(parent) = region.parent {
                nested += 1;
                assert!(found.regions[parent as usize].children.contains(&(number as u32)));
                assert!(members[number].iter().all(|b| members[parent as usize].contains(b)));
            }
        }
    }
    assert!(nested > 100, "few nested regions: {nested}");
}

#[test]
fn components_agree_with_the_definition() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let count = 1 + random.below(9);
        let edges: Vec<Vec<u32>> = (0..count)
            .map(|_| (0..random.below(3)).map(|_| random.below(count) as u32).collect())
            .collect();
        let found = Components::compute(count, |n| &edges[n as usize]);
        let leads = |a: usize, b: usize| {
            let mut seen = vec![a];
            let mut next = 0;
            while next < seen.len() {
                for &t in &edges[seen[next]] {
                    if !seen.contains(&(t as usize)) {
                        seen.push(t as usize);
                    }
                }
                next += 1;
            }
            seen.contains(&b)
        };
        for a in 0..count {
            for b in 0..count {
                let same = leads(a, b) && leads(b, a);
                assert_eq!(found.of[a] == found.of[b], same);
                assert!(!leads(a, b) || found.of[a] >= found.of[b]);
            }
        }
    }
}

#[test]
fn long_chains_and_ladders_take_little_time() {
    use luisac_xir::{FunctionKind, Imm, Op, TypeId};
    let mut f = Function::new("f", FunctionKind::Kernel { block_size: [1, 1, 1] }, TypeId::VOID);
    let count = 100_000;
    let blocks: Vec<BlockId> = (0..count).map(|_| f.append_block()).collect();
    let varying = f.undefined(TypeId::BOOL);
    for i in 0..count {
        let named = match blocks.get(i + 1) {
            Some(&next) => vec![next, blocks[(count - i) / 2 + 1]],
            None => vec![blocks[1], blocks[1]],
        };
        let end = f.create_inst(Op::CondBr, TypeId::VOID, &[varying], &named, Imm::None);
        f.append_inst(blocks[i], end);
    }
    let start = std::time::Instant::now();
    let cfg = ControlFlowGraph::compute(&f);
    let dominators = DominatorTree::compute(&f, &cfg);
    let post_dominators = PostDominatorTree::compute(&f, &cfg);
    let loops = Loops::compute(&f, &cfg, &dominators);
    let regions = ConvergenceRegions::compute(&f, &dominators, &post_dominators);
    let uniformity = crate::analyses::uniformity::Uniformity::compute(&f, &cfg, &post_dominators);
    assert!(loops.loops.len() + regions.regions.len() > count / 2);
    assert!(uniformity.is_apart(blocks[count - 1]));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

/// What blocks do with a variable: read it, give it a value, or first the one and then the other.
struct Variable {
    reads_first: Vec<BlockId>,
    defines: Vec<BlockId>,
}

impl Variable {
    fn random(random: &mut Random, g: &Graph) -> Variable {
        let mut variable = Variable { reads_first: Vec::new(), defines: Vec::new() };
        for &block in &g.live {
            let kind = random.below(6);
            if kind % 4 == 1 {
                variable.reads_first.push(block);
            }
            if kind <= 1 {
                variable.defines.push(block);
            }
        }
        variable
    }

    /// Whether a way from the start of a block leads to a read before anything gives the variable a value.
    fn is_live(&self, g: &Graph, block: BlockId) -> bool {
        let onwards = |b: BlockId| match self.defines.contains(&b) {
            true => Vec::new(),
            false => g.successors(b),
        };
        reach(block, None, onwards).iter().any(|b| self.reads_first.contains(b))
    }

    /// The live blocks of the iterated dominance frontier of what gives the variable a value, by its definition.
    fn live_frontier(&self, g: &Graph, tree: &DominatorTree) -> Vec<BlockId> {
        let mut found: Vec<BlockId> = Vec::new();
        loop {
            let before = found.len();
            for &join in &g.live {
                let is_in_frontier = |&x: &BlockId| {
                    let above = |p: &BlockId| tree.dominates(x, *p);
                    let strictly = x != join && tree.dominates(x, join);
                    g.cfg.predecessors(join).iter().any(above) && !strictly
                };
                let from_any = self.defines.iter().chain(&found).any(is_in_frontier);
                if !found.contains(&join) && self.is_live(g, join) && from_any {
                    found.push(join);
                }
            }
            if found.len() == before {
                break;
            }
        }
        found.sort_unstable();
        found
    }
}

#[test]
fn live_frontiers_agree_with_the_definition() {
    let (mut joined, mut bounded) = (0, 0);
    for seed in 0..3000 {
        let g = Graph::random(seed);
        let tree = DominatorTree::compute(&g.f, &g.cfg);
        let mut joins = Joins::compute(&g.f, &g.cfg, &tree);
        let mut random = Random::new(seed + 7);
        for _ in 0..4 {
            let variable = Variable::random(&mut random, &g);
            let places =
                |blocks: &[BlockId]| blocks.iter().filter_map(|&b| joins.place(b)).collect();
            let mut touches = Touches {
                defines: places(&variable.defines),
                exposed: places(&variable.reads_first),
                within: None,
            };
            let wanted = variable.live_frontier(&g, &tree);
            let mut found = |touches: &Touches| {
                let places = joins.live_frontier(touches, &mut usize::MAX.clone()).unwrap();
                let mut blocks: Vec<BlockId> = places.into_iter().map(|p| joins.block(p)).collect();
                blocks.sort_unstable();
                blocks
            };
            assert_eq!(found(&touches), wanted, "seed {seed}");
            joined += wanted.len();
            // Any block that dominates all the others and where the variable is not live bounds the search and changes nothing.
            let touched = || variable.defines.iter().chain(&variable.reads_first);
            for &top in &g.live {
                let is_above = touched().all(|&b| tree.dominates(top, b));
                if is_above && !variable.is_live(&g, top) {
                    touches.within =
                        tree.preorder().iter().position(|&b| b == top).map(|n| n as u32);
                    assert_eq!(found(&touches), wanted, "seed {seed}, within {top}");
                    bounded += wanted.len();
                }
            }
        }
    }
    assert!(joined > 1000 && bounded > 100, "{joined} {bounded}");
}

#[test]
fn a_budget_that_is_used_up_gives_no_frontier() {
    let g = Graph::random(2);
    let tree = DominatorTree::compute(&g.f, &g.cfg);
    let mut joins = Joins::compute(&g.f, &g.cfg, &tree);
    let touches = Touches { defines: vec![0], exposed: vec![0], within: None };
    assert_eq!(joins.live_frontier(&touches, &mut 0), None);
}

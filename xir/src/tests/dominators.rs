//! The dominator tree against the definition: `a` dominates `b` if without `a` nothing leads to `b`.

use super::{Random, callable};
use crate::cfg::ControlFlowGraph;
use crate::dominators::DominatorTree;
use crate::{BlockId, Function, Imm, Op, TypeId};

/// A function of `count` blocks that end in random branches.
fn random_graph(random: &mut Random, count: usize) -> (Function, Vec<BlockId>) {
    let mut f = callable();
    let blocks: Vec<BlockId> = (0..count).map(|_| f.append_block()).collect();
    let condition = f.bool_constant(true);
    for &block in &blocks {
        // Near targets make deep graphs, far ones make many back edges.
        let target = |random: &mut Random| *random.pick(&blocks);
        let (op, args, named) = match random.below(8) {
            0 => (Op::Return, vec![], vec![]),
            1..=3 => (Op::Br, vec![], vec![target(random)]),
            4..=6 => (Op::CondBr, vec![condition], vec![target(random), target(random)]),
            _ => {
                let named = (0..4).map(|_| target(random)).collect();
                (Op::IndexedBranch, vec![condition], named)
            }
        };
        let end = f.create_inst(op, TypeId::VOID, &args, &named, Imm::None);
        f.append_inst(block, end);
    }
    (f, blocks)
}

/// Blocks that the entry leads to over edges that avoid `without`.
fn reachable(f: &Function, without: Option<BlockId>) -> Vec<BlockId> {
    let mut seen: Vec<BlockId> = f.entry().into_iter().filter(|&e| Some(e) != without).collect();
    let mut next = 0;
    while next < seen.len() {
        for &target in f.successors(seen[next]) {
            if Some(target) != without && !seen.contains(&target) {
                seen.push(target);
            }
        }
        next += 1;
    }
    seen
}

fn check(f: &Function, blocks: &[BlockId]) {
    let cfg = ControlFlowGraph::compute(f);
    let tree = DominatorTree::compute(f, &cfg);
    let live = reachable(f, None);
    let without: Vec<Vec<BlockId>> = blocks.iter().map(|&a| reachable(f, Some(a))).collect();
    let dominates = |a: usize, b: BlockId| {
        live.contains(&blocks[a]) && live.contains(&b) && !without[a].contains(&b)
    };
    for &b in blocks {
        assert_eq!(cfg.is_reachable(b), live.contains(&b));
        assert_eq!(tree.is_reachable(b), live.contains(&b));
        let mut predecessors: Vec<BlockId> =
            live.iter().copied().filter(|&p| f.successors(p).contains(&b)).collect();
        let mut found = cfg.predecessors(b).to_vec();
        predecessors.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, predecessors);
        for (i, &a) in blocks.iter().enumerate() {
            assert_eq!(tree.dominates(a, b), dominates(i, b), "{a} {b}");
        }
        // The immediate dominator is the strict one that all other strict ones dominate.
        let strict: Vec<BlockId> =
            blocks.iter().copied().filter(|&a| a != b && tree.dominates(a, b)).collect();
        let wanted = strict.iter().copied().find(|&a| strict.iter().all(|&o| tree.dominates(o, a)));
        assert_eq!(tree.immediate_dominator(b), wanted);
        assert!(wanted.is_none_or(|w| tree.children(w).any(|c| c == b)));
    }
    check_orders(&cfg, &tree, &live);
}

fn check_orders(cfg: &ControlFlowGraph, tree: &DominatorTree, live: &[BlockId]) {
    let order = cfg.reverse_post_order();
    assert_eq!(order.len(), live.len());
    for (i, &block) in order.iter().enumerate() {
        assert_eq!(cfg.number(block), Some(i));
    }
    let preorder = tree.preorder();
    assert_eq!(preorder.len(), live.len());
    for orders in [order, &preorder] {
        for (i, &block) in orders.iter().enumerate() {
            // A dominator comes before what it dominates.
            assert!(orders[i + 1..].iter().all(|&later| !tree.dominates(later, block)));
        }
    }
}

#[test]
fn random_graphs_agree_with_the_definition() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let count = 1 + random.below(14);
        let (f, blocks) = random_graph(&mut random, count);
        check(&f, &blocks);
    }
}

#[test]
fn long_chains_and_ladders_take_little_time() {
    // A ladder: each rung can be left forward and backward, a worst case for iterative algorithms.
    let mut f = callable();
    let count = 100_000;
    let blocks: Vec<BlockId> = (0..count).map(|_| f.append_block()).collect();
    let condition = f.bool_constant(true);
    for i in 0..count {
        let named = match blocks.get(i + 1) {
            Some(&next) => vec![next, blocks[(count - i) / 2 + 1]],
            None => vec![blocks[1], blocks[1]],
        };
        let end = f.create_inst(Op::CondBr, TypeId::VOID, &[condition], &named, Imm::None);
        f.append_inst(blocks[i], end);
    }
    let start = std::time::Instant::now();
    let cfg = ControlFlowGraph::compute(&f);
    let tree = DominatorTree::compute(&f, &cfg);
    assert!(tree.dominates(blocks[0], blocks[count - 1]));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn a_function_without_body_has_no_tree() {
    let f = callable();
    let cfg = ControlFlowGraph::compute(&f);
    assert!(cfg.reverse_post_order().is_empty());
    assert!(DominatorTree::compute(&f, &cfg).preorder().is_empty());
}

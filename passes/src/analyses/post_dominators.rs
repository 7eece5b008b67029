//! The post-dominator tree: Semi-NCA on the reversed graph, with a virtual exit behind all ends.
//!
//! Every block without successors leads to the virtual exit. Of an endless part, a set of blocks that lead to each other and to
//! nothing else, the last block in reverse post-order does too: as a rule its latch, so that the parts of the endless loop's body
//! still post-dominate each other as they do in a loop that ends.

use super::scc::Components;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::immediate_dominators;
use luisac_xir::{BlockId, Function};

/// Immediate post-dominators of the reachable blocks, with constant-time queries.
#[derive(Clone, Debug, Default)]
pub struct PostDominatorTree {
    /// Blocks in the depth-first preorder of the reversed graph; slot 0 is the virtual exit and names no block.
    order: Vec<Option<BlockId>>,
    /// Position in `order`; 0 if the block is unreachable.
    number: SecondaryMap<BlockId, u32>,
    ipdom: Vec<u32>,
    /// Entry and exit times of a walk over the tree, by number.
    interval: Vec<(u32, u32)>,
    depth: Vec<u32>,
    endless: Vec<BlockId>,
}

impl PostDominatorTree {
    /// Computes the tree.
    pub fn compute(func: &Function, cfg: &ControlFlowGraph) -> PostDominatorTree {
        let mut tree = PostDominatorTree { endless: endless_ends(func, cfg), ..Self::default() };
        let mut leads_out: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut exits = Vec::new();
        for &block in cfg.reverse_post_order() {
            if func.successors(block).is_empty() {
                exits.push(block);
            }
        }
        exits.extend_from_slice(&tree.endless);
        for &exit in &exits {
            leads_out[exit] = true;
        }
        let parent = tree.number_blocks(cfg, &exits);
        tree.ipdom = immediate_dominators(&parent, |n| {
            let block = tree.order[n as usize];
            let real = block.map_or(&[][..], |b| func.successors(b));
            let out = block.is_some_and(|b| leads_out[b]).then_some(0);
            real.iter().map(|&b| tree.number[b]).chain(out)
        });
        tree.number_tree();
        tree
    }

    fn number_blocks(&mut self, cfg: &ControlFlowGraph, exits: &[BlockId]) -> Vec<u32> {
        let mut parent = vec![0];
        self.order.push(None);
        let mut walk: Vec<(u32, &[BlockId], usize)> = vec![(0, exits, 0)];
        while let Some((node, before, next)) = walk.last_mut() {
            let Some(&block) = before.get(*next) else {
                walk.pop();
                continue;
            };
            *next += 1;
            if self.number[block] == 0 {
                let number = self.order.len() as u32;
                self.number[block] = number;
                parent.push(*node);
                self.order.push(Some(block));
                walk.push((number, cfg.predecessors(block), 0));
            }
        }
        parent
    }

    fn number_tree(&mut self) {
        let count = self.order.len();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
        for n in 1..count {
            children[self.ipdom[n] as usize].push(n as u32);
        }
        self.interval = vec![(0, 0); count];
        self.depth = vec![0; count];
        let mut time = 0;
        let mut walk = vec![(0u32, 0usize)];
        while let Some((n, next)) = walk.last_mut() {
            let node = *n as usize;
            if *next == 0 {
                self.interval[node].0 = time;
                time += 1;
            }
            if let Some(&child) = children[node].get(*next) {
                *next += 1;
                self.depth[child as usize] = self.depth[node] + 1;
                walk.push((child, 0));
            } else {
                self.interval[node].1 = time;
                time += 1;
                walk.pop();
            }
        }
    }

    /// The nearest block that every path from the end of `block` to the virtual exit passes; none if that is the virtual exit, or
    /// if the block is unreachable.
    pub fn immediate_post_dominator(&self, block: BlockId) -> Option<BlockId> {
        match self.number[block] {
            0 => None,
            n => self.order[self.ipdom[n as usize] as usize],
        }
    }

    /// Whether every path from `b` to the virtual exit passes `a`; a block post-dominates itself. False if either is unreachable.
    pub fn post_dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, b) = (self.number[a] as usize, self.number[b] as usize);
        a != 0 && b != 0 && self.is_above(a, b)
    }

    fn is_above(&self, a: usize, b: usize) -> bool {
        let ((a0, a1), (b0, b1)) = (self.interval[a], self.interval[b]);
        a0 <= b0 && b1 <= a1
    }

    /// The nearest block that post-dominates both; none if that is the virtual exit. Costs the levels of the tree between.
    pub fn nearest_common(&self, a: BlockId, b: BlockId) -> Option<BlockId> {
        let (mut a, mut b) = (self.number[a] as usize, self.number[b] as usize);
        while a != b {
            if self.depth[a] >= self.depth[b] {
                a = self.ipdom[a] as usize;
            } else {
                b = self.ipdom[b] as usize;
            }
        }
        self.order[a]
    }

    /// The blocks of endless parts that count as ends, in reverse post-order.
    pub fn endless_ends(&self) -> &[BlockId] {
        &self.endless
    }
}

/// The last block, in reverse post-order, of each component that nothing leaves and that has an edge.
fn endless_ends(func: &Function, cfg: &ControlFlowGraph) -> Vec<BlockId> {
    let order = cfg.reverse_post_order();
    // Blocks that lead to an end.
    let mut ends: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut pending: Vec<BlockId> =
        order.iter().copied().filter(|&b| func.successors(b).is_empty()).collect();
    for &block in &pending {
        ends[block] = true;
    }
    while let Some(block) = pending.pop() {
        for &before in cfg.predecessors(block) {
            if !ends[before] {
                ends[before] = true;
                pending.push(before);
            }
        }
    }
    let endless: Vec<BlockId> = order.iter().copied().filter(|&b| !ends[b]).collect();
    if endless.is_empty() {
        return endless;
    }
    let mut position: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    for (i, &block) in endless.iter().enumerate() {
        position[block] = i as u32;
    }
    // What an endless block leads to is endless.
    let edges: Vec<Vec<u32>> = endless
        .iter()
        .map(|&b| func.successors(b).iter().map(|&t| position[t]).collect())
        .collect();
    let components = Components::compute(endless.len(), |n| &edges[n as usize]);
    let mut is_left = vec![false; components.count as usize];
    for (n, targets) in edges.iter().enumerate() {
        let own = components.of[n];
        is_left[own as usize] |= targets.iter().any(|&t| components.of[t as usize] != own);
    }
    let mut last: Vec<Option<usize>> = vec![None; components.count as usize];
    for (n, &own) in components.of.iter().enumerate() {
        last[own as usize] = Some(n);
    }
    let mut found: Vec<usize> =
        last.into_iter().zip(is_left).filter(|(_, left)| !left).filter_map(|(n, _)| n).collect();
    found.sort_unstable();
    found.into_iter().map(|n| endless[n]).collect()
}

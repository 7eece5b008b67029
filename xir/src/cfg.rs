//! The control-flow graph of a function at one moment: predecessors, reachability and block orders.

use crate::{BlockId, Function};
use cranelift_entity::SecondaryMap;

/// Predecessors and a reverse post-order of the reachable blocks. Role blocks of structured terminators are not edges.
/// Not updated when the function changes.
#[derive(Clone, Debug, Default)]
pub struct ControlFlowGraph {
    /// Predecessors of all blocks, those of one block side by side.
    predecessors: Vec<BlockId>,
    /// Where those of a block are.
    range: SecondaryMap<BlockId, (u32, u32)>,
    rpo: Vec<BlockId>,
    /// Position in `rpo` plus one; 0 for an unreachable block.
    number: SecondaryMap<BlockId, u32>,
}

impl ControlFlowGraph {
    /// Computes the graph in time linear in blocks and edges, without recursion.
    pub fn compute(function: &Function) -> ControlFlowGraph {
        let mut cfg = ControlFlowGraph::default();
        let Some(entry) = function.entry() else { return cfg };
        let mut visited: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        visited.resize(function.block_count());
        // The successors of all blocks, side by side, so that each block is looked up once.
        let mut targets: Vec<BlockId> = function.successors(entry).to_vec();
        // Blocks on the way, with the range of their successors and where those that were taken start: the last is taken first, so
        // that the reverse post-order visits the first successor first.
        let mut stack = vec![(entry, 0..targets.len(), targets.len())];
        // Of each block of the order.
        let mut ranges = Vec::new();
        visited[entry] = true;
        while let Some((block, range, taken)) = stack.last_mut() {
            if *taken == range.start {
                cfg.rpo.push(*block);
                ranges.push(range.clone());
                stack.pop();
                continue;
            }
            *taken -= 1;
            let target = targets[*taken];
            if !visited[target] {
                visited[target] = true;
                let start = targets.len();
                targets.extend_from_slice(function.successors(target));
                stack.push((target, start..targets.len(), targets.len()));
            }
        }
        cfg.rpo.reverse();
        ranges.reverse();
        cfg.number.resize(function.block_count());
        for (i, &block) in cfg.rpo.iter().enumerate() {
            cfg.number[block] = i as u32 + 1;
        }
        let successors: Vec<&[BlockId]> = ranges.into_iter().map(|r| &targets[r]).collect();
        cfg.collect_predecessors(function.block_count(), &successors);
        cfg
    }

    /// Counts the edges into each block, several of one source once, then puts each at its place; `successors` by position in the order.
    fn collect_predecessors(&mut self, block_count: usize, successors: &[&[BlockId]]) {
        let mut last: SecondaryMap<BlockId, u32> = SecondaryMap::new();
        last.resize(block_count);
        self.range.resize(block_count);
        let mut total = 0;
        for (number, &targets) in (1..).zip(successors) {
            for &target in targets {
                if std::mem::replace(&mut last[target], number) != number {
                    self.range[target].1 += 1;
                    total += 1;
                }
            }
        }
        let mut start = 0;
        for &block in &self.rpo {
            let count = std::mem::replace(&mut self.range[block], (start, start)).1;
            start += count;
            last[block] = 0;
        }
        self.predecessors = vec![BlockId::from_u32(0); total];
        for ((number, &targets), &block) in (1..).zip(successors).zip(&self.rpo) {
            for &target in targets {
                if std::mem::replace(&mut last[target], number) != number {
                    let end = &mut self.range[target].1;
                    self.predecessors[*end as usize] = block;
                    *end += 1;
                }
            }
        }
    }

    /// The distinct reachable predecessors, in reverse post-order of the source.
    #[inline]
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        let (start, end) = self.range[block];
        &self.predecessors[start as usize..end as usize]
    }

    /// Reachable blocks in reverse post-order; the entry comes first.
    #[inline]
    pub fn reverse_post_order(&self) -> &[BlockId] {
        &self.rpo
    }

    /// Whether a path from the entry leads to the block.
    #[inline]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block] != 0
    }

    /// Position in the reverse post-order.
    #[inline]
    pub fn number(&self, block: BlockId) -> Option<usize> {
        (self.number[block] as usize).checked_sub(1)
    }
}

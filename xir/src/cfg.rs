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
        let mut visited: SecondaryMap<BlockId, bool> =
            SecondaryMap::with_capacity(function.block_count());
        let mut stack = vec![(entry, 0usize)];
        visited[entry] = true;
        while let Some((block, next)) = stack.last_mut() {
            let successors = function.successors(*block);
            // Last successor first, so that the reverse post-order visits the first successor first.
            let Some(&target) = successors.len().checked_sub(*next + 1).map(|i| &successors[i])
            else {
                cfg.rpo.push(*block);
                stack.pop();
                continue;
            };
            *next += 1;
            if !visited[target] {
                visited[target] = true;
                stack.push((target, 0));
            }
        }
        cfg.rpo.reverse();
        for (i, &block) in cfg.rpo.iter().enumerate() {
            cfg.number[block] = i as u32 + 1;
        }
        cfg.collect_predecessors(function);
        cfg
    }

    /// Counts the edges into each block, several of one source once, then puts each at its place.
    fn collect_predecessors(&mut self, function: &Function) {
        let mut last: SecondaryMap<BlockId, u32> =
            SecondaryMap::with_capacity(function.block_count());
        let mut total = 0;
        for (number, &block) in (1..).zip(&self.rpo) {
            for &target in function.successors(block) {
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
        for (number, &block) in (1..).zip(&self.rpo) {
            for &target in function.successors(block) {
                if std::mem::replace(&mut last[target], number) != number {
                    let end = &mut self.range[target].1;
                    self.predecessors[*end as usize] = block;
                    *end += 1;
                }
            }
        }
    }

    /// The distinct reachable predecessors, in reverse post-order of the source.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        let (start, end) = self.range[block];
        &self.predecessors[start as usize..end as usize]
    }

    /// Reachable blocks in reverse post-order; the entry comes first.
    pub fn reverse_post_order(&self) -> &[BlockId] {
        &self.rpo
    }

    /// Whether a path from the entry leads to the block.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block] != 0
    }

    /// Position in the reverse post-order.
    pub fn number(&self, block: BlockId) -> Option<usize> {
        (self.number[block] as usize).checked_sub(1)
    }
}

//! The control-flow graph of a function at one moment: predecessors, reachability and block orders.

use crate::{BlockId, Function};
use cranelift_entity::SecondaryMap;

/// Predecessors and a reverse post-order of the reachable blocks. Role blocks of structured terminators are not edges.
/// Not updated when the function changes.
#[derive(Clone, Debug, Default)]
pub struct ControlFlowGraph {
    predecessors: SecondaryMap<BlockId, Vec<BlockId>>,
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
        for &block in &cfg.rpo {
            for &target in function.successors(block) {
                if cfg.predecessors[target].last() != Some(&block) {
                    cfg.predecessors[target].push(block);
                }
            }
        }
        cfg
    }

    /// The distinct reachable predecessors, in reverse post-order of the source.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[block]
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

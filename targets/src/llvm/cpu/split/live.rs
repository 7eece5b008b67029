//! Where a value lives: a walk from its uses back to its definition.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};

use super::FIRST_STATE;

/// The block in which an operand is used: that of the instruction or, for a phi, the predecessor that the value comes from.
pub(super) fn use_block(func: &Function, user: InstId, index: usize) -> Option<BlockId> {
    if func.op(user) == Op::Phi {
        func.inst_blocks(user).get(index).copied()
    } else {
        func.inst_block(user)
    }
}

/// Walks over blocks, with marks that need no clearing between walks.
pub(super) struct Walk {
    cfg: ControlFlowGraph,
    seen: SecondaryMap<BlockId, u32>,
    round: u32,
    /// State of each start, and 0 for other blocks.
    state_of: SecondaryMap<BlockId, u32>,
    starts: usize,
    stack: Vec<BlockId>,
}

impl Walk {
    /// For a graph that does not change any more.
    pub fn new(func: &Function, starts: &[BlockId]) -> Walk {
        let mut state_of = SecondaryMap::new();
        for (i, &block) in starts.iter().enumerate() {
            state_of[block] = i as u32 + 1;
        }
        Walk {
            cfg: ControlFlowGraph::compute(func),
            seen: SecondaryMap::new(),
            round: 0,
            state_of,
            starts: starts.len(),
            stack: Vec::new(),
        }
    }

    /// The graph.
    pub fn cfg(&self) -> &ControlFlowGraph {
        &self.cfg
    }

    fn push(&mut self, block: BlockId) {
        if self.seen[block] != self.round && self.cfg.is_reachable(block) {
            self.seen[block] = self.round;
            self.stack.push(block);
        }
    }

    /// The states of the resume blocks at whose start `value`, an instruction's result, lives; sorted.
    pub fn crossings(&mut self, func: &Function, value: ValueId) -> Vec<u32> {
        let Some(home) = func.def_inst(value).and_then(|i| func.inst_block(i)) else {
            return Vec::new();
        };
        self.round += 1;
        for (user, index) in func.uses(value) {
            if let Some(block) = use_block(func, user, index)
                && block != home
            {
                self.push(block);
            }
        }
        let mut crossed = Vec::new();
        while let Some(block) = self.stack.pop() {
            let state = self.state_of[block];
            if state > FIRST_STATE {
                crossed.push(state);
            }
            for i in 0..self.cfg.predecessors(block).len() {
                let from = self.cfg.predecessors(block)[i];
                if from != home {
                    self.push(from);
                }
            }
        }
        crossed.sort_unstable();
        crossed
    }

    /// The starts that can reach one of `blocks`.
    pub fn reaching(&mut self, blocks: &[BlockId]) -> Vec<bool> {
        self.round += 1;
        blocks.iter().for_each(|&b| self.push(b));
        let mut found = vec![false; self.starts];
        while let Some(block) = self.stack.pop() {
            if let Some(slot) = (self.state_of[block] as usize).checked_sub(1) {
                found[slot] = true;
            }
            for i in 0..self.cfg.predecessors(block).len() {
                self.push(self.cfg.predecessors(block)[i]);
            }
        }
        found
    }

    /// The starts that can be reached from the end of one of `blocks`.
    pub fn reached(&mut self, func: &Function, blocks: &[BlockId]) -> Vec<bool> {
        self.round += 1;
        for &block in blocks {
            func.successors(block).iter().for_each(|&b| self.push(b));
        }
        let mut found = vec![false; self.starts];
        while let Some(block) = self.stack.pop() {
            if let Some(slot) = (self.state_of[block] as usize).checked_sub(1) {
                found[slot] = true;
            }
            func.successors(block).iter().for_each(|&b| self.push(b));
        }
        found
    }
}

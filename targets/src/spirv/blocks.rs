//! The blocks of the one function while it is made, in any order; and their final order.
//!
//! SPIR-V wants each block after those that dominate it, also in the structured sense: header before merge and continue target. The
//! reverse post-order of the graph with those edges added is such an order; merges are visited first, so they come last.

use rspirv::spirv::{LoopControl, Op, SelectionControl};
use rustc_hash::FxHashMap;

use super::module::{Code, Id};

/// A block.
#[derive(Default)]
struct Block {
    label: Id,
    phis: Vec<(Id, Id, Vec<u32>)>,
    code: Code,
    /// What its terminator leads to.
    successors: Vec<Id>,
    /// Merge and continue target that it declares.
    declared: Vec<Id>,
    ended: bool,
}

/// All blocks.
#[derive(Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    numbers: FxHashMap<Id, usize>,
    current: usize,
}

impl Blocks {
    /// Begins a block and goes on there.
    pub fn begin(&mut self, label: Id) {
        self.current = self.blocks.len();
        self.numbers.insert(label, self.current);
        self.blocks.push(Block { label, ..Block::default() });
    }

    /// The label of the present block.
    pub fn label(&self) -> Id {
        self.blocks.get(self.current).map_or(0, |b| b.label)
    }

    /// Whether the present block has its terminator.
    pub fn ended(&self) -> bool {
        self.blocks.get(self.current).is_none_or(|b| b.ended)
    }

    /// Appends to the present block.
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        if let Some(block) = self.blocks.get_mut(self.current) {
            block.code.push(op, operands);
        }
    }

    /// Adds a phi at the head of a block; `incoming` is value and label by turns.
    pub fn phi(&mut self, label: Id, ty: Id, id: Id, incoming: Vec<u32>) {
        if let Some(block) = self.numbers.get(&label).and_then(|&n| self.blocks.get_mut(n)) {
            block.phis.push((ty, id, incoming));
        }
    }

    /// Declares the present block the header of a selection.
    pub fn selection(&mut self, merge: Id) {
        self.push(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
        self.declare(&[merge]);
    }

    /// Declares the present block the header of a loop.
    pub fn loop_merge(&mut self, merge: Id, next: Id) {
        self.push(Op::LoopMerge, &[merge, next, LoopControl::NONE.bits()]);
        self.declare(&[merge, next]);
    }

    fn declare(&mut self, labels: &[Id]) {
        if let Some(block) = self.blocks.get_mut(self.current) {
            block.declared.extend_from_slice(labels);
        }
    }

    /// Ends the present block.
    pub fn end(&mut self, op: Op, operands: &[u32], successors: &[Id]) {
        if let Some(block) = self.blocks.get_mut(self.current)
            && !block.ended
        {
            block.code.push(op, operands);
            block.successors.extend_from_slice(successors);
            block.ended = true;
        }
    }

    /// Ends the present block with a branch.
    pub fn branch(&mut self, to: Id) {
        self.end(Op::Branch, &[to], &[to]);
    }

    /// Ends the present block with a choice.
    pub fn branch_if(&mut self, condition: Id, yes: Id, no: Id) {
        self.end(Op::BranchConditional, &[condition, yes, no], &[yes, no]);
    }

    /// The code of the blocks that the first one reaches, in order; `head` goes after the first label.
    pub fn finish(&self, head: &Code) -> Code {
        let mut code = Code::default();
        for (position, number) in self.order().into_iter().enumerate() {
            let Some(block) = self.blocks.get(number) else { continue };
            code.push(Op::Label, &[block.label]);
            if position == 0 {
                code.append(head);
            }
            for (ty, id, incoming) in &block.phis {
                let mut words = vec![*ty, *id];
                words.extend_from_slice(incoming);
                code.push(Op::Phi, &words);
            }
            code.append(&block.code);
        }
        code
    }

    /// Labels in the structured reverse post-order.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut seen = vec![false; self.blocks.len()];
        let mut stack: Vec<(usize, usize)> = Vec::new();
        if !self.blocks.is_empty() {
            seen[0] = true;
            stack.push((0, 0));
        }
        while let Some((number, next)) = stack.pop() {
            let block = &self.blocks[number];
            let declared = block.declared.len();
            let label = if next < declared {
                block.declared.get(next)
            } else {
                block.successors.iter().rev().nth(next - declared)
            };
            let Some(label) = label else {
                order.push(number);
                continue;
            };
            stack.push((number, next + 1));
            if let Some(&child) = self.numbers.get(label)
                && !std::mem::replace(&mut seen[child], true)
            {
                stack.push((child, 0));
            }
        }
        order.reverse();
        order
    }
}

//! The order of blocks in a function and of instructions in a block: doubly linked lists through the arenas, so that insertion
//! and removal cost O(1) anywhere.

use crate::function::Imm;
use crate::{BlockId, Function, InstId, Op};
use cranelift_entity::packed_option::PackedOption;
use luisac_ast::types::TypeId;

#[derive(Clone, Debug, Default)]
pub(crate) struct BlockData {
    first: PackedOption<InstId>,
    last: PackedOption<InstId>,
    prev: PackedOption<BlockId>,
    next: PackedOption<BlockId>,
    placed: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct BlockOrder {
    first: PackedOption<BlockId>,
    last: PackedOption<BlockId>,
    /// How many blocks are in the order, and how many instructions in blocks.
    blocks: usize,
    insts: usize,
}

impl Function {
    // ---- blocks

    /// The entry block: the first in the order.
    #[inline]
    pub fn entry(&self) -> Option<BlockId> {
        self.layout.first.expand()
    }

    /// Makes an empty block at the end of the order.
    pub fn append_block(&mut self) -> BlockId {
        let block = self.blocks.push(BlockData { placed: true, ..BlockData::default() });
        self.link_block(block, self.layout.last.expand());
        block
    }

    /// Makes an empty block that follows `after` in the order.
    pub fn insert_block_after(&mut self, after: BlockId) -> BlockId {
        let block = self.blocks.push(BlockData { placed: true, ..BlockData::default() });
        self.link_block(block, Some(after));
        block
    }

    fn link_block(&mut self, block: BlockId, after: Option<BlockId>) {
        self.layout.blocks += 1;
        let next = match after {
            Some(after) => self.blocks[after].next,
            None => self.layout.first,
        };
        self.blocks[block].prev = after.into();
        self.blocks[block].next = next;
        match after {
            Some(after) => self.blocks[after].next = block.into(),
            None => self.layout.first = block.into(),
        }
        match next.expand() {
            Some(next) => self.blocks[next].prev = block.into(),
            None => self.layout.last = block.into(),
        }
    }

    fn unlink_block(&mut self, block: BlockId) {
        self.layout.blocks -= 1;
        let (prev, next) = (self.blocks[block].prev, self.blocks[block].next);
        match prev.expand() {
            Some(prev) => self.blocks[prev].next = next,
            None => self.layout.first = next,
        }
        match next.expand() {
            Some(next) => self.blocks[next].prev = prev,
            None => self.layout.last = prev,
        }
    }

    /// Moves a block so that it follows `after` in the order.
    pub fn move_block_after(&mut self, block: BlockId, after: BlockId) {
        if block != after {
            self.unlink_block(block);
            self.link_block(block, Some(after));
        }
    }

    /// Removes a block and its instructions. Nothing may name the block any more; results that are still used elsewhere are the
    /// caller's care (replace them first).
    pub fn remove_block(&mut self, block: BlockId) {
        while let Some(inst) = self.blocks[block].last.expand() {
            self.remove_inst(inst);
        }
        self.unlink_block(block);
        self.blocks[block].placed = false;
    }

    /// The blocks in order.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let mut next = self.layout.first;
        std::iter::from_fn(move || {
            let block = next.expand()?;
            next = self.blocks[block].next;
            Some(block)
        })
    }

    /// The block after this one in the order.
    #[inline]
    pub fn next_block(&self, block: BlockId) -> Option<BlockId> {
        self.blocks[block].next.expand()
    }

    /// Whether the block is in the order (not removed).
    #[inline]
    pub fn is_placed(&self, block: BlockId) -> bool {
        self.blocks[block].placed
    }

    /// The number of block ids handed out; every id is below it.
    #[inline]
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    // ---- instructions

    /// The instructions of a block in order. To change the block while walking, use [`Function::next_inst`].
    #[inline]
    pub fn insts(&self, block: BlockId) -> impl DoubleEndedIterator<Item = InstId> + '_ {
        Insts { function: self, front: self.blocks[block].first, back: self.blocks[block].last }
    }

    /// The first instruction of a block.
    #[inline]
    pub fn first_inst(&self, block: BlockId) -> Option<InstId> {
        self.blocks[block].first.expand()
    }

    /// The last instruction of a block.
    #[inline]
    pub fn last_inst(&self, block: BlockId) -> Option<InstId> {
        self.blocks[block].last.expand()
    }

    /// The first instruction that is no phi.
    #[inline]
    pub fn first_non_phi(&self, block: BlockId) -> Option<InstId> {
        self.insts(block).find(|&i| self.op(i) != Op::Phi)
    }

    /// The phis of a block.
    #[inline]
    pub fn phis(&self, block: BlockId) -> impl Iterator<Item = InstId> + '_ {
        self.insts(block).take_while(|&i| self.op(i) == Op::Phi)
    }

    /// The instruction after this one in its block.
    #[inline]
    pub fn next_inst(&self, inst: InstId) -> Option<InstId> {
        self.insts[inst].next.expand()
    }

    /// The instruction before this one in its block.
    #[inline]
    pub fn prev_inst(&self, inst: InstId) -> Option<InstId> {
        self.insts[inst].prev.expand()
    }

    /// The block that an instruction is in.
    #[inline]
    pub fn inst_block(&self, inst: InstId) -> Option<BlockId> {
        self.insts[inst].block.expand()
    }

    /// The terminator of a block.
    #[inline]
    pub fn terminator(&self, block: BlockId) -> Option<InstId> {
        self.last_inst(block).filter(|&i| self.op(i).is_terminator())
    }

    /// The CFG successors of a block, in operand order, duplicates included.
    #[inline]
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        self.terminator(block).map_or(&[], |t| self.successors_of(t))
    }

    /// Places an instruction at the end of a block.
    pub fn append_inst(&mut self, block: BlockId, inst: InstId) {
        self.link_inst(inst, block, self.blocks[block].last.expand());
    }

    /// Places an instruction at the start of a block.
    pub fn prepend_inst(&mut self, block: BlockId, inst: InstId) {
        self.link_inst(inst, block, None);
    }

    /// Places an instruction before `at`, which must be in a block.
    pub fn insert_before(&mut self, inst: InstId, at: InstId) {
        let block = self.inst_block(at).expect("the position is in a block");
        self.link_inst(inst, block, self.prev_inst(at));
    }

    /// Places an instruction after `at`, which must be in a block.
    pub fn insert_after(&mut self, inst: InstId, at: InstId) {
        let block = self.inst_block(at).expect("the position is in a block");
        self.link_inst(inst, block, Some(at));
    }

    fn link_inst(&mut self, inst: InstId, block: BlockId, after: Option<InstId>) {
        assert!(self.inst_block(inst).is_none(), "the instruction is already in a block");
        self.layout.insts += 1;
        let next = match after {
            Some(after) => self.insts[after].next,
            None => self.blocks[block].first,
        };
        self.insts[inst].block = block.into();
        self.insts[inst].prev = after.into();
        self.insts[inst].next = next;
        match after {
            Some(after) => self.insts[after].next = inst.into(),
            None => self.blocks[block].first = inst.into(),
        }
        match next.expand() {
            Some(next) => self.insts[next].prev = inst.into(),
            None => self.blocks[block].last = inst.into(),
        }
    }

    /// Takes an instruction out of its block, operands kept.
    pub fn unlink_inst(&mut self, inst: InstId) {
        let Some(block) = self.inst_block(inst) else { return };
        self.layout.insts -= 1;
        let (prev, next) = (self.insts[inst].prev, self.insts[inst].next);
        match prev.expand() {
            Some(prev) => self.insts[prev].next = next,
            None => self.blocks[block].first = next,
        }
        match next.expand() {
            Some(next) => self.insts[next].prev = prev,
            None => self.blocks[block].last = prev,
        }
        let data = &mut self.insts[inst];
        data.block = None.into();
        data.prev = None.into();
        data.next = None.into();
    }

    /// Takes an instruction out of its block and drops its operands. Uses of its result stay; replace them first.
    pub fn remove_inst(&mut self, inst: InstId) {
        self.unlink_inst(inst);
        self.drop_operands(inst);
        self.insts[inst].forget_blocks();
    }

    /// Moves `at` and all instructions after it to a new block that follows in the order. Phis of the successors name the new
    /// block afterwards. The old block is left without a terminator.
    pub fn split_block(&mut self, at: InstId) -> BlockId {
        let block = self.inst_block(at).expect("the position is in a block");
        let tail = self.insert_block_after(block);
        let mut next = Some(at);
        while let Some(inst) = next {
            next = self.next_inst(inst);
            self.unlink_inst(inst);
            self.append_inst(tail, inst);
        }
        for successor in self.successors(tail).to_vec() {
            self.rename_phi_predecessor(successor, block, tail);
        }
        tail
    }

    /// Makes the phis of `block` name `new` where they named predecessor `old`.
    pub fn rename_phi_predecessor(&mut self, block: BlockId, old: BlockId, new: BlockId) {
        let phis: Vec<InstId> = self.phis(block).collect();
        for phi in phis {
            for incoming in self.inst_blocks_mut(phi) {
                if *incoming == old {
                    *incoming = new;
                }
            }
        }
    }

    /// Drops the entry of predecessor `pred` from the phis of `block`.
    pub fn remove_phi_predecessor(&mut self, block: BlockId, pred: BlockId) {
        let phis: Vec<InstId> = self.phis(block).collect();
        for phi in phis {
            if let Some(i) = self.inst_blocks(phi).iter().position(|&b| b == pred) {
                self.remove_arg(phi, i);
                self.inst_blocks_mut(phi).remove(i);
            }
        }
    }

    /// Replaces the terminator of a block by `br target`.
    pub fn replace_with_br(&mut self, block: BlockId, target: BlockId) -> InstId {
        if let Some(old) = self.terminator(block) {
            self.remove_inst(old);
        }
        let br = self.create_inst(Op::Br, TypeId::VOID, &[], &[target], Imm::None);
        self.append_inst(block, br);
        br
    }

    /// Number of instructions in blocks.
    #[inline]
    pub fn placed_inst_count(&self) -> usize {
        self.layout.insts
    }

    /// Number of blocks in the order.
    #[inline]
    pub fn placed_block_count(&self) -> usize {
        self.layout.blocks
    }
}

struct Insts<'a> {
    function: &'a Function,
    front: PackedOption<InstId>,
    back: PackedOption<InstId>,
}

impl Insts<'_> {
    #[inline]
    fn step(&mut self, here: InstId, next: PackedOption<InstId>, from_front: bool) -> InstId {
        if self.front == self.back {
            self.front = None.into();
            self.back = None.into();
        } else if from_front {
            self.front = next;
        } else {
            self.back = next;
        }
        here
    }
}

impl Iterator for Insts<'_> {
    type Item = InstId;
    #[inline]
    fn next(&mut self) -> Option<InstId> {
        let here = self.front.expand()?;
        let next = self.function.insts[here].next;
        Some(self.step(here, next, true))
    }
}

impl DoubleEndedIterator for Insts<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<InstId> {
        let here = self.back.expand()?;
        let prev = self.function.insts[here].prev;
        Some(self.step(here, prev, false))
    }
}

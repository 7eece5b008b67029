//! What the passes over innermost loops share: finding them, copying blocks, and the values that leave a loop.

use crate::analyses::counted::CountedLoop;
use crate::analyses::loops::Loops;
use crate::analyses::scalar_evolution::ScalarEvolution;
use luisac_ast::types::TypeTable;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

/// Larger loops are not looked at.
pub(crate) const MAX_BLOCKS: usize = 64;
/// Blocks with more entries are not given new ones, which keeps searches for an entry cheap.
pub(crate) const MAX_ENTRIES: usize = 32;

/// The graph of a function and its loops.
pub(crate) struct LoopGraph {
    pub cfg: ControlFlowGraph,
    pub dominators: DominatorTree,
    pub loops: Loops,
    /// Blocks with higher numbers were made since.
    known: usize,
}

/// An innermost loop with one block that enters it and one that leads back.
pub(crate) struct SmallLoop {
    pub number: u32,
    pub preheader: BlockId,
    pub header: BlockId,
    pub latch: BlockId,
    /// In reverse post-order, the header first.
    pub blocks: Vec<BlockId>,
}

impl LoopGraph {
    pub fn of(func: &Function) -> LoopGraph {
        let cfg = ControlFlowGraph::compute(func);
        let dominators = DominatorTree::compute(func, &cfg);
        let loops = Loops::compute(func, &cfg, &dominators);
        LoopGraph { cfg, dominators, loops, known: func.block_count() }
    }

    /// Whether a block is one that nothing leads to; of blocks that were made since nothing is known.
    pub fn is_dead(&self, block: BlockId) -> bool {
        block.as_u32() < self.known as u32 && !self.cfg.is_reachable(block)
    }

    /// The innermost loops of at most [`MAX_BLOCKS`] blocks with a preheader and one latch that only leads back, by number.
    pub fn small_loops(&self, func: &Function) -> Vec<SmallLoop> {
        let blocks = self.loops.innermost_blocks(&self.cfg);
        let candidates = self.loops.loops.iter().zip(blocks).enumerate();
        candidates
            .filter_map(|(number, (l, blocks))| {
                let (preheader, &[latch]) = (l.preheader?, &l.latches[..]) else { return None };
                let fits = (1..=MAX_BLOCKS).contains(&blocks.len())
                    && latch != l.header
                    && func.terminator(latch).is_some_and(|t| func.op(t) == Op::Br);
                let (number, header) = (number as u32, l.header);
                fits.then_some(SmallLoop { number, preheader, header, latch, blocks })
            })
            .collect()
    }

    /// The counted ones among the small loops.
    pub fn counted_loops(
        &self,
        func: &Function,
        types: &TypeTable,
    ) -> Vec<(SmallLoop, CountedLoop)> {
        let evolution = ScalarEvolution::compute(func, types, &self.cfg, &self.loops);
        let small = self.small_loops(func).into_iter();
        small
            .filter_map(|l| {
                let counted =
                    CountedLoop::of(func, types, &self.loops, &evolution, l.number, &l.blocks)?;
                Some((l, counted))
            })
            .collect()
    }
}

impl SmallLoop {
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.contains(&block)
    }

    /// Whether a value is computed inside.
    pub fn defines(&self, func: &Function, value: ValueId) -> bool {
        let block = func.def_inst(value).and_then(|i| func.inst_block(i));
        block.is_some_and(|b| self.contains(b))
    }

    /// All instructions, block by block.
    pub fn insts<'a>(&'a self, func: &'a Function) -> impl Iterator<Item = InstId> + 'a {
        self.blocks.iter().flat_map(|&b| func.insts(b))
    }

    /// Whether the rounds may be arranged anew: nothing inside acts over several threads, is volatile, or declares memory.
    pub fn is_rearrangeable(&self, func: &Function) -> bool {
        self.insts(func).all(|inst| {
            let op = func.op(inst);
            let branches = matches!(op, Op::Br | Op::CondBr | Op::IndexedBranch);
            let effects = func.effects(inst);
            branches || !effects.volatile && !effects.convergent && !matches!(op, Op::Alloca(_))
        })
    }
}

/// Whether an operation may be computed at any time and place: it reads nothing and gives a value, not a place.
pub(crate) fn is_pure(func: &Function, inst: InstId) -> bool {
    matches!(func.op(inst), Op::Arithmetic(_) | Op::Cast(_))
}

/// The value of a phi on the edge from a block.
pub(crate) fn phi_entry(func: &Function, phi: InstId, from: BlockId) -> Option<ValueId> {
    let i = func.inst_blocks(phi).iter().position(|&b| b == from)?;
    Some(func.arg(phi, i))
}

/// Adds an entry to a phi.
pub(crate) fn add_phi_entry(func: &mut Function, phi: InstId, from: BlockId, value: ValueId) {
    func.push_arg(phi, value);
    func.inst_blocks_mut(phi).push(from);
}

/// Makes the edges of a block that lead to `old` lead to `new`; phis are the caller's care.
pub(crate) fn redirect(func: &mut Function, from: BlockId, old: BlockId, new: BlockId) {
    let Some(end) = func.terminator(from) else { return };
    for target in func.inst_blocks_mut(end) {
        if *target == old {
            *target = new;
        }
    }
}

/// The block where a use takes place: for a phi the end of the block that the value comes from.
pub(crate) fn use_block(func: &Function, user: InstId, operand: usize) -> Option<BlockId> {
    match func.op(user) {
        Op::Phi => func.inst_blocks(user).get(operand).copied(),
        _ => func.inst_block(user),
    }
}

/// Copies of blocks and of the values in them. Hash maps, for a function may have many small loops.
#[derive(Default)]
pub(crate) struct Copies {
    values: FxHashMap<ValueId, ValueId>,
    blocks: FxHashMap<BlockId, BlockId>,
}

impl Copies {
    /// What stands for a value in the copy.
    pub fn value(&self, value: ValueId) -> ValueId {
        self.known(value).unwrap_or(value)
    }

    /// What stands for a value in the copy, if it was said.
    pub fn known(&self, value: ValueId) -> Option<ValueId> {
        self.values.get(&value).copied()
    }

    /// Says what stands for a value in the copy.
    pub fn set(&mut self, value: ValueId, copy: ValueId) {
        self.values.insert(value, copy);
    }

    /// What stands for a block in the copy.
    pub fn block(&self, block: BlockId) -> BlockId {
        self.blocks.get(&block).copied().unwrap_or(block)
    }

    /// A copy of an instruction in no block yet; its operands are those that are known so far.
    pub fn inst(&mut self, func: &mut Function, inst: InstId) -> InstId {
        let data = func.inst(inst);
        let (op, ty, imm, loc): (Op, _, Imm, _) = (data.op, data.ty, data.imm.clone(), data.loc);
        let args: Vec<ValueId> = func.args(inst).iter().map(|&v| self.value(v)).collect();
        let blocks: Vec<BlockId> = func.inst_blocks(inst).iter().map(|&b| self.block(b)).collect();
        let copy = func.create_inst(op, ty, &args, &blocks, imm);
        func.set_loc(copy, loc);
        if let (Some(old), Some(new)) = (func.result(inst), func.result(copy)) {
            self.values.insert(old, new);
            if let Some(name) = func.name_of(old).map(String::from) {
                func.set_name(new, name);
            }
        }
        copy
    }

    /// Copies blocks behind `after` in the order. Edges among them lead to copies, all others to where they led. Blocks outside
    /// get no new phi entries. Returns how many instructions were copied.
    pub fn blocks(&mut self, func: &mut Function, blocks: &[BlockId], after: BlockId) -> u64 {
        let mut last = after;
        for &block in blocks {
            last = func.insert_block_after(last);
            self.blocks.insert(block, last);
        }
        let mut copies = Vec::new();
        for &block in blocks {
            let into = self.block(block);
            let insts: Vec<InstId> = func.insts(block).collect();
            for inst in insts {
                let copy = self.inst(func, inst);
                func.append_inst(into, copy);
                copies.push((inst, copy));
            }
        }
        // Operands of phis may have been copied later.
        for &(inst, copy) in &copies {
            let args: Vec<ValueId> = func.args(inst).iter().map(|&v| self.value(v)).collect();
            func.set_args(copy, &args);
        }
        copies.len() as u64
    }
}

/// Values of a loop that are used outside otherwise than by phis of the edges that leave it, and the block behind an exit that
/// dominates each such use.
pub(crate) struct Closing(Vec<(ValueId, BlockId)>);

impl Closing {
    /// More exits are not looked at.
    const MAX_EXITS: usize = 8;

    /// Finds a block for each use; none if there is a use without one.
    pub fn plan(func: &Function, graph: &LoopGraph, this: &SmallLoop) -> Option<Closing> {
        let mut exits: Vec<BlockId> = Vec::new();
        for &block in &this.blocks {
            for &target in func.successors(block) {
                if !this.contains(target) && !exits.contains(&target) {
                    exits.push(target);
                }
            }
        }
        let small = |&b: &BlockId| graph.cfg.predecessors(b).len() <= MAX_ENTRIES;
        if exits.len() > Self::MAX_EXITS || !exits.iter().all(small) {
            return None;
        }
        // Blocks that only the loop leads to can hold phis of its values.
        let only_from_loop =
            |&b: &BlockId| graph.cfg.predecessors(b).iter().all(|&p| this.contains(p));
        exits.retain(only_from_loop);
        let mut found = Vec::new();
        for inst in this.insts(func) {
            let Some(value) = func.result(inst) else { continue };
            for (user, operand) in func.uses(value) {
                let Some(at) = use_block(func, user, operand) else { continue };
                if this.contains(at) || graph.is_dead(at) {
                    continue;
                }
                let home = func.inst_block(inst)?;
                let exit = exits.iter().copied().find(|&e| graph.dominators.dominates(e, at))?;
                let reaches = |&p: &BlockId| graph.dominators.dominates(home, p);
                if func.is_lvalue(value) || !graph.cfg.predecessors(exit).iter().all(reaches) {
                    return None;
                }
                if !found.contains(&(value, exit)) {
                    found.push((value, exit));
                }
            }
        }
        Some(Closing(found))
    }

    /// Puts the phis in and makes the uses outside use them.
    pub fn apply(self, func: &mut Function, graph: &LoopGraph, this: &SmallLoop) {
        for (value, exit) in self.0 {
            let from = graph.cfg.predecessors(exit);
            let values = vec![value; from.len()];
            let phi = func.create_inst(Op::Phi, func.value_type(value), &values, from, Imm::None);
            let uses: Vec<(InstId, usize)> = func.uses(value).collect();
            func.prepend_inst(exit, phi);
            let Some(result) = func.result(phi) else { continue };
            for (user, operand) in uses {
                let outside = use_block(func, user, operand)
                    .is_some_and(|at| !this.contains(at) && graph.dominators.dominates(exit, at));
                if outside && user != phi {
                    func.set_arg(user, operand, result);
                }
            }
        }
    }
}

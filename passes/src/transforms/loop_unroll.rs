//! Unrolling of short loops with a known number of rounds.
//!
//! What: a loop that is left from its header only, after a number of rounds that follows from constants, is copied once for
//! each round in front of itself. The loop that is left behind ends at its first test; `sccp` and `simplify_cfg` see that and
//! remove it.
//! Why right: each copy is one round with the values of the round before; the test that the copies leave out is known to go on.
//! Values that are used behind the loop are still those of the loop itself.
//! Cost: linear in the copies, which are bounded. Loops with wave operations or barriers stay.

use super::loops::Loops;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use crate::manager::form::Requires;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function, InstId, Op, ValueDef, ValueId, eval};
use rustc_hash::FxHashMap;

counters! {
    /// What `loop_unroll` did.
    Info {
        change unrolled_loop_count "loops copied round by round";
        note copied_inst_count "instructions copied";
    }
}

options! {
    /// What is short.
    Options {
        max_rounds: u64 = 16, "rounds of a loop, at most";
        max_insts: u64 = 256, "instructions of all copies of a loop, at most";
    }
}

/// The pass.
pub struct LoopUnroll;

impl FunctionPass for LoopUnroll {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "copies of a loop are no structured constructs",
        ..Declaration::new(
            "loop_unroll",
            "copies short loops round by round",
            "Copies innermost loops that run a known small number of rounds in front of themselves, once for each round; \
             `sccp,simplify_cfg` removes what is left of them.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let loops = Loops::compute(cx.func, &cfg, &dominators);
        let mut info = Info::default();
        for round in innermost_loops(cx.func, &cfg, &loops) {
            let Some(count) = round.count(cx.func, cx.types, options.max_rounds) else { continue };
            let size: u64 = round.blocks.iter().map(|&b| cx.func.insts(b).count() as u64).sum();
            if count == 0 || size.saturating_mul(count) > options.max_insts || !cx.fuel() {
                continue;
            }
            Copier::new(cx.func, &round).run(count);
            info.unrolled_loop_count += 1;
            info.copied_inst_count += size * count;
        }
        Ok(info)
    }
}

/// An innermost loop that is left from its header only.
struct Round {
    preheader: BlockId,
    header: BlockId,
    latch: BlockId,
    /// Where the header goes on, and whether it does so for a true condition.
    inside: BlockId,
    goes_on_if: bool,
    /// The header first.
    blocks: Vec<BlockId>,
}

/// Larger loops are not looked at.
const MAX_BLOCKS: usize = 64;

fn innermost_loops(func: &Function, cfg: &ControlFlowGraph, loops: &Loops) -> Vec<Round> {
    let mut is_parent = vec![false; loops.loops.len()];
    for l in &loops.loops {
        if let Some(parent) = l.parent {
            is_parent[parent as usize] = true;
        }
    }
    let mut blocks: Vec<Vec<BlockId>> = vec![Vec::new(); loops.loops.len()];
    for &block in cfg.reverse_post_order() {
        if let Some(l) = loops.innermost(block).filter(|&l| !is_parent[l as usize]) {
            blocks[l as usize].push(block);
        }
    }
    let candidates = loops.loops.iter().zip(blocks).zip(is_parent);
    candidates
        .filter(|((_, blocks), is_parent)| !is_parent && blocks.len() <= MAX_BLOCKS)
        .filter_map(|((l, blocks), _)| Round::of(func, l.preheader?, &l.latches, blocks))
        .collect()
}

impl Round {
    fn of(
        func: &Function,
        preheader: BlockId,
        latches: &[BlockId],
        blocks: Vec<BlockId>,
    ) -> Option<Round> {
        let (&[latch], &header) = (latches, blocks.first()?) else { return None };
        let test = func.terminator(header).filter(|&t| func.op(t) == Op::CondBr)?;
        let &[yes, no] = func.successors_of(test) else { return None };
        let (inside, goes_on_if) = match (blocks.contains(&yes), blocks.contains(&no)) {
            (true, false) => (yes, true),
            (false, true) => (no, false),
            _ => return None,
        };
        let stays = |b: &BlockId| func.successors(*b).iter().all(|t| blocks.contains(t));
        let copies =
            |inst: InstId| !matches!(func.op(inst), Op::ThreadGroup(_) | Op::Alloca(_) | Op::Call);
        let fits = blocks[1..].iter().all(stays)
            && blocks.iter().all(|&b| func.insts(b).all(copies))
            && inside != header;
        fits.then_some(Round { preheader, header, latch, inside, goes_on_if, blocks })
    }

    /// How often the header goes on, if that follows from constants and is at most `limit`.
    fn count(&self, func: &mut Function, types: &TypeTable, limit: u64) -> Option<u64> {
        let condition = func.arg(func.terminator(self.header)?, 0);
        let phis: Vec<InstId> = func.phis(self.header).collect();
        let entry = |func: &Function, phi: InstId, from: BlockId| {
            let i = func.inst_blocks(phi).iter().position(|&b| b == from)?;
            Some(func.arg(phi, i))
        };
        let mut known: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for &phi in &phis {
            let first = entry(func, phi, self.preheader)?;
            if matches!(func.value_def(first), ValueDef::Constant(_)) {
                known.insert(func.result(phi)?, first);
            }
        }
        for rounds in 0..=limit {
            let value = constant(func, types, condition, &known, MAX_STEPS)?;
            if (func.constant_bits(value)? != 0) != self.goes_on_if {
                return Some(rounds);
            }
            let mut next = FxHashMap::default();
            for &phi in &phis {
                let (result, value) = (func.result(phi)?, entry(func, phi, self.latch)?);
                if let Some(value) = constant(func, types, value, &known, MAX_STEPS) {
                    next.insert(result, value);
                }
            }
            known = next;
        }
        None
    }
}

/// Operations that lie between a value and the phis it is computed from, at most.
const MAX_STEPS: usize = 6;

/// The constant that a value is if some values are known. Recursion is bounded by `steps`.
fn constant(
    func: &mut Function,
    types: &TypeTable,
    value: ValueId,
    known: &FxHashMap<ValueId, ValueId>,
    steps: usize,
) -> Option<ValueId> {
    if let Some(&constant) = known.get(&value) {
        return Some(constant);
    }
    let inst = match func.value_def(value) {
        ValueDef::Constant(_) => return Some(value),
        ValueDef::Inst(inst) => inst,
        _ => return None,
    };
    let ty = func.inst(inst).ty;
    let (Op::Arithmetic(_) | Op::Cast(_)) = func.op(inst) else { return None };
    if steps == 0 || types.size(ty) > 16 || func.args(inst).len() > 4 {
        return None;
    }
    let args = func.args(inst).to_vec();
    let mut constants = Vec::with_capacity(args.len());
    for arg in args {
        constants.push(constant(func, types, arg, known, steps - 1)?);
    }
    let operands: Vec<(TypeId, &[u8])> = constants
        .iter()
        .map(|&c| Some((func.value_type(c), func.constant_bytes(c)?.as_slice())))
        .collect::<Option<_>>()?;
    let bytes = match func.op(inst) {
        Op::Arithmetic(op) => eval::fold(types, op, ty, &operands)?,
        Op::Cast(op) => eval::fold_cast(types, op, operands[0].0, ty, operands[0].1)?,
        _ => return None,
    };
    Some(func.constant(ty, bytes))
}

struct Copier<'a> {
    func: &'a mut Function,
    round: &'a Round,
    /// Copies of the values of the round that is being copied.
    values: FxHashMap<ValueId, ValueId>,
    blocks: FxHashMap<BlockId, BlockId>,
}

impl<'a> Copier<'a> {
    fn new(func: &'a mut Function, round: &'a Round) -> Self {
        Copier { func, round, values: FxHashMap::default(), blocks: FxHashMap::default() }
    }

    fn run(mut self, count: u64) {
        let phis: Vec<InstId> = self.func.phis(self.round.header).collect();
        // Values of the header's phis at the start of the round, and the block that the round comes from.
        let mut from = self.round.preheader;
        let mut start: Vec<ValueId> =
            phis.iter().map(|&phi| self.entry(phi, self.round.preheader)).collect();
        for _ in 0..count {
            for (&phi, &value) in phis.iter().zip(&start) {
                if let Some(result) = self.func.result(phi) {
                    self.values.insert(result, value);
                }
            }
            self.copy_blocks(from);
            let head = self.blocks.get(&self.round.header).copied().unwrap_or(from);
            self.redirect(from, head);
            start = phis
                .iter()
                .map(|&phi| {
                    let next = self.entry(phi, self.round.latch);
                    self.values.get(&next).copied().unwrap_or(next)
                })
                .collect();
            from = self.blocks.get(&self.round.latch).copied().unwrap_or(from);
        }
        // The last copy leads into the loop itself.
        for (&phi, &value) in phis.iter().zip(&start) {
            let blocks = self.func.inst_blocks(phi);
            if let Some(i) = blocks.iter().position(|&b| b == self.round.preheader) {
                self.func.set_arg(phi, i, value);
                self.func.inst_blocks_mut(phi)[i] = from;
            }
        }
    }

    fn entry(&self, phi: InstId, from: BlockId) -> ValueId {
        let i = self.func.inst_blocks(phi).iter().position(|&b| b == from).unwrap_or(0);
        self.func.arg(phi, i)
    }

    /// Makes the edge from `from` to the loop's header lead to `to`.
    fn redirect(&mut self, from: BlockId, to: BlockId) {
        let Some(end) = self.func.terminator(from) else { return };
        for target in self.func.inst_blocks_mut(end) {
            if *target == self.round.header {
                *target = to;
            }
        }
    }

    /// Copies all blocks of a round behind `after` in the order; edges to the header stay as they are.
    fn copy_blocks(&mut self, after: BlockId) {
        let mut last = after;
        for &block in &self.round.blocks {
            last = self.func.insert_block_after(last);
            self.blocks.insert(block, last);
        }
        let mut copies: Vec<(InstId, InstId)> = Vec::new();
        for &block in &self.round.blocks {
            let Some(into) = self.blocks.get(&block).copied() else { continue };
            let insts: Vec<InstId> = self.func.insts(block).collect();
            for inst in insts {
                let is_header = block == self.round.header;
                if is_header && self.func.op(inst) == Op::Phi {
                    continue;
                }
                if is_header && self.func.op(inst).is_terminator() {
                    let inside = self.blocks.get(&self.round.inside).copied().unwrap_or(into);
                    self.func.replace_with_br(into, inside);
                    continue;
                }
                let copy = self.shell(inst);
                self.func.append_inst(into, copy);
                copies.push((inst, copy));
            }
        }
        for (inst, copy) in copies {
            let args: Vec<ValueId> = self
                .func
                .args(inst)
                .iter()
                .map(|&v| self.values.get(&v).copied().unwrap_or(v))
                .collect();
            self.func.set_args(copy, &args);
        }
    }

    /// A copy of an instruction without operands.
    fn shell(&mut self, inst: InstId) -> InstId {
        let data = self.func.inst(inst);
        let (op, ty, imm, loc) = (data.op, data.ty, data.imm.clone(), data.loc);
        let blocks: Vec<BlockId> =
            self.func
                .inst_blocks(inst)
                .iter()
                .map(|&b| {
                    if b == self.round.header {
                        b
                    } else {
                        self.blocks.get(&b).copied().unwrap_or(b)
                    }
                })
                .collect();
        let copy = self.func.create_inst(op, ty, &[], &blocks, imm);
        self.func.set_loc(copy, loc);
        if let (Some(old), Some(new)) = (self.func.result(inst), self.func.result(copy)) {
            self.values.insert(old, new);
            if let Some(name) = self.func.name_of(old).map(String::from) {
                self.func.set_name(new, name);
            }
        }
        copy
    }
}

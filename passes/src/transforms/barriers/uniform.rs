//! Values that all threads of a block share, and that a thread which has ended can compute for itself: made of constants,
//! arguments and registers of the block by operations without effects, and of such values over the rounds of loops that the block runs
//! together.

use super::points::Points;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::Effects;
use luisac_xir::op::Space;
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, Imm, InstId, Op, TypeTable, ValueDef, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::transforms::util;

/// A value made of more operations than this is not computed again.
const MAX_OPERATIONS: u32 = 64;

/// A way from a point to the next.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub from: BlockId,
    /// The block that is only passed on this way.
    pub through: BlockId,
    /// The next point.
    pub to: BlockId,
}

/// What is shared.
pub(super) struct Uniform {
    /// Instructions whose results are not.
    varying: SecondaryMap<ValueId, bool>,
    /// What a phi of a point is on each way to it.
    along: FxHashMap<(InstId, BlockId), ValueId>,
}

impl Uniform {
    pub fn compute(
        func: &Function,
        cfg: &ControlFlowGraph,
        points: &Points,
        ways: &[Way],
    ) -> Uniform {
        let mut found = Uniform { varying: SecondaryMap::new(), along: FxHashMap::default() };
        for way in ways.iter().filter(|w| points.added[w.to]) {
            found.follow(func, points, way);
        }
        let mut weights: SecondaryMap<ValueId, u32> = SecondaryMap::new();
        let mut pending: Vec<ValueId> = Vec::new();
        for &block in cfg.reverse_post_order() {
            for inst in func.insts(block) {
                let Some(result) = func.result(inst) else { continue };
                if !found.may_share(func, ways, block, inst, &mut weights) {
                    found.varying[result] = true;
                    pending.push(result);
                }
            }
        }
        while let Some(value) = pending.pop() {
            for (user, _) in func.uses(value) {
                if let Some(result) = func.result(user)
                    && !std::mem::replace(&mut found.varying[result], true)
                {
                    pending.push(result);
                }
            }
        }
        found
    }

    /// Notes what the phis of a way's end are along it, where that is one value.
    fn follow(&mut self, func: &Function, points: &Points, way: &Way) {
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut pending = vec![way.through];
        let mut last = Vec::new();
        while let Some(block) = pending.pop() {
            if !seen.insert(block) {
                continue;
            }
            for &target in func.successors(block) {
                if target == way.to {
                    last.push(block);
                } else if points.next[target] == Some(way.to) {
                    pending.push(target);
                }
            }
        }
        for phi in func.phis(way.to) {
            let from = func.inst_blocks(phi).iter().zip(func.args(phi));
            let mut values = from.filter(|(b, _)| last.contains(b)).map(|(_, &v)| v);
            if let Some(first) = values.next()
                && values.all(|v| v == first)
            {
                self.along.insert((phi, way.through), first);
            }
        }
    }

    /// Whether a result is shared if its operands are.
    fn may_share(
        &self,
        func: &Function,
        ways: &[Way],
        block: BlockId,
        inst: InstId,
        weights: &mut SecondaryMap<ValueId, u32>,
    ) -> bool {
        match func.op(inst) {
            Op::Phi => {
                let mut here = ways.iter().filter(|w| w.to == block).peekable();
                here.peek().is_some()
                    && here.all(|w| self.along.contains_key(&(inst, w.through)))
                    && func.args(inst).iter().all(|&v| is_given(func, v))
            }
            Op::Arithmetic(_) | Op::Cast(_) | Op::ResourceQuery(_) => {
                let args = func.args(inst);
                let weight = args.iter().fold(1u32, |sum, &a| sum.saturating_add(weights[a]));
                if let Some(result) = func.result(inst) {
                    weights[result] = weight;
                }
                weight <= MAX_OPERATIONS
                    && func.effects(inst) == Effects::PURE
                    && args.iter().all(|&v| is_given(func, v))
            }
            _ => false,
        }
    }

    /// Whether all threads of a block share a value.
    pub fn is_shared(&self, func: &Function, value: ValueId) -> bool {
        match func.def_inst(value) {
            Some(_) => !self.varying[value],
            None => is_given(func, value),
        }
    }

    /// The phis that shared values are made of, in the order in which they were found.
    pub fn phis_of(
        &self,
        func: &Function,
        ways: &[Way],
        values: impl Iterator<Item = ValueId>,
    ) -> Vec<InstId> {
        let mut seen: FxHashSet<ValueId> = FxHashSet::default();
        let mut phis = Vec::new();
        let mut pending: Vec<ValueId> = values.collect();
        while let Some(value) = pending.pop() {
            let Some(inst) = func.def_inst(value).filter(|_| seen.insert(value)) else { continue };
            if func.op(inst) != Op::Phi {
                pending.extend_from_slice(func.args(inst));
                continue;
            }
            phis.push(inst);
            let Some(block) = func.inst_block(inst) else { continue };
            let here = ways.iter().filter(|w| w.to == block);
            pending.extend(here.filter_map(|w| self.along.get(&(inst, w.through))));
        }
        phis
    }

    /// Puts these phis into memory that all threads write on every way, those that have ended too, and makes the conditions of
    /// `decisions` anew from it.
    pub fn materialise(
        &self,
        func: &mut Function,
        types: &TypeTable,
        ways: &[Way],
        phis: &[InstId],
        decisions: &[BlockId],
    ) {
        let mut slots: FxHashMap<InstId, ValueId> = FxHashMap::default();
        for &phi in phis {
            slots.extend(slot(func, phi).map(|slot| (phi, slot)));
        }
        for way in ways {
            let Some(end) = func.terminator(way.through) else { continue };
            let here: Vec<InstId> =
                phis.iter().copied().filter(|&p| func.inst_block(p) == Some(way.to)).collect();
            let mut known = FxHashMap::default();
            let mut stores = Vec::with_capacity(here.len());
            for phi in here {
                let (Some(&slot), Some(&value)) =
                    (slots.get(&phi), self.along.get(&(phi, way.through)))
                else {
                    continue;
                };
                stores.push((slot, again(func, types, end, value, &slots, &mut known)));
            }
            for (slot, value) in stores {
                Builder::before(func, types, end).store(slot, value);
            }
        }
        for &block in decisions {
            let Some(end) = func.terminator(block) else { continue };
            let condition = func.arg(end, 0);
            let made = again(func, types, end, condition, &slots, &mut FxHashMap::default());
            func.set_arg(end, 0, made);
        }
        for &phi in phis {
            let block = func.inst_block(phi);
            let Some(at) = block.and_then(|b| func.first_non_phi(b)) else { continue };
            let Some(&slot) = slots.get(&phi) else { continue };
            let value = Builder::before(func, types, at).load(slot);
            util::replace_and_remove(func, phi, value);
        }
    }
}

/// Whether a value that no instruction makes is shared; values of instructions are looked at elsewhere.
fn is_given(func: &Function, value: ValueId) -> bool {
    match func.value_def(value) {
        ValueDef::Inst(_) | ValueDef::Constant(_) => true,
        ValueDef::Argument(i) => func.arguments[i as usize].kind != ArgumentKind::Reference,
        ValueDef::Special(register) => register.is_uniform(),
        ValueDef::Undefined => false,
    }
}

fn slot(func: &mut Function, phi: InstId) -> Option<ValueId> {
    let ty = func.inst(phi).ty;
    let name = func.result(phi).and_then(|v| func.name_of(v)).map(String::from);
    let slot = alloca(func, Space::Local, ty)?;
    if let Some(name) = name {
        func.set_name(slot, name);
    }
    Some(slot)
}

/// Memory at the start of the function.
pub(super) fn alloca(func: &mut Function, space: Space, ty: luisac_xir::TypeId) -> Option<ValueId> {
    let inst = func.create_inst(Op::Alloca(space), ty, &[], &[], Imm::None);
    func.prepend_inst(func.entry()?, inst);
    func.result(inst)
}

/// Computes a shared value once more, in front of `at`.
fn again(
    func: &mut Function,
    types: &TypeTable,
    at: InstId,
    value: ValueId,
    slots: &FxHashMap<InstId, ValueId>,
    known: &mut FxHashMap<ValueId, ValueId>,
) -> ValueId {
    let mut pending = vec![value];
    while let Some(&value) = pending.last() {
        let Some(inst) = func.def_inst(value).filter(|_| !known.contains_key(&value)) else {
            pending.pop();
            continue;
        };
        if let Some(&slot) = slots.get(&inst) {
            let loaded = Builder::before(func, types, at).load(slot);
            known.insert(value, loaded);
            continue;
        }
        let is_made = |v: &ValueId| func.def_inst(*v).is_some() && !known.contains_key(v);
        let missing: Vec<ValueId> = func.args(inst).iter().copied().filter(is_made).collect();
        if !missing.is_empty() {
            pending.extend(missing);
            continue;
        }
        let args: Vec<ValueId> =
            func.args(inst).iter().map(|v| known.get(v).copied().unwrap_or(*v)).collect();
        let (op, ty, imm) = (func.op(inst), func.inst(inst).ty, func.inst(inst).imm.clone());
        let copy = func.create_inst(op, ty, &args, &[], imm);
        func.set_loc(copy, func.inst(inst).loc);
        func.insert_before(copy, at);
        let made = func.result(copy).unwrap_or(value);
        known.insert(value, made);
    }
    known.get(&value).copied().unwrap_or(value)
}

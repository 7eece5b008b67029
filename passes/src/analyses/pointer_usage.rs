//! Which blocks kill, touch and need the local allocas of a function.
//!
//! A block *kills* an alloca if it writes all of it before it may read any of it; it *touches* it if it may read or write it or
//! passes it on. An alloca is *live* at the start of a block if a path leads from there to something that may read it without a
//! kill in between; what passes it on counts as a read.

use super::alias::touched;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How one block uses one alloca.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    kills: bool,
    /// It may be read before the block writes all of it.
    is_exposed: bool,
}

/// The use of local allocas by block.
#[derive(Debug, Default)]
pub struct PointerUsage {
    /// By block, in the order of the first touch.
    touches: SecondaryMap<BlockId, Vec<ValueId>>,
    usage: FxHashMap<(ValueId, BlockId), Usage>,
    /// The blocks that touch an alloca, in reverse post-order.
    blocks: SecondaryMap<ValueId, Vec<BlockId>>,
}

impl PointerUsage {
    /// One walk over all reachable instructions.
    pub fn compute(func: &Function, cfg: &ControlFlowGraph) -> PointerUsage {
        let mut found = PointerUsage::default();
        for &block in cfg.reverse_post_order() {
            for inst in func.insts(block) {
                found.inst(func, block, inst);
            }
        }
        found
    }

    fn inst(&mut self, func: &Function, block: BlockId, inst: InstId) {
        match func.op(inst) {
            Op::Load => self.touch(
                func,
                block,
                func.base_of(func.arg(inst, 0)),
                Usage { is_exposed: true, kills: false },
            ),
            Op::Store => {
                let place = func.arg(inst, 0);
                let base = func.base_of(place);
                self.touch(func, block, base, Usage { kills: place == base, is_exposed: false });
            }
            _ => {
                let bases: Vec<ValueId> = touched(func, inst).collect();
                for base in bases {
                    self.touch(func, block, base, Usage { is_exposed: true, kills: false });
                }
            }
        }
    }

    fn touch(&mut self, func: &Function, block: BlockId, base: ValueId, now: Usage) {
        let is_local = func.def_inst(base).is_some_and(|i| func.op(i) == Op::Alloca(Space::Local));
        if !is_local {
            return;
        }
        let mut is_first = false;
        let usage = self.usage.entry((base, block)).or_insert_with(|| {
            is_first = true;
            Usage::default()
        });
        usage.is_exposed |= now.is_exposed && !usage.kills;
        usage.kills |= now.kills && !usage.is_exposed;
        if is_first {
            self.touches[block].push(base);
            self.blocks[base].push(block);
        }
    }

    /// The allocas that a block touches.
    pub fn touches(&self, block: BlockId) -> &[ValueId] {
        &self.touches[block]
    }

    /// The reachable blocks that touch an alloca.
    pub fn blocks(&self, alloca: ValueId) -> &[BlockId] {
        &self.blocks[alloca]
    }

    /// Whether a block kills an alloca.
    pub fn kills(&self, block: BlockId, alloca: ValueId) -> bool {
        self.usage.get(&(alloca, block)).is_some_and(|u| u.kills)
    }

    /// The blocks at whose start an alloca is live; costs a walk over them.
    pub fn live_in(&self, cfg: &ControlFlowGraph, alloca: ValueId) -> FxHashSet<BlockId> {
        let exposes = |b: &BlockId| self.usage.get(&(alloca, *b)).is_some_and(|u| u.is_exposed);
        let mut pending: Vec<BlockId> =
            self.blocks[alloca].iter().copied().filter(exposes).collect();
        let mut live: FxHashSet<BlockId> = pending.iter().copied().collect();
        while let Some(block) = pending.pop() {
            for &before in cfg.predecessors(block) {
                if !self.kills(before, alloca) && live.insert(before) {
                    pending.push(before);
                }
            }
        }
        live
    }
}

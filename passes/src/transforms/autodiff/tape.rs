//! What the way back needs of the forward run.
//!
//! A value that dominates `backward` is used as it is; one that was loaded from a variable that nothing writes is loaded again.
//! Any other is stored after its definition: in a local, or, inside a loop, in an array at the number of the iteration. That
//! number counts the iterations of a loop over all its runs in the scope; the way back counts it down.

use super::regions::{ConstructId, Item, RegionId};
use super::sweep::{Result, Sweep};
use super::trips;
use luisac_ast::types::TypeId;
use luisac_xir::builder::Position;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::{ArithmeticOp, Scopes};
use luisac_xir::{Builder, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

/// Index expressions deeper than this are kept rather than computed again.
const MAX_RELOADS: u32 = 8;

/// A place that keeps one value, or one an iteration of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    memory: ValueId,
    ty: TypeId,
    around: Option<ConstructId>,
}

/// A loop that is run backwards.
pub(super) struct LoopTape {
    /// The variable that counts iterations.
    pub counter: ValueId,
    /// The number of the present iteration of the forward run.
    index: ValueId,
    /// The last instruction of the code that counts.
    counted: InstId,
    /// Iterations that are kept, over all runs.
    capacity: u32,
    /// The number that the present run started at; none if there is one run only.
    pub base: Option<Slot>,
    /// Whether the body, and the update part, was come to.
    pub entered: Option<Slot>,
    pub updated: Option<Slot>,
    /// The number of the iteration that is being run backwards.
    pub current: Option<ValueId>,
}

/// Items of a region that ran together: all, or those after a construct that may be left otherwise than through its merge.
pub(super) struct Segment {
    pub start: usize,
    pub end: usize,
    /// Whether it ran; none if always.
    pub flag: Option<Slot>,
}

/// All that is kept.
#[derive(Default)]
pub(super) struct Tape {
    slots: FxHashMap<ValueId, Slot>,
    /// What was read in the present block.
    pub reads: FxHashMap<ValueId, ValueId>,
    pub loops: FxHashMap<ConstructId, LoopTape>,
    pub segments: FxHashMap<RegionId, Vec<Segment>>,
    bytes: u64,
    pub kept: u64,
}

impl Sweep<'_> {
    fn new_slot(&mut self, ty: TypeId, around: Option<ConstructId>) -> Result<Slot> {
        let count = around.and_then(|id| self.tape.loops.get(&id)).map_or(1, |l| l.capacity);
        self.tape.bytes =
            self.tape.bytes.saturating_add(self.types.size(ty).saturating_mul(u64::from(count)));
        if self.tape.bytes > self.options.max_tape_bytes {
            return Err(self.refuse(
                format!(
                    "the gradient needs more than {} bytes of a thread for intermediate values",
                    self.options.max_tape_bytes
                ),
                "make the loops of the scope shorter, or raise `max_tape_bytes` of `autodiff`",
            ));
        }
        self.tape.kept += 1;
        let held = match around {
            None => ty,
            Some(_) => match self.types.array(ty, count) {
                Ok(array) => array,
                Err(error) => return Err(self.refuse(error.to_string(), "shorten the loop")),
            },
        };
        Ok(Slot { memory: self.local(held), ty, around })
    }

    /// Stores to the slot at a place of the forward run.
    fn keep(&mut self, slot: Slot, value: ValueId, place: Position) {
        let index = slot.around.and_then(|id| self.tape.loops.get(&id)).map(|l| l.index);
        let mut builder = match place {
            Position::Before(inst) => Builder::before(self.func, self.types, inst),
            Position::End(block) => Builder::at_end(self.func, self.types, block),
        };
        let lvalue = match index {
            Some(index) => builder.gep(slot.memory, &[index], slot.ty),
            None => slot.memory,
        };
        builder.store(lvalue, value);
    }

    /// Reads a slot on the way back.
    pub fn read(&mut self, slot: Slot) -> ValueId {
        let current = slot.around.and_then(|id| self.tape.loops.get(&id)).and_then(|l| l.current);
        let mut builder = self.builder();
        let lvalue = match current {
            Some(index) => builder.gep(slot.memory, &[index], slot.ty),
            None => slot.memory,
        };
        builder.load(lvalue)
    }

    /// A value of the forward run, on the way back.
    ///
    /// # Errors
    /// The tape is too large, or the value leaves its loop other than through a variable.
    pub fn primal(&mut self, value: ValueId) -> Result<ValueId> {
        self.primal_within(value, MAX_RELOADS)
    }

    fn primal_within(&mut self, value: ValueId, reloads: u32) -> Result<ValueId> {
        let Some(def) = self.func.def_inst(value) else { return Ok(value) };
        let region = self.func.inst_block(def).and_then(|b| self.tree.region_of(b));
        let Some(region) = region.filter(|&r| !self.tree.regions[r].on_path) else {
            return Ok(value);
        };
        if let Some(&known) = self.tape.reads.get(&value) {
            return Ok(known);
        }
        let read = match self.reload(def, reloads)? {
            Some(again) => again,
            None => {
                let slot = self.slot_of(value, def, region)?;
                self.read(slot)
            }
        };
        self.tape.reads.insert(value, read);
        Ok(read)
    }

    fn slot_of(&mut self, value: ValueId, def: InstId, region: RegionId) -> Result<Slot> {
        let around = self.tree.regions[region].around;
        if around.is_some_and(|id| self.tape.loops.get(&id).is_none_or(|l| l.current.is_none())) {
            return Err(self.refuse(
                "a value that a gradient depends on leaves its loop",
                "keep it in a variable",
            ));
        }
        if let Some(&slot) = self.tape.slots.get(&value) {
            return Ok(slot);
        }
        let slot = self.new_slot(self.ty(value), around)?;
        if let Some(next) = self.func.next_inst(def) {
            self.keep(slot, value, Position::Before(next));
        }
        self.tape.slots.insert(value, slot);
        Ok(slot)
    }

    /// Loads again what was loaded from a variable that is not written before `backward`.
    fn reload(&mut self, def: InstId, reloads: u32) -> Result<Option<ValueId>> {
        if self.func.op(def) != Op::Load || reloads == 0 {
            return Ok(None);
        }
        let lvalue = self.func.arg(def, 0);
        let base = self.func.base_of(lvalue);
        let block = self.func.def_inst(base).and_then(|i| self.func.inst_block(i));
        let region = block.and_then(|b| self.tree.region_of(b));
        let is_inside = region.is_some_and(|r| !self.tree.regions[r].on_path);
        let is_shared = self.func.scopes_of(base) == Scopes::SHARED;
        if is_inside || is_shared || self.activity.written.contains(&base) {
            return Ok(None);
        }
        let place = self.place_within(lvalue, base, reloads - 1)?;
        Ok(Some(self.builder().load(place)))
    }

    /// The part of `root`'s stand-in `memory` that an lvalue in `root` names.
    pub fn place(&mut self, lvalue: ValueId, memory: ValueId) -> Result<ValueId> {
        self.place_within(lvalue, memory, MAX_RELOADS)
    }

    fn place_within(&mut self, lvalue: ValueId, memory: ValueId, reloads: u32) -> Result<ValueId> {
        let indices = self.indices(lvalue);
        if indices.is_empty() {
            return Ok(memory);
        }
        let mut primal = Vec::with_capacity(indices.len());
        for index in indices {
            primal.push(self.primal_within(index, reloads)?);
        }
        let ty = self.ty(lvalue);
        Ok(self.builder().gep(memory, &primal, ty))
    }

    /// The indices of a chain of geps, from the base on.
    pub fn indices(&self, lvalue: ValueId) -> Vec<ValueId> {
        let mut chain: Vec<&[ValueId]> = Vec::new();
        let mut at = lvalue;
        while let Some(gep) = self.func.def_inst(at).filter(|&i| self.func.op(i) == Op::Gep) {
            let args = self.func.args(gep);
            chain.push(&args[1..]);
            at = args[0];
        }
        chain.into_iter().rev().flatten().copied().collect()
    }

    /// Makes all loops that run backwards count.
    pub fn count_iterations(&mut self) -> Result<()> {
        let cfg = ControlFlowGraph::compute(self.func);
        let dominators = DominatorTree::compute(self.func, &cfg);
        for id in 0..self.tree.constructs.len() {
            let op = self.tree.constructs[id].op;
            if self.construct_works[id] && matches!(op, Op::Loop | Op::SimpleLoop) {
                self.count_loop(id, &dominators)?;
            }
        }
        Ok(())
    }

    fn count_loop(&mut self, id: ConstructId, dominators: &DominatorTree) -> Result<()> {
        let (inst, region) = (self.tree.constructs[id].inst, self.tree.constructs[id].region);
        let is_loop = self.tree.constructs[id].op == Op::Loop;
        let outer = self.tree.regions[region].around;
        let first = self.func.inst_blocks(inst)[0];
        let Some(start) = self.func.first_inst(first) else { return Ok(()) };
        let exact = if is_loop {
            trips::constant_trips(self.func, self.types, dominators, inst)
        } else {
            None
        };
        // The prepare part runs once more than the body.
        let trips = exact.map_or(self.options.max_trips, u64::from) + u64::from(is_loop);
        let runs = outer.and_then(|o| self.tape.loops.get(&o)).map_or(1, |l| l.capacity);
        let capacity =
            u32::try_from(trips.saturating_mul(u64::from(runs))).unwrap_or(u32::MAX).max(1);
        let counter = self.zeroed_local(TypeId::U32);
        let base = match outer {
            None => None,
            Some(_) => {
                let slot = self.new_slot(TypeId::U32, outer)?;
                let value = Builder::before(self.func, self.types, inst).load(counter);
                self.keep(slot, value, Position::Before(inst));
                Some(slot)
            }
        };
        let mut builder = Builder::before(self.func, self.types, start);
        let index = builder.load(counter);
        let one = builder.u32(1);
        let next = builder.arithmetic(ArithmeticOp::BinaryAdd, &[index, one]);
        let mut counted = builder.store(counter, next);
        if exact.is_none() {
            let limit = builder.u32(capacity);
            let fits = builder.arithmetic(ArithmeticOp::BinaryLess, &[index, limit]);
            let message =
                "a differentiated loop runs more often than is kept (`max_trips` of `autodiff`)";
            let text = Imm::Text(message.into());
            counted = builder.inst(Op::Assert, TypeId::VOID, &[fits], &[], text);
        }
        let (entered, updated, current) = (None, None, None);
        let tape = LoopTape { counter, index, counted, capacity, base, entered, updated, current };
        self.tape.loops.insert(id, tape);
        if is_loop { self.flag_parts(id) } else { Ok(()) }
    }

    /// Flags that tell which parts of an iteration of a `loop` ran.
    fn flag_parts(&mut self, id: ConstructId) -> Result<()> {
        let construct = &self.tree.constructs[id];
        let blocks = self.func.inst_blocks(construct.inst).to_vec();
        let works = |part: usize| construct.parts[part].is_some_and(|r| self.region_works[r]);
        let (body, update) = (works(1), works(2));
        let may_break = construct.breaks || construct.is_leaky;
        if body || update {
            let slot = self.flag(id, blocks[1])?;
            self.set_loop(id, |tape| tape.entered = Some(slot));
        }
        if update && may_break {
            let slot = self.flag(id, blocks[2])?;
            self.set_loop(id, |tape| tape.updated = Some(slot));
        }
        Ok(())
    }

    fn set_loop(&mut self, id: ConstructId, change: impl FnOnce(&mut LoopTape)) {
        if let Some(tape) = self.tape.loops.get_mut(&id) {
            change(tape);
        }
    }

    /// A flag that is false at the start of each iteration and true once `block` is come to.
    fn flag(&mut self, id: ConstructId, block: luisac_xir::BlockId) -> Result<Slot> {
        let slot = self.new_slot(TypeId::BOOL, Some(id))?;
        let (no, yes) = (self.func.bool_constant(false), self.func.bool_constant(true));
        let counted = self.tape.loops.get(&id).map(|l| l.counted);
        if let Some(next) = counted.and_then(|c| self.func.next_inst(c)) {
            self.keep(slot, no, Position::Before(next));
        }
        if let Some(first) = self.func.first_inst(block) {
            self.keep(slot, yes, Position::Before(first));
        }
        Ok(slot)
    }

    /// Cuts all regions into segments and sets their flags in the forward run.
    pub fn cut_regions(&mut self) -> Result<()> {
        for region in 0..self.tree.regions.len() {
            if self.region_works[region] {
                let segments = self.cut_region(region)?;
                self.tape.segments.insert(region, segments);
            }
        }
        Ok(())
    }

    fn cut_region(&mut self, region: RegionId) -> Result<Vec<Segment>> {
        let items = self.tree.regions[region].items.clone();
        let on_path = self.tree.regions[region].on_path;
        let mut segments = Vec::new();
        let (mut start, mut after) = (0, None);
        for (n, item) in items.iter().enumerate() {
            let leaky = match *item {
                Item::Construct(id) => Some(id).filter(|&id| self.tree.constructs[id].is_leaky),
                Item::Block(_) => None,
            };
            let is_last = n + 1 == items.len();
            if !is_last && (on_path || leaky.is_none()) {
                continue;
            }
            let end = n + 1;
            if items[start..end].iter().any(|&item| self.item_works(item)) {
                let flag = match after {
                    Some(construct) => Some(self.flag_merge(region, construct)?),
                    None => None,
                };
                segments.push(Segment { start, end, flag });
            }
            (start, after) = (end, leaky);
        }
        Ok(segments)
    }

    /// A flag that is false at the start of a region and true once the merge of a construct in it is come to.
    fn flag_merge(&mut self, region: RegionId, construct: ConstructId) -> Result<Slot> {
        let around = self.tree.regions[region].around;
        let slot = self.new_slot(TypeId::BOOL, around)?;
        let (no, yes) = (self.func.bool_constant(false), self.func.bool_constant(true));
        let Some(&Item::Block(first)) = self.tree.regions[region].items.first() else {
            return Ok(slot);
        };
        // Behind the code that counts, if the region starts an iteration.
        let counted = around.and_then(|id| self.tape.loops.get(&id)).map(|l| l.counted);
        let counted = counted.filter(|&c| self.func.inst_block(c) == Some(first));
        let place = match counted {
            Some(inst) => self.func.next_inst(inst),
            None => self.func.first_inst(first),
        };
        if let Some(place) = place {
            self.keep(slot, no, Position::Before(place));
        }
        if let Some(place) = self.func.first_inst(self.tree.constructs[construct].merge) {
            self.keep(slot, yes, Position::Before(place));
        }
        Ok(slot)
    }
}

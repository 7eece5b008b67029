//! Uniformity: which values are equal over all lanes of a wave that compute them together.
//!
//! Varying are: the special registers that differ by lane, arguments of callables, atomics, volatile reads, what calls and ray
//! queries give, undefined values, resource reads at a varying index or in functions that write resources, loads of shared
//! memory; and what is computed from something varying. Local memory varies once a store with a varying value or address, or
//! out of step, may have written it.
//!
//! A branch on something varying lets lanes part: until the branch's immediate post-dominator they are *apart*. Where paths meet
//! there, or at the post-dominator, phis vary; results of wave operations vary in blocks that lanes execute apart, since they
//! may differ from time to time. (J. Rosemann et al., "An abstract interpretation for SPMD divergence on reducible control flow
//! graphs", 2021, is finer: it keeps phis where no two disjoint paths meet.)
//!
//! Cost: the part of a branch inside another's is a part of that one, so lanes that are apart need no second walk. Parts that
//! overlap otherwise are jumped over.

use super::post_dominators::PostDominatorTree;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{Space, ThreadGroupOp};
use luisac_xir::{ArgumentKind, BlockId, Function, InstId, Op, ValueDef, ValueId};
use rustc_hash::FxHashSet;

/// Uniform values and blocks.
#[derive(Debug, Default)]
pub struct Uniformity {
    /// Results of instructions that vary.
    varying: SecondaryMap<ValueId, bool>,
    /// Blocks that lanes of one wave may execute at different times.
    apart: SecondaryMap<BlockId, bool>,
}

impl Uniformity {
    /// Computes the fixed point for the lanes that enter the function together.
    pub fn compute(
        func: &Function,
        cfg: &ControlFlowGraph,
        post_dominators: &PostDominatorTree,
    ) -> Uniformity {
        let mut solver = Solver::new(func, cfg, post_dominators);
        solver.run();
        solver.found
    }

    /// Whether all lanes that compute a value together hold the same.
    pub fn is_uniform(&self, func: &Function, value: ValueId) -> bool {
        match func.value_def(value) {
            ValueDef::Inst(_) => !self.varying[value],
            ValueDef::Argument(i) => {
                let kind = func.arguments[i as usize].kind;
                kind == ArgumentKind::Resource || func.is_kernel()
            }
            ValueDef::Constant(_) => true,
            ValueDef::Undefined => false,
            ValueDef::Special(register) => register.is_uniform(),
        }
    }

    /// Whether lanes of one wave may execute a block at different times, or some of them not at all.
    pub fn is_apart(&self, block: BlockId) -> bool {
        self.apart[block]
    }
}

struct Solver<'a> {
    func: &'a Function,
    cfg: &'a ControlFlowGraph,
    post_dominators: &'a PostDominatorTree,
    found: Uniformity,
    /// Local allocas whose memory varies.
    memory: FxHashSet<ValueId>,
    loads: SecondaryMap<ValueId, Vec<InstId>>,
    /// Blocks whose phis vary.
    joins: SecondaryMap<BlockId, bool>,
    /// Where a block that lanes execute apart is left behind: the end of the part that it was first found in.
    behind: SecondaryMap<BlockId, Option<BlockId>>,
    /// The last branch, plus one, from whose walk a block was jumped from.
    jumped: SecondaryMap<BlockId, u32>,
    writes_resources: bool,
    pending: Vec<InstId>,
}

impl<'a> Solver<'a> {
    fn new(
        func: &'a Function,
        cfg: &'a ControlFlowGraph,
        post_dominators: &'a PostDominatorTree,
    ) -> Self {
        Solver {
            func,
            cfg,
            post_dominators,
            found: Uniformity::default(),
            memory: FxHashSet::default(),
            loads: SecondaryMap::new(),
            joins: SecondaryMap::new(),
            behind: SecondaryMap::new(),
            jumped: SecondaryMap::new(),
            writes_resources: false,
            pending: Vec::new(),
        }
    }

    fn run(&mut self) {
        for &block in self.cfg.reverse_post_order().iter().rev() {
            for inst in self.func.insts(block).rev() {
                let op = self.func.op(inst);
                self.writes_resources |= matches!(
                    op,
                    Op::ResourceWrite(_) | Op::Atomic(_) | Op::Call | Op::RayQueryPipeline
                );
                if op == Op::Load {
                    self.loads[self.func.base_of(self.func.arg(inst, 0))].push(inst);
                }
                self.pending.push(inst);
            }
        }
        while let Some(inst) = self.pending.pop() {
            self.visit(inst);
        }
    }

    fn is_varying(&self, value: ValueId) -> bool {
        !self.found.is_uniform(self.func, value)
    }

    fn visit(&mut self, inst: InstId) {
        let Some(block) = self.func.inst_block(inst) else { return };
        self.write_memory(block, inst);
        if self.func.op(inst).is_terminator() {
            if self.parts_lanes(inst) {
                self.part(block);
            }
            return;
        }
        let Some(result) = self.func.result(inst) else { return };
        if !self.found.varying[result] && self.result_varies(block, inst) {
            self.found.varying[result] = true;
            self.pending.extend(self.func.uses(result).map(|(user, _)| user));
        }
    }

    fn any_varying(&self, inst: InstId) -> bool {
        self.func.args(inst).iter().any(|&a| self.is_varying(a))
    }

    fn parts_lanes(&self, terminator: InstId) -> bool {
        match self.func.op(terminator) {
            Op::RayQueryDispatch => true,
            _ => {
                let targets = self.func.successors_of(terminator);
                targets.iter().any(|t| *t != targets[0]) && self.any_varying(terminator)
            }
        }
    }

    fn result_varies(&self, block: BlockId, inst: InstId) -> bool {
        match self.func.op(inst) {
            Op::Phi => self.joins[block] || self.any_varying(inst),
            Op::Alloca(_) => false,
            Op::Gep | Op::Arithmetic(_) | Op::Cast(_) => self.any_varying(inst),
            Op::Load => {
                let base = self.func.base_of(self.func.arg(inst, 0));
                !self.is_own(base) || self.memory.contains(&base) || self.any_varying(inst)
            }
            Op::ResourceQuery(op) => {
                op.reads_accel() && self.writes_resources || self.any_varying(inst)
            }
            Op::ResourceRead(op) => {
                op.is_volatile() || self.writes_resources || self.any_varying(inst)
            }
            Op::ThreadGroup(op) => self.found.apart[block] || self.wave_result_varies(op, inst),
            _ => true,
        }
    }

    fn wave_result_varies(&self, op: ThreadGroupOp, inst: InstId) -> bool {
        use ThreadGroupOp::*;
        match op {
            WarpReadLane => self.is_varying(self.func.arg(inst, 1)),
            WarpFirstActiveLane
            | WarpActiveAllEqual
            | WarpActiveBitAnd
            | WarpActiveBitOr
            | WarpActiveBitXor
            | WarpActiveCountBits
            | WarpActiveMax
            | WarpActiveMin
            | WarpActiveProduct
            | WarpActiveSum
            | WarpActiveAll
            | WarpActiveAny
            | WarpActiveBitMask
            | WarpReadFirstActiveLane => false,
            _ => true,
        }
    }

    fn is_own(&self, base: ValueId) -> bool {
        let def = self.func.def_inst(base);
        def.is_some_and(|i| self.func.op(i) == Op::Alloca(Space::Local))
    }

    /// Local memory that an instruction makes vary.
    fn write_memory(&mut self, block: BlockId, inst: InstId) {
        if self.func.op(inst) == Op::Store {
            if self.found.apart[block] || self.any_varying(inst) {
                self.vary_memory(self.func.base_of(self.func.arg(inst, 0)));
            }
            return;
        }
        let bases: Vec<ValueId> = super::alias::touched(self.func, inst).collect();
        bases.into_iter().for_each(|base| self.vary_memory(base));
    }

    fn vary_memory(&mut self, base: ValueId) {
        if self.is_own(base) && self.memory.insert(base) {
            self.pending.extend_from_slice(&self.loads[base]);
        }
    }

    /// Lanes part at the end of `branch`.
    fn part(&mut self, branch: BlockId) {
        if self.found.apart[branch] {
            // Then the whole part lies in one that was walked.
            return;
        }
        let end = self.post_dominators.immediate_post_dominator(branch);
        let stamp = branch.as_u32() + 1;
        let mut walk: Vec<BlockId> = self.func.successors(branch).to_vec();
        while let Some(block) = walk.pop() {
            if Some(block) == end {
                continue;
            }
            if self.found.apart[block] {
                // All up to the end of the other part is marked; go on from there, unless that is past the end of this one.
                let jumps = self.jumped[block] != stamp;
                self.jumped[block] = stamp;
                walk.extend(self.behind[block].filter(|&b| jumps && !self.is_past(b, end)));
                continue;
            }
            self.found.apart[block] = true;
            self.behind[block] = end;
            self.mark_join(block);
            self.pending.extend(self.func.insts(block));
            walk.extend_from_slice(self.func.successors(block));
        }
        if let Some(end) = end {
            self.mark_join(end);
        }
    }

    /// Whether a block post-dominates the end of a part.
    fn is_past(&self, block: BlockId, end: Option<BlockId>) -> bool {
        end.is_some_and(|end| self.post_dominators.post_dominates(block, end))
    }

    fn mark_join(&mut self, block: BlockId) {
        if self.cfg.predecessors(block).len() > 1 && !self.joins[block] {
            self.joins[block] = true;
            self.pending.extend(self.func.phis(block));
        }
    }
}

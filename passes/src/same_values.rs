//! Proves that loads were replaced by the values they would have read: the checker beside `mem2reg`.
//!
//! The two functions must agree but for local variables that are only loaded and stored, which the second lacks, and for phis
//! that it has more. Where an operand of the first is what a load of such a variable gave, the operand `x` of the second is
//! claimed to be the content of the variable at that load. A claim leads to others, back along the control flow:
//!
//! * behind a store, `x` must be the value stored, or be claimed in turn if that was loaded;
//! * at the start of a block where `x` is a new phi, each of its entries is claimed at the end of the predecessor;
//! * at the start of another block `x` must be there already, and is claimed at the end of every predecessor;
//! * at the start of the function `x` must be zero.
//!
//! A claim that is made again while it is being proved is left to the first (it holds by induction on the steps of a run: the
//! definition of `x` dominates each place where it is claimed, so it is not computed anew in between). Nothing of the pass is
//! used. Cost: the number of claims: variables times blocks at most.

use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Function, InstId, Op, ValueDef, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Whether `after`, which evolved out of `before`, computes with the values that `before` loads. Both must be valid.
///
/// # Errors
/// What differs, with the block.
pub(crate) fn check(before: &Function, after: &Function) -> Result<(), String> {
    let cfg = ControlFlowGraph::compute(before);
    let dominators = DominatorTree::compute(before, &cfg);
    let mut checker = Checker {
        before,
        after,
        cfg,
        dominators,
        promoted: FxHashSet::default(),
        store_before: SecondaryMap::new(),
        store_at_end: FxHashMap::default(),
        claimed: FxHashSet::default(),
        pending: Vec::new(),
    };
    checker.find_promoted();
    checker.find_stores();
    checker.compare()?;
    while let Some(claim) = checker.pending.pop() {
        checker.prove(claim)?;
    }
    Ok(())
}

/// That a value of `after` is the content of a variable of `before`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Claim {
    /// At a load of the variable.
    AtLoad(InstId, ValueId),
    /// At the start of a block: the variable, then the value.
    AtStart(BlockId, ValueId, ValueId),
}

struct Checker<'a> {
    before: &'a Function,
    after: &'a Function,
    cfg: ControlFlowGraph,
    dominators: DominatorTree,
    /// Variables that `after` lacks.
    promoted: FxHashSet<ValueId>,
    /// The last store to the variable of a load before it in its block.
    store_before: SecondaryMap<InstId, PackedOption<InstId>>,
    /// The last store to a variable in a block.
    store_at_end: FxHashMap<(BlockId, ValueId), InstId>,
    claimed: FxHashSet<Claim>,
    pending: Vec<Claim>,
}

impl Checker<'_> {
    fn find_promoted(&mut self) {
        let before = self.before;
        for inst in before.blocks().flat_map(|block| before.insts(block)) {
            if before.op(inst) == Op::Alloca(Space::Local) && !self.is_kept(inst) {
                self.promoted.extend(before.result(inst));
            }
        }
    }

    fn is_kept(&self, inst: InstId) -> bool {
        self.after.inst_block(inst).is_some()
    }

    /// The promoted variable that an instruction loads or stores.
    fn variable(&self, inst: InstId) -> Option<ValueId> {
        match self.before.op(inst) {
            Op::Load | Op::Store => {
                Some(self.before.arg(inst, 0)).filter(|v| self.promoted.contains(v))
            }
            _ => None,
        }
    }

    fn find_stores(&mut self) {
        for block in self.before.blocks() {
            let mut last: FxHashMap<ValueId, InstId> = FxHashMap::default();
            for inst in self.before.insts(block) {
                let Some(variable) = self.variable(inst) else { continue };
                if self.before.op(inst) == Op::Store {
                    last.insert(variable, inst);
                } else {
                    self.store_before[inst] = last.get(&variable).copied().into();
                }
            }
            self.store_at_end.extend(last.into_iter().map(|(v, store)| ((block, v), store)));
        }
    }

    // ---- the two functions side by side

    fn is_new(&self, inst: InstId) -> bool {
        inst.index() >= self.before.inst_count()
    }

    fn compare(&mut self) -> Result<(), String> {
        let (before, after) = (self.before, self.after);
        if !before.blocks().eq(after.blocks()) {
            return Err("the blocks are not the same".into());
        }
        for block in before.blocks() {
            let kept: Vec<InstId> = after.insts(block).filter(|&i| !self.is_new(i)).collect();
            let mut kept = kept.into_iter();
            if after.insts(block).any(|i| self.is_new(i) && after.op(i) != Op::Phi) {
                return Err(format!("{block} has an instruction that was not there"));
            }
            for inst in before.insts(block) {
                let is_access = self.variable(inst).is_some()
                    || before.result(inst).is_some_and(|v| self.promoted.contains(&v));
                if is_access && !self.is_kept(inst) {
                    continue;
                }
                if kept.next() != Some(inst) {
                    return Err(format!(
                        "{block} lacks an instruction: `{}`",
                        before.op(inst).mnemonic()
                    ));
                }
                self.compare_inst(block, inst)?;
            }
            if kept.next().is_some() {
                return Err(format!("{block} has an instruction that was elsewhere"));
            }
        }
        Ok(())
    }

    fn compare_inst(&mut self, block: BlockId, inst: InstId) -> Result<(), String> {
        let (before, after) = (self.before, self.after);
        let (old, new) = (before.inst(inst), after.inst(inst));
        let same = old.op == new.op
            && old.ty == new.ty
            && old.imm == new.imm
            && before.inst_blocks(inst) == after.inst_blocks(inst)
            && before.args(inst).len() == after.args(inst).len();
        if !same {
            return Err(format!(
                "an instruction in {block} is another one: `{}`",
                old.op.mnemonic()
            ));
        }
        if !self.cfg.is_reachable(block) {
            return Ok(());
        }
        for (&was, &is) in before.args(inst).iter().zip(after.args(inst)) {
            self.equal(was, is)?;
        }
        Ok(())
    }

    /// That a value of `before` is one of `after`: the same, or what its load is claimed to give.
    fn equal(&mut self, was: ValueId, is: ValueId) -> Result<(), String> {
        match self.before.def_inst(was) {
            Some(load) if self.before.op(load) == Op::Load && !self.is_kept(load) => {
                self.claim(Claim::AtLoad(load, is));
                Ok(())
            }
            _ if was == is => Ok(()),
            _ => Err("an operand is another value".into()),
        }
    }

    // ---- claims

    fn claim(&mut self, claim: Claim) {
        if self.claimed.insert(claim) {
            self.pending.push(claim);
        }
    }

    fn prove(&mut self, claim: Claim) -> Result<(), String> {
        match claim {
            Claim::AtLoad(load, value) => {
                let Some(block) = self.before.inst_block(load) else { return Ok(()) };
                // In code that never runs any value will do.
                if !self.cfg.is_reachable(block) {
                    return Ok(());
                }
                let variable = self.before.arg(load, 0);
                self.behind(self.store_before[load].expand(), block, variable, value)
            }
            Claim::AtStart(block, variable, value) => self.at_start(block, variable, value),
        }
    }

    /// That `value` is the content behind the last store to the variable in a block, or without one as at the block's start.
    fn behind(
        &mut self,
        store: Option<InstId>,
        block: BlockId,
        variable: ValueId,
        value: ValueId,
    ) -> Result<(), String> {
        match store {
            Some(store) => self
                .equal(self.before.arg(store, 1), value)
                .map_err(|_| format!("a load gives another value than was stored in {block}")),
            None => {
                self.claim(Claim::AtStart(block, variable, value));
                Ok(())
            }
        }
    }

    fn at_start(
        &mut self,
        block: BlockId,
        variable: ValueId,
        value: ValueId,
    ) -> Result<(), String> {
        if let Some(phi) = self.new_phi(block, value) {
            let entries = self.after.args(phi).iter().zip(self.after.inst_blocks(phi));
            let entries: Vec<(ValueId, BlockId)> = entries.map(|(&v, &b)| (v, b)).collect();
            for (entry, predecessor) in entries {
                self.at_end(predecessor, variable, entry)?;
            }
            return Ok(());
        }
        if self.before.entry() == Some(block) {
            return match self.after.constant_bytes(value) {
                Some(bytes) if bytes.as_slice().iter().all(|&b| b == 0) => Ok(()),
                _ => {
                    Err("a variable that nothing was stored to is read as something else than zero"
                        .into())
                }
            };
        }
        if !self.is_there_before(block, value) {
            return Err(format!("a value that stands for a variable is not there yet in {block}"));
        }
        let predecessors = self.cfg.predecessors(block).to_vec();
        predecessors.into_iter().try_for_each(|p| self.at_end(p, variable, value))
    }

    fn at_end(&mut self, block: BlockId, variable: ValueId, value: ValueId) -> Result<(), String> {
        if !self.cfg.is_reachable(block) {
            return Ok(());
        }
        let store = self.store_at_end.get(&(block, variable)).copied();
        self.behind(store, block, variable, value)
    }

    /// The phi that `value` is, if it is a new one of this block.
    fn new_phi(&self, block: BlockId, value: ValueId) -> Option<InstId> {
        let inst = self.after.def_inst(value)?;
        (self.is_new(inst) && self.after.inst_block(inst) == Some(block)).then_some(inst)
    }

    /// Whether a value is computed before a block starts, and not again in it.
    fn is_there_before(&self, block: BlockId, value: ValueId) -> bool {
        match self.after.value_def(value) {
            ValueDef::Inst(inst) => self
                .after
                .inst_block(inst)
                .is_some_and(|home| home != block && self.dominators.dominates(home, block)),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use luisac_xir::{Function, text};

    /// A function with a branch and a loop, with this as the rest.
    fn function(body: &str) -> Function {
        let source = format!(
            "module;\nkernel @k block(1, 1, 1) (%0: resource buffer<u32>, %1: value u32, %2: value bool) {{\n{body}\n}}\n"
        );
        let module = text::parse(&source).unwrap_or_else(|e| panic!("{e:?}"));
        module.functions.values().next().expect("a function").clone()
    }

    const BEFORE: &str = "b0:
        %3: u32 = alloca local
        cond_br %2, b1, b2
        b1:
        store %3, %1
        br b2
        b2:
        %4: u32 = load %3
        %5: u32 = arithmetic binary_add %4, u32 1
        store %3, %5
        %6: bool = arithmetic binary_less %5, u32 9
        cond_br %6, b2, b3
        b3:
        %7: u32 = load %3
        resource_write buffer_write %0, u32 0, %7
        return";

    /// What the proof says if the pass's result is then changed by `damage`.
    fn verdict(damage: impl FnOnce(&mut Function)) -> Result<(), String> {
        use crate::manager::declaration::{FunctionCx, FunctionPass};
        let before = function(BEFORE);
        let mut after = before.clone();
        let types = Default::default();
        let fuel = crate::Fuel::unlimited();
        let mut cx = FunctionCx { func: &mut after, types: &types, fuel: &fuel };
        let info =
            crate::transforms::mem2reg::Mem2Reg::run(&mut cx, &()).expect("it is not refused");
        assert_eq!(info.inserted_phi_count, 1);
        damage(&mut after);
        check(&before, &after)
    }

    fn phi(func: &Function) -> luisac_xir::InstId {
        let mut phis = func.blocks().flat_map(|b| func.phis(b));
        phis.next().expect("a phi")
    }

    fn write(func: &Function) -> luisac_xir::InstId {
        let last = func.blocks().last().expect("a block");
        let mut insts = func.insts(last);
        insts.next().expect("a write")
    }

    #[test]
    fn a_right_result_is_proved() {
        assert_eq!(verdict(|_| {}), Ok(()));
    }

    #[test]
    fn wrong_values_are_found() {
        // The first two entries are those of the branch, the third that of the loop.
        let wrong = |entry: usize, make: fn(&mut Function) -> luisac_xir::ValueId| {
            verdict(|func| {
                let phi = phi(func);
                let value = make(func);
                func.set_arg(phi, entry, value);
            })
        };
        let entries = {
            let mut found = Vec::new();
            verdict(|func| found = func.args(phi(func)).to_vec()).expect("it is right");
            found
        };
        for i in 0..entries.len() {
            assert!(wrong(i, |func| func.u32_constant(77)).is_err(), "entry {i}");
            assert!(
                wrong(i, |func| func.result(phi(func)).expect("a value")).is_err(),
                "entry {i}"
            );
        }
        let stale = verdict(|func| {
            let (phi, write) = (phi(func), write(func));
            let value = func.result(phi).expect("a value");
            func.set_arg(write, 2, value);
        });
        assert!(stale.is_err(), "the value before the last store");
    }

    #[test]
    fn a_missing_or_strange_instruction_is_found() {
        let missing = verdict(|func| {
            let write = write(func);
            func.remove_inst(write);
        });
        assert!(missing.is_err());
        let strange = verdict(|func| {
            let write = write(func);
            func.set_arg(write, 1, func.arg(write, 2));
        });
        assert!(strange.is_err());
    }
}

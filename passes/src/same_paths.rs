//! Proves that a function has the paths of another: the checker beside `restructure_cfg` and `lower_irreducible_cfg`.
//!
//! It walks both functions together, from entry to entry, over all outcomes of all branches. Steps of the second function fall in two kinds:
//!
//! * a block of the first function, or a copy of it: its instructions and its terminator must be those that the first
//!   function executes next, with the same operands; both go on, for each outcome of the branch;
//! * a block that only routes: it holds reads and writes of *control variables*, which are made of constants, and its
//!   branch must be decided by them; the first function waits.
//!
//! A pair of blocks with the values of the control variables that are still read is walked once, so the walk ends. A chain of routing
//! blocks that comes back to itself is an error. Operands are the same if they are the same value, a gep made again, or
//! read from a *carrier*: a variable that is written right behind every definition of one value.
//!
//! What is found is a simulation in both directions: the second function decides nothing that the first does not. Nothing of the code that made
//! the second function is used but which instruction is a copy of which, and that is checked.
//! Cost: the number of pairs; what routes is walked once for each target that comes by, which is quadratic where many targets share
//! one chain of tests. Memory is bounded.

use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeId;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{ArithmeticOp, Space};
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

#[cfg(test)]
mod tests;

/// Whether `after`, which evolved out of `before`, takes the same paths. `copies` says which instructions of `after` are
/// copies of others. Both must be valid.
///
/// # Errors
/// What differs, with the blocks.
pub(crate) fn check(
    before: &Function,
    after: &Function,
    copies: &SecondaryMap<InstId, Option<InstId>>,
) -> Result<(), String> {
    let mut checker = Checker {
        before,
        after,
        copies,
        variables: FxHashMap::default(),
        live: FxHashSet::default(),
        executes: SecondaryMap::new(),
    };
    checker.find_variables()?;
    checker.find_live_variables();
    let (Some(entry), Some(after_entry)) = (before.entry(), after.entry()) else { return Ok(()) };
    checker.walk(State { before: entry, after: after_entry, control: Vec::new() })
}

/// A variable that only `after` has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variable {
    /// Only constants are stored.
    Control,
    /// Always holds this value of `before`.
    Carrier(ValueId),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    before: BlockId,
    after: BlockId,
    /// Values of the control variables that were written since both functions last executed a block, and are read later. In order.
    control: Vec<(ValueId, u64)>,
}

impl State {
    fn get(&self, variable: ValueId) -> Option<u64> {
        let known = self.control.binary_search_by_key(&variable, |e| e.0);
        known.ok().map(|i| self.control[i].1)
    }

    fn set(&mut self, variable: ValueId, value: u64) {
        match self.control.binary_search_by_key(&variable, |e| e.0) {
            Ok(i) => self.control[i].1 = value,
            Err(i) => self.control.insert(i, (variable, value)),
        }
    }
}

/// States of routing blocks that are remembered, so that chains that join are walked once; past that, chains are walked again.
const MAX_REMEMBERED: usize = 1 << 20;

/// What a value of a routing computation is known to be.
type Known = FxHashMap<ValueId, u64>;

struct Checker<'a> {
    before: &'a Function,
    after: &'a Function,
    copies: &'a SecondaryMap<InstId, Option<InstId>>,
    variables: FxHashMap<ValueId, Variable>,
    /// The blocks that are blocks of `before`, or copies of such.
    executes: SecondaryMap<BlockId, bool>,
    /// Control variables that are read from the start of a block on before they are written.
    live: FxHashSet<(BlockId, ValueId)>,
}

impl Checker<'_> {
    /// The instruction of `before` that an instruction is, or is a copy of.
    fn origin(&self, inst: InstId) -> Option<InstId> {
        let origin = self.copies[inst].unwrap_or(inst);
        let known = origin.as_u32() < self.before.inst_count() as u32;
        (known && self.before.inst_block(origin).is_some()).then_some(origin)
    }

    // ---- variables

    fn find_variables(&mut self) -> Result<(), String> {
        let mut copies_of: FxHashMap<InstId, usize> = FxHashMap::default();
        let mut allocas = Vec::new();
        for (block, inst) in
            self.after.blocks().flat_map(|b| self.after.insts(b).map(move |i| (b, i)))
        {
            self.executes[block] |= self.origin(inst).is_some();
            match self.origin(inst) {
                Some(origin) => *copies_of.entry(origin).or_default() += 1,
                None if self.after.op(inst) == Op::Alloca(Space::Local) => allocas.push(inst),
                None => {}
            }
        }
        for alloca in allocas {
            let Some(variable) = self.after.result(alloca) else { continue };
            let kind = self.classify(variable, &copies_of)?;
            self.variables.insert(variable, kind);
        }
        Ok(())
    }

    fn classify(
        &self,
        variable: ValueId,
        copies_of: &FxHashMap<InstId, usize>,
    ) -> Result<Variable, String> {
        let mut carried = None;
        let (mut constants, mut definitions) = (0, 0);
        for (user, index) in self.after.uses(variable) {
            match (self.after.op(user), index) {
                (Op::Load, _) => {}
                (Op::Store, 0) => {
                    let value = self.after.arg(user, 1);
                    if self.after.constant_bits(value).is_some() {
                        constants += 1;
                        continue;
                    }
                    let definition = self.after.def_inst(value).filter(|&d| self.follows(user, d));
                    let origin = definition.and_then(|d| self.origin(d));
                    if origin.is_none() || carried.is_some_and(|c| Some(c) != origin) {
                        return Err(format!("{variable} carries something else than one value"));
                    }
                    carried = origin;
                    definitions += 1;
                }
                _ => return Err(format!("{variable} is more than read and written")),
            }
        }
        match carried {
            None => Ok(Variable::Control),
            Some(origin) if constants == 0 && copies_of.get(&origin) == Some(&definitions) => {
                let value = self.before.result(origin);
                value.map(Variable::Carrier).ok_or_else(|| "a carrier of nothing".into())
            }
            Some(origin) => Err(format!("{variable} is not written at every copy of {origin}")),
        }
    }

    /// Whether a store stands right behind a definition, with other new stores between at most.
    fn follows(&self, store: InstId, definition: InstId) -> bool {
        let mut at = self.after.prev_inst(store);
        while let Some(inst) = at {
            if inst == definition {
                return true;
            }
            if self.origin(inst).is_some() || self.after.op(inst) != Op::Store {
                return false;
            }
            at = self.after.prev_inst(inst);
        }
        false
    }

    fn find_live_variables(&mut self) {
        let cfg = ControlFlowGraph::compute(self.after);
        let mut pending = Vec::new();
        let mut written: FxHashSet<(BlockId, ValueId)> = FxHashSet::default();
        for block in self.after.blocks() {
            for inst in self.after.insts(block) {
                let (op, args) = (self.after.op(inst), self.after.args(inst));
                let Some(&variable) = args.first() else { continue };
                if self.variables.get(&variable) != Some(&Variable::Control) {
                    continue;
                }
                match op {
                    Op::Load if !written.contains(&(block, variable)) => {
                        pending.push((block, variable));
                    }
                    Op::Store => {
                        written.insert((block, variable));
                    }
                    _ => {}
                }
            }
        }
        while let Some((block, variable)) = pending.pop() {
            if self.live.insert((block, variable)) {
                let before = cfg.predecessors(block).iter().map(|&p| (p, variable));
                pending.extend(before.filter(|p| !written.contains(p)));
            }
        }
    }

    // ---- operands

    /// Whether a value of `after` is always what `value` is in `before`.
    fn same(&self, after: ValueId, value: ValueId) -> bool {
        let mut pending = vec![(after, value)];
        while let Some((after, value)) = pending.pop() {
            let Some(inst) = self.after.def_inst(after) else {
                if after != value {
                    return false;
                }
                continue;
            };
            if let Some(origin) = self.origin(inst) {
                if self.before.result(origin) != Some(value) {
                    return false;
                }
                continue;
            }
            let args = self.after.args(inst);
            let gep = self.before.def_inst(value).filter(|&g| self.before.op(g) == Op::Gep);
            match (self.after.op(inst), gep) {
                (Op::Load, _) => {
                    if self.variables.get(&args[0]) != Some(&Variable::Carrier(value)) {
                        return false;
                    }
                }
                (Op::Gep, Some(gep)) => {
                    let others = self.before.args(gep);
                    if args.len() != others.len()
                        || self.after.inst(inst).ty != self.before.inst(gep).ty
                    {
                        return false;
                    }
                    pending.extend(args.iter().copied().zip(others.iter().copied()));
                }
                _ => return false,
            }
        }
        true
    }

    fn same_operands(&self, inst: InstId, origin: InstId) -> bool {
        let (args, others) = (self.after.args(inst), self.before.args(origin));
        let data = (self.after.inst(inst), self.before.inst(origin));
        args.len() == others.len()
            && data.0.ty == data.1.ty
            && data.0.imm == data.1.imm
            && args.iter().zip(others).all(|(&a, &b)| self.same(a, b))
    }

    // ---- the walk

    fn walk(&self, start: State) -> Result<(), String> {
        // The chain of routing blocks that a state was met in.
        let mut seen: FxHashMap<State, u32> = FxHashMap::default();
        let longest = 4 * self.after.block_count() + 64;
        let mut chain = 0;
        let mut pending = vec![start];
        while let Some(mut state) = pending.pop() {
            chain += 1;
            let mut steps = 0;
            loop {
                // What was written on the way here is not needed any more once both execute a block: forgetting it keeps the
                // states few, and is safe, since a branch by a forgotten value is an error.
                let live = |e: &(ValueId, u64)| {
                    !self.executes[state.after] && self.live.contains(&(state.after, e.0))
                };
                state.control = state.control.iter().copied().filter(live).collect();
                let known = seen.get(&state).copied();
                if known == Some(chain) || steps > longest {
                    return Err(format!("{} is never left for {}", state.after, state.before));
                }
                if known.is_some() {
                    break;
                }
                let remembered = seen.len() < MAX_REMEMBERED;
                if remembered {
                    seen.insert(state.clone(), chain);
                }
                steps += 1;
                match self.step(&state, &mut pending)? {
                    Some(next) => state = next,
                    None if remembered => break,
                    None => {
                        seen.insert(state, chain);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Executes a block. The next state if it only routes; else both have gone on, to `pending`.
    fn step(&self, state: &State, pending: &mut Vec<State>) -> Result<Option<State>, String> {
        let mut state = state.clone();
        let mut next = self.before.first_inst(state.before);
        let mut known = Known::default();
        let mut consumed = 0;
        let wrong = |what: &str, s: &State| Err(format!("{what} in {} for {}", s.after, s.before));
        for inst in self.after.insts(state.after) {
            match self.origin(inst) {
                Some(origin) => {
                    let is_end = self.before.op(origin).is_terminator();
                    if next != Some(origin) {
                        return wrong("an instruction out of its turn", &state);
                    }
                    if is_end {
                        self.both(inst, origin, &state, pending)?;
                        return Ok(None);
                    }
                    if self.after.op(inst) != self.before.op(origin)
                        || !self.same_operands(inst, origin)
                    {
                        return wrong("an instruction with other operands", &state);
                    }
                    next = self.before.next_inst(origin);
                    consumed += 1;
                }
                None if self.after.op(inst).is_terminator() && consumed == 0 => {
                    let target = self.route(inst, &known);
                    let Some(target) = target else {
                        return wrong("a branch that nothing decides", &state);
                    };
                    return Ok(Some(State { after: target, ..state }));
                }
                None if !self.compute(inst, &mut state, &mut known) => {
                    return wrong("an instruction too much", &state);
                }
                None => {}
            }
        }
        wrong("an early end", &state)
    }

    /// Executes an instruction that only `after` has; whether it is one that may be there.
    fn compute(&self, inst: InstId, state: &mut State, known: &mut Known) -> bool {
        let args = self.after.args(inst);
        let variable = args.first().and_then(|a| self.variables.get(a)).copied();
        match self.after.op(inst) {
            Op::Alloca(Space::Local) | Op::Gep => true,
            Op::Load => {
                if let (Some(Variable::Control), Some(result)) = (variable, self.after.result(inst))
                    && let Some(value) = state.get(args[0])
                {
                    known.insert(result, value);
                }
                variable.is_some()
            }
            Op::Store => {
                if variable == Some(Variable::Control) {
                    state.set(args[0], self.after.constant_bits(args[1]).unwrap_or(0));
                }
                variable.is_some()
            }
            Op::Arithmetic(ArithmeticOp::BinaryEqual) => {
                let values = [args[0], args[1]].map(|v| self.known(v, known));
                if let ([Some(a), Some(b)], Some(result)) = (values, self.after.result(inst)) {
                    known.insert(result, u64::from(a == b));
                }
                true
            }
            // A negated condition; see `both`.
            Op::Arithmetic(ArithmeticOp::UnaryBitNot) => self.after.inst(inst).ty == TypeId::BOOL,
            _ => false,
        }
    }

    fn known(&self, value: ValueId, known: &Known) -> Option<u64> {
        known.get(&value).copied().or_else(|| self.after.constant_bits(value))
    }

    /// Where a terminator that only `after` has leads to.
    fn route(&self, terminator: InstId, known: &Known) -> Option<BlockId> {
        let targets = self.after.successors_of(terminator);
        match self.after.op(terminator) {
            Op::If | Op::CondBr => {
                let holds = self.known(self.after.arg(terminator, 0), known)?;
                targets.get(usize::from(holds == 0)).copied()
            }
            Op::Switch | Op::IndexedBranch => {
                let value = self.known(self.after.arg(terminator, 0), known)?;
                let luisac_xir::Imm::Cases(cases) = &self.after.inst(terminator).imm else {
                    return None;
                };
                let case = cases.iter().position(|&c| c == value);
                targets.get(case.map_or(0, |i| i + 1)).copied()
            }
            Op::Br | Op::Break | Op::Continue | Op::Loop | Op::SimpleLoop => {
                targets.first().copied()
            }
            _ => None,
        }
    }

    /// Both functions end the block: with the same outcomes.
    fn both(
        &self,
        inst: InstId,
        origin: InstId,
        state: &State,
        pending: &mut Vec<State>,
    ) -> Result<(), String> {
        let (targets, others) = (self.after.successors_of(inst), self.before.successors_of(origin));
        let negated = self.negated_condition(inst, origin);
        let fits = match (self.before.op(origin), self.after.op(inst)) {
            (Op::Br, Op::Br | Op::Break | Op::Continue) => true,
            (Op::CondBr, Op::CondBr | Op::If) => negated || self.same_operands(inst, origin),
            (Op::IndexedBranch, Op::IndexedBranch | Op::Switch) => self.same_operands(inst, origin),
            (a, b) => a == b && others.is_empty() && self.same_operands(inst, origin),
        };
        if !fits || targets.len() != others.len() {
            return Err(format!("another end of {} in {}", state.before, state.after));
        }
        for (i, &before) in others.iter().enumerate().rev() {
            let after = targets[if negated { 1 - i } else { i }];
            pending.push(State { before, after, control: state.control.clone() });
        }
        Ok(())
    }

    /// Whether a branch with two targets is by the negation of the condition of `before`.
    fn negated_condition(&self, inst: InstId, origin: InstId) -> bool {
        let (Some(&condition), Some(&wanted)) =
            (self.after.args(inst).first(), self.before.args(origin).first())
        else {
            return false;
        };
        let Some(not) = self.after.def_inst(condition) else { return false };
        self.before.op(origin) == Op::CondBr
            && self.origin(not).is_none()
            && self.after.op(not) == Op::Arithmetic(ArithmeticOp::UnaryBitNot)
            && self.same(self.after.arg(not, 0), wanted)
    }
}

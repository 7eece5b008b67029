//! Correlated value propagation.
//!
//! What: where a branch was decided by `v == C`, uses of `v` that only its true arm reaches become `C` (the false arm of
//! `v != C` likewise); in a case of a switch the selector becomes the case's value; the condition itself, and what it is made
//! of by `!`, by an `and` that holds or an `or` that does not, become `true` or `false`.
//! Why right: the arm must have the branch as its only predecessor, by one edge, so all that it dominates runs after the
//! branch went that way; an entry of a phi counts as used on its edge. Floats stay: equal floats may be zeros of two signs.
//! Cost: linear: the dominator tree is walked once with the facts that hold.

use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeId;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `cvp` did.
    Info {
        change replaced_inst_count "operands replaced by the constant that they must be";
    }
}

/// Conditions that one branch is looked through to, at most.
const MAX_FACTS: usize = 16;

/// The pass.
pub struct Cvp;

impl FunctionPass for Cvp {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "cvp",
            "uses what a branch has decided",
            "In code that only runs when a branch found `v == C`, `v` becomes `C`; conditions become the truth value that was \
             found, selectors the value of their case. Floats are left alone.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        enum Step {
            Enter(BlockId),
            Leave(Vec<(ValueId, Option<ValueId>)>),
        }
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let entries = phi_entries(cx.func);
        let cases = case_facts(cx, &cfg);
        let mut walk = Walk { known: FxHashMap::default(), info: Info::default() };
        let mut pending: Vec<Step> = cx.func.entry().map(Step::Enter).into_iter().collect();
        while let Some(step) = pending.pop() {
            match step {
                Step::Leave(undo) => walk.restore(undo),
                Step::Enter(block) => {
                    let mut facts = facts_at(cx, &cfg, block);
                    facts.extend(cases[block]);
                    let undo = walk.learn(&facts);
                    if !walk.block(cx, block, &entries[block]) {
                        return Ok(walk.info);
                    }
                    pending.push(Step::Leave(undo));
                    pending.extend(dominators.children(block).map(Step::Enter));
                }
            }
        }
        Ok(walk.info)
    }
}

/// A value and the constant that it is.
type Fact = (ValueId, ValueId);

/// The phi entries (phi, index) that each block brings.
fn phi_entries(func: &Function) -> SecondaryMap<BlockId, Vec<(InstId, usize)>> {
    let mut entries: SecondaryMap<BlockId, Vec<(InstId, usize)>> = SecondaryMap::new();
    for block in func.blocks() {
        for phi in func.phis(block) {
            for (i, &from) in func.inst_blocks(phi).iter().enumerate() {
                entries[from].push((phi, i));
            }
        }
    }
    entries
}

/// What holds in a block because of the branch that leads to it.
fn facts_at(cx: &mut FunctionCx<'_>, cfg: &ControlFlowGraph, block: BlockId) -> Vec<Fact> {
    let &[from] = cfg.predecessors(block) else { return Vec::new() };
    edge_facts(cx, from, block)
}

/// What holds on the edge between two blocks, if there is one edge only.
fn edge_facts(cx: &mut FunctionCx<'_>, from: BlockId, to: BlockId) -> Vec<Fact> {
    let Some(branch) = cx.func.terminator(from) else { return Vec::new() };
    let targets = cx.func.successors_of(branch);
    match cx.func.op(branch) {
        Op::CondBr | Op::If => {
            let &[yes, no] = targets else { return Vec::new() };
            match (yes == to, no == to) {
                (true, false) => condition_facts(cx, cx.func.arg(branch, 0), true),
                (false, true) => condition_facts(cx, cx.func.arg(branch, 0), false),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// The selector's value in each block that one case leads to and nothing else.
fn case_facts(
    cx: &mut FunctionCx<'_>,
    cfg: &ControlFlowGraph,
) -> SecondaryMap<BlockId, Option<Fact>> {
    let mut facts: SecondaryMap<BlockId, Option<Fact>> = SecondaryMap::new();
    let mut times: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    for &block in cfg.reverse_post_order() {
        let Some(branch) = cx.func.terminator(block).filter(|_| is_selection(cx.func, block))
        else {
            continue;
        };
        let targets = cx.func.successors_of(branch).to_vec();
        for &target in &targets {
            times[target] += 1;
        }
        let Imm::Cases(cases) = cx.func.inst(branch).imm.clone() else { continue };
        let selector = cx.func.arg(branch, 0);
        // Of a constant there is nothing to learn.
        let is_known = cx.func.constant_bits(selector).is_some();
        let ty = cx.func.value_type(selector);
        for (&target, &bits) in targets.iter().skip(1).zip(&*cases) {
            if !is_known && times[target] == 1 && cfg.predecessors(target) == [block] {
                let value = cx.func.scalar_constant(ty, bits, cx.types);
                facts[target] = Some((selector, value));
            }
        }
        for &target in &targets {
            times[target] = 0;
        }
    }
    facts
}

/// What follows from a condition that has a truth value.
fn condition_facts(cx: &mut FunctionCx<'_>, condition: ValueId, truth: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut pending = vec![(condition, truth)];
    while let Some((value, truth)) = pending.pop() {
        if facts.len() >= MAX_FACTS || cx.func.constant_bits(value).is_some() {
            continue;
        }
        facts.push((value, cx.func.bool_constant(truth)));
        let Some(inst) = cx.func.def_inst(value) else { continue };
        let Op::Arithmetic(op) = cx.func.op(inst) else { continue };
        let args = cx.func.args(inst);
        match (op, truth) {
            (ArithmeticOp::UnaryBitNot, _) => pending.push((args[0], !truth)),
            (ArithmeticOp::BinaryBitAnd, true) | (ArithmeticOp::BinaryBitOr, false) => {
                pending.extend(args.iter().map(|&a| (a, truth)));
            }
            (ArithmeticOp::BinaryEqual, true) | (ArithmeticOp::BinaryNotEqual, false) => {
                facts.extend(equality(cx, args[0], args[1]));
            }
            _ => {}
        }
    }
    facts
}

/// The constant that a value equals, if it is no float.
fn equality(cx: &FunctionCx<'_>, a: ValueId, b: ValueId) -> Option<Fact> {
    let exact = |ty: TypeId| cx.types.is_integer(ty) || cx.types.is_bool(ty);
    let constant = |v| cx.func.constant_bits(v).is_some();
    match (constant(a), constant(b)) {
        _ if !exact(cx.func.value_type(a)) => None,
        (false, true) => Some((a, b)),
        (true, false) => Some((b, a)),
        _ => None,
    }
}

struct Walk {
    known: FxHashMap<ValueId, ValueId>,
    info: Info,
}

impl Walk {
    /// Remembers facts; what was known of their values before.
    fn learn(&mut self, facts: &[Fact]) -> Vec<(ValueId, Option<ValueId>)> {
        facts.iter().map(|&(value, constant)| (value, self.known.insert(value, constant))).collect()
    }

    fn restore(&mut self, undo: Vec<(ValueId, Option<ValueId>)>) {
        for (value, old) in undo.into_iter().rev() {
            match old {
                Some(constant) => self.known.insert(value, constant),
                None => self.known.remove(&value),
            };
        }
    }

    /// Replaces operands in a block and in the phi entries that it brings; false if the fuel is used up.
    fn block(&mut self, cx: &mut FunctionCx<'_>, block: BlockId, out: &[(InstId, usize)]) -> bool {
        let mut next = cx.func.first_non_phi(block).filter(|_| !self.known.is_empty());
        while let Some(inst) = next {
            next = cx.func.next_inst(inst);
            for index in 0..cx.func.args(inst).len() {
                if !self.operand(cx, inst, index) {
                    return false;
                }
            }
        }
        let mut edges: FxHashMap<BlockId, Vec<Fact>> = FxHashMap::default();
        for &(phi, index) in out {
            let Some(to) = cx.func.inst_block(phi) else { continue };
            let facts = edges.entry(to).or_insert_with(|| edge_facts(cx, block, to));
            let undo = self.learn(facts);
            let goes_on = self.operand(cx, phi, index);
            self.restore(undo);
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn operand(&mut self, cx: &mut FunctionCx<'_>, inst: InstId, index: usize) -> bool {
        let Some(&constant) = self.known.get(&cx.func.arg(inst, index)) else { return true };
        if !cx.fuel() {
            return false;
        }
        cx.func.set_arg(inst, index, constant);
        self.info.replaced_inst_count += 1;
        true
    }
}

/// Whether a block ends in a branch of many ways.
fn is_selection(func: &Function, block: BlockId) -> bool {
    let op = func.terminator(block).map(|t| func.op(t));
    matches!(op, Some(Op::Switch | Op::IndexedBranch))
}

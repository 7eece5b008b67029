//! Value numbering: two passes with one walk.
//!
//! What: `early_cse` replaces an instruction by an equal earlier one of its block, `gvn` by an equal one of any block that
//! dominates it.
//! Why right: only pure operations whose result hangs on the operands alone are compared; equal means the same operation,
//! type, operands and attributes. Commutative operands are put in order; floats compare by their bits, as constants are
//! interned by content. The walk goes down the dominator tree, so that a leader always dominates.
//! Cost: linear but for hashing. Source: P. Briggs, K. Cooper, T. Simpson, "Value Numbering", Software Practice and Experience
//! 27 (1997), dominator-based technique.

use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use cranelift_entity::packed_option::PackedOption;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::{ArithmeticOp, BindlessAccess};
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `early_cse` did.
    CseInfo {
        change eliminated_inst_count "instructions replaced by earlier ones of their block";
    }
}
counters! {
    /// What `gvn` did.
    GvnInfo {
        change replaced_inst_count "instructions replaced by ones that dominate them";
        note removed_inst_count "instructions removed";
    }
}

const PRESERVES: &[Analysis] = &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph];

/// Value numbering within blocks.
pub struct EarlyCse;

impl FunctionPass for EarlyCse {
    const DECLARATION: Declaration = Declaration {
        preserves: PRESERVES,
        ..Declaration::new(
            "early_cse",
            "computes equal values of a block once",
            "Replaces a pure instruction by an equal earlier one of the same block.",
        )
    };
    type Options = ();
    type Info = CseInfo;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<CseInfo, Refusal> {
        let mut table = Table::default();
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        for block in blocks {
            table.block(cx, block);
            table.leaders.clear();
            table.scope.clear();
        }
        Ok(CseInfo { eliminated_inst_count: table.replaced })
    }
}

/// Value numbering over the dominator tree.
pub struct Gvn;

impl FunctionPass for Gvn {
    const DECLARATION: Declaration = Declaration {
        preserves: PRESERVES,
        ..Declaration::new(
            "gvn",
            "computes equal values once",
            "Replaces a pure instruction by an equal one that dominates it.",
        )
    };
    type Options = ();
    type Info = GvnInfo;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<GvnInfo, Refusal> {
        enum Step {
            Enter(BlockId),
            Leave(usize),
        }
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let mut table = Table::default();
        let mut pending: Vec<Step> = cx.func.entry().map(Step::Enter).into_iter().collect();
        while let Some(step) = pending.pop() {
            match step {
                Step::Leave(mark) => table.forget_since(mark),
                Step::Enter(block) => {
                    pending.push(Step::Leave(table.scope.len()));
                    table.block(cx, block);
                    pending.extend(dominators.children(block).map(Step::Enter));
                }
            }
        }
        Ok(GvnInfo { replaced_inst_count: table.replaced, removed_inst_count: table.replaced })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    ty: TypeId,
    /// The first operands; few operations have more.
    args: [PackedOption<ValueId>; 3],
    more: Box<[ValueId]>,
    access: BindlessAccess,
    curves: u8,
}

impl Key {
    fn of(func: &Function, types: &TypeTable, inst: InstId) -> Option<Key> {
        let data = func.inst(inst);
        // A gep is no value; two of the same place are left to be lvalues of their own.
        let effects = func.effects(inst);
        if !effects.numberable || effects.volatile || data.ty == TypeId::VOID || data.op == Op::Gep
        {
            return None;
        }
        let all = func.args(inst);
        let mut args = [0, 1, 2].map(|i| PackedOption::from(all.get(i).copied()));
        let more: Box<[ValueId]> = all.get(3..).unwrap_or_default().into();
        if let Op::Arithmetic(op) = data.op
            && is_commutative(op)
            && types.is_scalar_or_vector(data.ty)
            && all.len() == 2
            && all[1] < all[0]
        {
            args.swap(0, 1);
        }
        let (access, curves) = match data.imm {
            Imm::Access(access) => (access, 0),
            Imm::CurveBases(bases) => (BindlessAccess::default(), bases),
            Imm::None => (BindlessAccess::default(), 0),
            _ => return None,
        };
        Some(Key { op: data.op, ty: data.ty, args, more, access, curves })
    }
}

/// Whether the operands may change places without a change of the result's bits. `min` and `max` of equal zeros or numbers are
/// exact, so they may; which NaN a sum of two NaNs gives is not defined.
fn is_commutative(op: ArithmeticOp) -> bool {
    use ArithmeticOp::*;
    matches!(
        op,
        BinaryAdd
            | BinaryMul
            | BinaryBitAnd
            | BinaryBitOr
            | BinaryBitXor
            | BinaryEqual
            | BinaryNotEqual
            | Min
            | Max
    )
}

#[derive(Default)]
struct Table {
    leaders: FxHashMap<Key, ValueId>,
    /// Keys in the order in which they came in.
    scope: Vec<Key>,
    replaced: u64,
}

impl Table {
    fn block(&mut self, cx: &mut FunctionCx<'_>, block: BlockId) {
        let mut next = cx.func.first_inst(block);
        while let Some(inst) = next {
            next = cx.func.next_inst(inst);
            let Some(key) = Key::of(cx.func, cx.types, inst) else { continue };
            let Some(value) = cx.func.result(inst) else { continue };
            match self.leaders.get(&key) {
                Some(&leader) => {
                    if !cx.fuel() {
                        return;
                    }
                    util::replace_and_remove(cx.func, inst, leader);
                    self.replaced += 1;
                }
                None => {
                    self.leaders.insert(key.clone(), value);
                    self.scope.push(key);
                }
            }
        }
    }

    fn forget_since(&mut self, mark: usize) {
        for key in self.scope.drain(mark..) {
            self.leaders.remove(&key);
        }
    }
}

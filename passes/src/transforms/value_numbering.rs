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
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::{ArithmeticOp, BindlessAccess};
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

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
        let mut table = Table::new(cx.func);
        let mut next = cx.func.entry();
        while let Some(block) = next {
            table.block(cx, block);
            table.forget_since(0);
            next = cx.func.next_block(block);
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
        let mut table = Table::new(cx.func);
        let mut pending: Vec<Step> = cx.func.entry().map(Step::Enter).into_iter().collect();
        while let Some(step) = pending.pop() {
            match step {
                Step::Leave(mark) => table.forget_since(mark),
                Step::Enter(block) => {
                    pending.push(Step::Leave(table.leaders.len()));
                    table.block(cx, block);
                    pending.extend(dominators.children(block).map(Step::Enter));
                }
            }
        }
        Ok(GvnInfo { replaced_inst_count: table.replaced, removed_inst_count: table.replaced })
    }
}

/// The operands in the order that stands for all orders with the same result.
#[derive(PartialEq, Eq, Hash)]
enum Operands<'a> {
    InOrder(&'a [ValueId]),
    /// The smaller one first.
    Pair(ValueId, ValueId),
}

/// What a pure instruction computes; equal keys give equal values.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    op: Op,
    ty: TypeId,
    args: Operands<'a>,
    access: BindlessAccess,
    curves: u8,
}

impl<'a> Key<'a> {
    fn of(func: &'a Function, types: &TypeTable, inst: InstId) -> Option<Key<'a>> {
        let data = func.inst(inst);
        // A gep is no value; two of the same place are left to be lvalues of their own.
        let effects = func.effects(inst);
        if !effects.numberable || effects.volatile || data.ty == TypeId::VOID || data.op == Op::Gep
        {
            return None;
        }
        let args = match (data.op, func.args(inst)) {
            (Op::Arithmetic(op), &[a, b])
                if is_commutative(op) && b < a && types.is_scalar_or_vector(data.ty) =>
            {
                Operands::Pair(b, a)
            }
            (_, &[a, b]) => Operands::Pair(a, b),
            (_, all) => Operands::InOrder(all),
        };
        let (access, curves) = match data.imm {
            Imm::Access(access) => (access, 0),
            Imm::CurveBases(bases) => (BindlessAccess::default(), bases),
            Imm::None => (BindlessAccess::default(), 0),
            _ => return None,
        };
        Some(Key { op: data.op, ty: data.ty, args, access, curves })
    }

    fn hash(&self) -> u32 {
        let mut hasher = FxHasher::default();
        Hash::hash(self, &mut hasher);
        hasher.finish() as u32
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

/// The leaders in scope: a stack, threaded by chains of equal buckets. A key is made again from its leader when it is asked for, so that
/// a leader costs twelve bytes.
struct Table {
    /// By bucket: number plus one of the latest leader. As many as a power of two.
    buckets: Vec<u32>,
    leaders: Vec<Leader>,
    replaced: u64,
}

#[derive(Clone, Copy)]
struct Leader {
    hash: u32,
    inst: InstId,
    /// Number plus one of the leader before it in its bucket.
    before: u32,
}

impl Table {
    fn new(func: &Function) -> Table {
        let buckets = func.inst_count().next_power_of_two().clamp(16, 1 << 24);
        Table { buckets: vec![0; buckets], leaders: Vec::new(), replaced: 0 }
    }

    /// Numbers a block as far as the fuel lasts.
    fn block(&mut self, cx: &mut FunctionCx<'_>, block: BlockId) {
        let mut next = cx.func.first_inst(block);
        while let Some(inst) = next {
            next = cx.func.next_inst(inst);
            let Some(key) = Key::of(cx.func, cx.types, inst) else { continue };
            let hash = key.hash();
            match self.find(cx.func, cx.types, &key, hash) {
                Some(leader) => {
                    if !cx.fuel() {
                        return;
                    }
                    util::replace_and_remove(cx.func, inst, leader);
                    self.replaced += 1;
                }
                None => self.enter(inst, hash),
            }
        }
    }

    /// The value of an equal leader.
    fn find(
        &self,
        func: &Function,
        types: &TypeTable,
        key: &Key<'_>,
        hash: u32,
    ) -> Option<ValueId> {
        let mut number = self.buckets[self.bucket(hash)];
        while let Some(index) = number.checked_sub(1) {
            let leader = self.leaders[index as usize];
            if leader.hash == hash && Key::of(func, types, leader.inst).as_ref() == Some(key) {
                return func.result(leader.inst);
            }
            number = leader.before;
        }
        None
    }

    fn enter(&mut self, inst: InstId, hash: u32) {
        let bucket = self.bucket(hash);
        let before = self.buckets[bucket];
        self.leaders.push(Leader { hash, inst, before });
        self.buckets[bucket] = self.leaders.len() as u32;
    }

    fn bucket(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn forget_since(&mut self, mark: usize) {
        while self.leaders.len() > mark {
            if let Some(leader) = self.leaders.pop() {
                let bucket = self.bucket(leader.hash);
                self.buckets[bucket] = leader.before;
            }
        }
    }
}

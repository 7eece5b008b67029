//! Which loops are worth to be unrolled where LLVM's own choice is too careful: small innermost ones that count.

use luisac_ast::types::{Scalar, TypeTable};
use luisac_passes::analyses::loops::Loops;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::ArithmeticOp as A;
use luisac_xir::{BlockId, Function, Op, ValueDef};

/// Most iterations at a time.
const MOST: u32 = 8;

/// The latches of the loops to unroll, with the iterations at a time, so that none has more than `limit` instructions after.
pub fn choose(
    types: &TypeTable,
    func: &Function,
    cfg: &ControlFlowGraph,
    limit: u32,
) -> Vec<(BlockId, u32)> {
    let dominators = DominatorTree::compute(func, cfg);
    let loops = Loops::compute(func, cfg, &dominators);
    let mut chosen = Vec::new();
    for (number, blocks) in (0..).zip(loops.innermost_blocks(cfg)) {
        let (Some(this), false) = (loops.loops.get(number as usize), blocks.is_empty()) else {
            continue;
        };
        let &[latch] = this.latches.as_slice() else { continue };
        let size = blocks.iter().flat_map(|&b| func.insts(b)).filter(|&i| func.op(i) != Op::Phi);
        let fits = (limit as usize / size.count().max(1)).min(MOST as usize) as u32;
        let counts =
            |b: &&BlockId| func.successors(**b).iter().any(|&s| !loops.contains(number, s));
        let exits: Vec<&BlockId> = blocks.iter().filter(counts).collect();
        let is_counted = matches!(exits[..], [&exit] if compares_integers(types, func, exit));
        if fits >= 2 && is_counted && blocks.iter().all(|&b| is_plain(func, b)) {
            chosen.push((latch, 1 << fits.ilog2()));
        }
    }
    chosen
}

/// Whether a block ends in a branch by a comparison of integers.
fn compares_integers(types: &TypeTable, func: &Function, block: BlockId) -> bool {
    let branch = func.terminator(block).filter(|&t| func.op(t) == Op::CondBr);
    let condition = branch.and_then(|t| func.args(t).first().copied());
    let Some(ValueDef::Inst(compare)) = condition.map(|c| func.value_def(c)) else { return false };
    let operand = func.args(compare).first().map(|&a| func.value_type(a));
    matches!(
        func.op(compare),
        Op::Arithmetic(
            A::BinaryLess
                | A::BinaryLessEqual
                | A::BinaryGreater
                | A::BinaryGreaterEqual
                | A::BinaryEqual
                | A::BinaryNotEqual
        )
    ) && operand.and_then(|ty| types.scalar_of(ty)).is_some_and(Scalar::is_int)
}

/// Whether a block neither meets other threads nor calls.
fn is_plain(func: &Function, block: BlockId) -> bool {
    func.insts(block)
        .all(|i| !matches!(func.op(i), Op::ThreadGroup(_) | Op::Call | Op::Print | Op::Assert))
}

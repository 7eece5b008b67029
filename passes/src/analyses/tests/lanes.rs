//! Uniformity against running lanes, on random graphs.

use super::{Random, random_graph};
use crate::analyses::post_dominators::PostDominatorTree;
use crate::analyses::uniformity::Uniformity;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{ArithmeticOp, SpecialRegister};
use luisac_xir::{
    BlockId, Builder, Function, FunctionKind, Imm, InstId, Op, TypeId, TypeTable, ValueId,
};

/// A kernel: every block has a phi of constants, another of what the phis of the blocks before were, and branches on one of its
/// phis, seldom on the lane.
fn random_kernel(random: &mut Random) -> Function {
    let count = 2 + random.below(11);
    let mut f = random_graph(random, count, false);
    f.kind = FunctionKind::Kernel { block_size: [32, 1, 1] };
    let types = TypeTable::new();
    let blocks: Vec<BlockId> = f.blocks().collect();
    let cfg = ControlFlowGraph::compute(&f);
    let lane = f.special(SpecialRegister::WarpLaneId);
    let mut phis: Vec<[Option<InstId>; 2]> = Vec::new();
    for &block in &blocks {
        let has_phis = cfg.is_reachable(block) && !cfg.predecessors(block).is_empty();
        phis.push([(); 2].map(|()| {
            has_phis.then(|| {
                let phi = f.create_inst(Op::Phi, TypeId::U32, &[], &[], Imm::None);
                f.prepend_inst(block, phi);
                phi
            })
        }));
    }
    for (i, &block) in blocks.iter().enumerate() {
        for &from in cfg.predecessors(block) {
            let Some(phi) = phis[i][0] else { continue };
            // Sometimes the same for all.
            let value = f.u32_constant(if random.below(3) == 0 { 1 } else { from.as_u32() });
            f.push_arg(phi, value);
            f.inst_blocks_mut(phi).push(from);
            let Some(phi) = phis[i][1] else { continue };
            let before = phis[from.as_u32() as usize][random.below(2)].and_then(|p| f.result(p));
            let value = before.unwrap_or_else(|| f.u32_constant(0));
            f.push_arg(phi, value);
            f.inst_blocks_mut(phi).push(from);
        }
        let end = f.terminator(block).unwrap();
        if matches!(f.op(end), Op::CondBr | Op::IndexedBranch) {
            let own = phis[i][random.below(2)].and_then(|p| f.result(p));
            let by_lane = random.below(5) == 0;
            let value = if by_lane { lane } else { own.unwrap_or_else(|| f.u32_constant(3)) };
            let mut b = Builder::before(&mut f, &types, end);
            let mask = b.u32(1 + random.below(3) as u32);
            let bits = b.arithmetic(ArithmeticOp::BinaryBitAnd, &[value, mask]);
            let zero = b.u32(0);
            let condition = b.arithmetic(ArithmeticOp::BinaryEqual, &[bits, zero]);
            f.set_arg(end, 0, if f.op(end) == Op::CondBr { condition } else { bits });
            if f.op(end) == Op::IndexedBranch {
                f.set_imm(end, Imm::Cases([0, 1, 2].into()));
            }
        }
    }
    f
}

/// The values of all instructions of one lane at each visit of each block.
fn trace(f: &Function, lane: u64) -> Vec<(BlockId, Vec<(ValueId, u64)>)> {
    let mut values = std::collections::HashMap::<ValueId, u64>::new();
    let (mut at, mut from, mut visits) = (f.entry().unwrap(), None, Vec::new());
    for _ in 0..120 {
        let read = |values: &std::collections::HashMap<ValueId, u64>, v: ValueId| match f
            .constant_bits(v)
        {
            Some(bits) => bits,
            None => *values.get(&v).unwrap_or(&lane),
        };
        let mut now = Vec::new();
        let mut fresh = Vec::new();
        for phi in f.phis(at) {
            let i = f.inst_blocks(phi).iter().position(|&b| Some(b) == from).unwrap();
            fresh.push((f.result(phi).unwrap(), read(&values, f.arg(phi, i))));
        }
        values.extend(fresh.iter().copied());
        now.extend(fresh);
        let mut next = None;
        for inst in f.insts(at) {
            let args: Vec<u64> = f.args(inst).iter().map(|&a| read(&values, a)).collect();
            let targets = f.successors_of(inst);
            match f.op(inst) {
                Op::Arithmetic(op) => {
                    let result = match op {
                        ArithmeticOp::BinaryBitAnd => args[0] & args[1],
                        _ => u64::from(args[0] == args[1]),
                    };
                    values.insert(f.result(inst).unwrap(), result);
                    now.push((f.result(inst).unwrap(), result));
                }
                Op::Br => next = Some(targets[0]),
                Op::CondBr => next = Some(targets[usize::from(args[0] == 0)]),
                Op::IndexedBranch => {
                    next = Some(targets[if args[0] < 3 { args[0] as usize + 1 } else { 0 }]);
                }
                _ => {}
            }
        }
        visits.push((at, now));
        let Some(target) = next else { break };
        (at, from) = (target, Some(at));
    }
    visits
}

#[test]
fn uniform_values_are_equal_over_lanes() {
    let (mut uniform, mut varying, mut together, mut apart) = (0, 0, 0, 0);
    for seed in 0..1500 {
        let f = random_kernel(&mut Random::new(seed));
        let cfg = ControlFlowGraph::compute(&f);
        let post_dominators = PostDominatorTree::compute(&f, &cfg);
        let found = Uniformity::compute(&f, &cfg, &post_dominators);
        // Blocks that no lane executes apart from the others, as each lane sees them.
        let traces: Vec<Vec<_>> = (0..4)
            .map(|lane| {
                let all = trace(&f, lane).into_iter();
                all.filter(|(block, _)| !found.is_apart(*block)).collect()
            })
            .collect();
        for &block in cfg.reverse_post_order() {
            together += usize::from(!found.is_apart(block));
            apart += usize::from(found.is_apart(block));
        }
        for other in &traces[1..] {
            // Lanes that were stopped on the way saw less.
            for ((block, mine), (there, theirs)) in traces[0].iter().zip(other) {
                assert_eq!(block, there, "seed {seed}");
                for ((value, a), (_, b)) in mine.iter().zip(theirs) {
                    let is_uniform = found.is_uniform(&f, *value);
                    uniform += usize::from(is_uniform);
                    varying += usize::from(!is_uniform);
                    assert!(!is_uniform || a == b, "seed {seed}: {value} in {block}");
                }
            }
        }
    }
    assert!(uniform > 10_000 && varying > 1_000, "{uniform} uniform, {varying} varying");
    assert!(together > 1_000 && apart > 1_000, "{together} together, {apart} apart");
}

/// The same without jumps: every branch that parts lanes is walked in full.
#[test]
fn blocks_apart_agree_with_the_definition() {
    for seed in 0..800 {
        let f = random_kernel(&mut Random::new(seed));
        let cfg = ControlFlowGraph::compute(&f);
        let post_dominators = PostDominatorTree::compute(&f, &cfg);
        let found = Uniformity::compute(&f, &cfg, &post_dominators);
        let mut wanted: Vec<BlockId> = Vec::new();
        for &block in cfg.reverse_post_order() {
            let end = f.terminator(block).unwrap();
            let parts = f.args(end).first().is_some_and(|&a| !found.is_uniform(&f, a));
            let targets = f.successors(block);
            if !parts || targets.iter().all(|&t| t == targets[0]) {
                continue;
            }
            let end = post_dominators.immediate_post_dominator(block);
            for &target in targets {
                let part = super::reach(target, end, |b| f.successors(b).to_vec());
                wanted.extend(part);
            }
        }
        for &block in cfg.reverse_post_order() {
            assert_eq!(found.is_apart(block), wanted.contains(&block), "seed {seed}, {block}");
        }
    }
}

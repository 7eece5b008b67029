//! Where the threads of a block come together: barriers, and the branches that decide which barrier comes next.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::immediate_dominators;
use luisac_xir::op::ThreadGroupOp;
use luisac_xir::{BlockId, Builder, Function, InstId, Op, TypeTable};

/// Whether an instruction is a barrier of the block.
pub(super) fn is_barrier(func: &Function, inst: InstId) -> bool {
    func.op(inst) == Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock)
}

/// Splits blocks so that a barrier stands alone with a branch, and branches and phis on the way to a barrier stand alone too.
pub(super) fn split(func: &mut Function, types: &TypeTable) {
    allocas_first(func);
    let barriers: Vec<InstId> =
        func.blocks().flat_map(|b| func.insts(b)).filter(|&i| is_barrier(func, i)).collect();
    for &barrier in &barriers {
        cut(func, types, barrier);
        if let Some(next) = func.next_inst(barrier) {
            cut(func, types, next);
        }
    }
    let cfg = ControlFlowGraph::compute(func);
    let leads = leading(&cfg, barriers.iter().filter_map(|&i| func.inst_block(i)));
    for &block in cfg.reverse_post_order() {
        if !leads[block] {
            continue;
        }
        let Some(end) = func.terminator(block) else { continue };
        if func.successors_of(end).len() > 1 && func.first_inst(block) != Some(end) {
            cut(func, types, end);
        }
        if func.phis(block).next().is_some()
            && let Some(first) = func.first_non_phi(block)
            && func.op(first) != Op::Br
        {
            cut(func, types, first);
        }
    }
    // The entry block only holds what comes before everything else.
    if let Some(first) = func.entry().and_then(|e| first_after_allocas(func, e)) {
        cut(func, types, first);
    }
}

/// Moves the allocas of the entry block to its start: what stands behind them is not for all threads.
fn allocas_first(func: &mut Function) {
    let Some(entry) = func.entry() else { return };
    let Some(first) = first_after_allocas(func, entry) else { return };
    let is_alloca = |&i: &InstId| matches!(func.op(i), Op::Alloca(_));
    let late: Vec<InstId> =
        func.insts(entry).skip_while(|&i| i != first).filter(is_alloca).collect();
    for inst in late {
        func.unlink_inst(inst);
        func.insert_before(inst, first);
    }
}

/// The first instruction of a block that is no alloca.
pub(super) fn first_after_allocas(func: &Function, block: BlockId) -> Option<InstId> {
    func.insts(block).find(|&i| !matches!(func.op(i), Op::Alloca(_)))
}

/// Splits a block in front of an instruction.
fn cut(func: &mut Function, types: &TypeTable, at: InstId) {
    let Some(block) = func.inst_block(at) else { return };
    let tail = func.split_block(at);
    Builder::at_end(func, types, block).br(tail);
}

/// The reachable blocks from which a path leads to one of `goals`, these included.
fn leading(
    cfg: &ControlFlowGraph,
    goals: impl Iterator<Item = BlockId>,
) -> SecondaryMap<BlockId, bool> {
    let mut leads: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut pending: Vec<BlockId> = goals.filter(|&b| cfg.is_reachable(b)).collect();
    while let Some(block) = pending.pop() {
        if !std::mem::replace(&mut leads[block], true) {
            pending.extend_from_slice(cfg.predecessors(block));
        }
    }
    leads
}

/// The points at which all threads of a block are together, and where each block that leads to a barrier comes to next.
///
/// From every way out of a point, all paths that come to another point come to the same one first.
#[derive(Default)]
pub(super) struct Points {
    /// Blocks from which a path leads to a barrier.
    pub leads: SecondaryMap<BlockId, bool>,
    /// All points: the entry, barriers, deciding branches, and of the candidates those that are kept.
    pub is_point: SecondaryMap<BlockId, bool>,
    /// Points that were added for the sake of values and exits that all threads share.
    pub added: SecondaryMap<BlockId, bool>,
    /// The point that paths from the start of a block come to first: itself if it is one. For blocks that lead to a barrier.
    pub next: SecondaryMap<BlockId, Option<BlockId>>,
}

impl Points {
    /// Finds the points of a function that was split. Candidates, blocks of phis and branches of which one side leads to no barrier, are
    /// points where that makes no more branches decide.
    pub fn find(func: &Function, cfg: &ControlFlowGraph) -> Points {
        let barriers: Vec<BlockId> = { cfg.reverse_post_order().iter().copied() }
            .filter(|&b| func.insts(b).any(|i| is_barrier(func, i)))
            .collect();
        let mut points =
            Points { leads: leading(cfg, barriers.iter().copied()), ..Points::default() };
        let frontiers = Frontiers::compute(func, cfg, &points.leads, &barriers);
        let mut pending = barriers;
        while let Some(block) = pending.pop() {
            if !std::mem::replace(&mut points.is_point[block], true) {
                pending.extend_from_slice(&frontiers.of[block]);
            }
        }
        let certain = points.is_point.clone();
        for &block in cfg.reverse_post_order() {
            let is_candidate = points.leads[block]
                && (func.phis(block).next().is_some() || func.successors(block).len() > 1);
            if is_candidate && !certain[block] && frontiers.of[block].iter().all(|&b| certain[b]) {
                points.is_point[block] = true;
                points.added[block] = true;
            }
        }
        if let Some(entry) = func.entry() {
            points.is_point[entry] = true;
        }
        points.follow(cfg);
        points
    }

    /// Takes back candidates.
    pub fn drop_added(&mut self, cfg: &ControlFlowGraph, blocks: &[BlockId]) {
        for &block in blocks {
            self.is_point[block] = false;
            self.added[block] = false;
        }
        self.follow(cfg);
    }

    fn follow(&mut self, cfg: &ControlFlowGraph) {
        self.next.clear();
        for &point in cfg.reverse_post_order() {
            if !self.is_point[point] {
                continue;
            }
            self.next[point] = Some(point);
            let mut pending = vec![point];
            while let Some(block) = pending.pop() {
                for &before in cfg.predecessors(block) {
                    if !self.is_point[before] && self.next[before].is_none() {
                        self.next[before] = Some(point);
                        pending.push(before);
                    }
                }
            }
        }
    }

    /// The distinct successors of a block that lead to a barrier.
    pub fn ways(&self, func: &Function, block: BlockId) -> Vec<BlockId> {
        let mut ways: Vec<BlockId> = Vec::new();
        for &target in func.successors(block) {
            if self.leads[target] && !ways.contains(&target) {
                ways.push(target);
            }
        }
        ways
    }

    /// The distinct successors of a block that lead to no barrier.
    pub fn exits(&self, func: &Function, block: BlockId) -> Vec<BlockId> {
        let mut exits: Vec<BlockId> = Vec::new();
        for &target in func.successors(block) {
            if !self.leads[target] && !exits.contains(&target) {
                exits.push(target);
            }
        }
        exits
    }
}

/// Post-dominance frontiers in the graph of the blocks that lead to a barrier, where each barrier is an end.
struct Frontiers {
    of: SecondaryMap<BlockId, Vec<BlockId>>,
}

impl Frontiers {
    fn compute(
        func: &Function,
        cfg: &ControlFlowGraph,
        leads: &SecondaryMap<BlockId, bool>,
        barriers: &[BlockId],
    ) -> Frontiers {
        let mut ends: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        barriers.iter().for_each(|&b| ends[b] = true);
        let (order, number, parent) = number_backwards(cfg, &ends, barriers);
        let after = |n: u32| {
            let block = order[n as usize];
            let is_end = block.is_some_and(|b| ends[b]);
            let targets = block.filter(|_| !is_end).map_or(&[][..], |b| func.successors(b));
            let real = targets.iter().filter(|&&t| leads[t]).map(|&t| number[t]);
            real.chain(is_end.then_some(0))
        };
        let above = immediate_dominators(&parent, after);
        let mut of: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
        for n in 1..order.len() as u32 {
            let Some(block) = order[n as usize] else { continue };
            let targets: Vec<u32> = after(n).collect();
            if targets.iter().all(|t| *t == targets[0]) {
                continue;
            }
            for target in targets {
                let mut runner = target;
                while runner != above[n as usize] && runner != 0 {
                    if let Some(b) = order[runner as usize]
                        && of[b].last() != Some(&block)
                    {
                        of[b].push(block);
                    }
                    runner = above[runner as usize];
                }
            }
        }
        Frontiers { of }
    }
}

type Numbers = (Vec<Option<BlockId>>, SecondaryMap<BlockId, u32>, Vec<u32>);

/// A depth-first numbering of the reversed graph from a virtual end behind all `ends`, which has number 0.
fn number_backwards(
    cfg: &ControlFlowGraph,
    is_end: &SecondaryMap<BlockId, bool>,
    ends: &[BlockId],
) -> Numbers {
    let mut order = vec![None];
    let mut parent = vec![0];
    let mut number: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    let mut walk: Vec<(u32, &[BlockId], usize)> = vec![(0, ends, 0)];
    while let Some((node, before, next)) = walk.last_mut() {
        let Some(&block) = before.get(*next) else {
            walk.pop();
            continue;
        };
        *next += 1;
        let is_root = *node == 0;
        // What follows an end is behind it in another graph.
        if number[block] != 0 || (is_end[block] && !is_root) {
            continue;
        }
        let n = order.len() as u32;
        number[block] = n;
        parent.push(*node);
        order.push(Some(block));
        walk.push((n, cfg.predecessors(block), 0));
    }
    (order, number, parent)
}

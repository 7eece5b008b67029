//! Cleaning up of branches.
//!
//! What: branches on constants and to one target only become `br`; blocks that hold nothing but a `br` are passed by; a block
//! whose only predecessor leads nowhere else is joined to it; blocks that nothing reaches are removed. Repeated until nothing
//! changes.
//! Why right: no path gains or loses an instruction, an empty endless loop stays one. A block is not passed by where one
//! predecessor would then need two entries in a phi.
//! Cost: linear for each round; a round more only for what the last one opened.

use super::util;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::Requires;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashSet;

counters! {
    /// What `simplify_cfg` did.
    Info {
        change folded_constant_cond_br_count "branches with one possible target turned into `br`";
        change threaded_empty_block_count "empty blocks passed by";
        change merged_straight_line_count "blocks joined to their only predecessor";
        change removed_unreachable_block_count "blocks removed that nothing reaches";
    }
}

/// A guard against endless repetition; each round beyond the first needs something that the last one opened.
const MAX_ROUNDS: usize = 64;

/// The pass.
pub struct SimplifyCfg;

impl FunctionPass for SimplifyCfg {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "joining and passing by blocks would break the roles of structured constructs",
        ..Declaration::new(
            "simplify_cfg",
            "folds branches and joins blocks",
            "Folds branches with one possible target, passes by empty blocks, joins straight lines and removes blocks that \
             nothing reaches, until nothing changes.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        for _ in 0..MAX_ROUNDS {
            let before = info;
            fold_branches(cx, &mut info);
            if cx.fuel() {
                let keep = util::named_blocks(cx.func, false);
                info.removed_unreachable_block_count += util::remove_blocks_but(cx.func, &keep);
            }
            thread_to_plain_blocks(cx, &mut info);
            thread_to_phi_blocks(cx, &mut info);
            merge_straight_lines(cx, &mut info);
            if info == before {
                break;
            }
        }
        Ok(info)
    }
}

// ---- one target only

/// The only block that a branch can lead to.
fn only_target(func: &Function, inst: InstId) -> Option<BlockId> {
    let targets = func.successors_of(inst);
    match func.op(inst) {
        Op::CondBr | Op::IndexedBranch => {}
        _ => return None,
    }
    if targets.iter().all(|t| *t == targets[0]) {
        return Some(targets[0]);
    }
    let bits = func.constant_bits(func.arg(inst, 0))?;
    match &func.inst(inst).imm {
        Imm::Cases(cases) => {
            let case = cases.iter().position(|&c| c == bits);
            targets.get(case.map_or(0, |i| i + 1)).copied()
        }
        _ => Some(targets[usize::from(bits == 0)]),
    }
}

fn fold_branches(cx: &mut FunctionCx<'_>, info: &mut Info) {
    let blocks: Vec<BlockId> = cx.func.blocks().collect();
    let mut removed: FxHashSet<(BlockId, BlockId)> = FxHashSet::default();
    for block in blocks {
        let Some(inst) = cx.func.terminator(block) else { continue };
        let Some(target) = only_target(cx.func, inst) else { continue };
        if !cx.fuel() {
            break;
        }
        let gone = cx.func.successors_of(inst).iter().filter(|&&t| t != target);
        removed.extend(gone.map(|&t| (t, block)));
        util::branch_instead(cx.func, block, target);
        info.folded_constant_cond_br_count += 1;
    }
    if !removed.is_empty() {
        util::drop_phi_entries(cx.func, |block, from| removed.contains(&(block, from)));
    }
}

// ---- empty blocks

/// The target of a block that holds nothing but a `br` elsewhere.
fn forward(func: &Function, block: BlockId) -> Option<BlockId> {
    let inst = func.first_inst(block)?;
    let target = *func.successors_of(inst).first()?;
    let is_forwarder = func.op(inst) == Op::Br && func.entry() != Some(block) && target != block;
    is_forwarder.then_some(target)
}

fn has_phis(func: &Function, block: BlockId) -> bool {
    func.first_inst(block).is_some_and(|i| func.op(i) == Op::Phi)
}

/// Passes by chains of empty blocks that end in a block without phis, all edges at once.
fn thread_to_plain_blocks(cx: &mut FunctionCx<'_>, info: &mut Info) {
    let blocks: Vec<BlockId> = cx.func.blocks().collect();
    let mut next: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    for &block in &blocks {
        next[block] = forward(cx.func, block).filter(|&t| !has_phis(cx.func, t));
    }
    // A ring of empty blocks is an endless loop; its first block in the order stays.
    let mut state: SecondaryMap<BlockId, u8> = SecondaryMap::new();
    for &start in &blocks {
        let mut path = Vec::new();
        let mut at = start;
        while state[at] == 0 {
            state[at] = 1;
            path.push(at);
            match next[at] {
                Some(target) => at = target,
                None => break,
            }
        }
        if state[at] == 1 && next[at].is_some() {
            next[at] = None;
        }
        let end = if state[at] == 2 { next[at].unwrap_or(at) } else { at };
        for block in path {
            state[block] = 2;
            if next[block].is_some() && block != end {
                next[block] = Some(end);
            }
        }
    }
    for &block in &blocks {
        let Some(inst) = cx.func.terminator(block) else { continue };
        if cx.func.successors_of(inst).iter().all(|&t| next[t].is_none()) || next[block].is_some() {
            continue;
        }
        if !cx.fuel() {
            return;
        }
        info.threaded_empty_block_count += 1;
        for target in cx.func.inst_blocks_mut(inst) {
            *target = next[*target].unwrap_or(*target);
        }
    }
    if info.threaded_empty_block_count > 0 {
        let keep = util::named_blocks(cx.func, false);
        util::remove_blocks_but(cx.func, &keep);
    }
}

/// An empty block before a block with phis, and its predecessors.
struct Bypass {
    block: BlockId,
    target: BlockId,
    preds: Vec<BlockId>,
}

/// Branches of more ways have their edges in a set.
const FEW_WAYS: usize = 8;

/// The edges of the function as they will be.
#[derive(Default)]
struct Edges {
    /// Those that bypasses make, and those of wide branches that were asked for.
    more: FxHashSet<(BlockId, BlockId)>,
    /// The sources of these wide branches.
    wide: FxHashSet<BlockId>,
}

impl Edges {
    fn has(&mut self, func: &Function, from: BlockId, to: BlockId) -> bool {
        let targets = func.successors(from);
        if targets.len() <= FEW_WAYS && targets.contains(&to) {
            return true;
        }
        if targets.len() > FEW_WAYS && self.wide.insert(from) {
            self.more.extend(targets.iter().map(|&t| (from, t)));
        }
        self.more.contains(&(from, to))
    }
}

/// Passes by empty blocks before a block with phis, where each predecessor then has one entry.
fn thread_to_phi_blocks(cx: &mut FunctionCx<'_>, info: &mut Info) {
    let cfg = ControlFlowGraph::compute(cx.func);
    let blocks = cfg.reverse_post_order();
    let mut edges = Edges::default();
    let mut bypasses: Vec<Bypass> = Vec::new();
    let mut number: SecondaryMap<BlockId, Option<u32>> = SecondaryMap::new();
    for &block in blocks {
        let Some(target) = forward(cx.func, block).filter(|&t| has_phis(cx.func, t)) else {
            continue;
        };
        let preds = cfg.predecessors(block);
        let fits = preds.iter().all(|&p| number[p].is_none() && !edges.has(cx.func, p, target));
        if !fits || preds.is_empty() || !cx.fuel() {
            continue;
        }
        let preds = preds.to_vec();
        edges.more.extend(preds.iter().map(|&p| (p, target)));
        number[block] = Some(bypasses.len() as u32);
        bypasses.push(Bypass { block, target, preds });
        info.threaded_empty_block_count += 1;
    }
    apply_bypasses(cx.func, &bypasses, &number);
}

fn apply_bypasses(
    func: &mut Function,
    bypasses: &[Bypass],
    number: &SecondaryMap<BlockId, Option<u32>>,
) {
    let mut targets: Vec<BlockId> = bypasses.iter().map(|b| b.target).collect();
    targets.sort_unstable();
    targets.dedup();
    for target in targets {
        let phis: Vec<InstId> = func.phis(target).collect();
        for phi in phis {
            let (mut values, mut from) = (Vec::new(), Vec::new());
            for (&value, &block) in func.args(phi).iter().zip(func.inst_blocks(phi)) {
                let around = number[block].map(|n| &bypasses[n as usize].preds[..]);
                for &pred in around.unwrap_or(&[block]) {
                    values.push(value);
                    from.push(pred);
                }
            }
            func.set_args(phi, &values);
            *func.inst_blocks_mut(phi) = from;
        }
    }
    for Bypass { block, target, preds } in bypasses {
        for &pred in preds {
            let Some(inst) = func.terminator(pred) else { continue };
            for t in func.inst_blocks_mut(inst) {
                if t == block {
                    *t = *target;
                }
            }
        }
    }
    for bypass in bypasses {
        func.remove_block(bypass.block);
    }
}

// ---- straight lines

fn merge_straight_lines(cx: &mut FunctionCx<'_>, info: &mut Info) {
    let cfg = ControlFlowGraph::compute(cx.func);
    let entry = cx.func.entry();
    let mut joined: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    for &head in cfg.reverse_post_order() {
        if joined[head].is_some() {
            continue;
        }
        while let Some(br) = cx.func.terminator(head).filter(|&t| cx.func.op(t) == Op::Br) {
            let next = cx.func.successors_of(br)[0];
            let alone = cfg.predecessors(next).len() == 1 && next != head && Some(next) != entry;
            if !alone || !cx.fuel() {
                break;
            }
            join(cx.func, head, br, next);
            joined[next] = Some(head);
            info.merged_straight_line_count += 1;
        }
    }
    // Renamed at once, so that a phi with many entries is walked once.
    for &block in cfg.reverse_post_order() {
        if joined[block].is_none() {
            let phis: Vec<InstId> = cx.func.phis(block).collect();
            for phi in phis {
                for from in cx.func.inst_blocks_mut(phi) {
                    *from = joined[*from].unwrap_or(*from);
                }
            }
        }
    }
}

/// Moves the instructions of `next`, whose only predecessor is `head`, to the end of `head`.
fn join(func: &mut Function, head: BlockId, br: InstId, next: BlockId) {
    func.remove_inst(br);
    let insts: Vec<InstId> = func.insts(next).collect();
    for inst in insts {
        if func.op(inst) == Op::Phi {
            let result: Option<ValueId> = func.result(inst);
            if let (Some(result), Some(&value)) = (result, func.args(inst).first()) {
                func.replace_all_uses(result, value);
            }
            func.remove_inst(inst);
        } else {
            func.unlink_inst(inst);
            func.append_inst(head, inst);
        }
    }
    func.remove_block(next);
}

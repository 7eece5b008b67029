//! Irreducible regions made reducible.
//!
//! A region is a strongly connected part of the graph that is entered at several blocks. One of two ways makes it a loop with one
//! head, whichever adds fewer instructions:
//!
//! * a *dispatch*: every edge to an entry block writes which one into a variable and goes to a new block, which
//!   branches by it (`passes.md` section 4.4);
//! * *splitting*: one entry becomes the head, and the blocks that lead from the other entries to it are copied for those who
//!   come from outside. Blocks with volatile or convergent instructions are never copied.
//!
//! Then what is left of the region without its head is looked at in the same way, from outer to inner regions.
//! J. Janssen, H. Corporaal, "Making graphs reducible with controlled node splitting" (TOPLAS 19, 1997) on what splitting costs.
//!
//! Bound: two instructions for each edge into an entry and three for each region. Cost: linear for each level of nesting of
//! irreducible functions, and a walk over the blocks for each region; of reducible ones the dominator tree.

use super::cross_block;
use super::restructure::make_plain;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::{Data, Requires};
use crate::same_paths;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, TypeId, TypeTable, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `lower_irreducible_cfg` did.
    Info {
        change lowered_region_count "irreducible regions made reducible";
        change created_dispatch_block_count "blocks that branch to the entries of a region";
        change created_edge_block_count "blocks that say which entry an edge leads to";
        change split_block_count "blocks copied";
        note remaining_irreducible_region_count "irreducible regions left: always none";
        note error_count "regions that could not be lowered: always none";
        change canonicalized_cfg_count "functions whose phis went to memory before";
    }
}

/// The pass.
pub struct LowerIrreducibleCfg;

impl FunctionPass for LowerIrreducibleCfg {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "structured control flow has no irreducible regions",
        establishes: Requires { data: Some(Data::Memory), ..Requires::NONE },
        ..Declaration::new(
            "lower_irreducible_cfg",
            "gives every cycle one head",
            "Makes regions that are entered at several blocks reducible, by a dispatch block or by copying blocks, whichever adds fewer \
             instructions; blocks with volatile or convergent instructions are never copied. Phis go to memory in functions \
             that hold such regions.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let has_phis = cx.func.blocks().any(|b| cx.func.phis(b).next().is_some());
        // All or nothing, as the declaration promises memory form: fuel is not asked.
        if !has_phis && is_reducible(cx.func) {
            return Ok(Info::default());
        }
        let canonicalized_cfg_count = u64::from(make_plain(cx.func, cx.types));
        let plain = cx.func.clone();
        let lowered = lower(cx.func, cx.types);
        match same_paths::check(&plain, cx.func, &lowered.copies) {
            Ok(()) => Ok(Info { canonicalized_cfg_count, ..lowered.info }),
            Err(e) => {
                *cx.func = plain;
                let reason = format!("the result would not have the same paths: {e}");
                Err(cx.refuse(reason, "please report this input"))
            }
        }
    }
}

/// What [`lower`] did.
#[derive(Default)]
pub(super) struct Lowered {
    pub info: Info,
    /// The instruction that an instruction was copied from.
    pub copies: SecondaryMap<InstId, Option<InstId>>,
    /// Values that got a variable.
    pub carried: u64,
}

/// Whether every cycle has one head, which dominates it.
pub(super) fn is_reducible(func: &Function) -> bool {
    let cfg = ControlFlowGraph::compute(func);
    let dominators = DominatorTree::compute(func, &cfg);
    cfg.reverse_post_order().iter().all(|&block| {
        let is_sound =
            |&t: &BlockId| cfg.number(t) > cfg.number(block) || dominators.dominates(t, block);
        func.successors(block).iter().all(is_sound)
    })
}

/// Blocks to be looked at, and blocks beside them from which edges lead to them.
struct Task {
    nodes: Vec<BlockId>,
    sources: Vec<BlockId>,
}

impl Task {
    /// What is left of a region without its only head.
    fn without_head(blocks: &[BlockId], head: BlockId) -> Task {
        let nodes = blocks.iter().copied().filter(|b| *b != head).collect();
        Task { nodes, sources: vec![head] }
    }
}

/// Makes a plain function reducible.
pub(super) fn lower(func: &mut Function, types: &TypeTable) -> Lowered {
    let mut lowered = Lowered::default();
    if is_reducible(func) {
        return lowered;
    }
    let mut pending = vec![Task { nodes: func.blocks().collect(), sources: Vec::new() }];
    while let Some(task) = pending.pop() {
        for region in regions(func, &task) {
            if region.entries.len() < 2 {
                pending.push(Task::without_head(&region.blocks, region.entries[0]));
                continue;
            }
            lowered.info.lowered_region_count += 1;
            let dispatch_cost = 2 * region.edges + 3;
            match Split::plan(func, &region).filter(|s| s.cost <= dispatch_cost) {
                Some(split) => {
                    pending.push(split.apply(func, types, &region, &mut lowered));
                    pending.push(Task::without_head(&region.blocks, split.head));
                }
                None => pending.push(dispatch(func, types, region, &mut lowered.info)),
            }
        }
    }
    if lowered.info.lowered_region_count > 0 {
        lowered.carried += cross_block::repair(func, types);
    }
    lowered
}

/// A strongly connected part of the graph with a cycle.
struct Region {
    blocks: Vec<BlockId>,
    /// The blocks that edges from outside lead to.
    entries: Vec<BlockId>,
    /// How many edges lead to entries, from inside or outside.
    edges: usize,
}

/// The parts with cycles of the graph that these blocks span.
fn regions(func: &Function, task: &Task) -> Vec<Region> {
    let Task { nodes, sources } = task;
    let index: FxHashMap<BlockId, usize> = nodes.iter().enumerate().map(|(i, &b)| (b, i)).collect();
    let component = components(func, nodes, &index);
    let count = component.iter().copied().max().map_or(0, |m| m + 1);
    let mut regions: Vec<Region> =
        (0..count).map(|_| Region { blocks: Vec::new(), entries: Vec::new(), edges: 0 }).collect();
    let mut is_cyclic = vec![false; count];
    for (&block, &own) in nodes.iter().zip(&component) {
        regions[own].blocks.push(block);
        is_cyclic[own] |= regions[own].blocks.len() > 1 || func.successors(block).contains(&block);
    }
    let mut is_entry = vec![false; nodes.len()];
    let mut edges_to = vec![0; nodes.len()];
    for block in nodes.iter().chain(sources) {
        let from = index.get(block).map(|&i| component[i]);
        for target in func.successors(*block) {
            let Some(&to) = index.get(target) else { continue };
            edges_to[to] += 1;
            is_entry[to] |= from != Some(component[to]);
        }
    }
    for (i, &block) in nodes.iter().enumerate().filter(|&(i, _)| is_entry[i]) {
        regions[component[i]].entries.push(block);
        regions[component[i]].edges += edges_to[i];
    }
    let mut is_cyclic = is_cyclic.into_iter();
    regions.retain(|r| is_cyclic.next() == Some(true) && !r.entries.is_empty());
    regions
}

/// The number of the strongly connected component of each node. R. Tarjan, "Depth-first search and linear graph algorithms"
/// (1972), with an explicit stack.
fn components(func: &Function, nodes: &[BlockId], index: &FxHashMap<BlockId, usize>) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let mut low = vec![NONE; nodes.len()];
    let mut number = vec![NONE; nodes.len()];
    let mut component = vec![NONE; nodes.len()];
    let (mut time, mut count) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..nodes.len() {
        if number[start] != NONE {
            continue;
        }
        path.push((start, 0));
        while let Some(&(node, next)) = path.last() {
            if next == 0 {
                number[node] = time;
                low[node] = time;
                time += 1;
                open.push(node);
            }
            let Some(target) = func.successors(nodes[node]).get(next) else {
                path.pop();
                if low[node] == number[node] {
                    while let Some(member) = open.pop() {
                        component[member] = count;
                        if member == node {
                            break;
                        }
                    }
                    count += 1;
                }
                if let Some(&(above, _)) = path.last() {
                    low[above] = low[above].min(low[node]);
                }
                continue;
            };
            if let Some(last) = path.last_mut() {
                last.1 += 1;
            }
            match index.get(target) {
                Some(&target) if number[target] == NONE => path.push((target, 0)),
                Some(&target) if component[target] == NONE => {
                    low[node] = low[node].min(number[target]);
                }
                _ => {}
            }
        }
    }
    component
}

/// Routes all edges to the entries of a region over a new block, its new head. What is left of the region, with the new
/// blocks on its edges.
fn dispatch(func: &mut Function, types: &TypeTable, region: Region, info: &mut Info) -> Task {
    let which = cross_block::entry_variable(func, types, TypeId::U32);
    let which = which.unwrap_or_else(|| func.undefined(TypeId::U32));
    let Region { mut blocks, entries, .. } = region;
    let ordinal: FxHashMap<BlockId, u32> = entries.iter().copied().zip(0..).collect();
    let mut inside: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    blocks.iter().for_each(|&b| inside[b] = true);
    let head = func.append_block();
    info.created_dispatch_block_count += 1;
    let sources: Vec<(BlockId, InstId)> =
        func.blocks().filter_map(|b| Some((b, func.terminator(b)?))).collect();
    for (source, terminator) in sources {
        for i in 0..func.successors_of(terminator).len() {
            let Some(&entry) = ordinal.get(&func.successors_of(terminator)[i]) else { continue };
            let end = match func.op(terminator) {
                Op::Br => terminator,
                _ => {
                    let edge = func.append_block();
                    info.created_edge_block_count += 1;
                    if inside[source] {
                        blocks.push(edge);
                    }
                    func.inst_blocks_mut(terminator)[i] = edge;
                    Builder::at_end(func, types, edge).br(head)
                }
            };
            let mut b = Builder::before(func, types, end);
            let value = b.u32(entry);
            b.store(which, value);
            func.inst_blocks_mut(end)[0] = head;
        }
    }
    branch_by(func, types, head, which, &entries);
    Task { nodes: blocks, sources: vec![head] }
}

fn branch_by(
    func: &mut Function,
    types: &TypeTable,
    head: BlockId,
    which: ValueId,
    entries: &[BlockId],
) {
    let mut b = Builder::at_end(func, types, head);
    let value = b.load(which);
    if let [first, second] = *entries {
        let zero = b.u32(0);
        let is_first = b.arithmetic(ArithmeticOp::BinaryEqual, &[value, zero]);
        b.cond_br(is_first, first, second);
        return;
    }
    let cases = (1..entries.len() as u64).collect();
    b.inst(Op::IndexedBranch, TypeId::VOID, &[value], entries, Imm::Cases(cases));
}

/// Which blocks to copy so that a region has one head.
struct Split {
    head: BlockId,
    /// The blocks between the other entries and the head.
    blocks: Vec<BlockId>,
    /// Instructions to copy.
    cost: usize,
}

/// More entries than that are not tried as heads: a dispatch serves many entries well.
const MAX_HEADS: usize = 4;

impl Split {
    /// The cheapest splitting, if one is allowed at all.
    fn plan(func: &Function, region: &Region) -> Option<Split> {
        let mut inside: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        region.blocks.iter().for_each(|&b| inside[b] = true);
        let heads = region.entries.iter().take(MAX_HEADS);
        heads
            .filter_map(|&head| Split::with_head(func, region, &inside, head))
            .min_by_key(|s| s.cost)
    }

    fn with_head(
        func: &Function,
        region: &Region,
        inside: &SecondaryMap<BlockId, bool>,
        head: BlockId,
    ) -> Option<Split> {
        let mut split = Split { head, blocks: Vec::new(), cost: 0 };
        let mut seen: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut pending: Vec<BlockId> = region.entries.iter().copied().rev().collect();
        seen[head] = true;
        while let Some(block) = pending.pop() {
            if !inside[block] || std::mem::replace(&mut seen[block], true) {
                continue;
            }
            for inst in func.insts(block) {
                let effects = func.effects(inst);
                let stays = effects.volatile || effects.convergent;
                if stays && !func.op(inst).is_terminator() {
                    return None;
                }
                split.cost += 1;
            }
            split.blocks.push(block);
            pending.extend_from_slice(func.successors(block));
        }
        Some(split)
    }

    /// Copies the blocks and leads the edges from outside to the copies, which may hold regions in turn.
    fn apply(
        &self,
        func: &mut Function,
        types: &TypeTable,
        region: &Region,
        lowered: &mut Lowered,
    ) -> Task {
        lowered.info.split_block_count += self.blocks.len() as u64;
        lowered.carried += cross_block::spill_block_results(func, types, &self.blocks);
        let mut inside: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        region.blocks.iter().for_each(|&b| inside[b] = true);
        let outside: Vec<(BlockId, InstId)> = func
            .blocks()
            .filter(|&b| !inside[b])
            .filter_map(|b| Some((b, func.terminator(b)?)))
            .collect();
        let copy_of: FxHashMap<BlockId, BlockId> =
            self.blocks.iter().map(|&b| (b, func.append_block())).collect();
        for &block in &self.blocks {
            copy_block(func, block, &copy_of, &mut lowered.copies);
        }
        let mut sources = Vec::new();
        for (source, terminator) in outside {
            for target in func.inst_blocks_mut(terminator) {
                if let Some(&copy) = copy_of.get(target) {
                    *target = copy;
                    sources.push(source);
                }
            }
        }
        sources.dedup();
        Task { nodes: self.blocks.iter().map(|b| copy_of[b]).collect(), sources }
    }
}

/// Copies a block whose results are used inside of it only.
fn copy_block(
    func: &mut Function,
    block: BlockId,
    copy_of: &FxHashMap<BlockId, BlockId>,
    copies: &mut SecondaryMap<InstId, Option<InstId>>,
) {
    let into = copy_of[&block];
    let mut value_of: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let insts: Vec<InstId> = func.insts(block).collect();
    for inst in insts {
        let data = func.inst(inst).clone();
        let args: Vec<ValueId> =
            func.args(inst).iter().map(|a| value_of.get(a).copied().unwrap_or(*a)).collect();
        let blocks: Vec<BlockId> =
            func.inst_blocks(inst).iter().map(|b| copy_of.get(b).copied().unwrap_or(*b)).collect();
        let copy = func.create_inst(data.op, data.ty, &args, &blocks, data.imm);
        func.set_loc(copy, data.loc);
        func.append_inst(into, copy);
        copies[copy] = Some(copies[inst].unwrap_or(inst));
        if let (Some(old), Some(new)) = (func.result(inst), func.result(copy)) {
            value_of.insert(old, new);
        }
    }
}

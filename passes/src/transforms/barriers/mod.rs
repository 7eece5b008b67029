//! Threads that have ended, or never began, kept coming to the barriers of their block.
//!
//! Problem: a thread that has returned holds nobody up at a later barrier, and threads of the last blocks that lie outside of the dispatch never
//! run. SPIR-V, WGSL, HLSL and MSL want every thread of the block at every barrier: a thread that has returned leaves undefined what happens.
//!
//! What: such threads go from barrier to barrier without executing anything between. Control flow is cut at *points*: barriers, and the branches
//! that decide which barrier comes next. From each way out of a point all paths to barriers come to one point first, so a thread that has
//! ended passes by what lies between. At a deciding branch it goes where the others go: it computes the condition, if that is made of what
//! the whole block shares; else the threads that run write what they decided to shared memory and all read it behind a barrier
//! (a *vote*). A thread that leaves for code from which no barrier can be reached notes where that is, follows to the end, and goes there then.
//! In cycles of points, one barrier asks in the same way whether anyone is left, or a block that has ended would go round for ever.
//!
//! Why right: threads that run execute what they did, and at barriers they are together as before. Which branches decide is the
//! iterated post-dominance frontier of the barriers (R. Cytron et al., TOPLAS 13 (1991), on the reversed graph): between points
//! no branch leads to two different ones. A vote has three words in turn: one that is voted in, and the next, which is cleared meanwhile; the barrier
//! of the vote lies between the clearing of a word and its use, and that of the next vote between its reading and its clearing.
//! What a thread does after its last barrier is unordered with what the others do behind later ones, so it may do it later.
//!
//! Cost: linear in the code and in the frontiers. One variable for each value that crosses blocks; `mem2reg` takes them back.

mod points;
mod uniform;
mod vote;

use crate::analyses::scc::Components;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, ModuleCx, ModulePass, Refusal, counters,
};
use crate::manager::form::Requires;
use crate::manager::fuel::Fuel;
use crate::transforms::{cross_block, reg2mem};
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::ArithmeticOp::{BinaryBitAnd, BinaryEqual, BinaryLess, UnaryBitNot};
use luisac_xir::op::{Space, SpecialRegister};
use luisac_xir::{
    BlockId, Builder, Function, FunctionKind, Imm, InstId, Module, Op, TypeId, TypeTable, ValueId,
};
use points::Points;
use rustc_hash::FxHashMap;
use uniform::{Uniform, Way, alloca};
use vote::Votes;

counters! {
    /// What `keep_threads_at_barriers` did.
    Info {
        change kept_kernel_count "kernels whose threads come to every barrier";
        note shared_decision_count "branches between barriers that every thread decides for itself";
        note vote_count "branches between barriers that the running threads decide for all";
        note check_count "barriers that ask whether any thread still runs";
    }
}

/// The pass.
pub struct KeepThreadsAtBarriers;

impl ModulePass for KeepThreadsAtBarriers {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "threads that have ended follow the branches between barriers",
        ..Declaration::new(
            "keep_threads_at_barriers",
            "lets threads that have ended come to barriers",
            "Threads that returned, and those of the last blocks that lie outside of the dispatch, pass by the code between barriers instead of ending: \
             for targets where every thread of a block must come to each barrier. Callables with barriers must have been inlined; best on values, \
             so after `mem2reg`.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let Module { types, functions } = &mut *cx.module;
        for func in functions.values_mut() {
            let FunctionKind::Kernel { block_size } = func.kind else { continue };
            if !holds_up(func) || !cx.fuel.take() {
                continue;
            }
            let Some(plan) = Plan::make(func, types, block_size) else { continue };
            let needs_votes = !plan.votes.is_empty() || !plan.checks.is_empty();
            let words = match needs_votes {
                true => types.array(TypeId::U32, vote::WORDS).ok(),
                false => None,
            };
            info.kept_kernel_count += 1;
            info.shared_decision_count += plan.decisions.len() as u64;
            info.vote_count += plan.votes.len() as u64;
            info.check_count += plan.checks.len() as u64;
            Keeper::apply(func, types, plan, words);
        }
        Ok(info)
    }
}

/// Whether threads of a kernel may wait for others: a block has several, and comes to a barrier.
pub fn holds_up(func: &Function) -> bool {
    let FunctionKind::Kernel { block_size } = func.kind else { return false };
    let is_barrier = |&b: &BlockId| func.insts(b).any(|i| points::is_barrier(func, i));
    block_size != [1; 3]
        && ControlFlowGraph::compute(func).reverse_post_order().iter().any(is_barrier)
}

/// What is to be done with a kernel, whose blocks are split already.
struct Plan {
    block_size: [u32; 3],
    points: Points,
    ways: Vec<Way>,
    /// Branches whose condition all threads share.
    decisions: Vec<BlockId>,
    /// Branches between barriers that are voted on.
    votes: Vec<BlockId>,
    /// Other points where all ask whether anyone is left.
    checks: Vec<BlockId>,
    /// Whether threads end before others come to barriers.
    departs: bool,
}

impl Plan {
    /// Splits the blocks, finds the points, and puts values that cross blocks into memory.
    fn make(func: &mut Function, types: &TypeTable, block_size: [u32; 3]) -> Option<Plan> {
        cross_block::hoist_allocas(func);
        points::split(func, types);
        let cfg = ControlFlowGraph::compute(func);
        let mut points = Points::find(func, &cfg);
        let entry = func.entry()?;
        if !points.leads[entry] {
            return None;
        }
        let through = open_ways(func, types, &cfg, &mut points);
        let cfg = ControlFlowGraph::compute(func);
        points.drop_added(&cfg, &[]);
        let (ways, uniform, phis, decisions) = loop {
            let ways = current_ways(&points, &through);
            let uniform = Uniform::compute(func, &cfg, &points, &ways);
            let is_decided = |b: BlockId| {
                let end = func.terminator(b).filter(|&t| func.successors_of(t).len() > 1);
                end.is_some_and(|t| uniform.is_shared(func, func.arg(t, 0)))
            };
            let decisions: Vec<BlockId> = { cfg.reverse_post_order().iter().copied() }
                .filter(|&b| points.is_point[b] && is_decided(b))
                .collect();
            let conditions =
                decisions.iter().filter_map(|&b| Some(func.arg(func.terminator(b)?, 0)));
            let phis = uniform.phis_of(func, &ways, conditions);
            let is_needed =
                |b: BlockId| is_decided(b) || phis.iter().any(|&p| func.inst_block(p) == Some(b));
            let useless: Vec<BlockId> = { cfg.reverse_post_order().iter().copied() }
                .filter(|&b| points.added[b] && !is_needed(b))
                .collect();
            if useless.is_empty() {
                break (ways, uniform, phis, decisions);
            }
            points.drop_added(&cfg, &useless);
        };
        uniform.materialise(func, types, &ways, &phis, &decisions);
        to_memory(func, types);
        let mut plan = Plan {
            block_size,
            points,
            ways,
            decisions,
            votes: Vec::new(),
            checks: Vec::new(),
            departs: false,
        };
        plan.decide(func, &cfg);
        Some(plan)
    }

    /// Finds out where threads depart, what is voted on and where it is asked whether anyone is left.
    fn decide(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        for &block in cfg.reverse_post_order() {
            let branches = func.successors(block).len() > 1;
            if !self.points.leads[block] || !branches || self.decisions.contains(&block) {
                continue;
            }
            if self.points.is_point[block] {
                self.votes.push(block);
            }
            self.departs |= !self.points.exits(func, block).is_empty();
        }
        if self.departs {
            self.find_checks(cfg);
        }
    }

    /// Chooses points so that every cycle has one where the threads ask or vote: barriers where there are any.
    fn find_checks(&mut self, cfg: &ControlFlowGraph) {
        let mut nodes: Vec<BlockId> = { cfg.reverse_post_order().iter().copied() }
            .filter(|&b| self.points.is_point[b])
            .collect();
        nodes.retain(|b| !self.votes.contains(b));
        let mut targets: FxHashMap<BlockId, Vec<BlockId>> = FxHashMap::default();
        for way in &self.ways {
            targets.entry(way.from).or_default().push(way.to);
        }
        loop {
            let number: FxHashMap<BlockId, u32> =
                nodes.iter().enumerate().map(|(n, &b)| (b, n as u32)).collect();
            let edges: Vec<Vec<u32>> = nodes
                .iter()
                .map(|b| {
                    targets.get(b).into_iter().flatten().filter_map(|t| number.get(t).copied())
                })
                .map(Iterator::collect)
                .collect();
            let components = Components::compute(nodes.len(), |n| &edges[n as usize]);
            let mut chosen: Vec<Option<BlockId>> = vec![None; components.count as usize];
            for (n, &block) in nodes.iter().enumerate() {
                let own = components.of[n];
                let turns = edges[n].iter().any(|&t| components.of[t as usize] == own);
                let best = &mut chosen[own as usize];
                // Points without a branch are barriers or hold phis.
                let is_better = best.is_none_or(|b| !self.is_barrier(b) && self.is_barrier(block));
                if turns && is_better {
                    *best = Some(block);
                }
            }
            let chosen: Vec<BlockId> = chosen.into_iter().flatten().collect();
            if chosen.is_empty() {
                return;
            }
            nodes.retain(|b| !chosen.contains(b));
            self.checks.extend(chosen);
        }
    }

    fn is_barrier(&self, block: BlockId) -> bool {
        !self.points.added[block] && !self.decisions.contains(&block)
    }
}

/// Gives each way out of a point a block of its own; which point it leads away from.
fn open_ways(
    func: &mut Function,
    types: &TypeTable,
    cfg: &ControlFlowGraph,
    points: &mut Points,
) -> Vec<(BlockId, BlockId)> {
    let mut through = Vec::new();
    for &point in cfg.reverse_post_order() {
        if !points.is_point[point] {
            continue;
        }
        for target in points.ways(func, point) {
            let block = func.insert_block_after(point);
            Builder::at_end(func, types, block).br(target);
            redirect(func, point, target, block);
            func.rename_phi_predecessor(target, point, block);
            points.leads[block] = true;
            through.push((point, block));
        }
    }
    through
}

/// The ways between the present points.
fn current_ways(points: &Points, through: &[(BlockId, BlockId)]) -> Vec<Way> {
    let is_way = |&&(from, _): &&(BlockId, BlockId)| points.is_point[from];
    let to = |block: BlockId| points.next[block].unwrap_or(block);
    through
        .iter()
        .filter(is_way)
        .map(|&(from, block)| Way { from, through: block, to: to(block) })
        .collect()
}

/// Makes the end of `block` lead to `new` instead of `old`.
fn redirect(func: &mut Function, block: BlockId, old: BlockId, new: BlockId) {
    let Some(end) = func.terminator(block) else { return };
    for target in func.inst_blocks_mut(end) {
        if *target == old {
            *target = new;
        }
    }
}

/// Phis and values that cross blocks become variables.
fn to_memory(func: &mut Function, types: &TypeTable) {
    let fuel = Fuel::unlimited();
    let mut cx = FunctionCx { func, types, fuel: &fuel };
    // The pass refuses nothing.
    let _ = reg2mem::Reg2Mem::run(&mut cx, &reg2mem::Options::default());
}

/// How a thread knows whether it runs.
#[derive(Clone, Copy)]
enum Running {
    /// This truth value holds from the start to the end.
    Inside(ValueId),
    /// This variable is zero, else the number of what is left to do.
    Left(ValueId),
}

/// Nothing is left to do.
const DONE: u32 = 1;

struct Keeper<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    running: Running,
    votes: Option<Votes>,
    /// Where threads that have ended come to a point.
    meet: SecondaryMap<BlockId, Option<BlockId>>,
    /// Where all threads come to in the end.
    end: BlockId,
    /// What is left to do behind the last barrier, from the number `DONE + 1` on.
    targets: Vec<BlockId>,
}

impl Keeper<'_> {
    fn apply(func: &mut Function, types: &TypeTable, plan: Plan, words: Option<TypeId>) {
        let Some(entry) = func.entry() else { return };
        let votes = words.and_then(|ty| Votes::new(func, ty));
        let Some(start) = func.terminator(entry) else { return };
        let running = match plan.departs {
            true => alloca(func, Space::Local, TypeId::U32).map(Running::Left),
            false => None,
        };
        let inside = is_inside(&mut Builder::before(func, types, start), plan.block_size);
        let running = running.unwrap_or(Running::Inside(inside));
        match running {
            Running::Inside(inside) => func.set_name(inside, "inside"),
            Running::Left(left) => {
                func.set_name(left, "left");
                let mut b = Builder::before(func, types, start);
                let outside = b.arithmetic(UnaryBitNot, &[inside]);
                let number = b.static_cast(outside, TypeId::U32);
                b.store(left, number);
            }
        }
        let end = func.append_block();
        let meet = SecondaryMap::new();
        let mut keeper = Keeper { func, types, running, votes, meet, end, targets: Vec::new() };
        keeper.leave_between(&plan);
        keeper.leave_at_points(&plan);
        plan.votes.iter().for_each(|&b| keeper.vote(&plan, b));
        plan.checks.iter().for_each(|&b| keeper.check(b));
        plan.ways.iter().for_each(|&way| keeper.pass_by(way));
        keeper.finish();
        // Last, as it divides the entry block.
        if let Some(votes) = votes {
            votes.begin(keeper.func, keeper.types, start);
        }
    }

    fn is_running(&mut self, at: InstId) -> ValueId {
        let mut b = Builder::before(self.func, self.types, at);
        match self.running {
            Running::Inside(inside) => inside,
            Running::Left(slot) => {
                let left = b.load(slot);
                let none = b.u32(0);
                b.arithmetic(BinaryEqual, &[left, none])
            }
        }
    }

    /// The number of what a thread has left to do that leaves for a block.
    fn number_of(&mut self, target: BlockId) -> u32 {
        let first = self.func.first_inst(target);
        if first.is_some_and(|i| self.func.op(i) == Op::Return) {
            return DONE;
        }
        let known = self.targets.iter().position(|&t| t == target);
        let at = known.unwrap_or_else(|| {
            self.targets.push(target);
            self.targets.len() - 1
        });
        DONE + 1 + at as u32
    }

    /// A block in which a thread notes that it leaves for `target`; it has no end yet.
    fn leaving(&mut self, behind: BlockId, target: BlockId) -> BlockId {
        let number = self.number_of(target);
        let block = self.func.insert_block_after(behind);
        if let Running::Left(left) = self.running {
            let mut b = Builder::at_end(self.func, self.types, block);
            let number = b.u32(number);
            b.store(left, number);
        }
        block
    }

    /// Exits between points: the thread ends, and comes to the next point.
    fn leave_between(&mut self, plan: &Plan) {
        let blocks: Vec<BlockId> = self.func.blocks().collect();
        for block in blocks {
            if !plan.points.leads[block] || plan.points.is_point[block] {
                continue;
            }
            let Some(next) = plan.points.next[block] else { continue };
            for target in plan.points.exits(self.func, block) {
                let leaving = self.leaving(block, target);
                redirect(self.func, block, target, leaving);
                // Where ended threads come to the point is not known yet.
                let meet = self.meeting(plan, next);
                Builder::at_end(self.func, self.types, leaving).br(meet);
            }
        }
    }

    /// Exits that all threads take together: who runs goes there, the others to the end.
    fn leave_at_points(&mut self, plan: &Plan) {
        let blocks: Vec<BlockId> = self.func.blocks().collect();
        for block in blocks {
            let is_point = plan.points.leads[block] && plan.points.is_point[block];
            if !is_point || plan.votes.contains(&block) {
                continue;
            }
            for target in plan.points.exits(self.func, block) {
                let first = self.func.first_inst(target);
                if first.is_some_and(|i| self.func.op(i) == Op::Return) {
                    redirect(self.func, block, target, self.end);
                    continue;
                }
                let fork = self.func.insert_block_after(block);
                redirect(self.func, block, target, fork);
                let placeholder = Builder::at_end(self.func, self.types, fork).br(target);
                let running = self.is_running(placeholder);
                self.func.remove_inst(placeholder);
                let end = self.end;
                Builder::at_end(self.func, self.types, fork).cond_br(running, target, end);
            }
        }
    }

    /// Where threads that have ended come to a point: a block of its own if those that run say something before.
    fn meeting(&mut self, plan: &Plan, point: BlockId) -> BlockId {
        if !plan.votes.contains(&point) && !plan.checks.contains(&point) {
            return point;
        }
        if let Some(meet) = self.meet[point] {
            return meet;
        }
        let meet = self.func.insert_block_after(point);
        self.meet[point] = Some(meet);
        meet
    }

    /// The running threads say which way they go, or that they leave; all go where most of them say.
    fn vote(&mut self, plan: &Plan, point: BlockId) {
        let Some(votes) = self.votes else { return };
        let meet = self.meeting(plan, point);
        let ways = plan.points.ways(self.func, point);
        let exits = plan.points.exits(self.func, point);
        for (i, &way) in ways.iter().enumerate() {
            let says = self.func.insert_block_after(point);
            redirect(self.func, point, way, says);
            let mut b = Builder::at_end(self.func, self.types, says);
            votes.say(&mut b, i as u32 + 1);
            b.br(meet);
        }
        for target in exits {
            let leaving = self.leaving(point, target);
            redirect(self.func, point, target, leaving);
            Builder::at_end(self.func, self.types, leaving).br(meet);
        }
        let placeholder = Builder::at_end(self.func, self.types, meet).br(self.end);
        let said = votes.hear(self.func, self.types, placeholder, None);
        let Some(last) = self.func.inst_block(placeholder) else { return };
        self.func.remove_inst(placeholder);
        let mut b = Builder::at_end(self.func, self.types, last);
        let mut blocks = vec![self.end];
        blocks.extend_from_slice(&ways);
        let cases: Box<[u64]> = (1..=ways.len() as u64).collect();
        b.inst(Op::IndexedBranch, TypeId::VOID, &[said], &blocks, Imm::Cases(cases));
    }

    /// The running threads say that they run; if nobody does, all go to the end.
    fn check(&mut self, point: BlockId) {
        let Some(votes) = self.votes else { return };
        let Some(first) = self.func.first_inst(point) else { return };
        let tail = self.func.split_block(first);
        let mut b = Builder::at_end(self.func, self.types, point);
        votes.say(&mut b, 1);
        let meet = match self.meet[point] {
            Some(meet) => {
                b.br(meet);
                Builder::at_end(self.func, self.types, meet).br(tail);
                meet
            }
            None => {
                b.br(tail);
                self.meet[point] = Some(tail);
                tail
            }
        };
        let Some(at) = self.func.first_inst(meet) else { return };
        // A barrier of the kernel serves.
        let barrier = points::is_barrier(self.func, first).then_some(first);
        let at = barrier.unwrap_or(at);
        let said = votes.hear(self.func, self.types, at, barrier);
        let Some(next) = self.func.def_inst(said).and_then(|i| self.func.next_inst(i)) else {
            return;
        };
        let mut b = Builder::before(self.func, self.types, next);
        let none = b.u32(0);
        let nobody = b.arithmetic(BinaryEqual, &[said, none]);
        let Some(head) = self.func.inst_block(next) else { return };
        let rest = self.func.split_block(next);
        let end = self.end;
        Builder::at_end(self.func, self.types, head).cond_br(nobody, end, rest);
    }

    /// Threads that have ended go on to the next point.
    fn pass_by(&mut self, way: Way) {
        let Some(end) = self.func.terminator(way.through) else { return };
        let Some(&first) = self.func.successors_of(end).first() else { return };
        let meet = self.meet[way.to].unwrap_or(way.to);
        if first == meet {
            return;
        }
        let running = self.is_running(end);
        self.func.remove_inst(end);
        Builder::at_end(self.func, self.types, way.through).cond_br(running, first, meet);
    }

    /// The end: what each thread has left to do.
    fn finish(&mut self) {
        let end = self.end;
        let Running::Left(left) = self.running else {
            Builder::at_end(self.func, self.types, end).ret(None);
            return;
        };
        if self.targets.is_empty() {
            Builder::at_end(self.func, self.types, end).ret(None);
            return;
        }
        let done = self.func.append_block();
        let mut b = Builder::at_end(self.func, self.types, end);
        let number = b.load(left);
        let mut blocks = vec![done];
        blocks.extend_from_slice(&self.targets);
        let first = u64::from(DONE) + 1;
        let cases: Box<[u64]> = (first..first + self.targets.len() as u64).collect();
        b.inst(Op::IndexedBranch, TypeId::VOID, &[number], &blocks, Imm::Cases(cases));
        b.switch_to(done);
        b.ret(None);
    }
}

/// Whether the thread lies in the dispatch. Where a block has one thread in a direction, all do.
fn is_inside(b: &mut Builder<'_>, block_size: [u32; 3]) -> ValueId {
    let here = b.func.special(SpecialRegister::DispatchId);
    let size = b.func.special(SpecialRegister::DispatchSize);
    let mut inside = None;
    for (i, _) in (0u32..).zip(block_size).filter(|(_, threads)| *threads > 1) {
        let (at, count) = (b.extract(here, i), b.extract(size, i));
        let is_below = b.arithmetic(BinaryLess, &[at, count]);
        inside = Some(match inside {
            Some(others) => b.arithmetic(BinaryBitAnd, &[others, is_below]),
            None => is_below,
        });
    }
    inside.unwrap_or_else(|| b.func.bool_constant(true))
}

//! Local memory to SSA values.
//!
//! What: removes local allocas that are only loaded and stored as a whole; their loads become the value stored last, joined by
//! phis where paths with different stores meet.
//! Why right: phis stand at the iterated dominance frontier of the stores, restricted to blocks where the variable is read
//! later (pruned SSA); a read before any write yields zero, as locals are zero when the function is entered.
//! Cost: for each variable the blocks that it is live in, up to a budget that is linear in the blocks: counters of thousands of
//! loops inside each other would take the square. Variables beyond it stay in memory. Variables of one block, and of one store that dominates all reads,
//! cost their uses only. Source: V. Sreedhar, G. Gao, "A linear time algorithm for placing
//! phi-nodes", POPL 1995; renaming after R. Cytron et al., TOPLAS 13 (1991).

use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use crate::manager::form::Requires;
use crate::same_values;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeTable;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};
use std::collections::BinaryHeap;

counters! {
    /// What `mem2reg` did.
    Info {
        change promoted_alloca_count "allocas removed";
        change removed_store_count "stores removed";
        change removed_load_count "loads replaced by values";
        change inserted_phi_count "phis inserted";
        note skipped_alloca_count "allocas kept since together they are live in too many blocks";
    }
}

/// Larger variables stay in memory: as values they would be copied whole.
const MAX_BYTES: u64 = 256;

/// All variables together are followed through so many blocks, and so many more for each block that there is.
const MIN_LIVE: usize = 1 << 23;
const LIVE_PER_BLOCK: usize = 256;

/// The pass.
pub struct Mem2Reg;

impl FunctionPass for Mem2Reg {
    const DECLARATION: Declaration = Declaration {
        establishes: Requires::PHIS,
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        proof: Some(same_values::check),
        ..Declaration::new(
            "mem2reg",
            "turns local variables into values",
            "Promotes local allocas that are only loaded and stored as a whole to SSA values with phis. A read before any \
             write yields zero. Variables above 256 bytes, with geps, or passed by reference stay.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let variables = promotable(cx);
        let mut info = Info::default();
        if variables.is_empty() {
            return Ok(info);
        }
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let placement = Placement::new(cx.func, &cfg, &dominators, &variables);
        let found = variables.len();
        let (variables, phis) = placement.place(cx, variables);
        info.skipped_alloca_count = (found - variables.len()) as u64;
        info.promoted_alloca_count = variables.len() as u64;
        info.inserted_phi_count = phis.count;
        Renaming::new(cx.types, &variables, phis).run(cx.func, &cfg, &dominators, &mut info);
        for alloca in variables {
            cx.func.remove_inst(alloca);
        }
        Ok(info)
    }
}

/// The allocas to promote, in order.
fn promotable(cx: &FunctionCx<'_>) -> Vec<InstId> {
    let mut found = Vec::new();
    for block in cx.func.blocks() {
        for inst in cx.func.insts(block) {
            if is_promotable(cx.func, cx.types, inst) && cx.fuel() {
                found.push(inst);
            }
        }
    }
    found
}

fn is_promotable(func: &Function, types: &TypeTable, alloca: InstId) -> bool {
    let ty = func.inst(alloca).ty;
    if func.op(alloca) != Op::Alloca(Space::Local)
        || !types.is_data(ty)
        || types.size(ty) > MAX_BYTES
    {
        return false;
    }
    let Some(value) = func.result(alloca) else { return false };
    func.uses(value).all(|(user, index)| match func.op(user) {
        Op::Load => func.inst(user).ty == ty,
        Op::Store => index == 0 && func.value_type(func.arg(user, 1)) == ty,
        _ => false,
    })
}

// ---- where phis go

/// The phis of all variables, by block.
#[derive(Default)]
struct Phis {
    /// (variable, phi), in the order of variables.
    at: SecondaryMap<BlockId, Vec<(u32, InstId)>>,
    count: u64,
}

struct Placement<'a> {
    cfg: &'a ControlFlowGraph,
    dominators: &'a DominatorTree,
    /// Depth in the dominator tree.
    level: SecondaryMap<BlockId, u32>,
    /// Position of loads and stores in their block, among loads and stores.
    order: SecondaryMap<InstId, u32>,
    /// Sets of blocks of one variable, by the variable's number plus one.
    defines: SecondaryMap<BlockId, u32>,
    live: SecondaryMap<BlockId, u32>,
    visited: SecondaryMap<BlockId, u32>,
    placed: SecondaryMap<BlockId, u32>,
    /// How many more blocks liveness may spread to.
    budget: usize,
}

impl<'a> Placement<'a> {
    fn new(
        func: &Function,
        cfg: &'a ControlFlowGraph,
        dominators: &'a DominatorTree,
        variables: &[InstId],
    ) -> Self {
        let mut level: SecondaryMap<BlockId, u32> = SecondaryMap::new();
        for block in dominators.preorder() {
            if let Some(parent) = dominators.immediate_dominator(block) {
                level[block] = level[parent] + 1;
            }
        }
        let mut order: SecondaryMap<InstId, u32> = SecondaryMap::with_capacity(func.inst_count());
        if !variables.is_empty() {
            for block in func.blocks() {
                let accesses =
                    func.insts(block).filter(|&i| matches!(func.op(i), Op::Load | Op::Store));
                for (i, inst) in accesses.enumerate() {
                    order[inst] = i as u32;
                }
            }
        }
        Placement {
            cfg,
            dominators,
            level,
            order,
            defines: SecondaryMap::new(),
            live: SecondaryMap::new(),
            visited: SecondaryMap::new(),
            placed: SecondaryMap::new(),
            budget: MIN_LIVE + LIVE_PER_BLOCK * func.block_count(),
        }
    }

    /// Inserts empty phis for the variables; gives those that are within the budget, and the phis by their positions.
    fn place(mut self, cx: &mut FunctionCx<'_>, variables: Vec<InstId>) -> (Vec<InstId>, Phis) {
        let mut phis = Phis::default();
        let mut kept = Vec::with_capacity(variables.len());
        for (position, alloca) in variables.into_iter().enumerate() {
            let Some(blocks) = self.blocks_for(cx.func, position as u32 + 1, alloca) else {
                continue;
            };
            let number = kept.len() as u32;
            kept.push(alloca);
            let ty = cx.func.inst(alloca).ty;
            let name = cx.func.result(alloca).and_then(|v| cx.func.name_of(v)).map(String::from);
            for block in blocks {
                let phi = cx.func.create_inst(Op::Phi, ty, &[], &[], Imm::None);
                match phis.at[block].last() {
                    Some(&(_, last)) => cx.func.insert_after(phi, last),
                    None => cx.func.prepend_inst(block, phi),
                }
                if let (Some(name), Some(value)) = (&name, cx.func.result(phi)) {
                    cx.func.set_name(value, name.as_str());
                }
                phis.at[block].push((number, phi));
                phis.count += 1;
            }
        }
        (kept, phis)
    }

    /// The blocks that need a phi of the variable; `None` if the budget does not reach.
    fn blocks_for(&mut self, func: &Function, stamp: u32, alloca: InstId) -> Option<Vec<BlockId>> {
        let (loads, stores) = self.accesses(func, alloca);
        if stores.is_empty() || self.one_store_dominates(func, &stores, &loads) {
            return Some(Vec::new());
        }
        let mut define_blocks = Vec::new();
        let mut first_store: Vec<(BlockId, u32)> = Vec::new();
        for &store in &stores {
            let Some(block) = func.inst_block(store) else { continue };
            first_store.push((block, self.order[store]));
            if self.defines[block] != stamp {
                self.defines[block] = stamp;
                define_blocks.push(block);
            }
        }
        first_store.sort_unstable();
        first_store.dedup_by_key(|(block, _)| *block);
        let exposed = self.exposed_blocks(func, stamp, &loads, &first_store);
        if exposed.is_empty() {
            return Some(Vec::new());
        }
        let spread = self.spread_liveness(stamp, exposed);
        spread.then(|| self.iterated_frontier(func, stamp, define_blocks))
    }

    /// Reachable loads and stores of a variable.
    fn accesses(&self, func: &Function, alloca: InstId) -> (Vec<InstId>, Vec<InstId>) {
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        let Some(value) = func.result(alloca) else { return (loads, stores) };
        for (user, _) in func.uses(value) {
            if func.inst_block(user).is_none_or(|b| !self.cfg.is_reachable(b)) {
                continue;
            }
            if func.op(user) == Op::Load { loads.push(user) } else { stores.push(user) }
        }
        (loads, stores)
    }

    fn one_store_dominates(&self, func: &Function, stores: &[InstId], loads: &[InstId]) -> bool {
        let [store] = stores else { return false };
        let Some(block) = func.inst_block(*store) else { return false };
        loads.iter().all(|&load| match func.inst_block(load) {
            Some(b) if b == block => self.order[*store] < self.order[load],
            Some(b) => self.dominators.dominates(block, b),
            None => true,
        })
    }

    /// The blocks that read the variable before they write it.
    fn exposed_blocks(
        &mut self,
        func: &Function,
        stamp: u32,
        loads: &[InstId],
        first_store: &[(BlockId, u32)],
    ) -> Vec<BlockId> {
        let mut exposed = Vec::new();
        for &load in loads {
            let Some(block) = func.inst_block(load) else { continue };
            let stored = first_store.binary_search_by_key(&block, |(b, _)| *b);
            let is_exposed =
                stored.is_err() || stored.is_ok_and(|i| self.order[load] < first_store[i].1);
            if is_exposed && self.live[block] != stamp {
                self.live[block] = stamp;
                exposed.push(block);
            }
        }
        exposed
    }

    /// Marks all blocks at whose start the variable is live; false if the budget does not reach.
    fn spread_liveness(&mut self, stamp: u32, mut pending: Vec<BlockId>) -> bool {
        while let Some(block) = pending.pop() {
            for &pred in self.cfg.predecessors(block) {
                if self.defines[pred] != stamp && self.live[pred] != stamp {
                    let Some(rest) = self.budget.checked_sub(1) else { return false };
                    self.budget = rest;
                    self.live[pred] = stamp;
                    pending.push(pred);
                }
            }
        }
        true
    }

    fn iterated_frontier(
        &mut self,
        func: &Function,
        stamp: u32,
        define_blocks: Vec<BlockId>,
    ) -> Vec<BlockId> {
        let mut result = Vec::new();
        let mut roots: BinaryHeap<(u32, u32, BlockId)> = BinaryHeap::new();
        for block in define_blocks {
            self.push_root(&mut roots, block);
        }
        // Deepest first, so that no subtree is walked twice.
        while let Some((root_level, _, root)) = roots.pop() {
            let mut pending = vec![root];
            self.visited[root] = stamp;
            while let Some(block) = pending.pop() {
                for &target in func.successors(block) {
                    let joins = self.level[target] <= root_level && self.placed[target] != stamp;
                    if joins && self.live[target] == stamp {
                        self.placed[target] = stamp;
                        result.push(target);
                        if self.defines[target] != stamp {
                            self.push_root(&mut roots, target);
                        }
                    }
                }
                // Where the variable is not live, what is live below was written below, and has a root of its own.
                for child in self.dominators.children(block) {
                    let passes = self.live[child] == stamp && self.defines[child] != stamp;
                    if passes && self.visited[child] != stamp {
                        self.visited[child] = stamp;
                        pending.push(child);
                    }
                }
            }
        }
        result.sort_unstable_by_key(|&b| self.cfg.number(b));
        result
    }

    fn push_root(&self, roots: &mut BinaryHeap<(u32, u32, BlockId)>, block: BlockId) {
        let number = self.cfg.number(block).unwrap_or(0) as u32;
        roots.push((self.level[block], number, block));
    }
}

// ---- renaming

struct Renaming<'a> {
    types: &'a TypeTable,
    variables: &'a [InstId],
    phis: Phis,
    /// Number plus one of the variable that an alloca is.
    number: SecondaryMap<ValueId, u32>,
    /// Present value of each variable; none: zero.
    current: Vec<Option<ValueId>>,
}

impl<'a> Renaming<'a> {
    fn new(types: &'a TypeTable, variables: &'a [InstId], phis: Phis) -> Self {
        let current = vec![None; variables.len()];
        Renaming { types, variables, phis, number: SecondaryMap::new(), current }
    }

    fn run(
        mut self,
        func: &mut Function,
        cfg: &ControlFlowGraph,
        dominators: &DominatorTree,
        info: &mut Info,
    ) {
        for (i, &alloca) in self.variables.iter().enumerate() {
            if let Some(value) = func.result(alloca) {
                self.number[value] = i as u32 + 1;
            }
        }
        enum Step {
            Enter(BlockId),
            Restore(u32, Option<ValueId>),
        }
        let mut pending: Vec<Step> = func.entry().map(Step::Enter).into_iter().collect();
        while let Some(step) = pending.pop() {
            match step {
                Step::Restore(variable, value) => self.current[variable as usize] = value,
                Step::Enter(block) => {
                    let mut undo = Vec::new();
                    self.block(func, block, info, &mut undo);
                    pending.extend(undo.into_iter().map(|(v, old)| Step::Restore(v, old)));
                    pending.extend(dominators.children(block).map(Step::Enter));
                }
            }
        }
        self.unreachable_accesses(func, cfg, info);
    }

    fn value(&self, func: &mut Function, variable: u32) -> ValueId {
        match self.current[variable as usize] {
            Some(value) => value,
            None => func.zero(func.inst(self.variables[variable as usize]).ty, self.types),
        }
    }

    fn block(
        &mut self,
        func: &mut Function,
        block: BlockId,
        info: &mut Info,
        undo: &mut Vec<(u32, Option<ValueId>)>,
    ) {
        for &(variable, phi) in &self.phis.at[block] {
            undo.push((variable, self.current[variable as usize]));
            self.current[variable as usize] = func.result(phi);
        }
        let mut next = func.first_inst(block);
        while let Some(inst) = next {
            next = func.next_inst(inst);
            let Some(variable) = self.variable_of(func, inst) else { continue };
            if func.op(inst) == Op::Load {
                let value = self.value(func, variable);
                util::replace_and_remove(func, inst, value);
                info.removed_load_count += 1;
            } else {
                undo.push((variable, self.current[variable as usize]));
                self.current[variable as usize] = Some(func.arg(inst, 1));
                func.remove_inst(inst);
                info.removed_store_count += 1;
            }
        }
        self.fill_successors(func, block);
    }

    /// The variable that a load or store accesses.
    fn variable_of(&self, func: &Function, inst: InstId) -> Option<u32> {
        match func.op(inst) {
            Op::Load | Op::Store => self.number[func.arg(inst, 0)].checked_sub(1),
            _ => None,
        }
    }

    fn fill_successors(&mut self, func: &mut Function, block: BlockId) {
        let mut targets = func.successors(block).to_vec();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            for i in 0..self.phis.at[target].len() {
                let (variable, phi) = self.phis.at[target][i];
                let value = self.value(func, variable);
                func.push_arg(phi, value);
                func.inst_blocks_mut(phi).push(block);
            }
        }
    }

    /// In blocks that never run loads give zero and stores go.
    fn unreachable_accesses(&self, func: &mut Function, cfg: &ControlFlowGraph, info: &mut Info) {
        let blocks: Vec<BlockId> = func.blocks().filter(|&b| !cfg.is_reachable(b)).collect();
        for block in blocks {
            let insts: Vec<InstId> = func.insts(block).collect();
            for inst in insts {
                if self.variable_of(func, inst).is_none() {
                    continue;
                }
                if func.op(inst) == Op::Load {
                    let zero = func.zero(func.inst(inst).ty, self.types);
                    util::replace_and_remove(func, inst, zero);
                    info.removed_load_count += 1;
                } else {
                    func.remove_inst(inst);
                    info.removed_store_count += 1;
                }
            }
        }
    }
}

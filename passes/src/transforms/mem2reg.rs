//! Local memory to SSA values.
//!
//! What: removes local allocas that are only loaded and stored as a whole; their loads become the value stored last, joined by
//! phis where paths with different stores meet.
//! Why right: phis stand at the iterated dominance frontier of the stores, restricted to blocks where the variable is read
//! later (pruned SSA); a read before any write yields zero, as locals are zero when the function is entered.
//! Cost: for each variable the blocks that touch it and the joins of their values, whatever lies between; a block that gives it a value
//! before all else bounds where they are looked for. The sum has a budget, linear in the blocks; variables beyond it stay in memory.
//! Source: V. Sreedhar, G. Gao, "A linear time algorithm for placing phi-nodes", POPL 1995, by way of [`crate::analyses::joins`];
//! renaming after R. Cytron et al., TOPLAS 13 (1991).

use super::util;
use crate::analyses::joins::{Joins, Touches};
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

counters! {
    /// What `mem2reg` did.
    Info {
        change promoted_alloca_count "allocas removed";
        change removed_store_count "stores removed";
        change removed_load_count "loads replaced by values";
        change inserted_phi_count "phis inserted";
        note skipped_alloca_count "allocas kept since their values meet in too many places";
    }
}

/// Larger variables stay in memory: as values they would be copied whole.
const MAX_BYTES: u64 = 256;

/// The placement of all phis may take so many steps, and so many more for each block that there is.
const MIN_STEPS: usize = 1 << 23;
const STEPS_PER_BLOCK: usize = 256;

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
        let placement = Placement::new(cx.func, &cfg, &dominators);
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
    joins: Joins<'a>,
    /// Position of loads and stores in their block, among loads and stores.
    order: SecondaryMap<InstId, u32>,
    /// By place: the variable that is stored there, by its number plus one, and the position of its first store.
    stored: Vec<(u32, u32)>,
    /// By place: the variable that is read there before it is stored.
    exposed: Vec<u32>,
    /// How many more steps the placement of all variables may take.
    budget: usize,
}

impl<'a> Placement<'a> {
    fn new(func: &Function, cfg: &'a ControlFlowGraph, dominators: &DominatorTree) -> Self {
        let mut order: SecondaryMap<InstId, u32> = SecondaryMap::with_capacity(func.inst_count());
        for block in func.blocks() {
            let accesses =
                func.insts(block).filter(|&i| matches!(func.op(i), Op::Load | Op::Store));
            for (i, inst) in accesses.enumerate() {
                order[inst] = i as u32;
            }
        }
        let count = cfg.reverse_post_order().len();
        Placement {
            cfg,
            joins: Joins::compute(func, cfg, dominators),
            order,
            stored: vec![(0, 0); count],
            exposed: vec![0; count],
            budget: MIN_STEPS + STEPS_PER_BLOCK * func.block_count(),
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
            if blocks.is_empty() {
                continue;
            }
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

    /// The blocks that need a phi of the variable, in reverse post-order; `None` if the budget does not reach.
    fn blocks_for(&mut self, func: &Function, stamp: u32, alloca: InstId) -> Option<Vec<BlockId>> {
        let touches = self.touches(func, stamp, alloca);
        // All stores in the block that comes before all else: they reach every read in order.
        let one_block = touches.within.is_some() && touches.defines.len() == 1;
        if touches.defines.is_empty() || touches.exposed.is_empty() || one_block {
            return Some(Vec::new());
        }
        let places = self.joins.live_frontier(&touches, &mut self.budget)?;
        let mut blocks: Vec<BlockId> = places.into_iter().map(|p| self.joins.block(p)).collect();
        blocks.sort_unstable_by_key(|&b| self.cfg.number(b));
        Some(blocks)
    }

    /// Where the variable is stored and read on paths that can run.
    fn touches(&mut self, func: &Function, stamp: u32, alloca: InstId) -> Touches {
        let mut touches = Touches::default();
        let Some(variable) = func.result(alloca) else { return touches };
        let accesses = |op: Op| {
            func.uses(variable).map(|(user, _)| user).filter(move |&user| func.op(user) == op)
        };
        let (mut top, mut last) = (u32::MAX, 0);
        for store in accesses(Op::Store) {
            let Some(place) = func.inst_block(store).and_then(|b| self.joins.place(b)) else {
                continue;
            };
            (top, last) = (top.min(place), last.max(place));
            let (seen, first) = &mut self.stored[place as usize];
            if std::mem::replace(seen, stamp) != stamp {
                touches.defines.push(place);
                *first = u32::MAX;
            }
            *first = self.order[store].min(*first);
        }
        for load in accesses(Op::Load) {
            let Some(place) = func.inst_block(load).and_then(|b| self.joins.place(b)) else {
                continue;
            };
            (top, last) = (top.min(place), last.max(place));
            let (seen, first) = self.stored[place as usize];
            let reads_first = seen != stamp || self.order[load] < first;
            if reads_first && std::mem::replace(&mut self.exposed[place as usize], stamp) != stamp {
                touches.exposed.push(place);
            }
        }
        let starts = top != u32::MAX
            && self.stored[top as usize].0 == stamp
            && self.exposed[top as usize] != stamp;
        touches.within = (starts && self.joins.dominates(top, last)).then_some(top);
        touches
    }
}

// ---- renaming

/// What is left to do on a walk down the dominator tree; the last comes first.
enum Step {
    Enter(BlockId),
    /// The value that a variable had in front of a block.
    Restore(u32, Option<ValueId>),
}

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
        let mut pending: Vec<Step> = func.entry().map(Step::Enter).into_iter().collect();
        while let Some(step) = pending.pop() {
            match step {
                Step::Restore(variable, value) => self.current[variable as usize] = value,
                Step::Enter(block) => {
                    self.block(func, block, info, &mut pending);
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
        undo: &mut Vec<Step>,
    ) {
        for &(variable, phi) in &self.phis.at[block] {
            undo.push(Step::Restore(variable, self.current[variable as usize]));
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
                undo.push(Step::Restore(variable, self.current[variable as usize]));
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
        if func.successors(block).iter().all(|&t| self.phis.at[t].is_empty()) {
            return;
        }
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

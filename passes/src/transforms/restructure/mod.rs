//! Branches to structured control flow.
//!
//! What: `cond_br` -> `if`, `indexed_branch` -> `switch`, natural loops -> `loop` (tested by their header) or `simple_loop`, edges
//! that leave a loop or go on with its next round -> `break` and `continue`. Every block stays in one copy. Irreducible regions
//! are made reducible first (see `lower_irreducible_cfg`).
//!
//! How: after N. Ramsey, "Beyond Relooper: recursive translation of unstructured control flow to structured control flow" (ICFP
//! 2022): the dominator tree says what is inside of what, and reverse post-order in which sequence joins follow. XIR has
//! no labelled blocks to leave by name; where paths with different targets come to one merge, they have written their
//! target into a *selector* before, and each join but the last stands behind a test of it, as in H. Bahmann et al., "Perfect
//! reconstructability of control flow from demand dependence graphs" (TACO 2015). See `shape` and `emit`.
//!
//! Why right: a block is reached on the paths of the flat function and on no others, which [`same_paths`] proves for every single
//! run: if it does not succeed, the function is left as it was. A join is tested only where some path passes it by, so what all threads
//! execute together stays unconditional, and threads meet where they met before: in front of the join, and at the end of a round.
//!
//! Bound: a block and a `store` for each edge, four instructions and two blocks for each join or exit, one block for each
//! construct, a variable for each value whose definition ceases to dominate a use.
//! Cost: nearly linear.

mod emit;
mod pending;
mod shape;

use super::cross_block;
use super::irreducible;
use super::util;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::{Control, Data, Requires};
use crate::same_paths;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, TypeId, TypeTable, ValueId};
use shape::Shape;

counters! {
    /// What `restructure_cfg` did.
    Info {
        change restructured_loop_count "loops written as `loop` or `simple_loop`";
        change restructured_if_count "`cond_br` written as `if`";
        change restructured_switch_count "`indexed_branch` written as `switch`";
        change canonicalized_cfg_count "functions brought into a plain form before: phis in memory, branches with one target, no unreachable block, blocks in order";
        change lowered_region_count "irreducible regions made reducible before";
        change guard_count "joins and exits put behind a test of the selector";
        change selector_store_count "targets written into the selector";
        change carried_value_count "values brought to their uses by a variable";
        note irreducible_region_count "irreducible regions that stopped the pass: always none";
    }
}

/// The pass.
pub struct RestructureCfg;

impl FunctionPass for RestructureCfg {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "constructs are found in a graph of branches; those that are there already would be torn apart",
        establishes: Requires {
            control: Some(Control::Structured),
            data: Some(Data::Memory),
            ..Requires::NONE
        },
        ..Declaration::new(
            "restructure_cfg",
            "turns branches into structured control flow",
            "Writes branches as `if`, `switch`, `loop` and `simple_loop` with `break` and `continue`, every block once; paths that share a \
             merge but not a target are told apart by a selector variable. Takes every valid flat function: irreducible regions are \
             lowered before, phis go to memory. Each result is proved to have the paths of the flat function before it is kept.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        // All or nothing: structured control flow is what the declaration promises, so fuel is not asked.
        let has_branches = cx
            .func
            .blocks()
            .filter_map(|b| cx.func.terminator(b))
            .any(|t| !cx.func.successors_of(t).is_empty());
        if !has_branches {
            return Ok(info);
        }
        let before = cx.func.clone();
        let result = restructure(cx, &mut info);
        if result.is_err() {
            *cx.func = before;
        }
        result.map(|()| info)
    }
}

fn restructure(cx: &mut FunctionCx<'_>, info: &mut Info) -> Result<(), Refusal> {
    let help = "please report this input";
    info.canonicalized_cfg_count += u64::from(make_plain(cx.func, cx.types));
    let plain = cx.func.clone();
    let lowered = irreducible::lower(cx.func, cx.types);
    info.lowered_region_count = lowered.info.lowered_region_count;
    if !irreducible::is_reducible(cx.func) {
        return Err(cx.refuse("an irreducible region is left", help));
    }
    let shape = Shape::compute(cx.func);
    let mut selector = Selector::default();
    emit::emit(cx.func, cx.types, &shape, &mut selector, info);
    let reordered = util::sort_blocks(cx.func);
    if reordered && *info == Info::default() {
        info.canonicalized_cfg_count = 1;
    }
    info.carried_value_count = lowered.carried + cross_block::repair(cx.func, cx.types);
    same_paths::check(&plain, cx.func, &lowered.copies)
        .map_err(|e| cx.refuse(format!("the result would not have the same paths: {e}"), help))
}

/// The variable that says where a path leads to; made when it is first needed.
#[derive(Default)]
pub(super) struct Selector(Option<ValueId>);

impl Selector {
    fn variable(&mut self, func: &mut Function, types: &TypeTable) -> ValueId {
        match self.0 {
            Some(known) => known,
            None => {
                let made = cross_block::entry_variable(func, types, TypeId::U32);
                let made = made.unwrap_or_else(|| func.undefined(TypeId::U32));
                self.0 = Some(made);
                made
            }
        }
    }
}

/// Brings a flat function into the form that is restructured: allocas at the start of the entry block, no phis, no unreachable
/// block, no branch with one target. Whether that changed it.
pub(super) fn make_plain(func: &mut Function, types: &TypeTable) -> bool {
    let keep = util::named_blocks(func, false);
    let mut changed = util::remove_blocks_but(func, &keep) > 0;
    changed |= cross_block::hoist_allocas(func);
    changed |= lower_phis(func, types);
    let blocks: Vec<BlockId> = func.blocks().collect();
    for block in blocks {
        if let Some(terminator) = func.terminator(block) {
            changed |= drop_needless_targets(func, block, terminator);
        }
    }
    changed
}

/// Writes phis as variables: loaded in place of the phi, stored at the end of each predecessor. All loads of a block stand
/// before all stores of its end, so that the values change at once.
fn lower_phis(func: &mut Function, types: &TypeTable) -> bool {
    let phis: Vec<InstId> = func.blocks().flat_map(|b| func.phis(b)).collect();
    for &phi in &phis {
        let ty = func.inst(phi).ty;
        let Some(variable) = cross_block::entry_variable(func, types, ty) else { continue };
        let incoming: Vec<_> =
            func.args(phi).iter().copied().zip(func.inst_blocks(phi).to_vec()).collect();
        for (value, from) in incoming {
            if let Some(end) = func.terminator(from) {
                Builder::before(func, types, end).store(variable, value);
            }
        }
        let Some(block) = func.inst_block(phi) else { continue };
        let Some(first) = func.first_non_phi(block) else { continue };
        let loaded = Builder::before(func, types, first).load(variable);
        util::replace_and_remove(func, phi, loaded);
    }
    !phis.is_empty()
}

/// Turns a branch that leads to one block only into `br`, and drops cases that lead to the default.
fn drop_needless_targets(func: &mut Function, block: BlockId, terminator: InstId) -> bool {
    let targets = func.successors_of(terminator).to_vec();
    if !matches!(func.op(terminator), Op::CondBr | Op::IndexedBranch) {
        return false;
    }
    if targets.iter().all(|&t| t == targets[0]) {
        util::branch_instead(func, block, targets[0]);
        return true;
    }
    let Imm::Cases(cases) = &func.inst(terminator).imm else { return false };
    let kept: Vec<(u64, BlockId)> = { cases.iter().copied().zip(targets[1..].iter().copied()) }
        .filter(|&(_, t)| t != targets[0])
        .collect();
    if kept.len() + 1 == targets.len() {
        return false;
    }
    func.set_imm(terminator, Imm::Cases(kept.iter().map(|&(case, _)| case).collect()));
    *func.inst_blocks_mut(terminator) =
        std::iter::once(targets[0]).chain(kept.iter().map(|&(_, t)| t)).collect();
    true
}

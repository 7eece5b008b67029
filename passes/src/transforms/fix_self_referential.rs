//! Repair of aggregates that are inserted into themselves.
//!
//! What: an `insert` whose aggregate is its own result, directly or through other `insert`s of the block, has no first value. If
//! one local variable of the type is stored from such a circle, the first `insert` of the circle reads that variable instead:
//! `a.x = v` was meant. All circles of a function are repaired, or none.
//! Why right: such code is not valid SSA, so there is no meaning to keep; the repaired one is valid. Phis are not looked at:
//! a circle through a phi is a loop, and valid.
//! Cost: linear. Source: `passes.md` section 3.1.

use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use cranelift_entity::SecondaryMap;
use luisac_xir::dominators::InstOrder;
use luisac_xir::op::{ArithmeticOp, Space};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `fix_self_referential` did.
    Info {
        change fixed_count "circles of inserts repaired";
        note unresolved_count "circles for which no variable was found";
    }
}

/// The pass.
pub struct FixSelfReferential;

impl FunctionPass for FixSelfReferential {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "fix_self_referential",
            "repairs aggregates that are inserted into themselves",
            "Where an `insert` changes its own result, the first of the circle reads the local variable that the circle is \
             stored to. All circles of a function are repaired, or none. Valid functions have none.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let circles = circles(cx.func);
        let order = InstOrder::compute(cx.func);
        let plans: Vec<Option<(InstId, ValueId)>> =
            circles.iter().map(|circle| plan(cx.func, &order, circle)).collect();
        let unresolved = plans.iter().filter(|p| p.is_none()).count() as u64;
        let mut info = Info { fixed_count: 0, unresolved_count: unresolved };
        if unresolved > 0 || plans.is_empty() || !cx.fuel() {
            return Ok(info);
        }
        for (first, variable) in plans.into_iter().flatten() {
            let value = Builder::before(cx.func, cx.types, first).load(variable);
            cx.func.set_arg(first, 0, value);
            info.fixed_count += 1;
        }
        Ok(info)
    }
}

/// The `insert` that makes the aggregate that this one changes.
fn changed(func: &Function, inst: InstId) -> Option<InstId> {
    let insert = Op::Arithmetic(ArithmeticOp::Insert);
    func.def_inst(*func.args(inst).first()?).filter(|&i| func.op(i) == insert)
}

/// The circles of inserts, in order.
fn circles(func: &Function) -> Vec<Vec<InstId>> {
    let insert = Op::Arithmetic(ArithmeticOp::Insert);
    // Number of the walk that came by.
    let mut seen: SecondaryMap<InstId, u32> = SecondaryMap::new();
    let mut found = Vec::new();
    let mut walk = 0;
    for block in func.blocks() {
        for start in func.insts(block).filter(|&i| func.op(i) == insert) {
            walk += 1;
            let mut at = Some(start);
            while let Some(inst) = at.filter(|&i| seen[i] == 0) {
                seen[inst] = walk;
                at = changed(func, inst);
            }
            let Some(first) = at.filter(|&i| seen[i] == walk) else { continue };
            let mut circle = vec![first];
            while let Some(next) = changed(func, circle[circle.len() - 1]).filter(|&i| i != first) {
                circle.push(next);
            }
            found.push(circle);
        }
    }
    found
}

/// The first insert of a circle, and the variable that it has to read: the only one of the type that the circle is stored to.
fn plan(func: &Function, order: &InstOrder, circle: &[InstId]) -> Option<(InstId, ValueId)> {
    let block = func.inst_block(circle[0])?;
    if circle.iter().any(|&i| func.inst_block(i) != Some(block)) {
        return None;
    }
    let &first = circle.iter().min_by_key(|&&i| order.number(i))?;
    let ty = func.inst(first).ty;
    let mut variable = None;
    for &inst in circle {
        for (user, index) in func.uses(func.result(inst)?) {
            if func.op(user) != Op::Store || index != 1 {
                continue;
            }
            let target = func.arg(user, 0);
            let def = func.def_inst(target)?;
            let is_local =
                func.op(def) == Op::Alloca(Space::Local) && func.value_type(target) == ty;
            // The entry block is in front of all others.
            let home = func.inst_block(def);
            let before = home == func.entry() && home != Some(block)
                || home == Some(block) && order.number(def) < order.number(first);
            if !is_local || !before || variable.is_some_and(|v| v != target) {
                return None;
            }
            variable = Some(target);
        }
    }
    Some((first, variable?))
}

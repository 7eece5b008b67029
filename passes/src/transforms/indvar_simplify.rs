//! Induction variables: one for each step of a loop, and none that nobody needs.
//!
//! What: (1) behind a counted loop, a recurrence has the value of its last test: start plus trips times step; the counter of a
//! loop that counts by one to a bound is the bound, or its start if that is past it. (2) Of the recurrences of a loop with one
//! step and type, whose starts are equal or constants, one stays; the others are its value plus a constant. (3) Phis of headers
//! that only feed themselves are removed with what lies between.
//! Why right: all is arithmetic modulo two to the width; trips are known only where the counter does not wrap around, so the
//! loop ends. Loops stay, also those that do nothing: whether they end is not decided here.
//! Cost: linear.

use super::loop_blocks::{LoopGraph, use_block};
use crate::analyses::counted::{CountedLoop, Trips};
use crate::analyses::scalar_evolution::{Recurrence, ScalarEvolution, integer, mask};
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::Requires;
use cranelift_entity::SecondaryMap;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Builder, Function, InstId, Op, TypeId, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `indvar_simplify` did.
    Info {
        change simplified_iv_count "induction variables replaced, everywhere or behind their loop";
        change removed_dead_iv_count "induction variables removed that only fed themselves";
    }
}

/// The pass.
pub struct IndvarSimplify;

impl FunctionPass for IndvarSimplify {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "what leaves a loop is told by its branches",
        ..Declaration::new(
            "indvar_simplify",
            "keeps one induction variable for each step",
            "Replaces recurrences that run in step with another one, computes their values behind counted loops in front of them, \
             and removes phis that only feed themselves.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let graph = LoopGraph::of(cx.func);
        let mut info = Info::default();
        if graph.loops.loops.is_empty() {
            return Ok(info);
        }
        let evolution = ScalarEvolution::compute(cx.func, cx.types, &graph.cfg, &graph.loops);
        for (this, counted) in graph.counted_loops(cx.func, cx.types) {
            for recurrence in evolution.recurrences(this.number) {
                if !leave_with_value(cx, &graph, &counted, recurrence, &mut info) {
                    return Ok(info);
                }
            }
        }
        for number in 0..graph.loops.loops.len() as u32 {
            if !merge(cx, evolution.recurrences(number), &mut info) {
                return Ok(info);
            }
        }
        remove_dead(cx, &graph, &mut info);
        Ok(info)
    }
}

/// The value of a recurrence when the loop is left; instructions go in front of the loop.
fn last_value(
    cx: &mut FunctionCx<'_>,
    counted: &CountedLoop,
    recurrence: &Recurrence,
) -> Option<ValueId> {
    let ty = cx.func.inst(recurrence.phi).ty;
    let bits = integer(cx.types, ty)?.bits();
    let op = match counted.trips {
        Trips::Constant(trips) => {
            let start = cx.func.constant_bits(recurrence.start)?;
            let last = start.wrapping_add(trips.wrapping_mul(recurrence.step)) & mask(bits);
            return Some(cx.func.scalar_constant(ty, last, cx.types));
        }
        Trips::Up => ArithmeticOp::Max,
        Trips::Down => ArithmeticOp::Min,
        Trips::Unknown => return None,
    };
    if recurrence.phi != counted.counter.phi {
        return None;
    }
    let end = cx.func.terminator(counted.preheader)?;
    let args = [recurrence.start, counted.bound];
    Some(Builder::before(cx.func, cx.types, end).arithmetic(op, &args))
}

/// Replaces the uses of a recurrence behind its loop; false if the fuel is used up.
fn leave_with_value(
    cx: &mut FunctionCx<'_>,
    graph: &LoopGraph,
    counted: &CountedLoop,
    recurrence: &Recurrence,
    info: &mut Info,
) -> bool {
    let Some(value) = cx.func.result(recurrence.phi) else { return true };
    let is_outside = |func: &Function, (user, operand): (InstId, usize)| {
        let Some(at) = use_block(func, user, operand) else { return false };
        let on_edge = at == counted.header
            && func.op(user) == Op::Phi
            && func.inst_block(user) == Some(counted.exit);
        on_edge || !graph.loops.contains(counted.number, at)
    };
    let uses: Vec<(InstId, usize)> =
        cx.func.uses(value).filter(|&u| is_outside(cx.func, u)).collect();
    let known = matches!(counted.trips, Trips::Constant(_))
        && cx.func.constant_bits(recurrence.start).is_some();
    let computed =
        matches!(counted.trips, Trips::Up | Trips::Down) && recurrence.phi == counted.counter.phi;
    if uses.is_empty() || !known && !computed {
        return true;
    }
    if !cx.fuel() {
        return false;
    }
    if let Some(last) = last_value(cx, counted, recurrence) {
        for (user, operand) in uses {
            cx.func.set_arg(user, operand, last);
        }
        info.simplified_iv_count += 1;
    }
    true
}

/// Keeps one of the recurrences that run in step; false if the fuel is used up.
fn merge(cx: &mut FunctionCx<'_>, recurrences: &[Recurrence], info: &mut Info) -> bool {
    // The first by type, step and start; all constants count as one start.
    let mut first: FxHashMap<(TypeId, u64, Option<ValueId>), Recurrence> = FxHashMap::default();
    for recurrence in recurrences {
        let ty = cx.func.inst(recurrence.phi).ty;
        let start = cx.func.constant_bits(recurrence.start);
        let key = (ty, recurrence.step, start.map_or(Some(recurrence.start), |_| None));
        let Some(kept) = first.get(&key).copied() else {
            first.insert(key, *recurrence);
            continue;
        };
        if !cx.fuel() {
            return false;
        }
        replace(cx, &kept, recurrence);
        info.simplified_iv_count += 1;
    }
    true
}

/// Makes the phi of `gone` the phi of `kept` plus the difference of the starts.
fn replace(cx: &mut FunctionCx<'_>, kept: &Recurrence, gone: &Recurrence) {
    let (Some(value), Some(old)) = (cx.func.result(kept.phi), cx.func.result(gone.phi)) else {
        return;
    };
    let ty = cx.func.inst(gone.phi).ty;
    let starts = [kept, gone].map(|r| cx.func.constant_bits(r.start));
    let difference = match starts {
        [Some(a), Some(b)] => b.wrapping_sub(a),
        _ => 0,
    };
    let block = cx.func.inst_block(gone.phi);
    let place = block.and_then(|b| cx.func.first_non_phi(b));
    let new = match (integer(cx.types, ty), place) {
        (Some(scalar), Some(place)) if difference & mask(scalar.bits()) != 0 => {
            let difference = difference & mask(scalar.bits());
            let constant = cx.func.scalar_constant(ty, difference, cx.types);
            let mut builder = Builder::before(cx.func, cx.types, place);
            builder.arithmetic(ArithmeticOp::BinaryAdd, &[value, constant])
        }
        _ => value,
    };
    cx.func.replace_all_uses(old, new);
    cx.func.remove_inst(gone.phi);
}

/// Removes phis of headers that nothing but themselves needs, and what lies between.
fn remove_dead(cx: &mut FunctionCx<'_>, graph: &LoopGraph, info: &mut Info) {
    let live = live_values(cx.func, graph);
    for l in &graph.loops.loops {
        let phis: Vec<InstId> = cx.func.phis(l.header).collect();
        for phi in phis {
            let Some(result) = cx.func.result(phi).filter(|&v| !live[v]) else { continue };
            if cx.func.inst_block(phi).is_none() {
                continue;
            }
            if !cx.fuel() {
                return;
            }
            remove_with_users(cx.func, phi, result);
            info.removed_dead_iv_count += 1;
        }
    }
}

/// The values that something with an effect, or in a block that is not reached, depends on.
fn live_values(func: &Function, graph: &LoopGraph) -> SecondaryMap<ValueId, bool> {
    let mut live: SecondaryMap<ValueId, bool> = func.value_map();
    let mut pending: Vec<InstId> = Vec::new();
    for block in func.blocks() {
        let is_root = |&i: &InstId| {
            func.op(i).is_terminator()
                || !func.effects(i).removable()
                || !graph.cfg.is_reachable(block)
        };
        pending.extend(func.insts(block).filter(is_root));
    }
    while let Some(inst) = pending.pop() {
        for &arg in func.args(inst) {
            if !std::mem::replace(&mut live[arg], true) {
                pending.extend(func.def_inst(arg));
            }
        }
    }
    live
}

/// Removes an instruction and all that uses it, which nothing live does.
fn remove_with_users(func: &mut Function, inst: InstId, result: ValueId) {
    let mut pending = vec![(inst, Some(result))];
    while let Some((inst, result)) = pending.pop() {
        if func.inst_block(inst).is_none() {
            continue;
        }
        if let Some(value) = result {
            let users: Vec<InstId> = func.uses(value).map(|(user, _)| user).collect();
            pending.extend(users.into_iter().map(|u| (u, func.result(u))));
        }
        func.remove_inst(inst);
    }
}

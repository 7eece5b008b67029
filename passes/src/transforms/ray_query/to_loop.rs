//! Ray queries by callbacks become loops that ask.
//!
//! What: a `ray_query_loop` becomes a `loop`: its prepare block proceeds and tests whether the query has ended; its body asks of
//! which kind the candidate is and runs the handler of that kind.
//!
//! ```text
//! dispatch: proceed q; cond_br !is_terminated(q), body, merge
//! body:     if is_triangle_candidate(q) { surface } else if is_procedural_candidate(q) { procedural }
//! update:   br dispatch
//! ```
//!
//! Why right: that is what the dispatch means. The handlers keep their blocks; where they went back to the dispatch they meet
//! behind the tests. A function with a query that cannot be taken apart so is refused and left unchanged.
//! Cost: linear.

use super::query_loop::{CANDIDATES, QueryLoop};
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{ArithmeticOp, RayQueryReadOp, RayQueryWriteOp};
use luisac_xir::{BlockId, Builder, Imm, InstId, Op, TypeId, ValueId};

counters! {
    /// What `lower_ray_query_to_loop` did.
    Info {
        change lowered_ray_query_loop_count "ray-query loops turned into loops";
    }
}

/// The pass.
pub struct LowerRayQueryToLoop;

impl FunctionPass for LowerRayQueryToLoop {
    const DECLARATION: Declaration = Declaration::new(
        "lower_ray_query_to_loop",
        "turns ray queries by callbacks into loops that ask",
        "Replaces each ray-query loop by a loop that proceeds, asks for the kind of the candidate and runs its handler, for \
         targets with inline queries. Runs before `destructure_cfg`. A function is refused if a handler cannot be told apart, \
         runs a query itself or leaves the function.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let cfg = ControlFlowGraph::compute(cx.func);
        let mut loops = Vec::new();
        for owner in QueryLoop::owners(cx.func, &cfg) {
            let found = QueryLoop::of(cx.func, &cfg, owner);
            loops.push(found.map_err(|reason| {
                cx.refuse(
                    format!("a ray query cannot become a loop: {reason}"),
                    "keep the handlers of a ray query apart and simple",
                )
            })?);
        }
        let mut info = Info::default();
        for query in loops {
            if !cx.fuel() {
                break;
            }
            lower(cx, &query);
            info.lowered_ray_query_loop_count += 1;
        }
        Ok(info)
    }
}

fn lower(cx: &mut FunctionCx<'_>, this: &QueryLoop) {
    let Some(owner_end) = cx.func.terminator(this.owner) else { return };
    let Some(dispatch_end) = cx.func.terminator(this.dispatch) else { return };
    let loc = cx.func.inst(owner_end).loc;
    let body = cx.func.insert_block_after(this.dispatch);
    // Each test in front of its handler, and what comes behind all of them last.
    let otherwise = cx.func.insert_block_after(this.handlers[0].last().copied().unwrap_or(body));
    let mut last = this.handlers[1].last().copied().unwrap_or(otherwise);
    let [inner, outer, update] = [(); 3].map(|()| {
        last = cx.func.insert_block_after(last);
        last
    });
    let ends: [Vec<InstId>; CANDIDATES] = [0, 1].map(|i| this.ends(cx.func, i).collect());
    for (branches, merge) in ends.into_iter().zip([outer, inner]) {
        for branch in branches {
            cx.func.inst_blocks_mut(branch)[0] = merge;
        }
    }
    cx.func.remove_inst(owner_end);
    cx.func.remove_inst(dispatch_end);
    let mut b = Builder::at_end(cx.func, cx.types, this.owner);
    b.loc = loc;
    let roles = [this.dispatch, body, update, this.merge];
    b.inst(Op::Loop, TypeId::VOID, &[], &roles, Imm::None);
    b.switch_to(this.dispatch);
    b.effect(Op::RayQueryWrite(RayQueryWriteOp::Proceed), &[this.query]);
    let over = ask(&mut b, RayQueryReadOp::IsTerminated, this.query);
    let goes_on = b.arithmetic(ArithmeticOp::UnaryBitNot, &[over]);
    b.cond_br(goes_on, body, this.merge);
    let arm = |i: usize, merge: BlockId| this.handlers[i].first().copied().unwrap_or(merge);
    b.switch_to(body);
    let surface = ask(&mut b, RayQueryReadOp::IsTriangleCandidate, this.query);
    let arms = [arm(0, outer), otherwise, outer];
    b.inst(Op::If, TypeId::VOID, &[surface], &arms, Imm::None);
    b.switch_to(otherwise);
    let procedural = ask(&mut b, RayQueryReadOp::IsProceduralCandidate, this.query);
    let arms = [arm(1, inner), inner, inner];
    b.inst(Op::If, TypeId::VOID, &[procedural], &arms, Imm::None);
    for (block, target) in [(inner, outer), (outer, update), (update, this.dispatch)] {
        b.switch_to(block);
        b.br(target);
    }
}

fn ask(b: &mut Builder<'_>, question: RayQueryReadOp, query: ValueId) -> ValueId {
    b.value(Op::RayQueryRead(question), TypeId::BOOL, &[query])
}

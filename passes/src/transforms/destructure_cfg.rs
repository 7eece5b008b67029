//! Structured control flow to branches.
//!
//! What: `if` -> `cond_br`, `switch` -> `indexed_branch`, `loop` -> `br prepare`, `simple_loop` -> `br body`, `break` and
//! `continue` -> `br`; blocks that only had a role are removed.
//! Why right: the CFG edges stay as they are; roles are no edges.
//! Cost: linear. Source: `passes.md` section 3.3.

use super::util;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::Requires;
use luisac_xir::{BlockId, InstId, Op};

counters! {
    /// What `destructure_cfg` did.
    Info {
        change destructured_if_count "`if` turned into branches";
        change destructured_switch_count "`switch` turned into `indexed_branch`";
        change destructured_loop_count "`loop` turned into branches";
        change destructured_simple_loop_count "`simple_loop` turned into branches";
        change destructured_break_count "`break` turned into branches";
        change destructured_continue_count "`continue` turned into branches";
        change leaked_block_count "blocks removed that only had a role";
    }
}

/// The pass.
pub struct DestructureCfg;

impl FunctionPass for DestructureCfg {
    const DECLARATION: Declaration = Declaration {
        establishes: Requires::FLAT,
        ..Declaration::new(
            "destructure_cfg",
            "turns structured control flow into branches",
            "Replaces `if`, `switch`, `loop`, `simple_loop`, `break` and `continue` by branches along the same edges. Ray-query \
             loops and autodiff scopes must have been lowered before; a function that holds one is refused.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let terminators: Vec<(BlockId, InstId)> =
            cx.func.blocks().filter_map(|b| Some((b, cx.func.terminator(b)?))).collect();
        for &(_, inst) in &terminators {
            check(cx, inst)?;
        }
        // All or nothing: flat control flow is what the declaration promises, so fuel is not asked.
        for (block, inst) in terminators {
            flatten(cx, block, inst, &mut info);
        }
        if info != Info::default() {
            let keep = util::named_blocks(cx.func, false);
            info.leaked_block_count = util::remove_blocks_but(cx.func, &keep);
        }
        Ok(info)
    }
}

fn check(cx: &FunctionCx<'_>, inst: InstId) -> Result<(), Refusal> {
    match cx.func.op(inst) {
        Op::RayQueryLoop | Op::RayQueryDispatch => Err(cx
            .refuse("the function holds a ray query loop", "run `lower_ray_query_to_loop` before")),
        Op::AutodiffScope => {
            Err(cx.refuse("the function holds an autodiff scope", "run `autodiff` before"))
        }
        _ => Ok(()),
    }
}

fn flatten(cx: &mut FunctionCx<'_>, block: BlockId, inst: InstId, info: &mut Info) {
    let successors = cx.func.successors_of(inst).to_vec();
    match cx.func.op(inst) {
        Op::If => {
            info.destructured_if_count += 1;
            if successors[0] == successors[1] {
                util::branch_instead(cx.func, block, successors[0]);
            } else {
                cx.func.set_op(inst, Op::CondBr);
                *cx.func.inst_blocks_mut(inst) = successors;
            }
        }
        Op::Switch => {
            info.destructured_switch_count += 1;
            cx.func.set_op(inst, Op::IndexedBranch);
            *cx.func.inst_blocks_mut(inst) = successors;
        }
        op @ (Op::Loop | Op::SimpleLoop | Op::Break | Op::Continue) => {
            *match op {
                Op::Loop => &mut info.destructured_loop_count,
                Op::SimpleLoop => &mut info.destructured_simple_loop_count,
                Op::Break => &mut info.destructured_break_count,
                _ => &mut info.destructured_continue_count,
            } += 1;
            cx.func.set_op(inst, Op::Br);
            *cx.func.inst_blocks_mut(inst) = successors;
        }
        _ => {}
    }
}

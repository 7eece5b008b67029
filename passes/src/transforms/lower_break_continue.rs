//! `break` and `continue` to branches.
//!
//! What: `break` -> `br merge`; `continue` -> `br update` in a `loop`, `br body` in a `simple_loop`. The constructs stay.
//! Why right: the edges stay as they are. For consumers that take branches to the blocks a loop names; within functions that
//! hold differentiated scopes both stay, since their regions are read off the constructs.
//! Cost: linear. Source: `passes.md` section 3.3.

use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use luisac_xir::{InstId, Op};

counters! {
    /// What `lower_break_continue` did.
    Info {
        change lowered_break_count "`break` turned into `br`";
        change lowered_continue_count "`continue` turned into `br`";
        note rejected_break_count "`break` left, in functions with differentiated scopes";
        note rejected_continue_count "`continue` left, in functions with differentiated scopes";
    }
}

/// The pass.
pub struct LowerBreakContinue;

impl FunctionPass for LowerBreakContinue {
    const DECLARATION: Declaration = Declaration::new(
        "lower_break_continue",
        "turns `break` and `continue` into branches",
        "Replaces `break` by a branch to the merge of what it leaves, and `continue` by one to the update block of its loop, or to the body \
         of a `simple_loop`. The constructs stay. Functions that hold differentiated scopes are left as they are.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let terminators: Vec<InstId> =
            cx.func.blocks().filter_map(|b| cx.func.terminator(b)).collect();
        let is_differentiated = terminators.iter().any(|&t| cx.func.op(t) == Op::AutodiffScope);
        for inst in terminators {
            let (lowered, rejected) = match cx.func.op(inst) {
                Op::Break => (&mut info.lowered_break_count, &mut info.rejected_break_count),
                Op::Continue => {
                    (&mut info.lowered_continue_count, &mut info.rejected_continue_count)
                }
                _ => continue,
            };
            if is_differentiated {
                *rejected += 1;
            } else if cx.fuel() {
                cx.func.set_op(inst, Op::Br);
                *lowered += 1;
            }
        }
        Ok(info)
    }
}

//! Geps of geps.
//!
//! What: gep(gep(b, i), j) becomes gep(b, i, j); the inner one stays for its other users, and goes if it has none.
//! Why right: both name the same part, and what the inner gep names is available wherever it is.
//! Cost: linear; a gep of more than 64 indices is not made longer, so that a deep chain stays linear.

use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::{InstId, Op};

counters! {
    /// What `trace_gep` did.
    Info {
        change traced_gep_count "geps made of the base of another";
    }
}

/// Indices of one gep, at most.
const MAX_INDICES: usize = 64;

/// The pass.
pub struct TraceGep;

impl FunctionPass for TraceGep {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "trace_gep",
            "joins geps of geps",
            "A gep of a gep becomes one gep with all indices; an inner gep that nothing else uses goes.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let cfg = ControlFlowGraph::compute(cx.func);
        // Inner geps come first, and are whole when the outer ones are looked at.
        for &block in cfg.reverse_post_order() {
            let geps: Vec<InstId> =
                cx.func.insts(block).filter(|&i| cx.func.op(i) == Op::Gep).collect();
            for gep in geps {
                let Some(inner) = cx.func.def_inst(cx.func.arg(gep, 0)) else { continue };
                let count = cx.func.args(inner).len() + cx.func.args(gep).len() - 2;
                if cx.func.op(inner) != Op::Gep || count > MAX_INDICES {
                    continue;
                }
                if !cx.fuel() {
                    return Ok(info);
                }
                let mut args = cx.func.args(inner).to_vec();
                args.extend_from_slice(&cx.func.args(gep)[1..]);
                cx.func.set_args(gep, &args);
                if cx.func.result(inner).is_some_and(|v| !cx.func.has_uses(v)) {
                    cx.func.remove_inst(inner);
                }
                info.traced_gep_count += 1;
            }
        }
        Ok(info)
    }
}

//! Store-to-load forwarding and load elimination within a block: two passes with one walk.
//!
//! What: `local_store_forward` replaces a load by the value that the block stored into the same part of a local alloca before;
//! `local_load_elimination` by the value that the block loaded from there before.
//! Why right: nothing but the thread itself writes its locals. A store forgets what may overlap it (constant indices that
//! differ do not), a call or any other user forgets the whole alloca. Shared and global memory is left alone.
//! Cost: linear; of each alloca a bounded number of parts is remembered. Source: `passes.md` sections 2.1 and 3.1.

use super::access::{Known, touched, trace};
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_xir::{BlockId, Op, ValueId};

counters! {
    /// What `local_store_forward` or `local_load_elimination` did.
    Info {
        change removed_load_count "loads replaced";
    }
}

const PRESERVES: &[Analysis] = &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph];

/// Store-to-load forwarding.
pub struct LocalStoreForward;

impl FunctionPass for LocalStoreForward {
    const DECLARATION: Declaration = Declaration {
        preserves: PRESERVES,
        ..Declaration::new(
            "local_store_forward",
            "replaces loads by what was stored",
            "Within a block, a load of a part of a local alloca becomes the value stored there before, if nothing between may \
             have written it.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        Ok(forward(cx, Op::Store))
    }
}

/// Load elimination.
pub struct LocalLoadElimination;

impl FunctionPass for LocalLoadElimination {
    const DECLARATION: Declaration = Declaration {
        preserves: PRESERVES,
        ..Declaration::new(
            "local_load_elimination",
            "replaces loads by earlier loads",
            "Within a block, a load of a part of a local alloca becomes the value loaded from there before, if nothing between \
             may have written it.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        Ok(forward(cx, Op::Load))
    }
}

/// Replaces loads by the values of earlier instructions of kind `source`.
fn forward(cx: &mut FunctionCx<'_>, source: Op) -> Info {
    let mut info = Info::default();
    let blocks: Vec<BlockId> = cx.func.blocks().collect();
    for block in blocks {
        let mut known: Known<ValueId> = Known::new();
        let mut next = cx.func.first_inst(block);
        while let Some(inst) = next {
            next = cx.func.next_inst(inst);
            for base in touched(cx.func, inst) {
                known.forget_all(base);
            }
            let op = cx.func.op(inst);
            if !matches!(op, Op::Load | Op::Store) {
                continue;
            }
            let Some(path) = trace(cx.func, cx.types, cx.func.arg(inst, 0)) else { continue };
            if op == Op::Store {
                known.forget(&path, cx.func);
                if source == Op::Store {
                    known.set(path, cx.func.arg(inst, 1));
                }
                continue;
            }
            match known.get(&path).filter(|&v| cx.func.value_type(v) == cx.func.inst(inst).ty) {
                Some(value) => {
                    if !cx.fuel() {
                        return info;
                    }
                    util::replace_and_remove(cx.func, inst, value);
                    info.removed_load_count += 1;
                }
                None if source == Op::Load => {
                    if let Some(value) = cx.func.result(inst) {
                        known.set(path, value);
                    }
                }
                None => {}
            }
        }
    }
    info
}

//! Dead store elimination.
//!
//! What: removes a store into a local alloca if the block overwrites the same part, or a whole that holds it, before anything
//! may read it, or if the function returns before.
//! Why right: nothing but the thread itself reads its locals, and they end with the function. A load keeps the stores that it
//! may overlap, a call or any other user those of the whole alloca. Under `--bounds trap` a store out of range is an effect.
//! Cost: linear; of each alloca a bounded number of parts is remembered.

use super::access::{Known, touched, trace};
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use luisac_xir::{BlockId, Op, ValueId};
use rustc_hash::FxHashSet;

counters! {
    /// What `dead_store_elimination` did.
    Info {
        change eliminated_store_count "stores removed";
    }
}

options! {
    /// What counts as an effect.
    Options {
        trapping_bounds: bool = false, "an index out of range ends the thread, so stores that may have one stay";
    }
}

/// The pass.
pub struct DeadStoreElimination;

impl FunctionPass for DeadStoreElimination {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "dead_store_elimination",
            "removes stores that nothing reads",
            "Removes stores into local allocas that the same block overwrites before anything may read them, or that come \
             before a return without a read between.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        for block in blocks {
            if !walk(cx, options, block, &mut info) {
                break;
            }
        }
        Ok(info)
    }
}

/// Walks a block from its end; false if the fuel is used up.
fn walk(cx: &mut FunctionCx<'_>, options: &Options, block: BlockId, info: &mut Info) -> bool {
    let mut overwritten: Known<()> = Known::new();
    // Allocas that are read between here and the return that the block ends in.
    let mut read: FxHashSet<ValueId> = FxHashSet::default();
    let returns = cx.func.terminator(block).is_some_and(|t| cx.func.op(t) == Op::Return);
    let mut next = cx.func.last_inst(block);
    while let Some(inst) = next {
        next = cx.func.prev_inst(inst);
        for base in touched(cx.func, inst) {
            overwritten.forget_all(base);
            read.insert(base);
        }
        let op = cx.func.op(inst);
        if !matches!(op, Op::Load | Op::Store) {
            continue;
        }
        let Some(path) = trace(cx.func, cx.types, cx.func.arg(inst, 0)) else { continue };
        if op == Op::Load {
            overwritten.forget(&path, cx.func);
            read.insert(path.base);
        } else if (overwritten.is_covered(&path) || returns && !read.contains(&path.base))
            && !(options.trapping_bounds
                && util::has_open_place(cx.func, cx.types, cx.func.arg(inst, 0)))
        {
            if !cx.fuel() {
                return false;
            }
            cx.func.remove_inst(inst);
            info.eliminated_store_count += 1;
        } else {
            overwritten.set(path, ());
        }
    }
    true
}

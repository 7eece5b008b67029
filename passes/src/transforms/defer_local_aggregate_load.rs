//! Loads of elements instead of the whole.
//!
//! What: a load of a whole structure, array or matrix from local memory whose uses all take elements out of it becomes loads of
//! those elements. Elements at constant places in range are loaded where the whole was; one at another place is loaded where it
//! is taken, if that is in the same block and nothing between may write the variable.
//! Why right: each element is read at the time when the whole was, or from memory that has not changed since. The index is
//! checked, or not, in the same way by both (`--bounds`).
//! Cost: linear in the uses, but for the search between, which is bounded.

use super::access::touched;
use super::elements::constant_index;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::TypeTable;
use luisac_xir::op::{ArithmeticOp, Space};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `defer_local_aggregate_load` did.
    Info {
        change deferred_load_count "loads of a whole replaced by loads of elements";
        note inserted_load_count "loads of elements";
    }
}

/// Instructions between a load and the use of an element, at most.
const MAX_DISTANCE: usize = 256;

/// The pass.
pub struct DeferLocalAggregateLoad;

impl FunctionPass for DeferLocalAggregateLoad {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "defer_local_aggregate_load",
            "loads the elements that are needed instead of the whole",
            "A load of a local structure, array or matrix of which only elements are used becomes loads of those elements.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let mut loads: Vec<InstId> = Vec::new();
        for block in cx.func.blocks() {
            loads.extend(cx.func.insts(block).filter(|&i| cx.func.op(i) == Op::Load));
        }
        for load in loads {
            let Some(uses) = plan(cx.func, cx.types, load) else { continue };
            if !cx.fuel() {
                break;
            }
            info.inserted_load_count += carry_out(cx, load, uses);
            info.deferred_load_count += 1;
        }
        Ok(info)
    }
}

/// An `extract`, and whether its element is loaded where the whole was.
struct Use {
    extract: InstId,
    early: bool,
}

/// The uses of a load that can be replaced, if all can.
fn plan(func: &Function, types: &TypeTable, load: InstId) -> Option<Vec<Use>> {
    let ty = func.inst(load).ty;
    let base = func.base_of(func.arg(load, 0));
    let alloca = func.def_inst(base)?;
    if func.op(alloca) != Op::Alloca(Space::Local)
        || !(types.is_aggregate(ty) || types.is_matrix(ty))
    {
        return None;
    }
    let mut uses = Vec::new();
    for (user, index) in func.uses(func.result(load)?) {
        if func.op(user) != Op::Arithmetic(ArithmeticOp::Extract) || index != 0 {
            return None;
        }
        let early = is_certain(func, types, user);
        if !early && !is_unchanged(func, load, user, base) {
            return None;
        }
        uses.push(Use { extract: user, early });
    }
    uses.reverse();
    (!uses.is_empty()).then_some(uses)
}

/// Whether an `extract` names an element by constants in range, which may be loaded whether or not the `extract` runs.
fn is_certain(func: &Function, types: &TypeTable, extract: InstId) -> bool {
    let args = func.args(extract);
    let mut ty = func.value_type(args[0]);
    args[1..].iter().all(|&index| {
        let number = constant_index(func, index, types.member_count(ty));
        let element = number.and_then(|n| types.element_type(ty, n));
        ty = element.unwrap_or(ty);
        element.is_some()
    })
}

/// Whether nothing between a load and a later instruction of its block may write the variable.
fn is_unchanged(func: &Function, load: InstId, user: InstId, base: ValueId) -> bool {
    let mut at = func.next_inst(load);
    for _ in 0..MAX_DISTANCE {
        let Some(inst) = at else { return false };
        if inst == user {
            return true;
        }
        let stores = func.op(inst) == Op::Store && func.base_of(func.arg(inst, 0)) == base;
        if stores || touched(func, inst).any(|b| b == base) {
            return false;
        }
        at = func.next_inst(inst);
    }
    false
}

/// The number of loads inserted.
fn carry_out(cx: &mut FunctionCx<'_>, load: InstId, uses: Vec<Use>) -> u64 {
    let lvalue = cx.func.arg(load, 0);
    let mut early: FxHashMap<Vec<ValueId>, ValueId> = FxHashMap::default();
    let mut count = 0;
    for Use { extract, early: is_early } in uses {
        let ty = cx.func.inst(extract).ty;
        let indices = cx.func.args(extract)[1..].to_vec();
        let known = early.get(&indices).copied().filter(|_| is_early);
        let value = known.unwrap_or_else(|| {
            count += 1;
            let at = if is_early { load } else { extract };
            let mut builder = Builder::before(cx.func, cx.types, at);
            let place = builder.gep(lvalue, &indices, ty);
            builder.load(place)
        });
        if is_early {
            early.insert(indices, value);
        }
        if let Some(result) = cx.func.result(extract) {
            cx.func.replace_all_uses(result, value);
        }
        cx.func.remove_inst(extract);
    }
    cx.func.remove_inst(load);
    count
}

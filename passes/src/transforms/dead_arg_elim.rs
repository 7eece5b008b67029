//! Removal of arguments that nothing uses.
//!
//! What: an argument of a callable that its body does not use goes, and with it the operand of every call.
//! Why right: nothing but the calls of the module can name a callable. Kernels keep their arguments, used or not: their order
//! is the interface of the artifact. A module without kernels is left as it is: its callables are its interface. Computing an
//! operand may have an effect; that stays, `dce` removes what has none.
//! Cost: linear in arguments, calls and operands: callees come first, so an argument that was only passed on is unused when its
//! function is looked at.

use super::inline::callees_first;
use super::unused_callable_removal::{calls, handlers};
use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters};
use cranelift_entity::SecondaryMap;
use luisac_xir::{FunctionId, FunctionKind, InstId, ValueId};

counters! {
    /// What `dead_arg_elim` did.
    Info {
        change removed_arg_count "arguments removed";
    }
}

/// The pass.
pub struct DeadArgElim;

impl ModulePass for DeadArgElim {
    const DECLARATION: Declaration = Declaration::new(
        "dead_arg_elim",
        "removes arguments that nothing uses",
        "Removes arguments of callables that their bodies do not use, at the call sites too. Kernels, and modules without \
         kernels, keep their signatures.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        if cx.module.kernels().next().is_none() {
            return Ok(info);
        }
        let mut sites: SecondaryMap<FunctionId, Vec<(FunctionId, InstId)>> = SecondaryMap::new();
        for (caller, function) in &cx.module.functions {
            for (call, callee) in calls(function) {
                sites[callee].push((caller, call));
            }
        }
        let is_handler = handlers(cx.module);
        for id in callees_first(cx.module) {
            let function = &cx.module.functions[id];
            if is_handler[id] || function.kind != FunctionKind::Callable || !function.has_body() {
                continue;
            }
            let count = function.arguments.len();
            let matches = |&(caller, call): &(FunctionId, InstId)| {
                cx.module.functions[caller].args(call).len() == count
            };
            if !sites[id].iter().all(matches) {
                continue;
            }
            let keep: Vec<bool> = function
                .arguments
                .iter()
                .map(|argument| function.has_uses(argument.value) || !cx.fuel())
                .collect();
            let removed = keep.iter().filter(|&&k| !k).count() as u64;
            if removed == 0 {
                continue;
            }
            cx.module.functions[id].retain_arguments(|i| keep[i]);
            for &(caller, call) in &sites[id] {
                let function = &mut cx.module.functions[caller];
                let args: Vec<ValueId> =
                    function.args(call).iter().zip(&keep).filter(|a| *a.1).map(|a| *a.0).collect();
                function.set_args(call, &args);
            }
            info.removed_arg_count += removed;
        }
        Ok(info)
    }
}

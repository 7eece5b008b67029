//! Removal of callables that no kernel reaches.
//!
//! What: removes every function that is no kernel and that no kernel calls, directly or through others. A module without
//! kernels is left as it is: its callables are what it is for.
//! Why right: nothing else can name a function.
//! Cost: linear in the module.

use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use luisac_xir::{Function, FunctionId, Imm, InstId, Module, Op};

counters! {
    /// What `unused_callable_removal` did.
    Info {
        change removed_callable_count "functions removed";
    }
}

/// The pass.
pub struct UnusedCallableRemoval;

impl ModulePass for UnusedCallableRemoval {
    const DECLARATION: Declaration = Declaration::new(
        "unused_callable_removal",
        "removes callables that no kernel reaches",
        "Removes callables and externals that no kernel calls, directly or through others. Function ids change. A module \
         without kernels is left as it is.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, _: &()) -> Result<Info, Refusal> {
        Ok(Info { removed_callable_count: remove_unreached(cx) })
    }
}

/// Removes what no kernel reaches; how many functions went.
pub(crate) fn remove_unreached(cx: &mut ModuleCx<'_>) -> u64 {
    let kernels: Vec<FunctionId> = cx.module.kernels().collect();
    let mut used: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    let mut pending = kernels.clone();
    for &kernel in &kernels {
        used[kernel] = true;
    }
    while let Some(id) = pending.pop() {
        let func = &cx.module.functions[id];
        let insts = func.blocks().flat_map(|b| func.insts(b));
        for callee in insts.flat_map(|i| func.inst(i).imm.functions()) {
            if !used[callee] {
                used[callee] = true;
                pending.push(callee);
            }
        }
    }
    let unused = cx.module.functions.keys().filter(|&id| !used[id]).count() as u64;
    if kernels.is_empty() || unused == 0 || !cx.fuel() {
        return 0;
    }
    remove_unused(cx, &used);
    unused
}

/// The calls of a function, in order, with their callees. Functions that are named as handlers are none of these.
pub(crate) fn calls(func: &Function) -> Vec<(InstId, FunctionId)> {
    let mut found = Vec::new();
    for block in func.blocks() {
        for inst in func.insts(block) {
            if let Imm::Callee(callee) = func.inst(inst).imm {
                found.push((inst, callee));
            }
        }
    }
    found
}

/// The functions that ray queries name as handlers. Their signatures are those of the queries' operands.
pub(crate) fn handlers(module: &Module) -> SecondaryMap<FunctionId, bool> {
    let mut named: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    for func in module.functions.values() {
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            if func.op(inst) == Op::RayQueryPipeline {
                func.inst(inst).imm.functions().for_each(|f| named[f] = true);
            }
        }
    }
    named
}

fn remove_unused(cx: &mut ModuleCx<'_>, used: &SecondaryMap<FunctionId, bool>) {
    let mut renamed: SecondaryMap<FunctionId, Option<FunctionId>> = SecondaryMap::new();
    let mut kept = PrimaryMap::new();
    for (id, function) in std::mem::take(&mut cx.module.functions) {
        if used[id] {
            renamed[id] = Some(kept.push(function));
        }
    }
    for function in kept.values_mut() {
        let insts: Vec<InstId> = function.blocks().flat_map(|b| function.insts(b)).collect();
        for inst in insts {
            if function.inst(inst).imm.functions().next().is_none() {
                continue;
            }
            let mut imm = function.inst(inst).imm.clone();
            for callee in imm.functions_mut() {
                *callee = renamed[*callee].unwrap_or(*callee);
            }
            function.set_imm(inst, imm);
        }
    }
    cx.module.functions = kept;
}

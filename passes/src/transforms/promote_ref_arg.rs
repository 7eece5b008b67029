//! Reference arguments that are only read, as values.
//!
//! What: an argument that a callable takes by reference and only loads, whole or in parts, is taken by value; the call sites
//! load it before the call.
//! Why right: the memory must not change while the callable runs. A local variable of the caller can only change through
//! another reference of the same call, so no reference that the callable may write may name it; memory of unknown owner (an
//! argument of the caller, shared memory) only if the callable writes through no reference and waits for nobody. All call
//! sites are looked at before anything is changed. A module without kernels is left as it is: its callables are its interface.
//! Cost: linear in calls and uses. Source: `passes.md` section 3.2.

use super::inline::callees_first;
use super::unused_callable_removal::{calls, handlers};
use super::util;
use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters, options};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, ValueDef,
    ValueId,
};

counters! {
    /// What `promote_ref_arg` did.
    Info {
        change promoted_ref_arg_count "reference arguments taken by value";
    }
}

options! {
    /// What is worth a copy.
    Options {
        max_bytes: u64 = 64, "bytes of an argument, at most";
    }
}

/// The pass.
pub struct PromoteRefArg;

impl ModulePass for PromoteRefArg {
    const DECLARATION: Declaration = Declaration::new(
        "promote_ref_arg",
        "takes reference arguments that are only read by value",
        "A reference argument that a callable only reads becomes a value argument, loaded at the call sites, if nothing can \
         write it meanwhile. Kernels, and modules without kernels, keep their signatures.",
    );
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
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
        let mut effects: SecondaryMap<FunctionId, Effects> = SecondaryMap::new();
        let is_handler = handlers(cx.module);
        for id in callees_first(cx.module) {
            effects[id] = Effects::of(&cx.module.functions[id], &effects);
            if is_handler[id] {
                continue;
            }
            for index in 0..cx.module.functions[id].arguments.len() {
                let (module, site) = (&*cx.module, &sites[id]);
                if !is_promotable(module, options, id, index)
                    || !site.iter().all(|&s| is_unchanged(module, s, id, index, effects[id]))
                {
                    continue;
                }
                if !cx.fuel() {
                    return Ok(info);
                }
                promote(cx.module, id, index, &sites[id]);
                info.promoted_ref_arg_count += 1;
            }
        }
        Ok(info)
    }
}

/// What a function does to memory that is not its own.
#[derive(Clone, Copy)]
struct Effects {
    writes_references: bool,
    waits: bool,
}

impl Default for Effects {
    /// Of a function that has not been looked at.
    fn default() -> Effects {
        Effects { writes_references: true, waits: true }
    }
}

impl Effects {
    fn of(function: &Function, callees: &SecondaryMap<FunctionId, Effects>) -> Effects {
        let mut effects =
            Effects { writes_references: !function.has_body(), waits: !function.has_body() };
        let foreign = |v| {
            matches!(function.value_def(function.base_of(v)), ValueDef::Argument(_))
                && function.is_lvalue(v)
        };
        for inst in function.blocks().flat_map(|b| function.insts(b)) {
            let args = function.args(inst);
            match (function.op(inst), &function.inst(inst).imm) {
                (Op::Load | Op::Gep, _) => {}
                (Op::Call, Imm::Callee(callee)) => {
                    let inner = callees[*callee];
                    effects.waits |= inner.waits;
                    effects.writes_references |=
                        inner.writes_references && args.iter().any(|&a| foreign(a));
                }
                (Op::ThreadGroup(_), _) => effects.waits = true,
                (Op::Store, _) => effects.writes_references |= foreign(args[0]),
                _ => effects.writes_references |= args.iter().any(|&a| foreign(a)),
            }
        }
        effects
    }
}

/// Whether an argument is data by reference that is only loaded.
fn is_promotable(module: &Module, options: &Options, id: FunctionId, index: usize) -> bool {
    let function = &module.functions[id];
    let argument = &function.arguments[index];
    let fits =
        |ty: TypeId, types: &TypeTable| types.is_data(ty) && types.size(ty) <= options.max_bytes;
    function.kind == FunctionKind::Callable
        && function.has_body()
        && argument.kind == ArgumentKind::Reference
        && fits(argument.ty, &module.types)
        && is_only_read(function, argument.value)
}

/// Whether all uses of an lvalue are loads, also of its parts.
fn is_only_read(function: &Function, value: ValueId) -> bool {
    let mut pending = vec![value];
    while let Some(lvalue) = pending.pop() {
        for (user, index) in function.uses(lvalue) {
            match function.op(user) {
                Op::Load => {}
                Op::Gep if index == 0 => pending.extend(function.result(user)),
                _ => return false,
            }
        }
    }
    true
}

/// Whether nothing can write what a call passes by reference while the callee runs.
fn is_unchanged(
    module: &Module,
    (caller, call): (FunctionId, InstId),
    callee: FunctionId,
    index: usize,
    effects: Effects,
) -> bool {
    let (caller, callee) = (&module.functions[caller], &module.functions[callee]);
    let args = caller.args(call);
    let base = caller.base_of(args[index]);
    let is_local = caller.def_inst(base).is_some_and(|i| caller.op(i) == Op::Alloca(Space::Local));
    if !is_local {
        return !effects.writes_references && !effects.waits;
    }
    args.iter().zip(&callee.arguments).enumerate().all(|(i, (&actual, formal))| {
        i == index
            || formal.kind != ArgumentKind::Reference
            || caller.base_of(actual) != base
            || is_only_read(callee, formal.value)
    })
}

fn promote(module: &mut Module, id: FunctionId, index: usize, sites: &[(FunctionId, InstId)]) {
    let types = &module.types;
    for &(caller, call) in sites {
        let function = &mut module.functions[caller];
        let actual = function.arg(call, index);
        let value = Builder::before(function, types, call).load(actual);
        function.set_arg(call, index, value);
    }
    let function = &mut module.functions[id];
    let (value, ty) = (function.arguments[index].value, function.arguments[index].ty);
    let uses: Vec<InstId> = function.uses(value).map(|(user, _)| user).collect();
    let name = function.arguments[index].name.clone();
    if uses.iter().all(|&user| function.op(user) == Op::Load) {
        function.arguments[index].kind = ArgumentKind::Value;
        for load in uses {
            util::replace_and_remove(function, load, value);
        }
        return;
    }
    let Some(entry) = function.entry() else { return };
    let alloca = function.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
    let Some(place) = function.result(alloca) else { return };
    function.replace_all_uses(value, place);
    function.arguments[index].kind = ArgumentKind::Value;
    let store = function.create_inst(Op::Store, TypeId::VOID, &[place, value], &[], Imm::None);
    function.prepend_inst(entry, store);
    function.prepend_inst(entry, alloca);
    if let Some(name) = name {
        function.set_name(place, name);
    }
}

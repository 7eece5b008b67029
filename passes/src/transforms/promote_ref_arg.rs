//! Reference arguments that are only read, as values.
//!
//! What: an argument that a callable takes by reference and only loads, whole or in parts, is taken by value; the call sites
//! load it before the call.
//! Why right: the memory must not change while the callable runs, and must be there. A local variable of the caller can only
//! change through another reference of the same call, so no reference that the callable may write may name it; a part of it is
//! named by constant indices in range, as the callable might not have read it at all. Other memory stays by reference: who
//! owns it is not known. All call sites are looked at before anything is changed. A module without kernels is left as it is:
//! its callables are its interface.
//! Cost: linear in calls and uses. Source: `passes.md` section 3.2.

use super::elements::constant_index;
use super::inline::callees_first;
use super::unused_callable_removal::{calls, handlers};
use super::util;
use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters, options};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, ValueId,
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

/// Arguments of a callable that is looked at, at most: each is compared with all others.
const MAX_ARGUMENTS: usize = 256;

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
        let is_handler = handlers(cx.module);
        let order = callees_first(cx.module);
        let read_only = read_only(cx.module, &order);
        // Callers first: what a caller only passed on has a local variable of its own then.
        for id in order.into_iter().rev().filter(|&id| !is_handler[id]) {
            for index in 0..cx.module.functions[id].arguments.len() {
                let module = &*cx.module;
                let unchanged = |&site| is_unchanged(module, site, index, &read_only[id]);
                if !is_promotable(module, options, id)
                    || !fits(module, options, id, index)
                    || !read_only[id][index]
                    || !sites[id].iter().all(unchanged)
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

/// Which reference arguments of each function are only loaded, also by what they are passed on to.
fn read_only(module: &Module, callees_first: &[FunctionId]) -> SecondaryMap<FunctionId, Vec<bool>> {
    let mut read_only: SecondaryMap<FunctionId, Vec<bool>> = SecondaryMap::new();
    for &id in callees_first {
        let function = &module.functions[id];
        let arguments = function.arguments.iter();
        let found = arguments
            .map(|argument| {
                function.has_body()
                    && argument.kind == ArgumentKind::Reference
                    && is_only_read(function, argument.value, &read_only)
            })
            .collect();
        read_only[id] = found;
    }
    read_only
}

/// Whether the arguments of a function may be changed.
fn is_promotable(module: &Module, options: &Options, id: FunctionId) -> bool {
    let function = &module.functions[id];
    function.kind == FunctionKind::Callable
        && function.has_body()
        && function.arguments.len() <= MAX_ARGUMENTS
        && options.max_bytes > 0
}

fn fits(module: &Module, options: &Options, id: FunctionId, index: usize) -> bool {
    let ty = module.functions[id].arguments[index].ty;
    module.types.is_data(ty) && module.types.size(ty) <= options.max_bytes
}

/// Whether all uses of an lvalue are loads, also of its parts, and calls that only load it.
fn is_only_read(
    function: &Function,
    value: ValueId,
    read_only: &SecondaryMap<FunctionId, Vec<bool>>,
) -> bool {
    let mut pending = vec![value];
    while let Some(lvalue) = pending.pop() {
        for (user, index) in function.uses(lvalue) {
            match (function.op(user), &function.inst(user).imm) {
                (Op::Load, _) => {}
                (Op::Gep, _) if index == 0 => pending.extend(function.result(user)),
                (Op::Call, Imm::Callee(callee)) if read_only[*callee].get(index) == Some(&true) => {
                }
                _ => return false,
            }
        }
    }
    true
}

/// Whether a call passes a local variable, or a part of one that is there for certain, and no reference that the callee may
/// write names the same one.
fn is_unchanged(
    module: &Module,
    (caller, call): (FunctionId, InstId),
    index: usize,
    read_only: &[bool],
) -> bool {
    let caller = &module.functions[caller];
    let args = caller.args(call);
    let Some(base) = args.get(index).and_then(|&a| local_base(caller, &module.types, a)) else {
        return false;
    };
    args.iter().enumerate().all(|(i, &actual)| {
        read_only.get(i) == Some(&true)
            || !caller.is_lvalue(actual)
            || caller.base_of(actual) != base
    })
}

/// The local variable that an lvalue is part of, if constant indices in range lead there: loading another part earlier than
/// the callee would, or where it would not, could be out of range.
fn local_base(function: &Function, types: &TypeTable, lvalue: ValueId) -> Option<ValueId> {
    let mut at = lvalue;
    loop {
        let inst = function.def_inst(at)?;
        match function.op(inst) {
            Op::Alloca(Space::Local) => return Some(at),
            Op::Gep => {
                let args = function.args(inst);
                let mut ty = function.value_type(args[0]);
                for &index in &args[1..] {
                    let number = constant_index(function, index, types.member_count(ty))?;
                    ty = types.element_type(ty, number)?;
                }
                at = args[0];
            }
            _ => return None,
        }
    }
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

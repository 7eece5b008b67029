//! Inlining without a budget, and inlining of the callables that are named.
//!
//! What: `inline_all` replaces every call that can be replaced; `inline_call_sites` every call of the callables named, or it
//! refuses and changes nothing. Both do it as `inline` does.
//! Why right: as for `inline`. The plan of `inline_call_sites` is looked at whole before anything is changed: each call must
//! have a body to take its place, of one block where the caller is structured.
//! Cost: linear in the result, which `caller_limit` bounds: a call graph can double at every level.

use super::inline::{
    self, Inliner, Splice, blocks_on_cycles, callees_first, ends_in_return, is_flat,
};
use super::outline::Name;
use super::unused_callable_removal::calls;
use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters, options};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeId;
use luisac_xir::{Function, FunctionId, FunctionKind, InstId, Module};

options! {
    /// Limits of `inline_all`.
    AllOptions {
        caller_limit: u64 = 1048576, "instructions that a caller may grow to";
        override_noinline: bool = false, "inline also what must not be inlined";
        allow_autodiff_scope_in_caller: bool = false, "inline into callers that differentiate";
        consume_call_site_diagnostic_metadata: bool = false, "drop comments on calls instead of moving them";
    }
}

/// Inlining without a budget.
pub struct InlineAll;

impl ModulePass for InlineAll {
    const DECLARATION: Declaration = Declaration::new(
        "inline_all",
        "replaces all calls by the bodies of their callees",
        "As `inline`, whatever the size of the callee. Calls of several blocks in structured control flow stay, and those of \
         functions without a body or that must not be inlined.",
    );
    type Options = AllOptions;
    type Info = inline::Info;

    fn run(cx: &mut ModuleCx<'_>, options: &AllOptions) -> Result<inline::Info, Refusal> {
        let options = inline::Options {
            inline_all: true,
            single_site_limit: u64::MAX,
            limit: u64::MAX,
            caller_limit: options.caller_limit,
            override_noinline: options.override_noinline,
            allow_autodiff_scope_in_caller: options.allow_autodiff_scope_in_caller,
            consume_call_site_diagnostic_metadata: options.consume_call_site_diagnostic_metadata,
            ..inline::Options::default()
        };
        Ok(Inliner::new(cx.module, options).run(cx))
    }
}

counters! {
    /// What `inline_call_sites` did.
    SitesInfo {
        change inlined_call_count "calls replaced by bodies";
    }
}

options! {
    /// Which calls.
    SitesOptions {
        callees: Name = Name::default(), "names of the callables, separated by `|`";
        caller_limit: u64 = 1048576, "instructions that a caller may grow to";
    }
}

/// Inlining of the callables that are named.
pub struct InlineCallSites;

impl ModulePass for InlineCallSites {
    const DECLARATION: Declaration = Declaration::new(
        "inline_call_sites",
        "replaces all calls of the callables named",
        "Replaces every call of the callables that `callees` names, or refuses and changes nothing if one cannot be replaced.",
    );
    type Options = SitesOptions;
    type Info = SitesInfo;

    fn run(cx: &mut ModuleCx<'_>, options: &SitesOptions) -> Result<SitesInfo, Refusal> {
        let mut info = SitesInfo::default();
        let chosen = choose(cx.module, &options.callees.0)?;
        let order = callees_first(cx.module);
        check(cx.module, &chosen, &order, options.caller_limit)?;
        for caller in order {
            let sites: Vec<(InstId, FunctionId)> = calls(&cx.module.functions[caller]);
            let sites: Vec<_> = sites.into_iter().filter(|s| chosen[s.1]).collect();
            if sites.is_empty() {
                continue;
            }
            // Taken out, so that the callees can be read meanwhile.
            let empty = Function::new("", FunctionKind::Callable, TypeId::VOID);
            let mut function = std::mem::replace(&mut cx.module.functions[caller], empty);
            let repeats = blocks_on_cycles(&function);
            let repeats: Vec<bool> = sites
                .iter()
                .map(|&(call, _)| function.inst_block(call).is_none_or(|b| repeats[b]))
                .collect();
            // The last first, so that each instruction moves once when blocks are split.
            for (&(call, callee), repeats) in sites.iter().zip(repeats).rev() {
                if !cx.fuel() {
                    break;
                }
                let callee = &cx.module.functions[callee];
                Splice::new(&mut function, &cx.module.types, callee).run(call, repeats);
                info.inlined_call_count += 1;
            }
            cx.module.functions[caller] = function;
        }
        Ok(info)
    }
}

/// The callables of these names.
fn choose(module: &Module, names: &str) -> Result<SecondaryMap<FunctionId, bool>, Refusal> {
    let mut chosen: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    for name in names.split('|').filter(|n| !n.is_empty()) {
        let mut found = false;
        for (id, function) in module.functions.iter().filter(|(_, f)| f.name == name) {
            chosen[id] = !function.is_kernel();
            found |= chosen[id];
        }
        if !found {
            return Err(refusal(name, "there is no callable of this name"));
        }
    }
    Ok(chosen)
}

fn refusal(function: &str, reason: &str) -> Refusal {
    let help = "leave it out of `callees`, or flatten the callers by `destructure_cfg` before";
    Refusal { reason: reason.into(), help: help.into(), function: function.into() }
}

/// Whether every call of the chosen can be replaced.
fn check(
    module: &Module,
    chosen: &SecondaryMap<FunctionId, bool>,
    order: &[FunctionId],
    limit: u64,
) -> Result<(), Refusal> {
    let mut done: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    let mut sizes: SecondaryMap<FunctionId, u64> = SecondaryMap::new();
    let mut shapes: SecondaryMap<FunctionId, (bool, bool)> = SecondaryMap::new();
    for &id in order {
        let function = &module.functions[id];
        let one_block = function.entry().is_some_and(|b| function.next_block(b).is_none());
        let mut size = function.placed_inst_count() as u64;
        let (mut straight, flat) = (one_block && ends_in_return(function), is_flat(function));
        for (_, callee) in calls(function).into_iter().filter(|c| chosen[c.1]) {
            let name = &module.functions[callee].name;
            if !module.functions[callee].has_body() {
                return Err(refusal(name, "the callable has no body"));
            }
            if !done[callee] {
                return Err(refusal(name, "the callable calls itself"));
            }
            let (callee_straight, callee_flat) = shapes[callee];
            if !(callee_straight || callee_flat && flat) {
                return Err(refusal(
                    name,
                    "several blocks do not fit into structured control flow",
                ));
            }
            straight &= callee_straight;
            size = size.saturating_add(sizes[callee]);
            if size > limit {
                return Err(refusal(name, "the caller would grow beyond `caller_limit`"));
            }
        }
        sizes[id] = size;
        shapes[id] = (straight, flat);
        done[id] = true;
    }
    Ok(())
}

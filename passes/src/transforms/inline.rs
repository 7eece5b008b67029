//! Inlining.
//!
//! What: replaces calls by the bodies of their callees, callees first. A callee of one block may go anywhere; one of several
//! blocks only into flat control flow. Returned values of a callee with several returns go through a local, so that memory
//! form stays memory form.
//! Why right: arguments are values or lvalues that were evaluated before the call. A callee's locals become locals of the
//! caller; as they must be zero at each call and the caller's are zero only once, they are set to zero at the call if the
//! call can run more than once.
//! Cost: linear in the result. A callee with one call site is copied straight to where it ends up, and calls of one block are
//! taken from the last to the first, so that each instruction moves once. Budgets keep the result linear in the module: a call graph that doubles at every level keeps calls. Callees that
//! hold a barrier are inlined in any case (targets that split kernels at barriers need it), and so are calls that pass shared
//! memory by reference.

use super::unused_callable_removal::{calls, remove_unreached};
use super::util;
use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters, options};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::{Scopes, Space, ThreadGroupOp};
use luisac_xir::{
    BlockId, Builder, Function, FunctionId, Imm, InstId, Module, Op, ValueDef, ValueId,
};
use rustc_hash::FxHashMap;

counters! {
    /// What `inline` did.
    Info {
        change inlined_call_count "calls replaced by bodies";
        change removed_callable_count "callables removed, as nothing calls them any more";
        note skipped_recursive_callable_count "calls kept: the callee calls itself";
        note skipped_structured_call_count "calls kept: several blocks do not fit into structured control flow";
        note skipped_noinline_call_count "calls kept: the callee must not be inlined";
        note skipped_declaration_call_count "calls kept: the callee has no body";
        note skipped_costly_callable_count "calls kept: the callee is too large";
        note skipped_constrained_call_count "calls kept: the caller differentiates";
        note consumed_call_site_diagnostic_metadata_count "comments on calls that were dropped";
        note rejected_malformed_call_count "calls kept: the operands are not those of the callee";
    }
}

options! {
    /// How much to inline.
    Options {
        inline_all: bool = false, "inline whatever the limits below allow, instead of callees with few small sites";
        single_site_limit: u64 = 4096, "instructions of a callee with one call site, at most";
        limit: u64 = 512, "instructions of a callee with several call sites, at most (with inline_all)";
        caller_limit: u64 = 32768, "instructions that a caller may grow to (with inline_all)";
        override_noinline: bool = false, "inline also what must not be inlined";
        allow_autodiff_scope_in_caller: bool = false, "inline into callers that differentiate";
        consume_call_site_diagnostic_metadata: bool = false, "drop comments on calls instead of moving them";
        remove_callables: bool = false, "remove the callables that no kernel reaches afterwards";
    }
}

/// Without `inline_all`: callees with one site up to this many instructions...
const MODEST_SINGLE_SITE: u64 = 1024;
/// ... and with up to this many sites ...
const MODEST_SITES: u64 = 3;
/// ... up to this many.
const MODEST_LIMIT: u64 = 50;

/// The pass.
pub struct Inline;

impl ModulePass for Inline {
    const DECLARATION: Declaration = Declaration::new(
        "inline",
        "replaces calls by the bodies of their callees",
        "Inlines callees first. Callees of several blocks need a caller with flat control flow. What exceeds the limits stays \
         a call; callees with a barrier and calls that pass shared memory by reference are inlined in any case.",
    );
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
        Ok(Inliner::new(cx.module, options.clone()).run(cx))
    }
}

/// All functions, each after what it calls; a depth-first walk without recursion.
pub(crate) fn callees_first(module: &Module) -> Vec<FunctionId> {
    let mut order = Vec::with_capacity(module.functions.len());
    let mut seen: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    for root in module.functions.keys() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, calls(&module.functions[root]).into_iter())];
        while let Some((id, callees)) = stack.last_mut() {
            match callees.next() {
                Some((_, callee)) if seen[callee] => {}
                Some((_, callee)) => {
                    seen[callee] = true;
                    stack.push((callee, calls(&module.functions[callee]).into_iter()));
                }
                None => {
                    order.push(*id);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// What the inliner knows of a function, with what it has decided to inline into it.
#[derive(Clone, Copy, Default)]
struct Facts {
    size: u64,
    is_one_block: bool,
    sites: u64,
    has_barrier: bool,
    is_flat: bool,
    /// It differentiates.
    has_scope: bool,
    /// Its own calls have been looked at; false for a callee on a cycle.
    done: bool,
}

/// A call that is to be replaced.
#[derive(Clone, Copy)]
struct Site {
    call: InstId,
    callee: FunctionId,
    /// Whether it can run more than once in one run of its function.
    repeats: bool,
}

pub(crate) struct Inliner {
    options: Options,
    facts: SecondaryMap<FunctionId, Facts>,
    /// Calls that are to be replaced, in order, of functions where that has not been done: a function with one call site waits
    /// for the decision of its caller, so that a long chain is copied once and not once a level.
    waiting: SecondaryMap<FunctionId, Vec<Site>>,
    info: Info,
}

impl Inliner {
    pub(crate) fn new(module: &Module, options: Options) -> Inliner {
        let mut facts: SecondaryMap<FunctionId, Facts> = SecondaryMap::new();
        for function in module.functions.values() {
            for (_, callee) in calls(function) {
                facts[callee].sites += 1;
            }
        }
        Inliner { options, facts, waiting: SecondaryMap::new(), info: Info::default() }
    }

    /// Looks at all functions, callees first.
    pub(crate) fn run(mut self, cx: &mut ModuleCx<'_>) -> Info {
        for caller in callees_first(cx.module) {
            self.caller(cx, caller);
        }
        if self.options.remove_callables && self.info.inlined_call_count > 0 {
            self.info.removed_callable_count = remove_unreached(cx);
        }
        self.info
    }

    fn caller(&mut self, cx: &mut ModuleCx<'_>, caller: FunctionId) {
        let function = &cx.module.functions[caller];
        let entry = function.entry();
        let barriers = |op| matches!(op, Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock));
        let own = function.blocks().any(|b| function.insts(b).any(|i| barriers(function.op(i))));
        let sites = calls(function);
        let facts = &mut self.facts[caller];
        facts.size = function.placed_inst_count() as u64;
        facts.is_one_block =
            entry.is_some_and(|b| function.next_block(b).is_none()) && ends_in_return(function);
        facts.is_flat = is_flat(function);
        facts.has_barrier = own;
        let scope = |b| function.terminator(b).is_some_and(|t| function.op(t) == Op::AutodiffScope);
        facts.has_scope = function.blocks().any(scope);
        for &(_, callee) in &sites {
            self.facts[caller].has_barrier |= self.facts[callee].has_barrier;
        }
        if entry.is_some() && !sites.is_empty() {
            self.decide(cx, caller, &sites);
        }
        self.facts[caller].done = true;
        if self.facts[caller].sites != 1 {
            self.carry_out(cx, caller);
        }
    }

    /// Chooses the calls of a function that are to be replaced.
    fn decide(
        &mut self,
        cx: &mut ModuleCx<'_>,
        caller: FunctionId,
        sites: &[(InstId, FunctionId)],
    ) {
        let mut chosen = Vec::new();
        let mut repeats: Option<SecondaryMap<BlockId, bool>> = None;
        for &(call, callee) in sites {
            if !self.wants(cx.module, caller, call, callee) {
                // It will not be copied into its only caller, hence its own calls are due.
                self.carry_out(cx, callee);
                continue;
            }
            if !cx.fuel() {
                break;
            }
            let function = &cx.module.functions[caller];
            let repeats = repeats.get_or_insert_with(|| blocks_on_cycles(function));
            let repeats = function.inst_block(call).is_none_or(|b| repeats[b]);
            chosen.push(Site { call, callee, repeats });
            let inlined = self.facts[callee];
            self.facts[caller].size += inlined.size;
            self.facts[caller].is_one_block &= inlined.is_one_block;
        }
        self.waiting[caller] = chosen;
    }

    /// Replaces the calls that were chosen in a function, and those that come in with the bodies: the last first, so that each
    /// instruction moves once when blocks are split.
    fn carry_out(&mut self, cx: &mut ModuleCx<'_>, caller: FunctionId) {
        let mut pending = std::mem::take(&mut self.waiting[caller]);
        if pending.is_empty() {
            return;
        }
        // The caller is taken out, so that its callees can be read meanwhile.
        let empty = Function::new("", luisac_xir::FunctionKind::Callable, TypeId::VOID);
        let mut function = std::mem::replace(&mut cx.module.functions[caller], empty);
        while let Some(site) = pending.pop() {
            let callee = &cx.module.functions[site.callee];
            let comment = function.comment_of(site.call).map(String::from);
            let before = (function.inst_block(site.call), function.prev_inst(site.call));
            let mut splice = Splice {
                func: &mut function,
                types: &cx.module.types,
                callee,
                copied_calls: FxHashMap::default(),
            };
            splice.run(site.call, site.repeats);
            let copied = splice.copied_calls;
            if let Some(comment) = comment {
                self.comment(&mut function, before, &comment);
            }
            self.info.inlined_call_count += 1;
            for inner in &self.waiting[site.callee] {
                if let Some(&call) = copied.get(&inner.call) {
                    let repeats = site.repeats || inner.repeats;
                    pending.push(Site { call, callee: inner.callee, repeats });
                }
            }
        }
        cx.module.functions[caller] = function;
    }

    /// Puts the comment of a call on what stands in its place, or drops it.
    fn comment(
        &mut self,
        function: &mut Function,
        (block, before): (Option<BlockId>, Option<InstId>),
        comment: &str,
    ) {
        let first = match before {
            Some(inst) => function.next_inst(inst),
            None => block.and_then(|b| function.first_inst(b)),
        };
        match first.filter(|_| !self.options.consume_call_site_diagnostic_metadata) {
            Some(first) => function.set_comment(first, comment),
            None => self.info.consumed_call_site_diagnostic_metadata_count += 1,
        }
    }

    fn wants(
        &mut self,
        module: &Module,
        caller: FunctionId,
        call: InstId,
        callee: FunctionId,
    ) -> bool {
        let facts = self.facts[callee];
        let body = &module.functions[callee];
        let function = &module.functions[caller];
        if !body.has_body() {
            self.info.skipped_declaration_call_count += 1;
            return false;
        }
        if function.args(call).len() != body.arguments.len() {
            self.info.rejected_malformed_call_count += 1;
            return false;
        }
        if self.facts[caller].has_scope && !self.options.allow_autodiff_scope_in_caller {
            self.info.skipped_constrained_call_count += 1;
            return false;
        }
        if !facts.done || callee == caller {
            self.info.skipped_recursive_callable_count += 1;
            return false;
        }
        if !(facts.is_one_block || self.facts[caller].is_flat && facts.is_flat) {
            self.info.skipped_structured_call_count += 1;
            return false;
        }
        let shares = function
            .args(call)
            .iter()
            .any(|&a| function.is_lvalue(a) && function.scopes_of(a) == Scopes::SHARED);
        if facts.has_barrier || shares {
            return true;
        }
        if body.no_inline && !self.options.override_noinline {
            self.info.skipped_noinline_call_count += 1;
            return false;
        }
        let size = self.facts[caller].size;
        if !self.fits(facts, size, function.args(call).len() as u64) {
            self.info.skipped_costly_callable_count += 1;
            return false;
        }
        true
    }

    fn fits(&self, callee: Facts, caller_size: u64, arguments: u64) -> bool {
        // Not larger than the call itself, about.
        if callee.size <= arguments + 4 {
            return true;
        }
        if !self.options.inline_all {
            let limit = if callee.sites <= 1 { MODEST_SINGLE_SITE } else { MODEST_LIMIT };
            return callee.size <= limit && callee.sites <= MODEST_SITES;
        }
        let limit =
            if callee.sites <= 1 { self.options.single_site_limit } else { self.options.limit };
        callee.size <= limit && caller_size + callee.size <= self.options.caller_limit
    }
}

pub(crate) fn is_flat(func: &Function) -> bool {
    func.blocks().all(|b| func.terminator(b).is_none_or(|t| !func.op(t).is_structured()))
}

pub(crate) fn ends_in_return(func: &Function) -> bool {
    let end = func.entry().and_then(|b| func.terminator(b));
    end.is_some_and(|t| func.op(t) == Op::Return)
}

/// The blocks that can run more than once in one run of the function: those in a cycle (strongly connected components by
/// Tarjan's algorithm, without recursion). Structured `continue` and loop ends are edges too, so this holds in both forms.
pub(crate) fn blocks_on_cycles(func: &Function) -> SecondaryMap<BlockId, bool> {
    let mut on_cycle: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut index: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    let mut low: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    let mut open: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut component = Vec::new();
    let mut next = 0;
    let mut stack: Vec<(BlockId, usize)> = Vec::new();
    for root in func.blocks().filter(|&b| func.entry() == Some(b)) {
        stack.push((root, 0));
        while let Some(&mut (block, ref mut edge)) = stack.last_mut() {
            if *edge == 0 {
                next += 1;
                index[block] = next;
                low[block] = next;
                open[block] = true;
                component.push(block);
            }
            if let Some(&target) = func.successors(block).get(*edge) {
                *edge += 1;
                if index[target] == 0 {
                    stack.push((target, 0));
                } else if open[target] {
                    low[block] = low[block].min(index[target]);
                    on_cycle[block] |= target == block;
                }
                continue;
            }
            stack.pop();
            if let Some(&(parent, _)) = stack.last() {
                low[parent] = low[parent].min(low[block]);
            }
            if low[block] == index[block] {
                let start = component.iter().rposition(|&b| b == block).unwrap_or(0);
                let is_cycle = component.len() - start > 1;
                for b in component.drain(start..) {
                    open[b] = false;
                    on_cycle[b] |= is_cycle;
                }
            }
        }
    }
    on_cycle
}

/// Replaces one call by the body of its callee. A callee whose only `return` ends the chain of its outermost blocks keeps
/// structured control flow structured.
pub(crate) struct Splice<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    callee: &'a Function,
    /// Copies of the callee's own calls.
    copied_calls: FxHashMap<InstId, InstId>,
}

impl<'a> Splice<'a> {
    /// A splice of `callee` into `func`.
    pub(crate) fn new(
        func: &'a mut Function,
        types: &'a TypeTable,
        callee: &'a Function,
    ) -> Splice<'a> {
        Splice { func, types, callee, copied_calls: FxHashMap::default() }
    }

    /// The copies of the callee's own calls, in order.
    pub(crate) fn copied_calls(&self) -> Vec<InstId> {
        let mut calls: Vec<InstId> = self.copied_calls.values().copied().collect();
        calls.sort_unstable();
        calls
    }

    /// Replaces `call`; locals of the callee are set to zero before if `clear_locals`.
    pub(crate) fn run(&mut self, call: InstId, clear_locals: bool) {
        let Some(callee_entry) = self.callee.entry() else { return };
        let actuals = self.func.args(call).to_vec();
        let mut values: SecondaryMap<ValueId, Option<ValueId>> =
            SecondaryMap::with_capacity(self.callee.value_count());
        for (formal, &actual) in self.callee.arguments.iter().zip(&actuals) {
            values[formal.value] = Some(actual);
        }
        if self.callee.next_block(callee_entry).is_none() && ends_in_return(self.callee) {
            self.straight(call, callee_entry, &mut values, clear_locals);
        } else {
            self.blocks(call, &mut values, clear_locals);
        }
    }

    /// A callee of one block: its instructions go before the call.
    fn straight(
        &mut self,
        call: InstId,
        entry: BlockId,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        clear_locals: bool,
    ) {
        for inst in self.callee.insts(entry) {
            if self.callee.op(inst) == Op::Return {
                let value = self.callee.args(inst).first().map(|&v| self.value(values, v));
                match value {
                    Some(value) => util::replace_and_remove(self.func, call, value),
                    None => self.func.remove_inst(call),
                }
                return;
            }
            if let Some(alloca) = self.local(values, inst) {
                self.clear(alloca, clear_locals, Place::Before(call));
                continue;
            }
            let copy = self.copy(values, inst, |_| None);
            self.func.insert_before(copy, call);
        }
    }

    /// A callee of several blocks: the call's block is split around them.
    fn blocks(
        &mut self,
        call: InstId,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        clear_locals: bool,
    ) {
        let Some(head) = self.func.inst_block(call) else { return };
        let tail = self.func.split_block(call);
        let mut blocks: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
        let mut last = head;
        for block in self.callee.blocks() {
            last = self.func.insert_block_after(last);
            blocks[block] = Some(last);
        }
        let result = self.return_slot(call, clear_locals);
        self.copy_blocks(values, &blocks, tail, result, head, clear_locals);
        let entry = self.callee.entry().and_then(|b| blocks[b]).unwrap_or(tail);
        let loc = self.func.inst(call).loc;
        let mut builder = Builder::at_end(self.func, self.types, head);
        builder.loc = loc;
        builder.br(entry);
        match result {
            Some(slot) => {
                let value = Builder::before(self.func, self.types, call).load(slot);
                util::replace_and_remove(self.func, call, value);
            }
            None => self.func.remove_inst(call),
        }
    }

    /// The local that carries the returned value.
    fn return_slot(&mut self, call: InstId, _clear: bool) -> Option<ValueId> {
        let result = self.func.result(call)?;
        self.func.has_uses(result).then(|| self.entry_alloca(self.func.inst(call).ty, None))
    }

    fn entry_alloca(&mut self, ty: TypeId, name: Option<&str>) -> ValueId {
        let alloca = self.func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
        if let Some(entry) = self.func.entry() {
            self.func.prepend_inst(entry, alloca);
        }
        let value = self.func.result(alloca).unwrap_or_else(|| self.func.undefined(ty));
        if let Some(name) = name {
            self.func.set_name(value, name);
        }
        value
    }

    fn copy_blocks(
        &mut self,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        blocks: &SecondaryMap<BlockId, Option<BlockId>>,
        tail: BlockId,
        result: Option<ValueId>,
        head: BlockId,
        clear_locals: bool,
    ) {
        // Operands may be defined in blocks that come later, hence they are set in a second walk.
        let mut copies: Vec<(InstId, InstId)> = Vec::new();
        for block in self.callee.blocks() {
            let Some(into) = blocks[block] else { continue };
            for inst in self.callee.insts(block) {
                if let Some(alloca) = self.local(values, inst) {
                    self.clear(alloca, clear_locals, Place::End(head));
                    continue;
                }
                if self.callee.op(inst) == Op::Return {
                    let value = self.callee.args(inst).first().copied();
                    if let (Some(slot), Some(value)) = (result, value) {
                        let zero = self.func.undefined(self.callee.value_type(value));
                        let store = Builder::at_end(self.func, self.types, into).store(slot, zero);
                        self.func.set_loc(store, self.callee.inst(inst).loc);
                        copies.push((inst, store));
                    }
                    let br = self.func.create_inst(Op::Br, TypeId::VOID, &[], &[tail], Imm::None);
                    self.func.set_loc(br, self.callee.inst(inst).loc);
                    self.func.append_inst(into, br);
                    continue;
                }
                let copy = self.shell(values, inst, |b| blocks[b]);
                self.func.append_inst(into, copy);
                copies.push((inst, copy));
            }
        }
        for (inst, copy) in copies {
            let args: Vec<ValueId> =
                self.callee.args(inst).iter().map(|&v| self.value(values, v)).collect();
            match self.callee.op(inst) {
                Op::Return => self.func.set_arg(copy, 1, args[0]),
                _ => self.func.set_args(copy, &args),
            }
        }
    }

    /// Copies a local of the callee into the caller's entry block.
    fn local(
        &mut self,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        inst: InstId,
    ) -> Option<ValueId> {
        let Op::Alloca(_) = self.callee.op(inst) else { return None };
        let value = self.callee.result(inst)?;
        let name = self.callee.name_of(value);
        let alloca = self.entry_alloca(self.callee.inst(inst).ty, name);
        values[value] = Some(alloca);
        Some(alloca)
    }

    fn clear(&mut self, alloca: ValueId, clear_locals: bool, place: Place) {
        let ty = self.func.value_type(alloca);
        if !clear_locals || !self.types.is_data(ty) {
            return;
        }
        let zero = self.func.zero(ty, self.types);
        let store = self.func.create_inst(Op::Store, TypeId::VOID, &[alloca, zero], &[], Imm::None);
        match place {
            Place::Before(inst) => self.func.insert_before(store, inst),
            Place::End(block) => self.func.append_inst(block, store),
        }
    }

    /// A copy of an instruction with operands, in no block yet.
    fn copy(
        &mut self,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        inst: InstId,
        block: impl Fn(BlockId) -> Option<BlockId>,
    ) -> InstId {
        let copy = self.shell(values, inst, block);
        let args: Vec<ValueId> =
            self.callee.args(inst).iter().map(|&v| self.value(values, v)).collect();
        self.func.set_args(copy, &args);
        copy
    }

    /// A copy of an instruction without operands, in no block yet.
    fn shell(
        &mut self,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        inst: InstId,
        block: impl Fn(BlockId) -> Option<BlockId>,
    ) -> InstId {
        let data = self.callee.inst(inst);
        let blocks: Vec<BlockId> =
            self.callee.inst_blocks(inst).iter().filter_map(|&b| block(b)).collect();
        let copy = self.func.create_inst(data.op, data.ty, &[], &blocks, data.imm.clone());
        self.func.set_loc(copy, data.loc);
        if data.op == Op::Call {
            self.copied_calls.insert(inst, copy);
        }
        if let Some(comment) = self.callee.comment_of(inst) {
            self.func.set_comment(copy, comment);
        }
        if let (Some(old), Some(new)) = (self.callee.result(inst), self.func.result(copy)) {
            values[old] = Some(new);
            if let Some(name) = self.callee.name_of(old) {
                self.func.set_name(new, name);
            }
        }
        copy
    }

    /// The caller's value for one of the callee's.
    fn value(
        &mut self,
        values: &mut SecondaryMap<ValueId, Option<ValueId>>,
        value: ValueId,
    ) -> ValueId {
        if let Some(known) = values[value] {
            return known;
        }
        let ty = self.callee.value_type(value);
        let own = match self.callee.value_def(value) {
            ValueDef::Special(register) => self.func.special(register),
            ValueDef::Constant(_) => match self.callee.constant_bytes(value) {
                Some(bytes) => self.func.constant(ty, bytes.clone()),
                None => self.func.undefined(ty),
            },
            _ => self.func.undefined(ty),
        };
        values[value] = Some(own);
        own
    }
}

#[derive(Clone, Copy)]
enum Place {
    Before(InstId),
    End(BlockId),
}

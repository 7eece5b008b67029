//! Ray queries by callbacks become calls of a traversal with two functions.
//!
//! What: the handlers of a `ray_query_loop` become callables `(query, captures...)`, both with the same captures, and the loop
//! becomes one `ray_query_pipeline` that names them. Values from outside are captured by value, memory by reference.
//! A local variable that only one handler uses, and that every run of it writes whole before it reads, moves into the callable.
//!
//! Why right: a handler only leaves by going on to the next candidate, which is its `return`. What a handler leaves for the code
//! behind the loop lies in captured memory already: no value of it dominates anything else. A variable that moves starts at zero
//! in each run, but nothing reads that. Refused are handlers that act over several threads, since a traversal runs them at times
//! of its own, that differentiate, or that run queries.
//! The module is left unchanged if any of its loops is refused. Loops that the options leave out stay as they are.
//! Cost: linear in the functions with queries, times the variables that may move.

use super::outline::{Handler, outline};
use super::query_loop::{CANDIDATES, QueryLoop};
use crate::analyses::call_graph::CallGraph;
use crate::analyses::pointer_usage::PointerUsage;
use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters, options};
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{RayQueryWriteOp, Space};
use luisac_xir::{
    BlockId, Function, FunctionId, Imm, InstId, Module, Op, TypeId, ValueDef, ValueId,
};
use rustc_hash::FxHashSet;

counters! {
    /// What `lower_ray_query_to_pipeline` did.
    Info {
        change lowered_loop_count "ray-query loops turned into traversals with callables";
        note skipped_loop_count "ray-query loops that the options leave out";
        note localized_alloca_count "variables that moved into a callable";
    }
}

options! {
    /// Which loops.
    Options {
        max_captured_argument_count: u64 = u64::MAX, "captures of a loop, at most";
        min_handler_instruction_count: u64 = 0, "instructions of both handlers below which a loop is small";
        min_small_handler_loop_count: u64 = u64::MAX, "small loops of a function below which they stay";
    }
}

/// The pass.
pub struct LowerRayQueryToPipeline;

impl ModulePass for LowerRayQueryToPipeline {
    const DECLARATION: Declaration = Declaration::new(
        "lower_ray_query_to_pipeline",
        "turns ray queries by callbacks into traversals with callables",
        "Makes a callable of each handler of a ray-query loop, with what it uses as captures, for targets with programs for \
         candidates. Runs after the scalar passes, so that there are few captures, and before `dce`. The module is refused if a \
         handler acts over several threads, differentiates, runs a query or leaves the function.",
    );
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let mut plans: Vec<(FunctionId, Vec<Plan>)> = Vec::new();
        let unfit = unfit_callees(cx.module);
        for (id, func) in &cx.module.functions {
            let found = plan(func, &unfit).map_err(|reason| Refusal {
                reason: format!("a ray query cannot become a traversal with callables: {reason}"),
                help: "use `lower_ray_query_to_loop` for it".into(),
                function: func.name.clone(),
            })?;
            let (kept, skipped) = choose(func, found, options);
            info.skipped_loop_count += skipped;
            plans.push((id, kept));
        }
        for (id, plans) in plans {
            for (number, plan) in plans.into_iter().enumerate() {
                if !cx.fuel() {
                    return Ok(info);
                }
                info.localized_alloca_count +=
                    plan.locals.iter().map(|l| l.len() as u64).sum::<u64>();
                lower(cx.module, id, number, plan);
                info.lowered_loop_count += 1;
            }
        }
        Ok(info)
    }
}

/// A loop that can be lowered.
struct Plan {
    this: QueryLoop,
    /// Values from outside, without the query, in the order of their first use.
    captures: Vec<ValueId>,
    /// Variables that move into the callable of each handler.
    locals: [Vec<InstId>; CANDIDATES],
    /// Variables declared in a handler that cannot move into its callable.
    shared: Vec<InstId>,
}

/// Functions that no handler may call: they act over several threads, differentiate or run queries, or call what does.
fn unfit_callees(module: &Module) -> SecondaryMap<FunctionId, bool> {
    let holds =
        |func: &Function| func.blocks().any(|b| func.insts(b).any(|i| unfit(func.op(i)).is_some()));
    let roots = module.functions.iter().filter(|(_, f)| holds(f)).map(|(id, _)| id);
    CallGraph::compute(module).leading_to(roots)
}

/// Why an operation cannot stand in a handler.
fn unfit(op: Op) -> Option<&'static str> {
    match op {
        Op::ThreadGroup(_) => Some("a handler acts over several threads"),
        Op::Autodiff(_) | Op::AutodiffScope => Some("a handler differentiates"),
        Op::RayQueryLoop | Op::RayQueryPipeline | Op::RayQueryWrite(RayQueryWriteOp::Proceed) => {
            Some("a handler runs a query")
        }
        _ => None,
    }
}

/// The loops of a function.
fn plan(
    func: &Function,
    unfit_callee: &SecondaryMap<FunctionId, bool>,
) -> Result<Vec<Plan>, &'static str> {
    let cfg = ControlFlowGraph::compute(func);
    let owners = QueryLoop::owners(func, &cfg);
    if owners.is_empty() {
        return Ok(Vec::new());
    }
    let usage = PointerUsage::compute(func, &cfg);
    let mut plans = Vec::with_capacity(owners.len());
    for owner in owners {
        let this = QueryLoop::of(func, &cfg, owner)?;
        if func.insts(this.dispatch).count() != 1 {
            return Err("something is done before each candidate");
        }
        for inst in this.handlers.iter().flatten().flat_map(|&b| func.insts(b)) {
            let calls_unfit = func.inst(inst).imm.functions().any(|f| unfit_callee[f]);
            let calls = calls_unfit.then_some("a handler calls what cannot be in one");
            if let Some(reason) = unfit(func.op(inst)).or(calls) {
                return Err(reason);
            }
        }
        plans.push(Plan::of(func, &cfg, &usage, this));
    }
    Ok(plans)
}

impl Plan {
    fn of(func: &Function, cfg: &ControlFlowGraph, usage: &PointerUsage, this: QueryLoop) -> Plan {
        let mut plan = Plan {
            this,
            captures: Vec::new(),
            locals: [Vec::new(), Vec::new()],
            shared: Vec::new(),
        };
        let inside = [0, 1]
            .map(|i| -> FxHashSet<BlockId> { plan.this.handlers[i].iter().copied().collect() });
        let mut seen: FxHashSet<ValueId> = [plan.this.query].into_iter().collect();
        for i in 0..CANDIDATES {
            let Some(&entry) = plan.this.handlers[i].first() else { continue };
            let blocks = plan.this.handlers[i].iter();
            let insts: Vec<InstId> = blocks.flat_map(|&b| func.insts(b)).collect();
            for inst in insts {
                let own = func.result(inst).filter(|_| func.op(inst) == Op::Alloca(Space::Local));
                for value in own.into_iter().chain(func.args(inst).iter().copied()) {
                    if seen.contains(&value) || !is_from_outside(func, &inside[i], value) {
                        continue;
                    }
                    seen.insert(value);
                    let alloca = alloca_of(func, value);
                    let moves = alloca.is_some()
                        && is_used_only_in(func, &inside[i], value)
                        && !usage.live_in(cfg, value).contains(&entry);
                    match alloca {
                        Some(alloca) if moves => plan.locals[i].push(alloca),
                        Some(alloca) => {
                            let home = func.inst_block(alloca);
                            if home.is_some_and(|b| inside.iter().any(|set| set.contains(&b))) {
                                plan.shared.push(alloca);
                            }
                            plan.captures.push(value);
                        }
                        None => plan.captures.push(value),
                    }
                }
            }
        }
        plan
    }

    fn size(&self, func: &Function) -> u64 {
        let blocks = self.this.handlers.iter().flatten();
        blocks.map(|&b| func.insts(b).count() as u64).sum()
    }
}

/// The local alloca that a value is.
fn alloca_of(func: &Function, value: ValueId) -> Option<InstId> {
    func.def_inst(value).filter(|&i| func.op(i) == Op::Alloca(Space::Local))
}

/// Whether a handler gets a value from elsewhere. Variables count as such wherever they are declared.
fn is_from_outside(func: &Function, inside: &FxHashSet<BlockId>, value: ValueId) -> bool {
    match func.value_def(value) {
        ValueDef::Inst(inst) => {
            let is_local = func.op(inst) == Op::Alloca(Space::Local);
            is_local || func.inst_block(inst).is_none_or(|b| !inside.contains(&b))
        }
        ValueDef::Argument(_) => true,
        ValueDef::Constant(_) | ValueDef::Undefined | ValueDef::Special(_) => false,
    }
}

/// Whether all uses of a variable and of parts of it lie in a handler.
fn is_used_only_in(func: &Function, inside: &FxHashSet<BlockId>, value: ValueId) -> bool {
    let mut pending = vec![value];
    while let Some(place) = pending.pop() {
        for (user, _) in func.uses(place) {
            if func.inst_block(user).is_none_or(|b| !inside.contains(&b)) {
                return false;
            }
            if func.op(user) == Op::Gep {
                pending.extend(func.result(user));
            }
        }
    }
    true
}

/// The loops that the options take, and how many they leave out.
fn choose(func: &Function, plans: Vec<Plan>, options: &Options) -> (Vec<Plan>, u64) {
    let is_small = |p: &Plan| p.size(func) < options.min_handler_instruction_count;
    let small = plans.iter().filter(|p| is_small(p)).count() as u64;
    let takes_small = small >= options.min_small_handler_loop_count;
    let all = plans.len() as u64;
    let fits = |p: &Plan| {
        (takes_small || !is_small(p))
            && p.captures.len() as u64 <= options.max_captured_argument_count
    };
    let kept: Vec<Plan> = plans.into_iter().filter(fits).collect();
    let skipped = all - kept.len() as u64;
    (kept, skipped)
}

fn lower(module: &mut Module, id: FunctionId, number: usize, plan: Plan) {
    let func = &mut module.functions[id];
    for &alloca in &plan.shared {
        func.unlink_inst(alloca);
        if let Some(entry) = func.entry() {
            func.prepend_inst(entry, alloca);
        }
    }
    let this = &plan.this;
    let made = [("surface", 0), ("procedural", 1)].map(|(kind, i)| {
        let handler = Handler {
            name: format!("{}_{kind}_{number}", func.name),
            blocks: &this.handlers[i],
            dispatch: this.dispatch,
            query: this.query,
            captures: &plan.captures,
            locals: &plan.locals[i],
        };
        outline(func, &handler)
    });
    let [surface, procedural] = made.map(|callable| module.functions.push(callable));
    let func = &mut module.functions[id];
    replace(func, &plan, Imm::Handlers { surface, procedural });
}

/// Puts the traversal where the loop was.
fn replace(func: &mut Function, plan: &Plan, handlers: Imm) {
    let this = &plan.this;
    let Some(old) = func.terminator(this.owner) else { return };
    let loc = func.inst(old).loc;
    func.remove_inst(old);
    let args: Vec<ValueId> = [this.query].iter().chain(&plan.captures).copied().collect();
    let traversal = func.create_inst(Op::RayQueryPipeline, TypeId::VOID, &args, &[], handlers);
    func.set_loc(traversal, loc);
    func.append_inst(this.owner, traversal);
    let br = func.replace_with_br(this.owner, this.merge);
    func.set_loc(br, loc);
    func.rename_phi_predecessor(this.merge, this.dispatch, this.owner);
    let blocks: Vec<BlockId> =
        this.handlers.iter().flatten().copied().chain([this.dispatch]).collect();
    for &block in &blocks {
        let insts: Vec<InstId> = func.insts(block).collect();
        insts.into_iter().for_each(|inst| func.set_args(inst, &[]));
    }
    blocks.into_iter().for_each(|block| func.remove_block(block));
    for &alloca in plan.locals.iter().flatten() {
        if func.inst_block(alloca).is_some() {
            func.remove_inst(alloca);
        }
    }
}

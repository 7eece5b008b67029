//! The edits that make a module smaller. None of them keeps the meaning; the verifier and the test decide.

use crate::transforms::util;
use crate::{Fuel, registry};
use luisac_xir::{ArgumentKind, Function, FunctionId, InstId, Module, Op, TypeId, ValueId};

/// A kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Functions that nothing calls go.
    Callables,
    /// A terminator becomes a branch to one of its blocks.
    Branches,
    /// Instructions go; what they gave becomes zero.
    Instructions,
    /// What nothing needs goes.
    Unused,
    /// A result is replaced by an operand of its type.
    Hoist,
    /// Operands become zero.
    Operands,
    /// A block that only one branch leads to is appended to the block of the branch.
    Blocks,
    /// Arguments of kernels that nothing uses go.
    Arguments,
}

/// Where an edit applies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    function: FunctionId,
    inst: Option<InstId>,
    /// Which block, operand or argument.
    choice: usize,
}

impl Edit {
    pub(super) const ALL: [Edit; 8] = [
        Edit::Callables,
        Edit::Branches,
        Edit::Instructions,
        Edit::Unused,
        Edit::Hoist,
        Edit::Operands,
        Edit::Blocks,
        Edit::Arguments,
    ];

    /// Whether many sites may be edited at once.
    pub(super) const fn in_chunks(self) -> bool {
        matches!(self, Edit::Instructions | Edit::Operands | Edit::Hoist)
    }
}

/// What edits make fewer, the most important first.
pub(super) fn size(module: &Module) -> [usize; 5] {
    let mut size = [0; 5];
    for function in module.functions.values() {
        size[1] += function.placed_block_count();
        for inst in insts(function) {
            size[0] += 1;
            let varying = |&&v: &&ValueId| function.constant_bytes(v).is_none();
            size[2] += function.args(inst).iter().filter(varying).count();
        }
        size[4] += function.arguments.len();
    }
    size[3] = module.functions.len();
    size
}

fn insts(function: &Function) -> impl Iterator<Item = InstId> + '_ {
    function.blocks().flat_map(|block| function.insts(block))
}

/// All places where an edit may apply, in order.
pub(super) fn sites(module: &Module, edit: Edit) -> Vec<Site> {
    let mut sites = Vec::new();
    if edit == Edit::Callables {
        let function = FunctionId::from_u32(0);
        return vec![Site { function, inst: None, choice: 0 }];
    }
    for (id, function) in &module.functions {
        let site = |inst, choice| Site { function: id, inst, choice };
        match edit {
            Edit::Unused => sites.push(site(None, 0)),
            Edit::Arguments if function.is_kernel() => {
                sites.extend((0..function.arguments.len()).map(|i| site(None, i)));
            }
            Edit::Arguments | Edit::Callables => {}
            _ => {
                for inst in insts(function) {
                    sites.extend(choices(function, edit, inst).map(|i| site(Some(inst), i)));
                }
            }
        }
    }
    sites
}

/// What can be chosen at an instruction.
fn choices(function: &Function, edit: Edit, inst: InstId) -> std::ops::Range<usize> {
    let op = function.op(inst);
    match edit {
        Edit::Branches if op.is_terminator() && op != Op::Br => 0..function.inst_blocks(inst).len(),
        Edit::Blocks if op == Op::Br => 0..1,
        Edit::Instructions if !op.is_terminator() => 0..1,
        Edit::Operands if op != Op::Phi => 0..function.args(inst).len(),
        Edit::Hoist if op != Op::Phi && function.result(inst).is_some() => 0..1,
        _ => 0..0,
    }
}

/// Applies an edit at some sites; whether anything changed.
pub(super) fn apply(module: &mut Module, edit: Edit, sites: &[Site]) -> bool {
    if edit == Edit::Callables {
        return remove_callables(module);
    }
    let mut changed = false;
    for site in sites {
        let Module { types, functions } = module;
        let Some(function) = functions.get_mut(site.function) else { continue };
        let placed = site.inst.filter(|&inst| function.inst_block(inst).is_some());
        changed |= match (edit, placed) {
            (Edit::Branches, Some(inst)) => branch(function, inst, site.choice),
            (Edit::Blocks, Some(inst)) => join(function, inst),
            (Edit::Instructions, Some(inst)) => remove(function, types, inst),
            (Edit::Hoist, Some(inst)) => hoist(function, inst),
            (Edit::Operands, Some(inst)) => clear_operand(function, types, inst, site.choice),
            (Edit::Unused, _) => remove_unused(function),
            (Edit::Arguments, _) => remove_argument(function, site.choice),
            _ => false,
        };
    }
    changed
}

fn remove_callables(module: &mut Module) -> bool {
    let before = module.functions.len();
    let Some(pass) = registry::find("unused_callable_removal") else { return false };
    pass.run_on_module(module, &[], &Fuel::unlimited()).is_ok() && module.functions.len() < before
}

fn branch(function: &mut Function, inst: InstId, choice: usize) -> bool {
    let Some(block) = function.inst_block(inst) else { return false };
    let Some(&target) = function.inst_blocks(inst).get(choice) else { return false };
    if function.phis(target).next().is_some() && !function.successors(block).contains(&target) {
        return false;
    }
    for successor in function.successors(block).to_vec() {
        if successor != target {
            function.remove_phi_predecessor(successor, block);
        }
    }
    function.replace_with_br(block, target);
    let keep = util::named_blocks(function, true);
    util::remove_blocks_but(function, &keep);
    true
}

/// Appends the target of a `br` to the block that ends in it, if nothing else names the target.
fn join(function: &mut Function, inst: InstId) -> bool {
    let (Some(block), Some(&target)) =
        (function.inst_block(inst), function.inst_blocks(inst).first())
    else {
        return false;
    };
    let names = |i: InstId| function.inst_blocks(i).iter().filter(|&&b| b == target).count();
    let named: usize = insts(function).filter(|&i| function.op(i) != Op::Phi).map(names).sum();
    if named != 1 || target == block || function.phis(target).next().is_some() {
        return false;
    }
    function.remove_inst(inst);
    for successor in function.successors(target).to_vec() {
        function.rename_phi_predecessor(successor, target, block);
    }
    for inst in function.insts(target).collect::<Vec<_>>() {
        function.unlink_inst(inst);
        function.append_inst(block, inst);
    }
    function.remove_block(target);
    true
}

fn remove(function: &mut Function, types: &luisac_xir::TypeTable, inst: InstId) -> bool {
    if let Some(result) = function.result(inst)
        && function.has_uses(result)
    {
        let ty = function.value_type(result);
        if function.is_lvalue(result) || !types.is_data(ty) {
            return false;
        }
        let zero = function.zero(ty, types);
        function.replace_all_uses(result, zero);
    }
    function.remove_inst(inst);
    true
}

fn hoist(function: &mut Function, inst: InstId) -> bool {
    let Some(result) = function.result(inst) else { return false };
    let ty = function.value_type(result);
    let lvalue = function.is_lvalue(result);
    let fits = |&&arg: &&ValueId| {
        function.value_type(arg) == ty
            && function.is_lvalue(arg) == lvalue
            && !function.is_resource(arg)
    };
    let Some(&operand) = function.args(inst).iter().find(fits) else { return false };
    if operand == result {
        return false;
    }
    function.replace_all_uses(result, operand);
    function.remove_inst(inst);
    true
}

fn clear_operand(
    function: &mut Function,
    types: &luisac_xir::TypeTable,
    inst: InstId,
    index: usize,
) -> bool {
    let Some(&operand) = function.args(inst).get(index) else { return false };
    let ty = function.value_type(operand);
    let fixed = function.is_lvalue(operand) || function.is_resource(operand);
    if fixed || function.constant_bytes(operand).is_some() || !types.is_data(ty) {
        return false;
    }
    let zero = function.zero(ty, types);
    function.set_arg(inst, index, zero);
    true
}

/// Removes what has no effect and no use, users first.
fn remove_unused(function: &mut Function) -> bool {
    let all: Vec<InstId> = insts(function).collect();
    let mut pending: Vec<InstId> = all;
    let mut changed = false;
    while let Some(inst) = pending.pop() {
        let used = function.result(inst).is_none_or(|result| function.has_uses(result));
        let op = function.op(inst);
        if function.inst_block(inst).is_none() || used || op.is_terminator() {
            continue;
        }
        if function.effects(inst).removable() {
            let operands: Vec<InstId> =
                function.args(inst).iter().filter_map(|&a| function.def_inst(a)).collect();
            function.remove_inst(inst);
            pending.extend(operands);
            changed = true;
        }
    }
    changed
}

fn remove_argument(function: &mut Function, index: usize) -> bool {
    let Some(argument) = function.arguments.get(index) else { return false };
    let (kind, value, ty) = (argument.kind, argument.value, argument.ty);
    if kind == ArgumentKind::Reference || function.has_uses(value) || ty == TypeId::VOID {
        return false;
    }
    function.remove_argument(index);
    true
}

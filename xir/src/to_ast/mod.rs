//! XIR back to a LuisaCompute AST, so that optimised kernels can be written in LuisaCompute's own format.
//!
//! Takes structured control flow, in memory form or with phis. Constructs become statements (`control.rs`); a value becomes a
//! variable that is assigned where the value is defined, or, if it is used once in the same block, a part of the expression that uses it, as
//! long as nothing that is written in between could be read by it (`values.rs`); operations become the calls and operators that
//! lower to them (`expressions.rs`). A `loop` becomes a `for` where its update is an addition and its test is an expression.
//!
//! What a module does not say comes out as nothing: handles of captured resources are zero. Nothing recurses; time and memory are linear in
//! the module.

pub mod codes;
mod control;
mod expressions;
mod operations;
mod operators;
#[cfg(test)]
mod tests;
mod values;

pub use codes::CODES;

use crate::op::Space;
use crate::{ArgumentKind, Function, FunctionId, FunctionKind, Imm, Module, Op};
use cranelift_entity::SecondaryMap;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::model::{
    self, Binding, Callee, External, FunctionTag, Library, Usage, Variable, VariableTag,
};
use luisac_ast::types::{TypeId, TypeKind, TypeTable};
use luisac_ast::usage;

/// The module as an AST: callees before their callers, kernels last.
///
/// # Errors
/// `L0570` and `L0571` for what an AST cannot hold, function by function.
pub fn raise(module: &Module) -> Result<Library, Diagnostics> {
    let mut library = Library { types: module.types.clone(), ..Library::new() };
    let mut errors = Diagnostics::new();
    let mut callees: SecondaryMap<FunctionId, Option<Callee>> = SecondaryMap::new();
    for id in order(module) {
        let func = &module.functions[id];
        if func.kind == FunctionKind::External {
            callees[id] = Some(Callee::External(library.externals.push(external(func))));
            continue;
        }
        let declared = declare(func, &module.types);
        match values::Raiser::new(module, func, declared, &callees, &mut library).run() {
            Ok(function) => {
                callees[id] = Some(Callee::Function(library.functions.push(function)));
            }
            Err(mut found) => {
                errors.0.append(&mut found.0);
                // Its callers are looked at as well.
                let stand_in = model::Function::new(FunctionTag::Callable);
                callees[id] = Some(Callee::Function(library.functions.push(stand_in)));
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    usage::mark(&mut library);
    Ok(library)
}

/// All functions, callees first, kernels last.
fn order(module: &Module) -> Vec<FunctionId> {
    let mut done: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    let mut order = Vec::new();
    let (kernels, others): (Vec<_>, Vec<_>) =
        module.functions.keys().partition(|&id| module.functions[id].is_kernel());
    for root in others.into_iter().chain(kernels) {
        let mut path = vec![(root, false)];
        while let Some((id, left)) = path.pop() {
            if left {
                order.push(id);
            } else if !std::mem::replace(&mut done[id], true) {
                path.push((id, true));
                path.extend(called(&module.functions[id]).map(|callee| (callee, false)));
            }
        }
    }
    order
}

fn called(func: &Function) -> impl Iterator<Item = FunctionId> + '_ {
    func.blocks().flat_map(|b| func.insts(b)).filter_map(|inst| match func.inst(inst).imm {
        Imm::Callee(callee) if func.op(inst) == Op::Call => Some(callee),
        _ => None,
    })
}

fn external(func: &Function) -> External {
    let usage = |kind| match kind {
        ArgumentKind::Value => Usage::READ,
        _ => Usage::READ_WRITE,
    };
    External {
        name: func.name.clone(),
        return_type: func.return_type,
        argument_types: func.arguments.iter().map(|a| a.ty).collect(),
        argument_usages: func.arguments.iter().map(|a| usage(a.kind)).collect(),
    }
}

/// The function without a body: its kind, name and arguments.
fn declare(func: &Function, types: &TypeTable) -> model::Function {
    let mut ast = model::Function::new(match func.kind {
        FunctionKind::Kernel { .. } => FunctionTag::Kernel,
        _ => FunctionTag::Callable,
    });
    ast.name = Some(func.name.clone()).filter(|n| !n.is_empty());
    ast.return_type = func.return_type;
    if let FunctionKind::Kernel { block_size } = func.kind {
        ast.block_size = block_size;
    }
    for argument in &func.arguments {
        let tag = match argument.kind {
            ArgumentKind::Value => VariableTag::Argument,
            ArgumentKind::Reference
                if types.is_custom_named(argument.ty, "LC_IndirectDispatchBuffer") =>
            {
                VariableTag::Buffer
            }
            ArgumentKind::Reference => VariableTag::Reference,
            ArgumentKind::Resource => resource_tag(types, argument.ty),
        };
        let name = argument.name.clone();
        let variable = Variable { tag, ty: argument.ty, usage: Usage::NONE, name };
        let variable = ast.variables.push(variable);
        ast.arguments.push(variable);
        if argument.captured {
            ast.bindings.push(unbound(tag));
        }
    }
    ast
}

fn resource_tag(types: &TypeTable, ty: TypeId) -> VariableTag {
    match types.kind(ty) {
        TypeKind::Texture { .. } => VariableTag::Texture,
        TypeKind::BindlessArray => VariableTag::BindlessArray,
        TypeKind::Accel => VariableTag::Accel,
        _ => VariableTag::Buffer,
    }
}

/// A captured resource that nothing is known of.
fn unbound(tag: VariableTag) -> Binding {
    match tag {
        VariableTag::Texture => Binding::Texture { handle: 0, level: 0 },
        VariableTag::BindlessArray => Binding::BindlessArray { handle: 0 },
        VariableTag::Accel => Binding::Accel { handle: 0 },
        _ => Binding::Buffer { handle: 0, offset: 0, size: 0 },
    }
}

/// The kind of variable that memory becomes.
const fn memory_tag(space: Space) -> VariableTag {
    match space {
        Space::Local => VariableTag::Local,
        Space::Shared => VariableTag::Shared,
    }
}

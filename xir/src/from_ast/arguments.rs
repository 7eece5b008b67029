//! Formal arguments, and which of them need memory.

use super::MALFORMED;
use super::function::{Lowerer, Result, Storage};
use super::natives::external_parameter;
use crate::ArgumentKind;
use crate::op::Space;
use cranelift_entity::SecondaryMap;
use luisac_ast::callops::{CallOp, Param};
use luisac_ast::model::{self, Callee, ExprId, ExprKind, Library, Stmt, VariableId, VariableTag};
use luisac_ast::types::{TypeId, TypeTable};

impl Lowerer<'_> {
    /// Adds the formal arguments; those that the function assigns get memory of their own.
    pub(super) fn add_arguments(&mut self) -> Result<()> {
        let assigned = assigned_variables(self.library, self.ast);
        let is_kernel = self.func.is_kernel();
        for (i, &variable) in self.ast.arguments.iter().enumerate() {
            let Some(data) = self.ast.variables.get(variable) else {
                return Err(
                    self.error(MALFORMED, "an argument names a variable that does not exist")
                );
            };
            let kind = argument_kind(self.types, data.tag, data.ty);
            if !fits_argument(self.types, kind, data.ty, is_kernel) {
                let place = if is_kernel { "a kernel" } else { "a callable" };
                let ty = self.describe(data.ty);
                return Err(self.error(MALFORMED, format!("{ty} cannot be passed so to {place}")));
            }
            let captured = is_kernel && i < self.ast.bindings.len();
            let value = self.func.add_argument(kind, data.ty, data.name.as_deref(), captured);
            self.name_after(value, variable);
            let storage = match kind {
                ArgumentKind::Reference => Storage::Memory(value),
                ArgumentKind::Resource => Storage::Resource(value),
                ArgumentKind::Value if assigned[variable] => {
                    let memory = self.alloca(Space::Local, data.ty);
                    self.name_after(memory, variable);
                    self.store(memory, value);
                    Storage::Memory(memory)
                }
                ArgumentKind::Value => Storage::Value(value),
            };
            self.set_storage(variable, storage);
        }
        Ok(())
    }
}

/// How an argument of this tag and type is passed.
pub(super) fn argument_kind(types: &TypeTable, tag: VariableTag, ty: TypeId) -> ArgumentKind {
    if tag == VariableTag::Reference || types.is_custom(ty) {
        ArgumentKind::Reference
    } else if types.is_resource(ty) {
        ArgumentKind::Resource
    } else {
        ArgumentKind::Value
    }
}

/// Whether an argument of this kind may have the type.
fn fits_argument(types: &TypeTable, kind: ArgumentKind, ty: TypeId, is_kernel: bool) -> bool {
    match kind {
        ArgumentKind::Value => types.is_data(ty),
        ArgumentKind::Reference if is_kernel => types.is_custom(ty) && !types.is_ray_query(ty),
        ArgumentKind::Reference => types.is_data(ty) || types.is_custom(ty),
        ArgumentKind::Resource => true,
    }
}

/// The variables that a function assigns, or passes to something that may.
fn assigned_variables(library: &Library, ast: &model::Function) -> SecondaryMap<VariableId, bool> {
    let mut assigned: SecondaryMap<VariableId, bool> = SecondaryMap::new();
    let mut mark = |expr: ExprId| {
        if let Some(variable) = root_variable(ast, expr) {
            assigned[variable] = true;
        }
    };
    for stmt in ast.stmts.values() {
        match *stmt {
            Stmt::Assign { lhs, .. } => mark(lhs),
            Stmt::For { variable, .. } => mark(variable),
            Stmt::RayQuery { query, .. } => mark(query),
            _ => {}
        }
    }
    for expr in ast.exprs.values() {
        if let ExprKind::CpuCustom { argument, .. } = expr.kind
            && let Some(argument) = argument.expand()
        {
            mark(argument);
        }
        let ExprKind::Call { op, callee, arguments, .. } = expr.kind else { continue };
        for (i, &argument) in ast.exprs_in(arguments).iter().enumerate() {
            if passes_by_reference(library, op, callee, i) {
                mark(argument);
            }
        }
    }
    assigned
}

/// Whether a call takes argument `index` as an lvalue.
pub(super) fn passes_by_reference(
    library: &Library,
    op: CallOp,
    callee: Callee,
    index: usize,
) -> bool {
    match callee {
        Callee::Function(id) => {
            let formal = library.functions.get(id).and_then(|f| {
                let variable = f.arguments.get(index)?;
                f.variables.get(*variable)
            });
            formal.is_some_and(|v| {
                argument_kind(&library.types, v.tag, v.ty) == ArgumentKind::Reference
            })
        }
        Callee::External(id) => {
            let external = library.externals.get(id);
            let parameter = external.and_then(|e| external_parameter(&library.types, e, index));
            parameter.is_some_and(|(kind, _)| kind == ArgumentKind::Reference)
        }
        Callee::Builtin if op == CallOp::AddressOf => true,
        Callee::Builtin => matches!(
            op.info().params.get(index),
            Some(Param::Ref | Param::Query | Param::Dispatch | Param::AtomicBase)
        ),
    }
}

/// The variable at the bottom of a chain of members, elements and components.
pub(super) fn root_variable(ast: &model::Function, mut expr: ExprId) -> Option<VariableId> {
    loop {
        match ast.exprs.get(expr)?.kind {
            ExprKind::Member { base, .. } | ExprKind::Swizzle { base, .. } => expr = base,
            ExprKind::Access { range, .. } => expr = range,
            ExprKind::Ref(variable) => return Some(variable),
            _ => return None,
        }
    }
}

//! Declarations of a function: variables, arguments, bindings, block size.

use cranelift_entity::EntityRef;

use super::{Checker, codes};
use crate::model::{
    Binding, Callee, ExprKind, FunctionTag, Stmt, Variable, VariableId, VariableTag,
};
use crate::place::{self, Node};
use crate::types::{Scalar, TypeId, TypeKind};

impl Checker<'_> {
    pub(super) fn check_declarations(&mut self) {
        for (id, variable) in &self.function.variables {
            self.check_variable(id, variable);
        }
        self.check_return_type();
        if self.function.tag == FunctionTag::Kernel {
            self.check_kernel();
        } else if !self.function.bindings.is_empty() {
            self.error(codes::BINDING, Node::Function, "only arguments of kernels can be bound");
        }
    }

    /// A callable returns data; resources are passed, never returned.
    fn check_return_type(&mut self) {
        let ty = self.function.return_type;
        if ty != TypeId::VOID && !self.library.types.is_data(ty) {
            let message = format!("a function cannot return `{}`", self.name(ty));
            self.error(codes::RETURN_TYPE, Node::Function, message);
        }
    }

    pub(super) fn check_variable(&mut self, id: VariableId, variable: &Variable) {
        let types = &self.library.types;
        let (tag, ty) = (variable.tag, variable.ty);
        let fits = match tag {
            VariableTag::Local => types.is_data(ty) || types.is_custom(ty),
            VariableTag::Argument => types.is_data(ty),
            VariableTag::Reference => types.is_data(ty) || types.is_custom(ty),
            VariableTag::Shared => types.is_data(ty) && !types.has_attributes(ty),
            VariableTag::Buffer => {
                matches!(types.kind(ty), TypeKind::Buffer { .. })
                    || types.is_custom_named(ty, "LC_IndirectDispatchBuffer")
            }
            VariableTag::Texture => matches!(types.kind(ty), TypeKind::Texture { .. }),
            VariableTag::BindlessArray => matches!(types.kind(ty), TypeKind::BindlessArray),
            VariableTag::Accel => matches!(types.kind(ty), TypeKind::Accel),
            // Some recorders give it three components.
            VariableTag::KernelId => ty == TypeId::U32 || ty == TypeId::vector(Scalar::U32, 3),
            VariableTag::ThreadId
            | VariableTag::BlockId
            | VariableTag::DispatchId
            | VariableTag::DispatchSize => ty == TypeId::vector(Scalar::U32, 3),
            VariableTag::WarpLaneCount
            | VariableTag::WarpLaneId
            | VariableTag::ObjectId
            | VariableTag::RasterBaseInstance => ty == TypeId::U32,
            VariableTag::RasterBarycentrics => ty == TypeId::vector(Scalar::F32, 3),
            VariableTag::RasterFrontFacing => ty == TypeId::BOOL,
        };
        if !fits {
            let message = format!(
                "a variable of tag `{}` cannot have the type `{}`",
                tag.name(),
                self.name(ty)
            );
            self.error(codes::VARIABLE_TYPE, Node::Variable(id), message);
        }
        if tag == VariableTag::Shared && self.function.tag != FunctionTag::Kernel {
            let message = "a shared variable can only be declared in a kernel";
            self.error(codes::KERNEL_ONLY, Node::Variable(id), message);
        }
    }

    fn check_kernel(&mut self) {
        let function = self.function;
        if function.return_type != TypeId::VOID {
            let message = format!("a kernel cannot return `{}`", self.name(function.return_type));
            self.error(codes::KERNEL_SHAPE, Node::Function, message);
        }
        for (i, argument) in function.arguments.iter().enumerate() {
            if function.variables[*argument].tag == VariableTag::Reference {
                self.error(
                    codes::KERNEL_SHAPE,
                    Node::Argument(i),
                    "a kernel cannot take a reference",
                );
            }
        }
        let [x, y, z] = function.block_size.map(u64::from);
        let threads = x * y * z;
        let unset = function.block_size == [0; 3];
        if !unset && (threads == 0 || threads > 1024 || z > 64) {
            let message = format!("a block of {x} x {y} x {z} threads is not possible");
            self.error(codes::BLOCK_SIZE, Node::Function, message);
        }
        self.check_bindings();
    }

    fn check_bindings(&mut self) {
        let function = self.function;
        let (bound, arguments) = (function.bindings.len(), function.arguments.len());
        if bound > arguments {
            let message = format!("{bound} arguments are bound, but the kernel has {arguments}");
            self.error(codes::BINDING, Node::Function, message);
        }
        for (i, (binding, argument)) in
            function.bindings.iter().zip(&function.arguments).enumerate()
        {
            let bound = match binding {
                Binding::Buffer { .. } => VariableTag::Buffer,
                Binding::Texture { .. } => VariableTag::Texture,
                Binding::BindlessArray { .. } => VariableTag::BindlessArray,
                Binding::Accel { .. } => VariableTag::Accel,
            };
            let tag = function.variables[*argument].tag;
            if bound != tag {
                let message = format!(
                    "a `{}` is bound to argument {i}, which is a `{}`",
                    bound.name(),
                    tag.name()
                );
                self.error(codes::BINDING, Node::Binding(i), message);
            }
        }
    }

    /// Whether nodes come after what they name and functions after what they call: all else relies on it.
    pub(super) fn check_order(&mut self) -> bool {
        let function = self.function;
        if function.body.is_none() {
            self.error(codes::NO_BODY, Node::Function, "the function has no body");
            return false;
        }
        let mut ordered = true;
        for (id, expr) in &function.exprs {
            place::expr_children(function, &expr.kind, |_, _, operand| ordered &= operand < id);
            if let ExprKind::Call { callee: Callee::Function(callee), .. } = expr.kind
                && callee >= self.id
            {
                let message = format!(
                    "{} is not defined before this call",
                    self.library.function_name(callee)
                );
                self.error(codes::NODE_ORDER, Node::Expr(id), message);
                return false;
            }
        }
        let mut placed = vec![false; function.stmts.len()];
        for (id, stmt) in &function.stmts {
            place::stmt_children(function, stmt, |_, _, child| match child {
                Node::Stmt(part) => {
                    ordered &= part < id && !placed[part.index()];
                    placed[part.index()] = true;
                }
                Node::Expr(expr) => ordered &= expr.index() < function.exprs.len(),
                _ => {}
            });
            ordered &= bodies(stmt)
                .into_iter()
                .flatten()
                .all(|b| matches!(function.stmts[b], Stmt::Scope(_)));
        }
        if !ordered {
            self.error(codes::NODE_ORDER, Node::Function, "the function's nodes are out of order");
        }
        ordered
    }
}

/// The statements that must be scopes.
fn bodies(stmt: &Stmt) -> [Option<crate::model::StmtId>; 2] {
    match *stmt {
        Stmt::If { on_true: a, on_false: b, .. }
        | Stmt::RayQuery { on_triangle: a, on_procedural: b, .. } => [Some(a), Some(b)],
        Stmt::Loop { body }
        | Stmt::Switch { body, .. }
        | Stmt::SwitchCase { body, .. }
        | Stmt::SwitchDefault { body }
        | Stmt::For { body, .. }
        | Stmt::AutoDiff { body } => [Some(body), None],
        _ => [None, None],
    }
}

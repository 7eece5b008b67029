//! Arguments, shared variables and callables that nobody uses, and kernels without effect.

use cranelift_entity::SecondaryMap;

use super::{Linter, codes};
use crate::callops::{CallOp, Group, Writes};
use crate::model::{
    Callee, ExprKind, FunctionId, FunctionTag, Library, Stmt, Usage, VariableId, VariableTag,
};
use crate::place::Node;

impl Linter<'_> {
    pub(super) fn check_usage(&mut self, usages: &SecondaryMap<VariableId, Usage>) {
        self.check_arguments(usages);
        for (id, variable) in &self.function.variables {
            let usage = usages[id];
            if variable.tag == VariableTag::Shared && usage.reads() && !usage.writes() {
                let message = "the shared variable is read, but nothing writes it";
                self.warn(codes::UNWRITTEN_SHARED, Node::Variable(id), message);
            }
        }
        if self.function.tag == FunctionTag::Kernel {
            self.check_effect(usages);
        } else if !self.called {
            let message = format!("{} is not called", self.library.function_name(self.id));
            self.warn(codes::UNUSED_CALLABLE, Node::Function, message);
        }
    }

    fn check_arguments(&mut self, usages: &SecondaryMap<VariableId, Usage>) {
        let function = self.function;
        for (i, argument) in function.arguments.iter().enumerate() {
            let (variable, usage) = (&function.variables[*argument], usages[*argument]);
            let name = match &variable.name {
                Some(name) => format!("argument {i}, `{name}`,"),
                None => format!("argument {i}"),
            };
            if usage == Usage::NONE {
                let message = format!("{name} is not used");
                self.warn(codes::UNUSED_ARGUMENT, Node::Argument(i), message);
            } else if variable.usage.writes() && !usage.writes() {
                let message = format!("{name} is said to be written, but nothing writes it");
                self.warn(codes::NEVER_WRITTEN_OUTPUT, Node::Argument(i), message);
            }
        }
    }

    /// Warns if nobody can see what the kernel did.
    fn check_effect(&mut self, usages: &SecondaryMap<VariableId, Usage>) {
        let function = self.function;
        let writes = function.arguments.iter().any(|a| {
            let tag = function.variables[*a].tag;
            tag.is_resource() && usages[*a].writes()
        });
        let speaks = function.stmts.values().any(|s| {
            matches!(s, Stmt::Print { .. } | Stmt::DebugBreak { .. } | Stmt::Suspend { .. })
        });
        if !writes && !speaks && !function.exprs.values().any(|e| has_effect(&e.kind)) {
            let message = "the kernel writes nothing that can be seen";
            self.warn(codes::NEVER_WRITTEN_OUTPUT, Node::Function, message);
        }
    }
}

/// Whether an expression may do something beyond writing its arguments.
fn has_effect(kind: &ExprKind) -> bool {
    match kind {
        ExprKind::Call { op, callee: Callee::Builtin, .. } => {
            let info = op.info();
            // An atomic writes its base, and what writes a bound resource was seen already.
            let hidden = info.writes != Writes::R && info.group == Group::Bindless;
            let address = matches!(op, CallOp::AddressOf) || info.group == Group::Address;
            hidden
                || address
                || matches!(info.group, Group::Raster | Group::Async)
                || matches!(
                    op,
                    CallOp::Assert | CallOp::Unreachable | CallOp::BindlessBufferAddress
                )
        }
        // What a callable prints or asserts is not followed.
        ExprKind::Call { .. } | ExprKind::CpuCustom { .. } | ExprKind::GpuCustom { .. } => true,
        _ => false,
    }
}

/// Whether each function is a kernel or called by one, directly or through others; all, in a library without kernels.
pub(super) fn called(library: &Library) -> SecondaryMap<FunctionId, bool> {
    let functions = &library.functions;
    let has_kernel = functions.values().any(|f| f.tag != FunctionTag::Callable);
    let mut called = SecondaryMap::with_default(!has_kernel);
    // Callers come after their callees.
    for (id, function) in functions.iter().rev() {
        called[id] |= function.tag != FunctionTag::Callable;
        if !called[id] {
            continue;
        }
        for expr in function.exprs.values() {
            match expr.kind {
                ExprKind::Call { callee: Callee::Function(callee), .. } => called[callee] = true,
                ExprKind::FuncRef(callee) => match callee.expand() {
                    Some(callee) => called[callee] = true,
                    None => return SecondaryMap::with_default(true),
                },
                _ => {}
            }
        }
    }
    called
}

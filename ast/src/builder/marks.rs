//! Marks what a function does with its variables, node by node as they are made (`ast.md`, section 5.1).
//!
//! The marked usage goes to the variables, the effective one beside them. [`usage`](crate::usage) computes both anew
//! from a whole function.

use super::error::Built;
use super::session::{Session, State};
use crate::callops::CallOp;
use crate::model::{Callee, ExprId, ExprKind, FunctionId, Stmt, Usage, VariableTag};

/// What files mark, and what really happens.
#[derive(Clone, Copy)]
struct Marks {
    marked: Usage,
    effective: Usage,
}

impl Marks {
    const fn both(usage: Usage) -> Marks {
        Marks { marked: usage, effective: usage }
    }
}

impl State {
    /// Marks the variable that an expression is, or is a part of.
    fn mark(&mut self, mut expr: ExprId, marks: Marks) {
        loop {
            match self.function.exprs[expr].kind {
                ExprKind::Ref(variable) => {
                    self.function.variables[variable].usage |= marks.marked;
                    self.effective[variable] |= marks.effective;
                    return;
                }
                ExprKind::Member { base, .. } | ExprKind::Swizzle { base, .. } => expr = base,
                ExprKind::Access { range, .. } => expr = range,
                _ => return,
            }
        }
    }

    fn read(&mut self, expr: ExprId) {
        self.mark(expr, Marks::both(Usage::READ));
    }
}

impl Session {
    /// Marks the operands of a new expression.
    pub(super) fn mark_operands(&mut self, kind: ExprKind) -> Built<()> {
        let state = self.top()?;
        match kind {
            ExprKind::Unary { operand, .. } | ExprKind::Cast { source: operand, .. } => {
                state.read(operand);
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                state.read(lhs);
                state.read(rhs);
            }
            ExprKind::Access { range, index } => {
                let marks = Marks { marked: Usage::READ, effective: Usage::NONE };
                state.mark(range, marks);
                state.read(index);
            }
            ExprKind::CpuCustom { argument, .. } | ExprKind::GpuCustom { argument, .. } => {
                if let Some(argument) = argument.expand() {
                    state.mark(argument, Marks::both(Usage::READ_WRITE));
                }
            }
            ExprKind::Call { op, callee, arguments, .. } => {
                if callee == Callee::Builtin {
                    state.ops.direct.insert(op);
                    state.ops.all.insert(op);
                }
                for i in 0..arguments.len() {
                    let marks = self.argument_marks(op, callee, i);
                    let state = self.top()?;
                    let argument = state.function.exprs_in(arguments)[i];
                    state.mark(argument, marks);
                }
                self.note_callee(callee)?;
            }
            ExprKind::Swizzle { .. }
            | ExprKind::Member { .. }
            | ExprKind::Literal { .. }
            | ExprKind::Ref(_)
            | ExprKind::Constant(_)
            | ExprKind::TypeId(_)
            | ExprKind::StringId(_)
            | ExprKind::FuncRef(_) => {}
        }
        Ok(())
    }

    fn argument_marks(&self, op: CallOp, callee: Callee, i: usize) -> Marks {
        match callee {
            Callee::Builtin => {
                let marked = op.marked_write() == Some(i);
                let written = op.written_argument() == Some(i);
                Marks {
                    marked: if marked { Usage::WRITE } else { Usage::READ },
                    effective: match (written, op.replaces_argument()) {
                        (false, _) => Usage::READ,
                        (true, true) => Usage::WRITE,
                        (true, false) => Usage::READ_WRITE,
                    },
                }
            }
            Callee::External(id) => {
                let usages = &self.library.externals[id].argument_usages;
                Marks::both(usages.get(i).copied().unwrap_or(Usage::READ_WRITE))
            }
            Callee::Function(id) => self.parameter_marks(id, i),
        }
    }

    fn parameter_marks(&self, callee: FunctionId, i: usize) -> Marks {
        let function = &self.library.functions[callee];
        let Some(parameter) = function.arguments.get(i) else { return Marks::both(Usage::READ) };
        let variable = &function.variables[*parameter];
        if variable.tag == VariableTag::Reference || variable.tag.is_resource() {
            let effective = self.infos[callee].effective[*parameter];
            Marks { marked: variable.usage, effective }
        } else {
            Marks::both(Usage::READ)
        }
    }

    /// Marks the operands of a new statement.
    pub(super) fn mark_statement(&mut self, stmt: Stmt) -> Built<()> {
        let state = self.top()?;
        match stmt {
            Stmt::Return(value) => {
                if let Some(value) = value.expand() {
                    state.read(value);
                }
            }
            Stmt::If { condition: value, .. } | Stmt::Switch { value, .. } | Stmt::Expr(value) => {
                state.read(value);
            }
            Stmt::Assign { lhs, rhs } => {
                state.mark(lhs, Marks::both(Usage::WRITE));
                state.read(rhs);
            }
            Stmt::For { variable, condition, step, .. } => {
                state.mark(variable, Marks::both(Usage::READ_WRITE));
                state.read(condition);
                state.read(step);
            }
            Stmt::RayQuery { query, .. } => state.mark(query, Marks::both(Usage::READ_WRITE)),
            Stmt::Print { arguments, .. } | Stmt::DebugBreak { watches: arguments } => {
                for i in 0..arguments.len() {
                    let argument = state.function.exprs_in(arguments)[i];
                    state.read(argument);
                }
            }
            Stmt::Break
            | Stmt::Continue
            | Stmt::Scope(_)
            | Stmt::Loop { .. }
            | Stmt::SwitchCase { .. }
            | Stmt::SwitchDefault { .. }
            | Stmt::Comment(_)
            | Stmt::AutoDiff { .. }
            | Stmt::Suspend { .. } => {}
        }
        Ok(())
    }
}

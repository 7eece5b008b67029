//! Statements.

use std::collections::BTreeSet;

use super::{Context, Form, Generator};
use crate::model::{ExprId, FunctionTag, Stmt, StmtId};
use crate::types::{Scalar, TypeId};

/// Levels of statements.
const MAX_DEPTH: usize = 5;

impl Generator {
    /// The body of a function: a scope that ends in what the function has to return.
    pub(super) fn body_of(&mut self, size: usize) -> StmtId {
        let mut list = Vec::new();
        for _ in 0..size {
            if self.fuel == 0 && !list.is_empty() {
                break;
            }
            self.statement_into(&mut list);
        }
        if self.function.return_type != TypeId::VOID {
            let last = self.return_value();
            list.push(last);
        }
        self.scope_of(&list)
    }

    fn scope_of(&mut self, list: &[StmtId]) -> StmtId {
        let list = self.function.add_stmts(list);
        self.function.stmts.push(Stmt::Scope(list))
    }

    /// A scope inside a statement.
    fn scope(&mut self, context: Context) -> StmtId {
        let outer = std::mem::replace(&mut self.context, context);
        self.context.depth = outer.depth + 1;
        let mut list = Vec::new();
        for _ in 0..self.random.below(4) {
            self.statement_into(&mut list);
        }
        if self.random.one_in(6) {
            let last = self.jump();
            list.extend(last);
        }
        self.context = outer;
        self.scope_of(&list)
    }

    fn inner(&mut self) -> StmtId {
        self.scope(self.context)
    }

    /// Leaves what encloses it, if that is possible here.
    fn jump(&mut self) -> Option<StmtId> {
        let stmt = match self.random.below(3) {
            0 if self.context.in_loop => Stmt::Break,
            1 if self.context.in_loop => Stmt::Continue,
            _ if self.context.query.is_none() && !self.context.in_gradients => {
                return Some(self.return_value());
            }
            _ => return None,
        };
        Some(self.function.stmts.push(stmt))
    }

    fn return_value(&mut self) -> StmtId {
        let ty = self.function.return_type;
        let value = (ty != TypeId::VOID).then(|| self.value(ty, 2));
        self.function.stmts.push(Stmt::Return(value.into()))
    }

    fn statement_into(&mut self, list: &mut Vec<StmtId>) {
        self.fuel = self.fuel.saturating_sub(1);
        let nested = self.context.depth < MAX_DEPTH && self.fuel > 0;
        let stmt = match self.random.below(24) {
            0 | 1 if nested => self.make_if(),
            2 if nested => Stmt::Loop { body: self.scope(self.looping()) },
            3 if nested => self.make_for(),
            4 if nested => self.make_switch(),
            5 if nested && self.context.query.is_none() => self.make_query(),
            6 if nested => {
                let context = Context { in_gradients: true, in_loop: false, ..self.context };
                Stmt::AutoDiff { body: self.scope(context) }
            }
            7 => {
                let text = self.text();
                Stmt::Comment(self.function.add_text(&text))
            }
            8 => self.make_print(),
            9 => self.make_special(),
            10..=13 => self.make_assign(),
            _ => match self.any_call() {
                Some(call) => self.use_call(call),
                None => self.make_assign(),
            },
        };
        list.push(self.function.stmts.push(stmt));
    }

    fn looping(&self) -> Context {
        Context { in_loop: true, ..self.context }
    }

    fn make_if(&mut self) -> Stmt {
        let condition = self.value(TypeId::BOOL, 3);
        let on_true = self.inner();
        let on_false = self.inner();
        Stmt::If { condition, on_true, on_false }
    }

    fn make_for(&mut self) -> Stmt {
        let scalars = [Scalar::I32, Scalar::U32, Scalar::I64, Scalar::F32];
        let ty = TypeId::scalar(*self.random.pick(&scalars));
        let variable = self.lvalue(ty);
        let condition = self.value(TypeId::BOOL, 2);
        let step = self.value(ty, 2);
        Stmt::For { variable, condition, step, body: self.scope(self.looping()) }
    }

    fn make_switch(&mut self) -> Stmt {
        let ty = if self.random.one_in(2) { TypeId::I32 } else { TypeId::U32 };
        let value = self.value(ty, 2);
        let outer = self.context;
        let values: BTreeSet<i32> =
            (0..self.random.below(4)).map(|_| self.random.below(9) as i32 - 4).collect();
        let mut list = Vec::new();
        for value in values {
            // JSON writes a case without its type, which becomes `int`.
            let ty = if self.form.is_binary() { ty } else { TypeId::I32 };
            let body = self.scope(outer);
            let value = self.function.add_literal(ty, &value.to_le_bytes());
            list.push(self.function.stmts.push(Stmt::SwitchCase { value, body }));
        }
        if self.random.one_in(2) {
            let body = self.scope(outer);
            list.push(self.function.stmts.push(Stmt::SwitchDefault { body }));
        }
        if self.random.one_in(3) {
            let text = self.text();
            let text = self.function.add_text(&text);
            list.push(self.function.stmts.push(Stmt::Comment(text)));
        }
        Stmt::Switch { value, body: self.scope_of(&list) }
    }

    fn make_query(&mut self) -> Stmt {
        let all = self.random.one_in(2);
        let known = self.types.known;
        let object = self.local(if all { known.query_all } else { known.query_any });
        let query = self.reference(object);
        // Nothing leaves a handler.
        let context = Context {
            query: Some(object),
            in_gradients: self.context.in_gradients,
            depth: self.context.depth,
            in_loop: false,
        };
        let on_triangle = self.scope(context);
        let on_procedural = self.scope(context);
        Stmt::RayQuery { query, on_triangle, on_procedural }
    }

    fn make_print(&mut self) -> Stmt {
        let count = self.random.below(4);
        let arguments: Vec<ExprId> = (0..count)
            .map(|_| {
                let ty = self.types.data(&mut self.random);
                self.value(ty, 2)
            })
            .collect();
        let format = self.text() + &"{} ".repeat(count);
        let format = self.function.add_text(&format);
        Stmt::Print { format, arguments: self.function.add_exprs(&arguments) }
    }

    /// What only the model itself holds.
    fn make_special(&mut self) -> Stmt {
        if self.form != Form::Memory {
            return self.make_assign();
        }
        if self.function.tag == FunctionTag::Coroutine {
            let (token, name) = (self.random.below(100) as u32, self.text());
            return Stmt::Suspend { token, name: self.function.add_text(&name) };
        }
        let ty = self.types.data(&mut self.random);
        let watch = self.value(ty, 1);
        Stmt::DebugBreak { watches: self.function.add_exprs(&[watch]) }
    }

    fn make_assign(&mut self) -> Stmt {
        let ty = self.types.data(&mut self.random);
        let lhs = self.lvalue(ty);
        Stmt::Assign { lhs, rhs: self.value(ty, 4) }
    }

    /// A call by itself, or its value in a variable.
    fn use_call(&mut self, call: ExprId) -> Stmt {
        let ty = self.function.exprs[call].ty;
        let held = self.library.types.is_data(ty) || self.library.types.is_custom(ty);
        if !held || self.random.one_in(3) {
            return Stmt::Expr(call);
        }
        let variable = self.local(ty);
        Stmt::Assign { lhs: self.reference(variable), rhs: call }
    }
}

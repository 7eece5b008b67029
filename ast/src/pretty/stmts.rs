//! Statements.

use super::Printer;
use super::exprs::Context;
use super::names::{Names, quoted};
use crate::model::{ExprList, FunctionId, Stmt, StmtId};

/// What is still to be written, each at its level.
enum Part {
    Stmt(StmtId, usize),
    /// The statements of a scope.
    Body(StmtId, usize),
    /// A line of its own.
    Line(&'static str, usize),
}

impl Printer<'_> {
    /// The body of a function.
    pub(super) fn statements(&mut self, id: FunctionId, names: &Names) {
        let function = &self.library.functions[id];
        let Some(body) = function.body.expand() else { return };
        let budget = 4 * function.exprs.len() + 1000;
        let mut context = Context { function, names, budget };
        let mut pending = vec![Part::Body(body, 1)];
        while let Some(part) = pending.pop() {
            match part {
                Part::Body(scope, level) => pending
                    .extend(function.scope(scope).iter().rev().map(|s| Part::Stmt(*s, level))),
                Part::Line(text, level) => {
                    self.line(level);
                    self.text(text);
                    self.text("\n");
                }
                Part::Stmt(stmt, level) => {
                    self.line(level);
                    self.starts(id, stmt);
                    self.statement(&mut context, stmt, level, &mut pending);
                    self.text("\n");
                }
            }
        }
    }

    /// Writes the first line of a statement, and puts the rest on the stack, last part first.
    fn statement(
        &mut self,
        context: &mut Context<'_>,
        stmt: StmtId,
        level: usize,
        pending: &mut Vec<Part>,
    ) {
        let function = context.function;
        let mut block = |body: StmtId| {
            pending.extend([Part::Line("}", level), Part::Body(body, level + 1)]);
        };
        match function.stmts[stmt] {
            Stmt::Break => self.text("break;"),
            Stmt::Continue => self.text("continue;"),
            Stmt::Return(value) => {
                self.text("return");
                if let Some(value) = value.expand() {
                    self.text(" ");
                    self.expr(context, value);
                }
                self.text(";");
            }
            Stmt::Scope(_) => {
                self.text("{");
                block(stmt);
            }
            Stmt::If { condition, on_true, on_false } => {
                self.text("if (");
                self.expr(context, condition);
                self.text(") {");
                if function.scope(on_false).is_empty() {
                    block(on_true);
                } else {
                    pending.extend([
                        Part::Line("}", level),
                        Part::Body(on_false, level + 1),
                        Part::Line("} else {", level),
                        Part::Body(on_true, level + 1),
                    ]);
                }
            }
            Stmt::Loop { body } => {
                self.text("loop {");
                block(body);
            }
            Stmt::Expr(expr) => {
                self.expr(context, expr);
                self.text(";");
            }
            Stmt::Switch { value, body } => {
                self.text("switch (");
                self.expr(context, value);
                self.text(") {");
                block(body);
            }
            Stmt::SwitchCase { value, body } => {
                self.text("case ");
                self.expr(context, value);
                self.text(": {");
                block(body);
            }
            Stmt::SwitchDefault { body } => {
                self.text("default: {");
                block(body);
            }
            Stmt::Assign { lhs, rhs } => {
                self.expr(context, lhs);
                self.text(" = ");
                self.expr(context, rhs);
                self.text(";");
            }
            Stmt::For { variable, condition, step, body } => {
                self.text("for (; ");
                self.expr(context, condition);
                self.text("; ");
                self.expr(context, variable);
                self.text(" += ");
                self.expr(context, step);
                self.text(") {");
                block(body);
            }
            Stmt::Comment(text) => self.comment(function.text_in(text), level),
            Stmt::RayQuery { query, on_triangle, on_procedural } => {
                self.text("ray_query (");
                self.expr(context, query);
                self.text(") on_triangle {");
                pending.extend([
                    Part::Line("}", level),
                    Part::Body(on_procedural, level + 1),
                    Part::Line("} on_procedural {", level),
                    Part::Body(on_triangle, level + 1),
                ]);
            }
            Stmt::AutoDiff { body } => {
                self.text("autodiff {");
                block(body);
            }
            Stmt::Print { format, arguments } => {
                self.text("print(");
                self.text(quoted(function.text_in(format)));
                self.items(context, arguments, true);
                self.text(");");
            }
            Stmt::Suspend { token, name } => {
                self.text(format!("suspend({token}, {});", quoted(function.text_in(name))));
            }
            Stmt::DebugBreak { watches } => {
                self.text("debug_break(");
                self.items(context, watches, false);
                self.text(");");
            }
        }
    }

    fn items(&mut self, context: &mut Context<'_>, list: ExprList, follows: bool) {
        for (i, item) in context.function.exprs_in(list).iter().enumerate() {
            self.text(if follows || i > 0 { ", " } else { "" });
            self.expr(context, *item);
        }
    }

    /// A comment, each of its lines behind `//`; what could end the line or hide is escaped.
    fn comment(&mut self, text: &str, level: usize) {
        for (i, line) in text.trim_end().lines().enumerate() {
            if i > 0 {
                self.text("\n");
                self.line(level);
            }
            self.text("// ");
            self.text(line.trim_end().replace(char::is_control, " "));
        }
        if text.trim_end().is_empty() {
            self.text("//");
        }
    }
}

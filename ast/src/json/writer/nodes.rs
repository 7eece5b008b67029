//! Expressions and statements: the head of a node is written, what follows is stacked.

use cranelift_entity::EntityRef;

use super::Writer;
use crate::json::codes;
use crate::model::{Callee, ExprId, ExprKind, ExprList, FunctionId, Stmt, StmtId};
use crate::place::Place;

/// What is still to be written.
#[derive(Clone, Copy)]
enum Piece {
    Text(&'static str),
    Expr(ExprId),
    Stmt(StmtId),
}

impl Writer<'_> {
    pub(super) fn body(&mut self, function: FunctionId) {
        let Some(body) = self.library.functions[function].body.expand() else {
            self.refuse(codes::MISSING_MEMBER, None, "a function has no body");
            return;
        };
        let mut stack = vec![Piece::Stmt(body)];
        while let Some(piece) = stack.pop() {
            let start = stack.len();
            match piece {
                Piece::Text(text) => self.text(text),
                Piece::Expr(expr) => self.expr(function, expr, &mut stack),
                Piece::Stmt(stmt) => self.stmt(function, stmt, &mut stack),
            }
            // Pieces are pushed in the order in which they are to be written.
            stack[start..].reverse();
        }
    }

    fn expr(&mut self, function: FunctionId, id: ExprId, stack: &mut Vec<Piece>) {
        let f = &self.library.functions[function];
        let expr = f.exprs[id];
        self.text("{\"type\":");
        self.ty(expr.ty);
        self.text(",\"tag\":\"");
        let mut operand =
            |key: &'static str, expr| stack.extend([Piece::Text(key), Piece::Expr(expr)]);
        match expr.kind {
            ExprKind::Unary { op, operand: inner } => {
                self.with_op("UNARY", op.name());
                operand(",\"operand\":", inner);
            }
            ExprKind::Binary { op, lhs, rhs } => {
                self.with_op("BINARY", op.name());
                operand(",\"lhs\":", lhs);
                operand(",\"rhs\":", rhs);
            }
            ExprKind::Cast { op, source } => {
                self.with_op("CAST", op.name());
                operand(",\"expression\":", source);
            }
            ExprKind::Swizzle { base, swizzle } => {
                self.text("MEMBER\",\"swizzle\":\"");
                self.number(swizzle);
                self.text("\"");
                operand(",\"self\":", base);
            }
            ExprKind::Member { base, index } => {
                self.text("MEMBER\",\"member\":");
                self.number(index);
                operand(",\"self\":", base);
            }
            ExprKind::Access { range, index } => {
                self.text("ACCESS\"");
                operand(",\"range\":", range);
                operand(",\"index\":", index);
            }
            ExprKind::Literal { bytes } => {
                self.text("LITERAL\",\"value\":");
                self.bytes(f.bytes_in(bytes));
            }
            ExprKind::Ref(variable) => {
                self.text("REF\",\"variable\":");
                let index = self.variables[variable];
                self.number(index);
            }
            ExprKind::Constant(constant) => {
                self.text("CONSTANT\",\"data\":");
                self.number(constant.index());
            }
            ExprKind::TypeId(ty) => {
                self.text("TYPE_ID\",\"data_type\":");
                self.ty(ty);
            }
            ExprKind::StringId(text) => {
                self.text("STRING_ID\",\"data\":");
                self.string(f.text_in(text));
            }
            ExprKind::FuncRef(callee) => {
                self.text("FUNC_REF\"");
                if let Some(callee) = callee.expand() {
                    self.text(",\"func\":");
                    self.number(callee.index());
                }
            }
            ExprKind::Call { op, callee, curve_bases, arguments } => {
                self.with_op("CALL", op.name());
                match callee {
                    Callee::Builtin => {}
                    Callee::Function(callee) => {
                        self.text(",\"custom\":");
                        self.number(callee.index());
                    }
                    Callee::External(callee) => {
                        self.text(",\"external\":");
                        self.number(callee.index());
                    }
                }
                if self.strict() && !curve_bases.is_empty() {
                    self.text(",\"curve_bases\":");
                    self.list(curve_bases.names(), |w, name| w.string(name));
                }
                push_arguments(f.exprs_in(arguments), stack);
            }
            ExprKind::CpuCustom { pointers, argument } if !self.strict() => {
                self.text("CPUCUSTOM\"");
                let pointers = f.bytes_in(pointers);
                for (key, pointer) in
                    [",\"func\":", ",\"dtor\":", ",\"data\":"].into_iter().zip(pointers.chunks(8))
                {
                    self.text(key);
                    self.bytes(pointer);
                }
                match argument.expand() {
                    Some(argument) => operand(",\"arg\":", argument),
                    None => stack.push(Piece::Text(",\"arg\":null")),
                }
            }
            ExprKind::CpuCustom { .. } | ExprKind::GpuCustom { .. } => {
                let message =
                    "host callbacks and device source text cannot be written in this form";
                self.refuse(codes::UNPORTABLE, Some(Place::expr(function, id)), message);
            }
        }
        stack.push(Piece::Text("}"));
    }

    fn with_op(&mut self, tag: &str, op: &str) {
        self.text(tag);
        self.text("\",\"op\":\"");
        self.text(op);
        self.text("\"");
    }

    fn stmt(&mut self, function: FunctionId, id: StmtId, stack: &mut Vec<Piece>) {
        let f = &self.library.functions[function];
        let expr =
            |stack: &mut Vec<Piece>, key, expr| stack.extend([Piece::Text(key), Piece::Expr(expr)]);
        let body =
            |stack: &mut Vec<Piece>, key, stmt| stack.extend([Piece::Text(key), Piece::Stmt(stmt)]);
        self.text("{\"tag\":\"");
        match f.stmts[id] {
            Stmt::Break => self.text("BREAK\""),
            Stmt::Continue => self.text("CONTINUE\""),
            Stmt::Return(value) => {
                self.text("RETURN\"");
                match value.expand() {
                    Some(value) => expr(stack, ",\"expression\":", value),
                    None => self.text(",\"expression\":null"),
                }
            }
            Stmt::Scope(list) => {
                self.text("SCOPE\",\"statements\":[");
                for (i, stmt) in f.stmts_in(list).iter().enumerate() {
                    body(stack, if i == 0 { "" } else { "," }, *stmt);
                }
                stack.push(Piece::Text("]"));
            }
            Stmt::If { condition, on_true, on_false } => {
                self.text("IF\"");
                expr(stack, ",\"condition\":", condition);
                body(stack, ",\"true_branch\":", on_true);
                body(stack, ",\"false_branch\":", on_false);
            }
            Stmt::Loop { body: inner } => {
                self.text("LOOP\"");
                body(stack, ",\"body\":", inner);
            }
            Stmt::AutoDiff { body: inner } => {
                self.text("AUTO_DIFF\"");
                body(stack, ",\"body\":", inner);
            }
            Stmt::SwitchDefault { body: inner } => {
                self.text("SWITCH_DEFAULT\"");
                body(stack, ",\"body\":", inner);
            }
            Stmt::Expr(value) => {
                self.text("EXPR\"");
                expr(stack, ",\"expression\":", value);
            }
            Stmt::Switch { value, body: inner } => {
                self.text("SWITCH\"");
                expr(stack, ",\"expression\":", value);
                body(stack, ",\"body\":", inner);
            }
            Stmt::SwitchCase { value, body: inner } => {
                self.text("SWITCH_CASE\",\"value\":");
                self.case_value(function, id, value);
                body(stack, ",\"body\":", inner);
            }
            Stmt::Assign { lhs, rhs } => {
                self.text("ASSIGN\"");
                expr(stack, ",\"lhs\":", lhs);
                expr(stack, ",\"rhs\":", rhs);
            }
            Stmt::For { variable, condition, step, body: inner } => {
                self.text("FOR\"");
                expr(stack, ",\"variable\":", variable);
                expr(stack, ",\"condition\":", condition);
                expr(stack, ",\"step\":", step);
                body(stack, ",\"body\":", inner);
            }
            Stmt::Comment(text) => {
                self.text("COMMENT\",\"comment\":");
                self.string(f.text_in(text));
            }
            Stmt::RayQuery { query, on_triangle, on_procedural } => {
                self.text("RAY_QUERY\"");
                expr(stack, ",\"query\":", query);
                body(stack, ",\"on_triangle_candidate\":", on_triangle);
                body(stack, ",\"on_procedural_candidate\":", on_procedural);
            }
            Stmt::Print { format, arguments } => {
                self.text("PRINT\",\"format\":");
                self.string(f.text_in(format));
                self.print_arguments(function, arguments, stack);
            }
            Stmt::Suspend { .. } | Stmt::DebugBreak { .. } => {
                let message = "suspensions and debugger stops cannot be written as JSON";
                self.refuse(codes::UNPORTABLE, Some(Place::stmt(function, id)), message);
            }
        }
        stack.push(Piece::Text("}"));
    }

    fn print_arguments(
        &mut self,
        function: FunctionId,
        arguments: ExprList,
        stack: &mut Vec<Piece>,
    ) {
        push_arguments(self.library.functions[function].exprs_in(arguments), stack);
    }

    /// A case's value as the `int` that has the same bits, where there is one.
    fn case_value(&mut self, function: FunctionId, stmt: StmtId, value: ExprId) {
        let value = self.library.functions[function].case_value(value);
        let value = value.map(|v| u32::try_from(v).map_or(v, |bits| i128::from(bits as i32)));
        match value.and_then(|v| i64::try_from(v).ok()) {
            Some(value) => self.number(value),
            None => {
                let message = "the value of a case is no integer literal";
                self.refuse(codes::WRONG_TYPE, Some(Place::stmt(function, stmt)), message);
            }
        }
    }
}

fn push_arguments(arguments: &[ExprId], stack: &mut Vec<Piece>) {
    stack.push(Piece::Text(",\"arguments\":["));
    for (i, argument) in arguments.iter().enumerate() {
        stack.extend([Piece::Text(if i == 0 { "" } else { "," }), Piece::Expr(*argument)]);
    }
    stack.push(Piece::Text("]"));
}

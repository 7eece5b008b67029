//! Expressions, with as few parentheses as the usual precedence needs.

use super::Printer;
use super::names::{Names, quoted, quoted_unless_word};
use super::values;
use crate::callops::{CallOp, Out};
use crate::model::{BinaryOp, Callee, CastOp, ExprId, ExprKind, ExprList, Function, UnaryOp};
use crate::types::TypeId;

/// A part of an expression that is still to be written.
enum Part {
    /// In parentheses if it binds less than this.
    Expr(ExprId, u8),
    Text(&'static str),
    Owned(String),
}

/// How strongly unary operators and casts bind, and what follows a value: `.x`, `[i]`.
const UNARY: u8 = 11;
const POSTFIX: u8 = 12;

/// What one function's expressions are written with.
pub(super) struct Context<'a> {
    pub function: &'a Function,
    pub names: &'a Names,
    /// Nodes that may still be written: a node that many share is not written again and again without end.
    pub budget: usize,
}

impl Printer<'_> {
    pub(super) fn expr(&mut self, context: &mut Context<'_>, expr: ExprId) {
        let mut pending = vec![Part::Expr(expr, 0)];
        while let Some(part) = pending.pop() {
            match part {
                Part::Text(text) => self.text(text),
                Part::Owned(text) => self.text(text),
                Part::Expr(..) if context.budget == 0 => self.text("..."),
                Part::Expr(expr, least) => {
                    context.budget -= 1;
                    let inside = precedence(&context.function.exprs[expr].kind) < least;
                    if inside {
                        self.text("(");
                        pending.push(Part::Text(")"));
                    }
                    self.expr_head(context, expr, &mut pending);
                }
            }
        }
    }

    /// Writes what comes before the first operand, and puts the rest on the stack, last part first.
    fn expr_head(&mut self, context: &Context<'_>, expr: ExprId, pending: &mut Vec<Part>) {
        let function = context.function;
        let ty = function.exprs[expr].ty;
        match function.exprs[expr].kind {
            ExprKind::Unary { op, operand } => {
                self.text(unary(op));
                pending.push(Part::Expr(operand, UNARY + 1));
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (symbol, binds) = binary(op);
                // Operators of one level group from the left; comparisons do not group at all.
                let left = if op.is_relational() { binds + 1 } else { binds };
                pending.extend([
                    Part::Expr(rhs, binds + 1),
                    Part::Text(symbol),
                    Part::Expr(lhs, left),
                ]);
            }
            ExprKind::Swizzle { base, swizzle } => {
                pending.extend([Part::Owned(format!(".{swizzle}")), Part::Expr(base, POSTFIX)]);
            }
            ExprKind::Member { base, index } => {
                pending.extend([Part::Owned(format!(".m{index}")), Part::Expr(base, POSTFIX)]);
            }
            ExprKind::Access { range, index } => pending.extend([
                Part::Text("]"),
                Part::Expr(index, 0),
                Part::Text("["),
                Part::Expr(range, POSTFIX),
            ]),
            ExprKind::Literal { bytes } => {
                values::write(&self.types, ty, function.bytes_in(bytes), &mut self.out);
            }
            ExprKind::Ref(variable) => self.text(context.names.of(variable)),
            ExprKind::Constant(constant) => self.text(format!("c{}", constant.as_u32())),
            ExprKind::Call { op, callee, arguments, .. } => {
                self.callee(op, callee, ty);
                self.list(function, arguments, pending);
            }
            ExprKind::Cast { op, source } => {
                self.text(if op == CastOp::Static { "cast<" } else { "bitcast<" });
                self.ty(ty);
                self.text(">(");
                pending.extend([Part::Text(")"), Part::Expr(source, 0)]);
            }
            ExprKind::TypeId(data) => {
                self.text("type_id<");
                self.ty(data);
                self.text(">()");
            }
            ExprKind::StringId(text) => {
                self.text(format!("string_id({})", quoted(function.text_in(text))));
            }
            ExprKind::FuncRef(callee) => {
                let name = callee
                    .expand()
                    .and_then(|id| self.functions.get(id.as_u32() as usize).cloned());
                self.text(format!("func_ref({})", name.unwrap_or_default()));
            }
            ExprKind::CpuCustom { argument, .. } => {
                self.text("cpu_custom(");
                pending.push(Part::Text(")"));
                pending.extend(argument.expand().map(|a| Part::Expr(a, 0)));
            }
            ExprKind::GpuCustom { source, argument } => {
                self.text(format!("gpu_custom({}", quoted(function.text_in(source))));
                pending.push(Part::Text(")"));
                if let Some(argument) = argument.expand() {
                    pending.extend([Part::Expr(argument, 0), Part::Text(", ")]);
                }
            }
        }
    }

    fn callee(&mut self, op: CallOp, callee: Callee, ty: TypeId) {
        match callee {
            Callee::Builtin => {
                self.text(op.name().to_ascii_lowercase());
                // Where the arguments do not say what comes out.
                if matches!(op.info().out, Out::Data | Out::Integer | Out::CoopVec) {
                    self.text("<");
                    self.ty(ty);
                    self.text(">");
                }
            }
            Callee::Function(id) => {
                let name = self.functions.get(id.as_u32() as usize).cloned();
                self.text(name.unwrap_or_default());
            }
            Callee::External(id) => {
                let name = self.library.externals.get(id).map(|e| quoted_unless_word(&e.name));
                self.text(name.unwrap_or_default());
            }
        }
    }

    fn list(&mut self, function: &Function, list: ExprList, pending: &mut Vec<Part>) {
        self.text("(");
        pending.push(Part::Text(")"));
        for (i, item) in function.exprs_in(list).iter().enumerate().rev() {
            pending.push(Part::Expr(*item, 0));
            if i > 0 {
                pending.push(Part::Text(", "));
            }
        }
    }
}

fn precedence(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::Binary { op, .. } => binary(*op).1,
        ExprKind::Unary { .. } => UNARY,
        _ => u8::MAX,
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Not => "!",
        UnaryOp::BitNot => "~",
    }
}

/// Symbol, and how strongly it binds.
fn binary(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Mul => (" * ", 10),
        BinaryOp::Div => (" / ", 10),
        BinaryOp::Mod => (" % ", 10),
        BinaryOp::Add => (" + ", 9),
        BinaryOp::Sub => (" - ", 9),
        BinaryOp::Shl => (" << ", 8),
        BinaryOp::Shr => (" >> ", 8),
        BinaryOp::BitAnd => (" & ", 7),
        BinaryOp::BitXor => (" ^ ", 6),
        BinaryOp::BitOr => (" | ", 5),
        BinaryOp::Less => (" < ", 3),
        BinaryOp::Greater => (" > ", 3),
        BinaryOp::LessEqual => (" <= ", 3),
        BinaryOp::GreaterEqual => (" >= ", 3),
        BinaryOp::Equal => (" == ", 3),
        BinaryOp::NotEqual => (" != ", 3),
        BinaryOp::And => (" && ", 2),
        BinaryOp::Or => (" || ", 1),
    }
}

//! Statements: control flow, assignments, conditions.

use rustc_hash::FxHashSet;

use super::rules::{assignable, is_index};
use super::{Checker, codes};
use crate::diagnostic::Code;
use crate::model::{ExprId, ExprKind, ExprList, FunctionTag, Stmt, StmtId, TextRange, VariableTag};
use crate::place::Node;
use crate::types::TypeId;

/// What encloses a statement.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context {
    pub in_loop: bool,
    pub in_switch: bool,
    pub in_query: bool,
    /// A differentiated scope lies between the statement and what it could leave otherwise.
    pub in_gradients: bool,
    /// The statement is an item of a switch's body.
    pub in_switch_body: bool,
}

impl Checker<'_> {
    pub(super) fn check_statements(&mut self) {
        let Some(body) = self.function.body.expand() else { return };
        let mut pending = vec![(body, Context::default())];
        while let Some((id, context)) = pending.pop() {
            self.check_statement(id, context, &mut pending);
        }
    }

    pub(super) fn check_statement(
        &mut self,
        id: StmtId,
        context: Context,
        pending: &mut Vec<(StmtId, Context)>,
    ) {
        let node = Node::Stmt(id);
        let stmt = self.function.stmts[id];
        let plain = Context { in_switch_body: false, ..context };
        let of_switch = matches!(stmt, Stmt::SwitchCase { .. } | Stmt::SwitchDefault { .. });
        if of_switch && !context.in_switch_body {
            self.error(codes::SWITCH_SHAPE, node, "a case can only stand in the body of a switch");
        }
        match stmt {
            Stmt::Break if !context.in_loop && !context.in_switch => {
                self.error_of_jump(node, context, codes::BREAK, "BREAK", "any loop or switch");
            }
            Stmt::Continue if !context.in_loop => {
                self.error_of_jump(node, context, codes::CONTINUE, "CONTINUE", "any loop");
            }
            Stmt::Return(value) => self.check_return(node, value.expand(), context),
            // A scope has the context of what it is the body of; pushed in reverse, so that they come out in order.
            Stmt::Scope(list) => {
                pending.extend(self.function.stmts_in(list).iter().rev().map(|s| (*s, context)));
            }
            Stmt::If { condition, on_true, on_false } => {
                self.check_condition(condition);
                pending.extend([(on_false, plain), (on_true, plain)]);
            }
            Stmt::Loop { body } => pending.push((body, Context { in_loop: true, ..plain })),
            Stmt::For { variable, condition, step, body } => {
                self.check_condition(condition);
                self.check_assignable(variable);
                self.check_step(variable, step);
                pending.push((body, Context { in_loop: true, ..plain }));
            }
            Stmt::Switch { value, body } => {
                self.check_switch(id, value, body);
                pending.push((body, Context { in_switch: true, in_switch_body: true, ..context }));
            }
            Stmt::SwitchCase { body, .. } | Stmt::SwitchDefault { body } => {
                pending.push((body, plain));
            }
            Stmt::AutoDiff { body } => {
                let in_query = context.in_query;
                pending
                    .push((body, Context { in_query, in_gradients: true, ..Context::default() }));
            }
            Stmt::Assign { lhs, rhs } => self.check_assign(node, lhs, rhs),
            Stmt::RayQuery { query, on_triangle, on_procedural } => {
                self.check_query(query);
                if context.in_query {
                    self.error(
                        codes::NESTED_QUERY,
                        node,
                        "a ray query stands inside a handler of another",
                    );
                }
                let handler = Context { in_query: true, ..Context::default() };
                pending.extend([(on_procedural, handler), (on_triangle, handler)]);
            }
            Stmt::Print { format, arguments } => self.check_print(node, format, arguments),
            Stmt::DebugBreak { .. } => {
                self.warning(codes::UNPORTABLE, node, "`DEBUG_BREAK` works on no target");
            }
            Stmt::Break
            | Stmt::Continue
            | Stmt::Expr(_)
            | Stmt::Comment(_)
            | Stmt::Suspend { .. } => {}
        }
    }

    /// A jump with nothing around it that it could leave.
    fn error_of_jump(&mut self, node: Node, context: Context, code: Code, jump: &str, of: &str) {
        if context.in_gradients {
            let message = format!("`{jump}` leaves a differentiated scope");
            self.error(codes::LEAVES_GRADIENTS, node, message);
        } else {
            self.error(code, node, format!("`{jump}` stands outside of {of}"));
        }
    }

    fn ty(&self, expr: ExprId) -> TypeId {
        self.function.exprs[expr].ty
    }

    fn check_return(&mut self, node: Node, value: Option<ExprId>, context: Context) {
        if context.in_query {
            self.error(
                codes::RETURN_IN_QUERY,
                node,
                "`RETURN` stands inside a handler of a ray query",
            );
        }
        if context.in_gradients {
            let message = "`RETURN` leaves a differentiated scope";
            self.error(codes::LEAVES_GRADIENTS, node, message);
        }
        let declared = self.function.return_type;
        let ty = value.map_or(TypeId::VOID, |value| self.ty(value));
        if !assignable(&self.library.types, declared, ty) {
            let message = match (declared == TypeId::VOID, ty == TypeId::VOID) {
                (true, _) if self.function.tag == FunctionTag::Kernel => {
                    "a kernel cannot return a value".to_owned()
                }
                (true, _) => {
                    format!("the function returns nothing, but here a `{}`", self.name(ty))
                }
                (_, true) => {
                    format!("the function returns `{}`, but here nothing", self.name(declared))
                }
                _ => format!(
                    "the function returns `{}`, but here a `{}`",
                    self.name(declared),
                    self.name(ty)
                ),
            };
            self.error(codes::RETURN_TYPE, node, message);
        }
    }

    fn check_condition(&mut self, condition: ExprId) {
        let ty = self.ty(condition);
        if !self.library.types.is_scalar(ty) {
            let message = format!("a condition must be `bool`, but this is `{}`", self.name(ty));
            self.error(codes::CONDITION, Node::Expr(condition), message);
        }
    }

    fn check_step(&mut self, variable: ExprId, step: ExprId) {
        let types = &self.library.types;
        let (variable, ty) = (self.ty(variable), self.ty(step));
        if !assignable(types, variable, ty) || !types.is_arithmetic(variable) {
            let message = format!(
                "a step of type `{}` cannot be added to `{}`",
                self.name(ty),
                self.name(variable)
            );
            self.error(codes::ASSIGN_TYPE, Node::Expr(step), message);
        }
    }

    fn check_switch(&mut self, switch: StmtId, value: ExprId, body: StmtId) {
        let ty = self.ty(value);
        if !is_index(&self.library.types, ty) {
            let message = format!(
                "the selector of a switch must be an integer, but this is `{}`",
                self.name(ty)
            );
            self.error(codes::SWITCH_SHAPE, Node::Expr(value), message);
            return;
        }
        let bits = self.library.types.scalar_of(ty).map_or(32, |s| 8 * s.size());
        let mask = (1i128 << bits) - 1;
        let mut seen = FxHashSet::default();
        let mut defaults = 0;
        for stmt in self.function.scope(body) {
            match self.function.stmts[*stmt] {
                Stmt::SwitchDefault { .. } => defaults += 1,
                Stmt::SwitchCase { value, .. } => match self.function.case_value(value) {
                    None => {
                        let message = "the value of a case must be an integer literal";
                        self.error(codes::SWITCH_SHAPE, Node::Stmt(*stmt), message);
                    }
                    Some(value) if !seen.insert(value & mask) => {
                        let message =
                            format!("the switch has the case {value} twice, in {bits} bits");
                        self.error(codes::DUPLICATE_CASE, Node::Stmt(*stmt), message);
                    }
                    Some(_) => {}
                },
                Stmt::Comment(_) => {}
                _ => {
                    let message = "the body of a switch can only hold cases and comments";
                    self.error(codes::SWITCH_SHAPE, Node::Stmt(*stmt), message);
                }
            }
        }
        if defaults > 1 {
            let message = format!("the switch has {defaults} defaults");
            self.error(codes::SWITCH_SHAPE, Node::Stmt(switch), message);
        }
    }

    fn check_assign(&mut self, node: Node, lhs: ExprId, rhs: ExprId) {
        self.check_assignable(lhs);
        let (to, from) = (self.ty(lhs), self.ty(rhs));
        // The builtin is recorded with three components, of which the first is meant.
        let kernel_id = to == TypeId::U32 && self.is_kernel_id(rhs);
        if !assignable(&self.library.types, to, from) && !kernel_id {
            let message =
                format!("a `{}` cannot be assigned to a `{}`", self.name(from), self.name(to));
            self.error(codes::ASSIGN_TYPE, node, message);
        }
    }

    pub(super) fn is_kernel_id(&self, expr: ExprId) -> bool {
        match self.function.exprs[expr].kind {
            ExprKind::Ref(variable) => {
                self.function.variables[variable].tag == VariableTag::KernelId
            }
            _ => false,
        }
    }

    fn check_assignable(&mut self, expr: ExprId) {
        if let Some(why) = self.why_not_assignable(expr) {
            self.error(codes::NOT_ASSIGNABLE, Node::Expr(expr), why);
        }
    }

    /// Why an expression names no memory that can be written; `None` if it does. Cost: the length of the chain of
    /// elements and members, which the depth of types bounds.
    pub(super) fn why_not_assignable(&self, expr: ExprId) -> Option<String> {
        let mut at = expr;
        for _ in 0..=2 * crate::layout::MAX_DEPTH {
            match self.function.exprs[at].kind {
                ExprKind::Ref(variable) => {
                    let tag = self.function.variables[variable].tag;
                    let fixed = tag.is_resource()
                        || (tag.is_builtin() && !self.function.is_value_argument(variable));
                    return fixed
                        .then(|| format!("a variable of tag `{}` cannot be assigned", tag.name()));
                }
                ExprKind::Access { range: base, .. } | ExprKind::Member { base, .. } => at = base,
                ExprKind::Swizzle { base, swizzle } if swizzle.size == 1 => at = base,
                ExprKind::Swizzle { .. } => {
                    return Some("several components cannot be assigned at once".to_owned());
                }
                _ => {
                    return Some(
                        "this is a value, not a variable, and cannot be assigned".to_owned(),
                    );
                }
            }
        }
        Some("the chain of elements and members is longer than any type is deep".to_owned())
    }

    fn check_query(&mut self, query: ExprId) {
        let expr = self.function.exprs[query];
        if !matches!(expr.kind, ExprKind::Ref(_)) || !self.library.types.is_ray_query(expr.ty) {
            let message = format!(
                "the object of a ray query must be a variable, but this is a `{}`",
                self.name(expr.ty)
            );
            self.error(codes::QUERY_TYPE, Node::Expr(query), message);
        }
    }

    fn check_print(&mut self, node: Node, format: TextRange, arguments: ExprList) {
        let (wanted, given) = (placeholders(self.function.text_in(format)), arguments.len());
        if wanted != given {
            let message = format!("the format has {wanted} placeholders for {given} arguments");
            self.warning(codes::PRINT_FORMAT, node, message);
        }
        for argument in self.function.exprs_in(arguments) {
            let ty = self.ty(*argument);
            if !self.library.types.is_data(ty) {
                let message = format!("a `{}` cannot be printed", self.name(ty));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
            }
        }
    }
}

/// Number of `{}` in a format; doubled braces stand for themselves, and `{...}` is a placeholder too.
fn placeholders(format: &str) -> usize {
    let mut count = 0;
    let mut bytes = format.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'{' {
            continue;
        }
        if bytes.peek() == Some(&b'{') {
            bytes.next();
        } else {
            count += 1;
        }
    }
    count
}

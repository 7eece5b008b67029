//! Places in a library, and how to name them.
//!
//! Nodes carry no position. A [`Place`] says which node of which function is meant; [`locate`] finds the way to it
//! from the function's body and names it as a JSON pointer, which the driver can find in the source again. Finding is
//! a walk over the function, so it is for messages only; [`Locator`] keeps the walk's result for many places.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::model::{
    ConstantId, ExprId, ExprKind, ExprList, Function, FunctionId, Library, Stmt, StmtId, VariableId,
};
use cranelift_entity::packed_option::PackedOption;

/// A pointer that is longer than this, in bytes, is cut to that of a value around what is meant.
pub const MAX_POINTER: usize = 300;

/// A node of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The function as a whole.
    Function,
    /// One of its variables.
    Variable(VariableId),
    /// One of its arguments, by position.
    Argument(usize),
    /// One of its bindings, by position.
    Binding(usize),
    /// One of its expressions.
    Expr(ExprId),
    /// One of its statements.
    Stmt(StmtId),
}

/// A place in a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The function.
    pub function: FunctionId,
    /// What in it.
    pub node: Node,
}

impl Place {
    /// A node of a function.
    pub fn new(function: FunctionId, node: Node) -> Self {
        Self { function, node }
    }

    /// An expression of a function.
    pub fn expr(function: FunctionId, expr: ExprId) -> Self {
        Self { function, node: Node::Expr(expr) }
    }

    /// A statement of a function.
    pub fn stmt(function: FunctionId, stmt: StmtId) -> Self {
        Self { function, node: Node::Stmt(stmt) }
    }
}

/// The JSON pointer of a constant.
pub fn locate_constant(constant: ConstantId) -> String {
    format!("/constants/{}", constant.index())
}

/// The JSON pointer of a place: `/functions/0/body/statements/3/rhs`. A node that the body does not reach gives the
/// pointer of its function.
pub fn locate(library: &Library, place: Place) -> String {
    match library.functions.get(place.function) {
        Some(function) => Locator::new(function).locate(place),
        None => format!("/functions/{}", place.function.index()),
    }
}

/// A step of a pointer: a member, and for a list the position in it.
#[derive(Clone, Copy, Debug)]
struct Step {
    parent: Node,
    member: &'static str,
    position: Option<u32>,
    /// How many nodes come before, in the order in which the program is read.
    order: u32,
}

/// The way from the body to every node of one function.
#[derive(Debug)]
pub struct Locator {
    exprs: SecondaryMap<ExprId, Option<Step>>,
    stmts: SecondaryMap<StmtId, Option<Step>>,
    /// How many nodes have been met.
    count: u32,
}

impl Locator {
    /// For places among `nodes` only: declarations are named without a walk.
    pub fn of_nodes(function: &Function, nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut nodes = nodes.into_iter();
        if nodes.any(|node| matches!(node, Node::Expr(_) | Node::Stmt(_))) {
            return Self::new(function);
        }
        Self { exprs: SecondaryMap::new(), stmts: SecondaryMap::new(), count: 0 }
    }

    /// Walks the function once.
    pub fn new(function: &Function) -> Self {
        let mut locator = Self {
            exprs: SecondaryMap::with_capacity(function.exprs.len()),
            stmts: SecondaryMap::with_capacity(function.stmts.len()),
            count: 0,
        };
        let body = function.body.expand();
        let step = Step { parent: Node::Function, member: "body", position: None, order: 0 };
        let mut pending: Vec<_> = body.map(|b| (Node::Stmt(b), step)).into_iter().collect();
        while let Some((node, step)) = pending.pop() {
            if !locator.meet(node, step) {
                continue;
            }
            let first = pending.len();
            children(function, node, |member, position, child| {
                pending.push((child, Step { parent: node, member, position, order: 0 }));
            });
            pending[first..].reverse();
        }
        locator
    }

    /// Whether a node is met for the first time: one that two others share is named by the first.
    fn meet(&mut self, node: Node, step: Step) -> bool {
        let slot = match node {
            Node::Expr(e) => &mut self.exprs[e],
            Node::Stmt(s) => &mut self.stmts[s],
            _ => return false,
        };
        let is_new = slot.is_none();
        if is_new {
            self.count += 1;
            *slot = Some(Step { order: self.count, ..step });
        }
        is_new
    }

    /// How far behind others a node comes in the order in which the program is read; declarations come first.
    pub fn order(&self, node: Node) -> u32 {
        let step = match node {
            Node::Expr(e) => self.exprs[e],
            Node::Stmt(s) => self.stmts[s],
            _ => return 0,
        };
        step.map_or(u32::MAX, |step| step.order)
    }

    /// The JSON pointer of a place in the function that this was made for.
    pub fn locate(&self, place: Place) -> String {
        let mut steps = Vec::new();
        let mut node = place.node;
        loop {
            let step = match node {
                Node::Function => break,
                Node::Variable(v) => Some(Step::of("variables", v.index())),
                Node::Argument(i) => Some(Step::of("arguments", i)),
                Node::Binding(i) => Some(Step::of("bound_arguments", i)),
                Node::Expr(e) => self.exprs[e],
                Node::Stmt(s) => self.stmts[s],
            };
            let Some(step) = step else {
                steps.clear();
                break;
            };
            steps.push(step);
            node = step.parent;
        }
        let mut pointer = format!("/functions/{}", place.function.index());
        for step in steps.iter().rev() {
            let parts = [Some(step.member.to_owned()), step.position.map(|p| p.to_string())];
            for part in parts.into_iter().flatten() {
                if pointer.len() > MAX_POINTER {
                    return pointer;
                }
                pointer.push('/');
                pointer.push_str(&part);
            }
        }
        pointer
    }
}

impl Step {
    fn of(member: &'static str, position: usize) -> Self {
        Self { parent: Node::Function, member, position: Some(position as u32), order: 0 }
    }
}

/// Calls `visit` with the member's name in JSON, the position in a list, and the node, for each child of `node`.
pub fn children(
    function: &Function,
    node: Node,
    mut visit: impl FnMut(&'static str, Option<u32>, Node),
) {
    match node {
        Node::Expr(e) => {
            if let Some(expr) = function.exprs.get(e) {
                expr_children(function, &expr.kind, |m, p, c| visit(m, p, Node::Expr(c)));
            }
        }
        Node::Stmt(s) => {
            if let Some(stmt) = function.stmts.get(s) {
                stmt_children(function, stmt, visit);
            }
        }
        _ => {}
    }
}

/// Calls `visit` with the member's name in JSON, the position in a list, and the operand, for each operand of `kind`.
pub fn expr_children(
    function: &Function,
    kind: &ExprKind,
    mut visit: impl FnMut(&'static str, Option<u32>, ExprId),
) {
    match *kind {
        ExprKind::Unary { operand, .. } => visit("operand", None, operand),
        ExprKind::Binary { lhs, rhs, .. } => {
            visit("lhs", None, lhs);
            visit("rhs", None, rhs);
        }
        ExprKind::Swizzle { base, .. } | ExprKind::Member { base, .. } => visit("self", None, base),
        ExprKind::Access { range, index } => {
            visit("range", None, range);
            visit("index", None, index);
        }
        ExprKind::Cast { source, .. } => visit("expression", None, source),
        ExprKind::Call { arguments, .. } => each(function, "arguments", arguments, visit),
        ExprKind::CpuCustom { argument, .. } | ExprKind::GpuCustom { argument, .. } => {
            if let Some(argument) = argument.expand() {
                visit("arg", None, argument);
            }
        }
        ExprKind::Literal { .. }
        | ExprKind::Ref(_)
        | ExprKind::Constant(_)
        | ExprKind::TypeId(_)
        | ExprKind::StringId(_)
        | ExprKind::FuncRef(_) => {}
    }
}

fn each(
    function: &Function,
    member: &'static str,
    list: ExprList,
    mut visit: impl FnMut(&'static str, Option<u32>, ExprId),
) {
    for (i, item) in function.exprs_in(list).iter().enumerate() {
        visit(member, Some(i as u32), *item);
    }
}

/// As [`children`], for a statement.
pub fn stmt_children(
    function: &Function,
    stmt: &Stmt,
    mut visit: impl FnMut(&'static str, Option<u32>, Node),
) {
    let (expr, scope) = (Node::Expr, Node::Stmt);
    match *stmt {
        Stmt::Break | Stmt::Continue | Stmt::Comment(_) | Stmt::Suspend { .. } => {}
        Stmt::Return(value) => {
            if let Some(value) = PackedOption::expand(value) {
                visit("expression", None, expr(value));
            }
        }
        Stmt::Scope(list) => {
            for (i, item) in function.stmts_in(list).iter().enumerate() {
                visit("statements", Some(i as u32), scope(*item));
            }
        }
        Stmt::If { condition, on_true, on_false } => {
            visit("condition", None, expr(condition));
            visit("true_branch", None, scope(on_true));
            visit("false_branch", None, scope(on_false));
        }
        Stmt::Loop { body } | Stmt::SwitchDefault { body } | Stmt::AutoDiff { body } => {
            visit("body", None, scope(body));
        }
        Stmt::Expr(e) => visit("expression", None, expr(e)),
        Stmt::Switch { value, body } => {
            visit("expression", None, expr(value));
            visit("body", None, scope(body));
        }
        Stmt::SwitchCase { value, body } => {
            visit("value", None, expr(value));
            visit("body", None, scope(body));
        }
        Stmt::Assign { lhs, rhs } => {
            visit("lhs", None, expr(lhs));
            visit("rhs", None, expr(rhs));
        }
        Stmt::For { variable, condition, step, body } => {
            visit("variable", None, expr(variable));
            visit("condition", None, expr(condition));
            visit("step", None, expr(step));
            visit("body", None, scope(body));
        }
        Stmt::RayQuery { query, on_triangle, on_procedural } => {
            visit("query", None, expr(query));
            visit("on_triangle_candidate", None, scope(on_triangle));
            visit("on_procedural_candidate", None, scope(on_procedural));
        }
        Stmt::Print { arguments, .. } => {
            each(function, "arguments", arguments, |m, p, c| visit(m, p, expr(c)));
        }
        Stmt::DebugBreak { watches } => {
            each(function, "watches", watches, |m, p, c| visit(m, p, expr(c)))
        }
    }
}

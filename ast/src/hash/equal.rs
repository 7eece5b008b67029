//! Whether two functions of one library are the same.

use rustc_hash::FxHashSet;

use super::{Mentions, counted_tag};
use crate::model::{Callee, ExprId, ExprKind, Function, FunctionId, Stmt, StmtId, VariableId};
use crate::place::{self, Node};

/// Whether two functions of one library mean the same, node by node; names do not count. Cost: linear in the pairs of
/// nodes that face each other.
pub fn equal(a: &Function, b: &Function) -> bool {
    equal_with(a, b, |x, y| x == y)
}

/// As [`equal`], where `same` says which callees count as one.
pub fn equal_with(
    a: &Function,
    b: &Function,
    same: impl Fn(FunctionId, FunctionId) -> bool,
) -> bool {
    let heads = (a.tag, a.return_type, a.block_size, a.curve_bases, a.allowed_warp_size)
        == (b.tag, b.return_type, b.block_size, b.curve_bases, b.allowed_warp_size)
        && a.bindings == b.bindings
        && a.arguments.len() == b.arguments.len();
    if !heads {
        return false;
    }
    let pair = Pair { a, b, same, a_mentions: Mentions::new(a), b_mentions: Mentions::new(b) };
    let mut arguments = a.arguments.iter().zip(&b.arguments);
    arguments.all(|(x, y)| pair.variables(*x, *y)) && pair.bodies()
}

struct Pair<'a, S> {
    a: &'a Function,
    b: &'a Function,
    same: S,
    a_mentions: Mentions,
    b_mentions: Mentions,
}

impl<S: Fn(FunctionId, FunctionId) -> bool> Pair<'_, S> {
    fn callees(&self, x: Callee, y: Callee) -> bool {
        match (x, y) {
            (Callee::Function(x), Callee::Function(y)) => (self.same)(x, y),
            _ => x == y,
        }
    }

    fn variables(&self, x: VariableId, y: VariableId) -> bool {
        self.a_mentions.variables[x] == self.b_mentions.variables[y]
            && self.a.variables[x].ty == self.b.variables[y].ty
            && counted_tag(self.a, x) == counted_tag(self.b, y)
    }

    fn bodies(&self) -> bool {
        let (Some(x), Some(y)) = (self.a.body.expand(), self.b.body.expand()) else { return false };
        let mut pending = vec![(Node::Stmt(x), Node::Stmt(y))];
        let mut seen = FxHashSet::default();
        while let Some((x, y)) = pending.pop() {
            if !seen.insert((x, y)) {
                continue;
            }
            let same = match (x, y) {
                (Node::Expr(x), Node::Expr(y)) => self.exprs(x, y),
                (Node::Stmt(x), Node::Stmt(y)) => self.stmts(x, y),
                _ => false,
            };
            let (mut of_x, mut of_y) = (Vec::new(), Vec::new());
            place::children(self.a, x, |_, _, child| of_x.push(child));
            place::children(self.b, y, |_, _, child| of_y.push(child));
            if !same || of_x.len() != of_y.len() {
                return false;
            }
            pending.extend(of_x.into_iter().zip(of_y));
        }
        true
    }

    /// Whether two expressions agree but for their operands.
    fn exprs(&self, x: ExprId, y: ExprId) -> bool {
        let (a, b) = (self.a, self.b);
        let (x, y) = (a.exprs[x], b.exprs[y]);
        x.ty == y.ty
            && match (x.kind, y.kind) {
                (ExprKind::Unary { op: x, .. }, ExprKind::Unary { op: y, .. }) => x == y,
                (ExprKind::Binary { op: x, .. }, ExprKind::Binary { op: y, .. }) => x == y,
                (ExprKind::Cast { op: x, .. }, ExprKind::Cast { op: y, .. }) => x == y,
                (ExprKind::Swizzle { swizzle: x, .. }, ExprKind::Swizzle { swizzle: y, .. }) => {
                    x == y
                }
                (ExprKind::Member { index: x, .. }, ExprKind::Member { index: y, .. }) => x == y,
                (ExprKind::Access { .. }, ExprKind::Access { .. }) => true,
                (ExprKind::Literal { bytes: x }, ExprKind::Literal { bytes: y }) => {
                    a.bytes_in(x) == b.bytes_in(y)
                }
                (ExprKind::Ref(x), ExprKind::Ref(y)) => self.variables(x, y),
                (ExprKind::Constant(x), ExprKind::Constant(y)) => x == y,
                (
                    ExprKind::Call { op: x, callee: f, curve_bases: c, .. },
                    ExprKind::Call { op: y, callee: g, curve_bases: d, .. },
                ) => (x, c) == (y, d) && self.callees(f, g),
                (ExprKind::TypeId(x), ExprKind::TypeId(y)) => x == y,
                (ExprKind::StringId(x), ExprKind::StringId(y)) => a.text_in(x) == b.text_in(y),
                (ExprKind::FuncRef(x), ExprKind::FuncRef(y)) => match (x.expand(), y.expand()) {
                    (Some(x), Some(y)) => (self.same)(x, y),
                    (x, y) => x == y,
                },
                (
                    ExprKind::CpuCustom { pointers: x, .. },
                    ExprKind::CpuCustom { pointers: y, .. },
                ) => a.bytes_in(x) == b.bytes_in(y),
                (ExprKind::GpuCustom { source: x, .. }, ExprKind::GpuCustom { source: y, .. }) => {
                    a.text_in(x) == b.text_in(y)
                }
                _ => false,
            }
    }

    /// Whether two statements agree but for their parts.
    fn stmts(&self, x: StmtId, y: StmtId) -> bool {
        let (a, b) = (self.a, self.b);
        match (a.stmts[x], b.stmts[y]) {
            (Stmt::Comment(x), Stmt::Comment(y))
            | (Stmt::Print { format: x, .. }, Stmt::Print { format: y, .. }) => {
                a.text_in(x) == b.text_in(y)
            }
            (Stmt::Suspend { token: x, name: m }, Stmt::Suspend { token: y, name: n }) => {
                x == y && a.text_in(m) == b.text_in(n)
            }
            (x, y) => std::mem::discriminant(&x) == std::mem::discriminant(&y),
        }
    }
}

//! Values of expressions for every thread of one block, as far as they follow from the thread's index.

use std::rc::Rc;

use cranelift_entity::EntityRef;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{BinaryOp, CastOp, Expr, ExprId, ExprKind, Function, UnaryOp, VariableId};
use crate::place;
use crate::types::{Scalar, TypeId, TypeTable};

/// Threads of a block at most.
pub(super) const MAX_THREADS: usize = 1024;
/// Nodes of one expression that are looked at.
const MAX_NODES: usize = 2000;

/// A set of the threads of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Threads([u64; MAX_THREADS / 64]);

impl Threads {
    pub const NONE: Threads = Threads([0; MAX_THREADS / 64]);

    /// The threads for which the condition holds.
    pub fn of(count: usize, holds: impl Fn(usize) -> bool) -> Threads {
        let mut set = Threads::NONE;
        for thread in (0..count.min(MAX_THREADS)).filter(|t| holds(*t)) {
            set.0[thread / 64] |= 1 << (thread % 64);
        }
        set
    }

    pub fn contains(&self, thread: usize) -> bool {
        self.0[thread / 64] >> (thread % 64) & 1 == 1
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        *self == Threads::NONE
    }

    fn zip(self, other: Threads, f: impl Fn(u64, u64) -> u64) -> Threads {
        Threads(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    pub fn and(self, other: Threads) -> Threads {
        self.zip(other, |a, b| a & b)
    }

    pub fn or(self, other: Threads) -> Threads {
        self.zip(other, |a, b| a | b)
    }

    pub fn minus(self, other: Threads) -> Threads {
        self.zip(other, |a, b| a & !b)
    }
}

/// A number, where it is known.
pub(super) type Lane = Option<i64>;

/// One number for each thread.
#[derive(Clone)]
pub(super) enum Lanes {
    Same(Lane),
    Each(Rc<[Lane]>),
}

impl Lanes {
    pub fn of(&self, thread: usize) -> Lane {
        match self {
            Lanes::Same(lane) => *lane,
            Lanes::Each(lanes) => lanes.get(thread).copied().flatten(),
        }
    }
}

/// A scalar or vector of integers or truth values.
#[derive(Clone)]
pub(super) struct Value {
    pub scalar: Scalar,
    pub parts: Vec<Lanes>,
}

/// What is known about a block at one point of the program.
pub(super) struct Block<'a> {
    types: &'a TypeTable,
    function: &'a Function,
    pub threads: usize,
    /// Values of builtin and local variables.
    pub variables: FxHashMap<VariableId, Value>,
    /// Lanes that may still be computed: the proof is given up afterwards.
    budget: usize,
    /// Nodes that may still be looked at, those that several expressions share again and again.
    nodes_left: usize,
}

impl<'a> Block<'a> {
    /// The first block of a kernel.
    pub fn new(types: &'a TypeTable, function: &'a Function) -> Option<Block<'a>> {
        let [x, y, z] = function.block_size.map(|n| n as usize);
        let threads = x.checked_mul(y)?.checked_mul(z)?;
        if !(1..=MAX_THREADS).contains(&threads) {
            return None;
        }
        let mut block = Block {
            types,
            function,
            threads,
            variables: FxHashMap::default(),
            budget: 4_000_000,
            nodes_left: 4_000_000,
        };
        let axes: [&dyn Fn(usize) -> usize; 3] = [&|t| t % x, &|t| t / x % y, &|t| t / (x * y)];
        let index = Value {
            scalar: Scalar::U32,
            parts: axes
                .map(|axis| Lanes::Each((0..threads).map(|t| Some(axis(t) as i64)).collect()))
                .into(),
        };
        use crate::model::VariableTag::{BlockId, DispatchId, ThreadId};
        for (id, variable) in &function.variables {
            let value = match variable.tag {
                // In the first block the two are the same.
                ThreadId | DispatchId => index.clone(),
                BlockId => Value { scalar: Scalar::U32, parts: vec![Lanes::Same(Some(0)); 3] },
                _ => continue,
            };
            block.variables.insert(id, value);
        }
        Some(block)
    }

    /// Bits of a scalar type.
    pub fn bits(&self, ty: TypeId) -> u32 {
        self.types.scalar_of(ty).map_or(32, |scalar| 8 * scalar.size())
    }

    /// Lanes from lanes, one for all where the operands are so.
    fn zip(&mut self, a: &Lanes, b: &Lanes, f: impl Fn(i64, i64) -> Lane) -> Lanes {
        let both = |a: Lane, b: Lane| f(a?, b?);
        match (a, b) {
            (Lanes::Same(a), Lanes::Same(b)) => Lanes::Same(both(*a, *b)),
            _ => self.each(|t| both(a.of(t), b.of(t))),
        }
    }

    /// A number for each thread; none at all when the budget is spent.
    pub fn each(&mut self, f: impl Fn(usize) -> Lane) -> Lanes {
        match self.budget.checked_sub(self.threads) {
            Some(rest) => {
                self.budget = rest;
                Lanes::Each((0..self.threads).map(f).collect())
            }
            None => Lanes::Same(None),
        }
    }

    /// The value of an expression; none where nothing is known.
    pub fn value(&mut self, expr: ExprId) -> Option<Value> {
        let nodes = self.nodes(expr)?;
        let mut values: FxHashMap<ExprId, Value> = FxHashMap::default();
        for node in nodes {
            if let Some(value) = self.node(&self.function.exprs[node], node, &values) {
                values.insert(node, value);
            }
        }
        values.remove(&expr)
    }

    /// An expression and its operands, operands first; none if there are too many.
    fn nodes(&mut self, expr: ExprId) -> Option<Vec<ExprId>> {
        let mut seen = FxHashSet::default();
        let mut pending = vec![expr];
        while let Some(node) = pending.pop() {
            if !seen.insert(node.index()) {
                continue;
            }
            if seen.len() > MAX_NODES || self.nodes_left == 0 {
                return None;
            }
            self.nodes_left -= 1;
            let kind = &self.function.exprs[node].kind;
            place::expr_children(self.function, kind, |_, _, operand| pending.push(operand));
        }
        let mut nodes: Vec<ExprId> = seen.into_iter().map(ExprId::new).collect();
        nodes.sort_unstable();
        Some(nodes)
    }

    fn node(
        &mut self,
        expr: &Expr,
        id: ExprId,
        values: &FxHashMap<ExprId, Value>,
    ) -> Option<Value> {
        let scalar = self.types.scalar_of(expr.ty).filter(|s| !s.is_float())?;
        let parts = match expr.kind {
            ExprKind::Ref(variable) => return self.variables.get(&variable).cloned(),
            ExprKind::Literal { .. } => self.literal(id, expr.ty, scalar)?,
            ExprKind::Swizzle { base, swizzle } => {
                let base = values.get(&base)?;
                swizzle.components().map(|c| base.parts.get(c).cloned()).collect::<Option<_>>()?
            }
            ExprKind::Unary { op, operand } => {
                let operand = values.get(&operand)?;
                self.unary(op, operand, scalar)?
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let (lhs, rhs) = (values.get(&lhs)?, values.get(&rhs)?);
                self.binary(op, lhs, rhs, scalar)?
            }
            ExprKind::Cast { op: CastOp::Static, source } => {
                let source = values.get(&source)?;
                let dim = usize::from(self.types.dim(expr.ty));
                let parts = source.parts.iter().take(dim);
                let parts: Vec<Lanes> =
                    parts.map(|p| self.zip(p, p, |v, _| wrap(scalar, i128::from(v)))).collect();
                (parts.len() == dim).then_some(parts)?
            }
            _ => return None,
        };
        Some(Value { scalar, parts })
    }

    fn literal(&self, id: ExprId, ty: TypeId, scalar: Scalar) -> Option<Vec<Lanes>> {
        let bytes = self.function.literal(id)?;
        let size = scalar.size() as usize;
        let part = |i: usize| {
            let bytes = bytes.get(i * size..(i + 1) * size)?;
            let bits = bytes.iter().rev().fold(0i128, |v, b| v << 8 | i128::from(*b));
            Some(Lanes::Same(wrap(scalar, bits)))
        };
        (0..usize::from(self.types.dim(ty))).map(part).collect()
    }

    fn unary(&mut self, op: UnaryOp, operand: &Value, scalar: Scalar) -> Option<Vec<Lanes>> {
        if op != UnaryOp::Not && operand.scalar != scalar {
            return None;
        }
        let f = |v: i64| match op {
            UnaryOp::Plus => Some(v),
            UnaryOp::Minus => wrap(scalar, -i128::from(v)),
            UnaryOp::Not => Some(i64::from(v == 0)),
            UnaryOp::BitNot => wrap(scalar, !i128::from(v)),
        };
        Some(operand.parts.iter().map(|p| self.zip(p, p, |v, _| f(v))).collect())
    }

    /// Of operands of one type: what a conversion of one to the other's would do is not followed.
    fn binary(
        &mut self,
        op: BinaryOp,
        lhs: &Value,
        rhs: &Value,
        scalar: Scalar,
    ) -> Option<Vec<Lanes>> {
        let compares = op.is_relational() || op.is_logical();
        if lhs.scalar != rhs.scalar || (!compares && lhs.scalar != scalar) {
            return None;
        }
        let bits = i64::from(scalar.bits());
        let f = move |a: i64, b: i64| {
            let (x, y) = (i128::from(a), i128::from(b));
            match op {
                BinaryOp::Add => wrap(scalar, x + y),
                BinaryOp::Sub => wrap(scalar, x - y),
                BinaryOp::Mul => wrap(scalar, x * y),
                BinaryOp::Div if b != 0 => wrap(scalar, x / y),
                BinaryOp::Mod if b != 0 => wrap(scalar, x % y),
                BinaryOp::BitAnd => Some(a & b),
                BinaryOp::BitOr => Some(a | b),
                BinaryOp::BitXor => Some(a ^ b),
                BinaryOp::Shl if (0..bits).contains(&b) => wrap(scalar, x << b),
                BinaryOp::Shr if (0..bits).contains(&b) => wrap(scalar, x >> b),
                BinaryOp::Div | BinaryOp::Mod | BinaryOp::Shl | BinaryOp::Shr => None,
                BinaryOp::And => Some(i64::from(a != 0 && b != 0)),
                BinaryOp::Or => Some(i64::from(a != 0 || b != 0)),
                BinaryOp::Less => Some(i64::from(a < b)),
                BinaryOp::Greater => Some(i64::from(a > b)),
                BinaryOp::LessEqual => Some(i64::from(a <= b)),
                BinaryOp::GreaterEqual => Some(i64::from(a >= b)),
                BinaryOp::Equal => Some(i64::from(a == b)),
                BinaryOp::NotEqual => Some(i64::from(a != b)),
            }
        };
        let count = lhs.parts.len().max(rhs.parts.len());
        let part = |value: &Value, i: usize| {
            value.parts.get(if value.parts.len() == 1 { 0 } else { i }).cloned()
        };
        (0..count).map(|i| Some(self.zip(&part(lhs, i)?, &part(rhs, i)?, f))).collect()
    }
}

/// A number at the width of a scalar; none where it does not fit into 64 bits with a sign.
fn wrap(scalar: Scalar, value: i128) -> Lane {
    if scalar == Scalar::Bool {
        return Some(i64::from(value != 0));
    }
    let shift = 128 - scalar.bits();
    let cut = value << shift;
    let wrapped = if scalar.is_signed() { cut >> shift } else { (cut as u128 >> shift) as i128 };
    i64::try_from(wrapped).ok()
}

//! Reassociation of integer sums and products.
//!
//! What: takes a tree of integer additions, subtractions, negations and multiplications by constants as one sum of multiples,
//! and a tree of multiplications as one product; joins constants and equal terms; writes it anew if that takes less work, or
//! less work inside the innermost loop, because what the loop does not change then stands together for `licm`.
//! Why right: integers wrap at their width, a ring in which sums and products may be reordered and distributed freely. Floats
//! are not touched. An inner operation belongs to a tree only if the tree is its only user and in the same block, so nothing
//! is computed twice and nothing moves into a loop.
//! Cost: linear but for sorting the terms of a tree. Source: P. Briggs, K. Cooper, "Effective Partial Redundancy Elimination",
//! PLDI 1994, section 3.1 (ranks).

use super::lanes::{self, Lanes};
use super::loops::Loops;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `reassociate` did.
    Info {
        change reassociated_inst_count "sums and products written anew";
    }
}

/// The pass.
pub struct Reassociate;

impl FunctionPass for Reassociate {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "reassociate",
            "joins constants and equal terms of integer sums and products",
            "Writes a tree of integer additions, subtractions and multiplications anew where joining constants and equal terms \
             saves work, or where grouping what a loop does not change lets `licm` move it out. Floats are left alone.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        if !has_candidates(cx.func, cx.types) {
            return Ok(info);
        }
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let loops = Loops::compute(cx.func, &cfg, &dominators);
        for &block in cfg.reverse_post_order() {
            let mut next = cx.func.first_inst(block);
            while let Some(inst) = next {
                next = cx.func.next_inst(inst);
                for family in [Family::Product, Family::Sum] {
                    let tree = Tree::rooted_at(cx.func, cx.types, &loops, family, inst);
                    let Some(tree) = tree.filter(Tree::is_worth_it) else { continue };
                    if !cx.fuel() {
                        return Ok(info);
                    }
                    tree.write(cx.func, cx.types, inst);
                    info.reassociated_inst_count += 1;
                    break;
                }
            }
        }
        Ok(info)
    }
}

/// Whether an operation is part of a tree of several, so that loops need to be known.
fn has_candidates(func: &Function, types: &TypeTable) -> bool {
    func.blocks().flat_map(|b| func.insts(b)).any(|inst| {
        let inner = |family| {
            node(func, types, family, inst).is_some() && is_inner(func, types, family, inst)
        };
        inner(Family::Sum) || inner(Family::Product)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Additions, subtractions, negations, multiplications by a constant.
    Sum,
    /// Multiplications.
    Product,
}

/// An operation of a tree.
#[derive(Clone, Copy)]
enum Node {
    Add(ValueId, ValueId),
    Sub(ValueId, ValueId),
    Neg(ValueId),
    Scale(ValueId, Lanes),
    Mul(ValueId, ValueId),
}

/// What an instruction is to a family, if it belongs to it.
fn node(func: &Function, types: &TypeTable, family: Family, inst: InstId) -> Option<Node> {
    let Op::Arithmetic(op) = func.op(inst) else { return None };
    let ty = func.inst(inst).ty;
    lanes::integer(types, ty)?;
    let args = func.args(inst);
    if family == Family::Product {
        return (op == ArithmeticOp::BinaryMul).then(|| Node::Mul(args[0], args[1]));
    }
    match op {
        ArithmeticOp::BinaryAdd => Some(Node::Add(args[0], args[1])),
        ArithmeticOp::BinarySub => Some(Node::Sub(args[0], args[1])),
        ArithmeticOp::UnaryMinus => Some(Node::Neg(args[0])),
        ArithmeticOp::BinaryMul => {
            let by = |v| lanes::of_constant(func, types, v);
            by(args[1])
                .map(|c| Node::Scale(args[0], c))
                .or_else(|| by(args[0]).map(|c| Node::Scale(args[1], c)))
        }
        _ => None,
    }
}

/// Whether an operation has one use, in its block and by an operation of the family, whose tree it then belongs to.
fn is_inner(func: &Function, types: &TypeTable, family: Family, inst: InstId) -> bool {
    let Some(result) = func.result(inst) else { return false };
    let mut uses = func.uses(result);
    let (Some((user, _)), None) = (uses.next(), uses.next()) else { return false };
    func.inst_block(user) == func.inst_block(inst) && node(func, types, family, user).is_some()
}

/// A leaf with its factor (of a sum) or alone (of a product).
#[derive(Clone, Copy)]
struct Term {
    value: ValueId,
    factor: Lanes,
    /// Whether the innermost loop around the tree changes it.
    varies: bool,
}

struct Tree {
    family: Family,
    ty: TypeId,
    scalar: Scalar,
    /// Number of lanes.
    dim: usize,
    /// What is added, or multiplied by.
    constant: Lanes,
    terms: Vec<Term>,
    /// Operations, parents first.
    insts: Vec<InstId>,
    /// Work of the operations as they stand, and how many of them the innermost loop cannot do without.
    cost: (u64, u64),
}

/// The work of multiplying by a constant, in additions.
fn scale_cost(scalar: Scalar, factor: &Lanes, dim: usize) -> u64 {
    match scalar.bits() {
        _ if factor[..dim].iter().all(|f| f.is_power_of_two()) => 1,
        64 => 4,
        _ => 2,
    }
}

impl Tree {
    fn rooted_at(
        func: &Function,
        types: &TypeTable,
        loops: &Loops,
        family: Family,
        root: InstId,
    ) -> Option<Tree> {
        node(func, types, family, root)?;
        if is_inner(func, types, family, root) {
            return None;
        }
        // A tree of one operation cannot be written with less work.
        let block = func.inst_block(root);
        let is_part = |inst: InstId| {
            func.inst_block(inst) == block
                && node(func, types, family, inst).is_some()
                && is_inner(func, types, family, inst)
        };
        if !func.args(root).iter().any(|&v| func.def_inst(v).is_some_and(is_part)) {
            return None;
        }
        let ty = func.inst(root).ty;
        let one = lanes::splat(types, ty, 1);
        let constant = if family == Family::Product { one } else { Lanes::default() };
        let scalar = lanes::integer(types, ty)?;
        let mut tree = Tree {
            family,
            ty,
            scalar,
            dim: types.dim(ty).into(),
            constant,
            terms: Vec::new(),
            insts: Vec::new(),
            cost: (0, 0),
        };
        tree.gather(func, types, loops, root, one);
        Some(tree)
    }

    fn gather(
        &mut self,
        func: &Function,
        types: &TypeTable,
        loops: &Loops,
        root: InstId,
        one: Lanes,
    ) {
        let block = func.inst_block(root);
        let home = block.and_then(|b| loops.innermost(b));
        let mut seen: FxHashMap<ValueId, usize> = FxHashMap::default();
        // Parent and whether the innermost loop changes what is below, by number of the operation.
        let mut nodes: Vec<(usize, bool)> = Vec::new();
        let mut pending: Vec<(Option<InstId>, Option<ValueId>, Lanes, usize)> =
            vec![(Some(root), None, one, usize::MAX)];
        while let Some((inst, value, factor, parent)) = pending.pop() {
            let found = inst.and_then(|i| Some((i, node(func, types, self.family, i)?)));
            if let Some((inst, node)) = found {
                let number = nodes.len();
                nodes.push((parent, false));
                self.insts.push(inst);
                self.cost.0 += match node {
                    Node::Scale(_, by) => scale_cost(self.scalar, &by, self.dim),
                    Node::Mul(..) => 2,
                    _ => 1,
                };
                let mut push = |v: ValueId, factor: Lanes| {
                    let inner = func.def_inst(v).filter(|&i| {
                        func.inst_block(i) == block && is_inner(func, types, self.family, i)
                    });
                    pending.push((inner, Some(v), factor, number));
                };
                // The left operand is popped first.
                match node {
                    Node::Add(a, b) | Node::Mul(a, b) => {
                        push(b, factor);
                        push(a, factor);
                    }
                    Node::Sub(a, b) => {
                        push(b, self.map(factor, u64::wrapping_neg));
                        push(a, factor);
                    }
                    Node::Neg(a) => push(a, self.map(factor, u64::wrapping_neg)),
                    Node::Scale(a, by) => push(a, self.zip(factor, by, u64::wrapping_mul)),
                }
                continue;
            }
            let Some(value) = value else { continue };
            if let Some(constant) = lanes::of_constant(func, types, value) {
                self.constant = match self.family {
                    Family::Product => self.zip(self.constant, constant, u64::wrapping_mul),
                    Family::Sum => {
                        let part = self.zip(factor, constant, u64::wrapping_mul);
                        self.zip(self.constant, part, u64::wrapping_add)
                    }
                };
                continue;
            }
            let varies = varies(func, loops, home, value);
            if let Some(top) = nodes.get_mut(parent) {
                top.1 |= varies;
            }
            match seen.get(&value).filter(|_| self.family == Family::Sum) {
                Some(&i) => {
                    self.terms[i].factor =
                        self.zip(self.terms[i].factor, factor, u64::wrapping_add);
                }
                None => {
                    seen.insert(value, self.terms.len());
                    self.terms.push(Term { value, factor, varies });
                }
            }
        }
        for number in (0..nodes.len()).rev() {
            let (parent, varies) = nodes[number];
            self.cost.1 += u64::from(varies);
            if let Some(above) = nodes.get_mut(parent) {
                above.1 |= varies;
            }
        }
        self.terms.retain(|term| term.factor != Lanes::default());
        // What does not change comes first; the rest in the order of the tree.
        self.terms.sort_by_key(|term| term.varies);
    }

    fn map(&self, a: Lanes, f: impl Fn(u64) -> u64) -> Lanes {
        a.map(|a| f(a) & lanes::mask(self.scalar))
    }

    fn zip(&self, a: Lanes, b: Lanes, f: impl Fn(u64, u64) -> u64) -> Lanes {
        std::array::from_fn(|i| f(a[i], b[i]) & lanes::mask(self.scalar))
    }

    fn is_worth_it(&self) -> bool {
        self.insts.len() > 1 && self.new_cost() < self.cost
    }

    /// The cost of the tree as [`Tree::write`] would write it.
    fn new_cost(&self) -> (u64, u64) {
        let is_sum = self.family == Family::Sum;
        if self.terms.is_empty() || self.is_zero() {
            return (0, 0);
        }
        let constant = u64::from(self.has_constant());
        let varying = self.terms.iter().filter(|t| t.varies).count() as u64;
        let fixed = self.terms.len() as u64 - varying + constant;
        let joins = varying + fixed - 1;
        let mut work = if is_sum { joins } else { 2 * joins };
        let mut inside = if varying == 0 { 0 } else { varying + u64::from(fixed > 0) - 1 };
        if !is_sum {
            return (work, inside);
        }
        for term in self.terms.iter().filter(|t| !self.is_one(&self.magnitude(t))) {
            work += scale_cost(self.scalar, &self.magnitude(term), self.dim);
            inside += u64::from(term.varies);
        }
        if constant == 0 && self.terms.iter().all(|t| self.is_negative(&t.factor)) {
            work += 1;
            inside += u64::from(varying > 0);
        }
        (work, inside)
    }

    fn is_zero(&self) -> bool {
        self.family == Family::Product && self.constant == Lanes::default()
    }

    fn has_constant(&self) -> bool {
        match self.family {
            Family::Sum => self.constant != Lanes::default(),
            Family::Product => !self.is_one(&self.constant),
        }
    }

    fn is_one(&self, lanes: &Lanes) -> bool {
        lanes[..self.dim].iter().all(|&l| l == 1)
    }

    /// Whether every lane is negative, taken as signed.
    fn is_negative(&self, lanes: &Lanes) -> bool {
        lanes[..self.dim].iter().all(|&l| l > lanes::mask(self.scalar) >> 1)
    }

    /// The factor of a term that is added or subtracted.
    fn magnitude(&self, term: &Term) -> Lanes {
        match self.is_negative(&term.factor) {
            true => self.map(term.factor, u64::wrapping_neg),
            false => term.factor,
        }
    }

    /// Writes the tree before its root and removes the old one.
    fn write(self, func: &mut Function, types: &TypeTable, root: InstId) {
        let Some(constant) = lanes::to_constant(func, types, self.ty, &self.constant) else {
            return;
        };
        let joined = Some(constant).filter(|_| self.has_constant());
        let mut builder = Builder::before(func, types, root);
        let value = if self.terms.is_empty() || self.is_zero() {
            Some(constant)
        } else if self.family == Family::Product {
            let values = self.terms.iter().map(|t| t.value).collect();
            let values = self.with_constant(values, joined);
            values.into_iter().reduce(|a, b| builder.arithmetic(ArithmeticOp::BinaryMul, &[a, b]))
        } else {
            self.sum(&mut builder, joined)
        };
        let Some(value) = value else { return };
        util::replace_and_remove(func, root, value);
        for &inst in &self.insts[1..] {
            func.remove_inst(inst);
        }
    }

    /// The parts with the constant among those that do not change, or last.
    fn with_constant<T>(&self, mut parts: Vec<T>, constant: Option<T>) -> Vec<T> {
        let fixed = self.fixed();
        let at = if fixed == 0 { parts.len() } else { fixed };
        parts.splice(at..at, constant);
        parts
    }

    fn fixed(&self) -> usize {
        self.terms.iter().filter(|t| !t.varies).count()
    }

    fn sum(&self, builder: &mut Builder<'_>, constant: Option<ValueId>) -> Option<ValueId> {
        let mut parts = Vec::with_capacity(self.terms.len() + 1);
        for term in &self.terms {
            let factor = self.magnitude(term);
            let mut value = term.value;
            if !self.is_one(&factor) {
                let factor = lanes::to_constant(builder.func, builder.types, self.ty, &factor)?;
                value = builder.arithmetic(ArithmeticOp::BinaryMul, &[value, factor]);
            }
            parts.push((value, self.is_negative(&term.factor)));
        }
        let fixed = match self.fixed() {
            0 => 0,
            n => n + usize::from(constant.is_some()),
        };
        let mut parts = self.with_constant(parts, constant.map(|c| (c, false)));
        let varying = parts.split_off(fixed);
        let first = join(builder, parts);
        match join(builder, first.into_iter().chain(varying).collect())? {
            (value, false) => Some(value),
            (value, true) => Some(builder.arithmetic(ArithmeticOp::UnaryMinus, &[value])),
        }
    }
}

/// The sum of values, each with whether it is subtracted, as one such pair.
fn join(builder: &mut Builder<'_>, mut parts: Vec<(ValueId, bool)>) -> Option<(ValueId, bool)> {
    let added = parts.iter().position(|p| !p.1);
    if parts.is_empty() {
        return None;
    }
    let (mut total, negative) = parts.remove(added.unwrap_or(0));
    for (value, minus) in parts {
        let subtract = minus != negative;
        let op = if subtract { ArithmeticOp::BinarySub } else { ArithmeticOp::BinaryAdd };
        total = builder.arithmetic(op, &[total, value]);
    }
    Some((total, negative))
}

/// Whether the loop `home` changes a value that is used in it.
fn varies(func: &Function, loops: &Loops, home: Option<u32>, value: ValueId) -> bool {
    let Some(number) = home else { return false };
    let at: Option<BlockId> = func.def_inst(value).and_then(|i| func.inst_block(i));
    let inner = at.and_then(|b| loops.innermost(b));
    loops.common_depth(inner, Some(number)) >= loops.loops[number as usize].depth
}

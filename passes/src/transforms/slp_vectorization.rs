//! Equal operations on the components of a vector as one operation on vectors.
//!
//! What: where a vector is put together from components that the same operations make, tree by tree, the operations are done
//! on vectors. Leaves that are components of one vector, in order or not, or constants, need no putting together.
//! Why right: an operation on vectors is that operation component by component, bit for bit. The scalars must be in the block
//! of the `aggregate` and have no other use; all operations are pure.
//! Cost: linear; trees are bounded. A vector put together counts as many operations as it has components, and the tree is only
//! replaced if that saves some. Source: S. Larsen, S. Amarasinghe, "Exploiting Superword Level Parallelism with Multimedia
//! Instruction Sets", PLDI 2000, from the store side, here from the `aggregate`.

use super::lanes;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, CastOp, Rule};
use luisac_xir::{BlockId, Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `slp_vectorization` did.
    Info {
        change vectorized_tree_count "trees of scalar operations turned into vector operations";
        note vectorized_inst_count "scalar operations that went";
    }
}

/// Operations of one tree, at most.
const MAX_NODES: usize = 64;

/// The pass.
pub struct SlpVectorization;

impl FunctionPass for SlpVectorization {
    const DECLARATION: Declaration = Declaration {
        establishes: crate::manager::form::Requires::VECTORS,
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "slp_vectorization",
            "turns equal operations on components into vector operations",
            "Where the components of a vector are made by the same operations, these become operations on vectors, if that \
             saves work. For targets that compute with vectors.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        for block in blocks {
            // The last first: trees are as large as can be, and hold no other `aggregate`.
            let aggregate = Op::Arithmetic(ArithmeticOp::Aggregate);
            let roots: Vec<InstId> =
                cx.func.insts(block).filter(|&i| cx.func.op(i) == aggregate).collect();
            for root in roots.into_iter().rev() {
                let tree = Tree::of(cx.func, cx.types, root).filter(|tree| tree.cost < 0);
                let Some(tree) = tree else { continue };
                if !cx.fuel() {
                    return Ok(info);
                }
                info.vectorized_inst_count += tree.scalar_count();
                info.vectorized_tree_count += 1;
                tree.write(cx.func, cx.types, root);
            }
        }
        Ok(info)
    }
}

enum Kind {
    /// The same operation in every lane; operands by number of their nodes.
    Op(Op, Vec<usize>),
    /// A vector that is there.
    Vector(ValueId),
    /// Components of a vector that is there.
    Shuffle(ValueId, Vec<ValueId>),
    Constant,
    /// To be put together.
    Gather,
}

struct Node {
    ty: TypeId,
    lanes: Vec<ValueId>,
    kind: Kind,
}

struct Tree {
    /// Operands come after what uses them.
    nodes: Vec<Node>,
    /// Operations that come minus those that go.
    cost: i64,
}

impl Tree {
    /// The tree under an `aggregate`, if its components are made by one operation.
    fn of(func: &Function, types: &TypeTable, root: InstId) -> Option<Tree> {
        let ty = func.inst(root).ty;
        if func.op(root) != Op::Arithmetic(ArithmeticOp::Aggregate) || !types.is_vector(ty) {
            return None;
        }
        let count = func.args(root).len() as i64;
        let block = func.inst_block(root)?;
        let mut nodes = vec![Node { ty, lanes: func.args(root).to_vec(), kind: Kind::Gather }];
        let mut cost = -count;
        let mut at = 0;
        while at < nodes.len() {
            let lanes = nodes[at].lanes.clone();
            let op = match nodes.len() < MAX_NODES {
                true => common_op(func, types, block, &lanes),
                false => None,
            };
            nodes[at].kind = match op {
                Some(op) => {
                    cost -= count - 1;
                    let insts: Vec<InstId> =
                        lanes.iter().filter_map(|&v| func.def_inst(v)).collect();
                    let operands = func.args(insts[0]).len();
                    let first = nodes.len();
                    for i in 0..operands {
                        let lanes: Vec<ValueId> =
                            insts.iter().map(|&inst| func.arg(inst, i)).collect();
                        let scalar = types.scalar_of(func.value_type(lanes[0]))?;
                        let ty = TypeId::vector(scalar, lanes.len() as u8);
                        nodes.push(Node { ty, lanes, kind: Kind::Gather });
                    }
                    Kind::Op(op, (first..nodes.len()).collect())
                }
                None => leaf(func, types, nodes[at].ty, &lanes),
            };
            cost += match nodes[at].kind {
                Kind::Gather => count,
                Kind::Shuffle(..) => 1,
                _ => 0,
            };
            at += 1;
        }
        Some(Tree { nodes, cost }).filter(|t| matches!(t.nodes[0].kind, Kind::Op(..)))
    }

    fn scalar_count(&self) -> u64 {
        let ops = self.nodes.iter().filter(|n| matches!(n.kind, Kind::Op(..)));
        ops.map(|n| n.lanes.len() as u64).sum()
    }

    fn write(self, func: &mut Function, types: &TypeTable, root: InstId) {
        let mut values: Vec<Option<ValueId>> = vec![None; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate().rev() {
            let value = match &node.kind {
                Kind::Vector(value) => Some(*value),
                Kind::Constant => constant(func, types, node),
                Kind::Gather => {
                    Some(Builder::before(func, types, root).aggregate(node.ty, &node.lanes))
                }
                Kind::Shuffle(from, picks) => {
                    let mut args = vec![*from];
                    args.extend_from_slice(picks);
                    let op = Op::Arithmetic(ArithmeticOp::Shuffle);
                    Some(Builder::before(func, types, root).value(op, node.ty, &args))
                }
                Kind::Op(op, operands) => {
                    let args: Vec<ValueId> = operands.iter().filter_map(|&o| values[o]).collect();
                    Some(Builder::before(func, types, root).value(*op, node.ty, &args))
                }
            };
            values[number] = value;
        }
        let Some(value) = values[0] else { return };
        util::replace_and_remove(func, root, value);
        for node in self.nodes.iter().filter(|n| matches!(n.kind, Kind::Op(..))) {
            for inst in node.lanes.iter().filter_map(|&v| func.def_inst(v)).collect::<Vec<_>>() {
                func.remove_inst(inst);
            }
        }
    }
}

/// The operation by components that makes all lanes, each for this one use and in this block.
fn common_op(func: &Function, types: &TypeTable, block: BlockId, lanes: &[ValueId]) -> Option<Op> {
    let first = func.def_inst(lanes[0])?;
    let op = func.op(first);
    let by_component = match op {
        Op::Arithmetic(op) => matches!(
            op.rule(),
            Rule::Numeric
                | Rule::Float
                | Rule::Bits
                | Rule::Shift
                | Rule::Order
                | Rule::Equality
                | Rule::BitCount
                | Rule::FloatTest
        ),
        Op::Cast(CastOp::Static) => true,
        _ => false,
    };
    let kinds = |inst| func.args(inst).iter().map(|&a| func.value_type(a));
    let fits = |inst: InstId| {
        let mut uses = func.result(inst).into_iter().flat_map(|v| func.uses(v));
        func.op(inst) == op
            && func.inst_block(inst) == Some(block)
            && kinds(inst).eq(kinds(first))
            && kinds(inst).all(|ty| types.is_scalar(ty))
            && (uses.next().is_some() && uses.next().is_none())
    };
    let all = by_component && lanes.iter().all(|&v| func.def_inst(v).is_some_and(fits));
    all.then_some(op)
}

fn leaf(func: &Function, types: &TypeTable, ty: TypeId, lanes: &[ValueId]) -> Kind {
    if lanes.iter().all(|&v| func.constant_bits(v).is_some()) {
        return Kind::Constant;
    }
    let part = |value: ValueId| {
        let inst = func.def_inst(value)?;
        let is_extract = func.op(inst) == Op::Arithmetic(ArithmeticOp::Extract);
        let &[from, index] = func.args(inst) else { return None };
        let dim = u64::from(types.dim(func.value_type(from)));
        let at = func.constant_bits(index).filter(|&i| i < dim)?;
        (is_extract && types.is_vector(func.value_type(from))).then_some((from, index, at))
    };
    let parts: Option<Vec<_>> = lanes.iter().map(|&v| part(v)).collect();
    let Some(parts) = parts.filter(|p| p.iter().all(|q| q.0 == p[0].0)) else {
        return Kind::Gather;
    };
    let from = parts[0].0;
    let in_order = parts.iter().enumerate().all(|(i, p)| p.2 == i as u64);
    match in_order && func.value_type(from) == ty {
        true => Kind::Vector(from),
        false => Kind::Shuffle(from, parts.iter().map(|p| p.1).collect()),
    }
}

fn constant(func: &mut Function, types: &TypeTable, node: &Node) -> Option<ValueId> {
    let mut bits = lanes::Lanes::default();
    for (lane, &value) in bits.iter_mut().zip(&node.lanes) {
        *lane = func.constant_bits(value)?;
    }
    lanes::to_constant(func, types, node.ty, &bits)
}

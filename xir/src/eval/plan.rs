//! Operations on whole values.

use super::{Binary, Bits, Ternary, Unary, binary, cast, flat, ternary, unary};
use crate::math::composite::{self, Lane, Operand, Scalars, Shape};
use crate::op::{ArithmeticOp, CastOp, Rule};
use luisac_ast::types::{Scalar, TypeId, TypeTable};

/// How an operation on flat values is computed. Operations that only move scalars (`aggregate`, `shuffle`, `insert`,
/// `extract`) have none.
#[derive(Clone, Debug)]
pub enum Plan {
    /// A function of each component; `count` of them.
    Unary { function: Unary, count: usize },
    /// As `Unary`; an operand whose step is 0 has one component that stands for all.
    Binary { function: Binary, count: usize, steps: [usize; 2] },
    /// As `Binary`.
    Ternary { function: Ternary, count: usize, steps: [usize; 3] },
    /// A formula over all components; operands by scalar type and shape.
    Formula { op: ArithmeticOp, operands: Vec<(Scalar, Shape)>, count: usize },
    /// The same scalars in other pieces: bytes of a source and of a target scalar, number of targets.
    Repack { from: usize, to: usize, count: usize },
}

/// How `op` is computed on operands of these types; `None` if it moves scalars only or does not take such operands.
pub fn plan(types: &TypeTable, op: ArithmeticOp, operands: &[TypeId]) -> Option<Plan> {
    let (least, most) = op.arity();
    if operands.len() < least || operands.len() > most || composite::is_movement(op) {
        return None;
    }
    if op == ArithmeticOp::Select {
        return select(types, operands);
    }
    let scalars: Vec<Scalar> =
        operands.iter().map(|&ty| types.scalar_of(ty)).collect::<Option<_>>()?;
    let shapes: Vec<Shape> =
        operands.iter().map(|&ty| Shape::of(ty, types)).collect::<Option<_>>()?;
    let count = shapes.iter().map(|s| s.lanes()).max()?;
    let step = |i: usize| usize::from(shapes[i] != Shape::Scalar);
    if by_component(op) {
        let by_count = match operands.len() {
            1 => unary(op, scalars[0]).map(|function| Plan::Unary { function, count }),
            2 => binary(op, scalars[0], scalars[1]).map(|function| Plan::Binary {
                function,
                count,
                steps: [step(0), step(1)],
            }),
            3 => ternary(op, scalars[0]).map(|function| Plan::Ternary {
                function,
                count,
                steps: [step(0), step(1), step(2)],
            }),
            _ => None,
        };
        if by_count.is_some() {
            return by_count;
        }
    }
    if !composite::is_formula(op) {
        return None;
    }
    let count = match op.rule() {
        Rule::BoolReduce | Rule::FloatReduce | Rule::Reduce | Rule::Determinant => 1,
        Rule::MatrixMultiply if shapes.iter().any(|s| matches!(s, Shape::Vector(_))) => {
            shapes.iter().map(|s| s.lanes()).min()?
        }
        Rule::OuterProduct => match shapes[0] {
            Shape::Vector(dim) => usize::from(dim) * usize::from(dim),
            shape => shape.lanes(),
        },
        _ => count,
    };
    // A formula whose scalar operations do not exist for the type is none.
    if !formula_holds(op, scalars[0]) {
        return None;
    }
    Some(Plan::Formula { op, operands: scalars.into_iter().zip(shapes).collect(), count })
}

/// Whether each component of the result depends on the same component of the operands only.
fn by_component(op: ArithmeticOp) -> bool {
    matches!(
        op.rule(),
        Rule::Numeric
            | Rule::Float
            | Rule::Bits
            | Rule::Shift
            | Rule::Order
            | Rule::Equality
            | Rule::Lerp
            | Rule::Smoothstep
            | Rule::Step
            | Rule::BitCount
            | Rule::FloatTest
            | Rule::PowInt
    )
}

fn formula_holds(op: ArithmeticOp, scalar: Scalar) -> bool {
    match op.rule() {
        Rule::BoolReduce => scalar == Scalar::Bool,
        _ => binary(ArithmeticOp::BinaryAdd, scalar, scalar).is_some(),
    }
}

fn select(types: &TypeTable, operands: &[TypeId]) -> Option<Plan> {
    let count = usize::try_from(flat::count(types, operands[0])).ok()?;
    let step = usize::from(types.is_vector(operands[2]));
    let function = ternary(ArithmeticOp::Select, Scalar::Bool)?;
    Some(Plan::Ternary { function, count, steps: [1, 1, step] })
}

/// How a cast between these types is computed; `None` if there is no such cast.
pub fn plan_cast(types: &TypeTable, op: CastOp, from: TypeId, to: TypeId) -> Option<Plan> {
    let (source, target) = (types.scalar_of(from)?, types.scalar_of(to)?);
    let (source_count, count) =
        (flat::count(types, from) as usize, flat::count(types, to) as usize);
    match op {
        CastOp::Static if source_count == count => {
            Some(Plan::Unary { function: cast(source, target)?, count })
        }
        CastOp::Static => None,
        CastOp::Bitwise => {
            let (from, to) = (source.size() as usize, target.size() as usize);
            if from * source_count != to * count {
                return None;
            }
            Some(if from == to {
                Plan::Unary { function: |bits| bits, count }
            } else {
                Plan::Repack { from, to, count }
            })
        }
    }
}

impl Plan {
    /// Number of scalars in the result.
    pub fn count(&self) -> usize {
        match self {
            Plan::Unary { count, .. }
            | Plan::Binary { count, .. }
            | Plan::Ternary { count, .. }
            | Plan::Formula { count, .. }
            | Plan::Repack { count, .. } => *count,
        }
    }

    /// The flat result for flat operands, which must be of the types that the plan was made for.
    pub fn apply(&self, operands: &[&[Bits]]) -> Vec<Bits> {
        match self {
            Plan::Unary { function, count } => {
                (0..*count).map(|i| function(operands[0][i])).collect()
            }
            Plan::Binary { function, count, steps } => (0..*count)
                .map(|i| function(operands[0][i * steps[0]], operands[1][i * steps[1]]))
                .collect(),
            Plan::Ternary { function, count, steps } => (0..*count)
                .map(|i| {
                    let at = |k: usize| operands[k][i * steps[k]];
                    function(at(0), at(1), at(2))
                })
                .collect(),
            Plan::Formula { op, operands: kinds, .. } => {
                let operands: Vec<Operand<Bits>> = kinds
                    .iter()
                    .zip(operands)
                    .map(|(&(scalar, shape), lanes)| Operand {
                        scalar,
                        shape,
                        lanes: lanes.to_vec(),
                    })
                    .collect();
                composite::expand(&mut Compute, *op, &operands)
            }
            Plan::Repack { from, to, .. } => {
                let bytes: Vec<u8> = operands[0]
                    .iter()
                    .flat_map(|bits| bits.to_le_bytes().into_iter().take(*from))
                    .collect();
                bytes.chunks(*to).map(|piece| flat::read_scalar(piece, Scalar::U64)).collect()
            }
        }
    }
}

/// Computes the scalar operations of a formula at once.
pub(crate) struct Compute;

impl Scalars for Compute {
    type Value = Bits;

    fn constant(&mut self, _: Scalar, bits: u64) -> Bits {
        bits
    }

    // A plan is made only where the scalar operations exist.
    fn apply(&mut self, op: ArithmeticOp, args: &[Lane<Bits>]) -> Bits {
        match *args {
            [a] => unary(op, a.scalar).map_or(0, |f| f(a.value)),
            [a, b] => binary(op, a.scalar, b.scalar).map_or(0, |f| f(a.value, b.value)),
            [a, b, c] => ternary(op, a.scalar).map_or(0, |f| f(a.value, b.value, c.value)),
            _ => 0,
        }
    }

    fn cast(&mut self, value: Lane<Bits>, to: Scalar) -> Bits {
        cast(value.scalar, to).map_or(0, |f| f(value.value))
    }
}

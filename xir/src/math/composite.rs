//! Operations that are made of others: formulas over scalar operations, written once.
//!
//! [`expand`] turns an arithmetic operation on scalars, vectors or matrices into operations on scalars that need no formula
//! ([`is_formula`] is false for them). Whoever implements [`Scalars`] decides what those do: the interpreter and the constant
//! folder compute them, the pass `lower_math` emits them. One sequence of rounded operations, hence the same bits everywhere.
//!
//! Sums and products go x, y, z, w, left to right, from the first element. Dot products, lengths, normalisation and reductions
//! of halves work in single precision and round once at the end; every other operation on halves rounds by itself.

use crate::op::ArithmeticOp;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};

/// A scalar value with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane<V> {
    pub scalar: Scalar,
    pub value: V,
}

/// How the lanes of an operand are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One lane.
    Scalar,
    /// So many lanes.
    Vector(u8),
    /// So many columns of as many lanes, column by column.
    Matrix(u8),
}

impl Shape {
    /// The shape of a scalar, vector or matrix type.
    pub fn of(ty: TypeId, types: &TypeTable) -> Option<Shape> {
        match *types.kind(ty) {
            TypeKind::Scalar(_) => Some(Shape::Scalar),
            TypeKind::Vector { dim, .. } => Some(Shape::Vector(dim)),
            TypeKind::Matrix { dim } => Some(Shape::Matrix(dim)),
            _ => None,
        }
    }

    /// Number of lanes.
    pub const fn lanes(self) -> usize {
        match self {
            Shape::Scalar => 1,
            Shape::Vector(dim) => dim as usize,
            Shape::Matrix(dim) => dim as usize * dim as usize,
        }
    }
}

/// An operand: all lanes of a scalar, vector or matrix.
#[derive(Clone, Debug)]
pub struct Operand<V> {
    pub scalar: Scalar,
    pub shape: Shape,
    /// As many as the shape has.
    pub lanes: Vec<V>,
}

impl<V: Copy> Operand<V> {
    /// Lane `index`; the only lane of a scalar stands for all.
    fn lane(&self, index: usize) -> Lane<V> {
        let index = if self.shape == Shape::Scalar { 0 } else { index };
        Lane { scalar: self.scalar, value: self.lanes[index] }
    }

    fn all(&self) -> Vec<Lane<V>> {
        self.lanes.iter().map(|&value| Lane { scalar: self.scalar, value }).collect()
    }

    /// Element in column `c`, row `r` of a matrix.
    fn at(&self, c: usize, r: usize) -> Lane<V> {
        let Shape::Matrix(dim) = self.shape else { return self.lane(r) };
        self.lane(c * dim as usize + r)
    }
}

/// The operations that formulas are made of.
pub trait Scalars {
    /// A scalar value; its type is known to the caller.
    type Value: Copy;

    /// The constant with these low bits.
    fn constant(&mut self, scalar: Scalar, bits: u64) -> Self::Value;

    /// An operation on scalars for which [`is_formula`] is false.
    fn apply(&mut self, op: ArithmeticOp, args: &[Lane<Self::Value>]) -> Self::Value;

    /// Conversion by value.
    fn cast(&mut self, value: Lane<Self::Value>, to: Scalar) -> Self::Value;
}

/// Whether the operation is a formula over others, for any type of operand.
pub const fn is_formula(op: ArithmeticOp) -> bool {
    use ArithmeticOp::*;
    matches!(
        op,
        All | Any
            | Clamp
            | Saturate
            | Lerp
            | Smoothstep
            | Step
            | Fract
            | Rsqrt
            | Cross
            | Dot
            | Length
            | LengthSquared
            | Normalize
            | Faceforward
            | Reflect
            | ReduceSum
            | ReduceProduct
            | ReduceMin
            | ReduceMax
            | OuterProduct
            | MatrixCompNeg
            | MatrixCompAdd
            | MatrixCompSub
            | MatrixCompMul
            | MatrixCompDiv
            | MatrixLinalgMul
            | Determinant
            | Transpose
            | Inverse
    )
}

/// Whether the operation moves elements about rather than computing: `aggregate`, `shuffle`, `insert`, `extract`.
pub const fn is_movement(op: ArithmeticOp) -> bool {
    use ArithmeticOp::*;
    matches!(op, Aggregate | Shuffle | Insert | Extract)
}

/// The lanes of `op` on these operands, column by column, made by `scalars`. Operations that are no formula are applied lane
/// by lane, a scalar operand standing for every lane. The operands must satisfy the typing rule of `op`, which must not be
/// one that moves elements ([`is_movement`]).
pub fn expand<S: Scalars>(
    scalars: &mut S,
    op: ArithmeticOp,
    operands: &[Operand<S::Value>],
) -> Vec<S::Value> {
    let lanes = Expander { scalars }.expand(op, operands);
    lanes.into_iter().map(|lane| lane.value).collect()
}

struct Expander<'a, S> {
    scalars: &'a mut S,
}

type Lanes<S> = Vec<Lane<<S as Scalars>::Value>>;

impl<S: Scalars> Expander<'_, S> {
    fn expand(&mut self, op: ArithmeticOp, args: &[Operand<S::Value>]) -> Lanes<S> {
        use ArithmeticOp::*;
        match op {
            All => vec![self.chain(BinaryBitAnd, &args[0].all())],
            Any => vec![self.chain(BinaryBitOr, &args[0].all())],
            Clamp | Saturate | Lerp | Smoothstep | Step | Fract | Rsqrt => {
                self.each(args, |e, lanes| e.formula(op, lanes))
            }
            Cross => self.cross(&args[0], &args[1]),
            Dot => self.in_float(args, |e, a| vec![e.dot(&a[0], &a[1])]),
            LengthSquared => self.in_float(args, |e, a| vec![e.dot(&a[0], &a[0])]),
            Length => self.in_float(args, |e, a| {
                let square = e.dot(&a[0], &a[0]);
                vec![e.apply(Sqrt, &[square])]
            }),
            Normalize => self.in_float(args, |e, a| {
                let square = e.dot(&a[0], &a[0]);
                let scale = e.formula(Rsqrt, &[square]);
                a[0].iter().map(|&x| e.apply(BinaryMul, &[x, scale])).collect()
            }),
            Faceforward => self.faceforward(args),
            Reflect => self.reflect(args),
            ReduceSum => self.in_float(args, |e, a| vec![e.chain(BinaryAdd, &a[0])]),
            ReduceProduct => self.in_float(args, |e, a| vec![e.chain(BinaryMul, &a[0])]),
            ReduceMin => vec![self.chain(Min, &args[0].all())],
            ReduceMax => vec![self.chain(Max, &args[0].all())],
            OuterProduct | MatrixLinalgMul | Transpose => self.matrix_product(op, args),
            MatrixCompNeg => self.lane_by_lane(UnaryMinus, args),
            MatrixCompAdd => self.lane_by_lane(BinaryAdd, args),
            MatrixCompSub => self.lane_by_lane(BinarySub, args),
            MatrixCompMul => self.lane_by_lane(BinaryMul, args),
            MatrixCompDiv => self.lane_by_lane(BinaryDiv, args),
            Determinant => vec![self.determinant(&args[0])],
            Inverse => self.inverse(&args[0]),
            _ => self.lane_by_lane(op, args),
        }
    }

    // ---- the ground

    fn apply(&mut self, op: ArithmeticOp, args: &[Lane<S::Value>]) -> Lane<S::Value> {
        let value = self.scalars.apply(op, args);
        Lane { scalar: result_scalar(op, args[0].scalar), value }
    }

    fn cast(&mut self, lane: Lane<S::Value>, to: Scalar) -> Lane<S::Value> {
        if lane.scalar == to {
            return lane;
        }
        Lane { scalar: to, value: self.scalars.cast(lane, to) }
    }

    /// A small whole number of the type of `like`.
    fn number(&mut self, like: Scalar, value: u8) -> Lane<S::Value> {
        let bits = match like {
            Scalar::F16 => u64::from(half::f16::from_f32(value.into()).to_bits()),
            Scalar::F32 => u64::from(f32::from(value).to_bits()),
            Scalar::F64 => f64::from(value).to_bits(),
            _ => value.into(),
        };
        Lane { scalar: like, value: self.scalars.constant(like, bits) }
    }

    fn each(
        &mut self,
        args: &[Operand<S::Value>],
        mut f: impl FnMut(&mut Self, &[Lane<S::Value>]) -> Lane<S::Value>,
    ) -> Lanes<S> {
        let count = args.iter().map(|a| a.shape.lanes()).max().unwrap_or(0);
        (0..count)
            .map(|i| {
                let lanes: Lanes<S> = args.iter().map(|a| a.lane(i)).collect();
                f(self, &lanes)
            })
            .collect()
    }

    fn lane_by_lane(&mut self, op: ArithmeticOp, args: &[Operand<S::Value>]) -> Lanes<S> {
        self.each(args, |e, lanes| e.apply(op, lanes))
    }

    /// `lanes[0] op lanes[1] op ...`, left to right.
    fn chain(&mut self, op: ArithmeticOp, lanes: &[Lane<S::Value>]) -> Lane<S::Value> {
        lanes[1..].iter().fold(lanes[0], |sum, &lane| self.apply(op, &[sum, lane]))
    }

    /// Runs `f` on the lanes of all operands, halves widened to float before and rounded after.
    fn in_float(
        &mut self,
        args: &[Operand<S::Value>],
        f: impl FnOnce(&mut Self, &[Lanes<S>]) -> Lanes<S>,
    ) -> Lanes<S> {
        let is_half = args[0].scalar == Scalar::F16;
        let wide: Vec<Lanes<S>> = args
            .iter()
            .map(|a| {
                let lanes = a.all();
                if !is_half {
                    return lanes;
                }
                lanes.into_iter().map(|lane| self.cast(lane, Scalar::F32)).collect()
            })
            .collect();
        let result = f(self, &wide);
        result.into_iter().map(|lane| self.cast(lane, args[0].scalar)).collect()
    }

    // ---- formulas

    fn formula(&mut self, op: ArithmeticOp, x: &[Lane<S::Value>]) -> Lane<S::Value> {
        use ArithmeticOp::*;
        let ty = x[0].scalar;
        match op {
            Clamp => {
                let low = self.apply(Max, &[x[0], x[1]]);
                self.apply(Min, &[low, x[2]])
            }
            Saturate => {
                let (zero, one) = (self.number(ty, 0), self.number(ty, 1));
                self.formula(Clamp, &[x[0], zero, one])
            }
            Lerp => {
                let span = self.apply(BinarySub, &[x[1], x[0]]);
                let part = self.apply(BinaryMul, &[x[2], span]);
                self.apply(BinaryAdd, &[x[0], part])
            }
            Smoothstep => {
                let (above, span) =
                    (self.apply(BinarySub, &[x[2], x[0]]), self.apply(BinarySub, &[x[1], x[0]]));
                let ratio = self.apply(BinaryDiv, &[above, span]);
                let t = self.formula(Saturate, &[ratio]);
                let (two, three) = (self.number(ty, 2), self.number(ty, 3));
                let square = self.apply(BinaryMul, &[t, t]);
                let double = self.apply(BinaryMul, &[two, t]);
                let rest = self.apply(BinarySub, &[three, double]);
                self.apply(BinaryMul, &[square, rest])
            }
            Step => {
                let (zero, one) = (self.number(ty, 0), self.number(ty, 1));
                let below = self.apply(BinaryLess, &[x[1], x[0]]);
                self.apply(Select, &[one, zero, below])
            }
            Fract => {
                let floor = self.apply(Floor, &[x[0]]);
                self.apply(BinarySub, &[x[0], floor])
            }
            Rsqrt => {
                // In float, so that a half is rounded once.
                let wide = if ty == Scalar::F16 { Scalar::F32 } else { ty };
                let x = self.cast(x[0], wide);
                let root = self.apply(Sqrt, &[x]);
                let one = self.number(wide, 1);
                let result = self.apply(BinaryDiv, &[one, root]);
                self.cast(result, ty)
            }
            _ => self.apply(op, x),
        }
    }

    fn dot(&mut self, a: &[Lane<S::Value>], b: &[Lane<S::Value>]) -> Lane<S::Value> {
        self.dot_by(a.len(), |i| (a[i], b[i]))
    }

    /// The sum of the products of `count` pairs.
    fn dot_by(
        &mut self,
        count: usize,
        pair: impl Fn(usize) -> (Lane<S::Value>, Lane<S::Value>),
    ) -> Lane<S::Value> {
        let (a, b) = pair(0);
        let mut sum = self.apply(ArithmeticOp::BinaryMul, &[a, b]);
        for i in 1..count {
            let (a, b) = pair(i);
            let product = self.apply(ArithmeticOp::BinaryMul, &[a, b]);
            sum = self.apply(ArithmeticOp::BinaryAdd, &[sum, product]);
        }
        sum
    }

    /// `a * b - c * d`.
    fn minor(
        &mut self,
        a: Lane<S::Value>,
        b: Lane<S::Value>,
        c: Lane<S::Value>,
        d: Lane<S::Value>,
    ) -> Lane<S::Value> {
        let first = self.apply(ArithmeticOp::BinaryMul, &[a, b]);
        let second = self.apply(ArithmeticOp::BinaryMul, &[c, d]);
        self.apply(ArithmeticOp::BinarySub, &[first, second])
    }

    fn cross(&mut self, a: &Operand<S::Value>, b: &Operand<S::Value>) -> Lanes<S> {
        [(1, 2), (2, 0), (0, 1)]
            .into_iter()
            .map(|(i, j)| self.minor(a.lane(i), b.lane(j), a.lane(j), b.lane(i)))
            .collect()
    }

    fn faceforward(&mut self, args: &[Operand<S::Value>]) -> Lanes<S> {
        let pair = [args[2].clone(), args[1].clone()];
        let dot = self.in_float(&pair, |e, a| vec![e.dot(&a[0], &a[1])])[0];
        let zero = self.number(dot.scalar, 0);
        let keep = self.apply(ArithmeticOp::BinaryLess, &[dot, zero]);
        self.each(&args[..1], |e, n| {
            let flipped = e.apply(ArithmeticOp::UnaryMinus, &[n[0]]);
            e.apply(ArithmeticOp::Select, &[flipped, n[0], keep])
        })
    }

    fn reflect(&mut self, args: &[Operand<S::Value>]) -> Lanes<S> {
        let dot = self.in_float(args, |e, a| vec![e.dot(&a[0], &a[1])])[0];
        let two = self.number(dot.scalar, 2);
        let scale = self.apply(ArithmeticOp::BinaryMul, &[two, dot]);
        self.each(args, |e, lanes| {
            let along = e.apply(ArithmeticOp::BinaryMul, &[scale, lanes[1]]);
            e.apply(ArithmeticOp::BinarySub, &[lanes[0], along])
        })
    }

    // ---- matrices

    fn matrix_product(&mut self, op: ArithmeticOp, args: &[Operand<S::Value>]) -> Lanes<S> {
        let (a, b) = (&args[0], args.get(1).unwrap_or(&args[0]));
        let dim = match (a.shape, b.shape) {
            (Shape::Matrix(dim), _) | (_, Shape::Matrix(dim)) | (Shape::Vector(dim), _) => {
                dim as usize
            }
            _ => 1,
        };
        let cells = (0..dim).flat_map(|c| (0..dim).map(move |r| (c, r)));
        match (op, a.shape, b.shape) {
            (ArithmeticOp::Transpose, ..) => cells.map(|(c, r)| a.at(r, c)).collect(),
            (ArithmeticOp::OuterProduct, Shape::Matrix(_), _) => {
                cells.map(|(c, r)| self.dot_by(dim, |k| (a.at(k, r), b.at(k, c)))).collect()
            }
            (ArithmeticOp::OuterProduct, ..) => cells
                .map(|(c, r)| self.apply(ArithmeticOp::BinaryMul, &[a.lane(r), b.lane(c)]))
                .collect(),
            (_, Shape::Matrix(_), Shape::Matrix(_)) => {
                cells.map(|(c, r)| self.dot_by(dim, |k| (a.at(k, r), b.at(c, k)))).collect()
            }
            (_, Shape::Matrix(_), _) => {
                (0..dim).map(|r| self.dot_by(dim, |k| (a.at(k, r), b.lane(k)))).collect()
            }
            _ => (0..dim).map(|c| self.dot_by(dim, |k| (a.lane(k), b.at(c, k)))).collect(),
        }
    }

    fn determinant(&mut self, m: &Operand<S::Value>) -> Lane<S::Value> {
        let Shape::Matrix(dim) = m.shape else { return m.lane(0) };
        let columns: Vec<usize> = (0..dim as usize).collect();
        self.sub_determinant(m, &columns, &columns)
    }

    /// Determinant of the rows and columns named (up to four each), expanded along the first column named.
    fn sub_determinant(
        &mut self,
        m: &Operand<S::Value>,
        columns: &[usize],
        rows: &[usize],
    ) -> Lane<S::Value> {
        match columns.len() {
            1 => m.at(columns[0], rows[0]),
            2 => self.minor(
                m.at(columns[0], rows[0]),
                m.at(columns[1], rows[1]),
                m.at(columns[1], rows[0]),
                m.at(columns[0], rows[1]),
            ),
            _ => {
                let mut sum = None;
                for (i, &row) in rows.iter().enumerate() {
                    let others: Vec<usize> = rows.iter().copied().filter(|&r| r != row).collect();
                    let rest = self.sub_determinant(m, &columns[1..], &others);
                    let term = self.apply(ArithmeticOp::BinaryMul, &[m.at(columns[0], row), rest]);
                    sum = Some(match sum {
                        None => term,
                        Some(sum) if i % 2 == 1 => {
                            self.apply(ArithmeticOp::BinarySub, &[sum, term])
                        }
                        Some(sum) => self.apply(ArithmeticOp::BinaryAdd, &[sum, term]),
                    });
                }
                sum.unwrap_or(m.at(columns[0], rows[0]))
            }
        }
    }

    /// The transposed matrix of cofactors, each divided by the determinant.
    fn inverse(&mut self, m: &Operand<S::Value>) -> Lanes<S> {
        let Shape::Matrix(dim) = m.shape else { return m.all() };
        let dim = dim as usize;
        let mut adjugate = Vec::with_capacity(dim * dim);
        for c in 0..dim {
            for r in 0..dim {
                // Element (column c, row r) of the inverse is the cofactor of (column r, row c).
                let without = |x: usize| (0..dim).filter(|&i| i != x).collect::<Vec<_>>();
                let cofactor = self.sub_determinant(m, &without(r), &without(c));
                adjugate.push(if (c + r) % 2 == 1 {
                    self.apply(ArithmeticOp::UnaryMinus, &[cofactor])
                } else {
                    cofactor
                });
            }
        }
        // Expanded along the first column, whose cofactors are row 0 of the inverse's columns.
        let determinant = self.dot_by(dim, |r| (m.at(0, r), adjugate[r * dim]));
        adjugate
            .into_iter()
            .map(|x| self.apply(ArithmeticOp::BinaryDiv, &[x, determinant]))
            .collect()
    }
}

/// The scalar that an operation without formula yields from operands whose first is `first`.
fn result_scalar(op: ArithmeticOp, first: Scalar) -> Scalar {
    use crate::op::Rule;
    match op.rule() {
        Rule::Order | Rule::Equality | Rule::FloatTest => Scalar::Bool,
        _ => first,
    }
}

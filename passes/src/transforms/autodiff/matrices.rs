//! Rules of operations on vectors and matrices as wholes, and of those that move elements.

use super::rules::At;
use super::sweep::{Result, Sweep};
use luisac_xir::ValueId;
use luisac_xir::op::ArithmeticOp::{self, *};

impl Sweep<'_> {
    pub(super) fn reverse_geometry(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        let vector = self.ty(at.args[0]);
        let g = self.broadcast(at.g, vector);
        match op {
            Cross => {
                if self.wants(at, 0) {
                    let b = self.arg(at, 1)?;
                    let adjoint = self.op(Cross, &[b, g]);
                    self.give_arg(at, 0, adjoint);
                }
                if self.wants(at, 1) {
                    let a = self.arg(at, 0)?;
                    let adjoint = self.op(Cross, &[g, a]);
                    self.give_arg(at, 1, adjoint);
                }
            }
            Dot => {
                for (own, other) in [(0, 1), (1, 0)] {
                    if self.wants(at, own) {
                        let factor = self.arg(at, other)?;
                        let adjoint = self.mul(g, factor);
                        self.give_arg(at, own, adjoint);
                    }
                }
            }
            Length => {
                let x = self.arg(at, 0)?;
                let direction = self.op(Normalize, &[x]);
                let adjoint = self.mul(g, direction);
                self.give_arg(at, 0, adjoint);
            }
            LengthSquared => {
                let x = self.arg(at, 0)?;
                let product = self.mul(g, x);
                let adjoint = self.scale(2.0, product);
                self.give_arg(at, 0, adjoint);
            }
            Normalize => {
                let (x, n) = (self.arg(at, 0)?, self.out(at)?);
                let along = self.along(n, g);
                let across = self.sub(g, along);
                let length = self.op(Length, &[x]);
                let length = self.broadcast(length, vector);
                let adjoint = self.div(across, length);
                self.give_arg(at, 0, adjoint);
            }
            // reflect(i, n) = i - 2 n (n . i)
            _ => {
                let n = self.arg(at, 1)?;
                if self.wants(at, 0) {
                    let along = self.along(n, g);
                    let twice = self.scale(2.0, along);
                    let adjoint = self.sub(g, twice);
                    self.give_arg(at, 0, adjoint);
                }
                if self.wants(at, 1) {
                    let i = self.arg(at, 0)?;
                    let to_g = self.scaled_by_dot(i, n, g);
                    let to_i = self.scaled_by_dot(g, n, i);
                    let sum = self.add(to_g, to_i);
                    let adjoint = self.scale(-2.0, sum);
                    self.give_arg(at, 1, adjoint);
                }
            }
        }
        Ok(())
    }

    /// `n (n . g)`.
    fn along(&mut self, n: ValueId, g: ValueId) -> ValueId {
        self.scaled_by_dot(n, n, g)
    }

    /// `v (a . b)`.
    fn scaled_by_dot(&mut self, v: ValueId, a: ValueId, b: ValueId) -> ValueId {
        let dot = self.op(Dot, &[a, b]);
        let dot = self.broadcast(dot, self.ty(v));
        self.mul(v, dot)
    }

    pub(super) fn reverse_reduction(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        let vector = self.ty(at.args[0]);
        let g = self.broadcast(at.g, vector);
        let adjoint = match op {
            ReduceSum => g,
            ReduceProduct => {
                let x = self.arg(at, 0)?;
                let count = self.types.member_count(vector);
                let parts: Vec<ValueId> =
                    (0..count).map(|i| self.builder().extract(x, i)).collect();
                let mut rest = Vec::with_capacity(parts.len());
                for own in 0..parts.len() {
                    let mut product: Option<ValueId> = None;
                    for (_, &other) in parts.iter().enumerate().filter(|&(i, _)| i != own) {
                        product = Some(match product {
                            Some(product) => self.mul(product, other),
                            None => other,
                        });
                    }
                    rest.push(product.unwrap_or(at.g));
                }
                let rest = self.builder().aggregate(vector, &rest);
                self.mul(g, rest)
            }
            _ => {
                let (x, out) = (self.arg(at, 0)?, self.out(at)?);
                let out = self.broadcast(out, vector);
                let is_it = self.op(BinaryEqual, &[x, out]);
                let zero = self.zero(vector);
                self.choose(is_it, g, zero)
            }
        };
        self.give_arg(at, 0, adjoint);
        Ok(())
    }

    pub(super) fn reverse_matrix(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        let g = at.g;
        match op {
            MatrixCompNeg => {
                let negative = self.op(MatrixCompNeg, &[g]);
                self.give_arg(at, 0, negative);
            }
            MatrixCompAdd | MatrixCompSub => {
                self.give_part(at, 0, g);
                if self.wants(at, 1) {
                    let second = if op == MatrixCompSub { self.op(MatrixCompNeg, &[g]) } else { g };
                    self.give_part(at, 1, second);
                }
            }
            MatrixCompMul => {
                for (own, other) in [(0, 1), (1, 0)] {
                    if self.wants(at, own) {
                        let factor = self.arg(at, other)?;
                        let adjoint = self.op(MatrixCompMul, &[g, factor]);
                        self.give_part(at, own, adjoint);
                    }
                }
            }
            MatrixCompDiv => {
                let b = self.arg(at, 1)?;
                let quotient = self.op(MatrixCompDiv, &[g, b]);
                self.give_part(at, 0, quotient);
                if self.wants(at, 1) {
                    let out = self.out(at)?;
                    let product = self.op(MatrixCompMul, &[quotient, out]);
                    let adjoint = self.op(MatrixCompNeg, &[product]);
                    self.give_part(at, 1, adjoint);
                }
            }
            Transpose => {
                let adjoint = self.op(Transpose, &[g]);
                self.give_arg(at, 0, adjoint);
            }
            Inverse => {
                let out = self.out(at)?;
                let turned = self.op(Transpose, &[out]);
                let left = self.op(MatrixLinalgMul, &[turned, g]);
                let both = self.op(MatrixLinalgMul, &[left, turned]);
                let adjoint = self.op(MatrixCompNeg, &[both]);
                self.give_arg(at, 0, adjoint);
            }
            Determinant => {
                let m = self.arg(at, 0)?;
                let cofactors = self.cofactors(at, m)?;
                let adjoint = self.op(MatrixCompMul, &[cofactors, g]);
                self.give_arg(at, 0, adjoint);
            }
            OuterProduct => self.reverse_outer(at)?,
            _ => self.reverse_linear(at)?,
        }
        Ok(())
    }

    /// Gives to a matrix operand, or the sum of all components to a scalar one.
    fn give_part(&mut self, at: &At<'_>, index: usize, adjoint: ValueId) {
        if !self.wants(at, index) {
            return;
        }
        let adjoint = match self.types.is_matrix(self.ty(at.args[index])) {
            true => adjoint,
            false => {
                let count = self.types.member_count(self.ty(adjoint));
                let columns: Vec<ValueId> =
                    (0..count).map(|i| self.builder().extract(adjoint, i)).collect();
                let sum = columns.into_iter().reduce(|a, b| self.add(a, b)).unwrap_or(adjoint);
                self.op(ReduceSum, &[sum])
            }
        };
        self.give_arg(at, index, adjoint);
    }

    /// The matrix of cofactors: the derivative of the determinant, also where that is zero. With four columns it is made from
    /// the inverse.
    fn cofactors(&mut self, at: &At<'_>, m: ValueId) -> Result<ValueId> {
        let ty = self.ty(m);
        let count = self.types.member_count(ty);
        if count == 4 {
            let out = self.out(at)?;
            let inverse = self.op(Inverse, &[m]);
            let turned = self.op(Transpose, &[inverse]);
            return Ok(self.op(MatrixCompMul, &[turned, out]));
        }
        let columns: Vec<ValueId> = (0..count).map(|i| self.builder().extract(m, i)).collect();
        let made = match columns[..] {
            [a, b, c] => [(b, c), (c, a), (a, b)].map(|(x, y)| self.op(Cross, &[x, y])).to_vec(),
            _ => {
                let mut made = Vec::with_capacity(2);
                for (own, other) in [(0, 1), (1, 0)] {
                    let (x, y) = (
                        self.builder().extract(columns[other], 0),
                        self.builder().extract(columns[other], 1),
                    );
                    let parts = if own == 0 { [y, self.neg(x)] } else { [self.neg(y), x] };
                    let column = self.ty(columns[0]);
                    made.push(self.builder().aggregate(column, &parts));
                }
                made
            }
        };
        Ok(self.builder().aggregate(ty, &made))
    }

    /// a bᵀ, of vectors or matrices.
    fn reverse_outer(&mut self, at: &At<'_>) -> Result<()> {
        if self.wants(at, 0) {
            let b = self.arg(at, 1)?;
            let adjoint = self.op(MatrixLinalgMul, &[at.g, b]);
            self.give_arg_whole(at, 0, adjoint);
        }
        if self.wants(at, 1) {
            let a = self.arg(at, 0)?;
            let turned = self.op(Transpose, &[at.g]);
            let adjoint = self.op(MatrixLinalgMul, &[turned, a]);
            self.give_arg_whole(at, 1, adjoint);
        }
        Ok(())
    }

    /// matrix * matrix, matrix * vector, vector * matrix.
    fn reverse_linear(&mut self, at: &At<'_>) -> Result<()> {
        let g = at.g;
        let is_matrix = |sweep: &Self, i: usize| sweep.types.is_matrix(sweep.ty(at.args[i]));
        let (left, right) = (is_matrix(self, 0), is_matrix(self, 1));
        if self.wants(at, 0) {
            let b = self.arg(at, 1)?;
            let adjoint = match (left, right) {
                // g bᵀ.
                (true, _) => self.op(OuterProduct, &[g, b]),
                _ => self.op(MatrixLinalgMul, &[b, g]),
            };
            self.give_arg_whole(at, 0, adjoint);
        }
        if self.wants(at, 1) {
            let a = self.arg(at, 0)?;
            let adjoint = match (left, right) {
                (true, _) => {
                    let turned = self.op(Transpose, &[a]);
                    self.op(MatrixLinalgMul, &[turned, g])
                }
                _ => self.op(OuterProduct, &[a, g]),
            };
            self.give_arg_whole(at, 1, adjoint);
        }
        Ok(())
    }

    fn give_arg_whole(&mut self, at: &At<'_>, index: usize, adjoint: ValueId) {
        self.give(at.args[index], adjoint);
    }

    pub(super) fn reverse_movement(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        match op {
            Aggregate => {
                for index in 0..at.args.len() {
                    if self.wants(at, index) {
                        let part = self.builder().extract(at.g, index as u32);
                        self.give(at.args[index], part);
                    }
                }
            }
            Shuffle => self.reverse_shuffle(at)?,
            Insert => {
                let indices = self.primals(&at.args[2..])?;
                if self.wants(at, 1) {
                    let ty = self.ty(at.args[1]);
                    let part = self.at_indices(Extract, ty, &[at.g], &indices);
                    self.give(at.args[1], part);
                }
                if self.wants(at, 0) {
                    let zero = self.zero(self.ty(at.args[1]));
                    let rest = self.at_indices(Insert, at.ty, &[at.g, zero], &indices);
                    self.give(at.args[0], rest);
                }
            }
            _ => {
                let indices = self.primals(&at.args[1..])?;
                let whole = self.ty(at.args[0]);
                let zero = self.zero(whole);
                let adjoint = self.at_indices(Insert, whole, &[zero, at.g], &indices);
                self.give(at.args[0], adjoint);
            }
        }
        Ok(())
    }

    fn primals(&mut self, values: &[ValueId]) -> Result<Vec<ValueId>> {
        values.iter().map(|&v| self.primal(v)).collect()
    }

    /// `extract` or `insert` with a chain of indices.
    fn at_indices(
        &mut self,
        op: ArithmeticOp,
        ty: luisac_ast::types::TypeId,
        args: &[ValueId],
        indices: &[ValueId],
    ) -> ValueId {
        let all: Vec<ValueId> = args.iter().chain(indices).copied().collect();
        self.builder().value(luisac_xir::Op::Arithmetic(op), ty, &all)
    }

    /// Each component gets the sum of those that it went to.
    fn reverse_shuffle(&mut self, at: &At<'_>) -> Result<()> {
        let source = self.ty(at.args[0]);
        let count = self.types.member_count(source) as usize;
        let mut sums: Vec<Option<ValueId>> = vec![None; count];
        for (to, &index) in at.args[1..].iter().enumerate() {
            let from = self.func.constant_bits(index).and_then(|b| usize::try_from(b).ok());
            let Some(from) = from.filter(|&f| f < count) else {
                return Err(self.no_rule(at.inst));
            };
            let part = self.builder().extract(at.g, to as u32);
            sums[from] = Some(match sums[from] {
                Some(sum) => self.add(sum, part),
                None => part,
            });
        }
        let Some(element) = self.types.element_type(source, 0) else {
            return Err(self.no_rule(at.inst));
        };
        let zero = self.zero(element);
        let parts: Vec<ValueId> = sums.into_iter().map(|s| s.unwrap_or(zero)).collect();
        let adjoint = self.builder().aggregate(source, &parts);
        self.give(at.args[0], adjoint);
        Ok(())
    }
}

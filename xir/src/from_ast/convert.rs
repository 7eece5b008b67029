//! Conversions: the implicit ones of the language, and static casts.

use super::TYPE_MISMATCH;
use super::function::{Lowerer, Result};
use crate::op::{ArithmeticOp, CastOp};
use crate::{Op, ValueId};
use luisac_ast::types::{Scalar, TypeId, TypeKind};

impl Lowerer<'_> {
    /// `value` as `to`: scalars and vectors component by component, a scalar to all components of a vector, a vector to a
    /// shorter one, a matrix to another size (identity where there was nothing); everything else only to its own type.
    pub(super) fn convert(&mut self, value: ValueId, to: TypeId) -> Result<ValueId> {
        let from = self.ty(value);
        if from == to {
            return Ok(value);
        }
        match (self.types.kind(from), self.types.kind(to)) {
            (TypeKind::Scalar(_), TypeKind::Scalar(_)) => Ok(self.cast(value, to)),
            (TypeKind::Vector { dim: a, .. }, TypeKind::Vector { dim: b, .. }) if a == b => {
                Ok(self.cast(value, to))
            }
            (&TypeKind::Scalar(_), &TypeKind::Vector { elem, dim }) => {
                let scalar = self.convert(value, TypeId::scalar(elem))?;
                Ok(self.splat(scalar, elem, dim))
            }
            (&TypeKind::Vector { elem, dim: a }, &TypeKind::Vector { dim: b, .. }) if a > b => {
                let mut args = vec![value];
                args.extend((0..u32::from(b)).map(|i| self.func.u32_constant(i)));
                let short = TypeId::vector(elem, b);
                let shuffled = self.value(Op::Arithmetic(ArithmeticOp::Shuffle), short, &args);
                self.convert(shuffled, to)
            }
            (&TypeKind::Matrix { dim: a }, &TypeKind::Matrix { dim: b }) => {
                self.resize_matrix(value, a, b)
            }
            _ => {
                let text =
                    format!("{} cannot be converted to {}", self.describe(from), self.describe(to));
                Err(self.error(TYPE_MISMATCH, text))
            }
        }
    }

    fn cast(&mut self, value: ValueId, to: TypeId) -> ValueId {
        self.value(Op::Cast(CastOp::Static), to, &[value])
    }

    /// A vector of `dim` equal components; a constant of a constant.
    fn splat(&mut self, scalar: ValueId, elem: Scalar, dim: u8) -> ValueId {
        let ty = TypeId::vector(elem, dim);
        if let Some(bytes) = self.func.constant_bytes(scalar) {
            let mut all = bytes.as_slice().repeat(usize::from(dim));
            all.resize(self.types.size(ty) as usize, 0);
            return self.func.constant(ty, all);
        }
        self.aggregate(ty, &vec![scalar; usize::from(dim)])
    }

    /// The parts of `value` that fit, and of the identity what is missing.
    fn resize_matrix(&mut self, value: ValueId, from: u8, to: u8) -> Result<ValueId> {
        let mut columns = Vec::with_capacity(usize::from(to));
        for c in 0..to {
            let mut rows = Vec::with_capacity(usize::from(to));
            for r in 0..to {
                rows.push(if c < from && r < from {
                    self.extract(value, &[c.into(), r.into()], TypeId::F32)
                } else {
                    let one = f32::from(c == r);
                    self.scalar_constant(TypeId::F32, one.to_bits().into())
                });
            }
            columns.push(self.aggregate(TypeId::vector(Scalar::F32, to), &rows));
        }
        Ok(self.aggregate(TypeId::matrix(to), &columns))
    }

    /// The part of a value at a path of constant indices.
    pub(super) fn extract(&mut self, value: ValueId, path: &[u32], ty: TypeId) -> ValueId {
        if path.is_empty() {
            return value;
        }
        let mut args = vec![value];
        for &index in path {
            args.push(self.func.u32_constant(index));
        }
        self.value(Op::Arithmetic(ArithmeticOp::Extract), ty, &args)
    }

    /// The components of a vector, or the scalar itself.
    pub(super) fn components(&mut self, value: ValueId) -> Result<Vec<ValueId>> {
        let ty = self.ty(value);
        match *self.types.kind(ty) {
            TypeKind::Scalar(_) => Ok(vec![value]),
            TypeKind::Vector { elem, dim } => Ok((0..u32::from(dim))
                .map(|i| self.extract(value, &[i], TypeId::scalar(elem)))
                .collect()),
            _ => {
                let text = format!("{} is neither a scalar nor a vector", self.describe(ty));
                Err(self.error(TYPE_MISMATCH, text))
            }
        }
    }

    /// `value` with `scalar` as element type, its shape kept.
    pub(super) fn with_scalar(&mut self, value: ValueId, scalar: Scalar) -> Result<ValueId> {
        let ty = self.ty(value);
        let dim = if self.types.is_vector(ty) { self.types.dim(ty) } else { 1 };
        self.convert(value, TypeId::vector(scalar, dim))
    }

    /// A vector from scalars and vectors whose components make it up, from one scalar, or from one longer vector.
    pub(super) fn make_vector(&mut self, args: &[ValueId], to: TypeId) -> Result<ValueId> {
        if let [single] = args {
            return self.convert(*single, to);
        }
        let &TypeKind::Vector { elem, dim } = self.types.kind(to) else {
            let text = format!("{} is not made of components", self.describe(to));
            return Err(self.error(TYPE_MISMATCH, text));
        };
        let mut parts = Vec::with_capacity(4);
        for &arg in args {
            let arg = self.with_scalar(arg, elem)?;
            parts.append(&mut self.components(arg)?);
        }
        if parts.len() < usize::from(dim) {
            let text = format!("{} components do not make {}", parts.len(), self.describe(to));
            return Err(self.error(TYPE_MISMATCH, text));
        }
        parts.truncate(usize::from(dim));
        Ok(self.aggregate(to, &parts))
    }

    /// A matrix from its columns, from all its entries, or from one matrix.
    pub(super) fn make_matrix(&mut self, args: &[ValueId], to: TypeId) -> Result<ValueId> {
        let &TypeKind::Matrix { dim } = self.types.kind(to) else {
            let text = format!("{} is not made of columns", self.describe(to));
            return Err(self.error(TYPE_MISMATCH, text));
        };
        let n = usize::from(dim);
        let column = TypeId::vector(Scalar::F32, dim);
        if let [single] = args {
            return self.convert(*single, to);
        }
        let mut columns = Vec::with_capacity(n);
        if args.len() == n * n {
            for parts in args.chunks(n) {
                columns.push(self.make_vector(parts, column)?);
            }
        } else if args.len() == n {
            for &arg in args {
                columns.push(self.convert(arg, column)?);
            }
        } else {
            let text = format!("{} columns do not make {}", args.len(), self.describe(to));
            return Err(self.error(TYPE_MISMATCH, text));
        }
        Ok(self.aggregate(to, &columns))
    }
}

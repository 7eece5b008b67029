//! Formulas as instructions: [`Scalars`] over a builder.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::math::composite::{Lane, Scalars};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Builder, ValueId};

/// Emits each scalar operation at the builder's place.
pub(crate) struct Emitter<'a, 'b> {
    pub builder: &'a mut Builder<'b>,
}

impl Scalars for Emitter<'_, '_> {
    type Value = ValueId;

    fn constant(&mut self, scalar: Scalar, bits: u64) -> ValueId {
        let types = self.builder.types;
        self.builder.func.scalar_constant(TypeId::scalar(scalar), bits, types)
    }

    fn apply(&mut self, op: ArithmeticOp, args: &[Lane<ValueId>]) -> ValueId {
        let values: Vec<ValueId> = args.iter().map(|lane| lane.value).collect();
        self.builder.arithmetic(op, &values)
    }

    fn cast(&mut self, value: Lane<ValueId>, to: Scalar) -> ValueId {
        self.builder.static_cast(value.value, TypeId::scalar(to))
    }
}

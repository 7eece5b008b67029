//! Operations over a wave whose result depends on lanes that are not active, or on floats that are no numbers.

use super::Guard;
use super::float::Format;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::ArithmeticOp::*;
use luisac_xir::op::ThreadGroupOp::{self, *};
use luisac_xir::{Op, ValueId};

const MASK: TypeId = TypeId::vector(Scalar::U32, 4);

impl Guard<'_> {
    fn group(&mut self, op: ThreadGroupOp, ty: TypeId, args: &[ValueId]) -> ValueId {
        self.b.value(Op::ThreadGroup(op), ty, args)
    }

    pub(super) fn wave(
        &mut self,
        op: ThreadGroupOp,
        args: &[ValueId],
        ty: TypeId,
    ) -> Option<ValueId> {
        match op {
            WarpReadLane => Some(self.read_lane(args[0], args[1], ty)),
            WarpActiveMin | WarpActiveMax if self.scalar_of(args[0]).is_float() => {
                Some(self.wave_extreme(op, args[0]))
            }
            WarpActiveAllEqual if self.scalar_of(args[0]).is_float() => {
                Some(self.all_equal(args[0], ty))
            }
            _ => None,
        }
    }

    /// Reads the first active lane in the place of one that is not active, whose value is 0.
    fn read_lane(&mut self, value: ValueId, lane: ValueId, ty: TypeId) -> ValueId {
        let always = self.b.func.bool_constant(true);
        let mask = self.group(WarpActiveBitMask, MASK, &[always]);
        let five = self.b.u32(5);
        let number = self.raw(BinaryShiftRight, &[lane, five]);
        // Beyond the four words no lane is active.
        let mut word = self.b.u32(0);
        for i in 0..4 {
            let part = self.b.extract(mask, i);
            let index = self.b.u32(i);
            let is_this = self.raw(BinaryEqual, &[number, index]);
            word = self.choose(is_this, part, word);
        }
        let (low, one, zero) = (self.b.u32(31), self.b.u32(1), self.b.u32(0));
        let place = self.raw(BinaryBitAnd, &[lane, low]);
        let bit = self.raw(BinaryShiftRight, &[word, place]);
        let bit = self.raw(BinaryBitAnd, &[bit, one]);
        let is_active = self.raw(BinaryNotEqual, &[bit, zero]);
        let first = self.group(WarpFirstActiveLane, TypeId::U32, &[]);
        let safe = self.choose(is_active, lane, first);
        let read = self.group(WarpReadLane, ty, &[value, safe]);
        self.or_zero(is_active, read, ty)
    }

    /// The value or zero; a matrix column by column.
    fn or_zero(&mut self, condition: ValueId, value: ValueId, ty: TypeId) -> ValueId {
        if !self.b.types.is_matrix(ty) {
            let zero = self.b.func.zero(ty, self.b.types);
            return self.choose(condition, value, zero);
        }
        let dim = self.b.types.member_count(ty);
        let columns: Vec<ValueId> = (0..dim)
            .map(|i| {
                let column = self.b.extract(value, i);
                let zero = self.b.func.zero(self.type_of(column), self.b.types);
                self.choose(condition, column, zero)
            })
            .collect();
        self.b.aggregate(ty, &columns)
    }

    /// By signed integers that are ordered as the floats are, with -0 below +0; NaN is beyond every number.
    fn wave_extreme(&mut self, op: ThreadGroupOp, x: ValueId) -> ValueId {
        let scalar = self.scalar_of(x);
        let wide = match scalar {
            Scalar::F16 => self.convert(x, Scalar::F32),
            _ => x,
        };
        let float = self.scalar_of(wide);
        let format = Format::of(float);
        let nan = match op {
            WarpActiveMin => format.nan(),
            _ => format.nan() | format.sign(),
        };
        let is_nan = self.is_nan(wide);
        let nan = self.same(wide, nan);
        let number = self.choose(is_nan, nan, wide);
        let bits = self.reinterpret(number, format.signed);
        let key = self.order_key(bits, format);
        let ty = self.type_of(key);
        let found = self.group(op, ty, &[key]);
        let bits = self.order_key(found, format);
        let found = self.reinterpret(bits, float);
        self.convert(found, scalar)
    }

    /// Flips all bits but the sign of negative ones; its own inverse.
    fn order_key(&mut self, bits: ValueId, format: Format) -> ValueId {
        let last = self.same(bits, u64::from(format.word.bits()) - 1);
        let spread = self.raw(BinaryShiftRight, &[bits, last]);
        let mask = self.same(bits, format.sign() - 1);
        let flip = self.raw(BinaryBitAnd, &[spread, mask]);
        self.raw(BinaryBitXor, &[bits, flip])
    }

    /// Every lane compares with the first one.
    fn all_equal(&mut self, x: ValueId, ty: TypeId) -> ValueId {
        let first = self.group(WarpReadFirstActiveLane, self.type_of(x), &[x]);
        let equal = self.raw(BinaryEqual, &[x, first]);
        if !self.b.types.is_vector(ty) {
            return self.group(WarpActiveAll, TypeId::BOOL, &[equal]);
        }
        let parts: Vec<ValueId> = self
            .elements(equal, self.b.types.dim(ty))
            .into_iter()
            .map(|part| self.group(WarpActiveAll, TypeId::BOOL, &[part]))
            .collect();
        self.b.aggregate(ty, &parts)
    }
}

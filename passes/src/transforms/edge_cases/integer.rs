//! Division, shifts, rotations, magnitudes.

use super::Guard;
use crate::transforms::lanes;
use luisac_ast::types::Scalar;
use luisac_xir::ValueId;
use luisac_xir::op::ArithmeticOp::{self, *};

/// The least value of a signed integer, as bits.
fn least(scalar: Scalar) -> u64 {
    1 << (scalar.bits() - 1)
}

impl Guard<'_> {
    /// The lanes of a constant, as many as there are.
    fn constant_lanes(&self, value: ValueId) -> Option<Vec<u64>> {
        let lanes = lanes::of_constant(self.b.func, self.b.types, value)?;
        Some(lanes[..usize::from(self.b.types.dim(self.type_of(value)))].to_vec())
    }

    /// Divides by 1 where the divisor is 0, or -1 under the least dividend: that gives the quotient and the remainder of the
    /// semantics. A signed remainder is made of the quotient, since not every language defines its sign.
    pub(super) fn division(&mut self, op: ArithmeticOp, x: ValueId, y: ValueId) -> Option<ValueId> {
        let scalar = self.scalar_of(x);
        let divisor = self.divisor(scalar, x, y);
        if op == BinaryMod && scalar.is_signed() {
            let quotient = self.raw(BinaryDiv, &[x, divisor]);
            let product = self.raw(BinaryMul, &[quotient, divisor]);
            return Some(self.raw(BinarySub, &[x, product]));
        }
        (divisor != y).then(|| self.raw(op, &[x, divisor]))
    }

    fn divisor(&mut self, scalar: Scalar, x: ValueId, y: ValueId) -> ValueId {
        let (known_x, known_y) = (self.constant_lanes(x), self.constant_lanes(y));
        let minus_one = lanes::mask(scalar);
        let never = |lanes: &Option<Vec<u64>>, bits| {
            lanes.as_ref().is_some_and(|l| l.iter().all(|&lane| lane != bits))
        };
        let mut open = None;
        if !never(&known_y, 0) {
            let zero = self.same(y, 0);
            open = Some(self.raw(BinaryEqual, &[y, zero]));
        }
        if scalar.is_signed() && !never(&known_y, minus_one) && !never(&known_x, least(scalar)) {
            let (low, negative) = (self.same(x, least(scalar)), self.same(y, minus_one));
            let is_low = self.raw(BinaryEqual, &[x, low]);
            let is_negative = self.raw(BinaryEqual, &[y, negative]);
            let both = self.raw(BinaryBitAnd, &[is_low, is_negative]);
            open = Some(match open {
                Some(open) => self.raw(BinaryBitOr, &[open, both]),
                None => both,
            });
        }
        let Some(open) = open else { return y };
        let one = self.same(y, 1);
        self.choose(open, one, y)
    }

    /// The amount modulo the width, in the type of the value. A mask fits into every integer, so it comes first.
    fn amount(&mut self, x: ValueId, amount: ValueId) -> ValueId {
        let scalar = self.scalar_of(x);
        let mask = u64::from(scalar.bits()) - 1;
        if let Some(known) = self.constant_lanes(amount) {
            let mut masked = lanes::Lanes::default();
            for (to, from) in masked.iter_mut().zip(known) {
                *to = from & mask;
            }
            let ty = self.type_of(x);
            if let Some(value) = lanes::to_constant(self.b.func, self.b.types, ty, &masked) {
                return value;
            }
        }
        let mask = self.same(amount, mask);
        let masked = self.raw(BinaryBitAnd, &[amount, mask]);
        self.convert(masked, scalar)
    }

    pub(super) fn shift(&mut self, op: ArithmeticOp, x: ValueId, by: ValueId) -> Option<ValueId> {
        let amount = self.amount(x, by);
        (amount != by).then(|| self.raw(op, &[x, amount]))
    }

    /// Two shifts; both amounts are 0 for a rotation by 0.
    pub(super) fn rotate(&mut self, op: ArithmeticOp, x: ValueId, by: ValueId) -> ValueId {
        let scalar = self.scalar_of(x);
        let unsigned = unsigned(scalar);
        let x = self.reinterpret(x, unsigned);
        let there = self.amount(x, by);
        let (zero, mask) = (self.same(there, 0), self.same(there, u64::from(scalar.bits()) - 1));
        let back = self.raw(BinarySub, &[zero, there]);
        let back = self.raw(BinaryBitAnd, &[back, mask]);
        let (left, right) = match op {
            BinaryRotateLeft => (there, back),
            _ => (back, there),
        };
        let high = self.raw(BinaryShiftLeft, &[x, left]);
        let low = self.raw(BinaryShiftRight, &[x, right]);
        let whole = self.raw(BinaryBitOr, &[high, low]);
        self.reinterpret(whole, scalar)
    }

    /// `x < 0 ? -x : x`, which wraps.
    pub(super) fn magnitude(&mut self, x: ValueId) -> ValueId {
        let zero = self.same(x, 0);
        let negative = self.raw(BinaryLess, &[x, zero]);
        let flipped = self.raw(BinarySub, &[zero, x]);
        self.choose(negative, flipped, x)
    }
}

/// The unsigned integer of the same width.
pub(super) fn unsigned(scalar: Scalar) -> Scalar {
    match scalar.bits() {
        8 => Scalar::U8,
        16 => Scalar::U16,
        64 => Scalar::U64,
        _ => Scalar::U32,
    }
}

//! Counts and reversal of bits, by those of 32-bit words.

use super::Guard;
use super::integer::unsigned;
use luisac_ast::types::Scalar;
use luisac_xir::ValueId;
use luisac_xir::op::ArithmeticOp::{self, *};

impl Guard<'_> {
    /// `clz`, `ctz`, `popcount`, `reverse` of integers of any width.
    pub(super) fn count(&mut self, op: ArithmeticOp, x: ValueId) -> Option<ValueId> {
        let scalar = self.scalar_of(x);
        if scalar == Scalar::U32 && matches!(op, Popcount | Reverse) {
            return None;
        }
        let x = self.reinterpret(x, unsigned(scalar));
        let counted = match scalar.bits() {
            32 => self.count_word(op, x),
            64 => self.count_long(op, x),
            width => self.count_short(op, x, width),
        };
        let counted = self.convert(counted, unsigned(scalar));
        Some(self.reinterpret(counted, scalar))
    }

    /// On `uint`, with an operand of `clz` and `ctz` that is never 0.
    fn count_word(&mut self, op: ArithmeticOp, x: ValueId) -> ValueId {
        if matches!(op, Popcount | Reverse) || self.options.native.has(op, Scalar::U32) {
            return self.raw(op, &[x]);
        }
        let stop = self.same(x, if op == Clz { 1 } else { 1 << 31 });
        let stopped = self.raw(BinaryBitOr, &[x, stop]);
        let counted = self.raw(op, &[stopped]);
        let (zero, width) = (self.same(x, 0), self.same(x, 32));
        let is_zero = self.raw(BinaryEqual, &[x, zero]);
        self.choose(is_zero, width, counted)
    }

    /// In the high or low bits of a word, with a bit behind them at which a count stops.
    fn count_short(&mut self, op: ArithmeticOp, x: ValueId, width: u32) -> ValueId {
        let x = self.convert(x, Scalar::U32);
        let rest = self.same(x, u64::from(32 - width));
        match op {
            Clz => {
                let high = self.raw(BinaryShiftLeft, &[x, rest]);
                let stop = self.same(x, 1 << (31 - width));
                let stopped = self.raw(BinaryBitOr, &[high, stop]);
                self.raw(Clz, &[stopped])
            }
            Ctz => {
                let stop = self.same(x, 1 << width);
                let stopped = self.raw(BinaryBitOr, &[x, stop]);
                self.raw(Ctz, &[stopped])
            }
            Reverse => {
                let reversed = self.raw(Reverse, &[x]);
                self.raw(BinaryShiftRight, &[reversed, rest])
            }
            _ => self.raw(op, &[x]),
        }
    }

    /// Half by half; the result of `reverse` is a `ulong`, a count a `uint`.
    fn count_long(&mut self, op: ArithmeticOp, x: ValueId) -> ValueId {
        let width = self.same(x, 32);
        let upper = self.raw(BinaryShiftRight, &[x, width]);
        let (low, high) = (self.convert(x, Scalar::U32), self.convert(upper, Scalar::U32));
        let (count_low, count_high) = (self.count_word(op, low), self.count_word(op, high));
        match op {
            Reverse => {
                let (low, high) =
                    (self.convert(count_low, Scalar::U64), self.convert(count_high, Scalar::U64));
                let low = self.raw(BinaryShiftLeft, &[low, width]);
                self.raw(BinaryBitOr, &[low, high])
            }
            Popcount => self.raw(BinaryAdd, &[count_low, count_high]),
            // The half that is looked at first, and what it says if the other decides.
            _ => {
                let (first, near, far) = match op {
                    Clz => (high, count_high, count_low),
                    _ => (low, count_low, count_high),
                };
                let (zero, width) = (self.same(first, 0), self.same(first, 32));
                let is_empty = self.raw(BinaryEqual, &[first, zero]);
                let beyond = self.raw(BinaryAdd, &[far, width]);
                self.choose(is_empty, beyond, near)
            }
        }
    }
}

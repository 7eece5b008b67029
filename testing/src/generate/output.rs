//! Ends of functions: what a kernel has computed is folded into words.

use super::{Generator, OWN, WORDS};
use luisac_xir::op::{ArithmeticOp, CastOp, ResourceReadOp, ResourceWriteOp};
use luisac_xir::{Op, Scalar, TypeId, ValueId};

impl Generator<'_> {
    pub(super) fn finish_callable(&mut self, returned: TypeId) {
        let end = self.b.block();
        if self.b.func.terminator(end).is_some() {
            return;
        }
        let value = (returned != TypeId::VOID).then(|| self.value(returned, 2));
        self.b.ret(value);
    }

    /// Writes one word for each variable, part of a buffer and counter, and returns.
    pub(super) fn finish_kernel(&mut self) {
        let kernel = self.kernel.expect("a kernel ends");
        let mut wholes: Vec<ValueId> = Vec::new();
        wholes.extend(self.read_tally());
        for variable in self.variables.clone() {
            wholes.push(self.b.load(variable));
        }
        let read = Op::ResourceRead(ResourceReadOp::BufferRead);
        if self.features.buffers {
            let (buffer, ty) = kernel.own;
            let count = self.b.u32(OWN);
            let start = self.b.arithmetic(ArithmeticOp::BinaryMul, &[kernel.index, count]);
            for i in 0..OWN {
                let i = self.b.u32(i);
                let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[start, i]);
                wholes.push(self.b.value(read, ty, &[buffer, at]));
            }
        }
        if self.features.atomics {
            let (buffer, ty) = kernel.cells;
            wholes.push(self.b.value(read, ty, &[buffer, kernel.index]));
        }
        let width = self.b.u32(WORDS);
        let base = self.b.arithmetic(ArithmeticOp::BinaryMul, &[kernel.index, width]);
        for (i, whole) in wholes.into_iter().take(WORDS as usize).enumerate() {
            let word = self.word(whole);
            let i = self.b.u32(i as u32);
            let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[base, i]);
            let op = Op::ResourceWrite(ResourceWriteOp::BufferWrite);
            self.b.effect(op, &[kernel.output, at, word]);
        }
        self.b.ret(None);
    }

    /// A word that differs if one scalar of the value does.
    fn word(&mut self, value: ValueId) -> ValueId {
        let mut words = Vec::new();
        self.words(value, &mut words);
        let mut sum = words[0];
        for &word in &words[1..] {
            let factor = self.b.u32(0x0100_0193);
            let product = self.b.arithmetic(ArithmeticOp::BinaryMul, &[sum, factor]);
            sum = self.b.arithmetic(ArithmeticOp::BinaryBitXor, &[product, word]);
        }
        sum
    }

    /// The scalars of a value as words; NaN as one pattern. Types nest a few levels only.
    fn words(&mut self, value: ValueId, out: &mut Vec<ValueId>) {
        let ty = self.ty(value);
        for i in 0..self.types().member_count(ty) {
            let part = self.b.extract(value, i);
            self.words(part, out);
        }
        if !self.types().is_scalar(ty) {
            return;
        }
        let scalar = self.types().scalar_of(ty).expect("a scalar is its own");
        let bits = match scalar {
            s if !s.is_float() => value,
            Scalar::F64 => {
                let value = self.clean(value);
                self.b.value(Op::Cast(CastOp::Bitwise), TypeId::U64, &[value])
            }
            _ => {
                let value = self.b.static_cast(value, TypeId::F32);
                let value = self.clean(value);
                self.b.value(Op::Cast(CastOp::Bitwise), TypeId::U32, &[value])
            }
        };
        if self.types().size(self.ty(bits)) == 8 {
            let half = self.b.u32(32);
            let high = self.b.arithmetic(ArithmeticOp::BinaryShiftRight, &[bits, half]);
            out.push(self.b.static_cast(high, TypeId::U32));
        }
        out.push(self.b.static_cast(bits, TypeId::U32));
    }
}

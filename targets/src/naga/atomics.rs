//! Atomic read-modify-write on words.
//!
//! `atomic<u32>` does what the bits alone decide; signed minima and all arithmetic on floats go by compare and exchange.

use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::AtomicOp;
use luisac_xir::{InstId, Op};
use naga::{
    AtomicFunction as F, BinaryOperator as B, Block, Expression, PredeclaredType, ScalarKind,
    Statement,
};

use super::Emit;
use super::body::Val;
use super::function::{FnEmit, Root};
use crate::errors;

impl FnEmit<'_> {
    /// `atomic base, index*, value(s)`
    pub fn atomic(&mut self, inst: InstId, op: AtomicOp) -> Emit<()> {
        let args = self.func.args(inst).to_vec();
        let (chain, operands) = args.split_at(args.len() - op.value_count());
        let base = chain[0];
        let (words, byte, ty) = if self.func.is_resource(base) {
            let (words, element) = (self.buffer(base)?, self.element_of(base)?);
            let byte = self.element_offset(chain[1], element)?;
            let (byte, ty) = self.byte_offset(byte, element, &chain[2..])?;
            (words, byte, ty)
        } else {
            let (root, variable, mut indices) = self.root(base)?;
            let Root::Words(words) = root else { return Err(self.refused(Op::Atomic(op))) };
            indices.extend_from_slice(&chain[1..]);
            let zero = self.body.u32(0);
            let (byte, ty) = self.byte_offset(zero, self.func.value_type(variable), &indices)?;
            (words, byte, ty)
        };
        let scalar = self.word_scalar(ty)?;
        let index = self.body.word_of(byte);
        let pointer = self.body.access(words.base, index);
        let mut values = Vec::with_capacity(2);
        for &operand in operands {
            let value = self.value(operand)?;
            values.push(value);
        }
        let old = self.update(op, scalar, pointer, &values)?;
        let old = self.scalar_from_words(scalar, &[old])?;
        self.define(inst, old);
        Ok(())
    }

    /// What fits a word of its own.
    fn word_scalar(&self, ty: TypeId) -> Emit<Scalar> {
        match self.types.scalar_of(ty).filter(|_| self.types.is_scalar(ty)) {
            Some(s @ (Scalar::I32 | Scalar::U32 | Scalar::F32)) => Ok(s),
            _ => Err(Box::new(
                Diagnostic::error(
                    errors::UNSUPPORTED_TYPE,
                    format!("an atomic operation on `{}`", self.types.description(ty)),
                )
                .in_function(self.func.name.clone())
                .with_help("use an atomic on `int`, `uint` or `float`"),
            )),
        }
    }

    /// Changes a word; its old bits.
    fn update(&mut self, op: AtomicOp, scalar: Scalar, pointer: Val, v: &[Val]) -> Emit<Val> {
        let float = scalar == Scalar::F32;
        let fun = match op {
            AtomicOp::CompareExchange => {
                let (expected, desired) = (self.bits(scalar, v[0])?, self.bits(scalar, v[1])?);
                return self.compare_exchange(pointer, expected, desired);
            }
            AtomicOp::Exchange => F::Exchange { compare: None },
            _ if float => return self.loop_update(op, scalar, pointer, v[0]),
            AtomicOp::FetchMin | AtomicOp::FetchMax if scalar == Scalar::I32 => {
                return self.loop_update(op, scalar, pointer, v[0]);
            }
            AtomicOp::FetchAdd => F::Add,
            AtomicOp::FetchSub => F::Subtract,
            AtomicOp::FetchAnd => F::And,
            AtomicOp::FetchOr => F::InclusiveOr,
            AtomicOp::FetchXor => F::ExclusiveOr,
            AtomicOp::FetchMin => F::Min,
            AtomicOp::FetchMax => F::Max,
        };
        let value = self.bits(scalar, v[0])?;
        let ty = self.type_of(TypeId::U32)?;
        let result = self.body.result(Expression::AtomicResult { ty, comparison: false });
        let result_of = Some(result);
        self.body.statement(Statement::Atomic { pointer, fun, value, result: result_of });
        Ok(result)
    }

    fn bits(&mut self, scalar: Scalar, value: Val) -> Emit<Val> {
        Ok(self.scalar_to_words(scalar, value)?[0])
    }

    /// One weak exchange: the old bits, and whether it happened.
    fn weak_exchange(&mut self, pointer: Val, expected: Val, desired: Val) -> (Val, Val) {
        let ty = self.module.generate_predeclared_type(
            PredeclaredType::AtomicCompareExchangeWeakResult(naga::Scalar::U32),
        );
        let result = self.body.result(Expression::AtomicResult { ty, comparison: true });
        let fun = F::Exchange { compare: Some(expected) };
        let value = desired;
        self.body.statement(Statement::Atomic { pointer, fun, value, result: Some(result) });
        (self.body.access_index(result, 0), self.body.access_index(result, 1))
    }

    /// Ends the loop that the innermost block is the body of.
    fn leave_if(&mut self, condition: Val) {
        let accept = Block::from_vec(vec![Statement::Break]);
        self.body.statement(Statement::If { condition, accept, reject: Block::new() });
    }

    fn close_loop(&mut self) {
        let body = self.body.close();
        let continuing = Block::new();
        self.body.statement(Statement::Loop { body, continuing, break_if: None });
    }

    /// A weak exchange may fail for no reason: it is tried until it succeeds or finds something else.
    fn compare_exchange(&mut self, pointer: Val, expected: Val, desired: Val) -> Emit<Val> {
        let place = self.temporary(TypeId::U32)?;
        self.body.open();
        let (old, exchanged) = self.weak_exchange(pointer, expected, desired);
        self.body.store(place, old);
        let other = self.body.binary(B::NotEqual, old, expected);
        let done = self.body.binary(B::LogicalOr, exchanged, other);
        self.leave_if(done);
        self.close_loop();
        Ok(self.body.load(place))
    }

    /// Reads, computes, and exchanges if nothing else was written meanwhile, compared by bits so that NaN ends the loop too.
    fn loop_update(&mut self, op: AtomicOp, scalar: Scalar, pointer: Val, v: Val) -> Emit<Val> {
        let place = self.temporary(TypeId::U32)?;
        let first = self.body.load(pointer);
        self.body.store(place, first);
        self.body.open();
        let expected = self.body.load(place);
        self.body.name(expected, "expected".to_string());
        let old = self.scalar_from_words(scalar, &[expected])?;
        let new = match op {
            AtomicOp::FetchAdd => self.body.add(old, v),
            AtomicOp::FetchSub => self.body.binary(B::Subtract, old, v),
            AtomicOp::FetchMin | AtomicOp::FetchMax => self.extreme(op, scalar, old, v),
            _ => return Err(self.refused(Op::Atomic(op))),
        };
        let desired = self.bits(scalar, new)?;
        let (seen, exchanged) = self.weak_exchange(pointer, expected, desired);
        self.body.store(place, seen);
        self.leave_if(exchanged);
        self.close_loop();
        Ok(self.body.load(place))
    }

    /// The lesser or greater: a number wins over NaN, -0 is below +0.
    fn extreme(&mut self, op: AtomicOp, scalar: Scalar, a: Val, b: Val) -> Val {
        let is_min = op == AtomicOp::FetchMin;
        let order = if is_min { B::Less } else { B::Greater };
        let before = self.body.binary(order, b, a);
        if scalar != Scalar::F32 {
            return self.body.select(before, b, a);
        }
        let bits = [a, b].map(|v| self.body.bitcast(v, ScalarKind::Uint));
        let magnitude = self.body.and_const(bits[0], 0x7fff_ffff);
        let infinity = self.body.u32(0x7f80_0000);
        let is_nan = self.body.binary(B::Greater, magnitude, infinity);
        let take = self.body.binary(B::LogicalOr, before, is_nan);
        let one = self.body.select(take, b, a);
        let join = if is_min { B::InclusiveOr } else { B::And };
        let both = self.body.binary(join, bits[0], bits[1]);
        let both = self.body.bitcast(both, ScalarKind::Float);
        let equal = self.body.binary(B::Equal, a, b);
        self.body.select(equal, both, one)
    }
}

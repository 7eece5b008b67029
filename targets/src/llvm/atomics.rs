//! Atomic read-modify-write: relaxed; device scope on buffers, block scope in shared memory.

use inkwell::llvm_sys::LLVMAtomicRMWBinOp as Rmw;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::InstId;
use luisac_xir::op::{ArithmeticOp, AtomicOp};

use super::Emit;
use super::function::FnEmit;
use super::ir::{Scope, Val};
use super::module::internal;
use super::value::Value;
use crate::errors;

/// The memory word of an atomic.
#[derive(Clone, Copy)]
struct Word {
    ptr: Val,
    scalar: Scalar,
    scope: Scope,
    shared: bool,
}

impl FnEmit<'_, '_, '_> {
    /// An atomic instruction; its result is the old value.
    pub fn atomic(&mut self, inst: InstId, op: AtomicOp) -> Emit<Option<Value>> {
        let func = self.func;
        let args = func.args(inst).to_vec();
        let Some(split) = args.len().checked_sub(op.value_count()).filter(|&n| n > 0) else {
            return Err(internal("an atomic without operands"));
        };
        let (chain, values) = args.split_at(split);
        let Some((&base, indices)) = chain.split_first() else {
            return Err(internal("an atomic without a base"));
        };
        let (ptr, ty, present, shared) = if func.is_resource(base) {
            let Some((&index, rest)) = indices.split_first() else {
                return Err(internal("an atomic on a buffer without an index"));
            };
            let element = self.element_of(base)?;
            let access = self.buffer_element(base, index, element)?;
            let (ptr, ty) = self.element_place(access.ptr, element, rest)?;
            (ptr, ty, access.present, false)
        } else {
            let place = self.place(base)?;
            let (ptr, ty) = self.element_place(place, func.value_type(base), indices)?;
            let scopes = func.scopes_of(base);
            (ptr, ty, None, scopes == luisac_xir::op::Scopes::SHARED)
        };
        let word = Word {
            ptr,
            scalar: self.atomic_scalar(ty)?,
            scope: self.cx.device.atomic_scope(shared),
            shared,
        };
        let mut operands = Vec::with_capacity(2);
        for &v in values {
            operands.push(self.scalar(v)?);
        }
        let local =
            !func.is_resource(base) && func.scopes_of(base) == luisac_xir::op::Scopes::LOCAL;
        if local || self.cx.device.is_undisturbed(self, base) {
            return self.local_update(op, word, &operands).map(|v| Some(Value::scalar(v)));
        }
        self.guarded(present, |f| f.atomic_at(op, word, &operands).map(|v| Some(Value::scalar(v))))
    }

    fn atomic_scalar(&self, ty: TypeId) -> Emit<Scalar> {
        let types = &self.cx.module.types;
        match types.scalar_of(ty).filter(|_| types.is_scalar(ty)) {
            Some(s) if s != Scalar::Bool => Ok(s),
            _ => Err(Diagnostic::error(
                errors::UNSUPPORTED_TYPE,
                format!(
                    "an atomic operation on `{}`: only numbers can be changed atomically",
                    types.description(ty)
                ),
            )
            .with_help("use an atomic on an integer or float")
            .into()),
        }
    }

    fn atomic_at(&mut self, op: AtomicOp, word: Word, operands: &[Val]) -> Emit<Val> {
        let Word { ptr, scalar, scope, .. } = word;
        let Some(&v) = operands.first() else { return Err(internal("an atomic without a value")) };
        let cx = &*self.cx;
        let ir = &cx.ir;
        let bits = |v| cx.plain_bits(v, scalar);
        let back = |v| cx.float_or_int(v, scalar);
        let direct = match op {
            AtomicOp::CompareExchange => {
                let Some(&desired) = operands.get(1) else {
                    return Err(internal("a compare-exchange without a value"));
                };
                let (old, _) = ir.cmpxchg(ptr, bits(v), bits(desired), scope);
                return Ok(back(old));
            }
            AtomicOp::Exchange => {
                return Ok(back(ir.atomic_rmw(Rmw::LLVMAtomicRMWBinOpXchg, ptr, bits(v), scope)));
            }
            AtomicOp::FetchAdd => Rmw::LLVMAtomicRMWBinOpAdd,
            AtomicOp::FetchSub => Rmw::LLVMAtomicRMWBinOpSub,
            AtomicOp::FetchAnd => Rmw::LLVMAtomicRMWBinOpAnd,
            AtomicOp::FetchOr => Rmw::LLVMAtomicRMWBinOpOr,
            AtomicOp::FetchXor => Rmw::LLVMAtomicRMWBinOpXor,
            AtomicOp::FetchMin if scalar.is_signed() => Rmw::LLVMAtomicRMWBinOpMin,
            AtomicOp::FetchMin => Rmw::LLVMAtomicRMWBinOpUMin,
            AtomicOp::FetchMax if scalar.is_signed() => Rmw::LLVMAtomicRMWBinOpMax,
            AtomicOp::FetchMax => Rmw::LLVMAtomicRMWBinOpUMax,
        };
        if scalar.is_int() {
            return Ok(ir.atomic_rmw(direct, ptr, v, scope));
        }
        let (operation, v) = match op {
            AtomicOp::FetchAdd => (ArithmeticOp::BinaryAdd, v),
            // x - v is x + (-v), exactly.
            AtomicOp::FetchSub => {
                let negated = cx.float_operation(ArithmeticOp::UnaryMinus, scalar, &[v]);
                (ArithmeticOp::BinaryAdd, negated.unwrap_or(v))
            }
            AtomicOp::FetchMin => (ArithmeticOp::Min, v),
            AtomicOp::FetchMax => (ArithmeticOp::Max, v),
            _ => return Err(internal("a bit operation on a float")),
        };
        let adds = operation == ArithmeticOp::BinaryAdd;
        if adds && scalar != Scalar::F16 && cx.device.native_float_add(cx, scalar, word.shared) {
            return Ok(ir.atomic_rmw(Rmw::LLVMAtomicRMWBinOpFAdd, ptr, v, scope));
        }
        self.exchange_loop(word, operation, v)
    }

    /// On memory of the thread alone a read and a write are enough, and some targets have nothing else there.
    fn local_update(&mut self, op: AtomicOp, word: Word, operands: &[Val]) -> Emit<Val> {
        let Word { ptr, scalar, .. } = word;
        let cx = &*self.cx;
        let (ir, align) = (&cx.ir, scalar.size());
        let Some(&v) = operands.first() else { return Err(internal("an atomic without a value")) };
        let old = ir.load(cx.types.memory(ir, scalar), ptr, align, false);
        let operation = match op {
            AtomicOp::Exchange => None,
            AtomicOp::CompareExchange => None,
            AtomicOp::FetchAdd => Some(ArithmeticOp::BinaryAdd),
            AtomicOp::FetchSub => Some(ArithmeticOp::BinarySub),
            AtomicOp::FetchAnd => Some(ArithmeticOp::BinaryBitAnd),
            AtomicOp::FetchOr => Some(ArithmeticOp::BinaryBitOr),
            AtomicOp::FetchXor => Some(ArithmeticOp::BinaryBitXor),
            AtomicOp::FetchMin => Some(ArithmeticOp::Min),
            AtomicOp::FetchMax => Some(ArithmeticOp::Max),
        };
        let new = match (operation, op) {
            (Some(operation), _) => cx
                .scalar_operation(operation, scalar, &[old, v])
                .ok_or_else(|| internal("an atomic that the type does not have"))?,
            (None, AtomicOp::CompareExchange) => {
                let Some(&desired) = operands.get(1) else {
                    return Err(internal("a compare-exchange without a value"));
                };
                let same = ir.eq(cx.plain_bits(old, scalar), cx.plain_bits(v, scalar));
                ir.select(same, desired, old)
            }
            (None, _) => v,
        };
        ir.store(new, ptr, align, false);
        Ok(old)
    }

    /// Reads, computes, and exchanges if nothing else was written meanwhile, compared by bits so that NaN ends the loop too.
    fn exchange_loop(&mut self, word: Word, operation: ArithmeticOp, v: Val) -> Emit<Val> {
        let Word { ptr, scalar, scope, .. } = word;
        let cx = &*self.cx;
        let ir = &cx.ir;
        let ty = ir.int(scalar.bits());
        let first = ir.atomic_load(ty, ptr, scalar.size(), scope);
        let before = ir.block();
        let (again, done) = (ir.new_block("atomic"), ir.new_block("atomic_done"));
        ir.br(again);
        ir.at_end(again);
        let old = ir.phi(ty);
        ir.add_incoming(old, first, before);
        let old_value = cx.float_from_bits(old, scalar);
        let Some(new) = cx.float_operation(operation, scalar, &[old_value, v]) else {
            return Err(internal("an atomic that no float has"));
        };
        let (seen, exchanged) = ir.cmpxchg(ptr, old, cx.float_bits(new, scalar), scope);
        ir.add_incoming(old, seen, ir.block());
        ir.cond_br(exchanged, done, again);
        ir.at_end(done);
        Ok(cx.float_from_bits(old, scalar))
    }
}

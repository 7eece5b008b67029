//! Conversions by value and by bits.

use inkwell::llvm_sys::LLVMRealPredicate as Real;
use luisac_ast::types::Scalar;
use luisac_xir::InstId;
use luisac_xir::op::CastOp;

use super::Emit;
use super::function::FnEmit;
use super::ir::Val;
use super::module::{ModuleEmit, internal};
use super::value::{Leaves, Value};

impl FnEmit<'_, '_, '_> {
    /// A cast instruction.
    pub fn cast(&mut self, inst: InstId, op: CastOp) -> Emit<Value> {
        let func = self.func;
        let operand = func.arg(inst, 0);
        let leaves = self.leaves(operand)?;
        let from = self.scalar_type(operand)?;
        let ty = func.inst(inst).ty;
        let Some(to) = self.cx.module.types.scalar_of(ty) else {
            return Err(internal("a cast to something that is no scalar or vector"));
        };
        match op {
            CastOp::Static => Ok(Value::Leaves(
                leaves.into_iter().map(|v| self.cx.convert(v, from, to)).collect(),
            )),
            CastOp::Bitwise => {
                let count = self.cx.types.count(ty);
                Ok(Value::Leaves(self.cx.reinterpret(&leaves, from, to, count as usize)))
            }
        }
    }
}

impl ModuleEmit<'_, '_> {
    /// A scalar converted by value.
    pub fn convert(&self, v: Val, from: Scalar, to: Scalar) -> Val {
        let ir = &self.ir;
        if from == to {
            return v;
        }
        match (from, to) {
            (_, Scalar::Bool) if from.is_float() => {
                let (v, from) = self.widen_half(v, from);
                let zero = ir.const_float(self.types.leaf(ir, from), 0.0);
                ir.fcmp(Real::LLVMRealUNE, v, zero)
            }
            (_, Scalar::Bool) => ir.ne(v, ir.const_int(ir.type_of(v), 0)),
            (Scalar::Bool, _) if to.is_float() => {
                let one = self.one(to);
                ir.select(v, one, ir.zero(ir.type_of(one)))
            }
            (Scalar::Bool, _) => ir.zext(v, ir.int(to.bits())),
            _ if from.is_int() && to.is_int() => {
                let ty = ir.int(to.bits());
                if from.is_signed() { ir.sext_or_trunc(v, ty) } else { ir.zext_or_trunc(v, ty) }
            }
            _ if from.is_int() => self.int_to_float(v, from, to),
            _ if to.is_int() => {
                let (v, from) = self.widen_half(v, from);
                self.device.float_to_int(self, v, from, to)
            }
            (Scalar::F64, Scalar::F16) => self.device.f64_to_half(self, v),
            (Scalar::F32, Scalar::F16) => self.device.f32_to_half(self, v),
            (Scalar::F16, Scalar::F32) => self.device.half_to_f32(self, v),
            (Scalar::F16, _) => ir.fpext(self.device.half_to_f32(self, v), ir.f64()),
            (Scalar::F64, _) => ir.fptrunc(v, ir.f32()),
            _ => ir.fpext(v, ir.f64()),
        }
    }

    /// A half as a float, which is exact; others as they are.
    fn widen_half(&self, v: Val, from: Scalar) -> (Val, Scalar) {
        if from == Scalar::F16 {
            (self.device.half_to_f32(self, v), Scalar::F32)
        } else {
            (v, from)
        }
    }

    /// 1 as a float leaf.
    fn one(&self, to: Scalar) -> Val {
        match to {
            Scalar::F16 => self.ir.const_int(self.ir.int(16), 0x3c00),
            _ => self.ir.const_float(self.types.leaf(&self.ir, to), 1.0),
        }
    }

    fn int_to_float(&self, v: Val, from: Scalar, to: Scalar) -> Val {
        let ir = &self.ir;
        let convert =
            |v: Val, ty| if from.is_signed() { ir.sitofp(v, ty) } else { ir.uitofp(v, ty) };
        if to != Scalar::F16 {
            return convert(v, self.types.leaf(ir, to));
        }
        // Beyond 2^17 every half is infinite, and below it a float is exact: so there is one rounding only.
        let v = if from.bits() > 16 {
            let ty = ir.type_of(v);
            let limit = ir.const_int(ty, 1 << 17);
            let bits = from.bits();
            if from.is_signed() {
                let low = ir.const_int(ty, (-(1i64 << 17)) as u64);
                let v = ir.intrinsic(&format!("llvm.smin.i{bits}"), ty, &[v, limit]);
                ir.intrinsic(&format!("llvm.smax.i{bits}"), ty, &[v, low])
            } else {
                ir.intrinsic(&format!("llvm.umin.i{bits}"), ty, &[v, limit])
            }
        } else {
            v
        };
        self.device.f32_to_half(self, convert(v, ir.f32()))
    }

    /// Leaves of one type read as `count` leaves of another, the first in the low bits.
    pub fn reinterpret(&self, leaves: &[Val], from: Scalar, to: Scalar, count: usize) -> Leaves {
        let ir = &self.ir;
        if leaves.len() == count {
            return leaves
                .iter()
                .map(|&v| self.float_or_int(self.plain_bits(v, from), to))
                .collect();
        }
        let total = ir.int(from.bits() * leaves.len() as u32);
        let mut all = ir.const_int(total, 0);
        for (i, &v) in leaves.iter().enumerate() {
            let part = ir.zext_or_trunc(self.plain_bits(v, from), total);
            let place = ir.const_int(total, u64::from(from.bits()) * i as u64);
            all = ir.or(all, ir.shl(part, place));
        }
        (0..count)
            .map(|i| {
                let place = ir.const_int(total, u64::from(to.bits()) * i as u64);
                let part = ir.zext_or_trunc(ir.lshr(all, place), ir.int(to.bits()));
                self.float_or_int(part, to)
            })
            .collect()
    }

    /// A leaf as the integer of its bits.
    pub fn plain_bits(&self, v: Val, scalar: Scalar) -> Val {
        if scalar.is_float() { self.float_bits(v, scalar) } else { v }
    }

    /// A leaf from the integer of its bits.
    pub fn float_or_int(&self, bits: Val, scalar: Scalar) -> Val {
        if scalar.is_float() { self.float_from_bits(bits, scalar) } else { bits }
    }

    /// The leaf of a constant whose memory starts at `bytes[at]`.
    pub fn constant_leaf(&self, scalar: Scalar, bytes: &[u8], at: usize) -> Val {
        let mut buffer = [0u8; 8];
        let size = scalar.size() as usize;
        if let Some(source) = bytes.get(at..at + size) {
            for (to, from) in buffer.iter_mut().zip(source) {
                *to = *from;
            }
        }
        let bits = u64::from_le_bytes(buffer);
        let ty = self.types.leaf(&self.ir, scalar);
        match scalar {
            Scalar::Bool => self.ir.const_bool(bits != 0),
            Scalar::F32 | Scalar::F64 => self.ir.const_float_bits(ty, bits),
            _ => self.ir.const_int(ty, bits),
        }
    }
}

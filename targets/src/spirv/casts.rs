//! Conversions by value and by bits.

use luisac_ast::types::Scalar;
use luisac_xir::InstId;
use luisac_xir::op::{ArithmeticOp as A, CastOp};
use rspirv::spirv::{Decoration, GlslStd450Op, Op};

use super::function::FnEmit;
use super::module::Id;
use super::{Emit, internal};

impl FnEmit<'_> {
    /// A cast instruction.
    pub fn cast(&mut self, inst: InstId, op: CastOp) -> Emit<Id> {
        let func = self.func;
        let operand = func.arg(inst, 0);
        let from = self.scalar_of(operand)?;
        let (ty, from_ty) = (func.inst(inst).ty, func.value_type(operand));
        let id = self.value(operand)?;
        let table = self.table();
        let Some(to) = table.scalar_of(ty) else {
            return Err(internal("a cast to something that is no scalar or vector"));
        };
        if op == CastOp::Bitwise {
            let (result, before) = (self.ty(ty)?, self.ty(from_ty)?);
            return Ok(if result == before { id } else { self.op(Op::Bitcast, result, &[id]) });
        }
        let count = u32::from(table.dim(ty));
        let mut parts = Vec::with_capacity(count as usize);
        for i in 0..count {
            let part = self.component(id, from_ty, i)?;
            parts.push(self.convert(part, from, to)?);
        }
        self.join(ty, &parts)
    }

    /// A scalar converted by value.
    pub fn convert(&mut self, v: Id, from: Scalar, to: Scalar) -> Emit<Id> {
        let ty = self.types.scalar(&mut self.m, to)?;
        let source = self.types.scalar(&mut self.m, from)?;
        if ty == source {
            return Ok(v);
        }
        Ok(match (from, to) {
            (_, Scalar::Bool) => {
                let zero = self.m.null(source);
                let op = if from.is_float() { Op::FUnordNotEqual } else { Op::INotEqual };
                self.op(op, ty, &[v, zero])
            }
            (Scalar::Bool, _) => {
                let one = match to {
                    Scalar::F16 => 0x3c00,
                    Scalar::F32 => 0x3f80_0000,
                    Scalar::F64 => 0x3ff0_0000_0000_0000,
                    _ => 1,
                };
                let (one, zero) = (self.scalar_constant(to, one)?, self.m.null(ty));
                self.op(Op::Select, ty, &[v, one, zero])
            }
            _ if from.is_int() && to.is_int() => {
                let extends = from.is_signed() && to.bits() > from.bits();
                self.op(if extends { Op::SConvert } else { Op::UConvert }, ty, &[v])
            }
            (_, Scalar::F16) if from.is_int() => self.int_to_half(v, from)?,
            (Scalar::F64, Scalar::F16) => self.double_to_half(v)?,
            _ if from.is_int() => {
                let op = if from.is_signed() { Op::ConvertSToF } else { Op::ConvertUToF };
                self.op(op, ty, &[v])
            }
            _ if to.is_int() => {
                let op = if to.is_signed() { Op::ConvertFToS } else { Op::ConvertFToU };
                self.op(op, ty, &[v])
            }
            _ => self.float_width(ty, v),
        })
    }

    /// A float of another width. Drivers undo a conversion that is undone again, and the rounding with it, unless told not to.
    fn float_width(&mut self, ty: Id, v: Id) -> Id {
        let id = self.op(Op::FConvert, ty, &[v]);
        self.m.decorate(id, Decoration::NoContraction, &[]);
        id
    }

    /// Beyond 2^17 every half is infinite, and below it a float is exact: so there is one rounding only.
    fn int_to_half(&mut self, v: Id, from: Scalar) -> Emit<Id> {
        let half = self.types.scalar(&mut self.m, Scalar::F16)?;
        let mut v = v;
        if from.bits() > 16 {
            let limit = self.scalar_constant(from, 1 << 17)?;
            v = self.scalar_operation(A::Min, from, &[v, limit])?;
            if from.is_signed() {
                let low = self.scalar_constant(from, (-(1i64 << 17)) as u64)?;
                v = self.scalar_operation(A::Max, from, &[v, low])?;
            }
        }
        let float = self.convert(v, from, Scalar::F32)?;
        Ok(self.float_width(half, float))
    }

    /// By way of a float that is rounded to odd: the last of its digits tells what was cut off, so the half is rounded once.
    fn double_to_half(&mut self, v: Id) -> Emit<Id> {
        let (word, truth) = (self.m.int(32), self.m.bool());
        let half = self.types.scalar(&mut self.m, Scalar::F16)?;
        let float = self.types.scalar(&mut self.m, Scalar::F32)?;
        let double = self.types.scalar(&mut self.m, Scalar::F64)?;
        let near = self.float_width(float, v);
        let back = self.float_width(double, near);
        let inexact = self.op(Op::FOrdNotEqual, truth, &[back, v]);
        let sizes = [back, v].map(|x| self.glsl(GlslStd450Op::FAbs, double, &[x]));
        let over = self.op(Op::FOrdGreaterThan, truth, &sizes);
        let bits = self.op(Op::Bitcast, word, &[near]);
        let (zero, one) = (self.m.u32(0), self.m.u32(1));
        let excess = self.op(Op::Select, word, &[over, one, zero]);
        let cut = self.op(Op::ISub, word, &[bits, excess]);
        let odd = self.op(Op::BitwiseOr, word, &[cut, one]);
        let bits = self.op(Op::Select, word, &[inexact, odd, bits]);
        let float = self.op(Op::Bitcast, float, &[bits]);
        Ok(self.float_width(half, float))
    }
}

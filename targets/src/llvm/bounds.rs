//! `--bounds`: what happens to an index before it is used.

use luisac_artifact::metadata::BoundsMode;
use luisac_ast::types::Scalar;
use luisac_xir::ValueId;

use super::Emit;
use super::function::FnEmit;
use super::ir::Val;
use super::module::internal;
use super::value::{Leaves, Value};
use inkwell::llvm_sys::LLVMIntPredicate;

/// What an index goes into, for the report of a trap.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// A local or shared array, or a value.
    Local,
    /// The kernel argument at this position, `i32`.
    Argument(Val),
}

impl FnEmit<'_, '_, '_> {
    /// Whether the scalar type of a value is signed.
    pub fn is_signed(&self, v: ValueId) -> bool {
        let types = &self.cx.module.types;
        types.scalar_of(self.func.value_type(v)).is_some_and(Scalar::is_signed)
    }

    /// An index as 64 bits, extended by its own type.
    pub fn wide_index(&mut self, index: ValueId) -> Emit<Val> {
        let v = self.scalar(index)?;
        let wide = self.cx.ir.int(64);
        Ok(if self.is_signed(index) {
            self.cx.ir.sext_or_trunc(v, wide)
        } else {
            self.cx.ir.zext_or_trunc(v, wide)
        })
    }

    /// An index that is below `count` afterwards, if the mode says so. Under `clamp`, `count` zero gives zero: the access itself
    /// must be guarded.
    pub fn check_index(
        &mut self,
        index: Val,
        signed: bool,
        count: Val,
        subject: Subject,
    ) -> Emit<Val> {
        let ir = &self.cx.ir;
        match self.cx.options.bounds {
            BoundsMode::Off => Ok(index),
            BoundsMode::Clamp => Ok(self.clamp_to(index, signed, count)),
            BoundsMode::Trap => {
                if let (Some(i), Some(n)) = (ir.as_const_int(index), ir.as_const_int(count))
                    && i < n
                {
                    return Ok(index);
                }
                let inside = ir.ult(index, count);
                self.trap_unless(inside, index, subject)?;
                Ok(index)
            }
        }
    }

    /// The nearest index below `count`; zero if `count` is zero.
    pub fn clamp_to(&self, index: Val, signed: bool, count: Val) -> Val {
        let ir = &self.cx.ir;
        let zero = ir.const_u64(0);
        let last = ir.sub(count, ir.const_u64(1));
        let last = ir.select(ir.eq(count, zero), zero, last);
        let over = ir.icmp(LLVMIntPredicate::LLVMIntUGT, index, last);
        let clamped = ir.select(over, last, index);
        if signed {
            let negative = ir.icmp(LLVMIntPredicate::LLVMIntSLT, index, zero);
            ir.select(negative, zero, clamped)
        } else {
            clamped
        }
    }

    /// Stops the thread with a report unless `inside`.
    pub fn trap_unless(&mut self, inside: Val, index: Val, subject: Subject) -> Emit<()> {
        let ir = &self.cx.ir;
        let (bad, good) = (ir.new_block("out_of_bounds"), ir.new_block("in_bounds"));
        ir.cond_br(inside, good, bad);
        ir.at_end(bad);
        self.log_trap(index, subject)?;
        self.stop_thread()?;
        self.cx.ir.at_end(good);
        Ok(())
    }

    /// Runs `access` only if `condition` holds (`None`: always); otherwise the result is zero.
    pub fn guarded(
        &mut self,
        condition: Option<Val>,
        access: impl FnOnce(&mut Self) -> Emit<Option<Value>>,
    ) -> Emit<Option<Value>> {
        let Some(condition) = condition else { return access(self) };
        let before = self.cx.ir.block();
        let (yes, after) = (self.cx.ir.new_block("present"), self.cx.ir.new_block("after"));
        self.cx.ir.cond_br(condition, yes, after);
        self.cx.ir.at_end(yes);
        let result = access(self)?;
        let ir = &self.cx.ir;
        let end = ir.block();
        ir.br(after);
        ir.at_end(after);
        match result {
            None => Ok(None),
            Some(Value::Leaves(leaves)) => {
                let merged: Leaves = leaves
                    .into_iter()
                    .map(|v| {
                        let ty = ir.type_of(v);
                        let phi = ir.phi(ty);
                        ir.add_incoming(phi, v, end);
                        ir.add_incoming(phi, ir.zero(ty), before);
                        phi
                    })
                    .collect();
                Ok(Some(Value::Leaves(merged)))
            }
            Some(_) => Err(internal("a guarded access that gives a large value")),
        }
    }
}

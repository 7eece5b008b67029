//! Prints, asserts and traps: records in the log of the launch (`luisac_artifact::abi`).

use inkwell::llvm_sys::LLVMAtomicRMWBinOp as Rmw;
use luisac_artifact::abi::{LOG_FAULT_LOST, TRAP_LOCAL_ARRAY, assert_record, trap_record};
use luisac_xir::InstId;

use super::Emit;
use super::bounds::Subject;
use super::function::FnEmit;
use super::ir::{Scope, Val};
use super::memory::align_at;
use super::module::internal;
use crate::log::formats;

/// Bytes of the log before its data.
const DATA: u64 = 8;

impl FnEmit<'_, '_, '_> {
    /// `print`
    pub fn print(&mut self, inst: InstId) -> Emit<()> {
        let func = self.func;
        let types = &self.cx.module.types;
        let args = func.args(inst).to_vec();
        let (format, layout) = formats::print(types, func, inst)?;
        let record_size = layout.record_size;
        let id = formats::id(&mut self.cx.formats, format);
        let mut values = Vec::with_capacity(args.len());
        for &a in &args {
            values.push((self.value(a)?, func.value_type(a)));
        }
        self.record(id, record_size, false, |f, at| {
            for ((v, ty), &offset) in values.iter().zip(&layout.offsets) {
                let to = f.cx.ir.offset_const(at, offset.into());
                f.store_in_record(v, *ty, to, offset)?;
            }
            Ok(())
        })
    }

    /// Stores a value into a record, where nothing is aligned to more than 8.
    fn store_in_record(
        &mut self,
        v: &super::value::Value,
        ty: luisac_ast::types::TypeId,
        to: Val,
        offset: u32,
    ) -> Emit<()> {
        let align = self.cx.module.types.align(ty).min(align_at(8, offset.into()));
        match (v, self.cx.types.flat(ty)) {
            (super::value::Value::Leaves(leaves), Some(flat)) => {
                self.cx.store_flat(&flat, to, leaves, align, false);
            }
            (super::value::Value::Memory(from), _) => {
                self.cx.ir.copy(to, *from, self.cx.module.types.size(ty), align);
            }
            _ => return Err(internal("a printed value that is no data")),
        }
        Ok(())
    }

    /// `assert`
    pub fn assert(&mut self, inst: InstId) -> Emit<()> {
        let func = self.func;
        let condition = self.scalar(func.arg(inst, 0))?;
        let record_size = assert_record::RECORD_SIZE;
        let id = formats::id(&mut self.cx.formats, formats::assert(func, inst));
        let ir = &self.cx.ir;
        let (failed, holds) = (ir.new_block("assert_failed"), ir.new_block("assert_holds"));
        ir.cond_br(condition, holds, failed);
        ir.at_end(failed);
        self.record(id, record_size, true, |f, at| {
            f.store_dispatch_id(at, assert_record::DISPATCH_ID);
            Ok(())
        })?;
        self.stop_thread()?;
        self.cx.ir.at_end(holds);
        Ok(())
    }

    /// Reports an index out of bounds.
    pub fn log_trap(&mut self, index: Val, subject: Subject) -> Emit<()> {
        let record_size = trap_record::RECORD_SIZE;
        let format = formats::trap(matches!(subject, Subject::Argument(_)));
        let id = formats::id(&mut self.cx.formats, format);
        self.record(id, record_size, true, |f, at| {
            f.store_dispatch_id(at, trap_record::DISPATCH_ID);
            let ir = &f.cx.ir;
            let position = match subject {
                Subject::Local => ir.const_u32(TRAP_LOCAL_ARRAY),
                Subject::Argument(position) => position,
            };
            ir.store(position, ir.offset_const(at, trap_record::ARGUMENT.into()), 4, false);
            ir.store(index, ir.offset_const(at, trap_record::INDEX.into()), 8, false);
            Ok(())
        })
    }

    fn store_dispatch_id(&self, at: Val, offset: u32) {
        for (i, id) in self.launch.dispatch_id(self.cx).into_iter().enumerate() {
            let to = self.cx.ir.offset_const(at, u64::from(offset) + 4 * i as u64);
            self.cx.ir.store(id, to, 4, false);
        }
    }

    /// Takes room in the log and, if there is room, fills a record; a fault that finds none is marked.
    fn record(
        &mut self,
        id: u32,
        size: u32,
        fault: bool,
        fill: impl FnOnce(&mut Self, Val) -> Emit<()>,
    ) -> Emit<()> {
        let Some(log) = self.launch.log else { return Err(internal("a record without a log")) };
        let ir = &self.cx.ir;
        let wide = ir.const_u64(size.into());
        let old = ir.atomic_rmw(Rmw::LLVMAtomicRMWBinOpAdd, log.ptr, wide, Scope::Device);
        // `old` with the fault bit is above every capacity; a sum that wraps has it set.
        let room = ir.uge(log.capacity, wide);
        let last = ir.sub(log.capacity, wide);
        let fits = ir.and(room, ir.uge(last, old));
        let (write, lost, done) =
            (ir.new_block("log_write"), ir.new_block("log_full"), ir.new_block("logged"));
        ir.cond_br(fits, write, lost);
        ir.at_end(lost);
        if fault {
            let bit = ir.const_u64(LOG_FAULT_LOST);
            ir.atomic_rmw(Rmw::LLVMAtomicRMWBinOpOr, log.ptr, bit, Scope::Device);
        }
        ir.br(done);
        ir.at_end(write);
        let record = ir.offset(log.ptr, ir.add(old, ir.const_u64(DATA)));
        ir.store(ir.const_u32(size), record, 8, false);
        ir.store(ir.const_u32(id), ir.offset_const(record, 4), 4, false);
        let at = ir.offset_const(record, 8);
        fill(self, at)?;
        self.cx.ir.br(done);
        self.cx.ir.at_end(done);
        Ok(())
    }
}

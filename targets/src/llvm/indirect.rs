//! Indirect dispatch buffers: `{u32 count; 12 bytes; records}`, each record `{uint3 block size, uint4 size and kernel id}` of 32
//! bytes. A kernel sees the records from an offset on.

use luisac_artifact::metadata::BoundsMode;
use luisac_ast::types::{TypeId, TypeKind, TypeTable};
use luisac_xir::op::ResourceWriteOp as W;
use luisac_xir::{InstId, ValueId};

use super::Emit;
use super::bounds::Subject;
use super::function::FnEmit;
use super::ir::Val;
use super::module::internal;
use super::value::Value;

/// Bytes before the first record, and of a record.
const HEADER: u64 = 16;
const RECORD: u64 = 32;

/// An indirect dispatch buffer.
#[derive(Clone, Copy, Debug)]
pub struct Indirect {
    /// Address of the count.
    pub ptr: Val,
    /// The record that is number 0 to the kernel, `i32`.
    pub offset: Val,
    /// Number of records in all, `i32`.
    pub capacity: Val,
    /// Position among the kernel's arguments, `i32`, for reports of traps.
    pub position: Val,
}

/// Whether arguments of a type are indirect dispatch buffers.
pub fn is_indirect(types: &TypeTable, ty: TypeId) -> bool {
    matches!(types.kind(ty), TypeKind::Custom(name) if &**name == "LC_IndirectDispatchBuffer")
}

impl FnEmit<'_, '_, '_> {
    fn indirect(&mut self, id: ValueId) -> Emit<Indirect> {
        match self.value(id)? {
            Value::Indirect(buffer) => Ok(buffer),
            _ => Err(internal("an operand that is no indirect dispatch buffer")),
        }
    }

    /// A write of an indirect dispatch buffer.
    pub fn indirect_write(&mut self, inst: InstId, op: W) -> Emit<()> {
        let func = self.func;
        let buffer = self.indirect(func.arg(inst, 0))?;
        if op == W::IndirectDispatchSetCount {
            let count = self.word(func.arg(inst, 1))?;
            self.cx.ir.store(count, buffer.ptr, 16, false);
            return Ok(());
        }
        let index = func.arg(inst, 1);
        let wide = self.wide_index(index)?;
        let ir = &self.cx.ir;
        let (offset, capacity) =
            (ir.zext(buffer.offset, ir.int(64)), ir.zext(buffer.capacity, ir.int(64)));
        let some = ir.ult(offset, capacity);
        let room = ir.select(some, ir.sub(capacity, offset), ir.const_u64(0));
        let subject = Subject::Argument(buffer.position);
        let wide = self.check_index(wide, self.is_signed(index), room, subject)?;
        let block = self.leaves(func.arg(inst, 2))?;
        let size = self.leaves(func.arg(inst, 3))?;
        let kernel = self.word(func.arg(inst, 4))?;
        let present = (self.cx.options.bounds == BoundsMode::Clamp).then_some(some);
        self.guarded(present, |f| {
            let ir = &f.cx.ir;
            let place = ir.mul(ir.add(offset, wide), ir.const_u64(RECORD));
            let record = ir.offset(buffer.ptr, ir.add(place, ir.const_u64(HEADER)));
            let words: Vec<Val> =
                block.into_iter().chain([ir.const_u32(0)]).chain(size).chain([kernel]).collect();
            for (half, four) in words.chunks(4).enumerate() {
                let to = ir.offset_const(record, 16 * half as u64);
                ir.store(ir.build_vector(four), to, 16, false);
            }
            Ok(None)
        })?;
        Ok(())
    }

    /// An integer as 32 bits.
    fn word(&mut self, id: ValueId) -> Emit<Val> {
        let v = self.scalar(id)?;
        Ok(self.cx.ir.zext_or_trunc(v, self.cx.ir.int(32)))
    }
}

//! Atomic read-modify-write: relaxed; device scope on buffers, block scope in shared memory.
//!
//! Integers of 32 and 64 bits have instructions. Floats are changed by compare and exchange on their bits: no device feature is
//! needed, and the rules for NaN and the zeros hold. If the target's detail asks for it, buffers of floats that are only added to and subtracted
//! from are floats in memory and have an instruction too. Numbers of 8 and 16 bits are changed in the word that they lie in.

use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::{ArithmeticOp as A, AtomicOp, Scopes};
use luisac_xir::{InstId, ValueId};
use rspirv::spirv::{Capability, Op, Scope};

use super::function::FnEmit;
use super::memory::{Place, integer_of};
use super::module::Id;
use super::raw::Source;
use super::types::{Leaf, leaf};
use super::{Emit, internal};
use crate::errors;

/// Whether an operation on floats is one that `VK_EXT_shader_atomic_float` has: an addition, or one of what is negated. Minimum and maximum
/// of another extension leave NaN and the zeros open, and halves are in few devices.
pub fn is_sum(op: AtomicOp, scalar: Scalar) -> bool {
    matches!(op, AtomicOp::FetchAdd | AtomicOp::FetchSub)
        && matches!(scalar, Scalar::F32 | Scalar::F64)
}

/// An integer in memory that atomics work on.
#[derive(Clone, Copy)]
struct Cell {
    pointer: Id,
    /// Its width.
    bits: u32,
    scope: Scope,
    /// Where the number lies in it, if it is narrower: bits to shift by.
    shift: Option<Id>,
}

impl FnEmit<'_> {
    /// An atomic instruction; its result is the old value.
    pub fn atomic(&mut self, inst: InstId, op: AtomicOp) -> Emit<Id> {
        let func = self.func;
        let args = func.args(inst);
        let Some(split) = args.len().checked_sub(op.value_count()).filter(|&n| n > 0) else {
            return Err(internal("an atomic without operands"));
        };
        let (chain, values) = args.split_at(split);
        let (base, indices) = (chain[0], &chain[1..]);
        let scalar = self.atomic_scalar(func.inst(inst).ty)?;
        let mut operands = Vec::with_capacity(2);
        for &v in values {
            operands.push(self.value(v)?);
        }
        if !func.is_resource(base) {
            let place = self.place(base)?;
            let place = self.element(place, indices)?;
            return match func.scopes_of(base) {
                Scopes::SHARED => self.atomic_in_shared(op, place, scalar, &operands),
                _ => self.local_update(op, place, scalar, &operands),
            };
        }
        let Some((&index, rest)) = indices.split_first() else {
            return Err(internal("an atomic on a buffer without an index"));
        };
        if scalar.bits() < 32 {
            let cell = self.narrow_cell(base, index, rest, scalar)?;
            return self.exchange_loop(op, cell, scalar, &operands);
        }
        let place = self.buffer_place(base, index)?;
        let place = self.element(place, rest)?;
        if scalar.is_float() && !place.form.floats_as_ints {
            return self.add_float(op, place.pointer, scalar, &operands);
        }
        let cell =
            Cell { pointer: place.pointer, bits: scalar.bits(), scope: Scope::Device, shift: None };
        self.atomic_at(op, cell, scalar, &operands)
    }

    fn atomic_scalar(&self, ty: TypeId) -> Emit<Scalar> {
        let table = self.table();
        match table.scalar_of(ty).filter(|_| table.is_scalar(ty)) {
            Some(s) if s != Scalar::Bool => Ok(s),
            _ => Err(Diagnostic::error(
                errors::UNSUPPORTED_TYPE,
                format!(
                    "an atomic operation on `{}`: only numbers can be changed atomically",
                    table.description(ty)
                ),
            )
            .with_help("use an atomic on an integer or float")
            .into()),
        }
    }

    fn atomic_in_shared(
        &mut self,
        op: AtomicOp,
        place: Place,
        scalar: Scalar,
        operands: &[Id],
    ) -> Emit<Id> {
        let bits = match leaf(scalar, place.form) {
            Leaf::Int(bits) => bits,
            _ => return Err(internal("an atomic on memory of another form")),
        };
        let shift = if bits > scalar.bits() { Some(self.m.u32(0)) } else { None };
        let cell = Cell { pointer: place.pointer, bits, scope: Scope::Workgroup, shift };
        if shift.is_some() {
            return self.exchange_loop(op, cell, scalar, operands);
        }
        self.atomic_at(op, cell, scalar, operands)
    }

    /// The word of a buffer that a number of 8 or 16 bits lies in.
    fn narrow_cell(
        &mut self,
        base: ValueId,
        index: ValueId,
        rest: &[ValueId],
        scalar: Scalar,
    ) -> Emit<Cell> {
        let argument = self.position(base)?;
        let word = self.m.int(32);
        let table = self.table();
        let mut ty = self.buffer_element_type(argument)?;
        let index = self.index(index)?;
        let stride = self.m.u32(table.stride(ty) as u32);
        let mut bytes = self.op(Op::IMul, word, &[index, stride]);
        for &index in rest {
            let step = match self.func.constant_bits(index) {
                Some(i) => self.m.u32(table.member_offset(ty, i as u32) as u32),
                None => {
                    let inner = table.element_type(ty, 0).map_or(0, |inner| table.stride(inner));
                    let (id, stride) = (self.index(index)?, self.m.u32(inner as u32));
                    self.op(Op::IMul, word, &[id, stride])
                }
            };
            bytes = self.op(Op::IAdd, word, &[bytes, step]);
            ty = self.step(ty, index)?.1;
        }
        let (two, three) = (self.m.u32(2), self.m.u32(3));
        let place = self.op(Op::ShiftRightLogical, word, &[bytes, two]);
        let within = self.op(Op::BitwiseAnd, word, &[bytes, three]);
        let shift = self.op(Op::ShiftLeftLogical, word, &[within, three]);
        let source = Source::Buffer { argument, volatile: false };
        let pointer = self.element_pointer(source, 32, place)?;
        debug_assert!(scalar.bits() < 32);
        Ok(Cell { pointer, bits: 32, scope: Scope::Device, shift: Some(shift) })
    }

    fn atomic_at(&mut self, op: AtomicOp, cell: Cell, scalar: Scalar, operands: &[Id]) -> Emit<Id> {
        if cell.bits == 64 {
            self.m.capability(Capability::Int64Atomics);
        }
        let Some(&v) = operands.first() else { return Err(internal("an atomic without a value")) };
        let signed = scalar.is_signed();
        let instruction = match op {
            AtomicOp::CompareExchange => {
                let Some(&desired) = operands.get(1) else {
                    return Err(internal("a compare-exchange without a value"));
                };
                let (expected, desired) = (self.bits(v, scalar)?, self.bits(desired, scalar)?);
                let old = self.compare_exchange(cell, expected, desired)?;
                return self.number_of(old, scalar);
            }
            AtomicOp::Exchange => Op::AtomicExchange,
            _ if scalar.is_float() => return self.exchange_loop(op, cell, scalar, operands),
            AtomicOp::FetchAdd => Op::AtomicIAdd,
            AtomicOp::FetchSub => Op::AtomicISub,
            AtomicOp::FetchAnd => Op::AtomicAnd,
            AtomicOp::FetchOr => Op::AtomicOr,
            AtomicOp::FetchXor => Op::AtomicXor,
            AtomicOp::FetchMin if signed => Op::AtomicSMin,
            AtomicOp::FetchMin => Op::AtomicUMin,
            AtomicOp::FetchMax if signed => Op::AtomicSMax,
            AtomicOp::FetchMax => Op::AtomicUMax,
        };
        let bits = self.bits(v, scalar)?;
        let ty = self.types.scalar(&mut self.m, integer_of(cell.bits))?;
        let (scope, relaxed) = (self.m.u32(cell.scope as u32), self.m.u32(0));
        let old = self.op(instruction, ty, &[cell.pointer, scope, relaxed, bits]);
        self.number_of(old, scalar)
    }

    /// Adds to a float in a buffer, or subtracts from it.
    fn add_float(
        &mut self,
        op: AtomicOp,
        pointer: Id,
        scalar: Scalar,
        operands: &[Id],
    ) -> Emit<Id> {
        let (Some(&v), true) = (operands.first(), is_sum(op, scalar)) else {
            return Err(internal("an atomic on floats that has no instruction"));
        };
        self.m.capability(match scalar {
            Scalar::F64 => Capability::AtomicFloat64AddEXT,
            _ => Capability::AtomicFloat32AddEXT,
        });
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let added = match op {
            AtomicOp::FetchSub => self.op(Op::FNegate, ty, &[v]),
            _ => v,
        };
        let (scope, relaxed) = (self.m.u32(Scope::Device as u32), self.m.u32(0));
        Ok(self.op(Op::AtomicFAddEXT, ty, &[pointer, scope, relaxed, added]))
    }

    fn compare_exchange(&mut self, cell: Cell, expected: Id, desired: Id) -> Emit<Id> {
        let ty = self.types.scalar(&mut self.m, integer_of(cell.bits))?;
        let (scope, relaxed) = (self.m.u32(cell.scope as u32), self.m.u32(0));
        let operands = [cell.pointer, scope, relaxed, relaxed, desired, expected];
        Ok(self.op(Op::AtomicCompareExchange, ty, &operands))
    }

    /// A number as the integer of its bits.
    fn bits(&mut self, v: Id, scalar: Scalar) -> Emit<Id> {
        if !scalar.is_float() {
            return Ok(v);
        }
        let ty = self.types.scalar(&mut self.m, integer_of(scalar.bits()))?;
        Ok(self.op(Op::Bitcast, ty, &[v]))
    }

    fn number_of(&mut self, bits: Id, scalar: Scalar) -> Emit<Id> {
        if !scalar.is_float() {
            return Ok(bits);
        }
        let ty = self.types.scalar(&mut self.m, scalar)?;
        Ok(self.op(Op::Bitcast, ty, &[bits]))
    }

    /// Reads, computes, and exchanges if nothing else was written meanwhile, compared by bits so that NaN ends the loop too.
    fn exchange_loop(
        &mut self,
        op: AtomicOp,
        cell: Cell,
        scalar: Scalar,
        operands: &[Id],
    ) -> Emit<Id> {
        if cell.bits == 64 {
            self.m.capability(Capability::Int64Atomics);
        }
        let ty = self.types.scalar(&mut self.m, integer_of(cell.bits))?;
        let truth = self.m.bool();
        let (scope, relaxed) = (self.m.u32(cell.scope as u32), self.m.u32(0));
        let first = self.op(Op::AtomicLoad, ty, &[cell.pointer, scope, relaxed]);
        let (head, inside, next, done) = (self.m.id(), self.m.id(), self.m.id(), self.m.id());
        let before = self.blocks.label();
        self.blocks.branch(head);
        self.blocks.begin(head);
        let held = self.m.id();
        self.blocks.loop_merge(done, next);
        self.blocks.branch(inside);
        self.blocks.begin(inside);
        let old = self.unpack(held, cell, scalar)?;
        let new = self.updated(op, scalar, old, operands)?;
        let packed = self.pack(held, new, cell, scalar)?;
        let seen = self.compare_exchange(cell, held, packed)?;
        self.blocks.branch(next);
        self.blocks.begin(next);
        let same = self.op(Op::IEqual, truth, &[seen, held]);
        self.blocks.branch_if(same, done, head);
        self.blocks.phi(head, ty, held, vec![first, before, seen, next]);
        self.blocks.begin(done);
        Ok(old)
    }

    /// The number in a cell.
    fn unpack(&mut self, held: Id, cell: Cell, scalar: Scalar) -> Emit<Id> {
        let Some(shift) = cell.shift else { return self.number_of(held, scalar) };
        let word = self.m.int(32);
        let narrow = self.types.scalar(&mut self.m, integer_of(scalar.bits()))?;
        let low = self.op(Op::ShiftRightLogical, word, &[held, shift]);
        let low = self.op(Op::UConvert, narrow, &[low]);
        self.number_of(low, scalar)
    }

    /// The content of a cell with its number replaced.
    fn pack(&mut self, held: Id, new: Id, cell: Cell, scalar: Scalar) -> Emit<Id> {
        let bits = self.bits(new, scalar)?;
        let Some(shift) = cell.shift else { return Ok(bits) };
        let word = self.m.int(32);
        let wide = self.op(Op::UConvert, word, &[bits]);
        let placed = self.op(Op::ShiftLeftLogical, word, &[wide, shift]);
        let mask = self.m.u32((1 << scalar.bits()) - 1);
        let mask = self.op(Op::ShiftLeftLogical, word, &[mask, shift]);
        let mask = self.op(Op::Not, word, &[mask]);
        let others = self.op(Op::BitwiseAnd, word, &[held, mask]);
        Ok(self.op(Op::BitwiseOr, word, &[others, placed]))
    }

    /// What an atomic operation makes of the old value.
    fn updated(&mut self, op: AtomicOp, scalar: Scalar, old: Id, operands: &[Id]) -> Emit<Id> {
        let Some(&v) = operands.first() else { return Err(internal("an atomic without a value")) };
        let operation = match op {
            AtomicOp::Exchange => return Ok(v),
            AtomicOp::CompareExchange => {
                let Some(&desired) = operands.get(1) else {
                    return Err(internal("a compare-exchange without a value"));
                };
                let (a, b) = (self.bits(old, scalar)?, self.bits(v, scalar)?);
                let (truth, ty) = (self.m.bool(), self.types.scalar(&mut self.m, scalar)?);
                let same = self.op(Op::IEqual, truth, &[a, b]);
                return Ok(self.op(Op::Select, ty, &[same, desired, old]));
            }
            AtomicOp::FetchMin | AtomicOp::FetchMax if scalar.is_float() => {
                return self.extreme(scalar, old, v, op == AtomicOp::FetchMax);
            }
            AtomicOp::FetchAdd => A::BinaryAdd,
            AtomicOp::FetchSub => A::BinarySub,
            AtomicOp::FetchAnd => A::BinaryBitAnd,
            AtomicOp::FetchOr => A::BinaryBitOr,
            AtomicOp::FetchXor => A::BinaryBitXor,
            AtomicOp::FetchMin => A::Min,
            AtomicOp::FetchMax => A::Max,
        };
        self.scalar_operation(operation, scalar, &[old, v])
    }

    /// Minimum or maximum of floats: the number wins over NaN, and -0 is below +0.
    fn extreme(&mut self, scalar: Scalar, a: Id, b: Id, largest: bool) -> Emit<Id> {
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let integer = self.types.scalar(&mut self.m, integer_of(scalar.bits()))?;
        let (x, y) = (self.bits(a, scalar)?, self.bits(b, scalar)?);
        // Equal operands differ in the sign of zero at most.
        let join = if largest { Op::BitwiseAnd } else { Op::BitwiseOr };
        let joined = self.op(join, integer, &[x, y]);
        let joined = self.number_of(joined, scalar)?;
        let equal = self.op(Op::FOrdEqual, truth, &[a, b]);
        let order = if largest { Op::FOrdGreaterThan } else { Op::FOrdLessThan };
        let wins = self.op(order, truth, &[a, b]);
        let no_number = self.scalar_operation(A::Isnan, scalar, &[b])?;
        let first = self.op(Op::LogicalOr, truth, &[wins, no_number]);
        let picked = self.op(Op::Select, ty, &[first, a, b]);
        Ok(self.op(Op::Select, ty, &[equal, joined, picked]))
    }

    /// On memory of the thread alone a read and a write are enough.
    fn local_update(
        &mut self,
        op: AtomicOp,
        place: Place,
        scalar: Scalar,
        operands: &[Id],
    ) -> Emit<Id> {
        let old = self.load(place)?;
        let new = self.updated(op, scalar, old, operands)?;
        self.store(place, new)?;
        Ok(old)
    }
}

//! Loads, stores and addresses.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::Space;
use luisac_xir::{InstId, ValueId};
use smallvec::SmallVec;

use super::Emit;
use super::bounds::Subject;
use super::function::FnEmit;
use super::ir::Val;
use super::module::{ModuleEmit, internal};
use super::types::{Chunk, Flat};
use super::value::{Leaves, Value};

/// The alignment that `offset` bytes after an address of alignment `align` have.
pub fn align_at(align: u32, offset: u64) -> u32 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros().min(30)) }
}

impl ModuleEmit<'_, '_> {
    /// A loaded scalar as a leaf.
    pub(super) fn leaf_from_memory(&self, v: Val, scalar: Scalar) -> Val {
        if scalar != Scalar::Bool {
            return v;
        }
        self.ir.ne(v, self.ir.const_int(self.ir.int(8), 0))
    }

    /// A leaf as it is stored.
    pub(super) fn leaf_to_memory(&self, v: Val, scalar: Scalar) -> Val {
        if scalar == Scalar::Bool { self.ir.zext(v, self.ir.int(8)) } else { v }
    }

    /// Loads the leaves of a value.
    pub fn load_flat(
        &self,
        flat: &Flat,
        ptr: Val,
        align: u32,
        volatile: bool,
        invariant: bool,
    ) -> Leaves {
        let mut leaves = Leaves::new();
        for chunk in &flat.chunks {
            let from = self.ir.offset_const(ptr, chunk.offset.into());
            let align = align_at(align, chunk.offset.into());
            let one = self.types.memory(&self.ir, chunk.scalar);
            let ty = if chunk.count == 1 { one } else { self.ir.vector(one, chunk.room) };
            let v = self.ir.load(ty, from, align, volatile);
            if invariant {
                self.ir.mark_invariant(v);
            }
            for i in 0..chunk.count {
                let e = if chunk.count == 1 { v } else { self.ir.extract_element(v, i) };
                leaves.push(self.leaf_from_memory(e, chunk.scalar));
            }
        }
        leaves
    }

    /// Stores the leaves of a value; padding becomes zero or stays.
    pub fn store_flat(&self, flat: &Flat, ptr: Val, leaves: &[Val], align: u32, volatile: bool) {
        let mut rest = leaves;
        for chunk in &flat.chunks {
            let Some((mine, others)) = rest.split_at_checked(chunk.count as usize) else { return };
            rest = others;
            let to = self.ir.offset_const(ptr, chunk.offset.into());
            let align = align_at(align, chunk.offset.into());
            self.ir.store(self.pack(chunk, mine), to, align, volatile);
        }
    }

    fn pack(&self, chunk: &Chunk, leaves: &[Val]) -> Val {
        let stored: SmallVec<[Val; 4]> =
            leaves.iter().map(|&v| self.leaf_to_memory(v, chunk.scalar)).collect();
        if let [one] = stored.as_slice() {
            return *one;
        }
        let mut stored = stored;
        if chunk.room > chunk.count {
            stored.push(self.ir.zero(self.types.memory(&self.ir, chunk.scalar)));
        }
        self.ir.build_vector(&stored)
    }
}

impl FnEmit<'_, '_, '_> {
    /// Loads a value of type `ty`; a large one is copied to a place of its own.
    pub fn load_value(&mut self, ty: TypeId, ptr: Val, volatile: bool, invariant: bool) -> Value {
        let align = self.cx.module.types.align(ty);
        match self.cx.types.flat(ty) {
            Some(flat) => Value::Leaves(self.cx.load_flat(&flat, ptr, align, volatile, invariant)),
            None => {
                let place = self.temporary(ty);
                self.cx.ir.copy(place, ptr, self.cx.module.types.size(ty), align);
                Value::Memory(place)
            }
        }
    }

    /// Stores a value of type `ty`.
    pub fn store_value(&mut self, ty: TypeId, ptr: Val, v: &Value, volatile: bool) -> Emit<()> {
        let align = self.cx.module.types.align(ty);
        match v {
            Value::Leaves(leaves) => {
                let Some(flat) = self.cx.types.flat(ty) else {
                    return Err(internal("a large value that is held as leaves"));
                };
                self.cx.store_flat(&flat, ptr, leaves, align, volatile);
            }
            Value::Memory(from) => {
                self.cx.ir.copy(ptr, *from, self.cx.module.types.size(ty), align);
            }
            _ => return Err(internal("a stored value that is no data")),
        }
        Ok(())
    }

    /// Uninitialised memory of the thread for a value of type `ty`.
    pub fn temporary(&mut self, ty: TypeId) -> Val {
        let (size, align) = (self.cx.module.types.size(ty), self.cx.module.types.align(ty));
        self.thread_memory(size, align)
    }

    /// Uninitialised memory of the thread, on its stack or where the target has more room.
    fn thread_memory(&mut self, size: u64, align: u32) -> Val {
        let device = self.cx.device;
        self.local_bytes = self.local_bytes.saturating_add(size);
        match device.off_stack(self, size, align, self.stack_bytes) {
            Some(place) => place,
            None => {
                self.stack_bytes = self.stack_bytes.saturating_add(size);
                self.cx.ir.alloca(size, align)
            }
        }
    }

    /// The value in memory: where it lies, or a copy of its leaves.
    pub fn in_memory(&mut self, ty: TypeId, v: &Value) -> Emit<Val> {
        match v {
            Value::Memory(p) => Ok(*p),
            _ => {
                let place = self.temporary(ty);
                self.store_value(ty, place, v, false)?;
                Ok(place)
            }
        }
    }

    /// `alloca`: memory that is zero at function entry, or memory of the block.
    pub fn alloca(&mut self, inst: InstId, space: Space) -> Emit<Value> {
        let ty = self.func.inst(inst).ty;
        let (size, align) = (self.cx.module.types.size(ty), self.cx.module.types.align(ty));
        if space == Space::Shared {
            self.cx.shared_bytes =
                self.cx.shared_bytes.next_multiple_of(align.into()).saturating_add(size);
            let device = self.cx.device;
            return Ok(Value::Place(device.shared_variable(self, inst, size, align)?));
        }
        let flat = self.cx.types.flat(ty);
        let place = self.thread_memory(size, align);
        let cx = &*self.cx;
        // The zero stores follow all allocas: the block after the entry has the first real code.
        let here = cx.ir.block();
        cx.ir.at_end(self.zeroing);
        match flat {
            Some(flat) => {
                let zeros: Leaves =
                    flat.leaves.iter().map(|&s| cx.ir.zero(cx.types.leaf(&cx.ir, s))).collect();
                cx.store_flat(&flat, place, &zeros, align, false);
            }
            None => cx.ir.clear(place, size, align),
        }
        self.zeroing = self.cx.ir.block();
        self.cx.ir.at_end(here);
        Ok(Value::Place(place))
    }

    /// `gep`: the place of an element.
    pub fn gep(&mut self, inst: InstId) -> Emit<Value> {
        let args = self.func.args(inst).to_vec();
        let Some((&base, indices)) = args.split_first() else {
            return Err(internal("a gep without a base"));
        };
        let ptr = self.place(base)?;
        let ty = self.func.value_type(base);
        let (ptr, _) = self.element_place(ptr, ty, indices)?;
        Ok(Value::Place(ptr))
    }

    /// The address and type of an element of the value of type `ty` at `ptr`.
    pub fn element_place(
        &mut self,
        ptr: Val,
        ty: TypeId,
        indices: &[ValueId],
    ) -> Emit<(Val, TypeId)> {
        let (mut ptr, mut ty) = (ptr, ty);
        let mut constant = 0u64;
        let types = &self.cx.module.types;
        for &index in indices {
            let count = types.member_count(ty);
            match self.func.constant_bits(index) {
                Some(i) if i < u64::from(count) => {
                    let i = i as u32;
                    constant += types.member_offset(ty, i);
                    ty = types.element_type(ty, i).unwrap_or(ty);
                }
                _ => {
                    let Some(inner) = types.element_type(ty, 0).filter(|_| !types.is_struct(ty))
                    else {
                        return Err(internal("a dynamic index into a structure"));
                    };
                    let wide = self.wide_index(index)?;
                    let limit = self.cx.ir.const_u64(count.into());
                    let wide =
                        self.check_index(wide, self.is_signed(index), limit, Subject::Local)?;
                    let stride = self.cx.ir.const_u64(types.stride(inner));
                    let offset = self.cx.ir.mul(wide, stride);
                    ptr = self.cx.ir.offset_in(ptr, offset);
                    ty = inner;
                }
            }
        }
        Ok((self.cx.ir.offset_const(ptr, constant), ty))
    }
}

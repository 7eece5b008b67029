//! Memory that outlives a thread, and what threads do together.

use super::{BYTES, CELLS, Generator, OWN};
use luisac_xir::op::{
    ArithmeticOp, AtomicOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp, Space, ThreadGroupOp,
};
use luisac_xir::{Imm, Op, Scalar, TypeId, ValueId};

/// The kinds of the counters: what commutes with itself.
const KINDS: [&[AtomicOp]; 5] = [
    &[AtomicOp::FetchAdd, AtomicOp::FetchSub],
    &[AtomicOp::FetchAnd],
    &[AtomicOp::FetchOr],
    &[AtomicOp::FetchXor],
    &[AtomicOp::FetchMax],
];

/// The shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    /// One element for each thread.
    slots: ValueId,
    element: TypeId,
    threads: u32,
    /// Four words that all threads add to.
    tally: ValueId,
}

impl Generator<'_> {
    pub(super) fn read_inputs(&mut self) {
        for _ in 0..3 {
            let word = self.read_input();
            self.pool.push(word);
        }
    }

    // ---- shared memory

    pub(super) fn declare_shared(
        &mut self,
        slots: TypeId,
        tally: TypeId,
        (element, threads): (TypeId, u32),
    ) -> Shared {
        let slots = self.b.value(Op::Alloca(Space::Shared), slots, &[]);
        let tally = self.b.value(Op::Alloca(Space::Shared), tally, &[]);
        Shared { slots, element, threads, tally }
    }

    /// Writes all shared memory once, each part by one thread.
    pub(super) fn start_shared(&mut self) {
        let Some(kernel) = self.kernel else { return };
        let Some(shared) = kernel.shared else { return };
        let slot = self.b.gep(shared.slots, &[kernel.thread], shared.element);
        let value = self.value(shared.element, 2);
        self.b.store(slot, value);
        let zero = self.b.u32(0);
        let first = self.b.arithmetic(ArithmeticOp::BinaryEqual, &[kernel.thread, zero]);
        let [yes, no, merge] = [(); 3].map(|()| self.b.func.append_block());
        self.b.inst(Op::If, TypeId::VOID, &[first], &[yes, no, merge], Imm::None);
        self.b.switch_to(yes);
        for i in 0..4 {
            let i = self.b.u32(i);
            let place = self.b.gep(shared.tally, &[i], TypeId::U32);
            self.b.store(place, i);
        }
        self.b.br(merge);
        self.b.switch_to(no);
        self.b.br(merge);
        self.b.switch_to(merge);
        self.barrier();
    }

    fn barrier(&mut self) {
        let op = ThreadGroupOp::SynchronizeBlock;
        self.b.effect(Op::ThreadGroup(op), &[]);
    }

    /// Every thread writes its slot and, behind a barrier, reads that of another.
    pub(super) fn exchange(&mut self) {
        let Some(kernel) = self.kernel else { return };
        let Some(shared) = kernel.shared.filter(|_| self.uniform) else { return };
        let slot = self.b.gep(shared.slots, &[kernel.thread], shared.element);
        if !self.r.one_in(4) {
            let value = self.value(shared.element, 2);
            self.b.store(slot, value);
        }
        self.barrier();
        let step = self.value(TypeId::U32, 1);
        let other = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[kernel.thread, step]);
        let count = self.b.u32(shared.threads);
        let other = self.b.arithmetic(ArithmeticOp::BinaryMod, &[other, count]);
        let slot = self.b.gep(shared.slots, &[other], shared.element);
        let value = self.b.load(slot);
        self.barrier();
        self.pool.push(value);
    }

    /// The tally, behind a barrier.
    pub(super) fn read_tally(&mut self) -> Option<ValueId> {
        let shared = self.kernel?.shared?;
        self.barrier();
        Some(self.b.load(shared.tally))
    }

    // ---- waves

    pub(super) fn wave_statement(&mut self) {
        use ThreadGroupOp::*;
        if !self.features.waves {
            return self.memory_statement();
        }
        let scalar = self.r.pick(self.palette);
        let dim = if self.features.vectors && self.r.one_in(3) { 3 } else { 1 };
        let ty = TypeId::vector(scalar, dim);
        let mask = TypeId::vector(Scalar::U32, 4);
        let shape = TypeId::vector(Scalar::Bool, dim);
        let (op, operand, result) = match self.r.below(9) {
            0 => (WarpIsFirstActiveLane, None, TypeId::BOOL),
            1 => (WarpActiveCountBits, Some(TypeId::BOOL), TypeId::U32),
            2 => (WarpPrefixCountBits, Some(TypeId::BOOL), TypeId::U32),
            3 => (self.r.pick(&[WarpActiveAll, WarpActiveAny]), Some(TypeId::BOOL), TypeId::BOOL),
            4 => (WarpReadFirstActiveLane, Some(ty), ty),
            5 => (WarpActiveBitMask, Some(TypeId::BOOL), mask),
            6 => (WarpActiveAllEqual, Some(ty), shape),
            7 => (WarpFirstActiveLane, None, TypeId::U32),
            _ if scalar == Scalar::Bool => (WarpReadLane, Some(ty), ty),
            _ if scalar.is_float() => {
                (self.r.pick(&[WarpActiveMax, WarpActiveMin, WarpReadLane]), Some(ty), ty)
            }
            _ => {
                let ops = [
                    WarpActiveSum,
                    WarpActiveProduct,
                    WarpActiveBitAnd,
                    WarpActiveBitOr,
                    WarpActiveBitXor,
                    WarpActiveMax,
                    WarpActiveMin,
                    WarpPrefixSum,
                    WarpPrefixProduct,
                    WarpReadLane,
                ];
                (self.r.pick(&ops), Some(ty), ty)
            }
        };
        let mut args: Vec<ValueId> = operand.map(|ty| self.value(ty, 1)).into_iter().collect();
        if op == WarpReadLane {
            let lane = self.index(8);
            args.push(self.b.static_cast(lane, TypeId::U32));
        }
        let value = self.b.value(Op::ThreadGroup(op), result, &args);
        if let Some(place) = self.place_of(result) {
            self.b.store(place, value);
        }
        self.pool.push(value);
    }

    // ---- buffers and atomics

    pub(super) fn memory_statement(&mut self) {
        let Some(kernel) = self.kernel else { return };
        match self.r.below(5) {
            0 | 1 if self.features.buffers => self.own_element(),
            2 if self.features.bytes => self.own_bytes(),
            3 if self.features.atomics => self.count(),
            4 if self.features.atomics => self.own_cell(),
            _ => {
                let op = Op::ResourceQuery(ResourceQueryOp::BufferSize);
                let size = self.b.value(op, TypeId::U32, &[kernel.input]);
                self.pool.push(size);
            }
        }
    }

    /// Position in the thread's part of a buffer.
    fn at(&mut self, count: u32, offset: ValueId) -> ValueId {
        let index = self.kernel.expect("the statement is in a kernel").index;
        let count = self.b.u32(count);
        let start = self.b.arithmetic(ArithmeticOp::BinaryMul, &[index, count]);
        let offset = self.b.static_cast(offset, TypeId::U32);
        self.b.arithmetic(ArithmeticOp::BinaryAdd, &[start, offset])
    }

    pub(super) fn own_element(&mut self) {
        let (buffer, ty) = self.kernel.expect("the statement is in a kernel").own;
        let offset = self.index(OWN);
        let at = self.at(OWN, offset);
        let volatile = self.r.one_in(4);
        if self.r.one_in(2) {
            let op = match volatile {
                true => ResourceReadOp::BufferVolatileRead,
                false => ResourceReadOp::BufferRead,
            };
            let value = self.b.value(Op::ResourceRead(op), ty, &[buffer, at]);
            self.pool.push(value);
            return;
        }
        let op = match volatile {
            true => ResourceWriteOp::BufferVolatileWrite,
            false => ResourceWriteOp::BufferWrite,
        };
        let value = self.value(ty, 2);
        self.b.effect(Op::ResourceWrite(op), &[buffer, at, value]);
    }

    /// Reads or writes some bytes that follow each other. What is written has no padding.
    fn own_bytes(&mut self) {
        let buffer = self.kernel.expect("the statement is in a kernel").bytes;
        let scalar = self.r.pick(self.palette);
        let dim = if self.features.vectors { self.r.pick(&[1, 2, 4]) } else { 1 };
        let ty = TypeId::vector(scalar, dim);
        let size = self.types().size(ty) as u32;
        let slot = self.r.below((BYTES / size) as usize) as u32;
        for i in 0..1 + self.r.below(3) as u32 {
            let offset = (slot + i) * size % BYTES;
            let offset = self.b.u32(offset);
            let at = self.at(BYTES, offset);
            if self.r.one_in(2) {
                let op = Op::ResourceRead(ResourceReadOp::ByteBufferRead);
                let value = self.b.value(op, ty, &[buffer, at]);
                self.pool.push(value);
            } else {
                let value = self.value(ty, 1);
                let value = self.clean(value);
                let op = Op::ResourceWrite(ResourceWriteOp::ByteBufferWrite);
                self.b.effect(op, &[buffer, at, value]);
            }
        }
    }

    /// Adds to a counter that all threads see. What it held before is not looked at.
    fn count(&mut self) {
        let kernel = self.kernel.expect("the statement is in a kernel");
        if let Some(shared) = kernel.shared.filter(|_| self.r.one_in(3)) {
            let (at, value) = (self.index(4), self.value(TypeId::U32, 1));
            let op = Op::Atomic(AtomicOp::FetchAdd);
            self.b.value(op, TypeId::U32, &[shared.tally, at, value]);
            return;
        }
        let (buffer, ty) = kernel.counters;
        let kind = self.r.below(KINDS.len());
        let op = self.r.pick(KINDS[kind]);
        let offset = self.index(CELLS);
        let offset = self.b.static_cast(offset, TypeId::U32);
        let start = self.b.u32(kind as u32 * CELLS);
        let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[start, offset]);
        let value = if self.palette.contains(&self.types().scalar_of(ty).expect("a scalar")) {
            self.value(ty, 1)
        } else {
            let value = self.value(TypeId::U32, 1);
            self.b.static_cast(value, ty)
        };
        self.b.value(Op::Atomic(op), ty, &[buffer, at, value]);
    }

    /// Any atomic on a cell that no other thread touches.
    fn own_cell(&mut self) {
        use AtomicOp::*;
        let kernel = self.kernel.expect("the statement is in a kernel");
        let (buffer, ty) = kernel.cells;
        let mut ops = vec![Exchange, CompareExchange, FetchAdd, FetchSub, FetchMin, FetchMax];
        if ty != TypeId::F32 {
            ops.extend([FetchAnd, FetchOr, FetchXor]);
        }
        let op = self.r.pick(&ops);
        let mut args = vec![buffer, kernel.index];
        for _ in 0..op.value_count() {
            let value = self.value(TypeId::U32, 1);
            args.push(self.b.static_cast(value, ty));
        }
        let old = self.b.value(Op::Atomic(op), ty, &args);
        self.pool.push(old);
    }
}

//! Random flat kernels made of loops: all counters and tests that the loop passes look for, and their neighbours.
//!
//! `in: buffer<uint>`, `out: buffer<uint>`; every thread writes to its own part of `out` only. A loop may be endless by a counter
//! that wraps around; the caller bounds the steps.

use luisac_xir::op::{
    ArithmeticOp, ResourceReadOp, ResourceWriteOp, SpecialRegister, ThreadGroupOp,
};
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, FunctionKind, Imm, InstId, Module, Op, Scalar,
    TypeId, ValueId,
};

/// Words of `out` that each thread writes.
pub const WORDS: u32 = 64;
/// Threads.
pub const THREADS: u32 = 32;

/// A small random number generator (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// How a loop counts.
#[derive(Clone, Copy)]
struct Count {
    scalar: Scalar,
    start: ValueId,
    step: i64,
    bound: ValueId,
    test: ArithmeticOp,
}

struct Shapes<'a> {
    b: Builder<'a>,
    r: Random,
    input: ValueId,
    output: ValueId,
    /// The thread's number, and the first of its words.
    index: ValueId,
    base: ValueId,
    /// Words that may be used here.
    pool: Vec<ValueId>,
    memory: ValueId,
    /// Loops that may still be made.
    budget: usize,
    last: Option<Count>,
}

/// A module with one kernel, from a seed.
pub fn module(seed: u64) -> Module {
    let mut module = Module::new();
    let words = module.types.buffer(TypeId::U32).unwrap();
    let kind = FunctionKind::Kernel { block_size: [THREADS, 1, 1] };
    let mut f = Function::new("k", kind, TypeId::VOID);
    let input = f.add_argument(ArgumentKind::Resource, words, None, false);
    let output = f.add_argument(ArgumentKind::Resource, words, None, false);
    let entry = f.append_block();
    let types = module.types.clone();
    let mut b = Builder::at_end(&mut f, &types, entry);
    let memory = b.alloca(TypeId::U32);
    let id = b.func.special(SpecialRegister::DispatchId);
    let index = b.extract(id, 0);
    let width = b.u32(WORDS);
    let base = b.arithmetic(ArithmeticOp::BinaryMul, &[index, width]);
    let word = b.value(Op::ResourceRead(ResourceReadOp::BufferRead), TypeId::U32, &[input, index]);
    let mut s = Shapes {
        b,
        r: Random::new(seed),
        input,
        output,
        index,
        base,
        pool: vec![index, word],
        memory,
        budget: 4,
        last: None,
    };
    for _ in 0..1 + s.r.below(3) {
        let pool = s.pool.clone();
        s.make_loop(1);
        s.last = if s.r.one_in(2) { s.last } else { None };
        if s.last.is_some() && s.r.one_in(2) {
            // One that counts the same and uses nothing of the first.
            let first = std::mem::replace(&mut s.pool, pool);
            s.make_loop(0);
            s.pool.extend(first);
        }
    }
    s.finish();
    module.functions.push(f);
    module
}

impl Shapes<'_> {
    fn block(&mut self) -> BlockId {
        self.b.func.append_block()
    }

    fn constant(&mut self, scalar: Scalar, value: i64) -> ValueId {
        let bits = value as u64 & (u64::MAX >> (64 - scalar.bits()));
        self.b.func.scalar_constant(TypeId::scalar(scalar), bits, self.b.types)
    }

    fn word(&mut self) -> ValueId {
        if self.r.one_in(4) {
            let value = self.r.pick(&[0, 1, 2, 5, 255, 0x8000_0000, u32::MAX]);
            return self.b.u32(value);
        }
        self.r.pick(&self.pool)
    }

    fn arithmetic(&mut self) -> ValueId {
        use ArithmeticOp::*;
        let op = self.r.pick(&[
            BinaryAdd,
            BinarySub,
            BinaryMul,
            BinaryBitXor,
            BinaryBitAnd,
            Min,
            BinaryShiftRight,
            BinaryMod,
        ]);
        let args = [self.word(), self.word()];
        self.b.arithmetic(op, &args)
    }

    /// A small number that the thread chooses.
    fn small(&mut self, scalar: Scalar, mask: u32) -> ValueId {
        let (word, mask) = (self.word(), self.b.u32(mask));
        let masked = self.b.arithmetic(ArithmeticOp::BinaryBitAnd, &[word, mask]);
        self.b.static_cast(masked, TypeId::scalar(scalar))
    }

    fn count(&mut self) -> Count {
        use ArithmeticOp::*;
        if let Some(last) = self.last {
            return last;
        }
        let scalar = self.r.pick(&[
            Scalar::U32,
            Scalar::I32,
            Scalar::U32,
            Scalar::I32,
            Scalar::U8,
            Scalar::I8,
            Scalar::U16,
            Scalar::I64,
        ]);
        // All tests and steps, wrapping around included, only where the way around is short.
        if scalar.bits() == 8 && self.r.one_in(3) {
            let test = self.r.pick(&[
                BinaryLess,
                BinaryLessEqual,
                BinaryGreater,
                BinaryGreaterEqual,
                BinaryNotEqual,
            ]);
            let [start, bound] = [(); 2].map(|()| {
                let value = self.r.below(256) as i64;
                self.constant(scalar, value)
            });
            return Count { scalar, start, step: self.r.pick(&[1, -1, 2, 3, 77]), bound, test };
        }
        let up = !scalar.is_signed() || self.r.one_in(2);
        let test = match up {
            true => self.r.pick(&[BinaryLess, BinaryLess, BinaryLessEqual, BinaryNotEqual]),
            false => self.r.pick(&[BinaryGreater, BinaryGreater, BinaryGreaterEqual]),
        };
        let (low, high) = (self.r.below(4) as i64, self.r.below(16) as i64);
        let (mut low, mut high) = match self.r.one_in(2) || test == BinaryNotEqual {
            true => (self.constant(scalar, low), self.constant(scalar, low.max(high))),
            false => (self.small(scalar, 3), self.small(scalar, 15)),
        };
        if self.r.one_in(4) && test != BinaryNotEqual {
            std::mem::swap(&mut low, &mut high);
        }
        let pace = if test == BinaryNotEqual { 1 } else { self.r.pick(&[1, 1, 1, 2, 3]) };
        match up {
            true => Count { scalar, start: low, step: pace, bound: high, test },
            false => Count { scalar, start: high, step: -pace, bound: low, test },
        }
    }

    fn phi(&mut self, header: BlockId, ty: TypeId, from: BlockId, value: ValueId) -> InstId {
        let phi = self.b.func.create_inst(Op::Phi, ty, &[value], &[from], Imm::None);
        self.b.func.append_inst(header, phi);
        phi
    }

    fn make_loop(&mut self, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        let count = self.count();
        self.last = Some(count);
        let [header, body, exit] = [(); 3].map(|()| self.block());
        if self.r.one_in(3) {
            let block = self.block();
            self.b.br(block);
            self.b.switch_to(block);
        }
        let preheader = self.b.block();
        if self.r.one_in(3) {
            let value = self.arithmetic();
            self.pool.push(value);
        }
        let outer = self.pool.clone();
        let ty = TypeId::scalar(count.scalar);
        let counter = self.phi(header, ty, preheader, count.start);
        let others: Vec<(InstId, usize)> = (0..self.r.below(4))
            .map(|_| {
                let start = if self.r.one_in(2) { self.b.u32(3) } else { self.word() };
                (self.phi(header, TypeId::U32, preheader, start), self.r.below(6))
            })
            .collect();
        self.b.br(header);
        self.b.switch_to(header);
        let value = self.b.func.result(counter).unwrap();
        let round = self.b.static_cast(value, TypeId::U32);
        self.pool.push(round);
        for (phi, _) in &others {
            self.pool.push(self.b.func.result(*phi).unwrap());
        }
        if self.r.one_in(3) {
            let computed = self.arithmetic();
            self.pool.push(computed);
        }
        let visible = self.pool.clone();
        self.test(&count, value, body, exit);
        self.b.switch_to(body);
        let early = self.rounds(depth, exit);
        let step = self.constant(count.scalar, count.step);
        let next = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[value, step]);
        let latch = self.b.block();
        self.enter(counter, latch, next);
        let only_outer = outer.len();
        for (phi, how) in others {
            let next = self.next(phi, how, only_outer);
            self.enter(phi, latch, next);
        }
        self.b.br(header);
        self.b.switch_to(exit);
        self.pool = visible;
        self.leave(header, early);
    }

    fn enter(&mut self, phi: InstId, from: BlockId, value: ValueId) {
        self.b.func.push_arg(phi, value);
        self.b.func.inst_blocks_mut(phi).push(from);
    }

    /// Goes on to `body` or leaves to `exit`.
    fn test(&mut self, count: &Count, value: ValueId, body: BlockId, exit: BlockId) {
        use ArithmeticOp::*;
        let mirrored = match count.test {
            BinaryLess => BinaryGreater,
            BinaryGreater => BinaryLess,
            BinaryLessEqual => BinaryGreaterEqual,
            BinaryGreaterEqual => BinaryLessEqual,
            other => other,
        };
        let goes_on = match self.r.one_in(3) {
            true => self.b.arithmetic(mirrored, &[count.bound, value]),
            false => self.b.arithmetic(count.test, &[value, count.bound]),
        };
        if self.r.one_in(4) {
            let stops = self.b.arithmetic(UnaryBitNot, &[goes_on]);
            self.b.cond_br(stops, exit, body);
        } else {
            self.b.cond_br(goes_on, body, exit);
        }
    }

    /// The next value of a phi: a recurrence, a reduction, or something else.
    fn next(&mut self, phi: InstId, how: usize, outer: usize) -> ValueId {
        use ArithmeticOp::*;
        let value = self.b.func.result(phi).unwrap();
        let step = self.r.pick(&[1, 1, 4, u32::MAX]);
        match how {
            0 | 1 => {
                let step = self.b.u32(step);
                self.b.arithmetic(BinaryAdd, &[value, step])
            }
            2 | 3 => {
                let part = self.pool[self.r.below(outer.max(1))];
                let part = if self.r.one_in(2) { part } else { *self.pool.last().unwrap() };
                let op = self.r.pick(&[
                    BinaryAdd,
                    BinaryMul,
                    BinaryBitXor,
                    BinaryBitAnd,
                    BinaryBitOr,
                    Min,
                    Max,
                ]);
                self.b.arithmetic(op, &[value, part])
            }
            4 => self.word(),
            _ => {
                let other = self.arithmetic();
                self.b.arithmetic(BinarySub, &[other, value])
            }
        }
    }

    /// What a round does. Returns the block that leaves the loop early, if there is one.
    fn rounds(&mut self, depth: usize, exit: BlockId) -> Option<BlockId> {
        let mut early = None;
        for _ in 0..self.r.below(4) {
            match self.r.below(12) {
                0..=3 => {
                    let value = self.arithmetic();
                    self.pool.push(value);
                }
                4 => self.read(),
                5 => self.write(),
                6 => self.local(),
                7 | 8 => self.branch(),
                9 if early.is_none() => early = Some(self.leave_early(exit)),
                10 if depth > 0 && self.budget > 0 => {
                    let last = self.last.take();
                    self.make_loop(depth - 1);
                    self.last = last;
                }
                11 if self.r.one_in(2) => {
                    let word = self.word();
                    let sum = Op::ThreadGroup(ThreadGroupOp::WarpActiveSum);
                    let value = self.b.value(sum, TypeId::U32, &[word]);
                    self.pool.push(value);
                }
                _ => {}
            }
        }
        early
    }

    fn read(&mut self) {
        let at = self.small(Scalar::U32, THREADS - 1);
        let read = Op::ResourceRead(ResourceReadOp::BufferRead);
        let value = self.b.value(read, TypeId::U32, &[self.input, at]);
        self.pool.push(value);
    }

    /// Writes one of the last sixteen words of the thread.
    fn write(&mut self) {
        let (at, first) = (self.small(Scalar::U32, 15), self.b.u32(WORDS - 16));
        let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[at, first]);
        let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[at, self.base]);
        let value = self.word();
        let write = Op::ResourceWrite(ResourceWriteOp::BufferWrite);
        self.b.effect(write, &[self.output, at, value]);
    }

    fn local(&mut self) {
        let value = self.b.load(self.memory);
        self.pool.push(value);
        if self.r.one_in(2) {
            let value = self.arithmetic();
            self.b.store(self.memory, value);
        }
    }

    /// A condition, often one that does not change inside of a loop.
    fn condition(&mut self) -> ValueId {
        let word = if self.r.one_in(2) { self.index } else { self.word() };
        let bound = self.b.u32(9);
        self.b.arithmetic(ArithmeticOp::BinaryLess, &[word, bound])
    }

    fn branch(&mut self) {
        let condition = match self.r.one_in(2) {
            // Computed in front of everything.
            true => {
                let entry = self.b.func.entry().unwrap();
                let end = self.b.func.terminator(entry).unwrap();
                let here = self.b.position();
                self.b.set_position(luisac_xir::builder::Position::Before(end));
                let bound = self.b.u32(self.r.pick(&[0, 7, 40]));
                let value = self.b.arithmetic(ArithmeticOp::BinaryLess, &[self.index, bound]);
                self.b.set_position(here);
                value
            }
            false => self.condition(),
        };
        let [yes, no, merge] = [(); 3].map(|()| self.block());
        let pool = self.pool.clone();
        self.b.cond_br(condition, yes, no);
        let values = [yes, no].map(|arm| {
            self.b.switch_to(arm);
            if self.r.one_in(3) {
                self.write();
            }
            let value = self.arithmetic();
            self.b.br(merge);
            value
        });
        self.pool = pool;
        self.b.switch_to(merge);
        let phi = self.b.phi(merge, TypeId::U32, &[(yes, values[0]), (no, values[1])]);
        self.pool.push(phi);
    }

    /// Leaves the loop for some threads; goes on for the others.
    fn leave_early(&mut self, exit: BlockId) -> BlockId {
        let condition = self.condition();
        let [out, on] = [(); 2].map(|()| self.block());
        self.b.cond_br(condition, out, on);
        self.b.switch_to(out);
        self.b.br(exit);
        self.b.switch_to(on);
        out
    }

    /// Begins the block behind a loop.
    fn leave(&mut self, header: BlockId, early: Option<BlockId>) {
        if self.r.one_in(2) || early.is_some() && self.r.one_in(2) {
            let mut entries = vec![(header, self.word())];
            if let Some(out) = early {
                entries.push((out, self.word()));
            }
            let exit = self.b.block();
            let phi = self.b.phi(exit, TypeId::U32, &entries);
            self.pool.push(phi);
        }
    }

    /// Writes all words in reach, and returns.
    fn finish(&mut self) {
        let write = Op::ResourceWrite(ResourceWriteOp::BufferWrite);
        let memory = self.b.load(self.memory);
        self.pool.push(memory);
        for (i, word) in self.pool.clone().into_iter().rev().take(40).enumerate() {
            let i = self.b.u32(i as u32);
            let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[self.base, i]);
            self.b.effect(write, &[self.output, at, word]);
        }
        self.b.ret(None);
    }
}

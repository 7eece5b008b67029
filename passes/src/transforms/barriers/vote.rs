//! Votes: what the running threads of a block say, heard by all of them.

use super::uniform::alloca;
use luisac_xir::op::ArithmeticOp::{BinaryAdd, BinaryBitOr, BinaryEqual, Select};
use luisac_xir::op::{AtomicOp, Space, SpecialRegister, ThreadGroupOp};
use luisac_xir::{Builder, Function, InstId, Op, TypeId, TypeTable, ValueId};

/// Words of shared memory that votes take turns in.
pub(super) const WORDS: u32 = 3;

/// The words, and whose turn it is.
#[derive(Clone, Copy)]
pub(super) struct Votes {
    words: ValueId,
    turn: ValueId,
}

impl Votes {
    /// Declares the memory: `words` is the type of an array of [`WORDS`] words.
    pub fn new(func: &mut Function, words: TypeId) -> Option<Votes> {
        let turn = alloca(func, Space::Local, TypeId::U32)?;
        let words = alloca(func, Space::Shared, words)?;
        func.set_name(turn, "turn");
        func.set_name(words, "votes");
        Some(Votes { words, turn })
    }

    /// Clears the first word, in front of `at`.
    pub fn begin(self, func: &mut Function, types: &TypeTable, at: InstId) {
        let turn = func.u32_constant(0);
        self.clear(func, types, at, turn);
        Builder::before(func, types, at)
            .effect(Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock), &[]);
    }

    /// A running thread says a number above zero.
    pub fn say(self, b: &mut Builder<'_>, number: u32) {
        let turn = b.load(self.turn);
        let number = b.u32(number);
        self.atomic(b, AtomicOp::FetchMax, turn, number);
    }

    /// All threads hear the greatest number that was said, zero if none was, in front of `at`, or behind `barrier` if the kernel has
    /// one there.
    pub fn hear(
        self,
        func: &mut Function,
        types: &TypeTable,
        at: InstId,
        barrier: Option<InstId>,
    ) -> ValueId {
        let mut b = Builder::before(func, types, at);
        let turn = b.load(self.turn);
        let (one, last, first) = (b.u32(1), b.u32(WORDS - 1), b.u32(0));
        let is_last = b.arithmetic(BinaryEqual, &[turn, last]);
        let after = b.arithmetic(BinaryAdd, &[turn, one]);
        let next = b.arithmetic(Select, &[after, first, is_last]);
        b.store(self.turn, next);
        self.clear(func, types, at, next);
        if barrier.is_none() {
            let op = Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock);
            Builder::before(func, types, at).effect(op, &[]);
        }
        let behind = barrier.and_then(|i| func.next_inst(i)).unwrap_or(at);
        let mut b = Builder::before(func, types, behind);
        // The word before the present turn.
        let turn = b.load(self.turn);
        let is_first = b.arithmetic(BinaryEqual, &[turn, first]);
        let minus_one = b.u32(u32::MAX);
        let before = b.arithmetic(BinaryAdd, &[turn, minus_one]);
        let word = b.arithmetic(Select, &[before, last, is_first]);
        self.atomic(&mut b, AtomicOp::FetchOr, word, first)
    }

    fn atomic(self, b: &mut Builder<'_>, op: AtomicOp, turn: ValueId, value: ValueId) -> ValueId {
        b.value(Op::Atomic(op), TypeId::U32, &[self.words, turn, value])
    }

    /// The first thread of the block clears a word.
    fn clear(self, func: &mut Function, types: &TypeTable, at: InstId, turn: ValueId) {
        let id = func.special(SpecialRegister::ThreadId);
        let mut b = Builder::before(func, types, at);
        let parts = [0, 1, 2].map(|i| b.extract(id, i));
        let some = b.arithmetic(BinaryBitOr, &[parts[0], parts[1]]);
        let all = b.arithmetic(BinaryBitOr, &[some, parts[2]]);
        let zero = b.u32(0);
        let is_first = b.arithmetic(BinaryEqual, &[all, zero]);
        let arm = Builder::branch_around(func, types, at, is_first, true);
        let mut b = Builder::before(func, types, arm);
        self.atomic(&mut b, AtomicOp::Exchange, turn, zero);
    }
}

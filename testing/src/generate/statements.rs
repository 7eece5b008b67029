//! Statements: assignments, calls and structured control flow.

use super::{Exits, Generator};
use luisac_xir::op::{ArithmeticOp, Space};
use luisac_xir::{ArgumentKind, BlockId, Imm, Op, Scalar, TypeId, ValueId};

/// Loops inside loops.
const MAX_LOOPS: usize = 3;

/// How a loop counts: as long as the counter compared with a limit is true.
struct Count {
    ty: TypeId,
    start: u64,
    by: u64,
    step: ArithmeticOp,
    test: ArithmeticOp,
}

impl Generator<'_> {
    /// The statements of a function.
    pub(super) fn body(&mut self, depth: usize) {
        self.statements(depth, Exits::default());
    }

    fn statements(&mut self, depth: usize, exits: Exits) {
        // Values of inner blocks do not dominate what follows.
        let (pool, places) = (self.pool.len(), self.places.len());
        for _ in 0..1 + self.r.below(6) {
            if self.budget == 0 || !self.statement(depth, exits) {
                break;
            }
        }
        self.pool.truncate(pool);
        self.places.truncate(places);
    }

    /// False if the block has ended.
    fn statement(&mut self, depth: usize, exits: Exits) -> bool {
        self.budget = self.budget.saturating_sub(1);
        match self.r.below(if depth == 0 { 9 } else { 15 }) {
            0 => return !self.leave(exits),
            1 if !self.callees.is_empty() => self.call(),
            2 => self.memory_statement(),
            3 => self.wave_statement(),
            4 if self.features.prints => self.checks(),
            5 | 6 => self.part(),
            1..=7 => self.assign(),
            8 => self.resource_statement(),
            9..=10 => self.branch(depth - 1, exits),
            11 if self.features.switches => self.switch(depth - 1, exits),
            12 if self.can_loop() => self.counted_loop(depth - 1),
            13 if self.can_loop() => self.endless_loop(depth - 1),
            14 if self.features.returns && self.r.one_in(2) => self.some_return(),
            14 => self.exchange(),
            _ => self.branch(depth - 1, exits),
        }
        true
    }

    fn can_loop(&self) -> bool {
        self.features.loops && self.loops < MAX_LOOPS
    }

    fn assign(&mut self) {
        let variable = self.r.pick(&self.variables);
        let value = self.value(self.ty(variable), 3);
        self.b.store(variable, value);
        if self.r.one_in(3) {
            self.pool.push(value);
        }
    }

    /// Writes a part of a variable, or moves one part to another.
    pub(super) fn part(&mut self) {
        let place = self.place();
        let value = self.value(self.ty(place), 2);
        self.b.store(place, value);
        if self.r.one_in(4) {
            let value = self.b.load(place);
            self.pool.push(value);
        }
    }

    /// What always holds, in words that a compiler does not see through at once.
    fn checks(&mut self) {
        let value = self.value(TypeId::U32, 1);
        let (three, four) = (self.b.u32(3), self.b.u32(4));
        let low = self.b.arithmetic(ArithmeticOp::BinaryBitAnd, &[value, three]);
        let holds = self.b.arithmetic(ArithmeticOp::BinaryLess, &[low, four]);
        match (self.r.below(3), self.kernel) {
            (0, Some(kernel)) => {
                let text = Imm::Text("{} {}".into());
                self.b.inst(Op::Print, TypeId::VOID, &[kernel.index, value], &[], text);
            }
            (1, _) => {
                let text = Imm::Text("the low bits are low".into());
                self.b.inst(Op::Assert, TypeId::VOID, &[holds], &[], text);
            }
            _ => {
                self.b.inst(Op::Assume, TypeId::VOID, &[holds], &[], Imm::Text("".into()));
            }
        }
    }

    fn call(&mut self) {
        let callee = self.callees[self.r.below(self.callees.len())].clone();
        let mut args = Vec::new();
        for &(kind, ty) in &callee.params {
            args.push(match kind {
                ArgumentKind::Value => self.value(ty, 1),
                ArgumentKind::Resource => match self.input {
                    Some((input, _)) => input,
                    None => return,
                },
                _ => match self.place_of(ty) {
                    Some(place) => place,
                    None => return,
                },
            });
        }
        let imm = Imm::Callee(callee.id);
        let call = self.b.inst(Op::Call, callee.returned, &args, &[], imm);
        self.pool.extend(self.b.func.result(call));
    }

    /// Ends the block by `break`, `continue` or `return`; false if it cannot.
    fn leave(&mut self, exits: Exits) -> bool {
        let (op, target) = match (self.r.below(4), exits) {
            (0, Exits { on_break: Some(target), .. }) => (Op::Break, target),
            (1, Exits { on_continue: Some(target), .. }) => (Op::Continue, target),
            (2, _) if self.features.returns && !self.uniform => {
                let ty = self.b.func.return_type;
                let value = (ty != TypeId::VOID).then(|| self.value(ty, 1));
                self.b.ret(value);
                return true;
            }
            _ => return false,
        };
        self.b.inst(op, TypeId::VOID, &[], &[target], Imm::None);
        true
    }

    /// Lets the threads return for which some condition holds. Nobody waits for them at later barriers.
    fn some_return(&mut self) {
        let condition = self.value(TypeId::BOOL, 2);
        let [yes, no, merge] = [(); 3].map(|()| self.b.func.append_block());
        self.b.inst(Op::If, TypeId::VOID, &[condition], &[yes, no, merge], Imm::None);
        self.b.switch_to(yes);
        let ty = self.b.func.return_type;
        let value = (ty != TypeId::VOID).then(|| self.value(ty, 1));
        self.b.ret(value);
        self.b.switch_to(no);
        self.b.br(merge);
        self.b.switch_to(merge);
    }

    /// Fills a block and ends it with a branch, unless it has ended.
    fn fill(&mut self, block: BlockId, depth: usize, exits: Exits, after: BlockId) {
        self.b.switch_to(block);
        self.statements(depth, exits);
        let end = self.b.block();
        if self.b.func.terminator(end).is_none() {
            self.b.br(after);
        }
    }

    /// Whether the next construct takes all threads the same way. It does so at random, as far as it can.
    fn stays_uniform(&mut self) -> bool {
        self.uniform && self.features.shared && self.r.one_in(2)
    }

    /// The argument that is the same for all threads, compared.
    fn uniform_condition(&mut self) -> Option<ValueId> {
        let kernel = self.kernel?;
        let limit = self.r.below(6) as u32;
        let limit = self.b.u32(limit);
        Some(self.b.arithmetic(ArithmeticOp::BinaryLess, &[kernel.uniform, limit]))
    }

    fn branch(&mut self, depth: usize, exits: Exits) {
        let outer = self.uniform;
        let uniform = if self.stays_uniform() { self.uniform_condition() } else { None };
        self.uniform = uniform.is_some();
        let condition = match uniform {
            Some(condition) => condition,
            None => self.value(TypeId::BOOL, 2),
        };
        let [yes, no, merge] = [(); 3].map(|()| self.b.func.append_block());
        self.b.inst(Op::If, TypeId::VOID, &[condition], &[yes, no, merge], Imm::None);
        self.fill(yes, depth, exits, merge);
        if self.r.one_in(3) {
            self.b.switch_to(no);
            self.b.br(merge);
        } else {
            self.fill(no, depth, exits, merge);
        }
        self.uniform = outer;
        self.b.switch_to(merge);
    }

    fn switch(&mut self, depth: usize, exits: Exits) {
        let outer = std::mem::replace(&mut self.uniform, false);
        let narrow = self.features.narrow.then_some([Scalar::U8, Scalar::I16]);
        let long = self.features.longs.then_some(Scalar::I64);
        let scalars = [Scalar::U32, Scalar::I32].into_iter();
        let scalars: Vec<Scalar> =
            scalars.chain(narrow.into_iter().flatten()).chain(long).collect();
        let scalar = self.r.pick(&scalars);
        let count = 1 + self.r.below(4);
        // With every value a case, the default is never reached.
        let covered = count == 4 && self.r.one_in(2);
        let mut selector = self.value(TypeId::scalar(scalar), 2);
        if covered {
            let three = self.b.func.scalar_constant(TypeId::scalar(scalar), 3, self.b.types);
            selector = self.b.arithmetic(ArithmeticOp::BinaryBitAnd, &[selector, three]);
        }
        let blocks: Vec<BlockId> = (0..count + 2).map(|_| self.b.func.append_block()).collect();
        let all = u64::MAX >> (64 - scalar.bits());
        let last = if covered { 2 } else { all };
        let cases: Vec<u64> = (0..count as u64).map(|i| if i == 2 { last } else { i }).collect();
        let imm = Imm::Cases(cases.into());
        self.b.inst(Op::Switch, TypeId::VOID, &[selector], &blocks, imm);
        let merge = blocks[count + 1];
        for &block in &blocks[..=count] {
            if covered && block == blocks[0] {
                self.b.switch_to(block);
                let text = Imm::Text("all values are covered".into());
                self.b.inst(Op::Unreachable, TypeId::VOID, &[], &[], text);
                continue;
            }
            self.fill(block, depth, Exits { on_break: Some(merge), ..exits }, merge);
        }
        self.uniform = outer;
        self.b.switch_to(merge);
    }

    /// A variable that nothing else writes, set to a constant here.
    fn counter(&mut self, ty: TypeId, start: u64) -> ValueId {
        let entry = self.b.func.entry().expect("the function has a body");
        let op = Op::Alloca(Space::Local);
        let alloca = self.b.func.create_inst(op, ty, &[], &[], Imm::None);
        self.b.func.prepend_inst(entry, alloca);
        let counter = self.b.func.result(alloca).expect("an alloca has a result");
        let start = self.b.func.scalar_constant(ty, start, self.b.types);
        self.b.store(counter, start);
        counter
    }

    /// Adds or subtracts a constant; the new value.
    fn step(&mut self, counter: ValueId, op: ArithmeticOp, by: u64) -> ValueId {
        let value = self.b.load(counter);
        let by = self.b.func.scalar_constant(self.ty(counter), by, self.b.types);
        let next = self.b.arithmetic(op, &[value, by]);
        self.b.store(counter, next);
        next
    }

    /// How a loop counts, such that it ends after five rounds at most.
    fn count_by(&mut self) -> Count {
        use ArithmeticOp::*;
        let narrow = self.features.narrow.then_some([Scalar::U8, Scalar::I16]);
        let long = self.features.longs.then_some([Scalar::I64, Scalar::U64]);
        let wide = [Scalar::U32, Scalar::U32, Scalar::I32].into_iter();
        let scalars: Vec<Scalar> =
            wide.chain(narrow.into_iter().flatten()).chain(long.into_iter().flatten()).collect();
        let scalar = self.r.pick(&scalars);
        let by = 1 + self.r.below(3) as u64;
        let up =
            Count { ty: TypeId::scalar(scalar), start: 0, by, step: BinaryAdd, test: BinaryLess };
        match self.r.below(5) {
            0 => Count { by: 1, test: BinaryNotEqual, ..up },
            1 => Count {
                start: self.r.below(5) as u64,
                step: BinarySub,
                by: 1,
                test: BinaryGreater,
                ..up
            },
            2 => Count { test: BinaryLessEqual, ..up },
            _ => up,
        }
    }

    fn counted_loop(&mut self, depth: usize) {
        let outer = self.uniform;
        self.uniform = self.stays_uniform();
        let count = self.count_by();
        let counter = self.counter(count.ty, count.start);
        let [prepare, body, update, merge] = [(); 4].map(|()| self.b.func.append_block());
        self.b.inst(Op::Loop, TypeId::VOID, &[], &[prepare, body, update, merge], Imm::None);
        self.b.switch_to(prepare);
        let (pool, places) = (self.pool.len(), self.places.len());
        let limit = match (count.step, self.uniform) {
            (ArithmeticOp::BinarySub, _) => self.b.u32(0),
            (_, true) => self.b.u32(2),
            // What the rounds compute may change it, but `!=` must not miss it.
            _ if count.test == ArithmeticOp::BinaryNotEqual => {
                let limit = self.r.below(5) as u32;
                self.b.u32(limit)
            }
            _ => self.index(4),
        };
        let limit = self.b.static_cast(limit, count.ty);
        let value = self.b.load(counter);
        let go_on = self.b.arithmetic(count.test, &[value, limit]);
        self.b.cond_br(go_on, body, merge);
        let exits = match self.uniform {
            true => Exits::default(),
            false => Exits { on_break: Some(merge), on_continue: Some(update) },
        };
        self.pool.push(value);
        self.loops += 1;
        self.fill(body, depth, exits, update);
        self.loops -= 1;
        self.pool.truncate(pool);
        self.places.truncate(places);
        self.b.switch_to(update);
        self.step(counter, count.step, count.by);
        self.b.br(prepare);
        self.uniform = outer;
        self.b.switch_to(merge);
    }

    fn endless_loop(&mut self, depth: usize) {
        let outer = std::mem::replace(&mut self.uniform, false);
        let counter = self.counter(TypeId::U32, 0);
        let [body, merge, leave, stay, inside] = [(); 5].map(|()| self.b.func.append_block());
        self.b.inst(Op::SimpleLoop, TypeId::VOID, &[], &[body, merge], Imm::None);
        self.b.switch_to(body);
        let next = self.step(counter, ArithmeticOp::BinaryAdd, 1);
        let limit = self.b.u32(3);
        let done = self.b.arithmetic(ArithmeticOp::BinaryGreater, &[next, limit]);
        self.b.inst(Op::If, TypeId::VOID, &[done], &[leave, stay, inside], Imm::None);
        self.b.switch_to(leave);
        // What the last round computes may be seen outside.
        let variable = self.r.pick(&self.variables);
        let value = self.value(self.ty(variable), 1);
        self.b.store(variable, value);
        self.b.inst(Op::Break, TypeId::VOID, &[], &[merge], Imm::None);
        self.b.switch_to(stay);
        self.b.br(inside);
        let exits = Exits { on_break: Some(merge), on_continue: Some(body) };
        self.loops += 1;
        self.fill(inside, depth, exits, body);
        self.loops -= 1;
        self.uniform = outer;
        self.b.switch_to(merge);
    }
}

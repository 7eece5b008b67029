//! Random kernels: structured control flow over local variables of many types, callables with references, all arithmetic.
//!
//! `in: buffer<uint>`, `out: buffer<uint>`; every thread writes its variables to its own part of `out`. Every loop ends, every
//! index is in range, every NaN is written as one pattern, so that the result is defined.

use luisac_xir::math::composite::is_movement;
use luisac_xir::op::{
    ArithmeticOp, CastOp, ResourceReadOp, ResourceWriteOp, Rule, SpecialRegister,
};
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, FunctionId, FunctionKind, Imm, Module, Op, Scalar,
    TypeId, TypeTable, ValueId,
};

/// Words of `out` that each thread writes.
pub const WORDS: u32 = 64;
/// Threads.
pub const THREADS: u32 = 32;

/// A small generator of random numbers (PCG).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = ((self.0 >> 18) ^ self.0) >> 27;
        (word as u32).rotate_right((self.0 >> 59) as u32) as usize % n.max(1)
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const SCALARS: [Scalar; 12] = [
    Scalar::Bool,
    Scalar::I8,
    Scalar::U8,
    Scalar::I16,
    Scalar::U16,
    Scalar::I32,
    Scalar::U32,
    Scalar::I64,
    Scalar::U64,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
];

/// Where `break` and `continue` lead.
#[derive(Clone, Copy)]
struct Exits {
    on_break: Option<BlockId>,
    on_continue: Option<BlockId>,
}

struct Generator<'a> {
    b: Builder<'a>,
    r: &'a mut Random,
    variables: Vec<ValueId>,
    /// Values that may be used, with the type.
    pool: Vec<ValueId>,
    callees: &'a [(FunctionId, TypeId, TypeId)],
    budget: usize,
    is_kernel: bool,
}

/// A module with a kernel and some callables, from a seed.
pub fn module(seed: u64) -> Module {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let mut module = Module::new();
    let words = module.types.buffer(TypeId::U32).unwrap();
    let array = module.types.array(TypeId::U32, 4).unwrap();
    let nested = module.types.array(array, 2).unwrap();
    let record =
        module.types.structure(0, [TypeId::BOOL, TypeId::vector(Scalar::F32, 3), nested]).unwrap();
    let mut callees = Vec::new();
    for i in 0..random.below(4) {
        let returned = TypeId::scalar(random.pick(&SCALARS));
        let reference = TypeId::scalar(random.pick(&SCALARS));
        let mut f = Function::new(format!("f{i}"), FunctionKind::Callable, returned);
        let value = f.add_argument(ArgumentKind::Value, returned, None, false);
        let place = f.add_argument(ArgumentKind::Reference, reference, None, false);
        let entry = f.append_block();
        let types = module.types.clone();
        let mut g = Generator {
            b: Builder::at_end(&mut f, &types, entry),
            r: &mut random,
            variables: vec![place],
            pool: vec![value],
            callees: &callees,
            budget: 25,
            is_kernel: false,
        };
        g.declare(&[record, array], 4);
        g.statements(3, Exits { on_break: None, on_continue: None });
        g.finish_callable(returned);
        callees.push((module.functions.push(f), returned, reference));
    }
    let kind = FunctionKind::Kernel { block_size: [THREADS, 1, 1] };
    let mut f = Function::new("k", kind, TypeId::VOID);
    let input = f.add_argument(ArgumentKind::Resource, words, None, false);
    let output = f.add_argument(ArgumentKind::Resource, words, None, false);
    let entry = f.append_block();
    let types = module.types.clone();
    let mut g = Generator {
        b: Builder::at_end(&mut f, &types, entry),
        r: &mut random,
        variables: Vec::new(),
        pool: Vec::new(),
        callees: &callees,
        budget: 60,
        is_kernel: true,
    };
    g.declare(&[record, array, nested, TypeId::matrix(3)], 10);
    let id = g.b.func.special(SpecialRegister::DispatchId);
    let index = g.b.extract(id, 0);
    let read = Op::ResourceRead(ResourceReadOp::BufferRead);
    for k in 0..3 {
        let k = g.b.u32(k * THREADS);
        let at = g.b.arithmetic(ArithmeticOp::BinaryAdd, &[index, k]);
        let word = g.b.value(read, TypeId::U32, &[input, at]);
        g.pool.push(word);
    }
    g.statements(4, Exits { on_break: None, on_continue: None });
    g.finish_kernel(output, index);
    module.functions.push(f);
    module
}

impl Generator<'_> {
    fn types(&self) -> &TypeTable {
        self.b.types
    }

    fn declare(&mut self, composites: &[TypeId], scalars: usize) {
        for &ty in composites {
            let variable = self.b.alloca(ty);
            self.variables.push(variable);
        }
        for _ in 0..scalars {
            let scalar = self.r.pick(&SCALARS);
            let dim = if self.r.one_in(2) { 1 } else { 2 + self.r.below(3) as u8 };
            let variable = self.b.alloca(TypeId::vector(scalar, dim));
            self.variables.push(variable);
        }
    }

    // ---- values

    fn constant(&mut self, ty: TypeId) -> ValueId {
        let scalar = self.types().scalar_of(ty).unwrap();
        let dim = self.types().dim(ty) as usize;
        let size = scalar.size() as usize;
        let mut bytes = vec![0; self.types().size(ty) as usize];
        for component in 0..dim {
            let bits = self.constant_bits(scalar);
            bytes[component * size..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        self.b.func.constant(ty, bytes)
    }

    fn constant_bits(&mut self, scalar: Scalar) -> u64 {
        let number =
            self.r.pick(&[0.0, -0.0, 1.0, 2.0, 0.5, -1.5, 3.0, 1e4, f64::INFINITY, f64::NAN]);
        match scalar {
            Scalar::Bool => self.r.below(2) as u64,
            Scalar::F16 => self.r.pick(&[0, 0x8000, 0x3c00, 0xbe00, 0x7bff, 0x7c00, 0x7e00, 1]),
            Scalar::F32 => u64::from((number as f32).to_bits()),
            Scalar::F64 => number.to_bits(),
            s => {
                let all = u64::MAX >> (64 - s.bits());
                let word = self.r.pick(&[0, 1, 2, 3, 7, 31, all, all >> 1, (all >> 1) + 1]);
                word & all
            }
        }
    }

    /// A value of a scalar or vector type.
    fn value(&mut self, ty: TypeId, depth: usize) -> ValueId {
        let from_pool: Vec<ValueId> =
            self.pool.iter().copied().filter(|&v| self.b.func.value_type(v) == ty).collect();
        if !from_pool.is_empty() && self.r.one_in(3) {
            return self.r.pick(&from_pool);
        }
        if depth == 0 || self.budget == 0 {
            return self.leaf(ty);
        }
        match self.r.below(10) {
            0 => self.leaf(ty),
            1 => self.cast(ty, depth),
            2 => self.moved(ty, depth),
            3 => self.reduced(ty, depth),
            _ => self.operation(ty, depth),
        }
    }

    fn leaf(&mut self, ty: TypeId) -> ValueId {
        let loads: Vec<ValueId> =
            self.variables.iter().copied().filter(|&v| self.b.func.value_type(v) == ty).collect();
        if !loads.is_empty() && !self.r.one_in(4) {
            let variable = self.r.pick(&loads);
            return self.b.load(variable);
        }
        if ty == TypeId::U32 && self.r.one_in(3) {
            let place = self.element_of_array();
            return self.b.load(place);
        }
        self.constant(ty)
    }

    /// An element of an array by an index that is in range.
    fn element_of_array(&mut self) -> ValueId {
        let arrays: Vec<ValueId> = self
            .variables
            .iter()
            .copied()
            .filter(|&v| {
                let ty = self.b.func.value_type(v);
                self.types().is_array(ty) && self.types().element_type(ty, 0) == Some(TypeId::U32)
            })
            .collect();
        let array = self.r.pick(&arrays);
        let index = self.index(3);
        self.b.gep(array, &[index], TypeId::U32)
    }

    /// An index of at most `mask`, constant or not.
    fn index(&mut self, mask: u32) -> ValueId {
        if self.r.one_in(2) {
            let n = self.r.below(mask as usize + 1) as u32;
            return self.b.u32(n);
        }
        let value = self.value(TypeId::U32, 0);
        let mask = self.b.u32(mask);
        self.b.arithmetic(ArithmeticOp::BinaryBitAnd, &[value, mask])
    }

    fn cast(&mut self, ty: TypeId, depth: usize) -> ValueId {
        let (scalar, dim) = (self.types().scalar_of(ty).unwrap(), self.types().dim(ty));
        if scalar != Scalar::Bool && self.r.one_in(3) {
            let same: Vec<Scalar> = SCALARS
                .into_iter()
                .filter(|s| s.size() == scalar.size() && *s != Scalar::Bool)
                .collect();
            let from = TypeId::vector(self.r.pick(&same), dim);
            let value = self.value(from, depth - 1);
            return self.b.bit_cast(value, ty);
        }
        let from = TypeId::vector(self.r.pick(&SCALARS), dim);
        let value = self.value(from, depth - 1);
        self.b.static_cast(value, ty)
    }

    fn moved(&mut self, ty: TypeId, depth: usize) -> ValueId {
        let (scalar, dim) = (self.types().scalar_of(ty).unwrap(), self.types().dim(ty));
        if dim == 1 {
            let vector = TypeId::vector(scalar, 2 + self.r.below(3) as u8);
            let count = self.types().dim(vector);
            let value = self.value(vector, depth - 1);
            if count != 3 && self.r.one_in(2) {
                let index = self.index(u32::from(count) - 1);
                let op = Op::Arithmetic(ArithmeticOp::Extract);
                return self.b.value(op, ty, &[value, index]);
            }
            let at = self.r.below(count.into()) as u32;
            return self.b.extract(value, at);
        }
        let element = TypeId::scalar(scalar);
        match self.r.below(3) {
            0 => {
                let parts: Vec<ValueId> =
                    (0..dim).map(|_| self.value(element, depth - 1)).collect();
                self.b.aggregate(ty, &parts)
            }
            1 => {
                let (whole, part) = (self.value(ty, depth - 1), self.value(element, 0));
                let at = self.r.below(dim.into()) as u32;
                self.b.insert(whole, part, at)
            }
            _ => {
                let from = 2 + self.r.below(3) as u8;
                let whole = self.value(TypeId::vector(scalar, from), depth - 1);
                let mut args = vec![whole];
                for _ in 0..dim {
                    let at = self.r.below(from.into()) as u32;
                    args.push(self.b.u32(at));
                }
                self.b.value(Op::Arithmetic(ArithmeticOp::Shuffle), ty, &args)
            }
        }
    }

    /// A scalar from a vector, or a vector from vectors as wholes.
    fn reduced(&mut self, ty: TypeId, depth: usize) -> ValueId {
        use ArithmeticOp::*;
        let (scalar, dim) = (self.types().scalar_of(ty).unwrap(), self.types().dim(ty));
        let vector = TypeId::vector(scalar, 2 + self.r.below(3) as u8);
        if dim > 1 && scalar.is_float() {
            let args = [(); 3].map(|()| self.value(ty, depth - 1));
            return match self.r.below(4) {
                0 => self.b.arithmetic(Normalize, &args[..1]),
                1 => self.b.arithmetic(Reflect, &args[..2]),
                2 if dim == 3 => self.b.arithmetic(Cross, &args[..2]),
                3 if scalar == Scalar::F32 => {
                    let matrix = self.b.arithmetic(OuterProduct, &args[..2]);
                    let matrix = if self.r.one_in(2) {
                        self.b.arithmetic(Inverse, &[matrix])
                    } else {
                        self.b.arithmetic(Transpose, &[matrix])
                    };
                    self.b.arithmetic(MatrixLinalgMul, &[matrix, args[2]])
                }
                _ => self.b.arithmetic(Faceforward, &args),
            };
        }
        if dim > 1 {
            return self.operation(ty, depth);
        }
        let value = self.value(vector, depth - 1);
        let op = match scalar {
            Scalar::Bool => self.r.pick(&[All, Any]),
            s if s.is_float() => self.r.pick(&[
                ReduceSum,
                ReduceProduct,
                ReduceMin,
                ReduceMax,
                Length,
                LengthSquared,
            ]),
            _ => self.r.pick(&[ReduceSum, ReduceProduct, ReduceMin, ReduceMax]),
        };
        self.b.arithmetic(op, &[value])
    }

    fn operation(&mut self, ty: TypeId, depth: usize) -> ValueId {
        let (scalar, dim) = (self.types().scalar_of(ty).unwrap(), self.types().dim(ty));
        self.budget = self.budget.saturating_sub(1);
        for _ in 0..100 {
            let op = self.r.pick(ArithmeticOp::ALL);
            if is_movement(op) {
                continue;
            }
            let count = op.arity().0;
            let is_float = scalar.is_float();
            let other = |g: &mut Self, filter: fn(&Scalar) -> bool| {
                let some: Vec<Scalar> = SCALARS.into_iter().filter(filter).collect();
                TypeId::vector(g.r.pick(&some), dim)
            };
            let operands: Vec<TypeId> = match op.rule() {
                Rule::Numeric if scalar != Scalar::Bool => vec![ty; count],
                Rule::Float | Rule::Lerp | Rule::Smoothstep | Rule::Step if is_float => {
                    vec![ty; count]
                }
                Rule::Bits if !is_float => vec![ty; count],
                Rule::Shift if scalar.is_int() => vec![ty, other(self, |s| s.is_int())],
                Rule::BitCount if scalar.is_int() => vec![ty],
                Rule::PowInt if is_float => vec![ty, other(self, |s| s.is_int())],
                Rule::Order if scalar == Scalar::Bool => {
                    vec![other(self, |s| *s != Scalar::Bool); 2]
                }
                Rule::Equality if scalar == Scalar::Bool => vec![other(self, |_| true); 2],
                Rule::FloatTest if scalar == Scalar::Bool => vec![other(self, |s| s.is_float())],
                Rule::Select => {
                    let condition = if self.r.one_in(2) { 1 } else { dim };
                    vec![ty, ty, TypeId::vector(Scalar::Bool, condition)]
                }
                _ => continue,
            };
            let args: Vec<ValueId> =
                operands.into_iter().map(|ty| self.value(ty, depth - 1)).collect();
            let value = self.b.arithmetic(op, &args);
            return value;
        }
        self.leaf(ty)
    }

    // ---- statements

    fn statements(&mut self, depth: usize, exits: Exits) {
        let pool = self.pool.len();
        for _ in 0..1 + self.r.below(5) {
            if self.budget == 0 || !self.statement(depth, exits) {
                break;
            }
        }
        // Values of inner blocks do not dominate what follows.
        self.pool.truncate(pool);
    }

    /// False if the block has ended.
    fn statement(&mut self, depth: usize, exits: Exits) -> bool {
        self.budget = self.budget.saturating_sub(1);
        match self.r.below(if depth == 0 { 6 } else { 12 }) {
            0 if self.r.one_in(2) => return !self.leave(exits),
            1 => {
                let place = self.element_of_array();
                let value = self.value(TypeId::U32, 2);
                self.b.store(place, value);
            }
            2 => self.member(),
            3 if !self.callees.is_empty() => self.call(),
            0..=5 => self.assign(),
            6..=8 => self.branch(depth - 1, exits),
            9 => self.switch(depth - 1, exits),
            10 => self.counted_loop(depth - 1),
            _ => self.endless_loop(depth - 1),
        }
        true
    }

    fn assign(&mut self) {
        let variable = self.r.pick(&self.variables);
        let ty = self.b.func.value_type(variable);
        let value = if self.types().is_scalar_or_vector(ty) {
            self.value(ty, 3)
        } else if self.r.one_in(2) {
            self.b.load(variable)
        } else {
            self.b.func.zero(ty, self.b.types)
        };
        self.b.store(variable, value);
        if self.types().is_scalar_or_vector(ty) && self.r.one_in(3) {
            self.pool.push(value);
        }
    }

    /// Reads or writes a member of a structure, or a component of a vector.
    fn member(&mut self) {
        let variable = self.r.pick(&self.variables);
        let ty = self.b.func.value_type(variable);
        let count = self.types().member_count(ty);
        if count == 0 {
            return;
        }
        let dynamic = count.is_power_of_two() && !self.types().is_struct(ty);
        let index = if dynamic {
            self.index(count - 1)
        } else {
            let n = self.r.below(count as usize) as u32;
            self.b.u32(n)
        };
        let at = self.b.func.constant_bits(index).unwrap_or(0) as u32;
        let element = self.types().element_type(ty, at).unwrap();
        let place = self.b.gep(variable, &[index], element);
        if self.types().is_scalar_or_vector(element) {
            let value = self.value(element, 2);
            self.b.store(place, value);
        } else {
            let value = self.b.load(place);
            self.b.store(place, value);
        }
    }

    fn call(&mut self) {
        let (callee, returned, reference) = self.r.pick(self.callees);
        let places: Vec<ValueId> = self
            .variables
            .iter()
            .copied()
            .filter(|&v| self.b.func.value_type(v) == reference)
            .collect();
        if places.is_empty() {
            return;
        }
        let place = self.r.pick(&places);
        let value = self.value(returned, 1);
        let call = self.b.inst(Op::Call, returned, &[value, place], &[], Imm::Callee(callee));
        let result = self.b.func.result(call).unwrap();
        self.pool.push(result);
    }

    /// Ends the block by `break`, `continue` or `return`; false if it cannot.
    fn leave(&mut self, exits: Exits) -> bool {
        let (op, target) = match (self.r.below(2), exits) {
            (0, Exits { on_break: Some(target), .. }) => (Op::Break, target),
            (1, Exits { on_continue: Some(target), .. }) => (Op::Continue, target),
            _ => return false,
        };
        self.b.inst(op, TypeId::VOID, &[], &[target], Imm::None);
        true
    }

    /// Fills a block and ends it with a branch, unless it has ended.
    fn fill(&mut self, block: BlockId, depth: usize, exits: Exits, after: (Op, BlockId)) {
        self.b.switch_to(block);
        self.statements(depth, exits);
        let end = self.b.block();
        if self.b.func.terminator(end).is_none() {
            self.b.inst(after.0, TypeId::VOID, &[], &[after.1], Imm::None);
        }
    }

    fn branch(&mut self, depth: usize, exits: Exits) {
        let condition = self.value(TypeId::BOOL, 2);
        let [yes, no, merge] = [(); 3].map(|()| self.b.func.append_block());
        self.b.inst(Op::If, TypeId::VOID, &[condition], &[yes, no, merge], Imm::None);
        self.fill(yes, depth, exits, (Op::Br, merge));
        self.fill(no, depth, exits, (Op::Br, merge));
        self.b.switch_to(merge);
    }

    fn switch(&mut self, depth: usize, exits: Exits) {
        let scalar = self.r.pick(&[Scalar::U8, Scalar::I16, Scalar::U32, Scalar::I64]);
        let selector = self.value(TypeId::scalar(scalar), 2);
        let count = 1 + self.r.below(4);
        let blocks: Vec<BlockId> = (0..count + 2).map(|_| self.b.func.append_block()).collect();
        let all = u64::MAX >> (64 - scalar.bits());
        let cases: Vec<u64> = (0..count as u64).map(|i| if i == 2 { all } else { i }).collect();
        let imm = Imm::Cases(cases.into());
        self.b.inst(Op::Switch, TypeId::VOID, &[selector], &blocks, imm);
        let merge = blocks[count + 1];
        for &block in &blocks[..=count] {
            self.fill(block, depth, Exits { on_break: Some(merge), ..exits }, (Op::Br, merge));
        }
        self.b.switch_to(merge);
    }

    /// A variable that nothing else writes.
    fn counter(&mut self) -> ValueId {
        let entry = self.b.func.entry().unwrap();
        let op = Op::Alloca(luisac_xir::op::Space::Local);
        let alloca = self.b.func.create_inst(op, TypeId::U32, &[], &[], Imm::None);
        self.b.func.prepend_inst(entry, alloca);
        self.b.func.result(alloca).unwrap()
    }

    fn count_up(&mut self, counter: ValueId) -> ValueId {
        let value = self.b.load(counter);
        let one = self.b.u32(1);
        let next = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[value, one]);
        self.b.store(counter, next);
        next
    }

    fn counted_loop(&mut self, depth: usize) {
        let counter = self.counter();
        let zero = self.b.u32(0);
        self.b.store(counter, zero);
        let [prepare, body, update, merge] = [(); 4].map(|()| self.b.func.append_block());
        self.b.inst(Op::Loop, TypeId::VOID, &[], &[prepare, body, update, merge], Imm::None);
        self.b.switch_to(prepare);
        let limit = self.index(3);
        let value = self.b.load(counter);
        let go_on = self.b.arithmetic(ArithmeticOp::BinaryLess, &[value, limit]);
        self.b.cond_br(go_on, body, merge);
        let exits = Exits { on_break: Some(merge), on_continue: Some(update) };
        self.fill(body, depth, exits, (Op::Br, update));
        self.b.switch_to(update);
        self.count_up(counter);
        self.b.br(prepare);
        self.b.switch_to(merge);
    }

    fn endless_loop(&mut self, depth: usize) {
        let counter = self.counter();
        let zero = self.b.u32(0);
        self.b.store(counter, zero);
        let [body, merge, leave, stay, inside] = [(); 5].map(|()| self.b.func.append_block());
        self.b.inst(Op::SimpleLoop, TypeId::VOID, &[], &[body, merge], Imm::None);
        self.b.switch_to(body);
        let next = self.count_up(counter);
        let limit = self.b.u32(3);
        let done = self.b.arithmetic(ArithmeticOp::BinaryGreater, &[next, limit]);
        self.b.inst(Op::If, TypeId::VOID, &[done], &[leave, stay, inside], Imm::None);
        self.b.switch_to(leave);
        self.b.inst(Op::Break, TypeId::VOID, &[], &[merge], Imm::None);
        self.b.switch_to(stay);
        self.b.br(inside);
        let exits = Exits { on_break: Some(merge), on_continue: Some(body) };
        self.fill(inside, depth, exits, (Op::Br, body));
        self.b.switch_to(merge);
    }

    // ---- ends

    fn finish_callable(&mut self, returned: TypeId) {
        let value = self.value(returned, 2);
        self.b.ret(Some(value));
    }

    /// Writes all variables as words, and returns.
    fn finish_kernel(&mut self, output: ValueId, index: ValueId) {
        let _ = self.is_kernel;
        let width = self.b.u32(WORDS);
        let base = self.b.arithmetic(ArithmeticOp::BinaryMul, &[index, width]);
        let mut words = Vec::new();
        for variable in self.variables.clone() {
            let whole = self.b.load(variable);
            self.words(whole, &mut words);
        }
        for (i, word) in words.into_iter().take(WORDS as usize).enumerate() {
            let i = self.b.u32(i as u32);
            let at = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[base, i]);
            self.b.effect(Op::ResourceWrite(ResourceWriteOp::BufferWrite), &[output, at, word]);
        }
        self.b.ret(None);
    }

    /// The scalars of a value as words; NaN as one pattern.
    fn words(&mut self, value: ValueId, out: &mut Vec<ValueId>) {
        let ty = self.b.func.value_type(value);
        for i in 0..self.types().member_count(ty) {
            let part = self.b.extract(value, i);
            self.words(part, out);
        }
        if !self.types().is_scalar(ty) {
            return;
        }
        let scalar = self.types().scalar_of(ty).unwrap();
        if scalar == Scalar::Bool || scalar.is_int() {
            out.push(self.b.static_cast(value, TypeId::U32));
            return;
        }
        let double = self.b.static_cast(value, TypeId::F64);
        let is_nan = self.b.arithmetic(ArithmeticOp::Isnan, &[double]);
        let bits = self.b.value(Op::Cast(CastOp::Bitwise), TypeId::U64, &[double]);
        let shift = self.b.u32(27);
        let high = self.b.arithmetic(ArithmeticOp::BinaryShiftRight, &[bits, shift]);
        let word = self.b.static_cast(high, TypeId::U32);
        let pattern = self.b.u32(0x7fc0_0000);
        let word = self.b.arithmetic(ArithmeticOp::Select, &[word, pattern, is_nan]);
        out.push(word);
    }
}

//! The shapes. Each has about so many instructions as asked for, and computes something that reaches the output.

use luisac_xir::op::{ArithmeticOp, ResourceReadOp, ResourceWriteOp, Space, SpecialRegister};
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, FunctionId, FunctionKind, Imm, Module, Op, TypeId,
    TypeTable, ValueId,
};

/// A shape.
pub struct Ladder {
    pub name: &'static str,
    /// The module of about `size` instructions.
    pub build: fn(usize) -> Module,
}

/// All shapes.
pub static LADDERS: &[Ladder] = &[
    Ladder { name: "straight", build: straight },
    Ladder { name: "nested_ifs", build: nested_ifs },
    Ladder { name: "nested_loops", build: nested_loops },
    Ladder { name: "loops_in_a_row", build: loops_in_a_row },
    Ladder { name: "counted_loops", build: counted_loops },
    Ladder { name: "wide_switch", build: wide_switch },
    Ladder { name: "many_allocas", build: many_allocas },
    Ladder { name: "many_loads", build: many_loads },
    Ladder { name: "call_chain", build: call_chain },
    Ladder { name: "big_constant", build: big_constant },
];

/// A kernel under construction: `buffer<uint>` in, one word out.
struct Kernel<'a> {
    b: Builder<'a>,
    buffer: ValueId,
    index: ValueId,
}

/// A module whose kernel is filled by `fill`, which gives the word to write; `arrays` are the lengths of arrays it may use.
fn kernel(arrays: &[u32], fill: impl FnOnce(&mut Kernel<'_>) -> ValueId) -> Module {
    let mut module = Module::new();
    for &len in arrays {
        module.types.array(TypeId::U32, len).expect("an array of words is a type");
    }
    add_kernel(&mut module, fill);
    module
}

fn add_kernel(module: &mut Module, fill: impl FnOnce(&mut Kernel<'_>) -> ValueId) {
    let buffer = module.types.buffer(TypeId::U32).expect("a buffer of words is a type");
    let types = module.types.clone();
    let kind = FunctionKind::Kernel { block_size: [64, 1, 1] };
    let mut f = Function::new("k", kind, TypeId::VOID);
    let buffer = f.add_argument(ArgumentKind::Resource, buffer, None, false);
    let entry = f.append_block();
    let id = f.special(SpecialRegister::DispatchId);
    let mut b = Builder::at_end(&mut f, &types, entry);
    let index = b.extract(id, 0);
    let mut kernel = Kernel { b, buffer, index };
    let word = fill(&mut kernel);
    let write = Op::ResourceWrite(ResourceWriteOp::BufferWrite);
    kernel.b.effect(write, &[buffer, index, word]);
    kernel.b.ret(None);
    module.functions.push(f);
}

impl Kernel<'_> {
    fn array(&self, len: u32) -> TypeId {
        let kind = luisac_xir::TypeKind::Array { elem: TypeId::U32, len };
        self.b.types.get(&kind).expect("the array was interned")
    }

    fn read(&mut self, at: ValueId) -> ValueId {
        self.b.value(Op::ResourceRead(ResourceReadOp::BufferRead), TypeId::U32, &[self.buffer, at])
    }

    fn op(&mut self, op: ArithmeticOp, a: ValueId, b: ValueId) -> ValueId {
        self.b.arithmetic(op, &[a, b])
    }

    fn blocks<const N: usize>(&mut self) -> [BlockId; N] {
        [(); N].map(|()| self.b.func.append_block())
    }
}

/// An operation of a mix that no identity collapses.
fn mixed(i: usize) -> ArithmeticOp {
    use ArithmeticOp::*;
    [BinaryAdd, BinaryMul, BinaryBitXor, BinarySub, BinaryBitOr][i % 5]
}

fn straight(size: usize) -> Module {
    kernel(&[], |k| {
        let (mut a, mut b) = (k.read(k.index), k.index);
        for i in 0..size {
            let next = k.op(mixed(i), a, b);
            (a, b) = (next, a);
        }
        a
    })
}

fn nested_ifs(size: usize) -> Module {
    kernel(&[], |k| {
        let variable = k.b.alloca(TypeId::U32);
        let start = k.read(k.index);
        k.b.store(variable, start);
        let mut merges = Vec::new();
        for i in 0..size / 8 {
            let value = k.b.load(variable);
            let limit = k.b.u32(i as u32 + 7);
            let condition = k.op(ArithmeticOp::BinaryGreater, value, limit);
            let [yes, no, merge] = k.blocks();
            k.b.inst(Op::If, TypeId::VOID, &[condition], &[yes, no, merge], Imm::None);
            k.b.switch_to(no);
            k.b.br(merge);
            k.b.switch_to(yes);
            let sum = k.op(mixed(i), value, k.index);
            k.b.store(variable, sum);
            merges.push(merge);
        }
        while let Some(merge) = merges.pop() {
            k.b.br(merge);
            k.b.switch_to(merge);
        }
        k.b.load(variable)
    })
}

/// Blocks of a loop that counts `counter` to a limit read from memory: prepare, body, update, merge.
fn open_loop(k: &mut Kernel<'_>, counter: ValueId, limit: ValueId) -> [BlockId; 4] {
    let zero = k.b.u32(0);
    k.b.store(counter, zero);
    let blocks = k.blocks();
    let [prepare, body, _, merge] = blocks;
    k.b.inst(Op::Loop, TypeId::VOID, &[], &blocks, Imm::None);
    k.b.switch_to(prepare);
    let value = k.b.load(counter);
    let go_on = k.op(ArithmeticOp::BinaryLess, value, limit);
    k.b.cond_br(go_on, body, merge);
    k.b.switch_to(body);
    blocks
}

fn close_loop(k: &mut Kernel<'_>, counter: ValueId, [prepare, _, update, merge]: [BlockId; 4]) {
    k.b.br(update);
    k.b.switch_to(update);
    let value = k.b.load(counter);
    let one = k.b.u32(1);
    let next = k.op(ArithmeticOp::BinaryAdd, value, one);
    k.b.store(counter, next);
    k.b.br(prepare);
    k.b.switch_to(merge);
}

fn nested_loops(size: usize) -> Module {
    kernel(&[], |k| {
        let sum = k.b.alloca(TypeId::U32);
        let depth = (size / 16).max(1);
        let counters: Vec<ValueId> = (0..depth).map(|_| k.b.alloca(TypeId::U32)).collect();
        let limit = k.read(k.index);
        let mut open = Vec::new();
        for (i, &counter) in counters.iter().enumerate() {
            open.push(open_loop(k, counter, limit));
            let value = k.b.load(sum);
            let next = k.op(mixed(i), value, k.index);
            k.b.store(sum, next);
        }
        for (&counter, blocks) in counters.iter().zip(open).rev() {
            close_loop(k, counter, blocks);
        }
        k.b.load(sum)
    })
}

fn loops_in_a_row(size: usize) -> Module {
    row_of_loops(size, None)
}

/// Loops of three rounds each.
fn counted_loops(size: usize) -> Module {
    row_of_loops(size, Some(3))
}

fn row_of_loops(size: usize, rounds: Option<u32>) -> Module {
    kernel(&[], |k| {
        let (sum, counter) = (k.b.alloca(TypeId::U32), k.b.alloca(TypeId::U32));
        let read = k.read(k.index);
        let limit = rounds.map_or(read, |n| k.b.u32(n));
        for i in 0..size / 16 {
            let blocks = open_loop(k, counter, limit);
            let value = k.b.load(sum);
            let next = k.op(mixed(i), value, k.index);
            k.b.store(sum, next);
            close_loop(k, counter, blocks);
        }
        k.b.load(sum)
    })
}

fn wide_switch(size: usize) -> Module {
    kernel(&[], |k| {
        let variable = k.b.alloca(TypeId::U32);
        let selector = k.read(k.index);
        let count = (size / 4).max(1);
        let blocks: Vec<BlockId> = (0..count + 2).map(|_| k.b.func.append_block()).collect();
        let cases: Vec<u64> = (0..count as u64).collect();
        let imm = Imm::Cases(cases.into());
        k.b.inst(Op::Switch, TypeId::VOID, &[selector], &blocks, imm);
        let merge = blocks[count + 1];
        for (i, &block) in blocks[..=count].iter().enumerate() {
            k.b.switch_to(block);
            let other = k.b.u32(i as u32);
            let value = k.op(mixed(i), selector, other);
            let value = k.op(mixed(i + 1), value, k.index);
            k.b.store(variable, value);
            k.b.br(merge);
        }
        k.b.switch_to(merge);
        k.b.load(variable)
    })
}

fn many_allocas(size: usize) -> Module {
    kernel(&[], |k| {
        let variables: Vec<ValueId> =
            (0..(size / 4).max(1)).map(|_| k.b.alloca(TypeId::U32)).collect();
        let mut value = k.read(k.index);
        for (i, &variable) in variables.iter().enumerate() {
            k.b.store(variable, value);
            let other = variables[(i * 7 + 3) % (i + 1)];
            let loaded = k.b.load(other);
            value = k.op(mixed(i), value, loaded);
        }
        value
    })
}

fn many_loads(size: usize) -> Module {
    kernel(&[16], |k| {
        let array = k.array(16);
        let array = k.b.value(Op::Alloca(Space::Local), array, &[]);
        let mut value = k.read(k.index);
        for i in 0..size / 5 {
            let at = match i % 3 {
                0 => k.op(ArithmeticOp::BinaryBitAnd, value, k.index),
                _ => k.b.u32(i as u32 % 16),
            };
            let fifteen = k.b.u32(15);
            let at = k.op(ArithmeticOp::BinaryBitAnd, at, fifteen);
            let place = k.b.gep(array, &[at], TypeId::U32);
            let loaded = k.b.load(place);
            let read = k.read(loaded);
            value = k.op(mixed(i), value, read);
            if i % 4 == 0 {
                k.b.store(place, value);
            }
        }
        value
    })
}

fn call_chain(size: usize) -> Module {
    let mut module = Module::new();
    let mut callee: Option<FunctionId> = None;
    for i in 0..(size / 8).max(1) {
        let f = link(&module.types, i, callee);
        callee = Some(module.functions.push(f));
    }
    add_kernel(&mut module, |k| {
        let value = k.read(k.index);
        let imm = callee.map_or(Imm::None, Imm::Callee);
        let call = k.b.inst(Op::Call, TypeId::U32, &[value], &[], imm);
        k.b.func.result(call).expect("the callable gives a word")
    });
    module
}

/// A callable that computes a little and calls the one before.
fn link(types: &TypeTable, number: usize, callee: Option<FunctionId>) -> Function {
    let mut f = Function::new(format!("f{number}"), FunctionKind::Callable, TypeId::U32);
    let argument = f.add_argument(ArgumentKind::Value, TypeId::U32, None, false);
    let entry = f.append_block();
    let mut b = Builder::at_end(&mut f, types, entry);
    let mut value = argument;
    for i in 0..5 {
        let other = b.u32((number + i) as u32 + 3);
        value = b.arithmetic(mixed(number + i), &[value, other]);
    }
    if let Some(callee) = callee {
        let call = b.inst(Op::Call, TypeId::U32, &[value], &[], Imm::Callee(callee));
        value = b.func.result(call).expect("the callable gives a word");
    }
    b.ret(Some(value));
    f
}

/// One constant of as many words, looked up a hundred times.
fn big_constant(size: usize) -> Module {
    let len = size as u32;
    kernel(&[len], |k| {
        let ty = k.array(len);
        let bytes: Vec<u8> =
            (0..len).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let table = k.b.func.constant(ty, bytes);
        let variable = k.b.alloca(ty);
        k.b.store(variable, table);
        let mut value = k.read(k.index);
        for i in 0..100 {
            let count = k.b.u32(len);
            let at = k.op(ArithmeticOp::BinaryMod, value, count);
            let found = if i % 2 == 0 {
                k.b.value(Op::Arithmetic(ArithmeticOp::Extract), TypeId::U32, &[table, at])
            } else {
                let place = k.b.gep(variable, &[at], TypeId::U32);
                k.b.load(place)
            };
            value = k.op(mixed(i), value, found);
        }
        value
    })
}

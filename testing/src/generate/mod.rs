//! Random kernels without undefined behaviour: a result that changes is a miscompilation.
//!
//! What makes a result defined: every loop ends, every index is masked or taken modulo a length, the payload of a NaN is never
//! seen, threads touch each other's memory only between barriers that all of them reach or by atomics that commute, and no two
//! threads print into one order. The interpreter confirms it: the run of the kernel as made looks for every kind of undefined
//! behaviour, data races included.

mod features;
mod output;
mod resources;
mod statements;
mod threads;
mod values;

pub use features::Features;

use crate::case::Case;
use crate::random::Random;
use luisac_xir::interp::{Arg, Launch};
use luisac_xir::op::{ArithmeticOp, SpecialRegister};
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, FunctionId, FunctionKind, Module, Scalar, TypeId,
    TypeKind, TypeTable, ValueId,
};
use resources::Resources;
use threads::Shared;

/// Words of the output of each thread.
pub(crate) const WORDS: u32 = 24;
/// Elements of the thread's part of the typed buffer.
const OWN: u32 = 4;
/// Bytes of the thread's part of the byte buffer.
const BYTES: u32 = 64;
/// Bytes of the buffer that the first thread has for itself.
const TABLE: u32 = 64;
/// Operations on one cell of the counters are of one kind each; so many cells a kind.
const CELLS: u32 = 4;

/// Where `break` and `continue` lead.
#[derive(Clone, Copy, Default)]
struct Exits {
    on_break: Option<BlockId>,
    on_continue: Option<BlockId>,
}

/// What a callable takes and gives.
#[derive(Clone)]
struct Callee {
    id: FunctionId,
    returned: TypeId,
    params: Vec<(ArgumentKind, TypeId)>,
}

/// The arguments and registers of a kernel that statements use.
#[derive(Clone, Copy)]
struct Kernel {
    input: ValueId,
    output: ValueId,
    /// The typed buffer and its element.
    own: (ValueId, TypeId),
    bytes: ValueId,
    /// The counters and their element.
    counters: (ValueId, TypeId),
    /// A buffer of one cell a thread, and the element.
    cells: (ValueId, TypeId),
    /// Position of the thread in the dispatch, and in its block.
    index: ValueId,
    thread: ValueId,
    uniform: ValueId,
    shared: Option<Shared>,
    resources: Resources,
}

struct Generator<'a> {
    b: Builder<'a>,
    r: &'a mut Random,
    features: Features,
    palette: &'a [Scalar],
    /// Structures, arrays and matrices.
    composites: &'a [TypeId],
    operations: &'a [ArithmeticOp],
    variables: Vec<ValueId>,
    /// Elements of variables that were named before.
    places: Vec<ValueId>,
    /// Values that dominate what follows.
    pool: Vec<ValueId>,
    callees: &'a [Callee],
    budget: usize,
    kernel: Option<Kernel>,
    /// The buffer of words that is only read, and how many are sure to be there.
    input: Option<(ValueId, u32)>,
    /// Whether all threads of the block that have not ended are here.
    uniform: bool,
    loops: usize,
}

/// What all functions of a kernel share.
struct Plan {
    features: Features,
    palette: Vec<Scalar>,
    composites: Vec<TypeId>,
    operations: Vec<ArithmeticOp>,
}

impl Plan {
    fn new(r: &mut Random, types: &mut TypeTable, features: Features) -> Plan {
        let mut palette = vec![Scalar::Bool, Scalar::U32, Scalar::I32, Scalar::F32];
        let groups: [(bool, &[Scalar]); 4] = [
            (features.halves, &[Scalar::F16]),
            (features.doubles, &[Scalar::F64]),
            (features.narrow, &[Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16]),
            (features.longs, &[Scalar::I64, Scalar::U64]),
        ];
        for (there, scalars) in groups {
            palette.extend(scalars.iter().filter(|_| there));
        }
        let mut composites = Vec::new();
        if features.matrices {
            composites.extend((2..=4).map(TypeId::matrix));
        }
        if features.aggregates {
            for _ in 0..1 + r.below(3) {
                let ty = aggregate(r, types, &palette, &composites, features.vectors);
                composites.push(ty);
            }
        }
        let operations = ArithmeticOp::ALL.iter().copied();
        let operations = operations.filter(|&op| {
            let transcendental = (ArithmeticOp::Acos..=ArithmeticOp::Rsqrt).contains(&op);
            !luisac_xir::math::composite::is_movement(op) && (features.math || !transcendental)
        });
        Plan { features, operations: operations.collect(), palette, composites }
    }

    fn data(&self, r: &mut Random) -> TypeId {
        match self.composites.is_empty() || !r.one_in(3) {
            true => self.scalar_or_vector(r),
            false => r.pick(&self.composites),
        }
    }

    fn scalar_or_vector(&self, r: &mut Random) -> TypeId {
        let dim = if self.features.vectors && r.one_in(2) { 2 + r.below(3) as u8 } else { 1 };
        TypeId::vector(r.pick(&self.palette), dim)
    }
}

/// An array or a structure of small things.
fn aggregate(
    r: &mut Random,
    types: &mut TypeTable,
    palette: &[Scalar],
    inner: &[TypeId],
    vectors: bool,
) -> TypeId {
    let element = |r: &mut Random| match r.below(4) {
        0 if !inner.is_empty() => r.pick(inner),
        1 if vectors => TypeId::vector(r.pick(palette), 2 + r.below(3) as u8),
        _ => TypeId::scalar(r.pick(palette)),
    };
    if r.one_in(2) {
        let elem = element(r);
        let len = if types.member_count(elem) > 3 { 2 } else { 2 + r.below(4) as u32 };
        return types.array(elem, len).expect("a small array is a type");
    }
    let members: Vec<TypeId> = (0..1 + r.below(3)).map(|_| element(r)).collect();
    types.structure(0, members).expect("a small structure is a type")
}

/// The kernel of a seed, with half of the language at random.
pub fn case(seed: u64) -> Case {
    let mut r = Random::new(seed);
    let features = Features::random(&mut r);
    case_with(seed, features)
}

/// The kernel of a seed that uses these parts of the language.
pub fn case_with(seed: u64, features: Features) -> Case {
    let mut r = Random::new(seed ^ 0x5bd1_e995);
    let mut module = Module::new();
    let plan = Plan::new(&mut r, &mut module.types, features);
    let mut callees: Vec<Callee> = Vec::new();
    if features.calls {
        for i in 0..1 + r.below(3) {
            let callee = callable(&mut r, &mut module, &plan, &callees, i);
            callees.push(callee);
        }
    }
    let shape = r.pick(&[[8, 1, 1], [16, 1, 1], [4, 2, 1], [2, 2, 4]]);
    let blocks = 1 + r.below(2) as u32;
    // Only whole blocks share memory: a thread that does not run leaves its part unwritten.
    let cut = if features.shared { 0 } else { r.below(2) as u32 };
    let dispatch = [shape[0] * blocks - cut, shape[1], shape[2]];
    let threads = dispatch.iter().product();
    let args = kernel(&mut r, &mut module, &plan, &callees, shape, threads);
    let launch =
        Launch { wave_width: r.pick(&[4, 8]), max_steps: Some(1 << 21), ..Launch::new(dispatch) };
    Case { seed, module, args, launch }
}

/// A module of many kernels, and of callables that they share.
pub fn library(seed: u64, kernels: usize) -> Module {
    let mut r = Random::new(seed ^ 0x3c6e_f372);
    let mut module = Module::new();
    let plan = Plan::new(&mut r, &mut module.types, Features::ALL);
    let mut callees: Vec<Callee> = Vec::new();
    for i in 0..4 {
        let callee = callable(&mut r, &mut module, &plan, &callees, i);
        callees.push(callee);
    }
    for i in 0..kernels {
        kernel(&mut r, &mut module, &plan, &callees, [8, 1, 1], 8);
        let last = module.functions.last().map(|(id, _)| id).expect("a kernel was added");
        module.functions[last].name = format!("k{i}");
    }
    module
}

fn callable(
    r: &mut Random,
    module: &mut Module,
    plan: &Plan,
    callees: &[Callee],
    number: usize,
) -> Callee {
    let returned = if r.one_in(5) { TypeId::VOID } else { plan.data(r) };
    let mut params = vec![(ArgumentKind::Value, plan.data(r))];
    let reference = plan.data(r);
    for _ in 0..r.below(3) {
        params.push((ArgumentKind::Reference, reference));
    }
    let references = params.len();
    if r.one_in(3) {
        params.push((ArgumentKind::Resource, module.types.buffer(TypeId::U32).expect("a type")));
    }
    let mut f = Function::new(format!("f{number}"), FunctionKind::Callable, returned);
    let formals: Vec<ValueId> =
        params.iter().map(|&(kind, ty)| f.add_argument(kind, ty, None, false)).collect();
    let entry = f.append_block();
    let types = module.types.clone();
    let budget = 8 + r.below(16);
    let mut g = Generator::new(&mut f, &types, entry, r, plan, callees, budget);
    g.pool.push(formals[0]);
    g.variables.extend(&formals[1..references]);
    g.input = formals.get(references).map(|&buffer| (buffer, resources::LEAST_WORDS));
    g.declare(plan, 3);
    g.body(3);
    g.finish_callable(returned);
    Callee { id: module.functions.push(f), returned, params }
}

/// Adds the kernel, and gives its arguments.
fn kernel(
    r: &mut Random,
    module: &mut Module,
    plan: &Plan,
    callees: &[Callee],
    block_size: [u32; 3],
    threads: u32,
) -> Vec<Arg> {
    let words = module.types.buffer(TypeId::U32).expect("a type");
    let element = plan.data(r);
    let own_ty = module.types.buffer(element).expect("a type");
    let raw = module.types.buffer(TypeId::VOID).expect("a type");
    let counter = r.pick(&[TypeId::U32, TypeId::I32, TypeId::U64, TypeId::I64]);
    let counters_ty = module.types.buffer(counter).expect("a type");
    let cell = r.pick(&[TypeId::U32, TypeId::I32, TypeId::U64, TypeId::F32]);
    let cells_ty = module.types.buffer(cell).expect("a type");
    let uniform_ty = plan.scalar_or_vector(r);
    let (storage, texel) = resources::image(r.below(5));
    let image_ty = module.types.texture(2, texel).expect("a type");
    let slots_ty = module.types.intern(TypeKind::BindlessArray).expect("a type");
    let columns_ty = module.types.texture(2, Scalar::F32).expect("a type");
    let block_threads = block_size.iter().product();
    let slot = plan.scalar_or_vector(r);
    let mut array = |elem, len| module.types.array(elem, len).expect("a type");
    let (slots, tally) = (array(slot, block_threads), array(TypeId::U32, 4));
    let mut f = Function::new("k", FunctionKind::Kernel { block_size }, TypeId::VOID);
    let mut resource = |ty| f.add_argument(ArgumentKind::Resource, ty, None, false);
    let (input, output, own, bytes) =
        (resource(words), resource(words), resource(own_ty), resource(raw));
    let (counters, cells) = (resource(counters_ty), resource(cells_ty));
    let resources = Resources {
        table: resource(raw),
        image: (resource(image_ty), texel),
        columns: resource(columns_ty),
        slots: resource(slots_ty),
    };
    let uniform = f.add_argument(ArgumentKind::Value, TypeId::U32, None, false);
    let value = f.add_argument(ArgumentKind::Value, uniform_ty, None, false);
    let entry = f.append_block();
    let types = module.types.clone();
    let budget = 15 + r.below(45);
    let mut g = Generator::new(&mut f, &types, entry, r, plan, callees, budget);
    g.pool.push(value);
    let shared =
        plan.features.shared.then(|| g.declare_shared(slots, tally, (slot, block_threads)));
    g.declare(plan, 5);
    let id = g.b.func.special(SpecialRegister::DispatchId);
    let size = g.b.func.special(SpecialRegister::DispatchSize);
    let index = g.linear(id, size);
    let id = g.b.func.special(SpecialRegister::ThreadId);
    let size = g.b.func.special(SpecialRegister::BlockSize);
    let thread = g.linear(id, size);
    g.kernel = Some(Kernel {
        input,
        output,
        own: (own, element),
        bytes,
        counters: (counters, counter),
        cells: (cells, cell),
        index,
        thread,
        uniform,
        shared,
        resources,
    });
    g.input = Some((input, threads + 5));
    g.uniform = true;
    g.pool.extend([index, uniform]);
    g.read_inputs();
    g.start_shared();
    g.body(4);
    g.finish_kernel();
    module.functions.push(f);
    let types = &module.types;
    let (columns, _) = resources::image(0);
    let size = |ty: TypeId, count: u32| {
        (types.size(ty).next_multiple_of(types.align(ty).into()) * u64::from(count)) as usize
    };
    vec![
        Arg::Buffer(words_of(r, threads + 5)),
        Arg::Buffer(vec![0; 4 * (threads * WORDS) as usize]),
        Arg::Buffer(small_bytes(r, size(element, threads * OWN))),
        Arg::Buffer(small_bytes(r, (threads * BYTES) as usize)),
        Arg::Buffer(small_bytes(r, size(counter, 5 * CELLS))),
        Arg::Buffer(small_bytes(r, size(cell, threads))),
        Arg::Buffer(small_bytes(r, TABLE as usize)),
        resources::image_argument(
            storage,
            resources::TEXELS,
            resources::TEXELS,
            image_bytes(r, storage),
        ),
        resources::image_argument(
            columns,
            threads,
            resources::ROWS,
            vec![0; (threads * resources::ROWS * columns.bytes()) as usize],
        ),
        resources::slots(IMAGE),
        Arg::Value(r.below(6).to_le_bytes()[..4].to_vec()),
        Arg::Value(small_bytes(r, types.size(uniform_ty) as usize)),
    ]
}

/// Small numbers, large ones, and the numbers of the threads.
fn words_of(r: &mut Random, count: u32) -> Vec<u8> {
    let word = |r: &mut Random, i: u32| match r.below(3) {
        0 => i,
        1 => r.below(8) as u32,
        _ => r.word(),
    };
    (0..count).flat_map(|i| word(r, i).to_le_bytes()).collect()
}

/// The position of the image among the kernel's arguments.
const IMAGE: u32 = 7;

/// Bytes of which no float is a NaN.
fn image_bytes(r: &mut Random, storage: luisac_xir::interp::PixelStorage) -> Vec<u8> {
    let count = resources::TEXELS * resources::TEXELS * storage.bytes();
    (0..count).map(|_| r.below(0x40) as u8).collect()
}

/// Mostly zeros, so that integers stay small and few floats are odd.
fn small_bytes(r: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| if r.one_in(4) { r.below(256) as u8 } else { 0 }).collect()
}

impl<'a> Generator<'a> {
    fn new(
        f: &'a mut Function,
        types: &'a TypeTable,
        entry: BlockId,
        r: &'a mut Random,
        plan: &'a Plan,
        callees: &'a [Callee],
        budget: usize,
    ) -> Generator<'a> {
        Generator {
            b: Builder::at_end(f, types, entry),
            r,
            features: plan.features,
            palette: &plan.palette,
            composites: &plan.composites,
            operations: &plan.operations,
            variables: Vec::new(),
            places: Vec::new(),
            pool: Vec::new(),
            callees,
            budget,
            kernel: None,
            input: None,
            uniform: false,
            loops: 0,
        }
    }

    fn types(&self) -> &'a TypeTable {
        self.b.types
    }

    fn ty(&self, value: ValueId) -> TypeId {
        self.b.func.value_type(value)
    }

    fn declare(&mut self, plan: &Plan, scalars: usize) {
        for &ty in &plan.composites {
            let variable = self.b.alloca(ty);
            self.variables.push(variable);
        }
        for _ in 0..scalars {
            let ty = plan.scalar_or_vector(self.r);
            let variable = self.b.alloca(ty);
            self.variables.push(variable);
        }
        let variable = self.b.alloca(TypeId::U32);
        self.variables.push(variable);
    }

    /// `x + y * size.x + z * size.x * size.y`.
    fn linear(&mut self, id: ValueId, size: ValueId) -> ValueId {
        let [x, y, z] = [0, 1, 2].map(|i| self.b.extract(id, i));
        let [width, height] = [0, 1].map(|i| self.b.extract(size, i));
        let slices = self.b.arithmetic(ArithmeticOp::BinaryMul, &[z, height]);
        let rows = self.b.arithmetic(ArithmeticOp::BinaryAdd, &[y, slices]);
        let rows = self.b.arithmetic(ArithmeticOp::BinaryMul, &[rows, width]);
        self.b.arithmetic(ArithmeticOp::BinaryAdd, &[x, rows])
    }
}

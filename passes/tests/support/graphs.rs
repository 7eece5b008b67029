//! Random control-flow graphs, reducible and irreducible, as kernels.

use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::op::{ArithmeticOp, ResourceWriteOp, SpecialRegister, ThreadGroupOp};
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, FunctionKind, Imm, Module, Op, TypeId, ValueId,
};

const THREADS: u32 = 8;
/// Blocks that a thread executes before it heads for the end.
const STEPS: u32 = 60;

/// A small random number generator.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1)
    }
    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Successors of each block: the first leads towards the end, which is the last block.
pub fn graph(r: &mut Random) -> Vec<Vec<usize>> {
    let n = 2 + match r.below(12) {
        0..4 => r.below(6),
        4..11 => r.below(24),
        _ => r.below(200),
    };
    let (window, wide) = (1 + r.below(12), r.below(3));
    let mut edges = Vec::new();
    for i in 0..n - 1 {
        let near = |r: &mut Random| {
            let low = (i + 1).saturating_sub(window).max(1);
            low + r.below((i + window).min(n - 1) - low + 1)
        };
        let mut targets = vec![i + 1 + r.below(window.min(n - 1 - i))];
        let others = match r.below(8) {
            0 if i > 0 && r.one_in(2) => {
                // An early end.
                targets.clear();
                0
            }
            0..3 => 0,
            3 if wide > 0 => 2 + r.below(3),
            _ => 1,
        };
        targets
            .extend((0..others).map(|_| if r.one_in(10) { 1 + r.below(n - 1) } else { near(r) }));
        edges.push(targets);
    }
    edges.push(Vec::new());
    edges
}

/// The variables of the kernel.
struct Variables {
    state: ValueId,
    hash: ValueId,
    steps: ValueId,
}

/// A kernel over this graph: each block mixes its number, and what dominating blocks computed, into a hash.
pub fn kernel(edges: &[Vec<usize>], r: &mut Random) -> Module {
    let mut module = Module::new();
    let words = module.types.buffer(TypeId::U32).unwrap();
    let kind = FunctionKind::Kernel { block_size: [THREADS, 1, 1] };
    let mut func = Function::new("k", kind, TypeId::VOID);
    let out = func.add_argument(ArgumentKind::Resource, words, None, false);
    let blocks: Vec<BlockId> = edges.iter().map(|_| func.append_block()).collect();
    let mut mixed = Vec::new();
    let light = r.one_in(2);
    let mut b = Builder::at_end(&mut func, &module.types, blocks[0]);
    let [state, hash, steps] = [(); 3].map(|()| b.alloca(TypeId::U32));
    let v = Variables { state, hash, steps };
    let id = b.func.special(SpecialRegister::DispatchId);
    let id = b.extract(id, 0);
    b.store(state, id);
    for (i, targets) in edges.iter().enumerate() {
        b.switch_to(blocks[i]);
        if let ([forwards, other], true) = (&targets[..], light && r.one_in(2)) {
            mixed.push(next_random(&mut b, &v));
            let (half, to) = (b.u32(1 << 31), [blocks[*forwards], blocks[*other]]);
            let first = b.arithmetic(ArithmeticOp::BinaryLess, &[mixed[i], half]);
            b.cond_br(first, to[0], to[1]);
            continue;
        }
        mixed.push(block(&mut b, i, &v));
        end(&mut b, mixed[i], targets, &blocks, &v, (out, id));
    }
    let cfg = ControlFlowGraph::compute(&func);
    let dominators = DominatorTree::compute(&func, &cfg);
    let sound = cfg.reverse_post_order().iter().all(|&s| {
        let back = |&&t: &&BlockId| cfg.number(t) <= cfg.number(s);
        func.successors(s).iter().filter(back).all(|&t| dominators.dominates(t, s))
    });
    for (i, &here) in blocks.iter().enumerate() {
        let Some(end) = func.terminator(here) else { continue };
        let mut b = Builder::before(&mut func, &module.types, end);
        if !light && r.one_in(3) && dominators.is_reachable(here) {
            let above: Vec<usize> = (0..blocks.len())
                .filter(|&j| j != i && dominators.dominates(blocks[j], here))
                .collect();
            if !above.is_empty() {
                mix(&mut b, mixed[above[r.below(above.len())]], hash);
            }
        }
        // Which threads meet is a question only where every cycle has one head.
        if sound && r.one_in(4) {
            let yes = b.func.bool_constant(true);
            let op = Op::ThreadGroup(ThreadGroupOp::WarpActiveCountBits);
            let together = b.value(op, TypeId::U32, &[yes]);
            mix(&mut b, together, hash);
        }
    }
    module.functions.push(func);
    module
}

fn mix(b: &mut Builder<'_>, value: ValueId, hash: ValueId) {
    let (old, prime) = (b.load(hash), b.u32(31));
    let scaled = b.arithmetic(ArithmeticOp::BinaryMul, &[old, prime]);
    let new = b.arithmetic(ArithmeticOp::BinaryAdd, &[scaled, value]);
    b.store(hash, new);
}

/// Counts, mixes and gives a new random number.
fn block(b: &mut Builder<'_>, number: usize, v: &Variables) -> ValueId {
    let (steps, one) = (b.load(v.steps), b.u32(1));
    let steps = b.arithmetic(ArithmeticOp::BinaryAdd, &[steps, one]);
    b.store(v.steps, steps);
    let number = b.u32(number as u32 + 1);
    mix(b, number, v.hash);
    let (state, shift) = (next_random(b, v), b.u32(13));
    b.arithmetic(ArithmeticOp::BinaryShiftRight, &[state, shift])
}

fn next_random(b: &mut Builder<'_>, v: &Variables) -> ValueId {
    let (state, factor, term) = (b.load(v.state), b.u32(1_664_525), b.u32(1_013_904_223));
    let state = b.arithmetic(ArithmeticOp::BinaryMul, &[state, factor]);
    let state = b.arithmetic(ArithmeticOp::BinaryAdd, &[state, term]);
    b.store(v.state, state);
    state
}

fn end(
    b: &mut Builder<'_>,
    random: ValueId,
    targets: &[usize],
    blocks: &[BlockId],
    v: &Variables,
    (out, id): (ValueId, ValueId),
) {
    let to: Vec<BlockId> = targets.iter().map(|&t| blocks[t]).collect();
    let (steps, limit) = (b.load(v.steps), b.u32(STEPS));
    let goes_on = b.arithmetic(ArithmeticOp::BinaryLess, &[steps, limit]);
    let goes_on = b.static_cast(goes_on, TypeId::U32);
    let mask = b.u32(if to.len() == 2 { 1 } else { 7 });
    let choice = b.arithmetic(ArithmeticOp::BinaryBitAnd, &[random, mask]);
    let choice = b.arithmetic(ArithmeticOp::BinaryMul, &[choice, goes_on]);
    match to.len() {
        0 => {
            let hash = b.load(v.hash);
            b.effect(Op::ResourceWrite(ResourceWriteOp::BufferWrite), &[out, id, hash]);
            b.ret(None);
        }
        1 => {
            b.br(to[0]);
        }
        2 => {
            let zero = b.u32(0);
            let first = b.arithmetic(ArithmeticOp::BinaryEqual, &[choice, zero]);
            b.cond_br(first, to[0], to[1]);
        }
        n => {
            let cases = (1..n as u64).collect();
            b.inst(Op::IndexedBranch, TypeId::VOID, &[choice], &to, Imm::Cases(cases));
        }
    }
}

/// The words that the threads write.
pub fn run(module: &Module) -> Result<Vec<u8>, String> {
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let mut args = [Arg::Buffer(vec![0; 4 * THREADS as usize])];
    let launch = Launch { max_steps: Some(1 << 20), races: false, ..Launch::new([THREADS, 1, 1]) };
    interp::run(module, kernel, &mut args, &launch).map_err(|f| f.to_string())?;
    match args {
        [Arg::Buffer(bytes)] => Ok(bytes),
        _ => Err("the output is gone".into()),
    }
}

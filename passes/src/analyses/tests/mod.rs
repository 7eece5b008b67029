//! The analyses against their definitions, on random small graphs.

mod facts;
mod graphs;
mod lanes;
mod trips;

use luisac_xir::{BlockId, Function, FunctionKind, Imm, Op, TypeId};

/// A small random number generator (xorshift64*); the same numbers on every run.
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound.max(1)
    }
}

/// A function of `count` blocks that end in random branches; ends are rare if `endless`. Nothing leads to the entry.
fn random_graph(random: &mut Random, count: usize, endless: bool) -> Function {
    let mut f = Function::new("f", FunctionKind::Callable, TypeId::VOID);
    let blocks: Vec<BlockId> = (0..count).map(|_| f.append_block()).collect();
    let condition = f.bool_constant(true);
    for (i, &block) in blocks.iter().enumerate() {
        let target = |random: &mut Random| match random.below(4) {
            _ if count == 1 => blocks[0],
            0 => blocks[1 + random.below(count - 1)],
            // Near ones make nests.
            _ => blocks[1 + (i + random.below(3)).min(count - 2)],
        };
        let (op, args, named) = match random.below(if endless { 40 } else { 8 }) {
            _ if count == 1 => (Op::Return, vec![], vec![]),
            0 => (Op::Return, vec![], vec![]),
            n if n % 8 < 4 => (Op::Br, vec![], vec![target(random)]),
            n if n % 8 < 7 => (Op::CondBr, vec![condition], vec![target(random), target(random)]),
            _ => (Op::IndexedBranch, vec![condition], (0..4).map(|_| target(random)).collect()),
        };
        let end = f.create_inst(op, TypeId::VOID, &args, &named, Imm::None);
        f.append_inst(block, end);
    }
    f
}

/// What `from` leads to over edges that avoid `without`, `from` itself included.
fn reach(
    from: BlockId,
    without: Option<BlockId>,
    successors: impl Fn(BlockId) -> Vec<BlockId>,
) -> Vec<BlockId> {
    let mut seen: Vec<BlockId> = [from].into_iter().filter(|&b| Some(b) != without).collect();
    let mut next = 0;
    while next < seen.len() {
        for target in successors(seen[next]) {
            if Some(target) != without && !seen.contains(&target) {
                seen.push(target);
            }
        }
        next += 1;
    }
    seen
}

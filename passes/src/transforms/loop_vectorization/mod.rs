//! Four rounds of a loop at a time, on vectors.
//!
//! What: an innermost counted loop of a header and one block gets a loop in front that does the work of four rounds in each of
//! its own: arithmetic on scalars becomes arithmetic on vectors of four, reads and writes of resources are done lane by lane.
//! The loop itself stays and runs the rounds that are left, up to three.
//!
//! A phi of the loop must be a recurrence, or a *reduction*: an integer that each round combines with something by an operation
//! that is associative and commutative modulo two to the width, and that nothing else in the loop uses. Its lanes are combined
//! behind the vector loop.
//!
//! Why right: vector arithmetic is that of its components. Reads come before writes within four rounds, hence a loop that writes
//! what it might read stays; writes keep the order of the rounds. Sums of floating-point numbers are not reordered, so such
//! loops stay. The number of rounds is known before: a constant, or the distance from start to bound by steps of one.
//! Cost: linear; the body is bounded.

mod lanes;

use crate::analyses::alias::access;
use crate::analyses::counted::{CountedLoop, Trips};
use crate::analyses::scalar_evolution::{Recurrence, ScalarEvolution, integer, mask};
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use crate::manager::form::Requires;
use crate::transforms::loop_blocks::{LoopGraph, SmallLoop, add_phi_entry, phi_entry, redirect};
use cranelift_entity::SecondaryMap;
use lanes::Lanes;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, CastOp, Rule, Scopes};
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, ValueId};

counters! {
    /// What `loop_vectorization` did.
    Info {
        change vectorized_loop_count "loops that got a loop on vectors in front";
        note vectorized_inst_count "scalar instructions turned into vector instructions";
    }
}

options! {
    /// What is worth it.
    Options {
        max_insts: u64 = 64, "instructions of a body, at most";
        min_trips: u64 = 8, "rounds of a loop whose number is known, at least";
    }
}

/// Rounds that are done at a time.
const LANES: u64 = 4;

/// The pass.
pub struct LoopVectorization;

impl FunctionPass for LoopVectorization {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "the loop in front is made of branches",
        ..Declaration::new(
            "loop_vectorization",
            "does four rounds of a loop at a time",
            "Innermost counted loops of one block, with scalar arithmetic, reads or writes of resources and reductions of \
             integers, get a loop in front that works on vectors of four. In no canned pipeline: GPUs do not gain by it.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let graph = LoopGraph::of(cx.func);
        let evolution = ScalarEvolution::compute(cx.func, cx.types, &graph.cfg, &graph.loops);
        let mut info = Info::default();
        for (this, counted) in graph.counted_loops(cx.func, cx.types) {
            let found = Plan::of(cx.func, cx.types, &graph, &evolution, &this, &counted, options);
            let Some(plan) = found else { continue };
            if !cx.fuel() {
                break;
            }
            info.vectorized_inst_count += plan.apply(cx.func, cx.types);
            info.vectorized_loop_count += 1;
        }
        Ok(info)
    }
}

/// An integer that each round combines with something.
struct Reduction {
    phi: InstId,
    op: ArithmeticOp,
    scalar: Scalar,
    start: ValueId,
    /// The instruction that combines.
    inst: InstId,
}

/// A loop that can be vectorised.
struct Plan<'a> {
    this: &'a SmallLoop,
    counted: &'a CountedLoop,
    recurrences: Vec<Recurrence>,
    reductions: Vec<Reduction>,
    /// Instructions of the loop that are copied as vectors, header first.
    insts: Vec<InstId>,
    /// Instructions that compute the next values of recurrences or the test, and nothing else needs.
    left_out: Vec<InstId>,
}

impl<'a> Plan<'a> {
    fn of(
        func: &Function,
        types: &TypeTable,
        graph: &LoopGraph,
        evolution: &ScalarEvolution,
        this: &'a SmallLoop,
        counted: &'a CountedLoop,
        options: &Options,
    ) -> Option<Plan<'a>> {
        let enough = match counted.trips {
            Trips::Constant(n) => n >= options.min_trips.max(LANES),
            Trips::Up => true,
            _ => false,
        };
        let fits = enough
            && this.blocks.len() == 2
            && counted.body == this.latch
            && !starts_at_recurrence(graph, evolution, counted)
            && this.insts(func).count() as u64 <= options.max_insts
            && this.is_rearrangeable(func)
            && memory_can_be_regrouped(func, this);
        if !fits {
            return None;
        }
        let mut plan = Plan {
            this,
            counted,
            recurrences: Vec::new(),
            reductions: Vec::new(),
            insts: Vec::new(),
            left_out: Vec::new(),
        };
        for phi in func.phis(this.header) {
            match evolution.recurrence(func.result(phi)?) {
                Some(recurrence) => plan.recurrences.push(recurrence),
                None => plan.reductions.push(Reduction::of(func, types, this, phi)?),
            }
        }
        plan.collect(func, types)?;
        Some(plan)
    }

    /// Sorts the instructions; none if one has no vector form.
    fn collect(&mut self, func: &Function, types: &TypeTable) -> Option<()> {
        let mut needed: SecondaryMap<ValueId, bool> = SecondaryMap::new();
        let insts: Vec<InstId> = self
            .this
            .insts(func)
            .filter(|&i| func.op(i) != Op::Phi && !func.op(i).is_terminator())
            .collect();
        for &inst in insts.iter().rev() {
            let reduces = self.reductions.iter().any(|r| r.inst == inst);
            let wanted = func.result(inst).is_some_and(|v| needed[v]);
            if !reduces && !wanted && !matches!(func.op(inst), Op::ResourceWrite(_)) {
                if !func.effects(inst).removable() {
                    return None;
                }
                self.left_out.push(inst);
                continue;
            }
            if !has_vector_form(func, types, inst) {
                return None;
            }
            func.args(inst).iter().for_each(|&arg| needed[arg] = true);
        }
        let leaves_out = |i: &InstId| !self.left_out.contains(i);
        self.insts = insts.into_iter().filter(leaves_out).collect();
        // A loop that does nothing but count gains nothing.
        (!self.insts.is_empty()).then_some(())
    }

    /// Builds the loop; returns how many instructions work on vectors.
    fn apply(self, func: &mut Function, types: &TypeTable) -> u64 {
        let preheader = self.this.preheader;
        let header = func.insert_block_after(preheader);
        let body = func.insert_block_after(header);
        let behind = func.insert_block_after(body);
        let rounds = self.rounds(func, types);
        let mut lanes = Lanes::new(func, types, preheader);
        self.enter(&mut lanes, header, preheader);
        let count = self.body(&mut lanes, header, body);
        self.test(&mut lanes, rounds, [header, body, behind]);
        self.combine(&mut lanes, behind);
        redirect(func, preheader, self.this.header, header);
        count
    }

    /// How often the vector loop runs, as an unsigned number of the counter's width, computed in the preheader.
    fn rounds(&self, func: &mut Function, types: &TypeTable) -> ValueId {
        let counter = func.inst(self.counted.counter.phi).ty;
        let bits = integer(types, counter).map_or(32, |s| s.bits());
        let ty = unsigned(bits);
        if let Trips::Constant(trips) = self.counted.trips {
            return func.scalar_constant(ty, (trips / LANES) & mask(bits), types);
        }
        let zero = func.zero(ty, types);
        let two = func.scalar_constant(ty, 2, types);
        let Some(end) = func.terminator(self.this.preheader) else { return zero };
        let (start, bound) = (self.counted.counter.start, self.counted.bound);
        let mut b = Builder::before(func, types, end);
        let runs = b.arithmetic(ArithmeticOp::BinaryLess, &[start, bound]);
        let distance = b.arithmetic(ArithmeticOp::BinarySub, &[bound, start]);
        let distance = b.bit_cast(distance, ty);
        let trips = b.arithmetic(ArithmeticOp::Select, &[zero, distance, runs]);
        b.arithmetic(ArithmeticOp::BinaryShiftRight, &[trips, two])
    }

    /// Phis of the vector loop, with their entries from the preheader.
    fn enter(&self, lanes: &mut Lanes<'_>, header: BlockId, preheader: BlockId) {
        for recurrence in &self.recurrences {
            let ty = lanes.func.inst(recurrence.phi).ty;
            lanes.phi(recurrence.phi, ty, header, (preheader, recurrence.start));
        }
        for reduction in &self.reductions {
            let ty = TypeId::vector(reduction.scalar, LANES as u8);
            let identity = identity(lanes.func, lanes.types, reduction);
            lanes.phi(reduction.phi, ty, header, (preheader, identity));
        }
    }

    fn body(&self, lanes: &mut Lanes<'_>, header: BlockId, body: BlockId) -> u64 {
        lanes.at = body;
        for recurrence in &self.recurrences {
            lanes.spread(recurrence);
        }
        let mut writes = Vec::new();
        let mut count = 0;
        for &inst in &self.insts {
            if matches!(lanes.func.op(inst), Op::ResourceWrite(_)) {
                writes.push(inst);
            } else {
                lanes.inst(inst);
                count += 1;
            }
        }
        for lane in 0..LANES {
            writes.iter().for_each(|&write| lanes.scalar(write, lane));
        }
        for recurrence in &self.recurrences {
            let ty = lanes.func.inst(recurrence.phi).ty;
            let Some(scalar) = integer(lanes.types, ty) else { continue };
            let step = recurrence.step.wrapping_mul(LANES) & mask(scalar.bits());
            let step = lanes.func.scalar_constant(ty, step, lanes.types);
            let Some(phi) = lanes.phis[recurrence.phi] else { continue };
            let Some(value) = lanes.func.result(phi) else { continue };
            let next = lanes.builder().arithmetic(ArithmeticOp::BinaryAdd, &[value, step]);
            add_phi_entry(lanes.func, phi, body, next);
        }
        for reduction in &self.reductions {
            let next = lanes.func.result(reduction.inst).map(|v| lanes.vector(v));
            if let (Some(phi), Some(next)) = (lanes.phis[reduction.phi], next) {
                add_phi_entry(lanes.func, phi, body, next);
            }
        }
        lanes.builder().br(header);
        count
    }

    /// Counts the rounds of the vector loop.
    fn test(&self, lanes: &mut Lanes<'_>, rounds: ValueId, [header, body, behind]: [BlockId; 3]) {
        let ty = lanes.func.value_type(rounds);
        let (zero, one) =
            (lanes.func.zero(ty, lanes.types), lanes.func.scalar_constant(ty, 1, lanes.types));
        let phi = lanes.func.create_inst(Op::Phi, ty, &[zero], &[self.this.preheader], Imm::None);
        lanes.func.prepend_inst(header, phi);
        let Some(count) = lanes.func.result(phi) else { return };
        let Some(end) = lanes.func.terminator(body) else { return };
        let next = Builder::before(lanes.func, lanes.types, end)
            .arithmetic(ArithmeticOp::BinaryAdd, &[count, one]);
        add_phi_entry(lanes.func, phi, body, next);
        lanes.at = header;
        let mut builder = lanes.builder();
        let goes_on = builder.arithmetic(ArithmeticOp::BinaryLess, &[count, rounds]);
        builder.cond_br(goes_on, body, behind);
    }

    /// Hands what the vector loop has computed to the loop itself.
    fn combine(&self, lanes: &mut Lanes<'_>, behind: BlockId) {
        lanes.at = behind;
        let mut entries: Vec<(InstId, ValueId)> = Vec::new();
        for recurrence in &self.recurrences {
            if let Some(value) = lanes.phis[recurrence.phi].and_then(|p| lanes.func.result(p)) {
                entries.push((recurrence.phi, value));
            }
        }
        for reduction in &self.reductions {
            let Some(vector) = lanes.phis[reduction.phi].and_then(|p| lanes.func.result(p)) else {
                continue;
            };
            let mut builder = lanes.builder();
            let mut sum = reduction.start;
            for lane in 0..LANES as u32 {
                let part = builder.extract(vector, lane);
                sum = builder.arithmetic(reduction.op, &[sum, part]);
            }
            entries.push((reduction.phi, sum));
        }
        lanes.builder().br(self.this.header);
        for (phi, value) in entries {
            let from = lanes.func.inst_blocks(phi).iter().position(|&b| b == self.this.preheader);
            if let Some(i) = from {
                lanes.func.set_arg(phi, i, value);
                lanes.func.inst_blocks_mut(phi)[i] = behind;
            }
        }
    }
}

impl Reduction {
    fn of(func: &Function, types: &TypeTable, this: &SmallLoop, phi: InstId) -> Option<Reduction> {
        let scalar = integer(types, func.inst(phi).ty)?;
        let (value, next) = (func.result(phi)?, phi_entry(func, phi, this.latch)?);
        let start = phi_entry(func, phi, this.preheader)?;
        let inst = func.def_inst(next).filter(|&i| func.inst_block(i) == Some(this.latch))?;
        let Op::Arithmetic(op) = func.op(inst) else { return None };
        let combines = matches!(
            op,
            ArithmeticOp::BinaryAdd
                | ArithmeticOp::BinaryMul
                | ArithmeticOp::BinaryBitAnd
                | ArithmeticOp::BinaryBitOr
                | ArithmeticOp::BinaryBitXor
                | ArithmeticOp::Min
                | ArithmeticOp::Max
        );
        let operands = func.args(inst);
        let once = operands.iter().filter(|&&a| a == value).count() == 1;
        // Nothing in the loop sees how far it has come.
        let only = |value: ValueId, user: InstId| {
            func.uses(value)
                .all(|(u, _)| u == user || func.inst_block(u).is_none_or(|b| !this.contains(b)))
        };
        let fits = combines && once && only(value, inst) && only(next, phi);
        fits.then_some(Reduction { phi, op, scalar, start, inst })
    }
}

/// The value that changes nothing, as a vector.
fn identity(func: &mut Function, types: &TypeTable, reduction: &Reduction) -> ValueId {
    let (bits, is_signed) = (reduction.scalar.bits(), reduction.scalar.is_signed());
    let all = mask(bits);
    let lane = match reduction.op {
        ArithmeticOp::BinaryMul => 1,
        ArithmeticOp::BinaryBitAnd => all,
        ArithmeticOp::Min => {
            if is_signed {
                all >> 1
            } else {
                all
            }
        }
        ArithmeticOp::Max if is_signed => 1 << (bits - 1),
        _ => 0,
    };
    let size = reduction.scalar.size() as usize;
    let ty = TypeId::vector(reduction.scalar, LANES as u8);
    let mut bytes = vec![0; types.size(ty) as usize];
    for i in 0..LANES as usize {
        bytes[i * size..][..size].copy_from_slice(&lane.to_le_bytes()[..size]);
    }
    func.constant(ty, bytes)
}

fn unsigned(bits: u32) -> TypeId {
    TypeId::scalar(match bits {
        8 => Scalar::U8,
        16 => Scalar::U16,
        64 => Scalar::U64,
        _ => Scalar::U32,
    })
}

/// Whether the loop goes on from where another one has come to: then it runs the rounds that are left.
fn starts_at_recurrence(
    graph: &LoopGraph,
    evolution: &ScalarEvolution,
    counted: &CountedLoop,
) -> bool {
    let other = evolution.recurrence(counted.counter.start);
    other.is_some_and(|r| !graph.loops.is_around(r.of_loop, counted.number))
}

/// Whether reads may come before the writes of earlier rounds.
fn memory_can_be_regrouped(func: &Function, this: &SmallLoop) -> bool {
    let (mut reads, mut writes) = (Scopes::NONE, Scopes::NONE);
    for inst in this.insts(func).filter(|&i| !func.op(i).is_terminator()) {
        let effects = access(func, inst).effects;
        reads = reads.union(effects.reads);
        writes = writes.union(effects.writes);
    }
    !reads.intersects(writes)
}

/// Whether an instruction can be done for four rounds: its parts are scalars, and a vector operation does each part alone.
fn has_vector_form(func: &Function, types: &TypeTable, inst: InstId) -> bool {
    let is_plain = |ty: TypeId| types.is_scalar(ty);
    let result = func.inst(inst).ty;
    let operands_are_plain =
        || is_plain(result) && func.args(inst).iter().all(|&a| is_plain(func.value_type(a)));
    match func.op(inst) {
        Op::Arithmetic(op) => {
            let by_component = matches!(
                op.rule(),
                Rule::Numeric
                    | Rule::Float
                    | Rule::Bits
                    | Rule::Shift
                    | Rule::Order
                    | Rule::Equality
                    | Rule::Select
                    | Rule::BitCount
                    | Rule::FloatTest
            );
            by_component && operands_are_plain()
        }
        Op::Cast(CastOp::Static) => operands_are_plain(),
        Op::ResourceRead(_) | Op::ResourceWrite(_) => {
            let fits = |&a: &ValueId| func.is_resource(a) || is_plain(func.value_type(a));
            (result == TypeId::VOID || is_plain(result)) && func.args(inst).iter().all(fits)
        }
        _ => false,
    }
}

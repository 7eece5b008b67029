//! Two counted loops, one behind the other, become one.
//!
//! What: where the exit of a counted loop enters another one that runs as often, the second loop's rounds follow those of the
//! first one by one. What lies between must be pure and is computed before.
//!
//! ```text
//! P -> H1: test ? B1 : X; L1 -> H1; X -> H2: test ? B2 : Y; L2 -> H2
//! becomes  P -> H1: test ? B1 : X; L1 -> B2; L2 -> H1; X -> Y
//! ```
//!
//! Why right: both loops end and run the same number of rounds: both a constant number, or from one start to one bound by
//! steps of one. Nothing in the second loop uses a value of the first, and no access of the one meets one of the other that
//! writes (`analyses::alias`: different buffers may be one), so that the order of their rounds does not matter. Loops with
//! volatile or convergent operations stay.
//! Cost: linear; the accesses that are compared pair by pair are bounded.

use super::loop_blocks::{LoopGraph, MAX_ENTRIES, SmallLoop, is_pure, redirect};
use crate::analyses::alias::{Access, access};
use crate::analyses::counted::{CountedLoop, Trips};
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::Requires;
use luisac_xir::{BlockId, Function, InstId, Op};
use rustc_hash::FxHashMap;

counters! {
    /// What `loop_fusion` did.
    Info {
        change fused_loop_count "loops joined to the loop in front of them";
    }
}

/// More accesses of one loop are not compared.
const MAX_ACCESSES: usize = 64;

/// The pass.
pub struct LoopFusion;

impl FunctionPass for LoopFusion {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "the second loop's construct would lose its blocks",
        ..Declaration::new(
            "loop_fusion",
            "joins loops that run as often",
            "Two innermost counted loops, one behind the other, with equal numbers of rounds and without accesses that meet \
             become one loop. In no canned pipeline: whether it pays depends on the memory that the loops touch.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let graph = LoopGraph::of(cx.func);
        let loops = graph.counted_loops(cx.func, cx.types);
        let by_preheader: FxHashMap<BlockId, usize> =
            loops.iter().enumerate().map(|(i, (l, _))| (l.preheader, i)).collect();
        // Loops that are or were part of a pair; their facts do not hold any more.
        let mut used = vec![false; loops.len()];
        let mut info = Info::default();
        let mut order: Vec<usize> = (0..loops.len()).collect();
        order.sort_unstable_by_key(|&i| graph.cfg.number(loops[i].0.header));
        for i in order {
            let Some(&j) = by_preheader.get(&loops[i].1.exit) else { continue };
            let pair = Pair { first: &loops[i], second: &loops[j] };
            if used[i] || used[j] || i == j || !pair.can_fuse(cx.func, &graph) {
                continue;
            }
            if !cx.fuel() {
                break;
            }
            pair.fuse(cx.func);
            (used[i], used[j]) = (true, true);
            info.fused_loop_count += 1;
        }
        Ok(info)
    }
}

type Loop = (SmallLoop, CountedLoop);

struct Pair<'a> {
    first: &'a Loop,
    second: &'a Loop,
}

impl Pair<'_> {
    fn can_fuse(&self, func: &Function, graph: &LoopGraph) -> bool {
        let ((first, a), (second, b)) = (self.first, self.second);
        let between = a.exit;
        let has_plain_ends = |l: &SmallLoop, c: &CountedLoop| {
            c.body != l.header && graph.cfg.predecessors(c.body).len() == 1
        };
        let header_is_pure = func
            .insts(second.header)
            .all(|i| func.op(i) == Op::Phi || func.op(i).is_terminator() || is_pure(func, i));
        let between_is_pure = func.insts(between).all(|i| func.op(i) == Op::Br || is_pure(func, i));
        same_trips(a, b)
            && graph.cfg.predecessors(between).len() == 1
            && graph.cfg.predecessors(b.exit).len() <= MAX_ENTRIES
            && has_plain_ends(first, a)
            && has_plain_ends(second, b)
            && header_is_pure
            && between_is_pure
            && first.is_rearrangeable(func)
            && second.is_rearrangeable(func)
            && self.is_independent(func, between)
            && self.accesses_never_meet(func)
    }

    /// Whether neither the second loop nor what lies between uses a value of the first.
    fn is_independent(&self, func: &Function, between: BlockId) -> bool {
        let mut insts = self.second.0.insts(func).chain(func.insts(between));
        insts.all(|i| func.args(i).iter().all(|&v| !self.first.0.defines(func, v)))
    }

    fn accesses_never_meet(&self, func: &Function) -> bool {
        let (first, second) = (accesses(func, &self.first.0), accesses(func, &self.second.0));
        first.len() <= MAX_ACCESSES
            && second.len() <= MAX_ACCESSES
            && first.iter().all(|a| second.iter().all(|b| !a.conflicts(b, func)))
    }

    fn fuse(&self, func: &mut Function) {
        let ((first, a), (second, b)) = (self.first, self.second);
        let between = a.exit;
        let Some(entry_end) = func.terminator(first.preheader) else { return };
        let Some(test) = func.terminator(first.header) else { return };
        let pure: Vec<InstId> = func.insts(between).filter(|&i| func.op(i) != Op::Br).collect();
        for inst in pure {
            func.unlink_inst(inst);
            func.insert_before(inst, entry_end);
        }
        func.rename_phi_predecessor(first.header, first.latch, second.latch);
        let phis: Vec<InstId> = func.phis(second.header).collect();
        for &phi in phis.iter().rev() {
            func.unlink_inst(phi);
            func.prepend_inst(first.header, phi);
            for from in func.inst_blocks_mut(phi) {
                if *from == between {
                    *from = first.preheader;
                }
            }
        }
        let own: Vec<InstId> =
            func.insts(second.header).filter(|&i| !func.op(i).is_terminator()).collect();
        for inst in own {
            func.unlink_inst(inst);
            func.insert_before(inst, test);
        }
        redirect(func, first.latch, first.header, b.body);
        func.rename_phi_predecessor(b.body, second.header, first.latch);
        redirect(func, second.latch, second.header, first.header);
        redirect(func, between, second.header, b.exit);
        func.rename_phi_predecessor(b.exit, second.header, between);
        func.remove_block(second.header);
    }
}

/// Whether both loops end after the same number of rounds.
fn same_trips(a: &CountedLoop, b: &CountedLoop) -> bool {
    match (a.trips, b.trips) {
        (Trips::Constant(x), Trips::Constant(y)) => x == y,
        (Trips::Up, Trips::Up) | (Trips::Down, Trips::Down) => {
            a.counter.start == b.counter.start && a.bound == b.bound
        }
        _ => false,
    }
}

/// What a loop accesses.
fn accesses(func: &Function, this: &SmallLoop) -> Vec<Access> {
    this.insts(func)
        .filter(|&i| !func.op(i).is_terminator())
        .map(|i| access(func, i))
        .filter(|a| !a.effects.reads.is_empty() || !a.effects.writes.is_empty())
        .collect()
}

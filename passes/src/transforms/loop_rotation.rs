//! Loops that test at the top become loops that test at the bottom, behind a test that guards the first round.
//!
//! What: the header's test moves to where the loop is entered and to where it leads back; each place gets a copy of what the
//! header computes. Values of the header that the rounds use become phis, values that are used behind the loop become phis of
//! a block in front of its exit.
//!
//! ```text
//! P -> H; H: test ? B : X; ... L -> H    becomes    P: test ? N : E; N -> H; H -> B; ... L: test ? H : E; E -> X
//! ```
//!
//! Why right: the same instructions run in the same order as before, only in other blocks. The header may read memory, since a
//! copy reads when the header did; it must not write, and nothing in the loop acts over several threads.
//! Profit: one branch a round, and the body is sure to run once the loop is entered, so that `licm` may move reads to the block
//! that enters it, `N`.
//! Cost: linear; the copies are bounded by `max_insts`.

use super::loop_blocks::{
    Copies, LoopGraph, MAX_ENTRIES, SmallLoop, add_phi_entry, phi_entry, use_block,
};
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use crate::manager::form::Requires;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, TypeId, ValueId};

counters! {
    /// What `loop_rotation` did.
    Info {
        change rotated_loop_count "loops that test at the bottom now";
        note copied_inst_count "instructions copied";
    }
}

options! {
    /// What is small.
    Options {
        max_insts: u64 = 32, "instructions of a header, at most";
    }
}

/// The pass.
pub struct LoopRotation;

impl FunctionPass for LoopRotation {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT,
        why: "a structured loop tests where its prepare block ends",
        ..Declaration::new(
            "loop_rotation",
            "tests loops at the bottom",
            "Innermost loops that test in their header test where they lead back instead, and once before the first round. \
             Loops with wave operations, barriers or calls stay.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let graph = LoopGraph::of(cx.func);
        let mut info = Info::default();
        for this in graph.small_loops(cx.func) {
            let Some(rotation) = Rotation::plan(cx.func, &graph, &this, options) else { continue };
            if !cx.fuel() {
                break;
            }
            info.copied_inst_count += 2 * rotation.own.len() as u64;
            rotation.apply(cx.func);
            info.rotated_loop_count += 1;
        }
        Ok(info)
    }
}

/// A loop that can be rotated.
struct Rotation<'a> {
    this: &'a SmallLoop,
    body: BlockId,
    exit: BlockId,
    goes_on_if: bool,
    /// What the header computes.
    own: Vec<InstId>,
    /// Values of the header, with the uses of each behind the exit.
    leaving: Vec<(ValueId, Vec<(InstId, usize)>)>,
}

impl<'a> Rotation<'a> {
    fn plan(
        func: &Function,
        graph: &LoopGraph,
        this: &'a SmallLoop,
        options: &Options,
    ) -> Option<Rotation<'a>> {
        let test = func.terminator(this.header).filter(|&t| func.op(t) == Op::CondBr)?;
        let &[yes, no] = func.successors_of(test) else { return None };
        let (body, exit, goes_on_if) = match (this.contains(yes), this.contains(no)) {
            (true, false) => (yes, no, true),
            (false, true) => (no, yes, false),
            _ => return None,
        };
        let own: Vec<InstId> =
            func.insts(this.header).filter(|&i| i != test && func.op(i) != Op::Phi).collect();
        let copies = |&inst: &InstId| {
            let effects = func.effects(inst);
            func.result(inst).is_some_and(|v| !func.is_lvalue(v)) && effects.removable()
        };
        let fits = own.len() as u64 <= options.max_insts
            && own.iter().all(copies)
            && body != this.header
            && graph.cfg.predecessors(exit).len() <= MAX_ENTRIES
            && this.is_rearrangeable(func);
        if !fits {
            return None;
        }
        let mut leaving = Vec::new();
        for inst in func.insts(this.header) {
            let Some(value) = func.result(inst) else { continue };
            let mut uses = Vec::new();
            for (user, operand) in func.uses(value) {
                if leaves(func, graph, this, body, exit, (user, operand))? {
                    uses.push((user, operand));
                }
            }
            if !uses.is_empty() {
                leaving.push((value, uses));
            }
        }
        Some(Rotation { this, body, exit, goes_on_if, own, leaving })
    }

    fn apply(self, func: &mut Function) {
        let SmallLoop { preheader, header, latch, .. } = *self.this;
        let end = func.insert_block_after(latch);
        let enter = func.insert_block_after(preheader);
        let first = self.copy_header(func, preheader);
        let later = self.copy_header(func, latch);
        for (value, uses) in &self.leaving {
            let values = [first.value(*value), later.value(*value)];
            let from = [preheader, latch];
            let phi = func.create_inst(Op::Phi, func.value_type(*value), &values, &from, Imm::None);
            func.append_inst(end, phi);
            let Some(result) = func.result(phi) else { continue };
            for &(user, operand) in uses {
                func.set_arg(user, operand, result);
            }
        }
        self.move_test(func, end, [(preheader, enter, &first), (latch, header, &later)]);
        func.replace_with_br(enter, header);
        func.rename_phi_predecessor(header, preheader, enter);
        // Users come behind what they use, so that only uses outside of the header are left.
        for &inst in self.own.iter().rev() {
            if let Some(value) = func.result(inst).filter(|&v| func.has_uses(v)) {
                let phi = func.create_inst(Op::Phi, func.value_type(value), &[], &[], Imm::None);
                func.prepend_inst(header, phi);
                if let Some(result) = func.result(phi) {
                    func.replace_all_uses(value, result);
                }
                add_phi_entry(func, phi, enter, first.value(value));
                add_phi_entry(func, phi, latch, later.value(value));
            }
            func.remove_inst(inst);
        }
    }

    /// Copies what the header computes to the end of a block that leads to it.
    fn copy_header(&self, func: &mut Function, into: BlockId) -> Copies {
        let mut copies = Copies::default();
        let phis: Vec<InstId> = func.phis(self.this.header).collect();
        for phi in phis {
            if let (Some(result), Some(value)) = (func.result(phi), phi_entry(func, phi, into)) {
                copies.set(result, value);
            }
        }
        for &inst in &self.own {
            let copy = copies.inst(func, inst);
            if let Some(end) = func.terminator(into) {
                func.insert_before(copy, end);
            }
        }
        copies
    }

    /// Ends each block of `places` with the test, which goes on to the block beside it, and the header with a branch to the body.
    fn move_test(
        &self,
        func: &mut Function,
        end: BlockId,
        places: [(BlockId, BlockId, &Copies); 2],
    ) {
        let header = self.this.header;
        let Some(test) = func.terminator(header) else { return };
        let (condition, loc) = (func.arg(test, 0), func.inst(test).loc);
        for (block, next, copies) in places {
            let targets = if self.goes_on_if { [next, end] } else { [end, next] };
            if let Some(old) = func.terminator(block) {
                func.remove_inst(old);
            }
            let args = [copies.value(condition)];
            let branch = func.create_inst(Op::CondBr, TypeId::VOID, &args, &targets, Imm::None);
            func.set_loc(branch, loc);
            func.append_inst(block, branch);
        }
        func.replace_with_br(header, self.body);
        func.replace_with_br(end, self.exit);
        func.rename_phi_predecessor(self.exit, header, end);
    }
}

/// Whether a use of a value of the header lies behind the exit, so that a value of the last test is meant. None if it may lie
/// behind other ways out too.
fn leaves(
    func: &Function,
    graph: &LoopGraph,
    this: &SmallLoop,
    body: BlockId,
    exit: BlockId,
    (user, operand): (InstId, usize),
) -> Option<bool> {
    let Some(at) = use_block(func, user, operand) else { return Some(false) };
    let is_edge =
        at == this.header && func.op(user) == Op::Phi && func.inst_block(user) == Some(exit);
    if is_edge {
        return Some(true);
    }
    if this.contains(at) || graph.is_dead(at) {
        return Some(false);
    }
    if graph.cfg.predecessors(exit).len() == 1 && graph.dominators.dominates(exit, at) {
        return Some(true);
    }
    let behind_body =
        graph.cfg.predecessors(body).len() == 1 && graph.dominators.dominates(body, at);
    behind_body.then_some(false)
}

//! Code between barriers.
//!
//! Barriers want all threads of a block, but threads outside of the dispatch do not run the kernel. Where all barriers stand outside of
//! constructs, these threads therefore stay: the code between two barriers is a segment that they pass by. Where a
//! barrier is inside of a construct they run along, write nothing and read in range, so that whatever the block decides together
//! they decide too. Only where operations over waves would see them they end at once, and it is for the device to go on without them.

use cranelift_entity::SecondaryMap;
use luisac_xir::op::ThreadGroupOp;
use luisac_xir::{Function, InstId, Op, ValueId};

use crate::clike::plan::{Event, Plan};

/// What threads outside of the dispatch do.
pub enum Outside {
    /// They end at once.
    End,
    /// They pass by the code between barriers.
    Pass(Segments),
    /// They run along without effects.
    Follow,
}

impl Outside {
    pub fn of(func: &Function, plan: &Plan) -> Outside {
        let groups = func.blocks().flat_map(|b| func.insts(b)).filter_map(|i| match func.op(i) {
            Op::ThreadGroup(op) => Some(op),
            _ => None,
        });
        let (barriers, others): (Vec<_>, Vec<_>) =
            groups.partition(|&op| op == ThreadGroupOp::SynchronizeBlock);
        match Segments::of(func, plan) {
            Some(segments) => Outside::Pass(segments),
            None if barriers.is_empty() || !others.is_empty() => Outside::End,
            None => Outside::Follow,
        }
    }
}

/// The segments of a kernel.
pub struct Segments {
    /// Values that are used in another segment than they are made in.
    pub crossing: Vec<ValueId>,
}

impl Segments {
    /// None if there are no barriers, or one of them is inside of a construct. Linear in the code, as chains of geps are
    /// bounded by the nesting of types.
    pub fn of(func: &Function, plan: &Plan) -> Option<Segments> {
        let mut segment_of: SecondaryMap<InstId, u32> = SecondaryMap::new();
        let mut segment = 0;
        for event in &plan.events {
            let Event::Block(block) = event else { continue };
            for inst in func.insts(*block) {
                segment_of[inst] = segment;
                if func.op(inst) == Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock) {
                    if plan.scope(*block) != Some(0) {
                        return None;
                    }
                    segment += 1;
                }
            }
        }
        if segment == 0 {
            return None;
        }
        let mut crossing = Vec::new();
        for event in &plan.events {
            let Event::Block(block) = event else { continue };
            for inst in func.insts(*block) {
                for &arg in func.args(inst) {
                    note(func, &segment_of, arg, segment_of[inst], &mut crossing);
                }
            }
        }
        crossing.sort_unstable();
        crossing.dedup();
        Some(Segments { crossing })
    }
}

/// Notes a value that a segment uses, or the indices of a place.
fn note(
    func: &Function,
    segment_of: &SecondaryMap<InstId, u32>,
    value: ValueId,
    segment: u32,
    crossing: &mut Vec<ValueId>,
) {
    let mut value = value;
    while let Some(inst) = func.def_inst(value) {
        match func.op(inst) {
            Op::Gep => {
                let crosses =
                    |v: &ValueId| func.def_inst(*v).is_some_and(|i| segment_of[i] != segment);
                crossing.extend(func.args(inst).iter().skip(1).copied().filter(crosses));
                value = func.arg(inst, 0);
                continue;
            }
            Op::Alloca(_) => {}
            _ if segment_of[inst] != segment => crossing.push(value),
            _ => {}
        }
        return;
    }
}

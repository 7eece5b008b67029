//! Removal of phis that join nothing.
//!
//! What: a phi whose entries are all one value, itself aside, becomes that value; a phi that nothing uses, other phis that
//! nothing uses aside, goes.
//! Why right: the one value dominates every edge into the block that carries it. If all edges do, it dominates the block, as
//! every path into the block first comes by an edge on which the phi itself cannot be the value.
//! Cost: linear in phi entries, and again for a phi whose entry was replaced. Source: M. Braun et al., "Simple and Efficient
//! Construction of Static Single Assignment Form", CC 2013, section 3.1.

use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use cranelift_entity::SecondaryMap;
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};

counters! {
    /// What `phi_cleanup` did.
    Info {
        change removed_phi_count "phis removed";
    }
}

/// The pass.
pub struct PhiCleanup;

impl FunctionPass for PhiCleanup {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "phi_cleanup",
            "removes phis that join nothing",
            "Replaces a phi whose entries are one and the same value by that value, and removes phis that nothing uses.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        let mut pending: Vec<InstId> = Vec::new();
        for &block in blocks.iter().rev() {
            let phis: Vec<InstId> = cx.func.phis(block).collect();
            pending.extend(phis.into_iter().rev());
        }
        let all = pending.clone();
        while let Some(phi) = pending.pop() {
            if cx.func.inst_block(phi).is_none() {
                continue;
            }
            let Some(value) = only_value(cx.func, phi) else { continue };
            if !cx.fuel() {
                break;
            }
            if let Some(result) = cx.func.result(phi) {
                let users = cx.func.uses(result).map(|(user, _)| user);
                pending.extend(users.filter(|&u| u != phi && cx.func.op(u) == Op::Phi));
            }
            util::replace_and_remove(cx.func, phi, value);
            info.removed_phi_count += 1;
        }
        remove_dead(cx, &all, &mut info);
        Ok(info)
    }
}

/// The value that all entries but the phi itself have.
fn only_value(func: &Function, phi: InstId) -> Option<ValueId> {
    let own = func.result(phi);
    let mut others = func.args(phi).iter().filter(|&&v| Some(v) != own);
    let value = *others.next()?;
    others.all(|&v| v == value).then_some(value)
}

fn remove_dead(cx: &mut FunctionCx<'_>, phis: &[InstId], info: &mut Info) {
    let placed = |func: &Function, phi: InstId| func.inst_block(phi).is_some();
    let mut live: SecondaryMap<InstId, bool> = SecondaryMap::new();
    let mut pending = Vec::new();
    for &phi in phis.iter().filter(|&&phi| placed(cx.func, phi)) {
        let Some(result) = cx.func.result(phi) else { continue };
        if cx.func.uses(result).any(|(user, _)| cx.func.op(user) != Op::Phi) {
            live[phi] = true;
            pending.push(phi);
        }
    }
    while let Some(phi) = pending.pop() {
        for &value in cx.func.args(phi) {
            if let Some(def) = cx.func.def_inst(value)
                && cx.func.op(def) == Op::Phi
                && !live[def]
            {
                live[def] = true;
                pending.push(def);
            }
        }
    }
    let dead: Vec<InstId> =
        phis.iter().copied().filter(|&phi| placed(cx.func, phi) && !live[phi]).collect();
    if !dead.is_empty() && cx.fuel() {
        // Together, as they may use each other.
        for &phi in &dead {
            cx.func.set_args(phi, &[]);
        }
        for phi in dead {
            cx.func.remove_inst(phi);
            info.removed_phi_count += 1;
        }
    }
}

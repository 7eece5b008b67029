//! Dead code elimination.
//!
//! What: removes instructions without effect whose results nothing needs, local allocas that are only written, together with
//! their stores, and blocks that nothing leads to; an open block gets `unreachable`.
//! Why right: marks from what must stay (writes, volatile operations, terminators) through operands; a store into a local
//! alloca must stay only if something else uses the alloca. Under `--bounds trap` an access out of range is an effect. Loops stay, as their branches do. Blocks with a role in a
//! structured construct stay, also when no path reaches them.
//! Cost: linear. Source: mark and sweep as in R. Cytron et al., TOPLAS 13 (1991), section 7.1, without the control part.

use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueId};

counters! {
    /// What `dce` did.
    Info {
        change removed_inst_count "instructions removed";
        change removed_block_count "blocks removed";
        change inserted_terminator_count "open blocks closed by `unreachable`";
        note dead_code_instruction_scan_count "instructions looked at";
        note dead_code_worklist_pop_count "live instructions followed";
    }
}

options! {
    /// What counts as an effect.
    Options {
        trapping_bounds: bool = false, "an index out of range ends the thread, so what may have one stays";
    }
}

/// The pass.
pub struct Dce;

impl FunctionPass for Dce {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::CallGraph],
        ..Declaration::new(
            "dce",
            "removes what nothing needs",
            "Removes unused instructions without effect, local allocas that are only written, and blocks that nothing leads to. \
             Volatile reads, barriers, wave operations, atomics, calls and loops stay; under `trapping_bounds` also reads and \
             places whose index may be out of range.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        close_blocks(cx, &mut info);
        let keep = util::named_blocks(cx.func, true);
        let gone = cx.func.blocks().any(|b| !keep[b]);
        if gone && cx.fuel() {
            info.removed_block_count += util::remove_blocks_but(cx.func, &keep);
        }
        let live = mark(cx.func, cx.types, options, &mut info);
        sweep(cx, &live, &mut info);
        Ok(info)
    }
}

fn close_blocks(cx: &mut FunctionCx<'_>, info: &mut Info) {
    let blocks: Vec<BlockId> =
        cx.func.blocks().filter(|&b| cx.func.terminator(b).is_none()).collect();
    for block in blocks {
        if cx.fuel() {
            let end = cx.func.create_inst(Op::Unreachable, TypeId::VOID, &[], &[], Imm::None);
            cx.func.append_inst(block, end);
            info.inserted_terminator_count += 1;
        }
    }
}

/// The local alloca that a store writes into.
fn stored_alloca(func: &Function, inst: InstId) -> Option<ValueId> {
    if func.op(inst) != Op::Store {
        return None;
    }
    let base = func.base_of(func.arg(inst, 0));
    let def = func.def_inst(base)?;
    (func.op(def) == Op::Alloca(Space::Local)).then_some(base)
}

/// The instructions that must stay.
fn mark(
    func: &Function,
    types: &TypeTable,
    options: &Options,
    info: &mut Info,
) -> SecondaryMap<InstId, bool> {
    let mut live: SecondaryMap<InstId, bool> = SecondaryMap::with_capacity(func.inst_count());
    let mut stores: SecondaryMap<ValueId, Vec<InstId>> = SecondaryMap::new();
    let mut pending = Vec::new();
    for block in func.blocks() {
        for inst in func.insts(block) {
            info.dead_code_instruction_scan_count += 1;
            let traps = options.trapping_bounds && util::may_trap(func, types, inst);
            if !traps && let Some(alloca) = stored_alloca(func, inst) {
                stores[alloca].push(inst);
            } else if traps || func.op(inst).is_terminator() || !func.effects(inst).removable() {
                live[inst] = true;
                pending.push(inst);
            }
        }
    }
    while let Some(inst) = pending.pop() {
        info.dead_code_worklist_pop_count += 1;
        let needed = func.args(inst).iter().filter_map(|&v| func.def_inst(v));
        let into = func.result(inst).filter(|_| matches!(func.op(inst), Op::Alloca(_)));
        let written = into.map_or(&[][..], |alloca| &stores[alloca]);
        for def in needed.chain(written.iter().copied()) {
            if !live[def] {
                live[def] = true;
                pending.push(def);
            }
        }
    }
    live
}

fn sweep(cx: &mut FunctionCx<'_>, live: &SecondaryMap<InstId, bool>, info: &mut Info) {
    let blocks: Vec<BlockId> = cx.func.blocks().collect();
    let mut dead: Vec<InstId> = Vec::new();
    for &block in &blocks {
        dead.extend(cx.func.insts(block).filter(|&i| !live[i]));
    }
    if !cx.fuel.is_limited() {
        // Dead phis may use each other.
        for &inst in &dead {
            cx.func.set_args(inst, &[]);
        }
    }
    for &inst in dead.iter().rev() {
        let used = cx.func.result(inst).is_some_and(|value| cx.func.has_uses(value));
        if !used && cx.fuel() {
            cx.func.remove_inst(inst);
            info.removed_inst_count += 1;
        }
    }
}

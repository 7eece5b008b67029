//! Accesses of elements as accesses of the whole.
//!
//! What: of a local alloca that is only accessed by loads and stores, whole or by constant indices in range, the geps go:
//! load(gep(a, i)) becomes extract(load(a), i), and store(gep(a, i), v) becomes store(a, insert(load(a), v, i)). `mem2reg` can
//! promote such an alloca then.
//! Why right: nothing but the thread sees its locals, so loading the rest and storing it again changes nothing. An alloca with
//! an index that is computed, or out of range, stays: what happens there is up to `--bounds`.
//! Cost: linear in the uses; an alloca of more than 256 bytes stays, as a copy of the whole would be worse than memory.

use super::elements::constant_index;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, Space};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `transpose_gep` did.
    Info {
        change traced_gep_count "geps of geps that were joined";
        change removed_noop_gep_count "geps that nothing used";
        change transposed_load_count "loads of elements turned into loads of the whole";
        change transposed_store_count "stores of elements turned into stores of the whole";
        change removed_gep_count "geps removed with their accesses";
    }
}

/// Bytes of an alloca, at most.
const MAX_BYTES: u64 = 256;
/// Levels of geps of geps, at most.
const MAX_LEVELS: usize = 64;

/// The pass.
pub struct TransposeGep;

impl FunctionPass for TransposeGep {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "transpose_gep",
            "turns accesses of elements into accesses of the whole",
            "For local allocas of at most 256 bytes that are only accessed whole or by constant indices: loads of elements \
             become extracts of the whole, stores inserts into it, so that `mem2reg` can promote the alloca.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let mut allocas: Vec<InstId> = Vec::new();
        for block in cx.func.blocks() {
            let insts = cx.func.insts(block);
            allocas.extend(insts.filter(|&i| cx.func.op(i) == Op::Alloca(Space::Local)));
        }
        for alloca in allocas {
            let Some(plan) = plan(cx.func, cx.types, alloca) else { continue };
            if plan.geps.is_empty() {
                continue;
            }
            if !cx.fuel() {
                break;
            }
            carry_out(cx.func, cx.types, plan, &mut info);
        }
        Ok(info)
    }
}

struct Access {
    inst: InstId,
    indices: Vec<ValueId>,
}

struct Plan {
    alloca: ValueId,
    accesses: Vec<Access>,
    /// With the level of geps that each is at and whether anything uses it; each comes after the one that it is made of.
    geps: Vec<(InstId, usize, bool)>,
}

/// The accesses of elements of an alloca, if it has no other uses than those and accesses of the whole.
fn plan(func: &Function, types: &TypeTable, alloca: InstId) -> Option<Plan> {
    let ty = func.inst(alloca).ty;
    if !types.is_data(ty) || types.size(ty) > MAX_BYTES {
        return None;
    }
    let value = func.result(alloca)?;
    let mut plan = Plan { alloca: value, accesses: Vec::new(), geps: Vec::new() };
    let mut pending: Vec<(ValueId, TypeId, Vec<ValueId>, usize)> = vec![(value, ty, Vec::new(), 0)];
    while let Some((lvalue, ty, indices, level)) = pending.pop() {
        for (user, index) in func.uses(lvalue) {
            match func.op(user) {
                Op::Load => {}
                Op::Store if index == 0 => {}
                Op::Gep if index == 0 && level < MAX_LEVELS => {
                    let (mut part, mut path) = (ty, indices.clone());
                    for &step in &func.args(user)[1..] {
                        let at = constant_index(func, step, types.member_count(part))?;
                        part = types.element_type(part, at)?;
                        path.push(step);
                    }
                    let result = func.result(user)?;
                    plan.geps.push((user, level, func.has_uses(result)));
                    pending.push((result, part, path, level + 1));
                    continue;
                }
                _ => return None,
            }
            if !indices.is_empty() {
                plan.accesses.push(Access { inst: user, indices: indices.clone() });
            }
        }
    }
    Some(plan)
}

fn carry_out(func: &mut Function, types: &TypeTable, plan: Plan, info: &mut Info) {
    for access in &plan.accesses {
        let inst = access.inst;
        let is_load = func.op(inst) == Op::Load;
        let (ty, stored) = (func.inst(inst).ty, func.args(inst).get(1).copied());
        let mut builder = Builder::before(func, types, inst);
        let whole = builder.load(plan.alloca);
        match stored {
            None => {
                let mut args = vec![whole];
                args.extend_from_slice(&access.indices);
                let part = builder.value(Op::Arithmetic(ArithmeticOp::Extract), ty, &args);
                util::replace_and_remove(func, inst, part);
            }
            Some(stored) => {
                let mut args = vec![whole, stored];
                args.extend_from_slice(&access.indices);
                let of = builder.func.value_type(plan.alloca);
                let changed = builder.value(Op::Arithmetic(ArithmeticOp::Insert), of, &args);
                builder.store(plan.alloca, changed);
                func.remove_inst(inst);
            }
        }
        info.transposed_load_count += u64::from(is_load);
        info.transposed_store_count += u64::from(!is_load);
    }
    // Those that are made of others come later, and go first.
    for &(gep, level, is_used) in plan.geps.iter().rev() {
        func.remove_inst(gep);
        info.removed_gep_count += u64::from(is_used);
        info.removed_noop_gep_count += u64::from(!is_used);
        info.traced_gep_count += u64::from(level > 0);
    }
}

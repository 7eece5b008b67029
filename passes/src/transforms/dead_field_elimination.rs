//! Removal of structure members that are never read.
//!
//! What: a local variable that is a structure, or an array of structures of any dimension, loses the members that the function
//! only writes, together with the writes. Unlike `sroa` this also works on arrays that are indexed by computed values.
//! Why right: all accesses name a member; no access is of the whole, nothing else gets the variable. What is only written
//! cannot be seen. Indices of arrays stay, so bounds are checked as before.
//! Cost: linear in the uses. Source: `passes.md` section 3.5, where it works on the frames of coroutines; here the frames are
//! the structures in local memory.

use crate::manager::declaration::{Declaration, ModuleCx, ModulePass, Refusal, counters};
use luisac_ast::types::{TypeId, TypeKind, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{Function, Imm, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `dead_field_elimination` did.
    Info {
        change eliminated_field_count "members removed";
        note original_field_count "members of the variables that changed, before";
        note remaining_field_count "members of the variables that changed, after";
        note original_frame_size "bytes of the variables that changed, before";
        note new_frame_size "bytes of the variables that changed, after";
    }
}

/// The pass.
pub struct DeadFieldElimination;

impl ModulePass for DeadFieldElimination {
    const DECLARATION: Declaration = Declaration::new(
        "dead_field_elimination",
        "removes members of local structures that are never read",
        "A local structure, or array of structures, of which every access names a member loses the members that are only \
         written.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let ids: Vec<_> = cx.module.functions.keys().collect();
        for id in ids {
            let function = &cx.module.functions[id];
            let local = |&i: &InstId| function.op(i) == Op::Alloca(Space::Local);
            let allocas: Vec<InstId> =
                function.blocks().flat_map(|b| function.insts(b)).filter(local).collect();
            for alloca in allocas {
                let Some(plan) = plan(&cx.module.functions[id], &cx.module.types, alloca) else {
                    continue;
                };
                if !cx.fuel() {
                    return Ok(info);
                }
                let before = cx.module.types.size(plan.ty);
                let module = &mut *cx.module;
                let Some(ty) = carry_out(&mut module.functions[id], &mut module.types, &plan)
                else {
                    continue;
                };
                let kept = plan.live.iter().filter(|&&l| l).count() as u64;
                info.original_field_count += plan.live.len() as u64;
                info.remaining_field_count += kept;
                info.eliminated_field_count += plan.live.len() as u64 - kept;
                info.original_frame_size += before;
                info.new_frame_size += module.types.size(ty);
            }
        }
        Ok(info)
    }
}

/// What becomes of a variable.
struct Plan {
    alloca: InstId,
    ty: TypeId,
    /// Lengths of the arrays around the structure, the outermost first.
    lengths: Vec<u32>,
    structure: TypeId,
    /// Which members stay.
    live: Vec<bool>,
    /// Geps with the number of arrays that are left to be indexed in their base, each after the one that it is made of.
    geps: Vec<(InstId, usize)>,
    /// Stores and geps of members that go, users after what they use.
    dead: Vec<InstId>,
}

/// The structure inside arrays, with their lengths.
fn unwrap(types: &TypeTable, mut ty: TypeId) -> Option<(Vec<u32>, TypeId)> {
    let mut lengths = Vec::new();
    while types.is_array(ty) {
        lengths.push(types.member_count(ty));
        ty = types.element_type(ty, 0)?;
    }
    types.is_struct(ty).then_some((lengths, ty))
}

fn plan(func: &Function, types: &TypeTable, alloca: InstId) -> Option<Plan> {
    let ty = func.inst(alloca).ty;
    let (lengths, structure) = unwrap(types, ty)?;
    let count = types.member_count(structure) as usize;
    let mut live = vec![false; count];
    let mut geps: Vec<(InstId, usize)> = Vec::new();
    let mut accesses: Vec<(InstId, u32)> = Vec::new();
    // With what is left to be indexed: so many arrays, or nothing, in a member.
    let mut pending: Vec<(ValueId, Result<usize, u32>)> =
        vec![(func.result(alloca)?, Ok(lengths.len()))];
    while let Some((lvalue, place)) = pending.pop() {
        for (user, index) in func.uses(lvalue) {
            match (func.op(user), place) {
                (Op::Gep, Ok(arrays)) if index == 0 => {
                    let indices = &func.args(user)[1..];
                    let inner = match indices.get(arrays) {
                        None => Ok(arrays - indices.len()),
                        Some(&member) => Err(u32::try_from(func.constant_bits(member)?).ok()?),
                    };
                    geps.push((user, arrays));
                    if let Err(member) = inner {
                        accesses.push((user, member));
                    }
                    pending.push((func.result(user)?, inner));
                }
                (Op::Gep, Err(member)) if index == 0 => {
                    accesses.push((user, member));
                    pending.push((func.result(user)?, Err(member)));
                }
                (Op::Store, Err(member)) if index == 0 => accesses.push((user, member)),
                (_, Err(member)) => *live.get_mut(member as usize)? = true,
                (_, Ok(_)) => return None,
            }
        }
    }
    let kept = live.iter().filter(|&&l| l).count();
    if kept == 0 || kept == count {
        return None;
    }
    let is_dead = |member: u32| live.get(member as usize) == Some(&false);
    let dead: Vec<InstId> = accesses.iter().filter(|a| is_dead(a.1)).map(|a| a.0).collect();
    Some(Plan { alloca, ty, lengths, structure, live, geps, dead })
}

/// The new type of the variable.
fn carry_out(func: &mut Function, types: &mut TypeTable, plan: &Plan) -> Option<TypeId> {
    // From the structure outwards.
    let mut levels = vec![shrunk(types, plan)?];
    for &length in plan.lengths.iter().rev() {
        let inner = levels[levels.len() - 1];
        levels.push(types.array(inner, length).ok()?);
    }
    for &inst in plan.dead.iter().rev() {
        func.remove_inst(inst);
    }
    let ty = levels[plan.lengths.len()];
    let mut renamed: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    replace(func, plan.alloca, ty, &mut renamed);
    let left: Vec<(InstId, usize)> =
        plan.geps.iter().copied().filter(|g| func.inst_block(g.0).is_some()).collect();
    for (gep, arrays) in left {
        let base = func.arg(gep, 0);
        func.set_arg(gep, 0, renamed.get(&base).copied().unwrap_or(base));
        let indices = func.args(gep).len() - 1;
        if indices > arrays {
            let member = func.arg(gep, arrays + 1);
            let old = func.constant_bits(member)? as usize;
            let new = plan.live[..old].iter().filter(|&&l| l).count() as u64;
            let new = func.scalar_constant(func.value_type(member), new, types);
            func.set_arg(gep, arrays + 1, new);
        } else {
            replace(func, gep, levels[arrays - indices], &mut renamed);
        }
    }
    for &inst in [plan.alloca].iter().chain(plan.geps.iter().map(|g| &g.0)).rev() {
        let replaced = func.result(inst).is_some_and(|v| renamed.contains_key(&v));
        if replaced && func.inst_block(inst).is_some() {
            func.remove_inst(inst);
        }
    }
    Some(ty)
}

/// The structure without the members that go.
fn shrunk(types: &mut TypeTable, plan: &Plan) -> Option<TypeId> {
    let TypeKind::Struct { align, members } = types.kind(plan.structure).clone() else {
        return None;
    };
    let members = members.iter().zip(&plan.live).filter(|m| *m.1).map(|m| m.0.clone()).collect();
    types.intern(TypeKind::Struct { align, members }).ok()
}

/// Makes an lvalue anew with another type, in front of the old one, which stays until its users have been told.
fn replace(
    func: &mut Function,
    inst: InstId,
    ty: TypeId,
    renamed: &mut FxHashMap<ValueId, ValueId>,
) {
    let args = func.args(inst).to_vec();
    let new = func.create_inst(func.op(inst), ty, &args, &[], Imm::None);
    func.set_loc(new, func.inst(inst).loc);
    func.insert_before(new, inst);
    if let (Some(old), Some(value)) = (func.result(inst), func.result(new)) {
        if let Some(name) = func.name_of(old).map(String::from) {
            func.set_name(value, name);
        }
        renamed.insert(old, value);
    }
}

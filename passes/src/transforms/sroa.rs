//! Scalar replacement of aggregates.
//!
//! What: splits a local alloca of a composite into one alloca for each element, if every use is a load or store of the whole
//! or a gep whose first index is a constant in range; then looks at the parts in the same way.
//! Why right: no address of the whole escapes, so that elements are reached by their constant index only. Padding is not kept;
//! nothing may depend on it.
//! Cost: uses of the alloca times elements, for accesses of the whole; large composites are split only if no access is of the
//! whole. Source: `passes.md` section 3.1.

use super::elements::{constant_index, element, scalar_count};
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::Space;
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `sroa` did.
    Info {
        change decomposed_alloca_count "allocas split";
        change inserted_alloca_count "allocas made";
    }
}

options! {
    /// How far to split.
    Options {
        decompose_vectors: bool = true, "split vectors into components";
        decompose_matrices: bool = true, "split matrices into columns";
        whole_limit: u64 = 64, "scalars of a composite that is accessed as a whole, at most";
        element_limit: u64 = 1024, "elements of a composite, at most";
    }
}

/// The pass.
pub struct Sroa;

impl FunctionPass for Sroa {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "sroa",
            "splits local composites into their elements",
            "Replaces a local alloca of a structure, array, matrix or vector by one alloca for each element where all accesses \
             are of the whole or have a constant first index. An element that is indexed by a run-time value stays whole.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let mut pending: Vec<InstId> = Vec::new();
        for block in cx.func.blocks() {
            pending.extend(
                cx.func.insts(block).filter(|&i| cx.func.op(i) == Op::Alloca(Space::Local)),
            );
        }
        pending.reverse();
        while let Some(alloca) = pending.pop() {
            if !is_splittable(cx.func, cx.types, options, alloca) {
                continue;
            }
            if !cx.fuel() {
                break;
            }
            let parts = split(cx.func, cx.types, alloca);
            info.decomposed_alloca_count += 1;
            info.inserted_alloca_count += parts.len() as u64;
            pending.extend(parts.into_iter().rev());
        }
        Ok(info)
    }
}

fn is_splittable(func: &Function, types: &TypeTable, options: &Options, alloca: InstId) -> bool {
    let ty = func.inst(alloca).ty;
    let count = types.member_count(ty);
    let kind_allowed = types.is_aggregate(ty)
        || (types.is_vector(ty) && options.decompose_vectors)
        || (types.is_matrix(ty) && options.decompose_matrices);
    if !kind_allowed || u64::from(count) > options.element_limit {
        return false;
    }
    let Some(value) = func.result(alloca) else { return false };
    let mut whole = false;
    let fits = func.uses(value).all(|(user, index)| match func.op(user) {
        Op::Gep => index == 0 && constant_index(func, func.arg(user, 1), count).is_some(),
        Op::Load => {
            whole = true;
            true
        }
        Op::Store => {
            whole = true;
            index == 0
        }
        _ => false,
    });
    fits && !(whole && scalar_count(types, ty, options.whole_limit + 1) > options.whole_limit)
}

/// Replaces an alloca by allocas of its elements; the new ones.
fn split(func: &mut Function, types: &TypeTable, alloca: InstId) -> Vec<InstId> {
    let ty = func.inst(alloca).ty;
    let Some(value) = func.result(alloca) else { return Vec::new() };
    let name = func.name_of(value).map(String::from);
    let mut builder = Builder::before(func, types, alloca);
    let element_types: Vec<TypeId> =
        (0..types.member_count(ty)).filter_map(|i| types.element_type(ty, i)).collect();
    let parts: Vec<ValueId> = element_types.iter().map(|&ty| builder.alloca(ty)).collect();
    if let Some(name) = name {
        for (i, &part) in parts.iter().enumerate() {
            func.set_name(part, format!("{name}.{i}"));
        }
    }
    let users: Vec<InstId> = func.uses(value).map(|(user, _)| user).collect();
    for user in users {
        rewrite(func, types, &parts, ty, user);
    }
    func.remove_inst(alloca);
    parts.into_iter().filter_map(|part| func.def_inst(part)).collect()
}

fn rewrite(func: &mut Function, types: &TypeTable, parts: &[ValueId], ty: TypeId, user: InstId) {
    match func.op(user) {
        Op::Gep => {
            let Some(index) = constant_index(func, func.arg(user, 1), parts.len() as u32) else {
                return;
            };
            let part = parts[index as usize];
            if func.args(user).len() == 2 {
                util::replace_and_remove(func, user, part);
            } else {
                let mut args = vec![part];
                args.extend_from_slice(&func.args(user)[2..]);
                func.set_args(user, &args);
            }
        }
        Op::Load => {
            let mut builder = Builder::before(func, types, user);
            let elements: Vec<ValueId> = parts.iter().map(|&part| builder.load(part)).collect();
            let whole = builder.aggregate(ty, &elements);
            util::replace_and_remove(func, user, whole);
        }
        _ => {
            let value = func.arg(user, 1);
            let mut builder = Builder::before(func, types, user);
            for (i, &part) in parts.iter().enumerate() {
                let element = element(&mut builder, value, i as u32);
                builder.store(part, element);
            }
            func.remove_inst(user);
        }
    }
}

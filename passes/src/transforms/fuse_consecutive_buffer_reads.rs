//! Accesses of byte buffers side by side as one.
//!
//! What: two or four reads of scalars at consecutive constant offsets of one byte buffer, the first aligned to all of them
//! together, become one read of a vector; writes likewise. Typed buffers and vectors of three are left alone.
//! Why right: between the reads of a group nothing may write global memory, and between the writes nothing may touch it but
//! the group itself: calls, atomics, barriers and everything volatile end a group. Two names may be the same buffer, so a write
//! through another name ends it too. Reads move up to the first of them, writes down to the last. A vector asks for more alignment
//! than its scalars: an argument may be a view that starts at any byte, so nothing is joined unless `buffer_alignment` promises that
//! buffers start where the vector may lie. Where indices are checked (`--bounds`), a vector that is partly out of range would be clamped
//! otherwise than its scalars, hence `checked_bounds` turns the pass off.
//! Cost: linear but for sorting. Source: `passes.md` section 3.1.

use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::{ResourceReadOp, ResourceWriteOp, Scopes};
use luisac_xir::{BlockId, Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `fuse_consecutive_buffer_reads` did.
    Info {
        change fused_group_count "vector accesses made";
        note fused_read_count "reads of scalars replaced";
        note fused_write_count "writes of scalars replaced";
    }
}

options! {
    /// What is known of indices and addresses.
    Options {
        buffer_alignment: u64 = 1, "byte buffers start at multiples of so many bytes; 1 for views that may start anywhere";
        checked_bounds: bool = false, "indices are checked, so accesses stay as they are";
    }
}

/// Bytes of one access, at most.
const MAX_BYTES: u64 = 16;

/// The pass.
pub struct FuseConsecutiveBufferReads;

impl FunctionPass for FuseConsecutiveBufferReads {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "fuse_consecutive_buffer_reads",
            "joins accesses of byte buffers side by side",
            "Two or four scalar reads, or writes, at consecutive constant offsets of a byte buffer become one of a vector, if \
             nothing between may interfere. A vector is made only where `buffer_alignment` says that it is aligned; by default \
             nothing is known.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let alignment = known_alignment(options.buffer_alignment);
        if options.checked_bounds || alignment < 2 {
            return Ok(info);
        }
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        for block in blocks {
            for group in groups(cx.func, cx.types, block, alignment) {
                if !cx.fuel() {
                    return Ok(info);
                }
                let count = group.members.len() as u64;
                match group.is_read {
                    true => fuse_reads(cx, &group),
                    false => fuse_writes(cx, &group),
                }
                info.fused_group_count += 1;
                *(if group.is_read {
                    &mut info.fused_read_count
                } else {
                    &mut info.fused_write_count
                }) += count;
            }
        }
        Ok(info)
    }
}

/// The power of two that a multiple of `start` is sure to be a multiple of; all of [`MAX_BYTES`] for zero.
fn known_alignment(start: u64) -> u64 {
    1 << start.trailing_zeros().min(MAX_BYTES.trailing_zeros())
}

/// An access of a scalar at a constant offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    buffer: ValueId,
    ty: TypeId,
    offset: u64,
    /// Position in the block.
    order: usize,
    inst: InstId,
}

struct Group {
    is_read: bool,
    buffer: ValueId,
    offset: ValueId,
    ty: TypeId,
    lanes: u8,
    /// With the lane of each.
    members: Vec<(Access, u32)>,
}

fn access(func: &Function, types: &TypeTable, inst: InstId, order: usize) -> Option<Access> {
    let args = func.args(inst);
    let ty = match func.op(inst) {
        Op::ResourceRead(ResourceReadOp::ByteBufferRead) => func.inst(inst).ty,
        Op::ResourceWrite(ResourceWriteOp::ByteBufferWrite) => func.value_type(args[2]),
        _ => return None,
    };
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar(ty))?;
    let numeric = (scalar.is_int() || scalar.is_float()) && scalar.bits() >= 8;
    let offset = func.constant_bits(args[1]).filter(|&o| numeric && o < 1 << 31)?;
    Some(Access { buffer: args[0], ty, offset, order, inst })
}

/// The groups of a block, in order; no vector is larger than `alignment`, to which buffers are aligned.
fn groups(func: &Function, types: &TypeTable, block: BlockId, alignment: u64) -> Vec<Group> {
    let mut found = Groups { alignment, groups: Vec::new() };
    let (mut reads, mut writes): (Vec<Access>, Vec<Access>) = (Vec::new(), Vec::new());
    for (order, inst) in func.insts(block).enumerate() {
        let effects = func.effects(inst);
        let access = access(func, types, inst, order);
        let is_write = matches!(func.op(inst), Op::ResourceWrite(_));
        if effects.volatile || effects.writes.intersects(Scopes::GLOBAL) {
            collect(func, types, true, &mut reads, &mut found);
        }
        let joins = access.is_some_and(|a| {
            is_write && writes.first().is_none_or(|w| w.buffer == a.buffer) && {
                // An overlap would have to keep its order.
                let end = a.offset + types.size(a.ty);
                !writes.iter().any(|w| a.offset < w.offset + types.size(w.ty) && w.offset < end)
            }
        });
        let touches = effects.reads.union(effects.writes).intersects(Scopes::GLOBAL);
        if (effects.volatile || touches) && !joins || writes.len() >= MAX_PENDING {
            collect(func, types, false, &mut writes, &mut found);
        }
        match access {
            Some(access) if is_write => writes.push(access),
            Some(access) => reads.push(access),
            None => {}
        }
    }
    collect(func, types, true, &mut reads, &mut found);
    collect(func, types, false, &mut writes, &mut found);
    found.groups
}

/// What was found, and the alignment of buffers.
struct Groups {
    alignment: u64,
    groups: Vec<Group>,
}

/// Writes that are held to be joined, at most: each new one is compared with all.
const MAX_PENDING: usize = 64;

/// Finds the groups among accesses between which nothing interferes.
fn collect(
    func: &Function,
    types: &TypeTable,
    is_read: bool,
    accesses: &mut Vec<Access>,
    found: &mut Groups,
) {
    let mut sorted = std::mem::take(accesses);
    sorted.sort_unstable();
    let mut at = 0;
    while at < sorted.len() {
        let first = sorted[at];
        let size = types.size(first.ty);
        let run = |lanes: u64| {
            let fits = lanes * size <= found.alignment && first.offset.is_multiple_of(lanes * size);
            let mut members: Vec<(Access, u32)> = Vec::new();
            for access in sorted[at..].iter().take_while(|a| {
                (a.buffer, a.ty) == (first.buffer, first.ty)
                    && a.offset < first.offset + lanes * size
            }) {
                let distance = access.offset - first.offset;
                if distance.is_multiple_of(size) {
                    members.push((*access, (distance / size) as u32));
                }
            }
            let complete = (0..lanes as u32).all(|lane| members.iter().any(|m| m.1 == lane));
            (fits && complete).then_some((lanes as u8, members))
        };
        let group = run(4).or_else(|| run(2));
        // Past the group, or past what is at the same place.
        let end = group.as_ref().map_or(first.offset + 1, |g| first.offset + u64::from(g.0) * size);
        let same = |a: &Access| (a.buffer, a.ty) == (first.buffer, first.ty) && a.offset < end;
        at += sorted[at..].iter().take_while(|a| same(a)).count();
        let Some((lanes, members)) = group else { continue };
        let (buffer, offset) = (first.buffer, func.arg(first.inst, 1));
        found.groups.push(Group { is_read, buffer, offset, ty: first.ty, lanes, members });
    }
}

fn vector(types: &TypeTable, group: &Group) -> Option<TypeId> {
    Some(TypeId::vector(types.scalar_of(group.ty)?, group.lanes))
}

fn fuse_reads(cx: &mut FunctionCx<'_>, group: &Group) {
    let first = group.members.iter().min_by_key(|m| m.0.order).map(|m| m.0.inst);
    let (Some(first), Some(ty)) = (first, vector(cx.types, group)) else { return };
    let mut builder = Builder::before(cx.func, cx.types, first);
    let read = Op::ResourceRead(ResourceReadOp::ByteBufferRead);
    let whole = builder.value(read, ty, &[group.buffer, group.offset]);
    let lanes: Vec<ValueId> =
        (0..group.lanes).map(|lane| builder.extract(whole, lane.into())).collect();
    for &(access, lane) in &group.members {
        util::replace_and_remove(cx.func, access.inst, lanes[lane as usize]);
    }
}

fn fuse_writes(cx: &mut FunctionCx<'_>, group: &Group) {
    let last = group.members.iter().max_by_key(|m| m.0.order).map(|m| m.0.inst);
    let (Some(last), Some(ty)) = (last, vector(cx.types, group)) else { return };
    // No two writes of a group overlap, so the lanes are in order and each is there once.
    let values: Vec<ValueId> =
        group.members.iter().map(|&(access, _)| cx.func.arg(access.inst, 2)).collect();
    let mut builder = Builder::before(cx.func, cx.types, last);
    let whole = builder.aggregate(ty, &values);
    let write = Op::ResourceWrite(ResourceWriteOp::ByteBufferWrite);
    builder.effect(write, &[group.buffer, group.offset, whole]);
    for &(access, _) in &group.members {
        cx.func.remove_inst(access.inst);
    }
}

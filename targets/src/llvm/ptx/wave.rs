//! Wave operations over the lanes that are active together: 32 lanes, the mask read where the operation stands.
//!
//! Reductions go over the set bits of the mask, lowest first, so that they are right for every mask and give sums in a fixed
//! order; 32-bit integers use the hardware's reduction from `sm_80` on.

use luisac_ast::types::Scalar;
use luisac_xir::InstId;
use luisac_xir::op::{ArithmeticOp as A, ThreadGroupOp as T};
use smallvec::smallvec;

use crate::errors;
use crate::llvm::Emit;
use crate::llvm::function::{FnEmit, refused};
use crate::llvm::ir::Val;
use crate::llvm::module::{ModuleEmit, internal};
use crate::llvm::value::{Leaves, Value};

/// Lanes of a wave.
pub const LANES: u32 = 32;

/// The lane of the thread: its linear index in the block, modulo the wave.
pub fn lane(f: &FnEmit<'_, '_, '_>) -> Val {
    let ir = &f.cx.ir;
    if f.cx.is_export() {
        // The size of the block is the caller's to know, and the machine counts the same way.
        return ir.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", ir.int(32), &[]);
    }
    let [x, y, z] = f.launch.thread_id;
    let [nx, ny, _] = f.cx.block_size;
    let linear = ir.add(x, ir.mul(ir.add(y, ir.mul(z, ir.const_u32(ny))), ir.const_u32(nx)));
    ir.and(linear, ir.const_u32(LANES - 1))
}

fn active(cx: &ModuleEmit<'_, '_>) -> Val {
    cx.ir.intrinsic("llvm.nvvm.activemask", cx.ir.int(32), &[])
}

/// The lowest lane of a mask, which is never empty.
fn first_lane(cx: &ModuleEmit<'_, '_>, mask: Val) -> Val {
    let ir = &cx.ir;
    ir.intrinsic("llvm.cttz.i32", ir.int(32), &[mask, ir.const_bool(true)])
}

fn ballot(cx: &ModuleEmit<'_, '_>, mask: Val, condition: Val) -> Val {
    cx.ir.intrinsic("llvm.nvvm.vote.ballot.sync", cx.ir.int(32), &[mask, condition])
}

fn count(cx: &ModuleEmit<'_, '_>, bits: Val) -> Val {
    cx.ir.intrinsic("llvm.ctpop.i32", cx.ir.int(32), &[bits])
}

/// The bits of the lanes below this one.
fn below(cx: &ModuleEmit<'_, '_>) -> Val {
    cx.ir.intrinsic("llvm.nvvm.read.ptx.sreg.lanemask.lt", cx.ir.int(32), &[])
}

/// A leaf of another lane.
fn shuffle(cx: &ModuleEmit<'_, '_>, mask: Val, v: Val, scalar: Scalar, lane: Val) -> Val {
    let ir = &cx.ir;
    let word = ir.int(32);
    let move_word = |w: Val| {
        let clamp = ir.const_u32(LANES - 1);
        ir.intrinsic("llvm.nvvm.shfl.sync.idx.i32", word, &[mask, w, lane, clamp])
    };
    if scalar == Scalar::Bool {
        return ir.ne(move_word(ir.zext(v, word)), ir.const_u32(0));
    }
    let bits = cx.plain_bits(v, scalar);
    let moved = if scalar.bits() == 64 {
        let long = ir.int(64);
        let low = ir.zext(move_word(ir.trunc(bits, word)), long);
        let shift = ir.const_u64(32);
        let high = ir.zext(move_word(ir.trunc(ir.lshr(bits, shift), word)), long);
        ir.or(low, ir.shl(high, shift))
    } else {
        let narrow = ir.int(scalar.bits());
        ir.zext_or_trunc(move_word(ir.zext_or_trunc(bits, word)), narrow)
    };
    cx.float_or_int(moved, scalar)
}

/// A wave operation.
pub fn emit(f: &mut FnEmit<'_, '_, '_>, op: T, inst: InstId) -> Emit<Value> {
    let args = f.func.args(inst).to_vec();
    let operand = args.first().map(|&a| f.leaves(a)).transpose()?.unwrap_or_default();
    let scalar = match args.first() {
        Some(&a) => f.scalar_type(a)?,
        None => Scalar::U32,
    };
    let lane = lane(f);
    let mask = active(f.cx);
    let first =
        || operand.first().copied().ok_or_else(|| internal("a wave operation without an operand"));
    let cx = &*f.cx;
    let ir = &cx.ir;
    let each =
        |build: &dyn Fn(Val) -> Val| Value::Leaves(operand.iter().map(|&v| build(v)).collect());
    Ok(match op {
        T::WarpIsFirstActiveLane => Value::scalar(ir.eq(lane, first_lane(cx, mask))),
        T::WarpFirstActiveLane => Value::scalar(first_lane(cx, mask)),
        T::WarpActiveAll => {
            Value::scalar(ir.intrinsic("llvm.nvvm.vote.all.sync", ir.int(1), &[mask, first()?]))
        }
        T::WarpActiveAny => {
            Value::scalar(ir.intrinsic("llvm.nvvm.vote.any.sync", ir.int(1), &[mask, first()?]))
        }
        T::WarpActiveCountBits => Value::scalar(count(cx, ballot(cx, mask, first()?))),
        T::WarpPrefixCountBits => {
            let lower = ir.and(ballot(cx, mask, first()?), below(cx));
            Value::scalar(count(cx, lower))
        }
        T::WarpActiveBitMask => {
            let zero = ir.const_u32(0);
            Value::Leaves(smallvec![ballot(cx, mask, first()?), zero, zero, zero])
        }
        T::WarpActiveAllEqual => each(&|v| {
            let theirs = shuffle(cx, mask, v, scalar, first_lane(cx, mask));
            let same = cx.scalar_operation(A::BinaryEqual, scalar, &[v, theirs]);
            let same = same.unwrap_or_else(|| ir.const_bool(false));
            ir.intrinsic("llvm.nvvm.vote.all.sync", ir.int(1), &[mask, same])
        }),
        T::WarpReadFirstActiveLane => {
            let source = first_lane(cx, mask);
            each(&|v| shuffle(cx, mask, v, scalar, source))
        }
        T::WarpReadLane => {
            let Some(&index) = args.get(1) else {
                return Err(internal("a lane read without a lane"));
            };
            let index = f.scalar(index)?;
            read_lane(f, mask, &operand, scalar, index)
        }
        T::WarpActiveSum => reduce(f, mask, &operand, scalar, A::BinaryAdd)?,
        T::WarpActiveProduct => reduce(f, mask, &operand, scalar, A::BinaryMul)?,
        T::WarpActiveMin => reduce(f, mask, &operand, scalar, A::Min)?,
        T::WarpActiveMax => reduce(f, mask, &operand, scalar, A::Max)?,
        T::WarpActiveBitAnd => reduce(f, mask, &operand, scalar, A::BinaryBitAnd)?,
        T::WarpActiveBitOr => reduce(f, mask, &operand, scalar, A::BinaryBitOr)?,
        T::WarpActiveBitXor => reduce(f, mask, &operand, scalar, A::BinaryBitXor)?,
        T::WarpPrefixSum => prefix(f, mask, lane, &operand, scalar, A::BinaryAdd)?,
        T::WarpPrefixProduct => prefix(f, mask, lane, &operand, scalar, A::BinaryMul)?,
        _ => return Err(refused(errors::UNSUPPORTED_OPERATION, luisac_xir::Op::ThreadGroup(op))),
    })
}

/// The value of a lane, or zero if it is not active or does not exist.
fn read_lane(
    f: &FnEmit<'_, '_, '_>,
    mask: Val,
    operand: &Leaves,
    scalar: Scalar,
    index: Val,
) -> Value {
    let cx = &*f.cx;
    let ir = &cx.ir;
    let source = ir.and(index, ir.const_u32(LANES - 1));
    let bit = ir.and(ir.lshr(mask, source), ir.const_u32(1));
    let exists = ir.ult(index, ir.const_u32(LANES));
    let valid = ir.and(exists, ir.ne(bit, ir.const_u32(0)));
    let read = |&v: &Val| {
        let theirs = shuffle(cx, mask, v, scalar, source);
        ir.select(valid, theirs, ir.zero(ir.type_of(v)))
    };
    Value::Leaves(operand.iter().map(read).collect())
}

/// Goes over the lanes of the mask, lowest first: `step(accumulated, lane)` gives the next accumulated leaves.
fn over_lanes(
    f: &mut FnEmit<'_, '_, '_>,
    lanes: Val,
    start: &Leaves,
    step: impl FnOnce(&FnEmit<'_, '_, '_>, &Leaves, Val) -> Emit<Leaves>,
) -> Emit<Leaves> {
    let ir = &f.cx.ir;
    let before = ir.block();
    let (head, body, done) =
        (ir.new_block("lanes"), ir.new_block("lane"), ir.new_block("lanes_done"));
    ir.br(head);
    ir.at_end(head);
    let left = ir.phi(ir.int(32));
    ir.add_incoming(left, lanes, before);
    let accumulated: Leaves = start
        .iter()
        .map(|&s| {
            let phi = ir.phi(ir.type_of(s));
            ir.add_incoming(phi, s, before);
            phi
        })
        .collect();
    ir.cond_br(ir.ne(left, ir.const_u32(0)), body, done);
    ir.at_end(body);
    let lane = first_lane(f.cx, left);
    let next = step(f, &accumulated, lane)?;
    let ir = &f.cx.ir;
    let rest = ir.and(left, ir.sub(left, ir.const_u32(1)));
    let end = ir.block();
    ir.add_incoming(left, rest, end);
    for (&phi, &v) in accumulated.iter().zip(&next) {
        ir.add_incoming(phi, v, end);
    }
    ir.br(head);
    ir.at_end(done);
    Ok(accumulated)
}

fn combine(cx: &ModuleEmit<'_, '_>, op: A, scalar: Scalar, a: Val, b: Val) -> Emit<Val> {
    cx.scalar_operation(op, scalar, &[a, b])
        .ok_or_else(|| internal("a wave reduction that the type does not have"))
}

/// A reduction over the active lanes, starting from the first.
fn reduce(
    f: &mut FnEmit<'_, '_, '_>,
    mask: Val,
    operand: &Leaves,
    scalar: Scalar,
    op: A,
) -> Emit<Value> {
    let source = first_lane(f.cx, mask);
    let start: Leaves = operand.iter().map(|&v| shuffle(f.cx, mask, v, scalar, source)).collect();
    let ir = &f.cx.ir;
    let others = ir.and(mask, ir.sub(mask, ir.const_u32(1)));
    let result = over_lanes(f, others, &start, |f, accumulated, lane| {
        let mut next = Leaves::new();
        for (&a, &v) in accumulated.iter().zip(operand) {
            let theirs = shuffle(f.cx, mask, v, scalar, lane);
            next.push(combine(f.cx, op, scalar, a, theirs)?);
        }
        Ok(next)
    })?;
    Ok(Value::Leaves(result))
}

/// An exclusive scan: every lane goes over all lanes, and takes those below it.
fn prefix(
    f: &mut FnEmit<'_, '_, '_>,
    mask: Val,
    lane: Val,
    operand: &Leaves,
    scalar: Scalar,
    op: A,
) -> Emit<Value> {
    let cx = &*f.cx;
    let neutral = match (op, scalar.is_float()) {
        (A::BinaryAdd, _) => 0,
        (_, true) => match scalar {
            Scalar::F16 => 0x3c00,
            Scalar::F32 => 0x3f80_0000,
            _ => 0x3ff0_0000_0000_0000,
        },
        _ => 1,
    };
    let neutral = cx.float_or_int(cx.ir.const_int(cx.ir.int(scalar.bits()), neutral), scalar);
    let start: Leaves = operand.iter().map(|_| neutral).collect();
    let result = over_lanes(f, mask, &start, |f, accumulated, source| {
        let ir = &f.cx.ir;
        let lower = ir.ult(source, lane);
        let mut next = Leaves::new();
        for (&a, &v) in accumulated.iter().zip(operand) {
            let theirs = shuffle(f.cx, mask, v, scalar, source);
            let sum = combine(f.cx, op, scalar, a, theirs)?;
            next.push(ir.select(lower, sum, a));
        }
        Ok(next)
    })?;
    Ok(Value::Leaves(result))
}

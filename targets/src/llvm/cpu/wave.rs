//! Wave operations over a wave of one lane.

use luisac_ast::types::Scalar;
use luisac_xir::op::{ArithmeticOp as A, ThreadGroupOp as T};
use luisac_xir::{InstId, Op};
use smallvec::smallvec;

use crate::errors;
use crate::llvm::Emit;
use crate::llvm::function::{FnEmit, refused};
use crate::llvm::module::internal;
use crate::llvm::value::{Leaves, Value};

/// A wave operation.
pub fn emit(f: &mut FnEmit<'_, '_, '_>, op: T, inst: InstId) -> Emit<Value> {
    let args = f.func.args(inst).to_vec();
    let operand = args.first().map(|&a| f.leaves(a)).transpose()?.unwrap_or_default();
    let scalar = match args.first() {
        Some(&a) => f.scalar_type(a)?,
        None => Scalar::U32,
    };
    let cx = &*f.cx;
    let ir = &cx.ir;
    let first =
        || operand.first().copied().ok_or_else(|| internal("a wave operation without an operand"));
    let all = |v: u64| -> Value {
        let number = cx.float_or_int(ir.const_int(ir.int(scalar.bits()), v), scalar);
        Value::Leaves(operand.iter().map(|_| number).collect())
    };
    Ok(match op {
        T::WarpIsFirstActiveLane => Value::scalar(ir.const_bool(true)),
        T::WarpFirstActiveLane | T::WarpPrefixCountBits => Value::scalar(ir.const_u32(0)),
        T::WarpActiveCountBits => Value::scalar(ir.zext(first()?, ir.int(32))),
        T::WarpActiveBitMask => {
            let zero = ir.const_u32(0);
            Value::Leaves(smallvec![ir.zext(first()?, ir.int(32)), zero, zero, zero])
        }
        T::WarpActiveAllEqual => {
            let same = |&v| cx.scalar_operation(A::BinaryEqual, scalar, &[v, v]);
            let truths: Option<Leaves> = operand.iter().map(same).collect();
            Value::Leaves(truths.ok_or_else(|| internal("a comparison that a type lacks"))?)
        }
        T::WarpReadLane => {
            let Some(&index) = args.get(1) else {
                return Err(internal("a lane read without a lane"));
            };
            let index = f.scalar(index)?;
            let ir = &f.cx.ir;
            let here = ir.eq(index, ir.zero(ir.type_of(index)));
            let pick = |&v| ir.select(here, v, ir.zero(ir.type_of(v)));
            Value::Leaves(operand.iter().map(pick).collect())
        }
        T::WarpPrefixSum => all(0),
        T::WarpPrefixProduct => all(match scalar {
            Scalar::F16 => 0x3c00,
            Scalar::F32 => 0x3f80_0000,
            Scalar::F64 => 0x3ff0_0000_0000_0000,
            _ => 1,
        }),
        T::WarpActiveAll
        | T::WarpActiveAny
        | T::WarpReadFirstActiveLane
        | T::WarpActiveSum
        | T::WarpActiveProduct
        | T::WarpActiveMin
        | T::WarpActiveMax
        | T::WarpActiveBitAnd
        | T::WarpActiveBitOr
        | T::WarpActiveBitXor => Value::Leaves(operand),
        _ => return Err(refused(errors::UNSUPPORTED_OPERATION, Op::ThreadGroup(op))),
    })
}

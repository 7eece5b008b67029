//! Operations on scalars, component by component: integers and bools here, floats in `float.rs`, composites in `composite.rs`.

use inkwell::llvm_sys::LLVMIntPredicate as Int;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::Scalar;
use luisac_xir::InstId;
use luisac_xir::op::ArithmeticOp as A;
use smallvec::SmallVec;

use super::Emit;
use super::function::FnEmit;
use super::ir::Val;
use super::module::{ModuleEmit, internal};
use super::value::{Leaves, Value};
use crate::errors;

impl FnEmit<'_, '_, '_> {
    /// An arithmetic instruction.
    pub fn arithmetic(&mut self, inst: InstId, op: A) -> Emit<Value> {
        match op {
            A::Extract => self.extract(inst),
            A::Insert => self.insert(inst),
            A::Aggregate => self.aggregate(inst),
            A::Shuffle => self.shuffle(inst),
            A::Select => self.select(inst),
            A::All | A::Any => self.reduce_bools(inst, op),
            _ => self.by_component(inst, op),
        }
    }

    /// Applies a scalar operation to each component; an operand of one component goes with all.
    fn by_component(&mut self, inst: InstId, op: A) -> Emit<Value> {
        let func = self.func;
        let args = func.args(inst);
        let Some(&first) = args.first() else {
            return Err(internal("an operation without operands"));
        };
        // A shift's or power's second operand may be of another type; a step's value is its second.
        let scalar = self.scalar_type(first)?;
        let operands: SmallVec<[Leaves; 3]> =
            args.iter().map(|&a| self.leaves(a)).collect::<Emit<_>>()?;
        let n = operands.iter().map(|o| o.len()).max().unwrap_or(0);
        let mut result = Leaves::new();
        for i in 0..n {
            let picked: Option<SmallVec<[Val; 3]>> = operands
                .iter()
                .map(|o| if o.len() == 1 { o.first() } else { o.get(i) }.copied())
                .collect();
            let Some(picked) = picked else { return Err(internal("operands of different shapes")) };
            let Some(v) = self.cx.scalar_operation(op, scalar, &picked) else {
                return Err(Diagnostic::error(
                    errors::WRONG_FORM,
                    format!(
                        "the operation `{}` on `{}` is not in the form that LLVM targets take",
                        op.name(),
                        scalar.name()
                    ),
                )
                .with_help("run the pass `lower_math` first, as the canned pipelines do")
                .into());
            };
            result.push(v);
        }
        Ok(Value::Leaves(result))
    }

    fn select(&mut self, inst: InstId) -> Emit<Value> {
        let func = self.func;
        let (no, yes) = (self.value(func.arg(inst, 0))?, self.value(func.arg(inst, 1))?);
        let condition = self.leaves(func.arg(inst, 2))?;
        let ir = &self.cx.ir;
        match (no, yes) {
            (Value::Leaves(no), Value::Leaves(yes)) => {
                let pick = |i: usize| {
                    if condition.len() == 1 { condition.first() } else { condition.get(i) }.copied()
                };
                let mut result = Leaves::new();
                for (i, (&n, &y)) in no.iter().zip(&yes).enumerate() {
                    let Some(c) = pick(i) else {
                        return Err(internal("a select of different shapes"));
                    };
                    result.push(ir.select(c, y, n));
                }
                Ok(Value::Leaves(result))
            }
            (Value::Memory(no), Value::Memory(yes)) => {
                let Some(&c) = condition.first() else {
                    return Err(internal("a select without a condition"));
                };
                let (no, yes) = (self.cx.generic(no), self.cx.generic(yes));
                Ok(Value::Memory(self.cx.ir.select(c, yes, no)))
            }
            _ => Err(internal("a select of different kinds of values")),
        }
    }

    fn reduce_bools(&mut self, inst: InstId, op: A) -> Emit<Value> {
        let leaves = self.leaves(self.func.arg(inst, 0))?;
        let ir = &self.cx.ir;
        let mut rest = leaves.into_iter();
        let Some(first) = rest.next() else { return Err(internal("a reduction of nothing")) };
        let combine = |a, b| if op == A::All { ir.and(a, b) } else { ir.or(a, b) };
        Ok(Value::scalar(rest.fold(first, combine)))
    }
}

impl ModuleEmit<'_, '_> {
    /// One operation on scalars of type `scalar`; `None` if it has to be lowered first.
    pub fn scalar_operation(&self, op: A, scalar: Scalar, args: &[Val]) -> Option<Val> {
        match scalar {
            Scalar::Bool => self.bool_operation(op, args),
            _ if scalar.is_int() => self.int_operation(op, scalar, args),
            _ => self.float_operation(op, scalar, args),
        }
    }

    fn bool_operation(&self, op: A, args: &[Val]) -> Option<Val> {
        let ir = &self.ir;
        Some(match (op, args) {
            (A::UnaryBitNot, &[a]) => ir.not(a),
            (A::BinaryBitAnd, &[a, b]) => ir.and(a, b),
            (A::BinaryBitOr, &[a, b]) => ir.or(a, b),
            (A::BinaryBitXor | A::BinaryNotEqual, &[a, b]) => ir.xor(a, b),
            (A::BinaryEqual, &[a, b]) => ir.not(ir.xor(a, b)),
            _ => return None,
        })
    }

    fn int_operation(&self, op: A, scalar: Scalar, args: &[Val]) -> Option<Val> {
        let ir = &self.ir;
        let signed = scalar.is_signed();
        let (min, max) =
            if signed { ("llvm.smin", "llvm.smax") } else { ("llvm.umin", "llvm.umax") };
        let order = |signed_form, unsigned_form| if signed { signed_form } else { unsigned_form };
        Some(match (op, args) {
            (A::UnaryMinus, &[a]) => ir.neg(a),
            (A::UnaryBitNot, &[a]) => ir.not(a),
            (A::BinaryAdd, &[a, b]) => ir.add(a, b),
            (A::BinarySub, &[a, b]) => ir.sub(a, b),
            (A::BinaryMul, &[a, b]) => ir.mul(a, b),
            (A::BinaryDiv, &[a, b]) => self.int_divide(a, b, signed, false),
            (A::BinaryMod, &[a, b]) => self.int_divide(a, b, signed, true),
            (A::BinaryBitAnd, &[a, b]) => ir.and(a, b),
            (A::BinaryBitOr, &[a, b]) => ir.or(a, b),
            (A::BinaryBitXor, &[a, b]) => ir.xor(a, b),
            (A::BinaryShiftLeft, &[a, b]) => ir.shl(a, self.shift_amount(a, b, scalar)),
            (A::BinaryShiftRight, &[a, b]) => {
                let n = self.shift_amount(a, b, scalar);
                if signed { ir.ashr(a, n) } else { ir.lshr(a, n) }
            }
            (A::BinaryRotateLeft, &[a, b]) => {
                self.int_intrinsic("llvm.fshl", &[a, a, self.shift_amount(a, b, scalar)])
            }
            (A::BinaryRotateRight, &[a, b]) => {
                self.int_intrinsic("llvm.fshr", &[a, a, self.shift_amount(a, b, scalar)])
            }
            (A::BinaryLess, &[a, b]) => ir.icmp(order(Int::LLVMIntSLT, Int::LLVMIntULT), a, b),
            (A::BinaryGreater, &[a, b]) => ir.icmp(order(Int::LLVMIntSGT, Int::LLVMIntUGT), a, b),
            (A::BinaryLessEqual, &[a, b]) => ir.icmp(order(Int::LLVMIntSLE, Int::LLVMIntULE), a, b),
            (A::BinaryGreaterEqual, &[a, b]) => {
                ir.icmp(order(Int::LLVMIntSGE, Int::LLVMIntUGE), a, b)
            }
            (A::BinaryEqual, &[a, b]) => ir.eq(a, b),
            (A::BinaryNotEqual, &[a, b]) => ir.ne(a, b),
            (A::Clamp, &[v, low, high]) => {
                let raised = self.int_intrinsic(max, &[v, low]);
                self.int_intrinsic(min, &[raised, high])
            }
            (A::Abs, &[a]) if signed => ir.intrinsic(
                &format!("llvm.abs.i{}", scalar.bits()),
                ir.type_of(a),
                &[a, ir.const_bool(false)],
            ),
            (A::Abs, &[a]) => a,
            (A::Min, &[a, b]) => self.int_intrinsic(min, &[a, b]),
            (A::Max, &[a, b]) => self.int_intrinsic(max, &[a, b]),
            (A::Clz, &[a]) => self.count_zeros("llvm.ctlz", a, scalar),
            (A::Ctz, &[a]) => self.count_zeros("llvm.cttz", a, scalar),
            (A::Popcount, &[a]) => self.int_intrinsic_of("llvm.ctpop", scalar, &[a]),
            (A::Reverse, &[a]) => self.int_intrinsic_of("llvm.bitreverse", scalar, &[a]),
            _ => return None,
        })
    }

    fn int_intrinsic_of(&self, name: &str, scalar: Scalar, args: &[Val]) -> Val {
        let Some(&first) = args.first() else { return self.ir.const_u32(0) };
        self.ir.intrinsic(&format!("{name}.i{}", scalar.bits()), self.ir.type_of(first), args)
    }

    fn int_intrinsic(&self, name: &str, args: &[Val]) -> Val {
        let Some(&first) = args.first() else { return self.ir.const_u32(0) };
        let ty = self.ir.type_of(first);
        self.ir.intrinsic(&format!("{name}.i{}", self.ir.int_width(ty)), ty, args)
    }

    fn count_zeros(&self, name: &str, a: Val, scalar: Scalar) -> Val {
        let defined_at_zero = self.ir.const_bool(false);
        self.int_intrinsic_of(name, scalar, &[a, defined_at_zero])
    }

    /// The amount of a shift of `a`, modulo its width. The low bits of a negative amount are right as they are.
    fn shift_amount(&self, a: Val, amount: Val, scalar: Scalar) -> Val {
        let ty = self.ir.type_of(a);
        let amount = self.ir.zext_or_trunc(amount, ty);
        self.ir.and(amount, self.ir.const_int(ty, u64::from(scalar.bits()) - 1))
    }

    /// `x / 0 = x`, `x % 0 = 0`, `MIN / -1 = MIN`, `MIN % -1 = 0`: a divisor of 0 or -1 is replaced by 1.
    fn int_divide(&self, a: Val, b: Val, signed: bool, remainder: bool) -> Val {
        let ir = &self.ir;
        let ty = ir.type_of(b);
        let (zero, one) = (ir.const_int(ty, 0), ir.const_int(ty, 1));
        let by_zero = ir.eq(b, zero);
        if !signed {
            let divisor = ir.select(by_zero, one, b);
            return if remainder { ir.urem(a, divisor) } else { ir.udiv(a, divisor) };
        }
        let by_minus_one = ir.eq(b, ir.const_int(ty, u64::MAX));
        let divisor = ir.select(ir.or(by_zero, by_minus_one), one, b);
        if remainder {
            return ir.srem(a, divisor);
        }
        ir.select(by_minus_one, ir.neg(a), ir.sdiv(a, divisor))
    }
}

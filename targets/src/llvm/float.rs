//! Operations on floats. Halves are computed in `float` and rounded after each operation, which is exact for all that is here
//! (a float has more than twice the digits and two); only a fused multiply-add goes through `double`.

use inkwell::llvm_sys::LLVMRealPredicate as Real;
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp as A;
use smallvec::SmallVec;

use super::device::{Extreme, FloatOp, RoundOp};
use super::ir::{Ty, Val};
use super::module::ModuleEmit;

impl ModuleEmit<'_, '_> {
    /// An operation on floats; `None` if it has to be lowered first.
    pub fn float_operation(&self, op: A, scalar: Scalar, args: &[Val]) -> Option<Val> {
        match (op, args) {
            (A::UnaryMinus, &[a]) => return Some(self.flip_sign(a, scalar)),
            (A::Abs, &[a]) => return Some(self.clear_sign(a, scalar)),
            (A::Copysign, &[a, b]) => return Some(self.copy_sign(a, b, scalar)),
            (A::Isnan | A::Isinf, &[a]) => return Some(self.class_test(op, a, scalar)),
            _ => {}
        }
        if scalar == Scalar::F16 {
            return self.half_operation(op, args);
        }
        let ty = self.types.leaf(&self.ir, scalar);
        self.compare(op, args).or_else(|| self.wide_operation(op, scalar, ty, args))
    }

    fn compare(&self, op: A, args: &[Val]) -> Option<Val> {
        let predicate = match op {
            A::BinaryLess => Real::LLVMRealOLT,
            A::BinaryGreater => Real::LLVMRealOGT,
            A::BinaryLessEqual => Real::LLVMRealOLE,
            A::BinaryGreaterEqual => Real::LLVMRealOGE,
            A::BinaryEqual => Real::LLVMRealOEQ,
            A::BinaryNotEqual => Real::LLVMRealUNE,
            _ => return None,
        };
        match *args {
            [a, b] => Some(self.ir.fcmp(predicate, a, b)),
            _ => None,
        }
    }

    fn half_operation(&self, op: A, args: &[Val]) -> Option<Val> {
        let wide: SmallVec<[Val; 3]> =
            args.iter().map(|&a| self.device.half_to_f32(self, a)).collect();
        if let Some(truth) = self.compare(op, &wide) {
            return Some(truth);
        }
        if op == A::Fma {
            // The product is exact in double, and so is the sum as far as it matters: its double rounding cannot be seen,
            // since an 11-bit midpoint is reached only by sums that double holds exactly.
            let double = self.ir.f64();
            let wide: SmallVec<[Val; 3]> = wide.iter().map(|&a| self.ir.fpext(a, double)).collect();
            let &[a, b, c] = wide.as_slice() else { return None };
            let sum = self.ir.fadd(self.ir.fmul(a, b), c);
            return Some(self.device.f64_to_half(self, sum));
        }
        let result = self.wide_operation(op, Scalar::F32, self.ir.f32(), &wide)?;
        Some(self.device.f32_to_half(self, result))
    }

    /// An operation whose result is a float of the operands' type, `float` or `double`.
    fn wide_operation(&self, op: A, scalar: Scalar, ty: Ty, args: &[Val]) -> Option<Val> {
        let ir = &self.ir;
        let number = |x: f64| ir.const_float(ty, x);
        let (zero, one) = (number(0.0), number(1.0));
        Some(match (op, args) {
            (A::BinaryAdd, &[a, b]) => ir.fadd(a, b),
            (A::BinarySub, &[a, b]) => ir.fsub(a, b),
            (A::BinaryMul, &[a, b]) => ir.fmul(a, b),
            (A::BinaryDiv, &[a, b]) => self.device.float_op(self, FloatOp::Div, scalar, &[a, b]),
            (A::Sqrt, &[a]) => self.device.float_op(self, FloatOp::Sqrt, scalar, &[a]),
            (A::Rsqrt, &[a]) => self.device.float_op(self, FloatOp::Rsqrt, scalar, &[a]),
            (A::Exp2, &[a]) if scalar == Scalar::F32 && self.is_fast() => {
                self.device.float_op(self, FloatOp::Exp2, scalar, &[a])
            }
            (A::Min, &[a, b]) => self.device.extreme(self, Extreme::Min, scalar, a, b),
            (A::Max, &[a, b]) => self.device.extreme(self, Extreme::Max, scalar, a, b),
            (A::Clamp, &[v, low, high]) => self.clamp(scalar, v, low, high),
            (A::Saturate, &[v]) => self.clamp(scalar, v, zero, one),
            (A::Lerp, &[a, b, t]) => ir.fadd(a, ir.fmul(t, ir.fsub(b, a))),
            (A::Step, &[edge, x]) => ir.select(ir.fcmp(Real::LLVMRealOLT, x, edge), zero, one),
            (A::Ceil, &[a]) => self.device.round(self, RoundOp::Ceil, scalar, a),
            (A::Floor, &[a]) => self.device.round(self, RoundOp::Floor, scalar, a),
            (A::Trunc, &[a]) => self.device.round(self, RoundOp::Trunc, scalar, a),
            (A::Rint, &[a]) => self.device.round(self, RoundOp::Even, scalar, a),
            (A::Fract, &[a]) => ir.fsub(a, self.device.round(self, RoundOp::Floor, scalar, a)),
            (A::Round, &[a]) => self.round_away(a, scalar, ty),
            (A::Fma, &[a, b, c]) if self.device.has_fma() => {
                self.float_call("llvm.fma", scalar, &[a, b, c])
            }
            _ => return None,
        })
    }

    /// `min(max(v, low), high)`.
    pub fn clamp(&self, scalar: Scalar, v: Val, low: Val, high: Val) -> Val {
        let raised = self.device.extreme(self, Extreme::Max, scalar, v, low);
        self.device.extreme(self, Extreme::Min, scalar, raised, high)
    }

    /// An intrinsic on `float` or `double`, exact: no fast-math flags.
    pub fn float_call(&self, name: &str, scalar: Scalar, args: &[Val]) -> Val {
        let ty = self.types.leaf(&self.ir, scalar);
        self.ir.intrinsic(&format!("{name}.f{}", scalar.bits()), ty, args)
    }

    /// Half away from zero: the truncated value, one further out if the exact rest is a half or more. The sign is the operand's.
    fn round_away(&self, a: Val, scalar: Scalar, ty: Ty) -> Val {
        let ir = &self.ir;
        let fast = ir.fast();
        ir.set_fast(0);
        let whole = self.device.round(self, RoundOp::Trunc, scalar, a);
        let rest = self.clear_sign(ir.fsub(a, whole), scalar);
        let up = ir.fcmp(Real::LLVMRealOGE, rest, ir.const_float(ty, 0.5));
        let step = self.copy_sign(ir.const_float(ty, 1.0), a, scalar);
        let rounded = ir.select(up, ir.fadd(whole, step), whole);
        ir.set_fast(fast);
        self.copy_sign(rounded, a, scalar)
    }

    // ---- bits

    /// A float as the integer of its bits.
    pub fn float_bits(&self, a: Val, scalar: Scalar) -> Val {
        if scalar == Scalar::F16 { a } else { self.ir.bitcast(a, self.ir.int(scalar.bits())) }
    }

    /// The float of these bits.
    pub fn float_from_bits(&self, bits: Val, scalar: Scalar) -> Val {
        if scalar == Scalar::F16 {
            bits
        } else {
            self.ir.bitcast(bits, self.types.leaf(&self.ir, scalar))
        }
    }

    fn sign_mask(&self, scalar: Scalar) -> Val {
        self.ir.const_int(self.ir.int(scalar.bits()), 1 << (scalar.bits() - 1))
    }

    fn flip_sign(&self, a: Val, scalar: Scalar) -> Val {
        if scalar == Scalar::F16 { self.ir.xor(a, self.sign_mask(scalar)) } else { self.ir.fneg(a) }
    }

    fn clear_sign(&self, a: Val, scalar: Scalar) -> Val {
        if scalar == Scalar::F16 {
            return self.ir.and(a, self.ir.not(self.sign_mask(scalar)));
        }
        self.float_call("llvm.fabs", scalar, &[a])
    }

    fn copy_sign(&self, a: Val, b: Val, scalar: Scalar) -> Val {
        if scalar != Scalar::F16 {
            return self.float_call("llvm.copysign", scalar, &[a, b]);
        }
        let mask = self.sign_mask(scalar);
        let sign = self.ir.and(b, mask);
        self.ir.or(self.ir.and(a, self.ir.not(mask)), sign)
    }

    /// Tests by bits, which hold in every mode.
    fn class_test(&self, op: A, a: Val, scalar: Scalar) -> Val {
        let ir = &self.ir;
        let ty = ir.int(scalar.bits());
        let infinity = match scalar {
            Scalar::F16 => 0x7c00,
            Scalar::F32 => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        };
        let bits = ir.and(self.float_bits(a, scalar), ir.not(self.sign_mask(scalar)));
        let infinity = ir.const_int(ty, infinity);
        if op == A::Isinf { ir.eq(bits, infinity) } else { ir.ult(infinity, bits) }
    }
}

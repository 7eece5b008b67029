//! Operations on scalars: integers, floats, truth values. Vectors are computed component by component; the pipelines leave none.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::InstId;
use luisac_xir::op::ArithmeticOp as A;
use rspirv::spirv::{GLOp, Op};

use super::function::FnEmit;
use super::memory::integer_of;
use super::module::Id;
use super::{Emit, internal, wrong_form};

impl FnEmit<'_> {
    /// An arithmetic instruction.
    pub fn arithmetic(&mut self, inst: InstId, op: A) -> Emit<Id> {
        match op {
            A::Extract => self.extract(inst),
            A::Insert => self.insert(inst),
            A::Aggregate => self.aggregate(inst),
            A::Shuffle => self.shuffle(inst),
            A::Select => self.select(inst),
            A::All | A::Any => {
                let truth = self.m.bool();
                let vector = self.value(self.func.arg(inst, 0))?;
                Ok(self.op(if op == A::All { Op::All } else { Op::Any }, truth, &[vector]))
            }
            _ => self.by_component(inst, op),
        }
    }

    fn by_component(&mut self, inst: InstId, op: A) -> Emit<Id> {
        let func = self.func;
        let args = func.args(inst);
        let Some(&first) = args.first() else { return Err(internal("an operation of nothing")) };
        let table = self.table();
        let ty = func.inst(inst).ty;
        let odd = |ty| !table.is_scalar_or_vector(ty);
        if odd(ty) || args.iter().any(|&a| odd(func.value_type(a))) {
            return Err(not_lowered(op));
        }
        let scalar = self.scalar_of(first)?;
        let mut operands = Vec::with_capacity(args.len());
        for &a in args {
            operands.push((self.value(a)?, func.value_type(a)));
        }
        let count = u32::from(table.dim(ty));
        if operands.iter().any(|(_, ty)| table.dim(*ty) > 1 && u32::from(table.dim(*ty)) != count) {
            return Err(not_lowered(op));
        }
        let mut results = Vec::with_capacity(count as usize);
        for i in 0..count {
            let mut picked = Vec::with_capacity(operands.len());
            for &(id, ty) in &operands {
                picked.push(self.component(id, ty, i)?);
            }
            let shift = args.get(1).map(|&a| self.scalar_of(a)).transpose()?;
            results.push(self.scalar_operation(op, scalar, shift, &picked)?);
        }
        self.join(ty, &results)
    }

    /// A component of a vector, or the scalar itself.
    pub fn component(&mut self, id: Id, ty: TypeId, index: u32) -> Emit<Id> {
        if self.table().is_scalar(ty) {
            return Ok(id);
        }
        let Some(inner) = self.table().element_type(ty, index) else {
            return Err(internal("a component that is not there"));
        };
        let inner = self.ty(inner)?;
        Ok(self.op(Op::CompositeExtract, inner, &[id, index]))
    }

    /// Components as a vector, or the scalar itself.
    pub fn join(&mut self, ty: TypeId, parts: &[Id]) -> Emit<Id> {
        if let [one] = parts {
            return Ok(*one);
        }
        let ty = self.ty(ty)?;
        Ok(self.op(Op::CompositeConstruct, ty, parts))
    }

    /// One operation on scalars; `second` is the type of the second operand.
    pub fn scalar_operation(
        &mut self,
        op: A,
        scalar: Scalar,
        second: Option<Scalar>,
        args: &[Id],
    ) -> Emit<Id> {
        let result = match scalar {
            Scalar::Bool => self.bool_operation(op, args),
            _ if scalar.is_int() => self.int_operation(op, scalar, second, args)?,
            _ => self.float_operation(op, scalar, args)?,
        };
        result.ok_or_else(|| not_lowered(op))
    }

    fn bool_operation(&mut self, op: A, args: &[Id]) -> Option<Id> {
        let truth = self.m.bool();
        let op = match op {
            A::UnaryBitNot => Op::LogicalNot,
            A::BinaryBitAnd => Op::LogicalAnd,
            A::BinaryBitOr => Op::LogicalOr,
            A::BinaryBitXor | A::BinaryNotEqual => Op::LogicalNotEqual,
            A::BinaryEqual => Op::LogicalEqual,
            _ => return None,
        };
        Some(self.op(op, truth, args))
    }

    fn int_operation(
        &mut self,
        op: A,
        scalar: Scalar,
        second: Option<Scalar>,
        args: &[Id],
    ) -> Emit<Option<Id>> {
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let signed = scalar.is_signed();
        let by_sign = |with, without| if signed { with } else { without };
        let (less, greater) = (
            by_sign(Op::SLessThan, Op::ULessThan),
            by_sign(Op::SGreaterThan, Op::UGreaterThan),
        );
        let plain = match op {
            A::UnaryMinus => Op::SNegate,
            A::UnaryBitNot => Op::Not,
            A::BinaryAdd => Op::IAdd,
            A::BinarySub => Op::ISub,
            A::BinaryMul => Op::IMul,
            A::BinaryDiv => by_sign(Op::SDiv, Op::UDiv),
            A::BinaryMod => by_sign(Op::SRem, Op::UMod),
            A::BinaryBitAnd => Op::BitwiseAnd,
            A::BinaryBitOr => Op::BitwiseOr,
            A::BinaryBitXor => Op::BitwiseXor,
            A::BinaryShiftLeft => Op::ShiftLeftLogical,
            A::BinaryShiftRight => {
                by_sign(Op::ShiftRightArithmetic, Op::ShiftRightLogical)
            }
            A::BinaryLess => less,
            A::BinaryGreater => greater,
            A::BinaryLessEqual => by_sign(Op::SLessThanEqual, Op::ULessThanEqual),
            A::BinaryGreaterEqual => by_sign(Op::SGreaterThanEqual, Op::UGreaterThanEqual),
            A::BinaryEqual => Op::IEqual,
            A::BinaryNotEqual => Op::INotEqual,
            _ => return self.int_function(op, scalar, second, args),
        };
        let compares = matches!(
            op,
            A::BinaryLess
                | A::BinaryGreater
                | A::BinaryLessEqual
                | A::BinaryGreaterEqual
                | A::BinaryEqual
                | A::BinaryNotEqual
        );
        Ok(Some(self.op(plain, if compares { truth } else { ty }, args)))
    }

    fn int_function(
        &mut self,
        op: A,
        scalar: Scalar,
        second: Option<Scalar>,
        args: &[Id],
    ) -> Emit<Option<Id>> {
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let signed = scalar.is_signed();
        let less = if signed { Op::SLessThan } else { Op::ULessThan };
        Ok(Some(match (op, args) {
            (A::Abs, &[a]) if signed => {
                let zero = self.m.null(ty);
                let negative = self.op(Op::SLessThan, truth, &[a, zero]);
                let negated = self.op(Op::SNegate, ty, &[a]);
                self.op(Op::Select, ty, &[negative, negated, a])
            }
            (A::Abs, &[a]) => a,
            (A::Min, &[a, b]) => {
                let first = self.op(less, truth, &[a, b]);
                self.op(Op::Select, ty, &[first, a, b])
            }
            (A::Max, &[a, b]) => {
                let first = self.op(less, truth, &[b, a]);
                self.op(Op::Select, ty, &[first, a, b])
            }
            (A::Clamp, &[v, low, high]) => {
                let raised = self.scalar_operation(A::Max, scalar, None, &[v, low])?;
                self.scalar_operation(A::Min, scalar, None, &[raised, high])?
            }
            (A::BinaryRotateLeft, &[a, n]) => self.rotate(a, n, scalar, second, true)?,
            (A::BinaryRotateRight, &[a, n]) => self.rotate(a, n, scalar, second, false)?,
            (A::Clz | A::Ctz | A::Popcount | A::Reverse, &[a]) => self.bit_count(op, scalar, a)?,
            _ => return Ok(None),
        }))
    }

    /// Two shifts, each by less than the width; a negative amount has the right low bits.
    fn rotate(
        &mut self,
        a: Id,
        amount: Id,
        scalar: Scalar,
        second: Option<Scalar>,
        left: bool,
    ) -> Emit<Id> {
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let amount = self.to_word(amount, second.unwrap_or(scalar))?;
        let word = self.m.int(32);
        let (mask, zero) = (self.m.u32(scalar.bits() - 1), self.m.u32(0));
        let forth = self.op(Op::BitwiseAnd, word, &[amount, mask]);
        let back = self.op(Op::ISub, word, &[zero, forth]);
        let back = self.op(Op::BitwiseAnd, word, &[back, mask]);
        let (up, down) = if left { (forth, back) } else { (back, forth) };
        let up = self.op(Op::ShiftLeftLogical, ty, &[a, up]);
        let down = self.op(Op::ShiftRightLogical, ty, &[a, down]);
        Ok(self.op(Op::BitwiseOr, ty, &[up, down]))
    }

    /// Counts and reversals, in terms of 32 bits, which is what every device has.
    fn bit_count(&mut self, op: A, scalar: Scalar, a: Id) -> Emit<Id> {
        let word = self.m.int(32);
        let ty = self.types.scalar(&mut self.m, scalar)?;
        match scalar.bits() {
            32 => Ok(self.count_word(op, a)),
            64 => {
                let pair = self.m.vector(word, 2);
                let parts = self.op(Op::Bitcast, pair, &[a]);
                let low = self.op(Op::CompositeExtract, word, &[parts, 0]);
                let high = self.op(Op::CompositeExtract, word, &[parts, 1]);
                let (by_low, by_high) = (self.count_word(op, low), self.count_word(op, high));
                if op == A::Reverse {
                    let parts = self.op(Op::CompositeConstruct, pair, &[by_high, by_low]);
                    return Ok(self.op(Op::Bitcast, ty, &[parts]));
                }
                let count = self.count_both(op, (low, by_low), (high, by_high));
                Ok(self.op(Op::UConvert, ty, &[count]))
            }
            bits => {
                let wide = self.op(Op::UConvert, word, &[a]);
                let spare = self.m.u32(32 - bits);
                let result = match op {
                    A::Reverse => {
                        let reversed = self.count_word(op, wide);
                        self.op(Op::ShiftRightLogical, word, &[reversed, spare])
                    }
                    A::Clz => {
                        let count = self.count_word(op, wide);
                        self.op(Op::ISub, word, &[count, spare])
                    }
                    A::Ctz => {
                        // A bit just above the width ends the count for zero.
                        let stop = self.m.u32(1 << bits);
                        let marked = self.op(Op::BitwiseOr, word, &[wide, stop]);
                        self.count_word(op, marked)
                    }
                    _ => self.count_word(op, wide),
                };
                Ok(self.op(Op::UConvert, ty, &[result]))
            }
        }
    }

    fn count_both(&mut self, op: A, (low, by_low): (Id, Id), (high, by_high): (Id, Id)) -> Id {
        let (word, truth) = (self.m.int(32), self.m.bool());
        let (zero, width) = (self.m.u32(0), self.m.u32(32));
        // Zeros go on into the other half only if the first one has no bit.
        let (first, by_first, by_other) = match op {
            A::Clz => (high, by_high, by_low),
            A::Ctz => (low, by_low, by_high),
            _ => return self.op(Op::IAdd, word, &[by_low, by_high]),
        };
        let empty = self.op(Op::IEqual, truth, &[first, zero]);
        let more = self.op(Op::IAdd, word, &[by_other, width]);
        self.op(Op::Select, word, &[empty, more, by_first])
    }

    /// A count or reversal of 32 bits.
    fn count_word(&mut self, op: A, a: Id) -> Id {
        let word = self.m.int(32);
        match op {
            A::Popcount => self.op(Op::BitCount, word, &[a]),
            A::Reverse => self.op(Op::BitReverse, word, &[a]),
            A::Clz => {
                // The highest bit of zero is numbered -1.
                let (top, last) = (self.glsl(GLOp::FindUMsb, word, &[a]), self.m.u32(31));
                self.op(Op::ISub, word, &[last, top])
            }
            _ => {
                let (one, inverted) = (self.m.u32(1), self.op(Op::Not, word, &[a]));
                let less = self.op(Op::ISub, word, &[a, one]);
                let below = self.op(Op::BitwiseAnd, word, &[inverted, less]);
                self.op(Op::BitCount, word, &[below])
            }
        }
    }

    // ---- floats

    /// An operation on floats; nothing if it has to be lowered first.
    fn float_operation(&mut self, op: A, scalar: Scalar, args: &[Id]) -> Emit<Option<Id>> {
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let compare = match op {
            A::BinaryLess => Some(Op::FOrdLessThan),
            A::BinaryGreater => Some(Op::FOrdGreaterThan),
            A::BinaryLessEqual => Some(Op::FOrdLessThanEqual),
            A::BinaryGreaterEqual => Some(Op::FOrdGreaterThanEqual),
            A::BinaryEqual => Some(Op::FOrdEqual),
            A::BinaryNotEqual => Some(Op::FUnordNotEqual),
            _ => None,
        };
        if let Some(compare) = compare {
            return Ok(Some(self.op(compare, truth, args)));
        }
        let plain = match op {
            A::UnaryMinus => Some(Op::FNegate),
            A::BinaryAdd => Some(Op::FAdd),
            A::BinarySub => Some(Op::FSub),
            A::BinaryMul => Some(Op::FMul),
            A::BinaryDiv => Some(Op::FDiv),
            _ => None,
        };
        if let Some(plain) = plain {
            return Ok(Some(self.float_op(plain, ty, args)));
        }
        let function = match op {
            A::Abs => GLOp::FAbs,
            A::Sqrt => GLOp::Sqrt,
            A::Rsqrt => GLOp::InverseSqrt,
            A::Exp2 => GLOp::Exp2,
            A::Log2 => GLOp::Log2,
            A::Ceil => GLOp::Ceil,
            A::Floor => GLOp::Floor,
            A::Trunc => GLOp::Trunc,
            A::Rint => GLOp::RoundEven,
            A::Fma => GLOp::Fma,
            // The number wins over NaN.
            A::Min => GLOp::NMin,
            A::Max => GLOp::NMax,
            A::Isnan | A::Isinf | A::Copysign => return self.by_bits(op, scalar, args).map(Some),
            _ => return Ok(None),
        };
        Ok(Some(self.glsl(function, ty, args)))
    }

    /// Tests and signs by bits, which hold in every mode.
    fn by_bits(&mut self, op: A, scalar: Scalar, args: &[Id]) -> Emit<Id> {
        let width = scalar.bits();
        let (infinity, sign): (u64, u64) = match width {
            16 => (0x7c00, 0x8000),
            32 => (0x7f80_0000, 0x8000_0000),
            _ => (0x7ff0_0000_0000_0000, 1 << 63),
        };
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let bits = self.types.scalar(&mut self.m, integer_of(width))?;
        let (Some(&a), rest) = (args.first(), args.get(1)) else {
            return Err(internal("an operation of nothing"));
        };
        let number = self.op(Op::Bitcast, bits, &[a]);
        let magnitude = self.m.int_constant(width, !sign);
        let magnitude = self.op(Op::BitwiseAnd, bits, &[number, magnitude]);
        let infinity = self.m.int_constant(width, infinity);
        Ok(match (op, rest) {
            (A::Isnan, _) => self.op(Op::UGreaterThan, truth, &[magnitude, infinity]),
            (A::Isinf, _) => self.op(Op::IEqual, truth, &[magnitude, infinity]),
            (_, Some(&b)) => {
                let other = self.op(Op::Bitcast, bits, &[b]);
                let mask = self.m.int_constant(width, sign);
                let other = self.op(Op::BitwiseAnd, bits, &[other, mask]);
                let joined = self.op(Op::BitwiseOr, bits, &[magnitude, other]);
                self.op(Op::Bitcast, ty, &[joined])
            }
            _ => return Err(internal("an operation of one operand")),
        })
    }
}

fn not_lowered(op: A) -> Box<luisac_ast::diagnostic::Diagnostic> {
    wrong_form(&format!("the operation `{}` has to be lowered before", op.name()))
}

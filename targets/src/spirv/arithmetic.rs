//! Operations on scalars: integers, floats, truth values. Vectors are computed component by component; the pipelines leave none.

use luisac_artifact::metadata::MathMode;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::InstId;
use luisac_xir::op::ArithmeticOp as A;
use rspirv::spirv::{GlslStd450Op, Op};

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
            results.push(self.scalar_operation(op, scalar, &picked)?);
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

    /// One operation on scalars.
    pub fn scalar_operation(&mut self, op: A, scalar: Scalar, args: &[Id]) -> Emit<Id> {
        let result = match scalar {
            Scalar::Bool => self.bool_operation(op, args),
            _ if scalar.is_int() => self.int_operation(op, scalar, args)?,
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

    fn int_operation(&mut self, op: A, scalar: Scalar, args: &[Id]) -> Emit<Option<Id>> {
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let signed = scalar.is_signed();
        let by_sign = |with, without| if signed { with } else { without };
        let (less, greater) =
            (by_sign(Op::SLessThan, Op::ULessThan), by_sign(Op::SGreaterThan, Op::UGreaterThan));
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
            A::BinaryShiftRight => by_sign(Op::ShiftRightArithmetic, Op::ShiftRightLogical),
            A::BinaryLess => less,
            A::BinaryGreater => greater,
            A::BinaryLessEqual => by_sign(Op::SLessThanEqual, Op::ULessThanEqual),
            A::BinaryGreaterEqual => by_sign(Op::SGreaterThanEqual, Op::UGreaterThanEqual),
            A::BinaryEqual => Op::IEqual,
            A::BinaryNotEqual => Op::INotEqual,
            _ => return self.int_function(op, scalar, args),
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

    fn int_function(&mut self, op: A, scalar: Scalar, args: &[Id]) -> Emit<Option<Id>> {
        let truth = self.m.bool();
        let ty = self.types.scalar(&mut self.m, scalar)?;
        let signed = scalar.is_signed();
        let less = if signed { Op::SLessThan } else { Op::ULessThan };
        Ok(Some(match (op, args) {
            (A::Abs, &[a]) if !signed => a,
            (A::Min, &[a, b]) => {
                let first = self.op(less, truth, &[a, b]);
                self.op(Op::Select, ty, &[first, a, b])
            }
            (A::Max, &[a, b]) => {
                let first = self.op(less, truth, &[b, a]);
                self.op(Op::Select, ty, &[first, a, b])
            }
            (A::Clz | A::Ctz | A::Popcount | A::Reverse, &[a]) if scalar.bits() == 32 => {
                self.count_word(op, a)
            }
            _ => return Ok(None),
        }))
    }

    /// A count or reversal of 32 bits.
    fn count_word(&mut self, op: A, a: Id) -> Id {
        let word = self.m.int(32);
        match op {
            A::Popcount => self.op(Op::BitCount, word, &[a]),
            A::Reverse => self.op(Op::BitReverse, word, &[a]),
            A::Clz => {
                let (top, last) = (self.glsl(GlslStd450Op::FindUMsb, word, &[a]), self.m.u32(31));
                self.op(Op::ISub, word, &[last, top])
            }
            _ => self.glsl(GlslStd450Op::FindILsb, word, &[a]),
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
            // Drivers take -0 for a number that needs no clearing of its sign.
            A::Abs if self.options.math == MathMode::Precise => {
                return self.by_bits(op, scalar, args).map(Some);
            }
            A::Abs => GlslStd450Op::FAbs,
            A::Sqrt => GlslStd450Op::Sqrt,
            A::Rsqrt => GlslStd450Op::InverseSqrt,
            A::Exp2 => GlslStd450Op::Exp2,
            A::Log2 => GlslStd450Op::Log2,
            A::Ceil => GlslStd450Op::Ceil,
            A::Floor => GlslStd450Op::Floor,
            A::Trunc => GlslStd450Op::Trunc,
            A::Rint => GlslStd450Op::RoundEven,
            A::Fma => GlslStd450Op::Fma,
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
            (A::Abs, _) => self.op(Op::Bitcast, ty, &[magnitude]),
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

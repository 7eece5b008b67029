//! Arithmetic and conversions.
//!
//! `lower_edge_cases` has been there: no operand is one that a language leaves open. Integers of 8 and 16 bits are wrapped
//! after each operation that can leave their range.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::ArithmeticOp::{self, *};
use luisac_xir::{InstId, Op, ValueId};
use naga::{
    BinaryOperator as B, Expression, MathFunction as M, RelationalFunction, ScalarKind,
    UnaryOperator as U,
};

use super::Emit;
use super::body::Val;
use super::function::FnEmit;
use super::types::{register, vector_size};

impl FnEmit<'_> {
    /// `arithmetic`
    pub fn arithmetic(&mut self, inst: InstId, op: ArithmeticOp) -> Emit<()> {
        if matches!(op, Aggregate | Shuffle | Insert | Extract) {
            return self.movement(inst, op);
        }
        let args = self.func.args(inst).to_vec();
        let mut values = Vec::with_capacity(args.len());
        for &arg in &args {
            values.push(self.value(arg)?);
        }
        let (scalar, ty) = (self.scalar_type(args[0]), self.func.inst(inst).ty);
        if self.cancels(inst) {
            values[1] = self.rounded(values[1], ty);
        }
        let value = match self.operation(op, scalar, ty, &args, &values)? {
            Some(value) => value,
            None => return Err(self.refused(Op::Arithmetic(op))),
        };
        let value = if wraps(op) { self.wrap(value, ty) } else { value };
        let value = if self.must_round(inst) { self.rounded(value, ty) } else { value };
        self.define(inst, value);
        Ok(())
    }

    fn operation(
        &mut self,
        op: ArithmeticOp,
        scalar: Scalar,
        ty: TypeId,
        args: &[ValueId],
        v: &[Val],
    ) -> Emit<Option<Val>> {
        if let Some(fun) = function(op) {
            return Ok(Some(self.call(fun, v)));
        }
        if op == BinaryNotEqual && scalar.is_float() {
            // naga's `!=` is false for NaN in SPIR-V.
            let equal = self.body.binary(B::Equal, v[0], v[1]);
            return Ok(Some(self.body.unary(U::LogicalNot, equal)));
        }
        if let Some(binary) = binary(op, scalar) {
            return Ok(Some(self.body.binary(binary, v[0], v[1])));
        }
        Ok(Some(match op {
            UnaryMinus if scalar.is_int() && !scalar.is_signed() => {
                let zero = self.number(ty, 0);
                self.body.binary(B::Subtract, zero, v[0])
            }
            UnaryMinus => self.body.unary(U::Negate, v[0]),
            UnaryBitNot if scalar == Scalar::Bool => self.body.unary(U::LogicalNot, v[0]),
            UnaryBitNot => self.body.unary(U::BitwiseNot, v[0]),
            BinaryShiftLeft | BinaryShiftRight => {
                let amount = self.words_of(args[1], v[1]);
                let op = if op == BinaryShiftLeft { B::ShiftLeft } else { B::ShiftRight };
                self.body.binary(op, v[0], amount)
            }
            Select => return self.select(ty, v).map(Some),
            All | Any => {
                let fun = if op == All { RelationalFunction::All } else { RelationalFunction::Any };
                self.body.value(Expression::Relational { fun, argument: v[0] })
            }
            _ => return Ok(None),
        }))
    }

    fn call(&mut self, fun: M, v: &[Val]) -> Val {
        let (arg, arg1, arg2) = (v[0], v.get(1).copied(), v.get(2).copied());
        self.body.value(Expression::Math { fun, arg, arg1, arg2, arg3: None })
    }

    /// A shift amount without a sign, of 32 bits.
    fn words_of(&mut self, arg: ValueId, amount: Val) -> Val {
        match self.scalar_type(arg) {
            Scalar::I64 => {
                let bits = self.body.bitcast(amount, ScalarKind::Uint);
                self.body.convert(bits, ScalarKind::Uint, 4)
            }
            Scalar::U64 => self.body.convert(amount, ScalarKind::Uint, 4),
            s if s.is_signed() => self.body.bitcast(amount, ScalarKind::Uint),
            _ => amount,
        }
    }

    /// A choice; of composites other than vectors by a branch.
    fn select(&mut self, ty: TypeId, v: &[Val]) -> Emit<Val> {
        if self.types.is_scalar_or_vector(ty) {
            return Ok(self.body.select(v[2], v[1], v[0]));
        }
        let place = self.temporary(ty)?;
        self.body.open();
        self.body.store(place, v[1]);
        let accept = self.body.close();
        self.body.open();
        self.body.store(place, v[0]);
        let reject = self.body.close();
        self.body.statement(naga::Statement::If { condition: v[2], accept, reject });
        Ok(self.body.load(place))
    }

    /// A small number in each component of an integer type.
    fn number(&mut self, ty: TypeId, n: u32) -> Val {
        let scalar = self.types.scalar_of(ty).unwrap_or(Scalar::U32);
        let one = match scalar {
            Scalar::I64 => self.body.i64(n.into()),
            Scalar::U64 => self.body.u64(n.into()),
            s if s.is_signed() => self.body.i32(n as i32),
            _ => self.body.u32(n),
        };
        self.spread(ty, one)
    }

    /// A scalar in each component of a type.
    fn spread(&mut self, ty: TypeId, one: Val) -> Val {
        match self.types.is_vector(ty) {
            true => self.body.splat(vector_size(self.types.dim(ty)), one),
            false => one,
        }
    }

    /// The value of an integer of 8 or 16 bits from one that may have left its range.
    pub fn wrap(&mut self, value: Val, ty: TypeId) -> Val {
        let scalar = self.types.scalar_of(ty).unwrap_or(Scalar::U32);
        if !scalar.is_int() || scalar.bits() >= 32 {
            return value;
        }
        let word = self.body.u32(32 - scalar.bits());
        if scalar.is_signed() {
            let by = self.spread(ty, word);
            let high = self.body.binary(B::ShiftLeft, value, by);
            return self.body.binary(B::ShiftRight, high, by);
        }
        let mask = self.number(ty, (1 << scalar.bits()) - 1);
        self.body.binary(B::And, value, mask)
    }

    // ---- conversions

    /// `static_cast`
    pub fn cast(&mut self, inst: InstId) -> Emit<()> {
        let arg = self.func.arg(inst, 0);
        let (from, ty) = (self.scalar_type(arg), self.func.inst(inst).ty);
        let to = self.types.scalar_of(ty).unwrap_or(Scalar::U32);
        let value = self.value(arg)?;
        let value = self.converted(from, to, value, ty)?;
        self.define(inst, value);
        Ok(())
    }

    fn converted(&mut self, from: Scalar, to: Scalar, value: Val, ty: TypeId) -> Emit<Val> {
        if from == to {
            return Ok(value);
        }
        let value = match (from, to) {
            (Scalar::F32, Scalar::F64) if self.types.is_scalar(ty) => {
                self.rounded(value, TypeId::F32)
            }
            _ => value,
        };
        let (Some(source), Some(target)) = (register(from), register(to)) else {
            return Err(self.internal("a conversion of a type without a form"));
        };
        let b = &mut self.body;
        let is_int = |s: naga::Scalar| matches!(s.kind, ScalarKind::Sint | ScalarKind::Uint);
        let value = match (is_int(source), is_int(target)) {
            (true, true) => {
                // The width first, by the sign of the source, then the sign.
                let sized = match source.width == target.width {
                    true => value,
                    false => b.convert(value, source.kind, target.width),
                };
                match source.kind == target.kind {
                    true => sized,
                    false => b.bitcast(sized, target.kind),
                }
            }
            _ if to == Scalar::F16 && self.types.is_scalar(ty) => {
                return self.half_of(from, value);
            }
            _ => b.convert(value, target.kind, target.width),
        };
        Ok(if to.is_int() { self.wrap(value, ty) } else { value })
    }
}

impl FnEmit<'_> {
    /// A half, rounded to nearest even whatever the driver does.
    fn half_of(&mut self, from: Scalar, value: Val) -> Emit<Val> {
        let single = match from {
            Scalar::F32 => value,
            Scalar::F64 => self.single_to_odd(value),
            // What a single rounds is beyond the largest half.
            _ => self.body.convert(value, ScalarKind::Float, 4),
        };
        let b = &mut self.body;
        let bits = b.bitcast(single, ScalarKind::Uint);
        let magnitude = b.and_const(bits, 0x7fff_ffff);
        let sign = b.shift(B::ShiftRight, bits, 16);
        let sign = b.and_const(sign, 0x8000);
        // Normal: the mantissa rounded where it is cut, then the exponent's bias changed; a carry goes on to infinity.
        let tail = b.shift(B::ShiftRight, magnitude, 13);
        let odd = b.and_const(tail, 1);
        let up = b.add(magnitude, odd);
        let up = b.add_const(up, 0xfff);
        let bias = b.u32(0x3800_0000);
        let rebiased = b.binary(B::Subtract, up, bias);
        let normal = b.shift(B::ShiftRight, rebiased, 13);
        // Subnormal: a half of a single has the last place of these.
        let size = b.bitcast(magnitude, ScalarKind::Float);
        let half = b.f32(0.5);
        let placed = b.add(size, half);
        let placed = b.bitcast(placed, ScalarKind::Uint);
        let base = b.u32(0x3f00_0000);
        let small = b.binary(B::Subtract, placed, base);
        let (least, most) = (b.u32(0x3880_0000), b.u32(0x4780_0000));
        let is_small = b.binary(B::Less, magnitude, least);
        let is_large = b.binary(B::GreaterEqual, magnitude, most);
        let infinity = b.u32(0x7f80_0000);
        let is_nan = b.binary(B::Greater, magnitude, infinity);
        let (top, nan) = (b.u32(0x7c00), b.u32(0x7e00));
        let finite = b.select(is_small, small, normal);
        let ordered = b.select(is_large, top, finite);
        let made = b.select(is_nan, nan, ordered);
        let made = b.binary(B::InclusiveOr, made, sign);
        self.scalar_from_words(Scalar::F16, &[made])
    }

    /// A single whose last bit is set if the double was not one, so that it can be rounded again.
    fn single_to_odd(&mut self, value: Val) -> Val {
        let near = self.body.convert(value, ScalarKind::Float, 4);
        let near = self.rounded(near, TypeId::F32);
        let b = &mut self.body;
        let back = b.convert(near, ScalarKind::Float, 8);
        let bits = b.bitcast(near, ScalarKind::Uint);
        let last = b.and_const(bits, 1);
        let zero = b.u32(0);
        let is_even = b.binary(B::Equal, last, zero);
        // Neither is true of NaN.
        let [size, back] = [value, back].map(|v| b.value(super::words::math(M::Abs, v)));
        let is_above = b.binary(B::Greater, back, size);
        let is_below = b.binary(B::Less, back, size);
        let one = b.u32(1);
        let (up, down) = (b.add(bits, one), b.binary(B::Subtract, bits, one));
        let (raise, lower) = (
            b.binary(B::LogicalAnd, is_even, is_below),
            b.binary(B::LogicalAnd, is_even, is_above),
        );
        let bits = b.select(raise, up, bits);
        let bits = b.select(lower, down, bits);
        b.bitcast(bits, ScalarKind::Float)
    }
}

/// Whether a result may be out of the range of a small integer.
fn wraps(op: ArithmeticOp) -> bool {
    matches!(
        op,
        UnaryMinus | UnaryBitNot | BinaryAdd | BinarySub | BinaryMul | BinaryDiv | BinaryShiftLeft
    )
}

/// What is a function of the language.
fn function(op: ArithmeticOp) -> Option<M> {
    Some(match op {
        Abs => M::Abs,
        Min => M::Min,
        Max => M::Max,
        Clz => M::CountLeadingZeros,
        Ctz => M::CountTrailingZeros,
        Popcount => M::CountOneBits,
        Reverse => M::ReverseBits,
        Sqrt => M::Sqrt,
        Rsqrt => M::InverseSqrt,
        Ceil => M::Ceil,
        Floor => M::Floor,
        Trunc => M::Trunc,
        // Half to even in every language.
        Rint => M::Round,
        Fma => M::Fma,
        Sin => M::Sin,
        Cos => M::Cos,
        Tan => M::Tan,
        Exp => M::Exp,
        Exp2 => M::Exp2,
        Log => M::Log,
        Log2 => M::Log2,
        _ => return None,
    })
}

/// What is an operator.
fn binary(op: ArithmeticOp, scalar: Scalar) -> Option<B> {
    Some(match op {
        BinaryAdd => B::Add,
        BinarySub => B::Subtract,
        BinaryMul => B::Multiply,
        BinaryDiv => B::Divide,
        BinaryMod if scalar.is_int() => B::Modulo,
        BinaryBitAnd => B::And,
        BinaryBitOr => B::InclusiveOr,
        BinaryBitXor if scalar == Scalar::Bool => B::NotEqual,
        BinaryBitXor => B::ExclusiveOr,
        BinaryLess => B::Less,
        BinaryGreater => B::Greater,
        BinaryLessEqual => B::LessEqual,
        BinaryGreaterEqual => B::GreaterEqual,
        BinaryEqual => B::Equal,
        BinaryNotEqual => B::NotEqual,
        _ => return None,
    })
}

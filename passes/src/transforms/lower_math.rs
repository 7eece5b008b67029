//! Mathematical functions as primitive operations.
//!
//! What: replaces scalar operations that the target does not have natively: formulas (clamp, lerp, smoothstep ...) by those of
//! `xir::math::composite`, functions (sin, exp, pow, float remainder ...) by those of `xir::math`. Functions of halves are
//! computed in single precision and rounded once.
//! Why right: the interpreter and the constant folder run the same sequences of exactly defined operations, so the bits are
//! the same.
//! Cost: linear in what is emitted. Blocks are walked from the end, so that splitting one around a loop moves each
//! instruction once.

use super::emitter::Emitter;
use super::native_set::NativeSet;
use super::util;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, OptionType, Refusal, counters, options,
};
use crate::manager::form::{Control, Data, Math, Requires, Shape as VectorShape};
use cranelift_entity::EntityRef;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::builder::Position;
use luisac_xir::math::composite::{self, Operand, Shape};
use luisac_xir::math::ops::{Binary, Compare, Convert, Ops, Type, Unary};
use luisac_xir::math::value::{F32, F64, Float, U32, Val};
use luisac_xir::math::{Accuracy, Function as MathFunction, fma, fmod, pow, rounding};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, InstId, Op, ValueId};
use std::cell::RefCell;

counters! {
    /// What `lower_math` did.
    Info {
        change lowered_formula_count "formulas replaced";
        change lowered_function_count "functions replaced";
    }
}

/// The operations that stay by default: rounding, and what hardware with floats has.
pub(super) fn usual_natives() -> NativeSet {
    let usual = "ceil|copysign|floor|fma.f32|fma.f64|rint|round|trunc";
    NativeSet::parse(usual).unwrap_or_default()
}

options! {
    /// What to lower and how.
    Options {
        fast_math: bool = false, "use the cheaper forms of `--math fast`";
        native: NativeSet = usual_natives(),
            "operations that stay";
    }
}

/// Whether an operation on floats that is no formula is lowered.
pub(super) fn is_function(op: ArithmeticOp) -> bool {
    Form::of(op).is_some()
}

/// The pass.
pub struct LowerMath;

impl FunctionPass for LowerMath {
    const DECLARATION: Declaration = Declaration {
        requires: Requires {
            control: Some(Control::Flat),
            shape: Some(VectorShape::Scalars),
            ..Requires::NONE
        },
        why: "functions are defined on scalars, and some of them are loops",
        establishes: Requires {
            math: Some(Math::Lowered),
            data: Some(Data::Phis),
            ..Requires::NONE
        },
        ..Declaration::new(
            "lower_math",
            "replaces mathematical functions by primitive operations",
            "Replaces formulas and functions that are not in `native` by the sequences of primitive operations that the \
             interpreter runs, so that all targets give the same bits.",
        )
    };
    type Options = Options;
    type Info = Info;

    // All or nothing: lowered mathematics is what the declaration promises, so fuel is not asked.
    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut lowering =
            Lowering { func: cx.func, types: cx.types, options, info: Info::default() };
        lowering.run();
        Ok(lowering.info)
    }
}

struct Lowering<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    options: &'a Options,
    info: Info,
}

impl Lowering<'_> {
    /// Walks all blocks from their ends. What is emitted is walked too, as it may need lowering itself.
    fn run(&mut self) {
        let mut pending: Vec<Option<InstId>> =
            self.func.blocks().map(|b| self.func.last_inst(b)).collect();
        while let Some(mut next) = pending.pop() {
            while let Some(inst) = next {
                next = self.func.prev_inst(inst);
                let Op::Arithmetic(op) = self.func.op(inst) else { continue };
                let (head, blocks) = (self.func.inst_block(inst), self.func.block_count());
                let Some(value) = self.lower(inst, op) else { continue };
                next = self.func.prev_inst(inst);
                let tail = self.func.inst_block(inst);
                if head != tail {
                    pending.extend(head.map(|b| self.func.last_inst(b)));
                }
                for made in (blocks..self.func.block_count()).map(BlockId::new) {
                    if Some(made) != tail {
                        pending.push(self.func.last_inst(made));
                    }
                }
                util::replace_and_remove(self.func, inst, value);
            }
        }
    }

    /// Emits the lowered form before `inst`; its value, or none if the operation stays.
    fn lower(&mut self, inst: InstId, op: ArithmeticOp) -> Option<ValueId> {
        let ty = self.func.value_type(*self.func.args(inst).first()?);
        let scalar = self.types.scalar_of(ty)?;
        if composite::is_movement(op)
            || !self.types.is_scalar(ty)
            || self.options.native.has(op, scalar)
        {
            return None;
        }
        if composite::is_formula(op) {
            self.info.lowered_formula_count += 1;
            let args = self.func.args(inst).to_vec();
            return self.formula(inst, op, &args);
        }
        if !scalar.is_float() {
            return None;
        }
        let form = Form::of(op)?;
        let args = self.func.args(inst).to_vec();
        self.info.lowered_function_count += 1;
        Some(self.function(inst, form, scalar, &args))
    }

    fn formula(&mut self, inst: InstId, op: ArithmeticOp, args: &[ValueId]) -> Option<ValueId> {
        let operands: Vec<Operand<ValueId>> = args
            .iter()
            .map(|&value| {
                let scalar = self.types.scalar_of(self.func.value_type(value))?;
                Some(Operand { scalar, shape: Shape::Scalar, lanes: vec![value] })
            })
            .collect::<Option<_>>()?;
        let mut builder = Builder::before(self.func, self.types, inst);
        composite::expand(&mut Emitter { builder: &mut builder }, op, &operands).first().copied()
    }

    fn function(&mut self, inst: InstId, form: Form, scalar: Scalar, args: &[ValueId]) -> ValueId {
        let accuracy = if self.options.fast_math { Accuracy::Fast } else { Accuracy::Precise };
        let mut builder = Builder::before(self.func, self.types, inst);
        let wide = match scalar {
            Scalar::F16 => Scalar::F32,
            _ => scalar,
        };
        if form == Form::Fma {
            return Emit { builder: RefCell::new(&mut builder) }.fma(scalar, args);
        }
        let mut operands: Vec<ValueId> = args.to_vec();
        let floats = if form == Form::PowInt { 1 } else { operands.len() };
        for operand in &mut operands[..floats] {
            *operand = builder.static_cast(*operand, TypeId::scalar(wide));
        }
        let ops = Emit { builder: RefCell::new(&mut builder) };
        let value = match wide {
            Scalar::F64 => form.build::<F64>(&ops, accuracy, &operands),
            _ => form.build::<F32>(&ops, accuracy, &operands),
        };
        builder.static_cast(value, TypeId::scalar(scalar))
    }
}

/// What a function is made by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Library(MathFunction),
    PowInt,
    Remainder,
    Ceil,
    Floor,
    Rint,
    Round,
    Trunc,
    Fma,
    Copysign,
}

/// Whether the pass takes an operation on floats apart, unless a target keeps it.
pub fn lowered_by_math(op: ArithmeticOp) -> bool {
    Form::of(op).is_some()
}

impl Form {
    fn of(op: ArithmeticOp) -> Option<Form> {
        Some(match op {
            ArithmeticOp::PowInt => Form::PowInt,
            ArithmeticOp::BinaryMod => Form::Remainder,
            ArithmeticOp::Ceil => Form::Ceil,
            ArithmeticOp::Floor => Form::Floor,
            ArithmeticOp::Rint => Form::Rint,
            ArithmeticOp::Round => Form::Round,
            ArithmeticOp::Trunc => Form::Trunc,
            ArithmeticOp::Fma => Form::Fma,
            ArithmeticOp::Copysign => Form::Copysign,
            _ => Form::Library(MathFunction::of(op)?),
        })
    }

    /// Emits the function of format `F`, but for `Fma`, which has a form for each type.
    fn build<F: Float>(self, ops: &Emit<'_, '_>, accuracy: Accuracy, args: &[ValueId]) -> ValueId {
        let value = |i: usize| Val::<_, F>::new(ops, args[i.min(args.len() - 1)]);
        match self {
            Form::Library(function) => {
                return function.build::<_, F>(ops, accuracy, value(0).raw(), value(1).raw());
            }
            Form::PowInt => return ops.pow_int::<F>(value(0), args[1]),
            Form::Fma => return ops.arithmetic(ArithmeticOp::Fma, args),
            Form::Remainder => fmod::fmod(value(0), value(1)),
            Form::Ceil => rounding::ceil(value(0)),
            Form::Floor => rounding::floor(value(0)),
            Form::Rint => rounding::rint(value(0)),
            Form::Round => rounding::round(value(0)),
            Form::Trunc => rounding::trunc(value(0)),
            Form::Copysign => value(0).abs().flip_sign(value(1).sign_bit()),
        }
        .raw()
    }
}

/// The primitive operations as instructions.
struct Emit<'a, 'b> {
    builder: RefCell<&'a mut Builder<'b>>,
}

impl Emit<'_, '_> {
    fn arithmetic(&self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        self.builder.borrow_mut().arithmetic(op, args)
    }

    fn bit_cast(&self, value: ValueId, ty: TypeId) -> ValueId {
        self.builder.borrow_mut().bit_cast(value, ty)
    }

    fn static_cast(&self, value: ValueId, ty: TypeId) -> ValueId {
        self.builder.borrow_mut().static_cast(value, ty)
    }

    /// The signed integer of the bits of a word.
    fn signed(&self, ty: Type, value: ValueId) -> ValueId {
        self.bit_cast(value, if ty == Type::U64 { TypeId::I64 } else { TypeId::I32 })
    }

    /// The fused multiply-add of a type.
    fn fma(&self, scalar: Scalar, args: &[ValueId]) -> ValueId {
        match scalar {
            Scalar::F16 => {
                let [short, word] = [Scalar::U16, Scalar::U32].map(TypeId::scalar);
                let value = |i: usize| {
                    let bits = self.bit_cast(args[i], short);
                    Val::<_, U32>::new(self, self.static_cast(bits, word))
                };
                let bits = fma::fma_half(value(0), value(1), value(2)).raw();
                self.bit_cast(self.static_cast(bits, short), TypeId::F16)
            }
            Scalar::F32 => {
                let value = |i: usize| Val::<_, F32>::new(self, args[i]);
                fma::fma_single(value(0), value(1), value(2)).raw()
            }
            _ => {
                let value = |i: usize| Val::<_, F64>::new(self, args[i]);
                fma::fma_double(value(0), value(1), value(2)).raw()
            }
        }
    }

    fn pow_int<F: Float>(&self, x: Val<'_, Self, F>, exponent: ValueId) -> ValueId {
        let (scalar, bits) = {
            let builder = self.builder.borrow();
            let scalar = builder.types.scalar_of(builder.func.value_type(exponent));
            (scalar.unwrap_or(Scalar::I32), builder.func.constant_bits(exponent))
        };
        let wide = if scalar.is_signed() { TypeId::I64 } else { TypeId::U64 };
        if let Some(bits) = bits {
            let shift = 64 - scalar.bits();
            let value = match scalar.is_signed() {
                true => i128::from((bits << shift) as i64 >> shift),
                false => i128::from(bits),
            };
            return pow::pow_constant(x, value.unsigned_abs() as u64, value < 0).raw();
        }
        let word = self.static_cast(exponent, wide);
        let word = Val::new(self, self.bit_cast(word, TypeId::U64));
        let (magnitude, negative) = match scalar.is_signed() {
            true => pow::magnitude(word),
            false => (word, Val::constant(self, 0)),
        };
        pow::pow_int_loop(x, magnitude, negative).raw()
    }
}

fn type_of(ty: Type) -> TypeId {
    match ty {
        Type::Bool => TypeId::BOOL,
        Type::U32 => TypeId::U32,
        Type::U64 => TypeId::U64,
        Type::F32 => TypeId::F32,
        Type::F64 => TypeId::F64,
    }
}

impl Ops for Emit<'_, '_> {
    type Value = ValueId;

    fn constant(&self, ty: Type, bits: u64) -> ValueId {
        let mut builder = self.builder.borrow_mut();
        let types = builder.types;
        let bits = if ty == Type::Bool { bits & 1 } else { bits };
        builder.func.scalar_constant(type_of(ty), bits, types)
    }

    fn unary(&self, op: Unary, _: Type, a: ValueId) -> ValueId {
        let op = match op {
            Unary::Neg => ArithmeticOp::UnaryMinus,
            Unary::Abs => ArithmeticOp::Abs,
            Unary::Sqrt => ArithmeticOp::Sqrt,
        };
        self.arithmetic(op, &[a])
    }

    fn binary(&self, op: Binary, ty: Type, a: ValueId, b: ValueId) -> ValueId {
        let op = match op {
            Binary::Add => ArithmeticOp::BinaryAdd,
            Binary::Sub => ArithmeticOp::BinarySub,
            Binary::Mul => ArithmeticOp::BinaryMul,
            Binary::Div => ArithmeticOp::BinaryDiv,
            Binary::And => ArithmeticOp::BinaryBitAnd,
            Binary::Or => ArithmeticOp::BinaryBitOr,
            Binary::Xor => ArithmeticOp::BinaryBitXor,
            Binary::Shl => ArithmeticOp::BinaryShiftLeft,
            Binary::Shr => ArithmeticOp::BinaryShiftRight,
            Binary::Sar => {
                let signed = self.signed(ty, a);
                let shifted = self.arithmetic(ArithmeticOp::BinaryShiftRight, &[signed, b]);
                return self.bit_cast(shifted, type_of(ty));
            }
        };
        self.arithmetic(op, &[a, b])
    }

    fn compare(&self, op: Compare, ty: Type, a: ValueId, b: ValueId) -> ValueId {
        match op {
            Compare::Eq => self.arithmetic(ArithmeticOp::BinaryEqual, &[a, b]),
            Compare::Lt => self.arithmetic(ArithmeticOp::BinaryLess, &[a, b]),
            Compare::Le => self.arithmetic(ArithmeticOp::BinaryLessEqual, &[a, b]),
            Compare::SignedLt => {
                let (a, b) = (self.signed(ty, a), self.signed(ty, b));
                self.arithmetic(ArithmeticOp::BinaryLess, &[a, b])
            }
        }
    }

    fn select(&self, _: Type, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.arithmetic(ArithmeticOp::Select, &[no, yes, condition])
    }

    fn convert(&self, op: Convert, a: ValueId) -> ValueId {
        let to = type_of(op.types().1);
        match op {
            Convert::F32Bits | Convert::BitsF32 | Convert::F64Bits | Convert::BitsF64 => {
                self.bit_cast(a, to)
            }
            Convert::Extend | Convert::Truncate | Convert::Widen | Convert::Narrow => {
                self.static_cast(a, to)
            }
            Convert::SignedToF32 => {
                let signed = self.signed(Type::U32, a);
                self.static_cast(signed, to)
            }
            Convert::SignedToF64 => {
                let signed = self.signed(Type::U64, a);
                self.static_cast(signed, to)
            }
        }
    }

    fn loop_while<const N: usize>(
        &self,
        state: [ValueId; N],
        condition: impl Fn(&Self, [ValueId; N]) -> ValueId,
        body: impl Fn(&Self, [ValueId; N]) -> [ValueId; N],
    ) -> [ValueId; N] {
        let (place, head, header, inside, after) = self.open_loop();
        let mut phis = state;
        for (phi, value) in phis.iter_mut().zip(state) {
            let mut builder = self.builder.borrow_mut();
            let ty = builder.func.value_type(value);
            *phi = builder.value(Op::Phi, ty, &[value]);
            if let Some(inst) = builder.func.def_inst(*phi) {
                builder.func.inst_blocks_mut(inst).push(head);
            }
        }
        let go_on = condition(self, phis);
        self.builder.borrow_mut().cond_br(go_on, inside, after);
        self.builder.borrow_mut().switch_to(inside);
        let next = body(self, phis);
        let mut builder = self.builder.borrow_mut();
        let latch = builder.block();
        builder.br(header);
        for (phi, value) in phis.into_iter().zip(next) {
            if let Some(inst) = builder.func.def_inst(phi) {
                builder.func.push_arg(inst, value);
                builder.func.inst_blocks_mut(inst).push(latch);
            }
        }
        builder.set_position(place);
        phis
    }
}

impl Emit<'_, '_> {
    /// Splits the block at the present place for a loop: the place after the loop; the blocks before it, of its test, of its
    /// body and after it. The builder is at the test.
    fn open_loop(&self) -> (Position, BlockId, BlockId, BlockId, BlockId) {
        let mut builder = self.builder.borrow_mut();
        let head = builder.block();
        let (after, place) = match builder.position() {
            Position::Before(inst) => (builder.func.split_block(inst), Position::Before(inst)),
            Position::End(block) => {
                let after = builder.func.insert_block_after(block);
                (after, Position::End(after))
            }
        };
        let header = builder.func.insert_block_after(head);
        let inside = builder.func.insert_block_after(header);
        builder.switch_to(head);
        builder.br(header);
        builder.switch_to(header);
        (place, head, header, inside, after)
    }
}

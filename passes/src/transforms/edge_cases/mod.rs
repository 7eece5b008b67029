//! Edge cases of arithmetic, for languages that leave them open.
//!
//! What: rewrites operations so that no operand reaches a case that HLSL, MSL, SPIR-V and WGSL do not all define alike, and the
//! result is what the semantics say. What is left afterwards, on scalars and vectors:
//!
//! | operation | what holds |
//! |---|---|
//! | integer `/`, `%` | the divisor is neither 0 nor -1 under the least dividend; `%` is unsigned |
//! | `<<`, `>>` | the amount has the type of the value and is below its width |
//! | rotations, `clamp`, `saturate`, `lerp`, `step`, `smoothstep`, `fract`, `rsqrt`, `round`, `copysign`, `isnan`, `isinf` | gone |
//! | `abs` | on floats and unsigned integers only |
//! | `min`, `max` | on integers only |
//! | `clz`, `ctz`, `popcount`, `reverse` | on `uint` only; `clz` and `ctz` never of 0 |
//! | products, lengths, reductions of vectors; all arithmetic on matrices | gone: done component by component |
//! | conversion of a float to an integer | the integer part is in the range of the type, which has 32 bits or more |
//! | conversion from and to `bool` | gone |
//! | `warp_read_lane` | of an active lane |
//! | `warp_active_min`, `warp_active_max`, `warp_active_all_equal` | on integers only |
//!
//! An operation that `native` names stays as it is. Float `%`, `pow` and the transcendental functions are for `lower_math`.
//!
//! Why right: the rewritten forms are tried on all integers of 8 bits and all halves (`passes/tests/edge_cases.rs`), and an
//! evaluation that stops at an open case runs over them. Formulas are those of `xir::math::composite`.
//! Order: the pass comes last. Passes that know the semantics may remove guards again, such as the mask of an amount.
//! Cost: linear in what is emitted.

mod bits;
mod float;
mod integer;
mod wave;

use super::elements;
use super::lanes;
use super::native_set::NativeSet;
use super::util;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::math::composite::{self, Lane, Operand, Scalars, Shape};
use luisac_xir::op::{ArithmeticOp, CastOp};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `lower_edge_cases` did.
    Info {
        change guarded_count "operations guarded or replaced";
    }
}

options! {
    /// What the target defines as we do.
    Options {
        native: NativeSet = NativeSet::default(), "operations that the target does exactly";
        fast_math: bool = false, "leave the order of the zeros in `min` and `max` open";
        short_words: bool = true, "the target has 16-bit integers, for the bits of halves";
    }
}

/// The pass.
pub struct LowerEdgeCases;

impl FunctionPass for LowerEdgeCases {
    const DECLARATION: Declaration = Declaration::new(
        "lower_edge_cases",
        "guards operands that languages for GPUs leave open",
        "Rewrites operations so that no operand reaches a case that HLSL, MSL, SPIR-V or WGSL leave open: division by zero, \
         long shifts, conversions out of range, NaN in minima, counts of zero bits, inactive lanes. It comes last in a pipeline.",
    );
    type Options = Options;
    type Info = Info;

    // All or nothing: what is left open is wrong, so fuel is not asked.
    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let insts: Vec<InstId> = cx.func.blocks().flat_map(|b| cx.func.insts(b)).collect();
        for inst in insts {
            if let Some(value) = lower(cx.func, cx.types, options, inst) {
                util::replace_and_remove(cx.func, inst, value);
                info.guarded_count += 1;
            }
        }
        Ok(info)
    }
}

/// Emits what stands for the instruction; none if it stays.
fn lower(
    func: &mut Function,
    types: &TypeTable,
    options: &Options,
    inst: InstId,
) -> Option<ValueId> {
    let op = func.op(inst);
    if !matches!(op, Op::Arithmetic(_) | Op::Cast(CastOp::Static) | Op::ThreadGroup(_)) {
        return None;
    }
    let (args, ty) = (func.args(inst).to_vec(), func.inst(inst).ty);
    let mut guard = Guard { b: Builder::before(func, types, inst), options };
    match op {
        Op::Arithmetic(op) => guard.arithmetic(op, &args, ty),
        Op::Cast(_) => guard.cast(args[0], ty),
        Op::ThreadGroup(op) => guard.wave(op, &args, ty),
        _ => None,
    }
}

/// Emits guarded forms before an instruction.
struct Guard<'a> {
    b: Builder<'a>,
    options: &'a Options,
}

impl Guard<'_> {
    // ---- words of the forms

    fn type_of(&self, value: ValueId) -> TypeId {
        self.b.func.value_type(value)
    }

    fn scalar_of(&self, value: ValueId) -> Scalar {
        self.b.types.scalar_of(self.type_of(value)).unwrap_or(Scalar::U32)
    }

    /// The type of this shape with another scalar.
    fn like(&self, ty: TypeId, scalar: Scalar) -> TypeId {
        match self.b.types.is_vector(ty) {
            true => TypeId::vector(scalar, self.b.types.dim(ty)),
            false => TypeId::scalar(scalar),
        }
    }

    /// The constant with these bits in each component.
    fn bits(&mut self, ty: TypeId, bits: u64) -> ValueId {
        let lanes = lanes::splat(self.b.types, ty, bits);
        match lanes::to_constant(self.b.func, self.b.types, ty, &lanes) {
            Some(value) => value,
            None => self.b.func.zero(ty, self.b.types),
        }
    }

    /// The constant with these bits in each component, of the type of a value.
    fn same(&mut self, value: ValueId, bits: u64) -> ValueId {
        self.bits(self.type_of(value), bits)
    }

    /// The operation as it is.
    fn raw(&mut self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        self.b.arithmetic(op, args)
    }

    /// The operation, guarded.
    fn apply(&mut self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        let ty = self.type_of(args[0]);
        match self.arithmetic(op, args, ty) {
            Some(value) => value,
            None => self.raw(op, args),
        }
    }

    /// `condition ? yes : no`, for each component.
    fn choose(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.raw(ArithmeticOp::Select, &[no, yes, condition])
    }

    fn convert(&mut self, value: ValueId, scalar: Scalar) -> ValueId {
        let ty = self.like(self.type_of(value), scalar);
        self.b.static_cast(value, ty)
    }

    fn reinterpret(&mut self, value: ValueId, scalar: Scalar) -> ValueId {
        let ty = self.like(self.type_of(value), scalar);
        self.b.bit_cast(value, ty)
    }

    // ---- what needs what

    fn arithmetic(&mut self, op: ArithmeticOp, args: &[ValueId], ty: TypeId) -> Option<ValueId> {
        use ArithmeticOp::*;
        if composite::is_movement(op) || matches!(op, All | Any | Select) {
            return None;
        }
        let (&first, scalar) = (args.first()?, self.scalar_of(*args.first()?));
        if self.options.native.has(op, scalar) {
            return None;
        }
        match op {
            BinaryDiv | BinaryMod if scalar.is_int() => self.division(op, args[0], args[1]),
            BinaryShiftLeft | BinaryShiftRight => self.shift(op, args[0], args[1]),
            BinaryRotateLeft | BinaryRotateRight => Some(self.rotate(op, args[0], args[1])),
            Abs if scalar.is_signed() && scalar.is_int() => Some(self.magnitude(first)),
            Clz | Ctz | Popcount | Reverse => self.count(op, first),
            Min | Max if scalar.is_float() => Some(self.extreme(op, args[0], args[1])),
            Saturate => Some(self.saturate(first)),
            Clamp | Lerp | Smoothstep | Step | Fract | Rsqrt => self.formula(op, args),
            Isnan => Some(self.is_nan(first)),
            Isinf => Some(self.is_infinite(first)),
            Round => Some(self.round(first)),
            Copysign => Some(self.copysign(args[0], args[1])),
            _ if composite::is_formula(op) => self.by_component(op, args, ty),
            _ => None,
        }
    }

    /// A formula that treats each component alike: on whole vectors, scalar operands spread first.
    fn formula(&mut self, op: ArithmeticOp, args: &[ValueId]) -> Option<ValueId> {
        let is_vector = |v: &&ValueId| self.b.types.is_vector(self.type_of(**v));
        let whole = args.iter().find(is_vector).map(|&v| self.type_of(v));
        let operands: Vec<Operand<ValueId>> = args
            .iter()
            .map(|&value| {
                let (scalar, ty) = (self.scalar_of(value), self.type_of(value));
                let value = match whole {
                    Some(whole) if ty != whole => {
                        let dim = usize::from(self.b.types.dim(whole));
                        self.b.aggregate(whole, &vec![value; dim])
                    }
                    _ => value,
                };
                Operand { scalar, shape: Shape::Scalar, lanes: vec![value] }
            })
            .collect();
        let shape = whole.unwrap_or_else(|| self.type_of(args[0]));
        composite::expand(&mut Whole { guard: self, shape }, op, &operands).first().copied()
    }

    /// A formula over the components of vectors and matrices.
    fn by_component(&mut self, op: ArithmeticOp, args: &[ValueId], ty: TypeId) -> Option<ValueId> {
        let operands: Vec<Operand<ValueId>> =
            args.iter().map(|&value| self.operand(value)).collect::<Option<_>>()?;
        let shape = TypeId::scalar(operands.first()?.scalar);
        let lanes = composite::expand(&mut Whole { guard: self, shape }, op, &operands);
        Some(match Shape::of(ty, self.b.types)? {
            Shape::Scalar => *lanes.first()?,
            Shape::Vector(_) => self.b.aggregate(ty, &lanes),
            Shape::Matrix(dim) => {
                let column = self.b.types.element_type(ty, 0)?;
                let columns: Vec<ValueId> =
                    lanes.chunks(dim.into()).map(|c| self.b.aggregate(column, c)).collect();
                self.b.aggregate(ty, &columns)
            }
        })
    }

    fn operand(&mut self, value: ValueId) -> Option<Operand<ValueId>> {
        let (scalar, shape) =
            (self.scalar_of(value), Shape::of(self.type_of(value), self.b.types)?);
        let lanes = match shape {
            Shape::Scalar => vec![value],
            Shape::Vector(dim) => self.elements(value, dim),
            Shape::Matrix(dim) => {
                let columns = self.elements(value, dim);
                columns.into_iter().flat_map(|column| self.elements(column, dim)).collect()
            }
        };
        Some(Operand { scalar, shape, lanes })
    }

    fn elements(&mut self, value: ValueId, count: u8) -> Vec<ValueId> {
        (0..count.into()).map(|i| elements::element(&mut self.b, value, i)).collect()
    }
}

/// Formulas as guarded instructions on values that all have the shape of `shape`.
struct Whole<'g, 'a> {
    guard: &'g mut Guard<'a>,
    shape: TypeId,
}

impl Scalars for Whole<'_, '_> {
    type Value = ValueId;

    fn constant(&mut self, scalar: Scalar, bits: u64) -> ValueId {
        let ty = self.guard.like(self.shape, scalar);
        self.guard.bits(ty, bits)
    }

    fn apply(&mut self, op: ArithmeticOp, args: &[Lane<ValueId>]) -> ValueId {
        let values: Vec<ValueId> = args.iter().map(|lane| lane.value).collect();
        self.guard.apply(op, &values)
    }

    fn cast(&mut self, value: Lane<ValueId>, to: Scalar) -> ValueId {
        self.guard.convert(value.value, to)
    }
}

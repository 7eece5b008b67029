//! The callables that choose the levels and places to read at, and call those that read.

use super::kind::{Code, Kind, Part};
use super::texels::Emit;
use super::{ANISOTROPIC, FLOAT4};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::op::ArithmeticOp as A;
use luisac_xir::{Function, FunctionId, Imm, Op, ValueId};

/// Places along a gradient, at most.
const MAX_ANISOTROPY: f32 = 16.0;

/// Makes the callable of a kind; `at_level` reads at one level.
pub(super) fn callable(
    kind: Kind,
    at_level: FunctionId,
    types: &TypeTable,
    structured: bool,
) -> Function {
    let Part::Whole { between, filter, .. } = kind.part else { return kind.declare().0 };
    let (mut func, signature) = kind.declare();
    let (at, given, codes) = (signature.at, signature.between.clone(), signature.codes);
    let mut emit = Emit::new(&mut func, types, (kind.dimensions, structured), signature);
    let along = (filter == Code::Constant(ANISOTROPIC) || filter == Code::Computed) && between > 1;
    let count = emit.levels();
    let one = emit.b.u32(1);
    let last = emit.op(A::BinarySub, &[count, one]);
    let mut choice = Choice {
        at_level,
        last: emit.cast(last, Scalar::F32),
        filter,
        filter_value: codes[0],
        address_value: codes[1],
    };
    let value = match given.as_slice() {
        [level] => choice.levels(&mut emit, at, *level),
        [ddx, ddy, least @ ..] => {
            let spread = choice.spread(&mut emit, *ddx, *ddy, along);
            let mut level = emit.op(A::Log2, &[spread.length]);
            if let [least] = least {
                level = emit.op(A::Max, &[level, *least]);
            }
            match spread.along {
                Some((direction, taps)) => choice.along(&mut emit, at, level, direction, taps),
                None => choice.levels(&mut emit, at, level),
            }
        }
        [] => {
            let zero = emit.float(0.0);
            choice.levels(&mut emit, at, zero)
        }
    };
    emit.b.ret(Some(value));
    func
}

/// What gradients come to.
struct Spread {
    /// Texels of the first level that one texel of the level to read shall cover.
    length: ValueId,
    /// The longer gradient, and the number of places along it, `int`.
    along: Option<(ValueId, ValueId)>,
}

struct Choice {
    at_level: FunctionId,
    /// The last level, as `float`.
    last: ValueId,
    filter: Code,
    /// Where they are computed.
    filter_value: Option<ValueId>,
    address_value: Option<ValueId>,
}

impl Choice {
    /// A call that reads at a level, `uint`.
    fn read(&self, emit: &mut Emit<'_>, at: ValueId, level: ValueId) -> ValueId {
        let mut args = emit.signature.source.clone();
        args.extend([at, level]);
        args.extend(self.filter_value);
        args.extend(self.address_value);
        let call = emit.b.inst(Op::Call, FLOAT4, &args, &[], Imm::Callee(self.at_level));
        emit.b.func.result(call).unwrap_or(at)
    }

    /// Whether the filter is one of these, if that is known at run time only.
    fn filter_is(&self, emit: &mut Emit<'_>, op: A, code: u32) -> Option<ValueId> {
        let filter = self.filter_value?;
        let code = emit.b.u32(code);
        Some(emit.op(op, &[filter, code]))
    }

    /// Reads at a level, `float`: at the nearest one there is, or between two. A level that is no number is the first one.
    fn levels(&self, emit: &mut Emit<'_>, at: ValueId, level: ValueId) -> ValueId {
        let (zero, half) = (emit.float(0.0), emit.float(0.5));
        let level = emit.op(A::Max, &[level, zero]);
        let level = emit.op(A::Min, &[level, self.last]);
        let shifted = emit.op(A::BinaryAdd, &[level, half]);
        let nearest = emit.op(A::Floor, &[shifted]);
        let mut lower = emit.op(A::Floor, &[level]);
        let mut fraction = emit.op(A::BinarySub, &[level, lower]);
        match self.filter {
            Code::Constant(0 | 1) => {
                let nearest = emit.cast(nearest, Scalar::U32);
                return self.read(emit, at, nearest);
            }
            Code::Constant(_) => {}
            Code::Computed => {
                if let Some(takes_one) = self.filter_is(emit, A::BinaryLessEqual, 1) {
                    lower = emit.choose(takes_one, nearest, lower);
                    fraction = emit.choose(takes_one, zero, fraction);
                }
            }
        }
        let lower = emit.cast(lower, Scalar::U32);
        let first = self.read(emit, at, lower);
        let is_whole = emit.op(A::BinaryEqual, &[fraction, zero]);
        emit.branch(
            is_whole,
            FLOAT4,
            |_| first,
            |emit| {
                let one = emit.b.u32(1);
                let upper = emit.op(A::BinaryAdd, &[lower, one]);
                let second = self.read(emit, at, upper);
                let fraction = emit.b.aggregate(FLOAT4, &[fraction; 4]);
                emit.op(A::Lerp, &[first, second, fraction])
            },
        )
    }

    /// What two gradients come to; with places along the longer one if `along`.
    fn spread(&self, emit: &mut Emit<'_>, ddx: ValueId, ddy: ValueId, along: bool) -> Spread {
        let sizes = emit.size(None);
        let sizes: Vec<ValueId> = sizes.iter().map(|&n| emit.cast(n, Scalar::F32)).collect();
        let (x, y) = (texels(emit, &sizes, ddx), texels(emit, &sizes, ddy));
        let x_is_longer = emit.op(A::BinaryGreaterEqual, &[x, y]);
        let long = emit.choose(x_is_longer, x, y);
        if !along {
            return Spread { length: long, along: None };
        }
        let short = emit.choose(x_is_longer, y, x);
        let direction = emit.choose(x_is_longer, ddx, ddy);
        let mut ratio = ratio(emit, long, short);
        if let Some(takes_more) = self.filter_is(emit, A::BinaryEqual, ANISOTROPIC) {
            let one = emit.float(1.0);
            ratio = emit.choose(takes_more, ratio, one);
        }
        let taps = emit.op(A::Ceil, &[ratio]);
        let taps = emit.cast(taps, Scalar::I32);
        Spread { length: emit.op(A::BinaryDiv, &[long, ratio]), along: Some((direction, taps)) }
    }

    /// The mean of `taps` samples that stand evenly along `direction`, around the point; a single one stands at the point itself.
    fn along(
        &mut self,
        emit: &mut Emit<'_>,
        at: ValueId,
        level: ValueId,
        direction: ValueId,
        taps: ValueId,
    ) -> ValueId {
        let (one, half) = (emit.int(1), emit.float(0.5));
        let vector = emit.b.func.value_type(at);
        let number = emit.variable(TypeId::scalar(Scalar::I32));
        let sum = emit.variable(FLOAT4);
        let is_single = emit.op(A::BinaryLessEqual, &[taps, one]);
        let steps = emit.op(A::BinaryAdd, &[taps, one]);
        let steps = emit.cast(steps, Scalar::F32);
        emit.b.store(number, one);
        let types = emit.b.types;
        let nothing = emit.b.func.zero(FLOAT4, types);
        emit.b.store(sum, nothing);
        let [prepare, body, update, merge] = emit.begin_loop();
        let i = emit.b.load(number);
        let goes_on = emit.op(A::BinaryLessEqual, &[i, taps]);
        emit.b.cond_br(goes_on, body, merge);
        emit.b.switch_to(body);
        let i = emit.cast(i, Scalar::F32);
        let part = emit.op(A::BinaryDiv, &[i, steps]);
        let part = emit.op(A::BinarySub, &[part, half]);
        let part = emit.b.aggregate(vector, &vec![part; emit.dimensions]);
        let by = emit.op(A::BinaryMul, &[part, direction]);
        let there = emit.op(A::BinaryAdd, &[at, by]);
        let place = emit.choose(is_single, at, there);
        let sample = self.levels(emit, place, level);
        let before = emit.b.load(sum);
        let more = emit.op(A::BinaryAdd, &[before, sample]);
        let more = emit.choose(is_single, sample, more);
        emit.b.store(sum, more);
        emit.b.br(update);
        emit.b.switch_to(update);
        let i = emit.b.load(number);
        let next = emit.op(A::BinaryAdd, &[i, one]);
        emit.b.store(number, next);
        emit.b.br(prepare);
        emit.b.switch_to(merge);
        let total = emit.b.load(sum);
        let count = emit.cast(taps, Scalar::F32);
        let count = emit.b.aggregate(FLOAT4, &[count; 4]);
        let mean = emit.op(A::BinaryDiv, &[total, count]);
        emit.choose(is_single, total, mean)
    }
}

/// The length of a gradient in texels.
fn texels(emit: &mut Emit<'_>, sizes: &[ValueId], gradient: ValueId) -> ValueId {
    let mut sum = emit.float(0.0);
    for (change, &size) in emit.components(gradient).into_iter().zip(sizes) {
        let texels = emit.op(A::BinaryMul, &[change, size]);
        let square = emit.op(A::BinaryMul, &[texels, texels]);
        sum = emit.op(A::BinaryAdd, &[sum, square]);
    }
    emit.op(A::Sqrt, &[sum])
}

/// How much longer the one gradient is than the other, 1 to 16.
fn ratio(emit: &mut Emit<'_>, long: ValueId, short: ValueId) -> ValueId {
    let (zero, one, most) = (emit.float(0.0), emit.float(1.0), emit.float(MAX_ANISOTROPY));
    let quotient = emit.op(A::BinaryDiv, &[long, short]);
    let has_short = emit.op(A::BinaryGreater, &[short, zero]);
    let ratio = emit.choose(has_short, quotient, most);
    let low = emit.op(A::Max, &[ratio, one]);
    let ratio = emit.op(A::Min, &[low, most]);
    let has_long = emit.op(A::BinaryGreater, &[long, zero]);
    emit.choose(has_long, ratio, one)
}

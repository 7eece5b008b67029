//! Sampled images as reads of their texels.
//!
//! What: replaces `texture2d_sample` and its kin on an image argument by reads of the texels that the sampler takes and their
//! weighted sum. An image argument has one level, so the level that is asked for does not matter; a filter that is anisotropic
//! still reads up to 16 places along the longer gradient. Codes of filter and address mode that are no constants are decided
//! by selects.
//! Why right: the steps are those of the interpreter (`xir/src/interp/sample.rs`), in the same order. A texel outside the
//! image reads as zero, which is the border.
//! Cost: linear in what is emitted: 1, 4 or 8 reads a sample, 16 times that with an anisotropic filter.

use super::util;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, ResourceQueryOp, ResourceReadOp};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `lower_sampling` did.
    Info {
        change lowered_sample_count "samples replaced by reads";
    }
}

/// The pass.
pub struct LowerSampling;

impl FunctionPass for LowerSampling {
    const DECLARATION: Declaration = Declaration::new(
        "lower_sampling",
        "replaces sampled images by reads of texels",
        "Replaces samples of image arguments by reads of the texels that the sampler takes and their weighted sum, for \
         targets whose image arguments are not sampled by the device.",
    );
    type Options = ();
    type Info = Info;

    // All or nothing: the target cannot take what is left, so fuel is not asked.
    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let samples: Vec<(InstId, Form)> = cx
            .func
            .blocks()
            .flat_map(|block| cx.func.insts(block))
            .filter_map(|inst| Some((inst, Form::of(cx.func.op(inst))?)))
            .collect();
        for &(inst, form) in &samples {
            let value = lower(cx.func, cx.types, inst, form);
            util::replace_and_remove(cx.func, inst, value);
        }
        Ok(Info { lowered_sample_count: samples.len() as u64 })
    }
}

/// The form of a sample of an image argument.
#[derive(Clone, Copy)]
struct Form {
    dimensions: usize,
    /// Operands between the coordinate and the sampler: none, a level, two gradients, two gradients and a level.
    between: usize,
}

impl Form {
    fn of(op: Op) -> Option<Form> {
        let Op::ResourceQuery(query) = op else { return None };
        // The table of operations lists the eight in this order.
        let place = (query as usize).checked_sub(ResourceQueryOp::Texture2dSample as usize)?;
        let between = *[0, 1, 2, 3].get(place % 4)?;
        (place < 8).then_some(Form { dimensions: 2 + place / 4, between })
    }

    fn has_gradients(self) -> bool {
        self.between >= 2
    }
}

const FLOAT4: TypeId = TypeId::vector(Scalar::F32, 4);
const POINT: u64 = 0;
const ANISOTROPIC: u64 = 3;
const MAX_ANISOTROPY: u32 = 16;
/// Positions are kept within this many texels around the image, so that they are exact integers.
const FAR: f32 = 1_073_741_824.0;

fn lower(func: &mut Function, types: &TypeTable, inst: InstId, form: Form) -> ValueId {
    let args = func.args(inst).to_vec();
    let (image, filter, address) = (args[0], args[form.between + 2], args[form.between + 3]);
    let mut emit = Emit { b: Builder::before(func, types, inst), image, form, sizes: Vec::new() };
    emit.sizes = emit.image_size();
    let at = emit.components(args[1]);
    let gradients = form.has_gradients().then(|| [args[2], args[3]].map(|g| emit.components(g)));
    let Some(gradients) = gradients else { return emit.tap(&at, filter, address) };
    match emit.b.func.constant_bits(filter) {
        Some(ANISOTROPIC) => emit.along_gradient(&at, &gradients, filter, address),
        Some(_) => emit.tap(&at, filter, address),
        None => {
            let along = emit.along_gradient(&at, &gradients, filter, address);
            let one = emit.tap(&at, filter, address);
            let is_anisotropic = emit.code_is(filter, ANISOTROPIC);
            emit.choose(is_anisotropic, along, one)
        }
    }
}

struct Emit<'a> {
    b: Builder<'a>,
    image: ValueId,
    form: Form,
    /// Texels on each axis, as `int` and as `float`.
    sizes: Vec<(ValueId, ValueId)>,
}

impl Emit<'_> {
    // ---- scalars

    fn float(&mut self, x: f32) -> ValueId {
        let types = self.b.types;
        self.b.func.scalar_constant(TypeId::scalar(Scalar::F32), x.to_bits().into(), types)
    }

    fn int(&mut self, x: i32) -> ValueId {
        let types = self.b.types;
        self.b.func.scalar_constant(TypeId::scalar(Scalar::I32), u64::from(x as u32), types)
    }

    fn op(&mut self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        self.b.arithmetic(op, args)
    }

    /// Select's operands are (false, true, condition).
    fn choose(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.op(ArithmeticOp::Select, &[no, yes, condition])
    }

    fn components(&mut self, vector: ValueId) -> Vec<ValueId> {
        (0..self.form.dimensions as u32).map(|axis| self.b.extract(vector, axis)).collect()
    }

    /// Whether a sampler's code has this value.
    fn code_is(&mut self, code: ValueId, value: u64) -> ValueId {
        let (ty, types) = (self.b.func.value_type(code), self.b.types);
        let value = self.b.func.scalar_constant(ty, value, types);
        self.op(ArithmeticOp::BinaryEqual, &[code, value])
    }

    // ---- images

    fn image_size(&mut self) -> Vec<(ValueId, ValueId)> {
        let query = match self.form.dimensions {
            2 => ResourceQueryOp::Texture2dSize,
            _ => ResourceQueryOp::Texture3dSize,
        };
        let ty = TypeId::vector(Scalar::U32, self.form.dimensions as u8);
        let size = self.b.value(Op::ResourceQuery(query), ty, &[self.image]);
        let axes = self.components(size);
        axes.into_iter()
            .map(|texels| {
                let int = self.b.static_cast(texels, TypeId::scalar(Scalar::I32));
                (int, self.b.static_cast(texels, TypeId::scalar(Scalar::F32)))
            })
            .collect()
    }

    /// The texel at a position that has been wrapped; zero outside.
    fn texel(&mut self, position: &[ValueId]) -> ValueId {
        let read = match self.form.dimensions {
            2 => ResourceReadOp::Texture2dRead,
            _ => ResourceReadOp::Texture3dRead,
        };
        let axes: Vec<ValueId> = position
            .iter()
            .map(|&axis| self.b.static_cast(axis, TypeId::scalar(Scalar::U32)))
            .collect();
        let ty = TypeId::vector(Scalar::U32, self.form.dimensions as u8);
        let coordinate = self.b.aggregate(ty, &axes);
        self.b.value(Op::ResourceRead(read), FLOAT4, &[self.image, coordinate])
    }

    // ---- sampling

    /// One sample at a point.
    fn tap(&mut self, at: &[ValueId], filter: ValueId, address: ValueId) -> ValueId {
        match self.b.func.constant_bits(filter) {
            Some(POINT) => self.nearest(at, address),
            Some(_) => self.linear(at, address),
            None => {
                let nearest = self.nearest(at, address);
                let linear = self.linear(at, address);
                let is_point = self.code_is(filter, POINT);
                self.choose(is_point, nearest, linear)
            }
        }
    }

    fn nearest(&mut self, at: &[ValueId], address: ValueId) -> ValueId {
        let position: Vec<ValueId> = (0..at.len())
            .map(|axis| {
                let scaled = self.op(ArithmeticOp::BinaryMul, &[at[axis], self.sizes[axis].1]);
                let floor = self.op(ArithmeticOp::Floor, &[scaled]);
                let texel = self.whole(floor);
                self.wrap(texel, axis, address)
            })
            .collect();
        self.texel(&position)
    }

    fn linear(&mut self, at: &[ValueId], address: ValueId) -> ValueId {
        let (half, one) = (self.float(0.5), self.int(1));
        let mut ends = Vec::new();
        let mut weights = Vec::new();
        for (axis, &coordinate) in at.iter().enumerate() {
            let scaled = self.op(ArithmeticOp::BinaryMul, &[coordinate, self.sizes[axis].1]);
            let centred = self.op(ArithmeticOp::BinarySub, &[scaled, half]);
            let floor = self.op(ArithmeticOp::Floor, &[centred]);
            weights.push(self.op(ArithmeticOp::BinarySub, &[centred, floor]));
            let low = self.whole(floor);
            let high = self.op(ArithmeticOp::BinaryAdd, &[low, one]);
            ends.push([self.wrap(low, axis, address), self.wrap(high, axis, address)]);
        }
        // The corners with x fastest, then joined axis by axis.
        let mut corners: Vec<ValueId> = (0..1usize << at.len())
            .map(|corner| {
                let position: Vec<ValueId> =
                    ends.iter().enumerate().map(|(axis, e)| e[corner >> axis & 1]).collect();
                self.texel(&position)
            })
            .collect();
        for weight in weights {
            let weight = self.b.aggregate(FLOAT4, &[weight; 4]);
            corners = corners
                .chunks(2)
                .map(|pair| self.op(ArithmeticOp::Lerp, &[pair[0], pair[1], weight]))
                .collect();
        }
        corners[0]
    }

    /// A float without a fraction as an integer.
    fn whole(&mut self, x: ValueId) -> ValueId {
        let (low, high) = (self.float(-FAR), self.float(FAR));
        let near = self.op(ArithmeticOp::Max, &[x, low]);
        let near = self.op(ArithmeticOp::Min, &[near, high]);
        let texel = self.b.static_cast(near, TypeId::scalar(Scalar::I32));
        // What is no number would have become the lower end.
        let (zero, is_nan) = (self.int(0), self.op(ArithmeticOp::BinaryNotEqual, &[x, x]));
        self.choose(is_nan, zero, texel)
    }

    /// The texel of an axis that a position names; beyond the axis for one on the border.
    fn wrap(&mut self, position: ValueId, axis: usize, address: ValueId) -> ValueId {
        match self.b.func.constant_bits(address) {
            Some(mode) => self.wrap_by(position, axis, mode),
            None => {
                let mut wrapped = self.wrap_by(position, axis, 0);
                for mode in 1..=3 {
                    let other = self.wrap_by(position, axis, mode);
                    let is_mode = self.code_is(address, mode);
                    wrapped = self.choose(is_mode, other, wrapped);
                }
                wrapped
            }
        }
    }

    fn wrap_by(&mut self, position: ValueId, axis: usize, mode: u64) -> ValueId {
        let size = self.sizes[axis].0;
        let (zero, one) = (self.int(0), self.int(1));
        match mode {
            0 => {
                let last = self.op(ArithmeticOp::BinarySub, &[size, one]);
                let low = self.op(ArithmeticOp::Max, &[position, zero]);
                self.op(ArithmeticOp::Min, &[low, last])
            }
            1 => self.modulo(position, size),
            2 => {
                let twice = self.op(ArithmeticOp::BinaryAdd, &[size, size]);
                let there = self.modulo(position, twice);
                let last = self.op(ArithmeticOp::BinarySub, &[twice, one]);
                let back = self.op(ArithmeticOp::BinarySub, &[last, there]);
                let is_forth = self.op(ArithmeticOp::BinaryLess, &[there, size]);
                self.choose(is_forth, there, back)
            }
            _ => position,
        }
    }

    /// The remainder that has the divisor's sign.
    fn modulo(&mut self, x: ValueId, n: ValueId) -> ValueId {
        let zero = self.int(0);
        let rest = self.op(ArithmeticOp::BinaryMod, &[x, n]);
        let above = self.op(ArithmeticOp::BinaryAdd, &[rest, n]);
        let is_below = self.op(ArithmeticOp::BinaryLess, &[rest, zero]);
        self.choose(is_below, above, rest)
    }

    /// The mean of samples along the longer gradient, as many as it is longer than the other, 16 at most.
    fn along_gradient(
        &mut self,
        at: &[ValueId],
        [ddx, ddy]: &[Vec<ValueId>; 2],
        filter: ValueId,
        address: ValueId,
    ) -> ValueId {
        let (x, y) = (self.length_in_texels(ddx), self.length_in_texels(ddy));
        let x_is_longer = self.op(ArithmeticOp::BinaryGreaterEqual, &[x, y]);
        let (long, short) = (self.choose(x_is_longer, x, y), self.choose(x_is_longer, y, x));
        let direction: Vec<ValueId> =
            (0..at.len()).map(|axis| self.choose(x_is_longer, ddx[axis], ddy[axis])).collect();
        let taps = self.taps(long, short);
        let one = self.int(1);
        let steps = self.op(ArithmeticOp::BinaryAdd, &[taps, one]);
        let steps = self.b.static_cast(steps, TypeId::scalar(Scalar::F32));
        let half = self.float(0.5);
        let nothing = self.float(0.0);
        let mut sum = self.b.aggregate(FLOAT4, &[nothing; 4]);
        for i in 1..=MAX_ANISOTROPY {
            let number = self.float(i as f32);
            let part = self.op(ArithmeticOp::BinaryDiv, &[number, steps]);
            let along = self.op(ArithmeticOp::BinarySub, &[part, half]);
            let point: Vec<ValueId> = (0..at.len())
                .map(|axis| {
                    let by = self.op(ArithmeticOp::BinaryMul, &[along, direction[axis]]);
                    self.op(ArithmeticOp::BinaryAdd, &[at[axis], by])
                })
                .collect();
            let sample = self.tap(&point, filter, address);
            let more = self.op(ArithmeticOp::BinaryAdd, &[sum, sample]);
            let number = self.int(i as i32);
            let is_taken = self.op(ArithmeticOp::BinaryLessEqual, &[number, taps]);
            sum = self.choose(is_taken, more, sum);
        }
        let count = self.b.static_cast(taps, TypeId::scalar(Scalar::F32));
        let count = self.b.aggregate(FLOAT4, &[count; 4]);
        let mean = self.op(ArithmeticOp::BinaryDiv, &[sum, count]);
        // A single tap stands at the point itself.
        let single = self.tap(at, filter, address);
        let is_single = self.op(ArithmeticOp::BinaryLessEqual, &[taps, one]);
        self.choose(is_single, single, mean)
    }

    fn length_in_texels(&mut self, gradient: &[ValueId]) -> ValueId {
        let mut sum = self.float(0.0);
        for (axis, &change) in gradient.iter().enumerate() {
            let texels = self.op(ArithmeticOp::BinaryMul, &[change, self.sizes[axis].1]);
            let square = self.op(ArithmeticOp::BinaryMul, &[texels, texels]);
            sum = self.op(ArithmeticOp::BinaryAdd, &[sum, square]);
        }
        self.op(ArithmeticOp::Sqrt, &[sum])
    }

    /// How often the shorter gradient fits into the longer one, rounded up, 1 to 16.
    fn taps(&mut self, long: ValueId, short: ValueId) -> ValueId {
        let (zero, one, most) =
            (self.float(0.0), self.float(1.0), self.float(MAX_ANISOTROPY as f32));
        let quotient = self.op(ArithmeticOp::BinaryDiv, &[long, short]);
        let has_short = self.op(ArithmeticOp::BinaryGreater, &[short, zero]);
        let ratio = self.choose(has_short, quotient, most);
        let low = self.op(ArithmeticOp::Max, &[ratio, one]);
        let ratio = self.op(ArithmeticOp::Min, &[low, most]);
        let has_long = self.op(ArithmeticOp::BinaryGreater, &[long, zero]);
        let ratio = self.choose(has_long, ratio, one);
        let taps = self.op(ArithmeticOp::Ceil, &[ratio]);
        self.b.static_cast(taps, TypeId::scalar(Scalar::I32))
    }
}

//! The callables that read at one level: the texel that a point lies in, or the weighted sum of those around it.

use super::FLOAT4;
use super::kind::{Code, Kind};
use super::texels::Emit;
use luisac_ast::types::{Scalar, TypeTable};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Function, ValueId};

/// Makes the callable of a kind.
pub(super) fn callable(kind: Kind, types: &TypeTable, structured: bool) -> Function {
    let (mut func, signature) = kind.declare();
    let at = signature.at;
    let (level, codes) = (signature.between.first().copied(), signature.codes);
    let mut emit = Emit::new(&mut func, types, (kind.dimensions, structured), signature);
    let sizes = emit.size(level);
    let sizes = sizes
        .into_iter()
        .map(|texels| (emit.cast(texels, Scalar::I32), emit.cast(texels, Scalar::F32)))
        .collect();
    let at = emit.components(at);
    let [filter, address] = kind.codes();
    let read = Read { sizes, level, address, address_value: codes[1] };
    let value = match (filter, codes[0]) {
        (Code::Constant(0), _) => read.nearest(&mut emit, &at),
        (_, None) => read.linear(&mut emit, &at),
        (_, Some(filter)) => {
            let point = emit.b.u32(0);
            let is_point = emit.op(ArithmeticOp::BinaryEqual, &[filter, point]);
            emit.branch(
                is_point,
                FLOAT4,
                |emit| read.nearest(emit, &at),
                |emit| read.linear(emit, &at),
            )
        }
    };
    emit.b.ret(Some(value));
    func
}

struct Read {
    /// Texels on each axis, as `int` and as `float`.
    sizes: Vec<(ValueId, ValueId)>,
    level: Option<ValueId>,
    address: Code,
    /// Where it is computed.
    address_value: Option<ValueId>,
}

impl Read {
    fn nearest(&self, emit: &mut Emit<'_>, at: &[ValueId]) -> ValueId {
        let position: Vec<ValueId> = (0..at.len())
            .map(|axis| {
                let scaled = emit.op(ArithmeticOp::BinaryMul, &[at[axis], self.sizes[axis].1]);
                let floor = emit.op(ArithmeticOp::Floor, &[scaled]);
                let texel = emit.whole(floor);
                self.wrap(emit, texel, axis)
            })
            .collect();
        emit.texel(&position, self.level)
    }

    fn linear(&self, emit: &mut Emit<'_>, at: &[ValueId]) -> ValueId {
        let (half, one) = (emit.float(0.5), emit.int(1));
        let mut ends = Vec::new();
        let mut weights = Vec::new();
        for (axis, &coordinate) in at.iter().enumerate() {
            let scaled = emit.op(ArithmeticOp::BinaryMul, &[coordinate, self.sizes[axis].1]);
            let centred = emit.op(ArithmeticOp::BinarySub, &[scaled, half]);
            let floor = emit.op(ArithmeticOp::Floor, &[centred]);
            weights.push(emit.op(ArithmeticOp::BinarySub, &[centred, floor]));
            let low = emit.whole(floor);
            let high = emit.op(ArithmeticOp::BinaryAdd, &[low, one]);
            ends.push([self.wrap(emit, low, axis), self.wrap(emit, high, axis)]);
        }
        // The corners with x fastest, then joined axis by axis.
        let mut corners: Vec<ValueId> = (0..1usize << at.len())
            .map(|corner| {
                let position: Vec<ValueId> =
                    ends.iter().enumerate().map(|(axis, e)| e[corner >> axis & 1]).collect();
                emit.texel(&position, self.level)
            })
            .collect();
        for weight in weights {
            let weight = emit.b.aggregate(FLOAT4, &[weight; 4]);
            corners = corners
                .chunks(2)
                .map(|pair| emit.op(ArithmeticOp::Lerp, &[pair[0], pair[1], weight]))
                .collect();
        }
        corners[0]
    }

    /// The texel of an axis that a position names; beyond the axis for one on the border.
    fn wrap(&self, emit: &mut Emit<'_>, position: ValueId, axis: usize) -> ValueId {
        let size = self.sizes[axis].0;
        let value = match (self.address, self.address_value) {
            (Code::Constant(mode), _) => return wrap_by(emit, position, size, mode),
            (Code::Computed, value) => value,
        };
        let mut wrapped = wrap_by(emit, position, size, 0);
        for mode in 1..=3 {
            let other = wrap_by(emit, position, size, mode);
            let code = emit.b.u32(mode);
            let Some(value) = value else { continue };
            let is_mode = emit.op(ArithmeticOp::BinaryEqual, &[value, code]);
            wrapped = emit.choose(is_mode, other, wrapped);
        }
        wrapped
    }
}

fn wrap_by(emit: &mut Emit<'_>, position: ValueId, size: ValueId, mode: u32) -> ValueId {
    let (zero, one) = (emit.int(0), emit.int(1));
    match mode {
        0 => {
            let last = emit.op(ArithmeticOp::BinarySub, &[size, one]);
            let low = emit.op(ArithmeticOp::Max, &[position, zero]);
            emit.op(ArithmeticOp::Min, &[low, last])
        }
        1 => modulo(emit, position, size),
        2 => {
            let twice = emit.op(ArithmeticOp::BinaryAdd, &[size, size]);
            let there = modulo(emit, position, twice);
            let last = emit.op(ArithmeticOp::BinarySub, &[twice, one]);
            let back = emit.op(ArithmeticOp::BinarySub, &[last, there]);
            let is_forth = emit.op(ArithmeticOp::BinaryLess, &[there, size]);
            emit.choose(is_forth, there, back)
        }
        _ => position,
    }
}

/// The remainder that has the divisor's sign.
fn modulo(emit: &mut Emit<'_>, x: ValueId, n: ValueId) -> ValueId {
    let zero = emit.int(0);
    let rest = emit.op(ArithmeticOp::BinaryMod, &[x, n]);
    let above = emit.op(ArithmeticOp::BinaryAdd, &[rest, n]);
    let is_below = emit.op(ArithmeticOp::BinaryLess, &[rest, zero]);
    emit.choose(is_below, above, rest)
}

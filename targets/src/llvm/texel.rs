//! Texels: stored channels to values and back, as `luisac_artifact::PixelStorage` says.
//!
//! A *raw* channel is an `i32` whose low bits are the stored ones, the others zero when read and ignored when written.

use inkwell::llvm_sys::LLVMRealPredicate as Real;
use luisac_artifact::{PixelStorage, TexelKind};
use luisac_ast::types::Scalar;

use super::device::{FloatOp, RoundOp};
use super::ir::Val;
use super::module::ModuleEmit;
use super::value::Leaves;

/// Bits of each channel of a packed word, and where they start.
pub fn packed_fields(kind: TexelKind) -> &'static [(u32, u32)] {
    match kind {
        TexelKind::Packed1010102 => &[(10, 0), (10, 10), (10, 20), (2, 30)],
        TexelKind::Packed111110 => &[(11, 0), (11, 11), (10, 22)],
        _ => &[],
    }
}

/// The largest value of integer channel `c`.
fn maximum(kind: TexelKind, c: usize) -> u32 {
    match kind {
        TexelKind::Int { bits } => u32::MAX >> (32 - bits),
        _ => packed_fields(kind).get(c).map_or(1, |&(bits, _)| u32::MAX >> (32 - bits)),
    }
}

impl ModuleEmit<'_, '_> {
    /// The fields of a packed word as raw channels.
    pub fn unpack_word(&self, kind: TexelKind, word: Val) -> Leaves {
        let ir = &self.ir;
        let field = |&(bits, start): &(u32, u32)| {
            let shifted = ir.lshr(word, ir.const_u32(start));
            ir.and(shifted, ir.const_u32(u32::MAX >> (32 - bits)))
        };
        packed_fields(kind).iter().map(field).collect()
    }

    /// A packed word of raw channels.
    pub fn pack_word(&self, kind: TexelKind, raw: &[Val]) -> Val {
        let ir = &self.ir;
        packed_fields(kind).iter().zip(raw).fold(ir.const_u32(0), |word, (&(bits, start), &v)| {
            let field = ir.and(v, ir.const_u32(u32::MAX >> (32 - bits)));
            ir.or(word, ir.shl(field, ir.const_u32(start)))
        })
    }

    /// Four leaves of `element` (`float`, `int` or `uint`) from the raw channels; zero for those that are not stored.
    pub fn decode_texel(&self, storage: PixelStorage, element: Scalar, raw: &[Val]) -> Leaves {
        let zero = self.ir.zero(self.types.leaf(&self.ir, element));
        (0..4)
            .map(|c| match raw.get(c) {
                Some(&v) if element == Scalar::F32 => self.decode_float(storage, c, v),
                Some(&v) if storage.holds(element.name()) => v,
                _ => zero,
            })
            .collect()
    }

    fn decode_float(&self, storage: PixelStorage, c: usize, raw: Val) -> Val {
        let ir = &self.ir;
        let half = |bits: Val| self.device.half_to_f32(self, ir.trunc(bits, ir.int(16)));
        match storage.kind() {
            TexelKind::Float { bits: 16 } => half(raw),
            TexelKind::Float { .. } => ir.bitcast(raw, ir.f32()),
            TexelKind::Packed111110 => {
                // A half without sign and low bits.
                half(ir.shl(raw, ir.const_u32(if c == 2 { 5 } else { 4 })))
            }
            TexelKind::Int { bits: 32 } => {
                let wide = ir.uitofp(raw, ir.f64());
                let unit = ir.fdiv(wide, ir.const_float(ir.f64(), f64::from(u32::MAX)));
                ir.fptrunc(unit, ir.f32())
            }
            kind => self.exact_quotient(raw, maximum(kind, c)),
        }
    }

    /// `raw / max`, correctly rounded, by a reciprocal and one step of refinement (a test goes over all values).
    fn exact_quotient(&self, raw: Val, max: u32) -> Val {
        let ir = &self.ir;
        let float = ir.f32();
        let x = ir.uitofp(raw, float);
        let number = |v: f32| ir.const_float(float, v.into());
        if !self.device.has_fma() {
            return self.device.float_op(self, FloatOp::Div, Scalar::F32, &[x, number(max as f32)]);
        }
        let (reciprocal, negative) = (number(1.0 / max as f32), number(-(max as f32)));
        let fast = ir.fast();
        ir.set_fast(0);
        let estimate = ir.fmul(x, reciprocal);
        let rest = self.float_call("llvm.fma", Scalar::F32, &[estimate, negative, x]);
        let result = self.float_call("llvm.fma", Scalar::F32, &[rest, reciprocal, estimate]);
        ir.set_fast(fast);
        result
    }

    /// The raw channels of four leaves of `element`.
    pub fn encode_texel(&self, storage: PixelStorage, element: Scalar, texel: &[Val]) -> Leaves {
        texel
            .iter()
            .take(storage.channels() as usize)
            .enumerate()
            .map(
                |(c, &v)| if element == Scalar::F32 { self.encode_float(storage, c, v) } else { v },
            )
            .collect()
    }

    fn encode_float(&self, storage: PixelStorage, c: usize, v: Val) -> Val {
        let ir = &self.ir;
        match storage.kind() {
            TexelKind::Float { bits: 16 } => ir.zext(self.device.f32_to_half(self, v), ir.int(32)),
            TexelKind::Float { .. } => ir.bitcast(v, ir.int(32)),
            TexelKind::Packed111110 => self.encode_small(v, if c == 2 { 5 } else { 6 }),
            TexelKind::Int { bits: 32 } => {
                let wide = ir.fpext(self.unit(v), ir.f64());
                let scaled = ir.fmul(wide, ir.const_float(ir.f64(), f64::from(u32::MAX)));
                self.round_to_u32(scaled, Scalar::F64)
            }
            kind => {
                let max = ir.const_float(ir.f32(), f64::from(maximum(kind, c)));
                self.round_to_u32(ir.fmul(self.unit(v), max), Scalar::F32)
            }
        }
    }

    /// `v` between 0 and 1; NaN gives 0.
    fn unit(&self, v: Val) -> Val {
        let number = |x| self.ir.const_float(self.ir.f32(), x);
        self.clamp(Scalar::F32, v, number(0.0), number(1.0))
    }

    fn round_to_u32(&self, v: Val, from: Scalar) -> Val {
        let rounded = self.device.round(self, RoundOp::Even, from, v);
        self.device.float_to_int(self, rounded, from, Scalar::U32)
    }

    /// An unsigned small float of 5 exponent bits and `mantissa` bits, rounded half to even: the value counted in the smallest
    /// steps of its binade, where a carry moves into the exponent by itself. Subnormals share the steps of the lowest binade.
    fn encode_small(&self, v: Val, mantissa: u32) -> Val {
        let ir = &self.ir;
        let word = |x: u32| ir.const_u32(x);
        let bits = ir.bitcast(v, ir.int(32));
        // Biased exponents are those of float: 113 is 2^-14, 142 is 2^15.
        let biased = ir.and(ir.lshr(bits, word(23)), word(0xff));
        let biased = ir.intrinsic("llvm.umax.i32", ir.int(32), &[biased, word(113)]);
        let biased = ir.intrinsic("llvm.umin.i32", ir.int(32), &[biased, word(143)]);
        let scale = ir.shl(ir.sub(word(254 + mantissa), biased), word(23));
        let steps = ir.fmul(v, ir.bitcast(scale, ir.f32()));
        let steps = self.round_to_u32(steps, Scalar::F32);
        let finite = ir.add(ir.shl(ir.sub(biased, word(113)), word(mantissa)), steps);
        let infinity = word(0x1f << mantissa);
        let result = ir.select(ir.ult(word(142), biased), infinity, finite);
        let positive = ir.fcmp(Real::LLVMRealOGT, v, ir.const_float(ir.f32(), 0.0));
        let result = ir.select(positive, result, word(0));
        let nan = ir.fcmp(Real::LLVMRealUNO, v, v);
        ir.select(nan, word((0x1f << mantissa) | (1 << (mantissa - 1))), result)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_refined_quotient_is_correctly_rounded() {
        for max in [3u32, 255, 1023, 65535] {
            let reciprocal = 1.0 / max as f32;
            for raw in 0..=max {
                let x = raw as f32;
                let estimate = x * reciprocal;
                let rest = estimate.mul_add(-(max as f32), x);
                assert_eq!(rest.mul_add(reciprocal, estimate), x / max as f32, "{raw} / {max}");
            }
        }
    }
}

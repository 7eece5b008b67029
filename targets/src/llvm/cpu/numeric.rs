//! Conversions and rounding: by instructions where the processor has them, else by arithmetic on bits. LLVM alone would call a
//! library for them.

use inkwell::llvm_sys::LLVMRealPredicate as Real;
use luisac_ast::types::Scalar;

use super::detail::Detail;
use crate::llvm::device::{Extreme, RoundOp};
use crate::llvm::ir::Val;
use crate::llvm::module::ModuleEmit;

/// Runs `build` without fast-math flags.
fn strict<T>(cx: &ModuleEmit<'_, '_>, build: impl FnOnce() -> T) -> T {
    let fast = cx.ir.fast();
    cx.ir.set_fast(0);
    let result = build();
    cx.ir.set_fast(fast);
    result
}

/// The lesser or the greater of two floats by comparisons, which become the processor's own instructions and go into vectors.
/// LLVM 22 lowers `minimumnum` to a branch, and for AVX-512 gives NaN where one operand is known to be a number and the other is
/// NaN.
pub fn extreme(cx: &ModuleEmit<'_, '_>, which: Extreme, scalar: Scalar, a: Val, b: Val) -> Val {
    strict(cx, || {
        let ir = &cx.ir;
        let (a, b) = if ir.float_constant(a).is_some() { (b, a) } else { (a, b) };
        let choose = |predicate| ir.select(ir.fcmp(predicate, a, b), a, b);
        match (ir.float_constant(b), which) {
            (Some(b), _) if b.is_nan() => a,
            // Of equal zeros the variable one is right, or the constant is as good.
            (Some(b), Extreme::Min) if b == 0.0 && b.is_sign_positive() => {
                choose(Real::LLVMRealOLE)
            }
            (Some(b), Extreme::Max) if b == 0.0 && b.is_sign_negative() => {
                choose(Real::LLVMRealOGE)
            }
            (Some(_), Extreme::Min) => choose(Real::LLVMRealOLT),
            (Some(_), Extreme::Max) => choose(Real::LLVMRealOGT),
            (None, _) => {
                let predicate = match which {
                    Extreme::Min => Real::LLVMRealOLT,
                    Extreme::Max => Real::LLVMRealOGT,
                };
                // A comparison with NaN gives `b`: right if `a` is NaN.
                let chosen = ir.select(ir.fcmp(Real::LLVMRealUNO, b, b), a, choose(predicate));
                // Equal: the same bits, or zeros that differ in their signs.
                let word = ir.int(scalar.bits());
                let words = (ir.bitcast(a, word), ir.bitcast(b, word));
                let merged = match which {
                    Extreme::Min => ir.or(words.0, words.1),
                    Extreme::Max => ir.and(words.0, words.1),
                };
                let merged = ir.bitcast(merged, cx.types.leaf(ir, scalar));
                ir.select(ir.fcmp(Real::LLVMRealOEQ, a, b), merged, chosen)
            }
        }
    })
}

/// A float to the bits of the nearest half.
pub fn f32_to_half(cx: &ModuleEmit<'_, '_>, detail: &Detail, v: Val) -> Val {
    let ir = &cx.ir;
    if detail.has_half() {
        return ir.bitcast(ir.fptrunc(v, ir.f16()), ir.int(16));
    }
    let c = |x: u32| ir.const_u32(x);
    let bits = ir.bitcast(v, ir.int(32));
    let sign = ir.and(ir.lshr(bits, c(16)), c(0x8000));
    let size = ir.and(bits, c(0x7fff_ffff));
    // Normal: the exponent is biased anew, and half a step less than one rounds half to even.
    let even = ir.and(ir.lshr(size, c(13)), c(1));
    let rounded = ir.add(ir.add(ir.sub(size, c(0x3800_0000)), c(0xfff)), even);
    let normal = ir.lshr(rounded, c(13));
    // Subnormal: added to a half, the value is rounded to multiples of 2^-24 in the low bits.
    let positive = ir.bitcast(size, ir.f32());
    let shifted = strict(cx, || ir.fadd(positive, ir.const_float(ir.f32(), 0.5)));
    let subnormal = ir.sub(ir.bitcast(shifted, ir.int(32)), c(0x3f00_0000));
    let finite = ir.select(ir.ult(size, c(0x3880_0000)), subnormal, normal);
    let limited = ir.select(ir.uge(size, c(0x477f_f000)), c(0x7c00), finite);
    let payload = ir.or(ir.and(ir.lshr(size, c(13)), c(0x3ff)), c(0x7e00));
    let result = ir.select(ir.ult(c(0x7f80_0000), size), payload, limited);
    ir.trunc(ir.or(result, sign), ir.int(16))
}

/// A double to the bits of the nearest half, rounded once.
pub fn f64_to_half(cx: &ModuleEmit<'_, '_>, detail: &Detail, v: Val) -> Val {
    let ir = &cx.ir;
    if detail.has_double_to_half() {
        return ir.bitcast(ir.fptrunc(v, ir.f16()), ir.int(16));
    }
    // To odd first, then to nearest: the float keeps more than two bits beyond those of a half.
    let float = ir.fptrunc(v, ir.f32());
    let back = ir.fpext(float, ir.f64());
    let bits = ir.bitcast(float, ir.int(32));
    let magnitude = |x| cx.float_call("llvm.fabs", Scalar::F64, &[x]);
    let inexact = ir.fcmp(Real::LLVMRealONE, back, v);
    let above = ir.fcmp(Real::LLVMRealOGT, magnitude(back), magnitude(v));
    let below = ir.sub(bits, ir.zext(above, ir.int(32)));
    let odd = ir.or(below, ir.zext(inexact, ir.int(32)));
    let chosen = ir.select(inexact, odd, bits);
    f32_to_half(cx, detail, ir.bitcast(chosen, ir.f32()))
}

/// The bits of a half to a float.
pub fn half_to_f32(cx: &ModuleEmit<'_, '_>, detail: &Detail, v: Val) -> Val {
    let ir = &cx.ir;
    if detail.has_half() {
        return ir.fpext(ir.bitcast(v, ir.f16()), ir.f32());
    }
    let c = |x: u32| ir.const_u32(x);
    let bits = ir.zext(v, ir.int(32));
    let sign = ir.shl(ir.and(bits, c(0x8000)), c(16));
    let size = ir.and(bits, c(0x7fff));
    let shifted = ir.shl(size, c(13));
    let special = ir.uge(size, c(0x7c00));
    let bias = ir.select(special, c(0x7000_0000), c(0x3800_0000));
    let normal = ir.add(shifted, bias);
    // Subnormal: a whole number of 2^-24, exactly.
    let count = ir.sitofp(size, ir.f32());
    let step = ir.const_float(ir.f32(), f64::from(1.0f32 / 16_777_216.0));
    let subnormal = ir.bitcast(strict(cx, || ir.fmul(count, step)), ir.int(32));
    let result = ir.select(ir.ult(size, c(0x400)), subnormal, normal);
    ir.bitcast(ir.or(result, sign), ir.f32())
}

/// Saturating conversion of a float or double; NaN gives 0. By comparisons and selects, which LLVM can vectorise.
pub fn float_to_int(cx: &ModuleEmit<'_, '_>, v: Val, from: Scalar, to: Scalar) -> Val {
    let ir = &cx.ir;
    let ty = cx.types.leaf(ir, from);
    let bits = to.bits();
    let number = |x: f64| ir.const_float(ty, x);
    let result = ir.int(bits);
    let constant = |x: u64| ir.const_int(result, x);
    // Narrow ones through 32 bits, which instructions have.
    let wide = ir.int(bits.max(32));
    if to.is_signed() {
        let limit = 2f64.powi(bits as i32 - 1);
        let high = ir.fcmp(Real::LLVMRealOGE, v, number(limit));
        let low = ir.fcmp(Real::LLVMRealOLT, v, number(-limit));
        let nan = ir.fcmp(Real::LLVMRealUNO, v, v);
        let inside = ir.zext_or_trunc(ir.fptosi(v, wide), result);
        let max = (1u64 << (bits - 1)) - 1;
        let r = ir.select(high, constant(max), inside);
        let r = ir.select(low, constant(max + 1), r);
        ir.select(nan, constant(0), r)
    } else {
        let limit = 2f64.powi(bits as i32);
        let high = ir.fcmp(Real::LLVMRealOGE, v, number(limit));
        let positive = ir.fcmp(Real::LLVMRealOGT, v, number(0.0));
        let inside = if bits < 32 { ir.fptosi(v, wide) } else { ir.fptoui(v, wide) };
        let inside = ir.zext_or_trunc(inside, result);
        let r = ir.select(high, constant(u64::MAX >> (64 - bits)), inside);
        ir.select(positive, r, constant(0))
    }
}

/// Rounds to an integral value where no instruction does: what is large is integral already, the rest goes through an integer, or
/// is rounded by adding and taking away the number at which a step is one.
pub fn round(cx: &ModuleEmit<'_, '_>, op: RoundOp, scalar: Scalar, v: Val) -> Val {
    let ir = &cx.ir;
    let ty = cx.types.leaf(ir, scalar);
    let number = |x: f64| ir.const_float(ty, x);
    let (digits, int) = if scalar == Scalar::F32 { (23, ir.int(32)) } else { (52, ir.int(64)) };
    let big = number(2f64.powi(digits));
    let size = cx.float_call("llvm.fabs", scalar, &[v]);
    let small = ir.fcmp(Real::LLVMRealOLT, size, big);
    let with_sign = |x| cx.float_call("llvm.copysign", scalar, &[x, v]);
    let rounded = strict(cx, || {
        if op == RoundOp::Even {
            return with_sign(ir.fsub(ir.fadd(size, big), big));
        }
        // Large values would not fit into the integer.
        let fits = ir.select(small, v, number(0.0));
        let whole = with_sign(ir.sitofp(ir.fptosi(fits, int), ty));
        match op {
            RoundOp::Floor => {
                let above = ir.fcmp(Real::LLVMRealOGT, whole, v);
                ir.select(above, ir.fsub(whole, number(1.0)), whole)
            }
            RoundOp::Ceil => {
                let below = ir.fcmp(Real::LLVMRealOLT, whole, v);
                ir.select(below, ir.fadd(whole, number(1.0)), whole)
            }
            _ => whole,
        }
    });
    ir.select(small, rounded, v)
}

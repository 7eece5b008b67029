//! What LLVM makes of correct code that `ptxas` reads otherwise, rewritten after LLVM's passes.
//!
//! - `ptxas` takes the result of `abs` as never negative, while the least integer is its own magnitude, and LLVM turns every spelling
//!   of a magnitude into `abs`. Each integer `abs` that may see the least integer becomes a select between the operand and a
//!   negation in assembly, which nothing puts together again.
//! - `ptxas` (12.9) widens `neg.s16` followed by a conversion to 32 bits without wrapping at 16 bits. Each negation of 8 or 16 bits
//!   becomes one of 32 bits in assembly.

use inkwell::llvm_sys::LLVMIntPredicate;

use crate::llvm::ir::Val;
use crate::llvm::module::ModuleEmit;

/// Rewrites the finished module.
pub fn after_passes(cx: &ModuleEmit<'_, '_>) {
    for bits in [8, 16, 32, 64] {
        for call in cx.ir.calls_of(&format!("llvm.abs.i{bits}")) {
            let ir = &cx.ir;
            let (operand, poison) = (ir.operand(call, 0), ir.operand(call, 1));
            if ir.as_const_int(poison) == Some(1) {
                continue;
            }
            ir.before(call);
            let negative = ir.icmp(LLVMIntPredicate::LLVMIntSLT, operand, ir.zero(ir.int(bits)));
            let magnitude = ir.select(negative, negate(cx, operand, bits), operand);
            ir.replace(call, magnitude);
        }
    }
    for negation in cx.ir.narrow_negations() {
        let ir = &cx.ir;
        let operand = ir.operand(negation, 1);
        let bits = ir.int_width(ir.type_of(operand));
        ir.before(negation);
        ir.replace(negation, negate(cx, operand, bits));
    }
}

fn negate(cx: &ModuleEmit<'_, '_>, v: Val, bits: u32) -> Val {
    let ir = &cx.ir;
    let (wide, class) = if bits == 64 { (64, "=l,l") } else { (32, "=r,r") };
    let operand = ir.sext_or_trunc(v, ir.int(wide));
    let text = format!("neg.s{wide} $0, $1;");
    let negated = ir.assembly(&text, class, ir.int(wide), &[operand], false, false);
    ir.zext_or_trunc(negated, ir.int(bits))
}

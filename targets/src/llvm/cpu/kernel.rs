//! Entry point: the threads of a block one after another.

use inkwell::llvm_sys::LLVMRealPredicate as Real;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::Scalar;
use luisac_xir::op::{SpecialRegister, ThreadGroupOp};
use luisac_xir::{FunctionId, InstId, Op};
use smallvec::smallvec;

use super::CpuDevice;
use crate::errors;
use crate::llvm::Emit;
use crate::llvm::device::{Device, FloatOp};
use crate::llvm::function::{FnEmit, refused};
use crate::llvm::ir::{FUNCTION, Scope, Val};
use crate::llvm::launch::Launch;
use crate::llvm::module::ModuleEmit;
use crate::llvm::value::{Image, Leaves, Value};

impl Device for CpuDevice {
    fn global_space(&self) -> u32 {
        0
    }
    fn constant_space(&self) -> u32 {
        0
    }
    fn passes_ids(&self) -> bool {
        true
    }
    fn ids(&self, cx: &ModuleEmit<'_, '_>) -> ([Val; 3], [Val; 3]) {
        // Never asked: ids are handed down.
        ([cx.ir.const_u32(0); 3], [cx.ir.const_u32(0); 3])
    }
    fn stops_in_place(&self) -> bool {
        false
    }
    fn stop(&self, f: &mut FnEmit<'_, '_, '_>) {
        f.cx.ir.unreachable();
    }

    /// The entry `(params, block)`: a loop over the threads of the block, which calls the body for those inside the dispatch size.
    fn emit_kernel(&self, cx: &mut ModuleEmit<'_, '_>, kernel: FunctionId) -> Emit<()> {
        let body = cx.declare(kernel)?;
        cx.ir.add_attribute(body.value, FUNCTION, "alwaysinline", 0);
        let name = crate::metadata::entry_symbol(&cx.module.functions[kernel]);
        let ptr = cx.ir.ptr(0);
        let entry = cx.ir.add_function(&name, cx.ir.void(), &[ptr, ptr], false);
        cx.mark_function(entry.value, kernel);
        cx.ir.at_end(cx.ir.block_in(entry.value, "entry"));
        let (params, config) = (cx.ir.param(entry.value, 0), cx.ir.param(entry.value, 1));
        let word = |i: u64| cx.ir.load(cx.ir.int(32), cx.ir.offset_const(config, 4 * i), 4, false);
        let block_id = [word(0), word(1), word(2)];
        let scratch = cx.ir.load(ptr, cx.ir.offset_const(config, 16), 8, false);
        let zero = cx.ir.const_u32(0);
        let mut launch = Launch::load(cx, params, [zero; 3], block_id);
        launch.scratch = Some(scratch);
        let arguments = cx.load_arguments(params);
        if cx.facts(kernel).may_stop {
            launch.stop_flag = Some(cx.ir.alloca(1, 1));
        }

        let ir = &cx.ir;
        let before = ir.block();
        let (head, run, next, done) = (
            ir.new_block("thread"),
            ir.new_block("run"),
            ir.new_block("next"),
            ir.new_block("done"),
        );
        ir.br(head);
        ir.at_end(head);
        let linear = ir.phi(ir.int(32));
        ir.add_incoming(linear, zero, before);
        let [nx, ny, nz] = cx.block_size;
        let x = ir.urem(linear, ir.const_u32(nx));
        let rest = ir.udiv(linear, ir.const_u32(nx));
        launch.thread_id = [x, ir.urem(rest, ir.const_u32(ny)), ir.udiv(rest, ir.const_u32(ny))];
        let inside = launch.inside(cx);
        ir.cond_br(inside, run, next);
        ir.at_end(run);
        if let Some(flag) = launch.stop_flag {
            ir.store(ir.const_int(ir.int(8), 0), flag, 1, false);
        }
        let mut args = launch.pass(cx);
        cx.pass_arguments(&arguments, &mut args);
        ir.call(body, &args);
        ir.br(next);
        ir.at_end(next);
        let following = ir.add(linear, ir.const_u32(1));
        ir.add_incoming(linear, following, next);
        ir.cond_br(ir.ult(following, ir.const_u32(nx * ny * nz)), head, done);
        ir.at_end(done);
        ir.ret(None);
        cx.emit_internal(kernel, body)
    }

    fn atomic_scope(&self, _shared: bool) -> Scope {
        Scope::System
    }
    fn native_float_add(&self, _cx: &ModuleEmit<'_, '_>, _scalar: Scalar, _shared: bool) -> bool {
        false
    }
    fn shared_variable(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        _inst: InstId,
        size: u64,
        _align: u32,
    ) -> Emit<Val> {
        // The bytes were counted already; the variable is the last of them.
        let offset = f.cx.shared_bytes - size;
        let base = f.launch.scratch.unwrap_or_else(|| f.cx.ir.zero(f.cx.ir.ptr(0)));
        Ok(f.cx.ir.offset_const(base, offset))
    }
    fn special(&self, f: &mut FnEmit<'_, '_, '_>, register: SpecialRegister) -> Emit<Leaves> {
        let value = if register == SpecialRegister::WarpSize { 1 } else { 0 };
        Ok(smallvec![f.cx.ir.const_u32(value)])
    }
    fn barrier(&self, _f: &mut FnEmit<'_, '_, '_>, _inst: InstId) -> Emit<()> {
        Err(refused(
            errors::UNSUPPORTED_OPERATION,
            Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock),
        ))
    }
    fn wave(&self, _f: &mut FnEmit<'_, '_, '_>, op: ThreadGroupOp, _inst: InstId) -> Emit<Value> {
        Err(refused(errors::UNSUPPORTED_OPERATION, Op::ThreadGroup(op)))
    }
    fn image_read(
        &self,
        _f: &mut FnEmit<'_, '_, '_>,
        _image: Image,
        _element: Scalar,
        _coordinate: &[Val],
    ) -> Emit<Leaves> {
        Err(no_images())
    }
    fn image_write(
        &self,
        _f: &mut FnEmit<'_, '_, '_>,
        _image: Image,
        _element: Scalar,
        _coordinate: &[Val],
        _texel: &[Val],
    ) -> Emit<()> {
        Err(no_images())
    }
    fn image_size(&self, _f: &mut FnEmit<'_, '_, '_>, _image: Image, _dim: u32) -> Emit<Leaves> {
        Err(no_images())
    }
    fn clock(&self, f: &mut FnEmit<'_, '_, '_>) -> Val {
        f.cx.ir.intrinsic("llvm.readcyclecounter", f.cx.ir.int(64), &[])
    }

    fn f32_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        cx.ir.bitcast(cx.ir.fptrunc(v, cx.ir.f16()), cx.ir.int(16))
    }
    fn f64_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        // To odd first, then to nearest: the float keeps more than two bits beyond those of a half.
        let ir = &cx.ir;
        let float = ir.fptrunc(v, ir.f32());
        let back = ir.fpext(float, ir.f64());
        let bits = ir.bitcast(float, ir.int(32));
        let magnitude = |x| cx.float_call("llvm.fabs", Scalar::F64, &[x]);
        let inexact = ir.fcmp(Real::LLVMRealONE, back, v);
        let above = ir.fcmp(Real::LLVMRealOGT, magnitude(back), magnitude(v));
        let below = ir.sub(bits, ir.zext(above, ir.int(32)));
        let odd = ir.or(below, ir.zext(inexact, ir.int(32)));
        let chosen = ir.select(inexact, odd, bits);
        self.f32_to_half(cx, ir.bitcast(chosen, ir.f32()))
    }
    fn half_to_f32(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        cx.ir.fpext(cx.ir.bitcast(v, cx.ir.f16()), cx.ir.f32())
    }
    fn float_to_int(&self, cx: &ModuleEmit<'_, '_>, v: Val, from: Scalar, to: Scalar) -> Val {
        let form = if to.is_signed() { "fptosi" } else { "fptoui" };
        let name = format!("llvm.{form}.sat.i{}.f{}", to.bits(), from.bits());
        cx.ir.intrinsic(&name, cx.ir.int(to.bits()), &[v])
    }
    fn float_op(&self, cx: &ModuleEmit<'_, '_>, op: FloatOp, scalar: Scalar, args: &[Val]) -> Val {
        let ir = &cx.ir;
        match (op, args) {
            (FloatOp::Div, &[a, b]) => ir.fdiv(a, b),
            (FloatOp::Rsqrt, &[a]) => {
                let root = cx.float_call("llvm.sqrt", scalar, &[a]);
                ir.fdiv(ir.const_float(cx.types.leaf(ir, scalar), 1.0), root)
            }
            (_, &[a]) => cx.float_call("llvm.sqrt", scalar, &[a]),
            _ => ir.zero(ir.f32()),
        }
    }
}

fn no_images() -> Box<Diagnostic> {
    Box::new(Diagnostic::error(errors::UNSUPPORTED_OPERATION, "the target does not hold images"))
}

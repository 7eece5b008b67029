//! Entry point, registers, barriers, and the operations that PTX has in hardware.

use luisac_artifact::abi::PTX_SIZE_BITS;
use luisac_ast::types::Scalar;
use luisac_xir::op::{SpecialRegister, ThreadGroupOp};
use luisac_xir::{FunctionId, InstId};
use smallvec::smallvec;

use super::{PtxDevice, image, texture, wave};
use crate::llvm::Emit;
use crate::llvm::bindless::Sampling;
use crate::llvm::device::{Device, FloatOp};
use crate::llvm::export::Calls;
use crate::llvm::function::FnEmit;
use crate::llvm::ir::{Lines, Scope, Val};
use crate::llvm::launch::Launch;
use crate::llvm::module::ModuleEmit;
use crate::llvm::value::{Image, Leaves, Texture, Value};

/// LLVM's calling convention of kernels.
const PTX_KERNEL: u32 = 71;
const GLOBAL: u32 = 1;
const SHARED: u32 = 3;

/// The register of this name, `tid.x`.
fn register(cx: &ModuleEmit<'_, '_>, name: &str) -> Val {
    cx.ir.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), cx.ir.int(32), &[])
}

impl Device for PtxDevice {
    fn global_space(&self) -> u32 {
        GLOBAL
    }
    fn constant_space(&self) -> u32 {
        GLOBAL
    }
    fn passes_ids(&self) -> bool {
        false
    }
    fn ids(&self, cx: &ModuleEmit<'_, '_>) -> ([Val; 3], [Val; 3]) {
        // An axis with one thread needs no register.
        let id = |axis: usize, name: &str| {
            if cx.block_size[axis] == 1 { cx.ir.const_u32(0) } else { register(cx, name) }
        };
        let thread = [id(0, "tid.x"), id(1, "tid.y"), id(2, "tid.z")];
        let block = [register(cx, "ctaid.x"), register(cx, "ctaid.y"), register(cx, "ctaid.z")];
        (thread, block)
    }
    fn lines(&self) -> Lines {
        Lines::Directives
    }
    fn unrolled_size(&self) -> u32 {
        // LLVM's own limit leaves most loops as they are, and `ptxas` does not unroll them either.
        256
    }
    fn calls(&self) -> Calls {
        Calls::Cuda
    }
    fn stops_in_place(&self) -> bool {
        true
    }
    fn stop(&self, f: &mut FnEmit<'_, '_, '_>) {
        let ir = &f.cx.ir;
        ir.assembly("exit;", "", ir.void(), &[], true, false);
        ir.unreachable();
    }

    fn emit_kernel(&self, cx: &mut ModuleEmit<'_, '_>, kernel: FunctionId) -> Emit<()> {
        let name = crate::metadata::entry_symbol(&cx.module.functions[kernel]);
        let block = cx.ir.array(cx.ir.int(8), cx.layout.size.into());
        let entry = cx.ir.add_function(&name, cx.ir.void(), &[cx.ir.ptr(0)], false);
        let function = entry.value;
        cx.ir.set_convention(function, PTX_KERNEL);
        cx.ir.add_type_attribute(function, 1, "byval", block);
        cx.ir.add_attribute(function, 1, "align", 16);
        cx.mark_function(function, kernel);
        let [x, y, z] = cx.block_size;
        cx.ir.add_text_attribute(function, "nvvm.reqntid", &format!("{x},{y},{z}"));

        cx.ir.at_end(cx.ir.block_in(function, "entry"));
        let params = cx.ir.param(function, 0);
        let (thread, block) = self.ids(cx);
        let launch = Launch::load(cx, params, thread, block);
        // A thread outside the dispatch size leaves before everything: the hardware counts it out of barriers.
        let inside = launch.inside(cx);
        let (body, outside) = (cx.ir.new_block("body"), cx.ir.new_block("outside"));
        cx.ir.cond_br(inside, body, outside);
        cx.ir.at_end(outside);
        cx.ir.ret(None);
        cx.ir.at_end(body);
        let arguments = cx.load_arguments(params);
        FnEmit::new(cx, kernel, launch, arguments, None).run()
    }

    fn after_code(&self, code: Vec<u8>) -> Vec<u8> {
        super::guard::rewrite(code)
    }

    fn atomic_scope(&self, shared: bool) -> Scope {
        // Scopes came with sm_60; before, all atomics are of the device.
        match (self.arch.sm >= 60, shared) {
            (true, true) => Scope::Block,
            (true, false) => Scope::Device,
            (false, _) => Scope::System,
        }
    }
    fn native_float_add(&self, cx: &ModuleEmit<'_, '_>, scalar: Scalar, shared: bool) -> bool {
        match scalar {
            // On global memory the instruction flushes subnormals.
            Scalar::F32 => cx.is_fast() || shared,
            Scalar::F64 => self.arch.sm >= 60,
            _ => false,
        }
    }
    fn shared_variable(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        _inst: InstId,
        size: u64,
        align: u32,
    ) -> Emit<Val> {
        Ok(f.cx.ir.undefined_global(size, align.max(16), SHARED))
    }
    fn special(&self, f: &mut FnEmit<'_, '_, '_>, register: SpecialRegister) -> Emit<Leaves> {
        Ok(match register {
            SpecialRegister::WarpSize => smallvec![f.cx.ir.const_u32(wave::LANES)],
            _ => smallvec![wave::lane(f)],
        })
    }
    fn barrier(&self, f: &mut FnEmit<'_, '_, '_>, _inst: InstId) -> Emit<()> {
        let ir = &f.cx.ir;
        ir.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", ir.void(), &[ir.const_u32(0)]);
        Ok(())
    }
    fn wave(&self, f: &mut FnEmit<'_, '_, '_>, op: ThreadGroupOp, inst: InstId) -> Emit<Value> {
        wave::emit(f, op, inst)
    }
    fn image_read(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        image: Image,
        element: Scalar,
        coordinate: &[Val],
    ) -> Emit<Leaves> {
        image::read(f, image, element, coordinate)
    }
    fn image_write(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        image: Image,
        element: Scalar,
        coordinate: &[Val],
        texel: &[Val],
    ) -> Emit<()> {
        image::write(f, image, element, coordinate, texel)
    }
    fn image_size(&self, f: &mut FnEmit<'_, '_, '_>, image: Image, dim: u32) -> Emit<Leaves> {
        image::size(f, image, dim)
    }
    fn has_texture_objects(&self) -> bool {
        true
    }
    fn image_argument(
        &self,
        cx: &ModuleEmit<'_, '_>,
        first: Val,
        storage: Val,
        sampled: bool,
    ) -> Image {
        texture::argument(cx, first, storage, sampled)
    }
    fn slot_size(&self, cx: &ModuleEmit<'_, '_>, word: Val) -> Val {
        cx.ir.and(word, cx.ir.const_u64((1 << PTX_SIZE_BITS) - 1))
    }
    fn slot_texture(&self, f: &mut FnEmit<'_, '_, '_>, size: Val, word: Val, dim: u32) -> Texture {
        texture::in_slot(f, size, word, dim)
    }
    fn texture(&self, f: &mut FnEmit<'_, '_, '_>, image: Image) -> Texture {
        texture::whole_argument(f, image)
    }
    fn texture_levels(&self, f: &mut FnEmit<'_, '_, '_>, texture: Texture) -> Val {
        texture::levels(f, texture)
    }
    fn texture_size(&self, f: &mut FnEmit<'_, '_, '_>, texture: Texture, dim: u32) -> Leaves {
        texture::size(f, texture, dim as usize)
    }
    fn texture_fetch(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        texture: Texture,
        coordinate: &[Val],
        level: Val,
    ) -> Emit<Leaves> {
        Ok(texture::fetch(f, texture, coordinate, level))
    }
    fn texture_sample(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        handle: Val,
        sampling: &Sampling,
    ) -> Option<Leaves> {
        Some(texture::sample(f, handle, sampling))
    }
    fn texture_for(&self, f: &mut FnEmit<'_, '_, '_>, image: Image, sampler: Val) -> Val {
        texture::of_argument(f, image, sampler)
    }
    fn clock(&self, f: &mut FnEmit<'_, '_, '_>) -> Val {
        let ir = &f.cx.ir;
        ir.intrinsic("llvm.nvvm.read.ptx.sreg.clock64", ir.int(64), &[])
    }

    fn f32_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        cx.ir.bitcast(cx.ir.fptrunc(v, cx.ir.f16()), cx.ir.int(16))
    }
    fn f64_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        cx.ir.bitcast(cx.ir.fptrunc(v, cx.ir.f16()), cx.ir.int(16))
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
        let fast = cx.is_fast() && scalar == Scalar::F32;
        match (op, args) {
            // 2 ulp over the full range. Subnormals count as zero: without that each approximation takes three instructions more.
            (FloatOp::Div, &[a, b]) if fast => {
                ir.intrinsic("llvm.nvvm.div.full.ftz", ir.f32(), &[a, b])
            }
            (FloatOp::Div, &[a, b]) => ir.fdiv(a, b),
            (FloatOp::Sqrt, &[a]) if fast => {
                ir.intrinsic("llvm.nvvm.sqrt.approx.ftz.f", ir.f32(), &[a])
            }
            (FloatOp::Rsqrt, &[a]) if fast => {
                ir.intrinsic("llvm.nvvm.rsqrt.approx.ftz.f", ir.f32(), &[a])
            }
            (FloatOp::Exp2, &[a]) => ir.intrinsic("llvm.nvvm.ex2.approx.ftz.f32", ir.f32(), &[a]),
            (FloatOp::Sqrt, &[a]) => cx.float_call("llvm.sqrt", scalar, &[a]),
            (FloatOp::Rsqrt, &[a]) => {
                let root = cx.float_call("llvm.sqrt", scalar, &[a]);
                ir.fdiv(ir.const_float(cx.types.leaf(ir, scalar), 1.0), root)
            }
            (_, rest) => rest.first().copied().unwrap_or_else(|| ir.zero(ir.f32())),
        }
    }
}

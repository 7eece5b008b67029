//! The hooks of the common emitter.

use luisac_ast::types::Scalar;
use luisac_xir::op::{Scopes, SpecialRegister, ThreadGroupOp};
use luisac_xir::{FunctionId, InstId, Op, ValueDef, ValueId};
use smallvec::smallvec;

use super::detail::Machine;
use super::{CpuDevice, entry, image, numeric, wave};
use crate::errors;
use crate::llvm::Emit;
use crate::llvm::device::{Device, Extreme, FloatOp, RoundOp};
use crate::llvm::export::Calls;
use crate::llvm::function::{FnEmit, refused};
use crate::llvm::ir::{AccessGroup, Scope, Val};
use crate::llvm::module::ModuleEmit;
use crate::llvm::types::MAX_LEAVES;
use crate::llvm::value::{Image, Leaves, Texture, Value};

/// Most bytes of one variable, and of all variables of a function, on the stack; what is more goes to scratch memory.
const STACK: (u64, u64) = (4096, 16384);
/// On Windows, where a frame of more than a page would need a probe.
const STACK_WINDOWS: (u64, u64) = (1024, 2048);

/// Readies the module for the kernel.
pub fn start(cx: &ModuleEmit<'_, '_>) {
    cx.ir.use_loops_for_memory();
    // Two threads of a block that touch the same memory between two barriers, one of them writing, are a race: undefined.
    cx.independent.set(cx.ir.new_access_group());
}

/// Takes memory of the block; its offset.
pub fn take_scratch(cx: &ModuleEmit<'_, '_>, size: u64, align: u32) -> u64 {
    // Slots of different things do not share a line.
    let align = u64::from(align).max(if size >= 64 { 64 } else { 16 });
    let offset = cx.scratch_bytes.get().next_multiple_of(align);
    cx.scratch_bytes.set(offset.saturating_add(size));
    offset
}

impl CpuDevice<'_> {
    /// Whether an lvalue lies where the threads of a block work independently of each other.
    fn is_common(&self, f: &FnEmit<'_, '_, '_>, place: ValueId) -> bool {
        let base = f.func.base_of(place);
        if f.func.scopes_of(base) == Scopes::SHARED {
            return true;
        }
        // In a region, what follows the kernel's arguments is shared or the thread's own.
        let own = f.cx.module.functions[f.cx.kernel].arguments.len();
        let is_region = || {
            self.split
                .is_some_and(|s| s.regions.binary_search_by_key(&f.id, |r| r.function).is_ok())
        };
        matches!(f.func.value_def(base), ValueDef::Argument(i) if i as usize >= own && is_region())
    }
}

impl Device for CpuDevice<'_> {
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
    fn mark(&self, cx: &ModuleEmit<'_, '_>, function: Val) {
        // No library to call, and no probe of the stack.
        cx.ir.add_text_attribute(function, "no-builtins", "");
        cx.ir.add_text_attribute(function, "no-stack-arg-probe", "");
    }
    fn longest_block(&self) -> usize {
        10_000
    }
    fn calls(&self) -> Calls {
        Calls::C
    }
    fn start_function(&self, cx: &ModuleEmit<'_, '_>) {
        cx.ir.use_loops_for_memory();
    }
    fn emit_kernel(&self, cx: &mut ModuleEmit<'_, '_>, kernel: FunctionId) -> Emit<()> {
        entry::emit(self, cx, kernel)
    }

    fn atomic_scope(&self, _shared: bool) -> Scope {
        Scope::System
    }
    fn native_float_add(&self, _cx: &ModuleEmit<'_, '_>, _scalar: Scalar, _shared: bool) -> bool {
        false
    }
    fn off_stack(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        size: u64,
        align: u32,
        taken: u64,
    ) -> Option<Val> {
        let (one, all) = if self.detail.is_windows() { STACK_WINDOWS } else { STACK };
        if size <= one && taken.saturating_add(size) <= all {
            return None;
        }
        if f.cx.is_export() {
            // Nobody gives such a function scratch memory. What it would have taken is counted, for frames that may not be large.
            take_scratch(f.cx, size, align);
            return None;
        }
        // One place for each variable of each function is enough: threads run one after another, and nothing is recursive.
        let scratch = f.launch.scratch?;
        let offset = take_scratch(f.cx, size, align);
        Some(f.cx.ir.in_entry(|| f.cx.ir.offset_const(scratch, offset)))
    }
    fn is_undisturbed(&self, f: &FnEmit<'_, '_, '_>, place: ValueId) -> bool {
        // The threads of a block run one after another, and scratch memory is of one block.
        !f.func.is_resource(place) && self.is_common(f, place)
    }
    fn has_vectors(&self) -> bool {
        true
    }
    fn access_group(&self, f: &FnEmit<'_, '_, '_>, inst: InstId) -> Option<AccessGroup> {
        let func = f.func;
        let args = func.args(inst);
        // Large values go through memory of the thread, which all threads have at the same place.
        let flat = |ty| f.cx.types.count(ty) <= MAX_LEAVES;
        let independent = match func.op(inst) {
            Op::ResourceRead(op) => !op.is_volatile() && flat(func.inst(inst).ty),
            Op::ResourceWrite(op) => {
                !op.is_volatile() && args.last().is_some_and(|&v| flat(func.value_type(v)))
            }
            Op::Load | Op::Store => {
                args.first().is_some_and(|&p| flat(func.value_type(p)) && self.is_common(f, p))
            }
            _ => false,
        };
        f.cx.independent.get().filter(|_| independent)
    }
    fn shared_variable(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        _inst: InstId,
        size: u64,
        align: u32,
    ) -> Emit<Val> {
        let offset = take_scratch(f.cx, size, align);
        let base = f.launch.scratch.unwrap_or_else(|| f.cx.ir.zero(f.cx.ir.ptr(0)));
        Ok(f.cx.ir.offset_const(base, offset))
    }
    fn special(&self, f: &mut FnEmit<'_, '_, '_>, register: SpecialRegister) -> Emit<Leaves> {
        let value = if register == SpecialRegister::WarpSize { 1 } else { 0 };
        Ok(smallvec![f.cx.ir.const_u32(value)])
    }
    fn barrier(&self, _f: &mut FnEmit<'_, '_, '_>, _inst: InstId) -> Emit<()> {
        // The kernel was cut at its own barriers; this one is in a callable that was not inlined.
        let mut e = refused(
            errors::UNSUPPORTED_OPERATION,
            Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock),
        );
        e.notes.push("a barrier in a callable: it works after the pass `inline`".to_string());
        Err(e)
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
        Ok(image::size(f, image.handle, dim))
    }
    fn slot_texture(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        _size: Val,
        word: Val,
        _dim: u32,
    ) -> Texture {
        image::in_slot(f, word)
    }
    fn texture(&self, f: &mut FnEmit<'_, '_, '_>, image: Image) -> Texture {
        Texture { handle: image.handle, sampler: f.cx.ir.const_u32(0), levels: None }
    }
    fn texture_levels(&self, f: &mut FnEmit<'_, '_, '_>, texture: Texture) -> Val {
        image::levels(f, texture.handle)
    }
    fn texture_size(&self, f: &mut FnEmit<'_, '_, '_>, texture: Texture, dim: u32) -> Leaves {
        image::size(f, texture.handle, dim)
    }
    fn texture_fetch(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        texture: Texture,
        coordinate: &[Val],
        level: Val,
    ) -> Emit<Leaves> {
        image::fetch(f, texture.handle, coordinate, level)
    }
    fn clock(&self, f: &mut FnEmit<'_, '_, '_>) -> Val {
        // The cycle counter of AArch64 is not for user programs; its timer is.
        let name = match self.detail.machine {
            Machine::X86(_) => "llvm.readcyclecounter",
            Machine::Arm => "llvm.readsteadycounter",
        };
        f.cx.ir.intrinsic(name, f.cx.ir.int(64), &[])
    }

    fn f32_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        numeric::f32_to_half(cx, &self.detail, v)
    }
    fn f64_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        numeric::f64_to_half(cx, &self.detail, v)
    }
    fn half_to_f32(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val {
        numeric::half_to_f32(cx, &self.detail, v)
    }
    fn float_to_int(&self, cx: &ModuleEmit<'_, '_>, v: Val, from: Scalar, to: Scalar) -> Val {
        numeric::float_to_int(cx, v, from, to)
    }
    fn has_fma(&self) -> bool {
        self.detail.has_fma()
    }
    fn round(&self, cx: &ModuleEmit<'_, '_>, op: RoundOp, scalar: Scalar, v: Val) -> Val {
        if !self.detail.has_round() {
            return numeric::round(cx, op, scalar, v);
        }
        let name = match op {
            RoundOp::Ceil => "llvm.ceil",
            RoundOp::Floor => "llvm.floor",
            RoundOp::Trunc => "llvm.trunc",
            RoundOp::Even => "llvm.roundeven",
        };
        cx.float_call(name, scalar, &[v])
    }
    fn extreme(
        &self,
        cx: &ModuleEmit<'_, '_>,
        which: Extreme,
        scalar: Scalar,
        a: Val,
        b: Val,
    ) -> Val {
        match self.detail.machine {
            Machine::X86(_) => numeric::extreme(cx, which, scalar, a, b),
            Machine::Arm => cx.float_call(which.intrinsic(), scalar, &[a, b]),
        }
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

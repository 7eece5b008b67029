//! The entry point: loops over the threads of a block.
//!
//! A kernel without barriers is one function for a thread, inlined into one nest of loops, x innermost. A kernel with barriers is
//! one such nest for each region, and branches between them. The trip counts end at the dispatch size, so that no thread tests
//! whether it exists.

use luisac_xir::{FunctionId, Module};

use super::{CpuDevice, regions};
use crate::llvm::Emit;
use crate::llvm::device::Device;
use crate::llvm::ir::{Bb, Callee, FUNCTION, Val};
use crate::llvm::launch::Launch;
use crate::llvm::module::ModuleEmit;
use crate::llvm::value::Value;

/// What every block of the grid starts with.
pub(super) struct Start {
    pub launch: Launch,
    pub arguments: Vec<Value>,
    /// Threads along each axis that lie inside the dispatch size, `i32`; 1 along axes of one thread.
    pub counts: [Val; 3],
    pub scratch: Val,
}

/// Makes the entry of a kernel.
pub fn emit(device: &CpuDevice<'_>, cx: &mut ModuleEmit<'_, '_>, kernel: FunctionId) -> Emit<()> {
    super::kernel::start(cx);
    let name = crate::metadata::entry_symbol(&cx.module.functions[kernel]);
    let ptr = cx.ir.ptr(0);
    let entry = cx.ir.add_function(&name, cx.ir.void(), &[ptr, ptr], false);
    device.mark(cx, entry.value);
    cx.ir.add_attribute(entry.value, FUNCTION, "nounwind", 0);
    match device.split {
        None => {
            // Before the entry's own code: the body is declared, then called.
            let body = cx.declare(kernel)?;
            inline(cx, cx.module, kernel, body);
            let start = start(cx, entry.value);
            let stop = cx.facts(kernel).may_stop.then(|| cx.ir.alloca(1, 1));
            threads(cx, &start, |cx, mut launch, _| {
                launch.stop_flag = stop;
                clear_flag(cx, stop);
                let mut args = launch.pass(cx);
                cx.pass_arguments(&start.arguments, &mut args);
                cx.ir.call(body, &args);
            });
            cx.ir.ret(None);
            cx.emit_internal(kernel, body)
        }
        Some(split) => {
            let start = start(cx, entry.value);
            regions::emit(cx, kernel, split, entry.value, start)
        }
    }
}

/// Says that the one call of a body is to be inlined.
pub(super) fn inline(cx: &ModuleEmit<'_, '_>, module: &Module, id: FunctionId, body: Callee) {
    if !module.functions[id].no_inline {
        cx.ir.add_attribute(body.value, FUNCTION, "alwaysinline", 0);
    }
}

pub(super) fn clear_flag(cx: &ModuleEmit<'_, '_>, flag: Option<Val>) {
    if let Some(flag) = flag {
        cx.ir.store(cx.ir.const_int(cx.ir.int(8), 0), flag, 1, false);
    }
}

pub(super) fn start(cx: &mut ModuleEmit<'_, '_>, function: Val) -> Start {
    cx.ir.at_end(cx.ir.block_in(function, "entry"));
    let (params, config) = (cx.ir.param(function, 0), cx.ir.param(function, 1));
    let ir = &cx.ir;
    let word = |i: u64| ir.load(ir.int(32), ir.offset_const(config, 4 * i), 4, false);
    let block_id = [word(0), word(1), word(2)];
    let scratch = ir.load(ir.ptr(0), ir.offset_const(config, 16), 8, false);
    let mut launch = Launch::load(cx, params, [cx.ir.const_u32(0); 3], block_id);
    launch.scratch = Some(scratch);
    let ir = &cx.ir;
    let counts = std::array::from_fn(|axis| {
        let size = ir.const_u32(cx.block_size[axis]);
        if cx.block_size[axis] == 1 {
            return size;
        }
        // The grid covers the dispatch size, so that each block has a thread inside.
        let left = ir.sub(launch.dispatch_size[axis], ir.mul_nuw(block_id[axis], size));
        ir.intrinsic("llvm.umin.i32", ir.int(32), &[left, size])
    });
    let arguments = cx.load_arguments(params);
    Start { launch, arguments, counts, scratch }
}

/// Runs `body(launch, linear index of the thread in the block)` for each thread.
pub(super) fn threads(
    cx: &ModuleEmit<'_, '_>,
    start: &Start,
    body: impl FnOnce(&ModuleEmit<'_, '_>, Launch, Val),
) {
    let ir = &cx.ir;
    let word = ir.int(32);
    let zero = ir.const_u32(0);
    let mut id = [zero; 3];
    let mut open: Vec<(Bb, Val, usize)> = Vec::new();
    for axis in [2, 1, 0] {
        if cx.block_size[axis] == 1 {
            continue;
        }
        let before = ir.block();
        let head = ir.new_block(["x", "y", "z"][axis]);
        ir.br(head);
        ir.at_end(head);
        let i = ir.phi(word);
        ir.add_incoming(i, zero, before);
        id[axis] = i;
        open.push((head, i, axis));
    }
    let mut launch = start.launch;
    launch.thread_id = id;
    let [nx, ny, _] = cx.block_size;
    let rows = ir.add_nuw(id[1], ir.mul_nuw(id[2], ir.const_u32(ny)));
    let linear = ir.add_nuw(id[0], ir.mul_nuw(rows, ir.const_u32(nx)));
    let linear = ir.zext(linear, ir.int(64));
    body(cx, launch, linear);
    let ir = &cx.ir;
    let mut innermost = true;
    while let Some((head, i, axis)) = open.pop() {
        let next = ir.add_nuw(i, ir.const_u32(1));
        let latch = ir.block();
        ir.add_incoming(i, next, latch);
        let done = ir.new_block("done");
        ir.cond_br(ir.ult(next, start.counts[axis]), head, done);
        if let Some(group) = cx.independent.get().filter(|_| innermost) {
            ir.mark_parallel_loop(latch, group);
        }
        innermost = false;
        ir.at_end(done);
    }
}

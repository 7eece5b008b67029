//! The entry point: loops over the threads of a block.
//!
//! A kernel without barriers is one function for a thread, inlined into one nest of loops, x innermost. A kernel with barriers is
//! one such nest for each region, and branches between them. The trip counts end at the dispatch size, so that no thread tests
//! whether it exists.

use luisac_xir::{FunctionId, Module};

use super::CpuDevice;
use super::split::{FIRST_STATE, Region, Slot, Split};
use crate::errors;
use crate::llvm::Emit;
use crate::llvm::device::Device;
use crate::llvm::ir::{Bb, Callee, FUNCTION, Val};
use crate::llvm::launch::Launch;
use crate::llvm::memory::align_at;
use crate::llvm::module::{ModuleEmit, internal};
use crate::llvm::value::Value;
use luisac_ast::diagnostic::Diagnostic;

/// Most bytes that the threads of a block may keep across barriers, together with its other memory.
pub const MAX_SCRATCH: u64 = 1 << 30;

/// What every block of the grid starts with.
struct Start {
    launch: Launch,
    arguments: Vec<Value>,
    /// Threads along each axis that lie inside the dispatch size, `i32`; 1 along axes of one thread.
    counts: [Val; 3],
    scratch: Val,
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
            let places = Places::lay_out(cx, kernel, &start, split)?;
            Regions { split, start, places, kernel }.emit(cx)
        }
    }
}

/// Says that the one call of a body is to be inlined.
fn inline(cx: &ModuleEmit<'_, '_>, module: &Module, id: FunctionId, body: Callee) {
    if !module.functions[id].no_inline {
        cx.ir.add_attribute(body.value, FUNCTION, "alwaysinline", 0);
    }
}

fn clear_flag(cx: &ModuleEmit<'_, '_>, flag: Option<Val>) {
    if let Some(flag) = flag {
        cx.ir.store(cx.ir.const_int(cx.ir.int(8), 0), flag, 1, false);
    }
}

fn start(cx: &mut ModuleEmit<'_, '_>, function: Val) -> Start {
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
fn threads(
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

/// A slot: the first thread's place, bytes from a thread to the next, bytes of the slot, and alignment.
struct Place {
    first: Val,
    stride: u64,
    size: u64,
    align: u32,
}

/// Where the memory of a block lies in its scratch memory, as offsets in bytes.
struct Places {
    shared: Vec<Val>,
    slots: Vec<Place>,
    /// One byte a thread: it has ended.
    ended: Option<Val>,
}

impl Places {
    fn lay_out(
        cx: &mut ModuleEmit<'_, '_>,
        kernel: FunctionId,
        start: &Start,
        split: &Split,
    ) -> Emit<Places> {
        let types = &cx.module.types;
        let threads: u64 = cx.block_size.iter().map(|&n| u64::from(n)).product();
        let place = |size, align| {
            let offset = super::kernel::take_scratch(cx, size, align);
            cx.ir.offset_const(start.scratch, offset)
        };
        let mut shared = Vec::new();
        let mut shared_bytes = 0u64;
        for &ty in &split.shared {
            shared_bytes = shared_bytes.next_multiple_of(types.align(ty).into()) + types.size(ty);
            shared.push(place(types.size(ty), types.align(ty)));
        }
        let slots = if split.loops {
            // One record a thread: neighbours in it can be one vector while a loop of the region runs.
            let (mut offsets, mut size) = (Vec::new(), 0u64);
            for slot in &split.slots {
                let offset = size.next_multiple_of(types.align(slot.ty).into());
                offsets.push(offset);
                size = offset.saturating_add(types.size(slot.ty));
            }
            let stride = size.next_multiple_of(if size >= 64 { 64 } else { 16 });
            let first = super::kernel::take_scratch(cx, stride.saturating_mul(threads), 64);
            let slot = |(slot, &offset): (&Slot, &u64)| Place {
                first: cx.ir.offset_const(start.scratch, first.saturating_add(offset)),
                stride,
                size: types.size(slot.ty),
                align: align_at(64, offset).min(align_at(64, stride)),
            };
            split.slots.iter().zip(&offsets).map(slot).collect()
        } else {
            // One array a slot: neighbouring threads can be lanes of a vector.
            let slot = |slot: &Slot| {
                let align = types.align(slot.ty);
                let stride = types.size(slot.ty).max(1).next_multiple_of(align.into());
                let first = place(stride.saturating_mul(threads), align);
                Place { first, stride, size: types.size(slot.ty), align }
            };
            split.slots.iter().map(slot).collect()
        };
        let ended = split.ends_early().then(|| place(threads, 1));
        cx.shared_bytes = shared_bytes;
        if cx.scratch_bytes.get() > MAX_SCRATCH {
            return Err(Diagnostic::error(
                errors::LOCAL_MEMORY,
                format!(
                    "the threads of a block keep {} bytes across barriers, more than the {MAX_SCRATCH} that a block has",
                    cx.scratch_bytes.get()
                ),
            )
            .in_function(cx.module.functions[kernel].name.clone())
            .with_help("move large arrays into a buffer, or use a smaller block")
            .into());
        }
        Ok(Places { shared, slots, ended })
    }
}

/// The entry of a kernel with barriers.
struct Regions<'a> {
    split: &'a Split,
    start: Start,
    places: Places,
    kernel: FunctionId,
}

impl Regions<'_> {
    fn emit(&self, cx: &mut ModuleEmit<'_, '_>) -> Emit<()> {
        let ir = &cx.ir;
        let stop = cx.facts(self.kernel).may_stop.then(|| ir.alloca(1, 1));
        let furthest = ir.alloca(4, 4);
        let before = ir.block();
        let heads: Vec<Bb> = self.split.regions.iter().map(|_| ir.new_block("region")).collect();
        let done = ir.new_block("ended");
        let Some(&first) = heads.first() else { return Err(internal("a kernel without regions")) };
        ir.br(first);
        // The state is known in a region of one state, and a phi in one of several.
        let mut phis = Vec::new();
        for (region, &head) in self.split.regions.iter().zip(&heads) {
            ir.at_end(head);
            phis.push((region.states.len() > 1).then(|| ir.phi(ir.int(32))));
        }
        if let Some(phi) = phis[0] {
            ir.add_incoming(phi, ir.const_u32(FIRST_STATE), before);
        }
        for (i, region) in self.split.regions.iter().enumerate() {
            cx.ir.at_end(heads[i]);
            let Some(body) = cx.callee(region.function) else {
                return Err(internal("a region that is not declared"));
            };
            inline(cx, cx.module, region.function, body);
            let next = self.run_threads(cx, region, body, phis[i], stop, furthest);
            self.go_on(cx, region, next, &heads, &phis, done);
        }
        cx.ir.at_end(done);
        cx.ir.ret(None);
        Ok(())
    }

    /// Runs a region for each thread that has not ended; gives the state that follows.
    fn run_threads(
        &self,
        cx: &ModuleEmit<'_, '_>,
        region: &Region,
        body: Callee,
        state: Option<Val>,
        stop: Option<Val>,
        furthest: Val,
    ) -> Val {
        let ir = &cx.ir;
        let word = ir.int(32);
        let known = match region.next.as_slice() {
            [] => Some(ir.const_u32(0)),
            [only] if !region.ends => Some(ir.const_u32(*only)),
            _ => None,
        };
        if known.is_none() {
            ir.store(ir.const_u32(0), furthest, 4, false);
        }
        let at_entry = region.states.contains(&FIRST_STATE);
        threads(cx, &self.start, |cx, mut launch, thread| {
            let ir = &cx.ir;
            launch.stop_flag = stop;
            let ended = self.places.ended.map(|base| ir.offset_in(base, thread));
            let next = ir.new_block("next");
            let group = cx.independent.get();
            if let Some(ended) = ended.filter(|_| region.states != [FIRST_STATE]) {
                ir.set_group(group);
                let flag = ir.load(ir.int(8), ended, 1, false);
                ir.set_group(None);
                let live = ir.eq(flag, ir.const_int(ir.int(8), 0));
                // The entry, where no thread has ended and the flags hold nothing yet.
                let live = match state {
                    Some(state) if at_entry => ir.or(live, ir.eq(state, ir.const_u32(FIRST_STATE))),
                    _ => live,
                };
                let run = ir.new_block("run");
                ir.cond_br(live, run, next);
                ir.at_end(run);
            }
            clear_flag(cx, stop);
            let slots = self.slots(cx, region, state, at_entry, thread);
            let ir = &cx.ir;
            let mut args = launch.pass(cx);
            cx.pass_arguments(&self.start.arguments, &mut args);
            args.extend(state);
            args.extend_from_slice(&self.places.shared);
            args.extend(slots);
            let result = ir.call(body, &args);
            if let Some(ended) = ended.filter(|_| at_entry || region.ends) {
                let zero = ir.eq(result, ir.const_u32(0));
                ir.set_group(group);
                ir.store(ir.zext(zero, ir.int(8)), ended, 1, false);
                ir.set_group(None);
            }
            if known.is_none() {
                let most = ir.load(word, furthest, 4, false);
                let most = ir.intrinsic("llvm.umax.i32", word, &[most, result]);
                ir.store(most, furthest, 4, false);
            }
            ir.br(next);
            ir.at_end(next);
        });
        match known {
            Some(state) => state,
            None => cx.ir.load(word, furthest, 4, false),
        }
    }

    /// The slots of a thread; where the kernel starts, its variables become zero.
    fn slots(
        &self,
        cx: &ModuleEmit<'_, '_>,
        region: &Region,
        state: Option<Val>,
        at_entry: bool,
        thread: Val,
    ) -> Vec<Val> {
        let ir = &cx.ir;
        let pointers: Vec<Val> = self
            .places
            .slots
            .iter()
            .map(|p| ir.offset_in(p.first, ir.mul_nuw(thread, ir.const_u64(p.stride))))
            .collect();
        let zeroed = self.split.slots.iter().any(|s| s.zeroed);
        if !at_entry || !zeroed {
            return pointers;
        }
        let after = state.filter(|_| region.states.len() > 1).map(|state| {
            let (clear, after) = (ir.new_block("clear"), ir.new_block("cleared"));
            ir.cond_br(ir.eq(state, ir.const_u32(FIRST_STATE)), clear, after);
            ir.at_end(clear);
            after
        });
        for ((slot, &p), place) in self.split.slots.iter().zip(&pointers).zip(&self.places.slots) {
            if slot.zeroed {
                ir.set_group(cx.independent.get());
                ir.clear(p, place.size, place.align);
                ir.set_group(None);
            }
        }
        if let Some(after) = after {
            ir.br(after);
            ir.at_end(after);
        }
        pointers
    }

    /// Branches to the regions that may follow.
    fn go_on(
        &self,
        cx: &ModuleEmit<'_, '_>,
        region: &Region,
        next: Val,
        heads: &[Bb],
        phis: &[Option<Val>],
        done: Bb,
    ) {
        let ir = &cx.ir;
        let here = ir.block();
        let mut cases = Vec::new();
        for &state in &region.next {
            // Either each state has its region, or all have the first.
            let index = if heads.len() == 1 { 0 } else { (state - FIRST_STATE) as usize };
            let Some(&head) = heads.get(index) else { continue };
            cases.push((ir.const_u32(state), head));
            if let Some(Some(phi)) = phis.get(index) {
                ir.add_incoming(*phi, next, here);
            }
        }
        ir.switch(next, done, &cases);
    }
}

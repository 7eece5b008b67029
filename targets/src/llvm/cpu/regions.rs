//! The entry of a kernel with barriers: the loops over the threads of each region, and branches between them.

use luisac_ast::diagnostic::Diagnostic;
use luisac_xir::FunctionId;

use super::entry::{self, Start, clear_flag, inline, threads};
use super::kernel::take_scratch;
use super::split::{FIRST_STATE, Region, Slot, Split};
use crate::errors;
use crate::llvm::Emit;
use crate::llvm::ir::{Bb, Callee, FUNCTION, Val};
use crate::llvm::memory::align_at;
use crate::llvm::module::{ModuleEmit, internal};

/// Most bytes that the threads of a block may keep across barriers, together with its other memory.
const MAX_SCRATCH: u64 = 1 << 30;
/// Most regions whose loops stand in the entry itself. LLVM's passes take more than linear time in the loops of a function.
const MAX_TOGETHER: usize = 12;

/// A slot: the first thread's place in scratch memory, bytes from a thread to the next, bytes of the slot, and alignment.
struct Place {
    first: u64,
    stride: u64,
    size: u64,
    align: u32,
}

/// Where the memory of a block lies in its scratch memory, as offsets in bytes.
struct Places {
    shared: Vec<u64>,
    slots: Vec<Place>,
    /// One byte a thread: it has ended.
    ended: Option<u64>,
}

impl Places {
    fn lay_out(cx: &mut ModuleEmit<'_, '_>, kernel: FunctionId, split: &Split) -> Emit<Places> {
        let types = &cx.module.types;
        let threads: u64 = cx.block_size.iter().map(|&n| u64::from(n)).product();
        let place = |size, align| take_scratch(cx, size, align);
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
            let first = place(stride.saturating_mul(threads), 64);
            let slot = |(slot, &offset): (&Slot, &u64)| Place {
                first: first.saturating_add(offset),
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

/// What the code of a region's loops needs in the function that it stands in.
struct Here {
    start: Start,
    stop: Option<Val>,
    furthest: Val,
}

impl Here {
    fn new(cx: &ModuleEmit<'_, '_>, kernel: FunctionId, start: Start) -> Here {
        let stop = cx.facts(kernel).may_stop.then(|| cx.ir.alloca(1, 1));
        Here { start, stop, furthest: cx.ir.alloca(4, 4) }
    }
}

/// The entry of a kernel with barriers.
struct Regions<'a> {
    split: &'a Split,
    places: Places,
    kernel: FunctionId,
}

/// Fills the entry function of a kernel with barriers.
pub fn emit(
    cx: &mut ModuleEmit<'_, '_>,
    kernel: FunctionId,
    split: &Split,
    entry: Val,
    start: Start,
) -> Emit<()> {
    let places = Places::lay_out(cx, kernel, split)?;
    Regions { split, places, kernel }.emit(cx, entry, start)
}

impl Regions<'_> {
    fn emit(&self, cx: &mut ModuleEmit<'_, '_>, entry: Val, start: Start) -> Emit<()> {
        let here = Here::new(cx, self.kernel, start);
        let ir = &cx.ir;
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
        if let Some(Some(phi)) = phis.first() {
            ir.add_incoming(*phi, ir.const_u32(FIRST_STATE), before);
        }
        let apart = self.split.regions.len() > MAX_TOGETHER;
        for ((region, &head), &phi) in self.split.regions.iter().zip(&heads).zip(&phis) {
            cx.ir.at_end(head);
            let next = if apart {
                let callee = self.apart(cx, region)?;
                cx.ir.call(callee, &[cx.ir.param(entry, 0), cx.ir.param(entry, 1)])
            } else {
                self.run_threads(cx, &here, region, phi)?
            };
            self.go_on(cx, region, next, &heads, &phis, done);
        }
        cx.ir.at_end(done);
        cx.ir.ret(None);
        Ok(())
    }

    /// A function of its own for the loops of a region of one state: `(params, block)` to the state that follows.
    fn apart(&self, cx: &mut ModuleEmit<'_, '_>, region: &Region) -> Emit<Callee> {
        let before = cx.ir.block();
        let ptr = cx.ir.ptr(0);
        let callee = cx.ir.add_function("region", cx.ir.int(32), &[ptr, ptr], true);
        cx.device.mark(cx, callee.value);
        cx.ir.add_attribute(callee.value, FUNCTION, "nounwind", 0);
        cx.ir.add_attribute(callee.value, FUNCTION, "noinline", 0);
        let start = entry::start(cx, callee.value);
        let here = Here::new(cx, self.kernel, start);
        let next = self.run_threads(cx, &here, region, None)?;
        cx.ir.ret(Some(next));
        cx.ir.at_end(before);
        Ok(callee)
    }

    /// Runs a region for each thread that has not ended; gives the state that follows.
    fn run_threads(
        &self,
        cx: &ModuleEmit<'_, '_>,
        here: &Here,
        region: &Region,
        state: Option<Val>,
    ) -> Emit<Val> {
        let Some(body) = cx.callee(region.function) else {
            return Err(internal("a region that is not declared"));
        };
        inline(cx, cx.module, region.function, body);
        let Here { start, stop, furthest } = here;
        let (stop, furthest) = (*stop, *furthest);
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
        threads(cx, start, |cx, mut launch, thread| {
            let ir = &cx.ir;
            launch.stop_flag = stop;
            let ended = self
                .places
                .ended
                .map(|at| ir.offset_in(ir.offset_const(start.scratch, at), thread));
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
            let slots = self.slots(cx, start.scratch, region, state, thread);
            let ir = &cx.ir;
            let mut args = launch.pass(cx);
            cx.pass_arguments(&start.arguments, &mut args);
            args.extend(state);
            let shared = self.places.shared.iter();
            args.extend(shared.map(|&at| ir.offset_const(start.scratch, at)));
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
        Ok(match known {
            Some(state) => state,
            None => cx.ir.load(word, furthest, 4, false),
        })
    }

    /// The slots of a thread that a region names; where the kernel starts, its variables become zero.
    fn slots(
        &self,
        cx: &ModuleEmit<'_, '_>,
        scratch: Val,
        region: &Region,
        state: Option<Val>,
        thread: Val,
    ) -> Vec<Val> {
        let ir = &cx.ir;
        let of = |p: &Place| {
            let first = ir.offset_const(scratch, p.first);
            ir.offset_in(first, ir.mul_nuw(thread, ir.const_u64(p.stride)))
        };
        let named = region.slots.iter().filter_map(|&s| self.places.slots.get(s));
        let pointers: Vec<Val> = named.map(of).collect();
        if !region.states.contains(&FIRST_STATE) || !self.split.slots.iter().any(|s| s.zeroed) {
            return pointers;
        }
        let after = state.filter(|_| region.states.len() > 1).map(|state| {
            let (clear, after) = (ir.new_block("clear"), ir.new_block("cleared"));
            ir.cond_br(ir.eq(state, ir.const_u32(FIRST_STATE)), clear, after);
            ir.at_end(clear);
            after
        });
        for (slot, place) in self.split.slots.iter().zip(&self.places.slots) {
            if slot.zeroed {
                ir.set_group(cx.independent.get());
                ir.clear(of(place), place.size, place.align);
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

//! What a thread knows of its launch, and how callables get it.

use super::ir::{Ty, Val};
use super::module::ModuleEmit;

/// The log of the launch.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// Bytes of data, `i64`.
    pub capacity: Val,
    /// Address of `{u64 used; u8 data[]}`, in the buffers' address space.
    pub ptr: Val,
}

/// The launch, as values of the function that is emitted.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// `i32` each.
    pub thread_id: [Val; 3],
    /// `i32` each.
    pub block_id: [Val; 3],
    /// `i32` each.
    pub dispatch_size: [Val; 3],
    /// `i32`.
    pub kernel_id: Val,
    /// The log, if the kernel has one.
    pub log: Option<Log>,
    /// Where ids are handed down: memory of the block.
    pub scratch: Option<Val>,
    /// Where a stopped thread does not end by itself: a byte that is set when it stops.
    pub stop_flag: Option<Val>,
}

impl Launch {
    fn has_log(cx: &ModuleEmit<'_, '_>) -> bool {
        cx.layout.log.is_some()
    }
    fn has_stop_flag(cx: &ModuleEmit<'_, '_>) -> bool {
        !cx.device.stops_in_place() && cx.facts(cx.kernel).may_stop
    }

    /// Types of the hidden parameters of a callable, which come first.
    pub fn types(cx: &ModuleEmit<'_, '_>) -> Vec<Ty> {
        let word = cx.ir.int(32);
        let mut list = Vec::new();
        if cx.device.passes_ids() {
            list.extend([word; 6]);
            list.push(cx.ir.ptr(0));
        }
        list.extend([word; 4]);
        if Self::has_log(cx) {
            list.extend([cx.ir.int(64), cx.ir.ptr(cx.device.global_space())]);
        }
        if Self::has_stop_flag(cx) {
            list.push(cx.ir.ptr(0));
        }
        list
    }

    /// The hidden parameters of `function`, in which instructions are being placed.
    pub fn receive(cx: &ModuleEmit<'_, '_>, function: Val, next: &mut u32) -> Launch {
        let mut take = || {
            let v = cx.ir.param(function, *next);
            *next += 1;
            v
        };
        let (thread_id, block_id, scratch) = if cx.device.passes_ids() {
            ([take(), take(), take()], [take(), take(), take()], Some(take()))
        } else {
            let (thread_id, block_id) = cx.device.ids(cx);
            (thread_id, block_id, None)
        };
        let dispatch_size = [take(), take(), take()];
        let kernel_id = take();
        let log = Self::has_log(cx).then(|| Log { capacity: take(), ptr: take() });
        let stop_flag = Self::has_stop_flag(cx).then(take);
        Launch { thread_id, block_id, dispatch_size, kernel_id, log, scratch, stop_flag }
    }

    /// The values of the hidden parameters for a call.
    pub fn pass(&self, cx: &ModuleEmit<'_, '_>) -> Vec<Val> {
        let mut list = Vec::new();
        if cx.device.passes_ids() {
            list.extend(self.thread_id);
            list.extend(self.block_id);
            list.push(self.scratch.unwrap_or_else(|| cx.ir.zero(cx.ir.ptr(0))));
        }
        list.extend(self.dispatch_size);
        list.push(self.kernel_id);
        if let Some(log) = self.log {
            list.extend([log.capacity, log.ptr]);
        }
        list.extend(self.stop_flag);
        list
    }

    /// Dispatch size, kernel id and log from the parameter block at `params`; the rest as given.
    pub fn load(
        cx: &ModuleEmit<'_, '_>,
        params: Val,
        thread_id: [Val; 3],
        block_id: [Val; 3],
    ) -> Launch {
        let ir = &cx.ir;
        let word = |offset: u32| {
            let v = ir.load(ir.int(32), ir.offset_const(params, offset.into()), 4, false);
            ir.mark_invariant(v);
            v
        };
        let at = cx.layout.dispatch;
        let dispatch_size = [word(at), word(at + 4), word(at + 8)];
        let kernel_id = word(at + 12);
        let log = cx.layout.log.map(|at| {
            let long = |offset: u32| {
                let v = ir.load(ir.int(64), ir.offset_const(params, offset.into()), 8, false);
                ir.mark_invariant(v);
                v
            };
            let ptr = ir.inttoptr(long(at + 8), ir.ptr(cx.device.global_space()));
            Log { capacity: long(at), ptr }
        });
        Launch {
            thread_id,
            block_id,
            dispatch_size,
            kernel_id,
            log,
            scratch: None,
            stop_flag: None,
        }
    }

    /// Block id times block size plus thread id, along each axis.
    pub fn dispatch_id(&self, cx: &ModuleEmit<'_, '_>) -> [Val; 3] {
        std::array::from_fn(|i| {
            let size = cx.ir.const_u32(cx.block_size[i]);
            if cx.device.passes_ids() {
                // Only threads inside the dispatch size exist, so that no id passes the range.
                return cx.ir.add_nuw(cx.ir.mul_nuw(self.block_id[i], size), self.thread_id[i]);
            }
            cx.ir.add(cx.ir.mul(self.block_id[i], size), self.thread_id[i])
        })
    }

    /// Whether the thread lies inside the dispatch size. Along an axis with one thread a block the grid is exact.
    pub fn inside(&self, cx: &ModuleEmit<'_, '_>) -> Val {
        let id = self.dispatch_id(cx);
        (0..3).filter(|&i| cx.block_size[i] > 1).fold(cx.ir.const_bool(true), |all, i| {
            let inside = cx.ir.ult(id[i], self.dispatch_size[i]);
            cx.ir.and(all, inside)
        })
    }
}

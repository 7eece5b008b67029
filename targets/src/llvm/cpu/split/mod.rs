//! Kernels with barriers: the code is cut at the barriers into regions, each of which all threads of the block run one after
//! another.
//!
//! 1. *Cut*: a block that holds a barrier ends there; what follows is a *resume block* ([`cut`]).
//! 2. *Recompute*: addresses, and values that are cheap to compute from arguments and registers, are computed anew in every block
//!    that uses them ([`recompute`]).
//! 3. *Keep*: what else lives at a resume block gets a slot in the frame of the thread, in memory of the block ([`keep`]).
//! 4. *Copy*: each resume block, and the entry, becomes a function of its own: the code from there up to the next barriers
//!    ([`region`]). Its arguments are those of the kernel and the addresses of the slots; its result says where the thread goes
//!    on: 0 if it ended, else the number of a resume block. Where the copies would grow beyond [`Growth`], all regions share one
//!    function that branches on the number.
//!
//! Control flow around a barrier is uniform (`semantics.md`), so that all threads that go on give the same number. The cut makes
//! no other assumption on the shape of the graph: a loop around a barrier is a region that leads to itself.
//!
//! Cost: linear in the code, but for the walks along live ranges and, for each local variable, over the blocks.
//! Source: the regions of P. Jaaskelainen et al., "pocl: A Performance-Portable OpenCL Implementation" (2015).

mod cut;
mod keep;
mod live;
mod recompute;
mod region;

use luisac_ast::types::TypeId;
use luisac_xir::{BlockId, Function, FunctionId, Module, ValueId};

/// How much code the regions may be together.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Times the kernel,
    pub times: usize,
    /// or this many instructions, if that is more.
    pub free: usize,
}

impl Default for Growth {
    fn default() -> Growth {
        Growth { times: 4, free: 4096 }
    }
}

/// The number of the entry; the resume blocks follow it. 0 means that the thread ended.
pub const FIRST_STATE: u32 = 1;

/// Memory that a thread keeps across barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What it holds.
    pub ty: TypeId,
    /// It is a local variable, which is zero when the kernel starts.
    pub zeroed: bool,
}

/// Code that runs from one or more states to the next barriers.
#[derive(Clone, Debug)]
pub struct Region {
    /// The function. Arguments: those of the kernel, the state if there are several, the shared variables, the slots.
    pub function: FunctionId,
    /// Where it may start.
    pub states: Vec<u32>,
    /// The slots that it names, in the order of its arguments.
    pub slots: Vec<usize>,
    /// Where it may lead, without 0, sorted.
    pub next: Vec<u32>,
    /// A thread may end in it.
    pub ends: bool,
}

/// A kernel in regions.
#[derive(Debug)]
pub struct Split {
    /// The module, with the functions of the regions; the kernel's own body calls each of them.
    pub module: Module,
    /// The regions; the first starts at the entry.
    pub regions: Vec<Region>,
    /// Types of the shared variables.
    pub shared: Vec<TypeId>,
    /// What threads keep.
    pub slots: Vec<Slot>,
    /// Some region has a loop of its own, so that the threads that run it do not become lanes of vectors.
    pub loops: bool,
}

impl Split {
    /// Threads may end while others of the block go on.
    pub fn ends_early(&self) -> bool {
        self.regions.iter().any(|r| r.ends && !r.next.is_empty())
    }
}

/// The kernel while it is taken apart.
struct Cut {
    func: Function,
    /// The entry and the resume blocks, by state minus [`FIRST_STATE`].
    starts: Vec<BlockId>,
    /// The state that follows a block, for blocks that a barrier ends.
    after: cranelift_entity::SecondaryMap<BlockId, u32>,
}

/// A value that is kept across barriers in a local copy and a slot of the frame.
struct Kept {
    /// The local copy: an alloca in the entry.
    local: ValueId,
    /// Index of the slot.
    slot: usize,
}

/// Cuts a kernel at its barriers. `stops` tells whether a call may end the thread.
///
/// # Errors
/// A message, if the kernel is not what the verifier accepts.
pub fn split(
    module: &Module,
    kernel: FunctionId,
    growth: Growth,
    stops: &dyn Fn(&Function, luisac_xir::InstId) -> bool,
) -> Result<Split, String> {
    let mut cut = cut::cut(&module.functions[kernel])?;
    recompute::recompute(&mut cut, &module.types);
    let frame = keep::keep(&mut cut, &module.types);
    region::build(module, kernel, &cut, frame, growth, stops)
}

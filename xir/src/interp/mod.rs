//! The interpreter: the specification that runs, and the judge of every target.
//!
//! 1. [`compile`] turns each reachable function into flat code: every value is a run of scalars, each in a row of registers
//!    with one cell a thread; every block has a position in an order that brings threads together again ([`order`]).
//! 2. [`schedule`] runs one block of threads after the other, all of its threads in lockstep: an instruction is executed for
//!    all active threads before the next. Threads that part wait at the block they go to; the block that is first in the
//!    order runs next, with all threads that wait there.
//!
//! Works on every form: structured or flat, with or without phis. Undefined behaviour ends the run with a [`Fault`] instead of
//! a guess. Nothing here recurses on the program, and the stack of calls is data.

mod access;
mod code;
pub mod codes;
mod compile;
mod fault;
mod image;
mod machine;
mod order;
mod print;
mod race;
mod resource;
mod sample;
mod schedule;
mod start;
mod step;
mod wave;

pub use codes::CODES;
pub use fault::{Fault, FaultKind, Memory, Thread};
pub use image::PixelStorage;
pub use sample::{Address, Filter, Sampler};

use crate::{FunctionId, Module};

/// An argument of a kernel; memory in the layout of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The bytes of a buffer.
    Buffer(Vec<u8>),
    /// The bytes of a value.
    Value(Vec<u8>),
    /// A texture: the size of its first level, and the texels of all levels one after the other, each level half as large as the
    /// one before (1 at least) row by row, slice by slice, without gaps. `depth` is 1 for two dimensions.
    Image { storage: PixelStorage, width: u32, height: u32, depth: u32, levels: u32, data: Vec<u8> },
    /// The slots of a bindless array.
    Bindless(Vec<Slot>),
    /// The bytes of an indirect dispatch buffer: a count in the first 16, then 32 a dispatch (block size as `uint3`, size and
    /// kernel id as `uint4`).
    IndirectDispatch(Vec<u8>),
}

/// What a slot of a bindless array holds. Resources are named by their position in the arguments of the run, those behind the
/// kernel's own included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub buffer: Option<u32>,
    pub image2d: Option<(u32, Sampler)>,
    pub image3d: Option<(u32, Sampler)>,
}

/// What an index out of range does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// It is undefined, and ends the run with a fault.
    #[default]
    Off,
    /// The nearest element takes its place; an empty resource reads zero and drops writes.
    Clamp,
    /// The thread stops; the others go on, and the run ends with a fault.
    Trap,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Number of threads on each axis. Zero on any axis: nothing runs.
    pub dispatch: [u32; 3],
    /// Threads in a wave: a power of two up to 128.
    pub wave_width: u32,
    pub bounds: Bounds,
    /// How many instructions all threads together may execute; no limit if there is none.
    pub max_steps: Option<u64>,
    /// Report data races. Costs up to seven times the memory of the buffers.
    pub races: bool,
    /// The value of the kernel id register.
    pub kernel_id: u32,
}

impl Launch {
    /// A launch of this size: waves of 8 threads, everything undefined reported, no step limit.
    pub fn new(dispatch: [u32; 3]) -> Launch {
        Launch {
            dispatch,
            wave_width: 8,
            bounds: Bounds::Off,
            max_steps: None,
            races: true,
            kernel_id: 0,
        }
    }
}

/// What a run gave, beside the changed arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Printed lines, in the order in which the threads came to them.
    pub lines: Vec<String>,
    /// Things that are defined but hardly meant.
    pub warnings: Vec<String>,
    /// Instructions that all threads together executed.
    pub steps: u64,
}

/// Runs kernel `kernel` of a verified module. Buffers and images are changed in place, also if the run ends with a fault.
///
/// Arguments behind those of the kernel are resources that only slots of bindless arrays name.
///
/// # Errors
/// [`Fault`] says what is undefined or wrong, and where. A failed assertion or a trap stops one thread; the first of them is
/// returned after all other threads have ended.
pub fn run(
    module: &Module,
    kernel: FunctionId,
    args: &mut [Arg],
    launch: &Launch,
) -> Result<Outcome, Box<Fault>> {
    start::run(module, kernel, args, launch)
}

#[cfg(test)]
mod tests;

//! The state of a run: registers, shared memory, records of races. `schedule.rs` says who runs next, `step.rs` what an operation
//! does.

use super::code::{Program, Src};
use super::fault::{Fault, FaultKind, Memory};
use super::race::{Access, Now, Shadow};
use super::schedule::Activation;
use super::{Arg, Launch, Outcome};
use crate::eval::Bits;
use crate::{FunctionId, Module};

/// Bytes that the registers and variables of one block may take.
const MAX_BYTES: u64 = 4 << 30;

/// Something went wrong in a thread; the scheduler adds where.
pub(super) struct Trouble {
    pub kind: FaultKind,
    pub lane: Option<usize>,
}

pub(super) type Step<T> = Result<T, Box<Trouble>>;

pub(super) fn trouble<T>(kind: FaultKind, lane: usize) -> Step<T> {
    Err(Box::new(Trouble { kind, lane: Some(lane) }))
}

/// An index that no element has, kept until something is read or written through it.
#[derive(Clone)]
pub(super) struct Miss {
    pub index: i128,
    pub length: u64,
}

/// The threads that execute an operation, ascending.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'a> {
    All(usize),
    Some(&'a [u32]),
}

impl Lanes<'_> {
    #[inline(always)]
    pub fn each(self, mut f: impl FnMut(usize)) {
        match self {
            Lanes::All(count) => (0..count).for_each(f),
            Lanes::Some(lanes) => lanes.iter().for_each(|&lane| f(lane as usize)),
        }
    }

    #[inline(always)]
    pub fn try_each(self, mut f: impl FnMut(usize) -> Step<()>) -> Step<()> {
        match self {
            Lanes::All(count) => (0..count).try_for_each(f),
            Lanes::Some(lanes) => lanes.iter().try_for_each(|&lane| f(lane as usize)),
        }
    }

    pub fn len(self) -> usize {
        match self {
            Lanes::All(count) => count,
            Lanes::Some(lanes) => lanes.len(),
        }
    }

    pub fn first(self) -> usize {
        match self {
            Lanes::All(_) => 0,
            Lanes::Some(lanes) => lanes.first().map_or(0, |&lane| lane as usize),
        }
    }

    /// The threads as a list.
    pub fn list(self) -> Vec<u32> {
        match self {
            Lanes::All(count) => (0..count as u32).collect(),
            Lanes::Some(lanes) => lanes.to_vec(),
        }
    }
}

/// Where the scalars of an operand are: scalar `i` of thread `t` at `base + i * component + t * lane`.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub base: usize,
    pub component: usize,
    pub lane: usize,
}

impl At {
    #[inline(always)]
    pub fn of(self, component: usize, lane: usize) -> usize {
        self.base + component * self.component + lane * self.lane
    }
}

/// A thread of the current block.
#[derive(Clone, Copy)]
pub(super) struct ThreadInfo {
    /// Position in the block, x fastest.
    pub index: u32,
    pub id: [u32; 3],
    pub dispatch_id: [u32; 3],
}

pub(super) struct Machine<'a> {
    pub module: &'a Module,
    pub(super) kernel: FunctionId,
    pub program: &'a Program,
    pub launch: Launch,
    pub args: &'a mut [Arg],
    pub block_size: [u32; 3],
    /// Shared cells, then rows of `width` cells.
    pub cells: Vec<Bits>,
    pub(super) rows_at: usize,
    pub width: usize,
    pub shared: Vec<Bits>,
    pub shared_written: Vec<bool>,
    /// Records of each argument; none if races are not looked for.
    pub shadows: Vec<Option<Shadow>>,
    pub shared_shadow: Option<Shadow>,
    pub phase: u32,
    pub(super) block_start: u32,
    /// First phase of each block so far.
    pub(super) starts: Vec<(u32, [u32; 3])>,
    pub threads: Vec<ThreadInfo>,
    pub block_id: [u32; 3],
    pub(super) ended: Vec<bool>,
    pub live: usize,
    pub misses: Vec<Miss>,
    /// Threads that the last operation stopped.
    pub stopped: Vec<Trouble>,
    pub(super) failure: Option<Box<Fault>>,
    pub outcome: Outcome,
    pub(super) stack: Vec<Activation>,
    pub(super) warned: bool,
}

impl<'a> Machine<'a> {
    pub fn new(
        (module, kernel): (&'a Module, FunctionId),
        program: &'a Program,
        launch: Launch,
        args: &'a mut [Arg],
        block_size: [u32; 3],
        width: usize,
    ) -> Machine<'a> {
        Machine {
            module,
            kernel,
            program,
            launch,
            args,
            block_size,
            cells: program.cells.clone(),
            rows_at: program.cells.len(),
            width,
            shared: vec![0; program.shared as usize],
            shared_written: vec![false; program.shared as usize],
            shadows: Vec::new(),
            shared_shadow: launch.races.then(|| Shadow::new(program.shared.into(), 1, true)),
            phase: 0,
            block_start: 0,
            starts: Vec::new(),
            threads: Vec::new(),
            block_id: [0; 3],
            ended: Vec::new(),
            live: 0,
            misses: Vec::new(),
            stopped: Vec::new(),
            failure: None,
            outcome: Outcome::default(),
            stack: Vec::new(),
            warned: false,
        }
    }

    /// What the run gave, once all blocks have run.
    pub fn finish(self) -> Result<Outcome, Box<Fault>> {
        match self.failure {
            None => Ok(self.outcome),
            Some(mut fault) => {
                fault.outcome = self.outcome;
                Err(fault)
            }
        }
    }

    // ---- memory

    /// Where the scalars of `src` are for an activation whose rows start at `frame`.
    #[inline(always)]
    pub fn at(&self, frame: usize, src: Src) -> At {
        match src {
            Src::Row(row) => self.row(frame + row as usize),
            Src::Thread(row) => self.row(row as usize),
            Src::Cell(cell) => At { base: cell as usize, component: 1, lane: 0 },
        }
    }

    #[inline(always)]
    pub fn row(&self, row: usize) -> At {
        At { base: self.rows_at + row * self.width, component: self.width, lane: 1 }
    }

    /// Makes room for the rows of an activation and clears its variables for `lanes`.
    pub(super) fn open(
        &mut self,
        frame: usize,
        function: usize,
        lanes: Lanes,
    ) -> Result<(), FaultKind> {
        let code = &self.program.functions[function];
        let end = (frame + code.rows as usize) as u64 * self.width as u64 + self.rows_at as u64;
        if end * 8 > MAX_BYTES {
            return Err(FaultKind::TooLarge(end * 8));
        }
        if self.cells.len() < end as usize {
            self.cells.resize(end as usize, 0);
        }
        let start = self.row(frame).base;
        match lanes {
            Lanes::All(_) => self.cells[start..start + code.locals as usize * self.width].fill(0),
            Lanes::Some(lanes) => {
                for row in 0..code.locals as usize {
                    for &lane in lanes {
                        self.cells[start + row * self.width + lane as usize] = 0;
                    }
                }
            }
        }
        Ok(())
    }

    // ---- races

    fn now(&self, lane: usize) -> Now {
        Now { lane: lane as u32, phase: self.phase, block_start: self.block_start }
    }

    /// Records an access of an argument's memory.
    #[inline(always)]
    pub fn touch(
        &mut self,
        argument: u32,
        access: Access,
        at: u64,
        size: u64,
        lane: usize,
    ) -> Step<()> {
        let now = self.now(lane);
        let Some(Some(shadow)) = self.shadows.get_mut(argument as usize) else { return Ok(()) };
        match shadow.access(access, at, size, now) {
            None => Ok(()),
            Some(met) => self.race(self.argument(argument), Some(at), access, met, lane),
        }
    }

    /// Records an access of a cell of shared memory.
    #[inline(always)]
    pub fn touch_shared(&mut self, cell: u64, access: Access, lane: usize, label: u32) -> Step<()> {
        let now = self.now(lane);
        let Some(shadow) = &mut self.shared_shadow else { return Ok(()) };
        match shadow.access(access, cell, 1, now) {
            None => Ok(()),
            Some(met) => self.race(self.variable(label), None, access, met, lane),
        }
    }

    #[cold]
    fn race(
        &self,
        memory: Memory,
        offset: Option<u64>,
        access: Access,
        met: super::race::Met,
        lane: usize,
    ) -> Step<()> {
        let block = self.starts.partition_point(|start| start.0 <= met.phase);
        let block = block.checked_sub(1).map(|i| self.starts[i].1);
        let other = block.and_then(|b| {
            self.threads_of(b).get(met.lane as usize).map(|thread| thread.dispatch_id)
        });
        let kind = FaultKind::Race {
            memory,
            offset,
            access: access.name(),
            earlier: met.access.name(),
            other,
        };
        trouble(kind, lane)
    }

    /// The argument of the kernel, as faults name it.
    pub fn argument(&self, position: u32) -> Memory {
        let kernel = &self.module.functions[self.kernel];
        let argument = kernel.arguments.get(position as usize);
        Memory::Argument { position, name: argument.and_then(|a| a.name.clone()) }
    }

    pub fn variable(&self, label: u32) -> Memory {
        Memory::Local(self.program.labels.get(label as usize).cloned().flatten())
    }
}

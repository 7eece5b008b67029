//! The state of a run, and the scheduling of threads, activations and blocks.

use super::code::{Call, Code, Edge, Place, Program, Src, Terminator, cell, thread_row};
use super::fault::{Fault, FaultKind, Memory, Thread};
use super::race::{Access, Now, Shadow};
use super::{Arg, Launch, Outcome};
use crate::eval::Bits;
use crate::{FunctionId, Module, SourceLoc};

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

/// One call of a function by some threads of the block.
pub(super) struct Activation {
    pub function: usize,
    /// Row of its first register.
    pub frame: usize,
    /// The block that runs, and the next operation in it.
    block: usize,
    next: usize,
    /// The threads in that block, ascending.
    active: Vec<u32>,
    /// Threads that wait at other positions, last position first.
    waiting: Vec<(u32, Vec<u32>)>,
    /// Threads that wait at a barrier: its block, the operation behind it.
    parked: Vec<(usize, usize, Vec<u32>)>,
    /// For each formal argument of resource kind the argument of the kernel.
    pub resources: Vec<u32>,
    /// Row that the result goes to, and its number of scalars.
    result: Option<(usize, u32)>,
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
    kernel: FunctionId,
    pub program: &'a Program,
    pub launch: Launch,
    pub args: &'a mut [Arg],
    pub block_size: [u32; 3],
    /// Shared cells, then rows of `width` cells.
    pub cells: Vec<Bits>,
    rows_at: usize,
    pub width: usize,
    pub shared: Vec<Bits>,
    pub shared_written: Vec<bool>,
    /// Records of each argument; none if races are not looked for.
    pub shadows: Vec<Option<Shadow>>,
    pub shared_shadow: Option<Shadow>,
    pub phase: u32,
    block_start: u32,
    /// First phase of each block so far.
    starts: Vec<(u32, [u32; 3])>,
    pub threads: Vec<ThreadInfo>,
    pub block_id: [u32; 3],
    ended: Vec<bool>,
    pub live: usize,
    pub misses: Vec<Miss>,
    /// Threads that the last operation stopped.
    pub stopped: Vec<Trouble>,
    failure: Option<Fault>,
    pub outcome: Outcome,
    stack: Vec<Activation>,
    warned: bool,
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
    pub fn finish(self) -> Result<Outcome, Fault> {
        match self.failure {
            None => Ok(self.outcome),
            Some(fault) => Err(Fault { outcome: Box::new(self.outcome), ..fault }),
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
    fn open(&mut self, frame: usize, function: usize, lanes: Lanes) -> Result<(), FaultKind> {
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
    pub fn touch(&mut self, argument: u32, access: Access, at: u64, size: u64, lane: usize) -> Step<()> {
        let now = self.now(lane);
        let Some(Some(shadow)) = self.shadows.get_mut(argument as usize) else { return Ok(()) };
        match shadow.access(access, at, size, now) {
            None => Ok(()),
            Some(met) => self.race(self.argument(argument), at, access, met, lane),
        }
    }

    /// Records an access of a cell of shared memory.
    #[inline(always)]
    pub fn touch_shared(&mut self, cell: u64, access: Access, lane: usize, label: u32) -> Step<()> {
        let now = self.now(lane);
        let Some(shadow) = &mut self.shared_shadow else { return Ok(()) };
        match shadow.access(access, cell, 1, now) {
            None => Ok(()),
            Some(met) => self.race(self.variable(label), cell, access, met, lane),
        }
    }

    #[cold]
    fn race(
        &self,
        memory: Memory,
        offset: u64,
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

    // ---- blocks of threads

    /// The threads of a block that lie inside the dispatch.
    pub fn threads_of(&self, block_id: [u32; 3]) -> Vec<ThreadInfo> {
        let [bx, by, bz] = self.block_size;
        let mut threads = Vec::new();
        let inside = |axis: usize, size: u32| {
            let start = u64::from(block_id[axis]) * u64::from(size);
            u64::from(self.launch.dispatch[axis]).saturating_sub(start).min(size.into()) as u32
        };
        for z in 0..inside(2, bz) {
            for y in 0..inside(1, by) {
                for x in 0..inside(0, bx) {
                    let dispatch_id = [block_id[0] * bx + x, block_id[1] * by + y, block_id[2] * bz + z];
                    threads.push(ThreadInfo { index: x + bx * (y + by * z), id: [x, y, z], dispatch_id });
                }
            }
        }
        threads
    }

    /// Runs all threads of a block to their end.
    pub fn run_block(&mut self, block_id: [u32; 3]) -> Result<(), Fault> {
        self.threads = self.threads_of(block_id);
        self.block_id = block_id;
        let count = self.threads.len();
        self.ended = vec![false; count];
        self.live = count;
        self.phase += 1;
        self.block_start = self.phase;
        self.starts.push((self.phase, block_id));
        self.shared_written.fill(false);
        self.misses.clear();
        let frame = thread_row::COUNT as usize;
        let at_start = |kind| Fault { thread: None, ..Fault::outside(kind) };
        self.open(frame, 0, Lanes::All(count)).map_err(at_start)?;
        self.registers();
        let kernel = Activation {
            function: 0,
            frame,
            block: self.program.functions[0].at[0] as usize,
            next: 0,
            active: (0..count as u32).collect(),
            waiting: Vec::new(),
            parked: Vec::new(),
            resources: (0..self.args.len() as u32).collect(),
            result: None,
        };
        self.stack.clear();
        self.schedule(kernel)
    }

    fn registers(&mut self) {
        let fixed = [
            (cell::BLOCK_ID, self.block_id),
            (cell::DISPATCH_SIZE, self.launch.dispatch),
            (cell::BLOCK_SIZE, self.block_size),
        ];
        for (at, values) in fixed {
            for (i, value) in values.into_iter().enumerate() {
                self.cells[at as usize + i] = value.into();
            }
        }
        self.cells[cell::WAVE_WIDTH as usize] = self.launch.wave_width.into();
        self.cells[cell::KERNEL_ID as usize] = self.launch.kernel_id.into();
        let rows = self.row(0);
        for (lane, thread) in self.threads.iter().enumerate() {
            for axis in 0..3 {
                self.cells[rows.of(thread_row::THREAD_ID as usize + axis, lane)] = thread.id[axis].into();
                self.cells[rows.of(thread_row::DISPATCH_ID as usize + axis, lane)] =
                    thread.dispatch_id[axis].into();
            }
            self.cells[rows.of(thread_row::LANE as usize, lane)] =
                (thread.index % self.launch.wave_width).into();
        }
    }

    // ---- scheduling

    fn schedule(&mut self, mut current: Activation) -> Result<(), Fault> {
        let program = self.program;
        loop {
            let block = &program.functions[current.function].blocks[current.block];
            if current.next == 0 {
                self.count_steps(block.code.len(), &current)?;
            }
            let mut called = None;
            while let Some(code) = block.code.get(current.next) {
                current.next += 1;
                if let Code::Call(call) = code {
                    called = Some(call);
                    break;
                }
                let loc = block.locs[current.next - 1];
                if matches!(code, Code::Barrier) && self.park(&mut current) {
                    break;
                }
                let done = self.execute(&current, self.lanes(&current.active), code);
                done.map_err(|t| self.fault(*t, &current, loc))?;
                if !self.stopped.is_empty() {
                    self.retire(&mut current, loc);
                    if current.active.is_empty() {
                        break;
                    }
                }
            }
            if let Some(call) = called {
                let loc = block.locs[current.next - 1];
                let callee = self.enter(&current, call);
                let callee = callee
                    .map_err(|kind| self.fault(Trouble { kind, lane: None }, &current, loc))?;
                self.stack.push(std::mem::replace(&mut current, callee));
                continue;
            }
            if !current.active.is_empty() {
                let done = self.leave(&mut current, &block.terminator);
                let loc = block.locs.last().copied().unwrap_or(SourceLoc::NONE);
                done.map_err(|t| self.fault(*t, &current, loc))?;
            }
            while current.active.is_empty() {
                if let Some((position, lanes)) = current.waiting.pop() {
                    current.active = lanes;
                    current.block = program.functions[current.function].at[position as usize] as usize;
                    current.next = 0;
                } else if let Some((block, next, lanes)) = current.parked.pop() {
                    // All others have ended, or wait at another barrier: then this one is divergent.
                    (current.block, current.next, current.active) = (block, next, lanes);
                    let loc = program.functions[current.function].blocks[block].locs[next - 1];
                    let done = self.barrier(self.lanes(&current.active));
                    done.map_err(|t| self.fault(*t, &current, loc))?;
                } else if let Some(caller) = self.stack.pop() {
                    current = caller;
                    current.active.retain(|&lane| !self.ended[lane as usize]);
                } else {
                    return Ok(());
                }
            }
        }
    }

    /// In flat form, where the order of blocks may put a barrier before threads that have only to end: lets the active threads
    /// wait until the others are there too. Whether they do wait.
    fn park(&mut self, current: &mut Activation) -> bool {
        if self.program.functions[current.function].structured || !self.stack.is_empty() {
            return false;
        }
        let here = |parked: &(usize, usize, Vec<u32>)| (parked.0, parked.1) == (current.block, current.next);
        if let Some(i) = current.parked.iter().position(here) {
            current.active = merge(&current.parked.swap_remove(i).2, &current.active);
        }
        if current.active.len() == self.live || current.waiting.is_empty() && current.parked.is_empty() {
            return false;
        }
        current.parked.push((current.block, current.next, std::mem::take(&mut current.active)));
        true
    }

    fn count_steps(&mut self, length: usize, current: &Activation) -> Result<(), Fault> {
        self.outcome.steps += (length as u64 + 1) * current.active.len() as u64;
        match self.launch.max_steps {
            Some(limit) if self.outcome.steps > limit => {
                let lane = current.active.first().map(|&lane| lane as usize);
                let trouble = Trouble { kind: FaultKind::StepLimit(limit), lane };
                Err(self.fault(trouble, current, SourceLoc::NONE))
            }
            _ => Ok(()),
        }
    }

    fn lanes<'l>(&self, active: &'l [u32]) -> Lanes<'l> {
        if active.len() == self.threads.len() { Lanes::All(active.len()) } else { Lanes::Some(active) }
    }

    /// The activation of a called function, its arguments in place.
    fn enter(&mut self, caller: &Activation, call: &Call) -> Result<Activation, FaultKind> {
        let program = self.program;
        let function = call.callee as usize;
        let (code, from) = (&program.functions[function], &program.functions[caller.function]);
        let frame = caller.frame + from.rows as usize;
        let lanes = self.lanes(&caller.active);
        self.open(frame, function, lanes)?;
        for actual in &call.actuals {
            match *actual {
                super::code::Actual::Value { src, count, row } => {
                    let dst = frame + (code.locals + row) as usize;
                    self.copy(lanes, self.row(dst), self.at(caller.frame, src), count);
                }
                super::code::Actual::Reference { place, row } => {
                    let dst = self.row(frame + (code.locals + row) as usize);
                    lanes.each(|lane| {
                        self.cells[dst.of(0, lane)] = self.pointer(caller.frame, place, lane);
                    });
                }
            }
        }
        Ok(Activation {
            function,
            frame,
            block: code.at[0] as usize,
            next: 0,
            active: caller.active.clone(),
            waiting: Vec::new(),
            parked: Vec::new(),
            resources: call.resources.iter().map(|&r| caller.resources.get(r as usize).copied().unwrap_or(0)).collect(),
            result: call.result.map(|(row, count)| (caller.frame + row as usize, count)),
        })
    }

    /// Copies `count` scalars of each thread.
    pub fn copy(&mut self, lanes: Lanes, dst: At, src: At, count: u32) {
        for i in 0..count as usize {
            if let (Lanes::All(all), 1) = (lanes, src.lane) {
                let from = src.of(i, 0);
                self.cells.copy_within(from..from + all, dst.of(i, 0));
            } else {
                lanes.each(|lane| self.cells[dst.of(i, lane)] = self.cells[src.of(i, lane)]);
            }
        }
    }

    /// The pointer to a place, as a callee gets it.
    pub fn pointer(&self, frame: usize, place: Place, lane: usize) -> Bits {
        match place {
            Place::Local(row) => frame as u64 + u64::from(row),
            Place::Shared(cell) => super::access::SHARED | u64::from(cell),
            Place::Pointer { src, offset } => {
                super::access::advance(self.cells[self.at(frame, src).of(0, lane)], offset.into())
            }
        }
    }

    /// Sends the active threads to where the terminator leads.
    fn leave(&mut self, current: &mut Activation, terminator: &Terminator) -> Step<()> {
        match terminator {
            Terminator::Jump(edge) => {
                let lanes = std::mem::take(&mut current.active);
                self.follow(current, edge, lanes);
            }
            Terminator::Branch { condition, yes, no } => {
                let at = self.at(current.frame, *condition);
                let lanes = std::mem::take(&mut current.active);
                let (yes_lanes, no_lanes): (Vec<u32>, Vec<u32>) =
                    lanes.into_iter().partition(|&lane| self.cells[at.of(0, lane as usize)] != 0);
                self.follow(current, yes, yes_lanes);
                self.follow(current, no, no_lanes);
            }
            Terminator::Switch { value, cases, edges } => {
                let at = self.at(current.frame, *value);
                let mut parted = vec![Vec::new(); edges.len()];
                for lane in std::mem::take(&mut current.active) {
                    let bits = self.cells[at.of(0, lane as usize)];
                    let found = cases.binary_search_by_key(&bits, |case| case.0);
                    parted[found.map_or(0, |i| cases[i].1 as usize)].push(lane);
                }
                for (edge, lanes) in edges.iter().zip(parted) {
                    self.follow(current, edge, lanes);
                }
            }
            Terminator::Return(value) => {
                if let (Some((src, _)), Some((row, count))) = (value, current.result) {
                    let lanes = self.lanes(&current.active);
                    self.copy(lanes, self.row(row), self.at(current.frame, *src), count);
                }
                if self.stack.is_empty() {
                    for &lane in &current.active {
                        self.end(lane as usize);
                    }
                }
                current.active.clear();
            }
            Terminator::Unreachable(message) => {
                return trouble(FaultKind::Unreachable(message.clone()), current.active[0] as usize);
            }
            Terminator::NotHeld(what) => {
                return trouble(FaultKind::NotHeld(what.clone()), current.active[0] as usize);
            }
        }
        // Straight on where the next block is the only one or comes first: no list is moved then.
        if let Some((position, lanes)) = current.waiting.pop() {
            current.active = lanes;
            current.block = self.program.functions[current.function].at[position as usize] as usize;
            current.next = 0;
        }
        Ok(())
    }

    /// Moves what phis take, and lets the threads wait at the target.
    fn follow(&mut self, current: &mut Activation, edge: &Edge, lanes: Vec<u32>) {
        if lanes.is_empty() {
            return;
        }
        for m in &*edge.moves {
            let (dst, src) = (self.row(current.frame + m.dst as usize), self.at(current.frame, m.src));
            self.copy(self.lanes(&lanes), dst, src, m.count);
        }
        let at = current.waiting.partition_point(|wait| wait.0 > edge.target);
        match current.waiting.get_mut(at) {
            Some((position, waiting)) if *position == edge.target => {
                *waiting = merge(waiting, &lanes);
            }
            _ => current.waiting.insert(at, (edge.target, lanes)),
        }
    }

    fn end(&mut self, lane: usize) {
        if !std::mem::replace(&mut self.ended[lane], true) {
            self.live -= 1;
        }
    }

    /// Ends the threads that the last operation stopped, and keeps the first reason.
    #[cold]
    fn retire(&mut self, current: &mut Activation, loc: SourceLoc) {
        for trouble in std::mem::take(&mut self.stopped) {
            if let Some(lane) = trouble.lane {
                self.end(lane);
            }
            if self.failure.is_none() {
                self.failure = Some(self.fault(trouble, current, loc));
            }
        }
        current.active.retain(|&lane| !self.ended[lane as usize]);
    }

    #[cold]
    fn fault(&self, trouble: Trouble, current: &Activation, loc: SourceLoc) -> Fault {
        let thread = trouble.lane.and_then(|lane| self.threads.get(lane));
        Fault {
            kind: trouble.kind,
            function: self.program.functions[current.function].name.clone(),
            loc,
            thread: thread
                .map(|t| Thread { dispatch_id: t.dispatch_id, block_id: self.block_id }),
            outcome: Box::new(self.outcome.clone()),
        }
    }

    /// A barrier: a new phase, if all threads that still run are here.
    pub fn barrier(&mut self, lanes: Lanes) -> Step<()> {
        if lanes.len() != self.live {
            let kind = FaultKind::DivergentBarrier { arrived: lanes.len(), live: self.live };
            return trouble(kind, lanes.first());
        }
        if self.live != self.threads.len() && !self.warned {
            self.warned = true;
            self.outcome.warnings.push(format!(
                "a barrier is passed by {} threads of block {:?} after {} others have ended",
                self.live,
                self.block_id,
                self.threads.len() - self.live
            ));
        }
        self.phase += 1;
        Ok(())
    }
}

/// Two ascending lists without a common element, as one.
fn merge(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] < b[j] {
            merged.push(a[i]);
            i += 1;
        } else {
            merged.push(b[j]);
            j += 1;
        }
    }
    merged.extend_from_slice(&a[i..]);
    merged.extend_from_slice(&b[j..]);
    merged
}

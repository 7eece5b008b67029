//! Which threads run next: blocks of threads, activations, barriers.
//!
//! The active threads of an activation are in one block of its function; all others of it wait at positions of the order of
//! blocks ([`super::order`]). When the active ones have come to the end of their block, those at the lowest position run next.

use super::code::{Actual, Call, Code, Edge, Place, Terminator, cell, thread_row};
use super::fault::{Fault, FaultKind, Thread};
use super::machine::{At, Lanes, Machine, Step, ThreadInfo, Trouble, trouble};
use crate::SourceLoc;
use crate::eval::Bits;

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

impl Machine<'_> {
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
                    let dispatch_id =
                        [block_id[0] * bx + x, block_id[1] * by + y, block_id[2] * bz + z];
                    threads.push(ThreadInfo {
                        index: x + bx * (y + by * z),
                        id: [x, y, z],
                        dispatch_id,
                    });
                }
            }
        }
        threads
    }

    /// Runs all threads of a block to their end.
    pub fn run_block(&mut self, block_id: [u32; 3]) -> Result<(), Box<Fault>> {
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
        self.open(frame, 0, Lanes::All(count)).map_err(Fault::outside)?;
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
                self.cells[rows.of(thread_row::THREAD_ID as usize + axis, lane)] =
                    thread.id[axis].into();
                self.cells[rows.of(thread_row::DISPATCH_ID as usize + axis, lane)] =
                    thread.dispatch_id[axis].into();
            }
            self.cells[rows.of(thread_row::LANE as usize, lane)] =
                (thread.index % self.launch.wave_width).into();
        }
    }

    // ---- scheduling

    fn schedule(&mut self, mut current: Activation) -> Result<(), Box<Fault>> {
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
                    current.block =
                        program.functions[current.function].at[position as usize] as usize;
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
        let here = |parked: &(usize, usize, Vec<u32>)| {
            (parked.0, parked.1) == (current.block, current.next)
        };
        if let Some(i) = current.parked.iter().position(here) {
            current.active = merge(&current.parked.swap_remove(i).2, &current.active);
        }
        if current.active.len() == self.live
            || current.waiting.is_empty() && current.parked.is_empty()
        {
            return false;
        }
        current.parked.push((current.block, current.next, std::mem::take(&mut current.active)));
        true
    }

    fn count_steps(&mut self, length: usize, current: &Activation) -> Result<(), Box<Fault>> {
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
        if active.len() == self.threads.len() {
            Lanes::All(active.len())
        } else {
            Lanes::Some(active)
        }
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
                Actual::Value { src, count, row } => {
                    let dst = frame + (code.locals + row) as usize;
                    self.copy(lanes, self.row(dst), self.at(caller.frame, src), count);
                }
                Actual::Reference { place, row } => {
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
            resources: call
                .resources
                .iter()
                .map(|&r| caller.resources.get(r as usize).copied().unwrap_or(0))
                .collect(),
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
                return trouble(
                    FaultKind::Unreachable(message.clone()),
                    current.active[0] as usize,
                );
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
            let (dst, src) =
                (self.row(current.frame + m.dst as usize), self.at(current.frame, m.src));
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
    fn fault(&self, trouble: Trouble, current: &Activation, loc: SourceLoc) -> Box<Fault> {
        let thread = trouble.lane.and_then(|lane| self.threads.get(lane));
        Box::new(Fault {
            kind: trouble.kind,
            function: self.program.functions[current.function].name.clone(),
            loc,
            thread: thread.map(|t| Thread { dispatch_id: t.dispatch_id, block_id: self.block_id }),
            outcome: self.outcome.clone(),
        })
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

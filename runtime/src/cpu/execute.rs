//! Lists on threads.
//!
//! The commands of a run are tasks. A thread that ends one goes on with what became ready through it, so that a chain of
//! small commands stays on its thread; the rest is for whoever is free. A dispatch starts on one thread; when it turns out
//! long, its blocks are offered to all, and the thread that runs the last one goes on with what follows. No thread ever
//! waits for another.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
};

use super::{blocks::Blocks, copy, own, prepare::Part, prepare::Prepared};
use crate::{
    Output, RuntimeError,
    host::device::Workers,
    list::{Command, Committed, Sizes},
    schedule::Graph,
    stream::{Run, call_host},
};

/// A list that takes no longer than this, in nanoseconds, runs on the thread that submits it: to wake another one and to be
/// woken by it would take as long.
const SMALL: u64 = 10_000;
/// Most commands of such a list.
const SMALL_COMMANDS: usize = 64;

/// Begins a run; see [`crate::backend::Backend::start`].
pub(super) fn start(workers: &Arc<Workers>, run: Arc<Run>, here: bool) {
    let Some(list) = run.list() else { return };
    if here && is_small(&list) {
        let mut output = Output::default();
        let result = in_order(&run, &list, &mut output);
        drop(list);
        return run.finish_with(output, result);
    }
    match workers.pool() {
        Some(pool) => {
            let exec = Exec::new(workers.clone(), run, list);
            pool.spawn(move || exec.begin());
        }
        None => trampoline(run),
    }
}

/// Whether the list is known to take less than handing it over.
fn is_small(list: &Committed) -> bool {
    if list.commands.len() > SMALL_COMMANDS {
        return false;
    }
    let cost = |command: &Command| {
        Some(match command {
            Command::Dispatch { sizes: Sizes::Indirect(_), .. } | Command::Callback(_) => {
                return None;
            }
            Command::Dispatch { kernel, sizes: Sizes::Direct(sizes), .. } => {
                let each = sizes.iter().map(|size| kernel.estimate(*size));
                each.sum::<Option<u64>>()?
            }
            Command::Upload { to, .. } | Command::Fill { to, .. } => to.bytes / 4,
            Command::Copy { from, .. } | Command::Download { from, .. } => from.bytes / 4,
            Command::UploadImage { to: level, .. }
            | Command::DownloadImage { from: level, .. }
            | Command::CopyImage { from: level, .. }
            | Command::BufferToImage { to: level, .. }
            | Command::ImageToBuffer { from: level, .. } => level.bytes() / 4,
            Command::Update { changes, .. } => changes.len() as u64 * 50,
            Command::Signal(_) => 0,
        })
    };
    list.commands.iter().map(cost).sum::<Option<u64>>().is_some_and(|c| c <= SMALL)
}

thread_local! {
    /// Runs that wait for one which this thread is in.
    static WAITING: std::cell::RefCell<Option<VecDeque<Arc<Run>>>> =
        const { std::cell::RefCell::new(None) };
}

/// Runs everything on the calling thread where the system gives no other. A run that becomes ready meanwhile follows it.
fn trampoline(run: Arc<Run>) {
    let nested = WAITING.with_borrow_mut(|waiting| match waiting {
        Some(queue) => {
            queue.push_back(run.clone());
            true
        }
        None => {
            *waiting = Some(VecDeque::from([run]));
            false
        }
    });
    if nested {
        return;
    }
    while let Some(run) = WAITING.with_borrow_mut(|w| w.as_mut().and_then(VecDeque::pop_front)) {
        if let Some(list) = run.list() {
            let mut output = Output::default();
            let result = in_order(&run, &list, &mut output);
            drop(list);
            run.finish_with(output, result);
        }
    }
    WAITING.set(None);
}

/// Runs the commands on this thread, in the order they were recorded.
fn in_order(run: &Run, list: &Committed, output: &mut Output) -> Result<(), RuntimeError> {
    let prepared: &Prepared = own(&list.raw)?;
    for (position, command) in list.commands.iter().enumerate() {
        let mut one = || match (command, prepared.0.get(position)) {
            (Command::Dispatch { sizes, .. }, Some(Some(dispatch))) => {
                for part in dispatch.parts(sizes)?.iter() {
                    // SAFETY: both are borrowed until the blocks have run.
                    let blocks = unsafe { dispatch.blocks(part) };
                    let (_, ran, nanoseconds) = blocks.alone(false)?;
                    dispatch.kernel.took(ran, nanoseconds);
                }
                dispatch.output(output)
            }
            _ => plain(run, position, command),
        };
        if let Err(e) = one() {
            run.skip(list, position);
            return Err(e);
        }
    }
    Ok(())
}

/// Runs a command that is no dispatch.
fn plain(run: &Run, position: usize, command: &Command) -> Result<(), RuntimeError> {
    match command {
        Command::Callback(f) => {
            let mut f = f.lock().unwrap_or_else(PoisonError::into_inner);
            call_host(&mut *f)
        }
        Command::Signal(_) => {
            run.signal(position);
            Ok(())
        }
        _ => copy::run(command),
    }
}

/// A run on its way.
struct Exec {
    workers: Arc<Workers>,
    run: Arc<Run>,
    list: Arc<Committed>,
    graph: Arc<Graph>,
    /// For each node of the graph, how many it still waits for.
    waiting: Box<[AtomicU32]>,
    /// Nodes that have not ended.
    left: AtomicUsize,
    queue: Mutex<Queue>,
    /// Whether a command has failed; what has not begun then is passed over.
    failed: AtomicBool,
    results: Mutex<Results>,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<u32>,
    /// Dispatches that other threads can help with.
    shared: Vec<Arc<Shared>>,
    /// Threads at work on this run.
    threads: usize,
}

#[derive(Default)]
struct Results {
    /// By position; what failed at the smallest one is what the list failed of.
    error: Option<(u32, RuntimeError)>,
    outputs: Vec<(u32, Output)>,
}

/// A dispatch whose blocks any thread may take.
struct Shared {
    blocks: Blocks,
    state: DispatchState,
}

/// Where a dispatch is: its node, and its parts with the one that runs.
#[derive(Clone)]
struct DispatchState {
    node: u32,
    parts: Arc<Vec<Part>>,
    part: usize,
}

enum Task {
    Node(u32),
    /// The next part of a dispatch.
    Part(DispatchState),
    Blocks(Arc<Shared>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exec {
    fn new(workers: Arc<Workers>, run: Arc<Run>, list: Arc<Committed>) -> Arc<Self> {
        let graph = run.graph();
        let waiting = (0..graph.len()).map(|n| AtomicU32::new(graph.before(n).len() as u32));
        Arc::new(Self {
            waiting: waiting.collect(),
            left: AtomicUsize::new(graph.len() as usize),
            queue: Mutex::new(Queue { threads: 1, ..Queue::default() }),
            failed: AtomicBool::new(false),
            results: Mutex::default(),
            workers,
            run,
            list,
            graph,
        })
    }

    /// The work of the first thread.
    fn begin(self: Arc<Self>) {
        if self.graph.len() == 0 {
            return self.end();
        }
        let roots = (0..self.graph.len()).filter(|n| self.graph.before(*n).is_empty());
        let first = self.offer(roots);
        self.work(first.map(Task::Node));
    }

    /// The work of a thread, until it finds none.
    fn work(self: Arc<Self>, mut next: Option<Task>) {
        loop {
            let task = match next.take() {
                Some(task) => task,
                None => {
                    let mut queue = lock(&self.queue);
                    if let Some(node) = queue.ready.pop_front() {
                        Task::Node(node)
                    } else if let Some(shared) = queue.shared.last() {
                        Task::Blocks(shared.clone())
                    } else {
                        queue.threads -= 1;
                        return;
                    }
                }
            };
            next = match task {
                Task::Node(node) => self.node(node),
                Task::Part(state) => self.part(state),
                Task::Blocks(shared) => self.blocks(&shared),
            };
        }
    }

    /// Puts nodes that are ready into the queue, but for the first, which the caller goes on with.
    fn offer(self: &Arc<Self>, mut ready: impl Iterator<Item = u32>) -> Option<u32> {
        let mine = ready.next();
        let mut rest = ready.peekable();
        if rest.peek().is_some() {
            let mut queue = lock(&self.queue);
            let before = queue.ready.len();
            queue.ready.extend(rest);
            let more = queue.ready.len() - before;
            self.call(queue, more);
        }
        mine
    }

    /// Lets at most `more` threads join.
    fn call(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>, more: usize) {
        let joining = more.min(self.workers.threads().saturating_sub(queue.threads));
        queue.threads += joining;
        drop(queue);
        if let Some(pool) = self.workers.pool() {
            for _ in 0..joining {
                let this = self.clone();
                pool.spawn(move || this.work(None));
            }
        }
    }

    /// Begins a node; returns what the thread goes on with.
    fn node(self: &Arc<Self>, node: u32) -> Option<Task> {
        let Some(position) = self.graph.command(node) else { return self.done(node) };
        let Some(command) = self.list.commands.get(position as usize) else {
            return self.done(node);
        };
        if self.failed.load(Ordering::Relaxed) {
            if let Command::Update { array, changes } = command
                && let Err(e) = copy::update(array, changes)
            {
                self.fail(position, e);
            }
            return self.done(node);
        }
        let result = match command {
            Command::Dispatch { sizes, .. } => {
                let dispatch = self.dispatch(position);
                match dispatch.and_then(|d| d.parts(sizes)) {
                    Ok(parts) => {
                        return Some(Task::Part(DispatchState { node, parts, part: 0 }));
                    }
                    Err(e) => Err(e),
                }
            }
            _ => plain(&self.run, position as usize, command),
        };
        if let Err(e) = result {
            self.fail(position, e);
        }
        self.done(node)
    }

    fn dispatch(&self, position: u32) -> Result<&super::prepare::Dispatch, RuntimeError> {
        let prepared: &Prepared = own(&self.list.raw)?;
        prepared.0.get(position as usize).and_then(Option::as_ref).ok_or(RuntimeError::OtherDevice)
    }

    /// Runs a part of a dispatch, alone or, if it is long, with others.
    fn part(self: &Arc<Self>, state: DispatchState) -> Option<Task> {
        let position = self.graph.command(state.node).unwrap_or(0);
        let result = self.dispatch(position).and_then(|dispatch| {
            let Some(part) = state.parts.get(state.part) else {
                let mut output = Output::default();
                let result = dispatch.output(&mut output);
                if output != Output::default() {
                    lock(&self.results).outputs.push((position, output));
                }
                return result.map(|()| None);
            };
            // SAFETY: the list, which the run holds, keeps the dispatch, and the state the part.
            let blocks = unsafe { dispatch.blocks(part) };
            let (all, ran, nanoseconds) = blocks.alone(self.workers.threads() > 1)?;
            if ran > 0 {
                dispatch.kernel.took(ran, nanoseconds);
            }
            if all {
                return Ok(Some(Task::Part(DispatchState {
                    part: state.part + 1,
                    ..state.clone()
                })));
            }
            let shared = Arc::new(Shared { blocks, state: state.clone() });
            let mut queue = lock(&self.queue);
            queue.shared.push(shared.clone());
            self.call(queue, shared.blocks.count().min(usize::MAX as u64) as usize);
            Ok(Some(Task::Blocks(shared)))
        });
        match result {
            Ok(Some(task)) => Some(task),
            Ok(None) => self.done(state.node),
            Err(e) => {
                self.fail(position, e);
                self.done(state.node)
            }
        }
    }

    /// Helps with a dispatch until no block is left to take.
    fn blocks(self: &Arc<Self>, shared: &Arc<Shared>) -> Option<Task> {
        let last = shared.blocks.share(self.workers.threads() as u64);
        lock(&self.queue).shared.retain(|s| !Arc::ptr_eq(s, shared));
        match last {
            Ok(true) => {
                let state = &shared.state;
                Some(Task::Part(DispatchState { part: state.part + 1, ..state.clone() }))
            }
            Ok(false) => None,
            // No scratch memory on this thread. The one that began the dispatch keeps its own, and so comes to the end.
            Err(_) => None,
        }
    }

    fn fail(&self, position: u32, error: RuntimeError) {
        self.failed.store(true, Ordering::Relaxed);
        let mut results = lock(&self.results);
        if results.error.as_ref().is_none_or(|(first, _)| position < *first) {
            results.error = Some((position, error));
        }
    }

    /// Ends a node; returns what became ready and is now this thread's.
    fn done(self: &Arc<Self>, node: u32) -> Option<Task> {
        let after = self.graph.after(node).iter().copied();
        let ready = after.filter(|n| {
            let waiting = self.waiting.get(*n as usize);
            waiting.is_some_and(|w| w.fetch_sub(1, Ordering::AcqRel) == 1)
        });
        let mine = self.offer(ready);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end();
        }
        mine.map(Task::Node)
    }

    fn end(&self) {
        let mut results = std::mem::take(&mut *lock(&self.results));
        let mut output = Output::default();
        // In the order of the commands, whatever order they ran in.
        results.outputs.sort_by_key(|(position, _)| *position);
        for (_, one) in results.outputs {
            output.lines.extend(one.lines);
            output.lost += one.lost;
        }
        self.run.finish_with(output, results.error.map_or(Ok(()), |(_, error)| Err(error)));
    }
}

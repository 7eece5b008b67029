//! Runs: a list on its way through a stream, and what follows it.
//!
//! A run waits for a number of others; the one that ends last starts it. Nobody blocks for it, so that streams need no
//! threads of their own. A run only ever waits for what was submitted before it, hence nothing can wait in a circle.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::Shared;
use crate::{
    Output, RuntimeError,
    list::{Command, Committed},
    resource::Contents,
    schedule::Graph,
};

/// How a run ended. The error is shared by all who ask.
pub(crate) type Outcome = Result<Arc<Output>, Arc<RuntimeError>>;

thread_local! {
    /// Whether this thread is in a function of the host that a list or a stream called.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function of the host from a run; a panic becomes an error.
pub(crate) fn call_host(f: impl FnOnce()) -> Result<(), RuntimeError> {
    let before = IN_CALLBACK.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    IN_CALLBACK.set(before);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        RuntimeError::CallbackPanicked(text.unwrap_or_default())
    })
}

/// A point that will be reached.
pub(crate) struct Completion {
    /// The stream it is on.
    pub(crate) stream: u64,
    done: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    next: Vec<(Arc<Run>, Link)>,
    rest: Option<Box<dyn Rest>>,
}

/// What is left to do of a run that the device works on: to wait for the device, to take what it brought, to end the run.
///
/// Whoever needs the run's end does it: a thread that waits does it itself, so that nobody has to be woken.
pub(crate) trait Rest: Send {
    /// Does it, blocking; [`Run::finish`] is called. `hurry` says that somebody waits for it now.
    fn finish(self: Box<Self>, hurry: bool);

    /// Gives it to a thread of the device, since another run waits for this one.
    fn hand_over(self: Box<Self>);
}

/// Why a run waits for another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// By its stream or by an event: if the other fails, this one must not run.
    Order,
    /// Because both use a resource.
    Hazard,
}

impl Completion {
    pub(crate) fn new(stream: u64) -> Arc<Self> {
        Arc::new(Self {
            stream,
            done: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// A point that is reached from the start.
    pub(super) fn reached(stream: u64) -> Arc<Self> {
        let point = Self::new(stream);
        point.reach(Ok(Arc::default()), &mut VecDeque::new());
        point
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Blocks until the point is reached.
    pub(crate) fn wait(&self) -> Result<Arc<Output>, RuntimeError> {
        let mut state = self.state();
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone().map_err(RuntimeError::Run);
            }
            if IN_CALLBACK.get() {
                return Err(RuntimeError::WaitInCallback);
            }
            if let Some(rest) = state.rest.take() {
                drop(state);
                rest.finish(true);
                state = self.state();
                continue;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes `run` wait for this point, unless it is reached.
    pub(super) fn before(&self, run: &Arc<Run>, link: Link) {
        let mut state = self.state();
        match &state.outcome {
            None => {
                run.waiting.fetch_add(1, Ordering::Relaxed);
                state.next.push((run.clone(), link));
                let rest = state.rest.take();
                drop(state);
                if let Some(rest) = rest {
                    rest.hand_over();
                }
            }
            Some(Err(e)) if link == Link::Order => run.refuse(e),
            Some(_) => {}
        }
    }

    /// Leaves the rest of the run to whoever comes first: a thread that waits, or the one that [`Self::take_rest`].
    #[cfg_attr(
        not(any(feature = "cuda", feature = "vulkan")),
        allow(dead_code, reason = "not all devices leave it")
    )]
    pub(crate) fn leave(&self, rest: Box<dyn Rest>) {
        let mut state = self.state();
        if state.next.is_empty() {
            state.rest = Some(rest);
        } else {
            drop(state);
            rest.hand_over();
        }
    }

    /// The rest of the run, if nobody has taken it.
    #[cfg_attr(
        not(any(feature = "cuda", feature = "vulkan")),
        allow(dead_code, reason = "not all devices leave it")
    )]
    pub(crate) fn take_rest(&self) -> Option<Box<dyn Rest>> {
        self.state().rest.take()
    }

    /// Ends it once; gives `ready` the runs that waited for nothing else.
    fn reach(&self, outcome: Outcome, ready: &mut VecDeque<Arc<Run>>) {
        let next = {
            let mut state = self.state();
            if state.outcome.is_some() {
                return;
            }
            state.outcome = Some(outcome.clone());
            self.done.store(true, Ordering::Release);
            std::mem::take(&mut state.next)
        };
        self.changed.notify_all();
        for (run, link) in next {
            if let (Err(e), Link::Order) = (&outcome, link) {
                run.refuse(e);
            }
            if run.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
                ready.push_back(run);
            }
        }
    }
}

/// A list that has been given its place.
pub(crate) struct Run {
    pub(super) stream: Arc<Shared>,
    /// Dropped when the run has ended, and with it what only this run kept alive.
    list: Mutex<Option<Arc<Committed>>>,
    /// What the arrays held when the list was submitted.
    kept: Mutex<Vec<Arc<Contents>>>,
    graph: Arc<Graph>,
    pub(super) completion: Arc<Completion>,
    /// Points of the list's own signals: position of the command, and the point.
    signals: Vec<(usize, Arc<Completion>)>,
    /// How many points are still to be reached, and one until [`Self::release`].
    waiting: AtomicUsize,
    refused: Mutex<Option<Arc<RuntimeError>>>,
}

impl Run {
    pub(super) fn new(
        stream: &Arc<Shared>,
        list: &Arc<Committed>,
        kept: Vec<Arc<Contents>>,
    ) -> Arc<Self> {
        let graph = list.plan(&kept).graph.clone();
        let signals = list.commands.iter().enumerate().filter_map(|(i, command)| match command {
            Command::Signal(_) => Some((i, Completion::new(stream.id))),
            _ => None,
        });
        Arc::new(Self {
            stream: stream.clone(),
            list: Mutex::new(Some(list.clone())),
            kept: Mutex::new(kept),
            graph,
            completion: Completion::new(stream.id),
            signals: signals.collect(),
            waiting: AtomicUsize::new(1),
            refused: Mutex::default(),
        })
    }

    /// The point at which it has ended.
    #[cfg_attr(
        not(any(feature = "cuda", feature = "vulkan")),
        allow(dead_code, reason = "not all devices ask")
    )]
    pub(crate) fn completion(&self) -> &Arc<Completion> {
        &self.completion
    }

    pub(super) fn signals(&self) -> &[(usize, Arc<Completion>)] {
        &self.signals
    }

    /// The list to run; `None` once the run has ended.
    pub(crate) fn list(&self) -> Option<Arc<Committed>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the commands of the list have to wait for.
    pub(crate) fn graph(&self) -> Arc<Graph> {
        self.graph.clone()
    }

    fn refuse(&self, error: &Arc<RuntimeError>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get_or_insert_with(|| error.clone());
    }

    /// Lets the run start as soon as it waits for nothing.
    pub(super) fn release(self: &Arc<Self>) {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            start_all(VecDeque::from([self.clone()]), true);
        }
    }

    /// Says that the command at `position`, a signal, has had its turn.
    pub(crate) fn signal(&self, position: usize) {
        let mut ready = VecDeque::new();
        // In the order of the commands.
        if let Ok(at) = self.signals.binary_search_by_key(&position, |(at, _)| *at) {
            self.signals[at].1.reach(Ok(Arc::default()), &mut ready);
        }
        start_all(ready, false);
    }

    /// Ends the run, and starts what waited for it.
    pub(crate) fn finish(&self, result: Result<Output, RuntimeError>) {
        let mut ready = VecDeque::new();
        self.end(result, &mut ready);
        start_all(ready, false);
    }

    /// As [`Self::finish`], with what kernels printed also before something failed: that goes to the stream's printer only.
    pub(crate) fn finish_with(&self, output: Output, result: Result<(), RuntimeError>) {
        self.finish(match result {
            Ok(()) => Ok(output),
            // The first failure counts, not one of the printer.
            Err(e) => {
                let _ = self.stream.print(&output.lines);
                Err(e)
            }
        });
    }

    fn end(&self, result: Result<Output, RuntimeError>, ready: &mut VecDeque<Arc<Self>>) {
        let outcome = match result {
            Ok(output) => self.stream.print(&output.lines).map(|()| Arc::new(output)),
            Err(e) => Err(e),
        };
        let outcome = outcome.map_err(Arc::new);
        if let Err(e) = &outcome {
            self.stream.fail(e);
        }
        // Before anybody learns of the end: what they drop then is really free.
        drop(self.list.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for (_, point) in &self.signals {
            point.reach(outcome.clone(), ready);
        }
        self.completion.reach(outcome, ready);
    }
}

thread_local! {
    /// Runs that this thread will start, while it is about it.
    static READY: RefCell<Option<VecDeque<Arc<Run>>>> = const { RefCell::new(None) };
}

/// Starts runs, and those that become ready since one of them is refused or ends at once. A device may end a run where it starts
/// it: then the call in the call only leaves the next ones here, since any number of them may follow each other.
fn start_all(mut runs: VecDeque<Arc<Run>>, mut here: bool) {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            READY.set(None);
        }
    }
    let inner = READY.with_borrow_mut(|ready| match ready {
        Some(ready) => {
            ready.append(&mut runs);
            true
        }
        None => {
            *ready = Some(runs);
            false
        }
    });
    if inner {
        return;
    }
    let _done = Done;
    while let Some(run) = READY.with_borrow_mut(|r| r.as_mut().and_then(VecDeque::pop_front)) {
        start(run, here);
        here = false;
    }
}

fn start(run: Arc<Run>, here: bool) {
    let refused = run.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(cause) = refused else {
        let device = run.stream.device.clone();
        return device.backend().start(run, here);
    };
    if let Some(list) = run.list() {
        run.skip(&list, 0);
    }
    run.finish(Err(RuntimeError::refused(&cause)));
}

impl Run {
    /// Lets the backend do what must be done even of a list that does not run, or not from a command on.
    pub(crate) fn skip(&self, list: &Committed, from: usize) {
        self.stream.device.backend().skip(list, from);
    }
}

//! Who does what of a list, and when.
//!
//! A list is started by the thread that submits it, which goes on at once. Its rest (waiting for the GPU, taking what came back) is
//! done by a thread that waits for it; if none does within [`LINGER`], or if another list waits for this one, by a thread of
//! the device. So a program that submits and waits is never handed from thread to thread, and one that only submits is not held up.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    driver::{Context, Queue},
    execute::{self, Begun},
    lock,
};
use crate::stream::{Completion, Rest, Run};

/// Threads that the device has at most.
const THREADS: usize = 8;
/// For how long the rest of a list is left to a thread that may come to wait for it.
const LINGER: Duration = Duration::from_micros(200);
/// For how long a thread looks out for further lists before it has to be woken for one.
const WATCH: Duration = Duration::from_millis(5);

/// What the device's threads share.
pub(super) struct Shared {
    pub(super) context: Arc<Context>,
    /// Queues that no list is on.
    queues: Mutex<Vec<Queue>>,
    work: Mutex<Work>,
    more: Condvar,
}

#[derive(Default)]
struct Work {
    jobs: VecDeque<Job>,
    /// Lists on the GPU, and when somebody has to look after them; the oldest first.
    lingering: VecDeque<(Instant, Arc<Completion>)>,
    /// Whether a thread wakes by itself to look after those.
    watched: bool,
    /// Until when one does so although there is none.
    watch_until: Option<Instant>,
    threads: usize,
    /// Threads that have to be woken.
    idle: usize,
    closed: bool,
}

/// Something for a thread of the device.
enum Job {
    /// A list, from its start to its end.
    Execute(Arc<Run>),
    /// The end of a list.
    Finish(Box<InFlight>),
    /// The end of a list, if nobody has come for it.
    LookAfter(Arc<Completion>),
}

/// A list that the GPU works on.
struct InFlight {
    shared: Arc<Shared>,
    queue: Queue,
    run: Arc<Run>,
    begun: Begun,
}

impl InFlight {
    fn end(self, hurry: bool) {
        let Self { shared, queue, run, begun } = self;
        let waited = if hurry { queue.wait() } else { queue.wait_patiently() };
        let result = waited.and_then(|()| execute::end(&queue, &run, begun));
        lock(&shared.queues).push(queue);
        run.finish(result);
    }
}

impl Rest for InFlight {
    fn finish(self: Box<Self>, hurry: bool) {
        self.end(hurry);
    }

    fn hand_over(self: Box<Self>) {
        let shared = self.shared.clone();
        shared.post(Job::Finish(self));
    }
}

impl Work {
    /// The next thing to do.
    fn next(&mut self, now: Instant) -> Option<Job> {
        if let Some(job) = self.jobs.pop_front() {
            return Some(job);
        }
        while let Some((due, completion)) = self.lingering.pop_front() {
            if completion.is_done() {
                continue;
            }
            if due <= now || self.closed {
                return Some(Job::LookAfter(completion));
            }
            self.lingering.push_front((due, completion));
            break;
        }
        None
    }

    /// Whether a thread has to be found that looks after the lists on the GPU.
    fn needs_watch(&self) -> bool {
        !self.watched && !self.lingering.is_empty()
    }
}

impl Shared {
    pub(super) fn new(context: Arc<Context>) -> Self {
        let (queues, work, more) = Default::default();
        Self { context, queues, work, more }
    }

    /// Lets the threads end.
    pub(super) fn close(&self) {
        lock(&self.work).closed = true;
        self.more.notify_all();
    }

    /// Starts a list in which the host has no part before its end, and leaves that to whoever comes first.
    pub(super) fn launch(self: &Arc<Self>, run: Arc<Run>) {
        let completion = run.completion().clone();
        let Some(in_flight) = self.begin(run) else { return };
        completion.leave(Box::new(in_flight));
        let mut work = lock(&self.work);
        while work.lingering.front().is_some_and(|(_, first)| first.is_done()) {
            work.lingering.pop_front();
        }
        work.lingering.push_back((Instant::now() + LINGER, completion));
        if work.needs_watch() && !self.wake(work) {
            let last = lock(&self.work).lingering.pop_back();
            if let Some(rest) = last.and_then(|(_, completion)| completion.take_rest()) {
                rest.finish(true);
            }
        }
    }

    /// Gives a list to a thread of the device.
    pub(super) fn execute(self: &Arc<Self>, run: Arc<Run>) {
        self.post(Job::Execute(run));
    }

    fn post(self: &Arc<Self>, job: Job) {
        let mut work = lock(&self.work);
        work.jobs.push_back(job);
        if !self.wake(work) {
            let job = lock(&self.work).jobs.pop_back();
            job.into_iter().for_each(|job| self.perform(job));
        }
    }

    /// Finds a thread; false if there is none and the system gives none, so that the caller has to do the work.
    fn wake(self: &Arc<Self>, mut work: MutexGuard<'_, Work>) -> bool {
        let free = work.idle + usize::from(work.watched);
        if work.jobs.len().max(1) > free && work.threads < THREADS {
            let shared = self.clone();
            let thread = std::thread::Builder::new().name("luisac-cuda".into());
            if thread.spawn(move || shared.serve()).is_ok() {
                work.threads += 1;
            }
        }
        let found = work.threads > 0;
        drop(work);
        self.more.notify_one();
        found
    }

    /// Starts a list on a queue; ends it if that fails.
    fn begin(self: &Arc<Self>, run: Arc<Run>) -> Option<InFlight> {
        let free = lock(&self.queues).pop();
        let queue = match free.map_or_else(|| Queue::new(&self.context), Ok) {
            Ok(queue) => queue,
            Err(e) => {
                run.finish(Err(e));
                return None;
            }
        };
        match execute::begin(&self.context, &queue, &run) {
            Ok(begun) => Some(InFlight { shared: self.clone(), queue, run, begun }),
            Err(e) => {
                // What was launched before the error must not outlive what it uses.
                let _ = queue.wait();
                lock(&self.queues).push(queue);
                run.finish(Err(e));
                None
            }
        }
    }

    /// The life of a thread.
    fn serve(self: &Arc<Self>) {
        let mut work = lock(&self.work);
        loop {
            let now = Instant::now();
            if let Some(job) = work.next(now) {
                if work.needs_watch() {
                    self.wake(work);
                } else {
                    drop(work);
                }
                self.perform(job);
                work = lock(&self.work);
            } else if work.closed {
                return;
            } else {
                work = self.pause(work, now);
            }
        }
    }

    /// Waits for something to do: for a while by itself, if no other thread does, then until woken.
    fn pause<'a>(&'a self, mut work: MutexGuard<'a, Work>, now: Instant) -> MutexGuard<'a, Work> {
        if !work.lingering.is_empty() {
            work.watch_until = Some(now + WATCH);
        }
        if !work.watched && work.watch_until.is_some_and(|end| now < end) {
            work.watched = true;
            let woken = self.more.wait_timeout(work, LINGER);
            work = woken.map_or_else(|e| e.into_inner().0, |(work, _)| work);
            work.watched = false;
        } else {
            work.idle += 1;
            work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
            work.idle -= 1;
        }
        work
    }

    fn perform(self: &Arc<Self>, job: Job) {
        match job {
            Job::Execute(run) => {
                if let Some(in_flight) = self.begin(run) {
                    in_flight.end(true);
                }
            }
            Job::Finish(in_flight) => in_flight.end(true),
            Job::LookAfter(completion) => {
                if let Some(rest) = completion.take_rest() {
                    rest.finish(false);
                }
            }
        }
    }
}

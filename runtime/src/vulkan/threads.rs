//! Who sees lists to their ends. A list in which the host has no part before its end leaves that to whoever waits for it, so that
//! nobody has to be woken; if nobody comes within [`LINGER`], or another list waits for it, a thread of the device does it. Other
//! lists go to such a thread at once.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::lists::Session;
use crate::stream::{Completion, Rest};

/// Most threads. What they wait for has been submitted, so more lists than this may run.
const THREADS: usize = 8;
/// For how long the end of a list is left to a thread that may come to wait for it.
const LINGER: Duration = Duration::from_micros(200);

/// The threads of a device.
#[derive(Default)]
pub(super) struct Threads {
    work: Mutex<Work>,
    more: Condvar,
}

#[derive(Default)]
struct Work {
    waiting: VecDeque<Session>,
    /// Lists whose ends were left, and when a thread has to come for them; the oldest first.
    left: VecDeque<(Instant, Arc<Completion>)>,
    /// Whether a thread wakes by itself for the first of those.
    watched: bool,
    threads: usize,
    /// Threads that have to be woken.
    idle: usize,
    closed: bool,
}

/// The end of a list that was left.
struct Left {
    threads: Arc<Threads>,
    session: Session,
}

impl Rest for Left {
    fn finish(self: Box<Self>, _: bool) {
        self.session.finish();
    }

    fn hand_over(self: Box<Self>) {
        let Self { threads, session } = *self;
        threads.take(session);
    }
}

impl Work {
    /// The next list that nobody has come for.
    fn due(&mut self) -> Option<Arc<Completion>> {
        while let Some((due, completion)) = self.left.pop_front() {
            if completion.is_done() {
                continue;
            }
            if self.closed || due <= Instant::now() {
                return Some(completion);
            }
            self.left.push_front((due, completion));
            break;
        }
        None
    }

    /// Until when nobody has to come for a list that was left; nothing if a thread sees to that, or there is none.
    fn unwatched(&self) -> Option<Instant> {
        self.left.front().filter(|_| !self.watched).map(|(due, _)| *due)
    }
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the threads end.
    pub fn close(&self) {
        self.lock().closed = true;
        self.more.notify_all();
    }

    /// Hands a list over to a thread.
    pub fn take(self: &Arc<Self>, session: Session) {
        let mut work = self.lock();
        work.waiting.push_back(session);
        if !self.wake(work) {
            // The system gives no threads: the caller does it.
            let session = self.lock().waiting.pop_back();
            session.into_iter().for_each(Session::finish);
        }
    }

    /// Leaves the end of a list to whoever comes first.
    pub fn leave(self: &Arc<Self>, completion: Arc<Completion>, session: Session) {
        completion.leave(Box::new(Left { threads: self.clone(), session }));
        let mut work = self.lock();
        while work.left.front().is_some_and(|(_, first)| first.is_done()) {
            work.left.pop_front();
        }
        work.left.push_back((Instant::now() + LINGER, completion.clone()));
        if work.unwatched().is_some()
            && !self.wake(work)
            && let Some(rest) = completion.take_rest()
        {
            rest.finish(true);
        }
    }

    /// Finds a thread; false if there is none and the system gives none.
    fn wake(self: &Arc<Self>, mut work: MutexGuard<'_, Work>) -> bool {
        let free = work.idle + usize::from(work.watched);
        if work.waiting.len().max(1) > free && work.threads < THREADS {
            let threads = self.clone();
            let thread = std::thread::Builder::new().name("luisac-vulkan".into());
            if thread.spawn(move || threads.serve()).is_ok() {
                work.threads += 1;
            }
        }
        let found = work.threads > 0;
        drop(work);
        self.more.notify_one();
        found
    }

    /// The life of a thread.
    fn serve(self: &Arc<Self>) {
        let mut work = self.lock();
        loop {
            if let Some(session) = work.waiting.pop_front() {
                self.go(work);
                session.finish();
                work = self.lock();
            } else if let Some(completion) = work.due() {
                self.go(work);
                if let Some(rest) = completion.take_rest() {
                    rest.finish(false);
                }
                work = self.lock();
            } else if work.closed {
                return;
            } else if let Some(due) = work.unwatched() {
                work.watched = true;
                let time = due.saturating_duration_since(Instant::now());
                let woken = self.more.wait_timeout(work, time);
                work = woken.map_or_else(|e| e.into_inner().0, |(work, _)| work);
                work.watched = false;
            } else {
                work.idle += 1;
                work = self.more.wait(work).unwrap_or_else(PoisonError::into_inner);
                work.idle -= 1;
            }
        }
    }

    /// Lets another thread watch while this one works.
    fn go(self: &Arc<Self>, work: MutexGuard<'_, Work>) {
        if work.unwatched().is_some() {
            self.wake(work);
        }
    }
}

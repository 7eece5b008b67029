//! Streams: lists run one after the other. Events order streams among each other.
//!
//! Whatever streams they are on, runs that use the same resource, one of them writing, never overlap: they keep the order of
//! submission. So no data race can come from forgotten events.

mod run;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(any(feature = "cuda", feature = "vulkan"))]
pub(crate) use run::Rest;
pub(crate) use run::{Completion, Run, call_host};

use crate::{
    CommittedList, Device, Event, Output, RuntimeError,
    list::{Command, Committed},
    resource::{Common, Contents, Slot},
};
use run::Link;

/// The runs that used a resource last.
#[derive(Default)]
pub(crate) struct Uses {
    write: Option<Arc<Completion>>,
    /// Reads since, at most one for each stream.
    reads: Vec<Arc<Completion>>,
}

impl Uses {
    /// Notes a use, and tells `before` what has to be done first.
    fn note(&mut self, me: &Arc<Completion>, write: bool, before: &mut dyn FnMut(&Completion)) {
        if let Some(w) = &self.write {
            before(w);
        }
        if write {
            self.reads.iter().for_each(|r| before(r));
            self.reads.clear();
            self.write = Some(me.clone());
        } else {
            self.reads.retain(|r| !r.is_done() && r.stream != me.stream);
            self.reads.push(me.clone());
        }
    }
}

/// A function that gets what kernels print.
type Printer = Box<dyn FnMut(&str) + Send>;

/// What a stream's handles and its runs share.
pub(crate) struct Shared {
    pub(crate) id: u64,
    pub(crate) device: Device,
    state: Mutex<State>,
    printer: Mutex<Option<Printer>>,
}

#[derive(Default)]
struct State {
    /// The last run.
    tail: Option<Arc<Completion>>,
    /// What the next run waits for beside it.
    waits: Vec<Arc<Completion>>,
    failed: Option<Arc<RuntimeError>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: &Arc<RuntimeError>) {
        self.state().failed.get_or_insert_with(|| error.clone());
    }

    fn print(&self, lines: &[String]) -> Result<(), RuntimeError> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut printer = self.printer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(printer) = &mut *printer else { return Ok(()) };
        call_host(|| lines.iter().for_each(|line| printer(line)))
    }
}

/// An order of lists: each begins when the one before it has ended. Cheap to clone; threads may share it.
///
/// After a list failed, the stream runs nothing more: later lists end with [`RuntimeError::Refused`]. Resources and other
/// streams go on.
#[derive(Clone)]
pub struct Stream(Arc<Shared>);

/// A list that was submitted.
#[derive(Clone)]
pub struct Submission(Arc<Completion>);

impl Submission {
    /// Waits until the list has run, and gives what its kernels printed, in the order of the commands.
    ///
    /// # Errors
    /// What stopped it: a fault of a kernel, with the kernel, argument and index; a lost device;
    /// [`RuntimeError::Refused`] if something before it failed; [`RuntimeError::WaitInCallback`].
    pub fn wait(&self) -> Result<Arc<Output>, RuntimeError> {
        self.0.wait()
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

impl Stream {
    pub(crate) fn new(device: &Device) -> Self {
        Self(Arc::new(Shared {
            id: crate::open::next_id(),
            device: device.clone(),
            state: Mutex::default(),
            printer: Mutex::default(),
        }))
    }

    /// Gives every line that kernels print to `f`, when the list that printed it has ended.
    pub fn on_print(&self, f: impl FnMut(&str) + Send + 'static) {
        *self.0.printer.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(f));
    }

    /// Lets a list run after all that was submitted to this stream before. Returns at once, unless the list is so small
    /// that handing it to another thread would take longer than running it.
    ///
    /// # Errors
    /// [`RuntimeError::OtherDevice`]; [`RuntimeError::Refused`] if the stream has failed.
    pub fn submit(&self, list: &CommittedList) -> Result<Submission, RuntimeError> {
        let shared = &self.0;
        if !shared.device.is(&list.0.device) {
            return Err(RuntimeError::OtherDevice);
        }
        let run = {
            // One after the other, so that all threads agree on what comes before what.
            let _order = shared.device.order().lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(cause) = &shared.state().failed {
                return Err(RuntimeError::refused(cause));
            }
            let kept = submit_arrays(&list.0);
            let run = Run::new(shared, &list.0, kept.clone());
            self.link(&run, &list.0, &kept);
            run
        };
        run.release();
        Ok(Submission(run.completion.clone()))
    }

    /// Makes the run wait for all that must come before it, and later ones for it.
    fn link(&self, run: &Arc<Run>, list: &Committed, kept: &[Arc<Contents>]) {
        let me = &run.completion;
        let mut state = self.0.state();
        for point in state.tail.replace(me.clone()).into_iter().chain(state.waits.drain(..)) {
            point.before(run, Link::Order);
        }
        drop(state);
        let mut before = |point: &Completion| {
            // The stream has ordered its own.
            if point.stream != me.stream && !point.is_done() {
                point.before(run, Link::Hazard);
            }
        };
        if let Some(last) = list.follow(me) {
            before(&last);
        }
        for (resource, write) in &list.resources {
            let mut uses = resource.common().uses.lock().unwrap_or_else(PoisonError::into_inner);
            uses.note(me, *write, &mut before);
        }
        each_member(list, kept, &mut |common, write| {
            let mut uses = common.uses.lock().unwrap_or_else(PoisonError::into_inner);
            uses.note(me, write, &mut before);
        });
        for (position, point) in run.signals() {
            if let Some(Command::Signal(event)) = list.commands.get(*position) {
                event.set(point.clone());
            }
        }
    }

    /// Signals the event when all that was submitted to this stream until now is done.
    pub fn signal(&self, event: &Event) {
        let tail = self.0.state().tail.clone();
        event.set(tail.unwrap_or_else(|| Completion::reached(self.0.id)));
    }

    /// Makes what is submitted to this stream from now on wait for the point at which the event was signalled last.
    ///
    /// # Errors
    /// [`RuntimeError::NotSignalled`] if nothing has been submitted that signals it: waiting could last for ever.
    pub fn wait_for(&self, event: &Event) -> Result<(), RuntimeError> {
        let point = event.point().ok_or(RuntimeError::NotSignalled)?;
        self.0.state().waits.push(point);
        Ok(())
    }

    /// Waits until all that was submitted is done.
    ///
    /// # Errors
    /// The first failure on this stream; [`RuntimeError::WaitInCallback`].
    pub fn wait(&self) -> Result<(), RuntimeError> {
        let tail = self.0.state().tail.clone();
        let last = tail.map_or(Ok(()), |t| t.wait().map(drop));
        match &self.0.state().failed {
            Some(first) => Err(RuntimeError::Run(first.clone())),
            None => last,
        }
    }
}

/// Moves arrays on to what they hold after `list`; returns what keeps alive all that it can reach through them.
fn submit_arrays(list: &Committed) -> Vec<Arc<Contents>> {
    let kept: Vec<_> = list.arrays.iter().map(|(array, _)| array.contents()).collect();
    for command in &list.commands {
        if let Command::Update { array, changes } = command {
            let mut contents = array.contents();
            // The same contents stay the same object, so that graphs need not be made anew.
            if !contents.has(changes) {
                Arc::make_mut(&mut contents).apply(changes);
                array.set_contents(contents);
            }
        }
    }
    kept
}

/// Tells `f` of every resource that the list can reach through arrays: what they hold before it, and what it puts into them.
fn each_member(list: &Committed, kept: &[Arc<Contents>], f: &mut dyn FnMut(&Common, bool)) {
    let mut slot = |slot: &Slot, write| {
        if let Some(view) = &slot.buffer {
            f(&view.memory.common, write);
        }
        for image in slot.image_2d.iter().chain(&slot.image_3d) {
            f(&image.level.memory.common, false);
        }
    };
    for ((_, write), contents) in list.arrays.iter().zip(kept) {
        contents.slots.values().for_each(|s| slot(s, *write));
    }
    for command in &list.commands {
        let Command::Update { array, changes } = command else { continue };
        let Some((_, write)) = list.arrays.iter().find(|(a, _)| Arc::ptr_eq(a, array)) else {
            continue;
        };
        for (_, change) in changes {
            slot(&Slot::from(change), *write);
        }
    }
}

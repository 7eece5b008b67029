//! Command lists on the device: made ready once, recorded once for each graph, submitted as often as wanted.
//!
//! A list is cut where the host takes part: at callbacks, signals and indirect dispatches. What lies between is one command buffer, in
//! which barriers stand between the levels of the scheduler's graph. All that the host gives it (parameter blocks, data, records)
//! lies in one block of staging memory, all that it brings back in another.

mod record;
mod run;
mod steps;

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use self::{
    record::Recorded,
    steps::{Builder, Dispatch, Step},
};
use super::{arguments::Pool, device::Shared, memory::Home, staging::Block};
use crate::{RuntimeError, list::Command, schedule::Graph};

pub(super) use run::{Session, skip};

/// A list made ready.
pub(super) struct Prepared {
    device: Arc<Shared>,
    /// Of the graph that the list had last; taken while the list runs.
    recorded: Mutex<Option<Recorded>>,
    steps: Vec<Step>,
    upload: Option<Block>,
    download: Option<Block>,
    #[allow(dead_code, reason = "held only, for the sets of the steps")]
    pool: Option<Pool>,
}

impl Prepared {
    /// Works out what each command does, and fills the memory that the device reads it from.
    pub fn new(device: &Arc<Shared>, commands: &[Command]) -> Result<Self, RuntimeError> {
        let mut builder = Builder::new(device);
        let steps = commands.iter().map(|c| builder.step(c)).collect::<Result<Vec<_>, _>>()?;
        let block = |bytes, home| match bytes {
            0 => Ok(None),
            bytes => Block::new(device, bytes, home).map(Some),
        };
        let upload = block(builder.upload, Home::Upload)?;
        let download = block(builder.download, Home::Download)?;
        if let Some(block) = &upload {
            builder
                .writes
                .iter()
                .for_each(|(at, bytes): &(u64, Cow<[u8]>)| block.write(*at, bytes));
        }
        let recorded = Mutex::default();
        let mut made =
            Self { device: device.clone(), recorded, steps, upload, download, pool: None };
        made.make_sets()?;
        Ok(made)
    }

    /// Makes the descriptor sets of all dispatches, from one pool.
    fn make_sets(&mut self) -> Result<(), RuntimeError> {
        let mut kernels =
            self.steps.iter().filter_map(Step::dispatch).map(Dispatch::kernel).peekable();
        if kernels.peek().is_none() {
            return Ok(());
        }
        let pool = Pool::new(&self.device, kernels)?;
        let upload = self.upload.as_ref().map(Block::handle);
        for dispatch in self.steps.iter_mut().filter_map(Step::dispatch_mut) {
            dispatch.make_sets(&pool, upload)?;
        }
        self.pool = Some(pool);
        Ok(())
    }

    /// The list as command buffers for a graph: those of the last run, if the graph is the same.
    fn recorded(&self, graph: &Arc<Graph>) -> Result<Recorded, RuntimeError> {
        let last = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).take();
        match last {
            Some(recorded) if recorded.is_of(graph) => Ok(recorded),
            last => Recorded::new(self, graph, last),
        }
    }

    fn keep(&self, recorded: Recorded) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = Some(recorded);
    }
}

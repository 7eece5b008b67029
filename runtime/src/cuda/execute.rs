//! Lists on the GPU: segment by segment on one queue, with what the host has to do between and after them.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Array, Buffer,
    driver::{Context, Queue},
    graph::{self, Segment},
    own,
    steps::{self, After, Indirect, Log, Step},
};
use crate::{
    IndirectDispatch, Output, RuntimeError,
    list::{Command, Committed, HostBytes},
    log,
    resource::{INDIRECT_ENTRY_BYTES, INDIRECT_HEADER_BYTES},
    schedule::Graph,
    stream::{Run, call_host},
};

/// A list made ready.
pub(super) struct Prepared {
    // Before the steps, since graphs name their memory.
    built: Mutex<Option<Built>>,
    steps: Vec<Step>,
    /// Whether the host takes part before the end.
    needs_host: bool,
}

/// The segments for a graph of the scheduler, which changes only with what bindless arrays hold.
struct Built {
    graph: Arc<Graph>,
    segments: Vec<Segment>,
}

// SAFETY: what the steps point to is device memory or their own pinned memory, which one run at a time uses.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

impl Prepared {
    pub(super) fn new(context: &Arc<Context>, commands: &[Command]) -> Result<Self, RuntimeError> {
        context.enter()?;
        let steps: Vec<Step> =
            commands.iter().map(|c| steps::step(context, c)).collect::<Result<_, _>>()?;
        let needs_host = steps.iter().any(|s| !matches!(s, Step::Gpu { .. }));
        Ok(Self { built: Mutex::default(), steps, needs_host })
    }
}

/// Whether the host takes part in a list before its end.
pub(super) fn needs_host(run: &Run) -> bool {
    run.list().is_some_and(|list| {
        let prepared: Result<&Prepared, _> = own(&list.raw);
        prepared.is_ok_and(|p| p.needs_host)
    })
}

/// Starts a list on a queue: all of it, unless the host takes part, which the calling thread then does. The rest is [`end`].
///
/// What was started before an error may still run.
pub(super) fn begin(
    context: &Arc<Context>,
    queue: &Queue,
    run: &Run,
) -> Result<Begun, RuntimeError> {
    let mut begun = Begun::default();
    let Some(list) = run.list() else { return Ok(begun) };
    context.enter()?;
    let prepared: &Prepared = own(&list.raw)?;
    note_updates(&list, prepared, 0)?;
    let graph = run.graph();
    let mut built = prepared.built.lock().unwrap_or_else(PoisonError::into_inner);
    if built.as_ref().is_none_or(|b| !Arc::ptr_eq(&b.graph, &graph)) {
        let segments = graph::segments(context, &graph, &prepared.steps)?;
        *built = Some(Built { graph, segments });
    }
    let segments = built.as_ref().map_or(&[][..], |b| &b.segments);
    let mut session = Session { queue, run, list: &list, prepared, output: Output::default() };
    for segment in segments {
        match segment {
            Segment::Graph(graph) => graph.launch(queue)?,
            Segment::Few(commands) => session.few(commands)?,
            Segment::Host(position) => {
                queue.wait()?;
                session.collect(begun.collected..*position as usize)?;
                begun.collected = *position as usize + 1;
                session.host(*position as usize)?;
            }
        }
    }
    begun.output = session.output;
    Ok(begun)
}

/// A list that the GPU works on.
#[derive(Default)]
pub(super) struct Begun {
    /// Commands whose results have been taken.
    collected: usize,
    output: Output,
}

/// Takes what a list brought to the host; its queue has been waited for.
pub(super) fn end(queue: &Queue, run: &Run, begun: Begun) -> Result<Output, RuntimeError> {
    let Begun { collected, output } = begun;
    let Some(list) = run.list() else { return Ok(output) };
    let prepared: &Prepared = own(&list.raw)?;
    let mut session = Session { queue, run, list: &list, prepared, output };
    session.collect(collected..list.commands.len())?;
    Ok(session.output)
}

/// Works out the records that the updates of a list write. Nothing that came before is still to run, so the arrays are as the
/// list finds them.
fn note_updates(list: &Committed, prepared: &Prepared, from: usize) -> Result<(), RuntimeError> {
    for (command, step) in list.commands.iter().zip(&prepared.steps).skip(from) {
        if let (
            Command::Update { array, changes },
            Step::Gpu { after: After::Records(p, slots), .. },
        ) = (command, step)
        {
            let array: &Array = own(&array.raw)?;
            let records = array.apply(changes, slots)?;
            // SAFETY: the memory is this step's, has a record for each slot, and no copy of it runs now.
            unsafe { p.address().copy_from_nonoverlapping(records.as_ptr(), records.len()) };
        }
    }
    Ok(())
}

/// Lets the arrays of a list that does not run know of its updates.
pub(super) fn skip(list: &Committed, from: usize) -> Result<(), RuntimeError> {
    for command in list.commands.iter().skip(from) {
        if let Command::Update { array, changes } = command {
            let array: &Array = own(&array.raw)?;
            let mut slots: Vec<u32> = changes.iter().map(|(slot, _)| *slot).collect();
            slots.sort_unstable();
            slots.dedup();
            array.apply(changes, &slots)?;
            array.write_all()?;
        }
    }
    Ok(())
}

/// A list on its way.
struct Session<'a> {
    queue: &'a Queue,
    run: &'a Run,
    list: &'a Committed,
    prepared: &'a Prepared,
    output: Output,
}

impl Session<'_> {
    fn few(&self, commands: &[u32]) -> Result<(), RuntimeError> {
        for command in commands {
            if let Some(Step::Gpu { nodes, .. }) = self.prepared.steps.get(*command as usize) {
                nodes.iter().try_for_each(|node| graph::enqueue(self.queue, node))?;
            }
        }
        Ok(())
    }

    /// A command that the host takes part in; everything before it is done.
    fn host(&mut self, position: usize) -> Result<(), RuntimeError> {
        match (self.list.commands.get(position), self.prepared.steps.get(position)) {
            (Some(Command::Callback(f)), _) => {
                let mut f = f.lock().unwrap_or_else(PoisonError::into_inner);
                call_host(&mut *f)
            }
            (Some(Command::Signal(_)), _) => {
                self.run.signal(position);
                Ok(())
            }
            (_, Some(Step::Indirect(indirect))) => self.indirect(indirect),
            _ => Ok(()),
        }
    }

    /// Reads the sizes of an indirect dispatch and launches it.
    fn indirect(&mut self, indirect: &Indirect) -> Result<(), RuntimeError> {
        let view = indirect.sizes.view();
        let memory: &Buffer = own(&view.memory.raw)?;
        let capacity = u64::from(indirect.sizes.capacity());
        let mut bytes = vec![0; (INDIRECT_HEADER_BYTES + capacity * INDIRECT_ENTRY_BYTES) as usize];
        memory.0.read(view.start, &mut bytes)?;
        let (header, entries) = bytes.split_at(INDIRECT_HEADER_BYTES as usize);
        let count = header.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let expected = indirect.kernel.metadata().block_size;
        let mut nodes = Vec::new();
        for entry in entries.chunks_exact(INDIRECT_ENTRY_BYTES as usize).take(count as usize) {
            let IndirectDispatch { block_size, size, kernel_id } = IndirectDispatch::read(entry);
            if size.contains(&0) {
                continue;
            }
            if block_size != expected {
                let kernel = indirect.kernel.metadata().kernel.clone();
                return Err(RuntimeError::IndirectBlock { kernel, expected, got: block_size });
            }
            nodes.extend(steps::launch(&indirect.kernel, &indirect.params, size, kernel_id)?);
        }
        if let Some(log) = &indirect.log {
            let [clear, fetch] = steps::log_nodes(log);
            nodes = clear.into_iter().chain(nodes).chain(fetch).collect();
        }
        nodes.iter().try_for_each(|node| graph::enqueue(self.queue, node))?;
        // The parameter blocks are this function's.
        self.queue.wait()?;
        indirect.log.as_ref().map_or(Ok(()), |log| self.log(log))
    }

    /// Takes what commands brought to the host, in the order of the commands.
    fn collect(&mut self, range: std::ops::Range<usize>) -> Result<(), RuntimeError> {
        let steps = &self.prepared.steps;
        let steps = steps.get(range.start.min(range.end)..range.end).unwrap_or_default();
        for step in steps {
            match step {
                Step::Gpu { after: After::Download(pinned, to), .. } => {
                    HostBytes::set(to, pinned.bytes().to_vec());
                }
                Step::Gpu { after: After::Log(log), .. } => self.log(log)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn log(&mut self, log: &Log) -> Result<(), RuntimeError> {
        let used = log.used.bytes().first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        if used == 0 {
            return Ok(());
        }
        let written = used & !luisac_artifact::abi::LOG_FAULT_LOST;
        let mut bytes = vec![0; 8 + written.min(log.memory.bytes - 8) as usize];
        log.memory.read(0, &mut bytes)?;
        // The decoder goes by the length of the data, which ends where the log does.
        if written > log.memory.bytes - 8 {
            bytes.resize(log.memory.bytes as usize, 0);
        }
        let lines = &mut self.output.lines;
        let metadata = log.kernel.metadata();
        self.output.lost +=
            log::decode(metadata, &bytes, &mut |line| lines.push(line.to_string()))?;
        Ok(())
    }
}

//! Lists on their way: part by part, with what the host has to do between and after them.

use std::{
    ops::Range,
    sync::{Arc, PoisonError},
};

use ash::vk;

use super::{
    Prepared,
    record::{Part, Recorded},
    steps::{self, Indirect, Launch, Log, Step},
};
use crate::{
    Output, RuntimeError,
    list::{Command, Committed},
    stream::{Run, call_host},
    vulkan::{
        BindlessArray, arguments::write, backend::own, device::Shared, dispatch::read_log,
        memory::Home, queue::Ticket, staging::Block,
    },
};

/// A list on its way.
pub(in crate::vulkan) struct Session {
    run: Arc<Run>,
    list: Option<Arc<Committed>>,
    going: Result<Going, RuntimeError>,
}

struct Going {
    device: Arc<Shared>,
    recorded: Recorded,
    /// The queue to use.
    queue: usize,
    /// The submission of the first part, if it was submitted when the list began.
    first: Option<Ticket>,
    /// The position from which on nothing has been done.
    at: usize,
    output: Output,
}

impl Session {
    /// Begins a list: its first part is submitted, unless that is the host's.
    pub fn begin(device: &Arc<Shared>, run: Arc<Run>) -> Self {
        let list = run.list();
        let going = Going::begin(device, &run, list.as_deref());
        Self { run, list, going }
    }

    /// Whether all of the list has been submitted, so that only its end has to be waited for.
    pub fn only_waits(&self) -> bool {
        let all = |going: &Going| going.first.is_some() && going.recorded.parts.len() == 1;
        self.going.as_ref().is_ok_and(all)
    }

    /// Sees the list to its end.
    pub fn finish(self) {
        let Self { run, list, going } = self;
        let Some(list) = list else { return run.finish(Ok(Output::default())) };
        let mut at = 0;
        let result = going.and_then(|mut going| {
            let prepared: &Prepared = own(&list.raw)?;
            let result = going.all(&run, &list, prepared);
            at = going.at;
            prepared.keep(going.recorded);
            result.map(|()| going.output)
        });
        if result.is_err() {
            run.skip(&list, at);
        }
        // Before anybody learns of the end.
        drop(list);
        run.finish(result);
    }
}

impl Going {
    fn begin(
        device: &Arc<Shared>,
        run: &Run,
        list: Option<&Committed>,
    ) -> Result<Self, RuntimeError> {
        let prepared: &Prepared = own(&list.ok_or(RuntimeError::OtherDevice)?.raw)?;
        let recorded = prepared.recorded(&run.graph())?;
        let queue = run.completion().stream as usize;
        let first = match recorded.parts.first() {
            Some(Part::Device(_, commands)) => Some(device.enqueue(*commands, queue)?),
            _ => None,
        };
        let (device, output) = (device.clone(), Output::default());
        Ok(Self { device, recorded, queue, first, at: 0, output })
    }

    fn all(
        &mut self,
        run: &Run,
        list: &Committed,
        prepared: &Prepared,
    ) -> Result<(), RuntimeError> {
        for part in self.recorded.parts.clone().iter() {
            match part {
                Part::Device(positions, commands) => {
                    self.submit(*commands)?;
                    self.at = positions.end;
                    self.collect(prepared, positions)?;
                }
                Part::Host(position) => {
                    self.at = *position;
                    self.host(run, list, prepared, *position)?;
                    self.at = *position + 1;
                }
            }
        }
        Ok(())
    }

    /// Submits commands, unless they are on their way, and waits for them.
    fn submit(&mut self, commands: vk::CommandBuffer) -> Result<(), RuntimeError> {
        let ticket = match self.first.take() {
            Some(ticket) => ticket,
            None => self.device.enqueue(commands, self.queue)?,
        };
        Ok(self.device.wait(ticket)?)
    }

    /// Takes what commands brought to the host, in the order in which they were recorded.
    fn collect(&mut self, list: &Prepared, positions: &Range<usize>) -> Result<(), RuntimeError> {
        for step in list.steps.get(positions.clone()).unwrap_or_default() {
            match step {
                Step::Moves { brings: Some((at, bytes, to)), .. } => {
                    let block = list.download.as_ref();
                    to.set(block.map(|b| b.read(*at, *bytes as usize)).unwrap_or_default());
                }
                Step::Dispatch(dispatch) => {
                    if let Some(log) = &dispatch.log {
                        self.log(list, log, dispatch.kernel.metadata())?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn log(
        &mut self,
        list: &Prepared,
        log: &Log,
        metadata: &crate::Metadata,
    ) -> Result<(), RuntimeError> {
        let header = list.download.as_ref().map(|b| b.read(log.header, 8)).unwrap_or_default();
        let used = header.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        if used == 0 {
            return Ok(());
        }
        let lines = &mut self.output.lines;
        self.output.lost +=
            read_log(&log.buffer, used, metadata, &mut |line| lines.push(line.to_owned()))?;
        Ok(())
    }

    /// A command that the host takes part in; everything before it is done.
    fn host(
        &mut self,
        run: &Run,
        list: &Committed,
        prepared: &Prepared,
        position: usize,
    ) -> Result<(), RuntimeError> {
        match (list.commands.get(position), prepared.steps.get(position)) {
            (Some(Command::Callback(f)), _) => {
                let mut f = f.lock().unwrap_or_else(PoisonError::into_inner);
                call_host(&mut *f)
            }
            (Some(Command::Signal(_)), _) => {
                run.signal(position);
                Ok(())
            }
            (_, Some(Step::Indirect(indirect))) => self.indirect(prepared, indirect),
            _ => Ok(()),
        }
    }

    /// Reads the sizes of an indirect dispatch, and runs it.
    fn indirect(&mut self, list: &Prepared, indirect: &Indirect) -> Result<(), RuntimeError> {
        let dispatch = &indirect.dispatch;
        let fetch = self.recorded.once(list, &indirect.fetch)?;
        self.submit(fetch)?;
        let block = list.download.as_ref();
        let sizes = block.map(|b| b.read(indirect.at, indirect.bytes() as usize));
        let sizes = sizes.unwrap_or_default();
        let read = |at: u64, bytes: &mut [u8]| {
            let found = sizes.get(at as usize..at as usize + bytes.len());
            bytes.copy_from_slice(found.ok_or(RuntimeError::OtherDevice)?);
            Ok(())
        };
        let found = indirect.sizes.dispatches(dispatch.kernel.metadata(), read)?;
        if found.is_empty() {
            return Ok(());
        }
        let stride = indirect.params.len() as u64;
        let stride = stride.next_multiple_of(steps::params_align(&self.device));
        let params = Block::new(&self.device, stride * found.len() as u64, Home::Upload)?;
        let (mut launches, mut bytes) = (Vec::new(), indirect.params.clone());
        for (i, one) in found.iter().enumerate() {
            let at = stride * i as u64;
            dispatch.kernel().put_dispatch(&mut bytes, one.size, one.kernel_id);
            params.write(at, &bytes);
            let parts = dispatch.split(one.size)?;
            let at = u32::try_from(at).map_err(|_| RuntimeError::OutOfMemory { bytes: at })?;
            launches.push(Launch { params: at, parts });
        }
        // The sets are only used here, and the last run has ended.
        let (slot, descriptor) = dispatch.kernel().params_descriptor(params.handle());
        write(&self.device, &dispatch.sets, slot, 0, &descriptor);
        let commands = self.recorded.dispatch_once(list, dispatch, &launches)?;
        self.submit(commands)?;
        match &dispatch.log {
            Some(log) => self.log(list, log, dispatch.kernel.metadata()),
            None => Ok(()),
        }
    }
}

/// Lets the arrays of a list that does not run, or not beyond `from`, have its updates.
pub(in crate::vulkan) fn skip(list: &Committed, from: usize) -> Result<(), RuntimeError> {
    for command in list.commands.iter().skip(from) {
        if let Command::Update { array, changes } = command {
            let records: &BindlessArray = own(&array.raw)?;
            for (slot, change) in changes {
                let (offset, bytes) = steps::record(change)?;
                records.store(*slot, offset, &bytes)?;
            }
        }
    }
    Ok(())
}

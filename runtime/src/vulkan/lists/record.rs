//! Steps into command buffers.

use std::{ops::Range, sync::Arc};

use ash::vk;

use super::{
    Prepared,
    steps::{Dispatch, Launch, Memory, Move, Step},
};
use crate::{
    RuntimeError,
    schedule::{Graph, parts as order},
    vulkan::{device::Shared, recorder::Commands, staging::Block},
};

/// A part of a list.
pub(super) enum Part {
    /// Commands at these positions, as they are submitted.
    Device(Range<usize>, vk::CommandBuffer),
    /// A command that the host takes part in.
    Host(usize),
}

/// A list in command buffers, for one graph.
pub(super) struct Recorded {
    device: Arc<Shared>,
    graph: Arc<Graph>,
    pub parts: Arc<[Part]>,
    commands: Vec<Commands>,
}

impl Recorded {
    /// Records a list; what was recorded before is used again or given back.
    pub fn new(
        list: &Prepared,
        graph: &Arc<Graph>,
        last: Option<Self>,
    ) -> Result<Self, RuntimeError> {
        let device = &list.device;
        let (graph, none) = (graph.clone(), Arc::default());
        let mut made = Self { device: device.clone(), graph, parts: none, commands: Vec::new() };
        if let Some(mut last) = last {
            made.commands = std::mem::take(&mut last.commands);
        }
        let is_host = |c: u32| list.steps.get(c as usize).is_some_and(Step::is_host);
        let mut parts = Vec::new();
        let all = order::parts(&made.graph, list.steps.len() as u32, is_host);
        let commands = made.pool(0)?;
        let (mut start, mut rest) = (0, all.iter().peekable());
        while let Some(part) = rest.next() {
            match part {
                order::Part::Host(position) => {
                    parts.push(Part::Host(*position as usize));
                    start = *position as usize + 1;
                }
                order::Part::Device(levels) => {
                    let end = match rest.peek() {
                        Some(order::Part::Host(position)) => *position as usize,
                        _ => list.steps.len(),
                    };
                    let buffer = commands.record(&device.handle, |buffer| {
                        Recorder { list, buffer }.levels(levels);
                    })?;
                    parts.push(Part::Device(start..end, buffer));
                }
            }
        }
        made.parts = parts.into();
        Ok(made)
    }

    /// Whether it was recorded for this graph.
    pub fn is_of(&self, graph: &Arc<Graph>) -> bool {
        Arc::ptr_eq(&self.graph, graph)
    }

    /// The pool for the list as it is (0), or for what is recorded with each run (1). Its buffers are free, and none is pending.
    fn pool(&mut self, number: usize) -> Result<&mut Commands, RuntimeError> {
        while self.commands.len() <= number {
            self.commands.push(self.device.recorders.take(&self.device.handle)?);
        }
        let commands = &mut self.commands[number];
        commands.reset(&self.device.handle)?;
        Ok(commands)
    }

    /// Records transfers for one run. What was recorded so before must have ended.
    pub fn once(
        &mut self,
        list: &Prepared,
        moves: &Move,
    ) -> Result<vk::CommandBuffer, RuntimeError> {
        let device = self.device.clone();
        self.pool(1)?.record(&device.handle, |buffer| {
            let recorder = Recorder { list, buffer };
            recorder.one(moves);
            recorder.to_host(Work::MOVES);
        })
    }

    /// Records a dispatch for one run; as [`Self::once`].
    pub fn dispatch_once(
        &mut self,
        list: &Prepared,
        dispatch: &Dispatch,
        launches: &[Launch],
    ) -> Result<vk::CommandBuffer, RuntimeError> {
        let device = self.device.clone();
        self.pool(1)?.record(&device.handle, |buffer| {
            let recorder = Recorder { list, buffer };
            recorder.empty_logs(&[dispatch]);
            recorder.bind(dispatch);
            launches.iter().for_each(|launch| recorder.launch(dispatch, launch));
            recorder.fetch_logs(&[dispatch]);
        })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        for commands in self.commands.drain(..) {
            self.device.recorders.give_back(&self.device.handle, commands);
        }
    }
}

/// Kinds of work on the device.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Work {
    moves: bool,
    dispatches: bool,
}

impl Work {
    const MOVES: Self = Self { moves: true, dispatches: false };
    const DISPATCHES: Self = Self { moves: false, dispatches: true };

    fn of(step: &Step) -> Self {
        match step {
            Step::Moves { moves, .. } => Self { moves: !moves.is_empty(), dispatches: false },
            Step::Dispatch(d) => Self { moves: false, dispatches: !d.launches.is_empty() },
            Step::Host | Step::Indirect(_) => Self::default(),
        }
    }

    fn and(self, other: Self) -> Self {
        Self { moves: self.moves || other.moves, dispatches: self.dispatches || other.dispatches }
    }

    fn stages(self) -> vk::PipelineStageFlags {
        use vk::PipelineStageFlags as P;
        let moves = if self.moves { P::TRANSFER } else { P::empty() };
        moves | if self.dispatches { P::COMPUTE_SHADER } else { P::empty() }
    }

    fn writes(self) -> vk::AccessFlags {
        use vk::AccessFlags as A;
        let moves = if self.moves { A::TRANSFER_WRITE } else { A::empty() };
        moves | if self.dispatches { A::SHADER_WRITE } else { A::empty() }
    }

    fn accesses(self) -> vk::AccessFlags {
        use vk::AccessFlags as A;
        let moves = if self.moves { A::TRANSFER_READ } else { A::empty() };
        self.writes() | moves | if self.dispatches { A::SHADER_READ } else { A::empty() }
    }
}

/// Writes into a command buffer that is being recorded.
struct Recorder<'a> {
    list: &'a Prepared,
    buffer: vk::CommandBuffer,
}

impl Recorder<'_> {
    /// Levels with barriers between them. Since each barrier ends in the stages in which the next begins, what is behind several of
    /// them sees all that is before the first.
    fn levels(&self, levels: &[Vec<u32>]) {
        let step = |c: &u32| self.list.steps.get(*c as usize);
        let dispatches = levels.iter().flatten().filter_map(step).filter_map(|s| match s {
            Step::Dispatch(d) => Some(d),
            _ => None,
        });
        let logging: Vec<&Dispatch> = dispatches.filter(|d| d.log.is_some()).collect();
        self.empty_logs(&logging);
        let mut before = Work::default();
        let (mut bound, mut fetches) = (None, Work::default());
        for level in levels {
            let steps = || level.iter().filter_map(step);
            let work = steps().map(Work::of).fold(Work::default(), Work::and);
            if work == Work::default() {
                continue;
            }
            self.barrier(before, work);
            before = work;
            for step in steps() {
                match step {
                    Step::Moves { moves, brings, .. } => {
                        moves.iter().for_each(|m| self.one(m));
                        fetches.moves |= brings.is_some();
                    }
                    Step::Dispatch(dispatch) => self.dispatch(dispatch, &mut bound),
                    Step::Host | Step::Indirect(_) => {}
                }
            }
        }
        self.fetch_logs(&logging);
        self.to_host(fetches);
    }

    fn dispatch(&self, dispatch: &Dispatch, bound: &mut Option<vk::Pipeline>) {
        if dispatch.launches.is_empty() {
            return;
        }
        if *bound != Some(dispatch.kernel().pipeline) {
            self.bind(dispatch);
            *bound = Some(dispatch.kernel().pipeline);
        }
        dispatch.launches.iter().for_each(|launch| self.launch(dispatch, launch));
    }

    fn device(&self) -> &ash::Device {
        &self.list.device.handle
    }

    fn bind(&self, dispatch: &Dispatch) {
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the kernel is held by the dispatch, here and below that by the list.
        unsafe { self.device().cmd_bind_pipeline(self.buffer, point, dispatch.kernel().pipeline) }
    }

    fn launch(&self, dispatch: &Dispatch, launch: &Launch) {
        let (device, kernel) = (self.device(), dispatch.kernel());
        let (point, offsets) = (vk::PipelineBindPoint::COMPUTE, [launch.params]);
        // SAFETY: pipeline, layout and sets belong together; the list keeps alive what they reach. The first set has one dynamic
        // offset, that of the parameter block, which lies inside its buffer.
        unsafe {
            device.cmd_bind_descriptor_sets(
                self.buffer,
                point,
                kernel.layout,
                0,
                &dispatch.sets,
                &offsets,
            );
            for ([x, y, z], [w, h, d]) in &launch.parts {
                device.cmd_dispatch_base(self.buffer, *x, *y, *z, *w, *h, *d);
            }
        }
    }

    /// Empties logs before the dispatches that follow.
    fn empty_logs(&self, dispatches: &[&Dispatch]) {
        let logs: Vec<_> = dispatches.iter().filter_map(|d| d.log.as_ref()).collect();
        for log in &logs {
            // SAFETY: a log has more than eight bytes, and lives with the dispatch.
            unsafe {
                self.device().cmd_fill_buffer(self.buffer, log.buffer.0.handle, 0, 8, 0);
            }
        }
        if !logs.is_empty() {
            self.barrier(Work::MOVES, Work::DISPATCHES);
        }
    }

    /// Brings the beginnings of logs to the host.
    fn fetch_logs(&self, dispatches: &[&Dispatch]) {
        let logs: Vec<_> = dispatches.iter().filter_map(|d| d.log.as_ref()).collect();
        if logs.is_empty() {
            return;
        }
        self.barrier(Work::DISPATCHES, Work::MOVES);
        for log in logs {
            let region = vk::BufferCopy { src_offset: 0, dst_offset: log.header, size: 8 };
            let from = Memory::Own(log.buffer.0.handle);
            self.one(&Move::Copy { from, to: Memory::Download, regions: vec![region] });
        }
        self.to_host(Work::MOVES.and(Work::DISPATCHES));
    }

    /// Lets the host see what was written, if anything was.
    fn to_host(&self, work: Work) {
        if work == Work::default() {
            return;
        }
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(work.writes())
            .dst_access_mask(vk::AccessFlags::HOST_READ)];
        let host = vk::PipelineStageFlags::HOST;
        self.pipeline_barrier(work.stages(), host, &barrier);
    }

    /// Lets work see what work before it has written, and write where it has read; nothing, if there is none on one side.
    fn barrier(&self, from: Work, to: Work) {
        if from == Work::default() || to == Work::default() {
            return;
        }
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(from.writes())
            .dst_access_mask(to.accesses())];
        self.pipeline_barrier(from.stages(), to.stages(), &barrier);
    }

    fn pipeline_barrier(
        &self,
        from: vk::PipelineStageFlags,
        to: vk::PipelineStageFlags,
        barrier: &[vk::MemoryBarrier<'_>],
    ) {
        let none = vk::DependencyFlags::empty();
        // SAFETY: the buffer is being recorded, outside of a render pass.
        unsafe {
            self.device().cmd_pipeline_barrier(self.buffer, from, to, none, barrier, &[], &[]);
        }
    }

    fn memory(&self, memory: Memory) -> vk::Buffer {
        let of = |block: &Option<Block>| block.as_ref().map(Block::handle).unwrap_or_default();
        match memory {
            Memory::Own(buffer) => buffer,
            Memory::Upload => of(&self.list.upload),
            Memory::Download => of(&self.list.download),
        }
    }

    fn one(&self, step: &Move) {
        let (device, buffer, layout) = (self.device(), self.buffer, vk::ImageLayout::GENERAL);
        // SAFETY: ranges were checked when the commands were recorded and lie inside blocks that are as large as was reserved; images
        // are always in this layout; the list keeps everything alive.
        unsafe {
            match step {
                Move::Copy { from, to, regions } => {
                    device.cmd_copy_buffer(buffer, self.memory(*from), self.memory(*to), regions);
                }
                Move::Fill { to, offset, bytes, word } => {
                    device.cmd_fill_buffer(buffer, *to, *offset, *bytes, *word);
                }
                Move::IntoImage { from, to, region } => {
                    let from = self.memory(*from);
                    device.cmd_copy_buffer_to_image(buffer, from, *to, layout, &[*region]);
                }
                Move::FromImage { from, to, region } => {
                    let to = self.memory(*to);
                    device.cmd_copy_image_to_buffer(buffer, *from, layout, to, &[*region]);
                }
                Move::Images { from, to, region } => {
                    device.cmd_copy_image(buffer, *from, layout, *to, layout, &[*region]);
                }
                Move::Wait => self.barrier(Work::MOVES, Work::MOVES),
            }
        }
    }
}

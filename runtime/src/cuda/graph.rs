//! Steps of a list as CUDA graphs: the scheduler's edges and no others.

use std::{collections::HashMap, ffi::c_void, ptr, sync::Arc};

use cudarc::driver::sys::{self, CUgraph, CUgraphExec, CUgraphNode};

use super::{
    driver::{Context, Queue, call},
    steps::{Node, Step},
};
use crate::{RuntimeError, schedule::Graph};

/// What is launched node by node rather than as a graph.
const FEW_NODES: usize = 3;

/// A part of a list that the GPU does by itself, or a command that the host takes part in.
pub(super) enum Segment {
    /// Nodes of few commands, one after the other: positions of the commands.
    Few(Vec<u32>),
    Graph(Executable),
    /// A callback, a signal, or an indirect dispatch.
    Host(u32),
}

/// A graph that is ready to be launched.
pub(super) struct Executable {
    context: Arc<Context>,
    exec: CUgraphExec,
}

// SAFETY: a graph is launched by one thread at a time, since a list runs only once at a time.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    pub(super) fn launch(&self, queue: &Queue) -> Result<(), RuntimeError> {
        // SAFETY: both live; what the nodes name is kept by the list.
        unsafe { call!(cuGraphLaunch(self.exec, queue.raw())) }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the graph is this one's, and no launch of it runs.
            unsafe {
                let _ = sys::cuGraphExecDestroy(self.exec);
            }
        }
    }
}

/// A graph under construction.
struct Building<'a> {
    context: &'a Arc<Context>,
    graph: CUgraph,
    /// The last node of each node of the scheduler's graph.
    ends: HashMap<u32, CUgraphNode>,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        // SAFETY: the graph is this one's.
        unsafe {
            let _ = sys::cuGraphDestroy(self.graph);
        }
    }
}

/// Cuts a list at the commands that the host takes part in. Edges go from smaller to larger nodes, so what is cut in the order of the
/// nodes keeps the order of all of them.
pub(super) fn segments(
    context: &Arc<Context>,
    graph: &Graph,
    steps: &[Step],
) -> Result<Vec<Segment>, RuntimeError> {
    context.enter()?;
    let mut segments = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    for node in 0..graph.len() {
        let step = graph.command(node).and_then(|c| Some((c, steps.get(c as usize)?)));
        match step {
            Some((command, Step::Host | Step::Indirect(_))) => {
                segments.extend(segment(context, graph, steps, &open)?);
                open.clear();
                segments.push(Segment::Host(command));
            }
            _ => open.push(node),
        }
    }
    segments.extend(segment(context, graph, steps, &open)?);
    Ok(segments)
}

fn segment(
    context: &Arc<Context>,
    graph: &Graph,
    steps: &[Step],
    nodes: &[u32],
) -> Result<Option<Segment>, RuntimeError> {
    let commands = || nodes.iter().filter_map(|n| graph.command(*n));
    let count = |c: u32| match steps.get(c as usize) {
        Some(Step::Gpu { nodes, .. }) => nodes.len(),
        _ => 0,
    };
    match commands().map(count).sum::<usize>() {
        0 => Ok(None),
        1..=FEW_NODES => Ok(Some(Segment::Few(commands().collect()))),
        _ => build(context, graph, steps, nodes).map(Segment::Graph).map(Some),
    }
}

fn build(
    context: &Arc<Context>,
    graph: &Graph,
    steps: &[Step],
    nodes: &[u32],
) -> Result<Executable, RuntimeError> {
    let mut raw = ptr::null_mut();
    // SAFETY: the pointer leads to a local.
    unsafe { call!(cuGraphCreate(&mut raw, 0))? };
    let mut building = Building { context, graph: raw, ends: HashMap::new() };
    for &node in nodes {
        let mut before: Vec<CUgraphNode> =
            graph.before(node).iter().filter_map(|n| building.ends.get(n).copied()).collect();
        // Joints of one node end with that node, and the driver takes none twice.
        before.sort_unstable();
        before.dedup();
        let command = graph.command(node).and_then(|c| steps.get(c as usize));
        let of_command = match command {
            Some(Step::Gpu { nodes, .. }) => &nodes[..],
            _ => &[],
        };
        let end = building.chain(of_command, before)?;
        building.ends.insert(node, end);
    }
    let mut exec = ptr::null_mut();
    // SAFETY: the graph lives; the pointer leads to a local.
    unsafe { call!(cuGraphInstantiateWithFlags(&mut exec, building.graph, 0))? };
    Ok(Executable { context: context.clone(), exec })
}

impl Building<'_> {
    /// Adds nodes one after the other; a joint, or a command without any, becomes one that does nothing.
    fn chain(
        &mut self,
        nodes: &[Node],
        mut before: Vec<CUgraphNode>,
    ) -> Result<CUgraphNode, RuntimeError> {
        if nodes.is_empty() {
            return match before[..] {
                [one] => Ok(one),
                _ => self.empty(&before),
            };
        }
        let mut last = ptr::null_mut();
        for node in nodes {
            last = self.add(node, &before)?;
            before = vec![last];
        }
        Ok(last)
    }

    fn empty(&self, before: &[CUgraphNode]) -> Result<CUgraphNode, RuntimeError> {
        let mut node = ptr::null_mut();
        // SAFETY: the graph lives, and the nodes are its own.
        unsafe {
            call!(cuGraphAddEmptyNode(&mut node, self.graph, before.as_ptr(), before.len()))?;
        }
        Ok(node)
    }

    fn add(&self, node: &Node, before: &[CUgraphNode]) -> Result<CUgraphNode, RuntimeError> {
        let (graph, context) = (self.graph, self.context.raw());
        let (first, count) = (before.as_ptr(), before.len());
        let mut added = ptr::null_mut();
        // SAFETY: the graph lives, and the nodes are its own; parameters are copied by the driver before the call returns.
        unsafe {
            match node {
                Node::Copy(copy) => {
                    call!(cuGraphAddMemcpyNode(&mut added, graph, first, count, &**copy, context))?;
                }
                Node::Set(set) => {
                    call!(cuGraphAddMemsetNode(&mut added, graph, first, count, set, context))?;
                }
                Node::Launch(launch) => {
                    let mut argument: *mut c_void = launch.params.as_ptr().cast_mut().cast();
                    let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
                    let params = sys::CUDA_KERNEL_NODE_PARAMS {
                        func: launch.function,
                        gridDimX: gx,
                        gridDimY: gy,
                        gridDimZ: gz,
                        blockDimX: bx,
                        blockDimY: by,
                        blockDimZ: bz,
                        sharedMemBytes: 0,
                        kernelParams: &mut argument,
                        extra: ptr::null_mut(),
                        kern: ptr::null_mut(),
                        ctx: ptr::null_mut(),
                    };
                    call!(cuGraphAddKernelNode_v2(&mut added, graph, first, count, &params))?;
                }
            }
        }
        Ok(added)
    }
}

/// Does a node on a queue.
pub(super) fn enqueue(queue: &Queue, node: &Node) -> Result<(), RuntimeError> {
    let stream = queue.raw();
    // SAFETY: the queue lives; what the node names is kept by the list until the queue has been waited for.
    unsafe {
        match node {
            Node::Copy(copy) => call!(cuMemcpy3DAsync_v2(&**copy, stream)),
            Node::Set(set) => match set.elementSize {
                1 => call!(cuMemsetD8Async(set.dst, set.value as u8, set.width, stream)),
                2 => call!(cuMemsetD16Async(set.dst, set.value as u16, set.width, stream)),
                _ => call!(cuMemsetD32Async(set.dst, set.value, set.width, stream)),
            },
            Node::Launch(launch) => {
                let mut argument: *mut c_void = launch.params.as_ptr().cast_mut().cast();
                let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
                call!(cuLaunchKernel(
                    launch.function,
                    gx,
                    gy,
                    gz,
                    bx,
                    by,
                    bz,
                    0,
                    stream,
                    &mut argument,
                    ptr::null_mut(),
                ))
            }
        }
    }
}

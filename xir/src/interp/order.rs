//! The order in which blocks run, so that threads that parted come together again.
//!
//! Every block has a *position*, and every block that is the head of a loop also a *latch* position, behind all blocks of the
//! loop and before all blocks that follow it. An edge leads to the latch position of its target if it is a back edge, else to
//! the position of its target. Of all waiting threads those at the lowest position run next. So threads wait at a merge for
//! those that are still in an arm, at the latch for those that are still in the iteration, and behind the loop for those that
//! are still in it.
//!
//! In structured form the positions follow the constructs: a construct, its arms and then its merge, each contiguous, also
//! where an arm never comes to the merge. Otherwise they are a weak topological order (F. Bourdoncle, "Efficient chaotic
//! iteration strategies with widenings", 1993) of the control-flow graph, to which edges are added that keep each construct
//! that still is structured together: from where an arm is left for good to its merge, or to the head of its loop.
//!
//! Where the graph leaves a choice, blocks keep the order that they have in the function, which most passes keep: an arm that
//! ends the thread comes before what follows the construct.
//!
//! Structured form takes linear time, other forms time linear in edges times the depth of loops, times a logarithm.

use crate::{BlockId, Function, Op};
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// Positions of the blocks that can be reached or that a construct names.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// The block at each position, once for itself and once for its latch.
    pub at: Vec<BlockId>,
    /// Whether the order follows constructs alone.
    pub structured: bool,
    position: Vec<u32>,
    latch: Vec<u32>,
}

impl Order {
    pub fn compute(function: &Function) -> Order {
        let blocks = function.block_count();
        let mut order = Order {
            at: Vec::new(),
            structured: is_structured(function),
            position: vec![NONE; blocks],
            latch: vec![NONE; blocks],
        };
        if let Some(entry) = function.entry() {
            if order.structured {
                order.by_structure(function, entry);
            } else {
                order.by_graph(&Graph::build(function, entry));
            }
        }
        order
    }

    /// The position of a block.
    pub fn position(&self, block: BlockId) -> u32 {
        self.position[block.index()]
    }

    /// Whether the block has a position.
    pub fn holds(&self, block: BlockId) -> bool {
        self.position(block) != NONE
    }

    /// The position that an edge leads to.
    pub fn target(&self, from: BlockId, to: BlockId) -> u32 {
        let (here, there, latch) = (self.position(from), self.position(to), self.latch[to.index()]);
        if latch != NONE && there <= here && here < latch { latch } else { there }
    }

    fn place(&mut self, block: BlockId) {
        self.position[block.index()] = self.at.len() as u32;
        self.at.push(block);
    }

    fn place_latch(&mut self, block: BlockId) {
        self.latch[block.index()] = self.at.len() as u32;
        self.at.push(block);
    }

    /// A walk over the constructs. A block waits on the stack from the moment that a construct names it, so that whoever
    /// branches to it meanwhile does not take it along.
    fn by_structure(&mut self, function: &Function, entry: BlockId) {
        let mut taken: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut stack = vec![Item::Block(entry)];
        taken[entry] = true;
        while let Some(item) = stack.pop() {
            let block = match item {
                Item::Block(block) => block,
                Item::Latch(block) => {
                    self.place_latch(block);
                    continue;
                }
            };
            self.place(block);
            let Some(terminator) = function.terminator(block) else { continue };
            let named = function.inst_blocks(terminator);
            let mut push = |stack: &mut Vec<Item>, block: BlockId| {
                if !std::mem::replace(&mut taken[block], true) {
                    stack.push(Item::Block(block));
                }
            };
            match (function.op(terminator), named) {
                (Op::Loop, &[prepare, body, update, merge]) => {
                    push(&mut stack, merge);
                    stack.push(Item::Latch(prepare));
                    for block in [update, body, prepare] {
                        push(&mut stack, block);
                    }
                }
                (Op::SimpleLoop | Op::RayQueryLoop, &[body, merge]) => {
                    push(&mut stack, merge);
                    stack.push(Item::Latch(body));
                    push(&mut stack, body);
                }
                // The merge, which comes last, goes to the bottom.
                _ => named.iter().rev().for_each(|&block| push(&mut stack, block)),
            }
        }
    }

    fn by_graph(&mut self, graph: &Graph) {
        // Each node belongs to the region that was split last around it.
        let mut region = vec![0; graph.nodes.len()];
        let mut regions = 0;
        let mut search = Search::new(graph.nodes.len());
        let mut stack = vec![Task::Split((0..graph.nodes.len() as u32).collect())];
        while let Some(task) = stack.pop() {
            match task {
                Task::Node(n) => self.place(graph.nodes[n as usize]),
                Task::Latch(n) => self.place_latch(graph.nodes[n as usize]),
                Task::Split(nodes) => {
                    regions += 1;
                    nodes.iter().for_each(|&n| region[n as usize] = regions);
                    let components = search.components(graph, &nodes, &region);
                    // The last one goes to the bottom of the stack.
                    for component in sorted(graph, components).into_iter().rev() {
                        let head = component[0];
                        if component.len() > 1 || graph.targets[head as usize].contains(&head) {
                            stack.push(Task::Latch(head));
                            if component.len() > 1 {
                                stack.push(Task::Split(component[1..].to_vec()));
                            }
                        }
                        stack.push(Task::Node(head));
                    }
                }
            }
        }
    }
}

enum Item {
    Block(BlockId),
    Latch(BlockId),
}

enum Task {
    Node(u32),
    Latch(u32),
    Split(Vec<u32>),
}

/// Whether all control flow is structured; the conditional branch of a loop's prepare block to body or merge is.
fn is_structured(function: &Function) -> bool {
    let mut prepared: SecondaryMap<BlockId, [Option<BlockId>; 2]> = SecondaryMap::new();
    let mut constructs = false;
    for block in function.blocks() {
        let Some(terminator) = function.terminator(block) else { continue };
        constructs |= function.op(terminator).is_structured();
        if let (Op::Loop, &[prepare, body, _, merge]) =
            (function.op(terminator), function.inst_blocks(terminator))
        {
            prepared[prepare] = [Some(body), Some(merge)];
        }
    }
    constructs
        && function.blocks().all(|block| {
            let Some(terminator) = function.terminator(block) else { return true };
            match function.op(terminator) {
                Op::IndexedBranch => false,
                Op::CondBr => {
                    let named = function.inst_blocks(terminator);
                    named.iter().all(|&b| prepared[block].contains(&Some(b)))
                }
                _ => true,
            }
        })
}

/// The components so that edges between them lead forward, and otherwise by the place of their heads in the function. The nodes
/// of each are sorted: they are numbered in reverse post-order, the least is the head.
fn sorted(graph: &Graph, mut components: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let mut of: FxHashMap<u32, u32> = FxHashMap::default();
    for (i, component) in components.iter_mut().enumerate() {
        component.sort_unstable();
        of.extend(component.iter().map(|&n| (n, i as u32)));
    }
    let targets = |i: u32| {
        let nodes = components[i as usize].iter();
        let targets =
            nodes.flat_map(|&n| &graph.targets[n as usize]).filter_map(|t| of.get(t).copied());
        targets.filter(move |&t| t != i).collect::<Vec<u32>>()
    };
    let count = components.len() as u32;
    let mut missing = vec![0; components.len()];
    for t in (0..count).flat_map(&targets) {
        missing[t as usize] += 1;
    }
    let key = |i: u32| Reverse((graph.places[components[i as usize][0] as usize], i));
    let mut ready: BinaryHeap<_> =
        (0..count).filter(|&i| missing[i as usize] == 0).map(key).collect();
    let mut order = Vec::with_capacity(components.len());
    while let Some(Reverse((_, i))) = ready.pop() {
        order.push(i);
        for t in targets(i) {
            missing[t as usize] -= 1;
            if missing[t as usize] == 0 {
                ready.push(key(t));
            }
        }
    }
    order.into_iter().map(|i| std::mem::take(&mut components[i as usize])).collect()
}

/// The control-flow graph with the edges that keep constructs together; nodes in reverse post-order.
struct Graph {
    nodes: Vec<BlockId>,
    targets: Vec<Vec<u32>>,
    /// Place of each node in the order of the function.
    places: Vec<u32>,
}

impl Graph {
    fn build(function: &Function, entry: BlockId) -> Graph {
        let extra = kept_together(function, entry);
        let successors =
            |block: BlockId| function.successors(block).iter().copied().chain(extra[block]);
        let mut number: SecondaryMap<BlockId, u32> = SecondaryMap::with_default(NONE);
        let mut nodes = Vec::new();
        let mut stack = vec![(entry, successors(entry).collect::<Vec<_>>())];
        number[entry] = 0;
        while let Some((block, left)) = stack.last_mut() {
            // Last successor first, so that the reverse post-order has the first one first.
            match left.pop() {
                Some(next) if number[next] == NONE => {
                    number[next] = 0;
                    stack.push((next, successors(next).collect()));
                }
                Some(_) => {}
                None => {
                    nodes.push(*block);
                    stack.pop();
                }
            }
        }
        nodes.reverse();
        for (i, &block) in nodes.iter().enumerate() {
            number[block] = i as u32;
        }
        let targets =
            nodes.iter().map(|&block| successors(block).map(|b| number[b]).collect()).collect();
        let mut places = vec![0; nodes.len()];
        for (place, block) in function.blocks().enumerate() {
            if number[block] != NONE {
                places[number[block] as usize] = place as u32;
            }
        }
        Graph { nodes, targets, places }
    }
}

/// For each block that leaves its construct for good: where threads should wait for each other all the same.
fn kept_together(function: &Function, entry: BlockId) -> SecondaryMap<BlockId, Option<BlockId>> {
    let mut extra: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    // The meeting place of the innermost construct around each block.
    let mut around: SecondaryMap<BlockId, Option<Option<BlockId>>> = SecondaryMap::new();
    let mut stack = vec![entry];
    around[entry] = Some(None);
    while let Some(block) = stack.pop() {
        let meeting = around[block].flatten();
        let Some(terminator) = function.terminator(block) else { continue };
        let op = function.op(terminator);
        let named = function.inst_blocks(terminator);
        let inner = match op {
            Op::Loop | Op::SimpleLoop | Op::RayQueryLoop => named.first().copied(),
            _ if op.has_merge() => named.last().copied(),
            _ => meeting,
        };
        // Named last first: the merge belongs to the outer construct.
        for (i, &next) in named.iter().enumerate().rev() {
            if around[next].is_none() {
                let is_merge = op.has_merge() && i + 1 == named.len();
                around[next] = Some(if is_merge { meeting } else { inner });
                stack.push(next);
            }
        }
        if matches!(op, Op::Break | Op::Continue | Op::Return | Op::Unreachable | Op::RasterDiscard)
        {
            extra[block] = meeting;
        }
    }
    extra
}

/// Tarjan's algorithm for strongly connected components, on its own stack, within a region.
struct Search {
    /// Visit number and low link of the current search; valid if the mark is the current one.
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    mark: Vec<u32>,
    searches: u32,
}

impl Search {
    fn new(count: usize) -> Search {
        Search {
            index: vec![0; count],
            low: vec![0; count],
            on_stack: vec![false; count],
            mark: vec![0; count],
            searches: 0,
        }
    }

    /// The components of the subgraph of `nodes`, each after all that it leads to.
    fn components(&mut self, graph: &Graph, nodes: &[u32], region: &[u32]) -> Vec<Vec<u32>> {
        self.searches += 1;
        let (mut found, mut path, mut open) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0;
        for &start in nodes {
            if self.mark[start as usize] == self.searches {
                continue;
            }
            self.enter(start, &mut count, &mut open);
            path.push((start, 0));
            while let Some((n, next)) = path.last_mut() {
                let n = *n as usize;
                match graph.targets[n].get(*next) {
                    Some(&target) => {
                        *next += 1;
                        let t = target as usize;
                        if region[t] != region[n] {
                            continue;
                        }
                        if self.mark[t] != self.searches {
                            self.enter(target, &mut count, &mut open);
                            path.push((target, 0));
                        } else if self.on_stack[t] {
                            self.low[n] = self.low[n].min(self.index[t]);
                        }
                    }
                    None => {
                        path.pop();
                        if let Some(&(parent, _)) = path.last() {
                            let low = self.low[n];
                            let parent = &mut self.low[parent as usize];
                            *parent = low.min(*parent);
                        }
                        if self.low[n] == self.index[n] {
                            found.push(self.close(n as u32, &mut open));
                        }
                    }
                }
            }
        }
        found
    }

    fn enter(&mut self, n: u32, count: &mut u32, open: &mut Vec<u32>) {
        let i = n as usize;
        (self.index[i], self.low[i]) = (*count, *count);
        (self.mark[i], self.on_stack[i]) = (self.searches, true);
        *count += 1;
        open.push(n);
    }

    fn close(&mut self, n: u32, open: &mut Vec<u32>) -> Vec<u32> {
        let mut component = Vec::new();
        while let Some(top) = open.pop() {
            self.on_stack[top as usize] = false;
            component.push(top);
            if top == n {
                break;
            }
        }
        component
    }
}

//! Where values of several blocks meet: iterated dominance frontiers, and which of their blocks read what meets there.
//!
//! The frontier of a block is the targets of the edges that leave its dominator subtree for a level that is not deeper. Edges lie
//! in the order of their sources in a preorder of the dominator tree, so that those of a subtree are a range, and a tree of
//! minima over the levels of their targets gives the ones that leave: what an enquiry costs hangs on what it finds, not on the
//! size of the subtree. Roots go deepest first and no edge is looked at from two of them, after V. Sreedhar, G. Gao, "A linear
//! time algorithm for placing phi-nodes", POPL 1995.
//!
//! Which blocks are live is found in the sparse graph of the blocks in question alone (J.-D. Choi, R. Cytron, J. Ferrante,
//! "Automatic construction of sparse data flow evaluation graphs", POPL 1991), so that a value that is live in thousands of
//! blocks costs nothing in those that do not touch it.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function};
use std::collections::{BTreeMap, BinaryHeap};

/// The joining edges of a function. A *place* is the position of a reachable block in a preorder of the dominator tree.
pub struct Joins<'a> {
    cfg: &'a ControlFlowGraph,
    /// Blocks by place.
    blocks: Vec<BlockId>,
    /// Place plus one; 0 for unreachable blocks.
    place: SecondaryMap<BlockId, u32>,
    /// One past the last place in the subtree of a place.
    end: Vec<u32>,
    /// Depth in the dominator tree.
    level: Vec<u32>,
    /// Position of the first joining edge of a place; one more at the end.
    first: Vec<u32>,
    /// Where an edge leads, as a place.
    target: Vec<u32>,
    /// The complete tree of minima over the levels of the targets; the leaves are its last half.
    least: Vec<u32>,
    /// What was seen on behalf of which enquiry.
    defines: Vec<u32>,
    found: Vec<u32>,
    enquiry: u32,
}

/// The blocks that touch a variable, as places, in any order.
#[derive(Default)]
pub struct Touches {
    /// Blocks that give it a value.
    pub defines: Vec<u32>,
    /// Blocks that read it before they give it a value.
    pub exposed: Vec<u32>,
    /// A block at whose start it is not live and that dominates all the others.
    pub within: Option<u32>,
}

impl<'a> Joins<'a> {
    /// Collects the joining edges; linear in blocks and edges.
    pub fn compute(func: &Function, cfg: &'a ControlFlowGraph, tree: &DominatorTree) -> Joins<'a> {
        let blocks = tree.preorder();
        let count = blocks.len();
        let mut place: SecondaryMap<BlockId, u32> = SecondaryMap::with_capacity(func.block_count());
        let mut level = vec![0; count];
        let mut end: Vec<u32> = (1..=count as u32).collect();
        for (n, &block) in blocks.iter().enumerate() {
            place[block] = n as u32 + 1;
            if let Some(parent) = tree.immediate_dominator(block) {
                level[n] = level[place[parent] as usize - 1] + 1;
            }
        }
        for n in (1..count).rev() {
            if let Some(parent) = tree.immediate_dominator(blocks[n]) {
                let parent = place[parent] as usize - 1;
                end[parent] = end[parent].max(end[n]);
            }
        }
        let (mut first, mut target) = (Vec::with_capacity(count + 1), Vec::new());
        for &block in &blocks {
            first.push(target.len() as u32);
            let joining = func.successors(block).iter().map(|&t| place[t] - 1);
            target
                .extend(joining.filter(|&t| level[t as usize] <= level[place[block] as usize - 1]));
        }
        first.push(target.len() as u32);
        let least = minima(&target, &level);
        let (defines, found) = (vec![0; count], vec![0; count]);
        Joins { cfg, blocks, place, end, level, first, target, least, defines, found, enquiry: 0 }
    }

    /// The place of a block; none if it is unreachable.
    pub fn place(&self, block: BlockId) -> Option<u32> {
        self.place[block].checked_sub(1)
    }

    /// The block at a place.
    pub fn block(&self, place: u32) -> BlockId {
        self.blocks[place as usize]
    }

    /// Whether the block at one place dominates the one at another.
    pub fn dominates(&self, above: u32, below: u32) -> bool {
        (above..self.end[above as usize]).contains(&below)
    }

    /// The blocks of the iterated dominance frontier of the blocks that define a variable at whose start it is live, as places
    /// in order; `None` if the budget, from which each step takes one, does not reach.
    pub fn live_frontier(&mut self, touches: &Touches, budget: &mut usize) -> Option<Vec<u32>> {
        self.enquiry += 1;
        let mut frontier = self.frontier(touches, budget)?;
        frontier.sort_unstable();
        self.retain_live(touches, &mut frontier, budget)?;
        Some(frontier)
    }

    /// The iterated dominance frontier below `touches.within`.
    fn frontier(&mut self, touches: &Touches, budget: &mut usize) -> Option<Vec<u32>> {
        let top = touches.within.map_or(0, |place| self.level[place as usize] + 1);
        let mut result = Vec::new();
        let mut roots: BinaryHeap<(u32, u32)> = BinaryHeap::new();
        for &place in &touches.defines {
            if std::mem::replace(&mut self.defines[place as usize], self.enquiry) != self.enquiry {
                roots.push((self.level[place as usize], place));
            }
        }
        // Ranges of places whose edges were looked at, by their starts.
        let mut done: BTreeMap<u32, u32> = BTreeMap::new();
        let mut leaving = Vec::new();
        while let Some((level, root)) = roots.pop() {
            let end = self.end[root as usize];
            let mut start = root;
            while let Some((&inner, &after)) = done.range(root..end).next() {
                self.leaving(start..inner, level, &mut leaving);
                done.remove(&inner);
                start = after;
            }
            self.leaving(start..end, level, &mut leaving);
            done.insert(root, end);
            *budget = budget.checked_sub(1 + leaving.len())?;
            for target in leaving.drain(..) {
                let t = target as usize;
                if self.level[t] >= top && self.found[t] != self.enquiry {
                    self.found[t] = self.enquiry;
                    result.push(target);
                    if self.defines[t] != self.enquiry {
                        roots.push((self.level[t], target));
                    }
                }
            }
        }
        Some(result)
    }

    /// The targets, at most as deep as `level`, of the edges out of a range of places.
    fn leaving(&self, places: std::ops::Range<u32>, level: u32, found: &mut Vec<u32>) {
        let (from, to) = (self.first[places.start as usize], self.first[places.end as usize]);
        let (from, to) = (from as usize, to as usize);
        if to - from <= 8 {
            let targets = self.target[from..to].iter();
            found.extend(targets.filter(|&&t| self.level[t as usize] <= level));
            return;
        }
        let leaves = self.least.len() / 2;
        // (node, its first leaf, leaves below it)
        let mut pending = vec![(1usize, 0usize, leaves)];
        while let Some((node, at, size)) = pending.pop() {
            if at >= to || at + size <= from || self.least[node] > level {
                continue;
            }
            if size == 1 {
                found.push(self.target[at]);
            } else {
                pending.push((2 * node + 1, at + size / 2, size / 2));
                pending.push((2 * node, at, size / 2));
            }
        }
    }

    /// Keeps the places of a sorted frontier at whose start the variable is live.
    fn retain_live(
        &mut self,
        touches: &Touches,
        frontier: &mut Vec<u32>,
        budget: &mut usize,
    ) -> Option<()> {
        let mut live = vec![false; frontier.len()];
        let mut read_inside = Vec::new();
        for &place in &touches.exposed {
            match frontier.binary_search(&place) {
                Ok(at) => live[at] = true,
                Err(_) => read_inside.push(place),
            }
        }
        if !live.iter().all(|&l| l) {
            self.spread(touches, read_inside, frontier, &mut live, budget)?;
        }
        let mut keep = live.into_iter();
        frontier.retain(|_| keep.next().unwrap_or(true));
        Some(())
    }

    /// Marks the blocks of the frontier whose value reaches a read: at a block that reads first, or through a join that is live.
    fn spread(
        &self,
        touches: &Touches,
        read_inside: Vec<u32>,
        frontier: &[u32],
        live: &mut [bool],
        budget: &mut usize,
    ) -> Option<()> {
        let mut events: Vec<(u32, Event)> = Vec::new();
        for (number, &place) in frontier.iter().enumerate() {
            events.push((place, Event::Join(number as u32)));
            for &pred in self.cfg.predecessors(self.block(place)) {
                events.extend(self.place(pred).map(|p| (p, Event::Entry(number as u32))));
            }
        }
        events.extend(read_inside.into_iter().map(|place| (place, Event::Read)));
        events.extend(touches.defines.iter().map(|&place| (place, Event::Define)));
        *budget = budget.checked_sub(events.len())?;
        events.sort_unstable();
        // Blocks around the present one whose values have not been replaced; a join by its number.
        let mut around: Vec<(u32, Option<u32>)> = Vec::new();
        // (a join, a join whose value enters it)
        let mut enters: Vec<(u32, u32)> = Vec::new();
        for (place, event) in events {
            while around.last().is_some_and(|&(end, _)| end <= place) {
                around.pop();
            }
            let end = self.end[place as usize];
            let reaching = around.last().and_then(|&(_, join)| join);
            match event {
                Event::Join(number) => around.push((end, Some(number))),
                Event::Define => around.push((end, None)),
                Event::Read => reaching.into_iter().for_each(|join| live[join as usize] = true),
                Event::Entry(number) => enters.extend(reaching.map(|join| (number, join))),
            }
        }
        enters.sort_unstable();
        let mut pending: Vec<u32> =
            (0..frontier.len() as u32).filter(|&n| live[n as usize]).collect();
        while let Some(number) = pending.pop() {
            let from = enters.partition_point(|&(join, _)| join < number);
            for &(_, join) in enters[from..].iter().take_while(|&&(join, _)| join == number) {
                if !std::mem::replace(&mut live[join as usize], true) {
                    pending.push(join);
                }
            }
        }
        Some(())
    }
}

/// What happens in a block, in the order in which it does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The join of this number gives a value.
    Join(u32),
    /// The value is read.
    Read,
    /// The block gives a value.
    Define,
    /// The value at the end goes to the join of this number.
    Entry(u32),
}

/// The complete tree of minima over the levels of the targets.
fn minima(target: &[u32], level: &[u32]) -> Vec<u32> {
    let leaves = target.len().next_power_of_two();
    let mut least = vec![u32::MAX; 2 * leaves];
    for (i, &t) in target.iter().enumerate() {
        least[leaves + i] = level[t as usize];
    }
    for node in (1..leaves).rev() {
        least[node] = least[2 * node].min(least[2 * node + 1]);
    }
    least
}

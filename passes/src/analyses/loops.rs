//! The natural loops of a function, as a forest: closures of the back edges that lead to a dominator. Cycles that can be entered
//! at several places are no natural loops and not listed.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function};

/// A loop: all blocks that lead back to a header that dominates them.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block that all ways into the loop come by.
    pub header: BlockId,
    /// The innermost loop around it.
    pub parent: Option<u32>,
    /// 1 for an outermost loop.
    pub depth: u32,
    /// The only block that enters the loop, if it leads nowhere else.
    pub preheader: Option<BlockId>,
    /// The blocks that lead back to the header.
    pub latches: Vec<BlockId>,
    /// Times of entry and exit of a walk over the forest.
    interval: (u32, u32),
}

/// All natural loops.
#[derive(Debug, Default)]
pub struct Loops {
    /// Inner loops before the loops around them.
    pub loops: Vec<Loop>,
    /// Number plus one of the innermost loop that a block is in.
    innermost: SecondaryMap<BlockId, u32>,
}

impl Loops {
    /// Finds the loops, inner ones first; nearly linear (a union-find over loops stands for the blocks of inner ones).
    pub fn compute(func: &Function, cfg: &ControlFlowGraph, dominators: &DominatorTree) -> Loops {
        let mut found = Loops::default();
        // Outermost loop found so far around a loop.
        let mut outer: Vec<u32> = Vec::new();
        for &header in cfg.reverse_post_order().iter().rev() {
            let is_latch = |&p: &BlockId| dominators.dominates(header, p);
            let latches: Vec<BlockId> =
                cfg.predecessors(header).iter().copied().filter(is_latch).collect();
            if latches.is_empty() {
                continue;
            }
            let number = found.loops.len() as u32;
            outer.push(number);
            let entries: Vec<BlockId> =
                cfg.predecessors(header).iter().copied().filter(|p| !is_latch(p)).collect();
            let preheader = match entries[..] {
                [entry] if func.successors(entry).len() == 1 => Some(entry),
                _ => None,
            };
            let mut pending = latches.clone();
            let (parent, depth, interval) = (None, 0, (0, 0));
            found.loops.push(Loop { header, parent, depth, preheader, latches, interval });
            while let Some(block) = pending.pop() {
                match found.innermost[block].checked_sub(1) {
                    None => {
                        found.innermost[block] = number + 1;
                        if block != header {
                            pending.extend_from_slice(cfg.predecessors(block));
                        }
                    }
                    Some(inner) => {
                        let inner = outermost(&mut outer, inner);
                        if inner != number {
                            outer[inner as usize] = number;
                            found.loops[inner as usize].parent = Some(number);
                            let head = found.loops[inner as usize].header;
                            pending.extend_from_slice(cfg.predecessors(head));
                        }
                    }
                }
            }
            if found.innermost[header] == 0 {
                found.innermost[header] = number + 1;
            }
        }
        found.number_forest();
        found
    }

    fn number_forest(&mut self) {
        // Outer loops have higher numbers.
        for number in (0..self.loops.len()).rev() {
            let parent = self.loops[number].parent;
            let depth = parent.map_or(0, |p| self.loops[p as usize].depth) + 1;
            self.loops[number].depth = depth;
        }
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.loops.len()];
        let mut pending: Vec<(u32, bool)> = Vec::new();
        for (number, l) in self.loops.iter().enumerate() {
            match l.parent {
                Some(parent) => children[parent as usize].push(number as u32),
                None => pending.push((number as u32, false)),
            }
        }
        let mut time = 0;
        while let Some((number, left)) = pending.pop() {
            let interval = &mut self.loops[number as usize].interval;
            *(if left { &mut interval.1 } else { &mut interval.0 }) = time;
            time += 1;
            if !left {
                pending.push((number, true));
                pending.extend(children[number as usize].iter().map(|&c| (c, false)));
            }
        }
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, block: BlockId) -> Option<u32> {
        self.innermost[block].checked_sub(1)
    }

    /// Whether a block is in a loop, or in one inside of it.
    pub fn contains(&self, number: u32, block: BlockId) -> bool {
        self.innermost(block).is_some_and(|inner| self.is_around(number, inner))
    }

    /// Whether no loop is inside of it.
    pub fn is_innermost(&self, number: u32) -> bool {
        let (entry, exit) = self.loops[number as usize].interval;
        exit == entry + 1
    }

    /// The blocks of every loop that has none inside, in reverse post-order; empty for the others. Linear.
    pub fn innermost_blocks(&self, cfg: &ControlFlowGraph) -> Vec<Vec<BlockId>> {
        let mut blocks: Vec<Vec<BlockId>> = vec![Vec::new(); self.loops.len()];
        for &block in cfg.reverse_post_order() {
            if let Some(l) = self.innermost(block).filter(|&l| self.is_innermost(l)) {
                blocks[l as usize].push(block);
            }
        }
        blocks
    }

    /// All blocks of a loop, those of inner loops included, in reverse post-order; costs a walk back from its latches.
    pub fn blocks(&self, cfg: &ControlFlowGraph, number: u32) -> Vec<BlockId> {
        let this = &self.loops[number as usize];
        let mut seen = rustc_hash::FxHashSet::default();
        seen.insert(this.header);
        let mut found = vec![this.header];
        let mut pending = this.latches.clone();
        while let Some(block) = pending.pop() {
            if seen.insert(block) {
                found.push(block);
                pending.extend_from_slice(cfg.predecessors(block));
            }
        }
        found.sort_unstable_by_key(|&b| cfg.number(b));
        found
    }

    /// Whether the first loop is around the second, or is it.
    pub fn is_around(&self, outer: u32, inner: u32) -> bool {
        let (outer, inner) =
            (self.loops[outer as usize].interval, self.loops[inner as usize].interval);
        outer.0 <= inner.0 && inner.1 <= outer.1
    }

    /// Depth of the innermost loop that is around both; costs the levels from `a` up to it.
    pub fn common_depth(&self, a: Option<u32>, b: Option<u32>) -> u32 {
        let Some(b) = b else { return 0 };
        let mut at = a;
        while let Some(number) = at {
            let this = &self.loops[number as usize];
            if self.is_around(number, b) {
                return this.depth;
            }
            if self.is_around(b, number) {
                return self.loops[b as usize].depth;
            }
            at = this.parent;
        }
        0
    }
}

/// The outermost loop found so far around a loop, with path compression.
fn outermost(outer: &mut [u32], number: u32) -> u32 {
    let mut top = number;
    while outer[top as usize] != top {
        top = outer[top as usize];
    }
    let mut at = number;
    while outer[at as usize] != top {
        at = std::mem::replace(&mut outer[at as usize], top);
    }
    top
}

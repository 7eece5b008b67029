//! Dominator tree, by the Semi-NCA algorithm (L. Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005).

use crate::cfg::ControlFlowGraph;
use crate::{BlockId, Function, InstId, ValueDef, ValueId};
use cranelift_entity::SecondaryMap;

const NONE: u32 = u32::MAX;

/// Immediate dominators of the reachable blocks, with constant-time dominance queries. Not updated when the function changes.
#[derive(Clone, Debug, Default)]
pub struct DominatorTree {
    /// Blocks in the depth-first preorder in which they were numbered.
    order: Vec<BlockId>,
    /// Depth-first number plus one; 0 if unreachable.
    number: SecondaryMap<BlockId, u32>,
    /// Immediate dominator by number; that of the entry is itself.
    idom: Vec<u32>,
    /// Entry and exit times of a walk over the dominator tree, by number.
    interval: Vec<(u32, u32)>,
    /// The children of all blocks, by number, those of one block side by side in ascending order.
    children: Vec<u32>,
    /// Where the children of a block start, by number; one more at the end.
    first_child: Vec<u32>,
}

impl DominatorTree {
    /// Computes the tree.
    pub fn compute(function: &Function, cfg: &ControlFlowGraph) -> DominatorTree {
        let mut tree = DominatorTree::default();
        let Some(entry) = function.entry() else { return tree };
        let parent = tree.number_blocks(function, entry);
        tree.idom = immediate_dominators(&parent, |n| {
            cfg.predecessors(tree.order[n as usize]).iter().map(|&p| tree.number[p] - 1)
        });
        tree.number_tree();
        tree
    }

    fn number_blocks(&mut self, function: &Function, entry: BlockId) -> Vec<u32> {
        let mut parent = vec![0];
        self.order.push(entry);
        self.number[entry] = 1;
        let mut stack = vec![(entry, 0usize)];
        while let Some((block, next)) = stack.last_mut() {
            let Some(&target) = function.successors(*block).get(*next) else {
                stack.pop();
                continue;
            };
            *next += 1;
            if self.number[target] == 0 {
                parent.push(self.number[*block] - 1);
                self.order.push(target);
                self.number[target] = self.order.len() as u32;
                stack.push((target, 0));
            }
        }
        parent
    }

    fn number_tree(&mut self) {
        let count = self.order.len();
        // Starts move up by one block while the children are put in their places.
        let mut next = vec![0u32; count + 2];
        for n in 1..count {
            next[self.idom[n] as usize + 2] += 1;
        }
        for n in 1..next.len() {
            next[n] += next[n - 1];
        }
        self.children = vec![0; count.saturating_sub(1)];
        for n in 1..count {
            let place = &mut next[self.idom[n] as usize + 1];
            self.children[*place as usize] = n as u32;
            *place += 1;
        }
        next.pop();
        self.first_child = next;
        self.interval = vec![(0, 0); count];
        let mut time = 0;
        let mut stack = vec![(0u32, 0usize)];
        while let Some((n, next)) = stack.last_mut() {
            if *next == 0 {
                self.interval[*n as usize].0 = time;
                time += 1;
            }
            if let Some(&child) = self.children_of(*n as usize).get(*next) {
                *next += 1;
                stack.push((child, 0));
            } else {
                self.interval[*n as usize].1 = time;
                time += 1;
                stack.pop();
            }
        }
    }

    #[inline]
    fn index(&self, block: BlockId) -> Option<usize> {
        (self.number[block] as usize).checked_sub(1)
    }

    /// The immediate dominator; none for the entry and for unreachable blocks.
    #[inline]
    pub fn immediate_dominator(&self, block: BlockId) -> Option<BlockId> {
        let n = self.index(block)?;
        (n != 0).then(|| self.order[self.idom[n] as usize])
    }

    /// The blocks whose immediate dominator this is.
    #[inline]
    pub fn children(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let list = self.index(block).map_or(&[][..], |n| self.children_of(n));
        list.iter().map(|&n| self.order[n as usize])
    }

    #[inline]
    fn children_of(&self, number: usize) -> &[u32] {
        &self.children[self.first_child[number] as usize..self.first_child[number + 1] as usize]
    }

    /// Whether every path from the entry to `b` passes `a`; a block dominates itself. False if either is unreachable.
    #[inline]
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (Some(a), Some(b)) = (self.index(a), self.index(b)) else { return false };
        let ((a0, a1), (b0, b1)) = (self.interval[a], self.interval[b]);
        a0 <= b0 && b1 <= a1
    }

    /// Whether the block is reachable from the entry.
    #[inline]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block] != 0
    }

    /// Blocks in a preorder of the dominator tree.
    pub fn preorder(&self) -> Vec<BlockId> {
        // Each block takes two steps of time, of which the first is its place among those that were entered.
        let mut by_time = vec![NONE; 2 * self.order.len()];
        for (n, &(entry, _)) in self.interval.iter().enumerate() {
            by_time[entry as usize] = n as u32;
        }
        by_time.into_iter().filter(|&n| n != NONE).map(|n| self.order[n as usize]).collect()
    }

    /// Whether `value` is available at the end of `block` (for phi edges) or, for `Some(user)`, right before `user` in that block.
    /// `position` orders instructions of one block; see [`InstOrder`].
    pub fn value_available(
        &self,
        function: &Function,
        order: &InstOrder,
        value: ValueId,
        block: BlockId,
        before: Option<InstId>,
    ) -> bool {
        let ValueDef::Inst(def) = function.value_def(value) else { return true };
        let Some(def_block) = function.inst_block(def) else { return false };
        if def_block == block {
            return before.is_none_or(|user| order.number(def) < order.number(user));
        }
        self.dominates(def_block, block)
    }
}

/// Positions of the instructions of a function within their blocks, for order queries in O(1).
#[derive(Clone, Debug, Default)]
pub struct InstOrder(SecondaryMap<InstId, u32>);

impl InstOrder {
    /// Numbers all placed instructions.
    pub fn compute(function: &Function) -> InstOrder {
        let mut map = SecondaryMap::with_capacity(function.inst_count());
        for block in function.blocks() {
            for (i, inst) in function.insts(block).enumerate() {
                map[inst] = i as u32 + 1;
            }
        }
        InstOrder(map)
    }

    /// Position within its block.
    #[inline]
    pub fn number(&self, inst: InstId) -> u32 {
        self.0[inst]
    }
}

/// Semi-NCA over depth-first numbers: `parent` of the spanning tree and predecessors by number.
pub fn immediate_dominators<I>(parent: &[u32], predecessors: impl Fn(u32) -> I) -> Vec<u32>
where
    I: Iterator<Item = u32>,
{
    let count = parent.len();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut forest = Forest { ancestor: vec![NONE; count], label: (0..count as u32).collect() };
    for n in (1..count as u32).rev() {
        for pred in predecessors(n) {
            let best = forest.minimum(pred, &semi);
            semi[n as usize] = semi[n as usize].min(semi[best as usize]);
        }
        forest.ancestor[n as usize] = parent[n as usize];
    }
    let mut idom = parent.to_vec();
    for n in 1..count {
        while idom[n] > semi[n] {
            idom[n] = idom[idom[n] as usize];
        }
    }
    idom
}

/// Link-eval forest with path compression.
struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
}

impl Forest {
    /// The node of least semidominator on the path from `node` up to, but without, the root of its tree.
    fn minimum(&mut self, node: u32, semi: &[u32]) -> u32 {
        if self.ancestor[node as usize] == NONE {
            return node;
        }
        let mut path = Vec::new();
        let mut top = node;
        while self.ancestor[self.ancestor[top as usize] as usize] != NONE {
            path.push(top);
            top = self.ancestor[top as usize];
        }
        for &n in path.iter().rev() {
            let above = self.ancestor[n as usize];
            let (mine, theirs) = (self.label[n as usize], self.label[above as usize]);
            if semi[theirs as usize] < semi[mine as usize] {
                self.label[n as usize] = theirs;
            }
            self.ancestor[n as usize] = self.ancestor[above as usize];
        }
        self.label[node as usize]
    }
}

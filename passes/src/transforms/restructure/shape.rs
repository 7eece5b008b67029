//! The nesting of a reducible flat function: which loop a block belongs to, and which node leads in all places to which.
//!
//! A *level* is the function or the body of one loop. On its level a block is a node; a loop inside it is one node too, named by
//! its header. So a header is a node twice: of the loop's own level, where it comes first, and, as the loop, of the level
//! around. The edges of a level without those back to its header make an acyclic graph, in which reverse post-order numbers of
//! the whole function grow along every edge.
//!
//! The *parent* of a node is its immediate dominator within its level. A child with one edge only, from the parent itself, is an
//! *arm*; every other child is a *join*.

use crate::analyses::loops::Loops;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function, Op};

/// A node: twice the number of the block, plus one for the loop that it heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(pub u32);

/// Where an edge leads, seen from the level of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To the next round of the loop.
    Continue,
    /// Out of the loop.
    Exit,
    /// To a node of the level.
    Node(Node),
}

/// What a loop needs to be written.
#[derive(Clone, Debug)]
pub(super) struct LoopShape {
    pub header: BlockId,
    pub parent: Option<u32>,
    /// Whether the header ends in a test that leaves the loop or goes on: the loop is a `loop`, else a `simple_loop`.
    pub tested: bool,
    /// The block that all rounds of a tested loop end with, if there is one.
    pub update: Option<BlockId>,
}

pub(super) struct Shape {
    /// Reachable blocks in reverse post-order.
    pub order: Vec<BlockId>,
    /// Position in it.
    number: SecondaryMap<BlockId, u32>,
    /// The loop whose level a block is on; for a header the loop it heads.
    level: SecondaryMap<BlockId, Option<u32>>,
    pub loops: Vec<LoopShape>,
    /// By node: children that are joins, in order.
    pub joins: Vec<Vec<Node>>,
    /// By node: whether it is an arm.
    arm: Vec<bool>,
    /// By node: whether it stands inside a case of its level.
    in_switch: Vec<bool>,
}

impl Shape {
    /// The shape of a reducible function; nearly linear.
    pub fn compute(func: &Function) -> Shape {
        let cfg = ControlFlowGraph::compute(func);
        let dominators = DominatorTree::compute(func, &cfg);
        let order = cfg.reverse_post_order().to_vec();
        let mut number = SecondaryMap::new();
        for (i, &block) in order.iter().enumerate() {
            number[block] = i as u32;
        }
        let forest = Loops::compute(func, &cfg, &dominators);
        let nodes = 2 * order.len();
        let mut shape = Shape {
            order,
            number,
            level: SecondaryMap::new(),
            loops: Vec::new(),
            joins: vec![Vec::new(); nodes],
            arm: vec![false; nodes],
            in_switch: vec![false; nodes],
        };
        shape.find_loops(&forest);
        shape.take_in_ends(func, &cfg, &forest);
        shape.recognise_tests(func, &forest);
        shape.link(func, &dominators);
        shape
    }

    /// The block of a node.
    pub fn block(&self, node: Node) -> BlockId {
        self.order[node.0 as usize / 2]
    }

    /// The number by which a selector names a block.
    pub fn number(&self, block: BlockId) -> u32 {
        self.number[block]
    }

    /// The node of a block on its own level.
    pub fn plain(&self, block: BlockId) -> Node {
        Node(2 * self.number[block])
    }

    fn loop_node(&self, number: u32) -> Node {
        Node(2 * self.number[self.loops[number as usize].header] + 1)
    }

    pub fn is_loop(node: Node) -> bool {
        node.0 % 2 == 1
    }

    /// The loop that a block heads.
    pub fn headed(&self, block: BlockId) -> Option<u32> {
        self.level[block].filter(|&l| self.loops[l as usize].header == block)
    }

    /// The loop whose level a node is on.
    pub fn level(&self, node: Node) -> Option<u32> {
        let level = self.level[self.block(node)];
        match level {
            Some(own) if Shape::is_loop(node) => self.loops[own as usize].parent,
            _ => level,
        }
    }

    pub fn is_arm(&self, node: Node) -> bool {
        self.arm[node.0 as usize]
    }

    pub fn in_switch(&self, node: Node) -> bool {
        self.in_switch[node.0 as usize]
    }

    /// Where an edge to `target` leads from a block on the level of loop `level`.
    pub fn target(&self, level: Option<u32>, target: BlockId) -> Target {
        if let Some(level) = level {
            let inside = &self.loops[level as usize];
            if target == inside.header || inside.update == Some(target) {
                return Target::Continue;
            }
        }
        let own = self.level[target];
        match self.headed(target) {
            Some(headed) if self.loops[headed as usize].parent == level => {
                Target::Node(self.loop_node(headed))
            }
            None if own == level => Target::Node(self.plain(target)),
            _ => Target::Exit,
        }
    }

    fn find_loops(&mut self, forest: &Loops) {
        self.loops = { forest.loops.iter() }
            .map(|l| LoopShape { header: l.header, parent: l.parent, tested: false, update: None })
            .collect();
        for &block in &self.order {
            self.level[block] = forest.innermost(block);
        }
    }

    /// Blocks that end the thread, come from one block of a loop and do nothing that others could see the order of, stay in
    /// the loop: an early `return` is no exit to be dispatched. The last exit of a loop and that of its test stay exits.
    fn take_in_ends(&mut self, func: &Function, cfg: &ControlFlowGraph, forest: &Loops) {
        let mut exits = self.count_exits(func, forest);
        let edges = self.count_edges(func, |_, _| true);
        for &block in &self.order {
            let [pred] = *cfg.predecessors(block) else { continue };
            let quiet = |inst| {
                let effects = func.effects(inst);
                func.op(inst).is_terminator() || !(effects.volatile || effects.convergent)
            };
            let ends = func.successors(block).is_empty() && func.insts(block).all(quiet);
            if edges[block] != 1 || !ends {
                continue;
            }
            let mut level = self.level[pred];
            while let Some(number) = level {
                let inside = &self.loops[number as usize];
                if inside.header != pred && exits[number as usize] > 1 {
                    break;
                }
                level = inside.parent;
            }
            self.level[block] = level;
            while let Some(number) = level {
                exits[number as usize] -= 1;
                level = self.loops[number as usize].parent;
            }
        }
    }

    /// How many edges (source, target) that `counts` lead to each block. One walk: a block may have any number of targets.
    fn count_edges(
        &self,
        func: &Function,
        counts: impl Fn(BlockId, BlockId) -> bool,
    ) -> SecondaryMap<BlockId, u32> {
        let mut edges = SecondaryMap::new();
        for &block in &self.order {
            for &target in func.successors(block) {
                edges[target] += u32::from(counts(block, target));
            }
        }
        edges
    }

    /// How many blocks outside of each loop its edges lead to.
    fn count_exits(&self, func: &Function, forest: &Loops) -> Vec<u32> {
        let mut exits: Vec<(u32, u32)> = Vec::new();
        for &block in &self.order {
            for &target in func.successors(block) {
                let common = forest.common_depth(self.level[block], self.level[target]);
                let mut level = self.level[block];
                while let Some(number) = level.filter(|&l| forest.loops[l as usize].depth > common)
                {
                    exits.push((number, self.number[target]));
                    level = forest.loops[number as usize].parent;
                }
            }
        }
        exits.sort_unstable();
        exits.dedup();
        let mut counts = vec![0; forest.loops.len()];
        exits.iter().for_each(|&(number, _)| counts[number as usize] += 1);
        counts
    }

    fn recognise_tests(&mut self, func: &Function, forest: &Loops) {
        for (number, found) in forest.loops.iter().enumerate() {
            let level = Some(number as u32);
            let header = self.loops[number].header;
            let exits =
                func.successors(header).iter().filter(|&&t| self.target(level, t) == Target::Exit);
            let is_test = func.terminator(header).is_some_and(|t| func.op(t) == Op::CondBr);
            if !is_test || exits.count() != 1 {
                continue;
            }
            self.loops[number].tested = true;
            if let [latch] = found.latches[..]
                && latch != header
                && self.level[latch] == level
                && func.successors(latch).len() == 1
            {
                self.loops[number].update = Some(latch);
            }
        }
    }

    /// The node of the level that stands for a block of it, or of a loop inside it.
    fn representative(&self, block: BlockId, level: Option<u32>) -> Node {
        let mut own = self.level[block];
        if own == level {
            return self.plain(block);
        }
        while let Some(number) = own {
            let parent = self.loops[number as usize].parent;
            if parent == level {
                return self.loop_node(number);
            }
            own = parent;
        }
        self.plain(block)
    }

    fn link(&mut self, func: &Function, dominators: &DominatorTree) {
        let is_back = |from, to| self.headed(to).is_some() && dominators.dominates(to, from);
        let edges = self.count_edges(func, |from, to| !is_back(from, to));
        for i in 1..self.order.len() {
            let block = self.order[i];
            let headed = self.headed(block);
            let node = headed.map_or(self.plain(block), |l| self.loop_node(l));
            let level = self.level(node);
            let is_update = level.is_some_and(|l| self.loops[l as usize].update == Some(block));
            let Some(dominator) = dominators.immediate_dominator(block) else { continue };
            if is_update {
                continue;
            }
            let parent = self.representative(dominator, level);
            // The only edge into a block comes from its dominator.
            let is_arm = edges[block] == 1 && !Shape::is_loop(parent);
            self.arm[node.0 as usize] = is_arm;
            let is_case = is_arm && { func.terminator(dominator) }
                .is_some_and(|t| func.op(t) == Op::IndexedBranch);
            self.in_switch[node.0 as usize] = is_case || self.in_switch(parent);
            if !is_arm {
                self.joins[parent.0 as usize].push(node);
            }
        }
    }
}

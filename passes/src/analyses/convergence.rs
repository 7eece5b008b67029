//! Convergence regions: where the threads that part at a branch are apart.
//!
//! The region of a block with several successors (its *entry*) holds the blocks that lie on paths from it to its *merge*, the
//! nearest block that post-dominates all successors; the merge is not part of it. Without a merge the threads never meet again.
//!
//! The forest follows the dominator tree: the parent of a region is the region of the nearest dominator that the entry lies in.
//! A block `x` below a branch `d` lies in its region unless the merge lies between them in the dominator tree: a path from `d` to
//! `x` that does not come by `d` again passes every block between.

use super::post_dominators::PostDominatorTree;
use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{BlockId, Function};

/// One region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    pub entry: BlockId,
    /// Where the threads meet again; none for the virtual exit.
    pub merge: Option<BlockId>,
    /// The region around, by number.
    pub parent: Option<u32>,
    pub children: Vec<u32>,
}

/// All regions, outer ones before those inside.
#[derive(Debug, Default)]
pub struct ConvergenceRegions {
    pub regions: Vec<Region>,
    /// Number plus one of the innermost region, of those whose entry dominates the block, that a block is in. An entry is in its
    /// own region.
    innermost: SecondaryMap<BlockId, u32>,
}

impl ConvergenceRegions {
    /// Finds the regions in one walk down the dominator tree.
    pub fn compute(
        func: &Function,
        dominators: &DominatorTree,
        post_dominators: &PostDominatorTree,
    ) -> ConvergenceRegions {
        let mut found = ConvergenceRegions::default();
        for block in dominators.preorder() {
            let above = dominators.immediate_dominator(block);
            let mut around = above.and_then(|b| found.innermost(b));
            while let Some(number) = around {
                let region = &found.regions[number as usize];
                if !is_left(dominators, region, block) {
                    break;
                }
                around = region.parent;
            }
            let targets = func.successors(block);
            if targets.iter().any(|t| *t != targets[0]) {
                let number = found.regions.len() as u32;
                let merge = post_dominators.immediate_post_dominator(block);
                found.regions.push(Region {
                    entry: block,
                    merge,
                    parent: around,
                    children: Vec::new(),
                });
                if let Some(parent) = around {
                    found.regions[parent as usize].children.push(number);
                }
                around = Some(number);
            }
            found.innermost[block] = around.map_or(0, |n| n + 1);
        }
        found
    }

    /// The innermost region, of those whose entry dominates the block, that the block is in.
    pub fn innermost(&self, block: BlockId) -> Option<u32> {
        self.innermost[block].checked_sub(1)
    }

    /// All blocks of a region, the entry first, in no other particular order; costs a walk over them.
    pub fn members(&self, func: &Function, number: u32) -> Vec<BlockId> {
        let region = &self.regions[number as usize];
        let mut seen = rustc_hash::FxHashSet::default();
        let mut members = vec![region.entry];
        seen.insert(region.entry);
        let mut next = 0;
        while let Some(&block) = members.get(next) {
            next += 1;
            for &target in func.successors(block) {
                if Some(target) != region.merge && seen.insert(target) {
                    members.push(target);
                }
            }
        }
        members
    }

    /// The regions of a function.
    pub fn of(func: &Function) -> ConvergenceRegions {
        let cfg = ControlFlowGraph::compute(func);
        let dominators = DominatorTree::compute(func, &cfg);
        let post_dominators = PostDominatorTree::compute(func, &cfg);
        ConvergenceRegions::compute(func, &dominators, &post_dominators)
    }
}

/// Whether the merge lies between the entry and a block that the entry dominates.
fn is_left(dominators: &DominatorTree, region: &Region, block: BlockId) -> bool {
    region.merge.is_some_and(|merge| {
        merge != region.entry
            && dominators.dominates(region.entry, merge)
            && dominators.dominates(merge, block)
    })
}

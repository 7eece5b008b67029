//! What is left open behind a piece of structured code: edges that have no place to lead to yet.

use luisac_xir::{BlockId, InstId};
use std::collections::BTreeSet;

/// A block that a terminator names, by position.
pub(super) type Slot = (InstId, usize);

/// The targets that paths out of a piece of code have in mind.
#[derive(Debug, Default)]
pub(super) struct Pending {
    targets: BTreeSet<u32>,
    /// Blocks at whose ends the decision for a target fell, as long as no selector is written there.
    unwritten: Vec<(BlockId, u32)>,
}

impl Pending {
    /// One target, decided at the end of `origin`.
    pub fn one(target: u32, origin: BlockId) -> Pending {
        Pending { targets: BTreeSet::from([target]), unwritten: vec![(origin, target)] }
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// The only target.
    pub fn only(&self) -> Option<u32> {
        self.targets.first().copied().filter(|_| self.targets.len() == 1)
    }

    pub fn targets(&self) -> impl Iterator<Item = u32> + '_ {
        self.targets.iter().copied()
    }

    /// Takes a target out whose decisions are written.
    pub fn remove(&mut self, target: u32) {
        self.targets.remove(&target);
    }

    /// Adds targets; costs the smaller of both sides.
    pub fn merge(&mut self, mut other: Pending) {
        if other.targets.len() > self.targets.len() {
            std::mem::swap(&mut self.targets, &mut other.targets);
        }
        if other.unwritten.len() > self.unwritten.len() {
            std::mem::swap(&mut self.unwritten, &mut other.unwritten);
        }
        self.targets.append(&mut other.targets);
        self.unwritten.append(&mut other.unwritten);
    }

    /// The decisions that have no selector yet, which from now on count as written.
    pub fn drain_unwritten(&mut self) -> std::vec::Drain<'_, (BlockId, u32)> {
        self.unwritten.drain(..)
    }
}

/// A piece of structured code: one entry, and what is open behind it.
#[derive(Debug)]
pub(super) struct Piece {
    pub entry: BlockId,
    /// To be set to the block that follows.
    pub open: Vec<Slot>,
    /// Whether `open` holds the merge of a construct.
    pub has_role: bool,
    pub pending: Pending,
}

impl Piece {
    /// Whether no path leaves the piece at its end.
    pub fn ends(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes over what is open behind another piece; costs the smaller of both sides.
    pub fn take_open(&mut self, mut other: Piece) {
        if other.open.len() > self.open.len() {
            std::mem::swap(&mut self.open, &mut other.open);
        }
        self.open.append(&mut other.open);
        self.pending.merge(other.pending);
    }
}

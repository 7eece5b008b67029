//! The nodes of the graph as it grows, and the search for edges that others imply.

use super::graph::{Graph, JOINT, Rows};

/// In the place of a node, rope or segment: there is none.
pub(super) const NONE: u32 = u32::MAX;

/// Most nodes that are looked at to show a command's edges to be needed or not; a quarter of that for a joint's. An edge that this does not settle is kept: it
/// orders nothing that is not ordered anyway.
const SEARCH: u32 = 256;

/// Nodes, each with what it waits for. Edges go from smaller to larger numbers.
#[derive(Default)]
pub(super) struct Nodes {
    commands: Vec<u32>,
    level: Vec<u32>,
    /// All that a node was found to wait for.
    found: Rows,
    /// Of these, what the others do not imply.
    needed: Rows,
    /// The resource behind each of the needed edges.
    causes: Vec<u32>,
    /// Whether something waits for the node.
    followed: Vec<bool>,
    /// The search that has seen the node last.
    seen: Vec<u32>,
    search: u32,
    queue: Vec<u32>,
}

impl Nodes {
    pub(super) fn len(&self) -> u32 {
        self.commands.len() as u32
    }

    /// Whether nothing waits for the node.
    pub(super) fn is_last(&self, node: u32) -> bool {
        !self.followed[node as usize]
    }

    /// Adds a node for a command, or a joint, that waits for distinct others, each with the resource that says so.
    pub(super) fn add(&mut self, command: u32, waits: &mut Vec<(u32, u32)>) -> u32 {
        let deepest = waits.iter().map(|(n, _)| self.level[*n as usize]).max();
        self.level.push(match deepest {
            None => 0,
            Some(level) if command == JOINT => level,
            Some(level) => level + 1,
        });
        self.found.push(waits.iter().map(|(n, _)| *n));
        self.reduce(waits, if command == JOINT { SEARCH / 4 } else { SEARCH });
        for (node, cause) in waits.iter() {
            self.followed[*node as usize] = true;
            self.causes.push(*cause);
        }
        self.needed.push(waits.iter().map(|(n, _)| *n));
        self.commands.push(command);
        self.followed.push(false);
        self.seen.push(0);
        self.commands.len() as u32 - 1
    }

    /// Removes those that another one waits for, directly or not.
    ///
    /// The search goes from the others towards older nodes, over all edges that were found: those that are not needed are
    /// shortcuts. It ends at the oldest candidate, and at levels that no candidate lies below.
    fn reduce(&mut self, waits: &mut Vec<(u32, u32)>, mut budget: u32) {
        if waits.len() < 2 {
            return;
        }
        let oldest = waits.iter().map(|(n, _)| *n).min().unwrap_or(0);
        let lowest = waits.iter().map(|(n, _)| self.level[*n as usize]).min().unwrap_or(0);
        // Two numbers a search: one marks candidates, the next nodes that were reached.
        self.search = self.search.wrapping_add(2);
        if self.search < 2 {
            self.seen.fill(0);
            self.search = 2;
        }
        let (candidate, reached) = (self.search, self.search + 1);
        self.queue.clear();
        waits.sort_unstable_by_key(|(n, _)| std::cmp::Reverse(*n));
        for (node, _) in waits.iter() {
            self.seen[*node as usize] = candidate;
            self.queue.push(*node);
        }
        let (mut at, mut left) = (0, waits.len() - 1);
        while let Some(node) = self.queue.get(at).copied() {
            at += 1;
            for &before in self.found.row(node) {
                let seen = self.seen[before as usize];
                if before < oldest || seen == reached || self.level[before as usize] < lowest {
                    continue;
                }
                self.seen[before as usize] = reached;
                if seen == candidate {
                    // It is in the queue already.
                    left -= 1;
                } else {
                    self.queue.push(before);
                }
            }
            budget = budget.saturating_sub(1);
            if left == 0 || budget == 0 {
                break;
            }
        }
        waits.retain(|(n, _)| self.seen[*n as usize] == candidate);
    }

    pub(super) fn finish(self) -> Graph {
        Graph::new(self.commands, self.level, self.needed, self.causes)
    }
}

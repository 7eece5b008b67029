//! The nodes of the graph as it grows, and the edges that others imply.
//!
//! A new node waits for some others; of these, those are dropped that another one waits for, directly or not. They are
//! taken from the newest to the oldest, and three things tell whether one is implied by those before it:
//!
//! 1. *Ancestors as bits.* Each node knows which of the [`WINDOW`] nodes before it it waits for. Edges go from smaller to
//!    larger numbers, so no path between two nodes leaves the range between them: for near nodes the bits are exact. A node's bits
//!    are those of the nodes it waits for, shifted.
//! 2. *Chains.* A node that is the first to follow the newest one that it waits for is of the same chain. Of two nodes of a chain
//!    the later waits for the earlier, however far they are apart.
//! 3. *A search* for what is too far away, over all edges that were found, also those that are not needed: they are
//!    shortcuts. It looks at [`SEARCH`] nodes at most for all edges of a node. An edge that this does not settle is kept; it orders nothing that is
//!    not ordered anyway.

use super::graph::{Graph, JOINT, Rows};

/// In the place of a node, rope or segment: there is none.
pub(super) const NONE: u32 = u32::MAX;

/// Most nodes that are looked at for the edges of one node.
const SEARCH: usize = 64;

/// How far back the bits of a node reach.
const WINDOW: u32 = 64 * WORDS as u32;
const WORDS: usize = 16;
/// How many nodes keep their bits.
const KEPT: u32 = 2 * WINDOW;

/// Bit `k` says whether the node `k + 1` before is an ancestor.
type Bits = [u64; WORDS];

/// Adds the node `distance` before to `bits`, and its ancestors.
fn add_ancestors(bits: &mut Bits, of: &Bits, distance: u32) {
    let at = distance as usize - 1;
    bits[at / 64] |= 1 << (at % 64);
    let (words, shift) = (distance as usize / 64, distance % 64);
    if words >= WORDS {
        return;
    }
    let (to, from) = (&mut bits[words..], &of[..WORDS - words]);
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from << shift);
    if shift > 0 {
        to[1..].iter_mut().zip(from).for_each(|(to, from)| *to |= from >> (64 - shift));
    }
}

/// What is asked of a node all the time.
#[derive(Clone, Copy)]
struct Node {
    level: u32,
    chain: u32,
    /// Place in the chain.
    place: u32,
    /// Whether something waits for it.
    followed: bool,
}

/// Nodes, each with what it waits for. Edges go from smaller to larger numbers.
#[derive(Default)]
pub(super) struct Nodes {
    commands: Vec<u32>,
    nodes: Vec<Node>,
    chains: u32,
    /// All that a node was found to wait for.
    found: Rows,
    /// Of these, what the others do not imply.
    needed: Rows,
    /// The resource behind each of the needed edges.
    causes: Vec<u32>,
    /// The bits of the last [`KEPT`] nodes, in a ring.
    bits: Vec<Bits>,
    queue: Vec<u32>,
    /// The last search that has come to a node.
    seen: Vec<u32>,
    search: u32,
}

impl Nodes {
    pub(super) fn len(&self) -> u32 {
        self.commands.len() as u32
    }

    /// Whether nothing waits for the node.
    pub(super) fn is_last(&self, node: u32) -> bool {
        !self.nodes[node as usize].followed
    }

    /// Adds a node for a command, or a joint, that waits for distinct others, each with the resource that says so.
    pub(super) fn add(&mut self, command: u32, waits: &mut Vec<(u32, u32)>) -> u32 {
        let node = self.len();
        let deepest = waits.iter().map(|(n, _)| self.nodes[*n as usize].level).max();
        let level = match deepest {
            None => 0,
            Some(level) if command == JOINT => level,
            Some(level) => level + 1,
        };
        waits.sort_unstable_by_key(|(n, _)| std::cmp::Reverse(*n));
        self.found.push(waits.iter().map(|(n, _)| *n));
        let bits = self.reduce(node, waits);
        if self.bits.len() < KEPT as usize {
            self.bits.push(bits);
        } else {
            self.bits[(node % KEPT) as usize] = bits;
        }
        let newest = waits.first().map(|(n, _)| self.nodes[*n as usize]).filter(|n| !n.followed);
        let (chain, place) = match newest {
            Some(newest) => (newest.chain, newest.place + 1),
            None => {
                self.chains += 1;
                (self.chains - 1, 0)
            }
        };
        for (before, cause) in waits.iter() {
            self.nodes[*before as usize].followed = true;
            self.causes.push(*cause);
        }
        self.needed.push(waits.iter().map(|(n, _)| *n));
        self.nodes.push(Node { level, chain, place, followed: false });
        self.commands.push(command);
        node
    }

    /// Removes the nodes that newer ones wait for, and returns the ancestors of what waits for the rest.
    fn reduce(&mut self, node: u32, waits: &mut Vec<(u32, u32)>) -> Bits {
        let mut bits = [0; WORDS];
        let (mut kept, mut budget) = (0, SEARCH);
        for i in 0..waits.len() {
            let before = waits[i].0;
            let distance = node - before;
            let implied = if distance <= WINDOW {
                let at = distance - 1;
                bits[at as usize / 64] >> (at % 64) & 1 == 1
            } else {
                kept > 0 && self.is_behind(node, before, &waits[..kept], &mut budget)
            };
            if implied {
                continue;
            }
            if distance <= WINDOW {
                add_ancestors(&mut bits, &self.bits[(before % KEPT) as usize], distance);
            }
            waits[kept] = waits[i];
            kept += 1;
        }
        waits.truncate(kept);
        bits
    }

    /// Whether one of `newer` waits for a node that is too far away for the bits.
    fn is_behind(&mut self, node: u32, old: u32, newer: &[(u32, u32)], budget: &mut usize) -> bool {
        let Node { level, chain, place, .. } = self.nodes[old as usize];
        let follows = |n: &Node| n.chain == chain && n.place > place;
        if newer.iter().any(|(n, _)| follows(&self.nodes[*n as usize])) {
            return true;
        }
        self.seen.resize(self.nodes.len(), 0);
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            self.seen.fill(0);
            self.search = 1;
        }
        self.queue.clear();
        self.queue.extend(newer.iter().map(|(n, _)| *n));
        let mut at = 0;
        while let Some(&next) = self.queue.get(at).filter(|_| *budget > 0) {
            at += 1;
            *budget -= 1;
            if next - old <= WINDOW && node - next <= KEPT {
                let k = next - old - 1;
                if self.bits[(next % KEPT) as usize][k as usize / 64] >> (k % 64) & 1 == 1 {
                    return true;
                }
                continue;
            }
            for &before in self.found.row(next) {
                if before == old {
                    return true;
                }
                // A joint's level is that of what it waits for, so equal levels may follow each other.
                let n = &self.nodes[before as usize];
                if before > old && n.level >= level {
                    if follows(n) {
                        return true;
                    }
                    if self.queue.len() < 2 * SEARCH && self.seen[before as usize] != self.search {
                        self.seen[before as usize] = self.search;
                        self.queue.push(before);
                    }
                }
            }
        }
        false
    }

    pub(super) fn finish(self) -> Graph {
        let level = self.nodes.iter().map(|n| n.level).collect();
        Graph::new(self.commands, level, self.needed, self.causes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_shifted_over_all_words() {
        for distance in [1, 2, 63, 64, 65, 127, 128, 700, WINDOW - 1, WINDOW] {
            for ancestor in [1, 2, 63, 64, 65, 300, WINDOW - 1, WINDOW] {
                let mut of = [0; WORDS];
                of[(ancestor as usize - 1) / 64] |= 1 << ((ancestor - 1) % 64);
                let mut bits = [0; WORDS];
                add_ancestors(&mut bits, &of, distance);
                let set: Vec<u32> = (1..=WINDOW)
                    .filter(|k| bits[(*k as usize - 1) / 64] >> ((k - 1) % 64) & 1 == 1)
                    .collect();
                let mut wanted = vec![distance];
                wanted.extend(Some(distance + ancestor).filter(|k| *k <= WINDOW));
                assert_eq!(set, wanted, "{ancestor} before {distance}");
            }
        }
    }
}

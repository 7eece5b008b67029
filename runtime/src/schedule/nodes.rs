//! The nodes of the graph as it grows, and the edges that others imply.
//!
//! A new node waits for some others; of these, those are dropped that another one waits for, directly or not: the transitive
//! reduction of the graph, which is one only. Taken from the newest to the oldest, three things tell whether one is implied by
//! those before it:
//!
//! 1. *Ancestors as bits.* Each node knows which of the [`WINDOW`] nodes before it it waits for. Edges go from smaller to
//!    larger numbers, so no path between two nodes leaves the range between them: for near nodes the bits are exact.
//! 2. *Chains.* A node that is the first to follow the newest one that it waits for is of the same chain. Of two nodes of a chain
//!    the later waits for the earlier, however far they are apart.
//! 3. What remains, edges from far away, is settled by [`super::far`] when all nodes are there.

use super::{
    far::{Far, Question},
    graph::{Graph, JOINT, Rows},
};

/// In the place of a node, rope or segment: there is none.
pub(super) const NONE: u32 = u32::MAX;

/// How far back the bits of a node reach.
pub(super) const WINDOW: u32 = 64 * WORDS as u32;
pub(super) const WORDS: usize = 8;

/// Bit `k` is about the newest node before this one whose number is `k` modulo [`WINDOW`].
pub(super) type Bits = [u64; WORDS];

pub(super) fn has(bits: &Bits, k: u32) -> bool {
    bits[(k / 64) as usize % WORDS] >> (k % 64) & 1 == 1
}

pub(super) fn set(bits: &mut Bits, k: u32) {
    bits[(k / 64) as usize % WORDS] |= 1 << (k % 64);
}

/// Ones below bit `k`, zeros from there on.
fn below(k: u32) -> Bits {
    const EDGE: [u64; 2 * WORDS] = {
        let mut words = [0; 2 * WORDS];
        let mut i = 0;
        while i < WORDS {
            words[i] = u64::MAX;
            i += 1;
        }
        words
    };
    let word = (k / 64) as usize % WORDS;
    let mut bits = [0; WORDS];
    bits.copy_from_slice(&EDGE[WORDS - word..2 * WORDS - word]);
    bits[word] = (1 << (k % 64)) - 1;
    bits
}

/// Adds the node `before`, which `node` waits for, to the bits of `node`, and its ancestors.
fn add_ancestors(bits: &mut Bits, node: u32, before: u32, of: &Bits) {
    // Bits from `before` to `node` are about nodes too far away for `node`. They may go round the end.
    let (from, to) = (before % WINDOW, node % WINDOW);
    let (below_from, below_to) = (below(from), below(to));
    let round = if from < to { u64::MAX } else { 0 };
    for i in 0..WORDS {
        let (a, b) = (below_from[i], !below_to[i]);
        bits[i] |= of[i] & (a & b | (a | b) & round);
    }
    set(bits, from);
}

/// What a node waits for, and the resource that says so.
pub(super) type Wait = (u32, u32);

/// Nodes, each with what it waits for. Edges go from smaller to larger numbers.
#[derive(Default)]
pub(super) struct Nodes {
    /// The command and level of each.
    nodes: Vec<(u32, u32)>,
    /// The chain of each, and whether something waits for it.
    chains: Vec<(u32, bool)>,
    /// The last node that waits for one of a chain.
    on_chain: Vec<u32>,
    /// What each was found to wait for, but for what is known to be implied.
    needed: Rows,
    /// The resource behind each of the needed edges.
    causes: Vec<u32>,
    /// The bits of the last [`WINDOW`] nodes, in a ring.
    bits: Vec<Bits>,
    far: Far,
}

impl Nodes {
    pub(super) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Whether nothing waits for the node.
    pub(super) fn is_last(&self, node: u32) -> bool {
        !self.chains[node as usize].1
    }

    /// Adds a node for a command, or a joint. `waits` is taken out.
    pub(super) fn add(&mut self, command: u32, waits: &mut Vec<Wait>) -> u32 {
        let node = self.len();
        newest_first(waits);
        let deepest = waits.iter().map(|(n, _)| self.nodes[*n as usize].1).max();
        let level = match deepest {
            None => 0,
            Some(level) if command == JOINT => level,
            Some(level) => level + 1,
        };
        let bits = self.reduce(node, waits);
        match self.bits.get_mut((node % WINDOW) as usize) {
            Some(old) => *old = bits,
            None => self.bits.push(bits),
        }
        let newest = waits.first().map(|(n, _)| self.chains[*n as usize]);
        let chain = match newest {
            Some((chain, false)) => chain,
            _ => {
                self.on_chain.push(NONE);
                self.on_chain.len() as u32 - 1
            }
        };
        for (before, cause) in waits.iter() {
            self.chains[*before as usize].1 = true;
            self.causes.push(*cause);
        }
        self.needed.push(waits.drain(..).map(|(n, _)| n));
        self.nodes.push((command, level));
        self.chains.push((chain, false));
        node
    }

    /// Removes the nodes that newer ones wait for, and returns the ancestors of what waits for the rest.
    fn reduce(&mut self, node: u32, waits: &mut Vec<Wait>) -> Bits {
        let mut bits = [0; WORDS];
        // `deepest`: no node of this level or a greater one is behind what was kept.
        let (mut kept, mut deepest) = (0, 0);
        for i in 0..waits.len() {
            let before = waits[i].0;
            let ((command, level), (chain, _)) =
                (self.nodes[before as usize], self.chains[before as usize]);
            let on_chain = &mut self.on_chain[chain as usize];
            if node - before <= WINDOW {
                if kept > 0 && has(&bits, before % WINDOW) {
                    continue;
                }
                add_ancestors(&mut bits, node, before, &self.bits[(before % WINDOW) as usize]);
            } else if *on_chain == node {
                continue;
            } else if level < deepest {
                let edge = (self.needed.items() + kept) as u32;
                self.far.ask(Question { node, edge }, node - before);
            }
            *on_chain = node;
            // A joint's level is that of what it waits for.
            deepest = deepest.max(level + u32::from(command == JOINT));
            waits[kept] = waits[i];
            kept += 1;
        }
        waits.truncate(kept);
        bits
    }

    pub(super) fn finish(mut self) -> Graph {
        if self.far.settle(&mut self.needed) {
            let keep = self.needed.all().iter().map(|n| *n != NONE);
            let mut keep = keep.collect::<Vec<_>>().into_iter();
            self.causes.retain(|_| keep.next().unwrap_or(true));
            self.needed.remove(NONE);
        }
        Graph::new(self.nodes, self.needed, self.causes)
    }
}

/// Sorts from the newest to the oldest, each once with the resource that was found first.
fn newest_first(waits: &mut Vec<Wait>) {
    match waits[..] {
        [] | [_] => return,
        [a, b] if a.0 > b.0 => return,
        _ => {}
    }
    waits.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    waits.dedup_by_key(|(n, _)| *n);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For all kinds of distances: which nodes the bits name.
    #[test]
    fn ancestors_keep_their_places() {
        let near = [1, 2, 63, 64, 65, 127, 128, 300, WINDOW - 1, WINDOW];
        for node in (3 * WINDOW..4 * WINDOW).step_by(37) {
            for distance in near {
                for ancestor in near {
                    let before = node - distance;
                    let (mut of, mut bits) = ([0; WORDS], [0; WORDS]);
                    set(&mut of, (before - ancestor) % WINDOW);
                    add_ancestors(&mut bits, node, before, &of);
                    let found: Vec<u32> =
                        (1..=WINDOW).filter(|d| has(&bits, (node - d) % WINDOW)).collect();
                    let mut wanted = vec![distance];
                    wanted.extend(Some(distance + ancestor).filter(|d| *d <= WINDOW));
                    assert_eq!(found, wanted, "{ancestor} before {distance} before {node}");
                }
            }
        }
    }
}

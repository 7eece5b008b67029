//! What was last done to the parts of a resource: segments in a B+ tree, by place.
//!
//! The segments of a resource lie one after the other without gaps; each ends where the next one starts. A segment knows its
//! last writer and who has read it since. An access splits segments at its two ends, so the parts are exact; a write makes one
//! segment of all that it covers. A read of many segments is noted once, beside the parts of the tree that it covers, and
//! passed down when somebody comes by. So an access costs O(log n) beside the segments that it removes.
//!
//! A resource whose parts are all alike, as most are, has no tree at all.

use super::{nodes::NONE, ropes::Ropes};

/// What stands for the writers of a subtree is not known.
pub(super) const UNKNOWN: u32 = NONE - 1;

/// Most segments of a leaf, and children of other nodes: a power of two.
const FAN: usize = 16;

/// A segment, or what a tree is joined to its resource by.
#[derive(Clone, Copy)]
pub(super) struct Root {
    /// [`NONE`] if there is but one segment.
    pub(super) tree: u32,
    /// Who wrote the segment last, or [`NONE`]; of a tree, what stands for all writers: a node, [`NONE`] or [`UNKNOWN`].
    pub(super) writer: u32,
    /// Who has read it since; of a tree, who has read all of it, which it does not know yet.
    pub(super) readers: u32,
}

impl Root {
    /// One segment with this writer.
    pub(super) fn written(writer: u32) -> Self {
        Self { tree: NONE, writer, readers: NONE }
    }
}

/// Beside the number of a leaf.
const LEAF: u32 = 1 << 31;

/// A leaf's entries are segments. Other nodes' are children, as [`Root`] says.
#[derive(Clone)]
struct Node {
    len: usize,
    starts: [u64; FAN],
    writers: [u32; FAN],
    readers: [u32; FAN],
}

#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    writer: u32,
    readers: u32,
    child: u32,
}

impl Node {
    const EMPTY: Self = Self {
        len: 0,
        // What is behind the end never starts before anything.
        starts: [u64::MAX; FAN],
        writers: [NONE; FAN],
        readers: [NONE; FAN],
    };

    /// The first entry that starts at a place or after it.
    fn first_from(&self, at: u64) -> usize {
        // Halves without branches, which could not be foretold.
        let (mut i, mut half) = (0, FAN / 2);
        while half > 0 {
            i += if self.starts[i + half - 1] < at { half } else { 0 };
            half /= 2;
        }
        i + usize::from(self.starts[i] < at)
    }

    /// The entry that a place lies in.
    fn of(&self, at: u64) -> usize {
        let (mut i, mut half) = (0, FAN / 2);
        while half > 0 {
            i += if self.starts[i + half] <= at { half } else { 0 };
            half /= 2;
        }
        i
    }

    /// Whether a leaf that ends at `end` has room for what a write or read of a part of it leaves.
    fn has_room(&self, fan: usize, range: (u64, u64), end: u64, write: bool) -> bool {
        let (first, last) = (self.of(range.0), self.first_from(range.1));
        let parts = usize::from(self.starts[first] < range.0)
            + usize::from(self.end(last - 1, end) > range.1);
        let removed = if write { last - first - 1 } else { 0 };
        self.len + parts - removed <= fan
    }

    /// Where an entry ends, in a node that ends at `end`.
    fn end(&self, i: usize, end: u64) -> u64 {
        if i + 1 < self.len { self.starts[i + 1] } else { end }
    }
}

/// Where a range lies.
enum Place {
    /// It is an entry of this leaf.
    Segment(u32, usize),
    /// In this leaf, which ends there; it begins in this entry.
    Leaf(u32, u64, usize),
    Leaves,
}

/// The trees of all resources.
pub(super) struct Segments {
    /// As [`FAN`], or less.
    fan: usize,
    leaves: Vec<Node>,
    inner: Vec<Node>,
    /// Of each inner node.
    children: Vec<[u32; FAN]>,
    free_leaves: Vec<u32>,
    free_inner: Vec<u32>,
}

/// A part of a tree whose writers are wanted.
#[derive(Clone, Copy)]
pub(super) enum Writers {
    /// Of one segment, or of a subtree where it is known.
    Node(u32),
    /// Of one segment, in the place of its readers.
    Set(u32),
    /// An entry of an inner node that covers several segments; its writers are not known.
    Below { node: u32, entry: usize },
}

impl Default for Segments {
    fn default() -> Self {
        Self::with_fan(FAN)
    }
}

impl Segments {
    /// Nodes have `fan` entries at most: from 3 to [`FAN`].
    pub(super) fn with_fan(fan: usize) -> Self {
        let (leaves, inner, children) = (Vec::new(), Vec::new(), Vec::new());
        let (free_leaves, free_inner) = (Vec::new(), Vec::new());
        Self { fan, leaves, inner, children, free_leaves, free_inner }
    }

    fn node(&self, n: u32) -> &Node {
        if n & LEAF == 0 { &self.inner[n as usize] } else { &self.leaves[(n & !LEAF) as usize] }
    }

    fn node_mut(&mut self, n: u32) -> &mut Node {
        if n & LEAF == 0 {
            &mut self.inner[n as usize]
        } else {
            &mut self.leaves[(n & !LEAF) as usize]
        }
    }

    /// The child of an entry of an inner node.
    pub(super) fn child(&self, n: u32, i: usize) -> u32 {
        self.children[n as usize][i]
    }

    fn fresh(&mut self, leaf: bool) -> u32 {
        let free = if leaf { self.free_leaves.pop() } else { self.free_inner.pop() };
        if let Some(n) = free {
            *self.node_mut(n) = Node::EMPTY;
            return n;
        }
        if leaf {
            self.leaves.push(Node::EMPTY);
            return (self.leaves.len() as u32 - 1) | LEAF;
        }
        self.inner.push(Node::EMPTY);
        self.children.push([NONE; FAN]);
        self.inner.len() as u32 - 1
    }

    fn entry(&self, n: u32, i: usize) -> Entry {
        let node = self.node(n);
        Entry {
            start: node.starts[i],
            writer: node.writers[i],
            readers: node.readers[i],
            child: if n & LEAF == 0 { self.child(n, i) } else { NONE },
        }
    }

    /// Replaces the entries from `from` to `to` by others. There must be room.
    fn splice(&mut self, n: u32, from: usize, to: usize, with: &[Entry]) {
        let node = self.node_mut(n);
        let (old, end) = (node.len, from + with.len());
        let len = old - to + end;
        node.starts.copy_within(to..old, end);
        node.writers.copy_within(to..old, end);
        node.readers.copy_within(to..old, end);
        for (i, e) in with.iter().enumerate() {
            node.starts[from + i] = e.start;
            (node.writers[from + i], node.readers[from + i]) = (e.writer, e.readers);
        }
        if len < old {
            node.starts[len..old].fill(u64::MAX);
        }
        node.len = len;
        if n & LEAF == 0 {
            let children = &mut self.children[n as usize];
            children.copy_within(to..old, end);
            with.iter().enumerate().for_each(|(i, e)| children[from + i] = e.child);
        }
    }

    /// Gives a tree back.
    pub(super) fn release(&mut self, tree: u32) {
        if tree == NONE {
            return;
        }
        let mut stack = vec![tree];
        while let Some(n) = stack.pop() {
            if n & LEAF == 0 {
                stack.extend_from_slice(&self.children[n as usize][..self.inner[n as usize].len]);
                self.free_inner.push(n);
            } else {
                self.free_leaves.push(n);
            }
        }
    }

    /// Notes readers of all that a node covers.
    fn read_all(&mut self, n: u32, readers: u32, ropes: &mut Ropes) {
        let node = self.node_mut(n);
        // Neighbours often have the same readers.
        let mut last = (NONE, readers);
        for r in &mut node.readers[..node.len] {
            if *r != last.0 {
                last = (*r, ropes.both(readers, *r));
            }
            *r = last.1;
        }
    }

    /// Passes readers down to an entry's child; returns the child.
    fn enter(&mut self, n: u32, i: usize, ropes: &mut Ropes) -> u32 {
        let (child, below) = (self.child(n, i), self.inner[n as usize].readers[i]);
        if below != NONE {
            self.inner[n as usize].readers[i] = NONE;
            self.read_all(child, below, ropes);
        }
        child
    }

    /// Makes a tree of one segment, and passes down the readers of all.
    fn enter_root(&mut self, root: &mut Root, ropes: &mut Ropes) {
        let Root { tree, writer, readers } = *root;
        if tree == NONE {
            let tree = self.fresh(true);
            self.splice(tree, 0, 0, &[Entry { start: 0, writer, readers, child: NONE }]);
            *root = Root { tree, writer, readers: NONE };
        } else if readers != NONE {
            root.readers = NONE;
            self.read_all(tree, readers, ropes);
        }
    }

    /// The leaf that a place lies in, and where it ends. If the place will be written, what is known of the writers on the
    /// way is forgotten.
    fn leaf(&mut self, root: &mut Root, at: u64, write: bool, ropes: &mut Ropes) -> (u32, u64) {
        self.enter_root(root, ropes);
        if write {
            root.writer = UNKNOWN;
        }
        let (mut n, mut end) = (root.tree, u64::MAX);
        while n & LEAF == 0 {
            let node = &mut self.inner[n as usize];
            let i = node.of(at);
            end = node.end(i, end);
            if write {
                node.writers[i] = UNKNOWN;
            }
            n = self.enter(n, i, ropes);
        }
        (n, end)
    }

    /// Gives `f` the writer and the readers of each segment that a range touches.
    pub(super) fn touched(
        &mut self,
        root: &mut Root,
        range: (u64, u64),
        ropes: &mut Ropes,
        f: &mut Vec<(u32, u32)>,
    ) {
        let (leaf, end) = self.leaf(root, range.0, false, ropes);
        if range.1 <= end {
            return self.touched_in_leaf(leaf, range, f);
        }
        self.touched_below(root.tree, range, ropes, f);
    }

    fn touched_below(
        &mut self,
        n: u32,
        range: (u64, u64),
        ropes: &mut Ropes,
        f: &mut Vec<(u32, u32)>,
    ) {
        if n & LEAF != 0 {
            return self.touched_in_leaf(n, range, f);
        }
        let node = &self.inner[n as usize];
        for i in node.of(range.0)..node.first_from(range.1) {
            let child = self.enter(n, i, ropes);
            self.touched_below(child, range, ropes, f);
        }
    }

    fn touched_in_leaf(&self, leaf: u32, range: (u64, u64), f: &mut Vec<(u32, u32)>) {
        let node = self.node(leaf);
        let touched = node.of(range.0)..node.first_from(range.1);
        f.extend(touched.map(|i| (node.writers[i], node.readers[i])));
    }

    /// Gives `f` the writers of what a range touches.
    pub(super) fn writers(
        &mut self,
        root: &mut Root,
        range: (u64, u64),
        ropes: &mut Ropes,
        f: &mut Vec<Writers>,
    ) {
        let (leaf, end) = self.leaf(root, range.0, false, ropes);
        if range.1 <= end {
            return self.writers_of(leaf, range, end, f);
        }
        self.writers_of(root.tree, range, u64::MAX, f);
    }

    /// Gives `f` the writers of all that a node covers; if there are `sets`, those in the place of readers.
    pub(super) fn all_writers(&self, n: u32, sets: bool, f: &mut Vec<Writers>) {
        if sets && n & LEAF != 0 {
            let node = self.node(n);
            f.extend(node.readers[..node.len].iter().map(|set| Writers::Set(*set)));
            return;
        }
        self.writers_of(n, (0, u64::MAX), u64::MAX, f);
    }

    fn writers_of(&self, n: u32, range: (u64, u64), end: u64, f: &mut Vec<Writers>) {
        let node = self.node(n);
        let mut last = NONE;
        for i in node.of(range.0)..node.first_from(range.1) {
            let (writer, end) = (node.writers[i], node.end(i, end));
            if n & LEAF == 0 && (node.starts[i] < range.0 || end > range.1) {
                self.writers_of(self.child(n, i), range, end, f);
            } else if writer == UNKNOWN {
                f.push(Writers::Below { node: n, entry: i });
            } else if writer != NONE && writer != last {
                f.push(Writers::Node(writer));
                last = writer;
            }
        }
    }

    /// Tells what stands for the writers below an entry.
    pub(super) fn set_writers(&mut self, node: u32, entry: usize, writers: u32) {
        self.inner[node as usize].writers[entry] = writers;
    }

    /// Notes a write: the range becomes one segment, which nobody has read.
    pub(super) fn write(
        &mut self,
        root: &mut Root,
        range: (u64, u64),
        writer: u32,
        ropes: &mut Ropes,
    ) {
        let (leaf, end, first) = match self.in_leaf(root, range, true, ropes) {
            Place::Segment(leaf, i) => {
                let node = self.node_mut(leaf);
                (node.writers[i], node.readers[i]) = (writer, NONE);
                return;
            }
            Place::Leaf(leaf, end, first) => (leaf, end, first),
            Place::Leaves => {
                self.split(root, range.1, ropes);
                self.split(root, range.0, ropes);
                self.write_in(root.tree, range, u64::MAX, writer, ropes);
                return self.lower(root, ropes);
            }
        };
        let node = self.node(leaf);
        let last = node.first_from(range.1);
        let written = Entry { start: range.0, writer, readers: NONE, child: NONE };
        let rest = Entry { start: range.1, ..self.entry(leaf, last - 1) };
        let from = if node.starts[first] < range.0 { first + 1 } else { first };
        let with = [written, rest];
        let with = if node.end(last - 1, end) > range.1 { &with[..] } else { &with[..1] };
        self.splice(leaf, from, last, with);
    }

    /// Takes away nodes above the only child.
    fn lower(&mut self, root: &mut Root, ropes: &mut Ropes) {
        while root.tree & LEAF == 0 && self.inner[root.tree as usize].len == 1 {
            let only = self.enter(root.tree, 0, ropes);
            self.free_inner.push(root.tree);
            root.tree = only;
        }
    }

    /// Where a range lies. If it is in one leaf, that has room for a write or read of it.
    fn in_leaf(
        &mut self,
        root: &mut Root,
        range: (u64, u64),
        write: bool,
        ropes: &mut Ropes,
    ) -> Place {
        let (mut leaf, mut end) = self.leaf(root, range.0, write, ropes);
        if range.1 > end {
            return Place::Leaves;
        }
        let node = self.node(leaf);
        let i = node.of(range.0);
        if node.starts[i] == range.0 && node.end(i, end) == range.1 {
            return Place::Segment(leaf, i);
        }
        if !node.has_room(self.fan, range, end, write) {
            self.make_room(root, range.0);
            (leaf, end) = self.leaf(root, range.0, write, ropes);
            if range.1 > end || !self.node(leaf).has_room(self.fan, range, end, write) {
                return Place::Leaves;
            }
        }
        Place::Leaf(leaf, end, self.node(leaf).of(range.0))
    }

    /// Writes a range at whose ends segments start; removes what it covers. The recursion goes down two paths at most.
    fn write_in(&mut self, n: u32, range: (u64, u64), end: u64, writer: u32, ropes: &mut Ropes) {
        let node = self.node(n);
        let (mut from, to) = (node.first_from(range.0), node.first_from(range.1));
        if n & LEAF != 0 {
            if from < to && node.starts[from] == range.0 {
                let node = self.node_mut(n);
                (node.writers[from], node.readers[from]) = (writer, NONE);
                from += 1;
            }
            return self.splice(n, from, to, &[]);
        }
        let first = node.of(range.0);
        for i in (first..to).rev() {
            let node = &mut self.inner[n as usize];
            let end = node.end(i, end);
            if node.starts[i] > range.0 && end <= range.1 {
                let child = self.child(n, i);
                self.release(child);
                self.splice(n, i, i + 1, &[]);
                continue;
            }
            node.writers[i] = UNKNOWN;
            let child = self.enter(n, i, ropes);
            self.write_in(child, range, end, writer, ropes);
            match self.node(child).len {
                0 => {
                    self.release(child);
                    self.splice(n, i, i + 1, &[]);
                }
                _ => self.inner[n as usize].starts[i] = self.node(child).starts[0],
            }
        }
    }

    /// Notes readers of a range.
    pub(super) fn read(
        &mut self,
        root: &mut Root,
        range: (u64, u64),
        readers: u32,
        ropes: &mut Ropes,
    ) {
        match self.in_leaf(root, range, false, ropes) {
            Place::Segment(leaf, i) => {
                let all = &mut self.node_mut(leaf).readers[i];
                *all = ropes.both(readers, *all);
            }
            Place::Leaf(leaf, end, _) => {
                if range.1 < end {
                    self.split_leaf(leaf, range.1);
                }
                self.split_leaf(leaf, range.0);
                self.read_in(leaf, range, end, readers, ropes);
            }
            Place::Leaves => {
                self.split(root, range.1, ropes);
                self.split(root, range.0, ropes);
                self.read_in(root.tree, range, u64::MAX, readers, ropes);
            }
        }
    }

    /// Notes readers of a range at whose ends segments start.
    fn read_in(&mut self, n: u32, range: (u64, u64), end: u64, readers: u32, ropes: &mut Ropes) {
        let node = self.node(n);
        for i in node.of(range.0)..node.first_from(range.1) {
            let node = self.node_mut(n);
            let end = node.end(i, end);
            if node.starts[i] >= range.0 && end <= range.1 {
                node.readers[i] = ropes.both(readers, node.readers[i]);
            } else if n & LEAF == 0 {
                let child = self.enter(n, i, ropes);
                self.read_in(child, range, end, readers, ropes);
            }
        }
    }

    /// Notes earlier readers of a range, of whom `last` was the last one. Where all of them came before the last writer, it
    /// has waited for them; where one came later, that one has waited for the writer. So who waits for the readers of a
    /// segment need not wait for its writer here either.
    pub(super) fn read_late(
        &mut self,
        root: &mut Root,
        range: (u64, u64),
        (readers, last): (u32, u32),
        ropes: &mut Ropes,
    ) {
        self.split(root, range.1, ropes);
        self.split(root, range.0, ropes);
        let mut stack = vec![root.tree];
        while let Some(n) = stack.pop() {
            for i in self.node(n).of(range.0)..self.node(n).first_from(range.1) {
                if n & LEAF == 0 {
                    let child = self.enter(n, i, ropes);
                    stack.push(child);
                    continue;
                }
                let node = self.node_mut(n);
                let inside = node.starts[i] >= range.0;
                if inside && (node.writers[i] == NONE || node.writers[i] < last) {
                    node.readers[i] = ropes.both(readers, node.readers[i]);
                }
            }
        }
    }

    /// Lets a segment start at a place.
    fn split(&mut self, root: &mut Root, at: u64, ropes: &mut Ropes) {
        if at == u64::MAX {
            return self.enter_root(root, ropes);
        }
        let (leaf, _) = self.leaf(root, at, false, ropes);
        if self.split_leaf(leaf, at) {
            return;
        }
        self.make_room(root, at);
        self.split(root, at, ropes);
    }

    /// Lets a segment of a leaf start at a place; says whether there was room.
    fn split_leaf(&mut self, leaf: u32, at: u64) -> bool {
        let node = self.node(leaf);
        let i = node.of(at);
        if node.starts[i] == at {
            return true;
        }
        let room = node.len < self.fan;
        if room {
            let rest = Entry { start: at, ..self.entry(leaf, i) };
            self.splice(leaf, i + 1, i + 1, &[rest]);
        }
        room
    }

    /// Parts all nodes on the way to a place that are full, and the leaf. What is passed down has been.
    fn make_room(&mut self, root: &mut Root, at: u64) {
        if self.node(root.tree).len == self.fan || root.tree & LEAF != 0 {
            let (tree, writer) = (self.fresh(false), UNKNOWN);
            let whole = Entry { start: 0, writer, readers: NONE, child: root.tree };
            self.splice(tree, 0, 0, &[whole]);
            root.tree = tree;
        }
        let mut n = root.tree;
        while n & LEAF == 0 {
            let i = self.inner[n as usize].of(at);
            let child = self.child(n, i);
            if self.node(child).len == self.fan || child & LEAF != 0 {
                let other = self.fresh(child & LEAF != 0);
                let len = self.node(child).len;
                let upper: Vec<Entry> = (len / 2..len).map(|k| self.entry(child, k)).collect();
                self.splice(child, len / 2, len, &[]);
                self.splice(other, 0, 0, &upper);
                self.inner[n as usize].writers[i] = UNKNOWN;
                let start = self.node(other).starts[0];
                let entry = Entry { start, writer: UNKNOWN, readers: NONE, child: other };
                self.splice(n, i + 1, i + 1, &[entry]);
            }
            n = self.child(n, self.inner[n as usize].of(at));
        }
    }
}

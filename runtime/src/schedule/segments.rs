//! What was last done to the parts of a resource: segments in a treap, by place.
//!
//! A segment knows its last writer and who has read it since. An access splits segments at its two ends, so the parts are
//! exact; a write makes one segment of all that it covers. A read of many segments is noted once, at the root of the part of
//! the tree that it covers, and passed down when somebody comes by. So an access costs O(log n) beside the segments that
//! it removes.

use super::{nodes::NONE, ropes::Ropes};

/// The joint of a subtree's writers is not known.
pub(super) const UNKNOWN: u32 = NONE - 1;

/// Segments of all resources.
#[derive(Default)]
pub(super) struct Segments {
    segments: Vec<Segment>,
    free: Vec<u32>,
    random: u32,
}

#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Who wrote it last, or [`NONE`].
    pub(super) writer: u32,
    /// Who has read it since.
    pub(super) readers: u32,
    /// Who has read the segments below, which do not know it yet.
    below: u32,
    pub(super) left: u32,
    pub(super) right: u32,
    /// Segments in the subtree.
    pub(super) size: u32,
    priority: u32,
    /// What stands for all writers in the subtree: a node, [`NONE`] or [`UNKNOWN`].
    pub(super) writers: u32,
}

impl Segments {
    /// A segment that nobody has touched.
    pub(super) fn fresh(&mut self, start: u64, end: u64, writer: u32) -> u32 {
        // Xorshift: the shape of the tree must not follow the order of accesses.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        if self.random == 0 {
            self.random = 0x9e37_79b9;
        }
        let priority = self.random;
        self.insert(Segment {
            start,
            end,
            writer,
            readers: NONE,
            below: NONE,
            left: NONE,
            right: NONE,
            size: 1,
            priority,
            writers: UNKNOWN,
        })
    }

    fn insert(&mut self, segment: Segment) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.segments[place as usize] = segment;
                place
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        }
    }

    pub(super) fn get(&self, s: u32) -> &Segment {
        &self.segments[s as usize]
    }

    pub(super) fn get_mut(&mut self, s: u32) -> &mut Segment {
        &mut self.segments[s as usize]
    }

    fn size(&self, s: u32) -> u32 {
        if s == NONE { 0 } else { self.get(s).size }
    }

    /// Tells the two children what they do not know.
    pub(super) fn pass_down(&mut self, s: u32, ropes: &mut Ropes) {
        let Segment { below, left, right, .. } = *self.get(s);
        if below == NONE {
            return;
        }
        self.get_mut(s).below = NONE;
        for child in [left, right] {
            if child != NONE {
                self.read(child, below, ropes);
            }
        }
    }

    /// Notes readers of a whole subtree.
    pub(super) fn read(&mut self, s: u32, readers: u32, ropes: &mut Ropes) {
        let segment = &mut self.segments[s as usize];
        segment.readers = ropes.both(readers, segment.readers);
        if segment.size > 1 {
            segment.below = ropes.both(readers, segment.below);
        }
    }

    fn update(&mut self, s: u32) {
        let Segment { left, right, .. } = *self.get(s);
        let size = 1 + self.size(left) + self.size(right);
        let segment = self.get_mut(s);
        segment.size = size;
        segment.writers = UNKNOWN;
    }

    /// The segment of exactly this range. On the way to a segment that will be written, what is known of the writers below
    /// is forgotten.
    pub(super) fn exact(
        &mut self,
        root: u32,
        range: (u64, u64),
        write: bool,
        ropes: &mut Ropes,
    ) -> Option<u32> {
        let mut s = root;
        loop {
            if s == NONE {
                return None;
            }
            self.pass_down(s, ropes);
            let segment = self.get_mut(s);
            if write {
                segment.writers = UNKNOWN;
            }
            if range.0 >= segment.end {
                s = segment.right;
            } else if range.1 <= segment.start {
                s = segment.left;
            } else {
                return ((segment.start, segment.end) == range).then_some(s);
            }
        }
    }

    /// Parts the tree at a place; a segment across it becomes two. The recursion goes down a path of the tree.
    pub(super) fn split(&mut self, s: u32, at: u64, ropes: &mut Ropes) -> (u32, u32) {
        if s == NONE {
            return (NONE, NONE);
        }
        self.pass_down(s, ropes);
        let Segment { start, end, left, right, writer, readers, .. } = *self.get(s);
        if end <= at {
            let (a, b) = self.split(right, at, ropes);
            self.get_mut(s).right = a;
            self.update(s);
            (s, b)
        } else if start >= at {
            let (a, b) = self.split(left, at, ropes);
            self.get_mut(s).left = b;
            self.update(s);
            (a, s)
        } else {
            let rest = self.fresh(at, end, writer);
            self.get_mut(rest).readers = readers;
            let segment = self.get_mut(s);
            segment.end = at;
            segment.right = NONE;
            self.update(s);
            (s, self.merge(rest, right, ropes))
        }
    }

    /// One tree of two, the first of which lies before the second.
    pub(super) fn merge(&mut self, a: u32, b: u32, ropes: &mut Ropes) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        if self.get(a).priority > self.get(b).priority {
            self.pass_down(a, ropes);
            let right = self.merge(self.get(a).right, b, ropes);
            self.get_mut(a).right = right;
            self.update(a);
            a
        } else {
            self.pass_down(b, ropes);
            let left = self.merge(a, self.get(b).left, ropes);
            self.get_mut(b).left = left;
            self.update(b);
            b
        }
    }

    /// Gives a tree's segments back.
    pub(super) fn release(&mut self, root: u32) {
        let from = self.free.len();
        if root != NONE {
            self.free.push(root);
        }
        let mut at = from;
        while let Some(s) = self.free.get(at).copied() {
            at += 1;
            let Segment { left, right, .. } = *self.get(s);
            self.free.extend([left, right].into_iter().filter(|c| *c != NONE));
        }
    }
}

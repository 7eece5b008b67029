//! The scheduler: which commands have to wait for which. It knows no device and no resource, only numbers and ranges.
//!
//! Two commands conflict if they touch a common place and one of them writes it. The later one then waits for the earlier
//! one, itself or through others; nothing else waits. Of the edges only those are kept which the others do not imply.
//!
//! *Ranges* are half-open. What a range counts (bytes, levels of an image) is the caller's affair.
//!
//! *Arrays* hold ranges of resources, their members; a command that uses an array touches all of them. Reads are not noted at
//! the members, of which there may be very many: an array collects who writes its members, and each resource knows the
//! arrays that it is in. When the members change, the reads so far are noted at the members after all, since later they
//! would not be found. Writes through an array are rare, and noted at each member.
//!
//! *Joints* stand for sets of commands: all readers of a segment, all writers of many segments. They keep the number
//! of edges linear where every one of many commands waits for every one of many others.
//!
//! For each command, first everything is found that it waits for, then it is noted: so a command cannot find itself. Among
//! the searches, reads come first, since a search for a write forgets what was known of the writers on its path.

use std::collections::BTreeMap;

mod graph;
mod nodes;
mod ropes;
mod segments;
#[cfg(test)]
mod tests;

pub(crate) use graph::Graph;
use graph::JOINT;
use nodes::{NONE, Nodes};
use ropes::{Part, Ropes};
use segments::{Segment, Segments, UNKNOWN};

/// From so many on, a set is waited for through a joint.
const MANY: u32 = 8;

/// A range of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) resource: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What a command touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Span(Span, bool),
    /// All members of an array.
    Members(u32, bool),
}

struct Resource {
    root: u32,
    len: u64,
    epoch: u32,
    /// The arrays that watch it, with the range that is a member.
    watchers: Vec<(u32, u64, u64)>,
}

struct Array {
    members: BTreeMap<u64, Span>,
    /// Whether `writers` is kept up to date by the resources.
    watches: bool,
    /// Who has read through the array since it watches, and the last of them.
    readers: u32,
    last_reader: u32,
    /// Whom a read through the array has to wait for.
    writers: u32,
    epoch: u32,
}

/// Takes the commands of a list one by one.
pub(crate) struct Scheduler {
    nodes: Nodes,
    ropes: Ropes,
    segments: Segments,
    resources: Vec<Resource>,
    arrays: Vec<Array>,
    many: u32,
    commands: u32,
    /// Counts barriers. What was noted before the last one is of no account.
    epoch: u32,
    /// The last barrier.
    barrier: u32,
    /// What the command at hand waits for, with the resource behind it.
    waits: Vec<(u32, u32)>,
    /// The last command that waits for a node.
    stamps: Vec<u32>,
    stack: Vec<u32>,
    set: Vec<u32>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::with_many(MANY)
    }
}

impl Scheduler {
    fn with_many(many: u32) -> Self {
        Self {
            nodes: Nodes::default(),
            ropes: Ropes::default(),
            segments: Segments::default(),
            resources: Vec::new(),
            arrays: Vec::new(),
            many,
            commands: 0,
            epoch: 0,
            barrier: NONE,
            waits: Vec::new(),
            stamps: Vec::new(),
            stack: Vec::new(),
            set: Vec::new(),
        }
    }

    /// A new resource of this length.
    pub(crate) fn resource(&mut self, len: u64) -> u32 {
        let root = self.segments.fresh(0, len, NONE);
        self.resources.push(Resource { root, len, epoch: self.epoch, watchers: Vec::new() });
        self.resources.len() as u32 - 1
    }

    /// A new array without members.
    pub(crate) fn array(&mut self) -> u32 {
        self.arrays.push(Array {
            members: BTreeMap::new(),
            watches: false,
            readers: NONE,
            last_reader: NONE,
            writers: NONE,
            epoch: self.epoch,
        });
        self.arrays.len() as u32 - 1
    }

    /// Puts a member into a place of an array. That the table is written is for the caller to say, by an access.
    pub(crate) fn set_member(&mut self, array: u32, place: u64, member: Option<Span>) {
        self.unwatch(array);
        let members = &mut self.arrays[array as usize].members;
        match member {
            Some(span) => members.insert(place, span),
            None => members.remove(&place),
        };
    }

    /// Adds a command that touches this.
    pub(crate) fn command(&mut self, accesses: &[Access]) {
        for access in accesses {
            match *access {
                Access::Span(span, false) => self.find(span, false),
                Access::Members(array, false) => self.find_members(array),
                _ => {}
            }
        }
        for access in accesses {
            match *access {
                Access::Span(span, true) => self.find(span, true),
                Access::Members(array, true) => {
                    self.each_member(array, |this, m| this.find(m, true))
                }
                _ => {}
            }
        }
        if self.waits.is_empty() && self.barrier != NONE {
            self.waits.push((self.barrier, NONE));
        }
        let node = self.add_command();
        for access in accesses {
            match *access {
                Access::Span(span, write) => self.note(span, write, node),
                Access::Members(array, false) => {
                    let array = &mut self.arrays[array as usize];
                    array.readers = self.ropes.with(node, array.readers);
                    array.last_reader = node;
                }
                Access::Members(array, true) => {
                    self.each_member(array, |this, member| this.note(member, true, node));
                }
            }
        }
    }

    /// Adds a command that waits for everything before it, and for which everything after it waits.
    pub(crate) fn barrier(&mut self) {
        let first = if self.barrier == NONE { 0 } else { self.barrier };
        for node in first..self.nodes.len() {
            if self.nodes.is_last(node) {
                self.waits.push((node, NONE));
            }
        }
        self.barrier = self.add_command();
        self.epoch += 1;
    }

    /// The graph of all commands.
    pub(crate) fn finish(self) -> Graph {
        self.nodes.finish()
    }

    fn add_command(&mut self) -> u32 {
        let node = self.nodes.add(self.commands, &mut self.waits);
        self.waits.clear();
        self.commands += 1;
        node
    }

    /// Makes the command at hand wait for a node.
    fn wait(&mut self, node: u32, cause: u32) {
        if node == NONE {
            return;
        }
        let stamp = self.commands + 1;
        if self.stamps.len() <= node as usize {
            self.stamps.resize(self.nodes.len() as usize, 0);
        }
        let last = &mut self.stamps[node as usize];
        if *last != stamp {
            *last = stamp;
            self.waits.push((node, cause));
        }
    }

    /// Makes the command at hand wait for a set.
    fn wait_all(&mut self, rope: u32, cause: u32) {
        if self.ropes.count(rope) > self.many {
            let joint = self.joint_of(rope, cause);
            return self.wait(joint, cause);
        }
        if let Some(only) = self.ropes.only(rope) {
            return self.wait(only, cause);
        }
        let mut set = std::mem::take(&mut self.set);
        self.ropes.each(rope, |node| set.push(node));
        set.drain(..).for_each(|node| self.wait(node, cause));
        self.set = set;
    }

    /// What stands for a set. Sets share parts with others, so some of the large parts get joints of their own.
    fn joint_of(&mut self, rope: u32, cause: u32) -> u32 {
        let mut work = vec![rope];
        while let Some(&top) = work.last() {
            if self.ropes.joint(top) != NONE {
                work.pop();
                continue;
            }
            let (mut set, from) = (Vec::new(), work.len());
            self.ropes.parts(top, self.many, |part| match part {
                Part::Node(node) => set.push(node),
                Part::Rope(rope) => work.push(rope),
            });
            if work.len() == from {
                let joint = self.joint(set, cause);
                self.ropes.set_joint(top, joint);
                work.pop();
            }
        }
        self.ropes.joint(rope)
    }

    fn joint(&mut self, mut set: Vec<u32>, cause: u32) -> u32 {
        set.sort_unstable();
        set.dedup();
        match set[..] {
            [] => NONE,
            [only] => only,
            _ => {
                let mut waits = set.into_iter().map(|node| (node, cause)).collect();
                self.nodes.add(JOINT, &mut waits)
            }
        }
    }

    /// The tree of a resource, new after a barrier.
    fn root(&mut self, resource: u32) -> u32 {
        let r = &mut self.resources[resource as usize];
        if r.epoch != self.epoch {
            r.epoch = self.epoch;
            self.segments.release(r.root);
            r.root = self.segments.fresh(0, r.len, NONE);
        }
        r.root
    }

    /// Cuts out the part of a resource's tree that a range covers, lets `f` change it, and puts it back.
    fn cut(&mut self, span: Span, f: impl FnOnce(&mut Self, u32) -> u32) {
        let root = self.root(span.resource);
        if span.start == 0 && span.end >= self.resources[span.resource as usize].len {
            // All of it; there is nothing to part.
            let root = f(self, root);
            self.resources[span.resource as usize].root = root;
            return;
        }
        let (left, rest) = self.segments.split(root, span.start, &mut self.ropes);
        let (middle, right) = self.segments.split(rest, span.end, &mut self.ropes);
        let middle = if middle == NONE { NONE } else { f(self, middle) };
        let rest = self.segments.merge(middle, right, &mut self.ropes);
        let root = self.segments.merge(left, rest, &mut self.ropes);
        self.resources[span.resource as usize].root = root;
    }

    /// Finds what an access waits for.
    fn find(&mut self, span: Span, write: bool) {
        if span.start >= span.end {
            return;
        }
        let cause = span.resource;
        let root = self.root(cause);
        match self.segments.exact(root, (span.start, span.end), write, &mut self.ropes) {
            Some(s) => self.find_segment(s, write, cause),
            None if write => self.cut(span, |this, middle| {
                this.find_writes(middle, cause);
                middle
            }),
            None => self.cut(span, |this, middle| {
                let mut set = Vec::new();
                this.writers(middle, cause, &mut set);
                set.into_iter().for_each(|node| this.wait(node, cause));
                middle
            }),
        }
        if write {
            self.watchers(span, |this, array| {
                let readers = this.arrays[array as usize].readers;
                this.wait_all(readers, cause);
            });
        }
    }

    fn find_segment(&mut self, s: u32, write: bool, cause: u32) {
        let Segment { writer, readers, .. } = *self.segments.get(s);
        // Readers have waited for the writer.
        if write && readers != NONE {
            self.wait_all(readers, cause);
        } else {
            self.wait(writer, cause);
        }
    }

    /// Finds what a write of all segments of a tree waits for. They are replaced soon, so that each is seen once.
    fn find_writes(&mut self, root: u32, cause: u32) {
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(root);
        let mut last = NONE;
        while let Some(s) = stack.pop() {
            self.segments.pass_down(s, &mut self.ropes);
            let Segment { left, right, readers, .. } = *self.segments.get(s);
            // Neighbours often share their readers.
            if readers == NONE || readers != last {
                self.find_segment(s, true, cause);
                last = readers;
            }
            stack.extend([left, right].into_iter().filter(|c| *c != NONE));
        }
        self.stack = stack;
    }

    /// Adds the writers of a tree's segments to `set`; of a large tree, what stands for them.
    fn writers(&mut self, root: u32, cause: u32, set: &mut Vec<u32>) {
        if root == NONE {
            return;
        }
        let Segment { size, left, right, writer, writers, .. } = *self.segments.get(root);
        if size > self.many {
            if writers == UNKNOWN {
                let mut below = Vec::new();
                self.writers(left, cause, &mut below);
                self.writers(right, cause, &mut below);
                below.extend((writer != NONE).then_some(writer));
                let joint = self.joint(below, cause);
                self.segments.get_mut(root).writers = joint;
            }
            set.extend(Some(self.segments.get(root).writers).filter(|w| *w != NONE));
            return;
        }
        set.extend((writer != NONE).then_some(writer));
        self.writers(left, cause, set);
        self.writers(right, cause, set);
    }

    /// Notes an access of a node.
    fn note(&mut self, span: Span, write: bool, node: u32) {
        if span.start >= span.end {
            return;
        }
        if write {
            self.watchers(span, |this, array| {
                let array = &mut this.arrays[array as usize];
                array.writers = this.ropes.with(node, array.writers);
            });
        }
        let root = self.root(span.resource);
        match self.segments.exact(root, (span.start, span.end), write, &mut self.ropes) {
            Some(s) if write => {
                let segment = self.segments.get_mut(s);
                (segment.writer, segment.readers) = (node, NONE);
            }
            Some(s) => {
                let segment = self.segments.get_mut(s);
                segment.readers = self.ropes.with(node, segment.readers);
            }
            None if write => self.cut(span, |this, middle| {
                this.segments.release(middle);
                this.segments.fresh(span.start, span.end, node)
            }),
            None => {
                let readers = self.ropes.with(node, NONE);
                self.note_readers(span, readers);
            }
        }
    }

    fn note_readers(&mut self, span: Span, readers: u32) {
        self.cut(span, |this, middle| {
            this.segments.read(middle, readers, &mut this.ropes);
            middle
        });
    }

    /// Calls `f` for each array that watches a part of the range.
    fn watchers(&mut self, span: Span, mut f: impl FnMut(&mut Self, u32)) {
        if self.resources[span.resource as usize].watchers.is_empty() {
            return;
        }
        let watchers = std::mem::take(&mut self.resources[span.resource as usize].watchers);
        for (array, start, end) in &watchers {
            if *start < span.end && span.start < *end {
                self.renew(*array);
                f(self, *array);
            }
        }
        self.resources[span.resource as usize].watchers = watchers;
    }

    /// Forgets what an array knows from before the last barrier.
    fn renew(&mut self, array: u32) {
        let array = &mut self.arrays[array as usize];
        if array.epoch != self.epoch {
            array.epoch = self.epoch;
            (array.readers, array.writers) = (NONE, NONE);
        }
    }

    fn each_member(&mut self, array: u32, mut f: impl FnMut(&mut Self, Span)) {
        let members = std::mem::take(&mut self.arrays[array as usize].members);
        members.values().for_each(|member| f(self, *member));
        self.arrays[array as usize].members = members;
    }

    /// Finds what a read through an array waits for, and makes the array watch its members.
    fn find_members(&mut self, array: u32) {
        self.renew(array);
        if !self.arrays[array as usize].watches {
            let mut writers = Vec::new();
            self.each_member(array, |this, member| {
                // An empty range meets nothing, but may lie inside of others.
                if member.start >= member.end {
                    return;
                }
                let cause = member.resource;
                let watcher = (array, member.start, member.end);
                this.resources[cause as usize].watchers.push(watcher);
                this.cut(member, |this, middle| {
                    this.writers(middle, cause, &mut writers);
                    middle
                });
            });
            let ropes = &mut self.ropes;
            let writers = writers.into_iter().fold(NONE, |rope, node| ropes.with(node, rope));
            let array = &mut self.arrays[array as usize];
            (array.watches, array.writers) = (true, writers);
        }
        let Array { writers, members, .. } = &self.arrays[array as usize];
        // An edge names one resource; the first member stands for all.
        let cause = members.values().next().map_or(NONE, |m| m.resource);
        self.wait_all(*writers, cause);
    }

    /// Notes an array's readers at its members, and lets it watch no longer.
    fn unwatch(&mut self, array: u32) {
        self.renew(array);
        let Array { watches, readers, last_reader, .. } = self.arrays[array as usize];
        if !watches {
            return;
        }
        let many = self.ropes.count(readers) > self.many;
        let readers = match self.joint_of_many(readers, many) {
            NONE => readers,
            joint => self.ropes.with(joint, NONE),
        };
        self.each_member(array, |this, member| {
            this.resources[member.resource as usize].watchers.retain(|(a, ..)| *a != array);
            if readers != NONE && member.start < member.end {
                this.cut(member, |this, middle| {
                    this.note_late(middle, readers, last_reader);
                    middle
                });
            }
        });
        let array = &mut self.arrays[array as usize];
        (array.watches, array.readers, array.writers) = (false, NONE, NONE);
    }

    /// Notes earlier readers at the segments of a tree. Where all of them came before the last writer, it has waited for
    /// them; where one came later, that one has waited for the writer. So who waits for the readers of a segment need
    /// not wait for its writer here either.
    fn note_late(&mut self, root: u32, readers: u32, last_reader: u32) {
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(root);
        while let Some(s) = stack.pop() {
            self.segments.pass_down(s, &mut self.ropes);
            let segment = self.segments.get_mut(s);
            if segment.writer == NONE || segment.writer < last_reader {
                segment.readers = self.ropes.both(readers, segment.readers);
            }
            stack.extend([segment.left, segment.right].into_iter().filter(|c| *c != NONE));
        }
        self.stack = stack;
    }

    fn joint_of_many(&mut self, rope: u32, many: bool) -> u32 {
        if many { self.joint_of(rope, NONE) } else { NONE }
    }
}

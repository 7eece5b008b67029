//! The scheduler: which commands have to wait for which. It knows no device and no resource, only numbers and ranges.
//!
//! Two commands conflict if they touch a common place and one of them writes it. The later one then waits for the earlier
//! one, itself or through others; nothing else waits. Of the edges only those are kept which the others do not imply.
//!
//! *Ranges* are half-open. What a range counts (bytes, levels of an image) is the caller's affair.
//!
//! *Arrays* hold ranges of resources, their members; a command that uses an array touches all of them. Reads are not noted at
//! the members, of which there may be very many: an array collects who writes its members, and each resource knows the
//! arrays that it is in. When a member leaves, the reads so far are noted at it after all, since later they would not be found.
//! Writes through an array are rare, and noted at each member. The caller sees to it that whoever uses an array reads its table,
//! a resource like others, and that a command which writes the table comes before members change: so reads after a change come
//! after all reads before it.
//!
//! *Joints* stand for sets of commands: all readers of a segment, all writers of many segments. They keep the number
//! of edges linear where every one of many commands waits for every one of many others.
//!
//! For each command, first everything is found that it waits for, then it is noted: so a command cannot find itself. Among
//! the searches, reads come first, since a search for a write forgets what was known of the writers on its path.

use std::collections::BTreeMap;

mod far;
mod graph;
mod nodes;
#[cfg(any(feature = "vulkan", feature = "wgpu"))]
pub(crate) mod parts;
mod ropes;
mod segments;
#[cfg(test)]
mod tests;

pub(crate) use graph::Graph;
use graph::JOINT;
use nodes::{NONE, Nodes, Wait};
use ropes::{Part, Ropes};
use segments::{Root, Segments, UNKNOWN, Writers};

/// From so many on, a set is waited for through a joint.
const MANY: u32 = 8;

/// From so large a number on, there are no joints at all; for tests.
const NO_JOINTS: u32 = u32::MAX / 2;

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

/// Small, since there may be millions.
struct Resource {
    len: u64,
    root: Root,
    epoch: u32,
    /// The position of its watchers in [`Scheduler::watchers`], or [`NONE`].
    watchers: u32,
}

/// An array that watches a range of a resource, which is a member.
#[derive(Clone, Copy)]
struct Watcher {
    array: u32,
    place: u64,
    range: (u64, u64),
    /// The array's generation from which on it is a member.
    since: u32,
}

struct Array {
    members: BTreeMap<u64, Span>,
    /// Counts changes of members.
    generation: u32,
    /// Who has read through the array in the last generation that had readers, the last of them, and that generation.
    readers: u32,
    last_reader: u32,
    read_in: u32,
    /// By place, who has written a member: sets in the place of readers.
    written: Root,
    /// Whom a read through the array has to wait for: all of `written`, if `known`.
    writers: u32,
    known: bool,
    epoch: u32,
}

/// Takes the commands of a list one by one.
pub(crate) struct Scheduler {
    nodes: Nodes,
    ropes: Ropes,
    segments: Segments,
    resources: Vec<Resource>,
    watchers: Vec<Vec<Watcher>>,
    arrays: Vec<Array>,
    many: u32,
    commands: u32,
    /// Counts barriers. What was noted before the last one is of no account.
    epoch: u32,
    /// The last barrier.
    barrier: u32,
    /// What the command at hand waits for, with the resource behind it.
    waits: Vec<Wait>,
    /// Room for what searches find.
    touched: Vec<(u32, u32)>,
    parts: Vec<Writers>,
    set: Vec<u32>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::with(MANY, Segments::default())
    }
}

impl Scheduler {
    fn with(many: u32, segments: Segments) -> Self {
        Self {
            nodes: Nodes::default(),
            ropes: Ropes::default(),
            segments,
            resources: Vec::new(),
            watchers: Vec::new(),
            arrays: Vec::new(),
            many,
            commands: 0,
            epoch: 0,
            barrier: NONE,
            waits: Vec::new(),
            touched: Vec::new(),
            parts: Vec::new(),
            set: Vec::new(),
        }
    }

    /// A new resource of this length.
    pub(crate) fn resource(&mut self, len: u64) -> u32 {
        let (root, epoch) = (Root::written(NONE), self.epoch);
        self.resources.push(Resource { len, root, epoch, watchers: NONE });
        self.resources.len() as u32 - 1
    }

    /// A new array without members.
    pub(crate) fn array(&mut self) -> u32 {
        self.arrays.push(Array {
            members: BTreeMap::new(),
            generation: 0,
            readers: NONE,
            last_reader: NONE,
            read_in: 0,
            written: Root::written(NONE),
            writers: NONE,
            known: true,
            epoch: self.epoch,
        });
        self.arrays.len() as u32 - 1
    }

    /// Puts a member into a place of an array. That the table is written is for the caller to say, by an access.
    pub(crate) fn set_member(&mut self, array: u32, place: u64, member: Option<Span>) {
        self.renew(array);
        let members = &mut self.arrays[array as usize].members;
        let old = match member {
            Some(span) => members.insert(place, span),
            None => members.remove(&place),
        };
        if let Some(old) = old {
            self.unwatch(array, place, old);
        }
        self.arrays[array as usize].generation += 1;
        if let Some(span) = member {
            self.watch(array, place, span);
        }
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
                    let before =
                        if array.read_in == array.generation { array.readers } else { NONE };
                    array.readers = self.ropes.with(node, before);
                    (array.last_reader, array.read_in) = (node, array.generation);
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
        self.commands += 1;
        node
    }

    /// Makes the command at hand wait for a node.
    fn wait(&mut self, node: u32, cause: u32) {
        if node != NONE && self.waits.last().is_none_or(|(last, _)| *last != node) {
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

    /// What is known of a resource; nothing after a barrier.
    fn root(&mut self, resource: u32) -> Root {
        let r = &mut self.resources[resource as usize];
        if r.epoch != self.epoch {
            r.epoch = self.epoch;
            let tree = std::mem::replace(&mut r.root, Root::written(NONE)).tree;
            self.segments.release(tree);
        }
        r.root
    }

    /// The range of a span, where the end of a resource is that of all numbers; `None` if it is empty.
    fn range(&self, span: Span) -> Option<(u64, u64)> {
        let end = if span.end >= self.resources[span.resource as usize].len {
            u64::MAX
        } else {
            span.end
        };
        (span.start < span.end).then_some((span.start, end))
    }

    /// Finds what an access waits for.
    fn find(&mut self, span: Span, write: bool) {
        let Some(range) = self.range(span) else { return };
        let cause = span.resource;
        let mut root = self.root(cause);
        if root.tree == NONE && write {
            self.find_segment(root.writer, root.readers, cause);
        } else if root.tree == NONE {
            self.wait(root.writer, cause);
        } else if write {
            let mut touched = std::mem::take(&mut self.touched);
            self.segments.touched(&mut root, range, &mut self.ropes, &mut touched);
            self.resources[cause as usize].root = root;
            let mut last = NONE;
            for (writer, readers) in touched.drain(..) {
                // Neighbours often share their readers.
                if readers == NONE || readers != last {
                    self.find_segment(writer, readers, cause);
                    last = readers;
                }
            }
            self.touched = touched;
        } else {
            let mut set = std::mem::take(&mut self.set);
            self.writers(cause, range, &mut set);
            set.drain(..).for_each(|node| self.wait(node, cause));
            self.set = set;
        }
        if write {
            self.watchers(span.resource, range, |this, watcher| {
                let array = &this.arrays[watcher.array as usize];
                if array.read_in >= watcher.since {
                    this.wait_all(array.readers, cause);
                }
            });
        }
    }

    /// Finds what a write of a segment waits for.
    fn find_segment(&mut self, writer: u32, readers: u32, cause: u32) {
        // Readers have waited for the writer.
        if readers == NONE {
            self.wait(writer, cause);
        } else {
            self.wait_all(readers, cause);
        }
    }

    /// Adds the writers of a range to `set`; of large parts of a tree, what stands for them.
    fn writers(&mut self, resource: u32, range: (u64, u64), set: &mut Vec<u32>) {
        let mut root = self.root(resource);
        let whole = range == (0, u64::MAX);
        if root.tree == NONE || whole && root.writer != UNKNOWN {
            return set.extend((root.writer != NONE).then_some(root.writer));
        }
        let mut parts = std::mem::take(&mut self.parts);
        let from = set.len();
        self.segments.writers(&mut root, range, &mut self.ropes, &mut parts);
        self.writers_of(&parts, false, resource, set);
        if whole && let Some(joint) = self.stand_for(set, from, resource) {
            root.writer = joint;
        }
        self.resources[resource as usize].root = root;
        parts.clear();
        self.parts = parts;
    }

    /// Adds the writers of parts of a tree, which may be one of `sets`. The recursion goes from the root of a tree to its leaves.
    fn writers_of(&mut self, parts: &[Writers], sets: bool, cause: u32, set: &mut Vec<u32>) {
        for part in parts {
            match *part {
                Writers::Node(node) => set.push(node),
                Writers::Set(rope) if self.ropes.count(rope) > self.many => {
                    set.push(self.joint_of(rope, cause));
                }
                Writers::Set(rope) => self.ropes.each(rope, |node| set.push(node)),
                Writers::Below { node, entry } => {
                    let (from, mut below) = (set.len(), Vec::new());
                    self.segments.all_writers(self.segments.child(node, entry), sets, &mut below);
                    self.writers_of(&below, sets, cause, set);
                    if let Some(joint) = self.stand_for(set, from, cause) {
                        self.segments.set_writers(node, entry, joint);
                    }
                }
            }
        }
    }

    /// Puts what stands for the end of a set in its place, unless there shall be no joints.
    fn stand_for(&mut self, set: &mut Vec<u32>, from: usize, cause: u32) -> Option<u32> {
        if self.many >= NO_JOINTS {
            return None;
        }
        let joint = self.joint(set.split_off(from), cause);
        set.extend((joint != NONE).then_some(joint));
        Some(joint)
    }

    /// Notes an access of a node.
    fn note(&mut self, span: Span, write: bool, node: u32) {
        let Some(range) = self.range(span) else { return };
        if write {
            self.watchers(span.resource, range, |this, watcher| {
                let all = range.0 <= watcher.range.0 && watcher.range.1 <= range.1;
                this.note_written(watcher.array, watcher.place, node, !all);
            });
        }
        let mut root = self.root(span.resource);
        match (range == (0, u64::MAX), write) {
            (true, true) => {
                self.segments.release(root.tree);
                root = Root::written(node);
            }
            (true, false) => root.readers = self.ropes.with(node, root.readers),
            (false, true) => self.segments.write(&mut root, range, node, &mut self.ropes),
            (false, false) => {
                let readers = self.ropes.with(node, NONE);
                self.segments.read(&mut root, range, readers, &mut self.ropes);
            }
        }
        self.resources[span.resource as usize].root = root;
    }

    /// Calls `f` for each array that watches a part of a range.
    fn watchers(
        &mut self,
        resource: u32,
        range: (u64, u64),
        mut f: impl FnMut(&mut Self, Watcher),
    ) {
        let list = self.resources[resource as usize].watchers as usize;
        let Some(watchers) = self.watchers.get_mut(list).map(std::mem::take) else { return };
        for watcher in &watchers {
            if watcher.range.0 < range.1 && range.0 < watcher.range.1 {
                self.renew(watcher.array);
                f(self, *watcher);
            }
        }
        self.watchers[list] = watchers;
    }

    /// The watchers of a resource.
    fn watchers_of(&mut self, resource: u32) -> &mut Vec<Watcher> {
        let list = &mut self.resources[resource as usize].watchers;
        if *list == NONE {
            *list = self.watchers.len() as u32;
            self.watchers.push(Vec::new());
        }
        &mut self.watchers[*list as usize]
    }

    /// Forgets what an array knows from before the last barrier.
    fn renew(&mut self, array: u32) {
        let array = &mut self.arrays[array as usize];
        if array.epoch != self.epoch {
            array.epoch = self.epoch;
            (array.readers, array.writers, array.known) = (NONE, NONE, true);
            self.segments.release(array.written.tree);
            array.written = Root::written(NONE);
        }
    }

    fn each_member(&mut self, array: u32, mut f: impl FnMut(&mut Self, Span)) {
        let members = std::mem::take(&mut self.arrays[array as usize].members);
        members.values().for_each(|member| f(self, *member));
        self.arrays[array as usize].members = members;
    }

    /// Finds what a read through an array waits for.
    fn find_members(&mut self, array: u32) {
        self.renew(array);
        let Array { written, known, members, .. } = &self.arrays[array as usize];
        // An edge names one resource; the first member stands for all.
        let (tree, cause) = (written.tree, members.values().next().map_or(NONE, |m| m.resource));
        if !known {
            let (mut parts, mut set) = (Vec::new(), Vec::new());
            if tree != NONE {
                self.segments.all_writers(tree, true, &mut parts);
            }
            self.writers_of(&parts, true, cause, &mut set);
            let ropes = &mut self.ropes;
            let writers = set.into_iter().fold(NONE, |rope, node| ropes.with(node, rope));
            let array = &mut self.arrays[array as usize];
            (array.writers, array.known) = (writers, true);
        }
        self.wait_all(self.arrays[array as usize].writers, cause);
    }

    /// Notes a writer of a member, beside those before it or in their place.
    fn note_written(&mut self, array: u32, place: u64, writer: u32, beside: bool) {
        let Array { mut written, writers, .. } = self.arrays[array as usize];
        let (range, mut before) = ((place, place + 1), Vec::new());
        if beside && written.tree != NONE {
            self.segments.touched(&mut written, range, &mut self.ropes, &mut before);
        }
        let before = before.first().map_or(NONE, |(_, set)| *set);
        let set = self.ropes.with(writer, before);
        self.segments.write(&mut written, range, NONE, &mut self.ropes);
        self.segments.read(&mut written, range, set, &mut self.ropes);
        let writers = self.ropes.with(writer, writers);
        let array = &mut self.arrays[array as usize];
        (array.written, array.writers) = (written, writers);
    }

    /// Lets an array watch a member.
    fn watch(&mut self, array: u32, place: u64, member: Span) {
        // An empty range meets nothing, but may lie inside of others.
        let Some(range) = self.range(member) else { return };
        let since = self.arrays[array as usize].generation;
        self.watchers_of(member.resource).push(Watcher { array, place, range, since });
        let mut writers = Vec::new();
        self.writers(member.resource, range, &mut writers);
        for (i, node) in writers.into_iter().enumerate() {
            self.note_written(array, place, node, i > 0);
        }
    }

    /// Lets an array watch a member no longer: notes its readers there, and forgets who has written it.
    fn unwatch(&mut self, array: u32, place: u64, member: Span) {
        let Some(range) = self.range(member) else { return };
        let watchers = self.watchers_of(member.resource);
        let at = watchers.iter().position(|w| w.array == array && w.place == place);
        let since = at.map_or(0, |at| watchers.swap_remove(at).since);
        let Array { readers, last_reader, read_in, mut written, .. } = self.arrays[array as usize];
        if readers != NONE && read_in >= since {
            let mut root = self.root(member.resource);
            self.segments.read_late(&mut root, range, (readers, last_reader), &mut self.ropes);
            self.resources[member.resource as usize].root = root;
        }
        if written.tree != NONE {
            self.segments.write(&mut written, (place, place + 1), NONE, &mut self.ropes);
            let array = &mut self.arrays[array as usize];
            (array.written, array.known) = (written, false);
        }
    }
}

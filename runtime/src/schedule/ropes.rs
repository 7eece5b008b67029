//! Sets of nodes that grow at one end and are joined, and that many segments share.

use super::nodes::NONE;

/// From so many nodes on, a part that is known to be shared gets a joint of its own.
const SHARED: u32 = 2;

/// Beside the number of the only node of a set.
const ONE: u32 = 1 << 31;

/// The node of a set that has just one.
fn one(rope: u32) -> Option<u32> {
    (rope & ONE != 0 && rope != NONE).then_some(rope & !ONE)
}

/// Sets of nodes; [`NONE`] is the empty one. A set never changes once it is made.
#[derive(Default)]
pub(super) struct Ropes {
    ropes: Vec<Rope>,
    stack: Vec<u32>,
}

/// A part of a set.
pub(super) enum Part {
    Node(u32),
    Rope(u32),
}

#[derive(Clone, Copy)]
struct Rope {
    node: u32,
    left: u32,
    right: u32,
    /// At least the number of nodes.
    count: u32,
    /// The joint that waits for all of them, if there is one.
    joint: u32,
}

impl Ropes {
    fn push(&mut self, node: u32, left: u32, right: u32) -> u32 {
        let here = u32::from(node != NONE);
        let count = here.saturating_add(self.count(left)).saturating_add(self.count(right));
        self.ropes.push(Rope { node, left, right, count, joint: NONE });
        self.ropes.len() as u32 - 1
    }

    fn get(&self, rope: u32) -> Option<&Rope> {
        self.ropes.get(rope as usize)
    }

    /// The set with another node.
    pub(super) fn with(&mut self, node: u32, rope: u32) -> u32 {
        match self.get(rope) {
            _ if rope == NONE || rope == node | ONE => node | ONE,
            Some(r) if r.node == node => rope,
            _ => self.push(node, rope, NONE),
        }
    }

    /// Both sets.
    pub(super) fn both(&mut self, a: u32, b: u32) -> u32 {
        match (a, b) {
            (NONE, only) | (only, NONE) => only,
            _ if a == b => a,
            _ => self.push(NONE, a, b),
        }
    }

    pub(super) fn count(&self, rope: u32) -> u32 {
        match self.get(rope) {
            Some(r) => r.count,
            None => u32::from(rope != NONE),
        }
    }

    /// The node of a set that has just one.
    pub(super) fn only(&self, rope: u32) -> Option<u32> {
        one(rope)
    }

    pub(super) fn joint(&self, rope: u32) -> u32 {
        self.get(rope).map_or(NONE, |r| r.joint)
    }

    pub(super) fn set_joint(&mut self, rope: u32, joint: u32) {
        if let Some(r) = self.ropes.get_mut(rope as usize) {
            r.joint = joint;
        }
    }

    /// Gives `f` the nodes; in the place of parts that have joints, those.
    pub(super) fn each(&mut self, rope: u32, mut f: impl FnMut(u32)) {
        self.parts(rope, u32::MAX, |part| match part {
            Part::Node(node) | Part::Rope(node) => f(node),
        });
    }

    /// Gives `f` the nodes, joints in the place of parts that have them, and parts of more than `many` nodes that should have
    /// joints of their own: one in eight of those, whichever way they are come upon.
    pub(super) fn parts(&mut self, rope: u32, many: u32, mut f: impl FnMut(Part)) {
        self.stack.clear();
        let mut next = rope;
        loop {
            match self.get(next).copied() {
                Some(r) if r.joint != NONE => {
                    f(Part::Node(r.joint));
                    next = NONE;
                }
                Some(r) if r.count > many && next.is_multiple_of(8) && next != rope => {
                    f(Part::Rope(next));
                    next = NONE;
                }
                Some(r) => {
                    if r.right != NONE {
                        self.stack.push(r.right);
                    }
                    next = r.left;
                    if r.node != NONE {
                        f(Part::Node(r.node));
                    } else if many != u32::MAX
                        && self.count(r.left) > SHARED
                        && self.joint(r.left) == NONE
                    {
                        // The front part of a union was passed down to two segments at least.
                        f(Part::Rope(r.left));
                        next = NONE;
                    }
                }
                None => {
                    if let Some(node) = one(next) {
                        f(Part::Node(node));
                    }
                    match self.stack.pop() {
                        Some(rope) => next = rope,
                        None => return,
                    }
                }
            }
        }
    }
}

//! Operand storage and def-use lists.
//!
//! All operands of a function lie in one pool. An instruction owns a contiguous range of slots; parallel to the slot's value
//! runs an intrusive doubly linked list that threads all slots that hold the same value. So the operands of an instruction
//! are a slice, and both adding and removing a use cost O(1).

use crate::{InstId, ValueId};
use cranelift_entity::{SecondaryMap, packed_option::ReservedValue};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Link {
    user: InstId,
    prev: u32,
    next: u32,
}

/// The range of operand slots that one instruction owns; small, as every instruction has one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OperandRange {
    start: u32,
    /// The length in the lower bits; above it log2 of the capacity plus one, or 0 when the instruction owns no slot.
    shape: u32,
}

const LENGTH_BITS: u32 = 27;

impl OperandRange {
    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.shape & ((1 << LENGTH_BITS) - 1)) as usize
    }
    #[inline]
    fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity(), "more operands than slots");
        self.shape = (self.shape >> LENGTH_BITS << LENGTH_BITS) | len as u32;
    }
    #[inline]
    fn class(self) -> usize {
        (self.shape >> LENGTH_BITS) as usize
    }
    #[inline]
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len()
    }
    #[inline]
    fn capacity(self) -> usize {
        if self.class() == 0 { 0 } else { 1 << (self.class() - 1) }
    }
}

#[derive(Clone, Copy, Debug)]
struct Head(u32);
impl Default for Head {
    fn default() -> Self {
        Head(NONE)
    }
}

/// The operand slots of a function and the use lists threaded through them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperandPool {
    values: Vec<ValueId>,
    links: Vec<Link>,
    heads: SecondaryMap<ValueId, Head>,
    free: Vec<Vec<u32>>,
}

impl OperandPool {
    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.values.len() * (size_of::<ValueId>() + size_of::<Link>())
    }

    /// Slots for `args`, all registered as uses by `user`.
    pub(crate) fn allocate(&mut self, user: InstId, args: &[ValueId]) -> OperandRange {
        let mut range = self.reserve(args.len());
        range.set_len(args.len());
        for (i, &value) in args.iter().enumerate() {
            self.link(range.start + i as u32, value, user);
        }
        range
    }

    fn reserve(&mut self, count: usize) -> OperandRange {
        if count == 0 {
            return OperandRange::default();
        }
        assert!(count < 1 << (LENGTH_BITS - 1), "an instruction has too many operands");
        let class = count.next_power_of_two().trailing_zeros() + 1;
        let capacity = 1usize << (class - 1);
        let start = match self.free.get_mut(class as usize).and_then(Vec::pop) {
            Some(start) => start,
            None => {
                let start = self.values.len() as u32;
                let filler = Link { user: InstId::reserved_value(), prev: NONE, next: NONE };
                self.values.resize(self.values.len() + capacity, ValueId::reserved_value());
                self.links.resize(self.links.len() + capacity, filler);
                start
            }
        };
        OperandRange { start, shape: class << LENGTH_BITS }
    }

    fn release(&mut self, range: OperandRange) {
        let class = range.class();
        if class != 0 {
            if self.free.len() <= class {
                self.free.resize_with(class + 1, Vec::new);
            }
            self.free[class].push(range.start);
        }
    }

    #[inline]
    pub(crate) fn slice(&self, range: OperandRange) -> &[ValueId] {
        &self.values[range.range()]
    }

    pub(crate) fn set(&mut self, range: OperandRange, index: usize, value: ValueId) {
        assert!(index < range.len(), "operand index out of range");
        let slot = range.start + index as u32;
        let user = self.links[slot as usize].user;
        self.unlink(slot);
        self.link(slot, value, user);
    }

    pub(crate) fn push(&mut self, range: &mut OperandRange, user: InstId, value: ValueId) {
        if range.len() == range.capacity() {
            let old: Vec<ValueId> = self.slice(*range).to_vec();
            self.clear(range);
            *range = self.reserve(old.len() + 1);
            for (i, &v) in old.iter().enumerate() {
                self.link(range.start + i as u32, v, user);
            }
            range.set_len(old.len());
        }
        let len = range.len();
        self.link(range.start + len as u32, value, user);
        range.set_len(len + 1);
    }

    /// Removes operand `index`; later ones move down by one.
    pub(crate) fn remove(&mut self, range: &mut OperandRange, index: usize) {
        assert!(index < range.len(), "operand index out of range");
        for i in index..range.len() - 1 {
            let value = self.values[range.start as usize + i + 1];
            self.set(*range, i, value);
        }
        let last = range.len() - 1;
        self.unlink(range.start + last as u32);
        range.set_len(last);
    }

    /// Drops all uses of the range and gives its slots back.
    pub(crate) fn clear(&mut self, range: &mut OperandRange) {
        for slot in range.range() {
            self.unlink(slot as u32);
        }
        self.release(*range);
        *range = OperandRange::default();
    }

    #[inline]
    fn link(&mut self, slot: u32, value: ValueId, user: InstId) {
        let head = self.heads[value].0;
        self.values[slot as usize] = value;
        self.links[slot as usize] = Link { user, prev: NONE, next: head };
        if head != NONE {
            self.links[head as usize].prev = slot;
        }
        self.heads[value] = Head(slot);
    }

    #[inline]
    fn unlink(&mut self, slot: u32) {
        let Link { prev, next, .. } = self.links[slot as usize];
        if prev == NONE {
            let value = self.values[slot as usize];
            self.heads[value] = Head(next);
        } else {
            self.links[prev as usize].next = next;
        }
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
    }

    /// Makes every use of `old` a use of `new`; costs O(uses of `old`).
    pub(crate) fn replace_all(&mut self, old: ValueId, new: ValueId) {
        if old == new {
            return;
        }
        let first = self.heads[old].0;
        if first == NONE {
            return;
        }
        let mut slot = first;
        loop {
            self.values[slot as usize] = new;
            let next = self.links[slot as usize].next;
            if next == NONE {
                break;
            }
            slot = next;
        }
        let head = self.heads[new].0;
        self.links[slot as usize].next = head;
        if head != NONE {
            self.links[head as usize].prev = slot;
        }
        self.heads[new] = Head(first);
        self.heads[old] = Head(NONE);
    }

    /// The uses of `value` as (user, slot), latest first.
    #[inline]
    pub(crate) fn uses(&self, value: ValueId) -> impl Iterator<Item = (InstId, u32)> + '_ {
        let mut slot = self.heads.get(value).map_or(NONE, |h| h.0);
        std::iter::from_fn(move || {
            if slot == NONE {
                return None;
            }
            let link = self.links[slot as usize];
            let here = slot;
            slot = link.next;
            Some((link.user, here))
        })
    }

    /// Breaks the use list of a value, for the test of the verifier.
    #[cfg(test)]
    pub(crate) fn forget_uses(&mut self, value: ValueId) {
        self.heads[value] = Head(NONE);
    }

    /// Index of a slot within the range of its user.
    #[inline]
    pub(crate) fn index_in(range: OperandRange, slot: u32) -> usize {
        (slot - range.start) as usize
    }
}

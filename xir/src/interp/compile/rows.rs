//! Which rows each value of a function has.
//!
//! A value that only its own block uses gives its rows back after its last use there; all others keep theirs. Lvalues keep
//! theirs too, since constant geps of them refer to the same row.

use crate::dominators::InstOrder;
use crate::interp::code::Place;
use crate::op::Space;
use crate::{Function, InstId, Op, ValueId};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Default)]
enum Home {
    #[default]
    None,
    Row(u32),
    Cell(u32),
}

pub(super) struct Rows {
    homes: SecondaryMap<ValueId, Home>,
    places: FxHashMap<ValueId, Place>,
    /// The instruction after which the rows of a value are free.
    last_use: SecondaryMap<ValueId, PackedOption<InstId>>,
    /// Free rows by the number that lies together.
    free: FxHashMap<u32, Vec<u32>>,
    order: InstOrder,
    next: u32,
}

impl Rows {
    pub fn new(function: &Function) -> Rows {
        Rows {
            homes: function.value_map(),
            places: FxHashMap::default(),
            last_use: function.value_map(),
            free: FxHashMap::default(),
            order: InstOrder::compute(function),
            next: 0,
        }
    }

    /// Number of rows in use, so far.
    pub fn count(&self) -> u32 {
        self.next
    }

    /// Sets the first rows aside.
    pub fn reserve(&mut self, count: u32) {
        self.next += count;
    }

    /// Rows that are never given back. Saturates; the caller of the compiled function sees that it is too much.
    pub fn fresh(&mut self, count: u32) -> u32 {
        let row = self.next;
        self.next = self.next.saturating_add(count);
        row
    }

    pub fn set_cell(&mut self, value: ValueId, cell: u32) {
        self.homes[value] = Home::Cell(cell);
    }

    /// The cell of a value that all threads share.
    pub fn cell(&self, value: ValueId) -> Option<u32> {
        match self.homes[value] {
            Home::Cell(cell) => Some(cell),
            _ => None,
        }
    }

    pub fn set_variable(&mut self, value: ValueId, space: Space, start: u32) {
        let place = match space {
            Space::Local => Place::Local(start),
            Space::Shared => Place::Shared(start),
        };
        self.places.insert(value, place);
    }

    /// Records what a gep names.
    pub fn set_place(&mut self, value: ValueId, place: Place) {
        self.places.insert(value, place);
    }

    pub fn place(&self, value: ValueId) -> Option<Place> {
        self.places.get(&value).copied()
    }

    /// The rows of a value; new ones that it keeps if it has none yet.
    pub fn row(&mut self, value: ValueId, count: u32) -> u32 {
        match self.homes[value] {
            Home::Row(row) => row,
            _ => {
                let row = self.fresh(count);
                self.homes[value] = Home::Row(row);
                row
            }
        }
    }

    /// The rows of the result of `inst`, right before it is computed.
    pub fn define(&mut self, function: &Function, inst: InstId, value: ValueId, count: u32) -> u32 {
        if let Home::Row(row) = self.homes[value] {
            return row;
        }
        let Some(last) = self.last_use_in_block(function, inst, value) else {
            return self.row(value, count);
        };
        let reused = self.free.get_mut(&count).and_then(Vec::pop);
        let row = reused.unwrap_or_else(|| self.fresh(count));
        self.homes[value] = Home::Row(row);
        self.last_use[value] = last.into();
        row
    }

    /// The last use of a value all of whose uses are in its own block; itself if there is none.
    fn last_use_in_block(
        &self,
        function: &Function,
        inst: InstId,
        value: ValueId,
    ) -> Option<InstId> {
        if function.is_lvalue(value) {
            return None;
        }
        let block = function.inst_block(inst)?;
        let mut last = inst;
        for (user, _) in function.uses(value) {
            if function.inst_block(user) != Some(block) || function.op(user) == Op::Phi {
                return None;
            }
            if self.order.number(user) < self.order.number(inst) {
                return None;
            }
            if self.order.number(user) > self.order.number(last) {
                last = user;
            }
        }
        Some(last)
    }

    /// Gives back the rows of `value` if `inst` is its last use. `count` is its number of scalars.
    pub fn release(&mut self, inst: InstId, value: ValueId, count: u32) {
        if self.last_use[value].expand() != Some(inst) {
            return;
        }
        self.last_use[value] = None.into();
        if let Home::Row(row) = self.homes[value]
            && row != NONE
        {
            self.free.entry(count).or_default().push(row);
        }
    }
}

//! Which scalars of an aggregate are used: a bit for each, in the order of memory.
//!
//! Aggregates of more scalars than [`MAX_LEAVES`] are looked at as one whole.

use super::alias::trace;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::{Function, InstId, Op, ValueId};

/// The most scalars that are told apart.
pub const MAX_LEAVES: u64 = 4096;

/// A set of the scalars of one aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldBits {
    words: Vec<u64>,
    count: u32,
}

impl FieldBits {
    /// The empty set of scalars of a type.
    pub fn empty(types: &TypeTable, ty: TypeId) -> FieldBits {
        let count = leaves(types, ty);
        FieldBits { words: vec![0; count.div_ceil(64) as usize], count }
    }

    /// How many scalars there are, in the set or not.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Adds scalars.
    pub fn add(&mut self, range: std::ops::Range<u32>) {
        for bit in range.start..range.end.min(self.count) {
            self.words[bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether a scalar is in the set.
    pub fn contains(&self, bit: u32) -> bool {
        bit < self.count && self.words[bit as usize / 64] >> (bit % 64) & 1 != 0
    }

    /// Whether any of the scalars is in the set.
    pub fn intersects(&self, mut range: std::ops::Range<u32>) -> bool {
        range.any(|bit| self.contains(bit))
    }

    /// Whether all scalars are in the set.
    pub fn is_full(&self) -> bool {
        (0..self.count).all(|bit| self.contains(bit))
    }

    /// Whether no scalar is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }
}

/// The scalars of a type, or 1 if they are too many to be told apart. A type without any counts as one.
pub fn leaves(types: &TypeTable, ty: TypeId) -> u32 {
    match crate::transforms::scalar_count(types, ty, MAX_LEAVES + 1) {
        0 | 4097.. => 1,
        count => count as u32,
    }
}

/// The scalars of a value of type `ty` that a chain of indices names. From the first index that is not constant on, all that it
/// may name.
pub fn range(
    func: &Function,
    types: &TypeTable,
    ty: TypeId,
    indices: &[ValueId],
) -> std::ops::Range<u32> {
    let whole = leaves(types, ty);
    if whole == 1 {
        return 0..1;
    }
    let (mut ty, mut start) = (ty, 0);
    for &index in indices {
        let count = u64::from(types.member_count(ty));
        let Some(at) = func.constant_bits(index).filter(|&i| i < count) else { break };
        // Of arrays and vectors all members are alike.
        start += match types.is_struct(ty) {
            true => (0..at as u32)
                .filter_map(|i| types.element_type(ty, i))
                .map(|m| leaves(types, m))
                .sum(),
            false => types.element_type(ty, 0).map_or(0, |m| leaves(types, m) * at as u32),
        };
        let Some(element) = types.element_type(ty, at as u32) else { break };
        ty = element;
    }
    start..start + leaves(types, ty)
}

/// How the scalars of a local alloca are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldUsage {
    pub read: FieldBits,
    pub written: FieldBits,
    /// It, or a part of it, is passed on to something other than a load or store.
    pub escapes: bool,
}

impl FieldUsage {
    /// Looks at all uses of an alloca and of the parts of it, reachable or not; linear in them times the scalars of an access.
    pub fn of_alloca(func: &Function, types: &TypeTable, alloca: InstId) -> FieldUsage {
        let ty = func.inst(alloca).ty;
        let none = FieldBits::empty(types, ty);
        let mut usage = FieldUsage { read: none.clone(), written: none, escapes: false };
        let mut pending: Vec<ValueId> = func.result(alloca).into_iter().collect();
        while let Some(place) = pending.pop() {
            let Some(path) = trace(func, types, place) else { continue };
            let named = range(func, types, ty, &path.indices);
            for (user, operand) in func.uses(place) {
                match func.op(user) {
                    Op::Gep => pending.extend(func.result(user)),
                    Op::Load => usage.read.add(named.clone()),
                    Op::Store if operand == 0 => usage.written.add(named.clone()),
                    _ => {
                        usage.escapes = true;
                        usage.read.add(named.clone());
                        usage.written.add(named.clone());
                    }
                }
            }
        }
        usage
    }
}

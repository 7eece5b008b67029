//! Alias analysis: what an instruction accesses, and which accesses may meet (`passes.md` section 2.1).
//!
//! What an operation reads and writes is the table of `luisac_xir::op::Effects`; the rules here say which of two accesses of
//! one scope may meet: different scopes never do, accesses of different allocas do not, parts of one alloca do unless constant
//! indices part them. A reference argument may be any memory but the function's own allocas, which no caller can name. The
//! answer where nothing is known is that they may.

use luisac_ast::types::TypeTable;
use luisac_xir::op::{Effects, Scopes, Space};
use luisac_xir::{Function, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

/// A part of a local alloca: the indices from the whole down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub base: ValueId,
    pub indices: Vec<ValueId>,
    /// For each index whether it is a constant that names an element of its own: one out of range may be taken for another
    /// (`--bounds clamp`).
    certain: Vec<bool>,
}

/// The part of a local alloca that an lvalue names; none for everything else.
pub fn trace(func: &Function, types: &TypeTable, lvalue: ValueId) -> Option<Path> {
    let mut path = trace_to(func, lvalue, |space| space == Space::Local)?;
    let mut ty = func.value_type(path.base);
    for (&index, certain) in path.indices.iter().zip(&mut path.certain) {
        let count = types.member_count(ty);
        let number = func.constant_bits(index).filter(|&n| n < u64::from(count));
        *certain = number.is_some();
        // All elements have one type, but for those of structures, whose indices are constants in range.
        let element = types.element_type(ty, number.map_or(0, |n| n as u32));
        ty = element.unwrap_or(ty);
    }
    Some(path)
}

/// The part of an alloca, of a space that fits, that an lvalue names.
fn trace_to(func: &Function, lvalue: ValueId, fits: impl Fn(Space) -> bool) -> Option<Path> {
    let mut steps: Vec<InstId> = Vec::new();
    let mut base = lvalue;
    loop {
        let inst = func.def_inst(base)?;
        match func.op(inst) {
            Op::Gep => {
                steps.push(inst);
                base = func.arg(inst, 0);
            }
            Op::Alloca(space) if fits(space) => break,
            _ => return None,
        }
    }
    let indices: Vec<ValueId> =
        steps.iter().rev().flat_map(|&gep| func.args(gep)[1..].iter().copied()).collect();
    let certain = vec![true; indices.len()];
    Some(Path { base, indices, certain })
}

/// Whether two lvalues may name memory that overlaps.
pub fn may_alias(func: &Function, a: ValueId, b: ValueId) -> bool {
    if a == b {
        return true;
    }
    if !func.scopes_of(a).intersects(func.scopes_of(b)) {
        return false;
    }
    match (trace_to(func, a, |_| true), trace_to(func, b, |_| true)) {
        (Some(a), Some(b)) => a.base == b.base && a.may_overlap(&b, func),
        // A local alloca and what a caller passed. Shared memory may be passed.
        (Some(own), None) | (None, Some(own)) => func.scopes_of(own.base) != Scopes::LOCAL,
        (None, None) => true,
    }
}

/// What an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub effects: Effects,
    /// The lvalue that all of its accesses stay in; none if they are not of one lvalue.
    pub place: Option<ValueId>,
}

/// What an instruction accesses.
pub fn access(func: &Function, inst: InstId) -> Access {
    let place = match func.op(inst) {
        Op::Load | Op::Store | Op::RayQueryRead(_) | Op::RayQueryWrite(_) => {
            func.args(inst).first().copied()
        }
        // The indices behind the base belong to the place, which the base stands for.
        Op::Atomic(_) => func.args(inst).first().copied().filter(|&v| func.is_lvalue(v)),
        _ => None,
    };
    Access { effects: func.effects(inst), place }
}

impl Access {
    /// Whether this one writes what the other reads or writes, so that their order matters, or the other way around.
    pub fn conflicts(&self, other: &Access, func: &Function) -> bool {
        let (a, b) = (&self.effects, &other.effects);
        let meet = a.writes.intersects(b.reads.union(b.writes)) || b.writes.intersects(a.reads);
        let both_volatile = a.volatile && b.volatile;
        let places_meet = match (self.place, other.place) {
            (Some(a), Some(b)) => may_alias(func, a, b),
            _ => true,
        };
        both_volatile || meet && places_meet
    }
}

/// What a set of instructions may write.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// All scopes written.
    all: Scopes,
    /// Scopes written at places that are not known one by one.
    scopes: Scopes,
    /// The lvalues written, by their base; none if they are many.
    places: FxHashMap<ValueId, Option<Vec<ValueId>>>,
    /// The bases of these that are no local allocas of the function, in order.
    foreign: Vec<ValueId>,
}

/// More places of one base, and more bases that are not own allocas, are not told apart.
const MAX_PLACES: usize = 16;

impl Writes {
    /// Adds what an instruction writes. A call also writes the local allocas that it gets, and no others.
    pub fn add(&mut self, func: &Function, inst: InstId) {
        let access = access(func, inst);
        let writes = access.effects.writes;
        if writes.is_empty() {
            return;
        }
        self.all = self.all.union(writes);
        let Some(place) = access.place else {
            self.scopes = self.scopes.union(writes);
            self.places.extend(touched(func, inst).map(|base| (base, None)));
            return;
        };
        let base = func.base_of(place);
        let is_new = !self.places.contains_key(&base);
        if is_new && !is_own(func, base) {
            if self.foreign.len() < MAX_PLACES {
                self.foreign.push(base);
            } else {
                self.scopes = self.scopes.union(writes);
            }
        }
        let known = self.places.entry(base).or_insert_with(|| Some(Vec::new()));
        match known {
            Some(places) if places.len() < MAX_PLACES => places.push(place),
            Some(places) if places.contains(&place) => {}
            _ => *known = None,
        }
    }

    /// Whether a memory scope may be written.
    pub fn may_write_scope(&self, scope: Scopes) -> bool {
        self.all.intersects(scope)
    }

    /// Whether the memory that an lvalue names may be written.
    pub fn may_write(&self, func: &Function, lvalue: ValueId) -> bool {
        let base = func.base_of(lvalue);
        let meets = |base: &ValueId| match self.places.get(base) {
            Some(Some(places)) => places.iter().any(|&place| may_alias(func, lvalue, place)),
            Some(None) => true,
            None => false,
        };
        // Only the thread writes its own allocas, where it names them.
        if is_own(func, base) {
            return meets(&base);
        }
        let aliases = |other: &&ValueId| may_alias(func, base, **other);
        self.scopes.intersects(func.scopes_of(base))
            || self.foreign.iter().filter(aliases).any(meets)
    }
}

/// Whether a base is an alloca of the thread.
fn is_own(func: &Function, base: ValueId) -> bool {
    func.def_inst(base).is_some_and(|i| func.op(i) == Op::Alloca(Space::Local))
}

impl Path {
    /// Whether the two parts, of one alloca, may share memory.
    pub fn may_overlap(&self, other: &Path, func: &Function) -> bool {
        for (i, (&a, &b)) in self.indices.iter().zip(&other.indices).enumerate() {
            if a == b {
                continue;
            }
            match (func.constant_bits(a), func.constant_bits(b)) {
                (Some(a), Some(b)) if a == b => {}
                (Some(_), Some(_)) if self.certain[i] && other.certain[i] => return false,
                _ => return true,
            }
        }
        true
    }

    /// Whether this part holds all of the other.
    pub fn covers(&self, other: &Path) -> bool {
        self.indices.len() <= other.indices.len()
            && self.indices == other.indices[..self.indices.len()]
    }
}

/// Something known of parts of local allocas at one place.
pub struct Known<T> {
    parts: FxHashMap<ValueId, Vec<(Path, T)>>,
}

/// So many parts of one alloca are remembered; the oldest are forgotten, which keeps scans linear.
const MAX_PARTS: usize = 32;

impl<T: Copy> Default for Known<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Known<T> {
    /// Nothing known.
    pub fn new() -> Known<T> {
        Known { parts: FxHashMap::default() }
    }

    /// What is known of exactly this part.
    pub fn get(&self, path: &Path) -> Option<T> {
        let parts = self.parts.get(&path.base)?;
        parts.iter().find(|(p, _)| p == path).map(|(_, t)| *t)
    }

    /// Whether something is known of a part that holds all of this one.
    pub fn is_covered(&self, path: &Path) -> bool {
        self.parts.get(&path.base).is_some_and(|parts| parts.iter().any(|(p, _)| p.covers(path)))
    }

    /// Remembers.
    pub fn set(&mut self, path: Path, value: T) {
        let parts = self.parts.entry(path.base).or_default();
        if parts.len() >= MAX_PARTS {
            parts.remove(0);
        }
        parts.push((path, value));
    }

    /// Forgets all parts that may share memory with this one.
    pub fn forget(&mut self, path: &Path, func: &Function) {
        if let Some(parts) = self.parts.get_mut(&path.base) {
            parts.retain(|(p, _)| !p.may_overlap(path, func));
        }
    }

    /// Forgets what is known of a whole alloca.
    pub fn forget_all(&mut self, base: ValueId) {
        self.parts.remove(&base);
    }
}

/// The local allocas that an instruction may read or write by other ways than load and store: those it gets as an operand.
pub fn touched<'a>(func: &'a Function, inst: InstId) -> impl Iterator<Item = ValueId> + 'a {
    let is_access = matches!(func.op(inst), Op::Load | Op::Store | Op::Gep);
    let args = if is_access { &[][..] } else { func.args(inst) };
    args.iter().filter(|&&a| func.is_lvalue(a)).map(|&a| func.base_of(a))
}

//! Accesses of local memory: what a load or store names, and whether two overlap.

use luisac_xir::op::Space;
use luisac_xir::{Function, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

/// A part of a local alloca: the indices from the whole down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub base: ValueId,
    pub indices: Vec<ValueId>,
}

/// The part of a local alloca that an lvalue names; none for everything else.
pub(crate) fn trace(func: &Function, lvalue: ValueId) -> Option<Path> {
    let mut steps: Vec<InstId> = Vec::new();
    let mut base = lvalue;
    loop {
        let inst = func.def_inst(base)?;
        match func.op(inst) {
            Op::Gep => {
                steps.push(inst);
                base = func.arg(inst, 0);
            }
            Op::Alloca(Space::Local) => break,
            _ => return None,
        }
    }
    let indices = steps.iter().rev().flat_map(|&gep| func.args(gep)[1..].iter().copied()).collect();
    Some(Path { base, indices })
}

impl Path {
    /// Whether the two parts, of one alloca, may share memory.
    pub fn may_overlap(&self, other: &Path, func: &Function) -> bool {
        for (&a, &b) in self.indices.iter().zip(&other.indices) {
            if a == b {
                continue;
            }
            match (func.constant_bits(a), func.constant_bits(b)) {
                (Some(a), Some(b)) if a != b => return false,
                (Some(_), Some(_)) => {}
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
pub(crate) struct Known<T> {
    parts: FxHashMap<ValueId, Vec<(Path, T)>>,
}

/// So many parts of one alloca are remembered; the oldest are forgotten, which keeps scans linear.
const MAX_PARTS: usize = 32;

impl<T: Copy> Known<T> {
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
pub(crate) fn touched<'a>(func: &'a Function, inst: InstId) -> impl Iterator<Item = ValueId> + 'a {
    let is_access = matches!(func.op(inst), Op::Load | Op::Store | Op::Gep);
    let args = if is_access { &[][..] } else { func.args(inst) };
    args.iter().filter(|&&a| func.is_lvalue(a)).map(|&a| func.base_of(a))
}

//! Sets of operations, and which operations each function of a library uses.

use std::fmt;

use cranelift_entity::PrimaryMap;

use super::{CallOp, TABLE};
use crate::model::{Callee, ExprKind, FunctionId, Library};

const WORDS: usize = 7;
const _: () = assert!(TABLE.len() <= 64 * WORDS);

/// A set of operations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CallOpSet([u64; WORDS]);

impl CallOpSet {
    /// Adds an operation.
    pub fn insert(&mut self, op: CallOp) {
        self.0[op as usize / 64] |= 1 << (op as usize % 64);
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: &CallOpSet) {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
    }

    /// Whether an operation is in the set.
    pub fn contains(&self, op: CallOp) -> bool {
        self.0[op as usize / 64] >> (op as usize % 64) & 1 == 1
    }

    /// Whether none is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// The operations in the order of the newest numbering.
    pub fn iter(&self) -> impl Iterator<Item = CallOp> {
        CallOp::all().filter(|op| self.contains(*op))
    }
}

impl FromIterator<CallOp> for CallOpSet {
    fn from_iter<I: IntoIterator<Item = CallOp>>(ops: I) -> Self {
        let mut set = Self::default();
        ops.into_iter().for_each(|op| set.insert(op));
        set
    }
}

impl fmt::Debug for CallOpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The operations that a function uses; CUSTOM and EXTERNAL, which call functions, are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedOps {
    /// By itself.
    pub direct: CallOpSet,
    /// By itself, or by something that it calls.
    pub all: CallOpSet,
}

/// The operations that each function uses, callees first. Cost: linear in the expressions.
pub fn used_ops(library: &Library) -> PrimaryMap<FunctionId, UsedOps> {
    let mut used: PrimaryMap<FunctionId, UsedOps> = PrimaryMap::new();
    for function in library.functions.values() {
        let mut ops = UsedOps::default();
        for expr in function.exprs.values() {
            if let ExprKind::Call { op, callee, .. } = expr.kind {
                match callee {
                    Callee::Builtin => ops.direct.insert(op),
                    Callee::External(_) => {}
                    Callee::Function(callee) => {
                        if let Some(theirs) = used.get(callee) {
                            ops.all.extend(&theirs.all);
                        }
                    }
                }
            }
        }
        ops.all.extend(&ops.direct);
        used.push(ops);
    }
    used
}

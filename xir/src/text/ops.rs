//! The names of operations, looked up: made from the operation table.

use crate::Op;
use crate::op::{
    ArithmeticOp, AtomicOp, AutodiffOp, CastOp, RayQueryReadOp, RayQueryWriteOp, ResourceQueryOp,
    ResourceReadOp, ResourceWriteOp, Space, ThreadGroupOp,
};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What a first word names.
#[derive(Clone, Copy)]
pub(super) enum Lookup {
    Op(Op),
    /// A family: a second word follows.
    Family,
}

/// Operations without a second word.
const SINGLE: [Op; 25] = [
    Op::Phi,
    Op::Load,
    Op::Store,
    Op::Gep,
    Op::Call,
    Op::RayQueryPipeline,
    Op::Print,
    Op::Clock,
    Op::Assert,
    Op::Assume,
    Op::If,
    Op::Switch,
    Op::Loop,
    Op::SimpleLoop,
    Op::Br,
    Op::CondBr,
    Op::IndexedBranch,
    Op::Break,
    Op::Continue,
    Op::Return,
    Op::Unreachable,
    Op::RasterDiscard,
    Op::RayQueryLoop,
    Op::RayQueryDispatch,
    Op::AutodiffScope,
];

/// Every operation there is, in table order.
pub fn operations() -> impl Iterator<Item = Op> {
    let families = [Op::Alloca(Space::Local), Op::Alloca(Space::Shared)]
        .into_iter()
        .chain(ArithmeticOp::ALL.iter().map(|&o| Op::Arithmetic(o)))
        .chain(CastOp::ALL.iter().map(|&o| Op::Cast(o)))
        .chain(AtomicOp::ALL.iter().map(|&o| Op::Atomic(o)))
        .chain(ThreadGroupOp::ALL.iter().map(|&o| Op::ThreadGroup(o)))
        .chain(ResourceQueryOp::ALL.iter().map(|&o| Op::ResourceQuery(o)))
        .chain(ResourceReadOp::ALL.iter().map(|&o| Op::ResourceRead(o)))
        .chain(ResourceWriteOp::ALL.iter().map(|&o| Op::ResourceWrite(o)))
        .chain(RayQueryReadOp::ALL.iter().map(|&o| Op::RayQueryRead(o)))
        .chain(RayQueryWriteOp::ALL.iter().map(|&o| Op::RayQueryWrite(o)))
        .chain(AutodiffOp::ALL.iter().map(|&o| Op::Autodiff(o)));
    SINGLE.into_iter().chain(families)
}

type Names = FxHashMap<&'static str, (Lookup, FxHashMap<&'static str, Op>)>;

static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names::default();
    for op in operations() {
        let entry = names.entry(op.mnemonic()).or_insert((Lookup::Op(op), FxHashMap::default()));
        if let Some(sub) = op.sub_name() {
            entry.0 = Lookup::Family;
            entry.1.insert(sub, op);
        }
    }
    names
});

/// What the first word of an instruction names.
pub(super) fn lookup(mnemonic: &str) -> Option<Lookup> {
    NAMES.get(mnemonic).map(|n| n.0)
}

/// The operation of a family.
pub(super) fn lookup_in(mnemonic: &str, sub: &str) -> Option<Op> {
    NAMES.get(mnemonic)?.1.get(sub).copied()
}

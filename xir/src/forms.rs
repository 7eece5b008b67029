//! The form of a function: what kinds of control flow and values it uses. Passes declare the forms that they accept and leave.

use crate::op::ArithmeticOp;
use crate::{BlockId, Function, InstId, Op, TypeId, TypeTable};
use cranelift_entity::SecondaryMap;

/// The control flow of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cfg {
    /// Neither constructs nor raw branches: one path without a cycle. Fits wherever structured or flat code is asked for.
    Straight,
    /// Constructs, `break` and `continue`; a `cond_br` only where the prepare part of a `loop` ends.
    Structured,
    /// `br`, `cond_br` and `indexed_branch` only.
    Flat,
    /// Both kinds.
    Mixed,
}

impl Cfg {
    /// Whether a consumer of structured code can take it.
    pub fn fits_structured(self) -> bool {
        matches!(self, Cfg::Straight | Cfg::Structured)
    }

    /// Whether a consumer of flat code can take it.
    pub fn fits_flat(self) -> bool {
        matches!(self, Cfg::Straight | Cfg::Flat)
    }
}

/// The form of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    pub cfg: Cfg,
    /// There are phis.
    pub phis: bool,
    /// There is arithmetic, a cast or a phi on vectors or matrices; building and taking apart of composites does not count.
    pub vectors: bool,
}

/// The form of a function, in time linear in its size.
pub fn form_of(function: &Function, types: &TypeTable) -> Form {
    let mut form = Form { cfg: control_flow_of(function), phis: false, vectors: false };
    for inst in function.blocks().flat_map(|b| function.insts(b)) {
        form.phis |= function.op(inst) == Op::Phi;
        form.vectors = form.vectors || computes_on_vectors(function, types, inst);
    }
    form
}

fn computes_on_vectors(function: &Function, types: &TypeTable, inst: InstId) -> bool {
    match function.op(inst) {
        Op::Arithmetic(ArithmeticOp::Aggregate | ArithmeticOp::Extract | ArithmeticOp::Insert) => {
            false
        }
        Op::Arithmetic(_) | Op::Cast(_) | Op::Phi => {
            let wide = |ty: TypeId| types.is_vector(ty) || types.is_matrix(ty);
            wide(function.inst(inst).ty)
                || function.args(inst).iter().any(|&a| wide(function.value_type(a)))
        }
        _ => false,
    }
}

/// The control flow of a function, in time linear in its blocks.
pub fn control_flow_of(function: &Function) -> Cfg {
    // The merge that belongs to each body of a `loop`: `cond_br body, merge` is part of the construct.
    let mut loops: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    for block in function.blocks() {
        if let Some(end) = function.terminator(block).filter(|&e| function.op(e) == Op::Loop)
            && let [_, body, _, merge] = *function.inst_blocks(end)
        {
            loops[body] = Some(merge);
        }
    }
    let (mut structured, mut raw) = (false, false);
    for block in function.blocks() {
        let Some(end) = function.terminator(block) else { continue };
        match function.op(end) {
            Op::IndexedBranch => raw = true,
            Op::CondBr => {
                let named = function.inst_blocks(end);
                raw |= !matches!(named, [body, merge] if loops[*body] == Some(*merge));
            }
            op => structured |= op.is_structured(),
        }
    }
    match (structured, raw) {
        (true, true) => Cfg::Mixed,
        (true, false) => Cfg::Structured,
        (false, true) => Cfg::Flat,
        (false, false) if has_cycle(function) => Cfg::Flat,
        (false, false) => Cfg::Straight,
    }
}

/// Whether a chain of `br` from the entry comes back to itself.
fn has_cycle(function: &Function) -> bool {
    let mut steps = function.block_count();
    let mut next = function.entry();
    while let Some(block) = next {
        next = function.successors(block).first().copied();
        if steps == 0 {
            return true;
        }
        steps -= 1;
    }
    false
}

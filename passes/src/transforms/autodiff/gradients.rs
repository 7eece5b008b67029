//! What `gradient` reads.
//!
//! The gradient of a marked variable is its adjoint where the mark stands. If the variable is not stored to, that is its adjoint
//! at the end of the way back. Otherwise the adjoint is copied when the way back passes the mark. A variable without a mark has
//! as its gradient the sum over all values that it held.

use super::activity::root_of;
use super::sweep::{Result, Sweep};
use crate::transforms::util;
use luisac_xir::op::AutodiffOp;
use luisac_xir::{Builder, InstId, Op, ValueId};

/// Where the gradient of a variable or value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gradient {
    /// It is zero.
    Zero,
    /// In this local, which nothing but the code after `backward` writes.
    Kept(ValueId),
    /// The adjoint itself.
    Adjoint(ValueId),
    /// In this local, copied where a mark stands.
    AtMark(ValueId),
    /// In this local, the sum over all values.
    OfAll(ValueId),
}

impl Gradient {
    fn memory(self) -> Option<ValueId> {
        match self {
            Gradient::Zero => None,
            Gradient::Kept(memory)
            | Gradient::Adjoint(memory)
            | Gradient::AtMark(memory)
            | Gradient::OfAll(memory) => Some(memory),
        }
    }
}

impl Sweep<'_> {
    /// Decides where each gradient that is asked for will be.
    pub fn plan_gradients(&mut self, intrinsics: &[InstId]) {
        let mut marked = rustc_hash::FxHashSet::default();
        let mut added = rustc_hash::FxHashSet::default();
        let mut wanted = Vec::new();
        for &inst in intrinsics {
            let Op::Autodiff(op) = self.func.op(inst) else { continue };
            let Some(&target) = self.func.args(inst).first() else { continue };
            let root = root_of(self.func, target);
            let is_forward = self.activity.is_forward[inst];
            match op {
                AutodiffOp::RequiresGradient if is_forward => {
                    marked.insert(root);
                }
                AutodiffOp::Gradient => wanted.push(root),
                AutodiffOp::GradientMarker | AutodiffOp::AccumulateGradient if !is_forward => {
                    added.insert(root);
                    wanted.push(root);
                }
                _ => {}
            }
        }
        for root in wanted {
            if self.gradients.contains_key(&root) {
                continue;
            }
            let ty = self.ty(root);
            let defined = self.func.def_inst(root).is_some_and(|i| self.activity.is_forward[i]);
            let is_written = self.activity.is_stored(root) || defined && !self.func.is_lvalue(root);
            let gradient = match self.activity.has_adjoint(root) {
                false if added.contains(&root) => Gradient::Kept(self.zeroed_local(ty)),
                false => Gradient::Zero,
                true if !is_written => Gradient::Adjoint(self.adjoint(root)),
                true if marked.contains(&root) => Gradient::AtMark(self.zeroed_local(ty)),
                true => Gradient::OfAll(self.zeroed_local(ty)),
            };
            self.gradients.insert(root, gradient);
        }
    }

    /// Whether stores to the variable are to be told to [`Self::capture_store`].
    pub fn captures_stores(&self, base: ValueId) -> bool {
        matches!(self.gradients.get(&base), Some(Gradient::OfAll(_)))
    }

    /// The way back passes a store to a variable with this adjoint.
    pub fn capture_store(
        &mut self,
        base: ValueId,
        lvalue: ValueId,
        adjoint: ValueId,
    ) -> Result<()> {
        if let Some(&Gradient::OfAll(memory)) = self.gradients.get(&base) {
            let place = self.place(lvalue, memory)?;
            self.accumulate(place, adjoint);
        }
        Ok(())
    }

    /// The way back passes the definition of a value with this adjoint.
    pub fn capture_definition(&mut self, value: ValueId, adjoint: ValueId) {
        if let Some(&Gradient::OfAll(memory)) = self.gradients.get(&value) {
            self.accumulate(memory, adjoint);
        }
    }

    /// The way back passes a mark.
    pub fn capture_mark(&mut self, target: ValueId) -> Result<()> {
        let root = root_of(self.func, target);
        if let Some(&Gradient::AtMark(memory)) = self.gradients.get(&root) {
            let adjoint = self.adjoint(root);
            let (from, to) = match self.func.is_lvalue(target) {
                true => (self.place(target, adjoint)?, self.place(target, memory)?),
                false => (adjoint, memory),
            };
            let value = self.builder().load(from);
            self.builder().store(to, value);
        }
        Ok(())
    }

    /// The way back has come to its end: what variables held before the scope counts too.
    pub fn capture_rest(&mut self) {
        let mut rest: Vec<(ValueId, ValueId)> = self
            .gradients
            .iter()
            .filter_map(|(&root, &gradient)| match gradient {
                Gradient::OfAll(memory) if self.func.is_lvalue(root) => Some((root, memory)),
                _ => None,
            })
            .collect();
        rest.sort_unstable();
        for (root, memory) in rest {
            let adjoint = self.adjoint(root);
            let value = self.builder().load(adjoint);
            self.accumulate(memory, value);
        }
    }

    /// Replaces all intrinsics by what they have come to.
    pub fn replace_intrinsics(&mut self, intrinsics: &[InstId]) {
        for &inst in intrinsics {
            let Op::Autodiff(op) = self.func.op(inst) else { continue };
            match op {
                AutodiffOp::Detach => {
                    let value = self.func.arg(inst, 0);
                    util::replace_and_remove(self.func, inst, value);
                }
                AutodiffOp::Gradient => {
                    let value = match self.gradient_place(inst) {
                        Some(place) => Builder::before(self.func, self.types, inst).load(place),
                        None => self.zero(self.func.inst(inst).ty),
                    };
                    util::replace_and_remove(self.func, inst, value);
                }
                AutodiffOp::GradientMarker | AutodiffOp::AccumulateGradient
                    if !self.activity.is_forward[inst] =>
                {
                    if let Some(place) = self.gradient_place(inst) {
                        self.add_before(inst, place, self.func.arg(inst, 1));
                    }
                    self.func.remove_inst(inst);
                }
                _ => self.func.remove_inst(inst),
            }
        }
    }

    /// The part of the gradient in memory that belongs to the operand of an intrinsic, named in front of it.
    fn gradient_place(&mut self, inst: InstId) -> Option<ValueId> {
        let target = self.func.arg(inst, 0);
        let root = root_of(self.func, target);
        let memory = self.gradients.get(&root)?.memory()?;
        let indices = if self.func.is_lvalue(target) { self.indices(target) } else { Vec::new() };
        if indices.is_empty() {
            return Some(memory);
        }
        let ty = self.ty(target);
        Some(Builder::before(self.func, self.types, inst).gep(memory, &indices, ty))
    }

    /// Adds to memory in front of an instruction of the code after `backward`.
    fn add_before(&mut self, inst: InstId, place: ValueId, value: ValueId) {
        let Some(head) = self.func.inst_block(inst) else { return };
        let tail = self.func.split_block(inst);
        self.enter(head);
        self.loc = self.func.inst(inst).loc;
        self.accumulate(place, value);
        self.builder().br(tail);
    }
}

//! Scalar evolution: integers that follow a loop's rounds by a constant step, and what is computed from them.
//!
//! A *recurrence* is a phi of a loop's header that has one value on the way in and, on the way back, itself plus a constant. A
//! value is *affine* if it is `scale * phi + offset` for a header's phi of its own type and constants, all modulo two to the
//! width. Whether a phi that an affine value names is a recurrence, [`ScalarEvolution::recurrence`] tells.

use super::loops::Loops;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Function, InstId, Op, ValueId};

/// `{start, +, step}`: a phi that holds `start + n * step` in round `n`, modulo two to the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The loop, by number.
    pub of_loop: u32,
    pub phi: InstId,
    /// The value on the way in.
    pub start: ValueId,
    /// The value on the way back.
    pub next: ValueId,
    /// Not zero; the low bits of the width.
    pub step: u64,
}

/// `scale * phi + offset` modulo two to the width; both are low bits of the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The result of a header's phi.
    pub phi: ValueId,
    pub scale: u64,
    pub offset: u64,
}

/// The recurrences and affine values of a function.
#[derive(Debug, Default)]
pub struct ScalarEvolution {
    affine: SecondaryMap<ValueId, Option<Affine>>,
    /// By the result of the phi.
    recurrence: SecondaryMap<ValueId, Option<Recurrence>>,
    /// By loop, in the order of the phis.
    by_loop: Vec<Vec<Recurrence>>,
}

/// The scalar of an integer type.
pub fn integer(types: &TypeTable, ty: TypeId) -> Option<Scalar> {
    types.scalar_of(ty).filter(|s| types.is_scalar(ty) && s.is_int())
}

/// The low bits of a width of 1 to 64.
pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Bits of a width as a signed number.
pub fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

impl ScalarEvolution {
    /// One walk over the instructions in reverse post-order, then one over the headers' phis.
    pub fn compute(
        func: &Function,
        types: &TypeTable,
        cfg: &ControlFlowGraph,
        loops: &Loops,
    ) -> ScalarEvolution {
        let mut found =
            ScalarEvolution { by_loop: vec![Vec::new(); loops.loops.len()], ..Self::default() };
        for l in &loops.loops {
            for phi in func.phis(l.header) {
                let fits = integer(types, func.inst(phi).ty).is_some();
                if let Some(phi) = func.result(phi).filter(|_| fits) {
                    found.affine[phi] = Some(Affine { phi, scale: 1, offset: 0 });
                }
            }
        }
        for &block in cfg.reverse_post_order() {
            for inst in func.insts(block) {
                let Some(result) = func.result(inst) else { continue };
                if let Some(affine) = found.affine_of_inst(func, types, inst) {
                    found.affine[result] = Some(affine);
                }
            }
        }
        for (number, l) in loops.loops.iter().enumerate() {
            let [latch] = l.latches[..] else { continue };
            for phi in func.phis(l.header) {
                let recurrence = found.recurrence_of(func, number as u32, phi, latch);
                if let (Some(recurrence), Some(result)) = (recurrence, func.result(phi)) {
                    found.recurrence[result] = Some(recurrence);
                    found.by_loop[number].push(recurrence);
                }
            }
        }
        found
    }

    fn affine_of_inst(&self, func: &Function, types: &TypeTable, inst: InstId) -> Option<Affine> {
        let Op::Arithmetic(op) = func.op(inst) else { return None };
        let bits = integer(types, func.inst(inst).ty)?.bits();
        let args = func.args(inst);
        let known = |i: usize| args.get(i).and_then(|&a| self.affine[a]);
        let constant = |i: usize| args.get(i).and_then(|&a| func.constant_bits(a));
        let with = |a: Affine, scale: u64, offset: u64| {
            let (scale, offset) =
                (a.scale.wrapping_mul(scale), a.offset.wrapping_mul(scale).wrapping_add(offset));
            Affine { phi: a.phi, scale: scale & mask(bits), offset: offset & mask(bits) }
        };
        match op {
            ArithmeticOp::UnaryMinus => Some(with(known(0)?, u64::MAX, 0)),
            ArithmeticOp::BinaryAdd => match (known(0), known(1)) {
                (Some(a), None) => Some(with(a, 1, constant(1)?)),
                (None, Some(b)) => Some(with(b, 1, constant(0)?)),
                (Some(a), Some(b)) if a.phi == b.phi => {
                    Some(with(Affine { scale: a.scale.wrapping_add(b.scale), ..a }, 1, b.offset))
                }
                _ => None,
            },
            ArithmeticOp::BinarySub => match (known(0), known(1)) {
                (Some(a), None) => Some(with(a, 1, constant(1)?.wrapping_neg())),
                (None, Some(b)) => Some(with(b, u64::MAX, constant(0)?)),
                (Some(a), Some(b)) if a.phi == b.phi => {
                    let scale = a.scale.wrapping_sub(b.scale);
                    Some(with(Affine { scale, ..a }, 1, b.offset.wrapping_neg()))
                }
                _ => None,
            },
            ArithmeticOp::BinaryMul => match (known(0), known(1)) {
                (Some(a), None) => Some(with(a, constant(1)?, 0)),
                (None, Some(b)) => Some(with(b, constant(0)?, 0)),
                _ => None,
            },
            ArithmeticOp::BinaryShiftLeft => {
                let amount = constant(1)? % u64::from(bits);
                Some(with(known(0)?, 1 << amount, 0))
            }
            _ => None,
        }
    }

    fn recurrence_of(
        &self,
        func: &Function,
        of_loop: u32,
        phi: InstId,
        latch: luisac_xir::BlockId,
    ) -> Option<Recurrence> {
        let (&[a, b], &[from_a, from_b]) = (func.args(phi), func.inst_blocks(phi)) else {
            return None;
        };
        let (start, next) = match (from_a == latch, from_b == latch) {
            (false, true) => (a, b),
            (true, false) => (b, a),
            _ => return None,
        };
        let back = self.affine[next]?;
        let steps = back.phi == func.result(phi)? && back.scale == 1 && back.offset != 0;
        steps.then_some(Recurrence { of_loop, phi, start, next, step: back.offset })
    }

    /// How a value follows from a header's phi.
    pub fn affine(&self, value: ValueId) -> Option<Affine> {
        self.affine[value]
    }

    /// The recurrence whose phi gives this value.
    pub fn recurrence(&self, phi: ValueId) -> Option<Recurrence> {
        self.recurrence[phi]
    }

    /// The recurrences of a loop.
    pub fn recurrences(&self, of_loop: u32) -> &[Recurrence] {
        &self.by_loop[of_loop as usize]
    }
}

//! Integer alignment: the greatest known power of two that divides a scalar integer.
//!
//! An optimistic fixed point: values start at the width (zero is divisible by all) and only sink, at most once for each bit, so
//! that the cost is linear in uses times widths. All rules hold modulo two to the width.

use super::scalar_evolution::integer;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeTable;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{ArithmeticOp, CastOp};
use luisac_xir::{Function, InstId, Op, ValueDef, ValueId};

/// Trailing zero bits that integers are known to have.
#[derive(Debug, Default)]
pub struct Alignment {
    /// Plus one; 0 for values that were not looked at.
    zeros: SecondaryMap<ValueId, u8>,
}

impl Alignment {
    /// Computes the fixed point over the reachable instructions.
    pub fn compute(func: &Function, types: &TypeTable, cfg: &ControlFlowGraph) -> Alignment {
        let mut found = Alignment::default();
        let mut pending: Vec<InstId> = Vec::new();
        for &block in cfg.reverse_post_order().iter().rev() {
            for inst in func.insts(block).rev() {
                let Some(result) = func.result(inst) else { continue };
                if let Some(scalar) = integer(types, func.inst(inst).ty) {
                    found.zeros[result] = scalar.bits() as u8 + 1;
                    pending.push(inst);
                }
            }
        }
        while let Some(inst) = pending.pop() {
            let Some(result) = func.result(inst) else { continue };
            let now = found.of_inst(func, types, inst) as u8 + 1;
            if now >= found.zeros[result] {
                continue;
            }
            found.zeros[result] = now;
            let users = func.uses(result).map(|(user, _)| user);
            pending.extend(users.filter(|&u| func.result(u).is_some_and(|r| found.zeros[r] != 0)));
        }
        found
    }

    /// Trailing zero bits that a scalar integer is known to have; the width for zero, 0 for other types.
    pub fn trailing_zeros(&self, func: &Function, types: &TypeTable, value: ValueId) -> u32 {
        let Some(scalar) = integer(types, func.value_type(value)) else { return 0 };
        match func.value_def(value) {
            ValueDef::Constant(_) => {
                func.constant_bits(value).map_or(0, |c| c.trailing_zeros().min(scalar.bits()))
            }
            _ => u32::from(self.zeros[value]).saturating_sub(1),
        }
    }

    fn of_inst(&self, func: &Function, types: &TypeTable, inst: InstId) -> u32 {
        let args = func.args(inst);
        let of = |i: usize| self.trailing_zeros(func, types, args[i]);
        let Some(scalar) = integer(types, func.inst(inst).ty) else { return 0 };
        let bits = scalar.bits();
        let op = match func.op(inst) {
            Op::Phi => return (0..args.len()).map(of).min().unwrap_or(0),
            Op::Cast(CastOp::Static) => {
                let from = integer(types, func.value_type(args[0]));
                return match from {
                    // A zero stays one, and every other number keeps its low bits.
                    Some(from) if of(0) == from.bits() => bits,
                    Some(_) => of(0).min(bits),
                    None => 0,
                };
            }
            Op::Arithmetic(op) => op,
            _ => return 0,
        };
        match op {
            ArithmeticOp::UnaryMinus | ArithmeticOp::Abs => of(0),
            ArithmeticOp::BinaryAdd
            | ArithmeticOp::BinarySub
            | ArithmeticOp::BinaryBitOr
            | ArithmeticOp::BinaryBitXor
            | ArithmeticOp::Min
            | ArithmeticOp::Max => of(0).min(of(1)),
            // The remainder is the dividend minus a multiple of the divisor; by zero it is zero.
            ArithmeticOp::BinaryMod => of(0).min(of(1)),
            ArithmeticOp::BinaryMul => (of(0) + of(1)).min(bits),
            ArithmeticOp::BinaryBitAnd => of(0).max(of(1)),
            ArithmeticOp::Select => of(0).min(of(1)),
            ArithmeticOp::Clamp => of(0).min(of(1)).min(of(2)),
            ArithmeticOp::BinaryShiftLeft => match func.constant_bits(args[1]) {
                Some(amount) => (of(0) + (amount % u64::from(bits)) as u32).min(bits),
                None => of(0),
            },
            ArithmeticOp::BinaryShiftRight => match func.constant_bits(args[1]) {
                _ if of(0) == bits => bits,
                Some(amount) => of(0).saturating_sub((amount % u64::from(bits)) as u32),
                None => 0,
            },
            _ => 0,
        }
    }
}

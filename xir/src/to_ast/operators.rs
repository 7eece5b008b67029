//! Arithmetic as operators, calls and parts of values.

use super::operations::{call_op, maker};
use super::values::{Raiser, Result};
use crate::from_ast::translation::Translation;
use crate::op::ArithmeticOp;
use crate::{InstId, ValueId};
use luisac_ast::callops::CallOp;
use luisac_ast::model::{BinaryOp, CastOp, ExprId, ExprKind, Swizzle, UnaryOp};
use luisac_ast::types::{Scalar, TypeId};

impl Raiser<'_> {
    /// The expression of an arithmetic operation. What is built piece by piece is in a variable already, and gives none.
    pub(super) fn arithmetic(&mut self, inst: InstId, op: ArithmeticOp) -> Result<Option<ExprId>> {
        let ty = self.func.inst(inst).ty;
        let args = self.func.args(inst).to_vec();
        match op {
            ArithmeticOp::BinaryRotateLeft | ArithmeticOp::BinaryRotateRight => {
                return self.rotate(&args, ty, op == ArithmeticOp::BinaryRotateLeft).map(Some);
            }
            ArithmeticOp::Aggregate => return self.aggregate(inst, &args, ty),
            ArithmeticOp::Insert => return self.insert(inst, &args).map(|()| None),
            ArithmeticOp::Extract => return self.extract(&args).map(Some),
            ArithmeticOp::Shuffle => return self.shuffle(inst, &args, ty).map(Some),
            _ => {}
        }
        let mut operands = Vec::with_capacity(args.len());
        for &arg in &args {
            operands.push(self.value(arg)?);
        }
        let unary = |op| ExprKind::Unary { op, operand: operands[0] };
        let kind = match op {
            ArithmeticOp::UnaryMinus | ArithmeticOp::MatrixCompNeg => unary(UnaryOp::Minus),
            ArithmeticOp::UnaryBitNot if self.is_bools(ty) => unary(UnaryOp::Not),
            ArithmeticOp::UnaryBitNot => unary(UnaryOp::BitNot),
            _ => match self.binary_operator(op, &args, ty) {
                Some(op) => ExprKind::Binary { op, lhs: operands[0], rhs: operands[1] },
                None => {
                    // One call takes exponents of both kinds.
                    let op = if op == ArithmeticOp::PowInt { ArithmeticOp::Pow } else { op };
                    let call = match op {
                        ArithmeticOp::Pow => Some(CallOp::Pow),
                        ArithmeticOp::Dot => Some(CallOp::Dot),
                        _ => call_op(Translation::Arithmetic(op)),
                    };
                    let call = call.ok_or_else(|| self.no_expression(inst))?;
                    return Ok(Some(self.builtin(call, ty, &operands)));
                }
            },
        };
        Ok(Some(self.expr(ty, kind)))
    }

    fn is_bools(&self, ty: TypeId) -> bool {
        self.types.scalar_of(ty) == Some(Scalar::Bool)
    }

    fn binary_operator(&self, op: ArithmeticOp, args: &[ValueId], ty: TypeId) -> Option<BinaryOp> {
        let bools = self.is_bools(ty);
        Some(match op {
            ArithmeticOp::BinaryAdd | ArithmeticOp::MatrixCompAdd => BinaryOp::Add,
            ArithmeticOp::BinarySub | ArithmeticOp::MatrixCompSub => BinaryOp::Sub,
            ArithmeticOp::BinaryMul | ArithmeticOp::MatrixLinalgMul => BinaryOp::Mul,
            ArithmeticOp::BinaryDiv | ArithmeticOp::MatrixCompDiv => BinaryOp::Div,
            // Of two matrices, the operator is the product of linear algebra.
            ArithmeticOp::MatrixCompMul
                if args.iter().any(|&a| self.types.is_scalar(self.func.value_type(a))) =>
            {
                BinaryOp::Mul
            }
            ArithmeticOp::BinaryMod => BinaryOp::Mod,
            ArithmeticOp::BinaryBitAnd if bools => BinaryOp::And,
            ArithmeticOp::BinaryBitOr if bools => BinaryOp::Or,
            ArithmeticOp::BinaryBitXor if bools => BinaryOp::NotEqual,
            ArithmeticOp::BinaryBitAnd => BinaryOp::BitAnd,
            ArithmeticOp::BinaryBitOr => BinaryOp::BitOr,
            ArithmeticOp::BinaryBitXor => BinaryOp::BitXor,
            ArithmeticOp::BinaryShiftLeft => BinaryOp::Shl,
            ArithmeticOp::BinaryShiftRight => BinaryOp::Shr,
            ArithmeticOp::BinaryLess => BinaryOp::Less,
            ArithmeticOp::BinaryGreater => BinaryOp::Greater,
            ArithmeticOp::BinaryLessEqual => BinaryOp::LessEqual,
            ArithmeticOp::BinaryGreaterEqual => BinaryOp::GreaterEqual,
            ArithmeticOp::BinaryEqual => BinaryOp::Equal,
            ArithmeticOp::BinaryNotEqual => BinaryOp::NotEqual,
            _ => return None,
        })
    }

    /// `x << n | x >> -n` on the unsigned type: shift amounts count modulo the width.
    fn rotate(&mut self, args: &[ValueId], ty: TypeId, left: bool) -> Result<ExprId> {
        args.iter().for_each(|&a| self.settle(a));
        let unsigned = self
            .types
            .scalar_of(ty)
            .map_or(ty, |s| TypeId::vector(unsigned(s), self.types.dim(ty)));
        let amount = self.func.value_type(args[1]);
        let mut halves = [BinaryOp::Shl, BinaryOp::Shr];
        if !left {
            halves.reverse();
        }
        let mut parts = Vec::with_capacity(2);
        for (i, op) in halves.into_iter().enumerate() {
            let value = self.value(args[0])?;
            let value = if unsigned == ty { value } else { self.bits_as(value, unsigned) };
            let mut by = self.value(args[1])?;
            if i == 1 {
                by = self.expr(amount, ExprKind::Unary { op: UnaryOp::Minus, operand: by });
            }
            parts.push(self.expr(unsigned, ExprKind::Binary { op, lhs: value, rhs: by }));
        }
        let both = ExprKind::Binary { op: BinaryOp::BitOr, lhs: parts[0], rhs: parts[1] };
        let both = self.expr(unsigned, both);
        Ok(if unsigned == ty { both } else { self.bits_as(both, ty) })
    }

    fn bits_as(&mut self, source: ExprId, ty: TypeId) -> ExprId {
        self.expr(ty, ExprKind::Cast { op: CastOp::Bitwise, source })
    }

    // ---- composites

    /// Vectors and matrices are made by a call, all others member by member in a variable.
    fn aggregate(&mut self, inst: InstId, args: &[ValueId], ty: TypeId) -> Result<Option<ExprId>> {
        if let Some(call) = maker(self.types, ty) {
            let mut operands = Vec::with_capacity(args.len());
            for &arg in args {
                operands.push(self.value(arg)?);
            }
            return Ok(Some(self.builtin(call, ty, &operands)));
        }
        let Some(result) = self.func.result(inst) else { return Ok(None) };
        for (i, &arg) in args.iter().enumerate() {
            let value = self.value(arg)?;
            let base = self.variable_for(result);
            let index = i as u32;
            let kind = if self.types.is_struct(ty) {
                ExprKind::Member { base, index }
            } else {
                ExprKind::Access { range: base, index: self.literal(Scalar::U32, index.into()) }
            };
            let part = self.expr(self.func.value_type(arg), kind);
            self.assign(part, value);
        }
        if args.is_empty() {
            let zero = self.builtin(CallOp::Zero, ty, &[]);
            self.keep(result, zero);
        }
        Ok(None)
    }

    /// `insert aggregate, element, index+`: a copy that is changed.
    fn insert(&mut self, inst: InstId, args: &[ValueId]) -> Result<()> {
        let Some(result) = self.func.result(inst) else { return Ok(()) };
        // Before the copy changes, since the parts may come from what it held in the last round.
        let parts: Vec<ValueId> = args[1..].to_vec();
        parts.iter().for_each(|&part| self.settle(part));
        let whole = self.value(args[0])?;
        self.keep(result, whole);
        let value = self.value(args[1])?;
        let mut ty = self.func.value_type(result);
        let mut place = self.variable_for(result);
        for &index in &args[2..] {
            (place, ty) = self.step(place, ty, index)?;
        }
        self.assign(place, value);
        Ok(())
    }

    fn extract(&mut self, args: &[ValueId]) -> Result<ExprId> {
        let mut expr = self.value(args[0])?;
        let mut ty = self.func.value_type(args[0]);
        for &index in &args[1..] {
            (expr, ty) = self.step(expr, ty, index)?;
        }
        Ok(expr)
    }

    fn shuffle(&mut self, inst: InstId, args: &[ValueId], ty: TypeId) -> Result<ExprId> {
        let base = self.value(args[0])?;
        let mut swizzle = Swizzle { size: 0, code: 0 };
        for &index in &args[1..] {
            let component = self.func.constant_bits(index).filter(|&c| c < 4);
            let component = component.ok_or_else(|| self.no_expression(inst))? as u16;
            swizzle.code |= component << (4 * swizzle.size);
            swizzle.size += 1;
        }
        Ok(self.expr(ty, ExprKind::Swizzle { base, swizzle }))
    }
}

fn unsigned(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::I8 => Scalar::U8,
        Scalar::I16 => Scalar::U16,
        Scalar::I32 => Scalar::U32,
        Scalar::I64 => Scalar::U64,
        other => other,
    }
}

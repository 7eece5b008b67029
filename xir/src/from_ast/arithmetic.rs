//! Calls that become arithmetic or thread-group operations: operands are converted as the operation's typing rule demands.

use super::TYPE_MISMATCH;
use super::function::{Lowerer, Result};
use crate::op::{ArithmeticOp, Rule, ThreadGroupOp};
use crate::{Op, ValueId};
use luisac_ast::types::{Scalar, TypeId};

impl Lowerer<'_> {
    /// `op` with the recorded result type `ty`.
    pub(super) fn call_arithmetic(
        &mut self,
        op: ArithmeticOp,
        args: &[ValueId],
        ty: TypeId,
    ) -> Result<ValueId> {
        let operands = match op.rule() {
            Rule::Lerp => self.mixed(args, ty, &[false, false, true])?,
            Rule::Smoothstep => self.mixed(args, ty, &[true, true, false])?,
            Rule::Step => self.mixed(args, ty, &[true, false])?,
            Rule::Select => self.select_operands(args, ty)?,
            Rule::BoolReduce => {
                let value = self.with_scalar(self.argument(args, 0)?, Scalar::Bool)?;
                if self.types.is_scalar(self.ty(value)) {
                    return Ok(value);
                }
                vec![value]
            }
            Rule::FloatTest | Rule::Determinant => args.to_vec(),
            Rule::Reduce => {
                let value = self.argument(args, 0)?;
                if self.types.is_scalar(self.ty(value)) {
                    return Ok(value);
                }
                vec![value]
            }
            Rule::FloatReduce => self.reduce_operands(args, ty)?,
            Rule::OuterProduct => self.outer_operands(args)?,
            _ => self.all_as(args, ty)?,
        };
        self.arithmetic(op, &operands)
    }

    fn all_as(&mut self, args: &[ValueId], ty: TypeId) -> Result<Vec<ValueId>> {
        args.iter().map(|&a| self.convert(a, ty)).collect()
    }

    /// Operands as `ty`; where `keeps_scalar`, a scalar stays one.
    fn mixed(
        &mut self,
        args: &[ValueId],
        ty: TypeId,
        keeps_scalar: &[bool],
    ) -> Result<Vec<ValueId>> {
        let element = self.types.scalar_of(ty).map(TypeId::scalar);
        let mut operands = Vec::with_capacity(args.len());
        for (&arg, &keeps) in args.iter().zip(keeps_scalar) {
            let to = match element {
                Some(element) if keeps && self.types.is_scalar(self.ty(arg)) => element,
                _ => ty,
            };
            operands.push(self.convert(arg, to)?);
        }
        Ok(operands)
    }

    fn select_operands(&mut self, args: &[ValueId], ty: TypeId) -> Result<Vec<ValueId>> {
        let on_false = self.convert(self.argument(args, 0)?, ty)?;
        let on_true = self.convert(self.argument(args, 1)?, ty)?;
        let condition = self.with_scalar(self.argument(args, 2)?, Scalar::Bool)?;
        let shape = self.ty(condition);
        if self.types.is_vector(shape)
            && !(self.types.is_vector(ty) && self.types.dim(ty) == self.types.dim(shape))
        {
            let text = format!(
                "{} cannot choose between values of {}",
                self.describe(shape),
                self.describe(ty)
            );
            return Err(self.error(TYPE_MISMATCH, text));
        }
        Ok(vec![on_false, on_true, condition])
    }

    /// Vectors with the element type of the result.
    fn reduce_operands(&mut self, args: &[ValueId], ty: TypeId) -> Result<Vec<ValueId>> {
        let Some(scalar) = self.scalar_shape(ty) else {
            return Err(
                self.error(TYPE_MISMATCH, format!("a reduction is no {}", self.describe(ty)))
            );
        };
        args.iter().map(|&a| self.with_scalar(a, scalar)).collect()
    }

    fn outer_operands(&mut self, args: &[ValueId]) -> Result<Vec<ValueId>> {
        args.iter()
            .map(|&a| {
                if self.types.is_matrix(self.ty(a)) {
                    Ok(a)
                } else {
                    self.with_scalar(a, Scalar::F32)
                }
            })
            .collect()
    }

    /// A wave or block operation.
    pub(super) fn call_thread_group(
        &mut self,
        op: ThreadGroupOp,
        args: &[ValueId],
        ty: TypeId,
    ) -> Result<Option<ValueId>> {
        let (operands, result) = match op.rule() {
            Rule::Nothing => (Vec::new(), TypeId::VOID),
            Rule::ReorderHint => (self.all_as(args, TypeId::U32)?, TypeId::VOID),
            Rule::FlagQuery => (Vec::new(), TypeId::BOOL),
            Rule::CountQuery => (Vec::new(), TypeId::U32),
            Rule::BoolToCount => (self.all_as(args, TypeId::BOOL)?, TypeId::U32),
            Rule::BoolToBool => (self.all_as(args, TypeId::BOOL)?, TypeId::BOOL),
            Rule::BoolToMask => (self.all_as(args, TypeId::BOOL)?, TypeId::vector(Scalar::U32, 4)),
            Rule::ShapeTest => {
                let shape = self.ty(self.argument(args, 0)?);
                (args.to_vec(), crate::typing::bool_shape(shape, self.types))
            }
            Rule::LaneRead => {
                let value = self.convert(self.argument(args, 0)?, ty)?;
                let lane = self.convert(self.argument(args, 1)?, TypeId::U32)?;
                (vec![value, lane], ty)
            }
            _ => (self.all_as(args, ty)?, ty),
        };
        let types: Vec<TypeId> = operands.iter().map(|&o| self.ty(o)).collect();
        self.check_rule(op.name(), op.rule(), result, &types)?;
        let inst = self.inst(Op::ThreadGroup(op), result, &operands, &[], crate::Imm::None);
        Ok(self.func.result(inst))
    }
}

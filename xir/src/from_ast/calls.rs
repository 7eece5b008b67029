//! Calls: how each argument is evaluated, and what the call becomes.

use super::arguments::{argument_kind, passes_by_reference};
use super::expressions::Task;
use super::function::{Lowerer, Result};
use super::translation::{self, Translation};
use super::{ASYNC, COOPERATIVE, MALFORMED, UNSUPPORTED};
use crate::op::{ArithmeticOp, AutodiffOp, RayQueryReadOp, RayQueryWriteOp};
use crate::{ArgumentKind, Imm, Op, ValueId};
use luisac_ast::callops::{CallOp, Group, Out};
use luisac_ast::model::{Callee, CurveBases, ExprId, ExprKind, ExprList};
use luisac_ast::types::{Scalar, TypeId, TypeKind};

/// How many of the arguments are evaluated: messages are not, nor what `backward` got in old recordings.
fn evaluated(op: CallOp, given: usize) -> usize {
    match op {
        CallOp::Assert | CallOp::Assume => given.min(1),
        CallOp::Unreachable | CallOp::Backward => 0,
        _ => given,
    }
}

impl Lowerer<'_> {
    /// Plans the arguments, first to last, and then the call.
    pub(super) fn start_call(
        &mut self,
        expr: ExprId,
        op: CallOp,
        callee: Callee,
        arguments: ExprList,
    ) -> Result<()> {
        self.check_supported(op)?;
        self.tasks.push(Task::Finish(expr));
        let arguments = &self.ast.exprs_in(arguments);
        let (least, most) = op.arity();
        if arguments.len() < least || most.is_some_and(|most| arguments.len() > most) {
            let text = format!("`{op}` cannot take {} arguments", arguments.len());
            return Err(self.error(MALFORMED, text));
        }
        for (i, &argument) in
            arguments.iter().enumerate().take(evaluated(op, arguments.len())).rev()
        {
            self.tasks.push(if !passes_by_reference(self.library, op, callee, i) {
                Task::Eval(argument)
            } else if matches!(op, CallOp::Custom | CallOp::External | CallOp::AddressOf) {
                Task::AddressOrCopy(argument)
            } else {
                Task::Address(argument)
            });
        }
        Ok(())
    }

    fn check_supported(&self, op: CallOp) -> Result<()> {
        if translation::of(op) != Translation::None {
            return Ok(());
        }
        let (code, text) = match op.info().group {
            Group::Cooperative => {
                (COOPERATIVE, format!("cooperative vectors are not supported: `{op}`"))
            }
            Group::Async => {
                (ASYNC, format!("asynchronous copies and clusters are not supported: `{op}`"))
            }
            _ => (UNSUPPORTED, format!("`{op}` has no form in XIR")),
        };
        Err(self.error(code, text))
    }

    /// The call, its arguments lying on the stack; its value as the recorded type `ty`.
    pub(super) fn finish_call(
        &mut self,
        ty: TypeId,
        op: CallOp,
        callee: Callee,
        arguments: ExprList,
        bases: CurveBases,
    ) -> Result<Option<ValueId>> {
        let args = self.pop_many(evaluated(op, arguments.len()))?;
        let result = match translation::of(op) {
            Translation::Arithmetic(op) => Some(self.call_arithmetic(op, &args, ty)?),
            Translation::ThreadGroup(op) => self.call_thread_group(op, &args, ty)?,
            Translation::Atomic(op) => Some(self.call_atomic(op, &args)?),
            Translation::Query(query, access) => {
                Some(self.call_query(op, query, access, args, ty, bases)?)
            }
            Translation::Read(read, access) => Some(self.call_read(op, read, access, args, ty)?),
            Translation::Write(write, access) => self.call_write(op, write, access, args)?,
            Translation::RayQueryRead(read) => Some(self.call_ray_query_read(op, read, args, ty)?),
            Translation::RayQueryWrite(write) => self.call_ray_query_write(op, write, args)?,
            Translation::Autodiff(op) => self.call_autodiff(op, args, ty)?,
            Translation::Make => Some(self.make(&args, ty)?),
            Translation::Ignored => None,
            Translation::Special => self.call_special(op, callee, arguments, &args, ty)?,
            Translation::None => {
                return Err(self.error(UNSUPPORTED, format!("`{op}` has no form in XIR")));
            }
        };
        match result {
            Some(value) if ty != TypeId::VOID => Ok(Some(self.convert(value, ty)?)),
            Some(_) => Ok(None),
            None if ty != TypeId::VOID
                && matches!(op, CallOp::Unreachable | CallOp::RasterDiscard) =>
            {
                Ok(Some(self.func.undefined(ty)))
            }
            None => Ok(None),
        }
    }

    fn call_special(
        &mut self,
        op: CallOp,
        callee: Callee,
        arguments: ExprList,
        args: &[ValueId],
        ty: TypeId,
    ) -> Result<Option<ValueId>> {
        match op {
            CallOp::Custom => return self.call_function(callee, args),
            CallOp::External => return self.call_external(callee, args),
            CallOp::AddressOf => return self.address_of(self.argument(args, 0)?),
            CallOp::Assert | CallOp::Assume => {
                let condition = self.convert(self.argument(args, 0)?, TypeId::BOOL)?;
                let message = self.message(arguments, 1);
                let op = if op == CallOp::Assert { Op::Assert } else { Op::Assume };
                self.inst(op, TypeId::VOID, &[condition], &[], message);
            }
            CallOp::Unreachable => {
                let message = self.message(arguments, 0);
                self.inst(Op::Unreachable, TypeId::VOID, &[], &[], message);
            }
            CallOp::RasterDiscard => {
                self.terminate(Op::RasterDiscard, &[], &[]);
            }
            CallOp::Zero => return self.filled(ty, false).map(Some),
            CallOp::One => return self.filled(ty, true).map(Some),
            CallOp::Undefined => return Ok(Some(self.func.undefined(ty))),
            CallOp::Pack => self.pack(args)?,
            CallOp::Unpack => return self.unpack(args, ty).map(Some),
            CallOp::Clock => return Ok(Some(self.value(Op::Clock, TypeId::U64, &[]))),
            CallOp::Dot => return self.dot(args, ty).map(Some),
            CallOp::Pow => return self.pow(args, ty).map(Some),
            CallOp::BufferSize | CallOp::ByteBufferSize => {
                return self.buffer_size(op, args, ty).map(Some);
            }
            CallOp::TextureRead | CallOp::TextureWrite | CallOp::TextureSize => {
                return self.call_texture(op, args);
            }
            CallOp::RayQueryProceed => {
                let args = self.resource_arguments(op, args.to_vec())?;
                self.effect(Op::RayQueryWrite(RayQueryWriteOp::Proceed), &args);
                let over = Op::RayQueryRead(RayQueryReadOp::IsTerminated);
                let over = self.value(over, TypeId::BOOL, &args);
                return self.arithmetic(ArithmeticOp::UnaryBitNot, &[over]).map(Some);
            }
            _ => return Err(self.error(UNSUPPORTED, format!("`{op}` has no form in XIR"))),
        }
        Ok(None)
    }

    /// Argument `index` of a builtin call.
    pub(super) fn argument(&self, args: &[ValueId], index: usize) -> Result<ValueId> {
        match args.get(index) {
            Some(&value) => Ok(value),
            None => Err(self.error(MALFORMED, "a call has too few arguments")),
        }
    }

    /// The text that argument `index` names, if there is one.
    fn message(&self, arguments: ExprList, index: usize) -> Imm {
        let text = self.ast.exprs_in(arguments).get(index).and_then(|&e| {
            match self.ast.exprs.get(e)?.kind {
                ExprKind::StringId(text) => Some(self.ast.text_in(text)),
                _ => None,
            }
        });
        text.map_or(Imm::None, |text| Imm::Text(text.into()))
    }

    /// A call of a callable: values as the types of the formal arguments.
    fn call_function(&mut self, callee: Callee, args: &[ValueId]) -> Result<Option<ValueId>> {
        let Callee::Function(id) = callee else {
            return Err(self.error(MALFORMED, "a call names no callable"));
        };
        let (Some(function), Some(target)) = (self.library.functions.get(id), self.plan.id(id))
        else {
            return Err(self.error(MALFORMED, "a call names a callable that does not exist"));
        };
        if function.arguments.len() != args.len() {
            let name = self.library.function_name(id);
            let text =
                format!("{name} takes {} arguments, not {}", function.arguments.len(), args.len());
            return Err(self.error(MALFORMED, text));
        }
        let mut operands = Vec::with_capacity(args.len());
        for (&argument, &formal) in args.iter().zip(&function.arguments) {
            let Some(formal) = function.variables.get(formal) else {
                let text = "an argument names a variable that does not exist";
                return Err(self.error(MALFORMED, text));
            };
            let kind = argument_kind(self.types, formal.tag, formal.ty);
            operands.push(self.actual(kind, formal.ty, argument)?);
        }
        let ty = function.return_type;
        let inst = self.inst(Op::Call, ty, &operands, &[], Imm::Callee(target));
        Ok(self.func.result(inst))
    }

    /// What is passed for a parameter: values are converted, all others have its type already.
    pub(super) fn actual(
        &mut self,
        kind: ArgumentKind,
        formal: TypeId,
        argument: ValueId,
    ) -> Result<ValueId> {
        match kind {
            ArgumentKind::Value => self.convert(argument, formal),
            _ if self.ty(argument) == formal => Ok(argument),
            _ => {
                let (given, wanted) = (self.describe(self.ty(argument)), self.describe(formal));
                let text = format!("{given} is passed by reference for {wanted}");
                Err(self.error(super::TYPE_MISMATCH, text))
            }
        }
    }

    fn call_autodiff(
        &mut self,
        op: AutodiffOp,
        mut args: Vec<ValueId>,
        ty: TypeId,
    ) -> Result<Option<ValueId>> {
        match op {
            AutodiffOp::Detach => {
                let value = self.convert(self.argument(&args, 0)?, ty)?;
                return Ok(Some(self.value(Op::Autodiff(op), ty, &[value])));
            }
            AutodiffOp::Gradient => {
                let of = self.ty(self.argument(&args, 0)?);
                return Ok(Some(self.value(Op::Autodiff(op), of, &args)));
            }
            AutodiffOp::GradientMarker | AutodiffOp::AccumulateGradient => {
                let of = self.ty(self.argument(&args, 0)?);
                let value = self.convert(self.argument(&args, 1)?, of)?;
                args.truncate(1);
                args.push(value);
            }
            AutodiffOp::RequiresGradient | AutodiffOp::Backward => {}
        }
        self.effect(Op::Autodiff(op), &args);
        Ok(None)
    }

    fn call_ray_query_read(
        &mut self,
        op: CallOp,
        read: RayQueryReadOp,
        args: Vec<ValueId>,
        ty: TypeId,
    ) -> Result<ValueId> {
        let args = self.resource_arguments(op, args)?;
        let result = if op.info().out == Out::Bool { TypeId::BOOL } else { ty };
        if result != TypeId::BOOL && !self.types.is_struct(result) {
            let text = format!("`{op}` cannot yield {}", self.describe(result));
            return Err(self.error(super::TYPE_MISMATCH, text));
        }
        Ok(self.value(Op::RayQueryRead(read), result, &args))
    }

    fn call_ray_query_write(
        &mut self,
        op: CallOp,
        write: RayQueryWriteOp,
        args: Vec<ValueId>,
    ) -> Result<Option<ValueId>> {
        let args = self.resource_arguments(op, args)?;
        self.effect(Op::RayQueryWrite(write), &args);
        Ok(None)
    }

    /// `MAKE_*`: the recorded type decides, not the name (old recordings have `MAKE_HALF2` where a `float2` is made).
    fn make(&mut self, args: &[ValueId], ty: TypeId) -> Result<ValueId> {
        match self.types.kind(ty) {
            TypeKind::Matrix { .. } => self.make_matrix(args, ty),
            _ => self.make_vector(args, ty),
        }
    }

    /// The dot product of vectors; of integers, by products and their sum.
    fn dot(&mut self, args: &[ValueId], ty: TypeId) -> Result<ValueId> {
        let (a, b) = (self.argument(args, 0)?, self.argument(args, 1)?);
        let Some(scalar) = self.scalar_shape(ty) else {
            return Err(self.error(
                super::TYPE_MISMATCH,
                format!("a dot product is no {}", self.describe(ty)),
            ));
        };
        let (a, b) = (self.with_scalar(a, scalar)?, self.with_scalar(b, scalar)?);
        if scalar.is_float() && self.types.is_vector(self.ty(a)) {
            return self.arithmetic(ArithmeticOp::Dot, &[a, b]);
        }
        let product = self.arithmetic(ArithmeticOp::BinaryMul, &[a, b])?;
        if self.types.is_scalar(self.ty(product)) {
            return Ok(product);
        }
        self.arithmetic(ArithmeticOp::ReduceSum, &[product])
    }

    /// A power: of an integer exponent by repeated squaring.
    fn pow(&mut self, args: &[ValueId], ty: TypeId) -> Result<ValueId> {
        let base = self.convert(self.argument(args, 0)?, ty)?;
        let exponent = self.argument(args, 1)?;
        match self.scalar_shape(self.ty(exponent)) {
            Some(scalar) if scalar.is_int() => {
                self.arithmetic(ArithmeticOp::PowInt, &[base, exponent])
            }
            Some(Scalar::Bool) => {
                let exponent = self.with_scalar(exponent, Scalar::U32)?;
                self.arithmetic(ArithmeticOp::PowInt, &[base, exponent])
            }
            _ => {
                let exponent = self.convert(exponent, ty)?;
                self.arithmetic(ArithmeticOp::Pow, &[base, exponent])
            }
        }
    }
}

//! Calls of operations, callables and external functions.

use super::capture::is_pure;
use super::error::{self, Built, fault};
use super::function::FunctionBuilder;
use super::operand::Operand;
use super::result::{maker, result_type};
use super::session::{Parameter, Raw, Session};
use super::value::Value;
use super::{Callable, External};
use crate::callops::CallOp;
use crate::model::{Callee, CurveBases, ExprId, ExprKind, ExternalId, Stmt, VariableTag};
use crate::types::TypeId;

impl Session {
    fn resolve_all(&mut self, values: &[Raw]) -> Built<Vec<ExprId>> {
        values.iter().map(|raw| self.resolve(*raw)).collect()
    }

    /// A call of an operation, the result type of which is given or follows from the arguments.
    pub(super) fn builtin(
        &mut self,
        op: CallOp,
        arguments: &[Raw],
        ty: Option<TypeId>,
    ) -> Built<ExprId> {
        self.builtin_with_curves(op, arguments, ty, CurveBases::default())
    }

    fn builtin_with_curves(
        &mut self,
        op: CallOp,
        arguments: &[Raw],
        ty: Option<TypeId>,
        curve_bases: CurveBases,
    ) -> Built<ExprId> {
        let arguments = self.resolve_all(arguments)?;
        let ty = match ty {
            Some(ty) => ty,
            None => self.inferred(op, &arguments)?,
        };
        if let Some(written) = op.written_argument().and_then(|i| arguments.get(i)) {
            self.expect_no_builtin(*written)?;
        }
        let arguments = self.list(&arguments)?;
        let kind = ExprKind::Call { op, curve_bases, callee: Callee::Builtin, arguments };
        self.top()?.function.curve_bases.0 |= curve_bases.0;
        self.call(ty, kind, is_pure(op))
    }

    fn inferred(&mut self, op: CallOp, arguments: &[ExprId]) -> Built<TypeId> {
        let function = &self.top()?.function;
        let given: Vec<TypeId> = arguments.iter().map(|a| function.exprs[*a].ty).collect();
        // With too few arguments nothing can be said; the check of the call says what is missing.
        if given.len() < op.arity().0 {
            return Ok(TypeId::VOID);
        }
        match result_type(&mut self.library.types, op, &given) {
            Some(ty) => Ok(ty),
            None => fault(error::NO_TYPE, format!("the result type of `{op}` has to be given")),
        }
    }

    /// Records a call: a pure one is an expression, every other one happens here, and a local holds its value.
    fn call(&mut self, ty: TypeId, kind: ExprKind, pure: bool) -> Built<ExprId> {
        let call = self.push(ty, kind)?;
        if pure {
            return Ok(call);
        }
        if ty == TypeId::VOID {
            self.statement(Stmt::Expr(call))?;
            return Ok(call);
        }
        self.stored(call)
    }

    /// A new local that holds the value of an expression.
    pub(super) fn stored(&mut self, value: ExprId) -> Built<ExprId> {
        let ty = self.ty(value)?;
        let variable = self.variable(VariableTag::Local, ty)?;
        let lhs = self.reference(variable)?;
        self.statement(Stmt::Assign { lhs, rhs: value })?;
        Ok(lhs)
    }

    /// A call of a callable: what it captured and its builtin variables are passed along.
    fn custom(&mut self, callable: usize, explicit: &[Raw]) -> Built<ExprId> {
        let info = self.callable(callable)?;
        let (function, parameters) = (info.function, info.parameters.clone());
        let wanted = parameters.iter().filter(|p| matches!(p, Parameter::Explicit)).count();
        if wanted != explicit.len() {
            let name = self.library.function_name(function);
            let message =
                format!("{name} takes {wanted} arguments, but is given {}", explicit.len());
            return fault(crate::check::codes::ARGUMENT_COUNT, message);
        }
        let mut explicit = explicit.iter();
        let mut arguments = Vec::new();
        for (i, parameter) in parameters.iter().enumerate() {
            arguments.push(match *parameter {
                // The counts agree.
                Parameter::Explicit => match explicit.next() {
                    Some(raw) => self.resolve(*raw)?,
                    None => continue,
                },
                Parameter::Builtin(tag) => self.builtin_variable(tag)?,
                Parameter::Captured(raw) => self.resolve(raw)?,
                Parameter::Bound(binding) => {
                    let callee = &self.library.functions[function];
                    let variable = &callee.variables[callee.arguments[i]];
                    let (tag, ty) = (variable.tag, variable.ty);
                    self.bound(tag, ty, binding)?
                }
            });
        }
        for (i, argument) in arguments.iter().enumerate() {
            let callee = &self.library.functions[function];
            let parameter = callee.arguments.get(i).map(|a| callee.variables[*a].tag);
            if parameter == Some(VariableTag::Reference) {
                self.expect_no_builtin(*argument)?;
            }
        }
        let arguments = self.list(&arguments)?;
        let ty = self.library.functions[function].return_type;
        let callee = Callee::Function(function);
        let curve_bases = CurveBases::default();
        let kind = ExprKind::Call { op: CallOp::Custom, curve_bases, callee, arguments };
        self.call(ty, kind, false)
    }

    fn external(&mut self, id: ExternalId, arguments: &[Raw]) -> Built<ExprId> {
        let arguments = self.resolve_all(arguments)?;
        let arguments = self.list(&arguments)?;
        let ty = self.library.externals[id].return_type;
        let callee = Callee::External(id);
        let curve_bases = CurveBases::default();
        let kind = ExprKind::Call { op: CallOp::External, curve_bases, callee, arguments };
        self.call(ty, kind, false)
    }
}

/// Calls.
impl<'b> FunctionBuilder<'b> {
    fn raws(&self, values: &[Value<'b>]) -> Built<Vec<Raw>> {
        let each = values.iter().map(|v| self.recorder.same(v.recorder).map(|()| v.raw));
        each.collect()
    }

    /// A call of an operation, the result type of which follows from the arguments.
    #[track_caller]
    pub fn call_op(&self, op: CallOp, arguments: &[Value<'b>]) -> Value<'b> {
        self.value(|s| s.builtin(op, &self.raws(arguments)?, None))
    }

    /// A call of an operation that yields `ty`; [`TypeId::VOID`] drops the result where that is allowed.
    #[track_caller]
    pub fn call_as(&self, ty: TypeId, op: CallOp, arguments: &[Value<'b>]) -> Value<'b> {
        self.value(|s| s.builtin(op, &self.raws(arguments)?, Some(ty)))
    }

    /// A call of an operation of ray tracing that may meet certain curves.
    #[track_caller]
    pub fn trace(&self, op: CallOp, arguments: &[Value<'b>], curves: CurveBases) -> Value<'b> {
        self.value(|s| s.builtin_with_curves(op, &self.raws(arguments)?, None, curves))
    }

    /// A vector of components, or a matrix of columns: scalars and vectors that add up, one scalar for all, a longer
    /// vector to cut, one matrix.
    #[track_caller]
    pub fn make(&self, ty: TypeId, parts: &[Value<'b>]) -> Value<'b> {
        self.value(|s| match maker(s.types(), ty) {
            Some(op) => s.builtin(op, &self.raws(parts)?, Some(ty)),
            None => fault(error::NO_PARTS, format!("a `{}` is not made of parts", s.name(ty))),
        })
    }

    /// A call of a callable. It happens here; the value is a local that holds the result.
    #[track_caller]
    pub fn call(&self, callable: Callable<'b>, arguments: &[Value<'b>]) -> Value<'b> {
        self.value(|s| {
            self.recorder.same(callable.recorder)?;
            s.custom(callable.index, &self.raws(arguments)?)
        })
    }

    /// A call of an external function.
    #[track_caller]
    pub fn call_external(&self, external: External<'b>, arguments: &[Value<'b>]) -> Value<'b> {
        self.value(|s| {
            self.recorder.same(external.recorder)?;
            s.external(external.id, &self.raws(arguments)?)
        })
    }

    /// `truth ? on_true : on_false`, for each component where the truth value is a vector. Both are evaluated.
    #[track_caller]
    pub fn select(
        &self,
        truth: impl Operand<'b>,
        on_true: impl Operand<'b>,
        on_false: impl Operand<'b>,
    ) -> Value<'b> {
        let truth = truth.into_value(self.recorder);
        let on_true = on_true.into_value(self.recorder);
        let on_false = on_false.into_value(self.recorder);
        self.call_op(CallOp::Select, &[on_false, on_true, truth])
    }
}

/// Resources.
impl<'b> Value<'b> {
    #[track_caller]
    fn access(
        self,
        ty: Option<TypeId>,
        arguments: &[Value<'b>],
        op: impl FnOnce(&Session, TypeId) -> Option<CallOp>,
    ) -> Value<'b> {
        self.recorder.value(|s| {
            let mut raws = vec![self.raw];
            for argument in arguments {
                self.recorder.same(argument.recorder)?;
                raws.push(argument.raw);
            }
            let base = s.resolve(self.raw)?;
            let base = s.ty(base)?;
            match op(s, base) {
                Some(op) => s.builtin(op, &raws, ty),
                None => {
                    let message = format!("a `{}` is no such resource", s.name(base));
                    fault(error::NO_PARTS, message)
                }
            }
        })
    }

    /// Element of a buffer by number, or texel of a texture by coordinates.
    #[track_caller]
    pub fn read(self, index: impl Operand<'b>) -> Value<'b> {
        let index = index.into_value(self.recorder);
        self.access(None, &[index], |s, ty| match s.resource(ty)? {
            VariableTag::Buffer => Some(CallOp::BufferRead),
            VariableTag::Texture => Some(CallOp::TextureRead),
            _ => None,
        })
    }

    /// Stores an element of a buffer, or a texel of a texture.
    #[track_caller]
    pub fn write(self, index: impl Operand<'b>, value: impl Operand<'b>) {
        let index = index.into_value(self.recorder);
        let value = value.into_value(self.recorder);
        self.access(None, &[index, value], |s, ty| match s.resource(ty)? {
            VariableTag::Buffer => Some(CallOp::BufferWrite),
            VariableTag::Texture => Some(CallOp::TextureWrite),
            _ => None,
        });
    }

    /// A value of any type at an offset in bytes of a byte buffer.
    #[track_caller]
    pub fn read_bytes(self, ty: TypeId, offset: impl Operand<'b>) -> Value<'b> {
        let offset = offset.into_value(self.recorder);
        self.access(Some(ty), &[offset], |s, ty| {
            (s.resource(ty)? == VariableTag::Buffer).then_some(CallOp::ByteBufferRead)
        })
    }

    /// Stores a value of any type at an offset in bytes of a byte buffer.
    #[track_caller]
    pub fn write_bytes(self, offset: impl Operand<'b>, value: impl Operand<'b>) {
        let offset = offset.into_value(self.recorder);
        let value = value.into_value(self.recorder);
        self.access(None, &[offset, value], |s, ty| {
            (s.resource(ty)? == VariableTag::Buffer).then_some(CallOp::ByteBufferWrite)
        });
    }
}

//! Expressions, by a stack of tasks: an expression is evaluated by pushing "finish it" and then its operands, last operand first.

use super::function::{Lowerer, Result, Storage};
use super::{MALFORMED, NATIVE_SOURCE, TYPE_MISMATCH, UNSUPPORTED};
use crate::op::CastOp;
use crate::{Op, ValueId};
use luisac_ast::model::{self, ExprId, ExprKind, VariableId};
use luisac_ast::types::{Scalar, TypeId};

/// What is still to do, last first.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// Leave the value of an expression.
    Eval(ExprId),
    /// Leave the lvalue of an expression, or the resource that it names.
    Address(ExprId),
    /// As `Address`, but something that is no lvalue is copied to memory.
    AddressOrCopy(ExprId),
    /// The operands are there: compute.
    Finish(ExprId),
    /// The indices of a chain on a variable are there: name its lvalue.
    FinishAddress(ExprId),
    /// The root and the indices of a chain on a value are there: take the element.
    FinishExtract(ExprId),
    /// Read the lvalue on top.
    Load,
    /// Copy the value on top to memory, and leave that.
    Copy,
}

impl Lowerer<'_> {
    /// The value of an expression; `None` for a call without one.
    pub(super) fn eval_any(&mut self, expr: ExprId) -> Result<Option<ValueId>> {
        self.tasks.push(Task::Eval(expr));
        self.run_tasks()?;
        let value = self.values.pop().flatten();
        self.expr = None;
        Ok(value)
    }

    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: ExprId) -> Result<ValueId> {
        self.tasks.push(Task::Eval(expr));
        self.run_tasks()?;
        let value = self.pop()?;
        self.expr = None;
        Ok(value)
    }

    /// The lvalue of an expression.
    pub(super) fn address(&mut self, expr: ExprId) -> Result<ValueId> {
        self.tasks.push(Task::Address(expr));
        self.run_tasks()?;
        let value = self.pop()?;
        self.expr = None;
        Ok(value)
    }

    /// The result on top.
    pub(super) fn pop(&mut self) -> Result<ValueId> {
        match self.values.pop().flatten() {
            Some(value) => Ok(value),
            None => Err(self.error(MALFORMED, "a call without a value is used as a value")),
        }
    }

    /// The last `count` results, in order.
    pub(super) fn pop_many(&mut self, count: usize) -> Result<Vec<ValueId>> {
        let start = self.values.len().saturating_sub(count);
        let taken: Option<Vec<ValueId>> = self.values.drain(start..).collect();
        match taken {
            Some(values) => Ok(values),
            None => Err(self.error(MALFORMED, "a call without a value is used as a value")),
        }
    }

    pub(super) fn push(&mut self, value: ValueId) {
        self.values.push(Some(value));
    }

    fn run_tasks(&mut self) -> Result<()> {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Eval(expr) => self.start(expr)?,
                Task::Finish(expr) => {
                    self.expr = Some(expr);
                    self.finish(expr)?;
                }
                Task::Address(expr) => {
                    self.expr = Some(expr);
                    self.start_address(expr)?;
                }
                Task::AddressOrCopy(expr) => {
                    if self.is_lvalue(expr) {
                        self.tasks.push(Task::Address(expr));
                    } else {
                        self.tasks.extend([Task::Copy, Task::Eval(expr)]);
                    }
                }
                Task::FinishAddress(expr) => {
                    self.expr = Some(expr);
                    self.finish_address(expr)?;
                }
                Task::FinishExtract(expr) => {
                    self.expr = Some(expr);
                    self.finish_extract(expr)?;
                }
                Task::Load => {
                    let lvalue = self.pop()?;
                    let value = self.load(lvalue);
                    self.push(value);
                }
                Task::Copy => {
                    let value = self.pop()?;
                    let ty = self.ty(value);
                    let memory = self.alloca(crate::op::Space::Local, ty);
                    self.store(memory, value);
                    self.push(memory);
                }
            }
        }
        Ok(())
    }

    /// The data of an expression.
    pub(super) fn node(&self, expr: ExprId) -> Result<model::Expr> {
        match self.ast.exprs.get(expr) {
            Some(node) => Ok(*node),
            None => Err(self.error(MALFORMED, "an expression does not exist")),
        }
    }

    fn start(&mut self, expr: ExprId) -> Result<()> {
        self.expr = Some(expr);
        let node = self.node(expr)?;
        match node.kind {
            ExprKind::Literal { bytes } => {
                let ast = self.ast;
                let value = self.data_constant(node.ty, ast.bytes_in(bytes))?;
                self.push(value);
            }
            ExprKind::Constant(constant) => {
                let value = self.library_constant(constant)?;
                self.push(value);
            }
            ExprKind::Ref(variable) => {
                let value = self.read_variable(variable)?;
                self.push(value);
            }
            ExprKind::TypeId(ty) => {
                let value = self.type_number(ty);
                self.push(value);
            }
            ExprKind::StringId(text) => {
                let value = self.text_number(text);
                self.push(value);
            }
            ExprKind::Unary { operand, .. } => {
                self.tasks.extend([Task::Finish(expr), Task::Eval(operand)])
            }
            ExprKind::Binary { lhs, rhs, .. } => {
                self.tasks.extend([Task::Finish(expr), Task::Eval(rhs), Task::Eval(lhs)]);
            }
            ExprKind::Cast { source, .. } => {
                self.tasks.extend([Task::Finish(expr), Task::Eval(source)])
            }
            ExprKind::Swizzle { base, swizzle } if swizzle.size != 1 => {
                self.tasks.extend([Task::Finish(expr), Task::Eval(base)]);
            }
            ExprKind::Swizzle { .. } | ExprKind::Member { .. } | ExprKind::Access { .. } => {
                self.start_chain(expr)?
            }
            ExprKind::Call { op, callee, arguments, .. } => {
                self.start_call(expr, op, callee, arguments)?
            }
            ExprKind::FuncRef(_) => {
                return Err(
                    self.error(UNSUPPORTED, "references to functions have no value at run time")
                );
            }
            ExprKind::CpuCustom { argument, .. } => {
                self.tasks.push(Task::Finish(expr));
                if let Some(argument) = argument.expand() {
                    let is_resource = self.types.is_resource(self.node(argument)?.ty);
                    self.tasks.push(if is_resource {
                        Task::Eval(argument)
                    } else {
                        Task::AddressOrCopy(argument)
                    });
                }
            }
            ExprKind::GpuCustom { .. } => {
                return Err(self.error(NATIVE_SOURCE, "embedded device source cannot be compiled"));
            }
        }
        Ok(())
    }

    fn finish(&mut self, expr: ExprId) -> Result<()> {
        let node = self.node(expr)?;
        let value = match node.kind {
            ExprKind::Unary { op, .. } => {
                let operand = self.pop()?;
                self.unary(op, operand, node.ty)?
            }
            ExprKind::Binary { op, .. } => {
                let rhs = self.pop()?;
                let lhs = self.pop()?;
                self.binary(op, lhs, rhs, node.ty)?
            }
            ExprKind::Cast { op: model::CastOp::Static, .. } => {
                let source = self.pop()?;
                self.convert(source, node.ty)?
            }
            ExprKind::Cast { op: model::CastOp::Bitwise, .. } => {
                let source = self.pop()?;
                self.bit_cast(source, node.ty)?
            }
            ExprKind::Swizzle { swizzle, .. } => {
                let base = self.pop()?;
                self.swizzle(base, swizzle)?
            }
            ExprKind::Call { op, callee, arguments, curve_bases } => {
                let value = self.finish_call(node.ty, op, callee, arguments, curve_bases)?;
                self.values.push(value);
                return Ok(());
            }
            ExprKind::CpuCustom { argument, .. } => {
                let argument = argument.expand().map(|_| self.pop()).transpose()?;
                let value = self.call_back(argument, node.ty)?;
                self.values.push(value);
                return Ok(());
            }
            _ => return Err(self.error(MALFORMED, "an expression has no operands")),
        };
        self.push(value);
        Ok(())
    }

    /// The value of a variable: a builtin, an argument, a resource, or what its memory holds.
    fn read_variable(&mut self, variable: VariableId) -> Result<ValueId> {
        if let Some(register) = self.special(variable) {
            return Ok(self.func.special(register));
        }
        match self.storage(variable)? {
            Storage::Value(value) | Storage::Resource(value) => Ok(value),
            Storage::Memory(lvalue) => {
                let ty = self.ty(lvalue);
                // A custom type has no value: it is only ever named.
                let named_only = self.types.is_custom(ty) && !self.types.is_ray_query(ty);
                Ok(if named_only { lvalue } else { self.load(lvalue) })
            }
            Storage::Unseen => Err(self.error(MALFORMED, "a variable has no storage")),
        }
    }

    /// A reinterpretation of the bits; vectors count without padding. A truth value is a byte that is 0 or 1, and any other
    /// byte is true.
    fn bit_cast(&mut self, value: ValueId, to: TypeId) -> Result<ValueId> {
        let from = self.ty(value);
        if from == to {
            return Ok(value);
        }
        let (Some(source), Some(carrier)) = (self.byte_shape(from), self.byte_shape(to)) else {
            return Err(self.no_bit_cast(from, to));
        };
        let bits = |ty| self.types.scalar_of(ty).map(|s| s.bits() * u32::from(self.types.dim(ty)));
        if bits(source) != bits(carrier) {
            return Err(self.no_bit_cast(from, to));
        }
        let value = self.convert(value, source)?;
        let value = if source == carrier {
            value
        } else {
            self.value(Op::Cast(CastOp::Bitwise), carrier, &[value])
        };
        self.convert(value, to)
    }

    /// The scalar or vector itself, with bytes for truth values.
    fn byte_shape(&self, ty: TypeId) -> Option<TypeId> {
        let scalar = self.scalar_shape(ty)?;
        Some(if scalar == Scalar::Bool {
            TypeId::vector(Scalar::U8, self.types.dim(ty))
        } else {
            ty
        })
    }

    fn no_bit_cast(&self, from: TypeId, to: TypeId) -> luisac_ast::Diagnostics {
        let text =
            format!("the bits of {} cannot be read as {}", self.describe(from), self.describe(to));
        self.error(TYPE_MISMATCH, text)
    }
}

//! Chains of members, elements and components: one gep on a variable, one extract on a value.

use super::expressions::Task;
use super::function::{Lowerer, Result, Storage};
use super::{MALFORMED, NOT_ASSIGNABLE, TYPE_MISMATCH};
use crate::op::ArithmeticOp;
use crate::{Op, ValueId};
use luisac_ast::model::{ExprId, ExprKind, Swizzle};
use luisac_ast::types::{Scalar, TypeId, TypeKind};

/// One step of a chain.
#[derive(Clone, Copy)]
enum Step {
    /// Structure member or vector component.
    Fixed(u32),
    /// Element, component or column by an index expression.
    Index(ExprId),
}

impl Lowerer<'_> {
    /// The root of a chain, and its steps, outermost (last applied) first.
    fn chain(&self, mut expr: ExprId) -> Result<(ExprId, Vec<Step>)> {
        let mut steps = Vec::new();
        loop {
            match self.node(expr)?.kind {
                ExprKind::Member { base, index } => {
                    steps.push(Step::Fixed(index));
                    expr = base;
                }
                ExprKind::Swizzle { base, swizzle } if swizzle.size == 1 => {
                    steps.push(Step::Fixed(swizzle.component(0) as u32));
                    expr = base;
                }
                ExprKind::Access { range, index } => {
                    steps.push(Step::Index(index));
                    expr = range;
                }
                _ => return Ok((expr, steps)),
            }
        }
    }

    /// Whether an expression is a chain on a variable that has memory.
    pub(super) fn is_lvalue(&mut self, expr: ExprId) -> bool {
        match self.chain(expr) {
            Ok((root, _)) => self.has_memory(root),
            Err(_) => false,
        }
    }

    fn has_memory(&mut self, root: ExprId) -> bool {
        let Ok(node) = self.node(root) else { return false };
        let ExprKind::Ref(variable) = node.kind else { return false };
        self.special(variable).is_none() && matches!(self.storage(variable), Ok(Storage::Memory(_)))
    }

    fn push_indices(&mut self, steps: &[Step]) {
        for step in steps {
            if let Step::Index(index) = step {
                self.tasks.push(Task::Eval(*index));
            }
        }
    }

    /// Plans the value of a chain: a load from the variable's memory, or an element of the root's value.
    pub(super) fn start_chain(&mut self, expr: ExprId) -> Result<()> {
        let (root, steps) = self.chain(expr)?;
        if self.has_memory(root) {
            self.tasks.extend([Task::Load, Task::FinishAddress(expr)]);
            self.push_indices(&steps);
        } else {
            self.tasks.push(Task::FinishExtract(expr));
            self.push_indices(&steps);
            self.tasks.push(Task::Eval(root));
        }
        Ok(())
    }

    /// Plans the lvalue of a chain; a resource stands for itself.
    pub(super) fn start_address(&mut self, expr: ExprId) -> Result<()> {
        let (root, steps) = self.chain(expr)?;
        let ExprKind::Ref(variable) = self.node(root)?.kind else {
            return Err(
                self.error(NOT_ASSIGNABLE, "this cannot be assigned or passed by reference")
            );
        };
        if self.special(variable).is_some() {
            return Err(
                self.error(NOT_ASSIGNABLE, "a builtin cannot be assigned or passed by reference")
            );
        }
        if steps.is_empty() {
            let value = match self.storage(variable)? {
                Storage::Resource(value) => value,
                _ => self.memory(variable)?,
            };
            self.push(value);
            return Ok(());
        }
        self.memory(variable)?;
        self.tasks.push(Task::FinishAddress(expr));
        self.push_indices(&steps);
        Ok(())
    }

    /// Names the lvalue of a chain whose indices lie on the stack, innermost first.
    pub(super) fn finish_address(&mut self, expr: ExprId) -> Result<()> {
        let (root, steps) = self.chain(expr)?;
        let ExprKind::Ref(variable) = self.node(root)?.kind else {
            return Err(
                self.error(NOT_ASSIGNABLE, "this cannot be assigned or passed by reference")
            );
        };
        let base = self.memory(variable)?;
        let (indices, ty) = self.take_steps(&steps, self.ty(base))?;
        let mut args = vec![base];
        args.extend(indices);
        let value = if args.len() == 1 { base } else { self.value(Op::Gep, ty, &args) };
        self.push(value);
        Ok(())
    }

    /// Takes the element of a value; the root lies on the stack below the indices.
    pub(super) fn finish_extract(&mut self, expr: ExprId) -> Result<()> {
        let (root, steps) = self.chain(expr)?;
        let root_type = self.node(root)?.ty;
        let count = steps.iter().filter(|s| matches!(s, Step::Index(_))).count();
        let at = self.values.len().saturating_sub(count + 1);
        let mut base = match self.values.get(at) {
            Some(Some(value)) => *value,
            _ => return Err(self.error(MALFORMED, "a call without a value is used as a value")),
        };
        // `kernel_id` is recorded as a vector, but is a scalar.
        if self.types.is_scalar(self.ty(base)) && self.types.is_vector(root_type) {
            base = self.convert(base, root_type)?;
        }
        let (indices, ty) = self.take_steps(&steps, self.ty(base))?;
        self.values.pop();
        let mut args = vec![base];
        args.extend(indices);
        let value = if args.len() == 1 {
            base
        } else {
            self.value(Op::Arithmetic(ArithmeticOp::Extract), ty, &args)
        };
        self.push(value);
        Ok(())
    }

    /// The index operands of a chain, innermost first, and the type that it arrives at. Takes the index values from the stack.
    fn take_steps(&mut self, steps: &[Step], mut ty: TypeId) -> Result<(Vec<ValueId>, TypeId)> {
        let count = steps.iter().filter(|s| matches!(s, Step::Index(_))).count();
        let mut dynamic = self.pop_many(count)?.into_iter();
        let mut indices = Vec::with_capacity(steps.len());
        for step in steps.iter().rev() {
            let index = match step {
                Step::Fixed(index) => {
                    // The only component of a scalar is the scalar.
                    if self.types.is_scalar(ty) && *index == 0 {
                        continue;
                    }
                    self.func.u32_constant(*index)
                }
                Step::Index(_) => match dynamic.next() {
                    Some(value) => value,
                    None => return Err(self.error(MALFORMED, "an index is missing")),
                },
            };
            let (index, element) = self.step(ty, index)?;
            indices.push(index);
            ty = element;
        }
        Ok((indices, ty))
    }

    /// One step into `ty` by `index`: the index as XIR takes it, and the type of the element.
    pub(super) fn step(&mut self, ty: TypeId, index: ValueId) -> Result<(ValueId, TypeId)> {
        let index = self.as_index(index)?;
        let element = match self.types.kind(ty) {
            TypeKind::Struct { .. } => {
                let member =
                    self.func.constant_bits(index).and_then(|bits| u32::try_from(bits).ok());
                let found = member.and_then(|m| Some((m, self.types.element_type(ty, m)?)));
                let Some((member, element)) = found else {
                    let text = format!("{} has no such member", self.describe(ty));
                    return Err(self.error(TYPE_MISMATCH, text));
                };
                return Ok((self.func.u32_constant(member), element));
            }
            TypeKind::Vector { .. } | TypeKind::Matrix { .. } | TypeKind::Array { .. } => {
                self.types.element_type(ty, 0)
            }
            _ => None,
        };
        match element {
            Some(element) => Ok((index, element)),
            None => {
                let text = format!("{} has no elements", self.describe(ty));
                Err(self.error(TYPE_MISMATCH, text))
            }
        }
    }

    /// An index: any integer stays as it is, `bool` becomes `uint`.
    pub(super) fn as_index(&mut self, index: ValueId) -> Result<ValueId> {
        let ty = self.ty(index);
        match self.types.kind(ty) {
            TypeKind::Scalar(Scalar::Bool) => self.convert(index, TypeId::U32),
            TypeKind::Scalar(scalar) if scalar.is_int() => Ok(index),
            _ => {
                let text = format!("{} cannot be an index", self.describe(ty));
                Err(self.error(TYPE_MISMATCH, text))
            }
        }
    }

    /// Several components of a vector.
    pub(super) fn swizzle(&mut self, base: ValueId, swizzle: Swizzle) -> Result<ValueId> {
        let ty = self.ty(base);
        let dim = usize::from(self.types.dim(ty));
        let scalar = self.types.scalar_of(ty).filter(|_| self.types.is_scalar_or_vector(ty));
        let (Some(scalar), true) = (scalar, swizzle.components().all(|c| c < dim)) else {
            let text = format!("{} has no components `{swizzle}`", self.describe(ty));
            return Err(self.error(TYPE_MISMATCH, text));
        };
        let result = TypeId::vector(scalar, swizzle.size.clamp(1, 4));
        if dim == 1 {
            return self.convert(base, result);
        }
        let mut args = vec![base];
        for component in swizzle.components() {
            args.push(self.func.u32_constant(component as u32));
        }
        Ok(self.value(Op::Arithmetic(ArithmeticOp::Shuffle), result, &args))
    }
}

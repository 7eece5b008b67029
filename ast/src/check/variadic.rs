//! Calls whose arguments are checked as a whole: atomics, makers of vectors and matrices.

use super::calls::Call;
use super::rules::is_index;
use super::signature::class_holds;
use super::{Checker, codes};
use crate::place::Node;
use crate::types::{Scalar, TypeId, TypeKind};

impl Checker<'_> {
    /// Base, indices that lead to a number, operands.
    pub(super) fn check_atomic(&mut self, call: &Call<'_>, operands: usize) {
        let types = &self.library.types;
        let op = call.info.op;
        let (chain, operands) = call.arguments.split_at(call.arguments.len() - operands);
        let base = self.argument_type(chain[0]);
        let mut at = base;
        for (i, index) in chain.iter().enumerate().skip(1) {
            let index_type = self.argument_type(*index);
            let literal = self.function.case_value(*index).and_then(|v| u32::try_from(v).ok());
            let next = match types.kind(at) {
                TypeKind::Buffer { elem, .. } if i == 1 => {
                    Some(*elem).filter(|e| *e != TypeId::VOID)
                }
                TypeKind::Struct { .. } => {
                    literal.and_then(|literal| types.element_type(at, literal))
                }
                _ => types.element_type(at, 0),
            };
            let Some(next) = next.filter(|_| is_index(types, index_type)) else {
                let message =
                    format!("index {i} of `{op}` does not name a part of `{}`", self.name(at));
                self.error(codes::ATOMIC, Node::Expr(*index), message);
                return;
            };
            at = next;
        }
        if !types.is_scalar(at) || !class_holds(types, call.info.class, at) {
            let message = format!("`{op}` is not defined for `{}`", self.name(at));
            self.error(codes::ATOMIC, Node::Expr(call.id), message);
            return;
        }
        for operand in operands {
            let given = self.argument_type(*operand);
            if at != given {
                let message =
                    format!("`{op}` of a `{}` cannot take a `{}`", self.name(at), self.name(given));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*operand), message);
            }
        }
        // The old value may be dropped.
        if call.result != at && call.result != TypeId::VOID {
            let message = format!(
                "`{op}` of a `{}` cannot yield `{}`",
                self.name(at),
                self.name(call.result)
            );
            self.error(codes::RESULT_TYPE, Node::Expr(call.id), message);
        }
        let shared_or_buffer = matches!(types.kind(base), TypeKind::Buffer { .. });
        if !shared_or_buffer && let Some(why) = self.why_not_assignable(chain[0]) {
            let message = format!("argument 0 of `{op}` is written: {why}");
            self.error(codes::ARGUMENT_WRITE, Node::Expr(chain[0]), message);
        }
    }

    /// Components that add up, one scalar for all, or one vector to cut.
    pub(super) fn check_components(&mut self, call: &Call<'_>) {
        let types = &self.library.types;
        let wanted = u32::from(types.dim(call.result));
        let mut given = 0;
        for argument in call.arguments {
            let ty = self.argument_type(*argument);
            if !types.is_scalar_or_vector(ty) {
                let message = format!("`{}` cannot take a `{}`", call.info.op, self.name(ty));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
                return;
            }
            given += u32::from(types.dim(ty));
        }
        let single = call.arguments.len() == 1 && (given == 1 || given > wanted);
        if given != wanted && !single {
            let message = format!("`{}` has {given} components instead of {wanted}", call.info.op);
            self.error(codes::ARGUMENT_COUNT, Node::Expr(call.id), message);
        }
    }

    /// Columns of the result, or one matrix.
    pub(super) fn check_columns(&mut self, call: &Call<'_>) {
        let types = &self.library.types;
        if !types.is_matrix(call.result) {
            return;
        }
        let dim = types.dim(call.result);
        if let [single] = call.arguments
            && types.is_matrix(self.argument_type(*single))
        {
            return;
        }
        if call.arguments.len() != usize::from(dim) {
            let message =
                format!("`{}` has {} columns instead of {dim}", call.info.op, call.arguments.len());
            self.error(codes::ARGUMENT_COUNT, Node::Expr(call.id), message);
            return;
        }
        for argument in call.arguments {
            let ty = self.argument_type(*argument);
            if ty != TypeId::vector(Scalar::F32, dim) {
                let message =
                    format!("a column of `{}` cannot be `{}`", call.info.op, self.name(ty));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
            }
        }
    }
}

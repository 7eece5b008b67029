//! Calls: number and types of arguments, what is written, results, by the table of operations.

use super::rules::assignable;
use super::signature::class_holds;
use super::{Checker, codes};
use crate::callops::{CallOp, CallOpInfo, Out, Param, Stage};
use crate::model::{Callee, ExprId, ExprList, ExternalId, FunctionId, FunctionTag, VariableTag};
use crate::place::Node;
use crate::types::TypeId;

/// A builtin call while it is checked.
pub(super) struct Call<'a> {
    pub id: ExprId,
    pub info: &'static CallOpInfo,
    pub arguments: &'a [ExprId],
    pub result: TypeId,
    /// What `T` stands for in the signature.
    pub t: TypeId,
}

impl<'a> Checker<'a> {
    pub(super) fn check_call(
        &mut self,
        id: ExprId,
        op: CallOp,
        callee: Callee,
        arguments: ExprList,
        ty: TypeId,
    ) {
        let function = self.function;
        let arguments = function.exprs_in(arguments);
        match callee {
            Callee::Function(callee) => self.check_custom(id, callee, arguments, ty),
            Callee::External(callee) => self.check_external(id, callee, arguments, ty),
            Callee::Builtin => self.check_builtin(id, op, arguments, ty),
        }
    }

    pub(super) fn argument_type(&self, argument: ExprId) -> TypeId {
        self.function.exprs[argument].ty
    }

    fn check_count(&mut self, id: ExprId, what: &str, wanted: usize, given: usize) -> bool {
        if wanted != given {
            let message = format!("{what} takes {wanted} arguments, but has {given}");
            self.error(codes::ARGUMENT_COUNT, Node::Expr(id), message);
        }
        wanted == given
    }

    /// An argument that is not what a function declares.
    fn wrong_argument(&mut self, argument: ExprId, i: usize, what: &str, wanted: TypeId) {
        let message = format!(
            "argument {i} of {what} must be `{}`, but is `{}`",
            self.name(wanted),
            self.name(self.argument_type(argument))
        );
        self.error(codes::ARGUMENT_TYPE, Node::Expr(argument), message);
    }

    /// The value may be dropped.
    fn check_returned(&mut self, id: ExprId, what: &str, declared: TypeId, ty: TypeId) {
        if ty != declared && ty != TypeId::VOID {
            let message =
                format!("{what} returns `{}`, not `{}`", self.name(declared), self.name(ty));
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
        }
    }

    fn check_custom(&mut self, id: ExprId, callee: FunctionId, arguments: &[ExprId], ty: TypeId) {
        let library = self.library;
        let target = &library.functions[callee];
        let name = library.function_name(callee);
        if target.tag != FunctionTag::Callable {
            let message = format!("{name} is a `{}` and cannot be called", target.tag.name());
            self.error(codes::CALLEE, Node::Expr(id), message);
            return;
        }
        let wanted = target.arguments.len();
        if !self.check_count(id, &name, wanted, arguments.len()) {
            return;
        }
        for (i, (argument, parameter)) in arguments.iter().zip(&target.arguments).enumerate() {
            let parameter = &target.variables[*parameter];
            let given = self.argument_type(*argument);
            let fits = given == parameter.ty
                || (self.is_kernel_id(*argument) && parameter.ty == TypeId::U32);
            if !fits {
                self.wrong_argument(*argument, i, &name, parameter.ty);
            } else if parameter.tag == VariableTag::Reference
                && let Some(why) = self.why_no_reference(*argument, given)
            {
                let message = format!("argument {i} of {name} is passed by reference: {why}");
                self.error(codes::ARGUMENT_WRITE, Node::Expr(*argument), message);
            }
        }
        self.check_returned(id, &name, target.return_type, ty);
    }

    /// Why an argument cannot be passed by reference. An indirect dispatch buffer is a resource that some recorders
    /// pass so.
    fn why_no_reference(&self, argument: ExprId, ty: TypeId) -> Option<String> {
        let resource = self.library.types.is_custom_named(ty, "LC_IndirectDispatchBuffer");
        if resource { None } else { self.why_not_assignable(argument) }
    }

    fn check_external(&mut self, id: ExprId, callee: ExternalId, arguments: &[ExprId], ty: TypeId) {
        let library = self.library;
        let target = &library.externals[callee];
        let name = format!("`{}`", target.name);
        let wanted = target.argument_types.len();
        if !self.check_count(id, &name, wanted, arguments.len()) {
            return;
        }
        for (i, (argument, wanted)) in arguments.iter().zip(&target.argument_types).enumerate() {
            let given = self.argument_type(*argument);
            if !assignable(&library.types, *wanted, given) {
                self.wrong_argument(*argument, i, &name, *wanted);
            }
        }
        self.check_returned(id, &name, target.return_type, ty);
    }

    fn check_builtin(&mut self, id: ExprId, op: CallOp, arguments: &'a [ExprId], result: TypeId) {
        let info = op.info();
        let by_result = matches!(info.out, Out::T);
        let first = arguments.first().map_or(TypeId::VOID, |a| self.argument_type(*a));
        let call = Call { id, info, arguments, result, t: if by_result { result } else { first } };
        if !self.check_builtin_count(&call) {
            return;
        }
        if info.stage == Stage::Kernel && self.function.tag != FunctionTag::Kernel {
            let message = format!("`{op}` can only stand in a kernel");
            self.error(codes::KERNEL_ONLY, Node::Expr(id), message);
        }
        if !op.is_atomic() && !class_holds(&self.library.types, info.class, call.t) {
            let message = format!("`{op}` is not defined for `{}`", self.name(call.t));
            self.error(codes::OPERAND_TYPE, Node::Expr(id), message);
            return;
        }
        if !self.out_holds(&call) {
            let message = format!(
                "`{op}` yields {}, not `{}`",
                self.expected_result(&call),
                self.name(result)
            );
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
            return;
        }
        match info.params {
            [Param::AtomicBase, Param::Chain, operands @ ..] => {
                self.check_atomic(&call, operands.len());
            }
            [Param::Components] => self.check_components(&call),
            [Param::Columns] => self.check_columns(&call),
            [Param::Rest] => {
                let message = format!("`{op}` has no callee");
                self.error(codes::CALLEE, Node::Expr(id), message);
            }
            params => {
                let params = params.iter().chain(info.optional).take(arguments.len());
                for (i, param) in params.enumerate() {
                    self.check_param(&call, i, *param);
                }
            }
        }
    }

    /// Parameters that may be left out are left out together.
    fn check_builtin_count(&mut self, call: &Call<'_>) -> bool {
        let op = call.info.op;
        let given = call.arguments.len();
        let (min, max) = op.arity();
        let fits = match max {
            Some(max) => given == min || given == max,
            None => given >= min,
        };
        if !fits {
            let wanted = match max {
                Some(max) if max == min => format!("{min} arguments"),
                Some(max) => format!("{min} or {max} arguments"),
                None => format!("at least {min} arguments"),
            };
            let message = format!("`{op}` takes {wanted}{}, but has {given}", self.listed(call));
            self.error(codes::ARGUMENT_COUNT, Node::Expr(call.id), message);
        }
        fits
    }

    /// What a call takes, for a message.
    fn listed(&self, call: &Call<'_>) -> String {
        let params = call.info.params.iter().chain(call.info.optional);
        let each: Vec<String> = params.map(|p| self.expected_argument(call, *p)).collect();
        if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
    }

    fn check_param(&mut self, call: &Call<'_>, i: usize, param: Param) {
        let argument = call.arguments[i];
        let given = self.argument_type(argument);
        let op = call.info.op;
        if !self.param_holds(call, given, param) {
            let message = format!(
                "argument {i} of `{op}` must be {}, but is `{}`",
                self.expected_argument(call, param),
                self.name(given)
            );
            self.error(codes::ARGUMENT_TYPE, Node::Expr(argument), message);
            return;
        }
        if matches!(param, Param::Ref | Param::Query)
            && let Some(why) = self.why_not_assignable(argument)
        {
            let message = format!("argument {i} of `{op}` is written: {why}");
            self.error(codes::ARGUMENT_WRITE, Node::Expr(argument), message);
        }
    }
}
